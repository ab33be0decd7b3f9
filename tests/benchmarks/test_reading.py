"""What is counted of a document that was read."""

from pathlib import Path

import pytest

from benchmarks.made_documents import (
    Document,
    Heading,
    Paragraph,
    Table,
    list_documents,
    make_contents,
    make_documents,
)
from benchmarks.reading import compare, find_cells, kept_sentences, kept_words, named_rows, words_in_order

TABLE = Table((("Item", "Price"),), (("Salt", "4.20"), ("Rope", "7.10")))


def chunk(text: str, columns: tuple[str, ...] = ()) -> dict[str, object]:
    return {"text": text, "start": 0, "metadata": {"columns": list(columns)} if columns else {}}


def cells_of(text: str, columns: tuple[str, ...] = ()) -> list[bool]:
    return list(find_cells(TABLE, list(named_rows(chunk(text, columns)))))


def test_words_count_in_their_order() -> None:
    assert words_in_order("a b c d".split(), "x a c b d".split()) == 3
    assert words_in_order(["a"], []) == 0


def test_a_note_counts_wherever_it_stands() -> None:
    document = Document(Path("a.txt"), (Paragraph(("One two.", "Three."), "A note."), Heading("Four")))
    assert kept_words(document, "A note. One two. Three. Four") == 1
    assert kept_words(document, "Four One two. A Three.") == pytest.approx(4 / 6)


@pytest.mark.parametrize(
    ("text", "columns", "found"),
    [
        ("Item | Price\nSalt | 4.20\nRope | 7.10", (), [True, True]),
        ("Salt | 4.20\nRope | 7.10", ("Item", "Price"), [True, True]),
        ("Item: Salt\nPrice: 4.20", (), [True, False]),
        ("Salt | 4.20\nRope | 7.10", (), [False, False]),
        ("Item | Price\nSalt | 7.10\nRope | 4.20", (), [False, False]),
        ("Item Price\nSalt 4.20\nRope 7.10", (), [False, False]),
    ],
    ids=["a table", "its rest", "a record", "no names", "wrong rows", "bare words"],
)
def test_a_cell_counts_with_the_names_of_its_row_and_column(text, columns, found) -> None:
    assert cells_of(text, columns) == found


def test_a_quote_is_a_sentence_of_its_own_at_its_span() -> None:
    document = Document(Path("a.txt"), (Paragraph(("One two.", "Three four."), "A note."),))
    text = "One two. Three\n\nfour. 1 A note."
    assert kept_sentences(document, [chunk(text)], text) == pytest.approx(2 / 3)
    assert kept_sentences(document, [chunk("One two. Three four.")], "x" + text) == 0


def test_merged_cells_are_written_once_and_named_by_both_rows() -> None:
    [table] = [block for block in make_contents("a")["merged"] if isinstance(block, Table)]
    assert table.columns == ("Region", "Product", "Sales 2022", "Sales 2023", "Returns 2022", "Returns 2023")
    assert table.grid[0] == [
        ("Region", 1, 2),
        ("Product", 1, 2),
        ("Sales", 2, 1),
        ("Returns", 2, 1),
    ]
    assert [text for text, _, _ in table.grid[1]] == ["2022", "2023", "2022", "2023"]


def test_each_format_is_read_and_compared_on_the_same_files(tmp_path, capsys) -> None:
    names = ("merged.docx", "notes.docx", "table-rotated.pdf", "table-alone.csv")
    assert len(list(list_documents())) >= 60
    chosen = make_documents(tmp_path, names)
    compare(chosen, "python-that-does-not-exist", 0, each=False)
    shown = capsys.readouterr()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in shown.out.splitlines()[2:]]
    assert {(row[0], row[1]) for row in rows} >= {("pdf", "pymupdf"), ("all", "adaptive")}
    [mine] = [row for row in rows if row[:2] == ["all", "adaptive"]]
    assert mine[2] == "4" and mine[4:7] == ["1.000", "1.000", "1.000"]
    assert "markitdown is not measured" in shown.err
