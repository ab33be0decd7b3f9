"""Which sentences an answer quotes, and in which order."""

import re
from dataclasses import replace

import pytest

from adaptive_rag.answer.choose import LONGEST_PARAGRAPH
from adaptive_rag.answer.compose import extract_answer
from adaptive_rag.answer.passages import join_neighbours
from adaptive_rag.answer.request import Block
from adaptive_rag.answer.styles import CONTEXTUAL_STYLE, FACTUAL_STYLE
from tests.answer.made import ScriptedReader, candidate, request, without_markers

PARAGRAPHS = replace(FACTUAL_STYLE, quotes=8, extent="paragraph", paragraphs=True, words=150, share=0.1)
WALL = (
    "The Long Wall is a sea wall of stone that protects the low town. It is 2.3 kilometres long. "
    "The wall was built between 1955 and 1958. Visitors like the harbour for its herring gulls."
)
MARSH = (
    "Salt marsh slows the waves before they reach the wall. The marsh costs farmers land. "
    "The marsh benefits birds and stores carbon. Sheep graze there in summer."
)


def check(answer, documents):
    """Every place has its marker, and every quote stands where its citation says."""
    assert len(re.findall(r"\[\d+\]", answer.text)) == len(answer.citations)
    for citation in answer.citations:
        document = documents[citation["marker"] - 1]
        start, end = (citation[key] - document["start"] for key in ("start", "end"))
        assert document["text"][start:end] == citation["quote"]
        assert citation["source"] == document["source"]
        assert " ".join(citation["quote"].split()) in answer.text


def test_a_fact_that_is_not_sure_is_followed_by_the_next_likely_sentence() -> None:
    documents = [candidate(WALL), candidate(MARSH, source="marsh.txt")]
    chances = {"1955": 0.5, "costs farmers": 0.1, "Sheep": 0.2}
    answer = extract_answer(request("When was it built?", documents, chances))
    assert answer.text == "The wall was built between 1955 and 1958. [1] Sheep graze there in summer. [2]"
    check(answer, documents)


def test_paragraphs_join_until_most_of_the_chance_is_quoted_and_each_has_one_citation() -> None:
    other = "Salt marsh is not grazed in winter.\n\nThe ferry goes once in an hour."
    documents = [candidate(WALL), candidate(f"{MARSH}\n\n{other}", source="marsh.txt")]
    chances = {"benefits birds": 0.4, "slows": 0.1, "in winter": 0.2, "1955": 0.3, "Vis": 0.02, "ferry": 0.1}
    asked = request("What does the marsh do?", documents, chances, style=PARAGRAPHS)
    answer = extract_answer(asked)
    assert without_markers(answer) == [MARSH, "Salt marsh is not grazed in winter.", WALL]
    assert answer.text.count("\n\n") == 2
    check(answer, documents)
    short = extract_answer(replace(asked, style=replace(PARAGRAPHS, words=40)))
    assert without_markers(short) == [MARSH, "Salt marsh is not grazed in winter."]
    sure = {"benefits birds": 0.91, "in winter": 0.05, "1955": 0.03}
    assert len(without_markers(extract_answer(request("What?", documents, sure, style=FACTUAL_STYLE)))) == 1


def test_of_a_long_paragraph_the_part_around_the_best_sentence_is_quoted() -> None:
    numbered = [f"Rule {n} says that boats of the harbour keep to the side of the pier." for n in range(20)]
    document = candidate(" ".join(numbered))
    chances = {"Rule 9 ": 0.9, "Rule 10 ": 0.05}
    [said] = without_markers(
        extract_answer(request("What is rule 9?", [document], chances, style=PARAGRAPHS))
    )
    assert said.startswith("Rule ") and "Rule 9 " in said and "Rule 10 " in said
    assert len(said.split()) <= LONGEST_PARAGRAPH


