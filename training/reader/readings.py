"""Turns the examples into training items: what the reader reads, in tokens, and the expected result."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from adaptive_rag.models.reader import Pair, PairEncoder
from adaptive_rag.text.reading import Passage, Support
from training.reader.examples import SIDES, Row, query_of

# A question about a passage is read together with one of so many passages of the same document set that are
# nearest to the question. Half of the claims are also read with another passage, which does not address them.
NEAREST = 8
WITH_ANOTHER_PASSAGE = 0.5
# Set by hand. The share of questions about one passage that are read as an index returns passages, that is,
# with the READ - 1 nearest ones, and the share of these from which the question's own passage is left out.
AS_RETRIEVED = 0.4
WITHOUT_ITS_PASSAGE = 0.5
# Set by hand. For a question about a document set: how many of its passages are read, the probability of
# "none" if only a part is answered, and the share of questions that are read with the asker's situation.
READ = 5
PARTLY = 0.3
WITH_SITUATION = 0.7
SIDE_NAMES = tuple(sorted(SIDES))
VERDICTS = Support._fields


@dataclass(frozen=True)
class Question:
    """A question with passages, some of which may answer it."""

    query: str
    readings: list[Pair]
    answers: list[list[int]]
    """For each passage, the sentences that answer."""
    relevant: list[int]
    """The most relevant passages; empty if this is not known."""
    kind: str = ""
    """The kind of a near miss."""
    shares: list[float] | None = None
    """The target probabilities of "none" and of the answering sentences, in order; None if any one of them
    is enough."""
    ignored: list[list[int]] | None = None
    """For each passage, the sentences that are neither right nor wrong."""


@dataclass(frozen=True)
class Claim:
    """A sentence that a passage supports, contradicts or does not address."""

    readings: list[Pair]
    verdict: int
    kind: str


@dataclass(frozen=True)
class Sides:
    """The sides that sentences of a passage take on a proposal."""

    readings: list[Pair]
    sides: dict[int, int]
    """The side of each sentence whose side is known."""


Item = Question | Claim | Sides


def passage_of(row: Row) -> Passage:
    """Return the passage of a row."""
    return Passage(row["text"], row["title"], row["section"])


def sentences_with(spans: Sequence[tuple[int, int]], text: str, quote: str) -> list[int]:
    """Return the indexes of the sentences that contain a quote, or are contained in it, for the most part."""
    quote_start = text.find(quote)
    quote_end = quote_start + len(quote)

    def overlap(span: tuple[int, int]) -> float:
        common = min(quote_end, span[1]) - max(quote_start, span[0])
        return common / max(1, min(quote_end - quote_start, span[1] - span[0]))

    return [i for i, span in enumerate(spans) if overlap(span) > 0.5]


class Passages:
    """The passages of a part, in which the nearest ones of the same document set can be found.

    `vectors` are of unit length, shape (passages, width), and so must those of questions be.
    """

    def __init__(self, rows: Sequence[Row], vectors: np.ndarray) -> None:
        self.rows, self._vectors = rows, vectors
        self._indexes_by_set = defaultdict[str, list[int]](list)
        for index, row in enumerate(rows):
            self._indexes_by_set[row["set"]].append(index)

    def nearest(self, index: int, vector: np.ndarray, answer: str | None, most: int) -> list[int]:
        """Return other passages of a passage's set that lack an answer, those nearest to a vector first."""
        others = [
            other
            for other in self._indexes_by_set[self.rows[index]["set"]]
            if other != index and not (answer and answer in self.rows[other]["text"])
        ]
        scores = self._vectors[others] @ vector
        return [others[i] for i in np.argsort(-scores)[:most]]

    def neighbours(self, index: int, most: int) -> list[int]:
        """Return other passages of a passage's set, those nearest to the passage first."""
        return self.nearest(index, self._vectors[index], None, most)


def questions_asked(row: Row) -> list[str]:
    """Return the questions of a row in the order of `items_of`, in the form in which they are read."""
    follow = [_follow_up(row["follow"])] if row["follow"] else []
    return [*map(query_of, row["qa"]), *follow, *(near_miss["q"] for near_miss in row["no"])]


def _follow_up(follow: Row) -> str:
    return f"{follow['before']} {follow['q']}"


