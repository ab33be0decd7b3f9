"""Where the mails and letters of a text begin, and who wrote them."""

import pytest

from adaptive_rag.text.letters import find_letters, header_spans

RULE = "-" * 20
LETTERS = (
    "LETTERS ABOUT THE POND\n(collected by Una Weir)\n\n"
    f"{RULE}\nFrom: Odo Marsh, angler\n3 May 2025\n\nI fish there.\n\nOdo\n\n"
    f"{RULE}\nReceived 4 May 2025 from the Swimmers' Club (Ms Ida Lund, chair)\n\nWe swim there.\n\n"
    f"{RULE}\nReceived 5 May 2025, unsigned\n\nFill it in.\n\n"
    f"{RULE}\nLetter by Pia Holm\n\nI skate there.\n"
)
MAILS = (
    "Subject: Pond\nFrom: Odo Marsh <odo@pond.example>\nTo: all\n\nShall we drain it?\n\n"
    "From: <ida@pond.example>\nSubject: Re: Pond\n\nWe swim there."
)


def authors_of(text):
    return [letter.author for letter in find_letters(text)]


@pytest.mark.parametrize(
    ("text", "authors"),
    [
        (LETTERS, ["Odo Marsh, angler", "the Swimmers' Club", None, "Pia Holm"]),
        (MAILS, ["Odo Marsh", "ida@pond.example"]),
        ("From: Odo Marsh\n\nI fish.\n\nFrom: Pia Holm\n\nI skate.", ["Odo Marsh", "Pia Holm"]),
        ("Received 3 May from Pia Holm, clerk\n\nI skate.", ["Pia Holm, clerk"]),
        # no headers of letters
        ("We go\nFrom: A\n\nto B.", []),
        (f"We met.\n\n{RULE}\nNotes from Pia Holm's talk\n\nIt was cold.", []),
        (f"We met.\n\n{RULE}\nWe heard from Ann Lee that it is cold. We left.\n\nIt was cold.", []),
        ("| a | b |\n|---|---|\n| Sent from Leeds | 3 |\n\nTitle\n---\n\nText.", []),
        ("Received by Pia Holm\n\nTwo boxes.", []),
    ],
)
def test_a_header_names_the_author_of_a_letter(text, authors):
    assert authors_of(text) == authors


def test_a_letter_reaches_from_its_header_to_the_next_rule():
    first, second, *_ = find_letters(LETTERS)
    assert LETTERS[first.header : first.body] == "From: Odo Marsh, angler\n3 May 2025\n"
    assert LETTERS[first.body : second.start].split() == ["I", "fish", "there.", "Odo"]


def test_headers_are_found_apart_from_the_text():
    headers = [LETTERS[start:end] for start, end in header_spans(LETTERS)]
    mail = "Subject: Pond\nDate: 3 May\n\nWe swim.\n"
    assert [line.split("\n")[0].split()[0] for line in headers] == ["From:", "Received", "Received", "Letter"]
    assert [mail[start:end] for start, end in header_spans(mail)] == ["Subject: Pond\nDate: 3 May\n"]


@pytest.mark.parametrize("line", ["Date: 5 May 2025", "From: 12 pounds a month", "To: all"])
def test_a_single_field_is_no_header(line):
    assert header_spans(f"{line}\nWe met.") == header_spans(f"We met.\n\n---\n{line}\nWe met.") == []
