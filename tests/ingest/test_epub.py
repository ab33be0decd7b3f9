import zipfile

import pytest

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest import extract_text
from tests.ingest.spans import checked_chunks

CONTAINER = '<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
NAV = '<html><body><nav>&nbsp;<a href="text/two%20b.xhtml#a">Of gates</a></nav></body></html>'
NCX = (
    "<ncx><navMap><navPoint><navLabel><text>Of walls</text></navLabel>"
    '<content src="text/one.xhtml"/></navPoint></navMap></ncx>'
)
ONE = '<?xml version="1.0" encoding="iso-8859-1"?><html><title>x</title><body><p>The café.</p></body></html>'
TWO = "<html><head><title/></head><body><h1><img src=''/></h1><p>The gate is shut at nine.</p></body></html>"
THREE = (
    "<html><body><h1>Tides</h1><p>They rise twice a day.</p><h2>Levels</h2>"
    "<table><tr><th>Level</th><th>Height</th></tr><tr><td>Spring</td><td>4 m</td></tr></table></body></html>"
)


def item(name, href, kind="application/xhtml+xml", properties=""):
    return f'<item id="{name}" href="{href}" media-type="{kind}" properties="{properties}"/>'


BOOK = (
    '<package xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata><dc:title>The Harbour </dc:title>'
    "<dc:creator>A. Adair</dc:creator><dc:creator>B. Bell</dc:creator><dc:language>en</dc:language>"
    "</metadata><manifest>"
    + item("nav", "nav.xhtml", properties="nav")
    + item("ncx", "toc.ncx", "application/x-dtbncx+xml")
    + item("one", "text/one.xhtml")
    + item("two", "text/two%20b.xhtml")
    + item("three", "text/three.xhtml")
    + item("picture", "a.svg", "image/svg+xml")
    + "</manifest><spine>"
    + "".join(f'<itemref idref="{name}"/>' for name in ("nav", "picture", "three", "one", "two"))
    + "</spine></package>"
)
PARTS = {
    "META-INF/container.xml": CONTAINER,
    "OEBPS/book.opf": BOOK,
    "OEBPS/nav.xhtml": NAV,
    "OEBPS/toc.ncx": NCX,
    "OEBPS/text/one.xhtml": ONE.encode("iso-8859-1"),
    "OEBPS/text/two b.xhtml": TWO,
    "OEBPS/text/three.xhtml": THREE,
    "OEBPS/a.svg": "<svg><text>drawn</text></svg>",
}


@pytest.fixture
def save(tmp_path):
    """Save a book, with other parts or without some."""

    def save_book(**changes):
        path = tmp_path / "a.epub"
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in {**PARTS, **changes}.items():
                if content is not None:
                    archive.writestr(name, content)
        return path

    return save_book


def test_chapters_are_read_in_their_order_with_their_headings_and_what_the_book_states(save):
    source = extract_text(save())
    assert source.text == (
        "Tides\n\nThey rise twice a day.\n\nLevels\n\nLevel | Height\n\nSpring | 4 m\n\n"
        "The café.\n\nThe gate is shut at nine."
    )
    sections = {word: source.section_at(source.text.index(word)) for word in ("Spring", "café", "gate")}
    assert sections == {"Spring": "Tides > Levels", "café": "Of walls", "gate": "Of gates"}
    assert source.metadata == {"title": "The Harbour", "author": ["A. Adair", "B. Bell"], "language": "en"}
    assert checked_chunks(source, size=60, overlap=0)


def test_a_chapter_that_is_missing_is_told_of_and_links_that_lead_nowhere_cost_none(save):
    source = extract_text(save(**{"OEBPS/text/one.xhtml": None}))
    assert "café" not in source.text and "gate" in source.text
    assert source.notes == ("1 of 3 chapters are missing in the file",)
    book = BOOK.replace("<spine>", '<spine><itemref idref="cover"/>')
    contents = NCX.replace("<navMap>", "<navMap><navPoint/>")
    assert "café" in extract_text(save(**{"OEBPS/book.opf": book, "OEBPS/toc.ncx": contents})).text


PROTECTED = '<encryption><EncryptedData><CipherReference URI="{}"/></EncryptedData></encryption>'


@pytest.mark.parametrize(
    ("part", "content", "reason"),
    [
        (
            "META-INF/encryption.xml",
            PROTECTED.format("OEBPS/text/two%20b.xhtml"),
            "protected against copying",
        ),
        ("META-INF/container.xml", None, "is not an EPUB book or is damaged"),
        ("OEBPS/book.opf", None, "is not an EPUB book or is damaged"),
    ],
    ids=["encrypted chapters", "no container", "no list of chapters"],
)
def test_a_book_whose_chapters_cannot_be_read_is_refused(save, part, content, reason):
    with pytest.raises(IndexingError, match=reason):
        extract_text(save(**{part: content}))


def test_a_book_with_an_encrypted_font_is_read(save):
    assert (
        "café" in extract_text(save(**{"META-INF/encryption.xml": PROTECTED.format("OEBPS/font.otf")})).text
    )
