"""A profile: its owner's alone, and part of their questions."""

from fastapi.testclient import TestClient

from adaptive_rag.conversation import NAMESPACE
from adaptive_rag.server.roles import Role
from adaptive_rag.testing import ScriptedChatModel
from tests.server.conftest import Serve, add_user
from tests.server.test_threads import begin, checkpoints

URL = "/api/v1/me/profile"


def test_a_profile_reaches_its_owners_questions_and_no_others(serve_samples: Serve) -> None:
    model = ScriptedChatModel()
    with serve_samples({"model": model}) as client:
        ada, bob = (add_user(client, name, samples=Role.READER) for name in ("ada", "bob"))
        assert ada.put(URL, json={"text": "I keep bees."}).json() == {"text": "I keep bees."}
        assert ada.put(URL, json={"text": "x" * 2001}).status_code == 422
        assert bob.get(URL).json() == {"text": ""}
        asked = {"question": "What should I plant?", "settings": {"route": "contextual"}}
        for person, knows in ((ada, True), (bob, False)):
            before = len(model.asked)
            person.post("/api/v1/collections/samples/ask", json=asked)
            prompts = [message.text for _, messages in model.asked[before:] for message in messages]
            assert prompts and any("I keep bees." in prompt for prompt in prompts) == knows
        assert bob.delete(URL).status_code == 204
        assert ada.get(URL).json() == {"text": "I keep bees."}
        assert ada.delete(URL).status_code == 204
        assert ada.get(URL).json() == {"text": ""}


def test_with_a_user_goes_what_they_told_and_said(client: TestClient) -> None:
    ada, root = add_user(client, "ada", samples=Role.READER), add_user(client, "root", is_admin=True)
    ada.put(URL, json={"text": "I keep bees."})
    ada.post(f"{begin(ada)}/ask", json={"question": "How high is it?"}).raise_for_status()
    store = client.app.state.services.conversations.store
    assert checkpoints(client) and len(store.search(NAMESPACE)) == 1
    assert root.delete("/api/v1/users/ada").status_code == 204
    assert checkpoints(client) == [] and store.search(NAMESPACE) == []
