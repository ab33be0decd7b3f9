"""One strategy a file; this table names them for the graph, the shell and the evaluation."""

from importlib import import_module

from adaptive_rag.graph.strategies.strategy import Strategy

# Each file here holds a record called STRATEGY.
FILES = (
    "factual",
    "analytical",
    "opinion",
    "contextual",
)

STRATEGIES: dict[str, Strategy] = {}
for _file in FILES:
    _strategy = import_module(f"{__name__}.{_file}").STRATEGY
    STRATEGIES[_strategy.name] = _strategy
