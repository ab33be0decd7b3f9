"""The strategies, one per file, and their names for the graph, the shell and the evaluation."""

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
    # Records are loaded on first use, since the help of the shell needs only the names.
    if name != "STRATEGIES":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    strategies = {file: import_module(f"{__name__}.{file}").STRATEGY for file in NAMES}
    globals()["STRATEGIES"] = strategies
    return strategies
