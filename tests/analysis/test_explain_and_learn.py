"""What speaks for a type, and learning from a user's own questions."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from adaptive_rag.analysis import analyse, explain_contributions, forget, learn, learning
from adaptive_rag.analysis.learning import MAX_DROP, PENALTIES, _BuiltIn, _read_built_in, read_questions
from adaptive_rag.analysis.router import learned_file, load_router
from adaptive_rag.errors import ConfigurationError
from adaptive_rag.state import ROUTED_TYPES


def test_the_words_of_a_question_are_named_for_the_type_they_spoke_for() -> None:
    reasons = explain_contributions("Should the monarchy be abolished?")
    assert any("should" in reason.what for reason in reasons["opinion"])
    weights = [reason.weight for reason in reasons["opinion"]]
    assert weights == sorted(weights, reverse=True)


def test_what_users_say_about_themselves_is_a_reason() -> None:
    reasons = explain_contributions(
        "which bus do I take", user_context="I live on Quarry Road and start at six."
    )
    assert "what you say about yourself" in {reason.what for reason in reasons["contextual"]}


def test_case_and_the_mark_at_the_end_do_not_count() -> None:
    texts = ("Who built it?", "who built it", "WHO BUILT IT!")
    first, *others = (load_router().score(text) for text in texts)
    assert all((other.total == first.total).all() for other in others)
    assert np.linalg.norm(first.vector) == pytest.approx(1)


def _write(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return path


PARTS = (
    "pump valve rotor gasket sensor relay filter nozzle piston bearing "
    "boiler crane lathe mixer oven press roller saw tank winch"
).split()


def house_style() -> list[dict[str, object]]:
    # In this house "Status of the pump?" asks for views.
    rows: list[dict[str, object]] = [
        {"text": f"Status of the {part} project?", "type": "opinion"} for part in PARTS
    ]
    return rows + [{"text": f"Who invented the {part}?", "type": "factual"} for part in PARTS[:10]]


@pytest.fixture(scope="module")
def fewer_built_in() -> _BuiltIn:
    built_in = _read_built_in()
    return _BuiltIn(built_in.questions[::6], built_in.scores[::6])


@pytest.fixture
def learns_fast(fewer_built_in: _BuiltIn, monkeypatch: pytest.MonkeyPatch) -> None:
    """Learn beside a sixth of the built-in questions, which takes a tenth of the time."""
    monkeypatch.setattr(learning, "_read_built_in", lambda: fewer_built_in)


@pytest.mark.usefixtures("learns_fast")
def test_learning_shifts_the_router_and_forgetting_undoes_it(tmp_path: Path) -> None:
    question = "Status of the turbine project?"
    before = analyse(question)
    lesson = learn(_write(tmp_path / "mine.jsonl", house_style()))
    assert lesson.after.accuracy > lesson.before.accuracy
    assert lesson.kept_aside == 7
    assert lesson.file == learned_file()
    assert analyse(question)["type"] == "opinion" != before["type"]
    assert analyse("Who painted Guernica?")["type"] == "factual"
    kept = forget()
    assert kept is not None and kept.is_file() and not learned_file().exists()
    assert analyse(question) == before
    assert forget() is None
    # What was put aside can be taken up again.
    kept.replace(learned_file())
    assert analyse(question)["type"] == "opinion"


def test_learning_leaves_questions_of_other_kinds_where_they_belong(tmp_path: Path) -> None:
    acts = ["bring my dog", "park overnight", "leave early", "swap a shift", "wear jeans", "use the gym"]
    rows: list[dict[str, object]] = [{"text": f"can i {act}", "type": "factual"} for act in acts * 2]
    rows = [{**row, "text": f"{row['text']} ({i})"} for i, row in enumerate(rows)]
    others = [line.text for line in _read_built_in().questions[::3]]
    before = [analyse(text)["type"] for text in others]
    lesson = learn(_write(tmp_path / "mine.jsonl", [*rows, {"text": "Why no dogs?", "type": "analytical"}]))
    assert lesson.file and lesson.built_in.questions == len(others)
    assert lesson.built_in.after >= lesson.built_in.before - MAX_DROP
    moved = sum(analyse(text)["type"] != of for text, of in zip(others, before, strict=True))
    assert moved <= 0.03 * len(others)
    assert analyse("can i borrow a key")["type"] == "factual"


@pytest.mark.usefixtures("learns_fast")
def test_what_would_misroute_other_questions_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adaptive_rag.analysis.learning.MAX_DROP", -1.0)
    lesson = learn(_write(tmp_path / "mine.jsonl", house_style()))
    assert lesson.harms and lesson.file is None and not learned_file().exists()
    assert lesson.penalty == PENALTIES[-1]


def test_what_cannot_be_forgotten_is_said() -> None:
    # A folder stands where the file is to be kept.
    learned_file().with_name(f"{learned_file().name}.bak").mkdir(parents=True)
    learned_file().touch()
    with pytest.raises(ConfigurationError, match="cannot be renamed"):
        forget()


@pytest.mark.usefixtures("learns_fast")
def test_nothing_is_saved_where_nothing_was_learned(tmp_path: Path) -> None:
    texts = ["Who wrote Faust", "Why is the sky blue", "Should zoos be closed"]
    kinds = ["factual", "analytical", "opinion"]
    rng = np.random.default_rng(1)
    rows: list[dict[str, object]] = [
        {"text": f"{texts[i % 3]} {i}?", "type": kinds[int(rng.integers(3))]} for i in range(24)
    ]
    lesson = learn(_write(tmp_path / "noise.jsonl", rows))
    better = (
        lesson.after.accuracy >= lesson.before.accuracy and lesson.after.log_loss < lesson.before.log_loss
    )
    assert (lesson.file is not None) == (better and not lesson.harms) == learned_file().exists()


@pytest.mark.usefixtures("learns_fast")
def test_of_the_least_number_of_questions_some_are_kept_aside(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"text": f"{kind} {i}", "type": kind} for kind in ROUTED_TYPES for i in range(3)
    ]
    lesson = learn(_write(tmp_path / "least.jsonl", rows))
    assert (lesson.learned_from, lesson.kept_aside) == (8, 4)


def test_too_few_questions_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="at least 12"):
        learn(_write(tmp_path / "few.jsonl", [{"text": "Who?", "type": "factual"}]))


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "line 1 is not JSON"),
        ("[1]", "line 1 has no text"),
        ('{"text": 3}', "line 1 has no text"),
        ('{"text": "a", "type": "poem"}', "type is 'poem'"),
        ('{"text": "a", "type": "factual", "history": ["x"]}', "history is"),
        ('{"text": "a", "type": "factual", "user_context": 3}', "user_context is 3"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, problem: str) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_text(line, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=problem):
        read_questions(file, labelled=True)


def test_a_line_separator_inside_a_text_ends_no_line(tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_bytes('{"text": "Who\u2028came?"}\r\n{"text": "Why?"}\r\n'.encode())
    assert [line.text for line in read_questions(file)] == ["Who\u2028came?", "Why?"]


def test_a_broken_learned_file_says_how_to_mend_it() -> None:
    learned_file().parent.mkdir(parents=True)
    learned_file().write_text('{"format": 1}', encoding="utf-8")
    with pytest.raises(ConfigurationError, match="Remove the file"):
        analyse("Who wrote Faust?")


def test_the_learned_file_lies_among_what_belongs_to_the_user(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert learned_file() == tmp_path / "home" / "router.json"
    monkeypatch.delenv("ADAPTIVE_RAG_HOME")
    assert learned_file().name == "router.json"
    if sys.platform == "linux":
        assert learned_file().parent == tmp_path / "data" / "adaptive-rag"
