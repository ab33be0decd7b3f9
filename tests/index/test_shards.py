"""An index of shards finds what one index of the same documents does, in one process and by actors."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from langchain_core.documents import Document

from adaptive_rag import AdaptiveRAG
from adaptive_rag.errors import (
    ConfigurationError,
    IndexDamagedError,
    IndexMismatchError,
    IndexUnreachableError,
    InputError,
)
from adaptive_rag.index import Index, ShardedIndex, describe, describe_fields
from adaptive_rag.index.cache import EmbeddingCache
from adaptive_rag.index.index import open_source
from adaptive_rag.index.sources import remove_sources
from adaptive_rag.source import ChunkSource
from adaptive_rag.state import Candidate
from adaptive_rag.where import read_where
from tests.cli.conftest import Run, run  # noqa: F401
from tests.index.made import HashEmbeddings, build, write_files
from tests.index.test_ray import cluster
from tests.sample_vectors import begin_with

__all__ = ["cluster"]

ROOT = Path(__file__).parents[2]
SHARDS = 3
QUERIES = [
    "the storm at the sea wall",
    "walls wall Wall of the harbour",
    "a ferry, a quay and the flooded marsh",
    "note_7 being naïve",
    "हिन्दी at the quay",
    "the of",
    "nothing_known",
]
WORDS = """tide storm wall walls harbour marsh siren flood flooded gate quay beach dune ferry because being
very the of and note notes Café naïve हिन्दी भारत""".split()


def notes() -> list[Document]:
    """Return documents of several lengths, with fields that not all shards hold."""
    draw = np.random.default_rng(7)
    return [
        Document(
            " ".join(draw.choice(WORDS, size=int(draw.integers(3, 60)))) + f" {number}",
            metadata={
                "source": f"{number:03}.txt",
                "half": number % 2 == 0,
                **({"rare": number} if number in (5, 50) else {}),
            },
        )
        for number in range(150)
    ]


@pytest.fixture(scope="module")
def kbs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The same documents as one index, and as one of shards."""
    folder = tmp_path_factory.mktemp("kbs")
    build(notes(), folder / "one", sentence_vectors=True)
    build(notes(), folder / "many", sentence_vectors=True, shards=SHARDS)
    return folder / "one", folder / "many"


def open_shards(uri: Path, ray: str | None = None) -> ShardedIndex:
    return ShardedIndex.open(uri, HashEmbeddings(), ray=ray)


@pytest.fixture(scope="module")
def held(kbs: tuple[Path, Path], cluster: Any) -> ShardedIndex:
    """The shards, held by actors, which take some seconds to start."""
    return open_shards(kbs[1], ray="auto")


@pytest.fixture(params=["here", pytest.param("by actors", marks=pytest.mark.nightly)])
def both(request: pytest.FixtureRequest, kbs: tuple[Path, Path]) -> tuple[Index, ShardedIndex]:
    one, many = kbs
    shards = open_shards(many) if request.param == "here" else request.getfixturevalue("held")
    return Index.open(one, HashEmbeddings()), shards


def assert_same(found: list[Candidate], expected: list[Candidate]) -> None:
    """Hold hits against those of one index: of equal scores either may come first."""
    assert len(found) == len(expected)
    known = {hit["id"]: hit for hit in expected}
    for place, (hit, wanted) in enumerate(zip(found, expected, strict=True)):
        same = known.get(hit["id"], hit)
        for score in ("dense", "sparse"):
            assert hit["scores"][score] == pytest.approx(same["scores"][score], abs=1e-5)
        if hit["id"] != wanted["id"]:
            ours, theirs = hit["scores"], wanted["scores"]
            assert any(abs(ours[score] - theirs[score]) < 1e-5 for score in ("dense", "sparse")), place
        assert {**hit, "scores": 0} == {**same, "scores": 0}


@pytest.mark.few(2)
@pytest.mark.parametrize("limit", [1, 10, 50, 500])
def test_shards_find_what_one_index_does(both: tuple[Index, ShardedIndex], limit: int) -> None:
    one, many = both
    results = (index.search(QUERIES, limit=limit) for index in (many, one))
    for found, expected in zip(*results, strict=True):
        assert_same(found, expected)
    assert {hit["id"] for hit in one.search(["harbour"], limit=5)[0]} <= {c["id"] for c in many.chunks()}


