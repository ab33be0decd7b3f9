"""The arms of a comparison: each answers a question in its own way, over one shared index."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, get_args

from cachetools import LRUCache, cached
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable

from adaptive_rag.answer.passages import as_ranked
from adaptive_rag.context import Context, make_context
from adaptive_rag.context.groups import ANSWER_MECHANISMS, MECHANISMS, ModelStep
from adaptive_rag.errors import ConfigurationError
from adaptive_rag.evaluation.datasets import Question
from adaptive_rag.evaluation.records import Cost
from adaptive_rag.evaluation.replay import Replies, replay_settings
from adaptive_rag.graph.strategies import NAMES
from adaptive_rag.index.index import source_of
from adaptive_rag.ingest.community import build_tfidf_retriever
from adaptive_rag.recipes import NAMES as RECIPES
from adaptive_rag.recipes import recipe_settings
from adaptive_rag.search.fusion import fuse, fuse_rankings
from adaptive_rag.search.search import PLAIN_ALPHA, POOL
from adaptive_rag.source import ChunkSource, ListsChunks
from adaptive_rag.state import ROUTED_TYPES, Candidate, Citation, QueryAnalysis, TraceRecord, to_candidate

MAIN_ARMS = ("standard", "bm25", "fusion", "adaptive", "oracle")
BASELINE = "standard"
SUBJECT = "adaptive"


@dataclass(frozen=True)
class Bench:
    """What all arms share: the index, the graph, and the settings of the run."""

    source: ChunkSource
    # ends with the documents, or with an answer if `answering` is set
    graph: Runnable[Any, Any]
    # the graph that answers from documents which an arm found without `graph`; None measures rankings only
    answering: Runnable[Any, Any] | None = None
    k: int = 10
    seed: int = 0
    settings: dict[str, Any] = field(default_factory=dict)
    # recorded replies of a chat model, by question; None asks the model of the settings
    replies: Replies | None = None
    # the file with the terms of the data's domain, if one lies beside its questions
    ontology: str | None = None

    @cached_property
    def searched(self) -> ChunkSource:
        """Return the source that the graph searches: the index, restricted to `where` of the run."""
        return source_of(make_context({"index": self.source}, self.settings))

    def context(self, question: Question, arm_settings: Mapping[str, Any] | None = None) -> Context:
        """Return the context of one question; an arm's settings win over those of the run."""
        layers = {"index": self.source, "k": self.k}, self.settings, arm_settings or {}
        context = make_context(*layers)
        if self.replies is None:
            return context
        return make_context(*layers, replay_settings(self.replies.get(question.id, {}), context.models.steps))


@dataclass(frozen=True)
class Result:
    """The result of one arm for one question."""

    documents: list[Candidate]
    ms: float
    trace: list[TraceRecord] = field(default_factory=list)
    analysis: QueryAnalysis | None = None
    answer: str | None = None
    citations: list[Citation] = field(default_factory=list)
    abstained: bool = False

    def cost(self) -> Cost:
        """Return the cost of the question, summed over the steps of the graph."""
        return Cost(
            model_calls=sum(step.get("calls", 0) for step in self.trace),
            rounds=sum(step.get("rounds", 0) for step in self.trace),
            ms=self.ms,
            tokens=sum(sum(step.get("tokens", {}).values()) for step in self.trace),
        )


@dataclass(frozen=True)
class Arm:
    """A way to answer, and the line that describes it in a report."""

    what: str
    run: Callable[[Question, Bench], Result]
    # True if the arm reads the question's label, which no real caller has.
    sees_label: bool = False
    # True if it ranks like `adaptive`, so that only its answers may differ.
    affects_only_answers: bool = False


def find_arms(names: Sequence[str]) -> dict[str, Arm]:
    """Return the named arms in the order given.

    Raises:
        ConfigurationError: a name is not in the table, or no name is given.
    """
    unknown = [name for name in names if name not in ARMS]
    if unknown or not names:
        wrong = ", ".join(map(repr, unknown)) or "An empty list"
        raise ConfigurationError(f"{wrong} is not an arm. The arms are: {', '.join(ARMS)}.")
    return {name: ARMS[name] for name in dict.fromkeys(names)}


def _search_index(
    question: Question, bench: Bench, rank: Callable[[list[Candidate]], list[Candidate]]
) -> Result:
    """Search for the question as it stands, with no strategy and no history."""
    started = time.perf_counter()
    [candidates] = bench.searched.search([question.text], limit=max(POOL, 3 * bench.k))
    return _answer(question, bench, rank(candidates)[: bench.k], started)


def _search_tfidf(question: Question, bench: Bench) -> Result:
    """Search for the question as it stands, with LangChain's TF-IDF retriever."""
    _, retriever = _tfidf_retriever(bench.searched, bench.k)
    started = time.perf_counter()
    hits = [to_candidate(hit.metadata["chunk"], {}) for hit in retriever.invoke(question.text)]
    return _answer(question, bench, hits, started)


