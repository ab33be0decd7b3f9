"""One strategy a file; this table names them for the graph, the shell and the evaluation."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from adaptive_rag.graph.strategies.strategy import Strategy

    STRATEGIES: dict[str, Strategy]

# Each is a file here with a record called STRATEGY, and the value of `route=`.
NAMES = (
    "factual",
    "analytical",
    "opinion",
    "contextual",
)


def __getattr__(name: str) -> dict[str, Strategy]:
    # The records are loaded when they are first used: the shell lists their names in its help.
    if name != "STRATEGIES":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = {file: import_module(f"{__name__}.{file}").STRATEGY for file in NAMES}
    globals()["STRATEGIES"] = found
    return found
