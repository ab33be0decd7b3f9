"""Writes documents whose words, sentences and tables are known, in the formats and layouts that people have.

`python -m benchmarks.reading` measures how they are read. The same contents (prose, lists in lists, long and
merged tables, footnotes, right to left, formulas) are written in each format that can hold them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Heading:
    """A heading; level 1 is the outermost."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Paragraph:
    """Sentences, and the footnote that its end refers to, if it has one."""

    sentences: tuple[str, ...]
    note: str = ""

    @property
    def text(self) -> str:
        """Return the sentences as one text."""
        return " ".join(self.sentences)


@dataclass(frozen=True)
class Items:
    """Items of a list with their depths, from 0; one is never deeper than the one before by more than 1."""

    items: tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class Table:
    """A table with one or two rows of column names.

    Cells that are equal and neighbours in the first row of names, or in the first column, are merged where
    `merged` says so.
    """

    header: tuple[tuple[str, ...], ...]
    rows: tuple[tuple[str, ...], ...]
    merged: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the name of each column: "Sales 2023" where "Sales" stands above "2023"."""
        return tuple(" ".join(dict.fromkeys(names)) for names in zip(*self.header, strict=True))

    @property
    def labels(self) -> int:
        """Return how many of the first columns name a row."""
        return 2 if self.merged else 1

    @property
    def grid(self) -> list[list[tuple[str, int, int]]]:
        """Return each row's cells as (text, columns, rows) that they span, those inside another left out."""
        all_rows = [*self.header, *self.rows]
        if not self.merged:
            return [[(text, 1, 1) for text in row] for row in all_rows]
        down = {}
        at = 0
        for _, same in groupby(all_rows, key=lambda row: row[0]):
            size = len(list(same))
            down[at] = size
            at += size
        grid = []
        for index, row in enumerate(all_rows):
            cells = [(row[0], 1, down[index])] if index in down else []
            if index == 0:
                for text, same in groupby(row[1:]):
                    names = len(list(same))
                    tall = names == 1 and self.header[-1][row.index(text)] == text
                    cells.append((text, names, 2 if tall else 1))
            else:
                covered = [index == 1 and above == text for above, text in zip(all_rows[0], row, strict=True)]
                cells += [(text, 1, 1) for text, gone in zip(row[1:], covered[1:], strict=True) if not gone]
            grid.append(cells)
        return grid


Block = Heading | Paragraph | Items | Table


@dataclass(frozen=True)
class Document:
    """A file that was written, and what stands in it, from top to bottom."""

    path: Path
    blocks: tuple[Block, ...]

    @property
    def text(self) -> str:
        """Return the words in the order of reading, without footnotes; what is merged is there once."""
        return " ".join(_texts(self.blocks))

    @property
    def notes(self) -> list[str]:
        """Return its footnotes, whose place in the order of reading is a matter of taste."""
        return [block.note for block in self.blocks if isinstance(block, Paragraph) and block.note]

    @property
    def sentences(self) -> list[str]:
        """Return the sentences of its prose and its footnotes."""
        prose = (block for block in self.blocks if isinstance(block, Paragraph))
        return [*(sentence for block in prose for sentence in block.sentences), *self.notes]

    @property
    def tables(self) -> list[Table]:
        """Return its tables."""
        return [block for block in self.blocks if isinstance(block, Table)]


def _texts(blocks: Sequence[Block]) -> Iterator[str]:
    for block in blocks:
        if isinstance(block, Heading | Paragraph):
            yield block.text
        elif isinstance(block, Items):
            yield from (text for _, text in block.items)
        else:
            yield from (text for row in block.grid for text, _, _ in row)


_WHO = "harbour master,night watch,town clerk,pilot crew,lock keeper,salt trader,school choir,bridge builder"
_DID = "repaired,measured,painted,counted,surveyed,opened,inspected,described,rented,moved"
_HOW = "northern,wooden,narrow,forgotten,iron,crooked,public,hollow,western,temporary"
_WHAT = (
    "jetty,sluice,warehouse,signal tower,ferry landing,tide gauge,customs shed,footbridge,dry dock,cistern"
)
_WHEN = "before the autumn storms,after the second flood,during a quiet winter,with unexpected enthusiasm"
_WHY = "because the council demanded it,although nobody had asked,so that ships could pass,as agreed in March"
_HEBREW = ("המזח הצפוני נפתח באביב אחרי הסערה.", "השוער סופר את הספינות בכל בוקר.")
_ARABIC = ("فتح الميناء القديم أبوابه بعد العاصفة.", "يعد الحارس السفن كل صباح.")
_FORMULAS = (
    "The height is h = a² + 2·b − c₁ in metres.",
    "With α ≤ β the flow is Q = k · √(2·g·h) per second.",
    "Its energy E = ½·m·v² is lost as heat ΔT.",
)


