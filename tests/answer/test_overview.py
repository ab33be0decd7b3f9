"""A document as a whole: when it is asked for, and what is said of it."""

from pathlib import Path
from typing import Any

import pytest

from adaptive_rag.answer.overview import DOCUMENTS, SECTIONS, STRETCHES, outline_document, outline_documents
from adaptive_rag.context import Context
from adaptive_rag.graph.builder import build_graph
from adaptive_rag.index import Index
from adaptive_rag.index.memory import MemoryIndex
from adaptive_rag.query.whole_document import document_asked_for
from adaptive_rag.text.markers import find_markers
from tests.answer.made import build_index

STAFF = """# Staff handbook

## Leave
You get 25 days of leave a year. Ask your manager two weeks before.

## 2. Sick pay
Sick pay is paid for six weeks. Tell the office before nine.
"""


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    plain = " ".join(f"Boats of kind {n} leave at {n} o'clock." for n in range(1, 200))
    return build_index(tmp_path_factory.mktemp("kb"), {"staff.md": STAFF, "ferry_times.txt": plain})


def ask(index: Index, question: str, **settings: Any) -> dict[str, Any]:
    graph = build_graph().compile()
    return graph.invoke({"question": question}, context=Context(index=index, **settings))


def name_of(index: Index, document: str) -> str:
    return next(name for name in index.sources() if name.endswith(document))


@pytest.mark.parametrize(
    ("question", "document"),
    [
        ("Summarise the ferry times", "ferry_times.txt"),
        ("can you give me a short overview of the ferry document?", "ferry_times.txt"),
        ("what's in staff.md?", "staff.md"),
        ("what is the staff handbook about?", "staff.md"),
        ("Was steht in ferry_times.txt?", "ferry_times.txt"),
    ],
)
def test_a_document_is_asked_for_by_its_name_or_title(index: Index, question: str, document: str) -> None:
    titles = {name_of(index, "staff.md"): "Staff handbook"}
    assert document_asked_for(question, index, titles) == name_of(index, document)


@pytest.mark.parametrize(
    "question",
    [
        "summarise the document",  # there are two
        "what does the staff handbook say about leave?",
        "what is sick pay about?",
        "summarise",
    ],
)
def test_other_questions_ask_for_no_document(index: Index, question: str) -> None:
    assert document_asked_for(question, index) is None


def test_the_only_document_may_be_pointed_at(tmp_path: Path) -> None:
    index = build_index(tmp_path, {"staff.md": STAFF})
    answer = ask(index, "What is this document about?")
    assert "**Leave**: You get 25 days of leave a year. [1]" in answer["answer"]
    assert "**2. Sick pay**: Sick pay is paid for six weeks. [1]" in answer["answer"]
    assert [c["quote"] for c in answer["citations"]] == [
        "You get 25 days of leave a year.",
        "Sick pay is paid for six weeks.",
    ]
    decisions = [d for record in answer["trace"] for d in record.get("decisions", ())]
    assert any(d["what"] == "overview" for d in decisions)


@pytest.mark.parametrize(
    "question",
    [
        "What do the documents say about “Sick pay”?",
        "What does section 2 say?",
        "what is in section 2 of the staff handbook?",
    ],
)
def test_what_stands_below_a_heading_is_told(index: Index, question: str) -> None:
    answer = ask(index, question)
    assert "Sick pay is paid for six weeks. [" in answer["answer"]
    assert "Tell the office before nine. [" in answer["answer"]
    assert "25 days" not in answer["answer"] and len(answer["citations"]) == 2


def test_a_section_with_a_number_that_several_documents_have_is_not_told(tmp_path: Path) -> None:
    index = build_index(
        tmp_path, {"staff.md": STAFF, "guests.md": "# Guests\n\n## 2. Keys\n\nKeys hang here."}
    )
    answer = ask(index, "What does section 2 say?")
    assert answer["outcome"] != "answer"


def test_a_text_without_headings_is_told_from_its_beginning_to_its_end(index: Index) -> None:
    overview = outline_document(name_of(index, "ferry_times.txt"), index)
    assert overview is not None
    assert overview.text.startswith("ferry_times.txt, from beginning to end:")
    assert overview.text.count("\n- ") == len(overview.citations) <= STRETCHES
    assert len(overview.citations) > 2


