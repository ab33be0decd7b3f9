"""Recognises questions about a document as a whole: for a summary, or for what is in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePath

from adaptive_rag.source import ChoosesSources, ChunkSource
from adaptive_rag.text.words import terms

# "Summarise the handbook", "an overview of fares.pdf", "what is in it?"
_ABOUT_DOCUMENT = re.compile(
    r"(?:(?:please|can you|could you|would you|i need|i want|i'd like|give me|show me|write|make) )*"
    r"(?:summari[sz]e|outline|sum up"
    r"|(?:a |an |the )?(?:short |brief |quick )?(?:summary|overview|outline|contents) of"
    r"|what(?:'s| is) (?:in|inside)|what are the contents of) (.+?)(?: for me)?(?: please)?"
    r"|what (?:does|do) (.+?) (?:say|cover|contain|hold|tell)(?: me| us)?"
    r"|what(?:'s| is) (.+?) (?:all )?about"
    r"|was steht (?:alles )?(?:in|im) (.+?)|fasse? (.+?)(?: bitte)? zusammen"
)
_GENERAL = frozenset(terms("document file pdf page text paper report whole entire content"))
_SEPARATOR = re.compile(r"[-_.]")
_POINTING = frozenset(("this", "that", "it", "the", "my", "our", "your"))
_NUMBERED = r"(?:section|clause|article|chapter|part|rule|step|point|paragraph) \d+(?:\.\d+)*(?: of .+?)?"
# "What do the documents say about fares?", "What does section 2 say?"
_ABOUT_HEADING = re.compile(
    r"what (?:do|does) (?:the|these|this|my|our) (?:documents?|files?|texts?|handbook|manual|guide|report) "
    r"(?:say|tell(?: me| us)?) (?:about|on) (.+)"
    r"|was steht (?:dort|da|hier) (?:über|zu) (.+)"
    rf"|what does ({_NUMBERED}) (?:say|cover|contain|tell(?: me| us))|what(?:'s| is) in ({_NUMBERED})"
)
# "Summarise everything", "an overview of all documents"
_ABOUT_ALL = re.compile(
    r"(?:(?:please|can you|could you|would you|give me|show me|write) )*"
    r"(?:summari[sz]e|sum up|outline|(?:a |an )?(?:short |brief )?(?:summary|overview|outline) of) "
    r"(?:everything|(?:all )?(?:of )?(?:these|the|my|your|our) (?:documents|files)|all (?:documents|files))"
    r"(?: for me)?(?: please)?"
    r"|fasse? (?:alles|alle|die|diese|meine|unsere)(?: (?:diese |meine |unsere )?(?:dokumente|dateien))?"
    r"(?: bitte)? zusammen"
)


def asks_for_all(question: str, source: ChunkSource) -> bool:
    """Return whether a question asks for a summary of all documents: "summarise everything"."""
    plain = " ".join(question.lower().split()).strip(" .!?")
    return bool(_ABOUT_ALL.fullmatch(plain)) and isinstance(source, ChoosesSources) and bool(source.sources())


def heading_asked_for(question: str) -> str | None:
    """Return the heading that a question asks about: "fares" for "what do the documents say about fares?".

    It may be a numbered one: "section 2", "section 2 of the lease".
    """
    match = _ABOUT_HEADING.fullmatch(" ".join(question.lower().split()).strip(" .!?"))
    return next(filter(None, match.groups())).strip(" “”„\"'") if match else None


def document_asked_for(
    question: str, source: ChunkSource, titles: Mapping[str, str] | None = None
) -> str | None:
    """Return the name of the one document that a question asks to summarise; None where there is none.

    Such questions are "Summarise the handbook" and "what is in it?". `titles` has the known titles by the
    names of the documents.
    """
    match = _ABOUT_DOCUMENT.fullmatch(" ".join(question.lower().replace("’", "'").split()).strip(" .!?"))
    if match is None or not isinstance(source, ChoosesSources):
        return None
    phrase = next(filter(None, match.groups()))
    phrase_terms = set(terms(phrase)) - _GENERAL
    documents = source.sources()
    if not phrase_terms:
        points_at_one = len(documents) == 1 and not _POINTING.isdisjoint(phrase.split())
        return next(iter(documents)) if points_at_one else None
    names = {
        document: f"{_SEPARATOR.sub(' ', PurePath(document).name)} {(titles or {}).get(document, '')}"
        for document in documents
    }
    matching = [document for document, name in names.items() if phrase_terms <= set(terms(name))]
    return matching[0] if len(matching) == 1 else None
