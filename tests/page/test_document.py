"""The document beside the answer: open at the exact words, as text and as the pages of a PDF."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import docx
import httpx
import openpyxl
import pptx
import pymupdf
import pytest
from playwright.sync_api import Page, expect

from tests.page.browser import Person
from tests.page.conftest import Visit, new_collection, wait_for_indexing
from tests.page.states import ask, call

COLLECTION = "papers"

NOTES = "# Bells 🔔\n\nThe 👩🏽 of Grauholm rang. 🎉🎉\n\n## Tides\n\nThe tide of 1911 stood at 6.2 metres.\n"
PAGES = 500
READ = (1, 2, 3, 300, 450)  # the others hold no text
LINES = 600


def sluice(number: int) -> str:
    return f"Sluice {number} opens at {number % 12} o'clock, when the efficient keeper rings twice."


def book() -> bytes:
    """Return a PDF of many pages; the text of each breaks within a word."""
    made = pymupdf.open()
    for number in range(1, PAGES + 1):
        page = made.new_page(width=420, height=595 if number % 2 else 500)
        if number in READ:
            page.insert_text((50, 80), f"{number} Sluices", fontsize=16)
            page.insert_text((50, 300), sluice(number).replace("efficient", "effi-\ncient"), fontsize=11)
    return bytes(made.tobytes())


def letter() -> bytes:
    made = docx.Document()
    made.add_heading("Harbour", 1)
    made.add_paragraph("Dear keeper, the harbour closes at dusk. Yours, Ada.")
    written = io.BytesIO()
    made.save(written)
    return written.getvalue()


def slides() -> bytes:
    """Return a presentation: a slide with a title and a table, and one without."""
    made = pptx.Presentation()
    first, second = (made.slides.add_slide(made.slide_layouts[1]) for _ in range(2))
    first.shapes.title.text, first.placeholders[1].text = "Quay", "The quay is raised in May."
    cells = first.shapes.add_table(2, 2, 0, 3_000_000, 5_000_000, 900_000).table
    for row, texts in enumerate((("Part", "Price"), ("Stone", "3.1"))):
        for column, text in enumerate(texts):
            cells.cell(row, column).text = text
    second.placeholders[1].text = "Nobody named this slide."
    written = io.BytesIO()
    made.save(written)
    return written.getvalue()


def sheets() -> bytes:
    made = openpyxl.Workbook()
    for name, rows in (("Hinges", [("Item", "Price"), ("Brass", 4.2), ("Steel", 3.1)]),
                       ("Keepers", [("Name", "Tower"), ("Ada", "North"), ("Wim", "South")])):  # fmt: skip
        sheet = made.create_sheet(name)
        for row in rows:
            sheet.append(row)
    made.remove(made.worksheets[0])
    written = io.BytesIO()
    made.save(written)
    return written.getvalue()


def scan() -> bytes:
    """Return a PDF whose page is a picture."""
    made = pymupdf.open()
    picture = pymupdf.Pixmap(pymupdf.csRGB, pymupdf.IRect(0, 0, 60, 80))
    picture.clear_with(200)
    made.new_page().insert_image(pymupdf.Rect(50, 50, 300, 400), pixmap=picture)
    return bytes(made.tobytes())


BOOK = book()
FILES: dict[str, bytes] = {
    "notes.md": NOTES.encode(),
    "prices.csv": b"Item,Price\nHinge,4.20\nLatch,7.35\n",
    "quay.html": b"<h1>Quay</h1><p>The <b>east quay</b> is &amp; stays closed.</p>",
    "letter.docx": letter(),
    "book.pdf": BOOK,
    "broken.pdf": b"%PDF-1.4\nnothing of it can be read",
    "scan.pdf": scan(),
    "plan.pptx": slides(),
    "prices.xlsx": sheets(),
    "long.txt": "".join(f"Line {n} of the long log of the lighthouse.\n\n" for n in range(LINES)).encode(),
}


@pytest.fixture(scope="module")
def papers(demo: str) -> Iterator[httpx.Client]:
    """Index documents of many kinds in a collection of their own."""
    with (
        new_collection(demo, COLLECTION) as path,
        httpx.Client(base_url=f"{demo}/api/v1", timeout=60) as client,
    ):
        files = [("files", each) for each in FILES.items()]
        client.post(f"{path}/documents", files=files).raise_for_status()
        wait_for_indexing(f"{path}/documents")
        yield client


def path_of(papers: httpx.Client, source: str) -> str:
    [row] = papers.get(f"/collections/{COLLECTION}/documents", params={"source": source}).json()["items"]
    return f"/collections/{COLLECTION}/documents/{row['id']}"


def cite(papers: httpx.Client, source: str, quote: str) -> dict[str, Any]:
    """Return a citation as answers hold it: its span counts code points."""
    path, text = path_of(papers, source), ""
    while quote not in text:
        answered = papers.get(f"{path}/text", params={"source": source, "start": len(text)})
        part = answered.raise_for_status().json()
        assert part["text"], f"{source} lacks {quote!r}"
        text += part["text"]
    start = text.index(quote)
    stretches = papers.get(f"{path}/outline", params={"source": source}).json()["stretches"]
    page = next(each["page"] for each in stretches if each["end"] > start)
    return {"source": source, "start": start, "end": start + len(quote), "quote": quote, "page": page}


def show(somebody: Person, *cited: dict[str, Any]) -> Page:
    """Open the first citation, as a click on its mark does, from the field of the question."""
    page = somebody.page if somebody.page.url.startswith("http") else somebody.open("#/ask")
    page.get_by_role("textbox").first.focus()
    page.evaluate(
        """([collection, all]) => import("/page/document/opened.js")
           .then((pane) => pane.openDocument(collection, all[0], all))""",
        [COLLECTION, list(cited)],
    )
    return page


def marked(page: Page) -> str:
    expect(page.locator(".document mark").first).to_be_in_viewport()
    return "".join(page.locator(".document mark").all_text_contents())


QUOTES = [
    ("notes.md", "The tide of 1911 stood at 6.2 metres."),
    ("notes.md", "👩🏽 of Grauholm rang. 🎉"),
    ("prices.csv", "Price: 7.35"),
    ("quay.html", "The east quay is & stays closed."),
    ("letter.docx", "the harbour closes at dusk"),
    ("long.txt", "Line 590 of the long log"),
    ("long.txt", "Line 450 of the long log of the lighthouse.\n\nLine 451"),
]


def test_the_very_words_are_marked_and_have_the_focus(demo: str, visit: Visit, papers: httpx.Client) -> None:
    with visit(demo) as somebody:
        for source, quote in QUOTES:
            page = show(somebody, cite(papers, source, quote))
            expect(page.get_by_role("complementary", name=source)).to_be_visible()
            shown = quote.removeprefix("Price: ")  # that stands above the column
            expect(page.locator(".document mark").filter(has_text=shown[:4]).first).to_be_focused()
            assert marked(page) == shown


def test_slides_are_cards_and_sheets_are_tables_to_choose_from(
    demo: str, visit: Visit, papers: httpx.Client
) -> None:
    with visit(demo) as somebody:
        page = show(somebody, cite(papers, "plan.pptx", "raised in May"))
        assert marked(page) == "raised in May"
        first, second = (page.get_by_role("region", name=f"slide {number}") for number in (1, 2))
        expect(first).to_contain_text("Slide 1")
        expect(first.get_by_role("heading")).to_have_text("Quay")
        expect(first.get_by_role("row")).to_have_text(["PartPrice", "Stone3.1"])
        expect(second).to_have_text("Slide 2Nobody named this slide.")
        page = show(somebody, cite(papers, "prices.xlsx", "Wim | South"))
        expect(page.locator(".document td:has(mark)")).to_have_text(["Wim", "South"])
        tabs = page.get_by_role("group", name="Sheets").get_by_role("button")
        expect(tabs).to_have_text(["Hinges", "Keepers"])
        expect(page.locator(".document h3")).to_have_text(["Hinges", "Keepers"])
        tabs.first.press("Enter")
        expect(page.locator("[data-target]")).to_have_text("Brass")


@pytest.mark.nightly
def test_every_split_of_a_long_text_shows_it_whole(demo: str, visit: Visit, papers: httpx.Client) -> None:
    with visit(demo) as somebody:
        page = show(somebody, cite(papers, "long.txt", "Line 599 of"))
        marked(page)
        box = page.get_by_role("group", name="Text of the document")
        assert page.locator(".text-block").count() < 5
        lines = set[str]()
        for _ in range(400):
            lines.update(box.inner_text().splitlines())
            if box.evaluate("(box) => { box.scrollTop -= 2 * box.clientHeight; return box.scrollTop === 0 }"):
                break
            page.wait_for_timeout(20)
        expect(box.get_by_text("Line 0 of the long log")).to_be_in_viewport()
        lines.update(box.inner_text().splitlines())
        assert lines - {""} == {f"Line {n} of the long log of the lighthouse." for n in range(LINES)}


@pytest.mark.nightly
def test_quotes_of_one_document_are_walked_through(demo: str, visit: Visit, papers: httpx.Client) -> None:
    quotes = ["The tide of 1911", "🎉🎉", "stood at 6.2 metres"]
    with visit(demo) as somebody:
        page = show(somebody, *(cite(papers, "notes.md", quote) for quote in quotes))
        expect(page.get_by_text("Quote 2 of 3")).to_be_visible()
        page.get_by_role("button", name="Next").click()
        expect(page.locator(".document mark")).to_have_text("stood at 6.2 metres")
        expect(page.get_by_role("button", name="Next")).to_be_disabled()
        page.get_by_role("button", name="Previous").click(click_count=2)
        expect(page.locator(".document mark")).to_have_text("🎉🎉")


@pytest.mark.nightly
def test_on_a_phone_each_quote_of_a_long_part_is_brought_into_view(
    demo: str, visit: Visit, papers: httpx.Client
) -> None:
    quotes = ["Line 300 of", "Line 100 of"]
    with visit(demo, width="phone") as somebody:
        page = show(somebody, *(cite(papers, "long.txt", quote) for quote in quotes))
        assert marked(page) == quotes[0]
        page.get_by_role("button", name="Previous").click()
        expect(page.locator(".document mark")).to_have_text(quotes[1])
        expect(page.locator(".document mark")).to_be_in_viewport()


@pytest.mark.nightly
def test_escape_closes_the_document_and_gives_the_focus_back(
    demo: str, visit: Visit, papers: httpx.Client
) -> None:
    for width in ("desktop", "phone"):
        with visit(demo, width=width) as somebody:
            page = show(somebody, cite(papers, "notes.md", "6.2 metres"))
            marked(page)
            if width == "phone":
                for _ in range(12):
                    page.keyboard.press("Tab")
                    assert page.evaluate("!document.querySelector('main header, textarea').matches(':focus')")
            page.keyboard.press("Escape")
            expect(page.locator(".document")).to_have_count(0)
            expect(page.get_by_role("textbox").first).to_be_focused()


@pytest.mark.nightly
def test_the_outline_leads_to_a_section(demo: str, visit: Visit, papers: httpx.Client) -> None:
    with visit(demo, width="phone") as somebody:
        page = show(somebody, cite(papers, "notes.md", "6.2 metres"))
        page.get_by_text("Outline").click()
        page.get_by_role("button", name="Bells").click()
        expect(page.get_by_role("heading", name="Bells")).to_be_in_viewport()
        page.get_by_role("button", name="Show passages").click()
        passage = page.locator(".passage[data-number='1']")
        expect(passage).to_have_accessible_name("Write a note on passage 1")
        call(page, "core/texts.js", "setLanguage", "de")
        expect(passage).not_to_have_accessible_name("Write a note on passage 1")


def test_rectangles_lie_over_the_cited_words_of_a_pdf(demo: str, visit: Visit, papers: httpx.Client) -> None:
    with visit(demo) as somebody:
        for number, hour in ((1, 1), (450, 6)):
            words = f"Sluice {number} opens at {hour} o'clock"
            cited = cite(papers, "book.pdf", words)
            assert cited["page"] == number
            page = show(somebody, cited)
            mark = page.get_by_role("note", name=f"Cited: Sluice {number}")
            expect(mark).to_be_in_viewport()
            expect(mark).to_be_focused()
            expect(page.get_by_role("spinbutton")).to_have_value(str(number))
            drawn = mark.bounding_box()
            frame = page.get_by_role("group", name=f"page {number}", exact=True).bounding_box()
            assert drawn and frame
            with pymupdf.open(stream=BOOK) as opened:
                there = opened[number - 1]
                [found] = there.search_for(words)
                scale = frame["width"] / there.rect.width
            assert drawn["x"] - frame["x"] == pytest.approx(found.x0 * scale, abs=3)
            assert drawn["width"] == pytest.approx(found.width * scale, abs=4)
            middle = drawn["y"] - frame["y"] + drawn["height"] / 2
            assert found.y0 * scale < middle < found.y1 * scale
            assert page.locator("canvas").count() < 12


@pytest.mark.nightly
def test_a_quote_over_a_broken_word_is_marked_on_both_lines(
    demo: str, visit: Visit, papers: httpx.Client
) -> None:
    path = path_of(papers, "book.pdf")
    text = papers.get(f"{path}/text", params={"source": "book.pdf", "length": 3000}).json()["text"]
    quote = text[text.index("when the effi") : text.index("keeper rings twice.") + len("keeper rings twice.")]
    with visit(demo) as somebody:
        page = show(somebody, cite(papers, "book.pdf", quote))
        expect(page.locator(".pdf-mark")).to_have_count(2)
        page.get_by_role("button", name="As text").click()
        assert marked(page) == quote
        page.get_by_role("button", name="As PDF").click()
        expect(page.locator(".pdf-mark").first).to_be_in_viewport()


@pytest.mark.nightly
def test_pages_are_reached_and_enlarged_by_keyboard(demo: str, visit: Visit, papers: httpx.Client) -> None:
    with visit(demo) as somebody:
        page = show(somebody, cite(papers, "book.pdf", "Sluice 3 opens"))
        expect(page.locator(".pdf-mark")).to_be_in_viewport()
        field = page.get_by_role("spinbutton")
        field.fill("300")
        field.press("Enter")
        last = page.get_by_role("group", name="page 300")
        expect(last.get_by_text("300 Sluices")).to_be_in_viewport()
        before = last.bounding_box()
        page.get_by_role("button", name="Larger").press("Enter")
        expect(last.get_by_text("300 Sluices")).to_be_in_viewport()
        after = last.bounding_box()
        assert before and after and after["width"] > 1.2 * before["width"]


@pytest.mark.nightly
def test_a_page_that_is_a_picture_is_shown_and_the_pane_says_so(
    demo: str, visit: Visit, papers: httpx.Client
) -> None:
    with visit(demo) as somebody:
        page = somebody.open("#/ask")
        show(somebody, {"source": "scan.pdf", "start": 0, "end": 5, "quote": "Tides", "page": 1})
        expect(page.get_by_text("cannot be marked on this page")).to_be_visible()
        expect(page.locator("canvas").first).to_be_in_viewport()
        somebody.errors.clear()  # the browser itself writes down that the server has no text of it


def test_a_document_that_cannot_be_shown_says_why(demo: str, visit: Visit, papers: httpx.Client) -> None:
    with visit(demo) as somebody:
        page = show(somebody, {"source": "gone.md", "start": 0, "end": 5, "quote": "Tides", "page": None})
        expect(page.get_by_role("alert")).to_contain_text("no longer in the collection")
        page.get_by_role("button", name="Close").click()
        show(somebody, {"source": "broken.pdf", "start": 0, "end": 5, "quote": "Tides", "page": 1})
        expect(page.get_by_text("This PDF cannot be shown here")).to_be_visible()
        expect(page.get_by_role("alert")).to_contain_text("no such text")
        somebody.errors.clear()  # as above


@pytest.mark.nightly
def test_what_could_not_be_loaded_is_loaded_the_next_time(
    demo: str, visit: Visit, papers: httpx.Client
) -> None:
    with visit(demo) as somebody:
        page = somebody.open("#/ask")
        for file in ("pdf.min.mjs", "text?*"):
            page.route(f"**/{file}", lambda route: route.abort())
        page.route("**/temml.min.js", lambda route: route.abort(), times=1)
        book = cite(papers, "book.pdf", "Sluice 3 opens")
        show(somebody, book)
        expect(page.get_by_text("This PDF cannot be shown here")).to_be_visible()
        again = page.get_by_role("button", name="Try again")
        expect(again).to_be_visible()
        for file in ("pdf.min.mjs", "text?*"):
            page.unroute(f"**/{file}")
        again.click()
        assert marked(page) == "Sluice 3 opens"
        page.get_by_role("button", name="Close").click()
        show(somebody, book)
        expect(page.locator(".pdf-page canvas").first).to_be_visible()
        formulas = page.evaluate(
            """async () => {
              const { renderMarkdown } = await import("/page/core/markup.js");
              const draw = async () => {
                const box = document.createElement("div");
                box.append(renderMarkdown("It is $$x_1$$."));
                await new Promise((resolve) => setTimeout(resolve, 1000));
                return box.querySelectorAll("math").length;
              };
              return [await draw(), await draw()];
            }"""
        )
        assert formulas == [0, 1]
        somebody.errors.clear()  # the browser itself notes what it could not reach


KEPT = {
    "notes.md": "# Harbour\n\nThe **wall** is `high`; see [its site](https://example.org)\ue002 "
    "and [below](#level).\n\n"
    "| Year | Level |\n|---|---|\n| 1953 | 4.10 m |\n\n- [x] one\n- [ ] two\n\n![Map](a.png)\n\n"
    "<img src=x onerror=alert(1)>\n",
    "levels.csv": "year,level\n1953,4.10 m\n2015,4.83 m\n",
}


@pytest.fixture(scope="module")
def tabled(demo: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Keep documents with tables in a collection of their own, and return its path below /api/v1."""
    word = docx.Document()
    word.add_paragraph("Floods of the town")
    table = word.add_table(2, 2)
    for row, cells in zip(table.rows, (("Year", "Level"), ("1953", "4.10 m")), strict=True):
        for cell, text in zip(row.cells, cells, strict=True):
            cell.text = text
    folder = tmp_path_factory.mktemp("documents")
    word.save(str(folder / "floods.docx"))
    book = openpyxl.Workbook()
    book.template = True
    for cells in (("year", "level"), (1953, 4.1), (2015, 4.83)):
        book.worksheets[0].append(cells)
    book.save(str(folder / "levels.xltx"))
    with new_collection(demo, "tabled") as path:
        files = [("files", (name, text.encode())) for name, text in KEPT.items()]
        files += [("files", (file.name, file.read_bytes())) for file in folder.iterdir()]
        httpx.post(f"{path}/documents", files=files, timeout=60).raise_for_status()
        wait_for_indexing(f"{path}/documents")
        yield path


