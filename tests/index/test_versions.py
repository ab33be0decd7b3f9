"""What a question under way reads while the index is written, and what an updated index is worth."""

import weakref
from pathlib import Path

import pytest
from langchain_core.documents import Document

from adaptive_rag import AdaptiveRAG
from adaptive_rag.source import KeepsVersions
from tests.index.made import build, open_index, write_files

OLD = {"quay.md": "The quay of Saltmere was built in 1820.", "tide.md": "The tide turns at noon in Saltmere."}
NEW = {"quay.md": "The quay of Saltmere was built anew in 1954, of concrete."}


def test_a_question_under_way_goes_on_with_the_state_that_it_began_with(tmp_path: Path) -> None:
    build(write_files(tmp_path / "docs", OLD), tmp_path / "kb")
    index = open_index(tmp_path / "kb")
    version = index.version
    [found] = index.search(["the quay of Saltmere"], limit=5)
    for number in range(3):
        build(
            write_files(tmp_path / "docs", {"quay.md": f"{NEW['quay.md']} Edition {number}."}),
            tmp_path / "kb",
        )
        assert all("1954" in c["text"] or "tide" in c["text"] for c in index.search(["quay"], limit=5)[0])
    pinned = index.at(version)
    assert pinned.version == version
    [again] = pinned.search(["the quay of Saltmere"], limit=5)
    assert again == found and "1820" in found[0]["text"]
    assert pinned.vectors([chunk["id"] for chunk in found]).shape == (2, 16)
    with pytest.raises(KeyError):
        index.vectors([chunk["id"] for chunk in found])


def test_what_was_pinned_stays_although_the_index_is_written(tmp_path: Path) -> None:
    build(write_files(tmp_path / "docs", OLD), tmp_path / "kb")
    index = open_index(tmp_path / "kb")
    pinned = index.at(index.version)
    build(write_files(tmp_path / "docs", NEW), tmp_path / "kb")
    assert pinned.version != index.version
    assert "1820" in pinned.search(["quay"], limit=1)[0][0]["text"]


def test_a_version_that_nobody_knows_any_more_is_the_present_one(tmp_path: Path) -> None:
    build(write_files(tmp_path / "docs", OLD), tmp_path / "kb")
    index = open_index(tmp_path / "kb")
    assert index.at("1.5").version == index.version


def test_the_view_of_some_documents_keeps_to_a_version_too(tmp_path: Path) -> None:
    docs = write_files(tmp_path / "docs", OLD)
    build(docs, tmp_path / "kb")
    view = open_index(tmp_path / "kb").only([str(docs / "quay.md")])
    assert isinstance(view, KeepsVersions)
    version = view.version
    build(write_files(docs, NEW), tmp_path / "kb")
    assert "1954" in view.search(["quay"], limit=1)[0][0]["text"]
    assert "1820" in view.at(version).search(["quay"], limit=1)[0][0]["text"]


@pytest.mark.parametrize("route", ["factual", "analytical", "opinion", "contextual"])
def test_an_index_that_changes_at_every_step_breaks_no_question(tmp_path: Path, route: str) -> None:
    def write(edition: int) -> None:
        texts = [f"The quay of Saltmere, edition {edition}, has bollard {n} of iron." for n in range(12)]
        documents = [Document(text, metadata={"source": f"quay-{n}"}) for n, text in enumerate(texts)]
        build(documents, tmp_path / "kb", embeddings=None, sentence_vectors=True)

    write(0)
    rag = AdaptiveRAG(tmp_path / "kb", route=route)
    texts = set()
    for edition, part in enumerate(
        rag.stream("What does the quay of Saltmere have?", stream_mode="updates"), 1
    ):
        write(edition)
        for update in part.values():
            texts |= {document["text"] for document in (update or {}).get("documents", [])}
    assert texts and all("edition 0" in text for text in texts)


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


def test_a_state_that_nobody_reads_any_more_is_let_go_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Any state fills what is kept of earlier ones, as a large one would.
    monkeypatch.setattr("adaptive_rag.index.index.EARLIER_CHUNKS", 10)
    build(write_files(tmp_path / "docs", OLD), tmp_path / "kb")
    index = open_index(tmp_path / "kb")
    index.search(["the quay"], limit=1)
    version, first = index.version, weakref.ref(index.reader())
    build(write_files(tmp_path / "docs", NEW), tmp_path / "kb")
    index.search(["the quay"], limit=1)
    assert first() is not None and index.at(version).version == version
    build(write_files(tmp_path / "docs", OLD), tmp_path / "kb")
    index.search(["the quay"], limit=1)
    assert first() is None and index.at(version).version == index.version
