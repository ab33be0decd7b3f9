"""What the trace of an answer, or of one step, says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def decisions(output: Mapping[str, Any], what: str | None = None) -> list[Any]:
    """Return the decisions of all steps; those about one thing alone if it is named."""
    every = [decision for record in output["trace"] for decision in record.get("decisions", ())]
    return [decision for decision in every if what in (None, decision["what"])]


def stand_ins(output: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the skills that a local method stood in for, each with the reason."""
    every = [stand_in for record in output["trace"] for stand_in in record.get("stand_ins", ())]
    return [(stand_in["skill"], stand_in["reason"]) for stand_in in every]
