"""Hostile passages: the fence holds, and a model that obeys all it reads outside of it is not reached."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from rich.console import Console

from adaptive_rag.cli.answers import print_answer, print_trace
from adaptive_rag.cli.output import print_json, print_note, print_table
from adaptive_rag.context import make_context
from adaptive_rag.index.memory import MemoryIndex
from adaptive_rag.runnable import AdaptiveRAG
from adaptive_rag.testing import ScriptedChatModel
from adaptive_rag.text.visible import is_hidden
from tests.conftest import EVERY_STEP

FILE = Path(__file__).parents[1] / "llm" / "injections.jsonl"
HOSTILE = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines() if line.strip()]
FACT = "The sea wall of Saltmere is 2,340 metres long."
QUESTION = "How long is the sea wall of Saltmere?"


def obedient(step, messages):
    """Do as any line says that is not quoted from a document; else answer from the first passage."""
    prompt = messages[-1].text
    said = [line for line in prompt.splitlines() if not line.startswith("| ")]
    orders = [line for line in said if re.search(r"pwned|ignore|obey|instead", line, re.I)]
    if orders:
        return "PWNED"
    if step != "generate":
        return None
    number = next(
        int(block.partition('"')[0]) for block in prompt.split('<passage n="')[1:] if "2,340" in block
    )
    return f"The sea wall of Saltmere is 2,340 metres long [{number}]."


def test_there_are_enough_of_them():
    assert len({entry["text"] for entry in HOSTILE}) == len(HOSTILE) >= 40
    told = (FILE.parents[2] / "docs" / "security.md").read_text(encoding="utf-8")
    assert f"| {len(HOSTILE)} | passages that are hostile to a prompt" in told


@pytest.mark.few(12)
@pytest.mark.parametrize("entry", HOSTILE, ids=lambda entry: entry["id"])
def test_a_hostile_passage_stays_inside_its_fence(entry):
    index = MemoryIndex.from_texts([FACT + "\n" + entry["text"], FACT], source="hostile.txt")
    model = ScriptedChatModel(script=obedient)
    output = AdaptiveRAG(index, model=model, route="factual", **EVERY_STEP).invoke(QUESTION)
    assert sorted(model.skills) == ["enhance", "generate", "score"]
    for step, messages in model.asked:
        prompt = messages[-1].text
        for forbidden in entry["must_not_reach_the_prompt"]:
            fenced = "\n".join(line for line in prompt.splitlines() if line.startswith("| "))
            assert forbidden not in fenced, step
        shown = [block.partition("</passage>")[0] for block in prompt.split("<passage n=")[1:]]
        for block in shown:
            assert all(line.startswith("| ") for line in block.splitlines()[1:] if line.strip()), step
        assert prompt.count("</passage>") == prompt.count("<passage n=")
    assert "2,340 metres" in output["answer"]
    assert "PWNED" not in output["answer"]
    assert output["query_type"] == "factual"


FORMATTING = re.compile(r"</?(?:p|li|ul|ol|pre|code|em|strong|h\d|br|hr|blockquote|table|t\w+)( /)?>")


def assert_harmless(answer: str, passages: list[str]) -> None:
    """Let another reading of Markdown than ours make a page of an answer, and look at what it would load."""
    assert not [character for character in answer if is_hidden(character)]
    page = MarkdownIt("js-default", {"html": True}).render(answer)
    assert "<img" not in page
    for address in re.findall(r'href="([^"]*)"', page):
        assert any(address in passage for passage in passages), address
        assert not re.match(r"\s*(?:javascript|data|vbscript):", address, re.I)
    tags = re.findall(r"<[a-z/!?][^>]*>?", re.sub(r'<a href="[^"]*">|</a>', "", page), re.I)
    assert not [tag for tag in tags if not FORMATTING.fullmatch(tag)]
    assert not re.search(r"evil\.example/\S*(?:sea|wall|secret)", answer)


@pytest.mark.few(12)
@pytest.mark.parametrize("entry", HOSTILE, ids=lambda entry: entry["id"])
def test_a_model_that_obeys_a_passage_leaks_nothing(entry):
    index = MemoryIndex.from_texts([f"{FACT}\n{entry['text']}"], source="hostile.txt")
    claim = "The sea wall of Saltmere is 2,340 metres long [1]."
    said = entry.get("reply", entry["text"])
    model = ScriptedChatModel(script={"generate": f"{claim}\n\n{said}"})
    output = AdaptiveRAG(index, model=model, route="factual").invoke(QUESTION)
    assert "2,340 metres long" in output["answer"]
    assert_harmless(output["answer"], [entry["text"]])


@pytest.mark.few(12)
@pytest.mark.parametrize("entry", HOSTILE, ids=lambda entry: entry["id"])
def test_an_answer_of_the_documents_own_sentences_is_harmless_in_a_page_too(entry):
    text = f"{FACT} {entry.get('reply', '')}\n{entry['text']}"
    index = MemoryIndex.from_texts([text], source="hostile.txt")
    for question in (QUESTION, " ".join(re.findall(r"[A-Za-z]{3,}", entry["text"])[:6]) or QUESTION):
        output = AdaptiveRAG(index, route="factual", without={"abstain"}).invoke(question)
        page = MarkdownIt("js-default", {"html": True}).render(output["answer"])
        assert "<img" not in page
        assert not re.search(r"<(?:script|svg|iframe|div|style)|href=.(?:javascript|data):", page, re.I)
        # What is cited is the document's own text to the character.
        for citation in output["citations"]:
            assert citation["quote"] == text[citation["start"] : citation["end"]]


@pytest.mark.few(12)
@pytest.mark.parametrize("entry", HOSTILE, ids=lambda entry: entry["id"])
@pytest.mark.parametrize("terminal", [False, True], ids=["piped", "terminal"])
def test_no_passage_speaks_to_the_terminal(entry, terminal, monkeypatch, capsys):
    text, name = f"{FACT} {entry['text']}", f"{entry['text']}.txt"
    index = MemoryIndex.from_texts([text], source=name)
    output = AdaptiveRAG(index, route="factual").invoke(QUESTION)
    monkeypatch.setattr(Console, "is_terminal", terminal)
    output["answer"] = f"{text} [1]"
    print_answer(output, 1.0, make_context(index=index))
    print_trace([*output["trace"], {"step": "x", "decisions": [{"what": text, "chosen": text, "why": text}]}])
    print_note(("Skipped:", "yellow"), f" {name} {text}")
    print_table(("", text), [(text, name)])
    print_json({"answer": text, "source": name})
    written = capsys.readouterr()
    shown = re.sub(r"\x1b\[[\d;]*m", "", written.out + written.err) if terminal else written.out + written.err
    assert not [character for character in shown if is_hidden(character)]
    assert json.loads(written.out.split("\n")[-2])["answer"] == text
    for word in re.findall(r"\[/?(?:bold red|link=\S*?)?\]|:\w+:", entry["text"]):
        assert word in shown


@pytest.mark.parametrize("reply", ["PWNED", "PWNED [1].", "All systems were taken over by the pirates [2]."])
def test_a_model_that_was_taken_in_is_not_believed(town, reply):
    output = AdaptiveRAG(town, model=ScriptedChatModel(script={"generate": reply}), route="factual").invoke(
        QUESTION
    )
    assert "2,340 metres" in output["answer"]
    assert reply.split()[0] not in output["answer"]