def test_items_of_a_list_without_a_lead_in_stand_below_their_heading() -> None:
    items = [
        "Keep all of your notes on every subject in one and the same place",
        "Links between them are found more easily by those who look for them",
    ]
    document = candidate("\n- ".join(["## One workspace\n", *items]))
    answer = extract_answer(request("Why?", [document], {"same place": 0.9}, style=PARAGRAPHS))
    assert answer.text == "\n- ".join(["One workspace:", *items]) + " [1]"


def test_a_word_alone_is_an_answer_but_not_quoted_beside_one() -> None:
    said = {"kind": "qa", "question": "Is the wall of brick?", "answer": "No."}
    faq = candidate("Is the wall of brick?\nNo.", metadata=said, source="faq.csv")
    wall = candidate("The wall was built of stone.\n\nThe ferry goes once in an hour.")

    def answer(no: float, stone: float) -> list[str]:
        chances = {"No.": no, "stone": stone}
        return without_markers(extract_answer(request("Is it?", [faq, wall], chances, style=PARAGRAPHS)))

    assert answer(0.6, 0.3) == ["No.", "The wall was built of stone."]
    assert answer(0.3, 0.6) == ["The wall was built of stone."]


def test_a_sentence_that_refers_back_brings_the_one_before() -> None:
    answer = extract_answer(request("How long is it?", [candidate(WALL)], {"kilometres": 0.9}))
    assert without_markers(answer) == [
        "The Long Wall is a sea wall of stone that protects the low town. It is 2.3 kilometres long."
    ]


def test_repeated_paragraphs_are_shown_once() -> None:
    copies = [candidate(WALL, source=f"copy{n}.txt") for n in range(4)]
    answer = extract_answer(request("When was it built?", copies, {"1955": 0.2}, style=PARAGRAPHS))
    assert without_markers(answer) == [WALL]


def test_what_two_chunks_of_a_passage_share_counts_once_and_for_both() -> None:
    cut = WALL.index("It is")
    chunks = [candidate(WALL[:-56]), candidate(WALL[cut:], start=cut)]
    [passage] = join_neighbours(chunks)
    asked = request("How long is it?", [passage], {"kilometres": 0.3, "Visitors": 0.5})
    assert [round(float(score), 1) for score in asked.scored.scores] == [0.0, 0.6, 0.0, 0.5]
    assert "It is 2.3 kilometres long." in without_markers(extract_answer(asked))[0]


def test_what_is_said_of_a_heading_or_a_question_holds_for_what_follows() -> None:
    page = candidate("## Opening hours of the pool\n\nThe pool is open from nine to five on all days.")
    asked = request("When is the pool open?", [page], {"## Opening": 0.9})
    assert without_markers(extract_answer(asked)) == ["The pool is open from nine to five on all days."]
    said = {"kind": "qa", "question": "Is there a bus?", "answer": "Yes, every hour until nine."}
    faq = candidate("Is there a bus?\nYes, every hour until nine.", metadata=said)
    asked = request("Does a bus run?", [faq], {"Is there": 0.9})
    assert without_markers(extract_answer(asked)) == ["Yes, every hour until nine."]


def test_what_is_said_of_the_names_of_columns_holds_for_no_row() -> None:
    text = "## Leave\n\n| Kind | Approved by |\n|---|---|\n| Annual | line manager |\n| Study | HR |"
    for chances in ({"Approved by": 0.5, "Study": 0.3}, {"## Leave": 0.5, "Study": 0.3}):
        answer = extract_answer(request("Who approves study leave?", [candidate(text)], chances))
        assert without_markers(answer)[0].startswith("Study:")


@pytest.mark.parametrize("code", ["compact --all", "for n in 1 2; do\n  compact $n\ndone"])
def test_code_is_quoted_with_what_leads_to_it(code: str) -> None:
    document = candidate(
        f"Look first. Delete all that every\nclient has read:\n\n```sh\n{code}\n```\n\nWait."
    )
    answer = extract_answer(request("What deletes it?", [document], {"Delete all": 0.9}))
    shown = " `compact --all` [1]" if "\n" not in code else f" [1]\n```\n{code}\n```"
    assert answer.text == f"Delete all that every client has read:{shown}"
    assert answer.citations[0]["quote"].startswith("Delete all") and code in answer.citations[0]["quote"]


