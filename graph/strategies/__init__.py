"""One strategy a file; the table names them for the builder."""

from collections.abc import Callable
from typing import Any

from langgraph.graph import StateGraph

from adaptive_rag.graph.strategies.analytical import build_analytical
from adaptive_rag.graph.strategies.contextual import build_contextual
from adaptive_rag.graph.strategies.factual import build_factual
from adaptive_rag.graph.strategies.opinion import build_opinion
from adaptive_rag.state import QueryType

STRATEGIES: dict[QueryType, Callable[[], StateGraph[Any, Any, Any, Any]]] = {
    "factual": build_factual,
    "analytical": build_analytical,
    "opinion": build_opinion,
    "contextual": build_contextual,
}
