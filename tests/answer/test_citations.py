import pytest

from adaptive_rag.answer.citations import add_markers, cite, read_markers
from tests.answer.made import candidate, sentences_of, vectors


@pytest.mark.parametrize(
    ("written", "text", "markers", "unknown"),
    [
        ("The wall holds [1].", "The wall holds [1].", [(1,)], []),
        ("The wall holds.[1][2]", "The wall holds.[1][2]", [(1, 2)], []),
        ("The wall holds [1, 2].", "The wall holds [1][2].", [(1, 2)], []),
        ("The wall holds [1 and 2].", "The wall holds [1][2].", [(1, 2)], []),
        ("The wall holds [1-3].", "The wall holds [1][2][3].", [(1, 2, 3)], []),
        ("The wall holds [2–3].", "The wall holds [2][3].", [(2, 3)], []),
        ("The wall holds [^2].", "The wall holds [2].", [(2,)], []),
        ("The wall holds [Passage 2].", "The wall holds [2].", [(2,)], []),
        ("The wall holds [Source #3].", "The wall holds [3].", [(3,)], []),
        ("The wall holds 【2†source】.", "The wall holds [2].", [(2,)], []),
        ("The wall holds [1][1].", "The wall holds [1].", [(1,)], []),
        ("The wall holds [7].", "The wall holds.", [()], [7]),
        ("The wall holds [0] [1].", "The wall holds [1].", [(1,)], [0]),
        ("The wall holds [2-99999].", "The wall holds [2][3].", [(2, 3)], [4]),
        ("The wall holds [3-1].", "The wall holds [3][1].", [(3, 1)], []),
        ("[1] The wall holds.", "[1] The wall holds.", [(1,)], []),
        ("[7] The wall holds.", "The wall holds.", [()], [7]),
        ("[1] It is high.\n[2] It is old.", "[1] It is high.\n[2] It is old.", [(1,), (2,)], []),
        ("[^1]: It is high.", "[1]: It is high.", [(1,)], []),
        ("It is high.\n[1]\n\nIt is old.", "It is high.\n[1]\n\nIt is old.", [(1,), ()], []),
        ("It is high [1]. It is old [2].", "It is high [1]. It is old [2].", [(1,), (2,)], []),
        ("It is high. [1] It is old. [2]", "It is high. [1] It is old. [2]", [(1,), (2,)], []),
        ("High [1] and old [2].", "High [1] and old [2].", [(1, 2)], []),
        ("", "", [], []),
        ("[7]", "", [], [7]),
        ("**Four metres** [1]", "**Four metres** [1]", [(1,)], []),
        ("`wall --high` [2]", "`wall --high` [2]", [(2,)], []),
    ],
)
def test_markers_are_read_in_every_form_and_written_in_one(written, text, markers, unknown):
    marked = read_markers(written, documents=3)
    assert marked.text == text
    assert [claim.markers for claim in marked.claims] == markers
    assert marked.unknown == unknown


@pytest.mark.parametrize(
    "text",
    [
        "See [the list](https://example.org) and [9](https://example.org/9).",
        "See <https://example.org/[9]> or [there](https://example.org/a[9]).",
        "Take `items[9]`, or ``rows[9][8]``.",
        "Run this:\n```python\nfirst = items[9]\n```",
        "Run this:\n\n~~~\nfirst = items[9]\n~~~",
        "1. Run this:\n\n   ```sh\n   echo ${names[9]}\n   ```\n2. Wait.",
        "> ```\n> first = items[9]\n> ```",
        "Cut off:\n```\nfirst = items[9]",
        "Indented:\n\n    first = items[9]\n",
        "The sum of $a[9]$ and $$b[9]$$, of \\(c[9]\\) and \\[d[9]\\].",
    ],
)
def test_what_stands_in_code_a_formula_or_an_address_is_no_marker(text):
    marked = read_markers(text, documents=3)
    assert (marked.text, marked.unknown) == (text.strip(), [])
    assert [claim.markers for claim in marked.claims] == [()] * len(marked.claims)


