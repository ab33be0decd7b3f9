"""Notes at the words of a document: written, shown in the text, found, changed, and deleted with undo."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.page.conftest import Visit
from tests.page.states import call
from tests.page.test_document import cite, papers, show  # noqa: F401

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
def api(papers: httpx.Client) -> Iterator[httpx.Client]:  # noqa: F811
    """Return what sends requests to the server; all notes of the documents vanish with the test."""
    yield papers
    for row in papers.get(API).json()["items"]:
        for note in papers.get(f"{API}/{row['id']}/notes").json()["items"]:
            papers.delete(f"{API}/{row['id']}/notes/{note['id']}").raise_for_status()


def write(page: Page, text: str) -> None:
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
    demo: str, visit: Visit, api: httpx.Client
) -> None:
    with visit(demo) as somebody:
        for source, words, opened in (
            ("long.txt", "the long log", "Line 450"),
            ("notes.md", "of 1911 stood", "6.2 metres"),
            ("prices.csv", "Latch", "Hinge"),
            ("book.pdf", "keeper rings", "Sluice 300"),
        ):
            page = show(somebody, cite(api, source, opened))
            pane = page.get_by_role("complementary")
            expect(pane.locator("mark, .pdf-mark").first).to_be_visible()
            page.evaluate(_SELECT, words)
            pane.get_by_role("button", name="Add note").click()
            write(page, f"Is it true in {source}?")
            expect(pane.locator(".noted, .pdf-noted").first).to_be_visible()
            sign = pane.get_by_role("button", name=f"Note: Is it true in {source}?")
            expect(sign).to_be_visible()
            expect(listed(page)).to_contain_text([re.compile(f"Is it true in {source}.*{words}", re.DOTALL)])
            call(page, "document/opened.js", "closeDocument")
        # Where nothing is selected, the note is about the cited words.
        page = show(somebody, cite(api, "book.pdf", "Sluice 450"))
        page.locator(".pdf-mark").first.wait_for()
        page.get_by_role("button", name="Add note").click()
        write(page, "Cited.")
        listed(page).filter(has_text="Is it true").get_by_role("button", name="keeper rings").click()
        expect(page.get_by_role("spinbutton")).to_have_value("300")
        page = somebody.open("#/library/papers")
        page.get_by_label("Search names and your notes").fill("true in LONG")
        expect(page.get_by_role("article")).to_have_count(1)
        page.get_by_role("link", name="Is it true in long.txt?").click()
        expect(page.locator(".notes[open]").get_by_role("listitem")).to_contain_text(
            ["Is it true in long.txt?"]
        )


def test_on_a_phone_a_note_is_changed_and_deleted_with_undo(
    demo: str, visit: Visit, api: httpx.Client
) -> None:
    cited = cite(api, "notes.md", "The tide of 1911")
    [row] = api.get(API, params={"source": "notes.md"}).json()["items"]
    notes = f"{API}/{row['id']}/notes"
    place = {"source": "notes.md", "start": cited["start"], "end": cited["end"]}
    api.post(notes, json=place | {"text": "Before"}).raise_for_status()
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
    assert api.get(notes).json()["total"] == 0
