"""Score a ranking against the judged passages, and an answer against its reference and its citations.

Rankings, over the first k passages or as many as a metric's own cutoff:

- RANKING_METRICS as trec_eval defines them (gain = grade, discount log2(rank + 1)).

COVERAGE_METRICS, for questions whose passages have aspects:

- alpha_ndcg: Clarke et al., "Novelty and diversity in information retrieval evaluation" (SIGIR 2008),
  alpha = 0.5: an aspect's gain halves each time it is met again.
- aspects: number of distinct aspects met / min(k, number of all aspects).
- both: 1 if passages of two stances are among the k, else 0. An aspect is written "stance/name".

Answers, each part between 0 and 1:

- semantic_similarity: cosine of answer and reference under the embedded model, negative values as 0.
- token_f1: overlap of the words of answer and reference (Rajpurkar et al., EMNLP 2016).
- rouge_l: F-measure of their longest common subsequence of words (Lin, 2004).
- context_relevance: mean cosine of the question and each document that was read.
- quoted_aspects, quoted_both: what `aspects` and `both` measure, among the passages that the answer cites.
- citation_correctness: share of citations whose quote occurs in a document that was read and has the words of
  the answer's sentence that carries the marker, or is close to it in meaning; no value without citations.

quality is their sum weighted by WEIGHTS; an answer without citations counts 0 for the last. Abstaining
scores 0 if the documents hold an answer, and 1 if they hold none; answering scores 0 if they hold none.

abstention_precision is a mean over the questions on which an arm abstained, abstention_recall over those
known to have no answer; other questions have no value.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from adaptive_rag.errors import import_extra
from adaptive_rag.evaluation.arms import Result
from adaptive_rag.evaluation.datasets import Question, collapse_whitespace
from adaptive_rag.models.onnx import Vectors
from adaptive_rag.state import Candidate
from adaptive_rag.text.markers import MARKER, find_markers, strip_markers

# A metric's value for one question; the keys are names such as "ndcg@10".
Scores = dict[str, float]
Ranking = Sequence[str]
# The aspects of each judged passage.
Aspects = Mapping[str, Sequence[str]]
Embed = Callable[[Sequence[str]], Vectors]


@dataclass(frozen=True)
class RankingMetric:
    """A metric of the first passages of a ranking."""

    name: str
    # its name in ir_measures (MRR is RR, MAP is AP), or a function of the judgements (the grades of passages,
    # and in COVERAGE_METRICS their aspects), the ranking and the cutoff
    measure: str | Callable[[Any, Ranking, int], float | None]
    # how many passages count; None for the k of the run
    cutoff: int | None = None
    # whether the page has a plot of it, and a column in its tables
    drawn: bool = False
    tabled: bool = True
    # as in AnswerMetric
    short: str = ""
    rank: int = 5

    def depth(self, k: int) -> int:
        """Return how many passages count in a run."""
        return self.cutoff or k

    def label(self, k: int) -> str:
        """Return the name of its values in a run, such as "ndcg@10"."""
        return f"{self.name}@{self.depth(k)}"


class AnswerMetric(NamedTuple):
    """The column of a metric of answers."""

    # its heading; the name by default
    short: str = ""
    # how soon it is dropped in a narrow terminal; 0 is never
    rank: int = 5


# In the order of the reports. A drawn metric has a panel of its own, with bars for each type of question.
RANKING_METRICS = [
    RankingMetric("ndcg", "nDCG", drawn=True, rank=0),
    RankingMetric("recall", "R", rank=3),
    RankingMetric("mrr", "RR", rank=3),
    RankingMetric("precision", "P", tabled=False),
]
WEIGHTS = {"semantic_similarity": 0.4, "token_f1": 0.2, "context_relevance": 0.2, "citation_correctness": 0.2}
ANSWER_METRICS = {
    "quality": AnswerMetric(rank=0),
    "semantic_similarity": AnswerMetric("similarity"),
    "token_f1": AnswerMetric(),
    "rouge_l": AnswerMetric(),
    "context_relevance": AnswerMetric("context"),
    "citation_correctness": AnswerMetric("citations"),
    "quoted_aspects": AnswerMetric("aspects quoted"),
    "quoted_both": AnswerMetric("both quoted"),
}
ABSTENTION = {
    "abstention_precision": AnswerMetric("abst. P", rank=3),
    "abstention_recall": AnswerMetric("abst. R", rank=3),
}
# The least cosine of a claim and a cited sentence that supports it; below it they share at most a topic.
SUPPORT = 0.5

_SENTENCE_END = re.compile(rf"(?<=[.!?])(?:\s*{MARKER.pattern})*\s+|\n+")
_ARTICLES = frozenset({"a", "an", "the"})


def metric_names(k: int) -> tuple[str, ...]:
    """Return the names of the ranking metrics in the order in which they are reported."""
    return labels((*RANKING_METRICS, *COVERAGE_METRICS), k)


def coverage_names(k: int) -> tuple[str, ...]:
    """Return the names of the metrics for the aspects and stances that a ranking covers."""
    return labels(COVERAGE_METRICS, k)


def labels(metrics: Iterable[RankingMetric], k: int) -> tuple[str, ...]:
    """Return the names of metrics in a run, each once: a cutoff may be k."""
    return tuple(dict.fromkeys(metric.label(k) for metric in metrics))


def headline(k: int) -> str:
    """Return the ranking metric that stands for quality where only one number is shown."""
    return f"ndcg@{k}"


def column_of(name: str) -> AnswerMetric:
    """Return the column of a metric by its name in a run, such as "ndcg@10"."""
    base, at, depth = name.partition("@")
    rankings = {metric.name: metric for metric in (*RANKING_METRICS, *COVERAGE_METRICS)}
    metric = rankings.get(base) or {**ANSWER_METRICS, **ABSTENTION}.get(base, AnswerMetric())
    return AnswerMetric(f"{metric.short or base.replace('_', ' ')}{at}{depth}", metric.rank)


def ranked_ids(documents: Sequence[Candidate]) -> list[str]:
    """Return the ids of ranked passages as the data set names them, each once."""
    return list(dict.fromkeys(str(document["metadata"].get("_id", document["id"])) for document in documents))


def score_ranking(question: Question, ranking: Ranking, k: int) -> Scores:
    """Score a ranking of passages for a question; a question without judgements has no score.

    Raises:
        MissingExtraError: `ir-measures` or, if there are aspects, `pyndeval` is not installed.
    """
    ir = import_extra("ir_measures", extra="eval", purpose="Scoring rankings")
    grades = [ir.Qrel("", passage, grade) for passage, grade in question.gold.items()]
    subtopics = [
        ir.Qrel("", passage, 1, aspect) for passage, aspects in question.aspects.items() for aspect in aspects
    ]
    # trec_eval breaks ties by id; decreasing scores keep our order.
    run = [ir.ScoredDoc("", passage, -float(rank)) for rank, passage in enumerate(ranking)]
    scores: Scores = {}
    for rows, qrels, judgements in (
        (RANKING_METRICS, grades, question.gold),
        (COVERAGE_METRICS, subtopics, question.aspects),
    ):
        names = {
            getattr(ir, row.measure) @ row.depth(k): row.label(k)
            for row in rows
            if isinstance(row.measure, str)
        }
        scores |= dict.fromkeys(names.values(), 0.0) if qrels else {}
        for metric in ir.iter_calc(list(names), qrels, run) if names and run and qrels else ():
            if not math.isnan(metric.value):
                scores[names[metric.measure]] = float(metric.value)
        for row in rows if judgements else ():
            if callable(row.measure):
                value = row.measure(judgements, ranking, row.depth(k))
                scores |= {} if value is None else {row.label(k): value}
    return scores


def aspects_at(aspects: Aspects, ranking: Ranking, k: int) -> float:
    """Return the number of aspects that the first k passages cover, divided by min(k, all aspects)."""
    all_aspects = {aspect for names in aspects.values() for aspect in names}
    covered = {aspect for passage in ranking[:k] for aspect in aspects.get(passage, ())}
    # At most 1, since a passage may have several aspects.
    return min(1.0, len(covered) / min(k, len(all_aspects)))


def both_at(aspects: Aspects, ranking: Ranking, k: int) -> float | None:
    """Return 1.0 if the first k passages have two stances or more, else 0.0; None if there is one stance."""
    has_both = len(stances(aspects, aspects)) > 1
    return float(len(stances(aspects, ranking[:k])) > 1) if has_both else None


COVERAGE_METRICS = [
    RankingMetric("alpha_ndcg", "alpha_nDCG", drawn=True, short="α-ndcg", rank=2),
    RankingMetric("aspects", aspects_at, drawn=True, rank=0),
    RankingMetric("both", both_at, cutoff=5, drawn=True, rank=2),
    RankingMetric("both", both_at, drawn=True, rank=2),
]


def stances(aspects: Aspects, passages: Iterable[str]) -> set[str]:
    """Return the stances of the passages' aspects, which are written "stance/name"."""
    names = (aspect for passage in passages for aspect in aspects.get(passage, ()))
    return {name.partition("/")[0] for name in names if "/" in name}


