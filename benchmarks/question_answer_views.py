"""Measures what the views of a question-answer pair are worth, against the pair as one text.

    python -m benchmarks.question_answer_views                       # the samples
    python -m benchmarks.question_answer_views --data DATA            # and pairs made of public sets
    python -m benchmarks.question_answer_views --only faq --graph     # one set, and the whole retrieval

The sets:

- faq: the 52 pairs of the samples' FAQ, each asked for once in other words (`faq_paraphrases.jsonl`);
  faq in samples: the same among all the sample documents; documents: what is asked of the other sample
  documents (their questions file) while the FAQ lies among them.
- turns: pairs of DATA/mixed_mtrag, a question with its reference answer. What a person typed in a
  conversation asks for the pair whose question is the rewrite of that turn; all other questions of
  mixed_mtrag and analytical_clapnq are pairs to be told from it.
- siblings: a pair is a question with the passage that answers it; another question which the same passage
  answers asks for it. Here the pair's own question misleads. From factual_squad and mixed_mtrag.

For each set and stage: nDCG@10, and p of the paired permutation test against the pair as one text.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from adaptive_rag.analysis import analyse
from adaptive_rag.context import make_context
from adaptive_rag.evaluation.statistics import compare_all
from adaptive_rag.graph.builder import build_retrieval_graph
from adaptive_rag.index import Index
from adaptive_rag.rank.relevance import score_candidates
from adaptive_rag.search.fusion import choose_alpha, fuse
from adaptive_rag.search.views import (
    WEIGHTS_BY_INTENT,
    WITH_ANSWER,
    WITH_QUESTION,
    ViewWeights,
    weigh_views,
)
from adaptive_rag.state import Candidate, Intent

SAMPLES = Path(__file__).parents[1] / "adaptive_rag" / "samples"
PARAPHRASES = Path(__file__).with_name("faq_paraphrases.jsonl")
K, POOL = 10, 50

LIKE_A_QUESTION, EVEN, LIKE_AN_ANSWER = (
    ViewWeights(0.6, 0.4, 0.3),
    ViewWeights(0.6, 0.35, 0.35),
    ViewWeights(0.6, 0.3, 0.4),
)
# All three views at once, leaning to one side by intent.
THREE_VIEWS: dict[Intent, ViewWeights] = {
    "factual": LIKE_A_QUESTION,
    "conceptual": LIKE_A_QUESTION,
    "technical": EVEN,
    "procedural": EVEN,
    "comparison": EVEN,
    "troubleshooting": LIKE_AN_ANSWER,
}
VIEWS: dict[str, Callable[[Intent], ViewWeights]] = {
    "pair": lambda intent: ViewWeights(1, 0, 0),
    "question": lambda intent: ViewWeights(0, 1, 0),
    "answer": lambda intent: ViewWeights(0, 0, 1),
    "two by intent": WEIGHTS_BY_INTENT.__getitem__,
    "three by intent": THREE_VIEWS.__getitem__,
    "pair and question": lambda intent: WITH_QUESTION,
    "pair and answer": lambda intent: WITH_ANSWER,
}


# Settings of the whole retrieval, each measured against the first.
RETRIEVAL: dict[str, dict[str, Any]] = {
    "default": {},
    "views": {"qa_views": True},
    "tf-idf": {"tfidf": 0.3},
    "alpha by intent": {"alpha_by": "intent"},
    "all three": {"qa_views": True, "tfidf": 0.3, "alpha_by": "intent"},
    "okapi": {"lexical": "okapi"},
}


@dataclass(frozen=True)
class Asked:
    """A question, and how a candidate that answers it is known."""

    text: str
    answers: Callable[[Candidate], bool]


@dataclass(frozen=True)
class Set:
    """Files to index, and what is asked of them."""

    name: str
    files: Sequence[Path]
    asked: Sequence[Asked]


def sample_sets() -> list[Set]:
    """Return the sets over the samples."""
    documents = sorted((SAMPLES / "documents").iterdir())
    faq = next(file for file in documents if file.name == "faq.csv")
    with faq.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    paraphrases = [
        Asked(line["asked"], _has_question(rows[line["row"] - 1]["question"])) for line in _lines(PARAPHRASES)
    ]
    others = [
        Asked(line["question"], _has_quote(line["quote"]))
        for line in _lines(SAMPLES / "questions.jsonl")
        if line.get("quote") and line["source"] != faq.name
    ]
    return [
        Set("faq", [faq], paraphrases),
        Set("faq in samples", documents, paraphrases),
        Set("documents", documents, others),
    ]


def public_sets(data: Path, folder: Path) -> list[Set]:
    """Make pairs of public questions and return the sets over them."""
    turns = {row["_id"]: row for row in _lines(data / "mixed_mtrag" / "queries.jsonl")}
    rewritten = {}
    for id_, row in turns.items():
        if row.get("standalone_text"):
            rewritten[id_] = row["standalone_text"]
        elif f"{id_}-rw" in turns:
            rewritten[id_] = turns[f"{id_}-rw"]["text"]
    pairs = [(text, turns[id_]["reference_answer"]) for id_, text in rewritten.items()]
    known = {id_.removesuffix("-rw") for id_ in rewritten}
    others = [row for id_, row in turns.items() if id_.removesuffix("-rw") not in known]
    others += _lines(data / "analytical_clapnq" / "queries.jsonl")
    pairs += [(row["text"], row["reference_answer"]) for row in others]
    asked = [Asked(turns[id_]["text"], _has_question(text)) for id_, text in rewritten.items()]
    sets = [Set("turns", [_write(folder / "turns.jsonl", pairs)], asked)]

    pairs, asked = [], []
    for name in ("factual_squad", "mixed_mtrag"):
        texts = {row["_id"]: row["text"] for row in _lines(data / name / "queries.jsonl")}
        passages = {row["_id"]: row["text"] for row in _lines(data / name / "corpus.jsonl")}
        answered = defaultdict(list)
        with (data / name / "qrels.tsv").open(encoding="utf-8") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                answered[row["corpus-id"]].append(row["query-id"])
        for passage, (first, *rest) in answered.items():
            pairs.append((texts[first], passages[passage]))
            # A rewrite is the same question in other words, which `turns` measures.
            siblings = [q for q in rest if q.removesuffix("-rw") != first.removesuffix("-rw")]
            asked += [Asked(texts[q], _has_answer(passages[passage])) for q in siblings]
    return [*sets, Set("siblings", [_write(folder / "siblings.jsonl", pairs)], asked)]


def measure(set_: Set, folder: Path, *, graph: bool) -> None:
    """Print one line a stage."""
    place = folder / f"index {set_.name}"
    Index.build(list(set_.files), place)
    index = Index.open(place)
    scores: dict[tuple[str, str], list[float]] = defaultdict(list)
    for asked, found in zip(set_.asked, _search(index, set_.asked), strict=True):
        analysis = analyse(asked.text)
        alpha, _ = choose_alpha(np.array([candidate["scores"]["sparse"] for candidate in found]), analysis)
        for view, weights in VIEWS.items():
            weighed = weigh_views(found, weights(analysis["intent"]))
            fused = fuse(weighed, method="weighted", alpha=alpha)
            by_dense = sorted(weighed, key=lambda c: -c["scores"]["dense"])
            relevance = score_candidates(index, asked.text, fused)
            pairs = sorted(zip(relevance, range(len(fused)), strict=True), key=lambda p: (-p[0], p[1]))
            scored = [fused[i] for _, i in pairs]
            for stage, ranked in (("dense", by_dense), ("fused", fused), ("scored", scored)):
                scores[stage, view].append(_ndcg(asked, ranked))
    for stage in ("dense", "fused", "scored"):
        baseline = scores[stage, "pair"]
        cells = [f"pair {_mean(baseline):.3f}"]
        for view in list(VIEWS)[1:]:
            difference = compare_all([(scores[stage, view], baseline)])[0]
            cells.append(f"{view} {_mean(scores[stage, view]):.3f} (p {difference.p:.3f})")
        _say(f"{set_.name:15} n {len(set_.asked):3} {stage:7} " + "  ".join(cells))
    if graph:
        _measure_graph(set_, index)


def _measure_graph(set_: Set, index: Index) -> None:
    compiled = build_retrieval_graph().compile()
    found = {}
    for name, retrieval in RETRIEVAL.items():
        context = make_context(index=index, retrieval=retrieval, k=K)
        outputs: list[Any] = [compiled.invoke({"question": a.text}, context=context) for a in set_.asked]
        found[name] = [_ndcg(a, out["documents"]) for a, out in zip(set_.asked, outputs, strict=True)]
    baseline = found["default"]
    cells = [f"default {_mean(baseline):.3f}"]
    for name in list(RETRIEVAL)[1:]:
        difference = compare_all([(found[name], baseline)])[0]
        cells.append(f"{name} {_mean(found[name]):.3f} (p {difference.p:.3f})")
    _say(f"{set_.name:15} n {len(set_.asked):3} graph   " + "  ".join(cells))


def _search(index: Index, asked: Sequence[Asked]) -> Iterable[list[Candidate]]:
    for start in range(0, len(asked), 32):
        yield from index.search([a.text for a in asked[start : start + 32]], limit=POOL)


def _ndcg(asked: Asked, ranked: Sequence[Candidate]) -> float:
    """Return nDCG@10 with one relevant candidate: 1 / log2(1 + rank) of the first that answers."""
    ranks = (rank for rank, candidate in enumerate(ranked[:K], 1) if asked.answers(candidate))
    return 1 / math.log2(1 + rank) if (rank := next(ranks, None)) else 0.0


def _has_question(question: str) -> Callable[[Candidate], bool]:
    return lambda candidate: candidate["metadata"].get("question") == question.strip()


def _has_answer(answer: str) -> Callable[[Candidate], bool]:
    return lambda candidate: candidate["metadata"].get("answer") == answer.strip()


def _has_quote(quote: str) -> Callable[[Candidate], bool]:
    return lambda candidate: " ".join(quote.split()) in " ".join(candidate["text"].split())


def _write(file: Path, pairs: Iterable[tuple[str, str]]) -> Path:
    lines = [json.dumps({"question": question, "answer": answer}) for question, answer in pairs]
    file.write_text("\n".join(lines), encoding="utf-8")
    return file


def _lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip()]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    """Read the options and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of the public sets, in BEIR layout")
    parser.add_argument(
        "--graph", action="store_true", help="also run the whole retrieval, with other ways to score"
    )
    parser.add_argument("--only", nargs="*", help="names of the sets to measure")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sets = sample_sets() + (public_sets(options.data, folder) if options.data else [])
        for set_ in [s for s in sets if not options.only or s.name in options.only]:
            measure(set_, folder, graph=options.graph)


if __name__ == "__main__":
    main()
