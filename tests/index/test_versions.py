"""What a question under way reads while the index is written, and what an updated index is worth."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document

from adaptive_rag import AdaptiveRAG
from adaptive_rag.source import KeepsVersions
from adaptive_rag.where import read_where
from tests.index.made import build, open_index, write_files

OLD = {"quay.md": "The quay of Saltmere was built in 1820.", "tide.md": "The tide turns at noon in Saltmere."}
NEW = {"quay.md": "The quay of Saltmere was built anew in 1954, of concrete."}


@pytest.fixture
def kb(new_kb: Path) -> Path:
    return new_kb


def test_a_question_under_way_goes_on_with_the_state_that_it_began_with(kb: Any, tmp_path: Path) -> None:
    docs = write_files(tmp_path / "docs", OLD)
    build(docs, kb)
    index = open_index(kb)
    view = index.only([str(docs / "quay.md")])
    version, [found] = index.version, index.search(["the quay of Saltmere"], limit=5)
    for number in range(3):
        write_files(docs, {"quay.md": f"{NEW['quay.md']} Edition {number}."})
        build(docs, kb, rebuild=number == 2)
        assert all("1954" in c["text"] or "tide" in c["text"] for c in index.search(["quay"], limit=5)[0])
    assert isinstance(view, KeepsVersions) and view.version == index.version != version
    assert "1954" in view.search(["quay"], limit=1)[0][0]["text"]
    pinned, ids = index.at(version), [chunk["id"] for chunk in found]
    assert (pinned.version, len(pinned)) == (version, 2)
    assert pinned.search(["the quay of Saltmere"], limit=5) == [found], "words weigh what they did"
    assert "1820" in found[0]["text"]
    assert pinned.vectors(ids).shape == (2, 16)
    assert pinned.sources().keys() == {str(docs / name) for name in OLD}
    assert pinned.where(read_where("file = 'tide.md'")).search(["noon"], limit=3)[0]
    assert [chunk["text"] for chunk in view.at(version).chunks()] == [OLD["quay.md"]]
    assert index.at("1.5").version == index.version, "nobody knows this version any more"
    with pytest.raises(KeyError):
        open_index(kb).vectors(ids)


@pytest.mark.few(2)
@pytest.mark.parametrize("route", ["factual", "analytical", "opinion", "contextual"])
def test_an_index_that_changes_at_every_step_breaks_no_question(kb: Any, route: str) -> None:
    ask_while_it_is_written(kb, route)


def ask_while_it_is_written(kb: Any, route: str) -> None:
    def write(edition: int) -> None:
        texts = [f"The quay of Saltmere, edition {edition}, has bollard {n} of iron." for n in range(12)]
        documents = [Document(text, metadata={"source": f"quay-{n}"}) for n, text in enumerate(texts)]
        build(documents, kb, embeddings=None, sentence_vectors=True)

    write(0)
    rag, texts = AdaptiveRAG(kb, route=route), set()
    steps = rag.stream("What does the quay of Saltmere have?", stream_mode="updates")
    for edition, part in enumerate(steps, 1):
        write(edition)
        for update in part.values():
            texts |= {document["text"] for document in (update or {}).get("documents", [])}
    assert texts and all("edition 0" in text for text in texts)


def test_two_runs_close_together_leave_the_state_that_a_question_still_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adaptive_rag.index.table.CLOCK_MARGIN_S", 0.5)
    docs, kb = write_files(tmp_path / "docs", OLD), tmp_path / "kb"
    build(docs, kb)
    first = read_state(kb)
    time.sleep(0.6)
    for number in range(2):
        write_files(docs, {"quay.md": f"{NEW['quay.md']} Edition {number}."})
        build(docs, kb)
    assert all((kb / name).exists() for name in first["files"])


def read_state(kb: Path) -> Any:
    return json.loads((kb / "manifest.json").read_text())


def test_an_updated_index_scores_words_as_a_fresh_one_does(tmp_path: Path) -> None:
    docs = write_files(tmp_path / "docs", OLD)
    build(docs, tmp_path / "updated")
    for number in range(3):
        build(
            write_files(docs, {"quay.md": f"Quay, quay, and the tide again. Edition {number}."}),
            tmp_path / "updated",
        )
    write_files(docs, OLD)
    build(docs, tmp_path / "updated")
    build(docs, tmp_path / "fresh")
    scores = [
        {c["id"]: c["scores"] for c in open_index(tmp_path / name).search(["quay tide"], limit=5)[0]}
        for name in ("updated", "fresh")
    ]
    assert scores[0] == scores[1]