def score_answer(question: Question, result: Result, embed: Embed) -> Scores:
    """Score one answer; without a reference, use only the metrics that need none."""
    scores: Scores = {}
    if result.abstained and question.has_answer is not None:
        scores["abstention_precision"] = float(not question.has_answer)
    if question.has_answer is False:
        is_right = float(result.abstained)
        return scores | {"abstention_recall": is_right, "quality": is_right}
    if result.documents:
        vectors = embed([question.text, *(document["text"] for document in result.documents)])
        scores["context_relevance"] = float(np.clip(vectors[1:] @ vectors[0], 0, 1).mean())
    if not result.abstained and result.citations:
        scores["citation_correctness"] = citation_correctness(result, embed)
    if question.aspects:
        cited = {citation["source"] for citation in result.citations}
        quoted = ranked_ids([document for document in result.documents if document["source"] in cited])
        scores["quoted_aspects"] = aspects_at(question.aspects, quoted, max(1, len(result.documents)))
        if (has_both := both_at(question.aspects, quoted, len(quoted))) is not None:
            scores["quoted_both"] = has_both
    if question.reference is None:
        return scores
    text = strip_markers(result.answer or "").strip()
    answer_vector, reference_vector = embed([text, question.reference])
    scores["semantic_similarity"] = float(np.clip(answer_vector @ reference_vector, 0, 1))
    scores["token_f1"] = token_f1(text, question.reference)
    scores["rouge_l"] = rouge_l(text, question.reference)
    quality = sum(weight * scores.get(name, 0.0) for name, weight in WEIGHTS.items())
    scores["quality"] = 0.0 if result.abstained else quality
    return scores


