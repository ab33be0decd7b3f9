"""Threads: found by what was answered, opened at that turn, and taken apart."""

from __future__ import annotations

import re

import httpx
import pytest
from playwright.sync_api import Route, expect

from tests.page.conftest import Visit
from tests.page.states import call
from tests.page.test_ask import BYE, HELLO, THANKS, ask
from tests.page.test_conversation import WALL, questions_of
from tests.page.test_mended import add_thread


def test_a_thread_is_found_by_its_words_opens_at_that_turn_and_loses_one_with_undo(
    demo: str, visit: Visit
) -> None:
    with visit(demo, width="phone") as somebody:
        page = somebody.open("#/ask")
        for question in (HELLO, WALL + " I ask it for a friend." * 200, THANKS):
            ask(page, question)
        thread = page.url.rpartition("=")[2]
        page.get_by_role("link", name="Threads").click()
        page.get_by_label("Search conversations").fill("crest LONG wall")
        found = page.locator(f"a[href*='{thread}']")
        expect(found.locator("mark").first).to_be_visible()
        marked = {mark.lower() for mark in found.locator("mark").all_text_contents()}
        assert marked == {"crest", "long", "wall"}
        found.locator(".excerpt").click()
        turn = page.get_by_role("article").nth(1)
        expect(turn).to_be_focused()
        expect(turn.get_by_role("heading", name=WALL)).to_be_in_viewport(ratio=1)
        expect(page).to_have_url(re.compile(f"thread={thread}$"))
        delete = page.get_by_role("button", name=f"Delete: {WALL}")
        delete.click()
        expect(page.get_by_role("article")).to_have_count(2)
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_role("article")).to_have_count(3)
        delete.click()
        # A further question is asked without it, although it could still be undone.
        ask(page, BYE)
        assert questions_of(page) == [HELLO, THANKS, BYE]
        kept = httpx.get(f"{demo}/api/v1/threads/{thread}").json()["turns"]
        assert [turn["question"] for turn in kept] == [HELLO, THANKS, BYE]
        good = page.get_by_role("article").nth(1).get_by_role("button", name="Good answer")
        good.click()
        expect(good).to_have_attribute("aria-pressed", "true")
        voted = httpx.get(f"{demo}/api/v1/threads/{thread}").json()["turns"]
        assert [bool(turn["feedback"]) for turn in voted] == [False, True, False]


def test_a_double_click_on_export_shows_the_files_and_takes_none(demo: str, visit: Visit) -> None:
    with visit(demo) as somebody:
        page = somebody.open("#/threads")
        add_thread(page, demo, "samples", "Which file?")
        page.reload()
        taken: list[object] = []
        page.on("download", lambda file: taken.append(file))
        export = page.get_by_role("button", name="Export: Which file?")
        export.dblclick()
        expect(page.get_by_role("link", name=re.compile("Export: Which file"))).to_have_count(3)
        expect(export).to_have_attribute("aria-expanded", "true")
        assert taken == []


def test_a_thread_that_is_left_while_it_answers_is_kept(demo: str, visit: Visit) -> None:
    with visit(demo) as somebody:
        page = somebody.open("#/ask")
        ask(page, HELLO)
        thread = page.url.rpartition("=")[2]
        unanswered: list[Route] = []
        page.route("**/ask/events", lambda route: unanswered.append(route), times=1)
        page.get_by_label("Ask a question").fill(THANKS)
        page.keyboard.press("Enter")
        expect(page.get_by_role("article")).to_have_count(2)
        page.get_by_role("button", name="New conversation").click()
        expect(page.get_by_role("article")).to_have_count(0)
        ask(page, BYE)  # a deletion would have been sent before it
        assert len(unanswered) == 1
        kept = httpx.get(f"{demo}/api/v1/threads/{thread}").json()["turns"]
        assert [turn["question"] for turn in kept] == [HELLO]


@pytest.mark.nightly
def test_a_question_after_its_thread_was_deleted_begins_another(demo: str, visit: Visit) -> None:
    with visit(demo) as somebody:
        page = somebody.open("#/ask")
        ask(page, HELLO)
        deleted = page.url.rpartition("=")[2]
        page.get_by_role("link", name="Threads").click()
        page.locator(".line").filter(has=page.locator(f"a[href*='{deleted}']")).get_by_role(
            "button", name="Delete"
        ).click()
        page.get_by_role("link", name="Ask", exact=True).click()
        ask(page, THANKS)
        assert questions_of(page) == [THANKS] and deleted not in page.url


def test_a_thread_that_another_tab_deleted_stays_away(demo: str, visit: Visit) -> None:
    with visit(demo) as somebody:
        page = somebody.open("#/threads")
        thread = add_thread(page, demo, "samples", "Gone twice?")
        page.reload()
        page.get_by_role("button", name="Delete: Gone twice?").click()
        httpx.delete(f"{demo}/api/v1/threads/{thread}", headers={"Origin": demo}).raise_for_status()
        call(page, "shell/notices.js", "finishRemovals")
        expect(page.get_by_text("Gone twice?").or_(page.get_by_role("alert"))).to_have_count(0)
        somebody.errors.clear()  # the browser itself notes that nothing was there


@pytest.mark.nightly
def test_a_turn_that_could_not_be_deleted_stays_in_the_history(demo: str, visit: Visit) -> None:
    with visit(demo) as somebody:
        page = somebody.open("#/ask")
        for question in (HELLO, THANKS):
            ask(page, question)
        thread = page.url.rpartition("=")[2]
        page.route("**/turns/*", lambda route: route.fulfill(status=503, json={"detail": "Later."}))
        page.get_by_role("button", name=f"Delete: {HELLO}").click()
        expect(page.get_by_role("article")).to_have_count(1)
        page.get_by_label("Ask a question").fill(BYE)
        page.keyboard.press("Enter")
        expect(page.locator("article[aria-busy=true]")).to_have_count(0)
        expect(page.get_by_role("article")).to_have_count(3)
        assert page.url.endswith(thread)
        kept = httpx.get(f"{demo}/api/v1/threads/{thread}").json()["turns"]
        assert [turn["question"] for turn in kept] == [HELLO, THANKS, BYE]
        somebody.errors.clear()  # the browser itself notes the refusal


@pytest.mark.nightly
def test_a_day_is_named_once_while_a_search_is_loading(demo: str, visit: Visit) -> None:
    with visit(demo) as somebody:
        page = somebody.open("#/threads")
        for title in ("Storm of 1953", "Storm of 1962"):
            add_thread(page, demo, "samples", title)
        page.reload()
        today = page.get_by_role("heading", name="Today")
        expect(today).to_have_count(1)
        page.route("**/threads?search=storm&*", lambda route: None)  # never answered
        with page.expect_request("**/threads?search=storm&*"):
            page.get_by_label("Search conversations").fill("storm")
        page.wait_for_timeout(300)
        expect(today).to_have_count(1)
