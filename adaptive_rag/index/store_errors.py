"""Turns read and write errors of the store into a readable error that says what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from adaptive_rag.errors import AdaptiveRAGError, IndexDamagedError, IndexingError
from adaptive_rag.index.bucket import explain_refusal, unreachable_error
from adaptive_rag.index.manifest import repair_hint

# Parts of a disk's error messages, with their meaning.
DISK = {
    "No space left": "the disk is full",
    "Disk quota exceeded": "the disk's quota is used up",
    "File too large": "a file is larger than the system allows",
    "Read-only": "the disk is read-only",
    "Permission denied": "you have no right to write there",
}
# The class names of a Rust panic. No module exports these classes, and one does not derive from Exception.
PANICS = ("PanicException", "RustPanic")


def _is_store_error(error: BaseException) -> bool:
    """Return whether an error may come from LanceDB, Arrow, numpy or the disk."""
    import pyarrow as pa

    types = (OSError, RuntimeError, ValueError, pa.ArrowException)
    is_panic = type(error).__name__ in PANICS
    return is_panic or (isinstance(error, types) and not isinstance(error, AdaptiveRAGError))


def first_line(error: BaseException) -> str:
    """Return the first line of the message of an error, or of its cause if it has one."""
    source = error.__cause__ or error
    return (str(source).strip() or repr(source)).splitlines()[0]


@contextmanager
def explain_write_errors(uri: str) -> Iterator[None]:
    """Turn an error of the store during writing into a readable one."""
    try:
        yield
    except BaseException as error:
        if not _is_store_error(error):
            raise
        reason = explain_refusal(error) if "://" in uri else ""
        reason = reason or next((meaning for part, meaning in DISK.items() if part in str(error)), "")
        remedy = "Run the same command again "
        remedy += "once this is fixed." if reason else f"or, if that does not help: {repair_hint(uri)}"
        raise IndexingError(
            f"The index {uri} could not be written: {reason or first_line(error)}. Its last complete state "
            f"is untouched. {remedy}"
        ) from error


@contextmanager
def explain_read_errors(uri: str, part: str) -> Iterator[None]:
    """Turn an error of the store during reading into a readable one; `part` names what is read.

    Raises:
        IndexDamagedError: reading failed.
        IndexUnreachableError: the bucket that holds the index does not answer, or denies access.
    """
    try:
        yield
    except BaseException as error:
        if not _is_store_error(error):
            raise
        if "://" in uri and explain_refusal(error):
            raise unreachable_error(uri, error) from error
        raise IndexDamagedError(
            f"The index {uri} is damaged, or cannot be reached: {part} cannot be read ({first_line(error)}). "
            f"Repair it with: {repair_hint(uri)}"
        ) from error