@pytest.mark.parametrize("condition", ["half = yes", "rare > 4", "source like '01*' and not half = yes"])
def test_a_condition_chooses_the_same_chunks(both: tuple[Index, ShardedIndex], condition: str) -> None:
    one, many = (index.where(read_where(condition)) for index in both)
    assert len(many) == len(one) > 0
    assert_same(many.search([QUERIES[0]], limit=20)[0], one.search([QUERIES[0]], limit=20)[0])
    assert many.sources() == one.sources()


def test_a_field_that_no_shard_has_is_refused(both: tuple[Index, ShardedIndex]) -> None:
    with pytest.raises(InputError, match=r"No passage has the field 'rarity'\. Did you mean 'rare'\?"):
        len(both[1].where(read_where("rarity = 5")))


def test_what_else_a_question_asks_of_a_source_is_the_same(both: tuple[Index, ShardedIndex]) -> None:
    one, many = both
    ids = [hit["id"] for hit in one.search(["storm harbour"], limit=30)[0]]
    assert many.get(ids) == one.get(ids)
    assert np.array_equal(many.vectors(ids), one.vectors(ids))
    assert np.allclose(many.similarities(QUERIES, ids), one.similarities(QUERIES, ids))
    for ours, theirs in zip(many.sentences(ids), one.sentences(ids), strict=True):
        assert np.array_equal(ours.spans, theirs.spans) and np.array_equal(ours.vectors, theirs.vectors)
    assert (len(many), many.sources(), many.stores_sentences) == (len(one), one.sources(), True)
    assert len(many.only(["003.txt", "004.txt"])) == len(one.only(["003.txt", "004.txt"])) == 2
    assert "harbour" in many.spelt_like("harbor")
    assert (many.spelt_like("harbour"), many.holds("Harbour"), many.holds("harbor")) == ([], True, False)
    assert many.fields().keys() == one.fields().keys()
    assert many.fields()["rare"] == one.fields()["rare"] == "number: 5 to 50"
    assert (many.info()["chunks"], many.info()["shards"]) == (one.info()["chunks"], SHARDS)
    with pytest.raises(KeyError, match="No chunk has the id 'none'"):
        many.get(["none"])
    with pytest.raises(KeyError, match="No chunk has the id 'none'"):
        many.vectors([ids[0], "none"])


def test_a_view_is_read_at_one_state(tmp_path: Path) -> None:
    docs = write_files(tmp_path / "docs", {f"{n}.txt": f"Note {n} on tides." for n in range(12)})
    build(docs, tmp_path / "kb", shards=SHARDS)
    index = open_shards(tmp_path / "kb")
    pinned = index.at(index.version)
    before = pinned.search(["tides"], limit=20)
    write_files(docs, {"1.txt": "A note on storms.", "new.txt": "Another on tides and storms."})
    (docs / "2.txt").unlink()
    report = build(docs, tmp_path / "kb")
    assert (report.added, report.updated, report.removed, report.unchanged) == (1, 1, 1, 10)
    assert pinned.search(["tides"], limit=20) == before
    assert len(pinned) == 12
    build(docs, tmp_path / "anew")
    one = Index.open(tmp_path / "anew", HashEmbeddings())
    assert_same(index.search(["tides storms"], limit=20)[0], one.search(["tides storms"], limit=20)[0])
    assert index.version != pinned.version


def test_an_index_is_described_as_a_whole(kbs: tuple[Path, Path]) -> None:
    one, many = (describe(kb) for kb in kbs)
    same = ("embeddings", "chunks", "sources", "sentence_vectors", "vector_search")
    assert {name: many[name] for name in same} == {name: one[name] for name in same}
    assert (many["index"], many["shards"]) == (str(kbs[1]), SHARDS)
    assert describe_fields(kbs[1])["rare"] == describe_fields(kbs[0])["rare"]


def test_documents_are_removed_from_their_shards(tmp_path: Path) -> None:
    docs = write_files(tmp_path / "docs", {f"{n}.txt": f"Note {n} on tides." for n in range(6)})
    build(docs, tmp_path / "kb", shards=2)
    report = remove_sources(tmp_path / "kb", ["1.txt", str(docs / "4.txt")])
    assert len(report.sources) == 2 and report.total_chunks == 4
    assert len(open_shards(tmp_path / "kb")) == 4
    with pytest.raises(InputError, match=r"has no document '9\.txt'"):
        remove_sources(tmp_path / "kb", ["0.txt", "9.txt"])
    assert len(open_shards(tmp_path / "kb")) == 4


