"""The window in whole questions: the rules of the recipe faq-hybrid, for every strategy and the hedge."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from adaptive_rag.context import make_context
from adaptive_rag.graph.builder import build_graph, build_retrieval_graph
from adaptive_rag.graph.strategies import STRATEGIES
from adaptive_rag.index.memory import MemoryIndex
from adaptive_rag.models.cross_encoder import load_reranker
from adaptive_rag.testing import ScriptedChatModel
from tests.conftest import TOWN
from tests.models.made_cross_encoder import write_cross_encoder
from tests.traces import decisions

RETRIEVAL = build_retrieval_graph().compile()
BASIC = "How long is the sea wall of Saltmere?"
ORDINARY = "Why do the gardens of the lower town suffer from salt?"
ADVANCED = (
    "Compare the advantages and disadvantages of raising the wall and of restoring wetlands for homes and "
    "for trade."
)
IN_DOMAIN = (
    "Compare the sea wall and the marsh of Saltmere against a storm surge, and evaluate the effects of each "
    "and how they interact."
)
# The step of each strategy that reads.
LAST = {"factual": "rerank", "analytical": "diversify", "opinion": "balance", "contextual": "rerank"}


def find(index: MemoryIndex, question: str, **settings: Any) -> dict[str, Any]:
    """Return what the graph finds for a question."""
    return RETRIEVAL.invoke({"question": question}, context=make_context(index=index, **settings))


def windows(output: Mapping[str, Any], step: str) -> list[dict[str, Any]]:
    """Return what a step's record says of the window."""
    of_step = {"trace": [record for record in output["trace"] if record["step"] == step]}
    found = decisions(of_step, "window")
    return [{name: decision[name] for name in ("what", "chosen", "why")} for decision in found]


@pytest.fixture
def recipe(tmp_path: Path) -> dict[str, Any]:
    """The recipe's settings, with a cross-encoder and an ontology that the test makes."""
    load_reranker.cache_clear()
    write_cross_encoder(tmp_path, *TOWN, BASIC, ORDINARY, ADVANCED, IN_DOMAIN)
    ontology = tmp_path / "terms.yaml"
    ontology.write_text("defence: [sea wall, marsh, storm surge]\nplace: [Saltmere]\n")
    return {"recipe": "faq-hybrid", "retrieval": {"reranker_model": str(tmp_path)}, "ontology": str(ontology)}


@pytest.mark.few(5)
@pytest.mark.parametrize("route", STRATEGIES)
@pytest.mark.parametrize(
    ("question", "with_ontology", "size"),
    [
        (BASIC, False, 4),  # 5 x 0.8
        (ORDINARY, False, 5),
        (ADVANCED, False, 7),  # a comparison: 5 x 1.3 = 6.5
        (IN_DOMAIN, True, 7),  # 7 x 1.1 = 7.7
        (ORDINARY, True, 3),  # outside the domain: 5 x 0.7 = 3.5
    ],
)
def test_the_recipes_examples_hold_in_every_strategy(
    town: MemoryIndex, recipe: dict[str, Any], route: str, question: str, with_ontology: bool, size: int
) -> None:
    settings = recipe if with_ontology else {**recipe, "ontology": None}
    output = find(town, question, route=route, **settings)
    assert len(output["documents"]) == size
    assert [decision["chosen"] for decision in windows(output, LAST[route])] == [size]


@pytest.mark.parametrize("route", STRATEGIES)
def test_a_low_confidence_reads_one_step_more_in_every_strategy(
    town: MemoryIndex, recipe: dict[str, Any], route: str
) -> None:
    # No question is surer than 0.9.
    unsure = {**recipe, "ontology": None, "routing": {"low_confidence": 0.95}}
    output = find(town, ORDINARY, route=route, **unsure)
    assert len(output["documents"]) == 8
    [decision] = windows(output, LAST[route])
    assert "as aggressive, since the confidence is 0." in decision["why"]


@pytest.mark.few(2)
@pytest.mark.parametrize("route", STRATEGIES)
def test_k_is_what_a_caller_gets_in_every_strategy(
    town: MemoryIndex, recipe: dict[str, Any], route: str
) -> None:
    for settings in ({}, {"profile": "conservative"}, recipe):
        for k in (2, 9):
            output = find(town, BASIC, route=route, k=k, **settings)
            assert len({document["id"] for document in output["documents"]}) == len(output["documents"]) == k
            assert windows(output, LAST[route]) == [{"what": "window", "chosen": k, "why": "k"}]


STRAY = "A cello has four strings."
FEW = [*TOWN[1:3], *TOWN[7:10], STRAY]


