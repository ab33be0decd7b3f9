"""Replicas over one bucket, with and without a copy on disk, answer as one process does from a folder."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adaptive_rag.index import Index
from adaptive_rag.index.bucket import Bucket
from adaptive_rag.samples import questions_path, samples_path
from tests.index.test_crash import run_python

EACH = 4  # every so-manieth question of the samples: of each type some
CONDITIONS = ["", 'kind = md or file = "faq.csv"']

# Searches and whole questions of one process: read into memory as a small table is, and as a large one is.
SCRIPT = """
    import json, sys
    from adaptive_rag import AdaptiveRAG
    from adaptive_rag.context import make_context
    from adaptive_rag.index import disk_cache, row_reader
    from adaptive_rag.index.index import _open_once, source_of

    place, copies, asked = sys.argv[1:]
    questions, conditions = json.loads(asked)
    bucket = {"cache_gb": 1, "cache": copies} if copies else {}
    found = {"copied": [], "searched": [], "answered": []}
    for row_reader.IN_MEMORY_UP_TO in (20_000, 0):
        _open_once.cache_clear()
        for condition in conditions:
            settings = {"bucket": bucket, **({"where": condition} if condition else {})}
            index = source_of(make_context(index=place, **settings))
            disk_cache._copy_pool().submit(lambda: None).result()
            found["copied"].append(index.reader().copy is not None)
            for hits in index.search(questions, limit=10):
                found["searched"].append([(hit["id"], hit["scores"]) for hit in hits])
            rag = AdaptiveRAG(place, **settings)
            for question in questions:
                state = rag.invoke(question)
                found["answered"].append([state["answer"], [each["id"] for each in state["documents"]]])
    print(json.dumps(found))
"""


@pytest.fixture
def folder(tmp_path: Path, kb: str, samples_embedded: None) -> Path:
    """An index in a folder, and the same files in a bucket."""
    Index.build(samples_path(), tmp_path / "kb")
    bucket = Bucket(kb)
    for file in (tmp_path / "kb").rglob("*"):
        if file.is_file() and not file.name.startswith((".", "embeddings")):
            bucket.write(file.relative_to(tmp_path / "kb").as_posix(), file.read_bytes())
    return tmp_path / "kb"


@pytest.mark.nightly
def test_two_replicas_of_a_bucket_equal_one_process_with_a_folder(
    folder: Path, kb: str, tmp_path: Path
) -> None:
    lines = questions_path().read_text(encoding="utf-8").splitlines()[::EACH]
    asked = json.dumps([[json.loads(line)["question"] for line in lines], CONDITIONS])
    sides = [(folder, ""), (kb, tmp_path / "copies"), (kb, "")]
    runs = [run_python(SCRIPT, place, copies, asked, wait=False) for place, copies in sides]
    outputs = [run.communicate(timeout=300) for run in runs]
    assert [run.returncode for run in runs] == [0, 0, 0], outputs
    alone, copied, directly = (json.loads(out.splitlines()[-1]) for out, _ in outputs)
    assert [set(each["copied"]) for each in (alone, copied, directly)] == [{False}, {True}, {False}]
    assert len(lines) >= 12 and all(alone["searched"])
    assert len(alone["searched"]) == len(alone["answered"]) == 2 * len(CONDITIONS) * len(lines)
    for replica in (copied, directly):
        assert_same_hits(replica["searched"], alone["searched"])
        assert replica["answered"] == alone["answered"]


def assert_same_hits(found: list[Any], expected: list[Any]) -> None:
    for hits, wanted in zip(found, expected, strict=True):
        assert [id_ for id_, _ in hits] == [id_ for id_, _ in wanted]
        for (_, scores), (_, right) in zip(hits, wanted, strict=True):
            assert scores.keys() == right.keys()
            assert np.allclose([*scores.values()], [right[name] for name in scores], rtol=0, atol=1e-5)
