"""Files that would take a loader for ever: each is read in bounded time."""

import time

import pytest

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.loaders import find_loader

LONG = 300_000
MARKUP = {
    **{
        "brackets": "[",
        "links": "[[a",
        "braces": "{{",
        "tags": "{% raw %}",
        "ticks": "`a``b",
        "quotes": "> ",
    },
    **{"comments": "<!--", "open": "<a ", "tables": "<table", "dollars": "$a", "roles": ":a:`"},
    "notes": ".. note::\n",
}
TEX = ("\\a{", "\\(", "$", "[[", "\\begin{equation}", "|", "\\[a", "\\section{a", " ")
RULES = "".join(f"p.c{at}{{color:#{at:06x}}}p{{color:red}}" for at in range(2_000))
STYLED = "".join(f"<p class=c1 id=i{at} style='margin:0;color:#333'>Seen.</p>" for at in range(9_000))
FILES = {
    **{
        f"{name}.{suffix}": piece * (LONG // len(piece))
        for name, piece in MARKUP.items()
        for suffix in ("md", "rst", "html")
    },
    **{
        f"endless {at}.{suffix}": f"{piece * 20_000}x"
        for at, piece in enumerate(TEX)
        for suffix in ("tex", "org")
    },
    "imports.md": "import 'a' " * 100 + "!",
    "backticks.md": "`" * LONG,
    "blanks.md": "# a" + " " * 100_000 + "x",
    "underscores.md": "# a" + "_" * 100_000 + "b",
    "fences.md": "```\n#\n```\n# a\n" * 20_000,
    "blanks.tex": f"a{' ' * 60_000}x",
    "blanks.org": f"a{' ' * 60_000}x",
    "blanks in a title.org": f"* a{' ' * 60_000}x",
    "blanks.adoc": f"== a{' ' * 60_000}x",
    "borders.rst": "= =\na b\n" * 12_000,
    "drawings.html": "<svg>" * 200_000,
    "links.html": "<a href=x" * 100_000,
    "stray ends.html": "<b>" * 100_000 + "</i>" * 100_000,
    "styles.html": f"<style>{RULES}</style>{STYLED}",
    "children.xml": f"<book>{'<w>a</w>' * 40_000}</book>",
    "quotes.eml": "Subject: a\n\n" + "> 12:07 the pump ran\n" * 12_000 + "\nThe third has failed.",
    "empty quotes.eml": "Subject: a\n\n" + "> a\n \t\n" * 12_000 + "\nThe third has failed.",
    "quotes below.eml": "Subject: a\n\nThe third has failed.\n\n" + "> a\n\n" * 12_000,
}


@pytest.mark.few(20)
@pytest.mark.parametrize("name", FILES)
def test_a_hostile_file_is_read_in_bounded_time(tmp_path, name):
    path, builder = tmp_path / name, TextBuilder()
    path.write_text(
        FILES[name] if path.suffix in (".xml", ".eml") else f"The tide comes in.\n\n{FILES[name]}"
    )
    started = time.process_time()
    try:
        find_loader(path)(path, builder)
    except IndexingError as error:
        assert "tags are left open" in str(error)
    else:
        assert builder.text
    assert time.process_time() - started < 8
