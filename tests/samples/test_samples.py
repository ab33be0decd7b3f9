"""The shipped samples: the handbook is rebuilt, the questions are checked against the documents."""

import importlib.util
import json
import re
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pymupdf
import pytest
import yaml

from adaptive_rag import Index
from adaptive_rag.index.manifest import Chunking
from adaptive_rag.ingest import extract_text
from adaptive_rag.ingest.chunking import text_to_embed
from adaptive_rag.models.embeddings import limit_of
from adaptive_rag.samples import (
    SAMPLE_QUESTIONS,
    lend_vectors,
    questions_path,
    samples_path,
)

TYPES = {"factual", "analytical", "opinion", "contextual"}
ROOT = Path(__file__).resolve().parents[2]
HANDBOOK = samples_path() / "climate_handbook.pdf"
QUESTIONS: list[dict[str, Any]] = [
    json.loads(line) for line in questions_path().read_text(encoding="utf-8").splitlines()
]
LIGATURES = {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl"}


def pages(path: Path) -> list[str]:
    with pymupdf.open(path) as document:
        return [page.get_text() for page in document]


def plain(text: str) -> str:
    for ligature, letters in LIGATURES.items():
        text = text.replace(ligature, letters)
    return " ".join(text.split())


def comparable(text: str) -> str:
    """Drop what a line end may add or remove: blanks and hyphens."""
    return re.sub(r"[\s\-\u00ad]+", "", plain(text))


def body_of_handbook() -> str:
    """The handbook without its header (two lines) and page number (one line) on each page."""
    lines = [line for page in pages(HANDBOOK)[3:] for line in page.strip().splitlines()[2:-1]]
    return "\n".join(lines)


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    """The text of each document as it is indexed."""
    return {path.name: plain(extract_text(path).text) for path in samples_path().iterdir()}


@pytest.fixture(scope="module")
def builder() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_samples", ROOT / "training" / "build_samples.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["build_samples"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def rebuilt(builder: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("handbook") / "climate_handbook.pdf"
    builder.build(builder.SOURCE, target)
    return target


@pytest.mark.nightly
def test_building_the_handbook_again_gives_the_shipped_text(rebuilt: Path) -> None:
    assert pages(rebuilt) == pages(HANDBOOK)


def test_the_outline_points_at_the_page_that_holds_each_heading() -> None:
    with pymupdf.open(HANDBOOK) as document:
        outline = document.get_toc()
        assert {level for level, _, _ in outline} == {1, 2}
        for _, title, number in outline:
            assert title in plain(document[number - 1].get_text())


def test_every_paragraph_of_the_source_stands_in_the_handbook() -> None:
    source = (ROOT / "training" / "samples" / "climate_handbook.md").read_text(encoding="utf-8")
    body = comparable(body_of_handbook())
    paragraphs = [p for p in source.split("\n\n") if p and p[0].isalpha()]
    assert len(paragraphs) > 70
    assert [p[:60] for p in paragraphs if comparable(p) not in body] == []


def test_the_questions_cover_every_type_and_some_have_no_answer() -> None:
    counts = Counter(row["type"] for row in QUESTIONS)
    assert set(counts) == TYPES
    assert min(counts.values()) >= 10
    assert sum(not row["has_answer"] for row in QUESTIONS) >= 8
    assert all(
        (row["source"] is None) == (row["quote"] is None) == (not row["has_answer"]) for row in QUESTIONS
    )
    assert len({row["question"] for row in QUESTIONS}) == len(QUESTIONS)


def test_quotes_and_figures_of_the_answers_stand_in_the_documents(texts: dict[str, str]) -> None:
    everything = "\n".join(texts.values())
    answered = [row for row in QUESTIONS if row["has_answer"]]
    assert [row["quote"] for row in answered if row["quote"] not in texts[row["source"]]] == []
    figures = re.findall(r"\d+(?:[.,]\d+)*", " ".join(row["ideal_answer"] for row in answered))
    assert [figure for figure in figures if figure not in everything] == []


@pytest.mark.parametrize(
    ("pattern", "value"),
    [
        (r"27\.6 million|budget of (\d+\.\d) million", "27.6"),
        (
            r"Option A[^.]*?raises the (?:whole )?wall[^.]*? from 5\.10 to (\d\.\d\d)|wall to (\d\.\d\d)",
            "6.20",
        ),
        (r"up to (\d,\d{3}) pounds", "7,500"),
        (r"borehole[^.]*closed (?:on 6 September |in )(\d{4})", "2019"),
        (r"beds for (\d+)", "260"),
        (r"falls? below (\d\d\.\d) metres PD|level below (\d\d\.\d) metres PD", "21.5"),
    ],
)
def test_the_documents_agree_on_their_figures(texts: dict[str, str], pattern: str, value: str) -> None:
    everything = "\n".join(texts.values())
    found = {group for match in re.finditer(pattern, everything) for group in match.groups() if group}
    assert found == {value}


def test_the_plan_adds_up() -> None:
    source = (ROOT / "training" / "samples" / "climate_handbook.md").read_text(encoding="utf-8")
    plan = source.split("| Item | Million pounds |")[1].split("| Total |")
    items = [float(match) for match in re.findall(r"\| (\d+\.\d) \|$", plan[0], flags=re.M)]
    assert round(sum(items), 1) == float(plan[1].split("|")[0]) == 27.6
    assert (
        round(sum(map(float, re.findall(r"\((\d+\.\d)(?: million)?\)", plan[1].split("###")[0]))), 1) == 27.6
    )


def test_the_demo_asks_one_answerable_question_of_each_type() -> None:
    known = {(row["question"], row["type"]): row for row in QUESTIONS}
    assert {sample.type for sample in SAMPLE_QUESTIONS} == TYPES
    assert len(SAMPLE_QUESTIONS) == len(TYPES)
    for sample in SAMPLE_QUESTIONS:
        row = known[sample.question, sample.type]
        assert row["has_answer"] and row.get("user_context") == sample.user_context


def test_every_term_of_the_ontology_occurs_in_the_documents(texts: dict[str, str]) -> None:
    everything = "\n".join(texts.values()).lower()
    ontology = yaml.safe_load((samples_path().parent / "ontology.yaml").read_text(encoding="utf-8"))
    assert len(ontology) == 6
    terms = [term for terms in ontology.values() for term in terms]
    assert len(terms) == len(set(terms))
    assert [term for term in terms if term.lower() not in everything] == []


def test_what_is_lent_to_an_index_of_the_samples_is_all_that_it_embeds(tmp_path: Path) -> None:
    lend_vectors(tmp_path / "lent")
    report = Index.build(samples_path(), tmp_path / "lent")
    assert (report.added, report.texts_embedded) == (5, 0)
    question = ["What is the highest water level ever recorded at Pellhythe?"]
    index = Index.open(tmp_path / "lent")
    best = index.search(question, limit=1)[0][0]
    again = index.embed([text_to_embed(best, limit_of(index.embeddings, Chunking.chunk_size))])[0]
    assert again @ index.vectors([best["id"]])[0] > 0.999
