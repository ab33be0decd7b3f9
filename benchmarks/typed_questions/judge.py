"""What a question's answer must hold, and how the answer is judged by it."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from adaptive_rag.answer.citations import read_markers
from adaptive_rag.evaluation.datasets import Question
from adaptive_rag.state import QueryType, Turn
from adaptive_rag.text.markers import strip_markers
from adaptive_rag.text.words import stem
from benchmarks.answers import HEADING_LINE, first_sentence
from benchmarks.typed_questions.sources import HERE

Verdict = Literal["good", "partly", "wrong", "refused", "given"]
VERDICTS: dict[Verdict, str] = {
    "good": "holds all it must and nothing it must not, and is no longer than it may be; "
    "or says that the documents hold no answer, where they hold none",
    "partly": "holds some of it, or all of it in too many words, in a refusal, beside sentences of another "
    "document, or with an argument under the head of the other side",
    "wrong": "holds nothing of it, or something that it must not",
    "refused": "says that the documents hold no answer, though they do",
    "given": "answers, though the documents hold no answer",
}
# The side that a heading names, such as "Risks and arguments against".
_SIDES = {
    "against": re.compile(r"\b(?:against|risks?|drawbacks?|cons)\b", re.IGNORECASE),
    "for": re.compile(r"\b(?:for|in favour|benefits?|pros)\b", re.IGNORECASE),
}
# What an answer in its own words adds or leaves out ("the coil is frozen"), and forms without a common stem.
_LINKING = frozenset({"is", "are", "was", "were", "be", "been"})
_FORMS = {"cannot": "can not", "said": "say"}
_QUOTES = str.maketrans("‘’“”", "''\"\"")


@dataclass(frozen=True)
class TypedQuestion:
    """One line of `questions.jsonl`."""

    id: str
    type: QueryType
    # the document that holds the answer; of an unanswerable question, the one that seems to
    source: str
    question: str
    # of each group one wording has to stand in the answer
    must: tuple[tuple[str, ...], ...]
    must_not: tuple[str, ...]
    answerable: bool
    # words
    longest: int
    history: tuple[Turn, ...]
    user_context: str
    # "for" and "against" -> wordings that must not stand under the head of the other side
    sides: Mapping[str, tuple[str, ...]]

    @property
    def part(self) -> str:
        """Return the group of questions that it is counted in."""
        return self.type if self.answerable else "no answer"

    def asked(self) -> Question:
        """Return what a person types, with nothing of what the judge knows."""
        return Question(self.id, self.question, self.user_context, self.history)


@dataclass(frozen=True)
class Judgement:
    """A verdict, and what it rests on."""

    verdict: Verdict
    words: int
    # the groups of `must` of which the answer holds no wording
    missing: tuple[tuple[str, ...], ...] = ()
    # what it must not hold and does
    forbidden: tuple[str, ...] = ()
    # the documents beside the right one that it quotes
    others: tuple[str, ...] = ()
    # what stands under the head of the other side
    misplaced: tuple[str, ...] = ()
    # whether its first sentence holds something that it must
    leads: bool = False
    # whether it is right in all, and its words are too many
    only_too_long: bool = False


def read_questions() -> list[TypedQuestion]:
    """Return the hundred questions."""
    sides: defaultdict[str, dict[str, tuple[str, ...]]] = defaultdict(dict)
    for row in _read_lines("sides.jsonl"):
        for id_ in row["questions"]:
            sides[id_][row["side"]] = tuple(row["wordings"])
    return [_read_question(row, sides[row["id"]]) for row in _read_lines("questions.jsonl")]


def _read_lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (HERE / name).read_text(encoding="utf-8").splitlines()]


def _read_question(row: dict[str, Any], sides: Mapping[str, tuple[str, ...]]) -> TypedQuestion:
    must = tuple((group,) if isinstance(group, str) else tuple(group) for group in row.pop("must"))
    must_not, history = tuple(row.pop("must_not")), tuple(row.pop("history"))
    return TypedQuestion(must=must, must_not=must_not, history=history, sides=sides, **row)


def judge(
    question: TypedQuestion, answer: str, *, abstained: bool = False, quoted: Collection[str] = ()
) -> Judgement:
    """Judge an answer.

    Args:
        question: what was asked.
        answer: what came back.
        abstained: whether it claims that the documents hold no answer.
        quoted: the names of the documents that it cites.
    """
    text = as_compared(answer)
    words = len(text.split())
    if not question.answerable:
        # A chat model may say what is not told, and quote what comes near.
        admits = abstained or read_markers(first_sentence(answer), 0).absences > 0
        return Judgement("good" if admits else "given", words)
    missing = tuple(group for group in question.must if not _says_any(text, group))
    forbidden = tuple(wording for wording in question.must_not if _holds_any(text, [wording]))
    others = tuple(sorted({name for name in quoted if name != question.source}))
    misplaced = tuple(_misplaced(question, answer))
    too_long = words > question.longest
    flawed = bool(missing or forbidden or others or misplaced)
    if abstained:
        verdict: Verdict = "refused" if missing or forbidden else "partly"
    elif forbidden or len(missing) == len(question.must):
        verdict = "wrong"
    else:
        verdict = "partly" if flawed or too_long else "good"
    leads = not abstained and any(
        _says_any(as_compared(first_sentence(answer)), group) for group in question.must
    )
    only_too_long = too_long and not (abstained or flawed)
    return Judgement(verdict, words, missing, forbidden, others, misplaced, leads, only_too_long)


def _misplaced(question: TypedQuestion, answer: str) -> Iterator[str]:
    """Yield the wordings of one side that stand under the head of the other."""
    side = None
    for line in answer.splitlines():
        if head := HEADING_LINE.match(line.strip()):
            name = head["head"] or head["title"]
            side = next((side for side, words in _SIDES.items() if words.search(name)), None)
            continue
        for other, wordings in question.sides.items():
            if side not in (None, other):
                yield from (w for w in wordings if _holds_any(as_compared(line), [w]))


def as_compared(text: str) -> str:
    """Return a text without markers, emphasis, case and line breaks, its quotation marks straight."""
    plain = strip_markers(text).translate(_QUOTES).replace("**", "")
    return " ".join(plain.split()).casefold()


def _holds_any(text: str, wordings: Iterable[str]) -> bool:
    """Whether one stands there as whole words: "7" neither in "75" nor in "4.7" or "1,700"."""
    return any(
        re.search(rf"(?<!\w)(?<!\d[.,]){re.escape(as_compared(wording))}(?!\w|[.,]\d)", text)
        for wording in wordings
    )


def _says_any(text: str, wordings: Iterable[str]) -> bool:
    """Whether one stands there, be it in another form: "the coil is frozen" says "coil frozen"."""
    said = f" {_stems(text)} "
    return any(
        _holds_any(text, [wording])
        or (not re.search(r"\d", wording) and f" {_stems(as_compared(wording))} " in said)
        for wording in wordings
    )


def _stems(text: str) -> str:
    words = re.findall(r"[^\W_]+", text)
    forms = " ".join(_FORMS.get(word, word) for word in words if word not in _LINKING)
    return " ".join(map(stem, forms.split()))
