import json
import lzma
import os
import random
import subprocess
from pathlib import Path

import pytest

from training.reader import found, sources
from training.reader.drafts import DRAFTS, claims_of, read_drafts
from training.reader.examples import find_faults, read_examples, read_lines, read_split, shared_with
from training.reader.found import gather_found, lines_of, points_of, read_asked, read_found
from training.reader.public import SELQA
from training.reader.sources import MissingSourceError, Row, is_public, replace_words, restore_words
from training.reader.stances import SIDE_OF_LETTER, passages_of, read_stances

FILE = "# Ferry\n\nThe [ferry](boat.md) leaves at 7:45. It takes *forty* people.\n"
ROW = {
    "id": "x1",
    "set": "quay+ferry",
    "source": "quay+ferry/docs/ferry.md",
    "section": "Ferry",
    "title": "",
    "text": "The ferry leaves at 7:45. It takes forty people.",
    "qa": [{"q": "when is the boat", "a": "7:45", "s": "The ferry leaves at 7:45.", "type": "factual"}],
    "no": [{"q": "when is the last boat", "kind": "missing-time"}],
    "true": ["The boat leaves at a quarter to eight."],
    "false": [{"t": "The boat leaves at eight.", "kind": "number"}],
    "follow": {"before": "is there a boat", "q": "how many fit", "a": "forty", "s": "It takes forty people."},
    "sides": [],
}


@pytest.mark.nightly
def test_the_examples_have_their_form_and_each_set_is_of_one_part() -> None:
    rows = list(read_examples())
    assert [(row["id"], fault) for row in rows for fault in find_faults(row)] == []
    lines = list(read_lines())
    assert len(lines) > len(rows)
    assert len({line["id"] for line in lines}) == len(lines)
    named = [name for names in read_split().values() for name in names]
    with lzma.open(found.FOUND, "rt") as rows_of_found:
        sets = {json.loads(line)["set"] for line in rows_of_found} | {line["set"] for line in lines}
    assert sorted(named) == sorted(sets | {SELQA})
    assert sum(len(list(read_examples(part))) for part in read_split()) == len(rows)


def test_public_documents_are_kept_as_places_and_not_as_words() -> None:
    with lzma.open(found.FOUND, "rt") as lines:
        passages = [row for row in map(json.loads, lines) if "text" in row]
    public = list(filter(is_public, read_lines()))
    for line in [*public, *filter(is_public, passages)]:
        kept = max((len(piece.strip()) for piece in line["text"] if isinstance(piece, str)), default=0)
        assert kept < 40, line["id"]
    for line in public:
        quotes = [*line["qa"], *line["sides"], *([line["follow"]] if line["follow"] else [])]
        assert all(isinstance(quote["s"], list) for quote in quotes), line["id"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    repository = tmp_path / "quay+ferry"
    (repository / "docs").mkdir(parents=True)
    (repository / "docs" / "ferry.md").write_text(FILE)

    def git(*command: str) -> str:
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        return subprocess.run(
            ["git", *who, *command], cwd=repository, check=True, capture_output=True, text=True
        ).stdout

    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "Add the ferry")
    known = {"quay+ferry": {"commit": git("rev-parse", "HEAD").strip(), "licence": "CC0"}}
    monkeypatch.setattr(sources, "read_sources", lambda: known)
    return tmp_path


def test_a_passage_comes_back_from_its_file_as_it_was(folder: Path) -> None:
    kept = replace_words(ROW, folder)
    assert "ferry" not in str([kept["text"], kept["title"], kept["section"], kept["qa"][0]["s"]])
    assert kept["source"] == "docs/ferry.md"
    assert restore_words(kept, folder) == ROW | {"source": "docs/ferry.md"}


def test_a_passage_of_another_file_and_a_missing_source_are_named(folder: Path) -> None:
    with pytest.raises(MissingSourceError, match="does not contain the passage x1"):
        replace_words(ROW | {"text": "Nobody knows why gulls shriek; quiet mornings have vexed us."}, folder)
    with pytest.raises(MissingSourceError, match=r"has no docs/quay\.md"):
        replace_words(ROW | {"source": "docs/quay.md"}, folder)
    with pytest.raises(MissingSourceError, match=r"training\.reader\.sources"):
        replace_words(ROW, folder / "nowhere")


def test_a_question_that_was_taken_from_elsewhere_is_found() -> None:
    known = ["How many people lived in the old town of Vessel in 1953?"]
    taken = "how many people lived in the old town before the storm"
    assert shared_with([taken, "who lived in the old town", "opening hours"], known) == [taken]


def _written(folder: Path, name: str, *rows: Row) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return folder


