"""An index in PostgreSQL, in a real server: what it finds, what a killed run leaves, what errors say."""

import asyncio
import json
import math
import re
import shlex
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document

from adaptive_rag import AdaptiveRAG
from adaptive_rag.errors import (
    ConfigurationError,
    IndexingError,
    IndexMismatchError,
    IndexUnreachableError,
    InputError,
    MissingExtraError,
)
from adaptive_rag.index import Index, describe, describe_fields
from adaptive_rag.index.cache import FILE, EmbeddingCache
from adaptive_rag.index.fields import Fields
from adaptive_rag.index.index import narrow_to, open_source
from adaptive_rag.index.postgres.database import Database
from adaptive_rag.index.postgres.source import PostgresIndex
from adaptive_rag.index.sources import list_sources, read_chunks, remove_sources
from adaptive_rag.ingest import SourceText
from adaptive_rag.query.spelling import correct_spelling
from adaptive_rag.samples import SAMPLE_QUESTIONS, samples_path
from adaptive_rag.source import SpellsWords
from adaptive_rag.text.markers import MARKER
from adaptive_rag.where import read_where
from tests.cli.conftest import Run, parsed, run  # noqa: F401
from tests.index.made import HashEmbeddings, build, open_index, texts_in, write_files
from tests.index.test_bucket import write_at_once
from tests.index.test_crash import NEW, OLD, SCRIPT, kill_and_complete, run_python
from tests.index.test_filtered import (  # noqa: F401
    CHUNKS,
    QUERIES,
    WORDS,
    filtered_first,
    notes,
    test_a_condition_that_nothing_fulfils_finds_nothing,
    test_a_narrowed_search_finds_what_is_found_by_filtering_everything_first,
    test_conditions_and_sources_narrow_each_other,
)
from tests.index.test_open import check_that_a_new_model_is_followed
from tests.index.test_versions import (  # noqa: F401
    ask_while_it_is_written,
    test_a_question_under_way_goes_on_with_the_state_that_it_began_with,
)
from tests.postgres_server import NUMBERS, empty_database, serving_postgres
from tests.query.test_spelling import READINGS, TEXTS
from tests.sample_vectors import begin_with
from tests.server.processes import wait_for


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    with serving_postgres() as server:
        yield server


@pytest.fixture(scope="module")
def shared(server: Any) -> str:
    return empty_database(server)


@pytest.fixture
def kb(shared: str) -> str:
    """The address of an index that nobody has written yet, in a database that holds others."""
    return f"{shared}&table=kb{next(NUMBERS)}"


@pytest.fixture
def database(server: Any) -> str:
    """The address of an index that nobody has written yet, in a database of its own."""
    return empty_database(server)


@pytest.fixture(scope="module")
def index(shared: str) -> PostgresIndex:
    address = f"{shared}&table=notes"
    build(notes(), address)
    return open_index(address)


def test_the_best_by_vector_and_by_words_are_found_with_both_scores(index: PostgresIndex) -> None:
    chunks = list(index.chunks())
    matrix = index.vectors([chunk["id"] for chunk in chunks])
    assert np.allclose(np.linalg.norm(matrix, axis=1), 1, atol=1e-5)
    for query in QUERIES:
        cosines = matrix @ index.embed([query])[0]
        bm25 = brute_force_bm25(query, [chunk["text"] for chunk in chunks])
        [found] = index.search([query], limit=12)
        known = {chunk["id"]: at for at, chunk in enumerate(chunks)}
        at = [known[hit["id"]] for hit in found]
        assert [hit["scores"]["dense"] for hit in found] == pytest.approx(cosines[at], abs=1e-5)
        assert [hit["scores"]["sparse"] for hit in found] == pytest.approx(bm25[at], rel=1e-6)
        assert sorted(cosines[at])[-12:] == pytest.approx(sorted(cosines)[-12:], abs=1e-5)
        best = sorted(score for score in bm25 if score > 0)[-12:]
        assert sorted(bm25[at])[len(at) - len(best) :] == pytest.approx(best)


def test_of_a_long_question_the_first_words_are_searched(index: PostgresIndex) -> None:
    [found] = index.search([f"tide {' '.join(f'buoy{n}' for n in range(200))}"], limit=1)
    assert any(hit["scores"]["sparse"] for hit in found)


def test_each_word_of_a_name_a_code_or_an_address_is_found(kb: str) -> None:
    build([Document("Mu\u0308ller has ABC-1234 and XK200/7, see example.org/parts.")], kb)
    for hits in open_index(kb).search(["Muller", "Müller", "1234", "XK200", "parts"], limit=1):
        assert hits[0]["scores"]["sparse"] > 0


