from dataclasses import replace
from typing import Any

import pytest

from adaptive_rag.answer.passages import join_neighbours
from adaptive_rag.context import Context
from adaptive_rag.context.groups import ANSWER_MECHANISMS, MECHANISMS
from adaptive_rag.errors import ConfigurationError
from adaptive_rag.evaluation.arms import ARMS, MAIN_ARMS, Bench, all_arm_names, find_arms
from adaptive_rag.evaluation.datasets import Dataset, Question, load_dataset
from adaptive_rag.evaluation.judge import COMPARISONS
from adaptive_rag.graph.strategies import NAMES
from adaptive_rag.index.memory import MemoryIndex
from adaptive_rag.samples import questions_path, samples_path
from adaptive_rag.state import ROUTED_TYPES

PLAIN = ("standard", "bm25", "fusion")
# Those that ask no graph.
OF_THEIR_OWN = (*PLAIN, "tfidf")


def test_every_strategy_and_every_mechanism_has_an_arm() -> None:
    assert {f"only-{name}" for name in NAMES} | {f"without-{name}" for name in MECHANISMS} <= set(ARMS)
    assert set(ARMS) - set(all_arm_names(answers=False)) == {f"without-{name}" for name in ANSWER_MECHANISMS}
    assert set(MAIN_ARMS) <= set(ARMS)


def test_an_unknown_arm_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigurationError, match=r"'standart' is not an arm\. The arms are: standard, bm25"):
        find_arms(["adaptive", "standart"])
    with pytest.raises(ConfigurationError, match="empty list"):
        find_arms([])


def test_standard_orders_by_vector_and_bm25_by_words(tiny: Dataset, bench: Bench) -> None:
    question = tiny.questions[1]
    by_vector = [d["id"] for d in ARMS["standard"].run(question, bench).documents]
    assert by_vector == ["p2", "p3"]  # the two shortest; the bench scores those highest
    by_words = [d["id"] for d in ARMS["bm25"].run(tiny.questions[0], bench).documents]
    assert by_words[0] == "p1"


def test_bm25_leaves_out_passages_that_share_no_word(bench: Bench) -> None:
    assert ARMS["bm25"].run(Question(id="q", text="zebra"), bench).documents == []


@pytest.mark.filterwarnings("ignore:`langchain-community`")
def test_tfidf_ranks_all_passages_by_the_words_that_they_share(tiny: Dataset, bench: Bench) -> None:
    result = ARMS["tfidf"].run(tiny.questions[0], bench)
    source: Any = bench.source
    assert (result.documents[0]["id"], len(result.documents)) == ("p1", bench.k)
    assert source.searches == []
    assert result.cost()["model_calls"] == 0


def test_the_judged_arms_of_a_recipe_use_its_own_parts(tiny: Dataset, bench: Bench) -> None:
    graph: Any = bench.graph
    asked = {}
    for name in COMPARISONS["vector-bm25-fusion"]:
        ARMS[name].run(tiny.questions[0], bench)
        asked[name] = graph.asked[-1][1]
    assert {(c.recipe, c.retrieval.lexical, c.retrieval.alpha) for c in asked.values()} == {
        ("vector-bm25-fusion", "okapi", 0.5)
    }
    assert [c.retrieval.fusion for c in asked.values()] == ["dense", "sparse", "weighted"]


def test_an_arm_gives_the_ontology_that_lies_beside_the_questions(tiny: Dataset, bench: Bench) -> None:
    graph: Any = bench.graph
    beside = samples_path().parent / "ontology.yaml"
    for ontology in (None, str(beside)):
        ARMS["with-ontology"].run(tiny.questions[0], replace(bench, ontology=ontology))
        assert graph.asked[-1][1].ontology == ontology
    samples = load_dataset(questions_path())
    assert samples.ontology == beside and beside not in samples.documents
    assert tiny.ontology is None


@pytest.mark.parametrize("name", PLAIN)
def test_plain_arms_search_for_the_question_as_it_stands(name: str, tiny: Dataset, bench: Bench) -> None:
    result = ARMS[name].run(tiny.questions[2], bench)
    source: Any = bench.source
    assert source.searches == [["When can I go?"]]
    assert (result.cost()["model_calls"], result.cost()["rounds"], result.analysis) == (0, 0, None)


@pytest.mark.filterwarnings("ignore:`langchain-community`")
@pytest.mark.parametrize("name", OF_THEIR_OWN)
def test_a_condition_of_the_run_restricts_the_arms_without_a_graph(
    name: str, tiny: Dataset, bench: Bench
) -> None:
    whole = replace(bench, source=MemoryIndex(tiny.passages), k=4)
    restricted = replace(whole, settings={"where": "not source = p1"})
    ids = [
        {d["id"] for d in ARMS[name].run(tiny.questions[0], each).documents} for each in (whole, restricted)
    ]
    assert ids[1] == ids[0] - {"p1"} != ids[0]


