"""Each task is done by keyboard alone: nothing here clicks."""

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.page.browser import Person
from tests.page.conftest import Visit, sign_in
from tests.page.states import QUESTIONS

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
    write(page, page.get_by_label("Ask a question"), QUESTIONS["factual"])
    page.keyboard.press("Enter")
    turn = page.get_by_role("article")
    expect(turn).to_have_attribute("aria-busy", "false")
    expect(turn).to_contain_text("crest is at 5.10")
    return turn


@pytest.fixture
def api(demo: str) -> Iterator[httpx.Client]:
    """Return what sends requests to the demo's server; the collection `walls` vanishes with the test."""
    with httpx.Client(base_url=f"{demo}/api/v1") as client:
        client.post("/collections", json={"name": "walls"}).raise_for_status()
        yield client
        client.delete("/collections/walls").raise_for_status()


def test_the_content_is_reached_past_the_navigation(demo: str, visit: Visit) -> None:
    with visit(demo) as somebody:
        page = somebody.open("#/ask")
        press(page, page.get_by_role("link", name="Skip to the content"))
        expect(page.get_by_role("main")).to_be_focused()


@pytest.mark.nightly
def test_every_screen_is_reached_from_the_navigation(demo: str, visit: Visit) -> None:
    with visit(demo) as somebody:
        page = somebody.open("#/ask")
        for name in ("Threads", "Library", "People", "Ask"):
            link = page.get_by_role("navigation", name="Main").get_by_role("link", name=name)
            press(page, link)
            expect(link).to_have_attribute("aria-current", "page")


def test_a_citation_is_opened_and_closed(demo: str, visit: Visit) -> None:
    with visit(demo) as somebody:
        page, turn = somebody.page, ask(somebody)
        mark = turn.get_by_role("button", name=re.compile("^Source 1:")).first
        press(page, mark)
        pane = page.get_by_role("complementary")
        expect(pane.get_by_role("note").or_(pane.locator("mark")).first).to_be_focused()
        page.keyboard.press("Escape")
        expect(pane).to_have_count(0)
        expect(mark).to_be_focused()


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
        write(page, field, QUESTIONS["factual"])
        page.keyboard.press("Enter")
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


@pytest.mark.nightly
def test_another_way_is_shown_and_voted_for(demo: str, visit: Visit) -> None:
    with visit(demo) as somebody:
        page, turn = somebody.page, ask(somebody)
        press(page, turn.get_by_role("button", name="Answer it another way"))
        press(page, turn.get_by_role("button", name="As: Opinion"))
        both = turn.get_by_role("region", name="Two ways to answer")
        press(page, both.get_by_role("button", name="This one is better").last)
        better = both.get_by_role("button", name="This one is better").last
        expect(better).to_have_attribute("aria-pressed", "true")
        press(page, better)
        expect(better).to_have_attribute("aria-pressed", "false")


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
def test_a_thread_is_renamed_and_deleted_with_undo(demo: str, visit: Visit, api: httpx.Client) -> None:
    api.post("/collections/walls/threads", json={"title": "Before"}).raise_for_status()
    with visit(demo) as somebody:
        page = somebody.open("#/threads")
        press(page, page.get_by_role("button", name="Rename: Before"))
        write(page, page.get_by_label("Title", exact=True), "After")
        page.keyboard.press("Enter")
        press(page, page.get_by_role("button", name="Delete: After"))
        thread = page.get_by_role("link", name="After", exact=True)
        expect(thread).to_have_count(0)
        press(page, page.get_by_role("button", name="Undo"))
        expect(thread).to_be_visible()


@pytest.mark.nightly
def test_a_token_is_made_and_revoked(team: str, visit: Visit) -> None:
    with visit(team) as wim:
        sign_in(wim.page, team, "wim")
        page = wim.open("#/people/tokens")
        write(page, page.get_by_label("What it is for"), "nightly report")
        press(page, page.get_by_role("button", name="Make a token"))
        expect(page.get_by_label("Token “nightly report”.")).to_have_value(re.compile(".{20,}"))
        press(page, page.get_by_role("button", name="Revoke: nightly report"))
        press(page, page.get_by_role("dialog").get_by_role("button", name="Revoke", exact=True))
        expect(page.get_by_text("You have no tokens.")).to_be_visible()
