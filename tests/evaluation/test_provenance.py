from pathlib import Path

import pytest

from adaptive_rag.evaluation import provenance
from adaptive_rag.evaluation.provenance import code_digest


def test_the_digest_is_of_the_packages_alone() -> None:
    names = [folder.name for folder in provenance._package_folders()]
    assert names == ["adaptive_rag", "graph", "nodes"]


@pytest.mark.parametrize(
    ("changed", "differs"),
    [
        ("retrieval/fusion.py", True),
        ("prompts/score.md", True),
        ("rank/sentiment.npy", True),
        ("models/minilm/reader.onnx", True),
        ("query/english_words.txt.xz", True),
        ("evaluation/arms.py", True),
        ("evaluation/run.py", True),
        ("evaluation/report.py", False),
        ("cli/app.py", False),
        ("retrieval/notes.txt", False),
    ],
)
def test_the_digest_follows_what_decides_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: str, differs: bool
) -> None:
    monkeypatch.setattr(provenance, "_package_folders", lambda: [tmp_path])
    file = tmp_path / changed
    file.parent.mkdir(parents=True)
    file.write_bytes(b"before")
    before = code_digest()
    assert code_digest() == before
    file.write_bytes(b"after")
    assert (code_digest() != before) is differs
