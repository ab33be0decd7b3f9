import json

import pytest

from adaptive_rag import AdaptiveRAG
from adaptive_rag.ingest import split


@pytest.fixture
def chunks_of(read_file):
    return lambda name, text: list(split(read_file(name, text)))


def test_question_and_answer_columns_are_recognised(chunks_of):
    answer = "It is 5 m,\nmeasured in 2021."
    rows = f'Topic,Question,Answer\nwall,How high is it?,"{answer}"\ngate,Who shuts it?,The keeper.\n'
    first, second = chunks_of("faq.csv", rows)
    assert first["text"] == f"How high is it?\n{answer}\nTopic: wall"
    known = {"kind": "qa", "question": "How high is it?", "answer": answer, "Topic": "wall", "row": 1}
    assert first["metadata"] == known
    assert (second["section"], second["metadata"]["row"]) == ("Who shuts it?", 2)


def test_what_stands_beside_an_answer_is_told_where_it_is_asked_for(tmp_path):
    (tmp_path / "faq.csv").write_text(
        "Category,Question,Answer,Owner\n"
        "Billing,How do I pay an invoice?,You pay by card or by transfer. Name its number.,Ms Cole\n"
        "Harbour,Who shuts the gate at night?,The keeper shuts the gate at ten.,Mr Bell\n"
    )
    rag = AdaptiveRAG(str(tmp_path))
    paid = rag.invoke("How can I pay?")["answer"]
    assert "by card" in paid and "Billing" not in paid and "Ms Cole" not in paid
    assert "Ms Cole" in rag.invoke("Who is the owner of the question about invoices?")["answer"]


def test_other_columns_become_labelled_lines(chunks_of):
    (chunk,) = chunks_of("t.csv", "\ufeffid;name;height\n7;North Mole;3.6\n;;\n")
    assert chunk["text"] == "name: North Mole\nheight: 3.6\nid: 7"
    assert (chunk["metadata"]["id"], chunk["metadata"]["row"]) == ("7", 1)


@pytest.mark.parametrize("title", ["Stock in March\n\n", "Stock in March;;\n;;\n"])
def test_titles_above_the_names_of_columns_are_text(chunks_of, title):
    above, row = chunks_of("t.csv", f"{title}Item;Price;Shelf\nHinge;4,20;A3\n")
    assert (above["text"], row["text"]) == ("Stock in March", "Item: Hinge\nPrice: 4,20\nShelf: A3")


def test_a_first_row_of_data_names_no_column(chunks_of):
    first, second = chunks_of("t.csv", "2024-01-01,Ann,4.20\n2024-01-02,Ben,12.00\n")
    assert first["text"] == "column 1: 2024-01-01\ncolumn 2: Ann\ncolumn 3: 4.20"
    assert second["text"].startswith("column 1: 2024-01-02")


CELLS = {
    "a line for Excel": (
        "sep=;\nItem, brass;Price;Stock\nHinge;4,20;12",
        "Item, brass: Hinge\nPrice: 4,20\nStock: 12",
    ),
    "commas in a name": (
        'Item;"Size (w, h)";Stock\nHinge;4,20;12',
        "Item: Hinge\nSize (w, h): 4,20\nStock: 12",
    ),
    "as many commas": (
        "Item;Price, net;Stock, shelf\nHinge;4,20;12",
        "Item: Hinge\nPrice, net: 4,20\nStock, shelf: 12",
    ),
    "dates as names": ("Item,2024-01-01\nHinge,12\n", "Item: Hinge\n2024-01-01: 12"),
    "years as names": ("Item,2023,2024\nHinge,1200,1300\n", "Item: Hinge\n2023: 1200\n2024: 1300"),
    "numbers as names": ("Name,1,2,3\nAnn,5,3,4\n", "Name: Ann\n1: 5\n2: 3\n3: 4"),
    "a blank line above": ("\nItem;Price\nHinge;4,20;12\n", "Item: Hinge\nPrice: 4,20\ncolumn 3: 12"),
    "columns of one name or of none": (",Name,Name\n0,Ann,Bell\n", "column 1: 0\nName: Ann\nName (3): Bell"),
    "a column named like a distinct name": (
        "Price,Price,Price (2)\n4,5,6\n",
        "Price: 4\nPrice (2): 5\nPrice (2) (3): 6",
    ),
    "a blank before a quoted cell": (
        'Name, Address, Phone\n"Holt", "1 Quay, Pellhythe", 0123\n',
        "Name: Holt\nAddress: 1 Quay, Pellhythe\nPhone: 0123",
    ),
}


@pytest.mark.parametrize(("text", "read"), CELLS.values(), ids=CELLS)
def test_the_names_of_columns_are_found_and_told_apart(chunks_of, text, read):
    (row,) = chunks_of("t.csv", text)
    assert row["text"] == read


def test_lines_of_one_column_with_commas_have_no_title(chunks_of):
    chunks = chunks_of("t.csv", "text\nOne, two, three.\nFour, five, six.\n")
    assert [chunk["metadata"]["row"] for chunk in chunks] == [1, 2]


def test_a_chunk_never_holds_two_rows_and_a_long_row_is_cut(chunks_of):
    rows = ["a,b"] + [f"short {number},text" for number in range(5)] + ["x," + "A long sentence. " * 100]
    chunks = chunks_of("t.csv", "\n".join(rows))
    assert [chunk["metadata"]["row"] for chunk in chunks] == [1, 2, 3, 4, 5, 6, 6]


