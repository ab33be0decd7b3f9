"""The check before an answer without a model: whether the documents hold one, and what is said where not.

The evidence is the sum of two measures: how near one passage comes to the question, by meaning and by words
together, and how far one sentence stands above the others that were read. The first tells another subject,
the second a subject that the documents speak of without answering. On public data alone the first would weigh
three times as much (`python -m benchmarks.evidence`). But how near a passage comes depends on the kind of
documents, and what stands out does not: so weighed, and as strict on public data, a fifth of the contextual
questions of benchmarks.typed_questions would be refused with the answer at hand, and with equal weights none
is. A threshold refuses near 5 % of the public questions that have an answer. Just above it the answer says
that it gives the closest passages.
"""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from types import MappingProxyType

import numpy as np

from adaptive_rag.answer.links import keep_own_links
from adaptive_rag.answer.near_miss import other_numbers
from adaptive_rag.answer.order import under_heading
from adaptive_rag.answer.passages import chunk_section, chunks_of, cite_span, title_terms
from adaptive_rag.answer.ranking import READABLE
from adaptive_rag.answer.request import AnswerRequest
from adaptive_rag.answer.sentences import AnswerSentence
from adaptive_rag.answer.views import attested
from adaptive_rag.models.onnx import Vectors, load_minilm
from adaptive_rag.query.follow_up import own_words
from adaptive_rag.query.history import REFUSAL
from adaptive_rag.state import Citation
from adaptive_rag.text.markers import respell_markers
from adaptive_rag.text.places import format_place
from adaptive_rag.text.vectors import Scores, cosines
from adaptive_rag.text.words import coverage, is_german, stem, terms, weighted_terms, words

# The sum at which an answer is as likely as none, and how steeply the likelihood rises with it.
MIDDLE, SLOPE = 1.18, 5.0
# Added where all words of a heading are of what the asker says of themselves ("If you have small children"),
# so that a question in other words than the section's is not refused.
HEADED = 0.1
# A sum that is above the threshold by less than this is said to give the closest passages. Of ten everyday
# questions between this and twice as much, nine had their answer, and the warning stood over it.
CLOSEST = 0.03
# Characters of the nearest sentence that a refusal quotes.
LONGEST_QUOTE = 240
# Below this cosine the nearest sentence is on something else and tells the reader nothing; above it, it is
# often the answer, where a refusal is wrong.
NEAR = 0.3
# Characters of a query that a refusal names; one that carries what was said before is longer.
LONGEST_QUERY = 80
SHOWN_QUERIES = 4
_INNER_QUOTES = str.maketrans("“”", "‘’")


@dataclass(frozen=True)
class Evidence:
    """How likely the documents hold an answer, and whether that is enough."""

    score: float  # 0 to 1
    sufficient: bool  # whether the score reaches the style's threshold
    reason: str
    closest: bool = False  # whether it does so barely: the answer says that it gives the closest passages
    measures: dict[str, float] = field(default_factory=dict)


def judge_evidence(request: AnswerRequest) -> Evidence:
    """Judge whether the documents hold an answer to the question."""
    sentences = [sentence for sentence in request.answer_sentences if sentence.quality > 0]
    if not sentences:
        return Evidence(0.0, False, "no readable sentence was found")
    measures = measure(request, sentences, request.question, request.question_vector)
    # "And what about me?" has no content word of its own, and is judged together with the asker's context.
    if request.context_vector is not None and not weighted_terms(request.question):
        theirs = measure(request, sentences, request.user_context, request.context_vector)
        measures = max(measures, theirs, key=lambda found: sum(found.values()))
    if instead := other_numbers(request):
        return Evidence(0.0, False, _reason_instead(instead), measures=measures)
    if headed := float(under_heading(request.user_context, sentences).max()):
        measures["heading"] = HEADED * headed
    total, threshold = sum(measures.values()), request.style.evidence
    score = likelihood(total)
    barely = likelihood(total - CLOSEST) < threshold
    if barely and request.style.heeds_speakers:
        said = attested(request, sentences)
        if said:
            return Evidence(max(score, threshold), True, f"{said}; {_reason(measures, score, threshold)}")
    return Evidence(
        score,
        sufficient=score >= threshold,
        reason=_reason(measures, score, threshold),
        closest=barely and score >= threshold,
        measures=measures,
    )


def likelihood(total: float) -> float:
    """Return how likely the documents hold an answer, 0 to 1, for the sum of the measures."""
    return 1 / (1 + math.exp(SLOPE * (MIDDLE - total)))


def measure(
    request: AnswerRequest, sentences: Sequence[AnswerSentence], asked: str, vector: Vectors
) -> dict[str, float]:
    """Measure how near the passages and the sentences come to what is asked.

    `passage` is the cosine of the best passage, and `wording` times the share of what is asked that it names
    with its titles, the headings and the file's name; `lead` is the same of the best sentence, less the mean
    of all sentences.
    """
    chunks = [chunk for passage in request.documents for chunk in chunks_of(passage)]
    named = [{*terms(chunk["text"]), *title_terms(chunk, chunk["section"])} for chunk in chunks]
    weights = term_weights(asked, sentences, set[str]().union(*named))
    nearness = nearness_of(request, sentences, weights, vector)
    wording, best = request.style.wording, float(nearness.max())
    return {
        # Where a source gives no cosines, its best sentence stands for its best passage.
        "passage": max(
            chunk["scores"]["dense"] + wording * coverage(weights, present)
            if "dense" in chunk["scores"]
            else best
            for chunk, present in zip(chunks, named, strict=True)
        ),
        "lead": best - float(nearness.mean()),
    }


