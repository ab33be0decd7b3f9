"""Checks a chat model's draft: its links, its markers, its claims, and whether it contains an answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial

from adaptive_rag.answer.citations import Claim, add_markers, cite, first_sentences, read_markers
from adaptive_rag.answer.claim_faults import find_fault
from adaptive_rag.answer.claims import (
    NUMBER,
    CitedSentences,
    contains_form,
    read_statements,
    read_tokens,
    stated_words,
)
from adaptive_rag.answer.excerpts import CutPassage, excerpt
from adaptive_rag.answer.links import keep_own_links, own_addresses
from adaptive_rag.answer.passages import text_at
from adaptive_rag.answer.request import AnswerRequest
from adaptive_rag.answer.word_lists import UNITS
from adaptive_rag.models.onnx import Vectors
from adaptive_rag.optional import attempt
from adaptive_rag.source import Sentences
from adaptive_rag.state import Candidate, Citation, Phrase
from adaptive_rag.text.phrases import say
from adaptive_rag.text.reading import Reader, Support, heading_of, passage_of
from adaptive_rag.text.vectors import cosines
from adaptive_rag.text.visible import plain, visible
from adaptive_rag.text.words import language_of, terms, words

# A claim whose support strength is lower is about something else than its passages. The strength is the mean
# of its cosine with the nearest sentence and the share of its stated words that the passages contain. Of the
# true sentences of `benchmarks.grounding`, one in a hundred is below it.
SUPPORTED = 0.45
# A claim in other words than its passages, or far from them, is accepted if the reader gives at least this
# probability that they support it (`python -m training.claims`).
READ_SUPPORT = 0.6
# The language of a draft with fewer words is detected together with its question.
SHORT_DRAFT = 4
# Maximum number of sentences that are checked, since each is embedded and compared with every passage. No
# style asks for a tenth as many.
MAX_SENTENCES = 100


@dataclass(frozen=True)
class Grounding:
    """How well the documents that an answer cites support it."""

    share: float  # supported claims / claims that could be compared; 0 where there are none
    unsupported: list[str]  # the claims without support, in order
    reasons: list[str]  # the reason for each unsupported claim
    is_off_topic: bool = False  # whether no claim is near anything in its documents


@dataclass(frozen=True)
class ShownPassages:
    """The passages of a prompt, with which claims are compared; numbers count them from 1."""

    documents: Sequence[Candidate]
    sentences: Sequence[Sentences]
    asked: str = ""  # the question and the user's situation, whose words need no passage
    translated: bool = False  # whether claims are in another language, so that only numbers can be compared
    reader: Reader | None = None
    _evidence: dict[tuple[int, ...], CitedSentences] = field(default_factory=dict)

    @property
    def numbers(self) -> range:
        """Return the numbers of all passages."""
        return range(1, len(self.documents) + 1)

    def can_compare(self, claim: Claim) -> bool:
        """Return whether a claim has anything that passages can be searched for; "Yes." has nothing."""
        return bool(NUMBER.search(claim.text) if self.translated else terms(plain(claim.text)))

    def strength(self, claim: Claim, vector: Vectors, numbers: Sequence[int]) -> float:
        """Return how near some passages together are to a claim, 0 to 1, whether or not they confirm it."""
        vectors = [v for number in numbers if len(v := self.sentences[number - 1].vectors)]
        cosine = max((float(cosines(v, vector[None]).max()) for v in vectors), default=0.0)
        claim_words = stated_words(plain(claim.text)) - UNITS.keys()
        if not claim_words:
            # "£79.90.": a claim of only numbers is left to the check of numbers.
            return 0.5 * cosine + 0.5 * bool(terms(claim.text))
        passage_words = {t for number in numbers for t in terms(plain(self.documents[number - 1]["text"]))}
        # A number that the passages contain counts too; a wrong one is left to the check of numbers.
        claim_words |= passage_words & {term for term in terms(claim.text) if term.isdigit()}
        contained = sum(contains_form(passage_words, word) for word in claim_words)
        return 0.5 * cosine + 0.5 * contained / len(claim_words)

    def fault(
        self, claim: Claim, vector: Vectors, numbers: tuple[int, ...], *, supported: bool | None = None
    ) -> str:
        """Return why some passages together do not support a claim; "" where they do.

        If the claim differs from them only in its words, `supported` decides; if that is None, the reader.
        """
        if not numbers:
            return "it cites no passage"
        if not self.can_compare(claim):
            return ""
        # The model read the plain text of the documents, so plain texts are compared.
        text = plain(claim.text)
        if self.translated:
            known = " ".join([self.asked, *(plain(self.documents[n - 1]["text"]) for n in numbers)])
            missing = _digits(text) - _digits(known)
            return f"the cited passages do not hold the number {min(missing)}" if missing else ""
        is_supported = cache(
            lambda: (
                self.read_support(text, vector, numbers) >= READ_SUPPORT if supported is None else supported
            )
        )
        strength = self.strength(claim, vector, numbers)
        if strength < SUPPORTED and not is_supported():
            return f"no sentence of the cited passages is close enough ({strength:.2f} of {SUPPORTED})"
        if numbers not in self._evidence:
            self._evidence[numbers] = self._read_evidence(numbers)
        return find_fault(text, self._evidence[numbers], is_supported)

    def read_support(self, text: str, vector: Vectors, numbers: Sequence[int]) -> float:
        """Return how probably some passages support a claim, alone or together, as the reader sees it."""
        if self.reader is None:
            return 0.0
        passages = [passage_of(self.documents[number - 1]) for number in numbers]
        parts = [
            CutPassage(heading_of(passage), *self._cut(number))
            for passage, number in zip(passages, numbers, strict=True)
        ]
        check = partial(self.reader.check, [text], [*passages, excerpt(vector, parts)])
        return max((result.supported for result in attempt("reader", check, list[Support]())), default=0.0)

    def _cut(self, number: int) -> tuple[list[str], Vectors]:
        """Return the sentences of a passage with their vectors."""
        document, sentences = self.documents[number - 1], self.sentences[number - 1]
        texts = [text_at(document, start, end) for start, end in sentences.spans.tolist()]
        return texts, sentences.vectors

    def _read_evidence(self, numbers: tuple[int, ...]) -> CitedSentences:
        passages = [(self.documents[number - 1], self.sentences[number - 1]) for number in numbers]
        tokens = [read_tokens(plain(text)) for number in numbers for text in self._cut(number)[0]]
        titles = " ".join(f"{document['source']} {document['section'] or ''}" for document, _ in passages)
        asked = read_tokens(plain(self.asked))
        known = {token.key for token in [*asked, *read_tokens(plain(titles))]}
        statements = [s for document, sentences in passages for s in read_statements(document, sentences)]
        return CitedSentences(tokens, known, statements, asked)


def ground(claims: Sequence[Claim], vectors: Vectors, shown: ShownPassages) -> Grounding:
    """Check each claim of an answer against the passages it cites, taken together.

    A claim without a marker is checked against all passages that the answer cites. A claim fails where it is
    far from every sentence, or where `claim_faults.find_fault` finds something that the passages do not say.
    The vectors are the unit vectors of the claims, shape (len(claims), dimension).
    """
    all_cited = tuple(sorted({marker for claim in claims for marker in claim.markers}))
    faults: dict[int, str] = {}
    is_off_topic, compared = not shown.translated, 0
    for i, (claim, vector) in enumerate(zip(claims, vectors, strict=True)):
        cited = claim.markers or all_cited
        fault = shown.fault(claim, vector, cited)
        strength = shown.strength(claim, vector, cited or shown.numbers)
        is_off_topic = is_off_topic and strength < SUPPORTED
        compared += bool(fault) or not shown.translated or shown.can_compare(claim)
        if fault:
            faults[i] = fault
    share = (compared - len(faults)) / compared if compared else 0.0
    return Grounding(share, [claims[i].text for i in faults], list(faults.values()), is_off_topic)


@dataclass(frozen=True)
class Review:
    """The result of checking a draft."""

    # with uniform markers: unknown ones are removed, missing ones added where a passage supports the claim
    text: str
    citations: list[Citation] = field(default_factory=list)
    grounding: Grounding = field(default_factory=lambda: Grounding(0.0, [], []))
    flaw: Phrase | None = None  # why the draft cannot be the answer; None where it can
    knows: bool = True  # False where the draft says that the passages do not contain the answer
    unknown: Sequence[int] = ()  # marker numbers without a passage
    added: Sequence[int] = ()  # marker numbers that the draft lacks, although their passages support it
    removed: Sequence[str] = ()  # addresses of removed links and images, which are not the documents' own
    left_out: int = 0  # number of sentences left out because they exceed MAX_SENTENCES
    translated: bool = False  # whether it is in another language than the passages


def review_draft(draft: str, request: AnswerRequest, encode: Callable[[Sequence[str]], Vectors]) -> Review:
    """Check a draft against the documents in its prompt, which has numbered them in the request's order.

    `encode` embeds texts into unit vectors, with the model that embedded the request's sentences.
    """
    draft, left_out = first_sentences(visible(draft), MAX_SENTENCES)
    draft, removed = keep_own_links(draft, own_addresses(request.documents))
    marked = read_markers(draft, len(request.documents))
    claims, text = marked.claims, marked.text
    review = Review(text, unknown=marked.unknown, removed=removed, left_out=left_out)
    # A draft answers a part of the question if it cites a passage, or if a passage supports one of its
    # sentences, even if it says that it does not know the rest.
    cites = any(claim.markers for claim in claims)
    refusal = replace(review, knows=False, flaw=say("model_refused"))
    if marked.absences and not cites and (marked.opens_with_absence or not claims):
        return refusal
    if not claims:
        return replace(review, flaw=say("draft_says_nothing" if text.strip() else "draft_empty"))
    asked = f"{request.question} {request.situation}"
    translated = _is_translated(" ".join(claim.text for claim in claims), request)
    shown = ShownPassages(request.documents, request.sentences, asked, translated, request.reader)
    vectors = encode([claim.text for claim in [*claims, *marked.others]])
    claim_vectors = vectors[: len(claims)]
    added = attempt("check", partial(_find_markers, claims, claim_vectors, shown), dict[int, int]())
    text = add_markers(text, {claims[index].place: number for index, number in added.items()})
    claims = [replace(c, markers=(*c.markers, added[i])) if i in added else c for i, c in enumerate(claims)]
    # A sentence without a claim gets a citation only if no claim cites the same passage, so that every marker
    # has one.
    cited = {marker for claim in claims for marker in claim.markers}
    others = [replace(c, markers=tuple(m for m in c.markers if m not in cited)) for c in marked.others]
    grounding = attempt("check", partial(ground, claims, claim_vectors, shown), review.grounding)
    if marked.absences and not cites and not grounding.share:
        return refusal
    is_usable = grounding.share > 0 or (bool(cited) and not grounding.is_off_topic)
    return replace(
        review,
        text=text,
        citations=cite([*claims, *others], vectors, request.documents, request.sentences),
        grounding=grounding,
        flaw=None if is_usable else say("draft_unsupported"),
        added=sorted({*added.values()}),
        translated=translated,
    )


def _is_translated(claims: str, request: AnswerRequest) -> bool:
    """Return whether claims are surely in another language than each of the passages."""
    if len(words(claims)) < SHORT_DRAFT:
        claims = f"{claims} {request.question}"
    language = language_of(claims)
    passage_languages = {language_of(plain(document["text"])) for document in request.documents}
    return language not in {None, *passage_languages} and passage_languages != {None}


def _digits(text: str) -> set[str]:
    """Return the numbers of a text without separators, which differ between languages: 1,000 and 1.000."""
    return {re.sub(r"\D", "", number) for number in NUMBER.findall(text)}


def _find_markers(claims: Sequence[Claim], vectors: Vectors, shown: ShownPassages) -> dict[int, int]:
    """Return the number of the first supporting passage, by the index of a claim whose markers lack support.

    Small models forget markers or confuse them, although a passage supports their sentences. The reader is
    only asked about the nearest passage.
    """
    numbers: dict[int, int] = {}
    for index, (claim, vector) in enumerate(zip(claims, vectors, strict=True)):
        if shown.can_compare(claim) and shown.fault(claim, vector, claim.markers):
            strengths = {n: shown.strength(claim, vector, (n,)) for n in shown.numbers}
            nearest = max(strengths, key=lambda n: strengths[n])
            cited = max((strengths[n] for n in claim.markers), default=0.0)
            for number in shown.numbers:
                if strengths[number] >= cited and not shown.fault(
                    claim, vector, (number,), supported=None if number == nearest else False
                ):
                    numbers[index] = number
                    break
    return numbers