def test_of_a_long_document_the_upper_sections_are_told(tmp_path: Path) -> None:
    part = (
        "# Part {n}\n\nThe marsh was drained in year {n}.\n\n## Detail\n\nThe pumps of year {n} ran on oil.\n"
    )
    parts = [part.format(n=n) for n in range(1, 31)]
    index = build_index(tmp_path, {"book.md": "\n\n".join(parts)})
    overview = outline_document(name_of(index, "book.md"), index)
    assert overview is not None
    assert overview.text.count("\n- **") == SECTIONS
    assert overview.text.startswith("12 of the 30 sections of book.md:")
    assert "pumps" not in overview.text


def test_a_document_of_nothing_to_read_has_no_overview(tmp_path: Path) -> None:
    index = build_index(tmp_path, {"numbers.txt": "1 2 3\n\n4 5 6\n"})
    assert outline_document(name_of(index, "numbers.txt"), index) is None


@pytest.mark.parametrize("tokens", [300, 6000])
def test_markers_count_what_is_given_however_little_a_model_may_read(tmp_path: Path, tokens: int) -> None:
    part = "# Part {n}\n\n" + "The marsh was drained in year {n}. " * 30
    index = build_index(tmp_path, {"book.md": "\n\n".join(part.format(n=n) for n in range(1, 9))})
    answer = ask(index, "Summarise this document", answers={"context_tokens": tokens})
    assert len(answer["citations"]) == 8
    for citation in answer["citations"]:
        assert citation["quote"] in answer["documents"][citation["marker"] - 1]["text"]


def test_of_a_table_its_size_and_columns_are_told(tmp_path: Path) -> None:
    rows = "".join(f"Boat {name},{number},{number + 4} m\n" for number, name in enumerate("ABCDEFGH", 1))
    index = build_index(tmp_path, {"boats.csv": f"Name,Crew,Length\n{rows}"})
    told = outline_document(name_of(index, "boats.csv"), index)
    assert told is not None
    assert told.text == (
        "The table of boats.csv:\n"
        "- 8 rows with name, crew and length. The first: Boat A: crew 1, length 5 m [1]"
    )
    assert told.citations[0]["marker"] == 1 and "Boat A" in told.citations[0]["quote"]


@pytest.mark.parametrize(
    "question", ["Summarise all documents", "please sum up these documents.", "Fasse alle Dokumente zusammen"]
)
def test_all_documents_are_told_by_how_each_begins(index: Index, question: str) -> None:
    answer = ask(index, question)
    assert answer["answer"] == (
        "**ferry_times.txt**\n"
        "- Boats of kind 1 leave at 1 o'clock. [1]\n"
        f"- {answer['citations'][1]['quote']} [1]\n\n"
        "**staff.md**\n"
        "- **Leave**: You get 25 days of leave a year. [2]\n"
        "- **2. Sick pay**: Sick pay is paid for six weeks. [2]"
    )
    names = [citation["source"].rpartition("/")[2] for citation in answer["citations"]]
    assert names == ["ferry_times.txt"] * 2 + ["staff.md"] * 2


def test_of_many_documents_some_are_told_and_their_number_is_said(tmp_path: Path) -> None:
    many = {f"n{number:02}.md": f"# Letter {number}\n\nThe boats leave at noon.\n" for number in range(30)}
    overview = outline_documents(build_index(tmp_path, many))
    assert overview is not None
    assert overview.text.startswith(f"How {DOCUMENTS} of the 30 documents begin:\n\n**n00.md**\n- ")
    assert overview.text.count("**n") == DOCUMENTS and "**n29.md**" not in overview.text
    assert outline_documents(MemoryIndex([])) is None


def test_of_copies_one_is_told(tmp_path: Path) -> None:
    letter = "# Letter\n\nThe boats leave at noon.\n"
    overview = outline_documents(
        build_index(tmp_path, {"a.md": letter, "copy.md": letter, "b.md": letter + "All of them.\n"})
    )
    assert overview is not None
    assert overview.text.startswith("How 2 of the 3 documents begin:\n\n**a.md**\n- ")
    assert "**b.md**" in overview.text and "copy.md" not in overview.text


def test_an_overview_shows_no_image_tag_or_false_marker(tmp_path: Path) -> None:
    harmful = "![a valve](https://t.example/p.png?u=1) and <img src=https://t.example/a> wait for the siren."
    text = f"# Start [2]\n\nOpen {harmful}\n\n# End\n\nClose the valve at night.\n"
    index = build_index(tmp_path, {"a.md": text})
    overview = outline_document(name_of(index, "a.md"), index)
    assert overview is not None
    assert "![" not in overview.text and "<img" not in overview.text
    assert find_markers(overview.text) == [citation["marker"] for citation in overview.citations]
