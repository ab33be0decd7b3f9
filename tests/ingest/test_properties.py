from collections.abc import Callable
from datetime import UTC, date, datetime

import docx
import pymupdf
import pytest

from adaptive_rag.ingest import SourceText, extract_text
from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.properties import LONGEST, note_properties, read_date

Read = Callable[[str, str], SourceText]
KNOWN = {"title": "Harbour fees", "author": "Ann Lee", "date": "2024-03-05", "tags": ["harbour", "fees"]}


def write_pdf(path):
    known = {"title": "Harbour fees", "author": "Ann Lee", "keywords": "harbour; fees"}
    with pymupdf.open() as document:
        document.new_page().insert_text((72, 72), "A day's mooring costs 12 pounds.")
        document.set_metadata({**known, "creationDate": "D:20240305101500+01'00'"})
        document.save(path)


def write_docx(path):
    document = docx.Document()
    document.add_paragraph("A day's mooring costs 12 pounds.")
    core = document.core_properties
    core.title, core.author, core.keywords = "Harbour fees", "Ann Lee", "harbour, fees"
    core.created = datetime(2024, 3, 5, tzinfo=UTC)
    document.save(str(path))


def write_html(path):
    path.write_text(
        '<html lang="en"><head><title>Harbour  fees</title><meta name="Author" content="Ann Lee">'
        '<meta property="article:published_time" content="2024-03-05T10:15:00+01:00">'
        '<meta name="keywords" content="harbour, fees,"><link rel="canonical" href="https://a.example/fees">'
        "</head><body><p>A day's mooring costs 12 pounds.</body></html>"
    )


def write_markdown(path):
    path.write_text(
        "---\nTitle: Harbour fees\nauthors: [Ann Lee]\ndate: 2024-03-05\n"
        "tags: [harbour, fees]\n---\n\nA day.\n"
    )


@pytest.mark.parametrize("write", [write_pdf, write_docx, write_html, write_markdown])
def test_what_a_document_says_of_itself_goes_with_its_text(tmp_path, write):
    path = tmp_path / f"fees.{write.__name__.partition('_')[2].replace('markdown', 'md')}"
    write(path)
    metadata = extract_text(path).metadata
    assert {name: metadata[name] for name in KNOWN} == KNOWN
    if write is write_html:
        assert (metadata["language"], metadata["url"]) == ("en", "https://a.example/fees")


@pytest.mark.parametrize(
    ("front", "noted"),
    [("title: [unclosed", "its front matter is not YAML"), ("title: 5\ndate: soon\ntags: {a: 1}", "")],
)
def test_front_matter_is_no_text_even_where_it_says_nothing_usable_and_a_rule_is_none(
    read_file, front, noted
):
    page = f"---\n{front}\n---\n\nA day.\n"
    source = read_file("a.md", page)
    assert source.text.strip() == "A day."
    assert source.text.count("\n") == page.count("\n")
    assert [note.startswith(noted) for note in source.notes] == ([True] if noted else [])
    assert "just" in read_file("a.md", "---\n- just\n- a list\n---\n\nA day.\n").text


@pytest.mark.parametrize(
    ("value", "day"),
    [
        (date(2024, 3, 5), "2024-03-05"),
        ("D:2024", "2024"),
        ("D:20240305", "2024-03-05"),
        ("2024-03", "2024-03"),
        ("2024-03-05 10:15", "2024-03-05"),
        ("Tue, 5 Mar 2024 10:15:00 +0100", "2024-03-05"),
        ("5 Mar 2024 10:15:00", "2024-03-05"),
        ("2024-13", ""),
        ("soon", ""),
        ("Wed, 99 Foo 2024", ""),
        (None, ""),
    ],
)
def test_days_are_written_as_iso_8601(value, day):
    assert read_date(value) == day


def test_what_is_noted_first_stands_and_what_is_too_long_is_left_out():
    builder = TextBuilder()
    note_properties(builder, title="One", author=["Ann Lee", "Bo Ray", "Ann Lee"], tags="a, a ,b;c")
    note_properties(builder, title="Two", language="x" * (LONGEST + 1), tags="d")
    assert builder.metadata == {"title": "One", "author": ["Ann Lee", "Bo Ray"], "tags": ["a", "b", "c"]}


@pytest.mark.parametrize(
    "front",
    [
        "---\ntitle: Fees\nweight: 3\ndraft: true\nkind: x\nrow: 9\n---\n",
        "+++\ntitle = 'Fees'\nweight = 3\ndraft = true\nkind = 'x'\nrow = 9\n+++\n",
    ],
)
def test_fields_of_front_matter_are_metadata_but_for_names_of_our_own(read_file, front):
    source = read_file("a.md", front + "A day.\n")
    assert dict(source.metadata) == {"title": "Fees", "weight": 3, "draft": True}
    assert source.text.strip() == "A day."


def test_front_matter_keeps_no_half_of_a_character_and_no_nul(read_file):
    front = '---\nauthor: "Ann\\0 Lee"\ntags: ["wall\\ud83d", harbour]\n---\n'
    metadata = read_file("a.md", f"{front}The wall.").metadata
    assert (metadata["author"], metadata["tags"]) == ("Ann Lee", ["wall?", "harbour"])


def test_front_matter_keeps_a_bounded_number_of_bounded_fields(read_file):
    fields = "".join(f"f{n}: {n}\n" for n in range(500)) + f"long: {'x' * 5000}\n"
    metadata = read_file("a.md", f"---\nlong: {'x' * 5000}\n{fields}---\nA day.\n").metadata
    assert 10 < len(metadata) < 60 and "long" not in metadata


@pytest.mark.parametrize(
    ("properties", "kept"),
    [
        ({"author": "python-docx", "date": "2013-12-23T23:15:00Z"}, {}),
        ({"author": "openpyxl", "date": "2024-03-05T10:15:00Z"}, {"date": "2024-03-05"}),
        ({"author": "anonymous", "title": "untitled"}, {}),
        ({"author": ["Ann Lee"], "date": "2013-12-23"}, {"author": "Ann Lee", "date": "2013-12-23"}),
    ],
)
def test_defaults_of_a_program_are_no_properties(properties, kept):
    builder = TextBuilder()
    note_properties(builder, **properties)
    assert builder.metadata == kept
