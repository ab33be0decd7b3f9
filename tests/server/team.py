"""A server with a team: what two of them have is closed to a third, who tries to reach it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient
from sqlalchemy import select
from sqlalchemy.orm import Session

from adaptive_rag.server.access import hash_token
from adaptive_rag.server.app import build_app
from adaptive_rag.server.roles import Role
from adaptive_rag.server.settings import read_server_settings
from adaptive_rag.server.tables import Collection, Membership, Token, User, now
from tests.server.conftest import QUICK, add_user, client_of, program_of, work

API = "/api/v1"
# What nobody but the readers of "vault" may ever read. No request of an attempt holds any of it.
CODE, FILE = "omega-4711", "zephyrine.md"
VAULT = f"# Kestrelmoor\n\nThe vault code of Kestrelmoor is {CODE}, and it was set in 1911.\n"
FERRY = "# Ferry\n\nThe ferry to Grauholm leaves at 7:45 from the east quay in 1953.\n"
QUESTION = "What is the vault code of Kestrelmoor?"


class Team:
    """The people of a server, as clients; and the ids of what ada has, who reads "vault"."""

    def __init__(self, client: TestClient) -> None:
        self.server = client
        self.engine = client.app.state.services.engine
        for name in ("vault", "pier"):
            assert client.post(f"{API}/collections", json={"name": name}).status_code == 201
        self.people = {
            "root": add_user(client, "root", is_admin=True),
            "ada": add_user(client, "ada", vault=Role.ADMIN),
            "eve": add_user(client, "eve", pier=Role.WRITER),
            "gone": add_user(client, "gone", vault=Role.READER, pier=Role.READER),
            "disabled": add_user(client, "disabled", vault=Role.ADMIN),
            "expired": add_user(client, "expired", vault=Role.ADMIN),
            "nobody": program_of(client),
        }
        self.ids: dict[str, str] = {"vault": "vault"}
        self._fill()
        for name in ("ada", "root", "eve"):
            self._lower(name, Role.READER)
        for person in self.people.values():
            person.get(f"{API}/collections")  # the first use of a token is written down

    def _fill(self) -> None:
        ada, eve, gone = self.people["ada"], self.people["eve"], self.people["gone"]
        key = {"Idempotency-Key": "monday"}
        files = [("files", (FILE, VAULT))]
        took = ada.post(f"{API}/collections/vault/documents", files=files, headers=key).json()
        mine = eve.post(f"{API}/collections/pier/documents", files=[("files", ("ferry.md", FERRY))]).json()
        work(self.server)
        self.ids |= {"document": took["documents"][0]["id"], "job": took["job"]["id"]}
        self.own = {"own_document": mine["documents"][0]["id"], "own_job": mine["job"]["id"]}
        for name, person in (("thread", ada), ("lost", gone)):
            self.ids[name] = person.post(f"{API}/collections/vault/threads", json={}).json()["id"]
            asked = person.post(f"{API}/threads/{self.ids[name]}/ask", json={"question": QUESTION})
            assert CODE in asked.json()["answer"]
        self.ids["turn"] = ada.get(f"{API}/threads/{self.ids['thread']}").json()["turns"][0]["id"]
        liked = ada.post(f"{API}/threads/{self.ids['thread']}/turns/1/feedback", json={"is_good": True})
        self.ids["feedback"] = liked.json()["id"]
        note = {"source": FILE, "start": 2, "end": 13, "text": f"Remember {CODE}."}
        noted = ada.post(f"{API}/collections/vault/documents/{self.ids['document']}/notes", json=note)
        self.ids["note"] = noted.json()["id"]
        self.ids["token"] = ada.post(f"{API}/tokens", json={"name": "report"}).json()["id"]
        with Session(self.engine) as db:
            users = {user.name: user for user in db.scalars(select(User))}
            vault = db.scalars(select(Collection).where(Collection.name == "vault")).one()
            db.delete(db.get_one(Membership, (vault.id, users["gone"].id)))
            users["disabled"].is_disabled = True
            token = db.scalars(select(Token).where(Token.user_id == users["expired"].id)).one()
            token.expires = now() - timedelta(minutes=1)
            db.commit()

    def _lower(self, name: str, role: Role) -> None:
        """Give somebody a second token, of a lower role than theirs: "ada-reader"."""
        secret = f"{name}-{role}"
        with Session(self.engine) as db:
            user = db.scalars(select(User).where(User.name == name)).one()
            db.add(Token(user_id=user.id, digest=hash_token(secret), name="low", role=role))
            db.commit()
        self.people[secret] = program_of(self.server, secret)


@contextmanager
def open_team(folder: Path, **given: Any) -> Iterator[Team]:
    """Serve a team whose data lies in a folder."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        settings = read_server_settings(data=folder / "data", workers=0, rate="100000/minute")
        with client_of(build_app(settings, QUICK | given)) as client:
            yield Team(client)
    finally:
        os.chdir(before)
