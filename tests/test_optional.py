"""What only improves an answer may fail without losing it; the trace and the log say so."""

import asyncio
import importlib
import json
import logging
from pathlib import Path
from typing import Any, get_args

import pytest

from adaptive_rag import AdaptiveRAG
from adaptive_rag.context.groups import MECHANISMS
from adaptive_rag.errors import ConfigurationError
from adaptive_rag.index.memory import MemoryIndex
from adaptive_rag.optional import LEFT_OUT, Part, attempt, leaving_out
from adaptive_rag.state import OutputState
from adaptive_rag.testing import ScriptedChatModel
from tests.traces import decisions

FACT = "How high is the sea wall, and when was it finished?"
VIEWS = "What do people think of raising the sea wall?"
ADVICE = {
    "question": "How should I prepare for a flood?",
    "user_context": "I rent a flat on the ground floor.",
}
FOLLOW_UP = {
    "question": "When was it finished?",
    "history": [
        {"role": "user", "text": "How long is the sea wall?"},
        {"role": "agent", "text": "The sea wall is 2,340 metres long."},
    ],
}
UNKNOWN = "Who won the chess championship in Reykjavik?"

# Where each part is done: the function that the test lets fail, and a question that needs it.
PARTS: list[tuple[Part, str, Any]] = [
    ("answer style", "adaptive_rag.answer.choose:choose", FACT),
    ("diversity", "adaptive_rag.nodes.balance:cover", VIEWS),
    ("feedback", "adaptive_rag.nodes.balance:with_feedback", VIEWS),
    ("follow-up", "adaptive_rag.nodes.classify:complete", FOLLOW_UP),
    ("follow-up", "adaptive_rag.nodes.contextualize:plan_contextual", ADVICE),
    ("join", "adaptive_rag.answer.passages:join_neighbours", FACT),
    ("names", "adaptive_rag.answer.request:keep_subjects", FACT),
    ("nearest quote", "adaptive_rag.nodes.generate:nearest_quote", UNKNOWN),
    ("notes", "adaptive_rag.nodes.generate:_notes_on", FACT),
    ("overview", "adaptive_rag.nodes.generate:document_asked_for", FACT),
    ("parts", "adaptive_rag.query.parts:split_question", FACT),
    ("reader", "adaptive_rag.models.reader:OnnxReader.read", FACT),
    ("relevance", "adaptive_rag.nodes.rerank:score_candidates", FACT),
    ("sides", "adaptive_rag.nodes.balance:agreements", VIEWS),
    ("sides", "adaptive_rag.nodes.generate:_missing_side", VIEWS),
    ("situation", "adaptive_rag.nodes.rerank:reserve_for_context", ADVICE),
    ("small talk", "adaptive_rag.nodes.classify:reply_to_small_talk", FACT),
    ("speakers", "adaptive_rag.answer.contributions:read_turns", VIEWS),
    ("speakers", "adaptive_rag.answer.contributions:author_of", VIEWS),
    ("spelling", "adaptive_rag.nodes.classify:correct_spelling", FACT),
    ("units", "adaptive_rag.answer.sentences:read_units", FACT),
    ("wording", "adaptive_rag.analysis.wording:avoid_contextual", FACT),
    ("versions", "adaptive_rag.answer.request:prefer_valid", FACT),
    ("tables", "adaptive_rag.nodes.generate:work_out", FACT),
]
# With a chat model that writes "The sea wall is 4.1 metres high. [1]" and scores the passages.
WITH_MODEL: list[tuple[Part, str]] = [
    ("check", "adaptive_rag.answer.check:ground"),
    ("check", "adaptive_rag.nodes.generate:review_draft"),
]


def fails(*args: Any, **kwargs: Any) -> Any:
    raise ZeroDivisionError("a fault of ours")


def break_part(monkeypatch: pytest.MonkeyPatch, function: str) -> None:
    module, _, path = function.partition(":")
    *owners, name = path.split(".")
    place = importlib.import_module(module)
    for owner in owners:
        place = getattr(place, owner)
    monkeypatch.setattr(place, name, fails)


