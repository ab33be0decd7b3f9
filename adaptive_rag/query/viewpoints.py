"""Names the viewpoints from which a debatable question can be seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, Field

from adaptive_rag.llm.replies import exactly, texts
from adaptive_rag.llm.request import Skill, SkillRequest
from adaptive_rag.query.expansion import stance_viewpoints


@dataclass(frozen=True)
class ViewpointsRequest(SkillRequest):
    """A question, and how many viewpoints are wanted."""

    question: str
    n: int

    def prompt_values(self) -> dict[str, str]:
        """Return the values for the prompt's placeholders."""
        return {"question": self.question, "n": str(self.n)}


class Viewpoints(BaseModel):
    """Different, preferably opposed, viewpoints."""

    viewpoints: list[str] = Field(min_length=1, max_length=8, description="Short names of viewpoints.")


def probe_stances(request: ViewpointsRequest) -> Viewpoints:
    """Fit general stances (for, against, risk, benefit, who is affected) to the topic."""
    return Viewpoints(viewpoints=stance_viewpoints(request.n))


def check(request: ViewpointsRequest, result: Viewpoints) -> Viewpoints:
    """Require exactly n different viewpoints."""
    return Viewpoints(viewpoints=exactly(request.n, result.viewpoints, "viewpoints"))


def read(request: ViewpointsRequest, value: Any) -> dict[str, Any]:
    """Read a list, however it is written."""
    return {"viewpoints": exactly(request.n, texts(value, "viewpoints"), "viewpoints")}


def narrow(request: ViewpointsRequest) -> dict[str, dict[str, Any]]:
    """Ask for exactly n items."""
    return {"viewpoints": {"minItems": request.n, "maxItems": request.n}}


VIEWPOINTS = Skill("viewpoints", Viewpoints, probe_stances, check=check, read=read, narrow=narrow)
