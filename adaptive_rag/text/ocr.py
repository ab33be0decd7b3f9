"""Computes the OCR confidence of a quote that was read from a picture."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def ocr_confidence(spans: Iterable[Sequence[float]], start: int, end: int) -> float | None:
    """Return the mean OCR confidence of the characters in `start:end`, from 0 to 1.

    Each span is (start, end, confidence). None if no character of the range was read from a picture.
    """
    overlaps = [
        (min(span_end, end) - max(span_start, start), confidence)
        for span_start, span_end, confidence in spans
    ]
    overlaps = [(length, confidence) for length, confidence in overlaps if length > 0]
    total = sum(length for length, _ in overlaps)
    return round(sum(length * confidence for length, confidence in overlaps) / total, 2) if total else None


def format_confidence(confidence: float) -> str:
    """Describe the OCR confidence of a quote, capped at 99 % because OCR is never certain."""
    return f"read from a picture, {min(confidence, 0.99) * 100:.0f} % sure"
