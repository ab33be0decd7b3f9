"""Builders that the retrieval tests share."""

from collections.abc import Callable

import pytest

from adaptive_rag.state import Candidate


@pytest.fixture
def make() -> Callable[..., Candidate]:
    """Return a function that makes a candidate; keyword arguments beyond the span are its scores."""

    def candidate(
        id_: str, text: str = "", *, start: int = 0, source: str = "a.txt", **scores: float
    ) -> Candidate:
        return Candidate(
            id=id_,
            source=source,
            page=None,
            section=None,
            start=start,
            end=start + len(text),
            text=text,
            metadata={},
            scores=scores,
            labels=[],
        )

    return candidate
