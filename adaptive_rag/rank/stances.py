"""The sides of a debate, told from words: of a viewpoint's label, of a question, of a sentence.

agreement.py tells which side a passage takes.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np

from adaptive_rag.text.vectors import Scores, Vectors, cosines

Side = Literal["for", "against"]

# The direction from plain statements to views, made by training/views.py; belongs to the embedded model.
VIEWS = Path(__file__).with_name("views.npy")

# The labels of viewpoints that are given to chunks.
FOR, AGAINST = "benefits and arguments for", "risks and arguments against"
LABELS: dict[Side, str] = {"for": FOR, "against": AGAINST}


def any_of(words: str) -> re.Pattern[str]:
    """Return the pattern that finds one of these words, as "risks?|dangers?" writes them."""
    return re.compile(rf"\b(?:{words})\b", re.IGNORECASE)


# Words of a label that name its side: "critics of the plan", "benefits and arguments for".
_LABEL_WORDS: dict[Side, re.Pattern[str]] = {
    "against": any_of(
        r"against|oppos\w*|contra|cons?|critic\w*|risks?|danger\w*|concerns?|drawbacks?|disadvantages?|"
        r"harms?|"
        r"threats?|sceptic\w*|skeptic\w*|negative\w*|downsides?|costs?|objections?|problems?|worr\w+"
    ),
    "for": any_of(
        r"(?<=arguments )for|favou?r\w*|pros?|support\w*|benefits?|advantages?|positive\w*|proponents?|"
        r"opportunit\w+|advocates?|promises?|gains?|upsides?"
    ),
}
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
# Words of praise and blame; a sentence that has one may stand under a heading of its side.
CUES: dict[Side, re.Pattern[str]] = {
    "against": any_of(
        r"against|oppos\w+|critic\w+|risk\w*|danger\w*|concern\w*|drawback\w*|disadvantage\w*|harm\w*|"
        r"threat\w*|"
        r"s[ck]eptic\w*|negative\w*|cost(?:s|ly)?|expensive|object(?:s|ed|ion|ions)|problem\w*|worr\w+|"
        r"fear\w*|"
        r"bias\w*|unfair\w*|discriminat\w+|displace\w*|los[est]\w*|loss\w*|fail\w*|wrong\w*|burden\w*|"
        r"damag\w+|"
        r"destroy\w*|erosion|erode\w*|undermin\w+|violat\w+|misus\w+|abus\w+|doubt\w*|reject\w*|"
        r"waste\w*|worse\w*|hurt\w*|unsafe|unintended|dispute\w*|den(?:y|ies|ied)|neglect\w*|unable|cannot|"
        r"not|never|too (?:much|many|high|low|late|slow)|however|but|ethical|privacy|inequal\w+"
    ),
    "for": any_of(
        r"favou?r\w*|support\w*|benefit\w*|advantage\w*|positive\w*|proponent\w*|opportunit\w+|improv\w+|"
        r"enhanc\w+|"
        r"promot\w+|protect\w*|gain\w*|help\w*|enabl\w+|sav(?:e|es|ed|ing|ings)|safe\w*|better|best|"
        r"need\w*|should|"
        r"must|essential\w*|ensur\w+|success\w*|valu\w+|worth\w*|strengthen\w*|creat\w+|effective\w*|"
        r"efficien\w+|"
        r"reduc\w+|prevent\w*|welcom\w+|good|right\w*|fair\w*|agree\w*|hope\w*|growth|allow\w*"
    ),
}
# Verbs and nouns by which a sentence tells that somebody holds a view: "Critics say that ...", "I regret it".
_VIEW_WORDS = any_of(
    r"argu(?:e[sd]?|ing|ments?)|believ(?:e[sd]?|ing)|claim(?:s|ed)? (?:that|to)|think(?:s|ing)?|"
    r"thought (?:that|of|it|him|her|them)|"
    r"fear(?:s|ed)?|consider(?:s|ed)? (?:it|that|the|this|him|her|them|as|to be)|(?:be|is|was|were|been|"
    r"are) considered|"
    r"recommend(?:s|ed)?|critici[sz]\w*|critics?|advocat\w+|(?<!as )oppose[sd]?|"
    r"in favou?r|controvers\w+|prefer(?:s|red)?|according to|point(?:s|ed)? out|sa(?:ys|id) that|"
    r"say that|held that|holds that|(?:answer|add|repli)(?:ed|s|es) that|"
    r"worr(?:y|ies|ied)|regret(?:s|ted)?|doubt(?:s|ed)?|object(?:s|ed|ions?) to|reject(?:s|ed)?|welcom\w+|"
    r"prais\w+|admir\w+|blam\w+|condemn\w*|complain\w*|insist\w*|maintain(?:s|ed)? that|warn(?:s|ed)?|"
    r"disagree\w*|agree(?:s|d)?|approv\w+|disapprov\w+|dismiss\w*|defend(?:s|ed)?|deplor\w+|opinions?|"
    r"(?:in|to) (?:my|our|his|her|their) (?:view|mind|opinion)|regard(?:s|ed)? (?:it|him|her|them|this|"
    r"the)? ?\w* ?as|"
    r"sceptic\w*|skeptic\w*|concern(?:s|ed) (?:about|that|over)|raises? concerns?|"
    r"call(?:s|ed) (?:it|for|on)|suggest(?:s|ed) that|proposed|hope[sd]?|remember(?:s|ed)|"
    r"i say|glad|sorry|happy|afraid|would rather|would like"
)


def side_of(label: str) -> Side | None:
    """Return the side that a viewpoint's label names first, None where it names none."""
    found = [(match.start(), side) for side, words in _LABEL_WORDS.items() if (match := words.search(label))]
    return min(found)[1] if found else None


def asked_side(question: str) -> Side | None:
    """Return the one side that a question asks about, None where it asks about both or none."""
    sides = [side for side, words in _ASKED_WORDS.items() if words.search(question)]
    return sides[0] if len(sides) == 1 else None


def reports_view(sentence: str) -> bool:
    """Tell whether a sentence has words by which views are held or reported."""
    return bool(_VIEW_WORDS.search(sentence))


def view_strength(vectors: Vectors) -> Scores:
    """Return how far sentences judge rather than tell, by their vectors; shape (sentences,), -0.2 to 0.4.

    It is the cosine with the direction from plain statements (history, definitions, rules) to views; 0 for
    vectors of another model than the embedded one.
    """
    if vectors.shape[1] != _view_direction().size:
        return np.zeros(len(vectors))
    return np.asarray(cosines(vectors, _view_direction()[None])[:, 0], dtype=np.float64)


def misplaced(side: Side, sentence: str) -> float:
    """Return how wrong a sentence looks under a heading of that side, 0 to 1.

    Under "risks" praise and plain facts mislead; under "benefits" only a complaint does.
    """
    if CUES[side].search(sentence):
        return 0.0
    return 1.0 if side == "against" or CUES["against"].search(sentence) else 0.3


@cache
def _view_direction() -> Vectors:
    return np.asarray(np.load(VIEWS, allow_pickle=False), dtype=np.float32)
