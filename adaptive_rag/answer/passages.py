"""Reads a passage that was joined of chunks: each chunk again, and the sentences of all, each once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count

import numpy as np

from adaptive_rag.ingest.chunking import page_in_chunk
from adaptive_rag.source import Sentences
from adaptive_rag.state import Candidate, Part


def chunks_of(passage: Candidate) -> list[Candidate]:
    """Return the chunks of a passage in the order of the source; its own self where it was not joined.

    A chunk whose beginning stands in another passage holds only the rest of its text.
    """
    return [
        {
            "id": part["id"],
            "source": passage["source"],
            "page": page_in_chunk(passage, start := max(part["start"], passage["start"])),
            "section": part["section"],
            "start": start,
            "end": part["end"],
            "text": passage["text"][start - passage["start"] : part["end"] - passage["start"]],
            "metadata": passage["metadata"],
            "scores": part["scores"],
            "labels": part["labels"],
        }
        for part in passage.get("parts", [])
    ] or [passage]


def chunk_at(passage: Candidate, start: int, end: int) -> Candidate:
    """Return the chunk that a span of a passage stands in: the first, where two share it."""
    chunks = chunks_of(passage)
    whole = (chunk for chunk in chunks if chunk["start"] <= start and end <= chunk["end"])
    return next(whole, chunks[-1])


def parts_at(passage: Candidate, start: int, end: int) -> list[Part]:
    """Return the parts that hold some of a span, in the order of the source."""
    return [part for part in passage.get("parts", []) if part["start"] < end and start < part["end"]]


def section_at(passage: Candidate, start: int, end: int) -> str | None:
    """Return the section of what stands at a span: the first chunk's, where two share it."""
    found = (part["section"] for part in parts_at(passage, start, end) if end <= part["end"])
    return next(found, passage["section"])


def labels_at(passage: Candidate, start: int, end: int) -> set[str]:
    """Return the labels of the queries that found what stands at a span."""
    if "parts" not in passage:
        return set(passage["labels"])
    return {label for part in parts_at(passage, start, end) for label in part["labels"]}


def ranks_of(passages: Sequence[Candidate]) -> list[int]:
    """Return, for each passage, the rank of its best chunk before any were joined, from 1."""
    taken = {part["rank"] for passage in passages for part in passage.get("parts", [])}
    free = (rank for rank in count(1) if rank not in taken)
    return [
        min(part["rank"] for part in passage["parts"]) if "parts" in passage else next(free)
        for passage in passages
    ]


def as_ranked(passages: Sequence[Candidate]) -> list[Candidate]:
    """Return the chunks of all passages as they were ranked before any were joined."""
    ranked: dict[int, Candidate] = {}
    for rank, passage in zip(ranks_of(passages), passages, strict=True):
        ranks = [part["rank"] for part in passage["parts"]] if "parts" in passage else [rank]
        ranked.update(zip(ranks, chunks_of(passage), strict=True))
    return [ranked[rank] for rank in sorted(ranked)]


def read_sentences(
    passages: Sequence[Candidate], read: Callable[[Sequence[str]], list[Sentences]]
) -> list[Sentences]:
    """Return the sentences of each passage, those that its chunks share once.

    Args:
        passages: joined or not.
        read: gives the sentences of chunks by their ids; it is asked once.
    """
    ids = [[part["id"] for part in passage.get("parts", [])] or [passage["id"]] for passage in passages]
    found = iter(read([id_ for several in ids for id_ in several]))
    return [
        _merge([next(found) for _ in several], passage)
        for passage, several in zip(passages, ids, strict=True)
    ]


def _merge(found: Sequence[Sentences], passage: Candidate) -> Sentences:
    """Put the sentences of a passage's chunks in order; of two that overlap the longer one stays.

    The shorter one was cut by the border of its chunk.
    """
    if "parts" not in passage:
        return found[0]
    spans, vectors = (
        np.concatenate(arrays) for arrays in zip(*((s.spans, s.vectors) for s in found), strict=True)
    )
    places: list[tuple[int, int]] = [(start, end) for start, end in spans.tolist()]
    kept: list[int] = []
    for i in sorted(range(len(places)), key=lambda i: (places[i][0] - places[i][1], i)):
        start, end = places[i]
        inside = passage["start"] < end and start < passage["end"]
        if inside and all(end <= places[k][0] or places[k][1] <= start for k in kept):
            kept.append(i)
    kept.sort(key=lambda i: places[i])
    return Sentences(spans[kept], vectors[kept])