def test_rows_on_one_line_have_a_semicolon_between_them() -> None:
    rows = candidate("| Hotel | Limit |\n|---|---|\n| London | £165 |\n| Elsewhere | £110 |")
    answer = extract_answer(request("Limit?", [rows], {"London": 0.4, "Elsewhere": 0.4}))
    assert answer.text == "London: limit £165 [1]; Elsewhere: limit £110 [1]"


def test_names_with_their_values_are_quoted_alone_with_a_semicolon_between_them() -> None:
    bill = candidate(
        "Invoice no. BR-0417\nDue 1 May 2026\nVAT 20% £178.00\nPayable within 14 days of its date."
    )
    answer = extract_answer(request("When?", [bill], {"Due": 0.6, "VAT": 0.3}))
    assert answer.text == "Due 1 May 2026 [1]; VAT 20% £178.00 [1]"
    region = candidate("Region: Frankfurt\nBackups are kept in Dublin.")
    answer = extract_answer(request("Which region?", [region], {"Region": 0.9}))
    assert answer.text == "Region: Frankfurt; Backups are kept in Dublin. [1]"


def bulleted(text: str) -> str:
    def arrange(asked, scored):
        return [Block(list(scored.sentences), bulleted=True)]

    asked = request("What?", [candidate(text)], style=replace(FACTUAL_STYLE, arrange=arrange))
    return extract_answer(asked).text


def test_statements_of_two_paragraphs_stand_in_two_bullets() -> None:
    assert bulleted("The ferry wakes the quay.\n\nMany islanders use the night bus.") == (
        "- The ferry wakes the quay. [1]\n- Many islanders use the night bus. [1]"
    )
    assert bulleted("The ferry wakes the quay.\n\nIt leaves at ten in the night.") == (
        "- The ferry wakes the quay. [1] It leaves at ten in the night. [1]"
    )


def test_the_items_of_a_list_stand_below_the_bullet_that_leads_to_them() -> None:
    items = [f"{name} is kept for all guests of the island " + "and their friends " * 20 for name in "AB"]
    text = "\n".join(["Open to all:", *(f"- {item.strip()}." for item in items)])
    assert bulleted(text).startswith("- Open to all:\n  - A is kept") and "\n  - B is" in bulleted(text)


def test_the_question_is_read_after_the_one_before_and_with_the_situation() -> None:
    reader = ScriptedReader({"1955": 0.9})
    more = {"previous_question": "What is the Long Wall?", "situation": "I live\nthere."}
    extract_answer(request("When was it built?", [candidate(WALL)], reader=reader, **more))
    assert reader.asked == ["What is the Long Wall? When was it built? (I live there.)"]


def test_without_a_reader_the_nearest_sentence_comes_first() -> None:
    asked = replace(request("built between 1955", [candidate(WALL)]), reader=None)
    assert asked.scored.answered is None
    assert without_markers(extract_answer(asked))[0] == "The wall was built between 1955 and 1958."


def test_a_style_may_number_what_it_quotes() -> None:
    def steps(asked, scored):
        return [Block(list(scored.sentences)[1:3], numbered=True, heading="Steps")]

    asked = request("How?", [candidate(MARSH)], style=replace(FACTUAL_STYLE, arrange=steps))
    assert extract_answer(asked).text == (
        "**Steps**\n1. The marsh costs farmers land. [1]\n2. The marsh benefits birds and stores carbon. [1]"
    )


@pytest.mark.parametrize("text", ["", "...", "# Heading"])
def test_what_holds_no_readable_sentence_gives_no_answer(text: str) -> None:
    assert extract_answer(request("What?", [candidate(text)])).text == ""


