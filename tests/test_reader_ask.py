"""Questions that are asked of a document set, and the forms in which their passages are marked."""

import json
from pathlib import Path

import pytest

from training.reader import public
from training.reader.ask import PASSAGES_SHOWN, ask, format_question


@pytest.mark.nightly
def test_a_question_comes_with_the_passages_that_are_read_first(tmp_path: Path) -> None:
    asked = {"set": "inv-shop-faq", "type": "contextual", "q": "can I send it back", "sit": "I wore them."}
    (tmp_path / "me.jsonl").write_text(json.dumps(asked) + "\n")
    [row] = ask(tmp_path / "me.jsonl", tmp_path, tmp_path / "cache")
    assert row["id"] == "me-0000" and 1 < len(row["read"]) <= PASSAGES_SHOWN
    assert "Can I send something back?" in row["read"][0]["text"]
    assert not any("/" in passage["source"] for passage in row["read"])  # no folder of this machine


def test_an_article_is_put_together_of_the_sections_that_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def row(section: str, *candidates: str) -> dict[str, object]:
        return {"article": "AC/DC", "section": section, "candidates": candidates}

    rows = [row("Abstract", "A band.", "It is loud."), row("Tours", "Many."), row("Abstract", "A band.")]
    files = {"ass/selqa-ass-dev.json": rows, "ass/selqa-ass-test.json": rows[1:2]}
    monkeypatch.setattr(public, "read_file", lambda folder, name, path: json.dumps(files[path]))
    whole, part = public.read_articles(Path())
    assert whole[0] == "ass/selqa-ass-dev.json/AC_DC.md"
    assert whole[1].split(b"\n\n") == [
        *(b"# AC/DC", b"## Abstract", b"A band. It is loud."),
        *(b"## Tours", b"Many.\n"),
    ]
    assert part == ("ass/selqa-ass-test.json/AC_DC.md", b"# AC/DC\n\n## Tours\n\nMany.\n")


def test_the_sentences_of_a_form_are_numbered_by_passage() -> None:
    passages = [
        {"title": "Quay", "section": "Boats > Ferry", "text": "It leaves at noon. It takes forty."},
        {"title": "Hut", "section": "", "text": "The hut\nsells tea."},
    ]
    row = {"id": "me-0001", "type": "factual", "q": "when", "sit": "I live inland.", "read": passages}
    assert format_question(row).splitlines() == [
        "######## me-0001 (factual)",
        "QUESTION: when",
        "ASKER: I live inland.",
        "-- 1 [Quay > Ferry]",
        "1.1 It leaves at noon.",
        "1.2 It takes forty.",
        "-- 2 [Hut > ]",
        "2.1 The hut sells tea.",
    ]
