"""Where sentences start and end: chunk borders, sentence vectors and extractive answers use the same."""

from __future__ import annotations


def sentence_spans(text: str, offset: int = 0) -> list[tuple[int, int]]:
    """Return the span of each sentence in `text`, without the blanks around it.

    Spans are shifted by `offset`, so that `sentence_spans(chunk["text"], chunk["start"])` counts as
    the chunk's own span does. They are in order, never overlap and are never empty.
    """
    raise NotImplementedError
