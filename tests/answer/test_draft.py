"""What a model is told beside the passages, when it writes an answer."""

from adaptive_rag import AdaptiveRAG
from adaptive_rag.testing import ScriptedChatModel

SUB_QUESTIONS = ["How do waves reach the marsh?", "What does a smaller marsh do?", "What do fishers fear?"]
QUESTION = "How does dredging the harbour affect the marsh?"


def prompt(town, **settings):
    model = ScriptedChatModel(script={"decompose": {"sub_questions": SUB_QUESTIONS}})
    AdaptiveRAG(town, model=model, route="analytical", **settings).invoke(QUESTION)
    [messages] = [messages for step, messages in model.asked if step == "generate"]
    return messages[0].text


def test_the_sub_questions_that_were_searched_for_arrange_the_answer(town):
    told = prompt(town, models={"steps": ["decompose", "generate"]})
    assert "These are the aspects" in told
    assert all(f"- {asked}" in told for asked in SUB_QUESTIONS)
    assert "These are the aspects" not in prompt(town)