def test_shards_may_be_empty_and_hold_what_cannot_be_read(tmp_path: Path) -> None:
    docs = write_files(tmp_path / "docs", {"a.txt": "A note on tides."})
    for name in ("b.pdf", "c.zip"):
        (docs / name).write_bytes(b"%PDF-1.7 nothing")
    for added in (1, 0):
        report = build(docs, tmp_path / "kb", shards=5)
        failed = sorted(failure.source[-5:] for failure in report.failed)
        assert (report.added, failed) == (added, ["b.pdf", "c.zip"])
    index = open_shards(tmp_path / "kb")
    [hits] = index.search(["tides"], limit=3)
    assert [hit["text"] for hit in hits] == ["A note on tides."] and hits[0]["scores"]["sparse"] > 0
    assert len(index) == len(list(index.chunks())) == 1


def test_numbers_of_shards_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    docs = write_files(tmp_path / "docs", {"a.txt": "A note."})
    for wrong in (0, -1, 1001):
        with pytest.raises(ConfigurationError, match=rf"shards = {wrong} is not usable: expected 1 to 1000"):
            build(docs, tmp_path / "kb", shards=wrong)
    with pytest.raises(ConfigurationError, match="does not exist"):
        build(tmp_path / "dosc", tmp_path / "kb", shards=4)
    build(docs, tmp_path / "kb", shards=2)  # the run that failed has left no number of shards
    with pytest.raises(ConfigurationError, match=r"shards = 3, but the index .* has 2"):
        build(docs, tmp_path / "kb", shards=3)
    build(docs, tmp_path / "one")
    with pytest.raises(ConfigurationError, match=r"has no shards\. Make an index of shards"):
        build(docs, tmp_path / "one", shards=2)
    with pytest.raises(ConfigurationError, match=r"An index of shards cannot contain web pages"):
        build("https://example.org/page", tmp_path / "kb")
    with pytest.raises(ConfigurationError, match=r"is a shard of the index .*kb, .* Run: .* --index \S+kb$"):
        build(docs, tmp_path / "kb" / "shard-0")
    with pytest.raises(IndexMismatchError, match=r"kb/shard-0 was made with .* --index \S+kb --rebuild$"):
        build(docs, tmp_path / "kb", chunk_size=500)


def test_what_is_done_with_one_shard_at_a_time_says_so(kbs: tuple[Path, Path]) -> None:
    with pytest.raises(ConfigurationError, match=r"Index\.open .* 3 shards\. .*ShardedIndex\.open"):
        Index.open(kbs[1], HashEmbeddings())
    for command in (Index.check, Index.repair):
        with pytest.raises(ConfigurationError, match=r"is an index of 3 shards\. Name each .*many.shard-0"):
            command(kbs[1])
    assert Index.check(kbs[1] / "shard-0").healthy


def test_a_shard_that_is_missing_or_damaged_is_named(tmp_path: Path) -> None:
    import shutil

    docs = write_files(tmp_path / "docs", {f"{n}.txt": f"Note {n}." for n in range(9)})
    build(docs, tmp_path / "kb", shards=2)
    held = tmp_path / "kb" / "shard-1"
    for file in (held / "chunks-1.lance").glob("data/*.lance"):
        file.unlink()
    with pytest.raises(IndexDamagedError, match="shard-1 is damaged"):
        open_shards(tmp_path / "kb").search(["note"], limit=3)
    shutil.rmtree(held)
    with pytest.raises(IndexMismatchError, match=r"Shard 1 of 2 .* cannot be opened.* --index \S+kb$"):
        open_shards(tmp_path / "kb")
    (tmp_path / "kb" / "shards.json").write_text("two")
    with pytest.raises(IndexMismatchError, match=r"its shards\.json cannot be read"):
        open_shards(tmp_path / "kb")


def ask(place: Path | ChunkSource, **settings: Any) -> dict[str, Any]:
    output = AdaptiveRAG(place, **settings).invoke("How long is the sea wall, and what does it cost?")
    return {name: output[name] for name in ("answer", "citations", "query_type")}  # type: ignore[literal-required]


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory, sample_vectors: Path) -> tuple[Path, Path]:
    """The shipped documents with the embedded model, as one index and as one of shards."""
    from adaptive_rag.samples import samples_path

    folder = tmp_path_factory.mktemp("samples")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(EmbeddingCache, "__init__", begin_with(sample_vectors))
        Index.build(samples_path(), folder / "one")
        Index.build(samples_path(), folder / "many", shards=2)
    return folder / "one", folder / "many"


