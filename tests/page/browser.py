"""A person at the page: a window of headless Chromium, and all that happens in it written down."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page, Playwright

WIDTHS = {"phone": (390, 844), "tablet": (820, 1180), "desktop": (1366, 900)}
# Told to the test by the page itself, whatever document it loads.
_WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) =>
  window.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
"""


def launch(playwright: Playwright) -> Browser:
    """Start Chromium, which finds no other host than this machine."""
    return playwright.chromium.launch(
        executable_path=shutil.which("chromium"),
        args=["--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1"],
    )


class Person:
    """Somebody at a browser, who is told of every error, violation and request to another host."""

    def __init__(self, page: Page, address: str) -> None:
        self.page, self.address = page, address
        self.errors: list[str] = []
        self.foreign: list[str] = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda said: self.errors.append(said.text) if said.type == "error" else None)
        page.on("request", lambda request: self._note(request.url))

    def _note(self, asked: str) -> None:
        parts = urlsplit(asked)
        if parts.scheme not in ("data", "blob") and parts.netloc != urlsplit(self.address).netloc:
            self.foreign.append(asked)

    def open(self, place: str = "") -> Page:
        """Open a screen, such as "#/library/samples"."""
        self.page.goto(f"{self.address}/{place}")
        self.page.wait_for_selector("main")
        return self.page

    def violations(self) -> list[str]:
        """Return what the page's own security policy stopped."""
        return list(self.page.evaluate("window.violations"))


@contextmanager
def person(
    browser: Browser,
    address: str,
    *,
    width: str = "desktop",
    theme: str = "light",
    language: str = "en",
    check: Callable[[Person], None] | None = None,
) -> Iterator[Person]:
    """Open a window of its own for one person; `check` sees them at the end."""
    wide, high = WIDTHS[width]
    with browser.new_context(
        viewport={"width": wide, "height": high},
        color_scheme="dark" if theme == "dark" else "light",
        locale="de-DE" if language == "de" else "en-GB",
    ) as context:
        context.add_init_script(_WATCH)
        somebody = Person(context.new_page(), address)
        yield somebody
        if check:
            check(somebody)
