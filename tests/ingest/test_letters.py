"""Files of several letters or mails."""

from adaptive_rag.ingest import split

RULE = "-" * 20
LETTERS = (
    "LETTERS ABOUT THE POND\n\n"
    f"{RULE}\nFrom: Odo Marsh, angler\n3 May 2025\n\nI fish there.\n\nOdo\n\n"
    f"{RULE}\nReceived 5 May 2025, unsigned\n\nFill it in.\n\n"
    f"{RULE}\nFrom: Pia Holm\n\nI skate there.\n"
)
MAILS = (
    "From: Odo Marsh <odo@pond.example>\nTo: all\nSubject: Pond\n\nShall we drain it?\n\n"
    "From: Pia Holm\nTo: all\nSubject: Re: Pond\n\nI skate there.\n"
)


def test_no_chunk_crosses_from_one_letter_to_the_next(read_file):
    chunks = list(split(read_file("pond.txt", LETTERS)))
    title, odo, pia = "LETTERS ABOUT THE POND", "Odo Marsh, angler", "Pia Holm"
    lasts = [chunk["text"].split("\n")[-1] for chunk in chunks]
    assert lasts == [title, "Odo", "Fill it in.", "I skate there."]
    assert [chunk["section"] for chunk in chunks[1:]] == [odo, "Received 5 May 2025, unsigned", pia]
    about = {"subject": title, "line": 0}
    known = [{"line": 0}, {**about, "from": odo}, about, {**about, "from": pia}]
    assert [{**chunk["metadata"], "line": 0} for chunk in chunks] == known


def test_each_mail_of_a_text_has_its_own_subject(read_file):
    chunks = list(split(read_file("pond.txt", MAILS)))

    assert [(chunk["metadata"]["from"], chunk["metadata"]["subject"]) for chunk in chunks] == [
        ("Odo Marsh", "Pond"),
        ("Pia Holm", "Re: Pond"),
    ]


def test_one_letter_or_mails_shown_as_examples_are_no_records(read_file):
    one = "LETTERS\n\n" + LETTERS.split(RULE)[1].strip()
    manual = f"# Mails\n\n{MAILS}\n# Fees\n\nWe charge 2 pounds.\n"

    assert read_file("one.txt", one).records == ()
    assert read_file("manual.md", manual).records == ()
