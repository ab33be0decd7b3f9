"""The recipe `bounded-selection`, rule by rule and number by number."""

import pytest

from adaptive_rag import AdaptiveRetriever
from adaptive_rag.index.memory import MemoryIndex
from adaptive_rag.testing import ScriptedChatModel
from tests.recipes.made import QUESTIONS, ask, nearest, passages_in

NAME = "bounded-selection"
SUB_QUESTIONS = [
    "How do waves reach the marsh?",
    "What do fishers fear?",
    "When is it open?",
    "How high is it?",
]
VIEWPOINTS = ["it protects homes", "the library lends tide tables", "it cuts off the market"]


@pytest.mark.parametrize("reply", ["I cannot say.", "{}", '{"type": "procedural"}'])
def test_a_question_of_no_clear_type_is_contextual(town: MemoryIndex, reply: str) -> None:
    output, model = ask(town, NAME, "factual", script={"classify": reply})
    assert output["query_type"] == "contextual" and model.skills.count("classify") == 1


def test_k_sub_questions_bring_two_passages_each_and_the_model_picks_k_by_number(town: MemoryIndex) -> None:
    script = {"decompose": {"sub_questions": SUB_QUESTIONS}, "select": {"passages": [6, 2, 5, 1]}}
    output, model = ask(town, NAME, "analytical", script=script)
    assert "exactly 4 sub-questions" in model.prompt("decompose")
    brought = list(dict.fromkeys(text for asked in SUB_QUESTIONS for text in nearest(town, asked, 2)))
    shown = passages_in(model.prompt("select"))
    assert shown == [text[:50].strip() for text in brought]
    assert [d["text"] for d in output["documents"]] == [brought[i - 1] for i in (6, 2, 5, 1)]


def test_three_viewpoints_bring_two_passages_each_shown_by_100_characters(town: MemoryIndex) -> None:
    script = {"viewpoints": {"viewpoints": VIEWPOINTS}, "select": {"passages": [3, 1]}}
    output, model = ask(town, NAME, "opinion", script=script)
    assert "exactly 3 viewpoints" in model.prompt("viewpoints")
    found = [nearest(town, f"{QUESTIONS['opinion']} {view}", 2) for view in VIEWPOINTS]
    shown = passages_in(model.prompt("select"))
    brought = {text[:100].strip() for pair in found for text in pair}
    assert set(shown[: len(brought)]) == brought
    assert output["documents"][0]["text"].startswith(shown[2])
    # What the model did not pick is filled up in order.
    assert len(output["documents"]) == 4 <= len(shown)


def test_numbers_out_of_range_are_dropped(town: MemoryIndex) -> None:
    script = {"decompose": {"sub_questions": SUB_QUESTIONS}, "select": {"passages": [99, 3, -2, 1]}}
    output, model = ask(town, NAME, "analytical", script=script)
    shown = passages_in(model.prompt("select"))
    assert model.skills.count("select") == 1
    assert [d["text"][:50].strip() for d in output["documents"]][:2] == [shown[2], shown[0]]


@pytest.mark.parametrize("kind", ["factual", "contextual"])
def test_scores_run_from_1_to_10(town: MemoryIndex, kind: str) -> None:
    _, model = ask(town, NAME, kind, script={"score": {"scores": [3]}})
    assert model.skills.count("score") == 8
    assert "from 1 to 10" in model.prompt("score") and "0 -" not in model.prompt("score").split("10 -")[0]


def test_a_score_of_0_is_asked_for_again_since_the_scale_starts_at_1(town: MemoryIndex) -> None:
    script = {"score": [{"scores": [0]}, {"scores": [2]}]}
    _, model = ask(town, NAME, "factual", script=script)
    assert model.skills.count("score") == 9


def test_a_missing_context_is_said_to_be_missing_and_not_inferred(town: MemoryIndex) -> None:
    _, model = ask(town, NAME, "contextual")
    assert "infer" not in model.skills
    for step in ("contextualize", "score"):
        assert "No specific context provided" in model.prompt(step)


def test_every_reply_is_a_form(town: MemoryIndex) -> None:
    for kind in QUESTIONS:
        _, model = ask(town, NAME, kind)
        for step in set(model.skills) - {"generate"}:
            assert "JSON only" in model.prompt(step), step


async def test_its_retriever_serves_langchain_sync_and_async(town: MemoryIndex) -> None:
    retriever = AdaptiveRetriever(index=town, recipe=NAME, model=ScriptedChatModel())
    sync = retriever.invoke(QUESTIONS["factual"])
    assert [d.page_content for d in sync] == [
        d.page_content for d in await retriever.ainvoke(QUESTIONS["factual"])
    ]
    assert len(sync) == 4


def test_it_says_when_it_does_not_know(town: MemoryIndex) -> None:
    output, _ = ask(town, NAME, "factual", script={"generate": "I don't know."})
    assert output["abstained"]
