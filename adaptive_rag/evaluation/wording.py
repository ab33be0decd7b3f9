"""How reports show rows, the same in the terminal, in Markdown and on the page: which, and in what words."""

from __future__ import annotations

from collections.abc import Sequence

from adaptive_rag.evaluation.metrics import headline
from adaptive_rag.evaluation.summary import ALL, Row

SHORT_NAMES = {
    "alpha_ndcg": "α-ndcg",
    "semantic_similarity": "similarity",
    "context_relevance": "context",
    "citation_correctness": "citations",
    "abstention_precision": "abst. P",
    "abstention_recall": "abst. R",
}


def without_repeats(rows: Sequence[Row]) -> list[Row]:
    """Leave out the overall rows of a data set of one type, which say what that type's rows say."""
    kinds: dict[str, set[str]] = {}
    for row in rows:
        kinds.setdefault(row["dataset"], set()).add(row["type"])
    return [row for row in rows if row["type"] != ALL or len(kinds[row["dataset"]]) != 2]


def types_shown(rows: Sequence[Row]) -> list[str]:
    """Return the types of a data set that a table shows; a single one has the same figures as all."""
    kinds = list(dict.fromkeys(row["type"] for row in rows))
    return kinds[1:] if len(kinds) == 2 else kinds


def headline_of(rows: Sequence[Row], k: int) -> str:
    """Return the metric that rows are compared by: that of rankings, or of answers where none is judged."""
    return headline(k) if any(headline(k) in row["metrics"] for row in rows) else "quality"


def label_of(kind: str) -> str:
    """Return a type as a reader sees it."""
    return "all types" if kind == ALL else kind


def format_p(p: float) -> str:
    """Return the p of a test as tables have room for it."""
    return "<.001" if p < 0.001 else f"{p:.3f}".removeprefix("0")


def tone(low: float, high: float) -> str:
    """Return how an interval is marked: "good" or "bad" where it leaves out zero, else "flat"."""
    return "good" if low > 0 else "bad" if high < 0 else "flat"


def short_name(name: str) -> str:
    """Return a metric's name as a column has room for it."""
    for long, short in SHORT_NAMES.items():
        name = name.replace(long, short)
    return name.replace("_", " ")
