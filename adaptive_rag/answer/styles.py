"""How the answer of each strategy is made: which sentences, in which order, and how much evidence it needs.

A strategy's style is one `AnswerStyle`. A new one needs a function that arranges sentences in blocks, and
nothing else in this folder.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from adaptive_rag.answer.forms import expected_form
from adaptive_rag.answer.order import following, in_document_order, under_heading, with_rows, with_steps
from adaptive_rag.answer.passages import labels_at
from adaptive_rag.answer.ranking import AROUND, RANK, READABLE, Ranking
from adaptive_rag.answer.relations import (
    asks_about_the_text,
    asks_for_prose,
    compared,
    speaks_of_the_text,
    stating,
)
from adaptive_rag.answer.rows import say_row
from adaptive_rag.answer.sentences import AnswerSentence, collect_sentences
from adaptive_rag.answer.sides import ONE_SIDED, quote_views
from adaptive_rag.answer.situation import speaks_to
from adaptive_rag.answer.speakers import in_first_person
from adaptive_rag.answer.views import SIGNS, VIEW, agreement, read_views, view_bonus
from adaptive_rag.models.onnx import Vectors
from adaptive_rag.query.follow_up import own_words
from adaptive_rag.rank.stances import LABELS, Side, asked_side, misplaced, side_of
from adaptive_rag.source import Sentences
from adaptive_rag.state import Candidate
from adaptive_rag.text.vectors import Scores
from adaptive_rag.text.words import coverage, terms, weighted_terms, words

# Where the best sentence lacks the date, number or name asked for, a neighbour that has it gets this share of
# its score.
COMPLETES = 0.9
# One farther off in the document is shown too where it reaches this share of the best one's.
FARTHEST = 0.75
# A sentence beside one that has the date, number or name asked for must come nearer to it by this share.
ANSWERED = 0.06
# What each word costs a sentence beside the best one: a short one is read at little cost.
PER_WORD = 0.002
# Share of the score for the asker's context in what fits their situation; the question has the rest.
CONTEXT_SHARE = 0.6
# A section of at most this many words is quoted whole where it ranks first.
SHORT_PASSAGE = 80
# Sentences of what holds in general, and their nearness both to the question and to the asker's situation: on
# half of ShARC more of them, or less near ones, added words but not the right passage.
GENERAL_SENTENCES, GENERAL_NEARNESS = 1, 0.9
# Share of the score for an aspect's label; the whole question has the rest.
ASPECT_SHARE = 0.65
# Added to a sentence of an analysis, divided by the rank of its chunk: most of one is put together from the
# passage that ranks first. Measured by the words of the reference that are covered, on half of CLAP NQ.
FIRST_READ = 0.4
# Added to a sentence that was found for the aspect: what the first rank adds to one of the last.
FOUND_FOR = RANK
# A sentence is left to another aspect for which it scores higher by more than this.
LEFT_TO_OTHERS = 0.05
# An aspect whose best score is far below this share of the best aspect's has no sentence worth showing.
FAR_BEHIND = 0.9
# What a sentence loses where it looks wrong under a side's heading.
OTHER_SIDE = 0.25
# Added to what follows the lead in its paragraph: on both halves of CLAP NQ more of the reference is covered
# in as many words.
FOLLOWS = 0.3
# Taken from a sentence that speaks of the text itself: it is left out where there is anything else.
OF_THE_TEXT = 1.0
# Taken from what the last answers said already: as much.
SAID = 1.0
# Share of the lead's score that a sentence of another document must reach in an analysis: on half of CLAP NQ
# fewer words hold as much of the reference; from 0.85 on they hold less.
OTHER_DOCUMENT = 0.8
# Added to a sentence under a heading whose words the question has; where the heading asks the same, three
# times as much, so that a section of lower rank leads. Of 0.4 to 1 the least with which it does.
HEADED = 0.6
# Taken from a row or a command where it is asked why or how something happens, unless it states that.
ROW = 1.0
SITUATION_HEADING = "For your situation"
GENERAL_HEADING = "In general"
_ASKS = re.compile(
    r"(?:what|who|whom|whose|when|where|which|why|how|is|are|was|were|do|does|did|can|could|should|will|would)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Block:
    """Sentences that are shown together."""

    sentences: list[AnswerSentence]  # as they are shown; an empty block is left out
    heading: str = ""
    numbered: bool = False  # whether each sentence stands on a line of its own with its number
    listed: bool = False  # whether each thought stands on a line of its own with a dash
    opening: str = ""  # what is said above the heading in our own words


@dataclass(frozen=True)
class Aspect:
    """A sub-question or viewpoint that passages were found for, or a part of a question that asks several."""

    label: str  # as it stands in the passages' `labels`; a part's text
    vector: Vectors  # (dimension,)


@dataclass(frozen=True, kw_only=True)
class AnswerStyle:
    """How the answer of one strategy is made."""

    # chooses the sentences and arranges them in blocks; the request has the style, the ranking all sentences
    arrange: Callable[[AnswerRequest, Ranking], list[Block]]
    # the likelihood of an answer below which it abstains, 0 to 1; where a chat model answers, it decides
    evidence: float
    # sentences beside that of a fact, or of an aspect or the asker's situation, at most; what they refer back
    # to comes on top
    sentences: int = 3
    # words of the answer's paragraphs together, at most; the first sentence of each is shown however long
    words: int = 150
    # share of the best sentence's score that a further sentence must reach
    nearness: float
    # what the words of the question that a text names, all of them, add to its cosine as evidence
    wording: float = 0.6
    # whether two questions in one are answered one by one
    splits: bool = False
    # whether it is evidence enough that somebody named speaks of the matter, or somebody takes a side on it
    heeds_speakers: bool = False
    # what the chat model is told, with "{sentences}" filled; "" takes the prompt file generate-NAME.md
    instruction: str = ""


@dataclass(frozen=True)
class AnswerRequest:
    """All that an answer is made of.

    Markers count documents: [n] is `documents[n - 1]`. So the answer, its prompt and the documents of the
    output agree.
    """

    question: str
    style: AnswerStyle
    documents: Sequence[Candidate]  # passages in rank order
    sentences: Sequence[Sentences]  # one for each document; spans count as the document's own do
    question_vector: Vectors  # (dimension,)
    aspects: Sequence[Aspect] = ()
    parts: Sequence[Aspect] = ()  # the questions that the question asks, where it asks several
    user_context: str = ""
    context_vector: Vectors | None = None  # (dimension,), where user_context is given
    said: str = ""  # the answers before a follow-up
    missing: Side | None = None  # the side that no passage takes, where that is sure; the answer says so

    def __post_init__(self) -> None:
        if len(self.documents) != len(self.sentences):
            raise ValueError(
                f"Got {len(self.documents)} documents and the sentences of {len(self.sentences)}; "
                "expected one Sentences for each document."
            )

    @cached_property
    def answer_sentences(self) -> list[AnswerSentence]:
        """Return the sentences of the documents that may be quoted, each once; of rows what is asked for."""
        return [
            replace(sentence, text=say_row(sentence.cells, self.question)) if sentence.cells else sentence
            for sentence in collect_sentences(self.documents, self.sentences)
        ]


def factual(request: AnswerRequest, ranking: Ranking) -> list[Block]:
    """Show the sentence that answers best, and others where they come close to it.

    Where a date, a number or a name is asked for and the best one lacks it, a sentence near it that has it
    is shown too: "The borehole stood in Saltpan Road. It was closed in 2019."
    """
    scores = ranking.score(request.question, request.question_vector) + _of_the_follow_up(request, ranking)
    nearest, nearness = ranking.sentences[int(np.argmax(scores))], request.style.nearness
    least = nearness * float(scores.max())
    scores[~ranking.showable] = -np.inf
    if nearest.quality > 0 and scores.max() < least:
        # No sentence comes near the row or the label that answers: "Next meeting: 12 November, 7.30 pm".
        return [Block([nearest])]
    completing = _completing(ranking, scores, request.question)
    best = int(np.argmax(scores))
    highest = max(scores[best], 0.0)  # so that the best one is shown even where all score below 0
    if expected_form(request.question).is_sure and completing is None:
        nearness += ANSWERED
    scores -= PER_WORD * np.array([len(s.text.split()) for s in ranking.sentences])
    scores[best] = highest
    if completing is not None:
        scores[completing] = max(scores[completing], COMPLETES * highest)
    scores[_other_rows(ranking, best, request.question.partition("\n")[0])] = -np.inf
    limit = 1 + request.style.sentences
    return [Block(ranking.choose(scores, limit, nearness * highest, known=True))]


def by_aspect(request: AnswerRequest, ranking: Ranking) -> list[Block]:
    """Show a paragraph for each sub-question; without any, the main point and what goes with it."""
    if request.aspects and {aspect.label for aspect in request.aspects} <= set(LABELS.values()):
        return by_side(request, ranking)
    whole = ranking.score(request.question, request.question_vector)
    whole += FIRST_READ / np.array([sentence.rank for sentence in ranking.sentences])
    stated = stating(request.question, ranking.sentences)
    whole += RANK * stated
    whole -= OF_THE_TEXT * _off_the_matter(request, ranking)
    whole += HEADED * under_heading(request.question, ranking.sentences)
    if asks_for_prose(request.question):
        whole -= ROW * np.array([s.is_row for s in ranking.sentences]) * (stated <= 0)
    if request.aspects:
        return _share_out(request, ranking, _score_aspects(request, ranking, whole))
    limit, least = 2 * request.style.sentences, request.style.nearness * max(whole.max(), 0.0)
    lead = _best(ranking, whole)
    whole = _of_its_document(request, ranking, whole, lead)
    _name_both(request.question, ranking, whole)
    whole += FOLLOWS * following(ranking.sentences, lead)
    chosen = ranking.choose(whole, limit, least, words=request.style.words)
    chosen = with_steps(request.question, ranking, chosen, whole)
    chosen = with_rows(request.question, ranking, chosen, request.style.words)
    return [Block(in_document_order(chosen, ranking.sentences[lead]))]


def by_side(request: AnswerRequest, ranking: Ranking) -> list[Block]:
    """Show the views of each side, or of the one that the question asks about, then those of no clear side.

    Where a model named the viewpoints, each has a paragraph; sentences that look wrong under a label that
    takes sides are held back.
    """
    asked = asked_side(request.question)
    if {aspect.label for aspect in request.aspects} <= set(LABELS.values()):
        views = read_views(
            request.question, request.question_vector, request.documents, request.sentences, ranking
        )
        agreed = np.zeros(len(views.scores))
        if request.aspects:  # else no passage takes a side
            agreed = agreement(request.question, request.documents, request.sentences, ranking)
        near, missing = request.style.nearness, request.missing
        if asked and asked == missing and not (SIGNS[asked] * views.declared > 0).any():
            return []
        quoted = quote_views(views, request.question, agreed, near, asked=asked, missing=missing)
        blocks = [Block(shown, heading, listed=True) for heading, shown in quoted.groups]
        return _opened(blocks, quoted.opening)
    if asked and asked == request.missing:
        return []
    gained = view_bonus(ranking)
    whole = ranking.score(request.question, request.question_vector) + gained
    scores = _score_aspects(request, ranking, whole)
    sides = [side_of(aspect.label) for aspect in request.aspects]
    for row, side in zip(scores, sides, strict=True):
        if side is not None:
            row += gained - OTHER_SIDE * np.array([misplaced(side, s.text) for s in ranking.sentences])
    shown_aspects = [not asked or side in (asked, None) for side in sides]
    blocks = _share_out(request, ranking, scores, shown_aspects)
    return _opened(blocks, ONE_SIDED[request.missing]) if request.missing else blocks


def for_situation(request: AnswerRequest, ranking: Ranking) -> list[Block]:
    """Show the rule that was found first, with what its section adds, and what else scores nearly as high.

    A short section is quoted whole, of a longer one the best sentences; where the asker's situation is known,
    they are those that fit it. A follow-up that asks for a fact is answered as such.
    """
    if request.said and not request.user_context.strip() and expected_form(request.question).is_sure:
        return factual(request, ranking)
    whole = ranking.score(request.question, request.question_vector) + _of_the_follow_up(request, ranking)
    # What somebody else says about themselves is no advice.
    whole -= VIEW * np.array([in_first_person(s.text) for s in ranking.sentences])
    whole -= OF_THE_TEXT * _off_the_matter(request, ranking)
    whole += RANK * stating(request.question, ranking.sentences)
    fitting, known = whole, False
    if request.user_context.strip() and request.context_vector is not None:
        theirs, known = ranking.score(request.user_context, request.context_vector), True
        fitting = (1 - CONTEXT_SHARE) * whole + CONTEXT_SHARE * theirs
    inside = _rule_of(request, ranking, fitting)
    lead = _best(ranking, np.where(inside, fitting, -np.inf))
    limit, least = request.style.sentences, request.style.nearness * fitting[lead]
    lengths = np.array([len(s.text.split()) for s in ranking.sentences])
    if lengths[inside].sum() <= SHORT_PASSAGE:
        limit, least = len(inside), -math.inf
    far = fitting < GENERAL_NEARNESS * fitting[lead]
    fitting = fitting + FOLLOWS * following(ranking.sentences, lead)
    rule = ranking.choose(np.where(inside, fitting, -np.inf), limit, least)
    rule = with_steps(request.question, ranking, rule, fitting)
    rule = in_document_order(rule, ranking.sentences[lead])
    if any(speaks_to(s.text, request.user_context) for s in rule):
        far |= _for_others(request, ranking)
    others = np.where(inside | far, -np.inf, whole)
    more = ranking.choose(others, GENERAL_SENTENCES, GENERAL_NEARNESS * whole.max(), rule)
    if not known or not _is_theirs(request, rule):
        return [Block([*rule, *more])]
    return [Block(rule, SITUATION_HEADING), Block(more, GENERAL_HEADING)]


def _rule_of(request: AnswerRequest, ranking: Ranking, fitting: Scores) -> NDArray[np.bool_]:
    """Return which sentences belong to the rule that fits best: those of its section in its chunk.

    One chunk may hold the end of one section and the beginning of the next. Where a sentence of it is for
    the asker ("under 8"), those for others ("from 14") are left out.
    """
    ranks = np.array([s.rank if s.quality >= READABLE else math.inf for s in ranking.sentences])
    first = ranking.sentences[_best(ranking, np.where(ranks == ranks.min(), fitting, -np.inf))]
    inside = np.array([(s.rank, s.heading) == (first.rank, first.heading) for s in ranking.sentences])
    here = [s for s, is_here in zip(ranking.sentences, inside, strict=True) if is_here]
    if any(speaks_to(s.text, request.user_context) for s in here):
        inside &= ~_for_others(request, ranking)
    return inside


def _of_the_follow_up(request: AnswerRequest, ranking: Ranking) -> Scores:
    """Return what a follow-up's own words add to each sentence, and what is taken where it was said before.

    "And when did it close?" after its opening asks for a sentence that says "closed", and does not want the
    opening again. What was said before stays where it names what is asked now: "is it in stock?".
    """
    own = own_words(request.question)
    if not (own and request.said):
        return np.zeros(len(ranking.sentences))
    named = np.array([coverage(own, set(s.terms)) for s in ranking.sentences])
    told = _plain(request.said)
    # Of a row another cell may have been shown, but its name was.
    said = np.array([_plain(s.cells[0][1] if s.cells else s.text) in told for s in ranking.sentences])
    return np.asarray(AROUND * named - SAID * said * (1 - named))


def _plain(text: str) -> str:
    return " ".join(words(text))


def _for_others(request: AnswerRequest, ranking: Ranking) -> NDArray[np.bool_]:
    """Return which sentences hold for another age or stage than the asker's."""
    return np.array([speaks_to(s.text, request.user_context) is False for s in ranking.sentences])