def left_out(output: OutputState) -> list[str]:
    return [decision["chosen"] for decision in decisions(output, LEFT_OUT)]


@pytest.mark.few(6)
@pytest.mark.parametrize(("part", "function", "asked"), PARTS)
def test_a_part_that_fails_is_left_out_of_the_answer_and_told(
    part: Part, function: str, asked: Any, town: MemoryIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_part(monkeypatch, function)
    rag = AdaptiveRAG(index=town, strict=False)
    for output in (rag.invoke(asked), asyncio.run(rag.ainvoke(asked))):
        assert output["answer"].strip() and (output["documents"] or output["abstained"])
        assert output["abstained"] or output["citations"]
        assert left_out(output).count(part) >= 1
        json.dumps(output["trace"])


# Without speakers, passages are still read as texts without words.
@pytest.mark.few(6)
@pytest.mark.parametrize(
    ("part", "function", "asked"), [row for row in PARTS if row[0] in set(MECHANISMS) - {"speakers"}]
)
def test_a_part_that_is_turned_off_is_not_tried(
    part: Part, function: str, asked: Any, town: MemoryIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_part(monkeypatch, function)
    output = AdaptiveRAG(index=town, without={part}).invoke(asked)
    assert output["answer"].strip() and not left_out(output)


@pytest.mark.parametrize(("part", "function"), WITH_MODEL)
def test_a_part_that_fails_beside_a_chat_model_is_left_out(
    part: Part, function: str, town: MemoryIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_part(monkeypatch, function)
    model = ScriptedChatModel(script={"generate": "The sea wall is 4.1 metres high. [1]"})
    output = AdaptiveRAG(index=town, model=model, strict=False).invoke(
        "How high is the sea wall?", context={"route": "factual"}
    )
    assert "4.1 metres" in output["answer"] and output["citations"]
    assert part in left_out(output)


@pytest.mark.few(4)
@pytest.mark.parametrize(("part", "function", "asked"), PARTS)
def test_with_the_setting_strict_a_part_that_fails_is_an_error(
    part: Part, function: str, asked: Any, town: MemoryIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_part(monkeypatch, function)
    with pytest.raises(ZeroDivisionError):
        AdaptiveRAG(index=town).invoke(asked)


def test_every_part_is_tried() -> None:
    tried = {part for part, *_ in (*PARTS, *WITH_MODEL)}
    assert tried | {"rows"} == set(get_args(Part))


def test_the_words_of_a_row_may_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tmp_path / "prices.csv"
    table.write_text("Item,Price\nHinge,£4.20\nHandle,£7.90\n")
    break_part(monkeypatch, "adaptive_rag.answer.compose:say_row")
    output = AdaptiveRAG([str(table)], index=str(tmp_path / "index"), strict=False).invoke(
        "What is the price of a hinge?"
    )
    assert "4.20" in output["answer"] and left_out(output) == ["rows"]


def test_settings_and_storage_stay_strict(town: MemoryIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise ConfigurationError("not usable")

    with leaving_out() as failed, pytest.raises(ConfigurationError):
        attempt("spelling", refuse, None)
    assert not failed
    monkeypatch.setattr(MemoryIndex, "search", fails)
    with pytest.raises(ZeroDivisionError):
        AdaptiveRAG(index=town, strict=False).invoke(FACT)


def test_outside_a_question_a_failure_is_an_error() -> None:
    with pytest.raises(ZeroDivisionError):
        attempt("spelling", fails, None)


def test_a_failure_is_logged_with_its_traceback(
    town: MemoryIndex, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    break_part(monkeypatch, "adaptive_rag.nodes.classify:correct_spelling")
    with caplog.at_level(logging.WARNING, "adaptive_rag"):
        AdaptiveRAG(index=town, strict=False).invoke("How high is the sea wall?")
    [line, *_] = [record for record in caplog.records if record.name == "adaptive_rag.left_out"]
    assert "spelling" in line.getMessage() and line.exc_info and "a fault of ours" in caplog.text
