"""The answer without a chat model: sentences of the documents, arranged for the question's type."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from adaptive_rag.answering.quotable import Quotable, collect
from adaptive_rag.answering.ranking import Scores, rank, says_the_same
from adaptive_rag.answering.request import AnswerRequest, Branch
from adaptive_rag.state import Citation

FACTUAL_SENTENCES = 3
BRANCH_SENTENCES = 3
SITUATION_SENTENCES = 4
GENERAL_SENTENCES = 2
# A further sentence must score nearly as well as the first to be worth reading.
NEAR_FACTUAL, NEAR_OTHER = 0.82, 0.7
# A sentence beside one already chosen continues its thought.
CONTINUES = 0.06
SITUATION_HEADING = "For your situation"
GENERAL_HEADING = "In general"

_FAKE_MARKER = re.compile(r"\[(\s*\d+(?:\s*[,;–-]\s*\d+)*\s*)\]")


@dataclass(frozen=True)
class ExtractedAnswer:
    """An answer of quoted sentences, each followed by its marker [n], and where each one stands."""

    text: str
    citations: list[Citation]


@dataclass(frozen=True)
class _Block:
    heading: str
    sentences: list[Quotable]


def extract_answer(request: AnswerRequest) -> ExtractedAnswer:
    """Answer with exact sentences of the documents.

    One to three sentences for a factual question; a paragraph for each sub-question of an analytical
    one; a block for each viewpoint of an opinion one; for a contextual one what fits the asker's
    situation, then what holds in general. Headings are set in bold on a line of their own. The answer
    is empty where the documents hold no readable sentence.
    """
    sentences = collect(request)
    if not sentences:
        return ExtractedAnswer("", [])
    arrange = {
        "factual": _factual,
        "analytical": _by_branch,
        "opinion": _by_branch,
        "contextual": _contextual,
    }[request.query_type]
    blocks = [block for block in arrange(request, sentences) if block.sentences]
    return ExtractedAnswer(
        text="\n\n".join(_show(block) for block in blocks),
        citations=[_cite(request, sentence) for block in blocks for sentence in block.sentences],
    )


def _factual(request: AnswerRequest, sentences: list[Quotable]) -> list[_Block]:
    scores = rank(request, sentences, request.question, request.question_vector)
    chosen = _choose(sentences, scores, FACTUAL_SENTENCES, NEAR_FACTUAL, [])
    return [_Block("", _in_reading_order(_with_predecessors(chosen, sentences, []), sentences, scores))]


def _by_branch(request: AnswerRequest, sentences: list[Quotable]) -> list[_Block]:
    """Give each branch the best sentences of its own documents; none is used twice."""
    branches = request.branches or [Branch(request.question, request.question_vector, heading="")]
    whole = rank(request, sentences, request.question, request.question_vector)
    used: list[Quotable] = []
    blocks = []
    for branch in branches:
        scores = 0.6 * rank(request, sentences, branch.label, branch.vector) + 0.4 * whole
        own = [
            i
            for i, sentence in enumerate(sentences)
            if branch.label in request.documents[sentence.document]["labels"]
        ]
        pool = own or range(len(sentences))
        chosen = _choose([sentences[i] for i in pool], scores[list(pool)], BRANCH_SENTENCES, NEAR_OTHER, used)
        chosen = _in_reading_order(_with_predecessors(chosen, sentences, used), sentences, scores)
        used += chosen
        blocks.append(_Block(branch.title if len(branches) > 1 else "", chosen))
    return blocks


def _contextual(request: AnswerRequest, sentences: list[Quotable]) -> list[_Block]:
    whole = rank(request, sentences, request.question, request.question_vector)
    if not request.user_context.strip() or request.context_vector is None:
        chosen = _choose(sentences, whole, SITUATION_SENTENCES, NEAR_OTHER, [])
        chosen = _with_predecessors(chosen, sentences, [])
        return [_Block(SITUATION_HEADING, _in_reading_order(chosen, sentences, whole))]
    theirs = rank(request, sentences, request.user_context, request.context_vector)
    both = 0.5 * whole + 0.5 * theirs
    fitting = _choose(sentences, both, SITUATION_SENTENCES, NEAR_OTHER, [])
    fitting = _in_reading_order(_with_predecessors(fitting, sentences, []), sentences, both)
    general = _choose(sentences, whole, GENERAL_SENTENCES, NEAR_FACTUAL, fitting)
    general = _in_reading_order(_with_predecessors(general, sentences, fitting), sentences, whole)
    return [_Block(SITUATION_HEADING, fitting), _Block(GENERAL_HEADING, general)]


def _choose(
    sentences: Sequence[Quotable], scores: Scores, limit: int, near: float, used: Sequence[Quotable]
) -> list[Quotable]:
    """Take the best sentence and those that come near it, without repeats."""
    chosen: list[Quotable] = []
    scores = np.array(scores, dtype=np.float64)
    open_ = [i for i in range(len(sentences)) if sentences[i].quality > 0] or list(range(len(sentences)))
    floor = -np.inf
    while open_ and len(chosen) < limit:
        best = max(open_, key=lambda i: (scores[i], -i))
        open_.remove(best)
        if scores[best] < floor:
            break
        sentence = sentences[best]
        if any(says_the_same(sentence, other) for other in [*used, *chosen]):
            continue
        if not chosen:
            floor = near * scores[best]
        chosen.append(sentence)
        for i in open_:
            if _adjacent(sentence, sentences[i]):
                scores[i] += CONTINUES
    return chosen


def _adjacent(sentence: Quotable, other: Quotable) -> bool:
    return other.document == sentence.document and abs(other.position - sentence.position) == 1


def _with_predecessors(
    chosen: list[Quotable], sentences: Sequence[Quotable], used: Sequence[Quotable]
) -> list[Quotable]:
    """Put before a sentence that refers back ("It ...") the one that it refers to."""
    at = {(s.document, s.position): s for s in sentences}
    complete = list(chosen)
    for sentence in chosen:
        for _ in range(2):
            before = at.get((sentence.document, sentence.position - 1))
            if not sentence.refers_back or before is None or before.quality < 0.5:
                break
            if before in complete or before in used:
                break
            complete.append(before)
            sentence = before
    return complete


def _in_reading_order(
    chosen: list[Quotable], sentences: Sequence[Quotable], scores: Scores
) -> list[Quotable]:
    """Order by document, the one with the best sentence first, and within a document as it stands there."""
    score = {id(sentence): float(value) for sentence, value in zip(sentences, scores, strict=True)}
    best: dict[int, float] = {}
    for sentence in chosen:
        best[sentence.document] = max(score[id(sentence)], best.get(sentence.document, -np.inf))
    return sorted(chosen, key=lambda s: (-best[s.document], s.document, s.start))


def _show(block: _Block) -> str:
    body = " ".join(f"{_plain(s.text)} [{s.document + 1}]" for s in block.sentences)
    return f"**{block.heading}**\n{body}" if block.heading else body


def _plain(text: str) -> str:
    """Bring a sentence on one line; a bracketed number of its own would read as a marker of ours."""
    return _FAKE_MARKER.sub(r"(\1)", " ".join(text.split()))


def _cite(request: AnswerRequest, sentence: Quotable) -> Citation:
    document = request.documents[sentence.document]
    return Citation(
        marker=sentence.document + 1,
        source=document["source"],
        page=document["page"],
        start=sentence.start,
        end=sentence.end,
        quote=sentence.text,
    )
