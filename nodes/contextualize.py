"""Contextual questions: add the user's situation and the earlier conversation to the query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from langgraph.runtime import Runtime
from pydantic import BaseModel, Field

from adaptive_rag.context import Context, context_of
from adaptive_rag.index.index import source_of
from adaptive_rag.llm.messages import LAST_TURNS, TURN_CHARACTERS, format_history
from adaptive_rag.llm.replies import labelled, one_text, pick, text_in
from adaptive_rag.llm.request import Asking, Request
from adaptive_rag.nodes.rerank import search_to_score
from adaptive_rag.nodes.step import Steps, step
from adaptive_rag.optional import attempt
from adaptive_rag.query.history import Conversation, parse_history, spelt_question
from adaptive_rag.rank.scoring import early_scores
from adaptive_rag.rank.window import READING, ReadingBudget
from adaptive_rag.search.search import prepare
from adaptive_rag.source import ChunkSource
from adaptive_rag.state import Candidate, Decision, Query, SearchPlan, StrategyState, Turn
from adaptive_rag.text.words import terms

# Weights of the vector score: where only the user's need is known, and where only earlier turns are known.
NEED_ALPHA, FOLLOW_UP_ALPHA = 0.5, 0.9
# Above this share of other turns, only the best chunks by vector become candidates.
MOSTLY_OTHER = 0.5
# A situation is off topic where adding it to the question lowers the best cosine by more than this. A longer
# text is always a little further from every passage.
OFF_TOPIC = 0.1
MAX_CONTEXT = 2000
# Maximum number of the agent's questions and the user's answers to them that are searched for.
MOST_ANSWERED = 40


class ContextualizedQuery(BaseModel):
    """The question as it would be asked by someone who says everything."""

    context: str = Field("", max_length=MAX_CONTEXT, description="The asker's context, given or inferred.")
    query: str = Field(min_length=1, max_length=2000, description="The question, self-contained.")


class InferredContext(BaseModel):
    """Who probably asks."""

    context: str = Field(min_length=1, max_length=MAX_CONTEXT, description="The asker's likely situation.")


@step
def contextualize(state: StrategyState, runtime: Runtime[Context], reading: ReadingBudget = READING) -> Steps:
    """Make the question self-contained; meanwhile the model scores what the local query finds."""
    context = context_of(runtime)
    source = source_of(context, state)
    question, user_context = spelt_question(state), state.get("user_context", "")
    queries, implied_context, scored = [Query(text=question)], "", list[Candidate]()
    plan: SearchPlan | None = None
    decisions: list[Decision] = []
    if context.uses("context"):
        user_context = yield from _infer(state, context)
        history = state.get("history", [])
        conversation = parse_history(question, user_context, history)
        text = contextual_query(question, conversation)
        scoring, candidates = search_to_score(state, text, context, reading)
        rewrites = context.retrieval.rewrites != "follow-ups" or leans_on_turns(conversation)
        rewriting = ask_to_contextualize(
            question,
            user_context,
            history,
            no_context=context.models.no_context,
            locally_because="" if rewrites else "only follow-ups are made to stand alone",
        )
        reply, *scores = yield [rewriting, *scoring]
        scored = early_scores(candidates, scores)
        if reply.result is not None:
            implied_context = reply.result.context
            texts = [reply.result.query]
            if context.retrieval.rewrites != "alone" and question not in texts:
                texts.append(question)
            queries = [Query(text=text, dense=1 / len(texts), sparse=1 / len(texts)) for text in texts]
        else:
            implied_context = user_context[:MAX_CONTEXT]
            planned = attempt("follow-up", partial(_plan, source, question, conversation), None)
            queries, plan, decisions = planned or (queries, plan, decisions)
    prepare(source, [query["text"] for query in queries], [implied_context] if implied_context else [])
    return {
        "queries": queries,
        "plan": plan,
        "implied_context": implied_context,
        "early_scored": scored,
        "record": {"decisions": decisions},
    }


def _plan(
    source: ChunkSource, question: str, conversation: Conversation
) -> tuple[list[Query], SearchPlan | None, list[Decision]]:
    """Return the local queries; leave out the user's situation where it is off topic."""
    queries, plan = plan_contextual(question, conversation)
    if plan and plan["situation"]:
        bare_queries, bare_plan = plan_contextual(question, conversation, situated=False)
        if is_off_topic(source, queries[0]["text"], bare_queries[0]["text"]):
            why = "with it the question is further from every passage"
            return bare_queries, bare_plan, [Decision(what="situation", chosen="not searched for", why=why)]
    return queries, plan, []


def _infer(state: StrategyState, context: Context) -> Asking[str]:
    """Return the user's context: their own words, else what a model infers in a separate call."""
    user_context = state.get("user_context", "")
    if user_context or "infer" not in context.models.steps:
        return user_context
    [reply] = yield [ask_to_infer(state["question"], state.get("history", []))]
    return reply.result.context if reply.result is not None else ""


def ask_to_infer(question: str, history: Sequence[Turn]) -> Request[InferredContext]:
    """Ask the model who probably asks the question; without a reply, the user's context stays unknown."""

    def read(value: Any) -> dict[str, Any]:
        if isinstance(value, Mapping):
            value = pick(value, "context", "user_context", "situation")
        elif isinstance(value, str):
            value = labelled(value, "context").get("context", value)
        return {"context": one_text(value, "context")}

    return Request(
        "infer",
        InferredContext,
        values=lambda: {"question": question, "history": format_history(history) or "(none)"},
        read=read,
    )


