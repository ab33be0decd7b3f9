"""Who speaks in a passage, as the text marks it: "Ana: ...", a signature, a heading, "Ana said that"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from adaptive_rag.answer.passages import chunk_at, text_at
from adaptive_rag.state import Candidate

_FIRST_PERSON = re.compile(r"\b(?:I|[Mm]y|me|mine|myself|[Ww]e|[Oo]ur|us)\b")
_SAYS_I = re.compile(r"\b(?:I|[Mm]y|me|mine|myself)\b")
_TITLE = r"(?:Dr|Mr|Mrs|Ms|Prof|Professor|Sir|Dame|Cllr|Councillor|Captain|Rev)\.?"
_CAPITALISED = r"[A-Z][\w'’-]+"
# Two or three capitalised words, or a title and one; not "The Arabs".
_FULL_NAME = (
    r"(?!(?:The|An?|Our|My|Your|This|These|In|On|Of|For|About|How|Why|What)\b)"
    rf"(?:(?:{_TITLE} )?{_CAPITALISED} (?:(?:[A-Z]\.|de|van|von|{_CAPITALISED}) )?{_CAPITALISED}|"
    rf"{_TITLE} {_CAPITALISED})"
)
# "Dr Amrita Solanki, engineer to the council": a name, then a comma or nothing.
_PERSON = re.compile(rf"^{_FULL_NAME}(?:,|$)")
_HEADING_MARK = re.compile(r"^#{1,6}\s+")
# "**Nadia Petrov (Living Streets):** ", "Nadia Petrov: "; "Ana: " where she says "I" or speaks twice.
_TURN = re.compile(
    rf"^[ \t]*(?:[-*•] )?(?P<bold>\*\*|__)?(?P<label>(?P<name>{_FULL_NAME}|"
    rf"{_CAPITALISED})(?: ?\([^()\n]{{1,60}}\)|"
    r", [^:.\n*]{1,50})?)(?:(?P=bold))?:(?:\*\*|__)?[ \t]+(?=\S)",
    re.MULTILINE,
)
# What single words before a colon are, where they are no names.
_NO_NAME = re.compile(
    r"notes?|examples?|warning|tip|hint|summary|conclusion|question|answer|subject|date|present|sources?|"
    r"title|"
    r"author|topic|results?|total|price|address|email|phone|location|remark",
    re.IGNORECASE,
)
_SIGNATURE_DASH = re.compile(r"^[ \t]*(?:[-–—]+[ \t]*)?")
_SALUTATION = re.compile(r"^[ \t]*(?:Sir|Madam|Sirs|Dear|To the [Ee]ditor|Hello|Hi)\b", re.MULTILINE)
# "Sir, - ", "Dear editor, "
_GREETING = re.compile(r"(?:Sirs?|Madam|Dear [\w ]{1,40})(?:,? [-–—] ?|,\s+)")
_PARAGRAPH = re.compile(r"\n[ \t]*\n")
# "Leila (13:31): “", and Frank in "Ana: “Are you sad?” Frank: “No."; made by units.py.
_MESSAGE = re.compile(r"(?:^|” )(?P<name>[^“”\n:]{1,60}?)(?: \([^()]{1,20}\))?: “")
_SAYING = (
    r"(?:sa(?:id|ys)|th(?:ought|inks)|argue[sd]|believe[sd]|claim(?:s|ed)|h(?:eld|olds)|wr(?:ote|ites)|"
    r"answer(?:s|ed)|repl(?:ies|ied)|warn(?:s|ed)|add(?:s|ed)|point(?:s|ed) out|complain(?:s|ed)|"
    r"object(?:s|ed)|oppose[sd]|propose[sd]|support(?:s|ed)|suggest(?:s|ed)|recommend(?:s|ed)|"
    r"insist(?:s|ed)|maintain(?:s|ed)|criticis(?:es|ed)|criticiz(?:es|ed)|praise[sd]|doubt(?:s|ed)|"
    r"fear(?:s|ed)|consider(?:s|ed)|call(?:s|ed)|regard(?:s|ed)|remark(?:s|ed)|declare[sd])"
)
# "Cllr Birk said", "the engineer Ms Okafor recommends", "Mr Alan Teague, who lives at no. 5, said"
_REPORTED = re.compile(
    rf"\b(?P<name>{_FULL_NAME}|(?<=\w ){_CAPITALISED})(?:, [^,;]{{1,60}},)?(?: also| still|"
    rf" then)? {_SAYING}\b"
)
# "What do the traders think of it?"; not "What do people think of it?"
_ASKED_GROUP = re.compile(
    r"\bwhat (?:do|does|did|would) (?:the |our |local )?"
    r"(?P<group>(?!(?:most |many |some |other )?people\b|you\b|we\b|they\b|others\b|every)"
    r"[\w'’-]+(?: [\w'’-]+){0,4}?)(?: themselves)? (?:think|say|feel|want)\b",
    re.IGNORECASE,
)
# "As a grandmother who ...", "I own the café on the corner"
_SELF = re.compile(
    r"\b(?:As an? |(?:I|We) (?:have )?(?:am an? |own |run |drive |live |teach |taught |work |keep |farm ))"
    r"[^,.;]*"
)
_QUOTED = re.compile(r"[“\"][^”\"\n]*[”\"]")
# In characters: a longer heading or line is no name.
LONGEST_NAME = 80


def in_first_person(text: str) -> bool:
    """Tell whether a text is said in the first person."""
    return bool(_FIRST_PERSON.search(text))


def speaker_of(passage: Candidate, start: int, text: str) -> str | None:
    """Return who says a sentence, as a label, a signature or a heading marks it; None where none does.

    Args:
        passage: the passage that holds the sentence.
        start: where the sentence starts, as the passage's span counts.
        text: the sentence.
    """
    return _turn(passage, start) or _signed(passage, start) or _headed(passage, start, text)


def reported_speaker(text: str) -> str | None:
    """Return the person of whom a sentence says that they said something; None where it names nobody."""
    found = _REPORTED.search(text)
    return found["name"] if found else None


def message_speaker(text: str) -> str | None:
    """Return who wrote a message or answers a question as a quote shows it; None for any other text."""
    names = [found["name"] for found in _MESSAGE.finditer(text)]
    return names[-1] if names and _MESSAGE.match(text) else None


def without_label(text: str) -> str:
    """Return a sentence without the speaker's label or the salutation in front of it."""
    opening = _TURN.match(text) or _GREETING.match(text)
    return text[opening.end() :] if opening else text


