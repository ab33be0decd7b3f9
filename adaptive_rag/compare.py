"""Sets the answers that one question got in several ways side by side, and says in what they differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adaptive_rag.answer.passages import as_ranked
from adaptive_rag.state import OutputState, QueryAnalysis
from adaptive_rag.text.markdown import LIST_SIGN, without_emphasis
from adaptive_rag.text.markers import strip_markers
from adaptive_rag.text.sentences import sentence_spans

# The name of the column that goes the way which the question takes when nothing is fixed.
BY_ITSELF = "by itself"


@dataclass(frozen=True)
class Column:
    """One way to answer a question: what was set for it, and what came of it."""

    name: str
    # what was set besides the settings of all columns, such as {"route": "factual"}
    settings: dict[str, Any]
    # the strategies that ran: two where the router was unsure
    route: list[str]
    # the whole output but its messages
    output: dict[str, Any]
    calls: int
    ms: float


@dataclass(frozen=True)
class Overlap:
    """What several columns share; what only some of several columns hold stands in neither field."""

    in_all: list[str]
    # column -> what no other column holds
    only: dict[str, list[str]]


@dataclass(frozen=True)
class Comparison:
    """A question with its columns, and in what they differ."""

    question: str
    user_context: str
    columns: list[Column]
    # by the ids of the chunks that were read
    passages: Overlap
    # by their words, without markers
    sentences: Overlap
    # id of a chunk -> where it stands: source, page, start, end
    places: dict[str, dict[str, Any]]


def name_columns(routes: Sequence[str], recipes: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the settings of each column by its name; the way by itself is there where it has to be."""
    named: dict[str, dict[str, Any]] = {name: {"route": name} for name in routes}
    named |= {name: {"recipe": name} for name in recipes}
    return named if len(named) > 1 else {BY_ITSELF: {}, **named}


def make_column(name: str, settings: Mapping[str, Any], output: OutputState, ms: float) -> Column:
    """Return the column of one output."""
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
    """Return the columns with what they share, and what only one of them holds."""
    chunks = {column.name: as_ranked(column.output["documents"]) for column in columns}
    return Comparison(
        question=question,
        user_context=user_context,
        columns=list(columns),
        passages=_overlap({name: [chunk["id"] for chunk in found] for name, found in chunks.items()}),
        sentences=_overlap({c.name: map(words_of, split_answer(c.output["answer"])) for c in columns}),
        places={
            chunk["id"]: {key: chunk[key] for key in ("source", "page", "start", "end")}
            for found in chunks.values()
            for chunk in found
        },
    )


def split_answer(answer: str) -> list[str]:
    """Return the sentences of an answer, each with its markers and on one line, without emphasis."""
    plain = without_emphasis(answer)
    return [" ".join(plain[start:end].split()) for start, end in sentence_spans(plain)]


def words_of(sentence: str) -> str:
    """Return a sentence without its markers and the sign of a list, as those of two answers are compared."""
    return LIST_SIGN.sub("", strip_markers(sentence)).strip()


def second_likeliest(analysis: QueryAnalysis) -> str:
    """Return the type that is likeliest after the one that was decided."""
    others = {name: value for name, value in analysis["probabilities"].items() if name != analysis["type"]}
    return max(others, key=lambda name: others[name])


def _overlap(held: Mapping[str, Iterable[str]]) -> Overlap:
    held = {name: list(dict.fromkeys(items)) for name, items in held.items()}
    holders = Counter(item for items in held.values() for item in items)
    return Overlap(
        in_all=[item for item in next(iter(held.values())) if holders[item] == len(held)],
        only={name: [item for item in items if holders[item] == 1] for name, items in held.items()},
    )