def ask_to_contextualize(
    question: str,
    user_context: str,
    history: Sequence[Turn],
    *,
    no_context: str = "",
    locally_because: str = "",
) -> Request[ContextualizedQuery]:
    """Ask the model to make the question self-contained.

    Where no context is given, the model infers one, unless `no_context` gives a text to use instead. A given
    context is kept word for word, since a model's summary may lose details.
    """
    given = user_context or no_context

    def read(value: Any) -> dict[str, Any]:
        context: Any = ""
        if isinstance(value, Mapping):
            value = {str(key).lower(): item for key, item in value.items()}
            context = value.pop("context", None) or value.pop("user_context", None) or ""
        elif isinstance(value, str):
            context = labelled(value, "context").get("context", "")
        query = text_in(value, "query", "query", "question", "rewritten_query", "standalone_question")
        return {"context": given[:MAX_CONTEXT] or str(context), "query": query}

    return Request(
        "contextualize",
        ContextualizedQuery,
        values=lambda: {
            "question": question,
            "user_context": given or "(none given: infer the likely one)",
            "history": format_history(history) or "(none)",
        },
        read=read,
        locally_because=locally_because,
    )


def leans_on_turns(conversation: Conversation) -> bool:
    """Return whether most of what is known besides the question is earlier turns that it may refer to."""
    return _share_of_other_turns(conversation, conversation.situation) > MOSTLY_OTHER


def plan_contextual(
    question: str, conversation: Conversation, *, situated: bool = True
) -> tuple[list[Query], SearchPlan | None]:
    """Return the queries for a question in its context, and the plan for their search.

    What is known about the user's need (the situation, the agent's questions with their answers) is joined to
    the question. Other turns have been answered already, and their words would find the same passages again,
    so the vectors of the question with and without them are averaged. The share of the other turns, by
    content words, interpolates between the two ways:

        dense = (1 - share) * joined + share * (without + with) / 2

    The question always comes first and the last turn next, since an encoder truncates the end of a text.
    Unless `situated` is true, the situation is left out of the queries. The plan is None where nothing but
    the question is known.
    """
    answered, other_turns = _last(conversation.answered, MOST_ANSWERED), _last_turns(conversation)
    if not (conversation.situation or answered or other_turns):
        return [Query(text=question, dense=1.0, sparse=1.0)], None
    situation = conversation.situation if situated else ""
    share = _share_of_other_turns(conversation, situation)
    joined = _lines(question, situation, *answered)
    bare = _lines(question, *answered)
    # BM25 is a sum over words, so two queries of half the weight give the situation's own words half the
    # weight.
    half = (1 - share) / 2
    weights = [(joined, 1 - share, half), (bare, share / 2, 1 - half)]
    if other_turns:
        weights.append((_lines(bare, *other_turns), share / 2, 0.0))
    plan = SearchPlan(
        alpha=NEED_ALPHA + (FOLLOW_UP_ALPHA - NEED_ALPHA) * share,
        dense_only=share > MOSTLY_OTHER,
        why=f"{share:.0%} of what is known besides the question are earlier turns, the rest the user's need",
        situation=conversation.situation,
    )
    return _sum_weights(weights), plan


def contextual_query(question: str, conversation: Conversation) -> str:
    """Return one text with all that is known: the question, the user's need and the last turns."""
    answered = _last(conversation.answered, MOST_ANSWERED)
    return _lines(question, conversation.situation, *answered, *_last_turns(conversation))


def is_off_topic(source: ChunkSource, situated: str, bare: str) -> bool:
    """Return whether the situation moves the question clearly further from every passage."""
    best_situated, best_bare = (
        max((candidate["scores"]["dense"] for candidate in candidates), default=0.0)
        for candidates in source.search([situated, bare], limit=1)
    )
    return best_situated < best_bare - OFF_TOPIC


def _share_of_other_turns(conversation: Conversation, situation: str) -> float:
    """Return the share, by content words, that the last turns have in what is known besides the question."""
    other = len(terms(" ".join(_last_turns(conversation))))
    return other / max(1, other + len(terms(" ".join([situation, *conversation.answered]))))


def _last_turns(conversation: Conversation) -> list[str]:
    return _last(conversation.other_turns, LAST_TURNS)[::-1]


def _last(turns: Sequence[str], most: int) -> list[str]:
    """Return the last turns, each cut to the same length, so that a long chat is searched in a short time."""
    return [text[:TURN_CHARACTERS] for text in turns[-most:]]


def _lines(*texts: str) -> str:
    return "\n".join(text for text in texts if text)


def _sum_weights(weights: Sequence[tuple[str, float, float]]) -> list[Query]:
    """Return one query for each text, its weights summed; leave out texts without weight."""
    sums: dict[str, Query] = {}
    for text, dense, sparse in weights:
        query = sums.setdefault(text, Query(text=text, dense=0.0, sparse=0.0))
        query["dense"] += dense
        query["sparse"] += sparse
    return [query for query in sums.values() if query["dense"] or query["sparse"]]
