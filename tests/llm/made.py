"""Requests and candidates that tests of what a chat model is asked share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adaptive_rag.answer.draft import DraftQuestion, ask_to_draft
from adaptive_rag.answer.styles import FACTUAL_STYLE
from adaptive_rag.context import Context, make_context
from adaptive_rag.llm.budget import Budget
from adaptive_rag.llm.request import Asking, Reply, Request
from adaptive_rag.nodes.classify import ask_to_classify
from adaptive_rag.nodes.contextualize import ask_to_contextualize
from adaptive_rag.nodes.decompose import ask_to_decompose
from adaptive_rag.nodes.enhance import ask_to_enhance
from adaptive_rag.nodes.viewpoints import ask_for_viewpoints
from adaptive_rag.rank.scoring import ask_to_score
from adaptive_rag.rank.selection import ask_to_select
from adaptive_rag.state import Candidate
from tests.conftest import EVERY_STEP, make_candidate

QUESTION = "When was the Harbour Bridge opened?"


def candidate(number: int, text: str = "The Harbour Bridge was opened in 1932.") -> Candidate:
    return make_candidate(f"c{number}", text, source="bridges.md", fused=1.0 / number)


def request_for(step: str, n: int = 3) -> Request[Any]:
    candidates = [candidate(i) for i in range(1, n + 1)]
    return {
        "classify": lambda: ask_to_classify(QUESTION, "", []),
        "enhance": lambda: ask_to_enhance(QUESTION),
        "decompose": lambda: ask_to_decompose(QUESTION, n),
        "viewpoints": lambda: ask_for_viewpoints(QUESTION, n),
        "contextualize": lambda: ask_to_contextualize(QUESTION, "", []),
        "score": lambda: ask_to_score(QUESTION, "", candidates),
        "select": lambda: ask_to_select(QUESTION, candidates, min(2, n)),
        "generate": lambda: ask_to_draft(
            DraftQuestion(QUESTION), "factual", FACTUAL_STYLE, candidates, budget=12_000
        ),
    }[step]()


STEPS = ("classify", "enhance", "decompose", "viewpoints", "contextualize", "score", "select", "generate")


def context(model: Any, **settings: Any) -> Context:
    """Return settings under which a model may be asked for every step."""
    return make_context(EVERY_STEP, model=model, index="nowhere", **settings)


def budget(calls: int = 6, seconds: float = 30.0, **more: Any) -> Budget:
    return Budget(calls=calls, seconds=seconds, **more)


def finish(asking: Asking[Any], *results: Sequence[Any]) -> tuple[Any, list[Request[Any]]]:
    """Drive a step with the model's results, one sequence a round; None is a request without a usable reply.

    Rounds beyond the results given have no usable reply either. Returns what the step returns, and all
    that it requested.
    """
    requested: list[Request[Any]] = []
    rounds = iter(results)
    try:
        requests = next(asking)
        while True:
            requested += requests
            said = next(rounds, [None] * len(requests))
            assert len(said) == len(requests)
            requests = asking.send([Reply(result, "" if result else "no reply") for result in said])
    except StopIteration as stop:
        return stop.value, requested
