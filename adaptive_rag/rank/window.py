"""Decides how many of the ranked candidates reach the answer, and joins those that overlap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adaptive_rag.context import Context, Profile
from adaptive_rag.ingest.chunking import page_in_chunk
from adaptive_rag.models.onnx import load_minilm
from adaptive_rag.rank.relevance import best_sentence
from adaptive_rag.search.fusion import min_max, with_scores
from adaptive_rag.source import ChunkSource
from adaptive_rag.state import Candidate, Complexity, Decision, Part, QueryAnalysis

BASE: dict[Profile, int] = {"conservative": 3, "balanced": 5, "aggressive": 8}
BY_COMPLEXITY: dict[Complexity, float] = {"basic": 0.8, "intermediate": 1.0, "advanced": 1.3}
BYTES_PER_TOKEN = 4  # of English text, on average; scripts of two or three bytes a letter need more tokens
# Characters of a joined passage, about five chunks in a row: a marker should not stand for half a book.
LONGEST = 4000
# One place in so many is reserved for the user's situation.
PASSAGES_PER_PLACE = 4
RANKED_BY = ("relevance", "hedged", "fused")
_PLACES = {"page_starts", "page_end", "start_index"}
_NONE = object()


def window_size(context: Context, analysis: QueryAnalysis) -> tuple[int, str]:
    """Return how many chunks to keep, and why."""
    if context.profile is None:
        return context.k, "k"
    size = BASE[context.profile] * BY_COMPLEXITY[analysis["complexity"]]
    relevance = analysis["domain_relevance"]
    size *= 1.1 if relevance > 0.8 else 0.7 if relevance < 0.3 else 1.0
    return max(1, round(size)), f"{context.profile} profile, {analysis['complexity']} question"


def threshold(scores: Sequence[float]) -> float:
    """Return the score under which a candidate is dropped: mean - standard deviation of all of them."""
    return float(np.mean(scores) - np.std(scores)) if scores else 0.0


def keep_window(
    candidates: Sequence[Candidate],
    context: Context,
    analysis: QueryAnalysis,
    *,
    cut_at: float | None = None,
) -> tuple[list[Candidate], list[Decision]]:
    """Return the first candidates, and the decisions for the trace; one is kept whatever it scores.

    Args:
        candidates: ranked, best first.
        context: the run's settings; `window` switches the threshold.
        analysis: complexity and domain relevance set the size where a profile is given.
        cut_at: the threshold, where it was taken from more candidates than these.
    """
    size, why = window_size(context, analysis)
    kept = list(candidates[:size])
    decisions = [Decision(what="window", chosen=size, why=why)]
    if context.uses("window") and kept:
        limit = threshold([_score(candidate) for candidate in candidates]) if cut_at is None else cut_at
        strong = [candidate for candidate in kept if _score(candidate) >= limit] or kept[:1]
        if len(strong) < len(kept):
            decisions.append(
                Decision(what="window", chosen=len(strong), why=f"the others score under {limit:.3f}")
            )
        kept = strong
    return kept, decisions


def reserve_for_context(
    source: ChunkSource, situation: str, candidates: Sequence[Candidate], k: int
) -> list[Candidate]:
    """Return the candidates, the last of the first k places given to those nearest to the user's situation.

    A short situation ("I am a nurse") hardly moves the vector of the question that it is joined to, and
    an irrelevant one must not displace the best passages: so it decides the last places alone, by
    relevance and the best sentence's similarity to the situation, both min-max scaled.

    Args:
        source: holds the sentences.
        situation: what the asker says of themselves.
        candidates: ranked, best first, with `scores["relevance"]`.
        k: how many will be kept.
    """
    places = k // PASSAGES_PER_PLACE
    if not places or len(candidates) <= k - places:
        return list(candidates)
    sentences = source.sentences([candidate["id"] for candidate in candidates])
    # Headings count here: "If you farm" says for whom a passage is written.
    near = best_sentence(load_minilm().encode([situation])[0], [found.vectors for found in sentences])
    relevance = min_max(np.array([candidate["scores"]["relevance"] for candidate in candidates]))
    ranked = [with_scores(c, situation=float(value)) for c, value in zip(candidates, near, strict=True)]
    kept, rest = ranked[: k - places], list(range(k - places, len(ranked)))
    worth = relevance + min_max(near)
    rest.sort(key=lambda i: -worth[i])
    reserved = sorted(rest[:places])
    return [*kept, *(ranked[i] for i in reserved), *(ranked[i] for i in sorted(rest[places:]))]


def read_passages(ranked: Sequence[Candidate], context: Context) -> tuple[list[Candidate], list[Decision]]:
    """Return the passages that an answer is made from, and the decisions for the trace.

    The first chunks that fit into `context_tokens` are read, one at least; those that overlap become one
    passage unless `join` is off.
    """
    decisions = []
    fitting = within_budget(ranked, context.context_tokens)
    if len(fitting) < len(ranked):
        why = f"more would exceed {context.context_tokens} tokens"
        decisions.append(Decision(what="window", chosen=len(fitting), why=why))
    if not context.join:
        return fitting, decisions
    passages = join_neighbours(fitting)
    if len(joined := [passage for passage in passages if "parts" in passage]) > 0:
        overlapping = len({part["id"] for passage in joined for part in passage["parts"]})
        why = f"{overlapping} of {len(fitting)} chunks overlap, and no text is read twice"
        decisions.append(Decision(what="passages", chosen=len(passages), why=why))
    return passages, decisions


def within_budget(candidates: Sequence[Candidate], tokens: int) -> list[Candidate]:
    """Return the first candidates whose texts fit into a number of tokens together, never fewer than one."""
    spent = 0
    for kept, candidate in enumerate(candidates):
        spent += _estimated_tokens(candidate["text"])
        if spent > tokens and kept:
            return list(candidates[:kept])
    return list(candidates)


def join_neighbours(ranked: Sequence[Candidate], longest: int = LONGEST) -> list[Candidate]:
    """Join chunks of one source whose spans overlap or touch into one passage, at the best one's rank.

    A passage has the highest of each score, what its chunks' metadata agree on, and every chunk under
    `parts`. Where it would grow beyond `longest` characters another one begins with what is new. Chunks
    stay as they are whose text is not that of their span, or differs where their spans overlap: an app's
    own retriever may count the pages of a source from 0 each.
    """
    passages: list[Candidate] = []
    in_order = sorted(enumerate(ranked, start=1), key=lambda pair: (pair[1]["start"], pair[1]["end"]))
    for rank, chunk in in_order:
        alone: Candidate = {**chunk, "parts": [_part(rank, chunk)]}
        at = next((i for i in reversed(range(len(passages))) if _goes_on(passages[i], chunk)), None)
        if at is None:
            passages.append(alone)
            continue
        before = passages[at]
        new = chunk["text"][before["end"] - chunk["start"] :].lstrip()
        if not new or chunk["end"] - before["start"] <= longest:
            passages[at] = _join(before, alone)
        else:
            passages.append(_from(chunk["end"] - len(new), alone))
    passages.sort(key=lambda passage: min(part["rank"] for part in passage["parts"]))
    chunks = [ranked[passage["parts"][0]["rank"] - 1] for passage in passages]
    return [
        chunk if chunk["text"] == passage["text"] and len(passage["parts"]) == 1 else passage
        for chunk, passage in zip(chunks, passages, strict=True)
    ]


def _goes_on(passage: Candidate, chunk: Candidate) -> bool:
    """Tell whether a chunk that starts no earlier than a passage's first goes on where it ends, or before."""
    start, end = max(passage["start"], chunk["start"]), min(passage["end"], chunk["end"])
    plain = all(len(c["text"]) == c["end"] - c["start"] for c in (passage, chunk))
    if not plain or passage["source"] != chunk["source"] or start > end:
        return False
    if page_in_chunk(passage, start) != page_in_chunk(chunk, start):
        return False
    if start == end:
        return _of_all(passage) == _of_all(chunk)
    mine, other = (c["text"][start - c["start"] : end - c["start"]] for c in (passage, chunk))
    return mine == other


