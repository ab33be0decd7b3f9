"""Take the README's pictures of the page, from a server that is started with the sample documents."""

from __future__ import annotations

import argparse
import io
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
from PIL import Image
from playwright.sync_api import Page, sync_playwright

from adaptive_rag.samples import samples_path
from benchmarks.page_speed import serving

SIZE = {"width": 1366, "height": 900}
COLOURS = 128  # of a picture, to keep the files small: a screen shows few colours
WALL = "How long is the Long Wall and how high is its crest?"
MARSH = "How does dredging the harbour affect Cotter Marsh?"
LEVEL = "What is the highest water level ever recorded at Pellhythe?"


def walk_through(page: Page, address: str) -> Iterator[str]:
    """Walk through the page, and yield the name of each picture when the page shows it."""
    page.goto(address)
    page.get_by_role("group", name="Try one of these").wait_for()
    yield "first-minute"
    ask(page, address, WALL)
    page.get_by_role("button", name=re.compile("^Source 1:")).first.click()
    page.locator(".pdf-mark").first.wait_for()
    page.wait_for_load_state("networkidle")
    yield "document"
    page.keyboard.press("Escape")
    ask(page, address, LEVEL)
    page.get_by_role("button", name="Answer it another way").click()
    page.get_by_role("button", name="As: Opinion").click()
    page.get_by_role("region", name="Two ways to answer").wait_for()
    scroll_to(page, ".question")
    yield "another-way"
    page.emulate_media(color_scheme="dark")
    ask(page, address, MARSH)
    page.get_by_role("button", name=re.compile("^Why")).click()
    page.locator(".timeline").wait_for()
    scroll_to(page, ".why")
    yield "why"
    page.emulate_media(color_scheme="light")
    start_indexing(address)
    page.goto(f"{address}/#/library/archive")
    page.reload()
    page.get_by_text(re.compile("Indexing .* of")).wait_for()
    yield "library"


def ask(page: Page, address: str, question: str) -> None:
    """Ask in a new conversation, and wait for the answer."""
    page.goto("about:blank")
    page.goto(f"{address}/#/ask")
    page.get_by_label("Ask a question").fill(question)
    page.get_by_role("button", name="Ask", exact=True).click()
    page.get_by_role("button", name=re.compile("^Why")).wait_for()


def scroll_to(page: Page, selector: str) -> None:
    """Scroll until an element stands just below the page's header."""
    page.evaluate(
        "selector => scrollBy(0, document.querySelector(selector).getBoundingClientRect().top - 72)", selector
    )
    page.mouse.move(0, 0)


def start_indexing(address: str) -> None:
    """Upload a town's archive: the samples once for each year, and a file that nothing can read."""
    api = f"{address}/api/v1/collections"
    collection = {"name": "archive", "description": "Minutes and reports of the harbour board."}
    httpx.post(api, json=collection).raise_for_status()
    text = "\n\n".join(path.read_text() for path in sorted(samples_path().glob("*.md")))
    files = [("files", ("reports/tide-gauge-1987.pdf", b"no PDF"))]
    for year in range(1988, 2026):
        files.append(("files", (f"minutes/{year}.md", f"# Minutes of {year}\n\n{text}".encode())))
    httpx.post(f"{api}/archive/documents", files=files, timeout=60).raise_for_status()


def main() -> None:
    """Take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        address = stack.enter_context(serving(Path(stack.enter_context(tempfile.TemporaryDirectory()))))
        driver = stack.enter_context(sync_playwright())
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        stack.callback(browser.close)
        page = browser.new_page(viewport=SIZE, color_scheme="light", reduced_motion="reduce", locale="en-GB")
        for name in walk_through(page, address):
            with Image.open(io.BytesIO(page.screenshot())) as screenshot:
                picture = screenshot.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
                picture.save(folder / f"page-{name}.png", optimize=True)


if __name__ == "__main__":
    main()
