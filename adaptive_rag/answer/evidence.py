"""Judges whether the documents hold an answer, which decides between answer, closest passages and refusal."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal

from adaptive_rag.answer.links import keep_own_links
from adaptive_rag.answer.passages import cite_span
from adaptive_rag.answer.request import NEITHER, AnswerRequest
from adaptive_rag.query.history import REFUSAL
from adaptive_rag.state import Citation
from adaptive_rag.text.markers import respell_markers
from adaptive_rag.text.places import format_place
from adaptive_rag.text.words import terms

Outcome = Literal["answer", "closest", "refusal"]

# Minimum confidence for an answer (as likely as not), and for showing the closest passages (one in five).
# `python -m benchmarks.real` shows what they refuse.
ANSWERED, CLOSE = 0.5, 0.2
# Below this cosine, the nearest sentence is about something else and does not help the user.
NEAR = 0.3
# Maximum number of characters of the nearest sentence that a refusal quotes.
LONGEST_QUOTE = 240
# Maximum number of characters of a query that a refusal names; queries that include earlier turns are longer.
LONGEST_QUERY = 80
SHOWN_QUERIES = 4
_INNER_QUOTES = str.maketrans("“”", "‘’")


@dataclass(frozen=True)
class Evidence:
    """The confidence that the passages answer the question, and the outcome."""

    confidence: float | None  # 0 to 1; None where the passages could not be judged
    outcome: Outcome
    reason: str


def judge_evidence(request: AnswerRequest) -> Evidence:
    """Judge whether the passages answer the question."""
    judged = request.judged
    if not any(sentence.quality > 0 for sentence in judged.sentences):
        return Evidence(0.0, "refusal", "no readable sentence was found")
    if judged.answered is None or not _shares_a_word(request):
        near = max(float(sentence.vector @ request.question_vector) for sentence in judged.sentences)
        outcome: Outcome = "closest" if near >= NEAR and terms(request.read_as) else "refusal"
        why = (
            "no reader judged the passages" if judged.answered is None else "no word of the question was read"
        )
        return Evidence(None, outcome, f"{why}; the nearest sentence has a cosine of {near:.2f}")
    sure = judged.answered
    # No single sentence answers a question for views, so a lower confidence is enough where a sentence takes
    # a side.
    needed = CLOSE if request.style.views and (request.taken != NEITHER).any() else ANSWERED
    outcome = "answer" if sure >= needed else "closest" if sure >= CLOSE else "refusal"
    limit = needed if outcome == "answer" else CLOSE
    why = f"how likely the passages answer: {sure:.2f}; {limit:.2f} is needed for "
    why += "an answer" if outcome == "answer" else "the closest passages to be shown"
    return Evidence(sure, outcome, why)


def _shares_a_word(request: AnswerRequest) -> bool:
    """Tell whether any sentence shares a content word with the question; "|" and "why" have none.

    The reader was trained on real questions, and is overconfident on all other input.
    """
    asked = set(terms(request.read_as))
    return any(not asked.isdisjoint(terms(sentence.text)) for sentence in request.judged.sentences)


def nearest_quote(request: AnswerRequest) -> tuple[str, Citation] | None:
    """Return the sentence closest to an answer, and its citation; None where none is near.

    Headings are not quoted: they are near to questions but contain no answer.
    """
    judged = request.judged
    near = [
        (float(score), sentence)
        for score, sentence in zip(judged.scores, judged.sentences, strict=True)
        if sentence.quality > 0 and float(sentence.vector @ request.question_vector) >= NEAR
    ]
    if not near:
        return None
    _, nearest = max(near, key=lambda each: each[0])
    passage = request.documents[nearest.document]
    return nearest.text, cite_span(passage, nearest.document + 1, nearest.start, nearest.end)


def format_abstention(
    question: str,
    queries: Sequence[str],
    documents: int | None = None,
    nearest: tuple[str, Citation] | None = None,
    where: str = "",
) -> str:
    """Write an abstention: the documents do not hold the answer, what was searched, and the nearest sentence.

    Args:
        question: the question, with its words spelt as in the index.
        queries: the texts that were sent to the index; short ones are named, without the question itself.
        documents: how many documents were searched, where that is known.
        nearest: the nearest sentence and its citation.
        where: the condition that passages had to fulfil.
    """
    asked = _on_one_line(question)
    beyond = (_on_one_line(_on_one_line(query).replace(asked, "")) for query in queries)
    others = [
        f"“{respell_markers(query.rstrip('.!'))}”"
        for query in dict.fromkeys(beyond)
        if len(query) <= LONGEST_QUERY and set(terms(query)) - set(terms(asked))
    ]
    searched = (
        "one document" if documents == 1 else f"{documents} documents" if documents else "the documents"
    )
    lines = [REFUSAL]
    condition = respell_markers(_on_one_line(where))
    if where and documents == 0:
        return f"{REFUSAL} No passage of them fulfils the condition that was given: {condition}"
    if documents or others:
        lines.append(
            f"I searched {searched}{f', also for {_listed(others, SHOWN_QUERIES)}' if others else ''}."
        )
    if where:
        lines.append(f"Only passages that fulfil the condition were searched: {condition}.")
    if nearest is not None:
        text, citation = nearest
        place = ", ".join(filter(None, (_name(citation["source"]), format_place(citation["place"]))))
        quote = textwrap.shorten(keep_own_links(text, None)[0], LONGEST_QUOTE, placeholder=" …")
        quote = quote.translate(_INNER_QUOTES)
        lines.append(f"What came nearest stands in {respell_markers(place)}: “{respell_markers(quote)}”")
    return " ".join(lines)


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


def _name(source: str) -> str:
    return PurePath(source).name or source


def _listed(items: Sequence[str], limit: int) -> str:
    shown = [*items[:limit], f"{len(items) - limit} more"] if len(items) > limit else list(items)
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
