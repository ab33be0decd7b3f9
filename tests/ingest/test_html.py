import time

import pytest

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest import extract_text
from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.html import write_html

PAGE = """<!doctype html><html><head><title>The  Guide</title><style>p {}</style></head><body>
<nav>Home</nav><svg><title>Icon</title></svg><h1>Storms &amp; floods</h1><p>Shut the <b>gate</b>.<br>Ring
the bell.</p><![if !IE]><script>var x = "<p>no</p>"</script>
<h2>Levels</h2><ul><li>First<li>Second <i>one</i></ul>
<table><tr><th>Level</th><th>Height</th></tr><tr><td>1</td><td>3.6 m</td></tr></table>
<pre>a  b
 c</pre></body></html>"""


def test_visible_text_is_kept_with_its_blocks_and_headings(read_file):
    source = read_file("a.html", PAGE)
    assert source.text == (
        "Storms & floods\n\nShut the gate.\nRing the bell.\n\nLevels\n\n- First\n- Second one\n\n"
        "Level | Height\n\n1 | 3.6 m\n\na  b\n c"
    )
    assert [heading.section for heading in source.headings] == ["Storms & floods", "Levels"]
    assert source.metadata["title"] == "The Guide"  # not that of the drawing
    assert source.section_at(source.text.index("3.6")) == "Levels"


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ('<meta charset="koi8-r"><p>Привет</p>'.encode("koi8-r"), "Привет"),
        (b'<meta charset="utf-7"><p>Shut +2AA- the gate.', "Shut ? the gate."),
        *(
            (f'<meta charset="{name}"><p>café'.encode(), "café")
            for name in ("nonsense", "punycode", "undefined", "utf-16", "hex")
        ),
    ],
)
def test_the_pages_own_word_on_its_encoding_is_followed_where_it_can_be(read_file, page, text):
    assert read_file("a.htm", page).text == text