@pytest.mark.parametrize("route", STRATEGIES)
def test_with_a_profile_every_strategy_drops_what_scores_far_below_the_others(route: str) -> None:
    index = MemoryIndex.from_texts(FEW)
    settings = {"route": route, "profile": "aggressive", "without": "hedge"}
    dropped = find(index, "What speaks for raising the sea wall?", **settings)
    texts = [document["text"] for document in dropped["documents"]]
    assert STRAY not in texts
    reasons = windows(dropped, LAST[route])
    assert reasons[-1]["chosen"] == len(texts) < reasons[0]["chosen"]
    assert "the others score under" in reasons[-1]["why"]
    whole = find(index, "What speaks for raising the sea wall?", **{**settings, "without": "hedge,window"})
    assert len(whole["documents"]) == reasons[0]["chosen"] == len(FEW)
    assert len(windows(whole, LAST[route])) == 1


@pytest.mark.parametrize(
    ("route", "drops"), [("factual", True), ("contextual", True), ("analytical", False), ("opinion", False)]
)
def test_without_a_profile_aspects_and_sides_may_stand_far_below(route: str, drops: bool) -> None:
    found = find(MemoryIndex.from_texts(FEW), "What speaks for raising the sea wall?", route=route)
    assert (STRAY not in [document["text"] for document in found["documents"]]) is drops
    assert windows(found, LAST[route])[-1]["chosen"] == len(found["documents"])


SHORT = [f"Reason {i}: the sea wall of Saltmere protects house {i}." for i in range(50)]
LONG = [
    f"{text} {'The sea wall was built of stone from the quarry at Pell Hill. ' * 15}" for text in SHORT[:12]
]


@pytest.fixture(scope="module")
def short() -> MemoryIndex:
    """Return statements of a line."""
    return MemoryIndex.from_texts(SHORT)


@pytest.fixture(scope="module")
def long() -> MemoryIndex:
    """Return passages as long as chunks are by default."""
    return MemoryIndex.from_texts(LONG)


@pytest.mark.parametrize(
    ("route", "many"), [("factual", 8), ("contextual", 10), ("analytical", 16), ("opinion", 24)]
)
def test_short_statements_are_read_in_numbers_and_long_passages_few(
    short: MemoryIndex, long: MemoryIndex, route: str, many: int
) -> None:
    assert {len(text) for text in LONG} <= set(range(930, 1000))
    found = find(short, BASIC, route=route)
    assert len(found["documents"]) == windows(found, LAST[route])[-1]["chosen"] == many
    found = find(long, BASIC, route=route)
    assert len(found["documents"]) == windows(found, LAST[route])[-1]["chosen"] == 8


def test_a_chat_model_is_given_half_as_much_for_a_fact(long: MemoryIndex) -> None:
    found = find(long, BASIC, route="factual", model=ScriptedChatModel())
    assert windows(found, LAST["factual"])[-1]["chosen"] == 4


@pytest.mark.usefixtures("unsure")
@pytest.mark.parametrize(
    ("settings", "size", "why"),
    [
        ({"profile": "balanced"}, 4, "balanced profile, basic question"),
        ({"k": 6, "profile": "balanced"}, 6, "k"),
        ({}, 24, "as many as the strategy that reads more"),
    ],
)
def test_the_hedge_reads_by_the_same_rules(
    short: MemoryIndex, settings: dict[str, Any], size: int, why: str
) -> None:
    output = find(short, BASIC, **settings)
    assert "fuse" in [record["step"] for record in output["trace"]]
    assert len(output["documents"]) == size
    assert windows(output, "fuse") == [{"what": "window", "chosen": size, "why": why}]
    read = {"rerank": 8, "balance": 24} if not settings else dict.fromkeys(("rerank", "balance"), size)
    assert {step: windows(output, step)[-1]["chosen"] for step in read} == read


@pytest.mark.parametrize("route", STRATEGIES)
def test_many_short_passages_fit_into_every_prompt_whole(short: MemoryIndex, route: str) -> None:
    model = ScriptedChatModel()
    context = make_context(index=short, route=route, model=model)
    output = build_graph().compile().invoke({"question": BASIC}, context=context)
    prompts = {step: "\n".join(str(part.content) for part in messages) for step, messages in model.asked}
    assert all(document["text"] in prompts["generate"] for document in output["documents"])
    # Twice as many are scored, in the same call: none is cut.
    assert prompts.get("score", "").count("<passage ") in (0, 2 * len(output["documents"]))
    assert " …" not in prompts.get("score", "")


def test_the_limit_of_context_tokens_stays_above_what_is_read(long: MemoryIndex) -> None:
    context = make_context(
        index=MemoryIndex.from_texts(LONG), route="factual", answers={"context_tokens": 600}
    )
    output = build_graph().compile().invoke({"question": BASIC}, context=context)
    assert len(output["documents"]) == 2
    assert windows(output, "generate") == [
        {"what": "window", "chosen": 2, "why": "more would exceed 600 tokens"}
    ]