@pytest.mark.parametrize("text", ["It costs $5 [1] or $6 [2].", "It costs $5 [1], paid in US$ [2]."])
def test_a_price_is_no_formula(text):
    assert [claim.markers for claim in read_markers(text, documents=3).claims] == [(1, 2)]


def test_code_and_the_names_of_columns_state_nothing():
    answer = (
        "The wall holds [1]:\n\n```\nprint(wall.height)\nassert wall.holds\n```\n\n"
        "| Wall | Height |\n|:--|--:|\n| Long Wall | 4 m [1] |\n"
    )
    assert [claim.text for claim in read_markers(answer, documents=1).claims] == ["| Long Wall | 4 m |"]


def test_what_leads_to_code_is_the_claim_of_an_answer_of_code():
    marked = read_markers("Install it with [1]:\n\n```sh\npip install wall\n```", documents=1)
    assert [(c.text, c.markers) for c in marked.claims] == [("Install it with: pip install wall", (1,))]


@pytest.mark.parametrize(
    ("answer", "claim", "marked"),
    [
        ("It is old. It holds.", 0, "It is old. [9] It holds."),
        ("It is old [1]. It holds.", 1, "It is old [1]. It holds. [9]"),
        ("- It is old.\n  - It holds.\n- It leaks.", 1, "- It is old.\n  - It holds. [9]\n- It leaks."),
        ("> It is old.\n> It holds.", 0, "> It is old. [9]\n> It holds."),
        ("It is old.  \nIt holds.", 0, "It is old. [9]  \nIt holds."),
        ("It is old\\\nand holds.", 0, "It is old [9]\\\nand holds."),
        ("**Age:** *It is old.*", 0, "**Age:** *It is old.* [9]"),
        ("Call `a. B[1]. C` now.", 0, "Call `a. B[1]. C` now. [9]"),
        ("| Wall | Age |\n|---|--:|\n| Long | old   |", 0, "| Wall | Age |\n|---|--:|\n| Long | old [9]   |"),
        ("| Long | a \\| b |", 0, "| Long | a \\| b [9] |"),
    ],
)
def test_a_further_marker_leaves_the_markdown_valid(answer, claim, marked):
    read = read_markers(answer, documents=3)
    assert add_markers(read.text, {read.claims[claim].place: 9}) == marked


def test_headings_questions_and_leads_claim_nothing():
    answer = (
        "## Walls [2]\n**For your situation**\nHere is what they say:\nIs it safe?\nThe wall holds [1]. "
        "The disagreement turns on its price. Its age is not stated [3]."
    )
    marked = read_markers(answer, documents=3)
    assert [claim.text for claim in marked.claims] == ["The wall holds."]
    assert [claim.markers for claim in marked.others] == [(2,), (3,)]


def test_reading_the_normal_form_again_changes_nothing():
    once = read_markers("It is high [1, 2]. It is old.\n\nIt stands [3].", documents=3)
    assert read_markers(once.text, documents=3) == once


def test_a_claim_is_tied_to_the_sentence_that_supports_it_best():
    documents = [
        candidate("Gulls nest on the pier."),
        candidate("The pier is old. The wall was built in 1956. Eels swim by.", start=70),
    ]
    claims = read_markers("They built the wall in 1956 [2].", documents=2).claims

    citations = cite(
        claims,
        vectors([c.text for c in claims]),
        documents,
        [sentences_of(document) for document in documents],
    )

    [citation] = citations
    assert (citation["marker"], citation["start"], citation["quote"]) == (
        2,
        87,
        "The wall was built in 1956.",
    )


def test_two_claims_on_one_sentence_give_one_citation():
    documents = [candidate("The wall was built in 1956 of stone.")]
    claims = read_markers("It is a wall of stone [1]. The wall was built in 1956 [1].", documents=1).claims
    assert len(cite(claims, vectors([c.text for c in claims]), documents, [sentences_of(documents[0])])) == 1
