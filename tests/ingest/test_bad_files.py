"""Files that are wrong in every way we could think of: each costs a line and nothing else."""

import hashlib
import json
import os
import pickle
import re
from pathlib import Path

import pytest
from langchain_core.embeddings import Embeddings

from adaptive_rag import AdaptiveRAG, Index
from adaptive_rag.errors import AdaptiveRAGWarning, IndexingError
from adaptive_rag.graph.indexing import build_indexing_graph
from adaptive_rag.index import IndexReport
from adaptive_rag.ingest import Failure, SourceFile, SourceText, process, read_source
from adaptive_rag.ingest.allowance import Bounds
from adaptive_rag.ingest.documents import printable
from adaptive_rag.ingest.loaders import LOADERS, Loader
from benchmarks.bad_files import MAX_MEGABYTES, MAX_SECONDS, read_in_program
from benchmarks.made_badly import BAD_FILES, make_bad_files
from tests.cli.conftest import Run, run  # noqa: F401  a fixture
from tests.ingest.spans import checked_chunks

pytestmark = pytest.mark.skipif(os.name == "nt", reason="half of these files cannot be made on Windows")

GOOD = {
    "harbour.txt": "The harbour of Saltmere freezes over once in thirty years.",
    "wall.md": "# The wall\n\nThe sea wall of Saltmere is 2,340 metres long.\n",
    "siren.html": "<h1>The siren</h1><p>The siren sounds for three minutes at warning level three.</p>",
}
# What a reader of the line has no use for: how a library of ours puts it.
# What a reader of the line has no use for: how a library of ours puts it.
GIBBERISH = re.compile(r"Traceback|\b0x|object at|<\w|Errno|\bcode=|XML_|codec|NoneType|\bNone\b|/tmp/|\\n")
# The endless ones shall not take 15 s each. Others may be given up as well where the machine is busy.
SHORT = Bounds(seconds=5)


class CheapEmbeddings(Embeddings):
    """Gives each text a vector of its own at no cost."""

    model = "cheap"

    def embed_documents(self, texts):
        return [[float(byte) + 1 for byte in hashlib.md5(text.encode()).digest()] for text in texts]

    def embed_query(self, text):
        return self.embed_documents([text])[0]


def check_line(failure):
    """Check that a line names the file, is short and plain, and is one line."""
    assert failure.source.isprintable()
    said = failure.reason.replace(failure.source, "").replace(Path(failure.source).stem, "")
    assert said.isprintable() and 8 < len(said) < 160
    assert not GIBBERISH.search(said), said


@pytest.mark.nightly
@pytest.mark.parametrize("name", BAD_FILES, ids=printable)
def test_each_bad_file_alone_is_read_or_costs_one_line(name, tmp_path, monkeypatch):
    monkeypatch.setattr(process, "BOUNDS", SHORT)
    BAD_FILES[name](tmp_path / name)
    result = read_source(SourceFile(tmp_path / name, printable(name)))
    if isinstance(result, Failure):
        check_line(result)
        return
    assert isinstance(result, SourceText)
    chunks = checked_chunks(result)
    assert chunks
    # what an index and a reply must be able to hold
    json.dumps([chunks, result.notes], ensure_ascii=False).encode()
    assert "root:" not in result.text  # from /etc/passwd


def test_bad_files_in_one_folder_cost_their_lines_and_the_good_ones_are_indexed(tmp_path, monkeypatch):
    monkeypatch.setattr(process, "BOUNDS", SHORT)
    monkeypatch.chdir(tmp_path)
    docs = tmp_path / "docs"
    docs.mkdir()
    made = make_bad_files(docs, list(BAD_FILES)[::12])  # each alone is read above
    for name, text in GOOD.items():
        (docs / name).write_text(text)
    report = Index.build("docs", "kb", embeddings=CheapEmbeddings(), sentence_vectors=False)
    for failure in report.failed:
        check_line(failure)
    named = [failure.source for failure in report.failed]
    assert len(named) == len(set(named)) and not set(named) & set(report.sources)
    folders = {printable(f"docs/{path.name}") for path in made if path.is_dir()}
    files = {printable(f"docs/{name}") for name in [*GOOD, *(path.name for path in made)]}
    assert {*named, *report.sources} | folders == files
    assert {f"docs/{name}" for name in GOOD} <= set(report.sources)
    [found] = Index.open("kb", embeddings=CheapEmbeddings()).search([QUESTION], limit=3)
    assert "2,340 metres" in "".join(chunk["text"] for chunk in found)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "name", ["unpacks to 90 megabytes.docx", "four gigabytes of nothing.txt", "a picture that unpacks.pdf"]
)
def test_a_file_that_unpacks_takes_bounded_memory(name, tmp_path):
    make_bad_files(tmp_path, [name])
    outcome = read_in_program(tmp_path / name)
    assert outcome.passes, outcome
    # beside what indexing itself takes
    assert outcome.megabytes < 0.6 * MAX_MEGABYTES and outcome.seconds < MAX_SECONDS


