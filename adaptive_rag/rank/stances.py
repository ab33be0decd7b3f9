"""Finds the sides of a debate by words: in a question or a sentence.

agreement.py decides which side a passage takes.
"""

from __future__ import annotations

import re
from typing import Literal

Side = Literal["for", "against"]

# The viewpoint labels for chunks.
FOR, AGAINST = "benefits and arguments for", "risks and arguments against"
LABELS: dict[Side, str] = {"for": FOR, "against": AGAINST}


def any_of(words: str) -> re.Pattern[str]:
    """Return a pattern that finds one of these words, written as in "risks?|dangers?"."""
    return re.compile(rf"\b(?:{words})\b", re.IGNORECASE)


# Words of a question that asks about one side: "What are the risks?"
_ASKED_WORDS: dict[Side, re.Pattern[str]] = {
    "against": any_of(
        r"(?:arguments?|reasons?|case|objections?|points?|speaks?|spoke|sa(?:y|id)|who (?:is|was|are|were)) "
        r"(?:for (?:and|or) )?against|concerns|risks|"
        r"drawbacks|dangers|disadvantages|downsides|criticisms?|objections|cons|complain(?:ed|ts?)?|dislike[ds]?"
    ),
    "for": any_of(
        r"(?:arguments?|reasons?|case|points?|speaks?|spoke|who (?:is|was|are|were)) "
        r"(?:against (?:and|or) )?(?:for|in favou?r)|benefits|"
        r"advantages|merits|upsides|pros|like about|liked about|praise[ds]?"
    ),
}
# Words of praise and blame; a sentence with one may belong under a heading of its side.
CUES: dict[Side, re.Pattern[str]] = {
    "against": any_of(
        r"against|oppos\w+|critic\w+|risk\w*|danger\w*|concern\w*|drawback\w*|disadvantage\w*|harm\w*|"
        r"threat\w*|s[ck]eptic\w*|negative\w*|cost(?:s|ly)?|expensive|object(?:s|ed|ion|ions)|problem\w*|"
        r"worr\w+|fear\w*|bias\w*|unfair\w*|discriminat\w+|displace\w*|los[est]\w*|loss\w*|fail\w*|"
        r"wrong\w*|burden\w*|damag\w+|destroy\w*|erosion|erode\w*|undermin\w+|violat\w+|misus\w+|abus\w+|"
        r"doubt\w*|reject\w*|waste\w*|worse\w*|hurt\w*|unsafe|unintended|dispute\w*|den(?:y|ies|ied)|"
        r"neglect\w*|unable|cannot|not|never|too (?:much|many|high|low|late|slow)|however|but|ethical|"
        r"privacy|inequal\w+"
    ),
    "for": any_of(
        r"favou?r\w*|support\w*|benefit\w*|advantage\w*|positive\w*|proponent\w*|opportunit\w+|improv\w+|"
        r"enhanc\w+|promot\w+|protect\w*|gain\w*|help\w*|enabl\w+|sav(?:e|es|ed|ing|ings)|safe\w*|better|"
        r"best|need\w*|should|must|essential\w*|ensur\w+|success\w*|valu\w+|worth\w*|strengthen\w*|"
        r"creat\w+|effective\w*|efficien\w+|reduc\w+|prevent\w*|welcom\w+|good|right\w*|fair\w*|agree\w*|"
        r"hope\w*|growth|allow\w*"
    ),
}


def asked_side(question: str) -> Side | None:
    """Return the side that a question asks about; None if it asks about both or neither."""
    sides = [side for side, words in _ASKED_WORDS.items() if words.search(question)]
    return sides[0] if len(sides) == 1 else None
