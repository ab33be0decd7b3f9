"""The document beside the answer: open at the exact words, as text and as the pages of a PDF; notes in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pymupdf
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.page.browser import Person
from tests.page.conftest import Visit, new_collection, wait_for_indexing
from tests.page.papers import LINES, book
from tests.page.papers import papers as make_papers
from tests.page.states import ask, call

COLLECTION = "papers"


@pytest.fixture(scope="module")
def papers(demo: str) -> Iterator[httpx.Client]:
    """Index documents of many kinds in a collection of their own."""
    with (
        new_collection(demo, COLLECTION) as path,
        httpx.Client(base_url=f"{demo}/api/v1", timeout=60) as client,
    ):
        files = [("files", each) for each in make_papers().items()]
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


def test_words_that_moved_are_marked_and_others_never_in_their_place(
    demo: str, visit: Visit, papers: httpx.Client
) -> None:
    moved = {"start": 3, "end": 9}
    with visit(demo) as somebody:
        source, quote = QUOTES[1]
        page = show(somebody, cite(papers, source, quote) | moved)
        assert marked(page) == quote
        show(somebody, cite(papers, "book.pdf", "Sluice 3 opens") | moved | {"page": 100})
        expect(page.locator(".pdf-mark")).to_be_in_viewport()
        for source in ("notes.md", "book.pdf"):
            show(somebody, {"source": source, **moved, "quote": "It stood at 9.9 metres.", "page": 1})
            expect(page.get_by_text("The document has changed")).to_be_visible()
            expect(page.locator(".document mark, .pdf-mark")).to_have_count(0)


def test_the_tools_of_a_document_do_not_overlap_on_a_narrow_screen(
    demo: str, visit: Visit, papers: httpx.Client
) -> None:
    with visit(demo, language="de") as somebody:
        somebody.page.set_viewport_size({"width": 345, "height": 640})
        page = show(somebody, cite(papers, *QUOTES[0]))
        outline = page.get_by_text("Gliederung")
        assert outline.evaluate("outline => outline.scrollWidth <= outline.clientWidth")


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
@pytest.mark.parametrize("width", ["desktop", "phone"])
def test_quotes_and_sections_are_walked_through_and_escape_gives_the_focus_back(
    demo: str, visit: Visit, papers: httpx.Client, width: str
) -> None:
    with visit(demo, width=width) as somebody:
        quotes = ["Line 300 of", "Line 100 of"]
        page = show(somebody, *(cite(papers, "long.txt", quote) for quote in quotes))
        assert marked(page) == quotes[0]
        page.get_by_role("button", name="Previous").click()
        expect(page.locator(".document mark")).to_have_text(quotes[1])
        expect(page.locator(".document mark")).to_be_in_viewport()
        page = show(somebody, cite(papers, "notes.md", "6.2 metres"))
        page.get_by_text("Outline").click()
        page.get_by_role("button", name="Bells").click()
        expect(page.get_by_role("heading", name="Bells")).to_be_in_viewport()
        page.get_by_role("button", name="Show passages").click()
        passage = page.locator(".passage[data-number='1']")
        expect(passage).to_have_accessible_name("Write a note on passage 1")
        call(page, "core/texts.js", "setLanguage", "de")
        expect(passage).not_to_have_accessible_name("Write a note on passage 1")
        if width == "phone":
            for _ in range(12):
                page.keyboard.press("Tab")
                assert page.evaluate("!document.querySelector('main header, textarea').matches(':focus')")
        page.keyboard.press("Escape")
        expect(page.locator(".document")).to_have_count(0)
        expect(page.get_by_role("textbox").first).to_be_focused()


def test_rectangles_lie_over_the_cited_words_of_a_pdf(demo: str, visit: Visit, papers: httpx.Client) -> None:
    with visit(demo) as somebody:
        for number, hour in ((1, 1), (180, 0)):
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
            with pymupdf.open(stream=book()) as opened:
                there = opened[number - 1]
                [found] = there.search_for(words)
                scale = frame["width"] / there.rect.width
            assert drawn["x"] - frame["x"] == pytest.approx(found.x0 * scale, abs=3)
            assert drawn["width"] == pytest.approx(found.width * scale, abs=4)
            middle = drawn["y"] - frame["y"] + drawn["height"] / 2
            assert found.y0 * scale < middle < found.y1 * scale
            assert page.locator("canvas").count() < 12
            assert page.evaluate("document.documentElement.scrollHeight === innerHeight")


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
        field.fill("120")
        field.press("Enter")
        last = page.get_by_role("group", name="page 120")
        expect(last.get_by_text("120 Sluices")).to_be_in_viewport()
        before = last.bounding_box()
        page.get_by_role("button", name="Larger").press("Enter")
        expect(last.get_by_text("120 Sluices")).to_be_in_viewport()
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


def test_markdown_and_tables_are_drawn_with_their_cited_words_marked_and_no_html_of_them_runs(
    demo: str, visit: Visit, papers: httpx.Client
) -> None:
    with visit(demo) as somebody:
        page = show(somebody, cite(papers, "wall.md", "The **wall** is `high`"))
        pane = page.get_by_role("complementary", name="wall.md")
        expect(pane.get_by_role("heading", name="Harbour")).to_be_visible()
        expect(pane.locator("mark")).to_have_text(["The ", "wall", " is ", "high"])
        expect(pane.locator("mark").first).to_be_focused()
        expect(pane.get_by_role("listitem")).to_have_text(["☑ one", "☐ two"])
        expect(pane.get_by_text("Map", exact=True)).to_be_visible()
        expect(pane.get_by_role("link", name="its site")).to_have_attribute("href", "https://example.org")
        expect(pane.get_by_text("below")).not_to_have_attribute("href", "#level")
        assert "**" not in pane.inner_text() and pane.locator("img").count() == 0
        for source, quote, head, cells in (
            ("wall.md", "| 1953 | 4.10 m |", ["Year", "Level"], ["1953", "4.10 m"]),
            ("letter.docx", "1953 | 4.10 m", ["Year", "Level"], ["1953", "4.10 m"]),
            ("prices.csv", "Latch\nPrice: 7.35", ["Item", "Price"], ["Latch", "7.35"]),
        ):
            show(somebody, cite(papers, source, quote))
            table = page.get_by_role("complementary", name=source).get_by_role("table")
            expect(table.get_by_role("columnheader")).to_have_text(head)
            expect(table.locator("td mark")).to_have_text(cells)
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


# Select words in the text of the document, as a drag of the mouse does.
_SELECT = """words => {
  const box = document.querySelector(".document .scroller");
  const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const at = node.data.indexOf(words);
    if (at < 0) continue;
    getSelection().setBaseAndExtent(node, at, node, at + words.length);
    return;
  }
  throw new Error(`${words} is not in the document`);
}"""
API = "/collections/papers/documents"


@pytest.fixture
def noted(papers: httpx.Client) -> Iterator[httpx.Client]:
    """Return what sends requests to the server; all notes of the documents vanish with the test."""
    yield papers
    for row in papers.get(API).json()["items"]:
        for note in papers.get(f"{API}/{row['id']}/notes").json()["items"]:
            papers.delete(f"{API}/{row['id']}/notes/{note['id']}").raise_for_status()


def write_note(page: Page, text: str) -> None:
    form = page.get_by_role("dialog", name="New note")
    form.get_by_label("Note").fill(text)
    form.get_by_role("button", name="Save").click()
    expect(form).to_have_count(0)


def listed(page: Page) -> Locator:
    notes = page.locator(".notes")
    if notes.get_attribute("open") is None:
        notes.locator("summary").click()
    return notes.get_by_role("listitem")


def test_a_note_is_written_at_selected_words_and_found_by_search(
    demo: str, visit: Visit, noted: httpx.Client
) -> None:
    with visit(demo) as somebody:
        for source, words, opened in (
            ("long.txt", "the long log", "Line 450"),
            ("notes.md", "of 1911 stood", "6.2 metres"),
            ("prices.csv", "Latch", "Hinge"),
            ("book.pdf", "keeper rings", "Sluice 120"),
        ):
            page = show(somebody, cite(noted, source, opened))
            pane = page.get_by_role("complementary")
            expect(pane.locator("mark, .pdf-mark").first).to_be_visible()
            page.evaluate(_SELECT, words)
            pane.get_by_role("button", name="Add note").click()
            write_note(page, f"Is it true in {source}?")
            expect(pane.locator(".noted, .pdf-noted").first).to_be_visible()
            sign = pane.get_by_role("button", name=f"Note: Is it true in {source}?")
            expect(sign).to_be_visible()
            expect(listed(page)).to_contain_text([re.compile(f"Is it true in {source}.*{words}", re.DOTALL)])
            call(page, "document/opened.js", "closeDocument")
        # Where nothing is selected, the note is about the cited words.
        page = show(somebody, cite(noted, "book.pdf", "Sluice 180"))
        page.locator(".pdf-mark").first.wait_for()
        page.get_by_role("button", name="Add note").click()
        write_note(page, "Cited.")
        listed(page).filter(has_text="Is it true").get_by_role("button", name="keeper rings").click()
        expect(page.get_by_role("spinbutton")).to_have_value("120")
        page = somebody.open("#/library/papers")
        page.get_by_label("Search names and your notes").fill("true in LONG")
        expect(page.get_by_role("article")).to_have_count(1)
        page.get_by_role("link", name="Is it true in long.txt?").click()
        expect(page.locator(".notes[open]").get_by_role("listitem")).to_contain_text(
            ["Is it true in long.txt?"]
        )


def test_on_a_phone_a_note_is_changed_and_deleted_with_undo(
    demo: str, visit: Visit, noted: httpx.Client
) -> None:
    cited = cite(noted, "notes.md", "The tide of 1911")
    [row] = noted.get(API, params={"source": "notes.md"}).json()["items"]
    notes = f"{API}/{row['id']}/notes"
    place = {"source": "notes.md", "start": cited["start"], "end": cited["end"]}
    noted.post(notes, json=place | {"text": "Before"}).raise_for_status()
    with visit(demo, width="phone") as somebody:
        page = show(somebody, cited)
        expect(page.locator(".document mark.noted")).to_have_text("The tide of 1911")
        page.get_by_role("button", name="Note: Before").click()
        page.get_by_role("dialog", name="Note", exact=True).get_by_label("Note").fill("After")
        page.get_by_role("button", name="Save").click()
        expect(listed(page)).to_contain_text(["After"])
        page.get_by_role("button", name="Delete the note: After").click()
        expect(page.locator(".noted")).to_have_count(0)
        page.get_by_role("button", name="Undo").click()
        expect(page.locator(".noted")).to_have_count(1)
        listed(page)
        page.get_by_role("button", name="Delete the note: After").click()
        page.get_by_role("button", name="Undo").wait_for()
        call(page, "shell/notices.js", "finishRemovals")  # as where somebody leaves the page
    assert noted.get(notes).json()["total"] == 0
