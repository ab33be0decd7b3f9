"""Judge an answer by what it must contain, what it must not contain, and how long it may be."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from adaptive_rag.answer.citations import read_markers
from adaptive_rag.evaluation.datasets import Question
from adaptive_rag.state import RoutedType, Turn
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
# Side -> words by which a heading names it, such as "Risks and arguments against".
_HEADING_WORDS = {
    "against": re.compile(r"\b(?:against|risks?|drawbacks?|cons)\b", re.IGNORECASE),
    "for": re.compile(r"\b(?:for|in favour|benefits?|pros)\b", re.IGNORECASE),
}
# Words that an answer may add or leave out ("the coil is frozen"), and forms that have no stem in common.
_LINKING = frozenset({"is", "are", "was", "were", "be", "been"})
_FORMS = {"cannot": "can not", "said": "say"}
_QUOTES = str.maketrans("‘’“”", "''\"\"")


@dataclass(frozen=True)
class TypedQuestion:
    """One line of `questions.jsonl`."""

    id: str
    type: RoutedType
    # the document that has the answer or, for an unanswerable question, seems to have it
    source: str
    question: str
    # groups of wordings: the answer must contain one of each group
    must: tuple[tuple[str, ...], ...]
    must_not: tuple[str, ...]
    answerable: bool
    # the greatest number of words
    longest: int
    history: tuple[Turn, ...]
    user_context: str
    # "for" and "against" -> wordings that must not stand under a heading of the other side
    sides: Mapping[str, tuple[str, ...]]

    @property
    def part(self) -> str:
        """Return the group of questions in which it is counted: its type, or "no answer"."""
        return self.type if self.answerable else "no answer"

    def asked(self) -> Question:
        """Return the question as a person types it, without the labels for the judge."""
        return Question(self.id, self.question, self.user_context, self.history)


@dataclass(frozen=True)
class Judgement:
    """A verdict and its reasons."""

    verdict: Verdict
    words: int
    # the groups of `must` of which the answer contains no wording
    missing: tuple[tuple[str, ...], ...] = ()
    # the wordings of `must_not` that it contains
    forbidden: tuple[str, ...] = ()
    # the other documents that it quotes
    others: tuple[str, ...] = ()
    # the wordings that stand under a heading of the other side
    misplaced: tuple[str, ...] = ()
    # whether its first sentence contains a wording of `must`
    leads: bool = False
    # whether its only fault is its length
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
        question: the question with its labels.
        answer: the answer, with its markers.
        abstained: whether the answer says that the documents have none.
        quoted: the names of the documents that it cites.
    """
    text = normalise(answer)
    words = len(text.split())
    if not question.answerable:
        # A chat model may first say that the documents have no answer, and then quote the nearest passage.
        is_refusal = abstained or read_markers(first_sentence(answer), 0).absences > 0
        return Judgement("good" if is_refusal else "given", words)
    missing = tuple(group for group in question.must if not _says_any(text, group))
    forbidden = tuple(wording for wording in question.must_not if _contains(text, wording))
    others = tuple(sorted({name for name in quoted if name != question.source}))
    misplaced = tuple(_find_misplaced(question, answer))
    is_too_long = words > question.longest
    has_fault = bool(missing or forbidden or others or misplaced)
    if abstained:
        verdict: Verdict = "refused" if missing or forbidden else "partly"
    elif forbidden or len(missing) == len(question.must):
        verdict = "wrong"
    else:
        verdict = "partly" if has_fault or is_too_long else "good"
    leads = not abstained and any(
        _says_any(normalise(first_sentence(answer)), group) for group in question.must
    )
    only_too_long = is_too_long and not (abstained or has_fault)
    return Judgement(verdict, words, missing, forbidden, others, misplaced, leads, only_too_long)


def _find_misplaced(question: TypedQuestion, answer: str) -> Iterator[str]:
    """Yield the wordings of one side that stand under a heading of the other."""
    heading_side = None
    for line in answer.splitlines():
        if heading := HEADING_LINE.match(line.strip()):
            text = heading["head"] or heading["title"]
            sides = (side for side, words in _HEADING_WORDS.items() if words.search(text))
            heading_side = next(sides, None)
            continue
        for side, wordings in question.sides.items():
            if heading_side not in (None, side):
                yield from (wording for wording in wordings if _contains(normalise(line), wording))


def normalise(text: str) -> str:
    """Return a text in lower case and on one line, with straight quotation marks, no markers, no emphasis."""
    plain = strip_markers(text).translate(_QUOTES).replace("**", "")
    return " ".join(plain.split()).casefold()


def _contains(text: str, wording: str) -> bool:
    """Return whether a text has a wording as whole words: "7" is not in "75", "4.7" or "1,700"."""
    pattern = rf"(?<!\w)(?<!\d[.,]){re.escape(normalise(wording))}(?!\w|[.,]\d)"
    return re.search(pattern, text) is not None


def _says_any(text: str, wordings: Iterable[str]) -> bool:
    """Return whether a text has a wording, or other forms of its words: "the coil is frozen", "coil frozen".

    A wording with a number must occur as it is.
    """
    text_stems = f" {_stem_words(text)} "
    return any(
        _contains(text, wording)
        or (not re.search(r"\d", wording) and f" {_stem_words(normalise(wording))} " in text_stems)
        for wording in wordings
    )


def _stem_words(text: str) -> str:
    words = re.findall(r"[^\W_]+", text)
    forms = " ".join(_FORMS.get(word, word) for word in words if word not in _LINKING)
    return " ".join(map(stem, forms.split()))
