"""Some questions of the fuzz, over the samples and a folder with front matter, minutes and tables."""

from pathlib import Path

import pytest

from adaptive_rag import AdaptiveRAG
from adaptive_rag.index.cache import EmbeddingCache
from adaptive_rag.samples import samples_path
from benchmarks import fuzz_questions
from benchmarks.fuzz_questions import build_indexes, check, fuzz, report
from tests.index.made import write_files
from tests.sample_vectors import begin_with

NAMES = ("ABC", "Kim")
MINUTES = "\n\n".join(f"{name}: I think that gate {n} should be closed." for n in range(9) for name in NAMES)
POST = "---\ntitle: Post {n}\nurl: /p/{n}\n---\nPost {n} says that the wall holds."
DOCUMENTS = {
    "page.md": "---\ntitle: Gates\nurl: /gates\n---\n# Gates\n\nThe {{ site.name }} gate: [[Noon|noon]].\n",
    "posts.md": "\n\n".join(POST.format(n=n) for n in range(9)),
    "minutes.txt": MINUTES,
    "guide.rst": "Guide\n=====\n\n.. note:: See :ref:`gates <gates>`.\n\nSorting takes O((log N)³) steps.\n",
    "page.html": "<h1>Walls</h1><table><tr><th>Wall<th>Height<tr><td>North<td>4.1 m</table><p>It holds.</p>",
    "prices.csv": "Item,Price\nHinge,£4.20\nHandle,£7.90\n",
    "stories.txt": "אבג 漢字。 ½ x² \u202e\ufeff e\u0301. The last line has no end",
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory, sample_vectors: Path) -> tuple[list[str], list[str]]:
    made = write_files(tmp_path_factory.mktemp("fuzz") / "made", DOCUMENTS)
    found = [samples_path(), made]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(EmbeddingCache, "__init__", begin_with(sample_vectors))
        return list(map(str, found)), build_indexes(found, tmp_path_factory.mktemp("indexes"))


@pytest.mark.parametrize("questions", [5, pytest.param(16, marks=pytest.mark.nightly)])
def test_its_questions_end_in_answers(folders: tuple[list[str], list[str]], questions: int) -> None:
    results = list(fuzz(*folders, seed=1, numbers=range(questions)))
    assert not [result for result in results if result.fault], report(results, 1.0, 1, "fuzz")
    assert len({result.kind for result in results}) > questions // 3


def test_an_exception_is_reported_with_its_place_and_its_question(
    folders: tuple[list[str], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> list[object]:
        raise ZeroDivisionError("a fault of ours")

    monkeypatch.setattr("adaptive_rag.answer.sentences.read_units", fail)
    results = list(fuzz(*folders, seed=1, numbers=range(12)))
    text = report(results, 1.0, 1, "fuzz")
    assert "ZeroDivisionError at" in text and "repeat: fuzz --seed 1 --only" in text


def test_an_answer_is_held_to_its_documents(folders: tuple[list[str], list[str]]) -> None:
    output = dict(AdaptiveRAG(index=folders[1][0]).invoke("What is the highest water level ever recorded?"))
    chunks = fuzz_questions.Asker(*folders, seed=1).chunks[0]
    assert list(check(output, chunks)) == []
    [citation, *_] = output["citations"]  # type: ignore[misc]
    for wrong, problem in (
        ({"citations": []}, "a marker has no citation"),
        (
            {"citations": [{**citation, "quote": "x" * len(citation["quote"])}]},
            "a quote is not what stands there",
        ),
        ({"answer": " "}, "the answer is empty"),
        ({"trace": []}, "there is no trace"),
        ({"grounding": float("nan")}, "the grounding is no share"),
    ):
        assert problem in [what for what, _ in check(output | wrong, chunks)]
