"""Suggested first questions, made from the headings of the documents."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, islice, zip_longest
from pathlib import PurePath

from adaptive_rag.source import ListsChunks
from adaptive_rag.state import Chunk
from adaptive_rag.text.words import ASKING_WORDS, is_german, terms, words

SUGGESTED = 4
# Maximum number of chunks that are read.
MOST_CHUNKS = 2000
# Maximum words and characters of a heading that names a topic, and minimum characters of text below it for a
# question about it.
LONGEST, LONGEST_HEADING, LEAST_TEXT = 6, 80, 40
_NUMBERED = re.compile(r"^(?:§\s*)?(?:[\dIVX]+[.)]?)+\s+|[#*_`]+|\s*[:.]$")
# Words of headings that name a part of any document and no topic.
_GENERAL = frozenset(
    terms(
        "introduction overview contents index license licence changelog references appendix summary notes faq"
        " background conclusion abstract preface acknowledgements copyright readme status sections"
        " einleitung inhalt"
    )
)


def suggest_questions(source: ListsChunks) -> list[str]:
    """Return questions that the documents should answer, taken from each document in turn.

    The last one asks for a summary of a document; further ones are added where there are too few headings. A
    heading that is a question is used as it is.
    """
    found = dict[str, dict[str, int]]()
    german = False
    for chunk in islice(source.chunks(), MOST_CHUNKS):
        german = german or is_german(chunk["text"])
        matters = found.setdefault(chunk["source"], {})
        for heading, size in _headings(chunk):
            matters[heading] = matters.get(heading, 0) + size
    asked = (_questions(matters, german=german) for matters in found.values())
    in_turn = dict.fromkeys(question for question in chain(*zip_longest(*asked)) if question)
    summed = "Was steht in {}?" if german else "Summarise {}"
    largest = sorted(found, key=lambda name: -sum(found[name].values()))
    whole = [summed.format(PurePath(name).name) for name in largest]
    shown = list(in_turn)[: SUGGESTED - 1]
    return [*shown, *whole][:SUGGESTED]


def _headings(chunk: Chunk) -> Iterator[tuple[str, int]]:
    """Yield the headings of a chunk, each with the length of the text below it."""
    starts = chunk["metadata"].get("section_starts") or {str(chunk["start"]): chunk["section"]}
    places = sorted((max(int(offset), chunk["start"]), section) for offset, section in starts.items())
    ends = [start for start, _ in places[1:]] + [chunk["end"]]
    for (start, section), end in zip(places, ends, strict=True):
        heading = _NUMBERED.sub("", (section or "").rpartition(" > ")[2]).strip()
        if 0 < len(heading) <= LONGEST_HEADING:
            yield heading, end - start


def _questions(matters: dict[str, int], *, german: bool) -> list[str]:
    """Return the questions for a document: headings that ask, then those with the most text below them."""
    asking = [heading for heading in matters if heading.endswith("?")]
    naming = [
        heading
        for heading, size in sorted(matters.items(), key=lambda pair: -pair[1])
        if size >= LEAST_TEXT and _names_a_matter(heading)
    ]
    # The title of a document names the whole document, so it is used only where there is no other heading.
    title = next(iter(matters), None)
    naming = [heading for heading in naming if heading != title or len(matters) == 1]
    form = "Was steht dort über „{}“?" if german else "What do the documents say about “{}”?"
    return [*asking, *map(form.format, naming)]


def _names_a_matter(heading: str) -> bool:
    said = words(heading)
    own = set(terms(heading)) - _GENERAL - ASKING_WORDS
    return heading[-1] not in "?!" and 0 < len(said) <= LONGEST and bool(own) and not heading[:1].isdigit()
