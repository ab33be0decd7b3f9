"""Whose views a sentence or a question names: their names, what they are, and the labels before their words.

contributions.py tells whose words a place in a passage holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from adaptive_rag.text.words import STOP_WORDS, terms

_FIRST_PERSON = re.compile(r"\b(?:I|[Mm]y|me|mine|myself|[Ww]e|[Oo]ur|us)\b")
SAYS_I = re.compile(r"\b(?:I|[Mm]y|me|mine|myself)\b")
_TITLE = r"(?:Dr|Mr|Mrs|Ms|Prof|Professor|Sir|Dame|Cllr|Councillor|Captain|Rev|Father)\.?"
CAPITALISED = r"[A-Z][\w'’-]+"
# Two or three capitalised words, a title or initials and one; not "The Arabs".
FULL_NAME = (
    r"(?!(?:The|An?|Our|My|Your|This|These|In|On|Of|For|About|How|Why|What)\b)"
    rf"(?:(?:{_TITLE} )?{CAPITALISED} (?:(?:[A-Z]\.|de|van|von|{CAPITALISED}) )?{CAPITALISED}|"
    rf"(?:{_TITLE} |(?:[A-Z]\. ?){{1,3}}){CAPITALISED})"
)
# "**Nadia Petrov (Living Streets):** ", "Nadia Petrov: "; "Ana: " where she says "I" or speaks twice.
TURN = re.compile(
    rf"^[ \t]*(?:[-*•] )?(?P<bold>\*\*|__)?(?P<label>(?P<name>{FULL_NAME}|"
    rf"{CAPITALISED})(?: ?\([^()\n]{{1,60}}\)|"
    r", [^:.\n*]{1,50})?)(?:(?P=bold))?:(?:\*\*|__)?[ \t]+(?=\S)",
    re.MULTILINE,
)
# How many stars were given: "4 stars", "4/5", "★★★★"
STARS = re.compile(
    r"(?P<stars>\b[0-5])(?:[.,]\d)?(?: ?stars?\b| ?/ ?5\b| out of (?:5|five)\b)|(?P<drawn>★+)☆*"
)
# "**Anna, 5 stars.** " before her words on the same line
BOLD_LABEL = re.compile(
    r"^[ \t]*(?:[-*•] )?(?P<bold>\*\*|__)(?P<label>[^*\n]{3,80}?)(?P=bold):?[ \t]+(?=\S)", re.MULTILINE
)
# "Sir, - ", "Dear editor, ", "To the Editor, "
_GREETING = re.compile(r"(?:Sirs?|Madam|Dear [\w ]{1,40}|To the [Ee]ditor)(?:,? [-–—] ?|,\s+)")
# "Leila (13:31): “", and Frank in "Ana: “Are you sad?” Frank: “No."; made by units.py.
_MESSAGE = re.compile(r"(?:^|” )(?P<name>[^“”\n:]{1,60}?)(?: \([^()]{1,20}\))?: “")
_SAYING = (
    r"(?:sa(?:id|ys)|th(?:ought|inks)|argue[sd]|believe[sd]|claim(?:s|ed)|h(?:eld|olds)|wr(?:ote|ites)|"
    r"answer(?:s|ed)|repl(?:ies|ied)|warn(?:s|ed)|add(?:s|ed)|point(?:s|ed) out|complain(?:s|ed)|"
    r"object(?:s|ed)|oppose[sd]|propose[sd]|support(?:s|ed)|suggest(?:s|ed)|recommend(?:s|ed)|"
    r"insist(?:s|ed)|maintain(?:s|ed)|prefer(?:s|red)|remember(?:s|ed)|told|felt|feels|"
    r"was in favou?r|was against|criticis(?:es|ed)|criticiz(?:es|ed)|praise[sd]|doubt(?:s|ed)|"
    r"fear(?:s|ed)|consider(?:s|ed)|call(?:s|ed)|regard(?:s|ed)|remark(?:s|ed)|declare[sd])"
)
# Words that begin a sentence with a capital and name nobody: "They said", "Critics argue".
NOBODY = STOP_WORDS | {
    "critics",
    "opponents",
    "supporters",
    "everybody",
    "nobody",
    "somebody",
    "others",
    "people",
}
# "Cllr Birk said", "the engineer Ms Okafor recommends", "Mr Alan Teague, who lives at no. 5, said"
_REPORTED = re.compile(
    rf"\b(?P<name>{FULL_NAME}|{CAPITALISED})(?:, [^,;]{{1,60}},)?(?: also| still|"
    rf" then)? {_SAYING}\b"
)
_QUOTED = re.compile(r"[“\"][^“”\"]*[”\"]")
_SAYS = re.compile(rf"\b{_SAYING}\b")
# "What do the traders think of it?", "How did the weavers see it?"; not "What do people think of it?"
_ASKED_GROUP = re.compile(
    r"\b(?:what|how) (?:do|does|did|would) (?:the |our |local )?"
    r"(?P<group>(?!(?:most |many |some |other )?people\b|you\b|we\b|i\b|they\b|others\b|every)"
    r"[\w'’-]+(?: [\w'’-]+){0,4}?)(?: themselves)? "
    r"(?:think|say|feel|want|complain|dislike|like|see|view|regard|remember|react)\b",
    re.IGNORECASE,
)
# "Does the head teacher want it?", "is the chairman in favour?"
_ASKED_ONE = re.compile(
    r"^(?:do|does|did|is|are|was|were) the (?P<group>[\w'’-]+(?: [\w'’-]+){0,2}?) "
    r"(?:think|want|like|support|oppose|mind|agree|prefer|for|against|in favou?r)\b",
    re.IGNORECASE,
)
_GROUP_WITH_ARTICLE = re.compile(r"\b(?:the|our|my|your|an?) [\w'’-]+")
# "As a grandmother who ...", "I own the café on the corner"
_SELF = re.compile(
    r"\b(?:As an? |(?:I|We) (?:have )?(?:am an? |own |run |drive |live |teach |taught |work |keep |farm ))"
    r"[^,.;]*"
)


def in_first_person(text: str) -> bool:
    """Tell whether a text is said in the first person."""
    return bool(_FIRST_PERSON.search(text))


def reported_speaker(text: str) -> str | None:
    """Return the person of whom a sentence says that they said something; None where it names nobody."""
    names = (found["name"] for found in _REPORTED.finditer(text))
    return next((name for name in names if name.lower() not in NOBODY), None)


def message_speaker(text: str) -> str | None:
    """Return who wrote a message or answers a question as a quote shows it; None for any other text."""
    names = [found["name"] for found in _MESSAGE.finditer(text)]
    return names[-1] if names and _MESSAGE.match(text) else None


def without_label(text: str) -> str:
    """Return a sentence without the speaker's label or the salutation in front of it."""
    bold = BOLD_LABEL.match(text)
    rated = bold if bold and STARS.search(bold["label"]) else None
    opening = TURN.match(text) or _GREETING.match(text) or rated
    said = text[opening.end() :] if opening else text
    return (
        said.strip('“”"')
        if said.startswith(("“", '"')) != said.endswith(("”", '"')) or _QUOTED.fullmatch(said)
        else said
    )


