"""Makes the passages for an answer: ranked chunks, joined where they overlap, with their sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, chain, count
from typing import Any

import numpy as np

from adaptive_rag.source import Sentences
from adaptive_rag.state import Candidate, Chunk, Citation, Decision, Part
from adaptive_rag.text.ocr import ocr_confidence
from adaptive_rag.text.phrases import decide, say
from adaptive_rag.text.places import page_at, place_at, section_at
from adaptive_rag.text.tokens import count_tokens

# Maximum number of characters of a joined passage, about five consecutive chunks: a marker should not stand
# for half a book.
LONGEST = 4000
# Metadata about a chunk's position in its source, in which neighbouring chunks differ.
_POSITION_KEYS = frozenset(
    "line page_starts page_end section_starts speakers start_index ocr ocr_confidence ocr_spans".split()
)
_MISSING = object()


def read_passages(
    ranked: Sequence[Candidate], *, tokens: int, join: bool
) -> tuple[list[Candidate], list[Decision]]:
    """Return the passages for an answer, and the decisions for the trace.

    Args:
        ranked: the chunks, best first.
        tokens: the budget; the first chunks that fit into it are read, and at least one.
        join: whether chunks that overlap are joined into one passage.
    """
    decisions = list[Decision]()
    fitting = within_budget(ranked, tokens)
    if len(fitting) < len(ranked):
        decisions.append(decide("window", len(fitting), say("would_exceed", tokens=tokens)))
    if not join:
        return fitting, decisions
    passages = join_neighbours(fitting)
    if overlapping := len({part["id"] for passage in passages for part in passage.get("parts", [])}):
        why = say("overlap", n=overlapping, all=len(fitting))
        decisions.append(decide("passages", len(passages), why))
    return passages, decisions


def within_budget(candidates: Sequence[Candidate], tokens: int) -> list[Candidate]:
    """Return the first candidates whose texts together fit into a number of tokens, and at least one."""
    totals = accumulate(count_tokens(candidate["text"]) for candidate in candidates)
    return list(candidates[: max(1, sum(total <= tokens for total in totals))])


def join_neighbours(ranked: Sequence[Candidate], longest: int = LONGEST) -> list[Candidate]:
    """Join chunks of one source whose spans overlap or touch into one passage, at the rank of the best one.

    A passage has the highest of each score, the metadata that its chunks agree on, and every chunk under
    `parts`. If a chunk would make the passage longer than `longest` characters, the rest of its text begins
    another passage. A chunk is not joined where its text does not match its span, or differs from the other
    text at the same position: an app's own retriever may count each page of a source from 0.
    """
    passages: list[Candidate] = []
    in_order = sorted(enumerate(ranked, start=1), key=lambda pair: (pair[1]["start"], pair[1]["end"]))
    for rank, chunk in in_order:
        new: Candidate = {**chunk, "parts": [_part(rank, chunk)]}
        index = next((i for i in reversed(range(len(passages))) if _continues(passages[i], chunk)), None)
        if index is None:
            passages.append(new)
            continue
        passage = passages[index]
        rest = chunk["text"][passage["end"] - chunk["start"] :].lstrip()
        if not rest or chunk["end"] - passage["start"] <= longest:
            passages[index] = _join(passage, new)
        else:
            passages.append(_slice(new, chunk["end"] - len(rest), chunk["end"]))
    passages.sort(key=_best_rank)
    chunks = [ranked[passage["parts"][0]["rank"] - 1] for passage in passages]
    return [
        chunk if chunk["text"] == passage["text"] and len(passage["parts"]) == 1 else passage
        for chunk, passage in zip(chunks, passages, strict=True)
    ]


def text_at(passage: Chunk, start: int, end: int) -> str:
    """Return the text of a span, given in the offsets of the passage's own span."""
    return passage["text"][max(0, start - passage["start"]) : max(0, end - passage["start"])]


