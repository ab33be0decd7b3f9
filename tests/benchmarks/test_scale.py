"""The corpora of the scale benchmark are what they claim, and its figures follow from what was found."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from adaptive_rag.index import Index
from benchmarks import scale, scale_corpora, scale_sides
from benchmarks.scale import make_index, store_questions
from benchmarks.scale_corpora import STOP_WORDS, Corpus, embed, made_up, public
from benchmarks.scale_figures import draw, machine_for, power_law, price_table, straight_line, tables
from benchmarks.scale_sides import CONDITIONS, ReadyMade, ndcg, recall_at_10, stored_questions


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


def test_all_sides_answer_and_are_judged_alike(kept: Path, corpus: Corpus) -> None:
    ours = scale_sides.ask_index(kept, 8)
    assert ours["recall"] == 1.0
    assert ours["info"] is None
    assert len(ours["ndcg"]) == 7, "the last question was asked first, to open the index"
    assert np.mean(ours["ndcg"]) > 0.5
    assert all(ours[part]["p95"] >= ours[part]["p50"] > 0 for part in ("vector", "words", "whole"))
    for theirs in (scale_sides.ask_langchain(corpus, kept, 4), scale_sides.ask_lancedb(corpus, kept, 4)):
        assert len(theirs["ndcg"]) == 4
        assert np.mean(theirs["ndcg"]) > 0.5


def test_a_condition_is_judged_against_the_nearest_that_fulfil_it(kept: Path, corpus: Corpus) -> None:
    filtered = scale_sides.ask_filtered(kept, 8)["filters"]
    assert {name: one["recall"] for name, one in filtered.items()} == dict.fromkeys(CONDITIONS, 1.0)
    _, _, _, nearest = stored_questions(kept, 8)
    pages = {id_: int(id_, 16) % 100 + 1 for each in nearest["page = 7"] for id_ in each}
    assert set(pages.values()) == {7}
    assert all(len(each) == min(10, 300 // 100) for each in nearest["page = 7"])


def test_chunks_are_added_and_found_by_a_reader_that_was_open(
    kept: Path, corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = SimpleNamespace(questions=8, compare_questions=2, data=None, cache=None)
    found = scale._ask_added(300, arguments, kept)
    assert found["found_s"] > 0
    assert found["chunks"] == found["added"] == scale_sides.ADDED
    assert len(Index.open(kept / "kb", ReadyMade({}))) == 300, "the index itself stays as it is"


def test_recall_counts_the_nearest_that_were_found(kept: Path, corpus: Corpus) -> None:
    asked = corpus.questions()
    index = Index.open(kept / "kb", embeddings=ReadyMade(dict(zip(asked.texts, asked.vectors, strict=True))))
    _, _, _, nearest = stored_questions(kept, 1)
    half = {id_ if i % 2 else f"missing-{i}" for i, id_ in enumerate(sorted(nearest[""][0]))}
    assert recall_at_10(index, asked.texts[:1], nearest[""]) == 1.0
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
    monkeypatch.setattr("sys.argv", ["scale", "--data", str(tmp_path)])
    with pytest.raises(SystemExit, match="No data set lies in"):
        scale.main()


def test_a_kept_index_is_used_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = SimpleNamespace(
        **dict.fromkeys(("data", "cache", "bucket", "filters", "add", "make_only")),
        **{"questions": 4, "runs": 3, "compare": True, "compare_questions": 2, "compare_up_to": 100},
    )
    answers = iter([{"p50": 1.0, "p95": p95} for p95 in (9.0, 3.0, 5.0)] * 2)
    monkeypatch.setattr(scale, "_ask", lambda *rest: next(answers))
    name, first = scale.run(200, arguments, tmp_path)
    assert (name, first["index"]["p95"]) == ("made-up", 5.0)
    assert "langchain" not in first
    monkeypatch.setattr(scale, "make_index", lambda *rest: pytest.fail("made again"))
    _, again = scale.run(200, arguments, tmp_path)
    assert (first["kept"], again["kept"]) == (False, True)
    assert first["made"] == again["made"]


def test_a_fit_gives_back_the_formula_that_made_the_figures() -> None:
    sizes = [10_000, 100_000, 1_000_000]
    assert power_law(sizes, [3 * n**0.25 for n in sizes]).at(10_000_000) == pytest.approx(
        3 * 10_000_000**0.25
    )
    assert straight_line(sizes, [0.3 + 2e-6 * n for n in sizes]).at(10_000_000) == pytest.approx(20.3)


@pytest.mark.parametrize(
    ("resident_gb", "expected"), [(1, (1, 8)), (4, (1, 8)), (5, (1, 16)), (200, (2, 256))]
)
def test_memory_is_bought_in_the_sizes_that_there_are(resident_gb: float, expected: tuple[int, int]) -> None:
    machines, gib, hour = machine_for(resident_gb)
    assert (machines, gib) == expected
    assert hour == pytest.approx(0.0102 * gib)


def test_the_curves_are_drawn_and_what_is_computed_is_named_so(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    results = {
        size: {
            "index": {"p50": p50, "cpu": p50, "whole_gb": 0.3 + size / 1e6},
            "disk": {"rows": size / 4e5, "words": size / 2e6},
            "bucket": {"far": {"requests_per_question": 100.0}},
        }
        for size, p50 in ((10_000, 5.0), (100_000, 10.0), (1_000_000, 20.0))
    }
    lines = [*tables(results), *price_table(results)]
    assert lines[0].endswith("| 10,000,000, computed | 100,000,000, computed |")
    assert any(
        line.startswith("| fused search, processor ms | 5 | 10 | 20 |") and "| 40 |" in line for line in lines
    )
    assert any("30 GB, $1 | 1 of 32 GiB" in line and line.endswith("$40 |") for line in lines)
    draw(results, tmp_path / "scale.png")
    assert (tmp_path / "scale.png").read_bytes().startswith(b"\x89PNG")
