"""Suggested first questions, made from the headings of the documents."""

from __future__ import annotations

import re
from collections import Counter
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
MOST_WORDS, LONGEST_HEADING, LEAST_TEXT = 6, 80, 40
_NUMBER_OR_MARK = re.compile(r"^(?:§\s*)?(?:[\dIVX]+[.)]?)+\s+|[#*_`]+|\s*[:.]$")
# Words of headings that name a part of any document, and no topic.
_GENERAL = frozenset(
    terms(
        "introduction overview contents index license licence changelog references appendix summary notes faq"
        " background conclusion abstract preface acknowledgements copyright readme status sections"
        " einleitung inhalt"
    )
)


def suggest_questions(source: ListsChunks, *, has_model: bool = True) -> list[str]:
    """Return questions that the documents should answer, taken from each document in turn.

    The last one asks for a summary of a document; further ones are added where there are too few headings. A
    heading that is a question is used as it is. The questions are about the documents in the language of most
    of them; without a chat model about the English ones, because German is not answered without one.
    """
    sizes = dict[str, dict[str, int]]()  # the length of the text below each heading, by document
    german_share = Counter[str]()  # German chunks less the others, by document
    for chunk in islice(source.chunks(), MOST_CHUNKS):
        german_share[chunk["source"]] += 1 if is_german(chunk["text"]) else -1
        headings = sizes.setdefault(chunk["source"], {})
        for heading, size in _headings(chunk):
            headings[heading] = headings.get(heading, 0) + size
    in_german = {name for name, share in german_share.items() if share > 0}
    german = has_model and 2 * len(in_german) > len(sizes)
    sizes = {name: headings for name, headings in sizes.items() if (name in in_german) == german}
    by_document = (_questions(headings, german=german) for headings in sizes.values())
    questions = dict.fromkeys(question for question in chain(*zip_longest(*by_document)) if question)
    summary = "Was steht in {}?" if german else "Summarise {}"
    largest = sorted(sizes, key=lambda name: -sum(sizes[name].values()))
    # A name that several documents have would tell none of them.
    file_names = Counter(PurePath(name).name for name in german_share)
    names = (PurePath(name).name for name in largest)
    summaries = [summary.format(name) for name in names if file_names[name] == 1]
    return [*list(questions)[: SUGGESTED - 1], *summaries][:SUGGESTED]


def _headings(chunk: Chunk) -> Iterator[tuple[str, int]]:
    """Yield the headings of a chunk, each with the length of the text below it."""
    starts = chunk["metadata"].get("section_starts") or {str(chunk["start"]): chunk["section"]}
    places = sorted((max(int(offset), chunk["start"]), section) for offset, section in starts.items())
    ends = [start for start, _ in places[1:]] + [chunk["end"]]
    for (start, section), end in zip(places, ends, strict=True):
        heading = _NUMBER_OR_MARK.sub("", (section or "").rpartition(" > ")[2]).strip()
        if 0 < len(heading) <= LONGEST_HEADING:
            yield heading, end - start


def _questions(sizes: dict[str, int], *, german: bool) -> list[str]:
    """Return the questions for a document: headings that ask, then those with the most text below them."""
    questions = [heading for heading in sizes if heading.endswith("?")]
    # The title of a document names the whole document, so it is used only where there is no other heading.
    title = next(iter(sizes), None) if len(sizes) > 1 else None
    topics = [
        heading
        for heading, size in sorted(sizes.items(), key=lambda pair: -pair[1])
        if size >= LEAST_TEXT and heading != title and _is_topic(heading)
    ]
    form = "Was steht dort über „{}“?" if german else "What do the documents say about “{}”?"
    return [*questions, *map(form.format, topics)]


def _is_topic(heading: str) -> bool:
    if heading[-1] in "?!" or heading[:1].isdigit() or not 0 < len(words(heading)) <= MOST_WORDS:
        return False
    return bool(set(terms(heading)) - _GENERAL - ASKING_WORDS)
