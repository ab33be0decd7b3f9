"""Sends the question and each of its branches to a retrieval of its own, all in parallel."""

from __future__ import annotations

from langgraph.types import Send

from adaptive_rag.state import Branch, StrategyState


def send_each_branch(state: StrategyState) -> list[Send]:
    """Start one retrieval for the question itself, and one for every labelled query."""
    own = [query for query in state["queries"] if "label" not in query]
    labelled = [query for query in state["queries"] if "label" in query]
    branches = [(None, own), *((query["label"], [query]) for query in labelled)]
    return [
        Send(
            "retrieve",
            Branch(
                order=order,
                label=label,
                queries=queries,
                plan=state.get("plan"),
                analysis=state["analysis"],
            ),
        )
        for order, (label, queries) in enumerate(branches)
    ]
