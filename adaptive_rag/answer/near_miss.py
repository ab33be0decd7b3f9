"""What a question insists on where the passages have another number: "12 speed", and they "11-speed"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from adaptive_rag.state import Candidate
from adaptive_rag.text.words import ASKING_WORDS, STOP_WORDS

# A number that tells one thing from others of its kind stands before a noun in the singular. An amount has
# the plural ("3 days"), and may well be the asker's own.
_NUMBERED = re.compile(r"(?<![\w.,/-])(\d+(?:[.,]\d+)*)[\s-]([^\W\d_]{2,})(?![\w-])")


def other_numbers(question: str, passages: Sequence[Candidate]) -> dict[str, list[str]]:
    """Return what the question numbers as no passage does, with what the passages have in its place.

    {"12 speed": ["11-speed", "9-speed"]}; nothing where no passage numbers the like. It finds nothing in the
    761 questions of benchmarks.answers and benchmarks.typed_questions whose documents hold an answer.
    """
    texts = [f"{passage['section'] or ''}\n{passage['text']}" for passage in passages]
    missing = {}
    for asked in _NUMBERED.finditer(question):
        number, noun = asked.groups()
        if noun.lower() in STOP_WORDS | ASKING_WORDS or (noun.endswith("s") and not noun.endswith("ss")):
            continue
        numbered = re.compile(
            rf"(?<![\w.,/-])(\d+(?:[.,]\d+)*)[\s-]?{noun}\b|\b{noun}[\s-](\d+(?:[.,]\d+)*)", re.IGNORECASE
        )
        found = [match for text in texts for match in numbered.finditer(text)]
        if found and not any(number in match.groups() for match in found):
            missing[asked[0]] = list(dict.fromkeys(" ".join(match[0].split()) for match in found))
    return missing
