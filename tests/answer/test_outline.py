import pytest

from adaptive_rag.answer.outline import paragraph_at, read_outline
from tests.answer.made import candidate

HANDBOOK = (
    "Shorter requests need notice.\n\nSick leave\n\nCall before nine. Bring a note.\n\n"
    "7. Changes to the flat\n\nWalls may be painted.\n\n## What does it cost?\nIt costs 24 pounds.\n\n"
    "1. Unplug it\n\n2. Open the lid"
)


@pytest.mark.parametrize(
    ("said", "heading"),
    [
        ("Shorter requests", ""),
        ("Bring a note", "Sick leave"),
        ("Walls may be painted", "Changes to the flat"),
        ("It costs 24 pounds", "What does it cost?"),
        ("1. Unplug it", "What does it cost?"),
    ],
)
def test_a_paragraph_stands_under_the_heading_above_it(said, heading):
    passage = candidate(HANDBOOK, start=500)
    outline = read_outline(passage)
    paragraph = outline[paragraph_at(outline, 500 + HANDBOOK.index(said))]
    assert (paragraph.heading, paragraph.is_heading) == (heading, False)


def test_a_numbered_line_above_its_first_clause_is_a_heading():
    lease = (
        "5. Term and notice\n5.1 The lease runs for a year.\n5.2 It is renewed.\n\n6. Pets\n7. Keys are kept."
    )
    outline = read_outline(candidate(lease))

    assert [(p.heading, p.is_heading) for p in outline] == [
        ("Term and notice", True),
        ("Term and notice", False),
        ("Term and notice", False),  # a list, for all that is known
    ]


def test_a_numbered_heading_above_numbers_is_known_by_its_section_or_by_the_first_of_a_list():
    note = (
        "6. Distance\n\nIt falls off.\n\n7. Advice\n\n1. Pay cash.\n2. Deliver.\n\n"
        "8. Limits\n\n31 per cent is low."
    )
    sections = {"0": "Note > 6. Distance", str(note.index("8. Limits")): "Note > 8. Limits"}
    plain = candidate(note)
    known = {**plain, "metadata": {"section_starts": sections}}

    def headings(passage):
        return [p.heading for p in read_outline(passage) if not p.is_heading]

    assert headings(known) == ["Distance", "Advice", "Limits"]
    assert headings(plain)[:2] == ["Distance", "Advice"]


def test_the_section_heads_what_stands_before_the_first_heading_unless_it_begins_later():
    begun = {**candidate("Call before nine."), "section": "Handbook > Sick leave"}
    later = {**candidate("Shorter requests need notice.\n\nSick leave\n\nCall."), "section": "Sick leave"}
    assert [read_outline(passage)[0].heading for passage in (begun, later)] == ["Sick leave", ""]


@pytest.mark.parametrize(
    "line", ["- Keep it dry", "Tank | 5 litres", "Call us:", "It is closed.", "keep dry"]
)
def test_a_line_that_is_no_heading_heads_nothing(line):
    assert not any(
        p.is_heading for p in read_outline(candidate(f"{line}\n\nThe next paragraph stands here."))
    )


def test_a_line_in_bold_right_above_what_it_heads_is_a_heading():
    faq = (
        "**May I work from home?**\nTwo days a week. **Ask first.**\n**Lost badge**\nTell the gate\n\n"
        "**Mind the kiln.**\nIt is hot.\n\n**Approved**\n\n## Pay\n\nOn the 27th."
    )
    outline = read_outline(candidate(faq))
    headed = {
        said: outline[paragraph_at(outline, faq.index(said))].heading
        for said in ("Two days", "Tell the gate", "It is hot", "On the 27th")
    }

    assert headed == {
        "Two days": "May I work from home?",
        "Tell the gate": "Lost badge",
        "It is hot": "Lost badge",
        "On the 27th": "Pay",
    }