def bare_name(speaker: str) -> str:
    """Return a speaker's name without what they are: "Nadia Petrov (Living Streets)" is "Nadia Petrov"."""
    return re.split(r" ?\(|, ", speaker)[0].strip("* ")


def asked_group(question: str) -> str | None:
    """Return whose views a question asks for: "traders" in "What do traders think?"; None for people's."""
    found = _ASKED_GROUP.search(question)
    return found["group"] if found else None


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
    words = set(re.findall(r"[^\W\d_]+", question))
    titles = re.compile(rf"^{_TITLE}$", re.IGNORECASE)
    return {
        speaker
        for speaker in speakers
        if any(
            (name.lower() if lower else name) in words
            for name in re.findall(r"[^\W\d_]{3,}", bare_name(speaker))
            if not titles.match(name)
        )
    }


def _turn(passage: Candidate, start: int) -> str | None:
    """Return who is named at the beginning of the sentence's paragraph or line."""
    text, at = passage["text"], start - passage["start"]
    begin = max((end.end() for end in _PARAGRAPH.finditer(text, 0, max(at, 0) + 1)), default=0)
    stop = _PARAGRAPH.search(text, max(at, 0))
    turns = [t for t in _TURN.finditer(text, begin, stop.start() if stop else len(text)) if t.start() <= at]
    if not turns:
        return None
    turn = turns[-1]
    return turn["label"] if _is_speaker(turn, text) else None


def _is_speaker(turn: re.Match[str], text: str) -> bool:
    """Tell whether a label is somebody: a full name, or a word that says "I" or comes again."""
    name = turn["name"]
    if _NO_NAME.fullmatch(name):
        return False
    if " " in name:
        return True
    said = re.split(r"\n", text[turn.end() :], maxsplit=1)[0]
    again = sum(other["name"] == name for other in _TURN.finditer(text)) > 1
    return again or bool(_SAYS_I.search(said))


def _signed(passage: Candidate, start: int) -> str | None:
    """Return who signed the letter that holds the sentence: the name stands on the line after its last one.

    A letter of several paragraphs begins with its salutation.
    """
    text, at = passage["text"], start - passage["start"]
    begin = max((end.end() for end in _PARAGRAPH.finditer(text, 0, max(at, 0) + 1)), default=0)
    salutations = [found.start() for found in _SALUTATION.finditer(text, 0, max(at, 0) + 1)]
    position = 0
    for paragraph in _PARAGRAPH.split(text[begin:]):
        if position and (not salutations or _SALUTATION.match(paragraph)):
            return None
        lines = paragraph.strip().splitlines()
        last = _SIGNATURE_DASH.sub("", lines[-1]).strip() if lines else ""
        named = len(last) <= LONGEST_NAME and bool(_PERSON.match(last)) and last[-1] not in ".:;?!"
        if named and (len(lines) > 1 or position):
            body = text[salutations[-1] if salutations else begin : begin + position + len(paragraph)]
            of_letters = _SALUTATION.search(text) or in_first_person(_QUOTED.sub("", body))
            return last if of_letters else None
        position += len(paragraph) + 2
    return None


def _headed(passage: Candidate, start: int, text: str) -> str | None:
    """Return the person whom the heading above a sentence names, where they speak in the first person."""
    chunk = chunk_at(passage, start, start + len(text))
    section = (chunk["section"] or "").rpartition(" > ")[2].strip()
    heading: str | None = None
    begin = chunk["start"]
    position = chunk["start"]
    for line in text_at(chunk, chunk["start"], start).splitlines(keepends=True):
        bare = line.strip()
        if _HEADING_MARK.match(bare) or (section and bare == section):
            heading, begin = _HEADING_MARK.sub("", bare), position + len(line)
        position += len(line)
    if heading is None and section not in chunk["text"]:
        # The section began before the chunk did.
        heading = section
    if not heading or len(heading) > LONGEST_NAME or not _PERSON.match(heading):
        return None
    spoken = text_at(chunk, begin, chunk["end"])
    following = re.search(r"^#{1,6}\s", spoken, re.MULTILINE)
    spoken = spoken[: following.start()] if following else spoken
    # "Machine Learning" may stand above "how we live".
    speaks = in_first_person if "," in heading else _SAYS_I.search
    return heading if speaks(_QUOTED.sub("", spoken)) else None


def in_words(items: Sequence[str]) -> str:
    """Return items as a list in words: "a, b and c"."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