@pytest.mark.parametrize(
    ("marks", "shown"),
    [
        ("123456", ["1.", "2.", "3.", "4.", "5.", "6."]),  # steps need each other
        ("------", ["-", "-", "-"]),  # of other items, those beside the best one
    ],
)
def test_of_a_list_its_lead_in_and_the_items_that_belong_together_are_quoted(
    marks: str, shown: list[str]
) -> None:
    care = "with care, and look at the lamp beside the valve while you do it, since it shows the pressure"
    steps = [
        f"{mark if mark == '-' else f'{mark}.'} {step} {care}"
        for mark, step in zip(
            marks, ("Open it", "Close it", "Pull it", "Call him", "Lift it", "Go home"), strict=True
        )
    ]
    document = candidate("\n".join(["To start the pump:", "", *steps]))
    chances = {"Close it": 0.9}
    answer = extract_answer(request("How do I start it?", [document], chances, style=PARAGRAPHS))
    lead_in, *items = answer.text.splitlines()
    assert lead_in == "To start the pump:" and [item.split()[0] for item in items] == shown


def test_of_numbered_rules_of_several_sentences_only_the_one_that_answers_is_quoted() -> None:
    rules = (
        "1. Water is on until eight. Close the tap.\n2. Fires are banned. Ask us first.\n3. Keep four hens."
    )
    for chance, shown in (("Water", "Water is on until eight."), ("hens", "Keep four hens.")):
        answer = extract_answer(request("What is allowed?", [candidate(rules)], {chance: 0.9}))
        assert without_markers(answer) == [shown]


def test_a_lead_in_is_left_out_only_of_its_own_items() -> None:
    kept = (
        "pier, which the council keeps for the fishermen of the island and for all of their many guests in "
    )
    kept += "summer and in winter, and for the children of the school"
    items = [f"- {name} {kept}" for name in ("the north", "the south")]
    lead = "Closed to all:"
    other = candidate(
        f"{lead} nothing but the stairs of the old lighthouse since the month of May.", source="b.md"
    )
    documents = [candidate("\n".join([lead, "", *items])), other]
    chances = {"north": 0.5, "stairs": 0.4}
    answer = extract_answer(request("What is closed?", documents, chances, style=PARAGRAPHS))
    assert f"{lead} nothing but the stairs" in answer.text


def test_a_colon_of_the_document_stays() -> None:
    text = ":memory: opens a new database for every connection that is made."
    answer = extract_answer(request("What opens a database?", [candidate(text)], {"memory": 0.9}))
    assert without_markers(answer) == [text]


def test_what_a_part_has_quoted_is_not_quoted_again() -> None:
    asked = request("When was it built?", [candidate(WALL)], {"1955": 0.5, "Visitors": 0.2})
    first = extract_answer(asked)
    again = extract_answer(request("Who likes it?", [candidate(WALL)], {"Visitors": 0.9}), first.citations)
    assert "Visitors" in first.text and again.text == ""


def test_what_is_quoted_from_another_passage_begins_a_paragraph() -> None:
    documents = [candidate(WALL), candidate(MARSH, source="marsh.md")]
    chances = {"sea wall of stone": 0.4, "built between": 0.2, "slows the waves": 0.2}
    answer = extract_answer(request("What holds the sea back?", documents, chances, style=CONTEXTUAL_STYLE))
    first, second = answer.text.split("\n\n")
    assert "sea wall of stone" in first and "built between" in first and "slows the waves" in second


def test_a_sentence_between_two_that_are_quoted_is_quoted_too() -> None:
    text = (
        "Until two weeks before, you get all back. Until four days before, half. Later we keep the deposit."
    )
    chances = {"all back": 0.5, "the deposit": 0.3, "half": 0.01}
    answer = extract_answer(request("What do I get back?", [candidate(text)], chances))
    assert answer.text == f"{text} [1]"
    del chances["half"]  # it is about another thing
    answer = extract_answer(request("What do I get back?", [candidate(text)], chances))
    assert "half" not in answer.text
