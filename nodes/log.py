"""Logs what each step did: one line per step, to the logger `adaptive_rag.STEP` of Python's `logging`."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from langgraph.types import Overwrite

from adaptive_rag.state import Decision, TraceRecord
from adaptive_rag.text.redaction import redact
from adaptive_rag.text.visible import visible

# Maximum number of characters of a question or a query in a line.
LONGEST = 80
# A choice with more words may be the text of a passage and is not logged.
MOST_WORDS = 4
# Decisions whose choice quotes the user or a passage, and is not logged.
QUOTING = ("situation", "unsupported", "subject added", "spelling")
# Maximum number of candidates whose scores are logged, and of queries.
SCORED, QUERIES = 10, 3

logging.getLogger("adaptive_rag").addHandler(logging.NullHandler())


def log_record(record: TraceRecord, update: Mapping[str, Any]) -> None:
    """Log one step: at INFO what it did, at DEBUG the scores of its first candidates.

    Reasons appear only in the trace, since a model's reason or an error may quote a passage or an address.
    The number of candidates is taken from the step's update, because a record keeps only the first of them.
    """
    logger = logging.getLogger(f"adaptive_rag.{record['step']}")
    if not logger.isEnabledFor(logging.INFO):
        return
    logger.info("%s", _one_line(redact(" · ".join(_facts(record, update)))))
    if logger.isEnabledFor(logging.DEBUG):
        for candidate in record.get("candidates", [])[:SCORED]:
            scores = " ".join(f"{name} {value:.3f}" for name, value in candidate["scores"].items())
            logger.debug("%s: %s", _one_line(candidate["id"]), scores)


def _facts(record: TraceRecord, update: Mapping[str, Any]) -> list[str]:
    facts = [f"{record.get('ms', 0.0):.1f} ms"]
    if calls := record.get("calls", 0):
        facts.append(f"{calls} model call{'s' * (calls != 1)}")
    if question := update.get("question"):
        facts.append(f'question "{_cut(question)}"')
    if queries := record.get("queries"):
        first = ", ".join(f'"{_cut(query)}"' for query in queries[:QUERIES])
        facts.append(f"{len(queries)} quer{'ies' if len(queries) > 1 else 'y'}: {first}")
    if "candidates" in record and "candidates" in update:
        facts.append(f"{len(update['candidates'])} candidates")
    if "candidates" in record and "documents" in update:
        # After a hedge, the fused passages replace those that the two strategies kept.
        documents = update["documents"]
        kept = documents.value if isinstance(documents, Overwrite) else documents
        facts.append(f"{len(kept)} passages kept")
    facts += [_choice(decision) for decision in record.get("decisions", ())]
    if stand_ins := record.get("stand_ins"):
        facts.append(f"done locally: {', '.join(dict.fromkeys(entry['skill'] for entry in stand_ins))}")
    return facts


def _choice(decision: Decision) -> str:
    """Format a decision, such as "type factual" or "window 4"; omit the choice where it is a longer text."""
    chosen = decision["chosen"]
    text = ", ".join(map(str, chosen)) if isinstance(chosen, list) else str(chosen)
    is_shown = len(text.split()) <= MOST_WORDS and decision["what"] not in QUOTING
    return f"{decision['what']} {text}" if is_shown else decision["what"]


def _one_line(text: str) -> str:
    """Return a text without what could imitate another line or control a terminal."""
    return visible(" ".join(text.split()))


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else text[: LONGEST - 1].rstrip() + "…"