def _is_theirs(request: AnswerRequest, rule: Sequence[AnswerSentence]) -> bool:
    """Tell whether a rule speaks of what the asker says of themselves, beside what they ask."""
    theirs = set(terms(request.user_context)) - set(terms(request.question))
    return any(theirs & set(s.terms) or speaks_to(s.text, request.user_context) for s in rule)


def _best(ranking: Ranking, scores: Scores) -> int:
    """Return the index of the sentence that leads: the best one that can be read."""
    readable = np.array([s.quality >= READABLE for s in ranking.sentences])
    return int(np.argmax(np.where(readable, scores, -np.inf) if readable.any() else scores))


def _off_the_matter(request: AnswerRequest, ranking: Ranking) -> Scores:
    """Return 1 for each sentence that speaks of the text itself, unless the question does, else 0."""
    asked = asks_about_the_text(request.question)
    return np.array([float(not asked and speaks_of_the_text(s.text)) for s in ranking.sentences])


def _of_its_document(request: AnswerRequest, ranking: Ranking, scores: Scores, lead: int) -> Scores:
    """Return the scores without the sentences of other documents that do not come near the lead."""
    sources = [request.documents[s.document]["source"] for s in ranking.sentences]
    other = np.array([source != sources[lead] for source in sources])
    return np.where(other & (scores < OTHER_DOCUMENT * scores[lead]), -np.inf, scores)


