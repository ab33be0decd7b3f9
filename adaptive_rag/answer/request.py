"""What the answering functions are given: a question, its documents, and vectors to compare them by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from adaptive_rag.models.onnx import Vectors
from adaptive_rag.source import Sentences
from adaptive_rag.state import Candidate, QueryType


@dataclass(frozen=True)
class Branch:
    """A sub-question or viewpoint that documents were fetched for."""

    label: str  # as it stands in the documents' `labels`
    vector: Vectors  # (dimension,)
    # What the reader sees above the branch's sentences; None has it made of the label, "" shows none.
    heading: str | None = None


@dataclass(frozen=True)
class AnswerRequest:
    """All that an answer is made of.

    Markers count documents: [n] is `documents[n - 1]`, so that an answer, its prompt and the documents
    of the output agree without renumbering.
    """

    question: str
    query_type: QueryType
    documents: Sequence[Candidate]  # in rank order
    sentences: Sequence[Sentences]  # one for each document; spans count as the document's own do
    question_vector: Vectors  # (dimension,)
    branches: Sequence[Branch] = ()
    user_context: str = ""
    context_vector: Vectors | None = field(default=None)  # (dimension,), where user_context is given

    def __post_init__(self) -> None:
        if len(self.documents) != len(self.sentences):
            raise ValueError(
                f"Got {len(self.documents)} documents and the sentences of {len(self.sentences)}; "
                "expected one Sentences for each document."
            )


def cosines(vectors: NDArray[np.floating], vector: Vectors) -> NDArray[np.float32]:
    """Return the cosine of each unit row with a unit vector; shape (rows,)."""
    return np.asarray(vectors.astype(np.float32) @ vector, dtype=np.float32)
