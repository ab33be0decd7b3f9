"""Shared threads: who may read them, who may not, and when that ends."""

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from adaptive_rag.server import quotas
from adaptive_rag.server.roles import Role
from adaptive_rag.server.tables import Share, User
from tests.server.conftest import SAMPLES, add_user, program_of
from tests.server.test_threads import API, ASKED, begin

PRIVATE = "I am a diver with a bad heart."
MEMBERS = f"{API}/collections/{SAMPLES}/members"


class Friends:
    """ada, who has a thread; bob and cal, who read its collection; a stranger to it, an admin, and nobody."""

    def __init__(self, server: TestClient) -> None:
        self.server = server
        self.who = {name: add_user(server, name, samples=Role.READER) for name in ("ada", "bob", "cal")}
        self.who |= {"eve": add_user(server, "eve"), "root": add_user(server, "root", is_admin=True)}
        self.who["nobody"] = program_of(server)
        self.ada = self.who["ada"]
        self.thread = begin(self.ada)
        asked = {"question": ASKED[0], "user_context": PRIVATE, "settings": {"route": "contextual"}}
        self.ada.post(f"{self.thread}/ask", json=asked).raise_for_status()
        self.ada.post(f"{self.thread}/turns/1/feedback", json={"is_good": False}).raise_for_status()

    def share(self, with_whom: str = "", open_to: str = "") -> None:
        """Share the thread by name, or open it."""
        place = f"{self.thread}/sharing"
        if with_whom:
            self.ada.put(f"{place}/{with_whom}").raise_for_status()
        if open_to:
            self.ada.put(place, json={"open_to": open_to}).raise_for_status()

    def readers(self) -> dict[str, bool]:
        """Return who may read the thread, and whether it is in their list."""
        known = self.thread.rpartition("/")[2]
        seen = {}
        for name, person in self.who.items():
            statuses = {person.get(f"{self.thread}{part}").status_code for part in ("", "/export?form=json")}
            assert len(statuses) == 1 and statuses <= {200, 404, 401}, (name, statuses)
            rows = person.get(f"{API}/threads").json().get("items", [])
            if statuses == {200}:
                seen[name] = known in [row["id"] for row in rows]
            else:
                assert rows == [] and known not in person.get(self.thread).text
                assert name == "nobody" or person.get(f"{API}/threads?search=level").json()["items"] == []
        return seen


@pytest.fixture
def here(client: TestClient) -> Friends:
    """Serve the samples, and a thread of ada's."""
    return Friends(client)


OWNER = {"ada": True}
EVERYBODY = OWNER | {"bob": True, "cal": True, "root": True}


def test_a_thread_is_read_by_those_it_is_shared_with_if_they_may_read_its_collection(here: Friends) -> None:
    assert here.readers() == OWNER
    refused = {name: here.ada.put(f"{here.thread}/sharing/{name}").json() for name in ("eve", "none")}
    assert refused["eve"] == refused["none"] and refused["eve"]["status"] == 404
    here.share("bob")
    assert here.readers() == OWNER | {"bob": True}
    here.share(open_to="link")
    assert here.readers() == OWNER | {"bob": True, "cal": False, "root": False}
    here.share(open_to="collection")
    assert here.readers() == EVERYBODY
    shown = here.ada.get(f"{here.thread}/sharing").json()
    assert (shown["open_to"], [person["name"] for person in shown["people"]]) == ("collection", ["bob"])
    assert here.ada.get(here.thread).json()["is_shared"] is True
    here.share(open_to="people")
    assert here.ada.delete(f"{here.thread}/sharing/bob").status_code == 204
    assert here.ada.delete(f"{here.thread}/sharing/bob").status_code == 404
    assert here.readers() == OWNER and here.ada.get(here.thread).json()["is_shared"] is False
    events = here.who["root"].get(f"{API}/events").json()["items"]
    done = [(event["user"], event["action"]) for event in events if event["action"].startswith("thread.")]
    assert done == [("ada", f"thread.{word}") for word in ("unshare", "unshare", "share", "share", "share")]
    assert all("samples: " in event["subject"] for event in events if event["action"] == "thread.share")


def test_a_thread_of_several_collections_is_read_by_who_may_read_all_of_them_with_its_owner(
    here: Friends,
) -> None:
    root, members = here.who["root"], f"{API}/collections/quays/members"
    root.post(f"{API}/collections", json={"name": "quays"}).raise_for_status()
    for name in ("ada", "bob"):
        root.put(f"{members}/{name}", json={"role": "reader"}).raise_for_status()
    both = here.ada.post(f"{API}/threads", json={"collections": [SAMPLES, "quays"]}).json()
    here.thread = f"{API}/threads/{both['id']}"
    assert here.ada.put(f"{here.thread}/sharing/cal").status_code == 404
    here.share("bob", "collection")
    assert here.readers() == OWNER | {"bob": True, "root": True}
    root.delete(f"{members}/ada").raise_for_status()
    assert {person.get(here.thread).status_code for name, person in here.who.items() if name != "nobody"} == {
        404
    }


