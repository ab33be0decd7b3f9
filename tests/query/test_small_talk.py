"""What asks nothing of the documents gets a short reply, and nothing is searched."""

import pytest

from adaptive_rag import AdaptiveRAG
from adaptive_rag.index.memory import MemoryIndex
from adaptive_rag.query.small_talk import SHOWN, outline, reply_to_small_talk
from adaptive_rag.testing import ScriptedChatModel
from adaptive_rag.text.phrases import text_of


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Thanks!", "thanks"),
        ("ok, thank you very much.", "thanks"),
        ("bye", "a farewell"),
        ("thank you!! 😊", "thanks"),
        ("Hello :-)", "a greeting"),
        ("ok great, thanks, that helps", "thanks"),
        ("Danke! Tschüss", "a farewell"),
        ("no thanks, that's all", "thanks"),
        ("Hi, what can you do?", "what this is"),
        ("What is in these documents?", "what is held"),
        ("what’s in the index?", "what is held"),
        ("Which documents do you have?", "what is held"),
        ("What is this about?", "what is held"),
        ("Can you summarise all documents?", "what is held"),
    ],
)
def test_small_talk_is_known(town: MemoryIndex, text: str, kind: str) -> None:
    found = reply_to_small_talk(text, town)
    assert found is not None
    assert found[1] == kind


@pytest.mark.parametrize(
    "text",
    [
        "Thanks, and how long is the sea wall?",
        "What documents do I need for a visa?",
        "What can you do when the siren sounds?",
        "What is in the first-aid kit?",
        "Summarise the flood plan",
        "What is the sea wall all about?",
    ],
)
def test_a_question_is_not_small_talk(town: MemoryIndex, text: str) -> None:
    assert reply_to_small_talk(text, town) is None


def test_an_outline_counts_documents_and_passages() -> None:
    chunks = [
        {**chunk, "id": f"{n}-{chunk['id']}", "source": f"docs/{n}.txt"}
        for n in range(SHOWN + 2)
        for chunk in MemoryIndex.from_texts(["One.", "Two."][: 1 + (n == 0)]).chunks()
    ]
    lines = text_of(outline(MemoryIndex(chunks))).splitlines()
    assert lines[0] == f"I search {SHOWN + 2} documents with {SHOWN + 3} passages:"
    assert lines[1:3] == ["- 0.txt: 2 passages", "- 1.txt: 1 passage"]
    assert lines[-1] == "- and 2 more documents"


def test_the_outline_is_the_answer_and_nothing_is_searched(town: MemoryIndex) -> None:
    model = ScriptedChatModel()
    output = AdaptiveRAG(town, model=model).invoke("What is in these documents?")
    assert model.asked == []
    assert "town.txt: 18 passages" in output["answer"]
    assert (output["abstained"], output["citations"], output["documents"]) == (False, [], [])
    assert [record["step"] for record in output["trace"]] == ["classify", "generate"]
    assert "nothing was searched" in output["trace"][-1]["decisions"][0]["why"]
    assert output["messages"][-1].text == output["answer"]


def test_a_question_after_small_talk_is_answered(town: MemoryIndex) -> None:
    turns = [
        {"role": "user", "text": "How long is the sea wall?"},
        {"role": "agent", "text": "2,340 metres."},
    ]
    turns += [{"role": "user", "text": "Thanks!"}, {"role": "agent", "text": "You are welcome."}]
    output = AdaptiveRAG(town).invoke({"question": "And how high is it?", "history": turns})
    assert "4.1 metres" in output["answer"]


def test_what_somebody_can_do_after_what_befell_them_is_a_question(town: MemoryIndex) -> None:
    assert reply_to_small_talk("what can I do", town) is not None
    assert reply_to_small_talk("what can I do", town, situated=True) is None
    assert reply_to_small_talk("thanks", town, situated=True) is not None
    told = [{"role": "user", "text": "My flat is flooded."}, {"role": "agent", "text": "Sorry to hear that."}]
    output = AdaptiveRAG(town).invoke({"question": "what can I do", "history": told})
    assert "Ask me about your documents" not in output["answer"]