def test_marks_become_places_and_come_back_with_their_passages(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passage = {"source": "docs/ferry.md", "section": "Ferry", "title": "", "text": ROW["text"]}
    asked = {"id": "a-1", "set": ROW["set"], "type": "factual", "q": "when is the boat", "read": [passage]}
    again = asked | {"id": "a-2", "q": "who swims"}
    forms = _written(tmp_path / "forms", "a.jsonl", asked, again, asked | {"id": "a-3"})
    marks = _written(
        tmp_path / "marks",
        "a.jsonl",
        {"id": "a-1", "told": "yes", "best": "1.1", "points": ["1.1"], "beside": ["1.2"]},
        {"id": "a-2", "told": "no", "points": []},
    )
    kept = list(lines_of(gather_found(forms, marks), folder))
    assert [row["id"] for row in kept] == ["f00000", "a-1", "a-2"]  # the passage once
    assert not any(isinstance(piece, str) and len(piece) > 4 for piece in kept[0]["text"])
    monkeypatch.setattr(found, "FOUND", tmp_path / "found.jsonl.xz")
    monkeypatch.setattr(found, "read_split", lambda: {"train": [ROW["set"]]})
    with lzma.open(found.FOUND, "wt") as file:
        file.writelines(f"{json.dumps(row)}\n" for row in kept)
    first, second = read_found("train", folder)
    assert first["read"][0]["text"] == ROW["text"]
    assert (first["best"], first["points"], first["beside"]) == ([0, 0, 25], [[0, 0, 25]], [[0, 26, 48]])
    assert points_of(first) == [[0]] and points_of(second) == [[]]
    assert list(read_found("train")) == []  # its words are in the repositories


def test_a_mark_of_a_wrong_form_is_named(tmp_path: Path) -> None:
    asked = {"id": "a-1", "set": "x", "type": "factual", "q": "when", "read": [{"text": "At noon."}]}
    forms = _written(tmp_path / "forms", "a.jsonl", asked)
    marks = _written(tmp_path / "marks", "a.jsonl", {"id": "a-1", "told": "perhaps", "points": []})
    with pytest.raises(ValueError, match=r"a-1 has an unknown type, or a mark of a wrong form"):
        list(gather_found(forms, marks))


@pytest.mark.nightly
def test_the_questions_of_whole_sets_have_sentences_that_are_there() -> None:
    for part in read_split():
        for row in read_found(part):
            texts = [passage["text"] for passage in row["read"]]
            assert all(texts[at][start:end].strip() for at, start, end in row["points"]), row["id"]
            assert (row["best"] in row["points"]) == (row["told"] != "no"), row["id"]


@pytest.mark.parametrize("part", ["train", "development", "test"])
def test_each_sentence_has_a_side_for_each_proposal_of_its_subject(part: str) -> None:
    subjects = list(read_stances(part))
    letters = [letter for subject in subjects for _, sides in subject["sentences"] for letter in sides]
    assert all(letters.count(letter) > len(letters) / 5 for letter in SIDE_OF_LETTER)
    for subject in subjects:
        assert len(set(subject["proposals"])) == 4
        assert {len(sides) for _, sides in subject["sentences"]} == {4}


def test_a_passage_of_stances_has_the_form_of_an_example() -> None:
    subject = next(read_stances("test"))
    passages = list(passages_of(subject, random.Random(1)))
    assert len(passages) > 1
    for row in passages:
        faults = find_faults(row | {"qa": [], "no": [], "true": [], "false": [], "follow": None})
        assert list(faults) == []
    assert sum(len(row["sides"]) for row in passages) == 4 * len(subject["sentences"])


def test_no_stance_is_taken_from_the_evaluation_data() -> None:
    folder = Path(os.environ.get("ADAPTIVE_RAG_DATA", "")) / "opinion_perspectrum"
    if not folder.is_dir():
        pytest.skip("set ADAPTIVE_RAG_DATA to the folder of the public evaluation data")
    known = [
        json.loads(line)["text"]
        for name in ("queries.jsonl", "corpus.jsonl")
        for line in (folder / name).read_text("utf-8").splitlines()
    ]
    texts = [
        text
        for part in ("train", "development", "test")
        for subject in read_stances(part)
        for text in (*subject["proposals"], *(sentence for sentence, _ in subject["sentences"]))
    ]
    assert shared_with(texts, known) == []


def test_each_draft_has_false_copies_of_sentences_that_its_passages_support() -> None:
    with lzma.open(DRAFTS, "rt", encoding="utf-8") as lines:
        drafts = [json.loads(line) for line in lines]
    questions = {row["id"]: row for part in read_split() for row in read_asked(part)}
    for draft in drafts:
        assert set(draft["read"]) <= set(questions[draft["id"]]["read"])
        claims = list(claims_of(draft))
        assert {verdict for _, verdict, _, _ in claims} >= {"supported"}
        assert all(about and max(about) < len(draft["read"]) for *_, about in claims)


def test_drafts_come_with_the_passages_of_their_prompt() -> None:
    drafts = list(read_drafts("test"))
    assert drafts
    assert all(len(prompt) == len(draft["read"]) for draft, prompt in drafts)
    assert all(passage.text for _, prompt in drafts for passage in prompt)
