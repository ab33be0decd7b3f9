"""The last step of every strategy: an answer with citations, or the admission that there is none."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.runtime import Runtime

from adaptive_rag.answer.draft import GenerateRequest
from adaptive_rag.answer.evidence import Evidence, format_abstention, judge_evidence
from adaptive_rag.answer.extract import ExtractedAnswer, extract_answer
from adaptive_rag.answer.grounding import Review, review_draft
from adaptive_rag.answer.passages import BYTES_PER_TOKEN, read_passages, read_sentences
from adaptive_rag.answer.styles import STYLES, AnswerRequest, Aspect
from adaptive_rag.context import Context, context_of
from adaptive_rag.index.open import source_of
from adaptive_rag.llm.steps import GENERATE, Ask
from adaptive_rag.models.onnx import load_minilm
from adaptive_rag.nodes.step import Steps, Update, step
from adaptive_rag.state import Candidate, Citation, Decision, State


@step
def generate(state: State, runtime: Runtime[Context]) -> Steps:
    """Answer from the documents with citations, or abstain where they do not hold the answer."""
    context = context_of(runtime)
    if not state["documents"]:
        return _abstain(state, "nothing was found")
    passages, found = read_passages(state["documents"], tokens=context.context_tokens, join=context.join)
    # From here on the documents are what was read: [n] is the nth of them.
    state = {**state, "documents": passages}
    request = _answer_request(state, context)
    local = _LocalAnswer(request, abstain=context.abstain)
    [outcome] = yield [Ask(GENERATE, _draft_request(state, request, local, context))]
    if outcome.by == "model":
        review = review_draft(outcome.result.text, request, load_minilm().encode)
        found += _review_decisions(review)
        if not review.knows:
            return _abstain(state, "the chat model says that the passages do not hold it", found)
        if review.grounding.share > 0 or not context.extractive_fallback:
            name = outcome.result.message_id
            return _answer(state, review.text, review.citations, review.grounding.share, found, name)
        why = "no passage supports the model's answer"
        found.append(Decision(what="answer", chosen="extractive", why=why))
    evidence = local.evidence
    if not local.text:
        return _abstain(state, evidence.reason, found)
    decision = Decision(what="evidence", chosen=round(evidence.score, 3), why=evidence.reason)
    return _answer(state, local.text, local.extracted.citations, 1.0, [decision, *found])


class _LocalAnswer:
    """The answer without a model; worked out when it is needed, since with a model it seldom is."""

    def __init__(self, request: AnswerRequest, *, abstain: bool) -> None:
        self._request = request
        self._abstain = abstain

    @cached_property
    def evidence(self) -> Evidence:
        return judge_evidence(self._request)

    @cached_property
    def extracted(self) -> ExtractedAnswer:
        return extract_answer(self._request)

    @property
    def text(self) -> str:
        """The answer's text; empty where there is none to give."""
        return "" if self._abstain and not self.evidence.sufficient else self.extracted.text


def _draft_request(
    state: State, request: AnswerRequest, local: _LocalAnswer, context: Context
) -> GenerateRequest:
    return GenerateRequest(
        state["question"],
        state["query_type"],
        request.user_context,
        state.get("history", []),
        state["documents"],
        # A result of the skill is never empty; what is made of it is decided above.
        lambda: local.text or "I don't know.",
        passage_budget=context.context_tokens * BYTES_PER_TOKEN,
    )


def _review_decisions(review: Review) -> list[Decision]:
    found = []
    if review.unknown:
        found.append(
            Decision(what="markers dropped", chosen=review.unknown, why="no passage has these numbers")
        )
    for claim, reason in zip(review.grounding.unsupported, review.grounding.reasons, strict=True):
        found.append(Decision(what="unsupported", chosen=claim, why=reason))
    return found


def _answer_request(state: State, context: Context) -> AnswerRequest:
    documents, user_context = state["documents"], state.get("implied_context", "")
    labels = list(dict.fromkeys(label for document in documents for label in document["labels"]))
    vectors = load_minilm().encode([state["question"], *labels, *([user_context] if user_context else [])])
    return AnswerRequest(
        question=state["question"],
        style=STYLES[state["query_type"]],
        documents=documents,
        sentences=read_sentences(documents, source_of(context).sentences),
        question_vector=vectors[0],
        aspects=[Aspect(label, vectors[i]) for i, label in enumerate(labels, start=1)],
        user_context=user_context,
        context_vector=vectors[-1] if user_context else None,
    )


# A thread's next question reads its history from the messages, unless its caller gives one.
_SPOKEN: Update = {"history": []}


def _answer(
    state: State,
    text: str,
    citations: list[Citation],
    grounding: float,
    decisions: list[Decision],
    message_id: str | None = None,
) -> Update:
    return {
        **_SPOKEN,
        "documents": state["documents"],
        "answer": text,
        "citations": citations,
        "grounding": grounding,
        "abstained": False,
        "messages": _messages(state, text, message_id),
        "record": {"decisions": decisions},
    }


def _abstain(state: State, why: str, found: Sequence[Decision] = ()) -> Update:
    queries = [query for record in state["trace"] for query in record.get("queries", [])]
    text = format_abstention(state["question"], queries, _sources(state["documents"]))
    return {
        **_SPOKEN,
        "documents": state["documents"],
        "answer": text,
        "citations": [],
        "grounding": 0.0,
        "abstained": True,
        "messages": _messages(state, text),
        "record": {"decisions": [Decision(what="evidence", chosen="abstain", why=why), *found]},
    }


def _sources(documents: list[Candidate]) -> list[str]:
    return list(dict.fromkeys(document["source"] for document in documents))


def _messages(state: State, answer: str, message_id: str | None = None) -> list[Any]:
    """Return what the conversation gains: the question, where it did not come as a message, and the answer.

    The answer bears the id of the message that was streamed, so that streams of messages do not repeat
    it; the question is a plain dict, which they leave out altogether.
    """
    earlier: list[Any] = state.get("messages", [])
    came_as_message = bool(earlier) and isinstance(earlier[-1], HumanMessage)
    asked = [] if came_as_message else [{"role": "user", "content": state["question"]}]
    return [*asked, AIMessage(answer, id=message_id)]
