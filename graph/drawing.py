"""Draws a graph as a PNG: layers from left to right, subgraphs as frames around their steps."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from adaptive_rag.errors import import_extra

if TYPE_CHECKING:
    from langchain_core.runnables.graph import Graph

START_NODE, END_NODE = "__start__", "__end__"
# Lengths in points.
STEP_WIDTH, STEP_HEIGHT = 92.0, 30.0
DOT = 10.0
LAYER_GAP, ROW_GAP = 46.0, 16.0
PADDING, TITLE = 14.0, 18.0

INK, EDGE, PAPER = "#22252b", "#7b818c", "#ffffff"
GREY = "#8a8f99"


@dataclass
class _Block:
    """A step, or a subgraph with inner blocks; x and y are the upper left corner."""

    name: str
    id: str
    width: float = STEP_WIDTH
    height: float = STEP_HEIGHT
    x: float = 0.0
    y: float = 0.0
    blocks: list[_Block] = field(default_factory=list)

    def shift(self, dx: float, dy: float) -> None:
        self.x, self.y = self.x + dx, self.y + dy
        for block in self.blocks:
            block.shift(dx, dy)

    def leaves(self) -> Iterator[_Block]:
        if not self.blocks:
            yield self
        for block in self.blocks:
            yield from block.leaves()


def draw_png(graph: Graph, *, colours: Mapping[str, str], title: str = "", dpi: int = 160) -> bytes:
    """Return a drawing of what `compiled.get_graph(xray=...)` returns; a dashed arrow is a conditional edge.

    `colours` maps each strategy to a colour such as "#rrggbb"; blocks without a colour are grey.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    import_extra("matplotlib", extra="eval", purpose="Drawing the graph")
    from matplotlib.figure import Figure

    root = _layout(graph, title)
    figure = Figure(figsize=(root.width / 72, root.height / 72), dpi=dpi, facecolor=PAPER)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, root.width), ylim=(root.height, 0))
    axes.axis("off")
    if title:
        axes.text(PADDING, PADDING, title, fontsize=11, fontweight="bold", color=INK, va="top")
    for block in root.blocks:
        _draw_block(axes, block, colours, GREY)
    leaves = {leaf.id: leaf for leaf in root.leaves()}
    for edge in graph.edges:
        if edge.source in leaves and edge.target in leaves:
            _draw_edge(axes, leaves[edge.source], leaves[edge.target], dashed=edge.conditional)
    png = io.BytesIO()
    figure.savefig(png, format="png", facecolor=PAPER)
    return png.getvalue()


def _layout(graph: Graph, title: str) -> _Block:
    root = _Block("", "", blocks=_blocks(list(graph.nodes), ""))
    _place(root, [(edge.source, edge.target) for edge in graph.edges], PADDING + (TITLE if title else 0))
    return root


def _blocks(ids: list[str], prefix: str) -> list[_Block]:
    """Return blocks for ids such as "opinion:retrieve", grouped by their first part after the prefix."""
    groups: dict[str, list[str]] = {}
    for id_ in ids:
        head, colon, _ = id_[len(prefix) :].partition(":")
        groups.setdefault(head if colon else id_, []).append(id_)
    blocks = []
    for head, members in groups.items():
        if members == [head]:
            name = head[len(prefix) :]
            is_dot = name == START_NODE and bool(prefix)
            size = (DOT, DOT) if is_dot else (STEP_WIDTH, STEP_HEIGHT)
            blocks.append(_Block("" if is_dot else _label(name), head, *size))
        else:
            inner = f"{prefix}{head}:"
            blocks.append(_Block(_label(head), inner, blocks=_blocks(members, inner)))
    return blocks


