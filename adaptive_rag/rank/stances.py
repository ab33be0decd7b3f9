"""Tells which side of a debate a chunk takes, without a chat model; labels what the balanced draw chose."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from adaptive_rag.source import Sentences
from adaptive_rag.state import Candidate
from adaptive_rag.text.vectors import Scores, Vectors, cosines

FOR, AGAINST = "benefits and arguments for", "risks and arguments against"
# Made by training/praise.py; belongs to the embedded model, which all sentence vectors are of.
PRAISE = Path(__file__).with_name("praise.npy")

# Who praises a ban blames what is banned.
_BAN = re.compile(
    r"\b(?:ban(?:s|ned|ning)?|abolish\w*|abolition|prohibit\w*|outlaw\w*|criminali[sz]\w*|restrict\w*|"
    r"censor\w*|disband\w*)\b",
    re.IGNORECASE,
)
_BLAME = re.compile(
    r"\b(?:not|no|never|unjust\w*|unfair\w*|wrong|bad|worse|outdated|unnecessary|harm(?:s|ful)?|"
    r"danger(?:s|ous)?|biased|illegal|against|fail(?:s|ed|ure)?)\b",
    re.IGNORECASE,
)


def label_sides(
    question: str, candidates: Sequence[Candidate], sentences: Sequence[Sentences]
) -> list[Candidate]:
    """Return the candidates, each labelled with the side that it takes, then the other if it holds that too.

    The middle between the sides lies halfway between neutral and the candidates' mean, since on some
    matters all that is written sounds grim.

    Args:
        question: who blames its subject speaks for "Should it be banned?".
        candidates: what is shown.
        sentences: of each candidate, in the same order.
    """
    said = [leans(candidate, held) for candidate, held in zip(candidates, sentences, strict=True)]
    means = [float(lean.mean()) if lean.size else 0.0 for lean in said]
    middle = float(np.mean(means)) / 2 if means else 0.0
    asks_to_end = bool(_BAN.search(question) or _BLAME.search(question))
    high, low = (AGAINST, FOR) if asks_to_end else (FOR, AGAINST)
    labelled: list[Candidate] = []
    for candidate, lean, mean in zip(candidates, said, means, strict=True):
        own, other = (high, low) if mean >= middle else (low, high)
        mixed = bool((lean >= middle).any() and (lean < middle).any())
        labelled.append({**candidate, "labels": [own, other] if mixed else [own]})
    return labelled


def leans(candidate: Candidate, sentences: Sentences) -> Scores:
    """Return how far each sentence leans towards praise (above 0) or blame (below) of its matter."""
    if not len(sentences.spans):
        return np.zeros(0)
    spans = sentences.spans - candidate["start"]
    signs = [-1.0 if _BAN.search(candidate["text"][start:end]) else 1.0 for start, end in spans]
    return np.asarray(signs * cosines(sentences.vectors, _praise()[None])[:, 0], dtype=np.float64)


@cache
def _praise() -> Vectors:
    return np.asarray(np.load(PRAISE, allow_pickle=False), dtype=np.float32)
