"""The first minute, threads, signing in, and people: as somebody at the page does it."""

import json
import re
import threading
from pathlib import Path
from typing import get_args

import httpx
import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from adaptive_rag.server.api.session import SESSION_COOKIE
from adaptive_rag.server.audit import SIGNED_IN
from adaptive_rag.server.problems import ProblemType
from adaptive_rag.text.languages import load_words
from tests.page.browser import Person
from tests.page.conftest import PASSWORD, Visit, new_collection, sign_in
from tests.page.servers import Servers
from tests.server.test_oidc import SmallProvider, settings_of


def fill_sign_in(page: Page, name: str, password: str = PASSWORD) -> None:
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password", exact=True).fill(password)
    page.keyboard.press("Enter")
    if password == PASSWORD:
        page.get_by_role("heading", name="Sign in to Adaptive RAG").wait_for(state="detached")


def forgive(somebody: Person, *statuses: int) -> None:
    """Leave out what Chromium writes to its console when the server refuses, as it should here."""
    wanted = tuple(f"status of {status}" for status in statuses)
    refused = [error for error in somebody.errors if any(each in error for each in wanted)]
    assert refused
    somebody.errors = [error for error in somebody.errors if error not in refused]


def test_the_first_minute_offers_a_question_of_each_type_and_a_click_asks_it(demo: str, visit: Visit) -> None:
    with visit(demo) as somebody:
        page = somebody.open()
        expect(page.get_by_text("an invented town by the sea")).to_be_visible()
        offered = page.get_by_role("group", name="Try one of these").get_by_role("button")
        expect(offered).to_have_count(4)
        for kind in ("Factual", "Analytical", "Opinion", "Contextual"):
            expect(offered.filter(has_text=kind)).to_have_count(1)
        with page.expect_request("**/ask/events") as asked:
            offered.filter(has_text="How should I prepare").click()
        assert "ground-floor flat" in json.loads(asked.value.post_data or "{}")["user_context"]
        expect(page.get_by_role("heading", name="How should I prepare for a flood?")).to_be_visible()
        expect(offered).to_have_count(0)


@pytest.mark.nightly
def test_a_collection_without_documents_says_what_to_do(demo: str, visit: Visit) -> None:
    with new_collection(demo, "bare"), visit(demo, language="de", width="phone") as somebody:
        somebody.page.add_init_script("localStorage.setItem('adaptive-rag.collection', 'bare')")
        page = somebody.open()
        expect(page.get_by_text("bare enthält noch keine Dokumente")).to_be_visible()
        page.get_by_role("link", name="Zur Bibliothek").click()
        expect(page).to_have_url(re.compile("#/library/bare$"))


@pytest.mark.nightly
def test_threads_are_found_renamed_exported_and_deleted_with_undo(demo: str, visit: Visit) -> None:
    with new_collection(demo, "storms") as path, visit(demo) as somebody:
        for title in ("Storm of 1953", "Storm of 1962", "Ferries"):
            httpx.post(f"{path}/threads", json={"title": title}).raise_for_status()
        page = somebody.open("#/threads")
        expect(page.get_by_role("heading", name="Today")).to_be_visible()
        page.get_by_label("Search conversations").fill("storm")
        expect(page.get_by_role("link", name="Ferries", exact=True)).to_have_count(0)
        rename = page.get_by_role("button", name="Rename: Storm of 1953")
        rename.press("Enter")
        page.get_by_label("Title", exact=True).fill("not kept")
        page.keyboard.press("Escape")
        expect(rename).to_be_focused()
        rename.press("Enter")
        page.get_by_label("Title", exact=True).fill("The great storm")
        page.keyboard.press("Enter")
        expect(page.get_by_role("link", name="The great storm", exact=True)).to_be_visible()
        with page.expect_download() as download:
            page.get_by_role("button", name="Export: The great storm").click()
            page.get_by_role("link", name="Export: The great storm (Word)").click()
        assert download.value.suggested_filename == "The great storm.docx"
        great = page.get_by_role("link", name="The great storm", exact=True)
        page.get_by_role("button", name="Delete: The great storm").click()
        expect(great).to_have_count(0)
        page.get_by_role("button", name="Undo").click()
        expect(great).to_be_visible()
        page.get_by_role("button", name="Delete: Storm of 1962").click()
        page.goto("about:blank")  # who leaves has not undone it
        somebody.open("#/threads")
        expect(page.get_by_role("link", name="The great storm", exact=True)).to_be_visible()
        expect(page.get_by_role("link", name="Storm of 1962", exact=True)).to_have_count(0)
        for words in ("storm of nobody", "storm"):
            page.get_by_label("Search conversations").fill(words)
        expect(page.get_by_role("link", name="The great storm", exact=True)).to_be_visible()


