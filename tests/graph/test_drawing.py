import io
from itertools import combinations

import pytest
from PIL import Image

from adaptive_rag.graph.builder import build_graph
from adaptive_rag.graph.drawing import _layout, draw_png
from adaptive_rag.graph.strategies import STRATEGIES


@pytest.fixture(scope="module")
def drawable():  # type: ignore[no-untyped-def]
    return build_graph().compile().get_graph(xray=True)


def test_no_step_lies_on_another_and_all_lie_on_the_paper(drawable) -> None:  # type: ignore[no-untyped-def]
    root = _layout(drawable, "A title")
    leaves = list(root.leaves())
    assert {leaf.id for leaf in leaves} == set(drawable.nodes)
    for a, b in combinations(leaves, 2):
        apart = a.x + a.width <= b.x or b.x + b.width <= a.x or a.y + a.height <= b.y or b.y + b.height <= a.y
        assert apart, (a.id, b.id)
    assert all(a.x >= 0 and a.x + a.width <= root.width for a in leaves)
    assert all(a.y >= 0 and a.y + a.height <= root.height for a in leaves)


def test_arrows_lead_to_the_right(drawable) -> None:  # type: ignore[no-untyped-def]
    leaves = {leaf.id: leaf for leaf in _layout(drawable, "").leaves()}
    for edge in drawable.edges:
        assert leaves[edge.source].x + leaves[edge.source].width <= leaves[edge.target].x, edge


def test_the_picture_is_a_png_with_ink_on_it() -> None:
    strategy = STRATEGIES["opinion"].build().compile().get_graph()
    picture = Image.open(io.BytesIO(draw_png(strategy, colours={"opinion": "#c06a1f"}, dpi=60)))
    assert picture.format == "PNG"
    dark = sum(picture.convert("L").histogram()[:100])
    assert dark > 200


def test_a_loop_is_drawn_and_does_not_hang() -> None:
    from langchain_core.runnables.graph import Edge, Graph, Node

    nodes = {name: Node(name, name, None, None) for name in ("a", "b")}  # type: ignore[arg-type]
    root = _layout(Graph(nodes=nodes, edges=[Edge("a", "b"), Edge("b", "a")]), "")
    assert {leaf.id for leaf in root.leaves()} == {"a", "b"}
