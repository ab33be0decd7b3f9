"""`adaptive-rag graph`: a diagram of the state machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from adaptive_rag.cli.output import print_note, print_plain
from adaptive_rag.errors import ConfigurationError


def graph(
    xray: Annotated[bool, Option("--xray", help="Show the inside of the strategies.")] = False,
    png: Annotated[Path | None, Option("--png", help="Write a picture to this file.")] = None,
) -> None:
    """Print the graph as Mermaid, or write it as a PNG."""
    from adaptive_rag.graph.builder import build_graph
    from adaptive_rag.graph.strategies import STRATEGIES

    drawable = build_graph().compile().get_graph(xray=xray)
    if png is None:
        # LangChain would write metadata into the boxes; a colour is given as a style instead.
        drawable.nodes = {name: node._replace(metadata=None) for name, node in drawable.nodes.items()}
        styles = [f"\tstyle {name} stroke:{strategy.colour}" for name, strategy in STRATEGIES.items()]
        print_plain("\n".join([drawable.draw_mermaid().rstrip(), *styles, ""]))
        return
    from adaptive_rag.graph.drawing import draw_png

    picture = draw_png(drawable, colours={name: strategy.colour for name, strategy in STRATEGIES.items()})
    try:
        png.write_bytes(picture)
    except OSError as error:
        raise ConfigurationError(f"--png {str(png)!r} cannot be written: {error.strerror}.") from error
    print_note(f"Wrote {png}")