def test_a_beir_corpus_keeps_its_ids_and_titles(chunks_of):
    lines = [
        {"_id": "d1", "title": "Tides", "text": "They rise.", "metadata": {"year": 1957}},
        {"_id": "d2", "title": "", "text": "They fall too."},
    ]
    first, second = chunks_of("corpus.jsonl", "\n".join(map(json.dumps, lines)))
    assert (first["text"], first["section"]) == ("Tides\nThey rise.", "Tides")
    assert first["metadata"] == {"_id": "d1", "metadata": {"year": 1957}, "title": "Tides", "row": 1}
    assert (second["text"], second["section"], second["metadata"]["_id"]) == ("They fall too.", None, "d2")


def test_fields_named_like_metadata_of_chunks_themselves_are_left_out(chunks_of):
    named = dict.fromkeys(["cells", "columns", "line", "ocr_spans", "page_starts", "speakers"], 5)
    (chunk,) = chunks_of("gate.jsonl", json.dumps({"text": "The gate shuts.", "level": 3, **named}))
    assert chunk["metadata"] == {"level": 3, "row": 1}


def test_a_broken_line_is_noted_and_the_others_are_read(read_file):
    source = read_file("x.jsonl", '{"question": "Why?", "answer": "So."}\n{"broken"\n[1]\n"plain words"\n')
    assert [record.metadata["row"] for record in source.records] == [1, 4]
    assert source.notes[0].startswith("2 of 4 lines could not be read: line 2")


def test_json_is_read_by_object_with_the_names_that_lead_to_it(chunks_of):
    found = {
        "shop": "Saltmere tools",
        "open": True,
        "closed": None,
        "address": {"street": "Quay 3", "place": {"city": "Saltmere"}},
        "days": ["Monday", "Friday"],
        "products": [
            {"id": 7, "name": "Brass hinge", "sizes": [{"mm": 40}, {"mm": 60}], "notes": ["Solid. " * 30]},
            {"id": 9, "notes": "Out of stock. " * 20},
            {"id": 8, "name": "Oak board", "notes": "Dry.", "at": [[47.1, 8.5], [47.2, 8.6]]},
        ],
        "faq": [{"question": "Who shuts it?", "answer": "The keeper."}],
    }
    chunks = chunks_of("shop.json", json.dumps(found))
    shop, address, hinge, _, board, faq = chunks
    assert shop["text"] == "shop: Saltmere tools\nopen: true\ndays: Monday, Friday"
    assert address["text"] == "address\nstreet: Quay 3\nplace > city: Saltmere"
    assert hinge["text"].startswith("name: Brass hinge\nsizes 1 > mm: 40\nsizes 2 > mm: 60\nnotes: Solid.")
    assert (hinge["section"], hinge["metadata"]) == ("products", {"id": 7, "row": 1})
    assert board["text"].endswith("name: Oak board\nnotes: Dry.\nat: [[47.1, 8.5], [47.2, 8.6]]")
    assert (faq["section"], faq["text"]) == ("faq > Who shuts it?", "Who shuts it?\nThe keeper.")


def test_the_objects_of_a_long_one_are_records_below_its_name(chunks_of):
    stops = [{"stop": f"Quay {number}", "minutes": number * 7} for number in range(30)]
    chunks = chunks_of("lines.json", json.dumps([{"name": "Line 4", "stops": stops}, "Sundays off", 5]))
    assert [chunk["text"] for chunk in chunks[:2]] == ["name: Line 4", "stop: Quay 0\nminutes: 0"]
    assert [chunk["section"] for chunk in chunks[:2]] == [None, "Line 4 > stops"]
    assert [chunk["text"] for chunk in chunks[-2:]] == ["Sundays off", "5"] and len(chunks) == 33


def test_json_lines_that_are_called_json_are_read(chunks_of):
    lines = '{"text": "Shut the gate."}\n{"text": "Ring the bell."}\n'
    assert [chunk["text"] for chunk in chunks_of("a.json", lines)] == ["Shut the gate.", "Ring the bell."]


def test_half_a_character_becomes_a_question_mark_and_nul_is_removed(read_file):
    text, other = r"Ti\u0000de \ud83c\udf0a \ud83c.", r'["\ud800", "\\ud800", "\u0000\\u0000"]'
    source = read_file("a.jsonl", f'{{"text": "{text}", "k\\udfff": {other}}}\n')
    assert source.text == "Tide \U0001f30a ?."
    assert source.records[0].metadata["k?"] == ["?", "\\ud800", "\\u0000"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"text": "x", "a": ' + "[" * 200 + "]" * 200 + "}", "nested too deep"),
        ("[" * 100_000, "nested too deep"),
        ('{"text": "x", "a": ' + "1" * 6000 + "}", "a number is too long"),
        ('{"text": "x", ', "no JSON from character 15 on"),
    ],
)
def test_a_line_that_cannot_be_kept_is_noted_in_plain_words(read_file, line, reason):
    assert read_file("a.jsonl", '{"text": "The tide."}\n' + line).notes == (
        f"1 of 2 lines could not be read: line 2 ({reason})",
    )