@pytest.mark.nightly
def test_a_thread_that_is_gone_leaves_the_page_as_it_was(demo: str, visit: Visit) -> None:
    with visit(demo) as somebody:
        page = somebody.open("#/ask?thread=0123456789abcdef0123456789abcdef")
        expect(page.get_by_text("This does not exist, or it is not open to you.")).to_be_visible()
        expect(page).to_have_url(re.compile("#/ask$"))
        forgive(somebody, 404)


@pytest.mark.nightly
def test_people_of_this_machine_learn_how_to_add_users(demo: str, visit: Visit) -> None:
    with visit(demo) as somebody:
        page = somebody.open("#/people")
        expect(page.get_by_text("adaptive-rag users add")).to_be_visible()
        tabs = page.get_by_role("navigation", name="Settings").get_by_role("link")
        expect(tabs).to_have_text(["Account", "Model", "Log", "The router", "Feedback"])
        tabs.nth(4).click()
        page.get_by_label("Collection").select_option("samples")
        expect(page.get_by_role("link", name="Export as questions")).to_have_attribute(
            "href", "/api/v1/feedback/export"
        )


def test_what_is_kept_about_me_is_written_and_forgotten(demo: str, visit: Visit) -> None:
    with visit(demo, language="de") as somebody:
        page = somebody.open("#/people")
        about = page.get_by_label("Über Sie")
        about.fill("Ich wohne in Saltmere.")
        page.get_by_role("button", name="Speichern").click()
        expect(page.get_by_text("Gespeichert.")).to_be_visible()
        page.reload()
        expect(about).to_have_value("Ich wohne in Saltmere.")
        about.fill("")
        page.get_by_role("button", name="Speichern").click()
        expect(page.get_by_text("ist nichts gespeichert")).to_be_visible()
        assert httpx.get(f"{demo}/api/v1/me/profile").json() == {"text": ""}


def test_signing_in_shows_what_was_asked_for_and_signing_out_ends_it(team: str, visit: Visit) -> None:
    with visit(team, width="tablet", theme="dark") as somebody:
        page = somebody.open("#/people/tokens")
        expect(page.get_by_label("Name")).to_be_focused()
        fill_sign_in(page, "ada", "wrong horse battery")
        expect(page.get_by_role("alert")).to_have_text("The name or the password is wrong.")
        expect(page.get_by_label("Password")).to_be_focused()
        fill_sign_in(page, "ada")
        expect(page.get_by_role("heading", name="Make a token")).to_be_visible()
        page.get_by_role("link", name="ada", exact=True).click()
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_role("heading", name="Sign in to Adaptive RAG")).to_be_visible()
        fill_sign_in(page, "ada")
        expect(page.get_by_label("Ask a question")).to_be_focused()
        forgive(somebody, 401)


def test_a_session_that_ends_loses_nothing_that_was_typed(team: str, visit: Visit) -> None:
    with visit(team) as somebody:
        page = somebody.open("#/people")
        fill_sign_in(page, "ben")
        about = page.get_by_label("About you")
        about.fill("I fish at night.")
        end_session(page.context)
        page.get_by_role("button", name="Save").click()
        dialog = page.get_by_role("dialog", name="Sign in")
        expect(dialog).to_contain_text("Your session has ended")
        for _ in range(3):  # a browser closes a dialog at a further Escape, whatever the page says
            page.keyboard.press("Escape")
        expect(dialog).to_be_visible()
        fill_sign_in(page, "ben")
        expect(dialog).to_have_count(0)
        expect(page.get_by_text("Saved.")).to_be_visible()  # what waited went on
        expect(about).to_have_value("I fish at night.")
        expect(page.get_by_role("button", name="Save")).to_be_focused()
        end_session(page.context)
        page.evaluate("void window.dispatchEvent(new Event('focus'))")
        expect(dialog).to_be_visible()
        sign_in(page, team, "ben")  # in another tab
        page.evaluate("void window.dispatchEvent(new Event('focus'))")
        expect(dialog).to_have_count(0)
        forgive(somebody, 401)


def end_session(context: BrowserContext) -> None:
    """End the session as time would."""
    assert any(cookie["name"] == SESSION_COOKIE for cookie in context.cookies())
    context.clear_cookies()


