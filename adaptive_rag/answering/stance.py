"""Which side a viewpoint takes, and whether a sentence takes it too; opinion answers are sorted by it."""

from __future__ import annotations

import re
from typing import Literal

Stance = Literal["for", "against"]

_LABELS: tuple[tuple[Stance, str], ...] = (
    (
        "against",
        r"against|oppos\w*|contra|cons?|critic\w*|risks?|danger\w*|concerns?|drawbacks?|disadvantages?|harms?|"
        r"threats?|sceptic\w*|skeptic\w*|negative\w*|downsides?|costs?|objections?|problems?|worr\w+",
    ),
    (
        "for",
        r"(?<=arguments )for|favou?r\w*|pros?|support\w*|benefits?|advantages?|positive\w*|proponents?|"
        r"opportunit\w+|advocates?|promises?|gains?|upsides?",
    ),
)
_CUES: dict[Stance, re.Pattern[str]] = {
    "against": re.compile(
        r"\b(?:against|oppos\w+|critic\w+|risk\w*|danger\w*|concern\w*|drawback\w*|disadvantage\w*|harm\w*|threat\w*|"
        r"s[ck]eptic\w*|negative\w*|cost(?:s|ly)?|expensive|object(?:s|ed|ion|ions)|problem\w*|worr\w+|fear\w*|"
        r"bias\w*|unfair\w*|discriminat\w+|displace\w*|los[est]\w*|loss\w*|fail\w*|wrong\w*|burden\w*|damag\w+|"
        r"destroy\w*|erosion|erode\w*|undermin\w+|violat\w+|misus\w+|abus\w+|challenge\w*|doubt\w*|reject\w*|"
        r"waste\w*|worse\w*|hurt\w*|unsafe|unintended|dispute\w*|den(?:y|ies|ied)|neglect\w*|unable|cannot|"
        r"not|never|too (?:much|many|high|low|late|slow)|however|but|ethical|privacy|inequal\w+)\b",
        re.I,
    ),
    "for": re.compile(
        r"\b(?:favou?r\w*|support\w*|benefit\w*|advantage\w*|positive\w*|proponent\w*|opportunit\w+|improv\w+|enhanc\w+|"
        r"promot\w+|protect\w*|gain\w*|help\w*|enabl\w+|sav(?:e|es|ed|ing|ings)|safe\w*|better|best|need\w*|should|must|"
        r"essential\w*|ensur\w+|success\w*|valu\w+|worth\w*|strengthen\w*|creat\w+|effective\w*|efficien\w+|reduc\w+|"
        r"prevent\w*|welcom\w+|good|right\w*|fair\w*|agree\w*|hope\w*|growth|allow\w*)\b",
        re.I,
    ),
}


def side_of(label: str) -> Stance | None:
    """Return the side that a viewpoint's label names first, None where it names none."""
    found = [
        (match.start(), side)
        for side, pattern in _LABELS
        if (match := re.search(rf"\b(?:{pattern})\b", label, re.IGNORECASE))
    ]
    return min(found)[1] if found else None


def takes(side: Stance, sentence: str) -> bool:
    """Tell whether a sentence has a word of that side."""
    return bool(_CUES[side].search(sentence))
