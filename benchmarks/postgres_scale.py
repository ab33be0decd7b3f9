"""How an index in PostgreSQL grows: what a search takes by vector, by words and in all, and what it finds.

    python -m benchmarks.postgres_scale --chunks 10000 50000 100000

The corpora are those that `scale` makes up, their vectors ready made, written as a build writes them into the
PostgreSQL that the tests start. Each question is asked of every way in turn, in one run: the nearest vectors
exactly and by the approximate index, where the table is large enough for one; BM25 from the table of words,
and from the words of each chunk taken apart, with the same scores; and whole searches, also under conditions
that keep 1, 10 and 50 % of the chunks. Printed are milliseconds at the median and the 95th percentile, and
which share of the ten nearest is found.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from adaptive_rag.index.manifest import Manifest, Settings, SourceRecord, key_of
from adaptive_rag.index.postgres.database import Database
from adaptive_rag.index.postgres.neighbours import nearest_exactly, nearest_roughly
from adaptive_rag.index.postgres.source import CHUNK, SEARCH, PostgresIndex, to_lexemes
from adaptive_rag.index.postgres.writer import DatabaseWriter
from adaptive_rag.index.run import ROWS_PER_WRITE
from adaptive_rag.models.embeddings import embedding_name
from adaptive_rag.search.search import POOL
from adaptive_rag.where import read_where
from benchmarks.scale import PER_SOURCE, make_row
from benchmarks.scale_corpora import DIMENSION, Corpus, made_up, unit
from benchmarks.scale_sides import CONDITIONS, TOP, ReadyMade
from tests.postgres_server import empty_database, serving_postgres

TAKEN_APART = """
WITH hits AS (
    SELECT number, words, lexeme, cardinality(positions) AS times FROM {table}, unnest(content_tsv)
    WHERE content_tsv @@ %(any_word)s::tsquery AND lexeme = ANY(%(lexemes)s::text[])
), weights AS (
    SELECT lexeme, ln(1 + (%(chunks)s - count(*) + 0.5) / (count(*) + 0.5))::float8 AS weight
    FROM hits GROUP BY lexeme
), bm25 AS (
    SELECT number, sum(weight * times * 2.2 / (times + 1.2 * (0.25 + 0.75 * words / %(mean)s))) AS score
    FROM hits JOIN weights USING (lexeme) GROUP BY number
)
SELECT {chunk}, embedding, views, score::float8 FROM {table} JOIN bm25 USING (number)
ORDER BY score DESC, number LIMIT %(limit)s
"""


def make_index(address: str, corpus: Corpus) -> dict[str, float]:
    """Write the corpus as an index, the way a build does; return the seconds that each part of it took."""
    database, number, seconds = Database(address), 0, {"rows": 0.0}
    moved = unit(np.random.default_rng(0).normal(size=(997, DIMENSION)))
    settings = Settings(embedding_name(ReadyMade({})), DIMENSION, 1000, 200, sentence_vectors=True)
    with database.hold(wait_seconds=0, on_wait=None):
        manifest = Manifest(settings, "chunks-1").publish(database)
        writer = DatabaseWriter(database, "chunks-1", None, DIMENSION)
        for texts, vectors in corpus.slices():
            rows = [make_row(number + i, text, vectors[i], moved) for i, text in enumerate(texts)]
            began = time.perf_counter()
            for start in range(0, len(rows), ROWS_PER_WRITE):
                writer.add(rows[start : start + ROWS_PER_WRITE])
            seconds["rows"] += time.perf_counter() - began
            number += len(rows)
        lap = time.perf_counter()
        writer.optimize(keep_since=time.time())
        seconds["words"], lap = time.perf_counter() - lap, time.perf_counter()
        recall = writer.index_vectors()
        seconds["vectors"] = time.perf_counter() - lap
        counts = [min(PER_SOURCE, number - start) for start in range(0, number, PER_SOURCE)]
        held = ((f"source-{n}", count) for n, count in enumerate(counts))
        sources = {name: SourceRecord("0" * 64, key_of(name, "made"), count) for name, count in held}
        made: dict[str, Any] = {"version": writer.version, "chunks": number, "sources": sources, "files": {}}
        replace(manifest, **made, recall=recall, committed=time.time()).publish(database)
        writer.drop_other_tables()
    return seconds


def ask(address: str, corpus: Corpus) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Ask every question in every way; return seconds, and the share of the ten nearest that are found."""
    asked = corpus.questions()
    index = PostgresIndex.open(address, ReadyMade(dict(zip(asked.texts, asked.vectors, strict=True))))
    views = {condition: index.where(read_where(condition)) for condition in CONDITIONS}
    seconds: dict[str, list[float]] = defaultdict(list)
    shares: dict[str, list[float]] = defaultdict(list)

    def timed(name: str, work: Callable[..., Any], *given: Any, **named: Any) -> Any:
        began = time.perf_counter()
        result = work(*given, **named)
        seconds[name].append(time.perf_counter() - began)
        return result

    for text, vector in zip(asked.texts, asked.vectors, strict=True):
        with index._asking() as (cursor, state):
            asks: tuple[Any, ...] = cursor, state.table, vector, POOL
            exact = timed("nearest, exactly", nearest_exactly, *asks)
            if state.manifest.recall:
                rough = timed("nearest, by the index", nearest_roughly, *asks)
                shares["nearest, by the index"].append(len({*rough[:TOP]} & {*exact[:TOP]}) / TOP)
            [lexemes] = to_lexemes(cursor, [text])
            given = {
                "lexemes": lexemes,
                "any_word": " | ".join(f"'{word}'" for word in lexemes),
                "weights": state.weights(cursor, lexemes),
                "chunks": corpus.size,
                "mean": state.mean_words(cursor),
                "limit": POOL,
                "near": [],
            }
            found = {}
            for name, sql in (("words", SEARCH), ("words, taken apart", TAKEN_APART)):
                sql = sql.format(table=state.table, words=state.words, chunk=CHUNK, among="")
                found[name] = sorted(row[-1] for row in timed(name, _rows, cursor, sql, given))
            assert np.allclose(*found.values()), text
        timed("whole search", index.search, [text], limit=POOL)
        for condition, view in views.items():
            [hits] = timed(condition, view.search, [text], limit=POOL)
            with index._asking() as (cursor, state):
                ids = f"SELECT langchain_id FROM {state.table} WHERE {condition} "
                cursor.execute(f"{ids} ORDER BY embedding <#> %s LIMIT {TOP}", [vector])
                best = {id_ for [id_] in cursor}
            shares[condition].append(len({hit["id"] for hit in hits[:TOP]} & best) / TOP)
    return seconds, shares


def _rows(cursor: Any, sql: str, given: dict[str, Any]) -> list[Any]:
    return cursor.execute(sql, given).fetchall()  # type: ignore[no-any-return]


def main() -> None:
    """Make, ask and print each size."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--chunks", type=int, nargs="+", default=[10_000])
    parser.add_argument("--questions", type=int, default=60)
    arguments = parser.parse_args()
    for size in arguments.chunks:
        with serving_postgres() as server:
            address, corpus = empty_database(server), made_up(size, arguments.questions)
            made = make_index(address, corpus)
            seconds, shares = ask(address, corpus)
        parts = ", ".join(f"{name} {took:.0f} s" for name, took in made.items())
        print(f"\n{size:,} chunks. Made in: {parts}.\n")
        print("| | median | 95 % | of the ten nearest |\n|---|--:|--:|--:|")
        for name, times in seconds.items():
            # the first questions read what later ones find in memory
            p50, p95 = 1000 * np.percentile(times[5:], (50, 95))
            share = f"{np.mean(shares[name]):.3f}" if name in shares else ""
            print(f"| {name} | {p50:.1f} ms | {p95:.1f} ms | {share} |")


if __name__ == "__main__":
    main()
