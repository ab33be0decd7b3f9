"""The benchmark with questions over tables in other words than theirs."""

from collections import Counter

import pytest

from benchmarks.tables.__main__ import ask, read_sets

TABLES = [
    {
        "file": "boats.csv",
        "sheet": "",
        "title": "",
        "columns": ["Boat", "Length (m)", "Owner"],
        "rows": [["Seagull", "6.5", "Ann Lee"], ["Petrel", "9", "Bo Lind"], ["Tern", "12.5", "Cy Marsh"]],
        "questions": [
            {"question": "Who is the owner of the Petrel?", "operation": "list", "evidence": [["Bo Lind"]]},
            {"question": "Which boat has the largest length?", "operation": "most", "evidence": [["Tern"]]},
            {"question": "Who founded the chess club?", "operation": "none", "evidence": []},
        ],
    },
    {
        "file": "berths.xls",
        "sheet": "Pier",
        "title": "Berths of the north pier",
        "columns": ["Berth", "Depth"],
        "rows": [["N1", "2.5"], ["N2", "3"]],
        "questions": [{"question": "What is the depth of N2?", "operation": "list", "evidence": [["3"]]}],
    },
]


def test_answers_are_counted_by_operation_and_by_their_evidence() -> None:
    assert Counter(ask(TABLES)) == {
        ("list", "answer, right"): 2,
        ("most", "answer, right"): 1,
        ("none", "refusal"): 1,
    }


@pytest.mark.parametrize("part", ["look", "test"])
def test_no_organisation_is_in_both_parts_and_each_question_has_evidence(part: str) -> None:
    sets = read_sets(part)
    assert sets and sets.keys().isdisjoint(read_sets({"look": "test", "test": "look"}[part]))
    for table in (table for tables in sets.values() for table in tables):
        assert {len(cells) for cells in table["rows"]} == {len(table["columns"])}
        for question in table["questions"]:
            assert bool(question["evidence"]) == (question["operation"] != "none")
