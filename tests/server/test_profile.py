"""A profile: its owner's alone, and part of their questions."""

from pathlib import Path

from adaptive_rag.conversation import NAMESPACE
from adaptive_rag.testing import ScriptedChatModel
from tests.server.conftest import Serve, add_samples, add_user
from tests.server.test_threads import checkpoints, sign_in

URL = "/api/v1/me/profile"


def test_a_profile_reaches_its_owners_questions_and_no_others(serve: Serve, sample_index: Path) -> None:
    model = ScriptedChatModel()
    with serve({"model": model}) as client:
        row = add_samples(client, sample_index)
        ada, bob = sign_in(client, "ada", row.id), sign_in(client, "bob", row.id)
        assert client.put(URL, json={"text": "I keep bees."}, headers=ada).json() == {"text": "I keep bees."}
        assert client.put(URL, json={"text": "x" * 2001}, headers=ada).status_code == 422
        assert client.get(URL, headers=bob).json() == {"text": ""}
        asked = {"question": "What should I plant?", "settings": {"route": "contextual"}}
        for who, knows in ((ada, True), (bob, False)):
            before = len(model.asked)
            client.post("/api/v1/collections/samples/ask", json=asked, headers=who)
            prompts = [message.text for _, messages in model.asked[before:] for message in messages]
            assert prompts and any("I keep bees." in prompt for prompt in prompts) == knows
        assert client.delete(URL, headers=bob).status_code == 204
        assert client.get(URL, headers=ada).json() == {"text": "I keep bees."}
        assert client.delete(URL, headers=ada).status_code == 204
        assert client.get(URL, headers=ada).json() == {"text": ""}


def test_with_a_user_goes_what_they_told_and_said(serve: Serve, sample_index: Path) -> None:
    with serve() as client:
        row = add_samples(client, sample_index)
        ada = sign_in(client, "ada", row.id)
        root = add_user(client, "root", is_admin=True)
        client.put(URL, json={"text": "I keep bees."}, headers=ada)
        thread = client.post("/api/v1/collections/samples/threads", json={}, headers=ada).json()["id"]
        client.post(f"/api/v1/threads/{thread}/ask", json={"question": "How high is it?"}, headers=ada)
        assert checkpoints(client)
        services = client.app.state.services  # type: ignore[attr-defined]
        assert len(services.conversations.store.search(NAMESPACE)) == 1
        assert root.delete("/api/v1/users/ada").status_code == 204
        assert checkpoints(client) == []
        assert services.conversations.store.search(NAMESPACE) == []
