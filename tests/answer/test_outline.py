import pytest

from adaptive_rag.answer.outline import paragraph_at, read_outline
from tests.answer.made import candidate

HANDBOOK = (
    "Shorter requests need notice.\n\nSick leave\n\nCall before nine. Bring a note.\n\n"
    "7. Changes to the flat\n\nWalls may be painted.\n\n## What does it cost?\nIt costs 24 pounds.\n\n"
    "1. Unplug it\n\n2. Open the lid"
)
LEASE = "5. Term and notice\n5.1 The lease runs for a year.\n5.2 It is renewed.\n\n6. Pets\n7. Keys are kept."
FAQ = (
    "**May I work from home?**\nTwo days a week. **Ask first.**\n**Lost badge**\nTell the gate\n\n"
    "**Mind the kiln.**\nIt is hot.\n\n**Approved**\n\n## Pay\n\nOn the 27th."
)


@pytest.mark.parametrize(
    ("text", "headings"),
    [
        (HANDBOOK, ["Sick leave", "7. Changes to the flat", "## What does it cost?"]),
        (LEASE, ["5. Term and notice"]),  # the rest may be a list
        ("# rowkit\n\nrowkit reads rows of files.", ["# rowkit"]),
        (FAQ, ["**May I work from home?**", "**Lost badge**", "**Approved**", "## Pay"]),
        *((f"{line}\n\nThe next paragraph stands here.", []) for line in (
            "- Keep it dry", "Tank | 5 litres", "Call us:", "It is closed.", "keep dry",
        )),
    ],
)  # fmt: skip
def test_the_headings_of_a_passage_are_known(text, headings):
    outline = read_outline(candidate(text, start=500))
    ends = [*(paragraph.start for paragraph in outline[1:]), 500 + len(text)]
    found = [text[p.start - 500 : end - 500].strip() for p, end in zip(outline, ends, strict=True) if p.heads]
    assert found == headings
    assert [paragraph_at(outline, paragraph.start + 1) for paragraph in outline] == [*range(len(outline))]
