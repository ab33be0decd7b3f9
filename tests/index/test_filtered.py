from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import InMemoryVectorStore

from adaptive_rag.context import make_context
from adaptive_rag.errors import ConfigurationError, InputError
from adaptive_rag.index import Index, describe_fields, neighbours, reader, row_reader
from adaptive_rag.index.fields import Fields
from adaptive_rag.index.index import source_of
from adaptive_rag.index.memory import MemoryIndex
from adaptive_rag.source import ChunkSource
from adaptive_rag.where import read_where
from tests.index.made import HashEmbeddings
from tests.ingest.made_pdf import make_pdf, paragraph

CHUNKS = 400
WORDS = "tide storm wall harbour marsh siren flood gate quay beach dune ferry".split()
QUERIES = ["storm wall", "the ferry and the quay", "siren", "nothing of this"]


def notes() -> list[Document]:
    draw = np.random.default_rng(7)
    return [
        Document(
            " ".join(draw.choice(WORDS, size=8)) + f" note {number}",
            metadata={
                "source": f"{number % 20:02}.txt",
                "number": number,
                "half": number % 2 == 0,
                "day": f"2024-{number % 12 + 1:02}-01",
                "tags": [WORDS[number % 5], WORDS[number % 7]],
            },
        )
        for number in range(CHUNKS)
    ]


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("notes") / "kb"
    Index.build(notes(), folder, embeddings=HashEmbeddings())
    return folder


@pytest.fixture(params=["in memory", "on disk", "approximate", "approximate, sifted"])
def index(kb: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Index:
    if request.param != "in memory":
        monkeypatch.setattr(row_reader, "IN_MEMORY_UP_TO", 0)
    if request.param.startswith("approximate"):
        monkeypatch.setattr(neighbours, "EXACT_UP_TO", 50)
    if request.param == "approximate, sifted":
        monkeypatch.setattr(reader, "NAMED_ROWS", 5)
    return Index.open(kb, HashEmbeddings())


def filtered_first(
    whole: ChunkSource, query: str, wanted: set[int], limit: int
) -> dict[str, dict[str, float]]:
    """Return what a search finds where everything is found, sifted and only then cut to the best."""
    [everything] = whole.search([query], limit=CHUNKS)
    kept = [c for c in everything if c["metadata"]["number"] in wanted]
    by_vector = sorted(kept, key=lambda c: -c["scores"]["dense"])[:limit]
    named = sorted((c for c in kept if c["scores"]["sparse"] > 0), key=lambda c: -c["scores"]["sparse"])
    # equal scores may come in any order: where the last one is equal to the next, either may be found
    return {c["id"]: c["scores"] for c in [*by_vector, *named[:limit]]}


@pytest.mark.few(2)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    first=st.integers(0, CHUNKS - 1),
    length=st.sampled_from([1, 3, 40, 200, CHUNKS]),
    limit=st.sampled_from([1, 5, 20]),
    query=st.sampled_from(QUERIES),
)
def test_a_narrowed_search_finds_what_is_found_by_filtering_everything_first(
    index: Index, first: int, length: int, limit: int, query: str
) -> None:
    last = min(CHUNKS, first + length) - 1
    narrowed = index.where(read_where(f"number >= {first} and number <= {last}"))
    [found] = narrowed.search([query], limit=limit)
    scores = {c["id"]: c["scores"] for c in found}
    expected = filtered_first(index, query, set(range(first, last + 1)), limit)
    assert {c["metadata"]["number"] for c in found} <= set(range(first, last + 1))
    for measure in ("dense", "sparse"):
        best = sorted((s[measure] for s in expected.values()), reverse=True)[:limit]
        got = sorted((s[measure] for s in scores.values()), reverse=True)[:limit]
        assert got == pytest.approx(best, abs=1e-5)


def test_conditions_and_sources_narrow_each_other(index: Index) -> None:
    narrowed = index.where(read_where("half = yes")).where(read_where("tags = marsh and day < 2024-06"))
    expected = {
        note.metadata["number"]
        for note in notes()
        if note.metadata["half"] and "marsh" in note.metadata["tags"] and note.metadata["day"] < "2024-06"
    }
    assert {chunk["metadata"]["number"] for chunk in narrowed.chunks()} == expected
    assert len(narrowed) == sum(narrowed.sources().values()) == len(expected) > 0
    assert narrowed.holds("marsh")
    assert not index.where(read_where("number = 1")).holds(f"{CHUNKS - 1}")