@pytest.mark.parametrize("name", [name for name in ARMS if name not in OF_THEIR_OWN])
def test_the_graph_is_asked_what_a_person_would_ask(name: str, tiny: Dataset, bench: Bench) -> None:
    result = ARMS[name].run(tiny.questions[2], bench)
    graph: Any = bench.graph
    assert [d["id"] for d in result.documents] == ["p4"]
    for state, _ in graph.asked:
        assert state == {
            "question": "When can I go?",
            "user_context": "I want to read in the library.",
            "history": [{"role": "user", "text": "Is there a library?"}, {"role": "agent", "text": "Yes."}],
        }


def test_only_the_oracle_reads_the_label(tiny: Dataset, bench: Bench) -> None:
    relabelled = [replace(tiny.questions[0], type=kind) for kind in ROUTED_TYPES]
    for name, arm in ARMS.items():
        graph: Any = bench.graph
        graph.asked.clear()
        if name in OF_THEIR_OWN:
            continue
        routes = []
        for question in relabelled:
            arm.run(question, bench)
            routes.append([context.route for _, context in graph.asked])
            graph.asked.clear()
        follows_label = len({tuple(route) for route in routes}) > 1
        assert follows_label is arm.sees_label is (name == "oracle"), name


def test_the_random_route_is_the_same_every_time_and_differs_between_questions(bench: Bench) -> None:
    graph: Any = bench.graph
    text = graph.dataset.questions[0].text
    for _ in range(2):
        for number in range(12):
            ARMS["random"].run(Question(id=f"q{number}", text=text), bench)
    routes = [context.route for _, context in graph.asked]
    assert routes[:12] == routes[12:]
    assert set(routes) == set(ROUTED_TYPES)


def test_the_costliest_arm_pays_for_all_strategies(tiny: Dataset, bench: Bench) -> None:
    result = ARMS["costliest"].run(tiny.questions[0], bench)
    graph: Any = bench.graph
    assert [context.route for _, context in graph.asked] == list(ROUTED_TYPES)
    assert (result.cost()["model_calls"], result.cost()["tokens"]) == (4, 48)


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        *((f"without-{name}", {"without": frozenset({name})}) for name in MECHANISMS),
        ("only-opinion", {"route": "opinion"}),
        ("adaptive", {}),
    ],
)
def test_an_ablation_changes_its_own_switch_and_no_other(
    name: str, changed: dict[str, Any], tiny: Dataset, bench: Bench
) -> None:
    ARMS[name].run(tiny.questions[0], bench)
    graph: Any = bench.graph
    [(_, context)] = graph.asked
    plain = Context(index=bench.source, k=bench.k)
    differs = {
        field: getattr(context, field)
        for field in Context.model_fields
        if field != "index" and getattr(context, field) != getattr(plain, field)
    }
    assert differs == changed


def test_an_answer_is_asked_for_only_where_the_bench_can_give_one(tiny: Dataset, bench: Bench) -> None:
    assert ARMS["adaptive"].run(tiny.questions[0], bench).answer is None
    answering = replace(bench, answering=bench.graph)
    assert ARMS["adaptive"].run(tiny.questions[0], answering).answer == "In 1987 [1]."
    plain = ARMS["standard"].run(tiny.questions[0], answering)
    assert plain.answer == "In 1987 [1]."
    assert len(plain.documents) == 2


def test_a_ranking_is_one_of_chunks_though_the_answer_read_joined_passages(
    tiny: Dataset, bench: Bench
) -> None:
    text = "The harbour was dredged in 1987. It silted up. It was dredged again."
    ranked: list[Any] = [
        {
            **{"id": name, "source": source, "page": None, "section": None, "labels": [], "metadata": {}},
            **{"start": start, "end": end, "text": text[start:end], "scores": {"fused": score}},
        }
        for name, source, start, end, score in [
            ("b", "a.txt", 33, len(text), 0.9),
            ("x", "x.txt", 0, 32, 0.8),
            ("a", "a.txt", 0, 47, 0.7),
        ]
    ]
    joined = join_neighbours(ranked)
    graph: Any = bench.graph
    found = graph.invoke

    def joining(state: Any, /, *, context: Any) -> Any:
        return {**found(state, context=context), "documents": joined}

    graph.invoke = joining
    result = ARMS["adaptive"].run(tiny.questions[0], replace(bench, answering=graph))
    assert len(joined) == 2
    assert result.documents == ranked
