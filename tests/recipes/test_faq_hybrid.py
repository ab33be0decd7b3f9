"""The recipe faq-hybrid, rule by rule, on a small collection of questions with answers."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adaptive_rag.context import make_context
from adaptive_rag.evaluation.arms import ARMS, Bench
from adaptive_rag.evaluation.datasets import Question
from adaptive_rag.graph.builder import build_graph, build_retrieval_graph
from adaptive_rag.index import Index
from adaptive_rag.testing import ScriptedChatModel
from tests.models.made_cross_encoder import forget_rerankers, write_cross_encoder
from tests.recipes.made import scaled
from tests.traces import decisions

PAIRS = [
    ("When are the sirens tested?", "On the first Monday of each month at eleven."),
    ("Where are the sandbag stations?", "At the fish quay and in Mill Street."),
    ("How do I clean the filter of the pump?", "Switch it off, open the cover and rinse the filter."),
    ("The pump does not start. What can I do?", "Clean the filter before you try again."),
    ("Which port does the pump's server use?", "Its API listens at port 8080 unless you configure another."),
    ("What is a storm surge?", "A rise of the sea that wind and low pressure cause."),
    ("How do sirens and alarms differ?", "A siren warns the town, an alarm warns one house."),
    ("Who fits door boards?", "The town's carpenters do, for owners of houses in the lower town."),
]
FACTUAL = "When are the sirens tested?"
PROCEDURAL = "How do I clean the filter of the pump?"
TROUBLE = "The pump does not start. What can I do?"
TECHNICAL = "Which API setting configures the server port of the pump?"
COMPARISON = "What is the difference between a siren and an alarm?"
CONCEPTUAL = "How are the sirens installed and configured?"


@pytest.fixture(scope="module")
def faq(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder: Path = tmp_path_factory.mktemp("faq")
    lines = ["question,answer", *(f'"{question}","{answer}"' for question, answer in PAIRS)]
    (folder / "faq.csv").write_text("\n".join(lines))
    Index.build([folder / "faq.csv"], folder / "index")
    return Index.open(folder / "index")


@pytest.fixture
def encoder(tmp_path: Path) -> Iterator[str]:
    forget_rerankers()
    yield str(write_cross_encoder(tmp_path, *(text for pair in PAIRS for text in pair), TECHNICAL))
    forget_rerankers()


def run(faq: Index, question: str, **settings: Any) -> dict[str, Any]:
    context = make_context(index=faq, recipe="faq-hybrid", **settings)
    return build_retrieval_graph().compile().invoke({"question": question}, context=context)


def ask(faq: Index, question: str, **retrieval: Any) -> dict[str, Any]:
    """Ask with the scores of the search alone, all pairs kept."""
    whole = {"k": 8, "profile": None, "without": "window,hedge,fan-out,diversify,balance"}
    return run(faq, question, **whole, retrieval={"reranker": "none", **retrieval})


def scores(output: dict[str, Any]) -> dict[str, dict[str, float]]:
    return {document["metadata"]["question"]: document["scores"] for document in output["documents"]}


def fusion(output: dict[str, Any]) -> dict[str, Any]:
    return decisions(output, "fusion")[0]


# 1. Views


@pytest.mark.parametrize(
    ("question", "weights"),
    [
        (FACTUAL, (0.6, 0.3, 0.0)),
        (CONCEPTUAL, (0.6, 0.3, 0.0)),
        (TECHNICAL, (0.6, 0.0, 0.4)),
        (PROCEDURAL, (0.6, 0.0, 0.4)),
        (TROUBLE, (0.6, 0.0, 0.4)),
        (COMPARISON, (0.6, 0.0, 0.0)),
    ],
)
def test_a_pair_is_compared_by_two_views_and_the_weights_are_divided_by_their_sum(
    faq: Index, question: str, weights: tuple[float, ...]
) -> None:
    found = scores(ask(faq, question))
    assert len(found) == len(PAIRS)
    for pair in found.values():
        views = [pair[name] for name in ("dense_pair", "dense_question", "dense_answer")]
        assert pair["dense"] == pytest.approx(np.dot(weights, views) / sum(weights))


# 2. Words


def test_words_are_seven_tenths_bm25_and_three_tenths_tfidf_each_scaled(faq: Index) -> None:
    found = scores(ask(faq, FACTUAL)).values()
    bm25, cosine, words = ([pair[name] for pair in found] for name in ("sparse", "tfidf", "words"))
    assert max(cosine) > 0.5 and max(bm25) > 0
    assert words == pytest.approx((0.7 * scaled(bm25) + 0.3 * scaled(cosine)).tolist())


def test_vectors_and_words_are_joined_by_alpha(faq: Index) -> None:
    output = ask(faq, TECHNICAL)
    assert "TF-IDF counts 0.3 of the score by words" in fusion(output)["why"]
    found = scores(output).values()
    dense, words, fused = ([pair[name] for pair in found] for name in ("dense", "words", "fused"))
    assert fused == pytest.approx((0.5 * scaled(dense) + 0.5 * scaled(words)).tolist())


# 3. Alpha


@pytest.fixture
def domains(tmp_path: Path) -> dict[str, str]:
    """Ontologies to which the questions about pumps belong, or do not."""
    known = "pump, filter, clean, siren, alarm, install, configure, tested, setting, server, port, API"
    (tmp_path / "in.yaml").write_text(f"town: [{known}]")
    (tmp_path / "out.yaml").write_text("kitchen: [flour, oven]")
    return {"in": str(tmp_path / "in.yaml"), "out": str(tmp_path / "out.yaml")}


@pytest.mark.parametrize(
    ("question", "alpha"), [(TECHNICAL, 0.5), (PROCEDURAL, 0.5), (CONCEPTUAL, 0.8), (COMPARISON, 0.8)]
)
def test_alpha_follows_the_intent(faq: Index, question: str, alpha: float) -> None:
    assert fusion(ask(faq, question))["chosen"] == f"alpha {alpha:.2f}"


@pytest.mark.parametrize(
    ("question", "domain", "alpha", "why"),
    [
        (FACTUAL, "in", 0.8, "in-domain 0.80"),
        (FACTUAL, "out", 0.5, "off-domain 0.50"),
        (PROCEDURAL, "in", 0.65, "procedural 0.50 and in-domain 0.80"),
        (PROCEDURAL, "out", 0.5, "procedural 0.50 and off-domain 0.50"),
        (CONCEPTUAL, "out", 0.65, "conceptual 0.80 and off-domain 0.50"),
    ],
)
def test_where_intent_and_domain_disagree_alpha_is_their_mean(
    faq: Index, domains: dict[str, str], question: str, domain: str, alpha: float, why: str
) -> None:
    whole = {"k": 8, "retrieval": {"reranker": "none"}, "ontology": domains[domain]}
    decision = fusion(run(faq, question, **whole))
    assert decision["chosen"] == f"alpha {alpha:.2f}"
    assert why in decision["why"]


def test_an_intent_that_the_table_lacks_leaves_alpha_to_the_words_within_bounds(faq: Index) -> None:
    for question, alpha in ((FACTUAL, "alpha 0.44"), ("When did Beethoven die?", "alpha 0.90")):
        decision = fusion(ask(faq, question))
        assert decision["chosen"] == alpha
        assert "the table has no alpha for a factual question" in decision["why"]


def test_the_table_can_be_replaced(faq: Index) -> None:
    own = {"technical": 0.7, "factual": 0.4, "comparison": 1.0}
    assert fusion(ask(faq, TECHNICAL, alpha_table=own))["chosen"] == "alpha 0.70"
    assert fusion(ask(faq, FACTUAL, alpha_table=own))["chosen"] == "alpha 0.40"
    bounded = fusion(ask(faq, COMPARISON, alpha_table=own))
    assert bounded["chosen"] == "alpha 0.90" and "held between 0.3 and 0.9" in bounded["why"]


# 4. The cross-encoder


def test_its_score_weighs_six_tenths_over_three_k_candidates(faq: Index, encoder: str) -> None:
    settings = {"k": 2, "profile": None, "without": "window,hedge,fan-out,diversify,balance"}
    output = run(faq, TECHNICAL, **settings, retrieval={"reranker_model": encoder})
    searched = scores(ask(faq, TECHNICAL))
    fused = dict(zip(searched, scaled(pair["fused"] for pair in searched.values()).tolist(), strict=True))
    [reranked] = [record["candidates"] for record in output["trace"] if record["step"] == "rerank"]
    assert len(reranked) == 3 * 2
    read = sorted(fused, key=lambda question: -fused[question])[: 3 * 2]
    crossed = scores(output)
    assert set(crossed) <= set(read)
    for question, pair in crossed.items():
        assert 0 <= pair["cross_encoder"] <= 1
        assert pair["relevance"] == pytest.approx(
            10 * (0.6 * pair["cross_encoder"] + 0.4 * fused[question]), abs=1e-3
        )


# Each part can be switched off alone


def arm(name: str, faq: Index, question: str, encoder: str) -> tuple[list[str], dict[str, dict[str, float]]]:
    bench = Bench(faq, build_retrieval_graph().compile(), settings={"retrieval.reranker_model": encoder})
    result = ARMS[name].run(Question(id="q", text=question), bench)
    said = [f"{d['what']} {d['chosen']} {d['why']}" for d in decisions({"trace": result.trace})]
    return said, {document["id"]: document["scores"] for document in result.documents}


def test_there_is_an_arm_without_each_part(faq: Index, encoder: str) -> None:
    def has(name: str) -> dict[str, bool]:
        said, found = arm(name, faq, TECHNICAL, encoder)
        assert found
        names = set.union(*map(set, found.values()))
        return {
            "views": "dense_pair" in names,
            "words-and-alpha": "tfidf" in names and any("by intent and domain" in line for line in said),
            "cross-encoder": "cross_encoder" in names,
            "window": any("balanced" in line for line in said),
        }

    whole = has("with-faq-hybrid")
    assert whole == dict.fromkeys(whole, True)
    for part in whole:
        assert has(f"with-faq-hybrid-without-{part}") == {**whole, part: False}


def test_the_cross_encoder_alone_has_an_arm(faq: Index, encoder: str) -> None:
    _, plain = arm("adaptive", faq, PROCEDURAL, encoder)
    _, crossed = arm("with-cross-encoder", faq, PROCEDURAL, encoder)
    assert all("cross_encoder" not in found for found in plain.values())
    assert all(0 <= found["cross_encoder"] <= 1 for found in crossed.values())


# Calls


def test_one_call_writes_the_answer(faq: Index, encoder: str) -> None:
    for route in ("factual", "analytical", "opinion", "contextual"):
        model = ScriptedChatModel()
        settings = {"model": model, "route": route, "retrieval": {"reranker_model": encoder}}
        context = make_context(settings, index=faq, recipe="faq-hybrid")
        output = build_graph().compile().invoke({"question": FACTUAL}, context=context)
        assert model.skills == ["generate"]
        assert output["documents"] and all(
            math.isfinite(document["scores"]["cross_encoder"]) for document in output["documents"]
        )
