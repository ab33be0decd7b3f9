# ruff: noqa: E501 - pieces of markup stand side by side
import random

import pytest

from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.markdown import add_markdown, load_markdown
from adaptive_rag.ingest.rst import load_rst
from adaptive_rag.text.places import place_at
from tests.ingest.spans import checked_chunks


def read(text):
    builder = TextBuilder()
    add_markdown(text, builder)
    assert builder.text.count("\n") == text.count("\n")
    return builder.text


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("See [[Harbour Page|the harbour]].", "See the harbour."),
        ("See [[Tides#High tide]].", "See Tides > High tide."),
        ("See [[the harbour|dev.harbour]].", "See the harbour."),
        ("A![[p.png|300]] b", "A b"),
        ("Mind %%not this%% it. ^abc123", "Mind  it."),
        ("It takes 2^depth\nor 10^100000", "It takes 2^depth\nor 10^100000"),
        ("> [!note]+ Mind\n> the gap", "> Mind\n> the gap"),
        ("A<br>b <kbd>Ctrl</kbd> &eacute; <your-name> <!-- c -->d", "A b Ctrl é <your-name> d"),
        (
            "[the `x` fees](./fees.md#a) and [web](https://a.example)",
            "the `x` fees and [web](https://a.example)",
        ),
        ("The [fees][r] rise.\n\n[r]: ./fees.md", "The fees rise.\n\n"),
        ("The [fees][] rise.\n\n[fees]: {{< ref fees >}}", "The fees rise.\n\n[fees]:"),
        ("![The wall](wall.png)", "The wall"),
        ("It rose.[^1]\n\n[^1]: In 1957.", "It rose.\n\nIn 1957."),
        ("{% if a %}It is {{ page.title }} open.{% endif %}", "It is  open."),
        ("{{< figure src='a.png' caption='The wall' >}}", "The wall"),
        ("{% raw %}{{ x }}{% endraw %}", "{{ x }}"),
        ("{% highlight sh %}\nls {{ x }}\n{% endhighlight %}", "```\nls {{ x }}\n```"),
        ("# Fees {#fees}\nIt.{: .lead}", "# Fees\nIt."),
        (":::note Take care\nHm.\n:::", "Take care\nHm.\n"),
        ("See {ref}`the gate <gate>`.", "See the gate."),
        (
            "See <https://a.example/watch?v=b> or <http://a.example>.",
            "See https://a.example/watch?v=b or http://a.example.",
        ),
        ("import A from 'a'; import B from 'b';\n\nText.", "\n\nText."),
        ("import A from 'a'\nexport const b = {\n c: 1,\n}\n\nText.", "\n\n\n\n\nText."),
        ("You can\nexport default settings\nas a file.", "You can\nexport default settings\nas a file."),
        ('<Tabs>\n<Tab label="Linux">\n\nRun.\n</Tab>\n</Tabs>', "\nLinux\n\nRun.\n\n"),
        (
            "<table>\n<tr><th>A</th><th>B</th></tr>\n<tr><td>1</td>\n<td>2</td></tr>\n</table>",
            "\nA | B\n1 | 2\n\n",
        ),
    ],
)
def test_markdown_is_read_as_a_reader_of_the_page_sees_it(text, seen):
    assert read(text) == seen


@pytest.mark.parametrize(
    "code",
    [
        "```\n{{ x }} [[a]] <b> {% raw %}\n```",
        "`{{ x }} [[a]] <b>`",
        "- a\n\n  ```\n  [a](b.md) <!-- c -->\n  ```",
        "$x_{{2}}$",
    ],
)
def test_code_and_formulas_stay_as_they_are(code):
    assert read(f"See:\n\n{code}\n") == f"See:\n\n{code}\n"


def test_lines_of_a_citation_are_those_of_the_file(read_file):
    source = read_file("a.md", "---\ntitle: x\n---\n\n<!-- a\nb -->\n# Wall\n\nThe wall is 5 m high.\n")
    [chunk] = checked_chunks(source)
    start = source.text.index("The wall is")
    assert place_at(chunk, start, start + 20)["lines"] == [9, 9]


PIECES = ["[", "]", "(", ")", "{{", "}}", "{%", "%}", "`", "```", "\n", "\n\n", "<", ">", "a", " ", "::", ".. ", "|", "!", "<table>",
          "</table>", "<tr>", "<pre>", "</pre>", "<code", "#", "$", "%%", "- ", "> ", "    ", "[^1]", "]: ", "_", "\ufdd0", "\ufdd1", "=",
          "+--+", ":a:", "note::", "<!--", "-->", "raw", "endraw", "highlight", "&lt;", "\\", "---", ":::", "import 'a'"]  # fmt: skip


@pytest.mark.parametrize(("name", "load"), [("a.md", load_markdown), ("a.rst", load_rst)])
def test_malformed_markup_neither_fails_nor_moves_a_line(tmp_path, name, load):
    for seed in range(60):
        text = "".join(random.Random(seed).choices(PIECES, k=150))
        (tmp_path / name).write_text(text, encoding="utf-8")
        builder = TextBuilder()
        load(tmp_path / name, builder)
        assert builder.text.count("\n") == text.count("\n"), seed
