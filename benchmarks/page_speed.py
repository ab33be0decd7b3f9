"""Measure how long a person waits for the page, in headless Chromium, with a server of the sample documents.

    python -m benchmarks.page_speed

Measures the first paint with an empty and with a full cache, the time from Enter to the first words of a
local answer, the bytes of the page as they are sent, the time until a long PDF shows a citation, and the time
between frames while long lists are scrolled.
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
# Files that are loaded only when a PDF is opened or a formula is drawn.
LOADED_LATER = ("pdf.", "temml.")
_PAINT = """
() => new Promise(resolve => new PerformanceObserver((list, observer) => {
  const [first] = list.getEntriesByName("first-contentful-paint");
  if (first) { observer.disconnect(); resolve(first.startTime); }
}).observe({ type: "paint", buffered: true }))
"""
# Measures from the key press to the first text of the answer on the screen.
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
# A marked text in the page, or a rectangle over a page of a PDF.
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
    """Return the median milliseconds until the first paint, with an empty cache and with a full one."""
    cold, warm = [], []
    for _ in range(times):
        with browser.new_context() as context:
            page = context.new_page()
            for measured in (cold, warm):
                page.goto(address)
                measured.append(page.evaluate(_PAINT))
    return {"cold": statistics.median(cold), "warm": statistics.median(warm)}


def usable_when_slow(browser: Browser, address: str, times: int) -> float:
    """Return the median milliseconds until a question can be typed, at 400 kbit/s and 400 ms of latency."""
    measured = []
    for _ in range(times):
        with browser.new_context() as context:
            page = context.new_page()
            network = context.new_cdp_session(page)
            speed = {"latency": 400, "downloadThroughput": 50_000, "uploadThroughput": 50_000}
            network.send("Network.enable")
            network.send("Network.emulateNetworkConditions", {"offline": False, **speed})
            started = time.monotonic()
            page.goto(address, wait_until="commit")
            page.wait_for_selector("textarea")
            measured.append(1000 * (time.monotonic() - started))
    return statistics.median(measured)


def first_words(page: Page, address: str, times: int) -> float:
    """Return the median milliseconds from Enter to the first words of a local answer."""
    measured = []
    for _ in range(times):
        page.goto(address)
        page.reload()
        field = page.get_by_role("main").get_by_role("textbox").last
        field.fill(QUESTION)
        # Store the promise in the page, because the key has to be pressed while it waits.
        page.evaluate(f"() => {{ window.__words = {_FIRST_WORDS}; }}")
        field.press("Enter")
        measured.append(page.evaluate("window.__words"))
    return statistics.median(measured)


def bytes_sent(browser: Browser, address: str) -> tuple[int, int]:
    """Return the bytes and the number of the files of a first visit, without pdf.js and formulas."""
    requests: list[Request] = []
    with browser.new_context() as context:
        page = context.new_page()
        page.on("requestfinished", lambda request: requests.append(request))
        page.goto(address)
        page.wait_for_load_state("networkidle")
        sizes = [
            request.sizes()["responseBodySize"]
            for request in requests
            if not any(part in request.url for part in ("/api/", *LOADED_LATER))
        ]
    return sum(sizes), len(sizes)


def pdf_at_its_citation(page: Page, address: str, folder: Path, pages: int) -> float:
    """Return the milliseconds until a long PDF shows the cited page, with the cited words marked."""
    path = folder / "long.pdf"
    with pymupdf.open() as pdf:
        for number in range(pages):
            pdf_page = pdf.new_page()
            pdf_page.insert_text((72, 100), f"Page {number + 1} of the harbour's journal.")
            text = CITED if number == pages - 2 else "Nothing was noted on this day."
            pdf_page.insert_text((72, 130), text)
        pdf.save(path)
    httpx.post(f"{address}/api/v1/collections", json={"name": "long"}).raise_for_status()
    documents = f"{address}/api/v1/collections/long/documents"
    with path.open("rb") as file:
        upload = httpx.post(documents, files={"files": file}, timeout=60).raise_for_status().json()
    document: dict[str, Any] = {}
    while document.get("state") != "indexed":
        time.sleep(0.2)
        document = httpx.get(f"{documents}/{upload['documents'][0]['id']}").json()
    text, start = "", -1
    while start < 0:
        span = {"start": len(text), "length": 100_000}
        reply = httpx.get(f"{documents}/{document['id']}/text", params=span).json()
        text += reply["text"]
        start = text.find(CITED)
        if len(text) >= reply["length"] > 0 > start:
            raise RuntimeError("the cited words are not in the text of the PDF")
    citation = {"source": document["name"], "start": start, "end": start + len(CITED), "quote": CITED}
    page.goto(f"{address}/#/ask")
    page.get_by_role("navigation").wait_for()
    started = time.perf_counter()
    page.evaluate(
        "async cited => (await import('/page/document/opened.js')).openDocument('long', cited)",
        citation | {"page": pages - 1},
    )
    page.wait_for_selector(_MARKED)
    return (time.perf_counter() - started) * 1000


def scroll(page: Page, steps: int, last: str) -> dict[str, float]:
    """Return the milliseconds between frames while the longest list is scrolled to its end, the text `last`.

    Raises:
        RuntimeError: nothing was scrolled, or the text is not visible at the end.
    """
    result = page.evaluate(_SCROLL, steps)
    if result["windows"] < 2 or not page.get_by_text(last).first.is_visible():
        raise RuntimeError(f"{last!r} is not at the end of a list of {result['windows']:.1f} windows")
    times = sorted(result["times"])
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
            answer: { parts: [{ text: `The wall has ${number} stones.\\n\\n- one\\n- two` }], citations: [],
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
        params = httpx.URL(route.request.url).params
        start, limit = int(params.get("offset", 0)), int(params.get("limit", 100))
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
        conversation = scroll(page, 100, f"Question {messages // 2 - 1}?")
        show_documents(page, address, documents)
        library = scroll(page, 100, f"document-{documents - 1:05}.md")
        figures: dict[str, Any] = {
            "first paint, ms": paint,
            "a question can be typed at 400 kbit/s and 400 ms, ms": usable_when_slow(browser, address, times),
            "first words of a local answer, ms": words,
            "page without pdf.js, bytes": sent,
            "files of it": files,
            f"frames over {messages} messages, ms": conversation,
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
    parser.add_argument("--times", type=int, default=7, help="how often short times are measured")
    parser.add_argument("--pages", type=int, default=500, help="pages of the PDF; 0 leaves it out")
    parser.add_argument("--messages", type=int, default=500)
    parser.add_argument("--documents", type=int, default=10_000)
    arguments = parser.parse_args()
    for name, figure in measure(**vars(arguments)).items():
        parts = figure if isinstance(figure, dict) else {"": figure}
        print(f"{name}: {', '.join(f'{part} {value:,.0f}'.strip() for part, value in parts.items())}")


if __name__ == "__main__":
    main()