def cite_span(passage: Candidate, marker: int, start: int, end: int) -> Citation:
    """Return the citation of a span in the passage that [marker] refers to."""
    citation = Citation(
        marker=marker,
        source=passage["source"],
        page=page_at(passage, start),
        place=place_at(passage, start, end),
        start=start,
        end=end,
        quote=text_at(passage, start, end),
    )
    confidence = ocr_confidence(passage["metadata"].get("ocr_spans", ()), start, end)
    if confidence is not None:
        citation["ocr_confidence"] = confidence
    if names := passage["metadata"].get("also_as"):
        citation["also_as"] = names
    return citation


def chunks_of(passage: Candidate) -> list[Candidate]:
    """Return the chunks of a passage in the order of the source, or the passage itself if it is one chunk.

    A chunk whose beginning is in another passage has only the rest of its text.
    """
    return [
        {
            "id": part["id"],
            "source": passage["source"],
            "page": piece["page"],
            "section": part["section"],
            "start": piece["start"],
            "end": part["end"],
            "text": piece["text"],
            "metadata": piece["metadata"],
            "scores": part["scores"],
            "labels": part["labels"],
        }
        for part in passage.get("parts", [])
        for piece in [_slice(passage, max(part["start"], passage["start"]), part["end"])]
    ] or [passage]


def parts_at(passage: Candidate, start: int, end: int) -> list[Part]:
    """Return the parts that overlap a span, in the order of the source."""
    return [part for part in passage.get("parts", []) if part["start"] < end and start < part["end"]]


def ranks_of(passages: Sequence[Candidate]) -> list[int]:
    """Return, for each passage, the rank of its best chunk before the joining, from 1."""
    taken = {part["rank"] for passage in passages for part in passage.get("parts", [])}
    free = (rank for rank in count(1) if rank not in taken)
    return [_best_rank(passage) if "parts" in passage else next(free) for passage in passages]


def as_ranked(passages: Sequence[Candidate]) -> list[Candidate]:
    """Return the chunks of all passages in their ranking before the joining."""
    ranked: dict[int, Candidate] = {}
    for rank, passage in zip(ranks_of(passages), passages, strict=True):
        ranks = [part["rank"] for part in passage["parts"]] if "parts" in passage else [rank]
        ranked.update(zip(ranks, chunks_of(passage), strict=True))
    return [ranked[rank] for rank in sorted(ranked)]


def read_sentences(
    passages: Sequence[Candidate], read: Callable[[Sequence[str]], list[Sentences]]
) -> list[Sentences]:
    """Return the sentences of each passage; a sentence that several of its chunks share appears once.

    Args:
        passages: the passages, joined or not.
        read: returns the sentences of chunks by their ids; it is called once.
    """
    ids = [[part["id"] for part in passage.get("parts", [])] or [passage["id"]] for passage in passages]
    sentences = iter(read(list(chain(*ids))))
    return [
        _merge_sentences([next(sentences) for _ in chunk_ids], passage)
        for passage, chunk_ids in zip(passages, ids, strict=True)
    ]


def _merge_sentences(by_chunk: Sequence[Sentences], passage: Candidate) -> Sentences:
    """Merge the sentences of a passage's chunks in order; of two that overlap, keep the longer one.

    The shorter one was cut at the border of its chunk.
    """
    if "parts" not in passage:
        return by_chunk[0]
    vectors = np.concatenate([sentences.vectors for sentences in by_chunk])
    all_spans = np.concatenate([sentences.spans for sentences in by_chunk])
    spans: list[tuple[int, int]] = [(start, end) for start, end in all_spans.tolist()]
    kept: list[int] = []
    for i in sorted(range(len(spans)), key=lambda i: (spans[i][0] - spans[i][1], i)):  # longest first
        start, end = spans[i]
        is_inside = passage["start"] < end and start < passage["end"]
        if is_inside and all(end <= spans[k][0] or spans[k][1] <= start for k in kept):
            kept.append(i)
    kept.sort(key=lambda i: spans[i])
    return Sentences(all_spans[kept], vectors[kept])


def _continues(passage: Candidate, chunk: Candidate) -> bool:
    """Return whether a chunk continues a passage: it overlaps it with the same text, or begins at its end.

    The chunk must not start before the passage. A chunk that only touches the passage must have the same
    metadata: the next row of a table begins where the last one ends, but is another record.
    """
    start, end = max(passage["start"], chunk["start"]), min(passage["end"], chunk["end"])
    texts_match_spans = all(len(c["text"]) == c["end"] - c["start"] for c in (passage, chunk))
    if not texts_match_spans or passage["source"] != chunk["source"] or start > end:
        return False
    if page_at(passage, start) != page_at(chunk, start):
        return False
    if start == end:
        return _shared_metadata(passage) == _shared_metadata(chunk)
    return text_at(passage, start, end) == text_at(chunk, start, end)


