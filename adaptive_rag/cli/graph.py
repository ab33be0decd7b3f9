"""`adaptive-rag graph`: a diagram of the state machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from adaptive_rag.cli.output import print_note, print_plain


def graph(
    xray: Annotated[bool, Option("--xray", help="Show the inside of the strategies.")] = False,
    png: Annotated[Path | None, Option("--png", help="Write a picture to this file.")] = None,
) -> None:
    """Print the graph as Mermaid, or write it as a PNG."""
    from adaptive_rag.graph.builder import build_graph

    drawable = build_graph().compile().get_graph(xray=xray)
    if png is None:
        print_plain(drawable.draw_mermaid() + "\n")
        return
    from adaptive_rag.errors import ConfigurationError
    from adaptive_rag.graph.drawing import draw_png
    from adaptive_rag.graph.strategies import STRATEGIES

    picture = draw_png(drawable, colours={name: strategy.colour for name, strategy in STRATEGIES.items()})
    try:
        png.write_bytes(picture)
    except OSError as error:
        raise ConfigurationError(f"--png {str(png)!r} cannot be written: {error.strerror}.") from error
    print_note(f"Wrote {png}")
