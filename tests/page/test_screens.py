"""Every state of every screen is looked at: nothing stands outside the window, and axe finds nothing.

In each run the states of one person meet the narrowest width, in one theme or the other, and axe looks at the
main ones. Nightly, with PAGE_CHECKS=all, each state meets each width in each theme, in both languages.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, Page, expect

from tests.page.browser import WIDTHS, Person, person
from tests.page.conftest import sign_in
from tests.page.states import states_of_a_team, states_of_one_person

pytestmark = pytest.mark.slow
MAIN = {
    "ask-empty", "ask-factual", "document-pdf", "document-text", "note", "citation", "another-way",
    "ask-failed", "library", "library-samples", "dialog", "threads-found", "people", "people-model",
}  # fmt: skip
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
# What pdf.js measures letters with stands beside the page's parts, and nobody sees it.
_RUN = """rules => axe.run({ exclude: [".hiddenCanvasElement"] }, {
  runOnly: rules, resultTypes: ["violations"], reporter: "v2"
}).then(found => [found.passes.length, found.violations])"""
# What a person cannot reach: it begins or ends outside the window, and nothing around it scrolls or hides it.
_OUTSIDE = """
() => {
  const isHeld = (element) => {
    const around = element.parentElement;
    return around !== document.body && (getComputedStyle(around).overflowX !== "visible" || isHeld(around));
  };
  const seen = [...document.body.querySelectorAll("*")].filter((element) => {
    const box = element.getBoundingClientRect();
    const isUnseen = element.closest(".unseen, .skip") || box.width <= 1 || box.height <= 1;
    return !isUnseen && (box.left < -1 || box.right > window.innerWidth + 1) && !isHeld(element);
  });
  const wide = document.documentElement.scrollWidth;
  return [
    ...(wide > window.innerWidth ? [`the page is ${wide} px wide`] : []),
    ...seen.map((element) => `<${element.localName} class="${element.getAttribute("class")}">`),
  ];
}
"""


def violations(page: Page) -> Iterator[str]:
    """Yield what axe finds on the page as it is now."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    checked, found = page.evaluate(_RUN, RULES)
    assert checked > 5, "axe has checked nothing"
    for violation in found:
        for node in violation["nodes"]:
            # Where a person scrolls, the field of the question does not lie over it any more.
            if "partially obscured" not in (reason := _reason(node)):
                yield f"{violation['id']}: {node['target']} {reason}"


def _reason(node: dict[str, Any]) -> str:
    return "; ".join(check["message"] for kind in ("any", "all", "none") for check in node[kind])


def views(number: int, widths: list[str]) -> list[tuple[str, Literal["light", "dark"]]]:
    """Return the widths and themes in which a state is looked at."""
    if os.environ.get("PAGE_CHECKS") == "all":
        return [(width, theme) for theme in ("light", "dark") for width in WIDTHS]
    return [(width, ("light", "dark")[(number + at) % 2]) for at, width in enumerate(widths)]


def look_at(
    somebody: Person, states: Iterator[str], language: str, widths: list[str], pictures: Path | None
) -> dict[str, list[str]]:
    """Return what is wrong with each state, by its name and view."""
    page, wrong = somebody.page, {}
    for number, state in enumerate(states):
        for width, theme in views(number, widths):
            wide, high = WIDTHS[width]
            page.set_viewport_size({"width": wide, "height": high})
            page.emulate_media(color_scheme=theme, reduced_motion="reduce")
            if "running" not in state:
                # What has another place in another width is read anew.
                expect(page.locator("[aria-busy=true]")).to_have_count(0)
            if pictures:
                page.screenshot(path=pictures / f"{state}-{width}-{theme}-{language}.png")
            found = [*page.evaluate(_OUTSIDE)]
            if len(widths) > 1 or state in MAIN or os.environ.get("PAGE_CHECKS") == "all":
                found += violations(page)
            if found:
                wrong[f"{state}, {width}, {theme}"] = found
        page.set_viewport_size({"width": 1366, "height": 900})
    return wrong


@pytest.mark.few(1)
@pytest.mark.parametrize(("language", "widths"), [("en", ["phone"]), ("de", list(WIDTHS))])
def test_nothing_is_wrong_in_any_state_of_one_person(
    demo: str, browser: Browser, language: str, widths: list[str], screenshots: Path | None
) -> None:
    with person(browser, demo, language=language) as somebody:
        assert (
            look_at(
                somebody, states_of_one_person(somebody, every=len(widths) > 1), language, widths, screenshots
            )
            == {}
        )
        assert not somebody.violations()


@pytest.mark.nightly
def test_nothing_is_wrong_in_any_state_of_a_team(
    team: str, browser: Browser, screenshots: Path | None
) -> None:
    with person(browser, team, language="de") as somebody:
        sign_in(somebody.page, team, "ada")
        assert look_at(somebody, states_of_a_team(somebody), "de", list(WIDTHS), screenshots) == {}
        assert not somebody.violations()


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("tag", "finds", "what"),
    [
        ("button", lambda page: [each.partition(":")[0] for each in violations(page)], "button-name"),
        ("hr", lambda page: page.evaluate(_OUTSIDE), '<hr class="null">'),
    ],
)
def test_what_is_wrong_would_be_found(
    demo: str, browser: Browser, tag: str, finds: Callable[[Page], list[str]], what: str
) -> None:
    with person(browser, demo, width="phone") as somebody:
        page = somebody.open()
        page.get_by_role("navigation").wait_for()
        page.evaluate(
            "tag => document.querySelector('main').append(Object.assign(document.createElement(tag), "
            "{ width: 900 }))",
            tag,
        )
        assert what in finds(page)