def items_of(
    encoder: PairEncoder,
    passages: Passages,
    index: int,
    vectors: np.ndarray,
    draw: random.Random,
    most: int = 1,
) -> Iterator[Item]:
    """Yield the items of a passage's row; each question is read with `most` other passages.

    `vectors` are those of `questions_asked`. With `most` = 1, which is for training, the other passage is
    drawn from the nearest ones, half of the near misses have none, and a part of the answered questions is
    read as an index returns passages, half of these without the passage that answers.
    """
    row = passages.rows[index]
    answered = [*row["qa"], *([row["follow"]] if row["follow"] else [])]
    for query, vector, example in zip(questions_asked(row), vectors, [*answered, *row["no"]], strict=True):
        is_answered = "a" in example
        near = passages.nearest(index, vector, example.get("a"), NEAREST if most == 1 else most)
        others = draw.sample(near, min(most, len(near))) if most == 1 else near
        if most == 1 and is_answered and near and draw.random() < AS_RETRIEVED:
            others = near[: READ - 1]
            if draw.random() < WITHOUT_ITS_PASSAGE:
                rows = [passages.rows[other] for other in others]
                readings = [encoder.pair("question", query, passage_of(other))[0] for other in rows]
                yield Question(query, readings, [[] for _ in readings], [])
                continue
        if most == 1 and not is_answered and draw.random() < 0.5:
            others = []
        rows = [passages.rows[i] for i in (index, *others)]
        pairs = [encoder.pair("question", query, passage_of(other)) for other in rows]
        answers = sentences_with(pairs[0][1], row["text"], example["s"]) if is_answered else []
        if is_answered and not answers:
            continue  # the sentence is in the part of the passage that does not fit
        yield Question(
            query,
            [reading for reading, _ in pairs],
            [answers, *([] for _ in others)],
            [0] if is_answered else [],
            example.get("kind", ""),
        )
    yield from claims_about(encoder, passages, index, draw)
    yield from _sides_of(encoder, row)


def claims_about(
    encoder: PairEncoder, passages: Passages, index: int, draw: random.Random
) -> Iterator[Claim]:
    """Yield the claims of a passage's row with their passage, half of them also with another one."""
    row = passages.rows[index]
    claims = [(text, "supported", "true") for text in row["true"]]
    for claim in row["false"]:
        verdict = "untold" if claim["kind"] in ("added", "scope") else "contradicted"
        claims.append((claim["t"], verdict, claim["kind"]))
    for text, verdict, kind in claims:
        yield Claim([encoder.pair("claim", text, passage_of(row))[0]], VERDICTS.index(verdict), kind)
        if draw.random() < WITH_ANOTHER_PASSAGE and (near := passages.neighbours(index, NEAREST)):
            another = passage_of(passages.rows[draw.choice(near)])
            yield Claim([encoder.pair("claim", text, another)[0]], VERDICTS.index("untold"), "another")


def document_set_item(
    encoder: PairEncoder, row: Row, draw: random.Random, most: int = READ
) -> Question | None:
    """Return a question of `found.py` with at most `most` passages: those that answer, then the nearest.

    The probability of the answer is shared among its points, of which the best counts twice. Copies of a
    point in overlapping passages are neither right nor wrong. The asker's situation is left out of some
    questions, as an answer reads a question both with it and without. None if all points are in parts that do
    not fit.
    """
    has_situation = bool(row["sit"]) and draw.random() < WITH_SITUATION
    query = query_of(row if has_situation else row | {"sit": ""})
    with_points = dict.fromkeys(point[0] for point in row["points"])
    without_points = [index for index in range(len(row["read"])) if index not in with_points]
    indexes = sorted([*with_points, *without_points][:most])
    pairs = [encoder.pair("question", query, passage_of(row["read"][index])) for index in indexes]
    weight_of = {tuple(point): 2 if point == row["best"] else 1 for point in row["points"]}
    point_texts = {_normalise(row["read"][index]["text"][start:end]) for index, start, end in row["points"]}
    needed = {tuple(place) for place in row["beside"]}
    answers, ignored, weights = list[list[int]](), list[list[int]](), [0.0]
    for index, (_, spans) in zip(indexes, pairs, strict=True):
        text = row["read"][index]["text"]
        places = [(index, start, end) for start, end in spans]
        answers.append([sentence for sentence, place in enumerate(places) if place in weight_of])
        ignored.append(
            [
                sentence
                for sentence, place in enumerate(places)
                if place not in weight_of
                and (place in needed or _normalise(text[slice(*place[1:])]) in point_texts)
            ]
        )
        weights += [weight_of[place] for place in places if place in weight_of]
    if row["points"] and not any(answers):
        return None
    unanswered = {"yes": 0.0, "partly": PARTLY, "no": 1.0}[row["told"]]
    total = sum(weights) or 1.0
    shares = [unanswered, *((1 - unanswered) * weight / total for weight in weights[1:])]
    return Question(
        query,
        [reading for reading, _ in pairs],
        answers,
        [i for i, sentences in enumerate(answers) if sentences],
        shares=shares,
        ignored=ignored,
    )


def _normalise(text: str) -> str:
    return " ".join(text.casefold().split())


def _sides_of(encoder: PairEncoder, row: Row) -> Iterator[Sides]:
    """Yield an item for each proposal of a passage's row."""
    for proposal in dict.fromkeys(example["proposal"] for example in row["sides"]):
        reading, spans = encoder.pair("proposal", proposal, passage_of(row))
        sides = {
            sentence: SIDE_NAMES.index(example["side"])
            for example in row["sides"]
            if example["proposal"] == proposal
            for sentence in sentences_with(spans, row["text"], example["s"])[:1]
        }
        if sides:
            yield Sides([reading], sides)
