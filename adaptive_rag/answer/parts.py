"""Answers two questions in one, each by itself, and says on which of them the documents hold nothing."""

from __future__ import annotations

from dataclasses import replace

from adaptive_rag.analysis.features import asks_for_views
from adaptive_rag.answer.draft import ExtractedAnswer, extract_answer
from adaptive_rag.answer.evidence import NEAR, Evidence, judge_evidence
from adaptive_rag.answer.factual import FACTUAL_STYLE
from adaptive_rag.answer.passages import cite_span
from adaptive_rag.answer.ranking import Ranking
from adaptive_rag.answer.request import AnswerRequest, Aspect
from adaptive_rag.answer.views import read_views
from adaptive_rag.state import Candidate, Citation
from adaptive_rag.text.markers import respell_markers, write_marker
from adaptive_rag.text.visible import plain
from adaptive_rag.text.words import words

# Sentences that are quoted where they cannot be judged.
QUOTED_NEAREST = 3
NOTHING = "The documents hold nothing on “{part}”."


def answer_locally(request: AnswerRequest, *, abstains: bool) -> tuple[Evidence, ExtractedAnswer | None]:
    """Return the evidence, and the answer where it is enough or the caller never `abstains`.

    Each part of the question has a line, without what an earlier part has shown. Where no part has evidence
    enough, the question is judged whole.
    """
    if not _asks_for_views(request):
        request = replace(request, style=FACTUAL_STYLE, aspects=(), missing=None)
    asked = [_asked(request, part) for part in request.parts]
    judged = [judge_evidence(one) for one in asked]
    if not any(evidence.sufficient for evidence in judged):
        evidence = judge_evidence(request)
        return evidence, extract_answer(request) if evidence.sufficient or not abstains else None
    lines, citations = list[str](), list[Citation]()
    for one, evidence in zip(asked, judged, strict=True):
        answer = extract_answer(one, citations) if evidence.sufficient else None
        if answer is None:
            lines.append(NOTHING.format(part=one.question.partition("\n")[0]))
        elif answer.text:
            lines.append(answer.text)
            citations += answer.citations
    return max(judged, key=lambda evidence: evidence.score), ExtractedAnswer("\n".join(lines), citations)


def quote_nearest(request: AnswerRequest, *, abstains: bool) -> tuple[Evidence, ExtractedAnswer | None]:
    """Quote the sentences nearest to the question by their vectors alone, where `answer_locally` fails."""
    found = [
        (float(sentences.vectors[position] @ request.question_vector), number, start, end)
        for number, sentences in enumerate(request.sentences)
        for position, (start, end) in enumerate(sentences.spans.tolist())
    ]
    best = sorted(found, reverse=True)[:QUOTED_NEAREST]
    score = best[0][0] if best else 0.0
    reason = f"quoted by nearness alone, {score:.2f} at best: the usual way to answer failed"
    if not best or (abstains and score < NEAR):
        return Evidence(score, False, reason), None
    quoted = [cite_span(request.documents[number], number + 1, start, end) for _, number, start, end in best]
    lines = [
        f"{respell_markers(' '.join(plain(citation['quote']).split()))} {write_marker(citation['marker'])}"
        for citation in quoted
    ]
    return Evidence(score, True, reason, closest=True), ExtractedAnswer("\n".join(lines), quoted)


def _asked(request: AnswerRequest, part: Aspect) -> AnswerRequest:
    """Return the request for one part; how near a passage is to all of them says nothing of this one."""
    documents = [_without_nearness(document) for document in request.documents]
    return replace(request, question=part.label, question_vector=part.vector, documents=documents, parts=())


def _without_nearness(document: Candidate) -> Candidate:
    scores = {name: score for name, score in document["scores"].items() if name != "dense"}
    return {**document, "scores": scores}


def _asks_for_views(request: AnswerRequest) -> bool:
    """Tell whether a question taken for one for views is: in as many words, or some view on it was read.

    "Are helmets needed?" asks a handbook for its rule.
    """
    if not (request.style.heeds_speakers and request.answer_sentences):
        return True
    if asks_for_views(" ".join(words(request.question))):
        return True
    views = read_views(request, Ranking(request.answer_sentences, request.question))
    return bool((views.holds & views.about).any())