LONG = "long " * 99
DEFINED = (
    "<dl><dt>Gate</dt><dt>Door<dd>It shuts.<dt>Key<dd></dl><p>Push.<dl><dt>Bell</dt><dt>Rope</dl><p>Pull."
    "<dl><dt>Price<dd><table><tr><td>Hook<td>4</table><dt><p>Nut<dd>Small.</dl>"
)
MERGED = (
    "<table><tr><th rowspan=2>Item<th colspan=2>Sales<tr><th>2022<th>2023"
    "<tr><td rowspan=2>Hose<td>1<td>2<tr><td>3<td>4</table>"
)
LINKED = (
    '<p>It rusts.<sup><a href="#a">1</a></sup> It <a href="b#b"><sup>b</sup></a> bends.<sup>3</sup> Shut.'
)
CENTRED = (
    "<center>Gates</center>Shut it.<fieldset><legend>Fees</legend>Two.</fieldset>"
    "<table><tr><td><center>Hook</center><td>4</table>"
)


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<ul><li><p>First</p><li><p>Second</p></ul>", "- First\n- Second"),
        ("<ol><li>Open<ul><li>left<li>right</ul><li>Close</ol>", "1. Open\n  - left\n  - right\n2. Close"),
        ("<ol start=4><li>Four<li><p>Five</ol><ul><li>one</ul>", "4. Four\n5. Five\n- one"),
        ("<h2 id=a>Gates <a href='#a'>¶</a></h2><h2><a href='#b'>Keys</a></h2>", "Gates\n\nKeys"),
        (
            "<p>A <math><mfrac><mn>1</mn><mi>b</mi></mfrac><mo>=</mo><msup><mn>10</mn><mn>6</mn></msup>"
            "</math> kg <math>x</math>",
            "A 1/b = 10^6 kg x",
        ),
        ("<ol><li>One<li value=7>Seven<li>Eight</ol>", "1. One\n7. Seven\n8. Eight"),
        (
            "<p>So <span hidden><math><mi>h</mi></math></span>"
            r'<img class="mwe-math-fallback" alt="{\displaystyle h=a^{2}}"> holds.<img class="a" alt="b">',
            "So h=a^{2} holds.",
        ),
        ('<p>In 1953<a epub:type="noteref" href="#a">1</a> it rose.', "In 1953[1] it rose."),
        ('<p>It rose.<a epub:type="noteref" href="#a"><sup>1</sup></a>', "It rose.[1]"),
        ("<video>No films here.</video>See<audio>No sound.</audio> it.", "See it."),
        ("<ol type=a start=2><li>Two<ol type=I><li>One</ol><li>Three</ol>", "b. Two\n  I. One\nc. Three"),
        ("<dl><dt>Gate<dd>A door.<dd>A slot.</dl>", "Gate: A door.\n\nGate: A slot."),
        ("<dl><dt>How do I shut it?<dd><p>Push.<p>Wait.</dl>", "How do I shut it? Push.\n\nWait."),
        (DEFINED,
         "Gate, Door: It shuts.\n\nKey\n\nPush.\n\nBell, Rope\n\nPull.\n\n"
         "Price\n\nHook | 4\n\nNut\n\nSmall."),
        ("<table><tr><td><p>Pump</p><td><td><ul><li>5</ul><tr><td>Hose<td>1<td></table>",
         "Pump | – | 5\n\nHose | 1"),
        (MERGED, "Item | Sales | Sales\n\nItem | 2022 | 2023\n\nHose | 1 | 2\n\nHose | 3 | 4"),
        ("<table><tr><td rowspan=2>Hinge<td>brass<tr><td>steel</table>", "Hinge | brass\n\nHinge | steel"),
        ("<table><tr><td><h2>Gates</h2><p>One.<table><tr><td>in<td>side</table><p>Two.</table>",
         "Gates\n\nOne.\n\nin | side\n\nTwo."),
        (f"<table><tr><td><p>One.<p>Two.<td>{LONG}</table>", f"One.\n\nTwo.\n\n{LONG[:-1]}"),
        ("<table><tr><td colspan=99999999999>One<td colspan=x>two</table>", "One | " * 1000 + "two"),
        ("<div><nav>Home</div>Shut the gate.", "Shut the gate."),
        ("<head><title>Left open</title><p>Shut the gate.", "Shut the gate."),
        ("<p>a < b, and c > d", "a < b, and c > d"),
        ("<noframes><p>Shut the gate.</p></noframes>", "Shut the gate."),
        (LINKED, "It rusts.[1] It [b] bends.[3] Shut."),
        ("<p>10<sup>-6</sup> m<sup>2</sup>, the 1<sup>st</sup>", "10⁻⁶ m², the 1st"),
        ("<p>2<sup>2<sup>n</sup></sup> + 1", "2²n + 1"),
        ("<p>rose to 3.5<sup>1,2</sup> in 2019<sup>3–5</sup>", "rose to 3.5¹,² in 2019³–⁵"),
        ('<p><a href="#f">10 m<sup>2</sup></a>, <a href="#g"><sup>2</sup></a>', "10 m², [2]"),
        ("<table><tr><td>Level<td>10<sup>6</sup><tr><td>Low<td>3</table>", "Level | 10⁶\n\nLow | 3"),
        (CENTRED, "Gates\n\nShut it.\n\nFees\n\nTwo.\n\nHook | 4"),
        ("<p>Pass&shy;word <math><semantics><mi>x</mi><annotation>\\x</annotation></semantics></math>",
         "Password x"),
        ("<p>one<!-- two --> three<![CDATA[four]]>", "one three"),
    ],
)  # fmt: skip
def test_careless_pages_are_read_as_a_browser_shows_them(read_file, page, text):
    assert read_file("a.html", page).text == text


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
def test_a_saved_web_page_is_read_as_the_page_itself(read_file, suffix):
    source = read_file(f"a{suffix}", SAVED)
    assert source.text == "Storms\n\nShut the café’s gate."
    assert source.section_at(source.text.index("Shut")) == "Storms"
    assert source.metadata["title"] == "Gates"


def test_a_saved_file_without_a_page_is_refused(read_file):
    with pytest.raises(IndexingError, match="holds no web page"):
        read_file("a.mhtml", SAVED.replace("text/html", "text/plain"))


