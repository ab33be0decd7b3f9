"""Tasks of each screen are done by keyboard alone: nothing here clicks."""

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Locator, Page, expect

from benchmarks.chat_server import ChatServer
from tests.page.browser import Person
from tests.page.conftest import Visit, sign_in, wait_for_indexing
from tests.page.test_ask import LEVEL
from tests.page.test_mended import add_thread

pytestmark = pytest.mark.slow
# A ring around what has the focus, or around the form that it is a part of.
_IS_SHOWN = """
element => [element, element.closest("form")].some((each) => each && (
  getComputedStyle(each).outlineStyle !== "none" || getComputedStyle(each).boxShadow !== "none"))
"""


def reach(page: Page, target: Locator, most: int = 300) -> None:
    """Press Tab until something has the focus, and see that it shows it."""
    expect(target).to_be_visible()
    for _ in range(most):
        if target.evaluate("element => element === document.activeElement"):
            assert target.evaluate(_IS_SHOWN), "the focus is not visible"
            return
        page.keyboard.press("Tab")
    pytest.fail(f"Tab does not reach {target}")


def press(page: Page, target: Locator) -> None:
    """Reach something, and press Enter on it."""
    reach(page, target)
    page.keyboard.press("Enter")


def write(page: Page, target: Locator, text: str) -> None:
    """Reach a field, and write over what is in it."""
    reach(page, target)
    page.keyboard.press("Control+A")
    page.keyboard.type(text)


def ask(somebody: Person) -> Locator:
    """Write a question and send it; return its turn."""
    page = somebody.open("#/ask")
    write(page, page.get_by_label("Ask a question"), LEVEL)
    page.keyboard.press("Enter")
    turn = page.get_by_role("article")
    expect(turn).to_have_attribute("aria-busy", "false")
    expect(turn).to_contain_text("4.83 metres")
    return turn


@pytest.fixture
def api(demo: str) -> Iterator[httpx.Client]:
    """Return what sends requests to the demo's server; the collection `walls` vanishes with the test."""
    with httpx.Client(base_url=f"{demo}/api/v1") as client:
        client.post("/collections", json={"name": "walls"}).raise_for_status()
        yield client
        client.delete("/collections/walls").raise_for_status()


def test_the_content_is_reached_past_the_navigation_and_a_citation_opened_and_closed(
    demo: str, visit: Visit
) -> None:
    with visit(demo) as somebody:
        page = somebody.open("#/ask")
        press(page, page.get_by_role("link", name="Skip to the content"))
        expect(page.get_by_role("main")).to_be_focused()
        turn = ask(somebody)
        mark = turn.get_by_role("button", name=re.compile("^Source 1:")).first
        press(page, mark)
        pane = page.get_by_role("complementary")
        expect(pane.get_by_role("note").or_(pane.locator("mark")).first).to_be_focused()
        page.keyboard.press("Escape")
        expect(pane).to_have_count(0)
        expect(mark).to_be_focused()


@pytest.mark.nightly
def test_a_folder_and_a_condition_are_chosen(demo: str, api: httpx.Client, visit: Visit) -> None:
    files = [
        ("files", (f"notes/{number}.md", f"---\nserial: {number}\n---\n# Wall {number}\n\nIt is long.\n"))
        for number in range(3)
    ]
    api.post("/collections/walls/documents", files=files).raise_for_status()
    wait_for_indexing(f"{demo}/api/v1/collections/walls/documents")
    with visit(demo) as somebody:
        page = somebody.open("#/library/walls")
        reach(page, page.get_by_label("Select notes", exact=True))
        page.keyboard.press("Space")
        press(page, page.get_by_role("button", name="Ask about the selection (1)"))
        which = page.get_by_role("button", name="Which documents")
        press(page, which)
        expect(page.get_by_text("3 documents", exact=True)).to_be_visible()
        write(page, page.get_by_label("Only where"), "serial = ")
        expect(page.get_by_role("listbox").get_by_role("option")).to_have_count(3)
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        expect(page.get_by_label("Only where")).to_have_value(re.compile("^serial = [012]$"))
        expect(page.get_by_text("1 document", exact=True)).to_be_visible()
        expect(page.get_by_role("listbox").get_by_role("option")).to_have_count(0)
        page.keyboard.type(" ")
        expect(page.get_by_role("listbox").get_by_role("option", name="and", exact=True)).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_role("listbox").get_by_role("option")).to_have_count(0)
        page.keyboard.press("Escape")
        expect(which).to_be_focused()
        press(page, page.get_by_role("button", name="Search all"))
        expect(page.get_by_text("Only in")).to_have_count(0)


@pytest.mark.nightly
def test_a_note_is_written_at_a_passage_and_deleted_with_undo(demo: str, visit: Visit) -> None:
    with visit(demo) as somebody:
        page = somebody.open("#/library/samples")
        press(page, page.get_by_role("link", name="guidance_households.md"))
        press(page, page.get_by_role("button", name="Show passages"))
        press(page, page.get_by_role("button", name="Write a note on passage 2", exact=True))
        write(page, page.get_by_role("dialog").get_by_label("Note"), "Who?")
        press(page, page.get_by_role("button", name="Save"))
        sign = page.get_by_role("button", name="Note: Who?", exact=True)
        press(page, sign)
        page.keyboard.press("Escape")
        expect(sign).to_be_focused()
        press(page, page.locator("summary", has_text="1 note"))
        for _ in range(2):
            press(page, page.get_by_role("button", name="Delete the note: Who?"))
            expect(sign).to_have_count(0)
            press(page, page.get_by_role("button", name="Undo"))
            press(page, page.locator("summary", has_text="1 note"))


