"""Turns errors of the store, at reading and at writing, into one readable error with the way out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from adaptive_rag.errors import AdaptiveRAGError, IndexDamagedError, IndexingError
from adaptive_rag.index.bucket import refusal, unreachable
from adaptive_rag.index.manifest import repair_hint

# By a part of a disk's error message its meaning.
DISK = {
    "No space left": "the disk is full",
    "Disk quota exceeded": "the disk's quota is used up",
    "File too large": "a file is larger than the system allows",
    "Read-only": "the disk is read-only",
    "Permission denied": "you have no right to write there",
}
# Names of the classes of a Rust panic: no module exports them, and one is no Exception.
PANICS = ("PanicException", "RustPanic")


def _is_of_store(error: BaseException) -> bool:
    """Tell whether an error may come from LanceDB, Arrow, numpy or a disk."""
    import pyarrow as pa

    kinds = (OSError, RuntimeError, ValueError, pa.ArrowException)
    named = type(error).__name__ in PANICS
    return named or (isinstance(error, kinds) and not isinstance(error, AdaptiveRAGError))


def first_line(error: BaseException) -> str:
    """Return what an error says, or its cause if it has one, without what follows in later lines."""
    said = error.__cause__ or error
    return (str(said).strip() or repr(said)).splitlines()[0]


@contextmanager
def storing(uri: str) -> Iterator[None]:
    """Turn what goes wrong while writing into one readable error.

    Raises:
        IndexingError: the disk is full or read-only, or the store failed.
    """
    try:
        yield
    except BaseException as error:
        if not _is_of_store(error):
            raise
        known = refusal(error) if "://" in uri else ""
        known = known or next((plain for sign, plain in DISK.items() if sign in str(error)), "")
        once_mended = "run the same command again once this is mended."
        else_damaged = f"run the same command again. Where that does not help: {repair_hint(uri)}"
        raise IndexingError(
            f"The index {uri} could not be written: {known or first_line(error)}. Its last complete state is "
            f"untouched; {once_mended if known else else_damaged}"
        ) from error


@contextmanager
def reading(uri: str, what: str) -> Iterator[None]:
    """Turn what goes wrong while the store is read into one readable error.

    Raises:
        IndexDamagedError: it failed; the message says what was read.
        IndexUnreachableError: the bucket that holds it does not answer, or refuses.
    """
    try:
        yield
    except BaseException as error:
        if not _is_of_store(error):
            raise
        if "://" in uri and refusal(error):
            raise unreachable(uri, error) from error
        raise IndexDamagedError(
            f"The index {uri} is damaged, or cannot be reached: {what} cannot be read ({first_line(error)}). "
            f"Mend it with: {repair_hint(uri)}"
        ) from error
