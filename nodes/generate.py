"""The last step of every strategy: an answer with citations, or the admission that there is none."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.runtime import Runtime

from adaptive_rag.answering import (
    AnswerRequest,
    Branch,
    extract_answer,
    format_abstention,
    judge_evidence,
)
from adaptive_rag.context import Context, context_of
from adaptive_rag.models.onnx import load_minilm
from adaptive_rag.skills import GENERATE, Ask
from adaptive_rag.skills.generate import GenerateRequest
from adaptive_rag.sources import source_of
from adaptive_rag.state import Candidate, Decision, State
from adaptive_rag.steps import Steps, Update, step


@step
def generate(state: State, runtime: Runtime[Context]) -> Steps:
    """Answer from the documents with citations, or abstain where they do not hold the answer."""
    context = context_of(runtime)
    documents = state["documents"]
    if not documents:
        return _abstain(state, "nothing was found")
    request = _answer_request(state, context)
    evidence = judge_evidence(request)
    decision = Decision(what="evidence", chosen=round(evidence.score, 3), why=evidence.reason)
    if context.abstain and not evidence.sufficient:
        return _abstain(state, evidence.reason)
    extracted = extract_answer(request)
    ask = GenerateRequest(
        state["question"],
        state["query_type"],
        request.user_context,
        state.get("history", []),
        documents,
        lambda: extracted.text,
    )
    yield [Ask(GENERATE, ask)]
    return {
        "answer": extracted.text,
        "citations": extracted.citations,
        "grounding": 1.0,
        "abstained": False,
        "messages": _messages(state, extracted.text),
        "record": {"decisions": [decision]},
    }


def _answer_request(state: State, context: Context) -> AnswerRequest:
    documents, user_context = state["documents"], state.get("implied_context", "")
    labels = list(dict.fromkeys(label for document in documents for label in document["labels"]))
    vectors = load_minilm().encode([state["question"], *labels, *([user_context] if user_context else [])])
    return AnswerRequest(
        question=state["question"],
        query_type=state["query_type"],
        documents=documents,
        sentences=source_of(context).sentences([document["id"] for document in documents]),
        question_vector=vectors[0],
        branches=[Branch(label, vectors[i]) for i, label in enumerate(labels, start=1)],
        user_context=user_context,
        context_vector=vectors[-1] if user_context else None,
    )


def _abstain(state: State, why: str) -> Update:
    queries = [query for record in state["trace"] for query in record.get("queries", [])]
    text = format_abstention(state["question"], queries, _sources(state["documents"]))
    return {
        "answer": text,
        "citations": [],
        "grounding": 0.0,
        "abstained": True,
        "messages": _messages(state, text),
        "record": {"decisions": [Decision(what="evidence", chosen="abstain", why=why)]},
    }


def _sources(documents: list[Candidate]) -> list[str]:
    return list(dict.fromkeys(document["source"] for document in documents))


def _messages(state: State, answer: str) -> list[AnyMessage]:
    """Return what the conversation gains: the question, where it did not come as a message, and the answer."""
    earlier: list[Any] = state.get("messages", [])
    asked = [] if earlier and isinstance(earlier[-1], HumanMessage) else [HumanMessage(state["question"])]
    return [*asked, AIMessage(answer)]
