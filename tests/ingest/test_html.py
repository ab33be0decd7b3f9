import time

import pytest

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest import Failure, SourceFile, extract_text, read_source

PAGE = """<!doctype html><html><head><title>The  Guide</title><style>p {}</style></head><body>
<nav>Home</nav><h1>Storms &amp; floods</h1><p>Shut the <b>gate</b>.<br>Ring
the bell.</p><![if !IE]><script>var x = "<p>no</p>"</script>
<h2>Levels</h2><ul><li>First<li>Second <i>one</i></ul>
<table><tr><th>Level</th><th>Height</th></tr><tr><td>1</td><td>3.6 m</td></tr></table>
<pre>a  b
 c</pre></body></html>"""


def test_visible_text_is_kept_with_its_blocks_and_headings(tmp_path):
    path = tmp_path / "a.html"
    path.write_text(PAGE, encoding="utf-8")
    source = extract_text(path)
    assert source.text == (
        "Storms & floods\n\nShut the gate.\nRing the bell.\n\nLevels\n\n- First\n- Second one\n\n"
        "Level | Height\n\n1 | 3.6 m\n\na  b\n c"
    )
    assert [heading.section for heading in source.headings] == ["Storms & floods", "Levels"]
    assert source.metadata["title"] == "The Guide"
    assert source.section_at(source.text.index("3.6")) == "Levels"


def test_the_pages_own_word_on_its_encoding_is_followed(tmp_path):
    path = tmp_path / "a.htm"
    path.write_bytes('<meta charset="koi8-r"><p>Привет</p>'.encode("koi8-r"))
    assert extract_text(path).text == "Привет"


@pytest.mark.parametrize("name", ["nonsense", "punycode", "undefined", "utf-16", "hex"])
def test_a_wrong_word_on_the_encoding_does_no_harm(tmp_path, name):
    path = tmp_path / "a.htm"
    path.write_bytes(f'<meta charset="{name}"><p>café'.encode())
    assert extract_text(path).text == "café"


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<ul><li><p>First</p><li><p>Second</p></ul>", "- First\n- Second"),
        ("<div><nav>Home</div>Shut the gate.", "Shut the gate."),
        ("<head><title>Left open</title><p>Shut the gate.", "Shut the gate."),
        ("<p>a < b, and c > d", "a < b, and c > d"),
        ("<noframes><p>Shut the gate.</p></noframes>", "Shut the gate."),
        ("<p>one<!-- two --> three<![CDATA[four]]>", "one three"),
    ],
    ids=["paragraphs in a list", "nav left open", "head left open", "bare signs", "no frames", "comments"],
)
def test_careless_pages_are_read_as_a_browser_shows_them(tmp_path, page, text):
    path = tmp_path / "a.html"
    path.write_text(page)
    assert extract_text(path).text == text


def test_a_drawings_title_is_not_the_pages(tmp_path):
    path = tmp_path / "a.html"
    path.write_text("<title>Gates</title><svg><title>Icon</title></svg><p>Shut the gate.")
    assert extract_text(path).metadata["title"] == "Gates"


@pytest.mark.parametrize(
    "page",
    ["<!--" * 200_000, "<svg>" * 200_000, "<a href=x" * 100_000, "<b>" * 100_000 + "</i>" * 100_000],
    ids=["comments", "drawings", "links", "stray ends"],
)
def test_a_hostile_page_ends_in_seconds(tmp_path, page):
    path = tmp_path / "a.html"
    path.write_text(f"<p>Shut the gate.</p>{page}")
    started = time.perf_counter()
    result = read_source(SourceFile(path, "a.html"))
    assert time.perf_counter() - started < 10
    if isinstance(result, Failure):
        assert "tags are left open" in result.reason
    else:
        assert result.text == "Shut the gate."


SAVED = """MIME-Version: 1.0
Content-Type: multipart/related; boundary="b"

--b
Content-Type: text/html; charset="windows-1252"
Content-Transfer-Encoding: quoted-printable

<html><title>Gates</title><body><h1>Storms</h1><p>Shut the caf=E9=92s gate.</p></body></html>
--b
Content-Type: text/css

p {}
--b--
"""


@pytest.mark.parametrize("suffix", [".mhtml", ".mht"])
def test_a_saved_web_page_is_read_as_the_page_itself(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    path.write_text(SAVED)
    source = extract_text(path)
    assert source.text == "Storms\n\nShut the café’s gate."
    assert source.section_at(source.text.index("Shut")) == "Storms"
    assert source.metadata["title"] == "Gates"


def test_a_saved_file_without_a_page_is_refused(tmp_path):
    path = tmp_path / "a.mhtml"
    path.write_text(SAVED.replace("text/html", "text/plain"))
    with pytest.raises(IndexingError, match="holds no web page"):
        extract_text(path)
