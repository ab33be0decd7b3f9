"""Asking: questions are written, followed, stopped and changed, and every sentence shows what it rests on."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest
from playwright.sync_api import Locator, Page, Route, expect

from adaptive_rag.text.phrases import link_markers, parts_of, say_heading
from benchmarks.chat_server import quote_passages
from tests.page.conftest import Model, Visit
from tests.page.states import call, reply

# Answered at once, without a search: for what holds for whatever is asked.
HELLO, THANKS, WHO, BYE = "Hello!", "Thank you!", "Who are you?", "Goodbye!"
SUMMARY = "Summarise guidance_households.md"  # the quickest answer with citations
LEVEL = "What is the highest water level ever recorded at Pellhythe?"
VIEWS = "What are the different views on raising the sea wall?"
FLOOD = "How should I prepare for a flood?"
TENANT = "I rent a ground-floor flat in Mill Street."
FOOTBALL = "Who won the 1998 football final in Pellhythe?"
UNHELD = "The **mayor** promised 900 golden swans to every visitor in March"

TABLE = """\
The level in metres [1]:

| Year | Level |
|------|-------|
| 2015 | 4.83 metres [1] |

```python
first = levels[1]
```

It is \\[h_{\\max} = ZEROES 4.83\\]""".replace("ZEROES", "0 + " * 100)


@pytest.fixture
def inventing(demo: str, model: Model) -> str:
    """Let the chat model say one thing of the first passage, slowly, and invent another."""

    def write(body: dict[str, Any]) -> str:
        return f"{quote_passages(body['messages'][-1]['content'], 1)}\n\n{UNHELD} [1]."

    model.write, model.word_seconds = write, 0.04
    return demo


def ask(page: Page, question: str) -> Locator:
    """Write a question, send it by Enter, and return its turn once it is answered."""
    field = page.get_by_label("Ask a question")
    field.fill(question)
    number = page.get_by_role("article").count()
    expect(page.locator(".composer .primary")).to_be_enabled()
    field.press("Enter")
    turn = page.get_by_role("article").nth(number)
    expect(turn).to_have_attribute("aria-busy", "false")
    return turn


def test_a_question_is_answered_and_each_mark_shows_its_quote_to_the_keyboard(
    demo: str, visit: Visit
) -> None:
    with visit(demo) as somebody:
        page = somebody.open()
        button = page.get_by_role("button", name="Ask", exact=True)
        expect(button).to_be_disabled()
        field = page.get_by_label("Ask a question")
        field.fill("How")
        field.press("Shift+Enter")
        field.press_sequentially("long?")
        expect(field).to_have_value("How\nlong?")
        turn = ask(page, LEVEL)
        expect(turn).to_contain_text("4.83 metres")
        expect(page.get_by_role("status").filter(has_text="The answer is there.")).to_be_attached()
        mark = turn.get_by_role("button", name="Source 1: climate_handbook.pdf, page 6")
        mark.focus()
        card = page.get_by_role("tooltip")
        expect(card).to_contain_text("at 06.20 on 14 January 2015")
        expect(card).to_contain_text("climate_handbook.pdf · page 6, 2.4 14 January 2015")
        expect(mark).to_have_accessible_description(card.inner_text().replace("\n", " "))
        page.keyboard.press("Escape")
        expect(card).to_have_count(0)
        expect(mark).to_be_focused()
        mark.hover()
        expect(card).to_be_visible()
        mark.click()
        expect(card).to_have_count(0)
        page.wait_for_selector("aside")


def test_each_source_is_listed_once_and_opens_its_document(demo: str, visit: Visit) -> None:
    with visit(demo, width="phone") as somebody:
        page = somebody.open()
        turn = ask(page, "How should a household prepare for a flood?")
        turn.get_by_text(re.compile(r"^\d sources?$")).press("Enter")
        sources = turn.get_by_role("listitem").filter(has_text=re.compile(r"\d quotes?"))
        buttons = sources.get_by_role("button", name=re.compile("guidance_households.md"))
        buttons.first.click()
        pane = page.get_by_role("dialog", name="guidance_households.md")
        expect(pane.get_by_text(re.compile("^Quote . of .$"))).to_be_visible()
        expect(pane).to_be_in_viewport(ratio=1)
        listed = buttons.all_inner_texts()
        assert len(listed) == len(set(listed)) > 1


def test_the_server_says_whose_answers_show_views_and_use_a_situation(demo: str, visit: Visit) -> None:
    def exchange(route: Route) -> None:
        listed = route.fetch().json()
        for each in listed["strategies"]:
            each["uses_situation"] = each["shows_views"] = each["name"] == "factual"
        route.fulfill(json=listed)

    answer = {"query_type": "factual", "abstained": False, "documents": [], "citations": [], "trace": []}
    answer["parts"] = parts_of([say_heading("side_against"), "\n\nThe wall costs too much."], [])
    with visit(demo) as somebody:
        page = somebody.page
        page.route("**/strategies", exchange)
        reply(page, "answer", answer)
        somebody.open("#/ask")
        call(page, "ask/conversation.js", "ask", "samples", LEVEL, {"userContext": TENANT})
        turn = page.get_by_role("article")
        expect(turn).to_contain_text(f"Answered for: {TENANT}")
        expect(turn.get_by_role("heading", level=3)).to_have_count(1)
        counts = re.compile(r"Risks and arguments against\s*1 view · 0 sources")
        expect(turn.locator("section").first).to_contain_text(counts)


@pytest.mark.nightly
def test_weak_evidence_and_what_was_read_from_a_scan_are_said(demo: str, visit: Visit) -> None:
    citation = {"marker": 1, "source": "old/wall.pdf", "page": 2, "place": {"page": 2}, "start": 0, "end": 9}
    citation |= {"quote": "Of 1968.", "ocr_confidence": 0.614, "also_as": ["b.pdf", "c.pdf"]}
    closest = say_heading("closest")
    closest["text"] = f"**{closest['text']}**"
    parts: list[Any] = [closest, {"text": "\nOf 1968. "}, {"text": "[1]", "citation": 0}]
    answer = {"parts": parts, "citations": [citation], "query_type": "factual"}
    answer |= {"abstained": False, "documents": [], "grounding": 1, "trace": []}
    with visit(demo) as somebody:
        page = somebody.open()
        reply(page, "answer", answer)
        turn = ask(page, LEVEL)
        expect(turn).to_contain_text("The documents may not say this outright.")
        turn.get_by_role("button", name="Source 1: wall.pdf, page 2").hover()
        expect(page.get_by_role("tooltip")).to_contain_text("Also as b.pdf, c.pdf")
        expect(page.get_by_role("tooltip")).to_contain_text("Read from a scan; 61 % sure")


@pytest.mark.nightly
def test_the_situation_is_told_before_or_after_the_question(demo: str, visit: Visit) -> None:
    with visit(demo) as somebody:
        page = somebody.open()
        turn = ask(page, FLOOD)
        expect(turn).to_contain_text("This answer may depend on who asks.")
        expect(ask(page, "and on sundays?").get_by_role("button", name="Add your situation")).to_have_count(0)
        turn.get_by_role("button", name="Add your situation").click()
        page.get_by_label("For whom or for what situation?").fill(TENANT)
        page.keyboard.press("Enter")
        told = page.get_by_role("article").nth(2)
        expect(told).to_contain_text(f"Answered for: {TENANT}")
        page.get_by_role("button", name="New conversation").click()
        expect(page.get_by_label("Ask a question")).to_be_focused()
        page.get_by_role("button", name="About you or your situation").click()
        page.get_by_label("For whom or for what situation?").fill(TENANT)
        turn = ask(page, FLOOD)
        expect(turn).to_contain_text(f"Answered for: {TENANT}")
        page.reload()
        expect(page.get_by_label("For whom or for what situation?")).to_have_value(TENANT)
        turn.get_by_role("button", name="Change").click()
        page.keyboard.press("Escape")
        expect(turn.get_by_role("button", name="Change")).to_be_focused()


def test_a_failure_says_why_and_is_tried_again_when_the_server_allows(demo: str, visit: Visit) -> None:
    refused = {"status": 429, "title": "Too Many Requests", "detail": "Too many questions at once."}
    with visit(demo) as somebody:
        page = somebody.open()
        page.clock.install()
        page.route(
            "**/ask/events",
            lambda route: route.fulfill(status=429, json=refused, headers={"Retry-After": "30"}),
            times=1,
        )
        turn = ask(page, THANKS)
        expect(turn.get_by_role("alert")).to_contain_text("Too many questions at once.")
        expect(turn.get_by_role("button", name="Try again in 30 s")).to_be_disabled()
        for _ in range(30):
            page.clock.run_for(1000)
        turn.get_by_role("button", name="Try again", exact=True).click()
        page.clock.resume()
        expect(page.get_by_role("article")).to_contain_text("You are welcome.")
        # The browser itself writes down that a request was refused.
        assert len(somebody.errors) == 1 and "429" in somebody.errors.pop()


def test_a_table_code_and_a_formula_are_drawn_and_a_mark_in_a_cell_opens_its_quote(
    demo: str, visit: Visit
) -> None:
    found = httpx.post(f"{demo}/api/v1/collections/samples/ask", json={"question": LEVEL}, timeout=30).json()
    parts = parts_of(link_markers(TABLE, found["citations"]), found["citations"])
    with visit(demo) as somebody:
        page = somebody.open()
        reply(page, "answer", found | {"parts": parts})
        turn = ask(page, LEVEL)
        expect(turn.locator("pre")).to_have_text("first = levels[1]\n")
        expect(turn.locator("math msub")).to_have_count(1)
        too_large = "box => [box.scrollWidth > box.clientWidth, box.scrollHeight > box.clientHeight]"
        assert turn.locator(".scrolls:has(math)").evaluate(too_large) == [True, False]  # it is scrolled
        mark = turn.get_by_role("cell", name="4.83 metres").get_by_role("button", name="Source 1")
        mark.hover()
        expect(page.get_by_role("tooltip")).to_contain_text("at 06.20 on 14 January 2015")
        mark.click()
        expect(page.locator(".pdf-mark").first).to_be_in_viewport(timeout=20_000)


@pytest.mark.nightly
def test_headings_of_an_answer_are_drawn_and_paragraphs_run_in_their_direction(
    demo: str, visit: Visit
) -> None:
    found = httpx.post(f"{demo}/api/v1/collections/samples/ask", json={"question": LEVEL}, timeout=30).json()
    text = "### 1. **Costs** [1]\n\nThey rise [1].\n\nשלום."
    parts = parts_of(link_markers(text, found["citations"]), found["citations"])
    with visit(demo) as somebody:
        page = somebody.open()
        reply(page, "answer", found | {"parts": parts})
        turn = ask(page, LEVEL)
        heading = turn.get_by_role("heading", level=3)
        expect(heading).to_have_text(re.compile(r"^1\. Costs\s*1$"))
        expect(heading.get_by_role("button", name="Source 1")).to_be_visible()
        space = """paragraph => {
          const text = new Range();
          text.selectNodeContents(paragraph);
          const [of, around] = [text, paragraph].map((each) => each.getBoundingClientRect());
          return [of.left - around.left, around.right - of.right].map((each) => each < 1);
        }"""
        assert turn.get_by_text("They rise").evaluate(space) == [True, False]
        assert turn.get_by_text("שלום").evaluate(space) == [False, True]


def test_a_running_answer_streams_is_stopped_and_shows_what_the_documents_do_not_hold(
    inventing: str, visit: Visit
) -> None:
    with visit(inventing) as somebody:
        page = somebody.open()
        field = page.get_by_label("Ask a question")
        field.fill(LEVEL)
        field.press("Enter")
        turn = page.get_by_role("article")
        expect(turn.locator(".markdown")).to_contain_text("mayor")
        expect(turn).to_have_attribute("aria-busy", "true")
        expect(turn).to_contain_text("Writing the answer …")
        page.keyboard.press("Escape")
        expect(turn).to_contain_text("Stopped.")
        expect(turn).to_contain_text("mayor")
        expect(field).to_be_focused()
        page.get_by_role("button", name="Try again").click()
        expect(page.get_by_text("1 of 2 sentences supported by the documents")).to_be_visible()
        underlined = "".join(turn.locator(".unheld").all_inner_texts())
        assert re.sub(r"\W", "", underlined) == re.sub(r"\W", "", UNHELD)
        expect(turn.get_by_text("not supported by the documents", exact=True)).to_have_count(1)
        turn.get_by_text("1 of 2 sentences supported by the documents").click()
        expect(turn.get_by_role("listitem").filter(has_text="golden swans")).to_contain_text("close enough")


@pytest.mark.nightly
def test_a_question_that_is_sent_while_its_thread_is_loaded_is_asked_in_it(demo: str, visit: Visit) -> None:
    held = list[Route]()
    with visit(demo) as somebody:
        page = somebody.open()
        ask(page, HELLO)
        thread = page.url.rpartition("=")[2]
        page.route(f"**/api/v1/threads/{thread}", lambda route: held.append(route))
        page.reload()
        field = page.get_by_label("Ask a question")
        field.fill("When was that?")
        field.press("Enter")
        expect(page.locator(".composer").get_by_role("button", name="Loading")).to_be_disabled()
        expect(field).to_have_value("When was that?")
        with page.expect_request("**/ask/events") as asked:
            held[0].continue_()
        assert thread in asked.value.url
        expect(field).to_have_value("")
        expect(page.get_by_role("article")).to_have_count(2)


@pytest.mark.nightly
def test_a_conversation_prints_as_a_document(demo: str, visit: Visit) -> None:
    with visit(demo, theme="dark") as somebody:
        page = somebody.open()
        turn = ask(page, LEVEL)
        page.emulate_media(media="print")
        expect(turn.get_by_text("page 6, 2.4 14 January 2015")).to_be_visible()
        for name in ("Copy", "Edit question", "Ask", "About you or your situation"):
            expect(page.get_by_role("button", name=name, exact=True)).to_have_count(0)
        assert (
            turn.evaluate("each => getComputedStyle(each).color") == "rgb(23, 26, 33)"
        )  # of the light theme


@pytest.mark.nightly
def test_the_running_answer_is_followed_only_from_the_end(inventing: str, visit: Visit) -> None:
    with visit(inventing, width="phone") as somebody:
        page = somebody.open()
        for _ in range(3):
            ask(page, SUMMARY)
        field = page.get_by_label("Ask a question")
        field.fill(LEVEL)
        field.press("Enter")
        page.get_by_text("Writing the answer …").wait_for()
        end = "document.documentElement.scrollHeight - innerHeight - scrollY"
        assert page.evaluate(end) < 2
        page.evaluate("scrollTo(0, 100)")
        expect(page.get_by_role("article").last).to_have_attribute("aria-busy", "false")
        assert page.evaluate("scrollY") == 100


def test_an_answer_says_that_the_chat_model_did_not_respond(demo: str, visit: Visit) -> None:
    silent = {"provider": "openai", "name": "silent", "address": "http://127.0.0.1:9/v1"}
    with httpx.Client(base_url=f"{demo}/api/v1", timeout=30) as api, visit(demo) as somebody:
        api.put("/model", json=silent).raise_for_status()
        try:
            turn = ask(somebody.open(), LEVEL)
        finally:
            api.delete("/model").raise_for_status()
        expect(turn).to_contain_text("4.83 metres")
        expect(turn.get_by_role("note")).to_have_text(re.compile("The chat model did not respond"))