def _join(first: Candidate, second: Candidate) -> Candidate:
    parts = sorted([*first["parts"], *second["parts"]], key=lambda part: (part["start"], part["end"]))
    by_rank = sorted(parts, key=lambda part: part["rank"])
    text = first["text"] + second["text"][max(0, first["end"] - second["start"]) :]
    second_metadata = _shared_metadata(second)
    passage: Candidate = {
        **min(first, second, key=_best_rank),
        "page": first["page"],
        "section": first["section"],
        "start": first["start"],
        "end": first["start"] + len(text),
        "text": text,
        "metadata": {
            name: value
            for name, value in _shared_metadata(first).items()
            if second_metadata.get(name, _MISSING) == value
        },
        "scores": {
            name: max(part["scores"][name] for part in parts if name in part["scores"])
            for name in dict.fromkeys(name for part in by_rank for name in part["scores"])
        },
        "labels": list(dict.fromkeys(label for part in by_rank for label in part["labels"])),
        "parts": parts,
    }
    if "line" in first["metadata"]:
        passage["metadata"]["line"] = first["metadata"]["line"]
    if any("speakers" in chunk["metadata"] for chunk in (first, second)):
        speakers = [name for chunk in (first, second) for name in chunk["metadata"].get("speakers", ())]
        passage["metadata"]["speakers"] = list(dict.fromkeys(speakers))
    if any("section_starts" in chunk["metadata"] for chunk in (first, second)):
        sections = {**_section_starts(first), **_section_starts(second)}
        passage["metadata"]["section_starts"] = dict(sorted(sections.items(), key=lambda pair: int(pair[0])))
    page_starts = {**first["metadata"].get("page_starts", {}), **second["metadata"].get("page_starts", {})}
    if page_starts:
        passage["metadata"]["page_starts"] = dict(sorted(page_starts.items(), key=lambda pair: pair[1]))
        passage["metadata"]["page_end"] = page_at(passage, passage["end"] - 1)
    ocr_spans = {tuple(span) for part in (first, second) for span in part["metadata"].get("ocr_spans", ())}
    if ocr_spans:
        spans = [list(span) for span in sorted(ocr_spans)]
        confidence = ocr_confidence(spans, passage["start"], passage["end"])
        passage["metadata"] |= {"ocr": True, "ocr_confidence": confidence, "ocr_spans": spans}
    return passage


def _section_starts(chunk: Candidate) -> dict[str, str | None]:
    return chunk["metadata"].get("section_starts") or {str(chunk["start"]): chunk["section"]}


def _slice(passage: Candidate, start: int, end: int) -> Candidate:
    """Return the part of a passage in a span, with its position metadata adjusted."""
    metadata = dict(passage["metadata"])
    if isinstance(line := metadata.get("line"), int):
        metadata["line"] = line + text_at(passage, passage["start"], start).count("\n")
    if not any(start < int(offset) < end for offset in metadata.get("section_starts", ())):
        metadata.pop("section_starts", None)
    return {
        **passage,
        "page": page_at(passage, start),
        "section": section_at(passage, start),
        "start": start,
        "end": end,
        "text": text_at(passage, start, end),
        "metadata": metadata,
    }


def _part(rank: int, chunk: Candidate) -> Part:
    return Part(
        id=chunk["id"],
        rank=rank,
        section=chunk["section"],
        start=chunk["start"],
        end=chunk["end"],
        scores=chunk["scores"],
        labels=chunk["labels"],
    )


def _best_rank(passage: Candidate) -> int:
    return min(part["rank"] for part in passage["parts"])


def _shared_metadata(chunk: Candidate) -> dict[str, Any]:
    """Return the metadata of a chunk other than its position in the source."""
    return {name: value for name, value in chunk["metadata"].items() if name not in _POSITION_KEYS}
