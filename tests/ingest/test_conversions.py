from pathlib import Path

import pytest

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.ingest.conversions import how_to_convert, readable_suffix
from adaptive_rag.ingest.loaders import LOADERS, find_loader


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("a.pages", "Export it as .docx from the program that made it"),
        ("my plan.typ", "Convert it: pandoc 'my plan.typ' -o 'my plan'.md"),
        ("a$(reboot).typ", "Convert it: pandoc 'a$(reboot).typ' -o 'a$(reboot)'.md"),
        ("-a.typ", "Convert it: pandoc ./-a.typ -o ./-a.md"),
        ("a.mediawiki", "Convert it: pandoc -f mediawiki a.mediawiki -o a.md"),
        ("a.WPD", "Convert it: soffice --headless --convert-to docx a.WPD"),
        ("a.bin", ""),
    ],
)
def test_the_way_to_convert_a_document_is_named(name, way):
    assert how_to_convert(Path(name)) == way


def test_a_file_of_a_kind_that_is_not_read_is_refused_with_the_way(read_file):
    with pytest.raises(ConfigurationError, match=r"is not of a kind .* Export it as \.docx"):
        read_file("a.one", b"x")


def test_what_a_document_becomes_is_read_and_the_document_is_not():
    suffixes = [suffix for row in LOADERS.values() for suffix in row.suffixes]
    assert not any(readable_suffix(suffix) for suffix in suffixes)
    assert find_loader(Path(f"a{readable_suffix('.one')}"))
