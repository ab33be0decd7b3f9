"""The sides of a debate, told from words and vectors without a chat model.

It says which side a viewpoint's label takes, which side a question asks about, whether a sentence reports a
view or looks wrong under a heading, and which side a chunk takes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np

from adaptive_rag.source import Sentences
from adaptive_rag.state import Candidate
from adaptive_rag.text.vectors import Scores, Vectors, cosines

Side = Literal["for", "against"]

# The labels of viewpoints that are given to chunks.
FOR, AGAINST = "benefits and arguments for", "risks and arguments against"
# Made by training/sentiment.py; belongs to the embedded model, of which all sentence vectors are.
SENTIMENT = Path(__file__).with_name("sentiment.npy")


def _any_of(words: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{words})\b", re.IGNORECASE)


# Words of a label that name its side: "critics of the plan", "benefits and arguments for".
_LABEL_WORDS: dict[Side, re.Pattern[str]] = {
    "against": _any_of(
        r"against|oppos\w*|contra|cons?|critic\w*|risks?|danger\w*|concerns?|drawbacks?|disadvantages?|harms?|"
        r"threats?|sceptic\w*|skeptic\w*|negative\w*|downsides?|costs?|objections?|problems?|worr\w+"
    ),
    "for": _any_of(
        r"(?<=arguments )for|favou?r\w*|pros?|support\w*|benefits?|advantages?|positive\w*|proponents?|"
        r"opportunit\w+|advocates?|promises?|gains?|upsides?"
    ),
}
# Words of a question that asks about one side: "What are the risks?"
_ASKED_WORDS: dict[Side, re.Pattern[str]] = {
    "against": _any_of(
        r"(?:arguments?|reasons?|case|objections?|points?) against|concerns|risks|drawbacks|dangers|"
        r"disadvantages|downsides|criticisms?|objections|cons"
    ),
    "for": _any_of(
        r"(?:arguments?|reasons?|case|points?) (?:for|in favou?r)|benefits|advantages|merits|upsides|pros"
    ),
}
# Words of a sentence that may stand under a heading of a side.
_CUES: dict[Side, re.Pattern[str]] = {
    "against": _any_of(
        r"against|oppos\w+|critic\w+|risk\w*|danger\w*|concern\w*|drawback\w*|disadvantage\w*|harm\w*|threat\w*|"
        r"s[ck]eptic\w*|negative\w*|cost(?:s|ly)?|expensive|object(?:s|ed|ion|ions)|problem\w*|worr\w+|fear\w*|"
        r"bias\w*|unfair\w*|discriminat\w+|displace\w*|los[est]\w*|loss\w*|fail\w*|wrong\w*|burden\w*|damag\w+|"
        r"destroy\w*|erosion|erode\w*|undermin\w+|violat\w+|misus\w+|abus\w+|doubt\w*|reject\w*|"
        r"waste\w*|worse\w*|hurt\w*|unsafe|unintended|dispute\w*|den(?:y|ies|ied)|neglect\w*|unable|cannot|"
        r"not|never|too (?:much|many|high|low|late|slow)|however|but|ethical|privacy|inequal\w+"
    ),
    "for": _any_of(
        r"favou?r\w*|support\w*|benefit\w*|advantage\w*|positive\w*|proponent\w*|opportunit\w+|improv\w+|enhanc\w+|"
        r"promot\w+|protect\w*|gain\w*|help\w*|enabl\w+|sav(?:e|es|ed|ing|ings)|safe\w*|better|best|need\w*|should|"
        r"must|essential\w*|ensur\w+|success\w*|valu\w+|worth\w*|strengthen\w*|creat\w+|effective\w*|efficien\w+|"
        r"reduc\w+|prevent\w*|welcom\w+|good|right\w*|fair\w*|agree\w*|hope\w*|growth|allow\w*"
    ),
}
# Words by which a sentence reports a view: "Critics say ...".
_VIEW_WORDS = _any_of(
    r"should|ought|must|argu\w+|believ\w+|claim\w*|think\w*|fear\w*|consider\w*|recommend\w*|critic\w+|"
    r"advocat\w+|propos\w+|oppos\w+|support(?:s|ed|ers)?|concern\w*|debat\w+|controvers\w+|prefer\w*|"
    r"in favou?r|according to|point out|sa(?:y|ys|id)|worr\w+|better|worse|risk\w*|benefit\w*"
)
# Who praises a ban blames what is banned.
_BAN_WORDS = _any_of(
    r"ban(?:s|ned|ning)?|abolish\w*|abolition|prohibit\w*|outlaw\w*|criminali[sz]\w*|restrict\w*|censor\w*|"
    r"disband\w*"
)
# Words of a question that blames its subject: "Is it unfair?"
_BLAME_WORDS = _any_of(
    r"not|no|never|unjust\w*|unfair\w*|wrong|bad|worse|outdated|unnecessary|harm(?:s|ful)?|danger(?:s|ous)?|"
    r"biased|illegal|against|fail(?:s|ed|ure)?"
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


def misplaced(side: Side, sentence: str) -> float:
    """Return how wrong a sentence looks under a heading of that side, 0 to 1.

    Under "risks" praise and plain facts mislead; under "benefits" only a complaint does.
    """
    if _CUES[side].search(sentence):
        return 0.0
    return 1.0 if side == "against" or _CUES["against"].search(sentence) else 0.3


def label_sides(
    question: str, candidates: Sequence[Candidate], sentences: Sequence[Sentences]
) -> list[Candidate]:
    """Return the candidates, each labelled with the side that it takes, then the other if it holds that too.

    The middle between the sides lies halfway between neutral and the candidates' mean: on some matters all
    that is written sounds grim. A question that blames its subject ("Should it be banned?") turns the sides
    round.
    """
    found = [leans(candidate, held) for candidate, held in zip(candidates, sentences, strict=True)]
    means = [float(lean.mean()) if lean.size else 0.0 for lean in found]
    middle = float(np.mean(means)) / 2 if means else 0.0
    turned = bool(_BAN_WORDS.search(question) or _BLAME_WORDS.search(question))
    high, low = (AGAINST, FOR) if turned else (FOR, AGAINST)
    labelled: list[Candidate] = []
    for candidate, lean, mean in zip(candidates, found, means, strict=True):
        own, other = (high, low) if mean >= middle else (low, high)
        mixed = bool((lean >= middle).any() and (lean < middle).any())
        labelled.append({**candidate, "labels": [own, other] if mixed else [own]})
    return labelled


def leans(candidate: Candidate, sentences: Sentences) -> Scores:
    """Return how far each sentence leans towards praise (above 0) or blame (below 0); shape (sentences,).

    It is the cosine with the direction from blame to praise, with the other sign where a ban is spoken of.
    """
    if not len(sentences.spans):
        return np.zeros(0)
    spans = sentences.spans - candidate["start"]
    signs = [-1.0 if _BAN_WORDS.search(candidate["text"][start:end]) else 1.0 for start, end in spans]
    return np.asarray(signs * cosines(sentences.vectors, _sentiment()[None])[:, 0], dtype=np.float64)


@cache
def _sentiment() -> Vectors:
    return np.asarray(np.load(SENTIMENT, allow_pickle=False), dtype=np.float32)