@cached(LRUCache(1), key=lambda source, k: (id(source), k), condition=threading.Condition())
def _tfidf_retriever(source: ChunkSource, k: int) -> tuple[ChunkSource, BaseRetriever]:
    """Return the source and the retriever over all its chunks.

    The cache keeps the source alive, so that its id, which is the key, is not reused.
    """
    if not isinstance(source, ListsChunks):
        raise ConfigurationError(f"The arm 'tfidf' needs a source that lists its chunks, got {source!r}.")
    documents = (Document(chunk["text"], metadata={"chunk": chunk}) for chunk in source.chunks())
    return source, build_tfidf_retriever(documents, k)


def _answer(question: Question, bench: Bench, documents: list[Candidate], started: float) -> Result:
    """Return the result for documents that were found without the graph; answer if answers are measured."""
    if bench.answering is None:
        return _make_result({"trace": []}, documents, started, bench)
    # Plain retrieval does not classify; a factual answer has the plainest style.
    state = {"question": question.text, "query_type": "factual", "documents": documents, "trace": []}
    output = bench.answering.invoke(state, context=bench.context(question))
    return _make_result(output, documents, started, bench)


def by_vector(candidates: list[Candidate]) -> list[Candidate]:
    """Order by cosine."""
    return sorted(candidates, key=lambda candidate: (-candidate["scores"]["dense"], candidate["id"]))


def by_words(candidates: list[Candidate]) -> list[Candidate]:
    """Order by BM25; a chunk that shares no word with the question is not a hit."""
    hits = [candidate for candidate in candidates if candidate["scores"]["sparse"] > 0]
    return sorted(hits, key=lambda candidate: (-candidate["scores"]["sparse"], candidate["id"]))


def by_fusion(candidates: list[Candidate], alpha: float = PLAIN_ALPHA) -> list[Candidate]:
    """Order by the weighted sum of both scores, min-max scaled."""
    # Sort first: ties must not depend on the order in which the source lists its hits.
    return fuse(sorted(candidates, key=lambda candidate: candidate["id"]), method="weighted", alpha=alpha)


def _run_graph(
    question: Question,
    bench: Bench,
    *,
    route: str | None = None,
    without: str = "",
    settings: Mapping[str, Any] | None = None,
) -> Result:
    """Ask the graph as a person would."""
    started = time.perf_counter()
    context = bench.context(question, {**(settings or {}), **({"route": route} if route else {})})
    if without:
        context = context.model_copy(update={"without": context.without | {without}})
    state = {
        "question": question.text,
        "user_context": question.user_context,
        "history": list(question.history),
    }
    output = bench.graph.invoke(state, context=context)
    # Rankings are compared by chunk, even if the answer was made from passages that join several.
    return _make_result(output, as_ranked(output["documents"]), started, bench)


def _run_graph_with_ontology(question: Question, bench: Bench) -> Result:
    """Ask the graph with the ontology of the data; without one, as by default."""
    return _run_graph(question, bench, settings={"ontology": bench.ontology} if bench.ontology else None)


def _run_all_strategies(question: Question, bench: Bench) -> Result:
    """Run every strategy and fuse their rankings: the price of not choosing."""
    results = [_run_graph(question, bench, route=route) for route in ROUTED_TYPES]
    fused = fuse_rankings([result.documents for result in results], [1.0] * len(results))[: bench.k]
    # Take the answer of the strategy whose ranking shares the most chunks with the fused one.
    ids = {document["id"] for document in fused}
    nearest = max(results, key=lambda result: sum(document["id"] in ids for document in result.documents))
    return replace(
        nearest,
        documents=fused,
        ms=sum(result.ms for result in results),
        trace=[record for result in results for record in result.trace],
        analysis=None,
    )


def _make_result(output: dict[str, Any], documents: list[Candidate], started: float, bench: Bench) -> Result:
    ms = round((time.perf_counter() - started) * 1000, 3)
    result = Result(documents, ms, output["trace"], output.get("analysis"))
    if bench.answering is None:
        return result
    return replace(result, **{name: output[name] for name in ("answer", "citations", "abstained")})


