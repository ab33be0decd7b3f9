"""What an answer may point to: a page that shows it loads nothing, and leads to the documents' addresses."""

import time

import pytest

from adaptive_rag.answer.links import GONE, keep_own_links, own_addresses
from adaptive_rag.text.markdown import MAX_OPENINGS
from tests.answer.made import candidate

OWN = own_addresses(
    [
        candidate(
            "See https://Town.example/wall?x=1 and [the guide](docs/guide.md). Also www.port.example/a."
        )
        | {"source": "https://source.example/doc.html"}
    ]
)
EVIL = "https://evil.example/?q=sea+wall"


@pytest.mark.parametrize(
    "text",
    [
        "It is 2,340 metres long [1]. It was built in 1968 [2][3].",
        "**Length**\n\n1. One [1]\n2. Two [2]\n\n| a | b |\n|---|---|\n| x[i] | a < b, 5 > 3 & 4 |",
        "See [it](https://town.example/wall?x=1), <https://town.example/wall?x=1#top>, www.port.example/a.",
        "See [the guide](docs/guide.md) and https://source.example/doc.html.",
        f"```html\n<img src='{EVIL}'>\n![x]({EVIL})\n```\nand `![x]({EVIL})` are code.",
        "H<sub>2</sub>O is <b>water</b>.\r\nNext line  \r\n",
        "C:\\temp\\new and \\(x^2\\) and AT&T &amp; co",
    ],
)
def test_what_is_no_foreign_link_stays_byte_for_byte(text):
    assert keep_own_links(text, OWN) == (text, [])


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"Long ![the wall]({EVIL}) [1].", "Long the wall [1]."),
        (f"Long ![]({EVIL}) [1].", "Long  [1]."),
        ("Own ![plan](https://town.example/wall?x=1) [1].", "Own plan [1]."),
        (f"Read [more]({EVIL} 'title') [1].", "Read more [1]."),
        (f"Read [more][r] [1].\n\n[r]: {EVIL}\n", "Read more [1].\n\n"),
        (f"So [1] and [2].\n\n[1]: {EVIL}", "So [1] and [2].\n\n"),
        (f"So [1]({EVIL}) and [[2]]({EVIL}).", "So [1] and [2]."),
        (f"[![a]({EVIL})]({EVIL}) [1]", "a [1]"),
        (f"See <{EVIL}> [1].", f"See {GONE} [1]."),
        (f"See {EVIL}, [1].", f"See {GONE}, [1]."),
        ("See www.evil.example/sea [1].", f"See {GONE} [1]."),
        ("Write to <a@town.example> [1].", "Write to a@town.example [1]."),
        ("See [x](//evil.example/sea) [1].", "See x [1]."),
        ("See [x](javascript:alert(1)) [1].", "See x [1]."),
        ("See [x](<java\tscript:alert(1)>) [1].", "See x [1]."),
        ("See ![x](data:image/svg+xml;base64,AA) [1].", "See x [1]."),
        ("See [x](https://t\u043ewn.example/wall?x=1) [1].", "See x [1]."),
        ("See [x](https://town.example@evil.example/) [1].", "See x [1]."),
        ("See [x](https://town.example/wall?x=1&q=sea) [1].", "See x [1]."),
        (f"> quoted ![x]({EVIL})\n> more\n\n- item [y]({EVIL})\n", "> quoted x\n> more\n\n- item y\n"),
        (f"# Head ![x]({EVIL}) #\n\n    ![y]({EVIL})", "# Head x #\n\n    y"),
        (f"[{EVIL}](https://town.example/wall?x=1) [1]", f"[{GONE}](https://town.example/wall?x=1) [1]"),
        ("&#104;ttps://evil.example/sea", f"&#104;{GONE}"),
        ("https\\://evil.example/sea", GONE),
        ("<script>alert(1)</script> [1]", "‹script›alert(1)‹/script› [1]"),
        ("<img src=x onerror=alert(1) [1]", "‹img src=x onerror=alert(1) [1]"),
        ("A List<String> [1]", "A List‹String› [1]"),
    ],
)
def test_what_a_page_would_load_or_follow_is_taken_out(text, left):
    found, removed = keep_own_links(text, OWN)
    assert found == left
    assert bool(removed) == ("](" in text or "]:" in text or "://" in text or "www." in text or "@" in text)
    assert "sea+wall" not in str(removed)


def test_a_draft_does_not_make_links_of_its_markers():
    text = "The wall is long [1].\n\n[1]: docs/guide.md\n[guide]: docs/guide.md\n"
    assert keep_own_links(text, OWN) == ("The wall is long [1].\n\n[guide]: docs/guide.md\n", [])


@pytest.mark.parametrize("opening", ["![", "[", "[a](", "<![CDATA[", "<a ", "![[", "<!--", "> ", "- ", "*a "])
def test_a_text_of_brackets_ends_soon_and_harmlessly(opening):
    text = f"{opening * (64_000 // len(opening))} [1] ![x]({EVIL})"
    found, _ = keep_own_links(text, OWN)
    assert "[1]" in found
    assert "![x](" not in found and "evil.example" not in found


def test_the_end_of_a_long_address_is_found_soon():
    document = {"text": "", "source": "a.md", "metadata": {"page": f"{EVIL}/(a)" + ")." * 120_000}}
    started = time.process_time()
    assert any(address.endswith("/(a)") for address in own_addresses([document]))
    assert time.process_time() - started < 2


def test_a_text_of_very_many_brackets_keeps_its_words_and_markers():
    text = f"Long [1]({EVIL}) " + "![" * MAX_OPENINGS + " wide [2]: //evil.example/sea"
    found, removed = keep_own_links(text, OWN)
    assert " ".join(found.split()) == f"Long [1] {GONE} wide [2] //evil.example/sea"
    assert removed == ["brackets in great number"]


def test_sentences_of_documents_keep_their_addresses_but_no_image_and_no_tag():
    text = f"See https://a.example, [b](https://b.example) ![c]({EVIL}) <img src=x> [d](javascript:e) [1]"
    left = "See https://a.example, [b](https://b.example) c ‹img src=x› d [1]"
    assert keep_own_links(text, None)[0] == left


@pytest.mark.parametrize(
    "text",
    [
        f"<b>\n`` `<img src='{EVIL}'>` ``\n</b> [1]",
        f"<br>\n```\n<img src='{EVIL}'>\n```\n",
        f"> <br>  \n> ![x]({EVIL})\n",
        f"| ` | ![x]({EVIL}) ` |\n|---|---|\n",
        f"| a |\n|---|\n| ` | <img src='{EVIL}'> ` |",
    ],
)
def test_what_only_some_pages_take_for_an_image_is_taken_out_too(text):
    from markdown_it import MarkdownIt

    left, _ = keep_own_links(text, OWN)
    for page in (MarkdownIt("commonmark"), MarkdownIt("commonmark").enable("table")):
        assert "<img" not in page.render(left)
