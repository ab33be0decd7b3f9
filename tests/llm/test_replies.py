"""What models write instead of the form they were asked for: it is read, or refused, never guessed."""

from __future__ import annotations

import json
import time

import pytest

from adaptive_rag.llm.ask import ask
from adaptive_rag.llm.receive import MAX_DEPTH
from adaptive_rag.llm.replies import answer_text, json_values
from adaptive_rag.nodes.contextualize import ask_to_contextualize
from adaptive_rag.nodes.enhance import ask_to_enhance
from adaptive_rag.testing import ScriptedChatModel
from tests.llm.made import budget, context, request_for

THREE = {"sub_questions": ["a one", "b two", "c three"]}
NO_CONTEXT = {"context": "", "query": "When was it opened?"}
IN_ORDER = {"scores": [7, 3, 0]}

READ = [
    # classify
    ("classify", '{"type": "analytical", "reason": "asks why"}', {"type": "analytical"}),
    ("classify", '{"Type": "Opinion", "confidence": 0.9, "notes": null}', {"type": "opinion"}),
    ("classify", "Contextual", {"type": "contextual"}),
    ("classify", "This is an opinion-based question.", {"type": "opinion"}),
    ("classify", "```json\n{'type': 'factual', 'reason': None}\n```", {"type": "factual"}),
    ("classify", "<think>factual? or opinion?</think>\n{\"type\": \"opinion\"}", {"type": "opinion"}),
    # enhance
    ("enhance", '{"query": "Harbour Bridge opening date"}', {"query": "Harbour Bridge opening date"}),
    ("enhance", 'Sure! Here it is:\n```json\n{"query": "Harbour Bridge opened year"}\n```\nHope it helps.',
     {"query": "Harbour Bridge opened year"}),
    ("enhance", '"Harbour Bridge opening ceremony date"', {"query": "Harbour Bridge opening ceremony date"}),
    ("enhance", '{"rewritten_query": "Harbour Bridge opening"}', {"query": "Harbour Bridge opening"}),
    ("enhance", '{"query": "Harbour Bridge opening",}', {"query": "Harbour Bridge opening"}),
    # decompose and viewpoints
    ("decompose", '{"sub_questions": ["a one", "b two", "c three"]}', THREE),
    ("decompose", "Here they are:\n\n- a one\n- b two\n- c three\n\nLet me know!", THREE),
    ("decompose", "1. a one 2. b two 3. c three", THREE),
    ("decompose", '{"sub_questions": "1. a one\\n2. b two\\n3. c three"}', THREE),
    ("decompose", '{"1": "a one", "2": "b two", "3": "c three"}', THREE),
    ("decompose", '{"sub_questions": ["1. a one", null, "2. b two", "A ONE", "3. c three"]}', THREE),
    ("decompose", '{"sub_questions": ["3 causes of it", "5 ways out", "10 steps"]}',
     {"sub_questions": ["3 causes of it", "5 ways out", "10 steps"]}),
    ("viewpoints", "Viewpoint 1: it helps\nViewpoint 2: it harms\nViewpoint 3: it costs",
     {"viewpoints": ["it helps", "it harms", "it costs"]}),
    # contextualize
    ("contextualize", '{"context": "a tourist", "query": "When was it opened?"}',
     {"context": "a tourist", "query": "When was it opened?"}),
    ("contextualize", "**Context:** a tourist\n**Query:** When was it opened?",
     {"context": "a tourist", "query": "When was it opened?"}),
    ("contextualize", "When was the bridge in the harbour opened?",
     {"context": "", "query": "When was the bridge in the harbour opened?"}),
    ("contextualize", '{"context": None, "query": "When was it opened?"}', NO_CONTEXT),
    # score
    ("score", '{"scores": ["7/10", "3 out of 10", "0"]}', IN_ORDER),
    ("score", "Passage 1: 7/10\nPassage 2: 3/10\nPassage 3: 0/10", IN_ORDER),
    ("score", "**Passage 3**: 0/10 - about ships\n**Passage 1**: 7/10 - has the year\n**Passage 2**: 3/10",
     IN_ORDER),
    ("score", '{"passage 3": "0/10", "passage 1": "7/10", "passage 2": "3/10"}', IN_ORDER),
    ("score", '[{"passage": 2, "score": 3}, {"passage": 1, "score": 7}, {"passage": 3, "score": 0}]',
     IN_ORDER),
    ("score", '[{"index": 0, "score": 7}, {"index": 1, "score": 3}, {"index": 2, "score": 0}]', IN_ORDER),
    ("score", '{"scores": [0.7, 0.3, 0.0]}', IN_ORDER),
    ("score", "The scores are 7, 3 and 0.", IN_ORDER),
    # select, of three
    ("select", '{"passages": [3, 1]}', {"passages": [3, 1]}),
    ("select", '{"passages": [3, 3, 3]}', {"passages": [3, 3, 3]}),
    ("select", '{"passages": [0, 2]}', {"passages": [1, 3]}),
    ("select", "[3], [1]", {"passages": [3, 1]}),
    ("select", "I would take passage 3 and passage 1.", {"passages": [3, 1]}),
    ("select", '{"selected": [{"passage": 3}, {"passage": 1}]}', {"passages": [3, 1]}),
    # numbers that name no passage are dropped
    ("select", '{"passages": [3, 4]}', {"passages": [3]}),
]  # fmt: skip

