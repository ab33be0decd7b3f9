"""The corpora of the scale benchmark are what they claim, and its figures follow from what was found."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from adaptive_rag.index import Index
from benchmarks import retrieval_scale, scale_corpora
from benchmarks.retrieval_scale import ReadyMade, make_index, ndcg, recall_at_10, store_questions
from benchmarks.scale_corpora import STOP_WORDS, Corpus, embed, made_up, public


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return made_up(300, 8)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory, corpus: Corpus) -> Path:
    folder = tmp_path_factory.mktemp("kept")
    make_index(folder / "kb", corpus)
    store_questions(corpus, folder / "questions.npz")
    return folder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for name in ("first", "second"):
        folder = tmp_path / "data" / name
        folder.mkdir(parents=True)
        passages = [
            {"_id": f"p{i}", "title": "", "text": f"Passage {i} of the {name} set."} for i in range(6)
        ]
        write_lines(folder / "corpus.jsonl", passages)
        write_lines(
            folder / "queries.jsonl", [{"_id": "q", "text": f"Which is the {name} one?", "type": "factual"}]
        )
        (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\tp2\t2\n", encoding="utf-8")
    return tmp_path / "data"


def write_lines(path: Path, rows: list[dict[str, str]]) -> None:
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")


def texts_of(corpus: Corpus) -> list[str]:
    return [text for texts, _ in corpus.slices() for text in texts]


def test_a_made_up_corpus_is_the_same_each_time(corpus: Corpus) -> None:
    again = made_up(300, 8)
    assert texts_of(again) == texts_of(corpus)
    assert again.questions().texts == corpus.questions().texts
    assert len(texts_of(corpus)) == 300


def test_two_words_in_five_are_stop_words_as_in_english(corpus: Corpus) -> None:
    words = " ".join(texts_of(corpus)).split()
    assert 0.3 < np.isin(words, STOP_WORDS.split()).mean() < 0.5


def test_full_text_search_drops_the_stop_words_and_no_other(kept: Path, corpus: Corpus) -> None:
    word = next(word for word in texts_of(corpus)[0].split() if word not in STOP_WORDS.split())
    vector = corpus.questions().vectors[0]
    index = Index.open(kept / "kb", embeddings=ReadyMade(dict.fromkeys((STOP_WORDS, word), vector)))
    [common], [rare] = index.search([STOP_WORDS], limit=300), index.search([word], limit=300)
    assert all(candidate["scores"]["sparse"] == 0 for candidate in common)
    holding = {candidate["id"] for candidate in rare if word in candidate["text"].split()}
    assert holding == {candidate["id"] for candidate in rare if candidate["scores"]["sparse"] > 0}


def test_a_question_holds_words_of_its_chunk_and_stands_nearer_to_it_than_to_most(corpus: Corpus) -> None:
    asked, texts = corpus.questions(), texts_of(corpus)
    matrix = np.concatenate([vectors for _, vectors in corpus.slices()])
    for text, vector, grades in zip(asked.texts, asked.vectors, asked.gold, strict=True):
        [number] = grades
        assert len(set(text.split()) & set(texts[number].split())) >= 2
        cosines = matrix @ vector
        assert (cosines > cosines[number]).mean() < 0.05


def test_both_sides_answer_and_are_judged_alike(kept: Path, corpus: Corpus) -> None:
    ours = retrieval_scale.ask_index(kept, 8)
    theirs = retrieval_scale.ask_langchain(corpus, kept, 4)
    assert ours["recall"] == 1.0
    assert ours["info"] is None
    assert len(ours["ndcg"]) == 8
    assert len(theirs["ndcg"]) == 4
    assert np.mean(ours["ndcg"]) > 0.5
    assert np.mean(theirs["ndcg"]) > 0.5


def test_recall_counts_the_nearest_that_were_found(kept: Path, corpus: Corpus) -> None:
    asked = corpus.questions()
    index = Index.open(kept / "kb", embeddings=ReadyMade(dict(zip(asked.texts, asked.vectors, strict=True))))
    _, _, _, nearest = retrieval_scale._stored(kept, 1)
    half = {id_ if i % 2 else f"missing-{i}" for i, id_ in enumerate(sorted(nearest[0]))}
    assert recall_at_10(index, asked.texts[:1], nearest) == 1.0
    assert recall_at_10(index, asked.texts[:1], [half]) == 0.5


@pytest.mark.parametrize(
    ("found", "grades", "expected"),
    [
        (["a", "b"], {"a": 1}, 1.0),
        (["b", "a"], {"a": 1}, 1 / np.log2(3)),
        (["b"], {"a": 1}, 0.0),
        (["b", "a"], {"a": 2, "b": 1}, (1 + 2 / np.log2(3)) / (2 + 1 / np.log2(3))),
        ([*"bcdefghijk", "a"], {"a": 1}, 0.0),
    ],
)
def test_ndcg_weighs_grades_by_rank(found: list[str], grades: dict[str, int], expected: float) -> None:
    assert ndcg(found, grades) == pytest.approx(expected)


def test_public_passages_are_pooled_and_filled_up(data: Path, tmp_path: Path) -> None:
    corpus = public(data, 20, tmp_path / "cache")
    texts, asked = texts_of(corpus), corpus.questions()
    assert len(texts) == corpus.size == 20
    assert sum(text.startswith("Passage") and text.endswith("set.") for text in texts[:12]) == 12
    gold = {
        text: [(texts[n], g) for n, g in grades.items()]
        for text, grades in zip(asked.texts, asked.gold, strict=True)
    }
    assert gold == {
        f"Which is the {name} one?": [(f"Passage 2 of the {name} set.", 2)] for name in ("first", "second")
    }
    assert texts_of(corpus) == texts


def test_a_corpus_smaller_than_the_pool_keeps_what_answers(data: Path, tmp_path: Path) -> None:
    corpus = public(data, 4, tmp_path / "cache")
    texts = texts_of(corpus)
    assert len(texts) == 4
    assert {"Passage 2 of the first set.", "Passage 2 of the second set."} <= set(texts)


def test_what_was_embedded_once_is_not_embedded_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = embed(["one", "two", "one"], tmp_path)
    monkeypatch.setattr(scale_corpora.load_minilm(), "encode", lambda texts: pytest.fail(f"embedded {texts}"))
    np.testing.assert_array_equal(embed(["two", "one", "one"], tmp_path), first[[1, 0, 0]])


def test_missing_data_is_said_before_anything_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["retrieval_scale", "--data", str(tmp_path)])
    with pytest.raises(SystemExit, match="No data set lies in"):
        retrieval_scale.main()


def test_a_kept_index_is_used_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = SimpleNamespace(
        data=None, questions=4, runs=3, compare=True, compare_questions=2, compare_up_to=100, cache=None
    )
    answers = iter([{"p50": 1.0, "p95": p95} for p95 in (9.0, 3.0, 5.0)] * 2)
    monkeypatch.setattr(retrieval_scale, "_ask", lambda *rest: next(answers))
    name, first = retrieval_scale.run(200, arguments, tmp_path)
    assert (name, first["index"]["p95"]) == ("made-up", 5.0)
    assert "langchain" not in first
    monkeypatch.setattr(retrieval_scale, "make_index", lambda *rest: pytest.fail("made again"))
    _, again = retrieval_scale.run(200, arguments, tmp_path)
    assert "made_s" in first
    assert "made_s" not in again


def test_the_curve_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    results = {
        10_000: {
            "index": {"p50": 5.0, "p95": 9.0, "recall": 1.0, "info": None},
            "langchain": {"p50": 400.0, "p95": 500.0},
        },
        1_000_000: {"index": {"p50": 30.0, "p95": 50.0, "recall": 0.98, "info": {"recall_at_10": 0.97}}},
    }
    retrieval_scale.draw(results, tmp_path / "latency.png", "made-up corpus")
    assert (tmp_path / "latency.png").read_bytes().startswith(b"\x89PNG")