def term_weights(
    asked: str, sentences: Sequence[AnswerSentence], present: Collection[str] = ()
) -> dict[str, float]:
    """Return what each word of a question weighs: half of it the less, the more sentences have the word.

    In a book on AI the word "AI" says little. But in a price list "stock" stands in every row, and is still
    what is asked about. What a word weighs that no sentence has, nor `present`, goes by how rare it is. What
    a follow-up brings itself weighs twice: what a class costs does not answer "and how much is a massage?".
    """
    frequency = Counter(term for sentence in sentences for term in set(sentence.terms))
    rarest = math.log(2 * (len(sentences) + 1))
    as_asked = {stem(word): word for word in words(asked)}
    own = own_words(asked)
    german = is_german(asked)
    return {
        term: (weight + own.get(term, 0.0))
        * (
            (1 + math.log((len(sentences) + 1) / (frequency[term] + 0.5)) / rarest) / 2
            if frequency[term] or term in present
            else _weight_missing(as_asked[term], german=german)
        )
        for term, weight in weighted_terms(asked).items()
    }


def _weight_missing(word: str, *, german: bool) -> float:
    """Return what a word weighs that was not found, from half to twice as much the rarer it is.

    A common one is mostly said in another way ("how big" for "3.8 litres"); a rare one, a number or a name
    tells that something else is spoken of. If common ones weighed as much, many more questions would be
    refused that have an answer; if rare ones weighed no more than words that are found, fewer that have none.
    """
    if german:
        return 1.0  # how rare a word is goes by English
    is_number = any(letter.isdigit() for letter in word)
    return 0.5 + 1.5 * (1.0 if is_number else load_minilm().rarity(word))


def nearness_of(
    request: AnswerRequest, sentences: Sequence[AnswerSentence], weights: dict[str, float], vector: Vectors
) -> Scores:
    """Return the cosine of each sentence, and the share of what is asked that it and its titles name."""
    similar = cosines(np.stack([sentence.vector for sentence in sentences]), vector[None])[:, 0]
    named = [
        coverage(
            weights,
            {*sentence.terms, *title_terms(passage, chunk_section(passage, sentence.start, sentence.end))},
        )
        for sentence in sentences
        for passage in [request.documents[sentence.document]]
    ]
    return np.asarray(similar + request.style.wording * np.array(named))


def nearest_quote(request: AnswerRequest) -> tuple[str, Citation] | None:
    """Return the sentence nearest to the question, and its citation; None where none comes near.

    Neither a heading nor a bare "No." is quoted: it is near to a question and tells nothing.
    """
    near = [
        sentence
        for sentence in request.answer_sentences
        if sentence.quality >= READABLE
        and not sentence.is_bare_reply
        and float(sentence.vector @ request.question_vector) >= NEAR
    ]
    if not near:
        return None
    weights = term_weights(request.question, near)
    nearest = near[int(nearness_of(request, near, weights, request.question_vector).argmax())]
    passage = request.documents[nearest.document]
    return nearest.text, cite_span(passage, nearest.document + 1, nearest.start, nearest.end)


def format_abstention(
    question: str,
    queries: Sequence[str],
    documents: int | None = None,
    nearest: tuple[str, Citation] | None = None,
    instead: Mapping[str, Sequence[str]] = MappingProxyType({}),
    where: str = "",
) -> str:
    """Say that the documents do not hold the answer, what was searched, and what came nearest.

    Args:
        question: as it was searched, with its words spelt as the index does.
        queries: the texts that were sent to the index; of short ones is named what they say beyond the
            question.
        documents: how many were searched, where that is known.
        nearest: a sentence that came near, and its citation.
        where: the condition that a passage had to fulfil to be searched.
        instead: what the question numbers as no passage does, with what they have in its place.
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
    if instead:
        lines.append(f"{_reason_instead(instead)}.")
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


def _reason_instead(instead: Mapping[str, Sequence[str]]) -> str:
    found = [f"“{text}”" for texts in instead.values() for text in texts]
    missing = [f"“{text}”" for text in instead]
    shown, lacking = _listed(found, SHOWN_QUERIES), _listed(missing, SHOWN_QUERIES)
    return f"What I read on this has {shown}, but not {lacking}"


def _reason(measures: Mapping[str, float], score: float, threshold: float) -> str:
    passage, lead, headed = measures["passage"], measures["lead"], measures.get("heading")
    named = f"; a heading that names the asker adds {headed:.2f}" if headed else ""
    return (
        f"evidence {score:.2f}, needed {threshold:.2f}: meaning and words of the question come to "
        f"{passage:.2f} in the best passage; the best sentence is {lead:.2f} above the mean{named}"
    )
