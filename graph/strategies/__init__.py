"""Strategies, one per file; this table names them for the graph, the shell and the evaluation."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from adaptive_rag.graph.strategies.strategy import Strategy

    STRATEGIES: dict[str, Strategy]

# Each name is a file in this folder that defines a STRATEGY record, and a value of `route=`.
NAMES = (
    "factual",
    "analytical",
    "opinion",
    "contextual",
)


def __getattr__(name: str) -> dict[str, Strategy]:
    # The records are loaded on first use, since the shell needs only their names for its help.
    if name != "STRATEGIES":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = {file: import_module(f"{__name__}.{file}").STRATEGY for file in NAMES}
    globals()["STRATEGIES"] = found
    return found
