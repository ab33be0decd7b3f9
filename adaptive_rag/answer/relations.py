"""What a question asks for beside a fact: a cause, an effect, a difference, a change, or what to do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import numpy as np

from adaptive_rag.answer.sentences import AnswerSentence
from adaptive_rag.text.ends import read_ends
from adaptive_rag.text.vectors import Scores
from adaptive_rag.text.words import terms, words

Relation = Literal["difference", "cause", "effect", "change"]

# "What's making the bills so high?"
_MAKING = r"\bwhat(?:['’]?s| is| was| are)? (?:making|keeping|driving|stopping|holding)\b"
_COMPARES = (
    r"\bdiffer(?:s|ences?|ent from)?\b|\bcompar(?:e[ds]?|ing|ison)\b|\b(?:versus|vs)\b|"
    r"\bdistinguish(?:es)?\b|\bwhich(?: one)? (?:is|are|costs?|has|takes|needs|gives) (?:\w+er|more|less)\b"
)
_ASKED: tuple[tuple[Relation, str], ...] = (
    ("difference", _COMPARES),
    ("cause", rf"{_MAKING}|\bwhy\b|\bhow come\b|\b(?:causes?|caused|reasons?|explains?|led to|behind)\b"),
    (
        "effect",
        r"\bwhat (?:happens|happened|if)\b|"
        r"\b(?:effects?|affect(?:s|ed)?|impacts?|consequences?|influence[ds]?|results?|outcomes?|implications?)\b",
    ),
    ("change", r"\b(?:change[ds]?|developed?|evolved?|grown?|grew|trends?|over time|over the years)\b"),
)
_MORE = r"\b(?:\w+ than|more|less|fewer|higher|lower)\b"
_MOVES = (
    r"rose|rise[ns]?|fell|falls?|grew|grows?|grown|increas\w+|decreas\w+|reduc\w+|declin\w+|improv\w+|"
    r"doubled|halved|dropped|lost|gain\w*|became|replac\w+"
)
_STATED: dict[Relation, str] = {
    "difference": r"\b(?:whereas|while|unlike|both|compared|differ\w*|but|in contrast|instead|"
    rf"rather than|similar\w*|same)\b|{_MORE}",
    "cause": r"\b(?:because|due to|owing to|thanks to|caus\w+|reasons?|le(?:d|ads?) to|result\w*|so that|"
    r"therefore|in order to|explain\w*|blam\w+|responsible for|driven by|stem\w* from|attributed)\b",
    "effect": rf"\b(?:{_MOVES}|le(?:d|ads?) to|result\w*|caus\w+|so that|therefore|otherwise|or else|"
    rf"means? that|allow\w*|enabl\w+|affect\w*|effects?|impact\w*|consequen\w+|damag\w+|harm\w*)\b|{_MORE}",
    "change": rf"\b(?:{_MOVES}|from .{{1,40}} to|compared with|percent|introduced|since)\b|%|{_MORE}",
}
_PAIR = (
    rf"(?:{_COMPARES})(?: between| of)? (?P<a>.+?) (?:and|with|to|from|versus|vs\.?|or) (?P<b>.+)",
    r"\bhow (?:do|does|did|is|are) (?P<a>.+?) (?:and|differ(?:ent)? from|compare(?:d)? (?:to|with)) "
    r"(?P<b>.+?)(?: differ| compare)?",
    r"(?P<a>.+?) (?:versus|vs\.?) (?P<b>.+)",
    # "Coach or train, what is the difference?", "which is cheaper, coach or train"
    r"^(?P<a>[^,;:]+?) (?:or|and) (?P<b>[^,;:]+)[,;:] .+",
    r"\bwhich\b[^,;:]*[,;:] ?(?P<a>.+?) or (?P<b>.+)",
)
# The A of "zone A", the 2 of "grade 2" or "grade two".
_LABEL = re.compile(r"[a-z]|\d{1,3}|one|two|three|four|five|six|seven|eight|nine|ten")
_STEPS = re.compile(
    r"\bhow (?:do|can|should|would|must|did) (?:I|we|you|one)\b|\bhow to\b|"
    r"\bwhat (?:should|must|do|can|shall) (?:I|we|you) do\b|\b(?:steps?|procedure|instructions)\b",
    re.IGNORECASE,
)
# "Why did it fail?", "how does it know"; not "how did spending change"
_EXPLAINS = re.compile(
    r"\bwhy\b|\bhow come\b|"
    r"\bhow (?:do|does|did) (?!.*\b(?:change|develop|evolve|grow|differ|compare|affect)\b)",
    re.IGNORECASE,
)
# "Keep one bag by the door.", "You must leave.", "Never walk alone."; not "The owner keeps the key."
_TELLS_TO = re.compile(
    r"\b[Yy]ou (?:must|should|can|may|need to|have to)\b|"
    r"^(?:Do not|Don['’]t|Never|Always|Please|First|Then)\b|"
    r"^(?!(?:The|This|That|These|Those|It|He|She|They|We|In|On|At|For|From|With|By|As|To|And|But|All|Both|"
    r"Each)\b)[A-Z][a-z]+ (?:the|your|an?|it|them|one|each|every|out|up|off|with|to|for|at)\b"
)
_NAMES_OF_TEXT = [
    "chapter",
    "section",
    "page",
    "part",
    "appendix",
    "annex",
    "handbook",
    "guide",
    "manual",
    "book",
    "document",
    "report",
    "paper",
    "article",
    "table",
    "figure",
    "diagram",
    "list",
]
_PART = r"(?:chapter|section|page|appendix|annex|handbook|guide|manual|book|table|figure|diagram|list)s?"
_TEXT = r"(?:chapter|section|handbook|guide|manual|book|document|report|paper|article|page|part|appendix)"
# "This chapter follows the links.", "See the table below.", "Find the section that fits you."; not "This
# report found 4 leaks." or "The guide dog may come in."
_OF_THE_TEXT = re.compile(
    rf"\b(?:in|of|throughout|at) (?:this|the (?:next|following|previous|last)) {_PART}\b|"
    rf"\bthe {_PART} (?:that|which|below|above|overleaf)\b|"
    rf"\b(?:see|turn to|refer to|(?:described|shown|listed|given|explained) in) (?:the )?{_PART}\b|"
    rf"^(?:this|the (?:next|following|previous)) {_TEXT} (?:\w+ )?(?:describes?|explains?|follows?|gives?|"
    r"sets? out|covers?|deals?|discuss(?:es)?|introduces?|summari[sz]es?|presents?|looks?|contains?|"
    r"outlines?|examines?|reviews?|considers?|traces?|is (?:divided|about|for|written|meant))\b|"
    r"^(?:chapter|section|table|figure|appendix) [\dA-Z]+\b",
    re.IGNORECASE,
)
_IN_BRACKETS = re.compile(r"\([^()]*\)")


def relation_asked(question: str) -> Relation | None:
    """Return the relation that a question asks for; None where it asks for another thing."""
    return next((name for name, pattern in _ASKED if re.search(pattern, question, re.IGNORECASE)), None)


def stating(question: str, sentences: Sequence[AnswerSentence]) -> Scores:
    """Return 1 for each sentence with the words of what is asked for ("because"; "Keep ..."), else 0.

    Where a cause or an effect is asked for, one that says what to do gets 1 less.
    """
    if asks_for_steps(question):
        return np.array([float(tells_to_do(s.text)) for s in sentences])
    relation = relation_asked(question)
    if relation is None:
        return np.zeros(len(sentences))
    said = np.array([float(bool(re.search(_STATED[relation], s.text, re.IGNORECASE))) for s in sentences])
    if relation in ("cause", "effect"):
        # What to do is no consequence: "Wash the filter." where it is asked what happens if nobody does.
        said -= np.array([float(tells_to_do(s.text)) for s in sentences])
    return said


def compared(question: str) -> list[set[str]]:
    """Return the stems that tell apart the two things which a question compares; [] where it compares none.

    "full and pool-only membership" gives {"full"} and {"pool"}: what both are called tells nothing apart.
    "Zone A and zone B", or "zone A and B", gives {"zone a"} and {"zone b"}, which `pairs_of` finds in a text.
    """
    asked = " ".join(read_ends(question).split()).rstrip(" ?.!")
    for pattern in _PAIR:
        pair = re.search(rf"{pattern}$", asked, re.IGNORECASE)
        if pair and relation_asked(question) == "difference":
            one, other = words(pair["a"]), words(pair["b"])
            if one and other and all(map(_LABEL.fullmatch, (one[-1], other[-1]))):
                noun = one[:-1] or other[:-1]
                return [
                    {" ".join([*noun[-1:], one[-1]])},
                    {" ".join([*(other[:-1] or noun)[-1:], other[-1]])},
                ]
            a, b = set(terms(pair["a"])), set(terms(pair["b"]))
            return [a - b, b - a]
    return []


def pairs_of(text: str) -> set[str]:
    """Return each two words of a text that follow one another: "zone a"."""
    return {" ".join(pair) for pair in pairwise(words(text))}


def asks_for_steps(question: str) -> bool:
    """Tell whether a question asks how to do something."""
    return bool(_STEPS.search(question))


def asks_for_prose(question: str) -> bool:
    """Tell whether a question asks why or how something happens: no row of a table and no command says it."""
    return not asks_for_steps(question) and bool(_EXPLAINS.search(question))


def tells_to_do(sentence: str) -> bool:
    """Tell whether a sentence says what to do."""
    return bool(_TELLS_TO.search(sentence))


def speaks_of_the_text(sentence: str) -> bool:
    """Tell whether a sentence speaks of the text that it stands in, other than in brackets."""
    plain = sentence.lower()
    # Few sentences hold any of the words, and the patterns are slow.
    if not any(word in plain for word in _NAMES_OF_TEXT):
        return False
    return bool(_OF_THE_TEXT.search(_IN_BRACKETS.sub("", sentence)))


def asks_about_the_text(question: str) -> bool:
    """Tell whether a question speaks of a text or a part of one."""
    return bool(re.search(rf"\b(?:{_TEXT}|{_PART})s?\b", question, re.IGNORECASE))