def _name_both(question: str, ranking: Ranking, scores: Scores) -> None:
    """Raise the best sentence on each of two things that are compared, so that both are quoted."""
    highest = max(scores.max(), 0.0)
    held = [set(s.terms) | set(terms(s.heading)) for s in ranking.sentences]
    pair = compared(question)
    for wanted, other in zip(pair, reversed(pair), strict=True):
        # What names one of them alone tells more of it than what names both.
        fit = np.array(
            [bool(wanted) and wanted <= words and not (other and other <= words) for words in held]
        )
        if fit.any():
            best = int(np.argmax(np.where(fit, scores, -np.inf)))
            scores[best] = max(scores[best], COMPLETES * highest)


def _opened(blocks: Sequence[Block], opening: str) -> list[Block]:
    """Return the blocks that hold sentences, the first of them with what is said above it."""
    shown = [block for block in blocks if block.sentences]
    return [replace(block, opening=opening if block is shown[0] else "") for block in shown]


def _completing(ranking: Ranking, scores: Scores, question: str) -> int | None:
    """Return the index of a sentence near the best one that has the date, number or name which it lacks."""
    expected, asked = expected_form(question), set(terms(question))
    best = ranking.sentences[int(np.argmax(scores))]
    if not expected.is_sure or expected.fit(best.text, asked) == 1:
        return None
    beside = {
        s.position - best.position: i for i, s in enumerate(ranking.sentences) if s.document == best.document
    }
    for i in (beside[step] for step in (1, 2, -1, 3, -2, 4) if step in beside):
        s = ranking.sentences[i]
        if s.quality >= READABLE and expected.fit(s.text, asked) == 1:
            return i
    if expected.fit(best.text, asked) > 0:
        return None
    fitting = [
        score if s.document == best.document and expected.fit(s.text, asked) == 1 else -np.inf
        for s, score in zip(ranking.sentences, scores, strict=True)
    ]
    far = int(np.argmax(fitting))
    return far if fitting[far] >= FARTHEST * scores.max() else None


