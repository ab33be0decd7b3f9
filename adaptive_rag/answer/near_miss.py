"""What a question insists on where the passages have another: "12 speed" and 11-speed, 2021 and 2019."""

from __future__ import annotations

import re
from collections.abc import Iterator

from adaptive_rag.answer.passages import title_terms
from adaptive_rag.answer.request import AnswerRequest
from adaptive_rag.text.words import ASKING_WORDS, STOP_WORDS, weighted_terms

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_COUNT, _ORDINAL = r"\d+(?:[.,]\d+)*", rf"\d+(?:st|nd|rd|th)|{'|'.join(_ORDINALS)}"
# A number that tells one thing from others of its kind stands before a noun in the singular. An amount has
# the plural ("3 days"), and may well be the asker's own.
_NUMBERED = re.compile(rf"(?<![\w.,/-])({_ORDINAL}|{_COUNT})[\s-]([^\W\d_]{{2,}})(?![\w-])", re.IGNORECASE)
# "From the second year on", "after the third year": what follows is meant too.
_FROM = r"\b(?:from|after|since|until|up to) (?:the |your |its )?"
_ON = r" (?:on\b|onwards?\b|(?:and|or) \w+er\b)"
_YEAR = re.compile(r"(?<![\w.,/-])(?:1\d|20)\d\d(?![\w.,/-]*\w)")


def other_numbers(request: AnswerRequest) -> dict[str, list[str]]:
    """Return what the question numbers as no passage does, with what the passages have in its place.

    {"12 speed": ["11-speed", "9-speed"]}; nothing where no passage numbers the like. Of the questions of
    benchmarks.answers and benchmarks.typed_questions whose documents hold an answer, it finds nothing in any.
    """
    # The line after the question is the subject that it lacks, in bare words ("4 2 release").
    question = request.question.partition("\n")[0]
    return {**dict(_of_another_number(question, request)), **dict(_of_another_year(question, request))}


def _of_another_number(question: str, request: AnswerRequest) -> Iterator[tuple[str, list[str]]]:
    texts = [f"{passage['section'] or ''}\n{passage['text']}" for passage in request.documents]
    for asked in _NUMBERED.finditer(question):
        number, noun = asked.groups()
        if noun.lower() in STOP_WORDS | ASKING_WORDS or (noun.endswith("s") and not noun.endswith("ss")):
            continue
        # "300 x 20 mm" has 300 mm too.
        like = rf"{_COUNT}(?: ?[x×] ?{_COUNT})*" if number[-1].isdigit() else _ORDINAL
        numbered = re.compile(
            rf"(?P<open>{_FROM})?(?<![\w.,/-])(?:{like})[\s-]?{noun}\b(?P<on>{_ON})?"
            rf"|\b{noun}[\s-]{_COUNT}",
            re.IGNORECASE,
        )
        found = [match for text in texts for match in numbered.finditer(text)]
        stated = re.compile(rf"{_COUNT}|\b(?:{_ORDINAL})\b", re.IGNORECASE)
        numbers = {_in_digits(number) for match in found for number in stated.findall(match[0])}
        if found and _in_digits(number) not in numbers and not any(m["open"] or m["on"] for m in found):
            yield asked[0], list(dict.fromkeys(" ".join(match[0].split()) for match in found))


def _of_another_year(question: str, request: AnswerRequest) -> Iterator[tuple[str, list[str]]]:
    """Yield the year asked about where a sentence that names all else has other years, and none has it."""
    years = set(_YEAR.findall(question))
    wanted = {term for term, weight in weighted_terms(question).items() if weight >= 1} - years
    if len(years) != 1 or not wanted:
        return
    [year] = years
    named = [
        (s.text, {*s.terms, *title_terms(request.documents[s.document], s.heading)})
        for s in request.answer_sentences
    ]
    naming = [(text, present) for text, present in named if wanted <= present]
    others = dict.fromkeys(other for text, _ in naming for other in _YEAR.findall(text))
    if others and not any(year in present for _, present in naming):
        yield year, list(others)


def _in_digits(number: str) -> str:
    """Return an ordinal in digits: "4" for "fourth" and for "4th"."""
    if number.lower() in _ORDINALS:
        return str(_ORDINALS.index(number.lower()) + 1)
    return re.sub(r"(?<=\d)\D+$", "", number)