def test_a_condition_that_nothing_fulfils_finds_nothing(index: Index) -> None:
    nothing = index.where(read_where("number > 100000"))
    assert nothing.search(QUERIES, limit=5) == [[] for _ in QUERIES]
    assert (len(nothing), nothing.sources(), list(nothing.chunks())) == (0, {}, [])
    assert not nothing.spelt_like("strom")


def test_chunks_in_memory_are_narrowed_too() -> None:
    whole = MemoryIndex.from_texts(["the storm wall", "the storm gate", "the quay"])
    narrowed = whole.where(read_where("source = memory")).where(read_where("not page is known"))
    assert len(narrowed) == 3
    assert len(whole.where(read_where("page is known"))) == 0
    assert whole.where(read_where("page is known")).search(["storm"], limit=5) == [[]]


def test_the_fields_are_described(kb: Path) -> None:
    fields = describe_fields(kb)
    assert fields["number"] == f"number: 0 to {CHUNKS - 1}"
    assert fields["day"] == "date: 2024-01-01 to 2024-12-01"
    assert fields["half"] == "yes or no: yes, no"
    assert fields["kind"] == "text: txt"
    assert fields["file"] == "text: 00.txt, 01.txt, 02.txt and 17 more"
    assert "page" not in fields
    assert Index.open(kb, HashEmbeddings()).fields() == fields


def test_of_many_fields_some_are_named() -> None:
    chunks, fields = 500, 20
    metadata = [{f"f{n}-{m}": m for m in range(fields)} for n in range(chunks)]
    nothing = [None] * chunks
    columns = Fields(["a.jsonl"] * chunks, nothing, nothing, metadata)
    assert Fields(["http://[a]/b.pdf?x#y"], [None], [None], [{}]).describe()["kind"] == "text: pdf"
    with pytest.raises(InputError, match=r"The fields are: (\S+, ){49}\S+ and 9,955 more\."):
        read_where("x1000 = 1").keep(columns)


def test_a_setting_narrows_what_a_question_searches(kb: Path) -> None:
    context = make_context(index=str(kb), embeddings=HashEmbeddings(), where="number < 3")
    assert len(source_of(context)) == 3  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="expected a condition"):
        make_context(where="number <")
    with pytest.raises(InputError, match="Did you mean 'number'"):
        len(source_of(make_context(index=str(kb), embeddings=HashEmbeddings(), where="nmber < 3")))  # type: ignore[arg-type]


def test_a_store_of_langchain_is_not_narrowed_in_silence() -> None:
    store = InMemoryVectorStore.from_texts(["This is a text."], DeterministicFakeEmbedding(size=4))
    with pytest.raises(ConfigurationError, match="has its own filters"):
        source_of(make_context(retriever=store, where="page = 1"))


def test_a_passage_over_several_pages_meets_a_condition_on_any_of_them(tmp_path: Path) -> None:
    first, second = paragraph(["The sea wall of Saltmere is"]), paragraph(["2,340 metres long."])
    make_pdf(tmp_path / "walls.pdf", [first, second])
    Index.build(tmp_path / "walls.pdf", tmp_path / "kb", embeddings=HashEmbeddings())
    index = Index.open(tmp_path / "kb", HashEmbeddings())
    assert index.fields()["page"] == "number: 1 to 2"
    for condition, count in {"page = 1": 1, "page = 2": 1, "page > 1": 1, "page = 3": 0}.items():
        assert len(list(index.where(read_where(condition)).chunks())) == count, condition


def test_rows_that_each_have_fields_of_their_own_keep_a_limited_number() -> None:
    rows = [{"shared": row, **{f"field {row} {i}": i for i in range(500)}} for row in range(50)]
    none = [None] * len(rows)
    fields = Fields(["a.jsonl"] * len(rows), none, none, rows)
    assert len(fields.kinds()) <= 20_000 and fields.values("shared") == list(range(50))
