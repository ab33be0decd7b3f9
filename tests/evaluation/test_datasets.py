import json
import re
from pathlib import Path
from typing import Any

import pytest

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.evaluation.corpora import open_corpus
from adaptive_rag.evaluation.datasets import Dataset, limited, load_dataset, with_gold
from adaptive_rag.evaluation.provenance import begin_run
from adaptive_rag.evaluation.records import QUESTIONS, RUN, RUN_FILES
from tests.evaluation.conftest import CORPUS, QRELS, QUERIES


def test_a_beir_folder_gives_questions_with_labels_and_passages_with_titles(tiny: Dataset) -> None:
    assert tiny.name == "tiny"
    assert [passage["text"] for passage in tiny.passages][:2] == [
        "Harbour\nThe harbour was dredged in 1987.",
        "A higher wall protects homes.",
    ]
    assert tiny.passages[0]["metadata"] == {"_id": "p1"}
    first, second, third = tiny.questions
    assert (first.type, first.reference, first.gold) == ("factual", "In 1987.", {"p1": 1})
    assert second.aspects == {"p2": ("support/c01",), "p3": ("undermine/c01",)}
    assert third.user_context == "I want to read in the library."
    assert [turn["role"] for turn in third.history] == ["user", "agent"]


def test_half_an_emoji_in_a_passage_is_replaced(write_set: Any, tmp_path: Path) -> None:
    corpus = [{"_id": "p1", "text": "The tide rises \ud83d."}, *CORPUS[1:]]
    dataset = load_dataset(write_set(corpus=corpus))
    assert dataset.passages[0]["text"] == "The tide rises ?."
    open_corpus(dataset, tmp_path / "cache")


def test_a_title_that_the_text_begins_with_is_not_repeated(write_set: Any) -> None:
    corpus = [{"_id": "p1", "title": "Tides", "text": "Tides\nrise twice a day."}, *CORPUS[1:]]
    assert load_dataset(write_set(corpus=corpus)).passages[0]["text"] == "Tides\nrise twice a day."


def test_what_only_the_scorer_may_see_stays_out_of_what_is_asked(tiny: Dataset) -> None:
    asked = [(question.text, question.user_context, question.history) for question in tiny.questions]
    assert "SECRET" not in repr(asked)


NO_QUESTION = {"queries": [], "qrels": []}
ASKED = {"_id": "q1", "text": "x"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"qrels": [*QRELS, ("q9", "p1", 1)]}, "qrels.tsv:6 names 'q9', which queries.jsonl does not hold"),
        ({"qrels": [*QRELS, ("q1", "p9", 1)]}, "qrels.tsv:6 names 'p9', which corpus.jsonl does not hold"),
        ({"aspects": [("q2", "p9", "support/c1")]}, "aspects.tsv:2 names 'p9'"),
        ({"corpus": []}, "corpus.jsonl is empty"),
        (NO_QUESTION, "queries.jsonl is empty"),
        ({"corpus": [*CORPUS, CORPUS[0]]}, "corpus.jsonl:5 repeats the _id 'p1'"),
        ({"queries": [*QUERIES, QUERIES[0]]}, "queries.jsonl:4 repeats the _id 'q1'"),
        ({"qrels_header": "qid\tpid\tgrade"}, "has the columns qid, pid, grade; expected query-id, c"),
        ({"qrels": [("q1", "p1")]}, "qrels.tsv:2 has 2 columns; expected 3"),
        ({"qrels": [("q1", "p1", "high")]}, "has the score 'high'; expected a whole number"),
        ({"qrels": [("q1", "p1", 0)]}, "names no relevant passage"),
        ({"corpus": [{"id": "p1", "text": "x"}]}, "corpus.jsonl:1 has no text field '_id'; it has 'id'"),
        ({"queries": [{**ASKED, "type": "Odd"}]}, "has the type 'Odd'; expected one of factual"),
        ({"queries": [{**ASKED, "history": ["hi"]}]}, "has the history turn 'hi'"),
        ({"queries": [{**ASKED, "reference_answer": 42}]}, "'q1' has reference_answer = 42; expected a text"),
        ({"queries": [{**ASKED, "user_context": [1]}]}, "'q1' has user_context = [1]; expected a text"),
        ({"queries": [{**ASKED, "text": " "}]}, "the question 'q1' cannot be asked."),
        ({"queries": [{**ASKED, "text": "x" * 20_001}]}, "has 20,001 characters"),
    ],
)
def test_unusable_data_are_refused_by_file_line_and_remedy(
    write_set: Any, change: dict[str, Any], message: str
) -> None:
    if "queries" in change and "qrels" not in change:
        change = {**change, "qrels": [("q1", "p1", 1)], "aspects": []}
    elif "queries" in change or "corpus" in change:
        change = {"aspects": [], **change}
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        load_dataset(write_set(**change))


