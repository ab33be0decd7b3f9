"""Recognises questions about a document as a whole: for a summary, or for what is in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePath

from adaptive_rag.source import ChoosesSources, ChunkSource
from adaptive_rag.text.words import terms

_ASKS = re.compile(
    r"(?:(?:please|can you|could you|would you|i need|i want|i'd like|give me|show me|write|make) )*"
    r"(?:summari[sz]e|outline|sum up"
    r"|(?:a |an |the )?(?:short |brief |quick )?(?:summary|overview|outline|contents) of"
    r"|what(?:'s| is) (?:in|inside)|what are the contents of) (.+?)(?: for me)?(?: please)?"
    r"|what (?:does|do) (.+?) (?:say|cover|contain|hold|tell)(?: me| us)?"
    r"|what(?:'s| is) (.+?) (?:all )?about"
    r"|was steht (?:alles )?(?:in|im) (.+?)|fasse? (.+?)(?: bitte)? zusammen"
)
_GENERAL = frozenset(terms("document file pdf page text paper report whole entire content"))
_APART = re.compile(r"[-_.]")
_POINTING = frozenset(("this", "that", "it", "the", "my", "our", "your"))


_ABOUT = re.compile(
    r"what (?:do|does) (?:the|these|this|my|our) (?:documents?|files?|texts?|handbook|manual|guide|report) "
    r"(?:say|tell(?: me| us)?) (?:about|on) (.+)"
    r"|was steht (?:dort|da|hier) (?:über|zu) (.+)"
)


_ALL = re.compile(
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
    return bool(_ALL.fullmatch(plain)) and isinstance(source, ChoosesSources) and bool(source.sources())


def heading_asked_for(question: str) -> str | None:
    """Return the topic that a question asks about: "fares" for "what do the documents say about fares?"."""
    asked = _ABOUT.fullmatch(" ".join(question.lower().split()).strip(" .!?"))
    return next(filter(None, asked.groups())).strip(" “”„\"'") if asked else None


def document_asked_for(
    question: str, source: ChunkSource, titles: Mapping[str, str] | None = None
) -> str | None:
    """Return the name of the one document that a question asks to summarise; None where there is none.

    Args:
        question: such as "Summarise the handbook" or "what is in it?".
        source: the chunks of the documents.
        titles: the known titles of documents, by the documents' names.
    """
    asked = _ASKS.fullmatch(" ".join(question.lower().replace("’", "'").split()).strip(" .!?"))
    if asked is None or not isinstance(source, ChoosesSources):
        return None
    what = next(filter(None, asked.groups()))
    named = set(terms(what)) - _GENERAL
    held = source.sources()
    if not named:
        points = not _POINTING.isdisjoint(what.split())
        return next(iter(held)) if len(held) == 1 and points else None
    called = {
        name: set(terms(f"{_APART.sub(' ', PurePath(name).name)} {(titles or {}).get(name, '')}"))
        for name in held
    }
    found = [name for name, of in called.items() if named <= of]
    return found[0] if len(found) == 1 else None
