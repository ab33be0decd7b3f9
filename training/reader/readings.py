"""What the reader reads, in tokens, and what it should say of it, made of the examples."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from adaptive_rag.models.reader import Pair, PairEncoder
from adaptive_rag.text.reading import Passage, Support
from training.reader.examples import SIDES, Row, query_of

# A question of a passage is seen beside one of so many that are nearest to it in the same document set, and
# so is half of the claims: what one passage tells, another does not.
NEAREST = 8
BESIDE_ANOTHER = 0.5
# Set by hand. How often a question of one passage is read as an index returns passages, beside SEEN - 1 of
# the nearest, and how often its own is not among these.
AS_FOUND = 0.4
WITHOUT_ITS_PASSAGE = 0.5
# Set by hand. Of a question asked of a whole document set: how many of its passages are read, how much of the
# choice "none" keeps where only a part is answered, and how often the asker's situation is read with it.
SEEN = 5
PARTLY = 0.3
WITH_SITUATION = 0.7
SIDE_NAMES = tuple(sorted(SIDES))
VERDICTS = Support._fields


@dataclass(frozen=True)
class Question:
    """A question with passages, of which some or none answer it."""

    query: str
    readings: list[Pair]
    answers: list[list[int]]
    """Of each passage the sentences that answer."""
    relevant: list[int]
    """Which passages are the most relevant; none where nobody said."""
    kind: str = ""
    """What a near miss misses by."""
    shares: list[float] | None = None
    """What share of the answer "none" and each of the answering sentences is, in order; None where any one of
    them is enough."""
    beside: list[list[int]] | None = None
    """Of each passage the sentences that are neither right nor wrong."""


@dataclass(frozen=True)
class Claim:
    """A sentence that a passage supports, contradicts or does not tell."""

    readings: list[Pair]
    verdict: int
    kind: str


@dataclass(frozen=True)
class Sides:
    """What sentences of a passage say of a proposal."""

    readings: list[Pair]
    sides: dict[int, int]
    """Of each sentence whose side is known, which it is."""


Item = Question | Claim | Sides


def passage_of(row: Row) -> Passage:
    """Return the passage of a row."""
    return Passage(row["text"], row["title"], row["section"])


def sentences_with(spans: Sequence[tuple[int, int]], text: str, quote: str) -> list[int]:
    """Return which sentences hold a quote, or stand in it."""
    start = text.find(quote)
    end = start + len(quote)

    def shared(span: tuple[int, int]) -> float:
        common = min(end, span[1]) - max(start, span[0])
        return common / max(1, min(end - start, span[1] - span[0]))

    return [at for at, span in enumerate(spans) if shared(span) > 0.5]


class Passages:
    """The passages of a part, each with those of its set that are nearest to a question.

    `vectors` are (passages, width) and of unit length, as those of the questions are.
    """

    def __init__(self, rows: Sequence[Row], vectors: np.ndarray) -> None:
        self.rows, self._vectors = rows, vectors
        self._of = defaultdict[str, list[int]](list)
        for at, row in enumerate(rows):
            self._of[row["set"]].append(at)

    def nearest(self, of: int, vector: np.ndarray, answer: str | None, most: int) -> list[int]:
        """Return other passages of the set of passage `of`, the nearest first, that lack the answer."""
        others = [
            at
            for at in self._of[self.rows[of]["set"]]
            if at != of and not (answer and answer in self.rows[at]["text"])
        ]
        scores = self._vectors[others] @ vector
        return [others[at] for at in np.argsort(-scores)[:most]]

    def beside(self, of: int, most: int) -> list[int]:
        """Return other passages of the set of passage `of`, those nearest to it first."""
        return self.nearest(of, self._vectors[of], None, most)


def questions_asked(row: Row) -> list[str]:
    """Return the questions of a row in the order in which `items_of` takes them, as they are read."""
    follow = [_follow_up(row["follow"])] if row["follow"] else []
    return [*map(query_of, row["qa"]), *follow, *(missed["q"] for missed in row["no"])]


def _follow_up(follow: Row) -> str:
    return f"{follow['before']} {follow['q']}"


def items_of(
    form: PairEncoder, passages: Passages, at: int, vectors: np.ndarray, draw: random.Random, most: int = 1
) -> Iterator[Item]:
    """Yield what a passage's row asks of the reader; each question with `most` other passages.

    `vectors` are those of `questions_asked`. With `most` = 1, for training, the other is drawn from the
    nearest, and stands beside half of the near misses only; a part of the answered questions is read as an
    index returns passages, in half of these without the one that answers.
    """
    row = passages.rows[at]
    text = row["text"]
    answered = [*row["qa"], *([row["follow"]] if row["follow"] else [])]
    for query, vector, about in zip(questions_asked(row), vectors, [*answered, *row["no"]], strict=True):
        near = passages.nearest(at, vector, about.get("a"), NEAREST if most == 1 else most)
        others = draw.sample(near, min(most, len(near))) if most == 1 else near
        if most == 1 and "a" in about and near and draw.random() < AS_FOUND:
            others = near[: SEEN - 1]
            if draw.random() < WITHOUT_ITS_PASSAGE:
                read = [form.pair("question", query, passage_of(passages.rows[each]))[0] for each in others]
                yield Question(query, read, [[] for _ in read], [])
                continue
        if most == 1 and "a" not in about and draw.random() < 0.5:
            others = []
        seen = [passages.rows[each] for each in (at, *others)]
        read = [form.pair("question", query, passage_of(each)) for each in seen]
        answers = sentences_with(read[0][1], text, about["s"]) if "a" in about else []
        if "a" in about and not answers:
            continue  # the sentence lies beyond what is read
        yield Question(
            query,
            [reading for reading, _ in read],
            [answers, *([] for _ in others)],
            [0] if "a" in about else [],
            about.get("kind", ""),
        )
    told = [(claim, "supported", "true") for claim in row["true"]]
    for claim in row["false"]:
        verdict = "untold" if claim["kind"] in ("added", "scope") else "contradicted"
        told.append((claim["t"], verdict, claim["kind"]))
    for sentence, verdict, kind in told:
        yield Claim([form.pair("claim", sentence, passage_of(row))[0]], VERDICTS.index(verdict), kind)
        if draw.random() < BESIDE_ANOTHER and (near := passages.beside(at, NEAREST)):
            another = passage_of(passages.rows[draw.choice(near)])
            yield Claim([form.pair("claim", sentence, another)[0]], VERDICTS.index("untold"), "another")
    yield from _sides_of(form, row)


def document_set_item(form: PairEncoder, row: Row, draw: random.Random, most: int = SEEN) -> Question | None:
    """Return a question of `found.py` with so many of its passages: those that answer, then the nearest.

    The answer is shared among its points, of which the first counts twice; another copy of a point, as
    passages that overlap have it, is neither right nor wrong. The asker's situation is left out at times, as
    an answer reads a question with it and without. None where all points lie beyond what is read.
    """
    told = bool(row["sit"]) and draw.random() < WITH_SITUATION
    query = query_of(row if told else row | {"sit": ""})
    own = dict.fromkeys(point[0] for point in row["points"])
    which = sorted([*own, *(at for at in range(len(row["read"])) if at not in own)][:most])
    read = [form.pair("question", query, passage_of(row["read"][at])) for at in which]
    points = {tuple(point): 2 if point == row["best"] else 1 for point in row["points"]}
    said = {_words(row["read"][at]["text"][start:end]) for at, start, end in row["points"]}
    needed = {tuple(place) for place in row["beside"]}
    answers, beside, weights = list[list[int]](), list[list[int]](), [0.0]
    for at, (_, spans) in zip(which, read, strict=True):
        text = row["read"][at]["text"]
        places = [(at, start, end) for start, end in spans]
        answers.append([sentence for sentence, place in enumerate(places) if place in points])
        beside.append(
            [
                sentence
                for sentence, place in enumerate(places)
                if place not in points and (place in needed or _words(text[slice(*place[1:])]) in said)
            ]
        )
        weights += [points[place] for place in places if place in points]
    if row["points"] and not any(answers):
        return None
    unanswered = {"yes": 0.0, "partly": PARTLY, "no": 1.0}[row["told"]]
    whole = sum(weights) or 1.0
    shares = [unanswered, *((1 - unanswered) * weight / whole for weight in weights[1:])]
    return Question(
        query,
        [reading for reading, _ in read],
        answers,
        [at for at, sentences in enumerate(answers) if sentences],
        shares=shares,
        beside=beside,
    )


def _words(text: str) -> str:
    return " ".join(text.casefold().split())


def _sides_of(form: PairEncoder, row: Row) -> Iterator[Sides]:
    for proposal in dict.fromkeys(sided["proposal"] for sided in row["sides"]):
        reading, spans = form.pair("proposal", proposal, passage_of(row))
        known = {
            sentence: SIDE_NAMES.index(sided["side"])
            for sided in row["sides"]
            if sided["proposal"] == proposal
            for sentence in sentences_with(spans, row["text"], sided["s"])[:1]
        }
        if known:
            yield Sides([reading], known)
