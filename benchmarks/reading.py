"""Measures how documents are read: words, tables, quotes, time and memory, beside other readers.

    python -m benchmarks.reading DATA/documents --markitdown VENV/bin/python

About 80 documents with known contents are made in all formats and layouts; DATA's PDFs stand beside a text of
the same name. For each format and reader, on the same files:

words       the share of a document's words that come in its order (longest common subsequence)
tables      the share of tables whose every cell stands, in one passage, with the names of its row and column
cells       the same for each cell
quotes      the share of sentences that one passage holds as a sentence of its own, word for word, at a span
            that a second reading of the file gives back
s / page    seconds a page; where a format has no pages, 3,000 characters are one
MB          by how much the memory of the process grew at most while it read one file

Each reader's text is cut into passages in the same way. With `--ask N` the program is asked for N cells of
each table ("What is the price of the brass hinge?"), and `asked` is the share of answers that hold the cell.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from adaptive_rag.ingest import extract_text, split
from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.markdown import add_markdown
from adaptive_rag.text.sentences import sentence_spans
from adaptive_rag.text.tables import find_tables
from benchmarks.made_documents import Document, Heading, Table, make_documents
from benchmarks.readers import READERS

COLUMNS = ("files", "words", "tables", "cells", "quotes", "s / page", "MB", "asked")
_PAGE = 3000
_READERS_FILE = Path(__file__).with_name("readers.py")
_NOTE = re.compile(r"^(?:\[?\d{1,2}\]?|[¹²³]) +(?=[A-Z])|\[?\d{1,2}\]?$")
# of a passage: the cells of a row by the names of their columns
_Row = Mapping[str, str]


def words_in_order(wanted: Sequence[str], found: Sequence[str]) -> int:
    """Return the length of the longest common subsequence of two lists of words.

    By the bit vectors of Hyyrö, "Bit-parallel LCS-length computation revisited" (2004).
    """
    places: dict[str, int] = defaultdict(int)
    for at, word in enumerate(wanted):
        places[word] |= 1 << at
    full = (1 << len(wanted)) - 1
    left = full
    for word in found:
        met = left & places.get(word, 0)
        left = ((left + met) | (left - met)) & full
    return len(wanted) - left.bit_count()


def kept_words(document: Document, text: str) -> float:
    """Return the share of a document's words that a text has in order; each footnote counts by itself."""
    found = _words(text)
    parts = [_words(part) for part in (document.text, *document.notes)]
    return sum(words_in_order(part, found) for part in parts) / sum(map(len, parts))


def named_rows(chunk: Mapping[str, Any]) -> Iterator[_Row]:
    """Yield the rows of a passage by the names of their columns, as table or as "name: cell" lines."""
    text, columns = chunk["text"], tuple(chunk["metadata"].get("columns", ()))
    for table in find_tables(text, columns):
        for row in table.rows:
            if len(row.cells) <= len(table.columns):
                yield dict(zip(table.columns, row.cells, strict=False))
    lines = (line.partition(": ") for line in text.split("\n"))
    if pairs := {name: cell for name, colon, cell in lines if colon}:
        yield pairs


def find_cells(table: Table, rows: Sequence[_Row]) -> Iterator[bool]:
    """Yield for each cell of a table whether a row holds it with the names of its row and its column."""
    names = table.columns
    for cells in table.rows:
        labels = [_plain(cell) for cell in cells[: table.labels]]
        held = [row for row in rows if set(labels) <= {_plain(cell) for cell in row.values()}]
        for name, cell in list(zip(names, cells, strict=True))[table.labels :]:
            yield any(_plain(row.get(name, "")) == _plain(cell) for row in held)


def kept_sentences(document: Document, chunks: Sequence[Mapping[str, Any]], text: str) -> float | None:
    """Return the share of a document's sentences that are quotes: a sentence of a passage at an exact span.

    `text` is that of a reading of its own, in which the spans count.
    """
    if not document.sentences:
        return None
    quotes = {
        _plain(text[start:end])
        for chunk in chunks
        for start, end in sentence_spans(chunk["text"], chunk["start"])
    }
    return sum(_plain(sentence) in quotes for sentence in document.sentences) / len(document.sentences)


def _plain(text: str) -> str:
    """Return a text without runs of blanks, marks of emphasis and the numbers of notes around it."""
    return _NOTE.sub("", " ".join(text.split())).strip("*_ ").casefold()


def _words(text: str) -> list[str]:
    """Return the words of a text; "Price:" before a cell is the name of its column."""
    return [word.rstrip(":") for word in text.split()]


