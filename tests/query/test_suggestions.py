"""Questions to begin with."""

from pathlib import Path

from adaptive_rag.index import Index
from adaptive_rag.query.suggestions import SUGGESTED, suggest_questions

STAFF = """# Staff handbook

Everything that you need in your first weeks with us stands in here.

## Introduction

We are glad that you are here, and hope that you will stay for long.

## Sick pay

Sick pay is paid for six weeks. Tell the office before nine in the morning.

## How do I pay for lunch?

By card at the till on the ground floor.
"""
SAFETY = """# Safety

## 3.2 Fire doors

Fire doors stay closed at all times, also when it is hot in the workshop.
"""
GERMAN = """# Haus

Was in diesem Haus gilt.

## Krankengeld

Das Krankengeld wird sechs Wochen lang gezahlt, wenn ihr es dem Büro gesagt habt.
"""


def suggested(folder: Path, **documents: str) -> list[str]:
    (folder / "documents").mkdir()
    for name, text in documents.items():
        (folder / "documents" / name.replace("__", ".")).write_text(text, "utf-8")
    Index.build(folder / "documents", folder / "index")
    return suggest_questions(Index.open_rows(folder / "index"))


def test_they_come_from_all_documents_and_end_with_a_summary(tmp_path: Path) -> None:
    assert suggested(tmp_path, staff__md=STAFF, safety__md=SAFETY) == [
        "What do the documents say about “Fire doors”?",
        "How do I pay for lunch?",
        "What do the documents say about “Sick pay”?",
        "Summarise staff.md",
    ]


def test_documents_without_headings_are_summed_up(tmp_path: Path) -> None:
    plain = {f"letter{n}__txt": f"Dear friend {n}, the boat leaves at noon." for n in range(6)}
    questions = suggested(tmp_path, **plain)
    assert len(questions) == SUGGESTED
    assert all(question.startswith("Summarise letter") for question in questions)


def test_a_name_that_several_documents_have_is_not_summed_up(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "README.md").write_text(f"The boat {folder} leaves at noon.")
    (tmp_path / "c.md").write_text("Cats are kept in the yard.")
    Index.build([tmp_path / name for name in ("a", "b", "c.md")], tmp_path / "index")
    assert suggest_questions(Index.open_rows(tmp_path / "index")) == ["Summarise c.md"]


def test_the_questions_are_in_the_language_of_most_documents(tmp_path: Path) -> None:
    questions = suggested(tmp_path, staff__md=STAFF, safety__md=SAFETY, haus__md=GERMAN)
    assert questions[0] == "What do the documents say about “Fire doors”?"
    assert not [question for question in questions if "Krankengeld" in question or "haus" in question]


def test_without_a_model_only_english_documents_are_asked_about(tmp_path: Path) -> None:
    heim = GERMAN.replace("Krankengeld", "Urlaubsgeld")
    in_german = suggested(tmp_path, haus__md=GERMAN, heim__md=heim, safety__md=SAFETY)
    assert all(question.startswith("Was steht") for question in in_german)
    index = Index.open_rows(tmp_path / "index")
    assert suggest_questions(index, has_model=False) == [
        "What do the documents say about “Fire doors”?",
        "Summarise safety.md",
    ]
