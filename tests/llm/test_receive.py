"""What is taken over of a client's message: bounded, storable, and counted only where there is a count."""

from __future__ import annotations

import time

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, HumanMessageChunk
from langchain_core.messages.ai import UsageMetadata

from adaptive_rag.llm.exchange import read_reply
from adaptive_rag.llm.receive import MAX_DEPTH, MAX_FORM, Draft, is_shallow, receive, storable
from tests.llm.made import STEPS, request_for


def nested(depth):
    value = []
    for _ in range(depth - 1):
        value = [value]
    return value


def call(arguments):
    return AIMessage("", tool_calls=[{"name": "f", "args": arguments, "id": "1"}])


def usage(read, written):
    message = AIMessage("x")
    # A client may give what a server sends without looking at it.
    message.usage_metadata = {"input_tokens": read, "output_tokens": written, "total_tokens": 0}
    return receive(message, 100).usage_metadata


def test_a_text_is_read_up_to_eight_characters_a_token_and_a_form_up_to_its_own_bound():
    answer = receive(AIMessage("Word. " * 1000), 100)
    assert len(answer.text) <= 800
    assert "too long" in answer.response_metadata["cut"]
    form = receive(AIMessage("7 " * MAX_FORM), 100_000, form=True)
    assert len(form.text) == MAX_FORM
    assert "20,000 characters" in form.response_metadata["cut"]
    assert "cut" not in receive(AIMessage("Word."), 100).response_metadata


def test_a_stream_that_broke_off_is_read_up_to_its_last_whole_sentence():
    message = AIMessage("It is 4 m high. It costs 3", response_metadata={"model_provider": "openai"})
    read = receive(message, 100)
    assert (read.text, read.response_metadata["cut"]) == ("It is 4 m high.", "the reply broke off")
    message.content = "It is 4"
    with pytest.raises(ValueError, match="the reply broke off"):
        read_reply(request_for("generate"), receive(message, 100))


ENDINGS = {
    "finish_reason": "MAX_TOKENS",
    "stop_reason": "max_tokens",
    "stopReason": "max_tokens",
    "done_reason": "length",
    "incomplete_details": {"reason": "max_output_tokens"},
}


@pytest.mark.parametrize("name", ENDINGS)
@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("It is 4 m high. [1] It costs 3.5", "It is 4 m high. [1]"),
        ("It is 4 m high. It costs 3.", "It is 4 m high."),
        ("- It is high.\n2. It costs 3.5 mi", "- It is high.\n"),
        ("It is 4 m", "It is 4 m"),
        ("<think>It is", ""),
    ],
)
def test_an_answer_that_ended_at_its_limit_is_read_up_to_its_last_whole_sentence(name, said, read):
    message = AIMessage(said, response_metadata={name: ENDINGS[name]})
    assert receive(message, 100).text == read
    assert ("cut off" in receive(message, 100).response_metadata.get("cut", "")) is bool(read)
    assert receive(message, 100, form=True).text == said.partition("<think>")[0]
    if not read:
        with pytest.raises(ValueError, match="raise max_tokens"):
            read_reply(request_for("generate"), receive(message, 100))


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("So:\n```python\nrows[0][1]\n```\nIt is cited [1].", None),
        ("```\nrows[0][1]\n```", None),
        ("```markdown\nThe wall. [1]\n```", "The wall. [1]"),
        ("```text\nThe wall. [1]\n```\n```\nrows\n```", None),
        ("Hm. A wall?\n</think>\n\nThe wall.", "The wall."),
        ("Hm.\n</thinking>The wall.", "The wall."),
        ("The tag `</think>` ends it.", None),
        ("<|im_start|>assistant\nThe wall. [1]<|im_end|>\n", "The wall. [1]"),
        ("The wall. [1]</s><|endoftext|>", "The wall. [1]"),
        ("The mark `<|im_end|>` ends it.", None),
    ],
)
def test_an_answer_keeps_its_code_and_loses_what_is_around_it(said, read):
    assert receive(AIMessage(said), 100).text == (read or said)


def test_thoughts_do_not_count_to_the_bound_of_a_form():
    said = f"<think>{'well ' * 10_000}</think>" + '{"query": "Harbour Bridge"}'
    form = receive(AIMessage(said), 10_000, form=True)
    assert form.text == '{"query": "Harbour Bridge"}'
    assert "cut" not in form.response_metadata


