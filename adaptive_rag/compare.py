"""Compares the answers that several routes or recipes give to one question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adaptive_rag.answer.passages import as_ranked
from adaptive_rag.context.groups import split_list
from adaptive_rag.state import OutputState
from adaptive_rag.text.markdown import LIST_SIGN, without_emphasis
from adaptive_rag.text.markers import strip_markers
from adaptive_rag.text.sentences import sentence_spans

# Name of the column for the route that the router chooses when nothing is fixed.
BY_ITSELF = "by itself"


@dataclass(frozen=True)
class Column:
    """One way to answer a question: its settings and its result."""

    name: str
    # the settings of this column alone, such as {"route": "factual"}
    settings: dict[str, Any]
    # the strategies that ran: two if the router was unsure
    route: list[str]
    # the whole output except its messages
    output: dict[str, Any]
    calls: int
    ms: float


@dataclass(frozen=True)
class Overlap:
    """The items that all columns share, and those of one column alone; items of some columns are left out."""

    in_all: list[str]
    # column -> the items that no other column has
    only: dict[str, list[str]]


@dataclass(frozen=True)
class Comparison:
    """A question with its columns and their differences."""

    question: str
    user_context: str
    columns: list[Column]
    # compared by the ids of the chunks that were read
    passages: Overlap
    # compared by their words, without markers
    sentences: Overlap
    # chunk id -> its position: source, page, start, end
    places: dict[str, dict[str, Any]]


def name_columns(routes: Sequence[str], recipes: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the settings of each column by its name; if fewer than two, the router's choice comes first.

    Names may also be one text, such as "factual,opinion".
    """
    settings_of: dict[str, dict[str, Any]] = {name: {"route": name} for name in split_list(routes)}
    settings_of |= {name: {"recipe": name} for name in split_list(recipes)}
    return settings_of if len(settings_of) > 1 else {BY_ITSELF: {}, **settings_of}


def plan_columns(
    settings_of: Mapping[str, dict[str, Any]], columns: Sequence[Column]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name and the settings of each column to make; the caller adds each to `columns`.

    If there is only one, the most likely type other than that of its question follows.
    """
    yield from settings_of.items()
    if len(columns) == 1:
        analysis = columns[0].output["analysis"]
        other_types = {**analysis["probabilities"], analysis["type"]: 0.0}
        second = max(other_types, key=lambda name: other_types[name])
        yield second, {"route": second}


def make_column(name: str, settings: Mapping[str, Any], output: OutputState, ms: float) -> Column:
    """Build the column of one output."""
    analysis = output["analysis"]
    return Column(
        name=name,
        settings=dict(settings),
        route=[analysis["type"], *analysis["alternatives"]],
        output={key: value for key, value in output.items() if key != "messages"},
        calls=sum(record.get("calls", 0) for record in output["trace"]),
        ms=round(ms, 3),
    )


def compare_columns(question: str, user_context: str, columns: Sequence[Column]) -> Comparison:
    """Return a comparison of the columns: what all of them share, and what only one of them has."""
    chunks = {column.name: as_ranked(column.output["documents"]) for column in columns}
    return Comparison(
        question=question,
        user_context=user_context,
        columns=list(columns),
        passages=_overlap({name: [chunk["id"] for chunk in ranked] for name, ranked in chunks.items()}),
        sentences=_overlap({c.name: map(words_of, split_answer(c.output["answer"])) for c in columns}),
        places={
            chunk["id"]: {key: chunk[key] for key in ("source", "page", "start", "end")}
            for ranked in chunks.values()
            for chunk in ranked
        },
    )


def split_answer(answer: str) -> list[str]:
    """Return the sentences of an answer, each on one line, with its markers and without emphasis."""
    plain = without_emphasis(answer)
    return [" ".join(plain[start:end].split()) for start, end in sentence_spans(plain)]


def words_of(sentence: str) -> str:
    """Return a sentence without markers and list sign, the form in which two answers are compared."""
    return LIST_SIGN.sub("", strip_markers(sentence)).strip()


def _overlap(items_of: Mapping[str, Iterable[str]]) -> Overlap:
    items_of = {name: list(dict.fromkeys(items)) for name, items in items_of.items()}
    counts = Counter(item for items in items_of.values() for item in items)
    return Overlap(
        in_all=[item for item in next(iter(items_of.values())) if counts[item] == len(items_of)],
        only={name: [item for item in items if counts[item] == 1] for name, items in items_of.items()},
    )
