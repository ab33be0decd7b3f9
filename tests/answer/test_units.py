"""What is quoted of tables, lists, code and chats, on the whole path: files, index, answer; no model."""

from pathlib import Path

import docx
import pytest

from adaptive_rag import AdaptiveRAG
from adaptive_rag.answer.compose import answer_locally
from adaptive_rag.answer.sentences import collect_sentences
from adaptive_rag.answer.units import read_units
from adaptive_rag.ingest import extract_text, split
from adaptive_rag.text.sentences import sentence_spans
from tests.answer.made import ScriptedReader, candidate, request, sentences_of

PRICES = """item,price,stock,supplier
Brass hinge,4.20,12,Harlow Metals
Oak panel,38.00,7,Penrose Timber
Garden gate,108.00,3,Penrose Timber
"""
PUMP = """<html><body><h1>Cellar pump</h1><p>The pump moves water out of cellars.</p>
<h2>Restarting</h2><p>To restart the pump after a power cut:</p>
<ol><li>Close the outlet valve.</li><li>Press the green button for two seconds.</li></ol>
<p>To read the log of the pump, type:</p><pre><code>pumplog --last 20</code></pre>
<h2>Error codes</h2><table><tr><th>Code</th><th>Meaning</th><th>Remedy</th></tr>
<tr><td>E1</td><td>Dry running</td><td>Fill the housing</td></tr>
<tr><td>E4</td><td>Motor too hot</td><td>Let it cool for 30 minutes</td></tr></table></body></html>"""
README = """# Tidecast

Tidecast predicts the tides of a harbour. Tidecast was written by R. Tolland [3] and is shown in Fig. 3.

## Installation

Install it with pip:

```bash
pip install tidecast
```

## Use

```bash
# fetch the last year of levels
tidecast fetch --days 365
# predict the next week
tidecast predict --station DOV

# keep a station out of the forecast
for station in DOV HAR; do
  tidecast mute --station $station
done
```

The levels service needs:

- a key for each station
- a clock that is set to UTC

## Settings

| Setting | Default | Meaning |
|---|---|---|
| `cache_days` | 30 | how long fetched levels are kept |
| `timeout` | 10 s | how long to wait for the service |
"""
CHAT = """10:38 Ben: Morning all. Is the van back from the garage?
10:40 Ana: Yes, since eight. The brakes cost 310 euros.
10:42 Ana: On Friday I am at the dentist, so somebody else must open the shop.
10:45 Cleo: Who orders the paint for the Miller job?
10:46 Ben: Ana does, by Wednesday.
"""
TOOLS = [
    ("Tool", "Deposit", "Days", "Shelf"),
    ("Belt sander", "25 euros", "3", "B4"),
    ("Hedge trimmer", "40 euros", "2", "C1"),
    ("Tile cutter", "30 euros", "", "B2"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("documents")
    for name, text in {
        "prices.csv": PRICES,
        "pump.html": PUMP,
        "README.md": README,
        "chat.txt": CHAT,
    }.items():
        (folder / name).write_text(text, encoding="utf-8")
    document = docx.Document()
    document.add_paragraph("The store lends tools to members.")
    table = document.add_table(len(TOOLS), len(TOOLS[0]))
    for cell, text in zip(table._cells, [cell for row in TOOLS for cell in row], strict=True):
        cell.text = text
    document.save(folder / "loans.docx")
    return folder


@pytest.fixture(scope="module")
def rag(folder, tmp_path_factory):
    return AdaptiveRAG.from_documents(folder, index=tmp_path_factory.mktemp("index") / "index")


@pytest.mark.parametrize(
    ("question", "said", "quote"),
    [
        (
            "Who sells the brass hinge?",
            "Brass hinge: supplier Harlow Metals [1]",
            "item: Brass hinge\nprice: 4.20\nstock: 12\nsupplier: Harlow Metals",
        ),
        (
            "What is the deposit for the hedge trimmer?",
            "Hedge trimmer: deposit 40 euros [1]",
            "Hedge trimmer | 40 euros | 2 | C1",
        ),
        (
            "What does error code E4 mean?",
            "E4: Motor too hot [1]",
            "E4 | Motor too hot | Let it cool for 30 minutes",
        ),
        (
            "How do I restart the pump after a power cut?",
            "To restart the pump after a power cut: 1. Close the outlet valve. "
            "2. Press the green button for two seconds. [1]",
            "To restart the pump after a power cut:\n\n1. Close the outlet valve.\n"
            "2. Press the green button for two seconds.",
        ),
        (
            "What does the levels service need?",
            "The levels service needs: a key for each station; a clock that is set to UTC. [1]",
            "The levels service needs:\n\n- a key for each station\n- a clock that is set to UTC",
        ),
        (
            "What command installs tidecast?",
            "Install it with pip: `pip install tidecast` [1]",
            "pip install tidecast",
        ),
        (
            "What command predicts the next week?",
            "predict the next week: `tidecast predict --station DOV` [1]",
            "# predict the next week\ntidecast predict --station DOV",
        ),
        (
            "What did Ana say about Friday?",
            "Ana (10:42): “On Friday I am at the dentist, so somebody else must open the shop.” [1]",
            "10:42 Ana: On Friday I am at the dentist, so somebody else must open the shop.",
        ),
        (
            "Who orders the paint for the Miller job?",
            "Cleo (10:45): “Who orders the paint for the Miller job?” "
            "Ben (10:46): “Ana does, by Wednesday.” [1]",
            "10:45 Cleo: Who orders the paint for the Miller job?\n10:46 Ben: Ana does, by Wednesday.",
        ),
        (
            "Who wrote Tidecast?",
            "Tidecast was written by R. Tolland and is shown in Fig. 3. [1]",
            "Tidecast was written by R. Tolland [3] and is shown in Fig. 3.",
        ),
    ],
)
def test_an_answer_quotes_the_piece_that_holds_it(rag, folder, question, said, quote):
    found = rag.invoke(question, context={"reader": ScriptedReader({quote.splitlines()[-1]: 0.9})})
    assert said in found["answer"]
    assert quote in [citation["quote"] for citation in found["citations"]]
    for citation in found["citations"]:
        text = extract_text(folder / Path(citation["source"]).name).text
        assert text[citation["start"] : citation["end"]] == citation["quote"]


def test_a_row_far_below_the_names_of_its_columns_is_still_read_with_them(tmp_path):
    rows = "\n".join(f"| Part {number:03} | {number * 3}.50 | {number % 7} |" for number in range(150))
    (tmp_path / "parts.md").write_text(f"# Parts\n\n| Part | Price | Shelf |\n|---|---|---|\n{rows}\n")
    reader = ScriptedReader({"Part 141 |": 0.9})
    rag = AdaptiveRAG.from_documents(tmp_path / "parts.md", index=tmp_path / "index", reader=reader)
    assert "Part 141: price 423.50 [1]" in rag.invoke("What is the price of Part 141?")["answer"]


def read(text, **keys):
    document = candidate(text, **keys)
    return [s.text for s in collect_sentences([document], [sentences_of(document)]) if s.quality >= 0.5]


def test_a_long_list_is_quoted_item_by_item_each_with_its_lead_in():
    items = [f"keep a log of every visit to the plant in the month of number {n}" for n in range(9)]
    assert read("You must:\n\n" + "\n".join(f"- {item}" for item in items)) == [
        f"You must: {item}" for item in items
    ]


def test_code_of_several_lines_is_shown_as_a_block_below_what_it_is_for(rag):
    answer = rag.invoke("What command keeps a station out of the forecast?")["answer"]
    block = "```\nfor station in DOV HAR; do\n  tidecast mute --station $station\ndone\n```"
    assert f"keep a station out of the forecast: [1]\n{block}" in answer


def test_a_timetable_is_no_chat():
    assert not any(
        "“" in text for text in read("12:30 Lunch: soup and bread\n13:30 Talk: the new pump house")
    )


def test_an_answer_in_a_transcript_is_quoted_with_its_question_and_long_turns_by_sentences():
    text = (
        "Ana: When did you take over the shop?\nFrank: In 1968. My uncle stayed on.\n"
        "Ana: we ship on Friday\nFrank: The lathe is from 1890. The museum has asked for it."
    )

    assert read(text, metadata={"speakers": ["Ana", "Frank"]}) == [
        "Ana: “When did you take over the shop?” Frank: “In 1968. My uncle stayed on.”",
        "Ana: “we ship on Friday”",
        "Frank: The lathe is from 1890.",
        "The museum has asked for it.",
    ]


def test_the_chunks_of_a_transcript_know_its_speakers(tmp_path):
    turns = [f"Ana: what do we know of day {n}?\nFrank: On day {n} the tide was high." for n in range(9)]
    (tmp_path / "talk.txt").write_text("\n".join(turns), encoding="utf-8")
    chunks = list(split(extract_text(tmp_path / "talk.txt"), size=100, overlap=0))
    assert len(chunks) > 5
    for chunk in chunks:
        assert set(chunk["metadata"]["speakers"]) >= {
            name for name in ("Ana", "Frank") if name in chunk["text"]
        }


def test_a_passage_that_goes_on_with_a_turn_has_no_messages():
    text = "The tide was high on Monday. The gauge stood at four metres."
    assert not any("“" in unit for unit in read(text, metadata={"speakers": ["Ana", "Frank"]}))


def test_code_that_began_before_the_passage_does_not_turn_prose_into_code():
    text = (
        "tidecast fetch\n```\n\nThe command fetches the levels of one harbour.\n\n```\ntidecast predict\n```"
    )
    assert read(text) == [
        "`tidecast fetch`",
        "The command fetches the levels of one harbour.",
        "`tidecast predict`",
    ]


@pytest.mark.parametrize(
    "code",
    [
        "docker run \\\n  --rm \\\n  image",
        "#include <stdio.h>\nint n = 0;",
        "for row in rows:\n    # all but empty ones\n    if row:\n        print(row)",
    ],
)
def test_a_line_that_looks_like_a_comment_or_is_inside_code_is_kept(code):
    assert read(f"# Use\n\n```\n{code}\n```")[-1] == f"Use:\n```\n{code}\n```"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("The wall was built in 1957[3] by the county.[4, 5]", "The wall was built in 1957 by the county."),
        ("The wall was raised again in 1968.³", "The wall was raised again in 1968."),
        ("Sorting them takes O((log N)³) steps.", "Sorting them takes O((log N)³) steps."),
        ("It is given in [kg m]² and in (m/s)².", "It is given in [kg m]² and in (m/s)²."),
        ("R. Tolland led the survey of the wall.", "R. Tolland led the survey of the wall."),
        ("The method is that shown in [3] for the gates.", "The method is that shown in [3] for the gates."),
    ],
)
def test_marks_of_notes_are_left_out_and_initials_kept(text, shown):
    assert read(text) == [shown]