def test_a_draft_adds_up_and_ends_even_where_its_pieces_are_empty():
    draft = Draft(10)
    counts = [UsageMetadata(input_tokens=n, output_tokens=1, total_tokens=n + 1) for n in (5, 0)]
    for text, count in zip(("The ", "wall."), counts, strict=True):
        assert draft.add(AIMessageChunk(text, id="m", usage_metadata=count)) is False
    message = receive(draft, 10)
    assert (message.text, message.id) == ("The wall.", "m")
    assert message.usage_metadata == {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}
    assert any(draft.add(AIMessageChunk("")) for _ in range(100))


def test_a_text_that_is_not_the_one_that_was_streamed_is_another_message():
    assert receive(AIMessage("The wall.\n", id="m"), 100).id == "m"
    assert receive(AIMessage("<think>hm</think>The wall.", id="m"), 100).id is None


@pytest.mark.parametrize("given", [None, "text", {"raw": 1}, HumanMessage("x")])
def test_what_is_no_message_of_a_model_is_refused(given):
    with pytest.raises(ValueError, match="instead of the model's message"):
        receive(given, 100)
    draft = Draft(10)
    draft.add(HumanMessageChunk("x"))
    with pytest.raises(ValueError, match="of type 'HumanMessageChunk'"):
        receive(draft, 10)


def test_what_cannot_be_encoded_is_taken_out_of_texts_and_forms():
    assert receive(AIMessage("a\0b\ud800"), 100).text == "ab?"
    assert storable({"a\ud800": ["\0", "\udfff", 7, None]}) == {"a?": ["", "?", 7, None]}


def test_arguments_of_a_tool_call_that_are_no_valid_json_are_repaired():
    invalid = {"name": "f", "args": "{'query': 'Harbour Bridge',}", "id": "1", "error": "not JSON"}
    message = receive(AIMessage("", invalid_tool_calls=[invalid, {**invalid, "args": None}]), 100, form=True)
    assert read_reply(request_for("enhance"), message).query == "Harbour Bridge"


def test_deep_and_long_arguments_of_tool_calls_are_left_out():
    assert is_shallow(nested(MAX_DEPTH))
    assert not is_shallow(nested(MAX_DEPTH + 1))
    assert not is_shallow({str(n): n for n in range(MAX_FORM)})
    for arguments in ({"a": nested(300)}, {"query": "x" * (MAX_FORM + 1)}):
        message = receive(call(arguments), 100)
        assert message.tool_calls == []
        assert "too long, or nested too deeply" in message.response_metadata["cut"]
    assert len(receive(call({"query": "Harbour Bridge"}), 100).tool_calls) == 1


def test_only_counts_are_counted():
    assert usage(5, 7) == {"input_tokens": 5, "output_tokens": 7, "total_tokens": 12}
    for read, written in ((None, None), (-5, -7), ("5", "7"), (10**12, 10**400)):
        assert usage(read, written) is None


def test_a_refusal_says_so():
    with pytest.raises(ValueError, match="the model refused: No"):
        read_reply(request_for("generate"), receive(AIMessage("", additional_kwargs={"refusal": "No."}), 100))


# Repeated until the bound is full, each of these once took the square of its length, or more.
RUNS = [" ", "\n", "\t", "*", "-", "- ", "#", "1", "1.", "1 ", "[", "{", "}", '"', "'", "\\", "q ", ".", "? "]
RUNS += ["A. ", "[1", "[1] ", "[1,", "[source ", "<think>", "```\n", "Query:\n", "not an ", "1/1 ", "%", ": "]
RUNS += ["</s>", "<|a|>", "'a', ", '{"a":', "{'a':'", "passage ", "\u2028", "\ud800"]


@pytest.mark.few(20)
@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize(("before", "after"), [("", ""), ("1", "x"), ("Query: passage 1", "b")])
def test_a_reply_as_long_as_can_be_is_read_in_no_time(run, before, after):
    text = before + run * (MAX_FORM // len(run)) + after
    started = time.process_time()
    for step in STEPS:
        try:
            read_reply(request_for(step), receive(AIMessage(text), 2500, form=step != "generate"))
        except ValueError:
            continue
    # All eight steps take a tenth of a second together; with patterns that go back, one took twenty.
    assert time.process_time() - started < 5
