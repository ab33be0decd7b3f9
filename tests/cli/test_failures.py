"""Where a chat model fails, one plain line on standard error says at what, why, and what was done instead."""

from __future__ import annotations

import pytest

from adaptive_rag.cli.session import _format_draft, show_answer
from adaptive_rag.index.memory import MemoryIndex
from adaptive_rag.llm import exchange, structured
from adaptive_rag.nodes import step
from adaptive_rag.testing import ScriptedChatModel
from benchmarks.chat_server import ChatServer, say_sensibly
from tests.cli.conftest import Run, parsed

QUESTION = "How long is the sea wall of Saltmere?"
QUOTED = "The sea wall of Saltmere is 2,340 metres long and 4.1 metres high."
INSTEAD = "The answer quotes the documents instead."


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structured, "_refused", {})
    monkeypatch.setattr(exchange, "BACKOFF", 0.001)


def ask(run: Run, index: str, url: str, *more: object, command: str = "ask"):
    at = ("-i", index, "-m", "openai:scripted", "--set", f"models.base_url={url}")
    return run(command, QUESTION, *at, *(() if command == "compare" else ("--route", "factual")), *more)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("behaviour", "why"),
    [
        ("500", "HTTP 500: The server had an error"),
        ("429", "HTTP 429: Rate limit reached"),
        ("empty", "the reply was empty"),
        ("not json", "the server's reply was empty, or not in the form"),
        ("reset", "Connection error"),
    ],
)
def test_a_server_that_fails_is_named_and_the_answer_is_a_success(
    run: Run, town_index: str, behaviour: str, why: str
) -> None:
    with ChatServer(behave=lambda number, body: behaviour) as server:
        result = ask(run, town_index, server.url)
        with_json = ask(run, town_index, server.url, "--json")
    assert result.exit_code == 0
    assert QUOTED in result.stdout
    assert "2,340" in parsed(with_json)["answer"] and with_json.stderr.endswith(f"{INSTEAD}\n")
    assert "3 model calls, none usable" in result.stdout
    [line] = result.stderr.splitlines()
    assert line.startswith("Note: The chat model failed at scoring passages and writing the answer: ")
    assert why in line and "\x1b" not in line
    assert line.endswith(INSTEAD)


@pytest.mark.parametrize(
    ("behaviour", "said"),
    [("wrong key", "refused the key"), ("unknown model", "does not know the chat model")],
)
def test_what_the_user_must_mend_is_an_error_that_says_that_no_answer_was_made(
    run: Run, town_index: str, behaviour: str, said: str
) -> None:
    with ChatServer(behave=lambda number, body: behaviour) as server:
        result = ask(run, town_index, server.url)
    assert (result.exit_code, result.stdout) == (1, "")
    [line] = result.stderr.splitlines()
    assert said in line
    assert "No answer was made." in line
    assert "Where no model is named, answers quote the documents." in line


def test_a_step_that_failed_alone_is_named_and_the_calls_were_not_in_vain(run: Run, town_index: str) -> None:
    def say(body: dict) -> str:
        return "no scores" if body.get("response_format") else say_sensibly(body)

    with ChatServer(say=say) as server:
        result = ask(run, town_index, server.url, "--trace")
    assert "3 model calls\n" in result.stdout
    assert "Failed model call: score (the reply was not usable" in result.stdout
    [line] = result.stderr.splitlines()
    assert line.startswith("Note: The chat model failed at scoring passages: ")
    assert line.endswith("That was done without it.")


def test_a_draft_that_no_passage_supports_is_said_to_have_been_left(run: Run, town_index: str) -> None:
    def say(body: dict) -> str:
        return say_sensibly(body) if body.get("response_format") else "Bananas grow well in Iceland [1]."

    with ChatServer(say=say) as server:
        result = ask(run, town_index, server.url)
    assert QUOTED in result.stdout and "2 model calls\n" in result.stdout
    why = "no passage supports the model's answer"
    assert result.stderr == f"Note: The chat model's answer was not used: {why}. {INSTEAD}\n"