def _join(first: Candidate, second: Candidate) -> Candidate:
    parts = sorted([*first["parts"], *second["parts"]], key=lambda part: (part["start"], part["end"]))
    by_rank = sorted(parts, key=lambda part: part["rank"])
    text = first["text"] + second["text"][max(0, first["end"] - second["start"]) :]
    better = min(first, second, key=lambda c: min(part["rank"] for part in c["parts"]))
    passage: Candidate = {
        **better,
        "page": first["page"],
        "section": first["section"],
        "start": first["start"],
        "end": first["start"] + len(text),
        "text": text,
        "scores": {
            name: max(part["scores"][name] for part in parts if name in part["scores"])
            for name in dict.fromkeys(name for part in by_rank for name in part["scores"])
        },
        "labels": list(dict.fromkeys(label for part in by_rank for label in part["labels"])),
        "parts": parts,
    }
    mine, theirs = _of_all(first), _of_all(second)
    passage["metadata"] = {name: value for name, value in mine.items() if theirs.get(name, _NONE) == value}
    starts = {**first["metadata"].get("page_starts", {}), **second["metadata"].get("page_starts", {})}
    if starts:
        passage["metadata"]["page_starts"] = dict(sorted(starts.items(), key=lambda pair: pair[1]))
        passage["metadata"]["page_end"] = page_in_chunk(passage, passage["end"] - 1)
    return passage


def _from(start: int, chunk: Candidate) -> Candidate:
    """Return what a chunk holds from a place on."""
    text = chunk["text"][start - chunk["start"] :]
    return {**chunk, "page": page_in_chunk(chunk, start), "start": start, "text": text}


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


def _of_all(chunk: Candidate) -> dict[str, Any]:
    """Return the metadata that do not say where in its source a chunk stands."""
    return {name: value for name, value in chunk["metadata"].items() if name not in _PLACES}


def _estimated_tokens(text: str) -> int:
    return -(-len(text.encode(errors="surrogatepass")) // BYTES_PER_TOKEN)


def _score(candidate: Candidate) -> float:
    scores = candidate["scores"]
    return next((scores[name] for name in RANKED_BY if name in scores), 0.0)
