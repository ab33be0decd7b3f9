"""A conversation and its address: the way back, stopping, editing in place, loading anew."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, Route, expect

from tests.page.conftest import Visit, new_collection, wait_for_indexing
from tests.page.states import call
from tests.page.test_ask import BYE, FOOTBALL, HELLO, LEVEL, SUMMARY, THANKS, VIEWS, WHO, ask
from tests.page.test_mended import add_thread

WALL = "How long is the Long Wall and how high is its crest?"
WELCOME = "Ask your documents"
SAILING = (
    "---\nserial: {number}\n---\n# Ferry {number}\n\nFerry {number} to Grauholm leaves at {number}:{year}.\n"
)


def threads(address: str) -> list[dict[str, Any]]:
    items = httpx.get(f"{address}/api/v1/threads").json()["items"]
    assert isinstance(items, list)
    return items


@pytest.fixture
def other(demo: str) -> Iterator[str]:
    """Add an empty collection beside the samples."""
    with new_collection(demo, "tides"):
        yield "tides"


def test_a_conversation_is_found_again_from_the_welcome_another_screen_and_another_collection(
    demo: str, visit: Visit, other: str
) -> None:
    with visit(demo) as somebody:
        page = somebody.open("#/ask")
        page.get_by_label("Collection").select_option("samples")
        ask(page, THANKS)
        expect(page).to_have_url(re.compile(r"thread="))
        page.go_back()
        expect(page.get_by_role("heading", name=WELCOME)).to_be_visible()
        page.go_forward()
        expect(page.get_by_role("article")).to_contain_text("You are welcome.")
        page.get_by_role("link", name="Settings").click()
        for _ in range(2):
            page.get_by_role("link", name="Ask", exact=True).click()
            expect(page.get_by_role("heading", name=THANKS)).to_be_visible()
        page.get_by_label("Collection").select_option(other)
        expect(page.get_by_text("A new conversation about tides. The one before is kept")).to_be_visible()
        page.reload()
        expect(page.get_by_label("Collection")).to_have_value(other)
        page.go_back()
        expect(page.get_by_role("heading", name=THANKS)).to_be_visible()
        expect(page.get_by_label("Collection")).to_have_value("samples")
        emptied = add_thread(page, demo, "samples", "All its questions were deleted")
        somebody.open(f"#/ask?thread={emptied}")
        expect(page.get_by_role("heading", name=WELCOME)).to_be_visible()
        ask(page, HELLO)
        assert page.url.endswith(emptied)


def test_turns_that_another_tab_added_or_deleted_come_and_go_with_the_next_answer(
    demo: str, visit: Visit
) -> None:
    with visit(demo) as somebody:
        page = somebody.open("#/ask")
        ask(page, HELLO)
        path = f"{demo}/api/v1/threads/{threads(demo)[0]['id']}"
        httpx.post(f"{path}/ask", json={"question": THANKS}, timeout=60).raise_for_status()
        expect(page.get_by_role("article")).to_have_count(1)
        field = page.get_by_label("Ask a question")
        field.fill(WHO)
        field.press("Enter")
        questions = page.locator("article h2")
        expect(questions).to_have_text([HELLO, THANKS, WHO])
        expect(page.get_by_role("article").nth(1)).to_contain_text("You are welcome.")
        first = httpx.get(path).json()["turns"][0]["id"]
        httpx.delete(f"{path}/turns/{first}").raise_for_status()
        for expected in ([THANKS, WHO, BYE], [THANKS, WHO, BYE, HELLO]):
            field.fill(expected[-1])
            field.press("Enter")
            expect(questions).to_have_text(expected)
        expect(page.get_by_role("article").last).to_have_attribute("aria-busy", "false")
        assert [turn["question"] for turn in httpx.get(path).json()["turns"]] == expected


@pytest.mark.few(1)
@pytest.mark.parametrize("leave", ["back", "close"])
def test_a_document_that_fills_a_phone_is_left_by_the_way_back(demo: str, visit: Visit, leave: str) -> None:
    with visit(demo, width="phone") as somebody:
        page = somebody.open("#/ask")
        turn = ask(page, SUMMARY)
        address = page.url
        turn.locator("button.mark").first.click()
        pane = page.get_by_role("dialog", name="guidance_households.md")
        expect(pane).to_be_visible()
        if leave == "back":
            page.go_back()
        else:
            pane.get_by_role("button", name="Close").click()
        expect(pane).to_have_count(0)
        assert page.url == address
        expect(turn).to_be_visible()
        page.go_back()  # one step each: no entry is left behind
        expect(page.get_by_role("heading", name=WELCOME)).to_be_visible()


def test_stop_ends_a_first_question_at_once_and_a_reload_offers_it_again(demo: str, visit: Visit) -> None:
    waiting: list[Route] = []
    before = len(threads(demo))
    with visit(demo) as somebody:
        page = somebody.open("#/ask")
        page.route("**/api/v1/threads", lambda route: waiting.append(route), times=1)
        page.get_by_label("Ask a question").fill(THANKS)
        page.keyboard.press("Enter")
        with page.expect_response(lambda answer: answer.request.method == "DELETE"):
            page.get_by_role("button", name="Stop").click()
            expect(page.get_by_text("Stopped.")).to_be_visible()
            waiting[0].continue_()
        assert len(threads(demo)) == before
        page.reload()
        expect(page.get_by_label("Ask a question")).to_have_value(THANKS)
        page.get_by_role("button", name="Ask", exact=True).click()
        expect(page.get_by_role("article")).to_contain_text("You are welcome.")


@pytest.mark.nightly
def test_a_first_question_that_is_stopped_while_it_is_answered_leaves_no_thread(
    demo: str, visit: Visit
) -> None:
    before = len(threads(demo))
    with visit(demo) as somebody:
        page = somebody.open("#/ask")
        page.route("**/ask/events", lambda route: None, times=1)  # never answered
        page.get_by_label("Ask a question").fill(HELLO)
        with page.expect_request("**/ask/events"):
            page.keyboard.press("Enter")
        with page.expect_response(lambda answer: answer.request.method == "DELETE"):
            page.keyboard.press("Escape")
        assert len(threads(demo)) == before


# The stream of an answer stays open until the page leaves it.
_HOLD_STREAMS = """
const send = window.fetch;
window.fetch = async (address, options) => {
  const answer = await send(address, options);
  if (!String(address).endsWith("/ask/events")) return answer;
  const events = new Uint8Array(await answer.arrayBuffer());
  const start = (stream) => {
    stream.enqueue(events);
    options.signal.addEventListener("abort", () => stream.error(options.signal.reason));
  };
  return new Response(new ReadableStream({ start }));
};
"""


def test_a_first_answer_that_is_left_before_its_stream_ends_is_kept(demo: str, visit: Visit) -> None:
    with visit(demo) as somebody:
        somebody.page.add_init_script(_HOLD_STREAMS)
        page = somebody.open("#/ask")
        ask(page, HELLO)
        thread = page.url.rpartition("=")[2]
        page.get_by_role("button", name="New conversation").click()
        ask(page, BYE)  # a deletion would have been sent before it
        [turn] = httpx.get(f"{demo}/api/v1/threads/{thread}").json()["turns"]
        assert turn["question"] == HELLO


def test_an_edited_question_is_asked_in_its_place_and_what_followed_is_kept(demo: str, visit: Visit) -> None:
    with visit(demo) as somebody:
        page = somebody.open("#/ask")
        for question in (HELLO, THANKS, WHO):
            ask(page, question)
        old = page.url.rpartition("=")[2]
        second = page.get_by_role("article").nth(1)
        edit = second.get_by_role("button", name="Edit question")
        edit.click()
        page.keyboard.type("!")
        page.keyboard.press("Escape")
        expect(edit).to_be_focused()
        edit.click()
        field = second.get_by_label("Ask a question")
        field.fill(BYE)
        field.press("Enter")
        expect(page.get_by_text("What followed is kept")).to_be_visible()
        expect(page.get_by_role("article").nth(1)).to_have_attribute("aria-busy", "false")
        assert questions_of(page) == [HELLO, BYE]
        expect(page).not_to_have_url(re.compile(old))
        page.reload()
        expect(page.get_by_role("article")).to_have_count(2)
        assert questions_of(page) == [HELLO, BYE]
        page.go_back()
        expect(page.get_by_role("article")).to_have_count(3)
        assert questions_of(page) == [HELLO, THANKS, WHO]
        page.get_by_role("button", name="Ask again").last.click()
        expect(page.get_by_role("article")).to_have_count(4)
        assert questions_of(page)[-1] == WHO


def questions_of(page: Page) -> list[str]:
    return page.locator(".question").all_text_contents()


@pytest.mark.nightly
def test_a_collection_chosen_in_the_library_begins_a_conversation_with_the_next_question(
    demo: str, visit: Visit, other: str
) -> None:
    with visit(demo) as somebody:
        page = somebody.open("#/ask")
        page.get_by_label("Collection").select_option("samples")
        ask(page, HELLO)
        old = page.url
        page.evaluate(f"location.hash = '#/library/{other}'")
        expect(page.get_by_role("heading", name=other)).to_be_visible()
        page.get_by_role("link", name="Ask", exact=True).click()
        expect(page.get_by_role("heading", name=HELLO)).to_be_visible()
        page.get_by_label("Ask a question").fill(THANKS)
        page.keyboard.press("Enter")
        expect(page.get_by_text(f"A new conversation about {other}. The one before is kept")).to_be_visible()
        expect(page.get_by_role("article")).to_have_attribute("aria-busy", "false")
        assert questions_of(page) == [THANKS]
        page.goto(old)
        expect(page.get_by_role("heading", name=HELLO)).to_be_visible()
        assert questions_of(page) == [HELLO]
        somebody.errors.clear()  # the browser itself notes that nothing is in the other collection


def test_why_and_the_closest_passages_are_there_after_loading_anew(demo: str, visit: Visit) -> None:
    with visit(demo) as somebody:
        page = somebody.open("#/ask")
        page.route("**/documents?state=waiting*", lambda route: route.fulfill(json={"items": [], "total": 3}))
        first, second = ask(page, LEVEL), ask(page, FOOTBALL)
        expect(second).to_contain_text("The documents do not contain an answer")
        expect(second.get_by_role("note")).to_contain_text(
            "3 documents of this collection are still being indexed."
        )
        page.reload()
        expect(first.get_by_role("button", name=re.compile("^Why.*5 steps"))).to_be_visible()
        expect(first.get_by_text(re.compile(r"Confidence: \d+%"))).to_be_visible()
        expect(second.get_by_role("heading", name="Closest passages")).to_be_visible()
        expect(second.locator(".refusal li")).to_have_count(3)
        second.locator(".refusal li").first.get_by_role("button").click()
        page.wait_for_selector("aside")
        page.evaluate("sessionStorage.clear()")  # as in another browser
        page.reload()
        expect(first.get_by_text(re.compile(r"Confidence: \d+%"))).to_be_visible()


def test_marks_count_from_1_in_the_order_of_the_text_in_its_sources_and_in_its_copy(
    demo: str, visit: Visit
) -> None:
    with visit(demo) as somebody:
        page = somebody.open("#/ask")
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        turn = ask(page, VIEWS)
        shown = [int(mark) for mark in turn.locator("button.mark").all_text_contents()]
        assert list(dict.fromkeys(shown)) == list(range(1, max(shown) + 1)) and max(shown) > 1
        turn.get_by_text(f"{max(shown)} sources", exact=True).click()
        listed = [int(mark) for mark in turn.locator("details li > .mark").all_text_contents()]
        assert listed == sorted(listed) and set(listed) == set(shown)
        turn.get_by_role("button", name="Copy").click()
        page.get_by_text("was copied with its sources").wait_for()
        written = [
            int(mark) for mark in re.findall(r"\[(\d+)\]", page.evaluate("navigator.clipboard.readText()"))
        ]
        assert written[: len(shown)] == shown
        quotes = written[len(shown) :]
        assert quotes == sorted(quotes)


def test_no_copied_quote_or_source_shows_an_image_or_a_tag(demo: str, visit: Visit) -> None:
    text = "A !![map](https://evil.test/i.png)\n[see](guide.md) <img src=https://evil.test/i.png> 1 < 2"
    answer = {
        "parts": [{"text": "So. "}, {"text": "[7]", "citation": 0}],
        "citations": [{"marker": 7, "source": text, "place": {}, "quote": text}],
    }
    copy = "answer => import('/page/ask/citations.js').then(code => code.answerToMarkdown([], answer))"
    with visit(demo) as somebody:
        words, source = somebody.open("#/ask").evaluate(copy, answer).split("\n\n")
    assert words == "So. [1]"
    plain = "A [map](https://evil.test/i.png) [see](guide.md) ‹img src=https://evil.test/i.png> 1 < 2"
    assert source.endswith(f": “{plain}”") and "![" not in source and "<img" not in source


def test_documents_chosen_in_the_library_are_asked_alone_and_kept_with_the_conversation(
    demo: str, visit: Visit
) -> None:
    with visit(demo) as somebody:
        page = somebody.open("#/ask")
        page.get_by_role("button", name="Which documents").click()
        page.get_by_role("link", name="Choose documents and folders").click()
        page.get_by_label("Select guidance_households.md").click()
        page.get_by_role("button", name="Ask about the selection (1)").click()
        expect(page.get_by_text("Only in guidance_households.md")).to_be_visible()
        turn = ask(page, LEVEL)
        assert "4.83" not in turn.inner_text()
        expect(turn.get_by_text("Only in guidance_households.md")).to_be_visible()
        page.reload()
        expect(page.get_by_text("Only in guidance_households.md")).to_have_count(2)
        page.get_by_role("button", name="Search all").click()
        expect(page.get_by_text("Only in guidance_households.md")).to_have_count(1)
        expect(ask(page, LEVEL)).to_contain_text("4.83 metres")
        page.get_by_role("button", name="New conversation").click()
        expect(page.get_by_text("Only in")).to_have_count(0)


@pytest.fixture(scope="module")
def pier(demo: str) -> Iterator[str]:
    """Make a collection with folders and fields, whose sailings differ by year."""
    with new_collection(demo, "pier") as path:
        files = [
            ("files", (f"sailings/20{year}/ferry-{number}.md", SAILING.format(year=year, number=number)))
            for year in (23, 24)
            for number in range(3)
        ]
        httpx.post(f"{path}/documents", files=files, timeout=30).raise_for_status()
        wait_for_indexing(f"{path}/documents")
        yield "pier"


def test_a_folder_a_condition_and_a_second_collection_are_asked_and_found_again_elsewhere(
    demo: str, pier: str, visit: Visit
) -> None:
    question = "When does ferry 2 to Grauholm leave?"
    with visit(demo) as somebody:
        page = somebody.open(f"#/library/{pier}")
        page.get_by_role("link", name="sailings/", exact=True).click()
        page.get_by_label("Select sailings/2024", exact=True).check()
        page.get_by_role("button", name="Ask about the selection (1)").click()
        expect(page.get_by_text("Only in sailings/2024/")).to_be_visible()
        assert "2:24" in ask(page, question).inner_text()
        page.get_by_role("button", name="Which documents").click()
        condition = page.get_by_label("Only where")
        expect(page.get_by_text("3 documents", exact=True)).to_be_visible()
        condition.fill("ser")
        page.get_by_role("listbox").get_by_role("option", name="serial =").click()
        expect(condition).to_have_value("serial = ")
        expect(page.get_by_role("listbox").get_by_role("option")).to_have_text(["0", "1", "2"])
        expect(page.get_by_text("cannot be read at its end")).to_be_visible()
        expect(page.get_by_role("button", name="Ask", exact=True)).to_be_disabled()
        condition.fill("serial = 1")
        expect(page.get_by_text("1 document", exact=True)).to_be_visible()
        page.get_by_role("checkbox", name="samples").check()
        expect(page.get_by_text("A new conversation about pier, samples.")).to_be_visible()
        turn = ask(page, "When does the ferry to Grauholm leave?")
        shown = "In pier, samples · Only in pier/sailings/2024/, samples/ · where serial = 1"
        assert "1:24" in turn.inner_text() and shown in turn.inner_text()
        turn.locator("button.mark").first.hover()
        expect(page.get_by_role("tooltip")).to_contain_text("ferry-1.md (pier)")
        turn.locator("button.mark").first.click()
        expect(page.get_by_role("complementary").locator("mark").first).to_contain_text("1:24")
        address = page.url
    with visit(demo, width="phone") as elsewhere:
        page = elsewhere.page
        page.goto(address)
        expect(page.get_by_text(shown)).to_have_count(2)
        page.get_by_role("button", name="Search all").click()
        expect(page.get_by_text("In pier, samples", exact=True)).to_be_visible()


@pytest.mark.nightly
def test_a_conversation_goes_on_in_whichever_order_its_collections_are_named(
    demo: str, pier: str, visit: Visit
) -> None:
    with visit(demo) as somebody:
        page = somebody.open("#/ask")
        for question in (HELLO, THANKS):
            call(page, "ask/conversation.js", "ask", ["samples", pier], question)
            page.evaluate(  # of three or more, the server has an order of its own
                "import('/page/ask/conversation.js')"
                ".then(({ thread }) => { thread.value.collections.reverse(); })"
            )
        assert questions_of(page) == [HELLO, THANKS]
        thread = page.url.rpartition("=")[2]
        assert len(httpx.get(f"{demo}/api/v1/threads/{thread}").json()["turns"]) == 2


@pytest.mark.nightly
def test_a_thread_that_is_opened_while_the_server_is_away_is_shown_when_it_is_back(
    demo: str, visit: Visit
) -> None:
    with visit(demo) as somebody:
        page = somebody.open("#/ask")
        ask(page, HELLO)
        address = page.url
        page.get_by_role("button", name="New conversation").click()
        page.context.set_offline(True)
        page.go_back()
        expect(page.get_by_text("The server cannot be reached")).to_be_visible()
        page.context.set_offline(False)
        expect(page.get_by_role("heading", name=HELLO)).to_be_visible()
        assert page.url == address
        somebody.errors.clear()  # the browser itself notes what it could not reach


def test_a_condition_is_completed_word_by_word(demo: str, visit: Visit) -> None:
    fields = [
        {"name": "author", "kind": "text", "values": ["Ann Lee", "or", 'the "best"', "Ray"]},
        {"name": "in force", "kind": "yes or no", "values": [True]},
        {"name": "date", "kind": "date", "values": ["2024-03"]},
    ]
    expected = {
        "": ["author = ", "`in force` = ", "date = "],
        "A": ["author = ", "date = "],
        "author = ": [f"author = {value}" for value in ('"Ann Lee"', '"or"', "'the \"best\"'", "Ray")],
        "author = an": ['author = "Ann Lee"'],
        'author = "Ann': ['author = "Ann Lee"'],
        'author = "Ann Lee" ': ['author = "Ann Lee" and ', 'author = "Ann Lee" or '],
        'author = "Ann Lee" and (d': ['author = "Ann Lee" and (date = '],
        "`in force` = ": ["`in force` = yes"],
        "author not in (Ray, ": [
            f"author not in (Ray, {value}" for value in ('"Ann Lee"', '"or"', "'the \"best\"'", "Ray")
        ],
        "nothing = ": [],
        "author = Ray": [],
        "author": ["author = "],
    }
    with visit(demo) as somebody:
        page = somebody.open("#/ask")
        complete = "async (given) => (await import('/page/ask/completion.js')).completeCondition(...given)"
        found = {
            typed: [whole for _, whole in page.evaluate(complete, [typed, fields])] for typed in expected
        }
    assert found == expected
