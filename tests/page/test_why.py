"""Why an answer came out as it did, and the same question answered another way."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest
from playwright.sync_api import Page, Route, expect

from tests.analysis.test_explain_and_learn import PARTS
from tests.page.conftest import Visit

PLAIN = "What is the highest water level ever recorded?"
TENANT = "I rent a ground-floor flat."
UNSURE = "How do residents see dredging and its effects?"
# Writes down the states that the stops of the drawn way pass through, in their order.
WATCH = """
window.passed = [];
new MutationObserver(() => {
  for (const item of document.querySelectorAll(".why ol.unseen li"))
    if (!window.passed.includes(item.textContent)) window.passed.push(item.textContent);
}).observe(document.body, { subtree: true, childList: true, characterData: true });
"""


def ask(page: Page, question: str) -> None:
    page.evaluate(WATCH)
    page.get_by_role("textbox").fill(question)
    page.get_by_role("button", name="Ask", exact=True).click()
    page.get_by_role("button", name=re.compile("^Why")).wait_for()


def open_why(page: Page) -> None:
    page.get_by_role("button", name=re.compile("^Why")).click()


def done(page: Page) -> list[str]:
    return [told.removesuffix(": done") for told in page.evaluate("window.passed") if told.endswith(": done")]


@pytest.mark.nightly
def test_both_ways_of_an_unsure_question_light_up_and_are_joined(demo: str, visit: Visit) -> None:
    with visit(demo) as somebody:
        page = somebody.open("#/ask")
        ask(page, UNSURE)
        steps = done(page)
        assert steps[0] == "Classify" and steps[-2:] == ["Join", "Answer"]
        for lane in (("Split up", "Search", "Vary"), ("Viewpoints", "Search", "Balance")):
            name = "Opinion" if "Balance" in lane else "Analytical"
            places = [steps.index(f"{name}: {step}") for step in lane]
            assert places == sorted(places)
        open_why(page)
        assert page.locator(".lane.taken").count() == 2 and page.locator(".lane.left").count() == 2
        assert page.locator(".stop.running, .stop.waiting").count() == 0


def test_the_way_lights_up_folds_into_a_line_and_opened_shows_what_was_left_out(
    demo: str, visit: Visit
) -> None:
    with visit(demo, width="phone") as somebody:
        page = somebody.open("#/ask")
        example = page.locator(".examples strong").first
        expect(example).to_have_css("color", re.compile(r"^oklab\(0\.4"))
        ask(page, PLAIN)
        assert done(page) == [
            "Classify", "Factual: Sharpen", "Factual: Search", "Factual: Rank", "Answer",
        ]  # fmt: skip
        line = page.get_by_role("button", name=re.compile("^Why"))
        expect(line).to_have_text(re.compile(r"Factual, 5 steps, [\d.]+.m?s, no model calls"))
        expect(line).to_have_attribute("aria-expanded", "false")
        line.press("Enter")
        bars = page.locator(".bars li").all_inner_texts()
        assert re.fullmatch(r"Factual\s+9\d%", bars[0].strip()) and len(bars) == 4
        widths = page.locator(".bars .bar > span").evaluate_all("all => all.map(one => one.offsetWidth)")
        assert widths == sorted(widths, reverse=True) and widths[0] > 10 * widths[1]
        colour = "bar => getComputedStyle(bar).backgroundColor"
        bar = page.locator(".bars .bar > span").first
        assert bar.evaluate(colour).startswith("oklab(0.4")
        page.evaluate("document.documentElement.dataset.theme = 'dark'")
        assert bar.evaluate(colour).startswith("oklab(0.7")
        timeline = page.locator(".timeline > li")
        assert timeline.count() == 5
        expect(timeline.nth(1)).to_contain_text("Sharpen: done without a model, no chat model is configured")
        expect(timeline.nth(2)).to_contain_text(f"Searched for {PLAIN}")
        rows = page.locator("details[open] tbody tr")
        assert rows.count() == 5
        expect(rows.first).to_contain_text("read")
        page.get_by_role("button", name="Show all 20").click()
        assert rows.count() == 20
        expect(rows.last).to_contain_text("left out")
        expect(page.locator("details[open]")).to_contain_text(
            "what fits into 2000 tokens, at most 8 passages"
        )
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        rows.first.get_by_role("button").click()
        page.get_by_role("dialog").wait_for()
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
        page.get_by_role("button", name="Show fewer").press("Escape")
        expect(line).to_be_focused()
        expect(line).to_have_attribute("aria-expanded", "false")


def test_a_way_that_was_not_kept_is_said_and_asked_for_again(demo: str, visit: Visit) -> None:
    with visit(demo) as somebody, own_thread(demo) as thread:
        page = somebody.open("#/ask")
        page.evaluate("id => import('/page/ask/conversation.js').then(found => found.openThread(id))", thread)
        open_why(page)
        page.get_by_text("How this answer was found is not kept with the thread.").wait_for()
        page.get_by_role("button", name="Ask again to see it").click()
        expect(page.get_by_role("button", name=re.compile("^Why.*5 steps"))).to_be_visible()


@contextmanager
def own_thread(address: str, user_context: str = "") -> Iterator[str]:
    """Yield a thread of one question, and delete it."""
    api = f"{address}/api/v1"
    thread = httpx.post(f"{api}/collections/samples/threads", json={}).json()["id"]
    route = {"route": "contextual"} if user_context else {}
    asked = {"question": PLAIN, "user_context": user_context, "settings": route}
    httpx.post(f"{api}/threads/{thread}/ask", json=asked, timeout=30).raise_for_status()
    yield thread
    httpx.delete(f"{api}/threads/{thread}").raise_for_status()


def votes(address: str) -> list[dict[str, object]]:
    found = httpx.get(f"{address}/api/v1/collections/samples/feedback").json()["items"]
    return [{key: vote[key] for key in ("question", "route", "is_good", "better_route")} for vote in found]


@pytest.mark.few(1)
@pytest.mark.parametrize("width", ["desktop", "phone"])
def test_another_way_stands_beside_the_first_and_a_vote_is_kept_and_taken_back(
    demo: str, visit: Visit, width: str
) -> None:
    api = f"{demo}/api/v1"
    for vote in httpx.get(f"{api}/collections/samples/feedback").json()["items"]:
        httpx.delete(f"{api}/feedback/{vote['id']}").raise_for_status()  # what other tests left
    with visit(demo, width=width) as somebody:
        page = somebody.open("#/ask")
        posted: dict[str, dict[str, object]] = {}
        page.on("request", lambda sent: posted.update({sent.url.rpartition("/")[2]: sent.post_data_json}))
        ask(page, PLAIN)
        menu = page.get_by_role("button", name="Answer it another way")
        menu.press("Enter")
        ways = page.get_by_role("group", name="Other ways").get_by_role("button")
        assert ways.all_text_contents() == ["As: Analytical", "As: Opinion", "As: Contextual"]
        ways.first.press("Escape")
        expect(menu).to_be_focused()
        menu.press("Enter")
        held: list[Route] = []
        page.route("**/compare", lambda route: held.append(route), times=1)
        ways.nth(1).press("Enter")
        bad = page.get_by_role("button", name="Bad answer")
        bad.click()  # while the second answer is generated
        expect(bad).to_have_attribute("aria-pressed", "true")
        held[0].continue_()
        both = page.get_by_role("region", name="Two ways to answer")
        both.wait_for()
        columns = both.get_by_role("article")
        assert columns.count() == 2
        added = {"collections": ["samples"], "routes": ["factual", "opinion"]}
        assert posted["compare"] == posted["events"] | added
        columns.nth(0).get_by_role("button", name="Source 1: climate_handbook.pdf, page 6").hover()
        expect(page.get_by_role("tooltip")).to_contain_text("at 06.20 on 14 January 2015")
        expect(columns.nth(0)).to_contain_text("The highest level ever recorded at Pellhythe is 4.83 metres")
        expect(both).to_contain_text("Read by both")
        expect(columns.nth(1)).to_contain_text(re.compile(r"\d+.m?s, no model calls"))
        left, right = columns.nth(0).bounding_box(), columns.nth(1).bounding_box()
        assert left and right and (left["y"] == right["y"]) == (width == "desktop")
        better = columns.nth(1).get_by_role("button", name="This one is better")
        better.click()
        expect(better).to_have_attribute("aria-pressed", "true")
        assert votes(demo) == [
            {"question": PLAIN, "route": "factual", "is_good": None, "better_route": "opinion"}
        ]
        better.click()
        expect(better).to_have_attribute("aria-pressed", "false")
        page.get_by_role("button", name="Good answer").click()
        expect(page.get_by_role("button", name="Good answer")).to_have_attribute("aria-pressed", "true")
        assert [vote["is_good"] for vote in votes(demo)] == [True]
        with page.expect_response(lambda answer: answer.request.method == "DELETE"):
            page.get_by_role("button", name="Good answer").click()
        assert votes(demo) == []


@pytest.mark.nightly
def test_a_vote_is_sent_once_and_taken_back_after_another_screen_or_loading_anew(
    demo: str, visit: Visit
) -> None:
    with visit(demo) as somebody:
        page = somebody.open("#/ask")
        ask(page, PLAIN)
        good = page.get_by_role("button", name="Good answer")
        good.evaluate("(thumb) => { thumb.click(); thumb.click(); }")
        expect(good).to_have_attribute("aria-pressed", "true")
        assert len(votes(demo)) == 1
        page.get_by_role("link", name="Library").first.click()
        page.get_by_role("link", name="Ask", exact=True).click()
        expect(good).to_have_attribute("aria-pressed", "true")
        page.reload()
        expect(good).to_have_attribute("aria-pressed", "true")
        good.click()
        expect(good).to_have_attribute("aria-pressed", "false")
        assert votes(demo) == []
        thread = page.url.rpartition("=")[2]
        vote = f"{demo}/api/v1/threads/{thread}/turns/1/feedback"
        httpx.post(vote, json={"better_route": "opinion"}).raise_for_status()
        page.reload()
        kept = page.get_by_text("Your vote for “Opinion” is kept.")
        kept.get_by_role("button", name="Take it back").click()
        expect(kept).to_have_count(0)
        assert votes(demo) == []


@pytest.mark.nightly
def test_a_vote_goes_to_its_answer_after_another_tab_has_changed_the_thread(demo: str, visit: Visit) -> None:
    api = f"{demo}/api/v1"
    with visit(demo) as somebody, own_thread(demo) as thread:
        httpx.post(f"{api}/threads/{thread}/ask", json={"question": UNSURE}, timeout=30).raise_for_status()
        page = somebody.open(f"#/ask?thread={thread}")
        second = page.get_by_role("article").nth(1)
        expect(second.get_by_role("heading", name=UNSURE)).to_be_visible()
        first = httpx.get(f"{api}/threads/{thread}").json()["turns"][0]["id"]
        httpx.delete(f"{api}/threads/{thread}/turns/{first}").raise_for_status()
        second.get_by_role("button", name="Good answer").click()
        page.get_by_text("Your vote is kept.").wait_for()
        [turn] = httpx.get(f"{api}/threads/{thread}").json()["turns"]
        assert turn["question"] == UNSURE and turn["feedback"]["is_good"]
        httpx.delete(f"{api}/feedback/{turn['feedback']['id']}").raise_for_status()
        bad = second.get_by_role("button", name="Bad answer")
        bad.click()
        expect(bad).to_have_attribute("aria-pressed", "true")
        [turn] = httpx.get(f"{api}/threads/{thread}").json()["turns"]
        assert turn["feedback"]["is_good"] is False
        httpx.delete(f"{api}/feedback/{turn['feedback']['id']}").raise_for_status()
        somebody.errors.clear()  # the browser itself notes that the vote was gone


@pytest.mark.nightly
def test_of_two_threads_the_one_that_was_opened_last_is_shown(demo: str, visit: Visit) -> None:
    with visit(demo) as somebody, own_thread(demo) as slow, own_thread(demo, TENANT) as thread:
        page = somebody.open("#/ask")
        page.route(f"**/threads/{slow}", lambda route: (page.wait_for_timeout(300), route.continue_()))
        page.evaluate(
            "([one, other]) => import('/page/ask/conversation.js')"
            ".then(({ openThread }) => Promise.all([openThread(one), openThread(other)]))",
            [slow, thread],
        )
        expect(page).to_have_url(re.compile(thread))
        expect(page.get_by_role("article")).to_contain_text(f"Answered for: {TENANT}")


@pytest.fixture
def voted(demo: str) -> Iterator[str]:
    """Return where votes are left behind that vanish with the test."""
    api = f"{demo}/api/v1"
    httpx.post(f"{api}/collections", json={"name": "votes"}).raise_for_status()
    yield f"{api}/collections/votes/feedback"
    httpx.delete(f"{api}/router").raise_for_status()
    httpx.delete(f"{api}/collections/votes").raise_for_status()


@pytest.mark.nightly
def test_a_dozen_votes_teach_the_router_and_the_teaching_is_undone(
    demo: str, visit: Visit, voted: str
) -> None:
    with visit(demo) as somebody:
        page = somebody.open("#/people/router")
        router = page.get_by_role("region", name="The router")
        expect(router).to_contain_text("Votes on 0 of the 12 questions")
        expect(router.get_by_role("button", name="Learn from the votes")).to_be_disabled()
        for part in PARTS:
            for vote in (
                {"question": f"Status of the {part} project?", "route": "factual", "better_route": "opinion"},
                {"question": f"Who invented the {part}?", "route": "factual", "is_good": True},
            ):
                httpx.post(voted, json=vote).raise_for_status()
        page.reload()
        router.get_by_role("button", name="Learn from the votes").click()
        expect(router).to_contain_text("It has learned from votes")
        expect(router).to_contain_text(
            "It learned from 30 questions; of 10 others it now sends 100% the right way"
        )
        router.get_by_role("button", name="Undo the teaching").click()
        expect(router).to_contain_text(
            "It works as it was shipped. There are 40 voted questions to learn from."
        )


@pytest.mark.nightly
def test_what_two_answers_share_is_marked_in_both_of_them(demo: str, visit: Visit) -> None:
    def column(name: str, text: str) -> dict[str, object]:
        answer = {"parts": [{"text": text}], "citations": [], "query_type": name, "abstained": False}
        return {"name": name, "answer": answer, "calls": 0, "ms": 5}

    sentences = {
        "in_all": ["The wall is high."],
        "only": {"factual": ["It is old.", "It is long."], "opinion": ["It is dear."]},
    }
    compared = {
        "columns": [
            column("factual", "The wall is high. It is old. It is long."),
            column("opinion", "The wall is high. It is dear."),
        ],
        "passages": {"in_all": [], "only": {"factual": [], "opinion": []}},
        "sentences": sentences,
        "places": {},
    }
    with visit(demo) as somebody:
        page = somebody.open("#/ask")
        page.route("**/compare", lambda route: route.fulfill(json=compared))
        ask(page, PLAIN)
        page.get_by_role("button", name="Answer it another way").click()
        page.get_by_role("button", name="As: Opinion").click()
        columns = page.get_by_role("region", name="Two ways to answer").get_by_role("article")
        expect(columns.get_by_text("in both", exact=True)).to_have_count(2)
        expect(page.get_by_text("only here", exact=True)).to_have_count(0)