BAD = ["a.crash", "damaged stream.docx", "a link to nothing.pdf"]
QUESTION = "How long is the sea wall of Saltmere?"


@pytest.fixture
def docs(tmp_path, monkeypatch):
    """A folder with three good documents and three bad ones, of which the first ends the process."""
    crash = "import ctypes\ndef load(path, builder):\n    ctypes.string_at(0)\n"
    (tmp_path / "crashing.py").write_text(crash)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(LOADERS, "crashing", Loader((".crash",), "crashing:load"))
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "docs"
    folder.mkdir()
    make_bad_files(folder, BAD[1:])
    for name, text in {**GOOD, "a.crash": "tide"}.items():
        (folder / name).write_text(text)
    return folder


def test_index_names_each_bad_file_in_a_line_and_exits_with_1(run, docs):  # noqa: F811
    result = run("index", docs)
    assert result.exit_code == 1
    lines = result.stderr.splitlines()
    assert len(lines) == 3 and all(line.startswith("Skipped: ") for line in lines)
    assert all(sum(f"docs/{name} " in line for line in lines) == 1 for name in BAD)
    assert "3 added, 3 not readable" in result.stdout
    again = run("index", docs, "--json")
    assert again.exit_code == 1
    report = json.loads(again.stdout)
    assert (report["unchanged"], len(report["failed"])) == (3, 3)


def test_a_program_answers_and_is_warned(docs):
    with pytest.warns(AdaptiveRAGWarning, match="could not be read, and are not searched") as told:
        rag = AdaptiveRAG(str(docs))
    assert all(name in str(told[0].message) for name in BAD)
    assert told[0].filename == __file__
    assert "2,340 metres" in rag.invoke(QUESTION)["answer"]


def test_the_indexing_graph_reports_them(docs):
    graph = build_indexing_graph().compile()
    output = graph.invoke({"paths": [str(docs)]}, context={"index": "kb"})
    assert {Path(failure["source"]).name for failure in output["report"]["failed"]} == set(BAD)
    assert output["report"]["added"] == 3


def test_bad_files_alone_are_all_named_in_the_error(docs):
    for name in GOOD:
        (docs / name).unlink()
    with pytest.raises(IndexingError) as error:
        Index.build(docs, "kb")
    first, *lines = str(error.value).splitlines()
    assert first == "No document could be read:"
    assert [any(name in line for line in lines) for name in BAD] == [True] * 3 and len(lines) == 3
    assert not Path("kb").exists()
    # A pool of processes pickles its errors.
    assert str(pickle.loads(pickle.dumps(error.value))) == str(error.value)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (PermissionError(13, "Permission denied"), "listed. Give yourself the right to read it"),
        (OSError(116, "Stale file handle"), "listed: Stale file handle"),
    ],
)
def test_a_folder_that_cannot_be_listed_costs_a_line_and_keeps_what_was_read(docs, monkeypatch, error, said):
    for name in BAD:
        (docs / name).unlink()
    (docs / "inner").mkdir()
    (docs / "inner" / "tide.txt").write_text("The tide comes in twice a day.")
    before: IndexReport = Index.build(docs, "kb", sentence_vectors=False)

    def refuse(name):
        really = getattr(os, name)

        def call(path, *args, **kwargs):
            if isinstance(path, str | Path) and "inner" in Path(path).parts:
                raise type(error)(*error.args, str(path))
            return really(path, *args, **kwargs)

        monkeypatch.setattr(os, name, call)

    refuse("scandir")
    if not isinstance(error, PermissionError):
        refuse("stat")  # of a folder on a mount that is gone nothing can be asked
    after = Index.build(docs, "kb", sentence_vectors=False)
    assert list(map(str, after.failed)) == [f"docs/inner is a folder that cannot be {said}"]
    assert (after.removed, after.total_chunks) == (0, before.total_chunks)
