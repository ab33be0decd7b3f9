"""The second step of indexing: read one file to text, or give the reason why it cannot be read."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from adaptive_rag.errors import IndexingError, MissingExtraError
from adaptive_rag.ingest.allowance import ask_for_unpacked
from adaptive_rag.ingest.archives import on_disk, unpacked
from adaptive_rag.ingest.documents import SourceFile, SourceText, TextBuilder
from adaptive_rag.ingest.loaders import Loader
from adaptive_rag.text.letters import find_letters

TOO_LARGE = "needs more memory than a file may take. Split it into smaller files"
_ATTEMPTS = 2
# Text compresses up to 5 times in a Word document or a PDF. A file whose text exceeds this many characters
# plus this many times its size is not a document: "a" ten million times over makes a file of 10 kB.
_UNPACKED_CHARACTERS = 10_000_000
_UNPACKED_RATIO = 10
# Each record, such as a row, becomes a chunk. The shortest row takes 5 bytes in an Excel workbook and 2 in a
# CSV file. A file with more records than this plus its size in bytes is no document: a sheet of 10 kB may
# repeat one row a million times.
_UNPACKED_RECORDS = 20_000
_SUBJECT = re.compile(r"^Subject:[ \t]*([^\n]+)", re.MULTILINE)


def read_file(file: SourceFile, loader: Loader) -> SourceText:
    """Read a file in this process.

    Raises:
        IndexingError: it cannot be read, for whatever reason; the reason continues from the file's name.
        MissingExtraError: its loader needs a package that is not installed.
    """
    with reporting_errors(file.path):
        return _read_unchanged(file, loader)


@contextmanager
def reporting_errors(path: Path) -> Iterator[None]:
    """Turn any error of a loader into an IndexingError whose reason continues from the file's name."""
    try:
        yield
    except (IndexingError, MissingExtraError):
        raise
    except FileNotFoundError as error:
        reason = "vanished while it was read"
        if os.path.exists(on_disk(path)):  # it is another file that is missing, such as a temporary folder
            reason = f"cannot be read: {error.strerror or error}"
        elif os.path.islink(path):
            reason = "is a link to a file that does not exist"
        raise IndexingError(reason) from error
    except OSError as error:
        raise IndexingError(f"cannot be read: {error.strerror or error}") from error
    except MemoryError as error:
        raise IndexingError(TOO_LARGE) from error
    except RecursionError as error:
        raise IndexingError("is nested too deep to be read. Save it anew in a simpler form") from error
    # A library may raise anything on an unusual file; the error concerns that file alone.
    except Exception as error:
        raise IndexingError(
            f"cannot be read: its loader failed on it ({type(error).__name__}). Save it anew or convert it"
        ) from error


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, hexadecimal, equal to its `SourceText.content_hash`.

    Raises:
        IndexingError: the file is in an archive that cannot be read.
    """
    with unpacked(path) as readable, readable.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read_unchanged(file: SourceFile, loader: Loader) -> SourceText:
    """Read a file and check that it did not change meanwhile, so that its hash belongs to its text."""
    for _ in range(_ATTEMPTS):
        before = _state(file.path)
        try:
            text = _read(file, loader)
        except IndexingError:
            # A file that is only half written looks damaged.
            if _state(file.path) == before:
                raise
            continue
        if _state(file.path) == before:
            return text
    raise IndexingError(f"changed while it was read, {_ATTEMPTS} times. Index it again when it is finished")


def _read(file: SourceFile, loader: Loader) -> SourceText:
    """Read a file once, and refuse it if it unpacks to too much or holds no text."""
    builder = TextBuilder()
    with unpacked(file.path) as path:
        if path != file.path:
            ask_for_unpacked(file.path, path)
        loader(path, builder)
        if builder.length > _UNPACKED_CHARACTERS + _UNPACKED_RATIO * os.path.getsize(path):
            millions = f"{builder.length // 1_000_000:,} million characters"
            raise IndexingError(f"unpacks to {millions}, which no document of its size holds. Save it anew")
        _divide_letters(builder)
        text = builder.build(file.source, hash_file(path))
        if len(text.records) > _UNPACKED_RECORDS + os.path.getsize(path):
            rows = f"{len(text.records):,} rows"
            raise IndexingError(f"unpacks to {rows}, which no document of its size holds. Save it anew")
    if not any(map(str.isalnum, text.text)):
        if builder.hidden_words:
            raise IndexingError(f"holds no text: its styles hide {builder.hidden_words:,} words")
        raise IndexingError("holds no text")
    return text


def _divide_letters(builder: TextBuilder) -> None:
    """Make each letter or mail in a text a record, with its author and subject as for a mail.

    A letter without a subject has the first line of the text above all letters. Texts with records or with
    headings below the first letter stay as they are: a manual may show two mails as an example.
    """
    text = builder.text
    letters = [] if builder.has_records else find_letters(text)
    authors = [letter.author for letter in letters if letter.author]
    if len(authors) < 2 or builder.has_heading_after(letters[0].body):
        return
    preface = text[: letters[0].start].strip()
    title = preface.split("\n", 1)[0]
    if preface:
        builder.mark_record(text.index(preface), text.index(preface) + len(preface), {})
    ends = [*(letter.start for letter in letters[1:]), len(text)]
    for letter, end in zip(letters, ends, strict=True):
        header = text[letter.header : letter.body]
        subject = _SUBJECT.search(header)
        metadata = {"subject": subject[1].strip() if subject else title}
        if letter.author:
            metadata["from"] = letter.author
        builder.mark_heading(letter.author or header.strip().split("\n", 1)[0], 1, offset=letter.header)
        builder.mark_record(letter.header, letter.header + len(text[letter.header : end].rstrip()), metadata)


def _state(path: Path) -> tuple[int, int, int]:
    """Return a file's size, modification time and inode, which show whether it has changed.

    Raises:
        IndexingError: it is empty, or not an ordinary file; reading a pipe might wait forever.
    """
    status = os.stat(on_disk(path))
    if stat.S_ISDIR(status.st_mode):
        os.listdir(path)
        raise IndexingError("is a folder")
    if not stat.S_ISREG(status.st_mode):
        raise IndexingError("is no ordinary file but a pipe, a socket or a device")
    if status.st_size == 0:
        raise IndexingError("is empty: it has 0 bytes")
    return status.st_size, status.st_mtime_ns, status.st_ino
