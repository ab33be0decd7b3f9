"""`adaptive-rag graph`."""

from pathlib import Path

from tests.cli.conftest import Run


def test_the_graph_is_printed_as_mermaid(run: Run) -> None:
    shown = run("graph").stdout
    assert "classify" in shown and "generate" in shown
    assert "enhance" not in shown
    assert "\tfactual(factual)\n" in shown and "\tstyle factual stroke:#2f6fb3\n" in shown
    assert "colour" not in shown


def test_xray_shows_the_inside_of_the_strategies(run: Run) -> None:
    shown = run("graph", "--xray").stdout
    assert all(step in shown for step in ("enhance", "decompose", "viewpoints", "contextualize", "fuse"))


def test_a_picture_is_written(run: Run) -> None:
    result = run("graph", "--png", "graph.png")
    assert (result.exit_code, result.stdout) == (0, "")
    assert Path("graph.png").read_bytes().startswith(b"\x89PNG")
    assert "Wrote graph.png" in result.stderr