def test_an_owner_who_is_a_member_of_another_collection_shares_nothing_of_the_lost_one(here: Friends) -> None:
    root = here.who["root"]
    root.post(f"{API}/collections", json={"name": "quays"}).raise_for_status()
    root.put(f"{API}/collections/quays/members/ada", json={"role": "reader"}).raise_for_status()
    here.ada.post(f"{API}/collections/quays/threads", json={}).raise_for_status()
    here.share("bob", "collection")
    root.delete(f"{MEMBERS}/ada").raise_for_status()
    assert {here.who[name].get(here.thread).status_code for name in ("bob", "cal", "root")} == {404}


def test_what_is_shared_is_only_read_and_holds_no_more_than_the_conversation(here: Friends) -> None:
    here.share("bob", "collection")
    before = here.ada.get(here.thread).json()
    turn = before["turns"][0]["id"]
    assert before["turns"][0]["user_context"] == PRIVATE and before["turns"][0]["feedback"]
    for name in ("bob", "cal", "root"):
        person = here.who[name]
        shown = person.get(here.thread).json()
        assert (shown["shared_by"], shown["is_shared"]) == ("ada", True)
        mine, theirs = before["turns"][0], shown["turns"][0]
        assert all(theirs[part] == mine[part] for part in ("question", "answer", "citations"))
        assert (theirs["user_context"], theirs["feedback"]) == ("", None)
        assert PRIVATE not in person.get(f"{here.thread}/export?form=json").text
        for method, path, body in (
            ("PATCH", "", {"title": "Mine"}), ("DELETE", "", None), ("POST", "/ask", {"question": "x"}),
            ("POST", "/ask/events", {"question": "x"}), ("DELETE", f"/turns/{turn}", None),
            ("POST", "/turns/1/feedback", {"is_good": True}), ("GET", "/sharing", None),
            ("PUT", "/sharing", {"open_to": "link"}), ("PUT", f"/sharing/{name}", None),
            ("DELETE", "/sharing/bob", None),
        ):  # fmt: skip
            assert person.request(method, here.thread + path, json=body).status_code == 404, (name, path)
    assert here.ada.get(here.thread).json() == before
    branch = here.who["bob"].post(f"{here.thread}/branches", json={"turns": 1}).json()
    copy = here.who["bob"].get(f"{API}/threads/{branch['id']}").json()
    assert (copy["shared_by"], copy["is_shared"], copy["turns"][0]["user_context"]) == (None, False, "")
    here.who["bob"].post(f"{API}/threads/{branch['id']}/ask", json={"question": ASKED[1]}).raise_for_status()
    assert here.ada.get(f"{API}/threads/{branch['id']}").status_code == 404
    assert here.ada.get(here.thread).json() == before


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "how", ["reader put out", "owner put out", "disabled", "deleted", "thread", "collection"]
)
def test_sharing_ends_with_the_right_to_read_the_owner_and_the_thread(here: Friends, how: str) -> None:
    here.share("bob", "collection")
    root, engine = here.who["root"], here.server.app.state.services.engine
    if how == "reader put out":
        root.delete(f"{MEMBERS}/bob")
        assert here.readers() == {name: True for name in EVERYBODY if name != "bob"}
        return
    if how == "owner put out":
        root.delete(f"{MEMBERS}/ada")
    elif how == "disabled":
        with Session(engine) as db:
            db.execute(update(User).where(User.name == "ada").values(is_disabled=True))
            db.commit()
    elif how == "deleted":
        assert root.delete(f"{API}/users/ada").status_code == 204
    elif how == "thread":
        assert here.ada.delete(here.thread).status_code == 204
    else:
        assert root.delete(f"{API}/collections/{SAMPLES}").status_code == 204
    readers = [here.who[name].get(here.thread).status_code for name in here.who]
    assert set(readers) <= {401, 404}
    assert [here.who[name].get(f"{API}/threads").json()["total"] for name in ("bob", "cal", "root")] == [
        0
    ] * 3
    with Session(engine) as db:
        left = db.scalar(select(func.count()).select_from(Share))
    assert left == (1 if how in ("owner put out", "disabled") else 0)


def test_a_thread_is_shared_with_so_many_people_by_name(
    here: Friends, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quotas, "MOST_SHARES", 1)
    statuses = [here.ada.put(f"{here.thread}/sharing/{name}").status_code for name in ("bob", "bob", "cal")]
    assert statuses == [200, 200, 413]
    assert here.ada.put(f"{here.thread}/sharing/ada").status_code == 200
    assert len(here.ada.get(f"{here.thread}/sharing").json()["people"]) == 1
