"""The recipe `adaptive-retrieval`, rule by rule and number by number."""

from collections.abc import Callable

import pytest

from adaptive_rag import AdaptiveRAG
from adaptive_rag.index.memory import MemoryIndex
from tests.recipes.made import QUESTIONS, Watched, ask, nearest, passages_in

NAME = "adaptive-retrieval"
SUB_QUESTIONS = ["How do waves reach the marsh?", "What do fishers fear?", "When is the library open?"]
VIEWPOINTS = ["it protects homes", "it drives guests away", "it cuts off the market"]


def test_a_given_context_saves_the_call_that_infers_one(town: MemoryIndex) -> None:
    _, model = ask(town, NAME, "contextual", user_context="I rent a flat on the ground floor.")
    assert len(model.asked) == 11 and "infer" not in model.skills


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        ("I would say analytical, maybe also factual.", "analytical"),
        ("Hard to tell.", "factual"),
        ("OPINION", "opinion"),
    ],
)
def test_the_first_type_named_counts_and_factual_where_none_is(
    town: MemoryIndex, reply: str, kind: str
) -> None:
    output, model = ask(town, NAME, "factual", script={"classify": reply})
    assert output["query_type"] == kind
    assert model.skills.count("classify") == 1


def test_factual_finds_2k_by_vector_for_the_rewritten_query_and_scores_them_one_by_one_against_it(
    town: MemoryIndex,
) -> None:
    query = "length and height of the sea wall in metres"
    output, model = ask(town, NAME, "factual", script={"enhance": {"query": query}})
    [retrieved] = [record for record in output["trace"] if record["step"] == "retrieve"]
    assert retrieved["queries"] == [query]
    assert model.skills.count("score") == 8
    scored = [passages_in(model.prompt("score", i))[0] for i in range(8)]
    assert sorted(scored) == sorted(nearest(town, query, 8))
    assert f"Question: {query}" in model.prompt("score")
    assert "from 0 to 10" in model.prompt("score")


def ask_scored(town: MemoryIndex, question: str, rate: Callable[[str], object]) -> tuple:
    """Ask for a fact with a model that says of each passage what `rate` makes of its text."""

    def script(step: str, messages: list) -> object:
        if step == "classify":
            return {"type": "factual"}
        return rate(*passages_in(messages[-1].text)) if step == "score" else None

    model = Watched(script=script)
    return AdaptiveRAG(town, model=model, recipe=NAME).invoke(question), model


def test_the_best_k_by_the_models_score_alone_are_kept(town: MemoryIndex) -> None:
    output, model = ask_scored(
        town,
        "When is the library of Saltmere open?",
        lambda text: {"scores": [9 if "library" in text else 1]},
    )
    assert "library" in output["documents"][0]["text"]
    assert [document["scores"]["relevance"] for document in output["documents"]] == [9, 1, 1, 1]
    assert model.skills.count("score") == 8


def test_a_reply_without_a_number_counts_5(town: MemoryIndex) -> None:
    output, model = ask_scored(
        town, QUESTIONS["factual"], lambda text: "quite useful" if "2,340 metres" in text else {"scores": [4]}
    )
    assert [document["scores"]["relevance"] for document in output["documents"]] == [5, 4, 4, 4]
    assert "2,340 metres" in output["documents"][0]["text"]
    # Nothing was asked twice.
    assert len(model.asked) == 11


@pytest.mark.nightly
def test_the_first_1500_characters_of_a_text_are_scored() -> None:
    long = MemoryIndex.from_texts([f"The sea wall is long. {'word ' * 600}END {i}" for i in range(9)])
    _, model = ask(long, NAME, "factual")
    texts = [passages_in(model.prompt("score", i))[0] for i in range(8)]
    assert {len(text) for text in texts} <= {1499, 1500}


def test_three_sub_questions_bring_two_passages_each_in_that_order(town: MemoryIndex) -> None:
    output, _ = ask(town, NAME, "analytical", script={"decompose": {"sub_questions": SUB_QUESTIONS}})
    expected = list(dict.fromkeys(text for asked in SUB_QUESTIONS for text in nearest(town, asked, 2)))
    assert len(expected) >= 4
    assert [document["text"] for document in output["documents"]] == expected[:4]
    assert output["documents"][0]["labels"] == [SUB_QUESTIONS[0]]


def test_what_the_sub_questions_lack_is_filled_from_the_question(town: MemoryIndex) -> None:
    same = [f"{QUESTIONS['analytical']} {more}" for more in ("really", "truly", "indeed")]
    output, _ = ask(town, NAME, "analytical", script={"decompose": {"sub_questions": same}})
    brought = list(dict.fromkeys(text for asked in same for text in nearest(town, asked, 2)))
    own = nearest(town, QUESTIONS["analytical"], 4)
    assert len(brought) < 4
    assert [d["text"] for d in output["documents"]] == list(dict.fromkeys([*brought, *own]))[:4]


def test_three_viewpoints_bring_two_each_and_the_first_of_each_is_taken(town: MemoryIndex) -> None:
    output, _ = ask(town, NAME, "opinion", script={"viewpoints": {"viewpoints": VIEWPOINTS}})
    found = [nearest(town, f"{QUESTIONS['opinion']} {view}", 2) for view in VIEWPOINTS]
    firsts = list(dict.fromkeys(pair[0] for pair in found))
    texts = [document["text"] for document in output["documents"]]
    assert texts[: len(firsts)] == firsts
    brought = {text for pair in found for text in pair}
    # Where viewpoints find the same passages, the question's own fill them up.
    own = [text for text in nearest(town, QUESTIONS["opinion"], 9) if text not in brought]
    assert set(texts) == {*brought, *own[: max(0, 4 - len(brought))]} or set(texts) <= brought
    assert len(texts) == 4
    assert output["documents"][0]["labels"] == [VIEWPOINTS[0]]


def test_contextual_infers_rewrites_and_scores_with_question_and_context(town: MemoryIndex) -> None:
    script = {
        "infer": {"context": "A renter on the ground floor."},
        "contextualize": {"context": "ignored", "query": "How should a renter prepare for a flood?"},
    }
    output, model = ask(town, NAME, "contextual", script=script)
    assert "A renter on the ground floor." in model.prompt("contextualize")
    [retrieved] = [record for record in output["trace"] if record["step"] == "retrieve"]
    assert retrieved["queries"] == ["How should a renter prepare for a flood?"]
    scored = [passages_in(model.prompt("score", i))[0] for i in range(8)]
    assert sorted(scored) == sorted(nearest(town, "How should a renter prepare for a flood?", 8))
    assert f"Question: {QUESTIONS['contextual']}" in model.prompt("score")
    assert "A renter on the ground floor." in model.prompt("score")
    assert "A renter on the ground floor." in model.prompt("generate")


def test_temperatures(town: MemoryIndex) -> None:
    heat: dict = {}
    for kind in QUESTIONS:
        heat |= ask(town, NAME, kind)[1].heat
    assert heat == {
        "classify": 0.0,
        "enhance": 0.0,
        "contextualize": 0.0,
        "score": 0.0,
        "decompose": 0.3,
        "viewpoints": 0.3,
        "infer": 0.1,
        "generate": 0.2,
    }


def test_each_type_has_a_prompt_of_its_own(town: MemoryIndex) -> None:
    prompts = {kind: ask(town, NAME, kind)[1].prompt("generate").split("---")[0] for kind in QUESTIONS}
    assert len(set(prompts.values())) == 4
