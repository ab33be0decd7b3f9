import subprocess
import sys
from pathlib import Path

import httpx

from adaptive_rag.ingest import SourceText, discover, extract_text, read_source
from adaptive_rag.ingest.loaders import LOADERS, Loader, find_loader
from adaptive_rag.ingest.web_kinds import suffix_of
from tests.ingest.spans import checked_chunks

TOY = """
def load_toy(path, builder):
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        builder.add_record(line.upper(), {"row": number})
    builder.notes.append("read by the toy loader")
"""


def test_a_loader_is_one_file_and_one_row(tmp_path, monkeypatch):
    (tmp_path / "toy_loader.py").write_text(TOY)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(LOADERS, "toy", Loader((".toy",), "toy_loader:load_toy"))
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.TOY").write_text("shut the gate\nring the bell\n")
    [file] = discover(tmp_path / "docs")
    text = read_source(file)
    assert isinstance(text, SourceText)
    assert text.notes == ("read by the toy loader",)
    assert [chunk["text"] for chunk in checked_chunks(text)] == ["SHUT THE GATE", "RING THE BELL"]
    assert extract_text(tmp_path / "docs" / "a.TOY").text == text.text


def test_no_two_rows_read_the_same_suffix():
    suffixes = [suffix for loader in LOADERS.values() for suffix in loader.suffixes]
    assert len(suffixes) == len(set(suffixes))
    assert all(suffix == suffix.lower() and find_loader(Path(f"a{suffix}")) for suffix in suffixes)


def test_the_table_is_imported_without_the_libraries_of_its_loaders():
    heavy = "{'pymupdf', 'docx', 'lxml', 'charset_normalizer', 'langchain_community'}"
    code = f"import sys, adaptive_rag.ingest; assert not {heavy} & sys.modules.keys()"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_content_type_selects_the_loader_that_names_it():
    for loader in LOADERS.values():
        for content_type, suffix in loader.mime.items():
            assert suffix_of(content_type, httpx.URL("https://example.org/page")) == suffix
            assert find_loader(Path(f"page{suffix}")) is loader
