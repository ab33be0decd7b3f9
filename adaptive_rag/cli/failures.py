"""One-line messages about failures of a chat model: which step failed, why, and what was done instead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from adaptive_rag.cli.output import format_count, print_note, shorten
from adaptive_rag.text.languages import label_for

if TYPE_CHECKING:
    from adaptive_rag.state import TraceRecord

MAX_REASON_LENGTH = 300


def print_failures(trace: Sequence[TraceRecord], *, abstained: bool, label: str = "Note") -> None:
    """Print on standard error what a chat model failed at, if it did; the label stands before it."""
    if note := format_failures(trace, abstained=abstained):
        print_note((f"{label}: ", "yellow"), note)


def format_failures(trace: Sequence[TraceRecord], *, abstained: bool) -> str:
    """Return what a model failed at, why, and what was done instead; "" if it did not fail."""
    from adaptive_rag.llm.ask import find_failures

    local_answer = (
        "The documents gave no answer either." if abstained else "The answer quotes the documents instead."
    )
    if failures := find_failures(trace):
        skills = list(dict.fromkeys(failure["skill"] for failure in failures))
        steps = " and ".join(_name_work(skill) for skill in skills)
        reasons = "; ".join(dict.fromkeys(failure["reason"] for failure in failures))
        reason = shorten(reasons, MAX_REASON_LENGTH).rstrip(".")
        replacement = local_answer if "generate" in skills else "That was done without it."
        return f"The chat model failed at {steps}: {reason}. {replacement}"
    for record in trace:
        for decision in record.get("decisions", ()):
            if (decision["what"], decision["chosen"]) == ("answer", "extractive"):
                return f"The chat model's answer was not used: {decision['why']}. {local_answer}"
    return ""


def _name_work(skill: str) -> str:
    """Return what a step does, in a sentence: "writing the answer"."""
    label = label_for("progress", skill).rstrip(" …")
    return label[:1].lower() + label[1:]


def format_calls(trace: Sequence[TraceRecord]) -> str:
    """Return the number of model calls as text, with a note if none of them was usable."""
    from adaptive_rag.llm.ask import NO_MODEL, find_failures

    calls = sum(record.get("calls", 0) for record in trace)
    if not calls:
        reasons = [stand_in["reason"] for record in trace for stand_in in record.get("stand_ins", ())]
        return "no chat model" if NO_MODEL in reasons else "no model call"
    asked_skills = [skill for record in trace for skill in record.get("asked", ())]
    failures = [failure for failure in find_failures(trace) if failure["skill"] in asked_skills]
    unusable = ", none usable" if calls > 1 else ", not usable"
    return format_count(calls, "model call") + (unusable if len(failures) == len(asked_skills) else "")