def test_a_folder_that_is_broken_or_no_data_set_is_refused(write_set: Any) -> None:
    folder = write_set()
    with (folder / "corpus.jsonl").open("a") as file:
        file.write("{broken\n")
    with pytest.raises(ConfigurationError, match=r"corpus\.jsonl:5 is not a line of JSON"):
        load_dataset(folder)
    (folder / "qrels.tsv").unlink()
    with pytest.raises(ConfigurationError, match=r"'tiny' has no qrels\.tsv"):
        load_dataset(folder)
    with pytest.raises(ConfigurationError, match=r"is not a data set; expected a folder with corpus\.jsonl"):
        load_dataset(folder / "nowhere")


def test_questions_without_a_relevant_passage_are_left_out_and_counted(write_set: Any) -> None:
    dataset = load_dataset(write_set(qrels=[("q1", "p1", 1), ("q2", "p2", 0)], aspects=[]))
    assert [question.id for question in dataset.questions] == ["q1"]
    assert dataset.notes == ("tiny: 2 questions without a relevant passage left out.",)


def test_a_sample_keeps_the_order_and_the_corpus_and_follows_the_seed(tiny: Dataset) -> None:
    samples = {seed: [q.id for q in limited(tiny, 2, seed).questions] for seed in range(8)}
    assert all(ids == sorted(ids) and len(ids) == 2 for ids in samples.values())
    assert len({tuple(ids) for ids in samples.values()}) > 1
    assert limited(tiny, 2, 3) == limited(tiny, 2, 3)
    assert limited(tiny, 2, 0).passages == tiny.passages
    assert limited(tiny, None, 0) is tiny


def test_the_digest_follows_the_content(write_set: Any) -> None:
    before = load_dataset(write_set())
    after = load_dataset(write_set(corpus=[*CORPUS, {"_id": "p5", "text": "New."}]))
    assert before.corpus_digest != after.corpus_digest
    assert before.questions_digest == after.questions_digest


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    folder = tmp_path / "handbook"
    folder.mkdir()
    (folder / "town.txt").write_text("The sea wall is 4.1 metres high.\nIt was built in 1968.")
    known = {"question": "How high?", "ideal_answer": "4.1 m", "has_answer": True}
    unknown = {"question": "How deep?", "ideal_answer": "I do not know.", "has_answer": False}
    (folder / "val.json").write_text(json.dumps([{**known, "quote": "4.1  metres high"}, unknown]))
    return folder


def test_a_questions_file_is_read_with_the_documents_beside_it(documents: Path) -> None:
    for path, name in ((documents / "val.json", "val"), (documents, "handbook")):
        dataset = load_dataset(path)
        assert dataset.name == name
        assert [file.name for file in dataset.documents] == ["town.txt"]
        answerable, unanswerable = dataset.questions
        assert (answerable.reference, answerable.has_answer) == ("4.1 m", True)
        assert (unanswerable.reference, unanswerable.has_answer) == (None, False)


