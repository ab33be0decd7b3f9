"""Opinion questions through the whole graph: sentences under their side, and a side that is missing."""

from collections.abc import Iterable
from typing import Any

import pytest

from adaptive_rag import AdaptiveRAG
from adaptive_rag.answer.views import ONE_SIDED
from adaptive_rag.index.memory import MemoryIndex
from adaptive_rag.testing import ScriptedChatModel
from adaptive_rag.text.phrases import english
from tests.answer.made import ScriptedReader
from tests.traces import decisions

CARS = (
    "Banning cars saves lives.",
    "A ban on cars would destroy jobs.",
    "Cars give people in the country their freedom.",
    "Cars kill thousands of people every year.",
)
PRAISE = (
    "A night ferry saves lives because the sick reach the hospital.",
    "A night ferry makes the islanders happier and gives them freedom.",
    "A night ferry creates jobs and strengthens the economy of the islands.",
    "A night ferry improves the education of young islanders.",
)
BLAME = (
    "A night ferry is a waste of money.",
    "A night ferry puts the crew in danger.",
    "A night ferry harms the seals and ruins the quiet of the bay.",
)
ONLY_ONE_SIDE = english()["only_for"], english()["only_against"]
FERRY = "Should the ferry run at night?"


def reading(in_favour: Iterable[str], opposed: Iterable[str]) -> ScriptedReader:
    """Return a reader for whom each sentence answers, and takes its side."""
    sides = dict.fromkeys(in_favour, "for") | dict.fromkeys(opposed, "against")
    return ScriptedReader(dict.fromkeys(sides, 0.2), sides=sides)


def ask(question: str, *texts: str, **settings: Any) -> dict[str, Any]:
    return AdaptiveRAG(MemoryIndex.from_texts(texts), route="opinion", **settings).invoke(
        {"question": question}
    )


def sides(output: dict[str, Any]) -> dict[str, Any]:
    """Return what the decision on the sides says."""
    [decision] = decisions(output, "sides")
    return decision["chosen"]


def under(answer: str, heading: str) -> str:
    """Return the paragraph under a heading."""
    return answer.split(f"**{heading}**\n")[1].split("\n\n")[0]


def test_a_sentence_stands_under_the_side_that_the_reader_tells() -> None:
    reader = reading([CARS[0], CARS[3]], [CARS[1], CARS[2]])
    answer = ask("Should cars be banned?", *CARS, reader=reader)["answer"]
    supporting, opposing = (
        under(answer, heading) for heading in ("Benefits and arguments for", "Risks and arguments against")
    )
    assert CARS[0] in supporting and CARS[3] in supporting
    assert CARS[1] in opposing and CARS[2] in opposing


@pytest.mark.parametrize(
    ("question", "texts", "missing"),
    [
        (FERRY, PRAISE, "against"),
        (FERRY, BLAME, "for"),
        ("Should the night ferry be abolished?", BLAME, "against"),
        ("Should the night ferry be abolished?", PRAISE, "for"),
    ],
)
def test_documents_of_one_side_are_said_to_be_so(question: str, texts: tuple[str, ...], missing: str) -> None:
    reader = reading((), texts) if missing == "for" else reading(texts, ())
    output = ask(question, *texts, without={"abstain"}, reader=reader)
    assert sides(output) == {"found": ["for" if missing == "against" else "against"], "missing": missing}
    assert output["answer"].startswith(english()[ONE_SIDED[missing]])
    assert f"arguments {missing}" not in output["answer"].partition("\n")[2]
    assert output["citations"]


def test_documents_of_both_sides_are_not() -> None:
    output = ask(FERRY, *PRAISE[:2], *BLAME[:2])
    assert sides(output) == {"found": ["against", "for"], "missing": None}
    assert not output["answer"].startswith(ONLY_ONE_SIDE)


def test_who_asks_for_the_side_that_is_there_is_not_told_of_the_other() -> None:
    output = ask("What are the benefits of a night ferry?", *PRAISE)
    assert sides(output)["missing"] == "against"
    assert not output["answer"].startswith(ONLY_ONE_SIDE)
    assert output["citations"]


def test_who_asks_for_the_side_that_is_missing_is_not_given_the_other() -> None:
    output = ask("What are the risks of a night ferry?", *PRAISE)
    assert sides(output)["missing"] == "against"
    assert output["abstained"]
    assert not output["citations"]


@pytest.mark.parametrize(("texts", "told"), [(PRAISE, True), (PRAISE[:2] + BLAME[:2], False)])
def test_a_chat_model_is_told_which_side_is_missing(texts: tuple[str, ...], told: bool) -> None:
    script = {
        "viewpoints": {"viewpoints": ["islanders", "crew", "guests"]},
        "generate": "It saves lives [1].",
    }
    model = ScriptedChatModel(script=script)
    ask(FERRY, *texts, model=model)
    [prompt] = [" ".join(m.text for m in messages) for step, messages in model.asked if step == "generate"]
    assert ("no argument against what the question proposes" in prompt) is told


def test_what_another_strategy_found_is_not_called_one_sided() -> None:
    rag = AdaptiveRAG(MemoryIndex.from_texts(PRAISE), route="factual")
    assert not rag.invoke({"question": FERRY})["answer"].startswith(ONLY_ONE_SIDE)
