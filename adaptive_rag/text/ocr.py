"""How sure the reading of a stretch of text is that was read from a picture."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def ocr_confidence(spans: Iterable[Sequence[float]], start: int, end: int) -> float | None:
    """Return how sure the reading of `start:end` is, from 0 to 1: the mean over its characters.

    Each span is (start, end, confidence). None where nothing of the stretch was read from a picture.
    """
    shares = [(min(last, end) - max(first, start), sure) for first, last, sure in spans]
    shared = [(length, sure) for length, sure in shares if length > 0]
    total = sum(length for length, _ in shared)
    return round(sum(length * sure for length, sure in shared) / total, 2) if total else None


def format_confidence(confidence: float) -> str:
    """Say that a quote was read from a picture, and how surely; no reading is wholly sure."""
    return f"read from a picture, {min(confidence, 0.99) * 100:.0f} % sure"