def _other_rows(ranking: Ranking, best: int, question: str) -> NDArray[np.bool_]:
    """Tell which rows are about something else than the best one: they name less of the question.

    In "11-speed cassette" the number counts with the word beside it: "9-speed, 11-34" lacks it.
    """
    weights, pairs = weighted_terms(question), _numbered(terms(question))
    named = np.array(
        [
            coverage(weights, set(s.terms)) + len(pairs & _numbered(s.terms)) if s.cells else 0.0
            for s in ranking.sentences
        ]
    )
    rows = np.array([bool(s.cells) for s in ranking.sentences])
    return np.asarray(rows[best] & rows & (named < named[best]))


def _numbered(words: Sequence[str]) -> set[tuple[str, str]]:
    return {pair for pair in pairwise(words) if any(word[0].isdigit() for word in pair)}


def _score_aspects(request: AnswerRequest, ranking: Ranking, whole: Scores) -> Scores:
    """Return the scores of all sentences for each aspect, shape (aspects, sentences)."""
    labels = [labels_at(request.documents[s.document], s.start, s.end) for s in ranking.sentences]
    rows = [
        ASPECT_SHARE * ranking.score(aspect.label, aspect.vector)
        + (1 - ASPECT_SHARE) * whole
        + FOUND_FOR * np.array([aspect.label in found for found in labels])
        for aspect in request.aspects
    ]
    return np.stack(rows) if rows else np.zeros((0, len(whole)))