class _Writer:
    """Makes sentences and tables that no other document has; the seed makes them the same in every run."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)

    def _of(self, names: str) -> str:
        return self._random.choice(names.split(","))

    def sentence(self) -> str:
        number = self._random.randint(2, 400)
        return (
            f"The {self._of(_WHO)} {self._of(_DID)} the {self._of(_HOW)} {self._of(_WHAT)} "
            f"{self._of(_WHEN)} for {number} days {self._of(_WHY)}."
        )

    def paragraph(self, sentences: int = 4, note: bool = False) -> Paragraph:
        return Paragraph(tuple(self.sentence() for _ in range(sentences)), self.sentence() if note else "")

    def table(self, rows: int) -> Table:
        names = [f"{how} {what}".capitalize() for how in _HOW.split(",") for what in _WHAT.split(",")]
        chosen = self._random.sample(names, rows)
        number = self._random.randint
        return Table(
            (("Item", "Price", "Stock", "Place"),),
            tuple((name, f"{number(1, 99)}.{number(10, 99)}", str(number(100, 999)), f"bay {number(10, 99)}")
                  for name in chosen),
        )  # fmt: skip

    def merged_table(self) -> Table:
        number = self._random.randint
        rows = tuple(
            (region, product, *(f"{number(1000, 9999)}" for _ in range(4)))
            for region in ("North shore", "South quay", "Old town")
            for product in self._random.sample(_WHAT.split(","), 4)
        )
        header = (
            ("Region", "Product", "Sales", "Sales", "Returns", "Returns"),
            ("Region", "Product", "2022", "2023", "2022", "2023"),
        )
        return Table(header, rows, merged=True)


def make_contents(seed: str) -> dict[str, tuple[Block, ...]]:
    """Return the contents by name, each with words of its own for `seed`."""
    made = _Writer(seed)
    opening = (Heading(f"Report of {seed}", 1), made.paragraph())
    items = Items(tuple((depth, made.sentence()) for depth in (0, 1, 1, 2, 0, 1, 0)))
    return {
        "prose": (*opening, *(part for name in ("Winter", "Spring", "Summer", "Autumn")
                              for part in (Heading(name), made.paragraph(7), made.paragraph(5)))),
        "lists": (*opening, Heading("What to do"), items, made.paragraph(3)),
        "table": (*opening, Heading("Price list"), made.paragraph(1), made.table(45), Heading("Hours"),
                  made.paragraph(3)),
        "merged": (*opening, Heading("Trade"), made.merged_table(), made.paragraph(3)),
        "notes": (*opening, Heading("Sources"), made.paragraph(3, note=True), made.paragraph(4, note=True),
                  made.paragraph(3)),
        "rtl": (*opening, Heading("Right to left"), Paragraph(_HEBREW), made.paragraph(2),
                Paragraph(_ARABIC)),
        "formulas": (*opening, Heading("Formulas"), Paragraph(_FORMULAS), made.paragraph(2)),
    }  # fmt: skip


# by suffix: which contents a format can hold
_WHOLE = {
    "html": "prose lists table merged notes rtl formulas",
    "mhtml": "prose table",
    "epub": "prose lists table merged rtl formulas",
    "eml": "prose lists table",
    "md": "prose lists table rtl formulas",
    "rst": "prose lists",
    "txt": "prose rtl formulas",
    "ipynb": "prose lists table",
    "docx": "prose lists table merged notes rtl formulas",
    "odt": "prose lists table merged notes rtl formulas",
    "rtf": "prose lists table notes rtl formulas",
    "pptx": "prose lists table merged rtl formulas",
    "pdf": "prose lists table merged rtl formulas",
}


def list_documents() -> Iterator[tuple[str, Callable[[Path, Any], None], tuple[Block, ...]]]:
    """Yield the name of each file, what writes it, and what it holds."""
    from benchmarks import made_formats, made_pdfs

    for suffix, names in _WHOLE.items():
        write = made_pdfs.write_pdf if suffix == "pdf" else made_formats.WHOLE[suffix]
        for name in names.split():
            yield f"{name}.{suffix}", write, make_contents(suffix)[name]
    for layout, write_layout in made_pdfs.LAYOUTS.items():
        for name in ("table", "merged") if layout == "unruled" else ("prose", "table"):
            yield f"{name}-{layout}.pdf", write_layout, make_contents(layout)[name]
    for suffix, write_table in made_formats.TABLES.items():
        for name in ("table", "merged") if suffix in ("xlsx", "ods") else ("table",):
            blocks = make_contents(suffix)[name]
            table = tuple(block for block in blocks if isinstance(block, Table))
            yield f"{name}-alone.{suffix}", write_table, table


def make_documents(folder: Path, names: Container[str] | None = None) -> list[Document]:
    """Write documents into a folder, all or those of these names; return them with what they hold."""
    folder.mkdir(parents=True, exist_ok=True)
    documents = []
    for name, write, blocks in list_documents():
        if names is None or name in names:
            write(folder / name, blocks)
            documents.append(Document(folder / name, blocks))
    return documents