def brute_force_bm25(query: str, texts: Sequence[str]) -> np.ndarray:
    """Return BM25 with k1 = 1.2 and b = 0.75; no word of these notes has an ending, or is a stop word."""
    split = [text.split() for text in texts]
    mean = sum(map(len, split)) / len(split)
    total = np.zeros(len(texts))
    for word in set(query.split()) & {*WORDS, "note", *map(str, range(CHUNKS))}:
        times = np.array([words.count(word) for words in split])
        holding = int((times > 0).sum())
        weight = math.log(1 + (len(texts) - holding + 0.5) / (holding + 0.5))
        lengths = np.array([len(words) for words in split])
        total += weight * times * 2.2 / (times + 1.2 * (0.25 + 0.75 * lengths / mean))
    return total


ODD = {
    "mixed": [3, "3", True, "drei", 2.5, math.inf],
    "size": [1, 2.5, -3, 3, 10**12, math.nan],  # NaN is what a table without a value has
    "id": [1234567890123456788, 1234567890123456789],
    "when": ["2024", "2024-03", "2024-03-05", "2023-12-31T10:00", "2024-02-30"],
    "flag": [True, False],
    "who": [*"STRAẞE strasse İstanbul a%b_c back\\slash [x] nul\0l ε".split(), "O'Hara; DROP TABLE"],
    "many tags": [["a", "B"], ["b"], ["c", 4], []],
}


@pytest.fixture(scope="module")
def odd(shared: str) -> PostgresIndex:
    address = f"{shared}&table=odd"
    draw = np.random.default_rng(3)
    documents = []
    for number in range(60):
        known = {
            name: values[draw.integers(len(values))] for name, values in ODD.items() if draw.random() < 0.7
        }
        metadata = {"source": f"d{number % 9}/{number}.MD", "page": number % 5, **known}
        documents.append(Document(f"text {number}", metadata=metadata))
    build(documents, address)
    return open_index(address)


NAMES = ["strasse", "a%b_c", "back\\slash", "O'Hara; DROP TABLE", "[x]", "i\u0307stanbul", "ε", "d1/1.md"]
NAMES += ["5.md", "2023-12-31T10:00"]
PLAIN = ["3", "2.5", "-3", "0", "true", "no", "2024", "2024-03", "2023-12-31", "2025-01", "b", "md"]
VALUES = st.sampled_from([*PLAIN, *(f'"{name}"' for name in NAMES)])
PATTERNS = r"* ? *a* [a-o]* [!a-o]* *[x]* *[[]x]* [z-a] [!z-a] *\* *%* 2024-0?* []x]*".split()
FIELDS = st.sampled_from(
    ["mixed", "size", "when", "flag", "who", "`many tags`", "source", "FILE", "kind", "page", "section"]
)
TESTS = st.one_of(
    st.builds("{} {} {}".format, FIELDS, st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), VALUES),
    st.builds('{} like "{}"'.format, FIELDS, st.sampled_from(PATTERNS)),
    st.builds("{} {}in ({}, {})".format, FIELDS, st.sampled_from(["", "not "]), VALUES, VALUES),
    st.builds("{} is known".format, FIELDS),
)
CONDITIONS = st.recursive(
    TESTS,
    lambda inner: st.one_of(
        st.builds("({}) and ({})".format, inner, inner),
        st.builds("({}) or ({})".format, inner, inner),
        st.builds("not ({})".format, inner),
    ),
    max_leaves=4,
)


def test_a_number_that_is_missing_leaves_its_field_a_number(odd: PostgresIndex) -> None:
    assert odd.fields()["size"] == "number: -3 to 1000000000000"
    found = odd.where(read_where("size > 2")).chunks()
    assert {chunk["metadata"]["size"] for chunk in found} == {2.5, 3, 10**12}


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=CONDITIONS)
@example(text='when = "2023-12-31T10:00"')
@example(text="id = 1234567890123456789")
def test_a_condition_keeps_in_sql_what_it_keeps_in_memory(odd: PostgresIndex, text: str) -> None:
    chunks, condition = list(odd.chunks()), read_where(text)
    try:
        kept = condition.keep(Fields.of_chunks(chunks))
    except InputError as error:
        with pytest.raises(InputError, match=re.escape(str(error)[:60])):
            len(odd.where(condition))
        return
    expected = {chunk["id"] for chunk, keep in zip(chunks, kept, strict=True) if keep}
    assert {chunk["id"] for chunk in odd.where(condition).chunks()} == expected


