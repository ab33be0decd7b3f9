"""The table of strategies: what every record must hold."""

import re
from importlib import resources
from pathlib import Path

import pytest

from adaptive_rag import AdaptiveRAG
from adaptive_rag.graph import strategies
from adaptive_rag.graph.builder import build_graph
from adaptive_rag.graph.strategies import STRATEGIES
from adaptive_rag.index.memory import MemoryIndex
from adaptive_rag.state import ROUTED_TYPES

PROMPTS = resources.files("adaptive_rag.llm") / "prompts"
# Files of the folder that hold no strategy of their own.
SHARED = {"__init__", "strategy", "hedge"}


def test_every_file_of_a_strategy_stands_in_the_table() -> None:
    files = {file.stem for file in Path(str(strategies.__file__)).parent.glob("*.py")}
    assert files - SHARED == set(strategies.NAMES)


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_record_is_complete(name: str) -> None:
    strategy = STRATEGIES[name]
    assert strategy.name == name and re.fullmatch(r"[a-z]+", name)
    assert strategy.purpose
    assert re.fullmatch(r"#[0-9a-f]{6}", strategy.colour)
    assert 0 < strategy.style.mass <= 1
    assert strategy.style.instruction or (PROMPTS / f"generate-{name}.md").is_file()


def test_no_two_strategies_are_drawn_in_one_colour() -> None:
    assert len({strategy.colour for strategy in STRATEGIES.values()}) == len(STRATEGIES)


def test_what_the_router_names_can_be_routed_to() -> None:
    assert {name for name, strategy in STRATEGIES.items() if strategy.routable} == set(ROUTED_TYPES)


@pytest.mark.parametrize("name", STRATEGIES)
def test_its_route_answers_and_bears_its_name(town: MemoryIndex, name: str) -> None:
    output = AdaptiveRAG(town, route=name).invoke("How long is the sea wall of Saltmere?")
    assert output["query_type"] == name and output["analysis"]["decided_by"] == "caller"
    assert output["answer"] and not output["abstained"]
    assert {document["route"] for document in output["documents"]} == {name}


def test_the_graph_carries_each_strategys_colour() -> None:
    nodes = build_graph().compile().get_graph().nodes
    for name, strategy in STRATEGIES.items():
        assert (nodes[name].metadata or {})["colour"] == strategy.colour
