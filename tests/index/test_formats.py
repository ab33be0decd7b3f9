"""An index of every format that was released opens, answers, grows and is mended as one that is made today.

When a format is released, keep a small index of it: copy `formats/docs` into an empty folder such as /tmp/kb,
run `adaptive-rag index docs --index kb` there, and keep what it makes, without `.lock`, as
`formats/format-N`. What is kept there is never made anew.
"""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from adaptive_rag import AdaptiveRAG, Index
from adaptive_rag.index import Progress
from adaptive_rag.index.cache import EmbeddingCache
from tests.index.made import write_files
from tests.index.test_files import data_file, flip

KEPT = Path(__file__).parent / "formats"
MORE = {"marsh.txt": "The marsh beside the wall floods twice a day. Herons nest in it."}


@pytest.fixture(params=sorted(path.name for path in KEPT.glob("format-*")))
def kb(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    shutil.copytree(KEPT / request.param, tmp_path / "kb")
    assert f"format-{format_of(tmp_path / 'kb')}" == request.param
    return tmp_path / "kb"


def format_of(kb: Path) -> int:
    return int(json.loads((kb / "manifest.json").read_text())["format"])


def answer(kb: Path, question: str) -> str:
    return AdaptiveRAG(kb).query(question)[0]


def test_it_answers(kb: Path) -> None:
    assert "214 metres" in answer(kb, "How long is the sea wall of Saltmere?")
    assert "4.20" in answer(kb, "What is the price of a brass hinge?")
    assert "at high tide" in answer(kb, "When are the gates shut?")


def test_its_vectors_are_those_of_the_model_today(kb: Path, tmp_path: Path) -> None:
    Index.build(KEPT / "docs", tmp_path / "new")
    old, new = Index.open(kb), Index.open(tmp_path / "new")
    for chunk in new.chunks():
        [same] = [kept for kept in old.chunks() if kept["text"] == chunk["text"]]
        assert np.allclose(old.vectors([same["id"]]), new.vectors([chunk["id"]]), atol=1e-3)
        [before], [after] = old.sentences([same["id"]]), new.sentences([chunk["id"]])
        assert np.array_equal(before.spans, after.spans)
        assert np.allclose(before.vectors, after.vectors, atol=0.02)
    cache = EmbeddingCache(kb)
    assert len(cache.entries()[0]) > len(old), "what was embedded is known"
    cache.close()


def test_it_grows_and_is_whole(kb: Path, tmp_path: Path) -> None:
    before, sources = format_of(kb), len(Index.open(kb).sources())
    report = Index.build(write_files(tmp_path / "more", MORE), kb)
    assert (report.added, len(report.failed)) == (1, 0)
    assert len(Index.open(kb).sources()) == sources + 1
    assert "Herons" in answer(kb, "What nests in the marsh?")
    assert "214 metres" in answer(kb, "How long is the sea wall of Saltmere?")
    assert Index.check(kb, deep=True).healthy
    assert format_of(kb) == before, "an older version can still open it"


def test_it_is_mended(kb: Path) -> None:
    assert Index.check(kb, deep=True).healthy
    flip(data_file(kb))
    assert not Index.check(kb).healthy or not Index.check(kb, deep=True).healthy
    report = Index.repair(kb)
    assert report.damages and not report.lost
    assert Index.check(kb, deep=True).healthy
    assert "214 metres" in answer(kb, "How long is the sea wall of Saltmere?")


def test_one_command_takes_it_to_what_is_new_and_can_be_interrupted(kb: Path) -> None:
    def interrupt(step: Progress) -> None:
        raise KeyboardInterrupt

    before = format_of(kb)
    with pytest.raises(KeyboardInterrupt):
        Index.build(KEPT / "docs", kb, sentence_vectors="pooled", rebuild=True, progress=interrupt)
    assert format_of(kb) == before and "214 metres" in answer(kb, "How long is the sea wall of Saltmere?")
    Index.build(KEPT / "docs", kb, sentence_vectors="pooled", rebuild=True)
    assert format_of(kb) == 2 and Index.check(kb, deep=True).healthy
    assert "214 metres" in answer(kb, "How long is the sea wall of Saltmere?")
