"""One-line messages about failures of a chat model: at what, why, and what was done instead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from adaptive_rag.cli.output import count_of, print_note, shorten

if TYPE_CHECKING:
    from adaptive_rag.state import TraceRecord

AT = {
    "classify": "classifying the question",
    "enhance": "sharpening the query",
    "decompose": "splitting the question",
    "viewpoints": "naming viewpoints",
    "infer": "inferring the context",
    "contextualize": "putting the question in context",
    "score": "scoring passages",
    "select": "choosing passages",
    "generate": "writing the answer",
}
LONGEST = 300


def print_failures(trace: Sequence[TraceRecord], *, abstained: bool, of: str = "Note") -> None:
    """Print on standard error what a chat model failed at, if it did."""
    if note := format_failures(trace, abstained=abstained):
        print_note((f"{of}: ", "yellow"), note)


def format_failures(trace: Sequence[TraceRecord], *, abstained: bool) -> str:
    """Return what a model failed at, why, and what was done instead; "" if it did not fail."""
    from adaptive_rag.llm.ask import find_failures

    answered = (
        "The documents gave no answer either." if abstained else "The answer quotes the documents instead."
    )
    if failed := find_failures(trace):
        skills = list(dict.fromkeys(stand_in["skill"] for stand_in in failed))
        why = shorten("; ".join(dict.fromkeys(stand_in["reason"] for stand_in in failed)), LONGEST)
        at = " and ".join(AT[skill] for skill in skills)
        instead = answered if "generate" in skills else "That was done without it."
        return f"The chat model failed at {at}: {why.rstrip('.')}. {instead}"
    for record in trace:
        for decision in record.get("decisions", ()):
            if (decision["what"], decision["chosen"]) == ("answer", "extractive"):
                return f"The chat model's answer was not used: {decision['why']}. {answered}"
    return ""


def format_calls(trace: Sequence[TraceRecord]) -> str:
    """Return the number of model calls as text, with a note if none of them was usable."""
    from adaptive_rag.llm.ask import NO_MODEL, find_failures

    calls = sum(record.get("calls", 0) for record in trace)
    if not calls:
        reasons = [stand_in["reason"] for record in trace for stand_in in record.get("stand_ins", ())]
        return "no chat model" if NO_MODEL in reasons else "no model call"
    asked = [skill for record in trace for skill in record.get("asked", ())]
    failed = [stand_in for stand_in in find_failures(trace) if stand_in["skill"] in asked]
    unusable = ", none usable" if calls > 1 else ", not usable"
    return count_of(calls, "model call") + (unusable if len(failed) == len(asked) else "")
