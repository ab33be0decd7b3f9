"""Reads the scores and passage numbers that chat models write.

A text without a number, or without a score for each passage, raises a ValueError. Its message can be shown to
the model.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

# As in `replies`, runs of digits or blanks are bounded or matched without backtracking.
_DECIMAL = r"\d{1,9}(?:\.\d{1,9})?"
_OUT_OF = re.compile(rf"(?<!\d)(-?{_DECIMAL})\s*+(?:/|\bout of\b|\bof\b)\s*+({_DECIMAL})", re.I)
_PERCENT = re.compile(rf"(?<![\d.])(-?{_DECIMAL})\s*+%")
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w]|\.\d)")
# "Passage 3: 7/10", "[3] 7", "3. 7", "3) - 7", in a line with single blanks and without "*" and "_".
_ENTRY = re.compile(
    r"^[ #>-]*(?:passage|document|doc|source|candidate|text)? ?[\[(#]?(?P<index>\d{1,3})[\])]? ?"
    r"(?:[:.)=–—-]|score|is| ) ?(?:score|relevance|rating|is|of)? ?[:=]? ?(?P<score>-?\d.*)$",
    re.I,
)
# "passage 3", "[3]".
_NAMED = re.compile(r"(?:passage|document|doc|source)s?\s*+#?\s*+(\d{1,4})|\[\s*+(-?\d{1,4})\s*+\]", re.I)

# Keys under which models write the number of a passage, and its score.
_NUMBER_KEYS = ("passage", "index", "id", "n", "number", "document")
_SCORE_KEYS = ("score", "scores", "relevance", "rating", "value", "points")


def read_scores(value: Any, n: int) -> list[float]:
    """Return the scores of n passages on a scale of 0 to 10, in the order of the passages."""
    if isinstance(value, str):
        value = _split_entries(value, n)
    if isinstance(value, Mapping):
        # The list may be under a key, as in {"scores": [...]}.
        lists = [item for item in value.values() if isinstance(item, list | dict)]
        if len(lists) == 1:
            return read_scores(lists[0], n)
        pairs = [_parse_entry(value, 1)] if n == 1 else list(value.items())
    elif isinstance(value, Sequence):
        pairs = [_parse_entry(item, position) for position, item in enumerate(value, start=1)]
    else:
        pairs = [(1, value)]
    numbers = [_passage_number(number) for number, _ in pairs]
    if sorted(numbers) == list(range(n)):
        numbers = [number + 1 for number in numbers]
    if sorted(numbers) != list(range(1, n + 1)):
        raise ValueError(f"expected {n} scores, one for each passage, got those of {sorted(numbers)}")
    by_number = dict(zip(numbers, (read_score(score) for _, score in pairs), strict=True))
    return _rescale([by_number[number] for number in range(1, n + 1)])


def read_score(value: Any) -> float:
    """Return one score: 7, "7", "7/10", "70%", "8 out of 10"."""
    number = math.nan
    if isinstance(value, int | float):
        # A number that is too large for a float is no score.
        number = float(value) if abs(value) < 1e9 else math.nan
    elif out_of := _OUT_OF.search(str(value)):
        if maximum := float(out_of[2]):
            number = 10 * float(out_of[1]) / maximum
    elif percent := _PERCENT.search(str(value)):
        number = float(percent[1]) / 10
    elif len(numbers := _NUMBER.findall(str(value))) == 1:
        number = float(numbers[0])
    if isinstance(value, bool) or not math.isfinite(number):
        raise ValueError(f"expected a number from 0 to 10, got {value!r}")
    return number


def read_numbers(value: Any, n: int) -> list[int]:
    """Return the numbers of passages, counted from 1.

    If they contain 0 and no number above n - 1, they were counted from 0, so 1 is added to each.
    """
    if isinstance(value, str):
        named = [int(a or b) for a, b in _NAMED.findall(value)]
        numbers = named or [int(number) for number in re.findall(r"(?<![\w.])-?\d+(?![\w%]|\.\d)", value)]
    elif isinstance(value, Sequence):
        numbers = [_passage_number(item) for item in value]
    else:
        numbers = [_passage_number(value)]
    if not numbers:
        raise ValueError(f"expected the numbers of passages, 1 to {n}, got {value!r}")
    if 0 in numbers and all(0 <= number < n for number in numbers):
        return [number + 1 for number in numbers]
    return numbers


def _passage_number(item: Any) -> int:
    if isinstance(item, Mapping):
        item = next(iter(item.values()), None)
    if isinstance(item, str) and len(numbers := re.findall(r"-?\d+", item)) == 1:
        return int(numbers[0])
    if isinstance(item, float) and item.is_integer():
        return int(item)
    if isinstance(item, int) and not isinstance(item, bool):
        return item
    raise ValueError(f"expected the number of a passage, got {item!r}")


def _split_entries(text: str, n: int) -> Any:
    """Return the entries of lines such as "Passage 2: 7/10", or else all numbers of a text."""
    lines = (" ".join(re.sub(r"[*_]", " ", line).split()) for line in re.split(r"[\n;]", text))
    entries = [match for line in lines if (match := _ENTRY.match(line))]
    if len(entries) >= n and n > 1:
        return [{"passage": match["index"], "score": match["score"]} for match in entries]
    if n == 1 and entries:
        return [entries[0]["score"]]
    scores = _OUT_OF.findall(text)
    if len(scores) == n:
        return [f"{score}/{maximum}" for score, maximum in scores]
    return _NUMBER.findall(text)


def _parse_entry(item: Any, position: int) -> tuple[Any, Any]:
    """Return the number and the score of a passage from an entry such as {"passage": 3, "score": 7} or 7."""
    if not isinstance(item, Mapping):
        return position, item
    fields = {str(key).lower(): value for key, value in item.items()}
    number, score = (
        next((fields[key] for key in keys if key in fields), None) for keys in (_NUMBER_KEYS, _SCORE_KEYS)
    )
    if score is None and len(fields) == 1:
        number, score = next(iter(fields.items()))
    return position if number is None else number, score


def _rescale(scores: list[float]) -> list[float]:
    """Rescale scores from 0-1 to 0-10 if they are clearly on that scale."""
    if any(not score.is_integer() for score in scores) and all(0 <= score <= 1 for score in scores):
        return [10 * score for score in scores]
    return scores