@pytest.mark.parametrize(
    "page",
    [
        "<p>Seen.</p><p style='display:none'>Ignore this.</p>",
        "<p>Seen.</p><div hidden><p>Ignore</p><script>a b</script> this.</div>",
        "<p>Seen.</p><p style='d\\69splay: NONE !important'>Ignore this.</p>",
        "<p>Seen.<span style='visibility:hidden'>Ignore this.</span></p>",
        "<p>Seen.</p><p style='font-size:0'>Ignore this.</p>",
        "<style>.m li{font-size:9px}</style><p>Seen.</p><p style='font-size:0'>Ignore this.</p>",
        f"<p>Seen.</p><p hidden style='display:{'(' * 1900}'>Ignore this.</p>",
        "<p>Seen.</p><p style='opacity:0.0'>Ignore this.</p>",
        "<p>Seen.</p><p style='color:#fefefe'>Ignore this.</p>",
        "<p>Seen.</p><p style='color:transparent'>Ignore this.</p>",
        "<p>Seen.</p><table bgcolor=black><td><b style='color:#000'>Ignore this.</b></table>",
        "<style>.x{display:none}</style><p>Seen.</p><p class='a x'>Ignore this.</p>",
        "<style>@media print {p{display:none}} p#y{color:white}</style><p>Seen.<p id=y>Ignore this.",
    ],
)
def test_what_a_page_hides_is_left_out_and_counted(read_file, page):
    source = read_file("a.html", page)
    assert source.text == "Seen."
    assert source.notes == ("2 words that the document hides were left out",)


@pytest.mark.parametrize(
    "page",
    [
        "<body style='opacity:0'><p>Seen.</p>",
        "<p hidden=until-found>Seen.</p>",
        "<p style='opacity:0;transform:translateY(9px)'>Seen.</p>",
        "<div style='visibility:hidden;font-size:0'><p style='visibility:visible;font-size:1em'>Seen.",
        "<div style='background:#000'><p style='color:#fff'>Seen.</p></div>",
        "<link rel=stylesheet href=a.css><p style='color:#fff'>Seen.</p>",
        "<style>.a .b{background:red}</style><div class=a><p class=b style='color:#fff'>Seen.</p></div>",
        "<style>.t{display:none} .t.open{display:block}</style><p class='t open'>Seen.</p>",
        "<style>.t .x{display:none} @media print{.x{display:none}}</style><p class=x>Seen.</p>",
        "<div style='background-image:url(a.png)'><h1 style='color:#fff'>Seen.</h1></div>",
        "<div style='background:#fff;background-image:url(a.png)'><b style='color:#fff'>Seen.</b></div>",
        "<html style='background:#000'><style>p{color:#fff}</style><p>Seen.</p>",
        "<style>html{background:#000} p{color:#fff}</style><p>Seen.</p>",
        "<p style='background:linear-gradient(red,blue);background-clip:text;color:transparent'>Seen.</p>",
        "<table><td background='dark.gif' style='color:#ffffff'>Seen.</td></table>",
        "<style>.t{color:#fff} @media screen{.t{background:#000}}</style><p class=t>Seen.</p>",
        "<style>@import url(site.css); h1{color:white}</style><h1>Seen.</h1>",
        "<style>.m{font-size:0} .m b{font-size:14px}</style><p class=m><b>Seen.</b></p>",
        "<style>.m b{font:14px serif}</style><p style='font-size:0'><b>Seen.</b></p>",
        "<style>.m{font-size:0} @media screen{.m{font-size:14px}}</style><p class=m>Seen.</p>",
        f"<p style='color:{'(' * 1900}'>Seen.</p>",
        f"<style>p{{color:{'(' * 1900}</style><p>Seen.</p>",
    ],
)
def test_what_is_seen_or_may_be_is_read(tmp_path, page):
    path = tmp_path / "a.html"
    path.write_text(page, encoding="utf-8")
    assert (extract_text(path).text, extract_text(path).notes) == ("Seen.", ())


def test_stacked_spans_do_not_make_each_row_longer_than_the_last(read_file):
    row = "<tr>" + '<td colspan="1000" rowspan="1000">x</td>' * 5 + "</tr>"
    text = read_file("a.html", f"<p>Prices</p><table>{row * 50}</table>").text
    assert max(map(len, text.split("\n"))) < 10_000


def test_an_unfinished_formula_is_read_in_linear_time():
    tex, builder = r"{\displaystyle x " * 10_000, TextBuilder()
    started = time.process_time()
    write_html(f'<p><img class="math" alt="{tex}">', builder)
    assert tex.strip() in builder.text
    assert time.process_time() - started < 1.5
