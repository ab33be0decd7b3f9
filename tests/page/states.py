"""The states of the page's screens, for the tests that look at all of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from playwright.sync_api import Page

from tests.page.browser import Person

QUESTIONS = {
    "factual": "How long is the Long Wall and how high is its crest?",
    "analytical": "How does dredging the harbour affect Cotter Marsh?",
    "opinion": "What do residents and businesses think about a higher sea wall?",
    "contextual": "I run a bakery near the harbour. How do I prepare for a flood?",
    "refused": "What is the boiling point of tungsten?",
}
_TEXT = {"source": "guidance_households.md", "start": 700, "end": 760, "quote": "", "page": None}


def call(page: Page, module: str, function: str, *values: Any) -> None:
    """Call what a module of the page exports, as its other modules do."""
    page.evaluate(
        "async ([file, name, values]) => { await (await import(`/page/${file}`))[name](...values); }",
        [module, function, list(values)],
    )


def ask(page: Page, question: str) -> None:
    """Ask the samples in a new conversation, and wait for the answer."""
    call(page, "ask/conversation.js", "beginConversation")
    call(page, "ask/conversation.js", "ask", "samples", question)
    page.wait_for_selector("article")


def states_of_one_person(somebody: Person, *, every: bool = True) -> Iterator[str]:
    """Lead somebody through the samples without an account, and yield each state's name when it is shown.

    Without `every`, only two of the questions are asked.
    """
    page = somebody.open("#/ask")
    page.get_by_role("textbox").wait_for()
    yield "ask-empty"
    yield from _states_of_what_is_asked(page)
    for name, question in QUESTIONS.items():
        if not every and name not in ("factual", "refused"):
            continue
        ask(page, question)
        yield f"ask-{name}"
        if name == "factual":
            page.locator("button.mark").first.click()
            page.locator(".pdf-mark").first.wait_for()
            yield "document-pdf"
            call(page, "document/opened.js", "openDocument", "samples", _TEXT)
            page.locator(".document mark").first.wait_for()
            yield "document-text"
            yield from _states_of_notes(page)
            call(page, "document/opened.js", "closeDocument")
            page.locator("button.mark").first.hover()
            page.get_by_role("tooltip").wait_for()
            yield "citation"
            page.locator(".another [aria-controls^=ways]").click()
            page.locator(".another [role=group] button").nth(1).click()
            page.locator(".another section").wait_for()
            yield "another-way"
        if name == ("opinion" if every else "refused"):
            page.locator(".why-opener").last.click()
            page.locator(".timeline").wait_for()
            yield "why"
    page.evaluate(
        "import('/page/ask/conversation.js').then(({ thread }) => {"
        " thread.value = { ...thread.value, shared_by: 'ada' }; })"
    )
    page.get_by_text("Shared by ada").or_(page.get_by_text("Geteilt von ada")).wait_for()
    yield "ask-shared"
    yield from _states_of_answers(page)
    yield from _states_of_the_library(somebody)
    page = somebody.open("#/threads")
    page.get_by_role("searchbox").fill("crest metres")
    page.locator(".excerpt").first.wait_for()
    page.locator(".rows [aria-expanded]").first.click()
    yield "threads-found"
    for screen in ("threads", "people", "people/model", "people/events", "people/opinions"):
        somebody.open(f"#/{screen}")
        page.locator("main h1").wait_for()
        page.wait_for_load_state("networkidle")
        yield screen.replace("/", "-")
    call(page, "shell/notices.js", "notify", "Saved.")
    page.get_by_role("status").get_by_text("Saved.").wait_for()
    yield "notice"
    page.route("**/api/v1/**", lambda route: route.abort())
    page.evaluate(
        "import('/page/core/session.js').then((session) => session.readCollections()).catch(() => null)"
    )
    page.locator(".offline").wait_for()
    yield "offline"


def _states_of_what_is_asked(page: Page) -> Iterator[str]:
    options = page.locator(".composer .more")
    if options.is_visible():
        options.click()
    page.locator("#options [aria-expanded]").first.click()
    for name, condition, said in (
        ("condition", "kind = md", "Do[ck]"),
        ("wrong-condition", "kind =", "'kind ='"),
    ):
        page.locator("#condition").fill(condition)
        page.locator("#condition-said").get_by_text(re.compile(said, re.I)).wait_for()
        yield f"ask-{name}"
    call(page, "ask/scope.js", "setScope")
    page.locator("#options [aria-expanded]").first.click()


def _states_of_notes(page: Page) -> Iterator[str]:
    """Notes that have a place in the open text, and one whose words are gone."""
    note = {"source": _TEXT["source"], "quote": "to eat that needs no cooking", "text": "Ask Ada."}
    placed = {"id": "1", "start": 20, "end": 60, "place": {"section": "Advice"}}
    notes = [note | placed, note | {"id": "2", "start": None, "end": None, "place": None}]
    page.route("**/notes?*", lambda route: route.fulfill(json={"items": notes, "total": 2}))
    call(page, "document/opened.js", "closeDocument")
    call(page, "document/opened.js", "openDocument", "samples", _TEXT)
    page.locator(".notes summary").click()
    page.locator(".note-sign").first.wait_for()
    page.get_by_role("button", name=re.compile("Show passages|Textstellen zeigen")).click()
    yield "document-notes"
    page.locator(".note-sign").first.click()
    page.get_by_role("dialog").last.wait_for()
    yield "note"
    page.locator("dialog.stack button").last.click()
    page.unroute("**/notes?*")


def _states_of_answers(page: Page) -> Iterator[str]:
    """What answers seldom are: weak, not held, on their way, refused by the server."""
    unsupported = {"what": "unsupported", "chosen": "The mayor promised swans.", "why": "nothing found"}
    text = {"text": "\nThe wall is high. The mayor promised swans."}
    closest = {"text": "**The closest passages:**", "code": "closest", "values": {}, "heading": True}
    for name, parts, decisions in (("weak", [closest, text], []), ("unheld", [text], [unsupported])):
        answer = {"parts": parts, "citations": [], "query_type": "factual", "abstained": False}
        answer |= {"documents": [], "grounding": 0.5, "trace": [{"decisions": decisions}]}
        reply(page, "answer", answer)
        ask(page, QUESTIONS["factual"])
        yield f"ask-{name}"
    reply(page, "problem", {"status": 503, "title": "The model is busy."})
    ask(page, QUESTIONS["factual"])
    yield "ask-failed"
    page.route("**/ask/events", lambda route: None, times=1)  # never answered
    page.evaluate(
        "question => void import('/page/ask/conversation.js').then(({ ask }) => ask('samples', question))",
        QUESTIONS["factual"],
    )
    page.locator("[aria-busy=true] .working").wait_for()
    yield "ask-running"
    call(page, "ask/conversation.js", "beginConversation")


def reply(page: Page, event: str, data: dict[str, Any]) -> None:
    """Let the next question have this event alone."""
    body = f"event: {event}\ndata: {json.dumps(data)}\n\n"
    fulfill: dict[str, Any] = {"content_type": "text/event-stream", "body": body}
    page.route("**/ask/events", lambda route: route.fulfill(**fulfill), times=1)


def _states_of_the_library(somebody: Person) -> Iterator[str]:
    page = somebody.open("#/library")
    page.wait_for_load_state("networkidle")
    yield "library"
    folders = [{"name": f"reports/{name}", "documents": 3} for name in ("2023", "2024")]
    page.route("**/samples/folders?*", lambda route: route.fulfill(json=folders), times=1)
    somebody.open("#/library/samples?folder=reports")
    page.get_by_text("2024/").wait_for()
    yield "library-folder"
    somebody.open("#/library/samples")
    page.get_by_role("article").first.wait_for()
    yield "library-samples"
    page.locator("button.danger").first.click()
    page.get_by_role("dialog").wait_for()
    yield "dialog"
    page.keyboard.press("Escape")
    page.get_by_role("article").first.get_by_role("link").first.click()
    page.get_by_text("climate_handbook.pdf").first.wait_for()
    page.wait_for_load_state("networkidle")
    yield "library-document"


def states_of_a_team(somebody: Person) -> Iterator[str]:
    """Lead an admin of the team, signed in, through what only teams have."""
    page = somebody.page
    api, headers = f"{somebody.address}/api/v1", {"Origin": somebody.address}
    made = page.context.request.post(f"{api}/collections/tides/threads", data={}, headers=headers)
    page.context.request.put(f"{api}/threads/{made.json()['id']}/sharing/wim", data={}, headers=headers)
    somebody.open(f"#/threads/{made.json()['id']}")
    page.locator("main li").wait_for()
    yield "team-sharing"
    for screen in (
        "threads",
        "people",
        "people/tokens",
        "people/users",
        "people/events",
        "library/tides/members",
    ):
        somebody.open(f"#/{screen}")
        page.locator("main h1").wait_for()
        page.wait_for_load_state("networkidle")
        yield f"team-{screen.replace('/', '-')}"
    page.context.clear_cookies()
    page.evaluate("void import('/page/core/session.js').then((session) => session.readCollections())")
    page.get_by_role("dialog").wait_for()
    yield "session-ended"
    page.reload()
    page.locator(".sign-in").wait_for()
    yield "sign-in"
