"""The words of each language: the same keys in all of them, and those that the page and the server use."""

import ast
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import pytest

from adaptive_rag.context.groups import StepName
from adaptive_rag.graph.strategies import STRATEGIES
from adaptive_rag.nodes import classify, fuse, generate
from adaptive_rag.server.quotas import QUOTAS
from adaptive_rag.state import DecisionKind
from adaptive_rag.text.languages import LANGUAGES, label_for, load_words

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "adaptive_rag/server/page"
# Sentences that the program puts together from parts.
COMPOSED = {
    "cannot be read at its end.",
    "cannot be read at",
    "The field {} holds numbers, as in 10. This is none:",
    "The field {} holds dates, as in 2024-03-01, 2024-03 or 2024. This is none:",
    "The field {} holds yes or no. This is none:",
    "its {} pages are only images, without text.",
    "its {} pages are only images",
    "its 1 page is only images, without text.",
    "its 1 page is only images",
    ", or make a copy that holds the text:",
    "If you see text in it, make a copy that holds the text:",
    *(
        f"A person may keep {{}} {kind} here. Delete some, and try again."
        for kind in (*QUOTAS, "characters of opinions on answers")
    ),
}


def tables(language: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / f"adaptive_rag/text/{language}.toml").read_text(encoding="utf-8"))


def texts(table: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    for name, value in table.items():
        yield from texts(value, f"{path}{name}.") if isinstance(value, Mapping) else [(path + name, value)]


def fields(words: str) -> set[str]:
    return set(re.findall(r"\{(\w+)[:}|]", words))


@pytest.mark.parametrize("table", ["phrases", "labels", "page"])
def test_both_languages_have_the_same_keys_and_values(table: str) -> None:
    english, german = (dict(texts(tables(language)[table])) for language in LANGUAGES)
    assert german.keys() == english.keys()
    for key, words in german.items():
        # The German of a phrase may leave out a value.
        assert (
            fields(words) <= fields(english[key])
            if table == "phrases"
            else fields(words) == fields(english[key])
        )


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_key_stands_in_two_sections(language: str) -> None:
    for table in ("phrases", "page"):
        keys = [path.rpartition(".")[2] for path, _ in texts(tables(language)[table])]
        assert len(keys) == len(set(keys))


def test_the_page_names_each_of_its_texts_and_no_other() -> None:
    code = "".join(file.read_text() for file in PAGE.rglob("*.js") if "vendor" not in file.parts)
    arguments = "\n".join(re.findall(r"\bt\(([^(){}]*)", code))
    named = set(re.findall(r'(?:^|[?:] )"(\w+)"', arguments, re.M))
    known = load_words("en").page.keys()
    assert named and named <= known
    assert {key for key in known if f'"{key}"' not in code} == set()
    assert set(re.findall(r'(?:labelFor|findLabel)\("(\w+)"', code)) == load_words("en").labels.keys()


def test_a_code_without_a_label_is_shown_itself() -> None:
    assert label_for("strategy", "factual") == "Factual"
    assert label_for("strategy", "procedural {n}") == "procedural {n}"
    assert label_for("place", "cells", n=2, cells="B7 and C7") == "cells B7 and C7"
    assert load_words("en").labels["chosen_by"].keys() == load_words("en").labels["decided_by"].keys()


def test_each_kind_of_decision_has_a_label() -> None:
    assert load_words("en").labels["decision"].keys() == set(get_args(DecisionKind))


def test_each_step_has_a_label_and_words_for_its_progress() -> None:
    nodes = {name for strategy in STRATEGIES.values() for name in strategy.build().nodes}
    steps = {classify.name, *nodes, fuse.name, generate.name, *get_args(StepName)}
    labels = load_words("en").labels
    assert labels["step"].keys() == labels["progress"].keys() == steps


def test_the_sentences_that_are_translated_are_those_that_the_program_writes() -> None:
    sentences = load_words("de").sentences
    # Parsing all files takes seconds: only those are parsed that hold the beginning of a sentence.
    beginnings = [max(sentence.split("{}"), key=len).strip()[:12] for sentence in sentences]
    code = [
        file.read_text("utf-8")
        for name in ("adaptive_rag", "nodes", "graph")
        for file in (ROOT / name).rglob("*.py")
    ]
    written = set()
    for text in (text for text in code if any(beginning in text for beginning in beginnings)):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.JoinedStr):
                pieces = [part.value if isinstance(part, ast.Constant) else "{}" for part in node.values]
                written.add("".join(map(str, pieces)))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                written.add(re.sub(r"\{[^{}]*\}", "{}", node.value))
    program = "\n".join(written)
    assert {english for english in sentences if english not in program} == COMPOSED
