"""Threads as files of Word and PDF: whole, named after the thread, and with every text as text."""

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from threading import Event
from typing import Any, cast

import docx
import pymupdf
import pytest
from fastapi.testclient import TestClient

from adaptive_rag.server import pdf
from adaptive_rag.server.conversations import TurnShown
from adaptive_rag.server.exports import FILE_KINDS, FileKind, format_markdown, write_docx, write_pdf
from adaptive_rag.server.problems import Problem
from adaptive_rag.server.tables import now
from adaptive_rag.text.markdown import MarkdownPart, read_markdown
from tests.page.payloads import payloads
from tests.server.test_threads import ASKED, begin

Read = Callable[[bytes], str]


def turn_of(question: str, answer: str, quote: str = "It is so.", source: str = "wall.pdf") -> TurnShown:
    cited = {"source": source, "page": 3, "start": 0, "end": 4, "marker": 7, "quote": quote}
    cited["place"] = {"page": 3, "lines": [11, 12]}
    return TurnShown.model_validate({
        "id": "1", "number": 1, "question": question, "answer": answer, "parts": [], "citations": [cited],
        "route": "factual", "user_context": "", "confidence": None, "grounding": 1.0,
        "outcome": "answer", "abstained": False,
        "decisions": [], "only": {}, "asked": now(),
    })  # fmt: skip


def read_pdf(content: bytes) -> str:
    with pymupdf.open("pdf", content) as document:
        assert not [link for page in document for link in page.get_links()]
        assert not [image for page in document for image in page.get_images()]
        return "\n".join(page.get_text() for page in document)


def read_docx(content: bytes) -> str:
    document = docx.Document(BytesIO(content))
    assert not [part for part in document.part.rels.values() if part.is_external]
    cells = [cell.text for table in document.tables for row in table.rows for cell in row.cells]
    return "\n".join([*(paragraph.text for paragraph in document.paragraphs), *cells])


BOTH = pytest.mark.parametrize(("write", "read"), [(write_pdf, read_pdf), (write_docx, read_docx)])
ANSWER = """# Walls
The **wall** is *high* [7], `x < 1`:

- one
- two

3. three
4. four

| a | b |
|----------------------------------------|----------------------------------------|
| cell | 5.10 m |

```
code & <more>
```
See [the plan](https://example.org/plan) ![map](https://example.org/map.png)."""


@BOTH
def test_an_export_has_the_words_the_tables_and_the_sources_with_their_pages(write: Any, read: Read) -> None:
    text = read(write("Höhe & <Wall>", [turn_of("How <b>high</b>?", ANSWER, "5 < 6 & “so”")]))
    words = " ".join(text.split())
    for part in (
        "Höhe & <Wall>", "How <b>high</b>?", "Walls", "The wall is high [1], x < 1:", "two", "4.", "cell",
        "5.10 m", "code & <more>", "See the plan (https://example.org/plan) map.",
        "[1] wall.pdf, page 3, lines 11-12: “5 < 6 & “so””",
    ):  # fmt: skip
        assert part in words, part
    assert "**" not in text and "|" not in text


def test_the_marks_of_an_export_count_from_1_in_the_order_of_the_text() -> None:
    turn = turn_of("Why?", "One [7]. Two [3][7]. `rows[3]` [2024]", source="wall.md")
    [cited] = turn.citations
    turn.citations = [{**cited, "marker": marker, "quote": f"quote {marker}"} for marker in (3, 7)]
    text, place = format_markdown("Wall", [turn]), "wall.md, page 3, lines 11-12"
    assert f"`rows[3]` [2024]\n\n- [1] {place}: “quote 7”\n- [2] {place}: “quote 3”" in text
    assert "One [1]. Two [2][1]." in text


@pytest.mark.parametrize(
    "text",
    [
        *payloads(),
        "![x](https://evil.test/i.png)",
        "a\n```\n![x](https://evil.test/i.png)\n```",
        "a`b ![x](https://evil.test/i.png)",
        "[![x](https://evil.test/i.png)][1]\n\n[1]: https://evil.test/",
        "\n<img src=https://evil.test/i.png",
    ],
)
def test_no_text_in_an_export_as_markdown_loads_or_runs_anything(text: str) -> None:
    exported = format_markdown(text, [turn_of(text, "It is so [7].", text, text), turn_of("Why?", "So.")])
    parts = read_markdown(exported)
    assert not [part for part in parts if part.kind in ("image", "code")]
    assert not re.search(
        r"<(?!/?(?:b|i|em|strong|sub|sup|br)\s*/?>)[a-z/!?]", _outside(parts, exported), re.I
    )
    assert "It is so [1]." in exported and "## Why?\n\nSo.\n" in exported


