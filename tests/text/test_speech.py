import pytest

from adaptive_rag.text.speech import find_turns, read_head

CALL = """Ana: How did you come to clocks?
Frank: By accident. I was to be a butcher like my father.
Ana: And when did you take over the shop?
Frank: In 1968, when my uncle's eyes went.
"""


@pytest.mark.parametrize(
    ("text", "speakers"),
    [
        (CALL, ("Ana", "Frank")),
        (CALL.replace("\n", "\n\n"), ("Ana", "Frank")),
        (
            CALL.replace("Ana:", "**Ana Ruiz:**").replace("Frank:", "**Frank** (guest):"),
            ("Ana Ruiz", "Frank"),
        ),
        (
            "Interview of 3 June.\n\n" + CALL + "\nNote: the tape ends here, after an hour.\n",
            ("Ana", "Frank"),
        ),
        # one name only, or labels that come once
        ("Note: close the valve before you open it.\nTotal: four litres of water a day.\n", ()),
        ("Note: close the valve first, then open it.\nNote: never open it when it is hot.\n", ()),
        # the header of a mail
        ("From: Ana Ruiz\nSubject: The fair on Saturday afternoon\n\nI come.\n\n" * 3, ()),
        # a form: what follows the labels is short
        ("Name: Ana Ruiz\nCity: Oldbridge\n\nName: Ben Holt\nCity: Exley\n", ()),
        # fields of records, in the same order each time
        (
            "Area: the harbour, as you know it.\nState: open to all of you.\nUse: ask us for boats.\n\n" * 4,
            (),
        ),
        # labels of paragraphs, though what stands behind them is long
        ("Impact: a boat was lost in the harbour.\n\nConsequence: nobody sails there now.\n\n" * 3, ()),
        # a name with a value beside names that speak
        (CALL + "Presenter: Kim Lee\n" + CALL + "Presenter: Bo Ray\n", ("Ana", "Frank")),
        # notes and warnings stand among other lines
        ("Open the lid.\nLift the tray.\nPull the cord.\nNote: the tray may still be hot.\n" * 3, ()),
        (
            "Fill it.\nTip: use cold water from a tap.\nClose it.\nTurn it on.\nNote: it hums for a while.\n"
            * 2,
            (),
        ),
    ],
)
def test_speakers_take_turns_and_labels_do_not(text, speakers):
    assert tuple(dict.fromkeys(name for _, name in find_turns(text))) == speakers


def test_a_head_without_a_time_needs_a_known_speaker():
    assert read_head(CALL, 0) is None
    assert read_head(CALL, 0, ("Frank",)) is None
    assert read_head(CALL, 0, ("Ana", "Frank")) == (0, 5, "Ana", "")
    assert read_head("10:42 Ana: we ship", 0) == (0, 11, "Ana", "10:42")
