"""A question in the words of its passages: where these say "cockerel", a "rooster" is asked about in vain."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from adaptive_rag.answer.passages import title_terms
from adaptive_rag.answer.request import AnswerRequest
from adaptive_rag.models.onnx import load_minilm
from adaptive_rag.text.vectors import cosines
from adaptive_rag.text.words import ASKING_WORDS, STOP_WORDS, stem, terms, words

# The cosine of two words from which on one is read as the other: "rooster" and "cockerel" have .55,
# "technician" and "engineer" .61, "permission" and "consent" .50, "route" and "way" .30.
ALIKE = 0.5
# Sentences nearest to the question, whose words are compared.
NEAREST = 5
# A name or a number is read as no other.
_WORD = re.compile(r"(?<![\w'’-])[^\W\d_]{4,}(?![\w'’-])")


def in_their_words(request: AnswerRequest) -> AnswerRequest:
    """Return the request with each word of the question that no passage has as the nearest sentences say it.

    What is like none of their words stays; the question's vector stays in any case.
    """
    present = {term for s in request.answer_sentences for term in s.terms}
    for passage in request.documents:
        present |= {*terms(passage["text"]), *title_terms(passage, passage["section"])}
    asked, *said_before = request.question.split("\n", 1)
    lacking = [
        found[0]
        for found in _WORD.finditer(asked)
        if not (found[0][0].isupper() and found.start())
        and found[0].lower() not in STOP_WORDS | ASKING_WORDS
        and not present.intersection(terms(found[0]))
    ]
    readable = [s for s in request.answer_sentences if s.quality > 0]
    nearest = sorted(readable, key=lambda s: -float(s.vector @ request.question_vector))[:NEAREST]
    known = set(map(stem, words(asked)))
    theirs = list(dict.fromkeys(w for s in nearest for w in words(s.text)))
    theirs = [w for w in theirs if len(w) > 3 and w not in STOP_WORDS | ASKING_WORDS and stem(w) not in known]
    if not lacking or not theirs:
        return request
    vectors = load_minilm().encode([*lacking, *theirs])
    alike = cosines(vectors[: len(lacking)], vectors[len(lacking) :])
    best = np.argmax(alike, axis=1)
    read_as = {
        word: theirs[at] for word, at, row in zip(lacking, best, alike, strict=True) if row[at] >= ALIKE
    }
    said = _WORD.sub(lambda match: read_as.get(match[0], match[0]), asked)
    return replace(request, question="\n".join([said, *said_before]))
