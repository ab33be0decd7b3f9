from typing import Any

import numpy as np
import pytest

from adaptive_rag.evaluation.arms import Result
from adaptive_rag.evaluation.datasets import Question
from adaptive_rag.evaluation.metrics import ABSTENTION, citation_correctness, rouge_l, score_answer, token_f1

VOCABULARY = ["harbour", "dredged", "1987", "wall", "library"]


def embed(texts: Any) -> Any:
    """Count the words of a small vocabulary; unit vectors, as the real model gives."""
    rows = np.array(
        [[float(word in text.lower()) for word in VOCABULARY] for text in texts], dtype=np.float32
    )
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def document(text: str) -> Any:
    return {"id": "c", "source": "town.txt", "text": text, "scores": {}, "labels": []}


def citation(marker: int, quote: str) -> Any:
    place = {"source": "town.txt", "page": None, "start": 0, "end": len(quote)}
    return {"marker": marker, **place, "quote": quote}


def answer(text: str, *citations: Any, abstained: bool = False) -> Result:
    read = [document("The harbour was dredged in 1987.\nThe wall stands.\nAnn: It is high. I like it.")]
    return Result(read, ms=1.0, answer=text, citations=list(citations), abstained=abstained)


def test_token_f1_counts_shared_words_without_articles_and_punctuation() -> None:
    assert token_f1("The harbour, dredged.", "harbour was dredged") == pytest.approx(2 * 2 / (2 + 3))
    assert token_f1("", "harbour") == 0.0


def test_rouge_l_follows_the_order_of_words() -> None:
    assert rouge_l("one two three four", "one three four five") == pytest.approx(2 * 3 / 8)
    assert rouge_l("four three two one", "one two three four") == pytest.approx(2 * 1 / 8)


DREDGED = "The harbour was dredged in 1987."


@pytest.mark.parametrize(
    ("text", "quote", "expected"),
    [
        ("The harbour was dredged in 1987 [1].", DREDGED, 1.0),
        # A marker after the full stop belongs to the sentence before it.
        (f"{DREDGED} [1] The library is open.", DREDGED, 1.0),
        # So does one on a line of its own.
        ("The harbour was dredged.\n[1].", DREDGED, 1.0),
        ("Nothing is known.\n[1].", DREDGED, 0.0),
        (f"[1]\n{DREDGED}", DREDGED, 0.0),
        ("The harbour was dredged in 1987 [1].", "The harbour was dredged in 1990.", 0.0),
        ("The harbour was dredged in 1987 [1].", "The wall stands.", 0.0),
        ("No marker.", "The wall stands.", 0.0),
        # The words of a speaker, beside another quote of the same passage.
        (f"- {DREDGED} [1]\n- Ann: “It is high.” [1]", "Ann: It is high.", 1.0),
        (f"- {DREDGED} [1]\n- Ann: “It is high. I like it.” [1]", "Ann: It is high. I like it.", 1.0),
    ],
)
def test_a_citation_counts_where_it_quotes_what_was_read_and_supports_its_sentence(
    text: str, quote: str, expected: float
) -> None:
    assert citation_correctness(answer(text, citation(1, quote)), embed) == expected


def test_quality_follows_its_formula() -> None:
    asked = Question(id="q", text="harbour?", reference="dredged in 1987")
    scores = score_answer(
        asked, answer("Dredged in 1987 [1].", citation(1, "The harbour was dredged in 1987.")), embed
    )
    expected = 0.4 * 1 + 0.2 * 1 + 0.2 * scores["context_relevance"] + 0.2 * scores["citation_correctness"]
    assert scores["semantic_similarity"] == pytest.approx(1.0)
    assert scores["token_f1"] == pytest.approx(1.0)
    assert scores["quality"] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("abstained", "has_answer", "expected"),
    [
        (True, False, {"abstention_precision": 1.0, "abstention_recall": 1.0, "quality": 1.0}),
        (True, True, {"abstention_precision": 0.0, "quality": 0.0}),
        (False, False, {"abstention_recall": 0.0, "quality": 0.0}),
        (False, True, {}),
        (True, None, {"quality": 0.0}),
    ],
)
def test_to_abstain_is_right_where_there_is_no_answer_and_nowhere_else(
    abstained: bool, has_answer: bool | None, expected: dict[str, float]
) -> None:
    asked = Question(id="q", text="harbour?", reference="dredged", has_answer=has_answer)
    scores = score_answer(asked, answer("Dredged.", abstained=abstained), embed)
    assert expected.items() <= scores.items()
    assert scores.keys() & ABSTENTION.keys() == expected.keys() - {"quality"}