def bare_name(speaker: str) -> str:
    """Return a speaker's name without what they are: "Nadia Petrov (Living Streets)" is "Nadia Petrov"."""
    return re.split(r" ?\(|, ", speaker)[0].strip("* ")


def asked_group(question: str) -> str | None:
    """Return whose views a question asks for: "traders" in "What do traders think?"; None for people's."""
    found = _ASKED_GROUP.search(question) or _ASKED_ONE.search(question)
    return found["group"] if found else None


def without_group(question: str) -> str:
    """Return a question without whose views it asks for: the staff are no matter to have views on."""
    return _ASKED_ONE.sub("", _ASKED_GROUP.sub("", question)).strip() or question


def reports_of(group: str, text: str) -> bool:
    """Tell whether a sentence reports what a group says: "Former workers remembered it fondly"."""
    saying = _SAYS.search(text)
    who = re.split("[;:]", text[: saying.start()])[-1] if saying else ""
    return set(terms(group)) <= set(terms(who))


def roles_of(speaker: str, text: str) -> list[str]:
    """Return what a speaker is by their label, and by what the sentence says of themselves."""
    title = re.match(rf"{_TITLE} ", speaker)
    told = speaker[len(bare_name(speaker)) :].strip(" ,()")
    said = _SELF.search(text)
    return [found for found in (title and title[0].strip(), told, said and said[0]) if found]


def asked_speakers(question: str, speakers: Iterable[str]) -> set[str]:
    """Return the speakers whom a question names: "What does Dr. Sehgal say?".

    A name is written with a capital, unless nothing in the question is.
    """
    lower = question == question.lower()
    # "the family" is nobody's name
    words = set(re.findall(r"[^\W\d_]+", _GROUP_WITH_ARTICLE.sub("", question) if lower else question))
    titles = re.compile(rf"^{_TITLE}$", re.IGNORECASE)
    return {
        speaker
        for speaker in speakers
        if any(
            (name.lower() if lower else name) in words
            for name in re.findall(r"[^\W\d_]{3,}", bare_name(speaker))
            if not titles.match(name) and name.lower() not in STOP_WORDS
        )
    }


def in_words(items: Sequence[str]) -> str:
    """Return items as a list in words: "a, b and c"."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
