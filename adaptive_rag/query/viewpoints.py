"""Opinion questions: the viewpoints from which a matter can be seen, and the matter itself."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, get_args

from pydantic import BaseModel, Field

from adaptive_rag.llm.replies import exactly, plain_item, texts
from adaptive_rag.llm.request import Request
from adaptive_rag.text.words import STOP_WORDS

# How people ask for views; what follows is the matter itself.
_FRAME = re.compile(
    r"^\s*(?:is it (?:right|true|fair|correct) (?:to say )?that|do you (?:agree|think|believe) that|"
    r"what do (?:people|you|others) think (?:of|about)(?: the (?:claim|idea) that)?|"
    r"what are (?:the |some )?(?:\w+ )?(?:views|opinions|perspectives|arguments) "
    r"(?:for and against|for|against|on|about))\s+",
    re.IGNORECASE,
)


ViewpointSide = Literal["for", "against", "other"]


class Viewpoints(BaseModel):
    """Different, preferably opposed, viewpoints."""

    viewpoints: list[str] = Field(min_length=1, max_length=50, description="Short names of viewpoints.")
    sides: list[ViewpointSide] = Field(
        default_factory=list, description="For each viewpoint: for what the question proposes, or against."
    )


def ask_for_viewpoints(question: str, n: int) -> Request[Viewpoints]:
    """Ask the model for exactly n different viewpoints.

    There is no local way: general stances ("benefits", "risks") find what the question itself finds.
    """
    return Request(
        "viewpoints",
        Viewpoints,
        values=lambda: {"question": question, "n": str(n)},
        read=lambda value: {
            "viewpoints": (named := exactly(n, texts(_named(value), "viewpoints"), "viewpoints")),
            "sides": _sides(value, named),
        },
        check=lambda result: result.model_copy(
            update={"viewpoints": exactly(n, result.viewpoints, "viewpoints")}
        ),
        bounds={"viewpoints": {"minItems": n, "maxItems": n}, "sides": {"minItems": n, "maxItems": n}},
    )


def _named(value: Any) -> Any:
    """Return what holds the viewpoints, without their sides."""
    if not isinstance(value, Mapping):
        return value
    return {key: item for key, item in value.items() if str(key).lower() != "sides"}


def _sides(value: Any, viewpoints: list[str]) -> list[str]:
    """Return the side of each viewpoint; none where they do not go with what was named one by one."""
    sides = value.get("sides") if isinstance(value, Mapping) else None
    if not isinstance(sides, list) or any(side not in get_args(ViewpointSide) for side in sides):
        return []
    # Of what a model named, repetitions and what is too much were left out.
    written = [plain_item(text).casefold() for text in texts(_named(value), "viewpoints")]
    if len(written) != len(sides):
        return []
    return [sides[written.index(viewpoint.casefold())] for viewpoint in viewpoints]


def matter(question: str) -> str:
    """Return what views are asked for, without the frame: no opinion says "what do people think of"."""
    return _FRAME.sub("", question) or question


def keywords(question: str) -> str:
    """Return the question's content words in order, as a query without the form of a question."""
    words = re.findall(r"[\w'-]+", question)
    return " ".join(word for word in words if word.lower() not in STOP_WORDS) or question