def _place(block: _Block, edges: list[tuple[str, str]], top: float) -> None:
    """Place the inner blocks from left to right, and set the size of the block."""
    for inner in block.blocks:
        if inner.blocks:
            _place(inner, edges, top=PADDING + TITLE)
    layers = _layers(block.blocks, edges)
    heights = [sum(inner.height for inner in layer) + ROW_GAP * (len(layer) - 1) for layer in layers]
    x, height = PADDING, max(heights)
    for layer, layer_height in zip(layers, heights, strict=True):
        width = max(inner.width for inner in layer)
        y = top + (height - layer_height) / 2
        for inner in layer:
            inner.shift(x + (width - inner.width) / 2 - inner.x, y - inner.y)
            y += inner.height + ROW_GAP
        x += width + LAYER_GAP
    block.width, block.height = x - LAYER_GAP + PADDING, top + height + PADDING


def _layers(blocks: list[_Block], edges: list[tuple[str, str]]) -> list[list[_Block]]:
    """Group blocks into layers, each to the right of the blocks that lead to it.

    A cycle ends at the last possible layer, since there are never more layers than blocks.
    """
    owner = {leaf.id: number for number, block in enumerate(blocks) for leaf in block.leaves()}
    inner = {(owner[a], owner[b]) for a, b in edges if a in owner and b in owner and owner[a] != owner[b]}
    depth = [0] * len(blocks)
    for _ in blocks:  # the longest path has as many steps as there are blocks
        for source, target in inner:
            if depth[source] + 1 < len(blocks):
                depth[target] = max(depth[target], depth[source] + 1)
    return [
        [block for block, block_depth in zip(blocks, depth, strict=True) if block_depth == layer]
        for layer in sorted(set(depth))
    ]


def _draw_block(axes: Any, block: _Block, colours: Mapping[str, str], colour: str) -> None:
    """Draw a step, or a subgraph with its steps; `colour` is the colour of the surrounding block."""
    from matplotlib.patches import Circle, FancyBboxPatch

    # The copies inside the hedge are named "as factual" and so on; they have their strategy's colour.
    colour = colours.get(block.name.removeprefix("as "), colour)
    middle = (block.x + block.width / 2, block.y + block.height / 2)
    if not block.name:
        axes.add_patch(Circle(middle, DOT / 2, facecolor=colour, edgecolor="none", zorder=3))
        return
    is_end = block.id in (START_NODE, END_NODE)
    radius: float
    style: dict[str, Any]
    if block.blocks:
        radius, style = 8.0, {"facecolor": colour + "14", "edgecolor": colour + "88", "linewidth": 1}
    elif is_end:
        radius, style = block.height / 2, {"facecolor": INK, "edgecolor": INK, "zorder": 3}
    else:
        radius, style = 5.0, {"facecolor": PAPER, "edgecolor": colour, "linewidth": 1.2, "zorder": 3}
    shape = f"round,pad=0,rounding_size={radius}"
    axes.add_patch(FancyBboxPatch((block.x, block.y), block.width, block.height, boxstyle=shape, **style))
    if block.blocks:
        corner = (block.x + PADDING, block.y + 8)
        axes.text(*corner, block.name, fontsize=8.5, fontweight="bold", color=colour, va="top")
    else:
        ink = PAPER if is_end else INK
        axes.text(*middle, block.name, fontsize=9, color=ink, ha="center", va="center", zorder=4)
    for inner in block.blocks:
        _draw_block(axes, inner, colours, colour)


def _draw_edge(axes: Any, source: _Block, target: _Block, *, dashed: bool) -> None:
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path

    start = (source.x + source.width, source.y + source.height / 2)
    end = (target.x - 1, target.y + target.height / 2)
    bend = max((end[0] - start[0]) / 2, 18.0)
    curve = [start, (start[0] + bend, start[1]), (end[0] - bend, end[1]), end]
    path = Path(curve, [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])
    head = "-|>,head_length=4.5,head_width=2.2"
    line = (0, (4, 2.5)) if dashed else "solid"
    style: dict[str, Any] = {"color": EDGE, "linewidth": 1.1, "linestyle": line, "zorder": 2}
    axes.add_patch(FancyArrowPatch(path=path, arrowstyle=head, **style))


def _label(name: str) -> str:
    return {START_NODE: "START", END_NODE: "END"}.get(name, name.replace("_", " "))