def test_a_whole_question_is_answered_as_from_one_index(samples: tuple[Path, Path]) -> None:
    expected = ask(samples[0])
    assert expected["citations"]
    assert ask(samples[1]) == expected


@pytest.mark.nightly
def test_actors_answer_a_whole_question_and_go_on_when_they_are_killed(
    samples: tuple[Path, Path], cluster: Any
) -> None:
    import ray

    expected = ask(samples[0])
    assert ask(samples[1], retrieval={"ray": "auto"}) == expected
    index: Any = open_source(str(samples[1]), ray="auto")
    actors = index._call_shards.__self__._actors
    before = index.search(["sea wall"], limit=10)
    pinned = index.at(index.version)
    for process in ray.get([actor.__ray_call__.remote(lambda _: os.getpid()) for actor in actors]):
        os.kill(process, signal.SIGKILL)
    assert pinned.search(["sea wall"], limit=10) == before
    ray.kill(actors[1])  # for good
    with pytest.raises(IndexUnreachableError, match=r"The shard .*shard-1 does not answer, after two tries"):
        index.search(["sea wall"], limit=10)


@pytest.mark.nightly
def test_each_shard_is_built_by_a_worker(
    tmp_path: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    docs = write_files(tmp_path / "docs", {f"{n}.txt": f"Note {n} on tides." for n in range(12)})
    (docs / "broken.pdf").write_bytes(b"%PDF-1.7 nothing")
    report = build("docs", tmp_path / "kb", shards=2, ray="auto")
    expected = build("docs", tmp_path / "one")
    assert (report.added, report.chunks, report.sources) == (12, 12, expected.sources)
    assert [str(failure) for failure in report.failed] == [str(failure) for failure in expected.failed]
    one = Index.open(tmp_path / "one", HashEmbeddings())
    many = open_shards(tmp_path / "kb")
    assert_same(many.search(["tides 7"], limit=20)[0], one.search(["tides 7"], limit=20)[0])
    assert build("docs", tmp_path / "kb", ray="auto").changed is False


def test_a_cluster_is_refused_for_an_index_without_shards(kbs: tuple[Path, Path]) -> None:
    with pytest.raises(ConfigurationError, match=r"retrieval\.ray = 'auto' needs an index of shards"):
        AdaptiveRAG(kbs[0], embeddings=HashEmbeddings(), retrieval={"ray": "auto"}).invoke("a storm")


def test_the_shell_makes_asks_and_lists_shards(run: Run, tmp_path: Path) -> None:  # noqa: F811
    write_files(tmp_path / "docs", {"a.txt": "The sea wall is 2 km long.", "b.txt": "The ferry is green."})
    for command, said in (
        (("index", "docs", "--shards", "2"), "2 added"),
        (("index", "docs"), "2 unchanged"),
        (("ask", "How long is the sea wall?"), "2 km"),
        (("search", "sea wall"), "a.txt, line 1"),
        (("list",), "docs/b.txt"),
        (("info",), "shards"),
    ):
        result = run(*command, "--index", "kb")
        assert result.exit_code == 0 and said in result.stdout, command


@pytest.mark.parametrize(
    "bound", ["adaptive_rag.index.row_reader.IN_MEMORY_UP_TO", "adaptive_rag.index.sharding.shard.HITS_KEPT"]
)
def test_a_large_shard_is_searched_alike_and_what_is_kept_of_hits_is_bounded(
    kbs: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, bound: str
) -> None:
    monkeypatch.setattr(bound, 60)
    one, many = Index.open(kbs[0], HashEmbeddings()), open_shards(kbs[1])
    for query in QUERIES:
        assert_same(many.search([query], limit=20)[0], one.search([query], limit=20)[0])


def test_the_files_of_an_index_among_the_documents_are_no_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path, {"a.txt": "A note on tides."})
    for documents, source in ((".", "a.txt"), (notes()[0], "000.txt"), (".", "a.txt")):
        assert build(documents, "kb", shards=2).sources == [source]
