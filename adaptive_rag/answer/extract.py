"""The answer without a chat model: sentences of the documents, arranged for the question's type."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from adaptive_rag.answer.form import fits, read_question
from adaptive_rag.answer.passages import chunk_at, labels_at
from adaptive_rag.answer.ranking import Ranking, Scores, says_the_same
from adaptive_rag.answer.request import AnswerRequest, Branch
from adaptive_rag.answer.sentences import Quotable, collect
from adaptive_rag.answer.speaker import speaker_of, speaks
from adaptive_rag.answer.stance import asked_side, is_view, misplaced, side_of
from adaptive_rag.ingest.chunking import page_in_chunk
from adaptive_rag.state import Citation, QueryType
from adaptive_rag.text.words import terms

FACTUAL_SENTENCES = 3
# Share of the best score given to its neighbour that has the date, number or name which it lacks.
ASKED_FOR = 0.9
BRANCH_SENTENCES = 3
SITUATION_SENTENCES = 4
# Weight of the asker's context beside the question in what fits their situation.
OF_CONTEXT = 0.6
GENERAL_SENTENCES = 2
# A further sentence must score nearly as well as the first to be worth reading.
NEAR: Mapping[QueryType, float] = MappingProxyType(
    {"factual": 0.75, "analytical": 0.7, "opinion": 0.6, "contextual": 0.6}
)
# A sentence beside one already chosen continues its thought.
CONTINUES = 0.12
# What a sentence loses for each point of cosine above ALIKE that it shares with one already chosen.
RESEMBLES, ALIKE = 0.6, 0.6
# How much a branch's own words count beside the whole question's, and being fetched for the branch.
OWN, FETCHED_FOR = 0.65, 0.05
LEFT_TO_OTHERS = 0.05
# Share of the best branch's best score that a branch must reach to be heard.
FAR_BEHIND = 0.9
# What a sentence loses that does not belong under a viewpoint that takes sides.
OTHER_SIDE = 0.25
# What a sentence gains in an opinion answer that holds a view or reports one.
VIEW = 0.12
# A sentence that refers back takes this many predecessors with it, unless they are this long.
PREDECESSORS, LONG_PREDECESSOR = 2, 400
# Below this quality a text is shown only where there is nothing better.
READABLE = 0.3
SITUATION_HEADING = "For your situation"
GENERAL_HEADING = "In general"

_ASKS = re.compile(
    r"(?:what|who|whom|whose|when|where|which|why|how|is|are|was|were|do|does|did|can|could|should|will|would)\b",
    re.IGNORECASE,
)
_FAKE_MARKER = re.compile(r"\[(\s*\d+(?:\s*[,;–-]\s*\d+)*\s*)\]")


@dataclass(frozen=True)
class ExtractedAnswer:
    """An answer of quoted sentences, each followed by its marker [n], and where each one stands."""

    text: str
    citations: list[Citation]
    unanswered: list[str] = field(default_factory=list)  # labels of branches the documents say nothing to


@dataclass(frozen=True)
class _Block:
    heading: str
    sentences: list[Quotable]
    label: str = ""


def extract_answer(request: AnswerRequest, collected: Sequence[Quotable] | None = None) -> ExtractedAnswer:
    """Answer with exact sentences of the documents.

    One to three sentences for a factual question; a paragraph for each sub-question of an analytical
    one; a block for each viewpoint of an opinion one; for a contextual one what fits the asker's
    situation, then what holds in general. A sentence that refers back ("It ...") brings its
    predecessor. Headings are set in bold on a line of their own. The answer is empty where the
    documents hold no readable sentence.

    Args:
        request: the question and its documents.
        collected: the documents' sentences, where they were collected before.
    """
    sentences = collect(request) if collected is None else list(collected)
    if not sentences:
        return ExtractedAnswer("", [], [branch.label for branch in request.branches])
    arrange = {
        "factual": _factual,
        "analytical": _by_branch,
        "opinion": _by_branch,
        "contextual": _contextual,
    }[request.query_type]
    blocks = arrange(request, Ranking(sentences))
    shown = [block for block in blocks if block.sentences]
    return ExtractedAnswer(
        text="\n\n".join(_show(request, block) for block in shown),
        citations=[_cite(request, sentence) for block in shown for sentence in block.sentences],
        unanswered=[block.label for block in blocks if not block.sentences and block.label],
    )


def _factual(request: AnswerRequest, ranking: Ranking) -> list[_Block]:
    scores = ranking.score(request.question, request.question_vector)
    scores = np.maximum(scores, ASKED_FOR * scores.max() * _completes(ranking, scores, request.question))
    return [_Block("", _choose(ranking, scores, FACTUAL_SENTENCES, NEAR["factual"] * scores.max()))]


def _completes(ranking: Ranking, scores: Scores, question: str) -> Scores:
    """Mark the sentence beside the best one that has the date, number or name which that one lacks."""
    marks = np.zeros(len(scores))
    sought, asked = read_question(question), set(terms(question))
    best = ranking.sentences[int(np.argmax(scores))]
    if sought.form not in ("number", "time", "person", "place") or fits(sought, best.text, asked) == 1:
        return marks
    for offset in (1, 2, -1, 3, -2, 4):
        for i, s in enumerate(ranking.sentences):
            beside = s.document == best.document and s.position == best.position + offset
            if beside and s.quality >= READABLE and fits(sought, s.text, asked) == 1:
                marks[i] = 1.0
                return marks
    return marks


def _by_branch(request: AnswerRequest, ranking: Ranking) -> list[_Block]:
    """Give each branch the best sentences of its own documents; none is used twice."""
    near = NEAR[request.query_type]
    whole = ranking.score(request.question, request.question_vector)
    if request.query_type == "opinion":
        whole = whole + VIEW * np.array([is_view(s.text) for s in ranking.sentences])
    if not request.branches:
        return [_Block("", _choose(ranking, whole, 2 * BRANCH_SENTENCES, near * whole.max()))]
    scores = np.stack([_branch_scores(request, ranking, branch, whole) for branch in request.branches])
    # A branch whose best sentence falls far behind the other branches' has nothing to say.
    floors = near * np.maximum(scores.max(axis=1), FAR_BEHIND * scores.max())
    used: list[Quotable] = []
    blocks = []
    asked = asked_side(request.question) if request.query_type == "opinion" else None
    for branch, mine, floor in zip(request.branches, scores, floors, strict=True):
        if asked and side_of(branch.label) not in (asked, None):
            continue
        # A sentence that serves another branch clearly better is left to it.
        open_ = np.where(mine >= scores.max(axis=0) - LEFT_TO_OTHERS, mine, -np.inf)
        chosen = _choose(ranking, open_, BRANCH_SENTENCES, floor, used)
        used += chosen
        blocks.append(_Block(_heading(branch, request.question), chosen, branch.label))
    return blocks


def _branch_scores(request: AnswerRequest, ranking: Ranking, branch: Branch, whole: Scores) -> Scores:
    scores = OWN * ranking.score(branch.label, branch.vector) + (1 - OWN) * whole
    fetched = [
        branch.label in labels_at(request.documents[s.document], s.start, s.end) for s in ranking.sentences
    ]
    scores += FETCHED_FOR * np.array(fetched)
    side = side_of(branch.label) if request.query_type == "opinion" else None
    if side is not None:
        scores += VIEW * np.array([is_view(s.text) for s in ranking.sentences])
        scores -= OTHER_SIDE * np.array([misplaced(side, s.text) for s in ranking.sentences])
    return np.asarray(scores, dtype=np.float64)


def _contextual(request: AnswerRequest, ranking: Ranking) -> list[_Block]:
    near = NEAR["contextual"]
    whole = ranking.score(request.question, request.question_vector)
    # What somebody else says about themselves is no advice.
    whole -= VIEW * np.array([speaks(s.text) for s in ranking.sentences])
    if not request.user_context.strip() or request.context_vector is None:
        return [_Block("", _choose(ranking, whole, SITUATION_SENTENCES, near * whole.max()))]
    both = (1 - OF_CONTEXT) * whole + OF_CONTEXT * ranking.score(request.user_context, request.context_vector)
    fitting = _choose(ranking, both, SITUATION_SENTENCES, near * both.max())
    general = _choose(ranking, whole, GENERAL_SENTENCES, NEAR["factual"] * whole.max(), fitting)
    return [_Block(SITUATION_HEADING, fitting), _Block(GENERAL_HEADING, general)]


def _choose(
    ranking: Ranking, scores: Scores, limit: int, floor: float, used: Sequence[Quotable] = ()
) -> list[Quotable]:
    """Take up to `limit` sentences that score at least `floor`, without repeats, in reading order.

    What resembles a sentence already taken loses by it (maximal marginal relevance, Carbonell and
    Goldstein 1998), what continues one gains. Predecessors that a sentence needs come on top.
    """
    sentences = ranking.sentences
    at = {(s.document, s.position): s for s in sentences}
    readable = any(sentence.quality >= READABLE for sentence in sentences)
    left = scores.copy()
    left[[s.quality < READABLE and readable for s in sentences]] = -np.inf
    chosen: list[Quotable] = []
    complete: list[Quotable] = []
    while len(chosen) < limit:
        best = int(np.argmax(left))
        sentence, score = sentences[best], float(left[best])
        if score < floor or score == -np.inf:
            break
        left[best] = -np.inf
        needed = _needed(sentence, at)
        if needed is None or sentence in complete or any(s in used for s in (*needed, sentence)):
            continue
        if any(says_the_same(s, o) for s in (*needed, sentence) for o in (*used, *complete) if s is not o):
            continue
        chosen.append(sentence)
        complete += [s for s in (*needed, sentence) if s not in complete]
        left -= RESEMBLES * np.maximum(ranking.vectors @ sentence.vector - ALIKE, 0.0)
        left += CONTINUES * np.array([_adjacent(sentence, other) for other in sentences])
    return _in_reading_order(complete, dict(zip(sentences, scores.tolist(), strict=True)))


def _adjacent(sentence: Quotable, other: Quotable) -> bool:
    return other.document == sentence.document and abs(other.position - sentence.position) == 1


def _needed(sentence: Quotable, at: Mapping[tuple[int, int], Quotable]) -> list[Quotable] | None:
    """Return the sentences before this one that it refers to; None where they cannot be shown."""
    needed: list[Quotable] = []
    while sentence.refers_back and len(needed) < PREDECESSORS:
        before = at.get((sentence.document, sentence.position - 1))
        if before is None:
            # A chunk that begins with "This ..." has lost what it speaks of.
            return None
        if before.quality < 0.6 or len(before.text) > LONG_PREDECESSOR:
            return needed
        needed.insert(0, before)
        sentence = before
    return needed


def _in_reading_order(chosen: Sequence[Quotable], scores: Mapping[Quotable, float]) -> list[Quotable]:
    """Keep neighbours together as they stand, and begin with those that hold the best sentence."""
    runs: list[list[Quotable]] = []
    for sentence in sorted(chosen, key=lambda s: (s.document, s.position)):
        if runs and _adjacent(runs[-1][-1], sentence):
            runs[-1].append(sentence)
        else:
            runs.append([sentence])
    documents = {s.document: max(scores[o] for o in chosen if o.document == s.document) for s in chosen}
    return [
        sentence
        for run in sorted(
            runs,
            key=lambda run: (-documents[run[0].document], run[0].document, -max(scores[s] for s in run)),
        )
        for sentence in run
    ]


def _heading(branch: Branch, question: str) -> str:
    """Return what stands above a branch's sentences; a label that repeats the question heads nothing."""
    if branch.heading is not None:
        return branch.heading
    label, question = (" ".join(text.split()).strip(" .:;,?") for text in (branch.label, question))
    if label.casefold().startswith(question.casefold()):
        return ""
    asks = _ASKS.match(label) is not None
    return f"{label[:1].upper()}{label[1:]}{'?' if asks else ''}"


def _show(request: AnswerRequest, block: _Block) -> str:
    shown, last = [], None
    for sentence in block.sentences:
        text, speaker = _plain(sentence.text), _speaker(request, sentence)
        if speaker:
            text = f"“{text}”" if speaker == last else f"{speaker}: “{text}”"
        last = speaker
        shown.append(f"{text} [{sentence.document + 1}]")
    body = " ".join(shown)
    return f"**{block.heading}**\n{body}" if block.heading else body


def _speaker(request: AnswerRequest, sentence: Quotable) -> str | None:
    chunk = chunk_at(request.documents[sentence.document], sentence.start, sentence.end)
    return speaker_of(chunk, sentence.start, sentence.text)


def _plain(text: str) -> str:
    """Bring a sentence on one line; a bracketed number of its own would read as a marker of ours."""
    return _FAKE_MARKER.sub(r"(\1)", " ".join(text.split()))


def _cite(request: AnswerRequest, sentence: Quotable) -> Citation:
    document = request.documents[sentence.document]
    return Citation(
        marker=sentence.document + 1,
        source=document["source"],
        page=page_in_chunk(document, sentence.start),
        start=sentence.start,
        end=sentence.end,
        quote=sentence.text,
    )