# The four parts of the recipe faq-hybrid, each with the settings that switch off only this part.
FAQ_HYBRID_PARTS: dict[str, dict[str, Any]] = {
    "views": {"retrieval.qa_views": False},
    "words-and-alpha": {"retrieval.tfidf": 0.0, "retrieval.alpha_by": "words"},
    "cross-encoder": {"retrieval.reranker": "none"},
    "window": {"profile": None, "without": [*recipe_settings("faq-hybrid")["without"], "window"]},
}
# The recipe that fuses two signals and does nothing else.
FUSION_RECIPE = "vector-bm25-fusion"
ALL_STEPS = sorted(get_args(ModelStep))
# Variations that are off by default: name -> (description, settings).
VARIATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "all-plans": (
        "a chat model's plan in every strategy",
        {"models.steps": ALL_STEPS, "retrieval.rewrites": "always"},
    ),
    "no-plans": ("no chat model before the answer", {"models.steps": ["generate"]}),
    # `k` of the run would take precedence over both.
    "window": ("the window of a balanced profile, in place of k", {"profile": "balanced", "k": None}),
    "whole-window": (
        "the window of a balanced profile and nothing dropped from it",
        {"profile": "balanced", "k": None, "without": "window"},
    ),
    "reading-budget": ("as many passages as the strategy's budget holds, in place of k", {"k": None}),
    "low-confidence": (
        "a question of low confidence taken for unsure, and one step more read",
        {"routing.low_confidence": 0.5},
    ),
    "okapi": ("BM25Okapi over all chunks", {"retrieval.lexical": "okapi"}),
    "tfidf": ("a share of .3 of TF-IDF among the candidates beside BM25", {"retrieval.tfidf": 0.3}),
    "okapi-and-tfidf": (
        "BM25Okapi and a share of .3 of TF-IDF, both over all chunks",
        {"retrieval.lexical": "okapi", "retrieval.tfidf": 0.3},
    ),
    "alpha-by-intent": ("alpha by intent and domain", {"retrieval.alpha_by": "intent"}),
    "coverage": ("paraphrases held back in analytical sets", {"retrieval.diversity": "coverage"}),
    "qa-views": ("two views of question-answer pairs, by intent", {"retrieval.qa_views": True}),
    "cross-encoder": (
        "a cross-encoder over 3k candidates; its folder is --set retrieval.reranker_model",
        {"retrieval.reranker": "cross-encoder"},
    ),
    "reader": ("the reader over 3k candidates", {"retrieval.reranker": "reader"}),
    # `k` of the run would take precedence over the recipe's window.
    "faq-hybrid": ("the recipe faq-hybrid, its window in place of k", {"recipe": "faq-hybrid", "k": None}),
    **{
        f"faq-hybrid-without-{part}": (
            f"the recipe faq-hybrid, without its {part}",
            {"recipe": "faq-hybrid", "k": None, **settings},
        )
        for part, settings in FAQ_HYBRID_PARTS.items()
    },
}

ARMS: dict[str, Arm] = {
    "standard": Arm("dense top-k for the question as it stands", partial(_search_index, rank=by_vector)),
    "bm25": Arm("BM25 top-k for the question as it stands", partial(_search_index, rank=by_words)),
    "tfidf": Arm("TF-IDF top-k, by the retriever of langchain-community", _search_tfidf),
    "fusion": Arm("dense and BM25 joined, each weighing half", partial(_search_index, rank=by_fusion)),
    "vector-alone": Arm(
        f"the recipe {FUSION_RECIPE}, its vectors alone",
        partial(_run_graph, settings={"recipe": FUSION_RECIPE, "retrieval.fusion": "dense"}),
    ),
    "okapi-alone": Arm(
        f"the recipe {FUSION_RECIPE}, its BM25Okapi alone",
        partial(_run_graph, settings={"recipe": FUSION_RECIPE, "retrieval.fusion": "sparse"}),
    ),
    "adaptive": Arm("the graph as it is", _run_graph),
    "oracle": Arm(
        "adaptive with the labelled route",
        lambda q, bench: _run_graph(q, bench, route=q.type),
        sees_label=True,
    ),
    "random": Arm(
        "adaptive with a random route",
        lambda q, bench: _run_graph(
            q, bench, route=random.Random(f"{bench.seed} {q.id}").choice(ROUTED_TYPES)
        ),
    ),
    "costliest": Arm("all strategies of the router, their rankings joined", _run_all_strategies),
    **{
        f"only-{name}": Arm(f"every question by the {name} strategy", partial(_run_graph, route=name))
        for name in NAMES
    },
    **{
        f"without-{name}": Arm(
            f"adaptive without {what}",
            partial(_run_graph, without=name),
            affects_only_answers=name in ANSWER_MECHANISMS,
        )
        for name, what in MECHANISMS.items()
    },
    **{
        f"with-{name}": Arm(f"adaptive with {what}", partial(_run_graph, settings=settings))
        for name, (what, settings) in VARIATIONS.items()
    },
    "with-ontology": Arm(
        "adaptive with the ontology of the data: ontology.yaml beside its questions", _run_graph_with_ontology
    ),
    **{
        f"recipe-{name}": Arm(f"the recipe {name}", partial(_run_graph, settings={"recipe": name}))
        for name in RECIPES
    },
}


def all_arm_names(*, answers: bool) -> list[str]:
    """Return the names of all arms; without `answers`, leave out those that affect only answers."""
    return [name for name, arm in ARMS.items() if answers or not arm.affects_only_answers]
