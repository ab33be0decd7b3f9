from adaptive_rag.ingest import extract_text

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
    assert [(heading.title, heading.level) for heading in source.headings] == [
        ("Storms & floods", 1),
        ("Levels", 2),
    ]
    assert source.metadata["title"] == "The Guide"
    assert source.section_at(source.text.index("3.6")) == "Levels"


def test_the_pages_own_word_on_its_encoding_is_followed(tmp_path):
    path = tmp_path / "a.htm"
    path.write_bytes('<meta charset="koi8-r"><p>Привет</p>'.encode("koi8-r"))
    assert extract_text(path).text == "Привет"


def test_a_wrong_word_on_the_encoding_does_no_harm(tmp_path):
    path = tmp_path / "a.htm"
    path.write_bytes('<meta charset="nonsense"><p>café'.encode())
    assert extract_text(path).text == "café"