@pytest.mark.nightly
def test_who_signs_in_again_through_a_provider_finds_what_was_typed(
    servers: Servers, visit: Visit, tmp_path: Path
) -> None:
    with SmallProvider() as provider:
        threading.Thread(target=provider.serve_forever, args=(0.05,), daemon=True).start()
        given = {f"ADAPTIVE_RAG_SERVER__{key.upper()}": text for key, text in settings_of(provider).items()}
        given["ADAPTIVE_RAG_SERVER__WORKERS"] = "0"  # nothing is indexed there
        with servers.serve(tmp_path, **given) as address, visit(address) as somebody:
            page = somebody.open("#/ask")
            way_in = page.get_by_role("link", name="Sign in through your organisation")
            way_in.press("Enter")
            field = page.get_by_role("textbox", name="Ask a question")
            field.fill("When does the ferry run?")
            end_session(page.context)
            page.get_by_role("link", name="Settings").click()
            expect(page.get_by_role("dialog")).to_contain_text("Your session has ended")
            way_in.click()
            expect(page.get_by_role("heading", name="ada")).to_be_visible()
            expect(page).to_have_url(re.compile("#/people$"))
            page.get_by_role("link", name="Ask", exact=True).click()
            expect(field).to_have_value("When does the ferry run?")
            page.get_by_role("link", name="ada", exact=True).click()
            page.get_by_role("button", name="Sign out").click()
            way_in.click()  # somebody else may sit there now
            expect(field).to_have_value("")
            forgive(somebody, 401)
            issuer = settings_of(provider)["oidc_issuer"]
            assert somebody.foreign and all(asked.startswith(issuer) for asked in somebody.foreign)
            somebody.foreign.clear()
        provider.shutdown()


@pytest.mark.nightly
def test_a_token_is_shown_once_and_revoked_after_a_question(team: str, visit: Visit) -> None:
    with visit(team, width="phone") as somebody:
        sign_in(somebody.page, team, "ben")
        page = somebody.open("#/people/tokens")
        page.get_by_label("What it is for").fill("nightly report")
        page.get_by_label("Expires").select_option("")
        page.get_by_role("button", name="Make a token").click()
        secret = page.get_by_label("Token “nightly report” created.").input_value()
        headers = {"Authorization": f"Bearer {secret}"}
        assert httpx.get(f"{team}/api/v1/me", headers=headers).json()["role"] == "reader"
        page.reload()
        expect(page.get_by_text("does not expire")).to_be_visible()
        assert secret not in page.content()
        revoke = page.get_by_role("button", name="Revoke: nightly report")
        revoke.click()
        page.keyboard.press("Escape")
        expect(revoke).to_be_focused()
        assert httpx.get(f"{team}/api/v1/me", headers=headers).status_code == 200
        revoke.press("Enter")
        dialog = page.get_by_role("dialog", name="Revoke “nightly report”?")
        dialog.get_by_role("button", name="Revoke", exact=True).click()
        expect(page.get_by_text("You have no tokens.")).to_be_visible()
        assert httpx.get(f"{team}/api/v1/me", headers=headers).status_code == 401


def test_the_roles_that_somebody_may_give_are_those_that_the_server_names(team: str, visit: Visit) -> None:
    def name_roles(route: Route) -> None:
        answer = route.fetch()
        content = answer.json()
        for row in content.get("items", [content]):
            row["roles"] = ["reader", "keeper_of_tides"]
        route.fulfill(response=answer, json=content)

    with visit(team) as somebody:
        page = somebody.page
        for path in ("me", "collections?*"):
            page.route(f"**/api/v1/{path}", name_roles)
        sign_in(page, team, "ada")
        somebody.open("#/people/tokens")
        expect(page.get_by_label("Role").get_by_role("option")).to_have_text(["Reader", "keeper of tides"])
        page.goto(f"{team}/#/library/tides/members")
        chosen = page.get_by_role("combobox", name="Role", exact=True)
        expect(chosen.get_by_role("option")).to_have_text(["Reader", "keeper of tides"])
        expect(page.get_by_label("Role of ben")).to_have_value("reader")
        expect(page.get_by_role("listitem").filter(has_text="wim")).to_contain_text("Writer")
        expect(page.get_by_label("Role of wim")).to_have_count(0)


def test_the_model_is_shown_to_admins_alone_and_the_operators_is_not_changed(team: str, visit: Visit) -> None:
    def show_the_operators(route: Route) -> None:
        shown = route.fetch().json()
        route.fulfill(json=shown | {"set_by": "operator", "provider": "openai", "name": "scripted"})

    with visit(team) as somebody:
        sign_in(somebody.page, team, "ben")
        page = somebody.open("#/people/model")
        tabs = page.get_by_role("navigation", name="Settings").get_by_role("link")
        expect(tabs).to_have_text(["Account", "Tokens"])
        expect(page.get_by_label("About you")).to_be_visible()
        page.get_by_role("link", name="Ask", exact=True).click()
        expect(page.get_by_text("answers are quotations from the documents")).to_be_visible()
        expect(page.get_by_role("link", name="Set one up")).to_have_count(0)
    with visit(team, language="de") as somebody:
        sign_in(somebody.page, team, "ada")
        somebody.page.route("**/api/v1/model", show_the_operators)
        page = somebody.open("#/people/model")
        expect(page.get_by_text("Der Betreiber dieses Servers hat das Modell scripted")).to_be_visible()
        expect(page.get_by_label("API-Schlüssel")).to_have_count(0)


