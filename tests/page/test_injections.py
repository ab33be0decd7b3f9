"""Hostile texts through every door of the page: none runs, none leads away, none asks another host.

What a door refuses never reaches the page; docs/page.md has both counts of each door.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import quote, urlsplit

import httpx
import pymupdf
import pytest
from playwright.sync_api import Browser, Page, Route, expect

from adaptive_rag.errors import InputError
from adaptive_rag.server.folders import normalize_name
from tests.page.browser import Person, person
from tests.page.conftest import Model, new_collection, wait_for_indexing
from tests.page.payloads import payloads
from tests.page.servers import Servers
from tests.page.states import call
from tests.server.test_oidc import BEGIN, SmallProvider, settings_of

pytestmark = pytest.mark.slow
PAYLOADS = payloads()
OPEN = "samples"
# Letters that a client writes in another way where it names a file.
_AS_SENT = str.maketrans({'"': "'", "\\": None, "\n": " "})
# Noticed by whoever runs: a script of a payload calls alert, whatever window it is in.
_TRAPS = """
window.__ran = [];
for (const name of ["alert", "confirm", "prompt", "print", "open"])
  window[name] = (...told) => { window.top.__ran.push(`${name}(${told})`); };
"""
# What no text may have become, wherever it stands on the page.
_MADE = """
() => [...document.querySelectorAll("*")].flatMap((element) => [
  ...[...element.attributes]
    .filter(({ name, value }) => /^on|^srcdoc$|^ping$|^formaction$/.test(name) ||
      // The page sets styles of its own, but none within a text.
      (name === "style" && (element.closest(".markdown") || /evil|fixed|animation/.test(value))) ||
      /^(?:javascript|vbscript|data:text)/i.test(value.replace(/[\\u0000- ]/g, "")))
    .map(({ name, value }) => `${element.localName}[${name}=${value}]`),
  ...(/evil\\.test/.test(element.getAttribute("src") ?? "") ? [`${element.localName}[src]`] : []),
  ...(["iframe", "object", "embed", "base", "marquee", "xss", "video", "audio"].includes(element.localName)
    ? [element.localName] : []),
])
"""
# Open what is closed, and rest on what can be pressed, since quotes and details are drawn then.
_OPEN_EVERYTHING = """
() => {
  for (const closed of document.querySelectorAll("main [aria-expanded=false], main summary")) closed.click();
  for (const each of document.querySelectorAll("main a, main button"))
    for (const kind of ["pointerover", "mouseover", "mouseenter", "focusin"])
      each.dispatchEvent(new MouseEvent(kind, { bubbles: true }));
}
"""


class Watched:
    """Somebody at the page, and all that hostile texts have reached there."""

    def __init__(self, somebody: Person) -> None:
        self.page = somebody.page
        self._somebody = somebody
        self._address = somebody.address
        self.left: list[str] = []
        self.page.add_init_script(_TRAPS)
        self.page.on("framenavigated", lambda frame: self._came_to(frame.url))
        self.page.context.on("page", lambda page: self.left.append(page.url))
        self.page.on("dialog", lambda dialog: self.left.append(dialog.message))

    def open(self, place: str) -> None:
        """Open a screen, and wait until it is drawn."""
        self._somebody.open(place)
        self.page.wait_for_load_state("networkidle")

    def check(self) -> None:
        """Hold what has happened since the page was opened against what may happen."""
        self.page.evaluate(_OPEN_EVERYTHING)
        self.page.wait_for_timeout(200)
        assert self.page.evaluate("window.__ran") == []
        assert self.page.evaluate(_MADE) == []
        assert self._somebody.violations() == []
        assert self.left == [] and self._somebody.foreign == []

    def _came_to(self, address: str) -> None:
        if urlsplit(address).netloc != urlsplit(self._address).netloc and address != "about:blank":
            self.left.append(address)


@pytest.fixture
def watched(demo: str, browser: Browser) -> Iterator[Watched]:
    with person(browser, demo) as somebody:
        yield Watched(somebody)


@pytest.fixture
def collection(demo: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """Make a collection for one test, and delete it with all that is in it."""
    name = request.node.name.replace("_", "-")
    with new_collection(demo, name):
        yield name


def send(address: str, method: str, path: str, **options: Any) -> httpx.Response:
    return httpx.request(method, f"{address}/api/v1{path}", timeout=60, **options)


def count(answers: list[httpx.Response]) -> tuple[int, int]:
    """Return how many requests were taken, and how many refused as wrong."""
    statuses = [answer.status_code for answer in answers]
    assert set(statuses) <= {200, 201, 202, 422}, statuses
    refused = statuses.count(422)
    return len(statuses) - refused, refused


def test_there_are_enough_of_them_and_none_twice() -> None:
    assert len(set(PAYLOADS)) == len(PAYLOADS) == 88


def test_the_traps_notice_what_runs_leads_away_and_loads(watched: Watched) -> None:
    watched.open("#/ask")
    watched.page.evaluate(
        "document.body.append(Object.assign(document.createElement('img'), {src: 'http://evil.test/'}))"
    )
    watched.page.evaluate("alert(1)")
    watched.page.wait_for_timeout(200)
    assert watched.page.evaluate("window.__ran") == ["alert(1)"]
    assert watched.page.evaluate(_MADE) == ["img[src]"]
    assert "img-src" in watched._somebody.violations()[0]
    with pytest.raises(AssertionError):
        watched.check()


def stream_of(text: str) -> str:
    """Return the events of an answer in which every text is hostile."""
    passage = {"id": text, "source": text, "page": 1, "section": text, "start": 0, "end": 9, "text": text}
    passage |= {"metadata": {text: text}, "scores": {"relevance": 0.5}, "labels": [text], "route": "factual"}
    said = {"code": text, "values": {"type": text, "why": text}, "text": text}
    decision = {"what": text, "chosen": text, "why": text}
    reasoned = decision | {"reasons": [said, said | {"code": "small_talk", "values": {"kind": text}}]}
    record: dict[str, Any] = {"step": "retrieve", "ms": 1, "queries": [text]}
    record |= {"decisions": [decision, reasoned], "candidates": [passage]}
    record |= {"stand_ins": [{"skill": text, "reason": text, "reasons": [said]}]}
    analysis = {"type": "factual", "probabilities": {"factual": 0.7, "opinion": 0.3}, "intent": text}
    analysis |= {"complexity": text, "entities": [text], "confidence": 0.7, "decided_by": "local"}
    analysis |= {"reason": text, "reasons": [said], "alternatives": ["opinion"]}
    citation = {"marker": 1, "source": text, "page": 1, "place": {"section": text, "sheet": text}}
    citation |= {"start": 0, "end": 9, "quote": text, "also_as": [text]}
    step = {"id": "1", "name": "retrieve", "strategy": "factual"}
    parts = [{"text": f"{text}\n\nSo it is. "}, {"text": "[1]", "citation": 0}, said]
    answer = {"parts": parts, "citations": [citation], "query_type": "factual"}
    answer |= {"analysis": analysis, "grounding": 0.5, "abstained": False, "documents": [passage]}
    events = [
        ("step", step | {"state": "started"}),
        ("route", analysis),
        ("step", step | {"state": "finished", "record": record}),
        ("passages", [passage]),
        ("draft", text),
        ("answer", answer | {"trace": [record]}),
    ]
    return "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in events)


def test_a_hostile_answer_is_shown_as_text(watched: Watched) -> None:
    """The harshest door: what the server would clean comes uncleaned, in every field of an answer."""
    watched.open("#/ask")
    coming = iter(PAYLOADS)
    pattern = "**/api/v1/threads/*/ask/events"
    watched.page.route(
        pattern, lambda route: route.fulfill(content_type="text/event-stream", body=stream_of(next(coming)))
    )
    for payload in PAYLOADS:
        call(watched.page, "ask/conversation.js", "ask", OPEN, payload)
    assert next(coming, None) is None
    assert watched.page.locator("article").count() == len(PAYLOADS)
    assert PAYLOADS[0] in (watched.page.locator("article").first.text_content() or "")
    watched.check()


@pytest.mark.nightly
def test_hostile_questions_and_what_a_model_makes_of_them(
    watched: Watched, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched.open("#/ask")
    for payload in PAYLOADS[::4]:
        monkeypatch.setattr(model, "write", lambda body, payload=payload: f"{payload} [1]")
        call(watched.page, "ask/conversation.js", "beginConversation")
        call(watched.page, "ask/conversation.js", "ask", OPEN, payload, {"userContext": payload})
        watched.page.wait_for_selector("article")
    watched.check()


@pytest.mark.nightly
def test_hostile_error_texts(watched: Watched) -> None:
    watched.open("#/ask")
    coming = iter(PAYLOADS)

    def refuse(route: Route) -> None:
        detail = next(coming)
        route.fulfill(status=422, json={"status": 422, "title": detail, "detail": detail})

    watched.page.route("**/api/v1/threads/*/ask/events", refuse)
    for payload in PAYLOADS:
        call(watched.page, "ask/conversation.js", "ask", OPEN, "Why?")
        watched.page.evaluate(
            "async text => (await import('/page/shell/notices.js')).notify(new Error(text))", payload
        )
    assert next(coming, None) is None
    assert PAYLOADS[0] in watched.page.inner_text("body")
    watched.check()


def test_hostile_documents_their_headings_and_file_names(
    watched: Watched, demo: str, collection: str
) -> None:
    place = f"/collections/{collection}/documents"
    files, refused = [], []
    for number, payload in enumerate(PAYLOADS):
        heading = payload.replace("\n", " ")
        body = f"# {heading}\n\n{payload}\n\nThe harbour was founded in 1612.\n".encode()
        name = f"{payload[:80].translate(_AS_SENT)}.md"
        try:
            normalize_name(name)
        except InputError:
            refused.append(send(demo, "POST", place, files={"files": (name, body)}))
            name = f"text-{number}.{['md', 'html', 'txt', 'csv'][number % 4]}"
        files.append(("files", (name, body)))
    assert count(refused) == (0, 30)
    sent = send(demo, "POST", place, files=files).json()["documents"]
    assert len(sent) == len(PAYLOADS)
    wait_for_indexing(f"{demo}/api/v1{place}")
    watched.open(f"#/library/{collection}")
    watched.check()
    for row in sent[::22]:
        watched.open(f"#/library/{collection}?document={row['id']}")
        watched.check()
    watched.open("#/ask")
    for row in sent[11::22]:
        cited = {"source": row["name"], "start": 0, "end": 20, "quote": row["name"], "page": None}
        call(watched.page, "document/opened.js", "openDocument", collection, cited)
        watched.page.get_by_role("complementary").wait_for()
        watched.page.wait_for_load_state("networkidle")
        watched.check()
        call(watched.page, "document/opened.js", "closeDocument")


@pytest.mark.nightly
def test_hostile_problems_and_notes_of_documents(watched: Watched) -> None:
    row = {"bytes": 9, "chunks": None, "added": "2026-05-04T10:00:00Z"}
    rows = [
        row | {"id": f"{number:032x}", "name": text, "state": state, "problem": text, "notes": [text]}
        for number, text in enumerate(PAYLOADS)
        for state in ["failed" if number % 2 else "indexed"]
    ]
    _list_instead(watched.page, "collections/samples/documents", rows)
    watched.open("#/library/samples")
    assert PAYLOADS[0] in watched.page.inner_text("main")
    for _ in range(12):
        watched.check()
        watched.page.mouse.wheel(0, 700)


def test_hostile_notes_of_people(watched: Watched) -> None:
    opened = {"source": "guidance_households.md", "start": 0, "end": 9, "quote": "", "page": None}
    place = {"source": opened["source"], "place": {"section": PAYLOADS[0]}}
    notes = [
        place | {"id": f"{n:032x}", "start": 9 * n, "end": 9 * n + 8, "quote": text, "text": text}
        for n, text in enumerate(PAYLOADS)
    ]
    _list_instead(watched.page, "collections/samples/documents/*/notes", notes)
    watched.open("#/ask")
    call(watched.page, "document/opened.js", "openDocument", OPEN, opened)
    expect(watched.page.locator(".document .note-sign").nth(80)).to_be_attached()
    expect(watched.page.locator(".notes li")).to_have_count(len(PAYLOADS))
    watched.check()
    watched.page.locator(".document .note-sign").last.click()
    watched.page.get_by_role("dialog", name="Note").wait_for()
    watched.check()
    row = {"bytes": 9, "chunks": 1, "added": "2026-05-04T10:00:00Z", "state": "indexed", "problem": None}
    rows = [row | {"id": f"{n:032x}", "name": f"{n}.md", "notes": [], "found_note": text}
            for n, text in enumerate(PAYLOADS)]  # fmt: skip
    _list_instead(watched.page, "collections/samples/documents?", rows)
    watched.open("#/library/samples?search=a")
    expect(watched.page.locator(".found-note").first).to_be_visible()
    watched.check()


@pytest.mark.nightly
def test_hostile_example_questions(watched: Watched) -> None:
    shown = [{"question": text, "user_context": text, "type": "factual"} for text in PAYLOADS]
    collection = {
        "name": OPEN,
        "description": PAYLOADS[0],
        "examples": shown,
        "role": "admin",
        "may": ["ask", "write"],
    }
    collection |= {"documents": 5, "chunks": 9, "bytes": 9, "created": "2026-05-04T10:00:00Z"}
    _list_instead(watched.page, "collections", [collection])
    watched.open("#/ask")
    offered = watched.page.get_by_role("group", name="Try one of these").get_by_role("button")
    expect(offered).to_have_count(len(PAYLOADS))
    watched.check()


@pytest.mark.nightly
def test_hostile_folders_fields_and_what_is_asked(watched: Watched) -> None:
    page = watched.page
    folders = [{"name": text, "documents": 1} for text in PAYLOADS]
    page.route("**/samples/folders?*", lambda route: route.fulfill(json=folders))
    fields = [{"name": text, "kind": "text", "values": PAYLOADS[:20]} for text in PAYLOADS]
    page.route("**/fields*", lambda route: route.fulfill(json=fields))
    coming = iter(PAYLOADS)
    page.route(
        "**/selection",
        lambda route: route.fulfill(json={"documents": 0, "problem": next(coming, PAYLOADS[0])}),
    )
    watched.open(f"#/library/{OPEN}")
    expect(page.locator(".folders li")).to_have_count(len(PAYLOADS))
    watched.check()
    watched.open("#/ask")
    page.get_by_role("button", name="Which documents").click()
    for text in PAYLOADS:
        with page.expect_response("**/selection"):
            asked = {"documents": [text], "folders": [text], "where": text}
            call(page, "ask/scope.js", "setScope", asked)
        assert text[:40].split("\n")[0].strip() in page.locator(".composer").inner_text()
        watched.check()


@pytest.mark.nightly
def test_a_hostile_comparison(watched: Watched) -> None:
    coming = iter(PAYLOADS)

    def compare(route: Route) -> None:
        text = next(coming)
        place = {"source": text, "page": 1, "start": 0, "end": 9}
        columns = [
            {"name": name, "answer": {"parts": [{"text": text}], "citations": []}, "calls": 0, "ms": 1}
            for name in ("factual", "opinion")
        ]
        only = {"factual": [text], "opinion": []}
        overlap = {"in_all": ["b"], "only": {"factual": ["a"], "opinion": []}}
        found = {"columns": columns, "passages": overlap, "places": {"a": place, "b": place}}
        route.fulfill(json=found | {"sentences": {"in_all": [], "only": only}})

    watched.open("#/ask")
    call(watched.page, "ask/conversation.js", "ask", OPEN, "How long is the Long Wall?")
    watched.page.route("**/compare", compare)
    for _ in PAYLOADS:
        watched.page.get_by_role("button", name="Answer it another way").click()
        with watched.page.expect_response("**/compare"):
            watched.page.get_by_role("button", name="As: Opinion").click()
    watched.page.get_by_role("region", name="Two ways to answer").wait_for()
    assert next(coming, None) is None
    watched.check()


@pytest.mark.nightly
def test_a_hostile_pdf(watched: Watched, demo: str, collection: str) -> None:
    """A PDF that runs scripts when it opens, with links and a form that lead away, and hostile text."""
    with pymupdf.open() as made:
        page = made.new_page()
        for number, payload in enumerate(PAYLOADS):
            page.insert_text((20, 20 + 8 * number), payload, fontsize=5)
        away = {"kind": pymupdf.LINK_URI, "from": pymupdf.Rect(0, 0, 600, 800), "uri": "http://evil.test/"}
        page.insert_link(away)
        page.insert_link(away | {"uri": "javascript:alert(1)"})
        script = made.get_new_xref()
        made.update_object(script, f"<</S/JavaScript/JS<{b'app.alert(1); alert(1)'.hex()}>>>")
        made.xref_set_key(made.pdf_catalog(), "OpenAction", f"{script} 0 R")
        made.xref_set_key(made.pdf_catalog(), "AA", f"<</WC {script} 0 R/DS {script} 0 R>>")
        made.set_metadata({"title": PAYLOADS[0]})
        made.set_toc([[1, payload, 1] for payload in PAYLOADS])
        content = made.tobytes()
    place = f"/collections/{collection}/documents"
    send(demo, "POST", place, files={"files": ("hostile.pdf", content)}).raise_for_status()
    wait_for_indexing(f"{demo}/api/v1{place}")
    cited = {"source": "hostile.pdf", "start": 0, "end": 20, "quote": PAYLOADS[0], "page": 1}
    watched.open("#/ask")
    call(watched.page, "document/opened.js", "openDocument", collection, cited)
    watched.page.locator(".textLayer span").first.wait_for()
    watched.check()
    watched.page.locator(".pdf-page").first.click()
    watched.check()


@pytest.mark.nightly
def test_hostile_collections(watched: Watched, demo: str) -> None:
    named = [send(demo, "POST", "/collections", json={"name": payload}) for payload in PAYLOADS]
    assert count(named) == (0, len(PAYLOADS))
    described = [
        send(demo, "POST", "/collections", json={"name": f"c-{number}", "description": payload})
        for number, payload in enumerate(PAYLOADS[::3])
    ]
    assert count(described) == (30, 0)
    for place in ("#/library", "#/library/c-1", "#/ask"):
        watched.open(place)
        watched.check()
    for number in range(len(described)):
        send(demo, "DELETE", f"/collections/c-{number}")


@pytest.mark.nightly
def test_hostile_titles_of_threads(watched: Watched, demo: str, collection: str) -> None:
    made = [
        send(demo, "POST", f"/collections/{collection}/threads", json={"title": payload})
        for payload in PAYLOADS
    ]
    assert count(made) == (len(PAYLOADS), 0)
    watched.open("#/threads")
    watched.check()
    for thread in made[::16]:
        watched.open("#/ask")
        call(watched.page, "ask/conversation.js", "openThread", thread.json()["id"])
        watched.check()


@pytest.mark.nightly
def test_hostile_excerpts_of_threads_and_names_of_who_shares_them(watched: Watched) -> None:
    moment = dict.fromkeys(("created", "updated"), "2026-05-04T10:00:00Z")
    shown = [
        {"id": f"{number}", "title": text, "collections": [OPEN], "shared_by": text, "is_shared": True}
        | {"found": {"turn": text, "excerpt": [{"text": text, "is_match": True}]}, **moment}
        for number, text in enumerate(PAYLOADS)
    ]
    _list_instead(watched.page, "threads", shown)
    thread = shown[0] | {"turns": [], "collections": [PAYLOADS[1]]}
    watched.page.route("**/api/v1/threads/0", lambda route: route.fulfill(json=thread))
    people = [{"name": text, "since": moment["created"]} for text in PAYLOADS]
    sharing = {"open_to": "people", "people": people}
    watched.page.route("**/api/v1/threads/0/sharing", lambda route: route.fulfill(json=sharing))
    for place in ("#/threads", "#/threads/0"):
        watched.open(place)
        expect(watched.page.locator("main")).to_contain_text(PAYLOADS[3])
        watched.check()


@pytest.mark.nightly
def test_hostile_names_comments_and_events(watched: Watched, demo: str) -> None:
    named = [send(demo, "POST", "/users", json={"name": payload}) for payload in PAYLOADS]
    assert count(named) == (0, len(PAYLOADS))
    shown = [{"name": text, "is_admin": False, "is_disabled": False, "issuer": text} for text in PAYLOADS]
    users = [each | {"subject": each["name"], "created": "2026-05-04T10:00:00Z"} for each in shown]
    tokens = [
        {"id": str(number), "name": text, "role": "reader", "created": "2026-05-04T10:00:00Z"}
        | {"expires": None, "used": None}
        for number, text in enumerate(PAYLOADS)
    ]
    _list_instead(watched.page, "users", users)
    _list_instead(watched.page, "tokens", tokens)
    said = {"route": "factual", "is_good": True, "better_route": None, "created": "2026-05-04T10:00:00Z"}
    opinions = [said | {"id": n, "by": n, "question": n, "comment": n} for n in PAYLOADS]
    _list_instead(watched.page, f"collections/{OPEN}/feedback", opinions)
    done = {"at": "2026-05-04T10:00:00Z", "action": "user.create"}
    events = [done | dict.fromkeys(("user", "address", "subject"), text) for text in PAYLOADS]
    _list_instead(watched.page, "events", events)
    watched.page.route("**/api/v1/me", lambda route: route.fulfill(json=_myself(PAYLOADS[1])))
    watched.page.route(
        "**/api/v1/session", lambda route: route.fulfill(json={"needed": True, "provider": False})
    )
    provider = {"takes_key": True, "takes_address": True, "has_operators_key": False}
    providers = [{**provider, "name": name, "install": name} for name in PAYLOADS]
    model = {"set_by": "admin", "provider": "openai", "name": PAYLOADS[0], "address": PAYLOADS[1]}
    model |= {"key": "stored", "has_operators_address": False}
    model |= {"providers": [{**provider, "name": "openai", "install": None}, *providers]}
    watched.page.route("**/api/v1/model", lambda route: route.fulfill(json=model))
    watched.open("#/people")
    tabs = watched.page.get_by_role("navigation", name="Settings").get_by_role("link")
    assert tabs.count() == 7
    for tab in tabs.all():
        tab.click()
        watched.page.wait_for_load_state("networkidle")
        watched.check()
        is_list = tab.inner_text() not in ("Account", "The router")
        assert not is_list or PAYLOADS[3] in watched.page.inner_text("main")


def _list_instead(page: Page, what: str, items: list[dict[str, Any]]) -> None:
    listed = {"items": items, "total": len(items)}
    page.route(f"**/api/v1/{what}*", lambda route: route.fulfill(json=listed))


def _myself(name: str) -> dict[str, Any]:
    return {"name": name, "is_admin": True, "role": "admin", "has_password": True}


@pytest.mark.nightly
def test_hostile_claims_of_a_provider(browser: Browser, servers: Servers, tmp_path: Path) -> None:
    with ExitStack() as stack:
        provider = stack.enter_context(SmallProvider())
        Thread(target=provider.serve_forever, args=(0.05,), daemon=True).start()
        stack.callback(provider.shutdown)
        set_up = {f"ADAPTIVE_RAG_SERVER__{key.upper()}": text for key, text in settings_of(provider).items()}
        set_up["ADAPTIVE_RAG_SERVER__WORKERS"] = "0"  # nothing is indexed there
        address = stack.enter_context(servers.serve(tmp_path, **set_up))
        seen = Watched(stack.enter_context(person(browser, address)))
        for number, payload in enumerate(PAYLOADS[::30]):
            provider.claims = {"sub": f"{number}", "preferred_username": payload, "name": payload}
            with httpx.Client(base_url=address) as client:
                begun = provider.authorize(client.get(BEGIN).headers["location"])
                came = client.get(f"{BEGIN}/return", params=begun)
                assert came.status_code == 302
                cookies = [{"name": n, "value": v, "url": address} for n, v in came.cookies.items()]
            seen.page.context.add_cookies(cookies)  # type: ignore[arg-type]
            seen.open("#/people")
            seen.check()


@pytest.mark.nightly
def test_hostile_addresses(watched: Watched) -> None:
    watched.open("")
    for payload in PAYLOADS:
        for form in (
            payload,
            quote(payload),
            f"/library/{quote(payload, safe='')}",
            f"/ask?q={quote(payload)}",
        ):
            watched.page.evaluate("address => { location.hash = address; }", form)
    for name in ("constructor", "__proto__", "toString", "%", "%zz", "library/__proto__"):
        watched.open(f"#/{name}")
        watched.page.get_by_role("navigation").first.wait_for()
    assert not [each for each in watched._somebody.errors if "404" not in each]
    watched.check()


@pytest.mark.few(1)
@pytest.mark.parametrize("kept", [PAYLOADS[1], PAYLOADS[32], "constructor", "__proto__", '{"a":1}'])
def test_hostile_things_that_the_browser_keeps(watched: Watched, kept: str) -> None:
    watched.open("")
    keys = watched.page.evaluate(
        "kept => { const keys = ['language', 'theme', 'collection', 'toString'].map(key => "
        "`adaptive-rag.${key}`); for (const key of [...keys, ...Object.keys(localStorage)]) "
        "localStorage.setItem(key, kept); return keys; }",
        kept,
    )
    assert len(keys) == 4
    watched.page.reload()
    watched.page.get_by_role("navigation").first.wait_for()
    assert not watched._somebody.errors
    watched.check()
