"""Measure what a person waits for at the page, in headless Chromium at a server of its own with the samples.

    python -m benchmarks.page_speed

First paint of a cold and of a warm page, from Enter to the first words of a local answer, the bytes of the
page as they are sent, a long PDF open at its citation, and the time between frames while much is scrolled.
"""

from __future__ import annotations

import argparse
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pymupdf
from playwright.sync_api import Browser, Page, Request, sync_playwright

QUESTION = "How long is the Long Wall and how high is its crest?"
CITED = "The lamp of the northern mole was lit on the third of May."
# What is loaded later, where a PDF is opened or a formula drawn.
LATER = ("pdf.", "temml.")
_PAINT = """
() => new Promise(resolve => new PerformanceObserver((list, observer) => {
  const [first] = list.getEntriesByName("first-contentful-paint");
  if (first) { observer.disconnect(); resolve(first.startTime); }
}).observe({ type: "paint", buffered: true }))
"""
# From the key to the first text below the question, as a person sees it.
_FIRST_WORDS = """
new Promise(resolve => {
  let pressed = 0;
  addEventListener("keydown", (event) => { if (event.key === "Enter") pressed ||= performance.now(); }, true);
  new MutationObserver((_, observer) => {
    const answer = document.querySelector("article .markdown");
    if (!pressed || !answer?.textContent.trim()) return;
    observer.disconnect();
    requestAnimationFrame(() => resolve(performance.now() - pressed));
  }).observe(document.body, { childList: true, subtree: true, characterData: true });
})
"""
_SCROLL = """
async steps => {
  const frame = () => new Promise(requestAnimationFrame);
  const boxes = [document.scrollingElement, ...document.querySelectorAll("main, main *")];
  const box = boxes.reduce((most, each) =>
    each.scrollHeight - each.clientHeight > most.scrollHeight - most.clientHeight ? each : most);
  const times = [];
  box.scrollTop = 0;
  await frame();
  let last = await frame();
  for (let step = 1; step <= steps; step += 1) {
    box.scrollTop = (box.scrollHeight - box.clientHeight) * (step / steps);
    const now = await frame();
    times.push(now - last);
    last = now;
  }
  return { times, windows: box.scrollHeight / box.clientHeight };
}
"""
# A mark of the page's own, or a rectangle over a page of the PDF.
_MARKED = ".document mark, .document .pdf-mark"


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Run `adaptive-rag serve --demo` in a folder, and yield its address once it answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    serve = [sys.executable, "-m", "adaptive_rag", "serve", "--demo", "--port", str(port)]
    address = f"http://localhost:{port}"
    with (folder / "serve.log").open("wb") as log:
        process = subprocess.Popen(serve, cwd=folder, stdout=log, stderr=log)
    try:
        while not _answers(address):
            if process.poll() is not None:
                raise RuntimeError((folder / "serve.log").read_text())
            time.sleep(0.1)
        yield address
    finally:
        process.terminate()
        process.wait(60)


def _answers(address: str) -> bool:
    try:
        return httpx.get(f"{address}/readyz", timeout=5).status_code == 200
    except httpx.TransportError:
        return False


def first_paint(browser: Browser, address: str, times: int) -> dict[str, float]:
    """Return the median milliseconds until something is seen: with an empty cache, and with a full one."""
    cold, warm = [], []
    for _ in range(times):
        with browser.new_context() as context:
            page = context.new_page()
            for found in (cold, warm):
                page.goto(address)
                found.append(page.evaluate(_PAINT))
    return {"cold": statistics.median(cold), "warm": statistics.median(warm)}


def usable_when_slow(browser: Browser, address: str, times: int) -> float:
    """Return the median milliseconds until a question can be typed, at 400 kbit/s and 400 ms away."""
    found = []
    for _ in range(times):
        with browser.new_context() as context:
            page = context.new_page()
            network = context.new_cdp_session(page)
            speed = {"latency": 400, "downloadThroughput": 50_000, "uploadThroughput": 50_000}
            network.send("Network.enable")
            network.send("Network.emulateNetworkConditions", {"offline": False, **speed})
            began = time.monotonic()
            page.goto(address, wait_until="commit")
            page.wait_for_selector("textarea")
            found.append(1000 * (time.monotonic() - began))
    return statistics.median(found)


def first_words(page: Page, address: str, times: int) -> float:
    """Return the median milliseconds from Enter to the first words of a local answer."""
    found = []
    for _ in range(times):
        page.goto(address)
        page.reload()
        field = page.get_by_role("main").get_by_role("textbox").last
        field.fill(QUESTION)
        # The promise is left in the page, since the key is pressed while it waits.
        page.evaluate(f"() => {{ window.__words = {_FIRST_WORDS}; }}")
        field.press("Enter")
        found.append(page.evaluate("window.__words"))
    return statistics.median(found)


def bytes_sent(browser: Browser, address: str) -> tuple[int, int]:
    """Return how many bytes a cold page is sent without pdf.js and math, and in how many files."""
    finished: list[Request] = []
    with browser.new_context() as context:
        page = context.new_page()
        page.on("requestfinished", lambda each: finished.append(each))
        page.goto(address)
        page.wait_for_load_state("networkidle")
        sizes = [(each.url, each.sizes()["responseBodySize"]) for each in finished]
    kept = [size for name, size in sizes if "/api/" not in name and not any(each in name for each in LATER)]
    return sum(kept), len(kept)