def _share_out(
    request: AnswerRequest,
    ranking: Ranking,
    scores: Scores,
    shown: Sequence[bool] | None = None,
) -> list[Block]:
    """Give each aspect its best sentences; none is used twice.

    Args:
        request: with the aspects.
        ranking: of all sentences.
        scores: of `_score_aspects`.
        shown: which aspects are shown; all where it is not given.
    """
    near = request.style.nearness
    # An aspect whose best sentence falls far behind the other aspects' has nothing to say.
    floors = near * np.maximum(scores.max(axis=1), FAR_BEHIND * scores.max())
    used: list[AnswerSentence] = []
    blocks = []
    headed = [i for i in range(len(request.aspects)) if shown is None or shown[i]]
    for number, i in enumerate(headed):
        # A sentence that serves another aspect clearly better is left to it.
        own = np.where(scores[i] >= scores.max(axis=0) - LEFT_TO_OTHERS, scores[i], -np.inf)
        left = request.style.words - sum(len(sentence.text.split()) for sentence in used)
        words = left / (len(headed) - number)
        chosen = ranking.choose(own, request.style.sentences, floors[i], used, words)
        used += chosen
        blocks.append(Block(chosen, _heading(request.aspects[i].label, request.question)))
    return blocks


def _heading(label: str, question: str) -> str:
    """Return what stands above an aspect's sentences; a label that repeats the question heads nothing."""
    label, question = (" ".join(text.split()).strip(" .:;,?") for text in (label, question))
    if label.casefold().startswith(question.casefold()):
        return ""
    return f"{label[:1].upper()}{label[1:]}{'?' if _ASKS.match(label) else ''}"


# A fact stands in a document or not. An analysis is put together from passages that each name a part of it.
# Views rarely use the asker's words. `benchmarks/evidence.py` chose `evidence` and `wording`.
FACTUAL_STYLE = AnswerStyle(arrange=factual, evidence=0.5, nearness=0.82, splits=True)
ANALYTICAL_STYLE = AnswerStyle(arrange=by_aspect, evidence=0.5, sentences=4, nearness=0.65)
OPINION_STYLE = AnswerStyle(arrange=by_side, evidence=0.1, wording=0.1, nearness=0.55, heeds_speakers=True)
CONTEXTUAL_STYLE = AnswerStyle(arrange=for_situation, evidence=0.55, sentences=4, nearness=0.6)
# For `generate` outside the graph, which has the styles from its strategies: a new one needs no row here.
STYLES: Mapping[str, AnswerStyle] = MappingProxyType(
    {
        "factual": FACTUAL_STYLE,
        "analytical": ANALYTICAL_STYLE,
        "opinion": OPINION_STYLE,
        "contextual": CONTEXTUAL_STYLE,
    }
)