def test_an_answer_is_stopped(demo: str, visit: Visit) -> None:
    with visit(demo) as somebody:
        page = somebody.open("#/ask")
        page.route("**/ask/events", lambda route: None)  # never answered
        field = page.get_by_label("Ask a question")
        write(page, field, LEVEL)
        page.keyboard.press("Enter")
        # Escape of an input method ends the word that is being composed.
        field.dispatch_event("keydown", {"key": "Escape", "isComposing": True})
        press(page, page.get_by_role("button", name="Stop"))
        expect(page.get_by_role("article")).to_contain_text("Stopped.")
        expect(field).to_be_focused()


@pytest.mark.nightly
def test_why_is_opened_and_a_passage_of_it_read(demo: str, visit: Visit) -> None:
    with visit(demo) as somebody:
        page, turn = somebody.page, ask(somebody)
        why = turn.get_by_role("button", name=re.compile("^Why"))
        press(page, why)
        press(page, turn.get_by_role("row").nth(1).get_by_role("button"))
        expect(page.get_by_role("complementary").locator(":focus")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_role("complementary")).to_have_count(0)
        page.keyboard.press("Escape")
        expect(why).to_be_focused()
        expect(why).to_have_attribute("aria-expanded", "false")


def test_a_document_is_added_found_and_removed_with_undo(
    demo: str, visit: Visit, api: httpx.Client, tmp_path: Path
) -> None:
    file = tmp_path / "harbour.md"
    file.write_text("# Harbour\n\nThe harbour was founded in 1612.\n")
    with visit(demo) as somebody:
        page = somebody.open("#/library/walls")
        with page.expect_file_chooser() as chosen:
            press(page, page.get_by_role("button", name="Add files"))
        chosen.value.set_files(file)
        row = page.get_by_role("article", name="harbour.md")
        expect(row).to_contain_text("Ready")
        write(page, page.get_by_label("Search names and your notes"), "harb")
        press(page, page.get_by_role("button", name="Remove harbour.md"))
        expect(row).to_have_count(0)
        press(page, page.get_by_role("button", name="Undo"))
        expect(row).to_be_visible()


@pytest.mark.nightly
def test_a_chat_model_is_tested_saved_asked_and_removed(demo: str, visit: Visit, api: httpx.Client) -> None:
    with ChatServer() as server, visit(demo) as somebody:
        page = somebody.open("#/ask")
        expect(page.get_by_text("answers are quotations from the documents")).to_be_visible()
        press(page, page.get_by_role("link", name="Set one up"))
        write(page, page.get_by_label("Name of the model"), "scripted")
        write(page, page.get_by_label("Address"), server.url)
        write(page, page.get_by_label("API key"), "planted-key-4711-x")
        press(page, page.get_by_role("button", name="Test"))
        expect(page.get_by_text("The model answers.")).to_be_visible()
        try:
            press(page, page.get_by_role("button", name="Save"))
            expect(page.get_by_text("A key is stored")).to_be_visible()
            expect(page.get_by_label("API key")).to_have_value("")
            assert "planted" not in page.content()
            before = len(server.calls)
            press(page, page.get_by_role("navigation", name="Main").get_by_role("link", name="Ask"))
            expect(page.get_by_text("answers are quotations")).to_have_count(0)
            write(page, page.get_by_label("Ask a question"), LEVEL)
            page.keyboard.press("Enter")
            expect(page.get_by_role("article")).to_contain_text(re.compile(r"\d model call"))
            assert {call.headers["authorization"] for call in server.calls[before:]} == {
                "Bearer planted-key-4711-x"
            }
            page = somebody.open("#/people/model")
            press(page, page.get_by_role("button", name="Remove"))
            dialog = page.get_by_role("dialog", name="Remove the model?")
            press(page, dialog.get_by_role("button", name="Remove"))
            expect(page.get_by_text("quotations from the documents again")).to_be_visible()
        finally:
            api.delete("/model").raise_for_status()


def test_a_thread_is_shared_read_by_another_and_no_longer_shared(team: str, visit: Visit) -> None:
    with visit(team) as wim, visit(team) as ben:
        sign_in(wim.page, team, "wim")
        sign_in(ben.page, team, "ben")
        thread = add_thread(wim.page, team, "tides", "When is high water?")
        page = wim.open("#/threads")
        press(page, page.get_by_role("link", name="Share: When is high water?"))
        name = page.get_by_label("Share with (name)")
        write(page, name, "otto")
        page.keyboard.press("Enter")
        expect(page.get_by_text("Nobody of this name may read its collections.")).to_be_visible()
        write(page, name, "Ben ")
        page.keyboard.press("Enter")
        expect(page.get_by_role("listitem")).to_contain_text("ben")
        theirs = ben.open("#/threads").get_by_role("listitem")
        expect(theirs).to_contain_text("Shared by wim")
        expect(theirs.get_by_role("button")).to_have_count(1)  # to export it
        press(ben.page, theirs.get_by_role("link"))
        expect(ben.page).to_have_url(re.compile(thread))
        press(page, page.get_by_role("button", name="Remove ben"))
        expect(page.get_by_text("It is shared with nobody by name.")).to_be_visible()
        reach(page, page.get_by_label("Who may read it"))
        with page.expect_response("**/sharing"):
            page.keyboard.press("ArrowDown")
        ben.page.reload()
        expect(ben.page.get_by_label("Ask a question")).to_be_visible()
        ben.open("#/threads")
        expect(ben.page.get_by_text("No conversations yet.")).to_be_visible()
        for somebody in (wim, ben):
            somebody.errors = [error for error in somebody.errors if "status of 404" not in error]