@pytest.mark.parametrize("answer", ["Run:\n```\nmake", "Run:\n```", "~~~~ sh\nmake\n~~~", "```\nmake\n```"])
def test_a_code_block_of_an_answer_ends_with_the_answer(answer: str) -> None:
    exported = format_markdown("Wall", [turn_of("How?", answer), turn_of("Why?", "So.")])
    [code] = [part for part in read_markdown(exported) if part.kind == "code"]
    assert exported[code.end :].startswith("\n- [1] wall.pdf, page 3")


def _outside(parts: list[MarkdownPart], text: str) -> str:
    """Return a text without its code spans."""
    for part in reversed([part for part in parts if part.kind == "backticks"]):
        text = text[: part.start] + text[part.end :]
    return text


def test_the_sign_of_a_list_item_without_a_paragraph_goes_to_no_later_text() -> None:
    answer = "1. ```\n   code\n   ```\n2. two\n3.\n\nAfter."
    text = read_docx(write_docx("Walls", [turn_of("How high?", answer)]))
    assert "1.\tcode\n2.\ttwo\nAfter." in text


@BOTH
def test_hostile_texts_stay_texts_and_break_no_file(write: Any, read: Read) -> None:
    hostile = [
        *payloads(),
        "\x00\x07\ud800 \u202egnp.exe",
        "a&#12;b &#8238;gnp.exe",
        "[" * 3000,
        "> " * 300,
        "\n".join(["|a|b|", "|-|-|"]),
    ]
    turns = [turn_of(each, each, each, each) for each in hostile]
    text = read(write(hostile[0], turns))
    assert text.count("alert(1)") >= 3 * sum("alert(1)" in each for each in hostile)
    assert "\u202e" not in text
    assert read(write("", [])).strip() == ""


@BOTH
def test_long_words_cells_and_code_are_set_in_time(write: Any, read: Read) -> None:
    cell = "| a | b |\n|---|---|\n| " + "word " * 5000 + " | x |"
    cells = "|".join(["a"] * 8) + "\n" + "|".join(["-"] * 8) + "\n" + "|".join(["sent " * 60] * 8)
    code = "```\n" + "x = 1\n" * 2000 + "```"
    text = read(write("t", [turn_of("z" * 20_000, each) for each in ("y" * 60_000, cell, cells, code)]))
    assert text.count("word") == 5000 and text.count("x = 1") == 2000
    assert text.count("y") >= 60_000 and text.count("z") == 80_000
    assert text.count("sent") == 480


def test_a_thread_of_too_many_pages_makes_no_pdf(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "MOST_PAGES", 1)
    with pytest.raises(Problem, match="may have 1 pages"):
        write_pdf("t", [turn_of("q", "word " * 5000)])


def test_files_are_written_for_a_person_one_at_a_time(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(*_: object) -> bytes:
        began.set()
        assert end.wait(60)
        return b"%PDF-"

    began, end = Event(), Event()
    monkeypatch.setitem(
        cast(dict[str, FileKind], FILE_KINDS), "pdf", FileKind("pdf", "application/pdf", write)
    )
    export = f"{begin(client)}/export?form="
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(client.get, f"{export}pdf")
        assert began.wait(60)
        second = client.get(f"{export}docx")
        end.set()
        assert first.result().status_code == 200
    assert (second.status_code, second.json()["type"]) == (429, "busy")
    assert client.get(f"{export}docx").status_code == 200


def test_a_thread_is_downloaded_in_every_form_under_its_name(client: TestClient) -> None:
    thread = begin(client, title="Höhe: 4/5?")
    client.post(f"{thread}/ask", json={"question": ASKED[0]}).raise_for_status()
    for form, kind, start in (
        ("markdown", "text/markdown; charset=utf-8", b"# H"), ("json", "application/json", b"{"),
        ("pdf", "application/pdf", b"%PDF-"),
        ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", b"PK"),
    ):  # fmt: skip
        sent = client.get(f"{thread}/export?form={form}")
        ending = "md" if form == "markdown" else form
        name = f"attachment; filename*=UTF-8''H%C3%B6he%204%205.{ending}"
        assert (sent.headers["content-type"], sent.headers["content-disposition"]) == (kind, name)
        assert sent.content.startswith(start)
        if form in ("pdf", "docx"):
            text = (read_pdf if form == "pdf" else read_docx)(sent.content)
            assert "4.83 metres" in text and "climate_handbook.pdf, page " in text
    assert client.get(f"{thread}/export?form=exe").status_code == 422
    nameless = client.get(f"{begin(client, title='../..')}/export").headers["content-disposition"]
    assert nameless == "attachment; filename*=UTF-8''thread.md"
