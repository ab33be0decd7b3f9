"""Opinion questions: the viewpoints from which a matter can be seen, and the matter itself."""

from __future__ import annotations

import re

from pydantic import BaseModel, Field

from adaptive_rag.llm.replies import exactly, texts
from adaptive_rag.llm.request import Request
from adaptive_rag.text.words import STOP_WORDS

# How people ask for views; what follows is the matter itself.
_FRAME = re.compile(
    r"^\s*(?:is it (?:right|true|fair|correct) (?:to say )?that|do you (?:agree|think|believe) that|"
    r"what do (?:people|you|others) think (?:of|about)(?: the (?:claim|idea) that)?|"
    r"what are (?:the |some )?(?:\w+ )?(?:views|opinions|perspectives|arguments) "
    r"(?:for and against|on|about))\s+",
    re.IGNORECASE,
)


class Viewpoints(BaseModel):
    """Different, preferably opposed, viewpoints."""

    viewpoints: list[str] = Field(min_length=1, max_length=8, description="Short names of viewpoints.")


def ask_for_viewpoints(question: str, n: int) -> Request[Viewpoints]:
    """Ask the model for exactly n different viewpoints.

    There is no local way: general stances ("benefits", "risks") find what the question itself finds.
    """
    return Request(
        "viewpoints",
        Viewpoints,
        values=lambda: {"question": question, "n": str(n)},
        read=lambda value: {"viewpoints": exactly(n, texts(value, "viewpoints"), "viewpoints")},
        check=lambda result: Viewpoints(viewpoints=exactly(n, result.viewpoints, "viewpoints")),
        bounds={"viewpoints": {"minItems": n, "maxItems": n}},
    )


def matter(question: str) -> str:
    """Return what views are asked for, without the frame: no opinion says "what do people think of"."""
    return _FRAME.sub("", question) or question


def keywords(question: str) -> str:
    """Return the question's content words in order, as a query without the form of a question."""
    words = re.findall(r"[\w'-]+", question)
    return " ".join(word for word in words if word.lower() not in STOP_WORDS) or question
