"""What flows through the graph for indexing, and its settings."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

# Studio draws its forms with pydantic, which cannot read typing's own TypedDict before Python 3.12.
from typing_extensions import TypedDict

from adaptive_rag.context import make_context


def _default_index() -> str:
    index = make_context().index
    return index if isinstance(index, str) else ".adaptive-rag"


class IndexingContext(BaseModel):
    """The settings of one indexing run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    index: str = Field(default_factory=_default_index, description="Folder or URI of the index.")
    embeddings: str | None = Field(
        None, description="Embedding model as 'provider:name'; by default the embedded one."
    )
    chunk_size: int = Field(1000, ge=100, le=20_000, description="Characters a chunk has at most.")
    chunk_overlap: int = Field(200, ge=0, le=10_000, description="Characters that neighbours share at most.")
    sentence_vectors: bool = Field(True, description="Keep a vector for every sentence.")
    prune: bool = Field(True, description="Remove what vanished from the folders named.")
    rebuild: bool = Field(False, description="Make the index anew, with these settings.")


class IndexingInput(TypedDict):
    """What a caller passes."""

    paths: Annotated[list[str], Field(description="Files, folders or patterns such as 'docs/*.pdf'.")]


class IndexingState(IndexingInput, total=False):
    """The whole state of one indexing run."""

    # written by discover; the files under the paths
    files: list[str]
    # written by store; what was added, updated, removed, left as it was, or could not be read
    report: dict[str, object]


class IndexingOutput(TypedDict):
    """What a caller gets."""

    files: list[str]
    report: dict[str, object]
