"""Part of the query analysis: how much a question asks for, which sets how wide to search."""

from __future__ import annotations

import re

from adaptive_rag.analysis import lexicon as lx
from adaptive_rag.state import Complexity, QueryType

_DEMANDING = re.compile(
    r"\b(?:compar\w+|contrast|analy[sz]e|evaluate|assess|critically|discuss|relationship|relate|implications?|"
    r"consequences|trade ?offs?|interact\w*|influence\w*|impacts?|affects?|effects? of|factors|mechanisms?|"
    r"differences? between|pros and cons|advantages and disadvantages|to what extent|why)\b"
)
_PLAIN_OPENING = re.compile(
    r"^(?:who|when|where|is|are|was|were|did|does|do|has|have|"
    r"what (?:is|are|was|were|year|time|colou?r|day|date)|"
    r"how (?:many|much|old|long|far|tall|big|high)|which|name|define)\b"
)
# Points at and above which a question is intermediate, and advanced.
_INTERMEDIATE, _ADVANCED = 2.25, 4.0


def measure_complexity(
    words: tuple[str, ...], text: str, query_type: QueryType, entities: list[str]
) -> tuple[Complexity, float]:
    """Grade a question by its length, its parts, and what it demands; return the grade and its points."""
    joined = " ".join(words)
    topics = {word for word in words if word not in lx.SHAPE_WORDS}
    points = min(len(topics) / 4, 2.5)
    points += min(1.0 * len(set(_DEMANDING.findall(joined))), 2.0)
    points += min(0.5 * sum(word in ("and", "or", "while", "whereas", "given", "if") for word in words), 1.5)
    points += min(0.75 * max(text.count("?") - 1, 0), 1.5)
    points += 0.5 * (len(words) > 25) + 0.25 * (len(entities) > 2)
    points += {"factual": -0.75, "analytical": 0.5, "opinion": 0.5, "contextual": 0.0}[query_type]
    if _PLAIN_OPENING.match(joined) and len(words) <= 8:
        points -= 0.75
    if points >= _ADVANCED:
        return "advanced", points
    return ("intermediate" if points >= _INTERMEDIATE else "basic"), points
