"""Requests and candidates that the tests of the skills share."""

from __future__ import annotations

from typing import Any

from adaptive_rag.analysis.classify import ClassifyRequest
from adaptive_rag.answer.draft import GenerateRequest
from adaptive_rag.context import Context, make_context
from adaptive_rag.llm.budget import Budget
from adaptive_rag.query.contextualize import ContextualizeRequest
from adaptive_rag.query.decompose import DecomposeRequest
from adaptive_rag.query.enhance import EnhanceRequest
from adaptive_rag.query.viewpoints import ViewpointsRequest
from adaptive_rag.rank.score import ScoreRequest
from adaptive_rag.rank.select import SelectRequest
from adaptive_rag.state import Candidate, QueryAnalysis

QUESTION = "When was the Harbour Bridge opened?"


def candidate(number: int, text: str = "The Harbour Bridge was opened in 1932.") -> Candidate:
    return {
        "id": f"c{number}",
        "source": "bridges.md",
        "page": None,
        "section": None,
        "start": 0,
        "end": len(text),
        "text": text,
        "metadata": {},
        "scores": {"fused": 1.0 / number},
        "labels": [],
    }


def analysis() -> QueryAnalysis:
    return {
        "type": "factual",
        "probabilities": {"factual": 0.4, "analytical": 0.3, "opinion": 0.2, "contextual": 0.1},
        "intent": "factual",
        "complexity": "basic",
        "entities": [],
        "ontology_terms": {},
        "domain_relevance": 0.5,
        "confidence": 0.4,
        "factors": {},
        "decided_by": "local",
        "reason": "starts with when",
        "alternatives": [],
    }


def request_for(skill: str, n: int = 3, first_hits: Any = None) -> Any:
    candidates = [candidate(i) for i in range(1, n + 1)]
    hits = first_hits or (lambda: candidates)
    return {
        "classify": lambda: ClassifyRequest(QUESTION, "", [], analysis()),
        "enhance": lambda: EnhanceRequest(QUESTION),
        "decompose": lambda: DecomposeRequest(QUESTION, n, hits),
        "viewpoints": lambda: ViewpointsRequest(QUESTION, n),
        "contextualize": lambda: ContextualizeRequest(QUESTION, "", []),
        "score": lambda: ScoreRequest(QUESTION, "", candidates, lambda: [5.0] * n),
        "select": lambda: SelectRequest(QUESTION, candidates, min(2, n), lambda: list(range(n))),
        "generate": lambda: GenerateRequest(
            QUESTION, "factual", "", [], candidates, lambda: "Opened in 1932 [1]."
        ),
    }[skill]()


def context(model: Any, **knobs: Any) -> Context:
    return make_context(model=model, index="nowhere", **knobs)


def budget(calls: int = 6, seconds: float = 30.0, **more: Any) -> Budget:
    return Budget(calls=calls, seconds=seconds, **more)