def test_a_chunk_that_holds_the_quote_is_relevant(documents: Path) -> None:
    chunks: list[Any] = [
        {"id": "c1", "text": "The sea wall is 4.1\nmetres high."},
        {"id": "c2", "text": "It was built in 1968."},
    ]
    dataset = with_gold(load_dataset(documents), chunks)
    assert [question.gold for question in dataset.questions] == [{"c1": 1}, {}]


def test_questions_without_documents_are_refused(documents: Path) -> None:
    (documents / "town.txt").unlink()
    with pytest.raises(ConfigurationError, match=r"No file to read|No document lies beside"):
        load_dataset(documents)


@pytest.mark.parametrize("name", ["ideal_answer", "answer", "quote", "user_context"])
def test_a_field_of_an_entry_is_a_text_or_null(documents: Path, name: str) -> None:
    for value in (42, 0, ["a", "b"], {"a": 1}):
        (documents / "val.json").write_text(json.dumps([{"question": "Well?", name: value}]))
        with pytest.raises(ConfigurationError, match=rf" has {name} = {re.escape(repr(value))}; expected a"):
            load_dataset(documents / "val.json")
    (documents / "val.json").write_text(json.dumps([{"question": "Well?", "has_answer": True, name: None}]))
    [question] = load_dataset(documents / "val.json").questions
    assert (question.reference, question.quote, question.user_context) == (None, None, "")


def test_the_results_of_a_run_beside_the_documents_are_no_documents(documents: Path) -> None:
    before, out = load_dataset(documents), documents / "adaptive-rag-eval"
    begin_run(out, dict.fromkeys(["settings", "data", "code", "routing"], ""), fresh=False)
    for name in {*RUN_FILES, "results.md"} - {RUN}:
        (out / name).write_text("[]")
    (out / QUESTIONS).write_text('{"question": "How high?", "has_answer": true')  # interrupted
    open_corpus(before, documents / "cache")
    after = load_dataset(documents)
    assert after.documents == before.documents
    assert after.corpus_digest == before.corpus_digest


def test_what_is_asked_from_is_no_document(documents: Path) -> None:
    (documents / "faq.json").write_text(json.dumps([{"question": "How high?", "answer": "4.1 m"}]))
    (documents / "late.jsonl").write_text('{"question": "Who?"}\n{"question": "Who?", "has_answer": false}')
    (documents / "more.json").write_text(
        json.dumps([{"question": "Why?", "has_answer": True}]), encoding="utf-8-sig"
    )
    named = load_dataset(documents / "faq.json")
    assert [file.name for file in named.documents] == ["town.txt"]
    whole = load_dataset(documents)
    assert [file.name for file in whole.documents] == ["faq.json", "town.txt"]
    texts = [question.text for question in whole.questions]
    assert texts == ["Who?", "Who?", "Why?", "How high?", "How deep?"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'[{"question": "Caf\xe9?", "has_answer": true}]', r"other\.json is not in UTF-8"),
        (b'[{"question": "Who?", "has_answer": true},]', r"other\.json is not JSON"),
        (b'[{"question": "Who?", "has_answer": true}, {"frage": "?"}]', r"Entry 2 of .*has no 'question'"),
    ],
)
def test_a_questions_file_that_cannot_be_read_is_named(documents: Path, content: bytes, message: str) -> None:
    (documents / "other.json").write_bytes(content)
    for path in (documents, documents / "other.json"):
        with pytest.raises(ConfigurationError, match=message):
            load_dataset(path)


def test_a_questions_file_without_readable_names_is_known_by_its_own(documents: Path) -> None:
    for file in documents.glob("*.json*"):
        file.unlink()
    (documents / "questions.jsonl").write_text('{"question: "Who?", "has_answer": true}\n')
    with pytest.raises(ConfigurationError, match=r"questions\.jsonl:1 is not a line of JSON"):
        load_dataset(documents)


def test_the_terms_beside_the_questions_belong_to_them(documents: Path) -> None:
    before = load_dataset(documents).questions_digest
    (documents / "ontology.yaml").write_text("parts: [wall]")
    assert load_dataset(documents).questions_digest != before