def token_f1(answer: str, reference: str) -> float:
    """Return the F1 of the words that two texts share, without articles and punctuation."""
    first, second = _words(answer), _words(reference)
    return _f1((Counter(first) & Counter(second)).total(), len(first), len(second))


def rouge_l(answer: str, reference: str) -> float:
    """Return the F-measure of the longest common subsequence of words."""
    first, second = _words(answer), _words(reference)
    lengths = [0] * (len(second) + 1)
    for word in first:
        previous = lengths.copy()
        for j, other in enumerate(second, 1):
            lengths[j] = previous[j - 1] + 1 if word == other else max(previous[j], lengths[j - 1])
    return _f1(lengths[-1], len(first), len(second))


def citation_correctness(result: Result, embed: Embed) -> float:
    """Return the share of citations that quote a document that was read and support their sentence."""
    texts = [collapse_whitespace(document["text"]) for document in result.documents]
    claims = _claims(result.answer or "")
    correct = 0
    for citation in result.citations:
        quote, sentences = collapse_whitespace(citation["quote"]), claims.get(citation["marker"])
        if quote and sentences and any(quote in text for text in texts):
            is_quoted = any(_contains(quote, claim) or _contains(claim, quote) for claim in sentences)
            correct += is_quoted or float(np.dot(*embed([" ".join(sentences), citation["quote"]]))) >= SUPPORT
    return correct / len(result.citations)


def _contains(text: str, part: str) -> bool:
    """Return whether the words of a part follow each other in a text: 'Ann: “Yes.”' is in 'Ann: Yes.'."""
    return f" {' '.join(_words(part))} " in f" {' '.join(_words(text))} "


def _claims(answer: str) -> dict[int, list[str]]:
    """Return, for each marker, the sentences that carry it."""
    claims: dict[int, list[str]] = {}
    # A marker may stand before or after the full stop: move it before, into the sentence that it follows.
    normalized = re.sub(rf"([.!?])((?:\s*{MARKER.pattern})+)", r"\2\1", answer)
    claim = ""
    for sentence in _SENTENCE_END.split(normalized):
        # Markers on a line of their own belong to the sentence before them.
        claim = text if _words(text := strip_markers(sentence)) else claim
        for marker in find_markers(sentence):
            claims.setdefault(marker, []).append(claim)
    return claims


def _words(text: str) -> list[str]:
    return [word for word in re.findall(r"[^\W_]+", text.lower()) if word not in _ARTICLES]


def _f1(shared: int, first: int, second: int) -> float:
    return 2 * shared / (first + second) if shared else 0.0