@pytest.fixture
def large(database: str, monkeypatch: pytest.MonkeyPatch) -> PostgresIndex:
    """The notes in a table that is large enough for the approximate vector index, and for many hits."""
    monkeypatch.setattr("adaptive_rag.index.postgres.neighbours.INDEXED_ABOVE", 100)
    monkeypatch.setattr("adaptive_rag.index.postgres.state.FEW", 50)
    build(notes(), database)
    return open_index(database)


def index_scans(index: PostgresIndex) -> int:
    """Return how often the vector index was asked, by all that has been asked up to now."""
    with psycopg.connect(index._database.address) as connection:
        connection.execute("SELECT pg_stat_force_next_flush()")
        [[scans]] = connection.execute(
            "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname LIKE '%_nearest'"
        )
        return int(scans)


def in_this_session(index: PostgresIndex, monkeypatch: pytest.MonkeyPatch, *statements: str) -> None:
    """Run statements in each connection that is opened to search."""
    real = index._database.connect

    def connect() -> Any:
        connection = real()
        for statement in statements:
            connection.execute(statement)
        return connection

    index._database._pool.dispose()
    monkeypatch.setattr(index._database, "connect", connect)


def test_a_large_index_is_searched_approximately_and_says_how_well(
    large: PostgresIndex, index: PostgresIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = large.info()
    assert facts["vector_search"] == "approximate" and facts["recall"]["chunks"] == CHUNKS
    assert facts["recall"]["recall_at_10"] >= 0.95
    # so few rows the server would rather sort
    in_this_session(large, monkeypatch, "SET enable_seqscan = off", "SET enable_sort = off")
    known = index_scans(large)
    for query in QUERIES:
        [found], [exact] = large.search([query], limit=10), index.search([query], limit=10)
        assert [hit["scores"] for hit in found[:10]] == [
            pytest.approx(hit["scores"], abs=1e-5) for hit in exact[:10]
        ]
    large._database._pool.dispose()
    # A connection reports its scans when it ends.
    wait_for(lambda: index_scans(large) > known, "scans of the vector index")


@pytest.mark.few(1)
@pytest.mark.parametrize("given_up_after", [1, 20_000])
def test_a_large_index_finds_under_a_condition_what_filtering_everything_first_finds(
    large: PostgresIndex, monkeypatch: pytest.MonkeyPatch, given_up_after: int
) -> None:
    give_up = f"SET hnsw.max_scan_tuples = {given_up_after}"
    in_this_session(large, monkeypatch, "SET enable_seqscan = off", "SET enable_sort = off", give_up)
    monkeypatch.setattr("adaptive_rag.index.postgres.neighbours.FOLLOWED", 40)
    monkeypatch.setattr("adaptive_rag.index.postgres.neighbours.COMPARED", 80)
    for first, length in ((0, 20), (30, 200), (100, CHUNKS - 150)):
        wanted = set(range(first, first + length))
        narrowed = large.where(read_where(f"number >= {first} and number < {first + length}"))
        for query in QUERIES:
            [found] = narrowed.search([query], limit=15)
            expected = sorted(s["dense"] for s in filtered_first(large, query, wanted, 15).values())[-15:]
            got = sorted(hit["scores"]["dense"] for hit in found)[-15:]
            assert {hit["metadata"]["number"] for hit in found} <= wanted
            assert got == pytest.approx(expected, abs=1e-5)


def test_rows_that_come_after_the_vector_index_are_found_by_it(large: PostgresIndex, tmp_path: Path) -> None:
    before = large.info()["recall"]
    build(write_files(tmp_path / "docs", {"late.txt": "A lighthouse keeper waits."}), large._database.address)
    [found] = large.search(["A lighthouse keeper waits."], limit=3)
    assert found[0]["text"] == "A lighthouse keeper waits."
    assert large.info()["recall"] == before


def test_a_server_with_an_older_pgvector_goes_on_comparing_exactly(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adaptive_rag.index.postgres.neighbours.INDEXED_ABOVE", 10)
    monkeypatch.setattr("adaptive_rag.index.postgres.neighbours.PGVECTOR", (99, 0))
    build(notes()[:20], database)
    facts = open_index(database).info()
    assert (facts["vector_search"], facts["recall"]) == ("exact", None)
    assert len(open_index(database).search(["note"], limit=5)[0]) >= 5


def test_what_is_unchanged_costs_nothing_and_what_changed_is_replaced(kb: str, tmp_path: Path) -> None:
    docs = write_files(tmp_path / "docs", {"1.txt": "Ebb.", "2.txt": "Neap.", "3.txt": "Neap."})
    model = HashEmbeddings()
    assert build(docs, kb, embeddings=model).copies == 1
    assert describe_fields(kb)["file"] == "text: 1.txt, 2.txt, 3.txt"
    assert len(open_index(kb).where(read_where("file = '3.txt'"))) == 1, "a copy is found by its name"
    again = build(docs, kb, embeddings=model)
    assert (again.unchanged, again.changed, again.texts_embedded) == (3, False, 0)
    (docs / "2.txt").rename(docs / "4.txt")
    write_files(docs, {"1.txt": "Flow."})
    reader = open_index(kb)
    report = build(docs, kb, embeddings=model)
    assert (report.updated, report.unchanged) == (1, 1)
    assert sorted(c["text"] for c in reader.chunks()) == ["Flow.", "Neap."], "an open index follows"
    assert {each.source for each in list_sources(kb)} == {str(docs / f"{n}.txt") for n in (1, 3, 4)}
    (docs / "1.txt").unlink()
    assert build(docs, kb, embeddings=model).removed == 1
    assert texts_in(kb) == ["Neap."]
    source, [chunk] = read_chunks(kb, "4.txt")
    assert (source, chunk["text"]) == (str(docs / "4.txt"), "Neap.")
    assert remove_sources(kb, ["3.txt"]).total_chunks == 1
    assert [each.source for each in list_sources(kb)] == [str(docs / "4.txt")]


def test_a_source_keeps_the_chunks_that_an_update_leaves_as_they_were(kb: str, tmp_path: Path) -> None:
    same = "The tide rises twice a day. " * 30
    docs = write_files(tmp_path / "docs", {"1.txt": same + "It is high at noon."})
    build(docs, kb, chunk_size=400, chunk_overlap=0)
    before = {chunk["id"] for chunk in open_index(kb).chunks()}
    write_files(docs, {"1.txt": same + "It is high at one."})
    report = build(docs, kb, chunk_size=400, chunk_overlap=0)
    after = {chunk["id"] for chunk in open_index(kb).chunks()}
    assert before & after and before != after
    assert len(after) == report.total_chunks


def test_words_weigh_after_each_run_what_they_weigh_in_a_fresh_index(database: str, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    runs: list[dict[str, str | None]] = [
        {"1.txt": "Ebb and flow, ebb.", "2.txt": "Neap tide.", "3.txt": "Neap tide."},
        {"1.txt": "Flow alone.", "4.txt": "Spring tide."},
        {"2.txt": None, "3.txt": "Slack water."},
        {"moved.txt": "Spring tide.", "4.txt": None},
    ]
    for number, texts in enumerate(runs):
        for name, text in texts.items():
            if text is None:
                (docs / name).unlink()
            else:
                write_files(docs, {name: text})
        scores = []
        for address in (database, f"{database}&table=fresh{number}"):
            build(docs, address)
            [hits] = open_index(address).search(["ebb flow spring tide"], limit=9)
            scores.append({hit["id"]: hit["scores"]["sparse"] for hit in hits})
        assert scores[0] == pytest.approx(scores[1])
    [hits] = open_index(database).search(["ebb"], limit=3)
    assert not any(hit["scores"]["sparse"] for hit in hits)


@pytest.mark.nightly
def test_an_index_made_anew_serves_until_the_new_one_is_complete(database: str, tmp_path: Path) -> None:
    docs = write_files(tmp_path / "docs", OLD)
    build(docs, database)
    reader, seen = open_index(database), []

    class Looking(HashEmbeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            seen.append(sorted(c["text"] for c in reader.chunks()))
            return super().embed_documents(texts)

    Looking.__module__, Looking.__qualname__ = HashEmbeddings.__module__, HashEmbeddings.__qualname__
    write_files(docs, NEW)
    with pytest.raises(IndexMismatchError, match="--rebuild"):
        build(docs, database, embeddings=Looking(), chunk_size=500)
    build(docs, database, embeddings=Looking(), chunk_size=500, rebuild=True)
    assert seen and all(texts == sorted(OLD.values()) for texts in seen)
    assert sorted(c["text"] for c in reader.chunks()) == sorted(NEW.values())


def test_a_question_goes_on_with_chunks_that_are_replaced_meanwhile(kb: str, tmp_path: Path) -> None:
    docs = write_files(tmp_path / "docs", {"1.txt": "The siren sounds at noon."})
    build(docs, kb, sentence_vectors=True)
    reader = open_index(kb)
    [[hit]] = reader.search(["siren"], limit=3)
    write_files(docs, {"1.txt": "The siren is silent."})
    build(docs, kb, sentence_vectors=True)
    assert reader.vectors([hit["id"]]).shape == (1, 16)
    assert len(reader.sentences([hit["id"]])[0].spans) == 1
    with pytest.raises(KeyError, match="No chunk has the id"):
        open_index(kb).vectors([hit["id"]])


QUAY = {"quay.md": "The quay of Saltmere was built in 1820."}


def test_a_version_that_is_not_held_any_more_is_the_present_one(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adaptive_rag.index.postgres.source.VERSIONS_HELD", 2)
    docs = write_files(tmp_path / "docs", QUAY)
    build(docs, database)
    reader = open_index(database)
    first, pinned = reader.version, reader.at(reader.version)
    assert reader.at("1.5").version == first
    names = []
    for number in range(2):
        build(write_files(docs, {"quay.md": f"Edition {number}."}), database)
        names.append(reader.version)
    assert pinned.version == reader.version == names[1] and reader.at(first).version == names[1]
    assert "Edition 1." in [hit["text"] for hit in pinned.search(["edition"], limit=3)[0]]
    earlier = reader.at(names[0])
    assert "Edition 0." in [hit["text"] for hit in earlier.search(["edition"], limit=3)[0]]
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
            "WHERE datname = current_database() AND state = 'idle in transaction'"
        )
    assert "Edition 1." in [hit["text"] for hit in earlier.search(["edition"], limit=3)[0]]


def test_the_server_ends_what_holds_a_version(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adaptive_rag.index.postgres.state.HELD_SECONDS", 1)
    build(write_files(tmp_path / "docs", QUAY), database)
    reader = open_index(database)
    version = reader.version
    holding = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in%'"
    )
    with psycopg.connect(database, autocommit=True) as connection:
        while connection.execute(holding).fetchone() != (0,):
            time.sleep(0.1)
    assert reader.at(version).search(["quay"], limit=1)[0]


@pytest.mark.few(1)
@pytest.mark.parametrize("route", ["factual", pytest.param("analytical", marks=pytest.mark.slow)])
def test_an_index_that_changes_at_every_step_breaks_no_question(kb: str, route: str) -> None:
    ask_while_it_is_written(kb, route)


@pytest.fixture(scope="module")
def spelt(shared: str) -> PostgresIndex:
    address = f"{shared}&table=spelt"
    Index.build([SourceText(name, text, name) for name, text in TEXTS.items()], address)
    return PostgresIndex.open(address)


@pytest.mark.parametrize(("question", "read_as"), READINGS)
def test_a_word_is_read_as_the_index_spells_it(
    spelt: PostgresIndex, question: str, read_as: dict[str, str]
) -> None:
    assert correct_spelling(question, spelt)[1] == read_as


def test_words_of_other_documents_are_not_told(spelt: PostgresIndex) -> None:
    assert isinstance(spelt, SpellsWords)
    view = spelt.only(["leave.txt"])
    assert "warranty" in spelt.spelt_like("warenty") and view.spelt_like("warenty") == []
    assert spelt.holds("WARRANTY") and not view.holds("warranty") and not spelt.holds("warrant")
    assert spelt.holds("must") and not spelt.holds("again"), "also what searches by words leave out"
    assert not spelt.holds("(a|b)") and spelt.spelt_like("(a|b)") == []


WRITER = "adaptive_rag.index.postgres.writer.DatabaseWriter"
MOMENTS = [
    ("before", f"{WRITER}.add"),
    ("after", f"{WRITER}.add"),
    ("after", f"{WRITER}.remove"),
    ("before", "adaptive_rag.index.postgres.database.Database.write"),
    ("after", "adaptive_rag.index.manifest.Manifest.publish"),
    ("before", f"{WRITER}.index_words"),
    ("after", f"{WRITER}.optimize"),
    ("before", f"{WRITER}.drop_other_tables"),
]


@pytest.mark.few(1)
@pytest.mark.parametrize(("when", "target"), MOMENTS)
def test_a_killed_run_leaves_one_whole_state_and_lets_go(
    kb: str, tmp_path: Path, when: str, target: str
) -> None:
    docs = write_files(tmp_path / "docs", OLD)
    build(docs, kb)
    kill_and_complete(docs, kb, when, target)


@pytest.mark.nightly
def test_a_killed_first_run_is_completed_by_the_next(kb: str, tmp_path: Path) -> None:
    docs = write_files(tmp_path / "docs", OLD)
    for when, target in (("after", f"{WRITER}._create_table"), ("after", f"{WRITER}.add")):
        assert run_python(SCRIPT, when, target, 1, docs, kb).returncode == -signal.SIGKILL
        with pytest.raises(IndexMismatchError, match="its first run did not finish"):
            open_index(kb)
    build(docs, kb, wait_seconds=10)
    assert texts_in(kb) == sorted(OLD.values())


@pytest.mark.few(1)
@pytest.mark.parametrize("processes", [2, pytest.param(6, marks=pytest.mark.slow)])
def test_writers_at_once_all_keep_their_documents(kb: str, tmp_path: Path, processes: int) -> None:
    write_at_once(kb, tmp_path, processes)


def test_a_writer_is_waited_for(database: str, tmp_path: Path) -> None:
    docs, heard = write_files(tmp_path / "docs", {"1.txt": "Ebb."}), list[str]()
    build(docs, database)
    write_files(docs, {"1.txt": "Flow."})
    with Database(database).hold_lock(wait_seconds=0, on_wait=None):
        with pytest.raises(IndexingError, match=r"written by another process\. .*\?table=NAME"):
            build(docs, database, wait_seconds=0.3, on_wait=heard.append)
        assert build([str(docs)], f"{database}&table=other", wait_seconds=0).added == 1
        assert texts_in(database) == ["Ebb."]
    assert len(heard) == 1 and "Waiting for another process" in heard[0]
    build(docs, database, wait_seconds=0)
    assert texts_in(database) == ["Flow."]


def test_each_search_sees_one_whole_state_while_it_is_written(kb: str, tmp_path: Path) -> None:
    def write(number: int) -> None:
        build(write_files(docs, {f"{n}.txt": f"Tide {n} of round {number}." for n in range(8)}), kb)

    docs = tmp_path / "docs"
    write(0)
    reader, stop, rounds = open_index(kb), threading.Event(), set()

    def read() -> None:
        while not stop.is_set():
            [found] = reader.search(["tide round"], limit=20)
            seen = {hit["text"].split()[-1] for hit in found}
            rounds.add((len(found), len(seen)))

    readers = [threading.Thread(target=read) for _ in range(2)]
    for each in readers:
        each.start()
    try:
        for number in range(1, 6):
            write(number)
    finally:
        stop.set()
        for each in readers:
            each.join(60)
    assert rounds == {(8, 1)}


@pytest.fixture(scope="module")
def samples(shared: str, sample_vectors: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """The samples in PostgreSQL and in a folder."""
    begin, folder = begin_with(sample_vectors), tmp_path_factory.mktemp("samples")
    (folder / "lent").mkdir()

    def begin_lent(self: EmbeddingCache, place: Path | None) -> None:
        begin(self, place or folder / "lent")

    places = f"{shared}&table=samples", folder / "kb"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(EmbeddingCache, "__init__", begin_lent)
        for place in places:
            assert Index.build(samples_path(), place).texts_embedded == 0
    assert (folder / "lent" / FILE).exists()
    return places


def test_the_whole_graph_answers_from_it_as_from_a_folder(samples: tuple[str, Path]) -> None:
    address, folder = samples
    in_database, in_folder = AdaptiveRAG(address), AdaptiveRAG(folder)
    for question in SAMPLE_QUESTIONS[::2]:
        state: Any = {"question": question.question, "user_context": question.user_context}
        answer = in_database.invoke(state)
        assert answer["citations"]
        # Passages of nearly the same rank may have another order there, and so another number.
        assert MARKER.sub("", answer["answer"]) == MARKER.sub("", in_folder.invoke(state)["answer"])
        assert "postgres:" not in json.dumps(answer["trace"], default=str)
    assert asyncio.run(in_database.ainvoke(state))["answer"] == answer["answer"]
    narrowed = AdaptiveRAG(address, where="kind = csv").invoke("When are the sirens tested?")
    assert {citation["source"].rpartition(".")[2] for citation in narrowed["citations"]} == {"csv"}


def test_question_answer_pairs_and_sentences_are_kept_as_in_a_folder(samples: tuple[str, Path]) -> None:
    address, folder = samples
    ours, theirs = PostgresIndex.open(address), Index.open(folder)
    [found], [known] = (index.search(["When are the sirens tested?"], limit=200) for index in (ours, theirs))
    scores = {hit["id"]: hit["scores"] for hit in known}
    assert {hit["id"] for hit in found} == scores.keys()
    assert any("dense_question" in hit["scores"] for hit in found)
    for hit in found:
        expected = {name: score for name, score in scores[hit["id"]].items() if name != "sparse"}
        got = {name: score for name, score in hit["scores"].items() if name != "sparse"}
        assert got == pytest.approx(expected, abs=1e-5)
    best_by_words = [max(hits, key=lambda hit: hit["scores"]["sparse"])["id"] for hits in (found, known)]
    assert best_by_words[0] == best_by_words[1]
    ids = [hit["id"] for hit in found[:5]]
    assert ours.stores_sentences
    for one, other in zip(ours.sentences(ids), theirs.sentences(ids), strict=True):
        assert np.array_equal(one.spans, other.spans) and np.allclose(one.vectors, other.vectors)
    assert {c["id"]: c for c in ours.chunks()} == {c["id"]: c for c in theirs.chunks()}
    assert describe_fields(address) == describe_fields(folder)


def test_the_shell_does_with_it_what_it_does_with_a_folder(run: Run, kb: str, tmp_path: Path) -> None:  # noqa: F811
    docs = write_files(
        tmp_path / "notes", {"one.txt": "The siren sounds at noon.", "two.txt": "The quay is closed."}
    )
    assert "2 added" in run("index", docs, "--index", kb).stdout
    assert "2 unchanged" in run("index", docs, "--index", kb).stdout
    assert parsed(run("info", "--index", kb, "--json"))["vector_search"] == "exact"
    assert "one.txt" in run("list", "--index", kb).stdout
    assert "The quay is closed." in run("show", "two.txt", "--index", kb).stdout
    assert "noon" in run("ask", "When does the siren sound?", "--index", kb).stdout
    assert "2 chunks of 2 sources" in run("doctor", "--index", kb, "--offline").stdout
    refused = run("index", "--check", "--index", kb)
    assert refused.exit_code == 1 and "manages its own files" in " ".join(refused.stderr.split())
    assert run("remove", "two.txt", "--index", kb).exit_code == 0
    found = parsed(run("search", "quay", "--index", kb, "--json"))["documents"]
    assert [hit["text"] for hit in found] == ["The siren sounds at noon."]


def test_several_indexes_lie_in_one_database(database: str) -> None:
    other = f"{database}&table=other"
    build(notes()[:3], database)
    build(notes()[3:5], other)
    assert (len(open_index(database)), len(open_index(other))) == (3, 2)
    report = build(notes()[5:6], other)
    view = narrow_to(report, other, HashEmbeddings())
    assert isinstance(view, PostgresIndex) and len(view) == 1
    for name in ("Other", "a-b", 'x"; DROP TABLE y; --', "1", "x" * 41):
        with pytest.raises(ConfigurationError, match="cannot be the name of a table"):
            open_index(f"{database}&table={name}")


def test_another_model_is_refused_with_both_names(kb: str) -> None:
    build(notes()[:3], kb)
    with pytest.raises(IndexMismatchError, match=r"HashEmbeddings:hash'; got .*:other'.*--rebuild"):
        PostgresIndex.open(kb, HashEmbeddings(name="other"))
    with pytest.raises(IndexMismatchError, match=r"HashEmbeddings:hash \(16 dim.*got .*:other \(8 dim"):
        build(notes()[:3], kb, embeddings=HashEmbeddings(8, "other"))
    with pytest.raises(IndexMismatchError, match=r"has vectors of 16 dimensions; .* made one of 8"):
        PostgresIndex.open(kb, HashEmbeddings(8)).search(["x"], limit=1)


def test_an_index_rebuilt_with_another_model_is_opened_again(
    kb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_that_a_new_model_is_followed(kb, monkeypatch)


@pytest.fixture
def guarded(server: Any, database: str) -> Iterator[str]:
    """The database, where a user `guarded` needs a password."""
    rules = Path(server.pgdata) / "pg_hba.conf"
    before = rules.read_text()
    server.psql("DROP ROLE IF EXISTS guarded; CREATE ROLE guarded LOGIN PASSWORD 'right';")
    rules.write_text(f"local all guarded scram-sha-256\n{before}")
    server.psql("SELECT pg_reload_conf();")
    yield database
    rules.write_text(before)
    server.psql("SELECT pg_reload_conf();")


def test_a_wrong_password_is_refused_and_never_shown(run: Run, guarded: str) -> None:  # noqa: F811
    address = guarded.replace("postgres:@", "guarded:t0p-s3cret@")
    assert address != guarded
    with pytest.raises(IndexUnreachableError, match="the server refuses this user or password") as caught:
        PostgresIndex.open(address)
    assert "[redacted]@" in str(caught.value)
    assert "t0p-s3cret" not in "".join(traceback.format_exception(caught.value))
    for command in (("ask", "Why?"), ("index", __file__), ("doctor",), ("list",), ("info",)):
        result = run(*command, "--index", address)
        assert result.exit_code != 0 and "t0p-s3cret" not in result.stdout + result.stderr


def test_a_user_who_may_not_write_is_told(guarded: str) -> None:
    address = guarded.replace("postgres:@", "guarded:right@")
    with psycopg.connect(guarded) as connection:
        connection.execute("CREATE EXTENSION vector")
    with pytest.raises(IndexUnreachableError, match="this user has no permission"):
        build(notes()[:3], address)
    build(notes()[:3], guarded)
    with pytest.raises(IndexUnreachableError, match="needs the right to SELECT"):
        open_index(address)


def test_a_server_that_is_not_there_is_named(tmp_path: Path) -> None:
    for address in (
        "postgres://u:p@127.0.0.1:1/kb",
        f"postgres://u:p@/kb?host={tmp_path}",
        "postgres://none.invalid/kb",
    ):
        with pytest.raises(IndexUnreachableError, match=r"no server answers there|there is no such host"):
            open_source(address)
    with pytest.raises(IndexUnreachableError, match=r"no server answers there"):
        build(notes()[:1], "postgresql://127.0.0.1:1/kb")


def test_a_database_an_index_or_a_table_that_is_missing_is_named(server: Any, database: str) -> None:
    with pytest.raises(IndexUnreachableError, match='database "nowhere" does not exist'):
        open_index(str(server.get_uri(database="nowhere")))
    for look in (open_index, describe):
        with pytest.raises(IndexMismatchError, match=r"no index at .*Make one with: adaptive-rag index PATH"):
            look(database)
    with pytest.raises(IndexUnreachableError, match="no schema for new tables"):
        build(notes()[:3], f"{database}&options=-csearch_path%3Dnowhere", wait_seconds=0)
    build(notes()[:3], database)
    reader = open_index(database)
    with psycopg.connect(database) as connection:
        connection.execute("DROP TABLE adaptive_rag_chunks_1")
    with pytest.raises(IndexUnreachableError, match=r"adaptive_rag_chunks_1.* does not exist"):
        reader.search(["x"], limit=1)


def test_a_server_that_ended_a_connection_is_reached_again(database: str) -> None:
    build(notes()[:3], database)
    reader = open_index(database)
    assert reader.search(["note"], limit=1)[0]
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
            "AND pid <> pg_backend_pid()"
        )
    assert reader.search(["note"], limit=1)[0]


def test_a_server_without_pgvector_is_told(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from adaptive_rag.index.postgres.writer import DatabaseWriter

    real = DatabaseWriter._run

    def run_without(self: DatabaseWriter, statement: str) -> None:
        real(self, statement.replace("EXISTS vector", "EXISTS vector VERSION 'none'"))

    monkeypatch.setattr(DatabaseWriter, "_run", run_without)
    with pytest.raises(IndexUnreachableError, match=r"lacks the extension pgvector.*CREATE EXTENSION vector"):
        build(notes()[:3], database)


def test_a_missing_package_is_named_with_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pgvector.psycopg", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'adaptive-rag\[postgres\]'"):
        open_source("postgres://127.0.0.1:1/unopened")


PAGE = (Path(__file__).parents[2] / "docs" / "stores.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_snippets_of_the_page_do_what_it_says(
    run: Run,  # noqa: F811
    database: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write_files(tmp_path / "docs", {"wall.txt": "The sea wall is 2.3 km long."})
    monkeypatch.chdir(tmp_path)
    commands = [line for kind, text in BLOCKS if kind == "sh" for line in text.splitlines()]
    assert commands[0] == "pip install '.[postgres]'" and len(commands) == 3
    for command in commands[1:]:
        result = run(*shlex.split(command.replace("postgresql://rag:PASSWORD@localhost/rag", database))[1:])
        assert result.exit_code == 0, result.stderr
    assert "2.3 km" in result.stdout
    ours = [
        text for kind, text in BLOCKS if kind == "python" and ("similarity" in text or "AdaptiveRAG" in text)
    ]
    assert len(ours) == 3
    in_sqlalchemy = database.replace("postgresql:", "postgresql+psycopg:")
    for text in ours:
        known: dict[str, Any] = {}
        text = text.replace("postgresql://localhost/rag", database)
        exec(text.replace("postgresql+psycopg://localhost/rag", in_sqlalchemy), known)
        if "engine" in known:
            found = known["store"].similarity_search("sea wall", k=3)
            assert found[0].page_content.startswith("The sea wall")
            with pytest.raises(Exception, match="null value in column"):
                known["store"].add_texts(["no document of ours"])
            asyncio.run(known["engine"].close())
