"""What must hold when people change, connections break and things are taken back."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.page.conftest import PASSWORD, Visit, new_collection, sign_in
from tests.page.test_library import drop


def add_thread(page: Page, address: str, collection: str, title: str) -> str:
    """Make a thread as the person at the page, and return its id."""
    api, headers = f"{address}/api/v1", {"Origin": address}
    made = page.context.request.post(f"{api}/collections/{collection}/threads", data={}, headers=headers)
    thread = str(made.json()["id"])
    page.context.request.patch(f"{api}/threads/{thread}", data={"title": title}, headers=headers)
    return thread


@pytest.mark.nightly
def test_the_page_begins_anew_when_another_person_signed_in(team: str, visit: Visit) -> None:
    with visit(team) as somebody:
        sign_in(somebody.page, team, "ben")
        page = somebody.open("#/people")
        expect(page.get_by_role("heading", name="ben")).to_be_visible()
        sign_in(page, team, "wim")
        page.evaluate("window.dispatchEvent(new Event('focus'))")
        expect(page.get_by_role("heading", name="wim")).to_be_visible()
        expect(page.get_by_role("heading", name="ben")).to_have_count(0)


def test_what_changed_elsewhere_is_shown_when_somebody_returns(demo: str, visit: Visit) -> None:
    with visit(demo) as somebody:
        page = somebody.open("#/library")
        expect(page.get_by_role("link", name="samples")).to_be_visible()
        with new_collection(demo, "elsewhere"):
            page.evaluate("window.dispatchEvent(new Event('focus'))")
            expect(page.get_by_role("link", name="elsewhere")).to_be_visible()


def test_a_change_that_failed_is_not_shown_as_made_nor_a_copy_that_was_denied(
    team: str, visit: Visit
) -> None:
    with visit(team) as somebody:
        sign_in(somebody.page, team, "ada")
        thread = add_thread(somebody.page, team, "tides", "When is high water?")
        refuse: dict[str, Any] = {"status": 503, "json": {"detail": "Later."}}
        for path, field, stored in (
            (f"threads/{thread}", "Who may read it", "people"),
            ("library/tides/members", "Role of wim", "writer"),
        ):
            page = somebody.open(f"#/{path}")
            choice = page.get_by_label(field)
            expect(choice).to_have_value(stored)
            page.route("**/api/v1/**", lambda route: route.fulfill(**refuse), times=1)
            choice.select_option(index=0 if stored == "writer" else 1)
            expect(page.get_by_role("alert")).to_have_text(re.compile("Later."))
            expect(choice).to_have_value(stored)
            page.get_by_role("button", name="Close").click()
        somebody.errors.clear()  # the browser itself notes the refusals
        page = somebody.open(f"#/threads/{thread}")
        page.evaluate("void (navigator.clipboard.writeText = () => Promise.reject(new Error('denied')))")
        page.get_by_role("button", name="Copy").click()
        expect(page.get_by_role("status").get_by_text("selected")).to_be_visible()


def test_the_latest_answer_can_be_explained_although_the_storage_is_full(demo: str, visit: Visit) -> None:
    store = """async () => {
      const { storeDetails, loadDetails } = await import("/page/ask/stored_details.js");
      const passages = [{ text: "x".repeat(2_000_000) }];
      for (const id of ["1", "2", "3"]) storeDetails({ thread: "t", id, steps: [], passages });
      return loadDetails("t", "3").passages?.length;
    }"""
    with visit(demo) as somebody:
        assert somebody.open("#/ask").evaluate(store) == 1


@pytest.mark.nightly
def test_who_signs_out_has_deleted_what_was_deleted(team: str, visit: Visit) -> None:
    with visit(team) as somebody:
        sign_in(somebody.page, team, "ben")
        page = somebody.open("#/threads")
        add_thread(page, team, "tides", "When is high water?")
        page.reload()
        page.get_by_role("button", name="Delete: When is high water?").click()
        expect(page.get_by_text("Deleted: When is high water?")).to_be_visible()
        page.get_by_role("link", name="ben").click()
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_role("heading", name="Sign in to Adaptive RAG")).to_be_visible()
        somebody.errors.clear()  # the browser itself notes that nobody is signed in
    with httpx.Client(base_url=f"{team}/api/v1", headers={"Origin": team}) as ben:
        ben.post("/session", json={"name": "ben", "password": PASSWORD}).raise_for_status()
        assert ben.get("/threads").json()["total"] == 0


@pytest.mark.nightly
def test_a_notice_waits_for_who_is_at_it_and_its_row_stays_away(demo: str, visit: Visit) -> None:
    with visit(demo) as somebody:
        somebody.page.clock.install()
        page = somebody.open("#/threads")
        thread = add_thread(page, demo, "samples", "Whose turn?")
        page.reload()
        page.get_by_role("button", name="Delete: Whose turn?").click()
        expect(page.get_by_role("button", name="Undo")).to_be_focused()
        page.get_by_role("button", name="Undo").hover()
        page.clock.run_for(40_000)
        page.evaluate("location.hash = '#/people'")
        expect(page.get_by_role("heading", name="Settings")).to_be_visible()
        with page.expect_response("**/threads?**"):
            page.evaluate("location.hash = '#/threads'")
        expect(page.locator("[aria-busy=true]")).to_have_count(0)
        expect(page.get_by_role("link", name="Whose turn?")).to_have_count(0)
        with page.expect_response(lambda answer: answer.request.method == "DELETE"):
            page.mouse.move(0, 0)
            page.clock.run_for(31_000)
        assert httpx.get(f"{demo}/api/v1/threads/{thread}").status_code == 404


def test_a_file_dropped_on_ask_goes_to_the_chosen_collection_and_elsewhere_nowhere(
    demo: str, visit: Visit
) -> None:
    with new_collection(demo, "dropped"), visit(demo) as somebody:
        page = somebody.open("#/library/dropped")
        expect(page.get_by_role("heading", name="dropped")).to_be_visible()
        page.get_by_role("link", name="Threads").click()
        expect(page.get_by_role("heading", name="Threads")).to_be_visible()
        drop(page, "ferry.md")
        expect(page.get_by_text("Drop files on Ask, or in the library")).to_be_visible()
        page.get_by_role("link", name="Ask", exact=True).click()
        expect(page.get_by_label("Ask a question")).to_be_visible()
        drop(page, "ferry.md")
        expect(page.get_by_role("article", name="ferry.md")).to_be_visible()
        expect(page.get_by_role("heading", name="dropped")).to_be_visible()


@pytest.mark.nightly
def test_a_list_is_read_when_the_server_is_back(demo: str, visit: Visit) -> None:
    with visit(demo) as somebody:
        page = somebody.open("#/people")
        expect(page.get_by_label("About you")).to_be_enabled()
        page.context.set_offline(True)
        page.get_by_role("link", name="Library").click()
        expect(page.get_by_text("The server cannot be reached")).to_have_count(1)
        page.context.set_offline(False)
        expect(page.get_by_role("list", name="Documents").get_by_role("article")).not_to_have_count(0)
        somebody.errors.clear()  # the browser itself notes what it could not reach


@pytest.mark.nightly
def test_search_and_filter_are_there_after_a_document(demo: str, visit: Visit) -> None:
    with visit(demo) as somebody:
        page = somebody.open("#/library/samples")
        search = page.get_by_role("searchbox")
        with page.expect_response("**/documents?search=a&**"):
            search.fill("a")
        page.get_by_role("button", name="Ready").click()
        page.get_by_role("article").get_by_role("link").first.click()
        expect(page.get_by_role("heading", name="Text of the document")).to_be_attached()
        page.go_back()
        expect(search).to_have_value("a")
        expect(page.get_by_role("button", name="Ready")).to_have_attribute("aria-pressed", "true")
        page.get_by_role("navigation").get_by_role("link", name="Library").click()
        expect(search).to_have_value("")
        page = somebody.open("#/threads")
        search.fill("nowhere")
        expect(page.get_by_text("No conversation has all of these words.")).to_be_visible()
        page.reload()
        expect(search).to_have_value("nowhere")


def height_of(place: Locator) -> float:
    box = place.bounding_box()
    assert box
    return box["y"]


@pytest.mark.nightly
def test_who_goes_back_finds_a_long_list_where_it_was(demo: str, visit: Visit) -> None:
    every = [
        {
            "id": f"{n:032x}",
            "title": f"Storm {n}, " + "and another word " * (n % 7),
            "collections": ["samples"],
        }
        | dict.fromkeys(("created", "updated"), "2026-05-04T10:00:00Z")
        for n in range(400)
    ]

    def answer(route: Route) -> None:
        at = int(parse_qs(urlsplit(route.request.url).query)["offset"][0])
        route.fulfill(json={"items": every[at : at + 50], "total": len(every)})

    with visit(demo, width="phone") as somebody:
        somebody.page.route("**/api/v1/threads?*", answer)
        page = somebody.open("#/threads")
        expect(page.get_by_role("link", name=re.compile("^Storm 0,"))).to_be_visible()
        seen = page.get_by_role("link", name=re.compile("^Storm 190,"))
        while not seen.count():
            page.mouse.wheel(0, 1000)
            page.wait_for_timeout(50)
        seen.scroll_into_view_if_needed()
        page.wait_for_timeout(300)  # it is written down once the scrolling rests
        before = height_of(seen)
        page.get_by_role("link", name="Settings").click()
        expect(page.get_by_role("heading", name="Settings")).to_be_in_viewport()
        assert page.evaluate("scrollY") == 0
        page.go_back()
        expect(seen).to_be_in_viewport()
        page.wait_for_timeout(300)
        assert height_of(seen) == pytest.approx(before, abs=2)


@pytest.mark.nightly
def test_who_goes_back_finds_the_conversation_where_it_was(demo: str, visit: Visit) -> None:
    with visit(demo) as somebody:
        page = somebody.open("#/ask")
        page.evaluate(
            """async () => {
              const { turns } = await import("/page/ask/conversation.js");
              turns.value = Array.from({ length: 40 }, (_, n) => ({
                key: `made-${n}`, collections: ["samples"],
                only: { documents: [], folders: [], where: "" }, question: `Question ${n}?`, userContext: "",
                state: "answered", steps: [], passages: [], draft: "", number: n + 1,
                answer: {
                  parts: [{ text: "The wall has many stones.\\n\\n".repeat(1 + n % 9) }],
                  citations: [],
                  query_type: "factual", abstained: false },
              }));
            }"""
        )
        expect(page.get_by_role("heading", name="Question 39?")).to_be_in_viewport()
        seen = page.get_by_role("heading", name="Question 13?")
        seen.scroll_into_view_if_needed()
        page.wait_for_timeout(300)
        before = height_of(seen)
        page.get_by_role("link", name="Library").click()
        expect(page.get_by_role("article").first).to_be_visible()
        page.go_back()
        expect(seen).to_be_in_viewport()
        page.wait_for_timeout(300)
        assert height_of(seen) == pytest.approx(before, abs=2)