def measure(document: Document, reader: str, result: Mapping[str, Any], asked: int) -> dict[str, float]:
    """Return the figures of one document and one reader."""
    text = result["text"]
    row = {"words": kept_words(document, text), "files": 1.0}
    if reader == "adaptive":
        chunks, second = result.get("chunks", []), extract_text(document.path).text
    else:
        builder = TextBuilder()
        add_markdown(text, builder)
        chunks, second = list(split(builder.build(document.path.name, ""))), text
    if (share := kept_sentences(document, chunks, second)) is not None:
        row["quotes"] = share
    rows = [row for chunk in chunks for row in named_rows(chunk)]
    if tables := [list(find_cells(table, rows)) for table in document.tables]:
        row["tables"] = sum(map(all, tables)) / len(tables)
        row["cells"] = sum(map(sum, tables)) / sum(map(len, tables))
    pages = max(1, _pages(document.path) or len(text) / _PAGE)
    row |= {"s / page": result["seconds"] / pages, "MB": result["memory"] / 1e6}
    if reader == "adaptive" and asked and document.tables:
        row["asked"] = ask(document, asked)
    return row


def ask(document: Document, count: int) -> float:
    """Return the share of answers that hold the cell asked for by the names of its row and its column."""
    from adaptive_rag import AdaptiveRAG

    rag = AdaptiveRAG.from_documents(document.path)
    cells = [
        (table.columns[at], row[: table.labels], row[at])
        for table in document.tables
        for row in table.rows
        for at in range(table.labels, len(row))
    ]
    held = []
    for column, labels, cell in random.Random(0).sample(cells, min(count, len(cells))):
        question = f"What is the {column.lower()} of the {' '.join(labels[::-1]).lower()}?"
        held.append(cell in rag.invoke(question)["answer"])
    return sum(held) / len(held)


def _pages(path: Path) -> int:
    if path.suffix != ".pdf":
        return 0
    import pymupdf

    with pymupdf.open(path) as document:
        return int(document.page_count)


def run_reader(reader: str, python: str, paths: Sequence[Path]) -> list[dict[str, Any]] | None:
    """Read files by a process of its own; None where the reader is not installed, as a line says."""
    if reader == "markitdown" and not _has(python, reader):
        sys.stderr.write(f"{reader} is not measured: {python} lacks it (pip install '{reader}[all]').\n")
        return None
    run = subprocess.run(
        [python, str(_READERS_FILE), reader],
        input="\n".join(map(str, paths)),
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        raise RuntimeError(f"{reader} ended with {run.returncode}: {run.stderr[-2000:]}")
    return [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]


def _has(python: str, package: str) -> bool:
    try:
        found = subprocess.run([python, "-c", f"import {package}"], capture_output=True, check=False)
    except FileNotFoundError:
        return False
    return not found.returncode


def public_documents(folder: Path) -> list[Document]:
    """Return the PDFs of a folder that stand beside a text of the same name, of which the words are known."""
    pairs = ((pdf, pdf.with_suffix(".txt")) for pdf in sorted(folder.glob("*.pdf")))
    return [
        Document(pdf, (Heading(text.read_text(encoding="utf-8")),)) for pdf, text in pairs if text.exists()
    ]


def say(name: str, reader: str, rows: Sequence[Mapping[str, float]]) -> None:
    """Print the mean of each column, of the files that know it; of the memory the most."""
    cells = []
    for column in COLUMNS:
        known = [row[column] for row in rows if column in row]
        if not known:
            cells.append("")
        elif column in ("files", "MB"):
            cells.append(f"{sum(known) if column == 'files' else max(known):.0f}")
        else:
            cells.append(f"{sum(known) / len(known):.{4 if column == 's / page' else 3}f}")
    sys.stdout.write(f"| {name} | {reader} | {' | '.join(cells)} |\n")
    sys.stdout.flush()


def main() -> None:
    """Read the options, make the documents and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?", help="a folder of PDFs, each beside a text of its name")
    parser.add_argument(
        "--markitdown", default=sys.executable, help="the Python that has markitdown installed"
    )
    parser.add_argument("--ask", type=int, default=0, help="ask for so many cells of each table")
    parser.add_argument("--each", action="store_true", help="print a line for each file too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        documents = make_documents(Path(folder))
        if options.data:
            documents += public_documents(options.data)
        compare(documents, options.markitdown, options.ask, each=options.each)


def compare(documents: Sequence[Document], markitdown: str, asked: int, *, each: bool) -> None:
    """Print a line for each format and reader, and one for all files of a reader."""
    sys.stdout.write(f"| format | reader | {' | '.join(COLUMNS)} |\n|---|---|{'--:|' * len(COLUMNS)}\n")
    formats: dict[str, dict[str, list[dict[str, float]]]] = defaultdict(lambda: defaultdict(list))
    for reader in READERS:
        # PyMuPDF takes any file for text; of what is no PDF, others read more than pages
        read = [each for each in documents if reader != "pymupdf" or each.path.suffix == ".pdf"]
        results = run_reader(
            reader, markitdown if reader == "markitdown" else sys.executable, [d.path for d in read]
        )
        for document, result in zip(read, results or (), strict=False):
            row = measure(document, reader, result, asked)
            if each:
                say(document.path.name, reader, [row])
            formats[document.path.suffix[1:]][reader].append(row)
            formats["all"][reader].append(row)
    for name in sorted(formats, key=lambda name: (name == "all", name)):
        for reader, rows in formats[name].items():
            say(name, reader, rows)


if __name__ == "__main__":
    main()