REFUSED = [
    ("enhance", '{"query": "painter artist ceiling fresco old town hall painted by"}'),
    ("enhance", '{"query": "..."}'),
    ("decompose", '{"sub_questions": ["What caused the mill to close?", "Why?", "When?"]}'),
    ("contextualize", '{"context": "", "query": "..."}'),
    ("classify", "None"),
    ("classify", "{}"),
    ("classify", '{"type": "philosophical"}'),
    ("classify", "It could be factual or analytical."),
    ("classify", "This question is not factual."),
    ("enhance", '{"query": null}'),
    ("enhance", '{"query": "None"}'),
    ("enhance", "Error: the model is overloaded"),
    ("enhance", '{"query": "recipes for apple cake"}'),
    ("enhance", "A first paragraph.\n\nA second one, about the Harbour."),
    ("decompose", '{"sub_questions": ["only one"]}'),
    ("decompose", '{"sub_questions": ["same", "Same", "1. same"]}'),
    ("decompose", "What is the opening date of the Harbour Bridge?"),
    ("viewpoints", "[]"),
    ("contextualize", '{"context": "a tourist"}'),
    ("contextualize", "As an AI, I do not know the context."),
    ("contextualize", '{"context": "a tourist", "query": "None"}'),
    ("score", '{"scores": [7, 3]}'),
    ("score", '{"scores": [7, 3, 0, 1]}'),
    ("score", '{"scores": [7, null, 0]}'),
    ("score", '{"scores": [7, 30, 0]}'),
    ("score", '{"scores": [7, NaN, 0]}'),
    ("score", '[{"passage": 1, "score": 7}, {"passage": 1, "score": 3}, {"passage": 3, "score": 0}]'),
    ("score", "Passage 1 is the best one."),
    ("select", '{"passages": []}'),
    ("select", '{"passages": [4, 5]}'),
    ("select", '{"passages": [1.5, 2]}'),
    ("select", "none of them"),
]  # fmt: skip


@pytest.mark.parametrize(("step", "written", "expected"), READ)
def test_a_reply_is_read_whatever_its_form(step, written, expected):
    model = ScriptedChatModel(script={step: written})
    [reply] = ask([request_for(step)], context(model), budget())
    assert reply.result is not None, reply.reason
    result = reply.result.model_dump()
    assert {key: result[key] for key in expected} == expected
    assert (reply.calls, reply.notes) == (1, ())


@pytest.mark.parametrize(("step", "written"), REFUSED)
def test_a_reply_that_would_have_to_be_guessed_is_shown_to_the_model_once_then_given_up(step, written):
    model = ScriptedChatModel(script={step: written})
    [reply] = ask([request_for(step)], context(model), budget())
    assert (reply.result, reply.calls) == (None, 2)
    assert "not usable" in reply.reason
    first, second = (messages for _, messages in model.asked)
    assert [m.text for m in second[: len(first)]] == [m.text for m in first]
    said, correction = second[len(first) :]
    assert said.text == written
    assert "could not be used" in correction.text


