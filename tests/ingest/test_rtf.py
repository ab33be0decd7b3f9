import pytest

from tests.ingest.spans import checked_chunks

HEAD = (
    r"{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0\fcharset0 Arial;}{\f1\fcharset204 Times{\*\falt X};}}"
    r"{\colortbl;\red0\green0\blue0;}{\stylesheet{\s0 Normal;}{\s1\outlinelevel0 Chapter;}{\s2 heading 2;}"
    r"{\*\cs3 Strong;}}{\info{\title The gate}{\author A. Ruz\'e9}}{\header Page 1}"
)


@pytest.fixture
def read(read_file):
    return lambda body, head=HEAD, end="}": read_file("a.rtf", (head + body + end).encode("latin-1"))


def row(*cells):
    return r"\trowd\cellx1\cellx2\pard\intbl " + "".join(f"{cell}\\cell " for cell in cells) + "\\row\n"


def test_paragraphs_headings_and_lists_are_read(read):
    source = read(
        r"\pard\s1 Storms\par\pard\s2 Levels\par\pard {\b Shut}  the\tab gate"
        "\n"
        r"\line now.\par \par"
        r"{\listtext\pard\plain\'b7\tab}\pard\ls1 First\par{\listtext 2.\tab}Second\par"
        r"\pard\outlinelevel2 Inner\par\pard Last."
    )
    assert source.text == ("Storms\n\nLevels\n\nShut the gate now.\n\n- First\n2. Second\n\nInner\n\nLast.")
    assert [heading.section for heading in source.headings] == ["Storms", "Levels", "Levels > Inner"]
    assert source.metadata == {"title": "The gate", "author": "A. Ruzé"}
    assert checked_chunks(source, size=50, overlap=0)


@pytest.mark.parametrize(
    ("written", "read_as"),
    [
        (r"caf\'e9", "café"),
        (r"caf\u233?", "café"),
        (r"caf\u233\'3f", "café"),
        (r"{\uc2 caf\u233??}s", "cafés"),
        (r"Vote \u-10179?\u-8717?", "Vote \U0001f5f3"),
        (r"{\f1 \'e2\'ee\'eb\'ed\'e0} wave", "волна wave"),
        (r"a\~b\_c\-d \{e\} \\f", "a b-cd {e} \\f"),
        (r"\ldblquote x\rdblquote \emdash y", "“x”—y"),
        (r"10{\super -6} m, 1,234{\super 1} or 5\super 2,3\nosupersub 4", "10⁻⁶ m, 1,234¹ or 5²,³4"),
    ],
)
def test_characters_are_read_in_every_way_of_writing_them(read, written, read_as):
    assert read(rf"\pard {written}\par").text == read_as


BOX = r"{\shp{\*\shpinst{\shptxt \pard In {\b a} box.\par Twice\cell now}}}"
BODIES = {
    "what is no text is left out": (
        r"{\*\generator Word;}A {\v hidden }{\field{\*\fldinst HYPERLINK a}{\fldrslt link}} stays"
        r"{\pict\wmetafile8 0102abcd}{\*\unknown {x} y}{\deleted gone}.{\bin5 }{{}b}"
        r"{\footnote\pard See {\i below}.\par Twice.}\par",
        "A link stays.\n\nSee below. Twice.",
    ),
    "a star inside a group hides nothing and at its start only what is unknown": (
        r"{\i0\b0\*\cs7 The fox {\*}jumps} {\*\unknown hidden}{\*\bkmkstart hidden}over.\par",
        "The fox jumps over.",
    ),
    "text boxes and what an object shows are read": (
        r"{\shp{\*\shpinst\shpleft1{\sp{\sn a}{\sv 1}}{\shptxt In a box.\par}}{\shprslt Again.\par}}"
        r"{\object\objemb{\*\objdata 00ff}{\result A table of it.}}\par",
        "A table of it.\n\nIn a box.",
    ),
    "a text box stands behind its paragraph or in its cell": (
        rf"\pard Hello {BOX}world goes on.\par {BOX}\par" + row(f"Hook {BOX}", "4"),
        "Hello world goes on.\n\nIn a box.\n\nTwice now\n\nIn a box.\n\nTwice now\n\n"
        "Hook In a box. Twice now | 4",
    ),
    "a backslash at the end of a line ends a paragraph": (
        "\\f0 \\cf0 The gate.\\\n\\\n\\ls1{\\listtext\t\\uc0\\u8226 \t}Bell\\\n"
        "{\\listtext\t\\uc0\\u8226 \t}Bar\\\r\n\\pard The end.",
        "The gate.\n\n- Bell\n- Bar\n\nThe end.",
    ),
    "a table becomes rows also where nothing ends the last": (
        row("Item", "Price") + row("Hinge", r"4.20\par pounds") + row("Dowel", "") + r"\pard After.\par"
        r"\intbl Station\cell Phone\cell ",
        "Item | Price\nHinge | 4.20 pounds\nDowel\n\nAfter.\n\nStation | Phone",
    ),
}


@pytest.mark.parametrize(("body", "text"), BODIES.values(), ids=BODIES)
def test_a_body_is_read_as_it_is_shown(read, body, text):
    assert read(body).text == text


def test_a_document_that_breaks_off_is_read_as_far_as_it_goes(read):
    source = read(r"\pard Shut the {\b gate", HEAD, "")
    assert source.text == "Shut the gate"
    assert source.notes == ("breaks off before its end: what is there was read",)


def test_the_font_where_none_is_named_tells_the_letters(read):
    head = r"{\rtf1\ansi\ansicpg1252\deff1{\fonttbl{\f0\fcharset0 A;}{\f1\fcharset204 B;}{\f2\cpg1253 C;}}"
    source = read(r"\pard\plain \'c4\'e0\par \f2 \'c1\'c2\par", head)
    assert source.text == "Да\n\nΑΒ"
