"""The frame of the page: it starts under its own policy, and every screen is reached."""

import hashlib
import json
import re
import shlex
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect

from adaptive_rag.ingest.pdf_messages import describe_encrypted, describe_textless
from adaptive_rag.server import browser
from adaptive_rag.text.languages import load_words
from tests.page.conftest import Visit
from tests.page.states import QUESTIONS, call
from tests.page.test_ask import LEVEL
from tests.test_readme import SHELL


def test_the_policy_allows_nothing_unsafe_and_nothing_of_another_host(demo: str) -> None:
    for path in ("/", "/page/icon.svg", "/page/vendor/pdf.worker.min.mjs"):
        policy = httpx.get(demo + path).headers["content-security-policy"]
        assert "unsafe" not in policy and "http" not in policy and "*" not in policy
        assert "default-src 'none'" in policy and "require-trusted-types-for 'script'" in policy


def test_files_are_compressed_and_asked_for_again(demo: str) -> None:
    for file in ("core/api.js", "texts/de.json"):
        answer = httpx.get(f"{demo}/page/{file}", headers={"Accept-Encoding": "gzip"})
        assert (answer.headers["cache-control"], answer.headers["content-encoding"]) == ("no-cache", "gzip")
        again = httpx.get(f"{demo}/page/{file}", headers={"If-None-Match": answer.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")


def test_every_screen_opens_and_the_theme_and_the_language_stay_chosen(demo: str, visit: Visit) -> None:
    with visit(demo) as somebody:
        page = somebody.open("#/nonsense")
        expect(page.get_by_role("heading", name="There is no such page")).to_be_visible()
        expect(page).to_have_title("There is no such page · Adaptive RAG")
        expect(page.locator("nav a[aria-current]")).to_have_count(0)
        for screen in ("threads", "library", "people", "ask"):
            page = somebody.open(f"#/{screen}")
            page.wait_for_selector(f"nav a[aria-current][href*='{screen}']")
        page.get_by_role("button", name="Dark theme").click()
        page.get_by_role("button", name="Deutsch").click()
        page.reload()
        page.get_by_role("link", name="Bibliothek").wait_for()
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"
        assert page.evaluate("document.documentElement.lang") == "de"


def test_the_navigation_covers_nothing_of_a_narrow_screen(demo: str, visit: Visit) -> None:
    with visit(demo, language="de") as somebody:
        somebody.page.set_viewport_size({"width": 320, "height": 640})
        page = somebody.open("#/library")
        page.get_by_role("heading", name="Bibliothek").wait_for()
        bottoms = "links => links.map((link) => link.getBoundingClientRect().bottom)"
        [bottom] = set(page.get_by_role("navigation").get_by_role("link").evaluate_all(bottoms))
        assert bottom <= page.locator("main").evaluate("main => main.getBoundingClientRect().top")


def test_the_page_loads_its_own_language_and_shows_the_code_of_what_has_no_words(
    demo: str, visit: Visit
) -> None:
    with visit(demo, language="de") as somebody:
        loaded: list[str] = []
        somebody.page.on("request", lambda request: loaded.append(request.url))
        page = somebody.open("#/people")
        page.get_by_role("heading", name="Einstellungen").wait_for()
        assert [url for url in loaded if "/texts/" in url] == [f"{demo}/page/texts/de.json"]
        labels = (
            "import('/page/core/texts.js').then(({ labelFor }) => %s.map((code) => labelFor('step', code)))"
        )
        assert page.evaluate(labels % ["rerank", "take {n}", "constructor"]) == [
            "Ordnen",
            "take {n}",
            "constructor",
        ]


def test_english_stands_in_for_what_a_language_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    words = {"en": load_words("en"), "de": replace(load_words("de"), page={}, labels={})}
    monkeypatch.setattr(browser, "load_words", words.__getitem__)
    texts = json.loads(browser.format_texts.__wrapped__("de"))
    assert (texts["texts"]["undo"], texts["labels"]["role"]["reader"]) == ("Undo", "Reader")
    assert texts["phrases"]["refused"] == "Die Dokumente enthalten keine Antwort auf diese Frage."


def test_each_library_is_the_file_that_the_list_names() -> None:
    folder = Path("adaptive_rag/server/page/vendor")
    listed = dict(re.findall(r"^\| (\S+) \|.*`([0-9a-f]{64})` \|$", (folder / "README.md").read_text(), re.M))
    lying = {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "README.md"
    }
    assert lying == listed


def test_no_class_is_styled_by_two_parts_of_the_screen() -> None:
    page = Path("adaptive_rag/server/page")
    owners: dict[str, set[str]] = {}
    for sheet in page.glob("*/*.css"):
        # what stands in :not() or :is() is not styled by itself
        rules = re.sub(r"/\*.*?\*/|:\w+\([^()]*\)", "", sheet.read_text(), flags=re.S)
        for selector in re.findall(r"[^{};,]+(?=[{,])", rules):
            # ".columns .card" is scoped by its first class; ".outline" and ".outline button" are anybody's
            if not selector.strip().startswith("@") and (named := re.search(r"\.([\w-]+)", selector)):
                owners.setdefault(named[1], set()).add(sheet.parent.name)
    shared = {name: found for name, found in owners.items() if len(found - {"style"}) > 1}
    assert owners and not shared


def first_files() -> set[str]:
    """Return what `app.js` imports, and what that imports; all else comes when it is needed."""
    folder = Path("adaptive_rag/server/page")
    named = dict(re.findall(r'"([^"]+)": "\./page/([^"]+)"', (folder / "index.html").read_text()))
    seen, open_files = set[str](), {"app.js"}
    while open_files:
        file = open_files.pop()
        seen.add(file)
        for name in re.findall(r'(?:\bfrom|^import) ?"([^"]+)"', (folder / file).read_text(), re.M):
            if name in named or name.startswith("."):
                path = named.get(name) or (folder / file).parent.joinpath(name).resolve()
                open_files.add(str(path).removeprefix(f"{folder.resolve()}/"))
        open_files -= seen
    return seen


def test_the_first_screen_asks_for_its_files_at_once_and_they_are_small(demo: str) -> None:
    index = httpx.get(demo).text
    assert set(re.findall(r'<link rel="modulepreload" href="page/([^"]+)"', index)) == first_files()
    styles = re.findall(r'<link rel="stylesheet" href="page/([^"]+)"', index)
    size = 0
    for file in (*first_files(), *styles, "texts/en.json"):
        with httpx.stream("GET", f"{demo}/page/{file}", headers={"Accept-Encoding": "gzip"}) as answer:
            assert (
                answer.headers.get("content-encoding") == "gzip"
                or int(answer.headers["content-length"]) < 1000
            )
            size += sum(len(piece) for piece in answer.iter_raw())
    assert size < 60_000


def test_something_is_shown_before_any_script_runs(demo: str, visit: Visit) -> None:
    with visit(demo) as somebody:
        somebody.page.route("**/*.js", lambda route: None)
        somebody.page.goto(demo, wait_until="commit")
        somebody.page.get_by_text("Adaptive RAG").wait_for()


def test_what_the_server_says_is_german_on_a_german_page(demo: str, visit: Visit) -> None:
    with visit(demo, language="de") as somebody:
        page = somebody.open("#/ask")
        call(page, "ask/conversation.js", "ask", "samples", LEVEL)
        turn = page.get_by_role("article")
        expect(turn.get_by_text("Sicherheit: ")).to_be_visible()
        turn.get_by_role("button", name=re.compile("^Warum")).click()
        page.locator(".timeline").wait_for()
        english = [text for text in page.locator("article [lang=en]").all_inner_texts() if text.strip()]
        assert english == []
        call(page, "ask/conversation.js", "ask", "samples", QUESTIONS["refused"])
        refused = page.get_by_role("article").nth(1)
        expect(refused).to_contain_text("Die Dokumente enthalten keine Antwort auf diese Frage.")
        expect(refused).not_to_contain_text("The closest passage")
        words_for = "phrase => import('/page/core/phrases.js').then(found => found.phraseText(phrase))"
        unsure = {"code": "share_under", "values": {"share": 0.5968, "limit": 0.6}, "text": ""}
        assert page.evaluate(words_for, unsure) == "0,597 liegt unter 0,6"
        said = "import('/page/core/texts.js').then(({ translate }) => translate(%r).text)"
        told = page.evaluate(said % "A collection may hold 20,000 MB")
        assert told == "Eine Sammlung darf 20.000 MB enthalten"
        for advice in (describe_encrypted(Path("a.pdf")), describe_textless(Path("a.pdf"), 3, 3, 3, 0)):
            words = page.evaluate(said % advice)
            assert not re.search(r"\b(its?|is|are|save|make|the)\b", words), words
        # What the server tells apart has German words, and all else its own.
        told = {"too_often": "Versuchen Sie es in 120 Minuten noch einmal.", "unheard_of": "Own words."}
        refused = {"title": "Too Many Requests", "status": 429, "detail": "Own words."}
        coming = [refused | {"type": type_} for type_ in told]
        page.route(
            "**/ask/events",
            lambda route: route.fulfill(status=429, json=coming.pop(0), headers={"Retry-After": "7200"}),
            times=2,
        )
        for words in told.values():
            call(page, "ask/conversation.js", "ask", "samples", LEVEL)
            expect(page.get_by_role("article").last.get_by_role("alert")).to_contain_text(words)
        somebody.errors.clear()  # the browser itself notes the refusals


def test_the_server_answers_as_the_readme_prints(demo: str) -> None:
    assert "pip install '.[server]' && adaptive-rag serve --demo" in SHELL
    [curl] = [line for line in SHELL if line.startswith("curl ")]
    _, _, address, _, header, _, body = shlex.split(curl)
    named = dict([header.split(": ")])
    url = address.replace("localhost:8080", demo)
    assert "[1]" in httpx.post(url, content=body, headers=named, timeout=60).json()["answer"]