def test_the_words_of_the_user_are_no_copy_of_a_prompt_that_has_them_in_its_example():
    query = {"query": "What does it cost a bakery to register a lorry?"}
    model = ScriptedChatModel(script={"enhance": {"query": "old town hall"}, "contextualize": query})
    requests = [
        ask_to_enhance("Old town hall?"),
        ask_to_contextualize("And for a lorry?", "I run a bakery.", []),
    ]
    enhanced, contextualized = ask(requests, context(model), budget())
    assert enhanced.result.query == "old town hall"
    assert contextualized.result.context == "I run a bakery."


@pytest.mark.parametrize(
    "written",
    [{"score": 7}, {"scores": 7}, {"1": 7}, {"passage": 1, "score": 7}, {"relevance": 7, "why": "x"}],
)
def test_the_score_of_a_single_passage_needs_no_list(written):
    model = ScriptedChatModel(script={"score": written})
    [reply] = ask([request_for("score", 1)], context(model), budget())
    assert (reply.result.scores, reply.calls) == ([7], 1)


@pytest.mark.parametrize("form", ['{{"answer": "{}"}}', '```json\n{{"answer": "{}"}}\n```'])
def test_an_answer_in_a_form_is_taken_out_of_it(form):
    assert answer_text(form.format("The wall is old [1].")) == "The wall is old [1]."


def test_an_empty_answer_is_asked_for_again():
    model = ScriptedChatModel(script={"generate": ["   ", "Opened in 1932 [1]."]})
    [reply] = ask([request_for("generate")], context(model), budget())
    assert (reply.calls, reply.result.text) == (2, "Opened in 1932 [1].")
    assert "empty" in reply.notes[0]


VALUES = [
    ('{"query": "x"}', [{"query": "x"}]),
    ('Here: {"a": 1}, and [2, 3].', [{"a": 1}, [2, 3]]),
    ("[[1, 2], [3]]", [[[1, 2], [3]]]),
    # as Python writes it
    ("{'a': True, 'b': None, 'c': False}", [{"a": True, "b": None, "c": False}]),
    ("['it\\'s', 'that']", [["it's", "that"]]),
    # commas and line ends that JSON forbids
    ('{"a": [1, 2,],}', [{"a": [1, 2]}]),
    ('{"a": "one\ntwo"}', [{"a": "one\ntwo"}]),
    # what is quoted in a value is no bracket
    ("{'a': 'see ] or }'} [4, 5]", [{"a": "see ] or }"}, [4, 5]]),
    # a marker is no value unless it stands alone
    ("It was opened in 1932 [1], as is said [2].", []),
    ("See [1]: [2, 3]", [[2, 3]]),
    # prose in brackets is none, and hides nothing behind it
    ("{the query}", []),
    ('["a", b]', []),
    ("Don't [do that]: {'a': 'x'}", [{"a": "x"}]),
    # what was cut off is not completed
    ('{"a": "x"} and {"b": [1', []),
    ("['a', 'b'", []),
    ("", []),
]


@pytest.mark.parametrize(("text", "expected"), VALUES)
def test_the_json_of_a_text_is_found(text, expected):
    assert json_values(text) == expected


NESTED = {
    "open": lambda n: "[" * n,
    "closed": lambda n: "[" * n + "]" * n,
    "objects": lambda n: "{" * n + "}" * n,
    "mixed": lambda n: '[{"a":' * n,
    "single quotes": lambda n: "['a', " * n + "]" * n,
    "markers": lambda n: "It is so [1]. " * n,
    "notes": lambda n: "It is so [see the note]. " * n,
}


@pytest.mark.parametrize("kind", NESTED)
def test_brackets_without_json_hold_nothing_and_are_read_in_no_time(kind):
    text = NESTED[kind](8000)
    started = time.monotonic()
    assert json_values(text) == []
    # Takes tenths of a second; what grows with the square of the length takes minutes.
    assert time.monotonic() - started < 20


def test_brackets_are_mended_as_deep_as_a_form_may_reach():
    [value] = json_values("['a', " * MAX_DEPTH + "]" * MAX_DEPTH)
    assert json.dumps(value).count("[") == MAX_DEPTH