@pytest.mark.parametrize(
    ("draft", "basis", "unsupported"),
    [
        (
            "The sea wall of Saltmere is 2,340 metres long [1]. It is 9 metres high [1].",
            "50% of its claims supported",
            "“It is 9 metres high.” (the cited passages do not hold the number 9)",
        ),
        (
            "Die Mauer von Saltmere ist sehr lang und schützt die Häuser am Hafen vor den Wellen [1].",
            "its claims could not be compared with the documents",
            "",
        ),
    ],
)
def test_the_unsupported_sentences_of_an_answer_are_shown_below_it(
    run: Run, town_index: str, draft: str, basis: str, unsupported: str
) -> None:
    def say(body: dict) -> str:
        return say_sensibly(body) if body.get("response_format") else draft

    with ChatServer(say=say) as server:
        shown = " ".join(ask(run, town_index, server.url).stdout.split())
    assert f" · {basis} · " in shown
    label = "Not supported by the passages: "
    assert f"{label}{unsupported}" in shown if unsupported else label not in shown


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_a_search_says_what_was_done_without_the_model(
    run: Run, town_index: str, more: tuple[str, ...]
) -> None:
    with ChatServer(behave=lambda number, body: "500") as server:
        result = ask(run, town_index, server.url, *more, command="search")
    assert result.exit_code == 0 and "2,340" in result.stdout
    [line] = result.stderr.splitlines()
    assert line.startswith("Note: The chat model failed at scoring passages: HTTP 500")
    assert line.endswith("That was done without it.")


def test_a_comparison_says_which_column_it_was(run: Run, town_index: str) -> None:
    with ChatServer(behave=lambda number, body: "500") as server:
        result = ask(run, town_index, server.url, "--routes", "factual,analytical", command="compare")
    assert result.exit_code == 0, result.stderr
    assert [line.partition(":")[0] for line in result.stderr.splitlines()] == ["factual", "analytical"]


def test_a_model_that_works_and_no_model_leave_standard_error_empty(run: Run, town_index: str) -> None:
    with ChatServer() as server:
        result = ask(run, town_index, server.url)
        unasked = ask(run, town_index, server.url, "--set", "budget.max_llm_calls=0")
    assert (result.stderr, "2 model calls\n" in result.stdout) == ("", True)
    assert "no model call\n" in unasked.stdout
    assert "the budget of 0 calls is spent. The answer quotes" in unasked.stderr
    result = run("ask", QUESTION, "-i", town_index)
    assert (result.stderr, "no chat model" in result.stdout) == ("", True)


def test_a_terminal_shows_the_draft_meanwhile_and_then_only_what_was_checked(
    town: MemoryIndex, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    model = ScriptedChatModel(script={"generate": "Bananas grow well in Iceland [1]."}, seconds=0.3)
    show_answer(QUESTION, "", {"index": town, "model": model, "route": "factual"})
    out, err = capsys.readouterr()
    assert "Bananas" in err
    assert "Bananas" not in out
    assert "2,340 metres" in out


def test_of_a_draft_the_end_is_shown_without_escape_sequences() -> None:
    shown = _format_draft("The start.\n" + "word " * 100 + "\x1b[2J\u202eend").plain
    assert shown.startswith("writing  ")
    assert shown.endswith("word end")
    assert len(shown) < 260


def test_a_question_that_takes_too_long_is_told_in_a_line(
    run: Run, town_index: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(step, "FINISHING_SECONDS", 0.0)
    result = run("ask", QUESTION, "-i", town_index, "--set", "budget.deadline_s=0.00001")
    assert result.exit_code == 1
    [line] = result.stderr.splitlines()
    assert line.startswith("Error: The question was not answered within the 1e-05 s of budget.deadline_s")
