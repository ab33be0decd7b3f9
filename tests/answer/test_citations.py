import numpy as np
import pytest

from adaptive_rag.answer.citations import cite, read_markers
from tests.answer.made import candidate, sentences_of, vectors


@pytest.mark.parametrize(
    ("written", "text", "markers", "unknown"),
    [
        ("The wall holds [1].", "The wall holds. [1]", [(1,)], []),
        ("The wall holds. [1]", "The wall holds. [1]", [(1,)], []),
        ("The wall holds.[1][2]", "The wall holds. [1][2]", [(1, 2)], []),
        ("The wall holds [1, 2].", "The wall holds. [1][2]", [(1, 2)], []),
        ("The wall holds [1; 3].", "The wall holds. [1][3]", [(1, 3)], []),
        ("The wall holds [1 and 2].", "The wall holds. [1][2]", [(1, 2)], []),
        ("The wall holds [1-3].", "The wall holds. [1][2][3]", [(1, 2, 3)], []),
        ("The wall holds [2–3].", "The wall holds. [2][3]", [(2, 3)], []),
        ("The wall holds [^2].", "The wall holds. [2]", [(2,)], []),
        ("The wall holds [Passage 2].", "The wall holds. [2]", [(2,)], []),
        ("The wall holds [Source #3].", "The wall holds. [3]", [(3,)], []),
        ("The wall holds 【2†source】.", "The wall holds. [2]", [(2,)], []),
        ("The wall holds [1][1].", "The wall holds. [1]", [(1,)], []),
        ("The wall holds [7].", "The wall holds.", [()], [7]),
        ("The wall holds [0] [1].", "The wall holds. [1]", [(1,)], [0]),
        ("The wall holds [2-99999].", "The wall holds. [2][3]", [(2, 3)], [4]),
        ("The wall holds [3-1].", "The wall holds. [3][1]", [(3, 1)], []),
        ("The wall holds.", "The wall holds.", [()], []),
        ("[1] The wall holds.", "The wall holds. [1]", [(1,)], []),
        ("It is high [1]. It is old [2].", "It is high. [1] It is old. [2]", [(1,), (2,)], []),
        ("It is high. [1] It is old. [2]", "It is high. [1] It is old. [2]", [(1,), (2,)], []),
        ("High [1] and old [2].", "High and old. [1][2]", [(1, 2)], []),
        ("- It is high [1]\n- It is old [2]", "- It is high [1]\n- It is old [2]", [(1,), (2,)], []),
        ("", "", [], []),
        ("[1]", "", [], []),
    ],
)
def test_markers_are_read_in_every_form_and_written_in_one(written, text, markers, unknown):
    marked = read_markers(written, documents=3)

    assert marked.text == text
    assert [claim.markers for claim in marked.claims] == markers
    assert marked.unknown == unknown


def test_a_link_and_an_index_are_no_markers():
    text = "See [the list](https://example.org) and [1](https://example.org/1)."

    assert read_markers(text, documents=3).text == text


def test_headings_questions_and_leads_claim_nothing():
    answer = "## Walls\n**For your situation**\nHere is what they say:\nIs it safe?\nThe wall holds [1]."

    assert [claim.text for claim in read_markers(answer, documents=1).claims] == ["The wall holds."]


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

    assert citations == [
        {
            "marker": 2,
            "source": "made.txt",
            "page": None,
            "place": {},
            "start": 87,
            "end": 87 + len("The wall was built in 1956."),
            "quote": "The wall was built in 1956.",
        }
    ]


def test_two_claims_on_one_sentence_give_one_citation():
    documents = [candidate("The wall was built in 1956 of stone.")]
    claims = read_markers("It is a wall of stone [1]. The wall was built in 1956 [1].", documents=1).claims

    assert len(cite(claims, vectors([c.text for c in claims]), documents, [sentences_of(documents[0])])) == 1


def test_a_page_that_begins_inside_the_chunk_is_named():
    text = "The first page ends here. The second page tells of eels."
    document = candidate(text) | {"page": 3, "metadata": {"page_starts": {"4": text.index("The second")}}}
    claims = read_markers("Eels are told of on the second page [1].", documents=1).claims

    (citation,) = cite(claims, vectors([c.text for c in claims]), [document], [sentences_of(document)])

    assert citation["page"] == 4


def test_no_claims_give_no_citations():
    assert cite([], np.zeros((0, 8), np.float32), [], []) == []
