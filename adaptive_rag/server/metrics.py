"""Prometheus metrics of a running server. Labels never contain names that a caller chose."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import Counter, Gauge, Histogram

from adaptive_rag.optional import LEFT_OUT
from adaptive_rag.state import OutputState

_SECONDS = (0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)

REQUESTS = Counter("adaptive_rag_http_requests", "Requests by route.", ["method", "route", "status"])
QUESTIONS = Counter("adaptive_rag_questions", "Questions by route and outcome.", ["route", "outcome"])
SECONDS = Histogram(
    "adaptive_rag_question_seconds", "Time of an answer, including the wait.", ["route"], buckets=_SECONDS
)
STEP_SECONDS = Histogram("adaptive_rag_step_seconds", "Time of a step.", ["step"], buckets=_SECONDS)
MODEL_CALLS = Counter("adaptive_rag_model_calls", "Calls of a chat model by step.", ["step"])
MODEL_TOKENS = Counter("adaptive_rag_model_tokens", "Tokens that a chat model read and wrote.", ["kind"])
STAND_INS = Counter(
    "adaptive_rag_stand_ins", "Steps that used their local method after a model failed.", ["step"]
)
LEFT_OUT_PARTS = Counter(
    "adaptive_rag_left_out", "Parts of an answer that failed, and without which it was given.", ["part"]
)
IN_PROGRESS = Gauge("adaptive_rag_questions_inside", "Questions that are being answered or wait.")
JOBS = Gauge("adaptive_rag_jobs", "Indexing jobs by state.", ["state"])


def count_answer(output: OutputState, seconds: float) -> None:
    """Count an answer, its steps, and its calls of a chat model."""
    route = output["query_type"]
    QUESTIONS.labels(route, "refused" if output["abstained"] else "answered").inc()
    SECONDS.labels(route).observe(seconds)
    for record in output["trace"]:
        step = record["step"].partition(":")[0]
        STEP_SECONDS.labels(step).observe(record.get("ms", 0) / 1000)
        if calls := record.get("calls"):
            MODEL_CALLS.labels(step).inc(calls)
        for kind, tokens in record.get("tokens", {}).items():
            MODEL_TOKENS.labels(kind).inc(tokens)
        for decision in record.get("decisions", ()):
            if decision["what"] == LEFT_OUT:
                LEFT_OUT_PARTS.labels(decision["chosen"]).inc()
        if record.get("stand_ins"):
            STAND_INS.labels(step).inc(len(record["stand_ins"]))


@contextmanager
def track_question() -> Iterator[None]:
    """Count a question as in progress during the block, and as failed if the block raises."""
    with IN_PROGRESS.track_inprogress():
        try:
            yield
        except Exception:
            QUESTIONS.labels("unknown", "failed").inc()
            raise