def test_a_review_in_a_row_is_read_by_sentences_beside_its_other_cells():
    text = "guest: Olu\nstars: 1\nreview: A party next door until three in the morning. We complained twice."
    passage = candidate(text) | {"metadata": {"row": 5}}
    row, beginning = read_units(passage, sentence_spans(text, 0))
    assert row.text == "Olu: stars 1"
    assert beginning.text == "A party next door until three in the morning."


def test_a_row_does_not_repeat_its_sheet():
    text = "Article: Letterhead\nPrice: 15.25\nSheet: Paper"
    passage = candidate(text) | {"start": 0, "end": len(text), "metadata": {"row": 2, "sheet": "Paper"}}
    (unit,) = read_units(passage, [(0, len(text))])
    assert (unit.text, unit.end) == ("Letterhead: price 15.25", len(text))


def test_a_row_that_answers_two_questions_is_shown_once_with_the_cells_for_both():
    text = "| Tool | Deposit | Shelf |\n|--|--|--|\n| Drill | 30 | B2 |\n| Saw | 20 | A1 |\n"
    chances = {"| Drill": 0.9, "30": 0.5, "B2": 0.4, "| Saw": 0.05}
    parts = ["What is the deposit for the drill", "on which shelf is the drill"]
    asked = request(f"{' and '.join(parts)}?", [candidate(text)], chances, parts=parts)
    _, answer = answer_locally(asked, abstains=True)
    assert answer.text == "Drill: deposit 30, shelf B2 [1]"
