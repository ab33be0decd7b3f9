"""What a question's answer must hold, and how the answer is judged by it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from adaptive_rag.evaluation.datasets import Question
from adaptive_rag.state import QueryType, Turn
from adaptive_rag.text.markers import strip_markers
from benchmarks.typed_questions.documents import HERE

Verdict = Literal["good", "partly", "wrong", "refused", "given"]
VERDICTS: dict[Verdict, str] = {
    "good": "holds all it must and nothing it must not, and is no longer than it may be; "
    "or says that the documents hold no answer, where they hold none",
    "partly": "holds some of it, or all of it in too many words or in a refusal",
    "wrong": "holds nothing of it, or something that it must not",
    "refused": "says that the documents hold no answer, though they do",
    "given": "answers, though the documents hold no answer",
}
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


def read_questions() -> list[TypedQuestion]:
    """Return the hundred questions."""
    lines = (HERE / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [_read_question(json.loads(line)) for line in lines]


def _read_question(row: dict[str, Any]) -> TypedQuestion:
    must = tuple((group,) if isinstance(group, str) else tuple(group) for group in row.pop("must"))
    must_not, history = tuple(row.pop("must_not")), tuple(row.pop("history"))
    return TypedQuestion(must=must, must_not=must_not, history=history, **row)


def judge(question: TypedQuestion, answer: str, *, abstained: bool) -> Judgement:
    """Judge an answer; `abstained` says that it claims to be none."""
    text = as_compared(answer)
    words = len(text.split())
    if not question.answerable:
        return Judgement("good" if abstained else "given", words)
    missing = tuple(group for group in question.must if not _holds_any(text, group))
    forbidden = tuple(wording for wording in question.must_not if _holds_any(text, [wording]))
    if abstained:
        verdict: Verdict = "refused" if missing or forbidden else "partly"
    elif forbidden or len(missing) == len(question.must):
        verdict = "wrong"
    else:
        verdict = "partly" if missing or words > question.longest else "good"
    return Judgement(verdict, words, missing, forbidden)


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
