"""Turns read and write errors of the store into one readable error that says what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from adaptive_rag.errors import AdaptiveRAGError, IndexDamagedError, IndexingError
from adaptive_rag.index.bucket import refusal, unreachable
from adaptive_rag.index.manifest import repair_hint

# Parts of a disk's error messages, and what they mean.
DISK = {
    "No space left": "the disk is full",
    "Disk quota exceeded": "the disk's quota is used up",
    "File too large": "a file is larger than the system allows",
    "Read-only": "the disk is read-only",
    "Permission denied": "you have no right to write there",
}
# Class names of a Rust panic: no module exports them, and one does not derive from Exception.
PANICS = ("PanicException", "RustPanic")


def _is_of_store(error: BaseException) -> bool:
    """Tell whether an error may come from LanceDB, Arrow, numpy or the disk."""
    import pyarrow as pa

    kinds = (OSError, RuntimeError, ValueError, pa.ArrowException)
    named = type(error).__name__ in PANICS
    return named or (isinstance(error, kinds) and not isinstance(error, AdaptiveRAGError))


def first_line(error: BaseException) -> str:
    """Return the first line of the message of an error, or of its cause if it has one."""
    said = error.__cause__ or error
    return (str(said).strip() or repr(said)).splitlines()[0]


@contextmanager
def storing(uri: str) -> Iterator[None]:
    """Turn errors of the store during writing into one readable error.

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
    """Turn errors of the store during reading into one readable error.

    Raises:
        IndexDamagedError: reading failed; the message says what was being read.
        IndexUnreachableError: the bucket that holds the index does not answer, or denies access.
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
