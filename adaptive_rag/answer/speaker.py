"""Who speaks in a passage: a first-person sentence is shown with the name its heading gives."""

from __future__ import annotations

import re

from adaptive_rag.state import Candidate

_FIRST_PERSON = re.compile(r"\b(?:I|[Mm]y|me|mine|myself|[Ww]e|[Oo]ur|us)\b")
# "Dr Amrita Solanki, engineer to the council": two or three capitalised words, then a comma or nothing.
_PERSON = re.compile(
    r"^(?:(?:Dr|Mr|Mrs|Ms|Prof|Professor|Sir|Dame|Cllr|Councillor|Captain|Rev)\.? )?"
    r"[A-Z][\w'’-]+ (?:(?:[A-Z]\.|de|van|von|[A-Z][\w'’-]+) )?[A-Z][\w'’-]+(?:,|$)"
)
_MARKED = re.compile(r"^#{1,6}\s+")
LONGEST = 80


def speaks(text: str) -> bool:
    """Tell whether a sentence is said in the first person."""
    return bool(_FIRST_PERSON.search(text))


def speaker_of(document: Candidate, start: int, text: str) -> str | None:
    """Return the person whose words a first-person sentence gives; None where that is not certain.

    Args:
        document: the chunk that holds the sentence.
        start: where the sentence starts, as the chunk's span counts.
        text: the sentence.
    """
    if not speaks(text):
        return None
    section = (document["section"] or "").rpartition(" > ")[2].strip()
    before = document["text"][: start - document["start"]]
    heading: str | None = None
    for line in map(str.strip, before.splitlines()):
        if _MARKED.match(line) or (section and line == section):
            heading = _MARKED.sub("", line)
    if heading is None and section not in document["text"]:
        # The section began before the chunk did.
        heading = section
    return heading if heading and len(heading) <= LONGEST and _PERSON.match(heading) else None
