"""Which side a viewpoint takes, and whether a sentence belongs under it."""

from __future__ import annotations

import re
from typing import Literal

from adaptive_rag.answer.speaker import speaks

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
        r"destroy\w*|erosion|erode\w*|undermin\w+|violat\w+|misus\w+|abus\w+|doubt\w*|reject\w*|"
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

_ASKED: dict[Stance, str] = {
    "against": r"\b(?:arguments?|reasons?|case|objections?|points?) against\b|\b(?:concerns|risks|drawbacks|"
    r"disadvantages|dangers|downsides|criticisms?|objections|cons)\b",
    "for": r"\b(?:arguments?|reasons?|case|points?) (?:for|in favou?r)\b|"
    r"\b(?:benefits|advantages|merits|upsides|pros)\b",
}
_VIEW = re.compile(
    r"\b(?:should|ought|must|argu\w+|believ\w+|claim\w*|think\w*|fear\w*|consider\w*|recommend\w*|critic\w+|"
    r"advocat\w+|propos\w+|oppos\w+|support(?:s|ed|ers)?|concern\w*|debat\w+|controvers\w+|prefer\w*|"
    r"in favou?r|according to|point out|sa(?:y|ys|id)|worr\w+|better|worse|risk\w*|benefit\w*)\b",
    re.IGNORECASE,
)


def side_of(label: str) -> Stance | None:
    """Return the side that a viewpoint's label names first, None where it names none."""
    found = [
        (match.start(), side)
        for side, pattern in _LABELS
        if (match := re.search(rf"\b(?:{pattern})\b", label, re.IGNORECASE))
    ]
    return min(found)[1] if found else None


def asked_side(question: str) -> Stance | None:
    """Return the one side that a question asks about ("What are the risks?"), None where it asks openly."""
    sides = [side for side, pattern in _ASKED.items() if re.search(pattern, question, re.IGNORECASE)]
    return sides[0] if len(sides) == 1 else None


def is_view(sentence: str) -> bool:
    """Tell whether a sentence holds a view or reports one."""
    return speaks(sentence) or bool(_VIEW.search(sentence))


def misplaced(side: Stance, sentence: str) -> float:
    """Return how wrong a sentence would look under a heading of that side, 0 to 1.

    Praise or plain fact under "risks" misleads; under "benefits" only a complaint does.
    """
    if _CUES[side].search(sentence):
        return 0.0
    return 1.0 if side == "against" or _CUES["against"].search(sentence) else 0.3