def pdf_at_its_citation(page: Page, address: str, folder: Path, pages: int) -> float:
    """Return the milliseconds until a long PDF shows the page that is cited, with its words marked."""
    path = folder / "long.pdf"
    with pymupdf.open() as document:
        for number in range(pages):
            made = document.new_page()
            made.insert_text((72, 100), f"Page {number + 1} of the harbour's journal.")
            made.insert_text((72, 130), CITED if number == pages - 2 else "Nothing was noted on this day.")
        document.save(path)
    httpx.post(f"{address}/api/v1/collections", json={"name": "long"}).raise_for_status()
    place = f"{address}/api/v1/collections/long"
    with path.open("rb") as file:
        sent = httpx.post(f"{place}/documents", files={"files": file}, timeout=60).raise_for_status().json()
    shown: dict[str, Any] = {}
    while shown.get("state") != "indexed":
        time.sleep(0.2)
        shown = httpx.get(f"{place}/documents/{sent['documents'][0]['id']}").json()
    whole, start = "", -1
    while start < 0:
        text = httpx.get(
            f"{place}/documents/{shown['id']}/text", params={"start": len(whole), "length": 100_000}
        ).json()
        whole += text["text"]
        start = whole.find(CITED)
        if len(whole) >= text["length"] > 0 > start:
            raise RuntimeError("the cited words are not in the text of the PDF")
    cited = {"source": shown["name"], "start": start, "end": start + len(CITED), "quote": CITED}
    page.goto(f"{address}/#/ask")
    page.get_by_role("navigation").wait_for()
    begun = time.perf_counter()
    page.evaluate(
        "async cited => (await import('/page/document/opened.js')).openDocument('long', cited)",
        cited | {"page": pages - 1},
    )
    page.wait_for_selector(_MARKED)
    return (time.perf_counter() - begun) * 1000


def scrolled(page: Page, steps: int, last: str) -> dict[str, float]:
    """Return the milliseconds between frames while the longest list is scrolled to its `last` text.

    Raises:
        RuntimeError: nothing was scrolled, or that text is not seen at the end.
    """
    found = page.evaluate(_SCROLL, steps)
    if found["windows"] < 2 or not page.get_by_text(last).first.is_visible():
        raise RuntimeError(f"{last!r} is not at the end of a list of {found['windows']:.1f} windows")
    times = sorted(found["times"])
    return {"median": statistics.median(times), "99 %": times[int(len(times) * 0.99)], "most": times[-1]}


def show_messages(page: Page, address: str, messages: int) -> None:
    """Show a conversation of that many questions and answers."""
    page.goto(f"{address}/#/ask")
    page.get_by_role("navigation").wait_for()
    page.evaluate(
        """async count => {
          const { turns } = await import('/page/ask/conversation.js');
          turns.value = Array.from({ length: count }, (_, number) => ({
            key: `made-${number}`, collections: ['samples'], question: `Question ${number}?`,
            userContext: '', only: { documents: [], folders: [], where: '' },
            state: 'answered', steps: [], passages: [], draft: '', number: number + 1,
            answer: { answer: `The wall has ${number} stones.\\n\\n- one\\n- two`, citations: [],
              query_type: 'factual', abstained: false },
          }));
        }""",
        messages // 2,
    )
    page.wait_for_selector("article")


def show_documents(page: Page, address: str, documents: int) -> None:
    """Show a library with that many documents, as the server would list them."""
    rows = [
        {"id": f"{number:032}", "name": f"folder/document-{number:05}.md", "state": "indexed", "bytes": 1000}
        | {"chunks": 3, "problem": None, "notes": [], "added": "2026-05-04T10:00:00Z"}
        for number in range(documents)
    ]

    def answer(route: Any) -> None:
        asked = httpx.URL(route.request.url).params
        start, limit = int(asked.get("offset", 0)), int(asked.get("limit", 100))
        route.fulfill(json={"items": rows[start : start + limit], "total": len(rows)})

    page.route("**/api/v1/collections/samples/documents?*", answer)
    page.route("**/api/v1/collections/samples/documents", answer)
    page.goto(f"{address}/#/library/samples")
    page.reload()
    page.wait_for_load_state("networkidle")


def measure(times: int, pages: int, messages: int, documents: int) -> dict[str, Any]:
    """Return all figures."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        address = stack.enter_context(serving(folder))
        driver = stack.enter_context(sync_playwright())
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        stack.callback(browser.close)
        paint = first_paint(browser, address, times)
        sent, files = bytes_sent(browser, address)
        page = browser.new_page(viewport={"width": 1366, "height": 900})
        words = first_words(page, address, times)
        show_messages(page, address, messages)
        talk = scrolled(page, 100, f"Question {messages // 2 - 1}?")
        show_documents(page, address, documents)
        library = scrolled(page, 100, f"document-{documents - 1:05}.md")
        figures: dict[str, Any] = {
            "first paint, ms": paint,
            "a question can be typed at 400 kbit/s and 400 ms, ms": usable_when_slow(browser, address, times),
            "first words of a local answer, ms": words,
            "page without pdf.js, bytes": sent,
            "files of it": files,
            f"frames over {messages} messages, ms": talk,
            f"frames over {documents} documents, ms": library,
        }
        if pages:
            figures[f"PDF of {pages} pages at its citation, ms"] = pdf_at_its_citation(
                page, address, folder, pages
            )
        return figures


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--times", type=int, default=7, help="how often what is short is measured")
    parser.add_argument("--pages", type=int, default=500, help="pages of the PDF; 0 leaves it out")
    parser.add_argument("--messages", type=int, default=500)
    parser.add_argument("--documents", type=int, default=10_000)
    arguments = parser.parse_args()
    for name, figure in measure(**vars(arguments)).items():
        parts = figure if isinstance(figure, dict) else {"": figure}
        print(f"{name}: {', '.join(f'{part} {value:,.0f}'.strip() for part, value in parts.items())}")


if __name__ == "__main__":
    main()
