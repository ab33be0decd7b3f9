"""Measures what the answer gets to read: by the strategies' budgets of tokens, and by one k for all.

    python -m benchmarks.passages_read DATA/opinion_perspectrum DATA/factual_squad

For each data set: passages and tokens that one question reads, and what is among them: the share of the
passages judged relevant (recall), questions with at least one of them (any), both sides and the share of
all aspects, where the data know them. Once with each `--k`, once with `k` unset and with each `--profile`,
and below these with the k that reads as many tokens: it lies between two whole numbers, and the figures on
a straight line between theirs.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from adaptive_rag.context import make_context
from adaptive_rag.evaluation.corpora import default_cache, open_corpus
from adaptive_rag.evaluation.datasets import Dataset, Question, limited, load_dataset
from adaptive_rag.evaluation.metrics import ranked_ids, stances
from adaptive_rag.graph.builder import build_retrieval_graph
from adaptive_rag.source import ChunkSource
from adaptive_rag.text.tokens import count_tokens

COLUMNS = ("passages", "tokens", "recall", "any", "both", "aspects")
# No k beyond it is tried.
LARGEST = 100


def measure(dataset: Dataset, source: ChunkSource, graph: Any, **settings: Any) -> dict[str, float]:
    """Return the mean of every column over the questions that know it."""
    context = make_context(index=source, **settings)
    rows = []
    for question in dataset.questions:
        state = {
            "question": question.text,
            "user_context": question.user_context,
            "history": list(question.history),
        }
        rows.append(_row(question, graph.invoke(state, context=context)["documents"]))
    known = {name: [row[name] for row in rows if name in row] for name in COLUMNS}
    return {name: sum(values) / len(values) for name, values in known.items() if values}


def at_tokens(tokens: float, fewer: dict[str, float], more: dict[str, float]) -> dict[str, float]:
    """Return what lies between two rows where so many tokens are read."""
    apart = more["tokens"] - fewer["tokens"]
    share = (tokens - fewer["tokens"]) / apart if apart else 0.0
    return {name: value + share * (more[name] - value) for name, value in fewer.items()}


def _row(question: Question, documents: Sequence[Any]) -> dict[str, float]:
    ids = ranked_ids(documents)
    tokens = sum(count_tokens(document["text"]) for document in documents)
    row = {"passages": float(len(documents)), "tokens": float(tokens)}
    if gold := {id_ for id_, grade in question.gold.items() if grade > 0}:
        row |= {"recall": len(gold & set(ids)) / len(gold), "any": float(bool(gold & set(ids)))}
    if aspects := {aspect for names in question.aspects.values() for aspect in names}:
        met = {aspect for id_ in ids for aspect in question.aspects.get(id_, ())}
        row["aspects"] = len(met) / len(aspects)
    if len(stances(question.aspects, question.aspects)) > 1:
        row["both"] = float(len(stances(question.aspects, ids)) > 1)
    return row


def compare(
    dataset: Dataset, source: ChunkSource, graph: Any, ks: Sequence[int], profiles: Sequence[str]
) -> None:
    """Print the rows of one data set."""
    by_k = cache(lambda k: measure(dataset, source, graph, k=k))
    for k in ks:
        _say(dataset.name, f"k = {k}", by_k(k))
    ways: dict[str, dict[str, str]] = {"k unset": {}}
    for name, settings in (ways | {f"profile = {name}": {"profile": name} for name in profiles}).items():
        row = measure(dataset, source, graph, **settings)
        _say(dataset.name, name, row)
        # As many passages need not be as many tokens: one k reads the long passages too.
        k = max(1, math.floor(row["passages"]))
        while k > 1 and by_k(k)["tokens"] > row["tokens"]:
            k -= 1
        while k < LARGEST and by_k(k + 1)["tokens"] < row["tokens"]:
            k += 1
        between = at_tokens(row["tokens"], by_k(k), by_k(k + 1))
        _say(dataset.name, f"as many tokens, k = {k} to {k + 1}", between)


def _say(name: str, what: str, row: dict[str, float]) -> None:
    shown = {"passages": ".1f", "tokens": ",.0f"}
    cells = [format(row[column], shown.get(column, ".3f")) if column in row else "" for column in COLUMNS]
    sys.stdout.write(f"| {name} | {what} | " + " | ".join(cells) + " |\n")
    sys.stdout.flush()


def main() -> None:
    """Read the options and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("data", type=Path, nargs="+", help="folders of data sets")
    parser.add_argument("--k", type=int, nargs="+", default=[4], help="numbers of passages to compare with")
    parser.add_argument("--profile", nargs="+", default=[], help="profiles to compare too")
    parser.add_argument("--limit", type=int, help="ask a sample of so many questions a data set")
    options = parser.parse_args()
    graph = build_retrieval_graph().compile()
    sys.stdout.write(f"| data | reads | {' | '.join(COLUMNS)} |\n|---|---|{'--:|' * len(COLUMNS)}\n")
    for folder in options.data:
        dataset = limited(load_dataset(folder), options.limit, 0)
        source, _ = open_corpus(dataset, default_cache())
        compare(dataset, source, graph, options.k, options.profile)


if __name__ == "__main__":
    main()