def open_at(page: Page, path: str, name: str, words: str) -> None:
    """Open a document of the collection at the words as its text has them."""
    [row] = httpx.get(f"{path}/documents", params={"search": name}).json()["items"]
    start = httpx.get(f"{path}/documents/{row['id']}/text").json()["text"].index(words)
    cited = {"source": name, "start": start, "end": start + len(words), "quote": "", "page": None}
    page.evaluate(
        'async cited => (await import("/page/document/opened.js")).openDocument("tabled", cited)', cited
    )


def test_markdown_is_drawn_with_its_cited_words_marked_and_no_html_of_it_runs(
    demo: str, visit: Visit, tabled: str
) -> None:
    with visit(demo) as somebody:
        page = somebody.open("#/ask")
        open_at(page, tabled, "notes.md", "The **wall** is `high`")
        pane = page.get_by_role("complementary", name="notes.md")
        expect(pane.get_by_role("heading", name="Harbour")).to_be_visible()
        expect(pane.locator("mark")).to_have_text(["The ", "wall", " is ", "high"])
        expect(pane.locator("mark").first).to_be_focused()
        expect(pane.get_by_role("listitem")).to_have_text(["☑ one", "☐ two"])
        expect(pane.get_by_text("Map", exact=True)).to_be_visible()
        expect(pane.get_by_role("link", name="its site")).to_have_attribute("href", "https://example.org")
        expect(pane.get_by_text("below")).not_to_have_attribute("href", "#level")
        assert "**" not in pane.inner_text() and pane.locator("img").count() == 0
        open_at(page, tabled, "notes.md", "| 1953 | 4.10 m |")
        expect(pane.locator("td mark")).to_have_text(["1953", "4.10 m"])


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("name", "words", "head", "level"),
    [
        ("floods.docx", "1953 | 4.10 m", ["Year", "Level"], "4.10 m"),
        ("levels.csv", "1953\nlevel: 4.10 m", ["year", "level"], "4.10 m"),
        ("levels.xltx", "1953\nlevel: 4.1", ["year", "level"], "4.1"),
    ],
)
def test_tables_of_documents_are_tables_with_their_cited_cells_marked(
    demo: str, visit: Visit, tabled: str, name: str, words: str, head: list[str], level: str
) -> None:
    with visit(demo) as somebody:
        page = somebody.open("#/ask")
        open_at(page, tabled, name, words)
        table = page.get_by_role("complementary", name=name).get_by_role("table")
        expect(table.get_by_role("columnheader")).to_have_text(head)
        expect(table.locator("td mark")).to_have_text(["1953", level])
        expect(table.locator("mark").first).to_be_focused()


@pytest.mark.nightly
def test_a_library_document_stands_alone_whatever_an_answer_has_open(demo: str, visit: Visit) -> None:
    with visit(demo) as somebody:
        page = somebody.open("#/ask")
        ask(page, "What is the highest water level ever recorded at Pellhythe?")
        page.locator("button.mark").first.click()
        expect(page.get_by_role("complementary")).to_be_visible()
        page.evaluate("location.hash = '#/library/samples'")
        page.get_by_role("link", name="faq.csv").click()
        expect(page.get_by_role("heading", name="faq.csv")).to_be_visible()
        expect(page.get_by_role("group", name="Text of the document")).to_be_visible()
        expect(page.get_by_role("complementary")).to_have_count(0)


@pytest.mark.nightly
def test_a_pdf_without_cited_words_does_not_say_that_they_cannot_be_marked(demo: str, visit: Visit) -> None:
    with visit(demo) as somebody:
        page = somebody.open("#/library/samples")
        page.get_by_role("link", name="climate_handbook.pdf").click()
        page.get_by_role("button", name="As PDF").click()
        expect(page.locator(".pdf-page canvas").first).to_be_visible()
        page.wait_for_load_state("networkidle")
        expect(page.get_by_text("cannot be marked")).to_have_count(0)
