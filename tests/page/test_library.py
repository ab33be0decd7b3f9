"""The library, as a person fills it: collections, uploads, a long list, removal with undo, members."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from playwright.sync_api import Page, Route, expect

from tests.page.conftest import Visit, new_collection, sign_in, wait_for_indexing
from tests.page.servers import Servers
from tests.page.states import call

FERRY = b"# Ferry\n\nThe ferry to Grauholm leaves at 7:45 from the east quay.\n"


@pytest.fixture
def collection(demo: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """Make a collection for one test, and delete it at its end."""
    name = re.sub(r"\W", "-", request.node.name)[:90]
    with new_collection(demo, name):
        yield name


def rows(page: Page) -> Any:
    return page.get_by_role("list", name="Documents").get_by_role("article")


def row(page: Page, name: str) -> Any:
    return page.get_by_role("article", name=name, exact=True)


def choose_files(page: Page, button: str, files: Any) -> None:
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name=button).click()
    chooser.value.set_files(files)


def file(name: str, content: bytes = FERRY) -> Any:
    return {"name": name, "mimeType": "text/plain", "buffer": content}


def test_a_collection_is_made_and_deleted(demo: str, visit: Visit) -> None:
    with visit(demo) as somebody:
        page = somebody.open("#/library")
        page.get_by_role("button", name="New collection").click()
        name = page.get_by_label("Name")
        page.keyboard.type("old harbour")
        page.keyboard.press("Enter")
        assert name.evaluate("field => field.validity.patternMismatch")
        name.fill("samples")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_contain_text("There is a collection")
        name.fill("old-harbour.2")
        page.get_by_label("Description (optional)").fill("Tides and ferries.")
        page.get_by_role("button", name="Make collection").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("old-harbour.2")
        expect(page.get_by_role("heading", name="Drop files or folders here")).to_be_visible()
        page.get_by_role("button", name="Delete collection").click()
        dialog = page.get_by_role("dialog")
        typed = dialog.get_by_label("Type old-harbour.2 to confirm")
        expect(typed).to_be_focused()
        page.keyboard.type("old-harbour-2")
        page.keyboard.press("Enter")
        assert typed.evaluate("field => field.validity.patternMismatch")
        page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
        expect(page.get_by_role("button", name="Delete collection")).to_be_focused()
        page.keyboard.press("Enter")
        typed.fill("old-harbour.2")
        dialog.get_by_role("button", name="Delete collection").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Library")
        expect(page.get_by_role("link", name="samples")).to_be_visible()
        expect(page.get_by_role("link", name="old-harbour.2")).to_have_count(0)
        somebody.errors.clear()  # the browser itself notes the refusal of a name


@pytest.mark.nightly
def test_a_collection_that_nobody_described_offers_questions_of_its_headings(
    demo: str, visit: Visit, collection: str
) -> None:
    path = f"{demo}/api/v1/collections/{collection}"
    text = (
        "# Ferry\n\nIt runs all year.\n\n## Fares\n\nAdults pay two pounds. Dogs travel free, children too."
    )
    httpx.post(f"{path}/documents", files={"files": ("ferry.md", text)}).raise_for_status()
    wait_for_indexing(f"{path}/documents")
    suggested = httpx.get(f"{path}/questions").json()
    assert suggested == ["What do the documents say about “Fares”?", "Summarise ferry.md"]
    with visit(demo) as somebody:
        page = somebody.open("#/ask")
        page.get_by_label("Collection").select_option(collection)
        offered = page.get_by_role("group", name="Try one of these").get_by_role("button")
        expect(offered).to_have_text(suggested)
        offered.first.click()
        # what else the cited document may be asked stands below the last answer
        further = page.get_by_role("group", name="Ask next").get_by_role("button")
        expect(further).to_have_text(["Summarise ferry.md"])
        call(page, "ask/scope.js", "setScope", {"where": "kind = pdf"})  # for questions that are typed
        further.click()
        expect(page.get_by_role("article")).to_have_count(2)
        expect(page.get_by_role("article").last).not_to_contain_text("kind = pdf")
        expect(further).to_have_count(0)


def test_a_collection_is_described_and_offers_questions(demo: str, visit: Visit, collection: str) -> None:
    url = f"{demo}/api/v1/collections/{collection}"
    kept = {"question": "How do I get home?", "user_context": "I live on Grauholm.", "type": "contextual"}
    httpx.patch(url, json={"examples": [kept]}).raise_for_status()
    with visit(demo) as somebody:
        page = somebody.open(f"#/library/{collection}")
        page.get_by_role("button", name="Describe").press("Enter")
        page.get_by_label("Description").fill("Tides and ferries.")
        page.get_by_label("Example questions").press("Control+End")
        page.keyboard.type("\nWhen does the ferry leave?\n\n")
        page.get_by_role("button", name="Save").press("Enter")
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(page.get_by_text("Tides and ferries.")).to_be_visible()
        expect(page.get_by_role("button", name="Describe")).to_be_focused()
        added = {"question": "When does the ferry leave?", "user_context": "", "type": None}
        assert httpx.get(url).json()["examples"] == [kept, added]


@pytest.mark.nightly
def test_a_form_is_sent_once_and_closes_no_other_dialog(demo: str, visit: Visit, collection: str) -> None:
    held = list[Route]()
    with visit(demo) as somebody:
        page = somebody.open(f"#/library/{collection}")
        page.get_by_role("button", name="Describe").click()
        page.route(f"**/collections/{collection}", lambda route: held.append(route))
        page.get_by_role("button", name="Save").dblclick()
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Delete collection").click()
        assert len(held) == 1
        with page.expect_response("**/collections?*"):
            held[0].continue_()
        page.wait_for_timeout(300)
        expect(page.get_by_label(f"Type {collection} to confirm")).to_be_visible()
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Describe").click()
        page.get_by_role("button", name="Save").click()
        page.keyboard.press("Escape")  # what was sent goes on
        held[1].fulfill(status=503, json={"detail": "Later."})
        expect(page.get_by_role("alert")).to_contain_text("Later.")
        somebody.errors.clear()  # the browser itself notes the refusal


@pytest.mark.nightly
def test_a_web_page_is_added_and_what_is_wrong_with_it_is_said(
    demo: str, visit: Visit, collection: str
) -> None:
    with visit(demo, language="de") as somebody:
        page = somebody.open(f"#/library/{collection}")
        page.get_by_role("button", name="Webseite hinzufügen").click()
        address = page.get_by_label("Adresse")
        expect(address).to_be_focused()
        page.keyboard.type("ftp://localhost/x")
        page.keyboard.press("Enter")
        assert address.evaluate("field => field.validity.patternMismatch")
        address.fill("http://localhost:9/tides.html")  # an address of this machine is never fetched
        page.keyboard.press("Enter")
        expect(page.get_by_role("dialog")).to_have_count(0)
        tides = row(page, "http://localhost:9/tides.html")
        expect(tides).to_contain_text("Nicht gelesen", timeout=30_000)
        reason = page.get_by_role("alert").get_by_role("listitem")
        expect(reason).to_contain_text("no address of the public Internet")
        expect(reason).to_have_attribute("lang", "en")
        expect(tides.locator("[lang=en]")).to_contain_text("no address of the public Internet")


@pytest.mark.nightly
def test_an_upload_is_sent_again_when_the_server_has_time_and_once_sent_is_not_called_unsent(
    demo: str, visit: Visit, collection: str
) -> None:
    keys, statuses, unread = list[str](), [429, 503], [503]

    def refuse_twice(route: Route) -> None:
        if route.request.method != "POST":
            return route.fallback()
        keys.append(route.request.headers["idempotency-key"])
        if statuses:
            later = {"headers": {"Retry-After": "1"}, "json": {"detail": "Later."}}
            return route.fulfill(status=statuses.pop(), **later)
        route.fallback()

    def refuse_the_collections_once(route: Route) -> None:
        if keys and not statuses and unread:
            return route.fulfill(status=unread.pop(), json={"detail": "Later."})
        route.fallback()

    with visit(demo) as somebody:
        somebody.page.route("**/api/v1/collections?*", refuse_the_collections_once)
        somebody.page.route(f"**/collections/{collection}/documents", refuse_twice)
        page = somebody.open(f"#/library/{collection}")
        choose_files(page, "Add files", [file("ferry.md")])
        expect(row(page, "ferry.md")).to_contain_text("Ready")
        assert len(keys) == 3 and len(set(keys)) == 1 and not unread
        expect(page.get_by_text("not uploaded")).to_have_count(0)
        assert all("429" in error or "503" in error for error in somebody.errors)
        somebody.errors.clear()


def test_what_a_role_does_not_allow_is_not_offered(demo: str, visit: Visit) -> None:
    def allow(*actions: str) -> Callable[[Route], None]:
        def answer(route: Route) -> None:
            shown = route.fetch().json()
            [samples] = [each for each in shown["items"] if each["name"] == "samples"]
            route.fulfill(json={"items": [samples | {"may": ["see", *actions]}], "total": 1})

        return answer

    listed, summed = {"name": "Documents"}, {"name": "Sum up", "exact": True}
    with visit(demo) as somebody:
        somebody.page.route("**/api/v1/collections?*", allow("read"))
        page = somebody.open("#/library/samples")
        expect(page.get_by_role("list", **listed)).to_be_visible()
        expect(page.get_by_role("button", **summed)).to_have_count(0)
        page.get_by_role("link", name="Ask", exact=True).click()
        expect(page.get_by_text("There is nothing to ask yet")).to_be_visible()
        page.unroute("**/api/v1/collections?*")
        page.route("**/api/v1/collections?*", allow("ask"))
        page.reload()
        expect(page.locator(".examples button").first).to_be_visible()
        page.get_by_role("link", name="Library", exact=True).click()
        expect(page.get_by_role("button", **summed)).to_be_visible()
        expect(page.get_by_role("list", **listed)).to_have_count(0)


def test_files_and_a_folder_are_added_and_a_bad_one_is_named(
    demo: str, visit: Visit, collection: str, tmp_path: Path
) -> None:
    (tmp_path / "reports" / "old").mkdir(parents=True)
    (tmp_path / "reports" / "tides.md").write_bytes(FERRY)
    (tmp_path / "reports" / "old" / "1911.md").write_bytes(FERRY)
    for made_by_system in (".DS_Store", "Thumbs.db", "old/desktop.ini"):
        (tmp_path / "reports" / made_by_system).write_bytes(b"\0")
    with visit(demo) as somebody:
        page = somebody.open(f"#/library/{collection}")
        given = [file("ferry.md"), file("game.exe"), file("quay .md "), file("broken.pdf", b"no PDF")]
        choose_files(page, "Add files", given)
        problems = page.get_by_role("alert")
        expect(problems.get_by_text("game.exe: files of this kind are not read.")).to_be_visible()
        expect(row(page, "ferry.md")).to_contain_text("Ready")
        expect(row(page, "broken.pdf")).to_contain_text("Not read")
        expect(page.get_by_role("button", name="Re-index broken.pdf")).to_be_visible()
        expect(problems.get_by_text("broken.pdf is not a PDF, though its name says so.")).to_be_visible()
        choose_files(page, "Add a folder", tmp_path / "reports")
        expect(row(page, "reports/old/1911.md")).to_contain_text("Ready")
        expect(row(page, "reports/tides.md")).to_be_visible()
        expect(rows(page)).to_have_count(4)
        expect(problems.get_by_role("listitem")).to_have_count(3)
        expect(page.get_by_role("region", name="Progress")).to_have_count(0)
        page.get_by_role("link", name="Ask", exact=True).click()
        expect(page.get_by_text("3 documents · 1 not searched")).to_be_visible()


@pytest.mark.nightly
def test_a_name_that_the_server_refuses_and_temporary_files_do_not_stop_the_others(
    demo: str, visit: Visit, collection: str
) -> None:
    with visit(demo) as somebody:
        page = somebody.open(f"#/library/{collection}")
        choose_files(page, "Add files", [file("a.md"), file("fer\u202ery.md"), file("c.md")])
        expect(rows(page)).to_have_count(2)
        expect(page.get_by_role("alert")).to_contain_text("cannot be the name of a document")
        drop(page, "~$report.docx", "ferry.md")
        expect(page.get_by_text("1 temporary file of an office program left out.")).to_be_visible()
        expect(rows(page)).to_have_count(3)
        somebody.errors.clear()  # the browser itself notes each refusal


def test_a_document_is_replaced_by_a_file_of_its_name_once_this_is_confirmed(
    demo: str, visit: Visit, collection: str
) -> None:
    documents = f"{demo}/api/v1/collections/{collection}/documents"
    httpx.post(documents, files={"files": ("F\u00e4hre.md", FERRY)}).raise_for_status()
    with visit(demo) as somebody:
        page = somebody.open(f"#/library/{collection}")
        for decision, size in (("Cancel", "66 bytes"), ("Replace", "7 bytes")):
            # macOS takes letters with accents apart.
            choose_files(page, "Add files", [file("Fa\u0308hre.md", b"# Ferry"), file(f"{decision}.md")])
            dialog = page.get_by_role("dialog", name="Replace")
            expect(dialog).to_contain_text("1 document will be replaced: Fa\u0308hre.md.")
            dialog.get_by_role("button", name=decision).click()
            expect(row(page, f"{decision}.md")).to_be_visible()
            expect(row(page, "F\u00e4hre.md")).to_contain_text(size)


DROP = """([folder, names]) => {
  const data = new DataTransfer();
  for (const name of names) data.items.add(new File(["# Pier\\n\\nThe pier is long.\\n"], name));
  const entry = (name) => ({ isFile: true, fullPath: `/${folder}/${name}`,
    file: (done) => done(new File(["# Pier\\n\\nThe pier of 1911 is long.\\n"], name)) });
  // A script cannot make entries of a folder: this one reads in two steps, as browsers do after 100 entries.
  const steps = [["x.md", "y.md"].map(entry), [entry("z.md")], []];
  const dropped = { isFile: false, fullPath: `/${folder}`,
    createReader: () => ({ readEntries: (done) => done(steps.shift()) }) };
  const items = DataTransferItem.prototype.webkitGetAsEntry;
  let asked = 0;
  DataTransferItem.prototype.webkitGetAsEntry = function () { return asked++ ? dropped : items.call(this); };
  window.dispatchEvent(new DragEvent("dragover", { dataTransfer: data, cancelable: true, bubbles: true }));
  return new Promise((done) => setTimeout(() => {
    const seen = document.querySelector(".drop-over") !== null;
    window.dispatchEvent(new DragEvent("drop", { dataTransfer: data, cancelable: true, bubbles: true }));
    DataTransferItem.prototype.webkitGetAsEntry = items;
    done(seen);
  }, 100));
}"""


@pytest.mark.nightly
def test_files_and_folders_are_dropped_and_pasted(demo: str, visit: Visit, collection: str) -> None:
    with visit(demo) as somebody:
        page = somebody.open(f"#/library/{collection}")
        page.get_by_role("button", name="Add files").wait_for()
        assert page.evaluate(DROP, ["plans", ["alone.md", "folder"]])
        for name in ("alone.md", "plans/x.md", "plans/y.md", "plans/z.md"):
            expect(row(page, name)).to_be_visible()
        page.evaluate(
            """() => {
              const data = new DataTransfer();
              data.items.add(new File(["# Note"], "pasted.md"));
              window.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, cancelable: true }));
            }"""
        )
        expect(row(page, "pasted.md")).to_contain_text("Ready")
        expect(page.locator(".drop-over")).to_have_count(0)


def test_documents_are_searched_filtered_removed_with_undo_and_added_again(
    demo: str, visit: Visit, collection: str
) -> None:
    documents = f"{demo}/api/v1/collections/{collection}/documents"
    names = ["bridge.md", "ferry.md", "pier.md", "quay.md", "wall.md"]
    httpx.post(documents, files=[("files", (name, FERRY)) for name in names]).raise_for_status()
    with visit(demo) as somebody:
        page = somebody.open(f"#/library/{collection}")
        expect(row(page, "wall.md")).to_contain_text("Ready")
        page.get_by_label("Search names and your notes").fill("ER")
        expect(rows(page)).to_have_count(2)
        page.get_by_label("Search names and your notes").fill("nothing")
        expect(page.get_by_text("No document matches.")).to_be_visible()
        page.get_by_label("Search names and your notes").fill("er")
        expect(rows(page)).to_have_count(2)
        page.get_by_role("button", name="Not read 0").click()
        expect(page.get_by_text("No document matches.")).to_be_visible()
        page.get_by_role("button", name=re.compile("^All")).click()
        page.get_by_label("Search names and your notes").fill("")
        expect(rows(page)).to_have_count(5)
        all_rows: list[Route] = []
        page.route("**/documents?*limit=500*", lambda route: all_rows.append(route), times=1)
        page.get_by_role("button", name="Select all").click()
        page.get_by_label("Search names and your notes").fill("er")
        expect(rows(page)).to_have_count(2)
        with page.expect_response("**/documents?*limit=500*"):
            all_rows[0].continue_()  # no longer the listed documents
        expect(page.get_by_role("button", name="Remove 5")).to_have_count(0)
        page.get_by_label("Search names and your notes").fill("")
        expect(rows(page)).to_have_count(5)
        page.get_by_role("button", name="Clear selection").click()
        place = page.get_by_role("button", name="Select all").bounding_box()
        page.get_by_label("Select bridge.md").click()
        page.get_by_label("Select pier.md").click(modifiers=["Shift"])
        assert page.get_by_role("button", name="Select all").bounding_box() == place
        page.get_by_role("button", name="Remove 3").click()
        expect(rows(page)).to_have_count(2)
        page.get_by_role("button", name="Undo").click()
        expect(rows(page)).to_have_count(5)
        assert httpx.get(documents).json()["total"] == 5
        page.get_by_role("button", name="Remove ferry.md").click()
        expect(rows(page)).to_have_count(4)
        choose_files(page, "Add files", [file("ferry.md")])
        expect(row(page, "ferry.md")).to_be_visible()  # added again while its removal can be undone
        assert httpx.get(documents).json()["total"] == 5
        page.get_by_role("button", name="Remove quay.md").press("Enter")
        expect(rows(page)).to_have_count(4)
        page.goto("about:blank")  # whoever leaves has not taken it back
        for _ in range(100):
            if httpx.get(documents).json()["total"] == 4:
                break
            page.wait_for_timeout(50)
        assert "quay.md" not in [row["name"] for row in httpx.get(documents).json()["items"]]
        somebody.open(f"#/library/{collection}")


def test_a_queued_job_waits_and_a_document_that_is_read_is_marked(
    demo: str, visit: Visit, collection: str
) -> None:
    row = {
        "id": "1" * 32, "name": "ferry.md", "state": "waiting", "is_being_indexed": True, "bytes": 9,
        "chunks": None, "problem": None, "notes": [], "added": "2026-05-04T10:00:00Z", "found_note": None,
    }  # fmt: skip
    rows = [row, row | {"id": "2" * 32, "name": "tides.md", "is_being_indexed": False}]
    with visit(demo) as somebody:
        page = somebody.open("#/ask")
        page.route("**/documents?*", lambda route: route.fulfill(json={"items": rows, "total": 2}))
        page = somebody.open(f"#/library/{collection}")
        expect(page.get_by_role("article", name="ferry.md")).to_contain_text("Being indexed")
        expect(page.get_by_role("article", name="tides.md")).to_contain_text("Waiting")
        page.evaluate(
            "name => import('/page/library/upload.js').then(({ updateWork }) => updateWork(name, () => "
            "({ job: { kind: 'index', state: 'queued', done: 0, total: null } })))",
            collection,
        )
        progress = page.get_by_role("region", name="Progress")
        expect(progress).to_contain_text("Waiting for another job …")


@pytest.mark.nightly
def test_a_reload_finds_the_job_again_and_it_is_cancelled(demo: str, visit: Visit, collection: str) -> None:
    text = "\n\n".join(f"# Part {part}\n\n" + f"The tide of {part} was high. " * 60 for part in range(400))
    with visit(demo) as somebody:
        page = somebody.open(f"#/library/{collection}")
        choose_files(page, "Add files", [file(f"long{number}.md", text.encode()) for number in range(4)])
        progress = page.get_by_role("region", name="Progress")
        expect(progress.get_by_text(re.compile("Reading|Indexing"))).to_be_visible()
        page.reload()
        expect(progress.get_by_text(re.compile("Reading|Indexing"))).to_be_visible()
        progress.get_by_role("button", name="Cancel").click()
        expect(progress).to_have_count(0)
        jobs = httpx.get(f"{demo}/api/v1/collections/{collection}/jobs").json()["items"]
        assert [job["state"] for job in jobs] == ["cancelled"]


@pytest.mark.nightly
def test_ten_thousand_documents_scroll_with_few_rows_drawn(demo: str, visit: Visit, collection: str) -> None:
    every = [
        {
            "id": f"{number:032x}", "name": f"file{number:05}.md", "state": "indexed", "bytes": 900,
            "chunks": 3, "problem": None, "notes": [], "added": "2026-05-04T10:00:00Z",
        }
        for number in range(10_000)
    ]  # fmt: skip
    asked = list[int]()

    def answer(route: Route) -> None:
        query = parse_qs(urlsplit(route.request.url).query)
        offset, limit = int(query.get("offset", ["0"])[0]), int(query["limit"][0])
        asked.append(offset)
        found = [row for row in every if query.get("search", [""])[0] in row["name"]]
        shown = {"items": found[offset : offset + limit], "total": len(found)}
        route.fulfill(content_type="application/json", body=json.dumps(shown))

    with visit(demo, width="phone") as somebody:
        somebody.page.route(f"**/collections/{collection}/documents?*", answer)
        page = somebody.open(f"#/library/{collection}")
        expect(row(page, "file00000.md")).to_be_visible()
        for _ in range(20):
            page.mouse.wheel(0, 4000)
            page.wait_for_timeout(20)
        page.keyboard.press("End")
        page.evaluate("window.scrollTo(0, document.documentElement.scrollHeight)")
        expect(row(page, "file09999.md")).to_be_visible()
        page.evaluate("window.scrollTo(0, document.documentElement.scrollHeight)")
        expect(row(page, "file09999.md")).to_be_in_viewport()
        assert row(page, "file09999.md").locator("..").get_attribute("aria-posinset") == "10000"
        assert rows(page).count() < 250
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        assert 9950 in asked


def test_a_document_shows_what_is_known_of_it(demo: str, visit: Visit) -> None:
    with visit(demo) as somebody:
        page = somebody.open("#/library/samples")
        page.get_by_role("link", name="guidance_households.md").first.click()
        expect(page.get_by_role("heading", level=1)).to_have_text("guidance_households.md")
        expect(page.get_by_role("heading", level=1)).to_be_focused()
        expect(page.get_by_text("Answers cite it as guidance_households.md.")).to_be_visible()
        expect(page.get_by_text("Issued by the resilience officer")).to_be_in_viewport()
        page.get_by_text("Outline").click()
        expect(page.get_by_role("button", name="If you keep animals")).to_be_visible()
        with page.expect_response(re.compile(r"/documents/\w+$")):  # something was uploaded
            page.evaluate("import('/page/library/upload.js').then(({ changes }) => { changes.value += 1; })")
        page.wait_for_timeout(300)
        expect(page.get_by_role("button", name="If you keep animals")).to_be_visible()
        page.get_by_role("button", name="Show passages").click()
        expect(page.locator(".passage").first).to_be_attached()
        page.get_by_role("navigation", name="Where you are").get_by_role("link", name="samples").click()
        expect(rows(page)).to_have_count(5)


def test_the_text_of_a_document_fits_a_narrow_screen(demo: str, visit: Visit) -> None:
    with visit(demo, language="de") as somebody:
        somebody.page.set_viewport_size({"width": 320, "height": 640})
        page = somebody.open("#/library/samples")
        page.get_by_role("link", name="climate_handbook.pdf").first.click()
        expect(page.get_by_text("Textstellen zeigen")).to_be_visible()
        assert page.locator(".whole-text").evaluate("box => box.scrollWidth <= box.clientWidth")


@pytest.mark.nightly
def test_members_are_chosen_and_readers_change_nothing(team: str, visit: Visit) -> None:
    with visit(team) as ada:
        sign_in(ada.page, team, "ada")
        page = ada.open("#/library")
        page.get_by_role("button", name="New collection").click()
        page.get_by_label("Name").fill("harbour")
        page.get_by_role("button", name="Make collection").click()
        choose_files(page, "Add files", [file("ferry.md")])
        expect(row(page, "ferry.md")).to_be_visible()
        page.get_by_role("link", name="Members").click()
        page.get_by_label("User name").fill("otto")
        page.get_by_role("combobox", name="Role", exact=True).select_option("writer")
        page.get_by_role("button", name="Add").click()
        expect(page.get_by_label("Role of otto")).to_have_value("writer")
        page.get_by_label("Role of otto").select_option("reader")
        page.reload()
        expect(page.get_by_label("Role of otto")).to_have_value("reader")
        with visit(team) as otto:
            sign_in(otto.page, team, "otto")
            theirs = otto.open("#/library/harbour")
            expect(row(theirs, "ferry.md")).to_be_visible()
            for name in ("Add files", "Add a folder", "Add a web page", "Delete collection"):
                expect(theirs.get_by_role("button", name=name)).to_have_count(0)
            expect(theirs.get_by_role("link", name="Members")).to_have_count(0)
            expect(theirs.get_by_role("button", name="Remove")).to_have_count(0)
            theirs.get_by_role("link", name="ferry.md").click()
            expect(theirs.get_by_role("link", name="Download")).to_be_visible()
            expect(theirs.get_by_role("button", name="Re-index")).to_have_count(0)
            page.get_by_role("button", name="Remove otto").click()
            expect(page.get_by_text("Nobody has been added yet.")).to_be_visible()
            theirs.goto(f"{team}/#/library")
            theirs.reload()
            expect(theirs.get_by_text("No collection is open to you yet.")).to_be_visible()
        page.context.request.delete(f"{team}/api/v1/collections/harbour", headers={"Origin": team})


def drop(page: Page, *names: str) -> None:
    """Drop files anywhere on the page."""
    page.evaluate(
        """names => {
          const data = new DataTransfer();
          for (const name of names) data.items.add(new File(["# Ferry"], name));
          document.body.dispatchEvent(
            new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
        }""",
        names,
    )


@pytest.mark.nightly
def test_files_that_are_dropped_where_nothing_is_kept_yet_make_a_collection(
    servers: Servers, tmp_path: Path, visit: Visit
) -> None:
    with servers.serve(tmp_path, "--data", str(tmp_path / "data")) as address, visit(address) as somebody:
        page = somebody.open("#/ask")
        expect(page.get_by_role("heading", name="Ask your documents")).to_be_visible()
        drop(page, "ferry.md")
        form = page.get_by_role("dialog", name="New collection")
        expect(form.get_by_label("Name", exact=True)).to_have_value("documents")
        form.get_by_role("button", name="Make collection").click()
        expect(page.get_by_role("heading", name="documents")).to_be_visible()
        expect(page.get_by_role("article", name="ferry.md")).to_be_visible()


def test_who_may_only_read_learns_that_they_cannot_drop_files(team: str, visit: Visit) -> None:
    with visit(team) as somebody:
        sign_in(somebody.page, team, "ben")
        page = somebody.open("#/ask")
        expect(page.get_by_label("Ask a question")).to_be_visible()
        drop(page, "ferry.md")
        expect(page.get_by_text("Your role in this collection does not allow this.")).to_be_visible()


@pytest.mark.nightly
def test_a_document_is_summed_up_from_its_own_page(demo: str, visit: Visit) -> None:
    with visit(demo) as somebody:
        page = somebody.open("#/library/samples")
        page.get_by_role("link", name="guidance_households.md").click()
        page.get_by_role("button", name="Sum up").click()
        turn = page.locator(".turn").last
        expect(turn.get_by_role("heading", level=2)).to_have_text("Summarise guidance_households.md")
        expect(turn.get_by_text("12 of the 14 sections of guidance_households.md:")).to_be_visible()
        expect(turn.get_by_text("Only in guidance_households.md")).to_be_visible()