def test_an_admin_adds_a_user_who_signs_in_and_is_disabled(team: str, visit: Visit) -> None:
    with visit(team) as somebody:
        sign_in(somebody.page, team, "ada")
        page = somebody.open("#/people/users")
        page.set_viewport_size({"width": 320, "height": 480})
        page.get_by_label("Name").fill("cleo")
        page.keyboard.press("Enter")
        expect(page.get_by_label("Password of cleo.")).to_be_in_viewport()
        password = page.get_by_label("Password of cleo.").input_value()
        credentials = {"name": "cleo", "password": password}
        assert httpx.post(f"{team}/api/v1/session", json=credentials).status_code == 200
        with httpx.Client(base_url=f"{team}/api/v1", headers={"Sec-Fetch-Site": "same-origin"}) as theirs:
            theirs.post("/session", json=credentials).raise_for_status()
            theirs.post("/tokens", json={"name": "cron", "days": None}).raise_for_status()
            page.get_by_role("group", name="cleo").get_by_role("button", name="Tokens").click()
            page.get_by_role("button", name="Revoke: cron").click()
            dialog = page.get_by_role("dialog", name="Revoke “cron”?")
            dialog.get_by_role("button", name="Revoke", exact=True).click()
            expect(page.get_by_text("cleo has no tokens.")).to_be_visible()
            assert theirs.get("/tokens").json()["items"] == []
        cleo = page.get_by_role("group", name="cleo")
        for decision in ("Cancel", "Reset password"):
            cleo.get_by_role("button", name="Reset password").click()
            dialog = page.get_by_role("dialog", name="Reset password")
            expect(dialog).to_contain_text("cleo is signed out.")
            assert page.get_by_label("Password of cleo.").input_value() == credentials["password"]
            dialog.get_by_role("button", name=decision).click()
            expect(dialog).to_have_count(0)
        assert httpx.post(f"{team}/api/v1/session", json=credentials).status_code == 401
        credentials["password"] = page.get_by_label("Password of cleo.").input_value()
        cleo.get_by_role("button", name="Make admin").click()
        expect(cleo.get_by_role("button", name="No longer admin")).to_be_visible()
        cleo.get_by_role("button", name="Disable").click()
        expect(cleo.get_by_role("button", name="Enable")).to_be_visible()
        assert httpx.post(f"{team}/api/v1/session", json=credentials).status_code == 401
        page.get_by_role("link", name="Log").click()
        expect(page.get_by_role("listitem").first).to_contain_text("Access denied")
        expect(page.get_by_text("Added a user · cleo")).to_be_visible()
        page.get_by_role("link", name="Users").click()
        cleo.get_by_role("button", name="Delete").click()
        page.get_by_role("dialog", name="Delete cleo?").get_by_role("button", name="Delete").click()
        expect(cleo).to_have_count(0)


def test_a_screen_that_breaks_leaves_the_rest_of_the_page(demo: str, visit: Visit) -> None:
    with visit(demo) as somebody:
        somebody.page.route(
            "**/api/v1/threads?*", lambda route: route.fulfill(json={"items": [None], "total": 1})
        )
        page = somebody.open("#/threads")
        expect(page.get_by_role("alert")).to_contain_text("This screen cannot be shown")
        expect(page.get_by_role("button", name="Reload the page")).to_be_visible()
        page.get_by_role("link", name="Settings").click()
        expect(page.get_by_role("heading", name="Settings")).to_be_visible()
        assert somebody.errors
        somebody.errors.clear()


def test_every_type_of_problem_has_its_words() -> None:
    assert load_words("en").labels["problem"].keys() == set(get_args(ProblemType)) - {"about:blank"}


def test_every_kind_of_change_has_its_words() -> None:
    noted = {SIGNED_IN}
    for file in Path("adaptive_rag/server").rglob("*.py"):
        noted |= set(
            re.findall(
                r'(?:record_event|commit)\((?:[^()]|\([^()]*\))*?"([a-z]+(?:-[a-z]+)?(?:\.[a-z]+)?)"',
                file.read_text(),
            )
        )
    assert load_words("en").labels["event"].keys() == noted
