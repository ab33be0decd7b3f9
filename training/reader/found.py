"""Questions about document sets: the passages that were retrieved, and the sentences that answer.

    python -m training.reader.found ASKED MARKS --data PATH --sources FOLDER

A question of `examples.py` was written for one passage, in which one sentence answers it. These questions
were written from an outline of the documents by a strong language model, which also marked the passages that
were retrieved. So an answer has several points in several passages, and some questions are not answered
although the passages are about their subject.

A line of `found.jsonl.xz` is a passage (id, set, source, section, title, text) or a question:

id, set, type, q, sit    the question, and the asker's situation; "" if there is none
told                     whether the passages answer: "yes", "partly", "no"
read                     the ids of the passages in the order in which the program read them, the best first
best                     the first sentence of the answer: [passage, start, end]; null if nothing answers
points                   the sentences of a short answer, in order
beside                   sentences that a point needs to be understood, but that do not answer alone

The command adds lines to the file. ASKED is a folder of questions with their passages, which `ask.py` writes,
and MARKS a folder of marks, in which "2.3" is the third sentence of the second passage. Document sets that no
part has are added to one (`--part`).
"""

from __future__ import annotations

import argparse
import json
import lzma
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from adaptive_rag.text.sentences import sentence_spans
from training.reader.examples import TYPES, read_split, shared_with, write_split
from training.reader.gather import known_questions
from training.reader.sources import MissingSourceError, Row, is_public, replace_words, restore_words

FOUND = Path(__file__).parent / "found.jsonl.xz"
TOLD = frozenset(("yes", "partly", "no"))
_PASSAGE = ("id", "set", "source", "section", "title", "text")
# The fields in which an example quotes its passage; here they are empty.
_NO_QUOTES: Row = {"qa": [], "sides": [], "follow": None}


def read_found(part: str, sources: Path | None = None) -> Iterator[Row]:
    """Yield the questions of a part, with the passages in `read`.

    Without the folder of the public sources, only questions about invented documents are returned.

    Raises:
        MissingSourceError: the folder lacks a document.
    """
    passages = dict[str, Row]()
    for row in _rows(part):
        if is_public(row) and sources is None:
            continue
        if "text" in row:
            passages[row["id"]] = restore_words(row | _NO_QUOTES, sources) if is_public(row) else row
        else:
            yield row | {"read": [passages[id_] for id_ in row["read"]]}


def read_asked(part: str) -> Iterator[Row]:
    """Yield the questions of a part without their passages."""
    return (row for row in _rows(part) if "text" not in row)


def _rows(part: str | None = None) -> Iterator[Row]:
    sets = None if part is None else set(read_split()[part])
    with lzma.open(FOUND, "rt", encoding="utf-8") as lines:
        yield from (row for row in map(json.loads, lines) if sets is None or row["set"] in sets)


def points_of(row: Row) -> list[list[int]]:
    """Return, for each passage of a question, the indexes of the sentences that are points of the answer."""
    points = {tuple(point) for point in row["points"]}
    return [
        [i for i, span in enumerate(sentence_spans(passage["text"])) if (number, *span) in points]
        for number, passage in enumerate(row["read"])
    ]


def gather_found(asked: Path, marks: Path) -> Iterator[Row]:
    """Yield each marked question with its passages.

    Raises:
        ValueError: a question or its mark has a wrong form.
    """
    mark_of = {mark["id"]: mark for mark in _read_lines(marks)}
    for row in _read_lines(asked):
        if not (mark := mark_of.get(row["id"])):
            continue
        if row["type"] not in TYPES or mark["told"] not in TOLD:
            raise ValueError(f"{row['id']} has an unknown type, or a mark of a wrong form: {mark}")
        texts = [passage["text"] for passage in row["read"]]
        marked = _places(mark["points"], texts)
        # A heading alone is not a point.
        points = [place for place in marked if texts[place[0]][place[1]] != "#"]
        [best] = _places([mark["best"]], texts) if mark.get("best") else [None]
        yield {
            **{name: row.get(name) or "" for name in ("id", "set", "type", "q", "sit")},
            "told": mark["told"] if points else "no",
            "read": row["read"],
            "best": best if best in points else points[0] if points else None,
            "points": points,
            "beside": [place for place in _places(mark.get("beside") or [], texts) if place not in points],
        }


def _places(names: Sequence[str], texts: Sequence[str]) -> list[list[int]]:
    """Return [passage, start, end] of sentences by their names, "2.3" for the third of the second passage."""
    places = list[list[int]]()
    for name in dict.fromkeys(names):
        passage, sentence = (int(number) - 1 for number in name.split("."))
        places.append([passage, *sentence_spans(texts[passage])[sentence]])
    return places


def _read_lines(folder: Path) -> Iterator[Row]:
    for file in sorted(folder.glob("*.jsonl")):
        yield from (json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip())


def lines_of(questions: Iterable[Row], sources: Path, first: int = 0) -> Iterator[Row]:
    """Yield lines of the file: each passage once, before the first question that it was retrieved for.

    The ids of the passages count from `first`.
    """
    id_of = dict[tuple[str, str, str], str]()
    for question in questions:
        ids, is_complete = list[str](), True
        for passage in question["read"]:
            key = (question["set"], passage["source"], passage["text"])
            if key not in id_of:
                row = {"id": f"f{first + len(id_of):05d}", "set": question["set"]}
                row |= {name: passage[name] for name in _PASSAGE[2:]}
                try:
                    line = replace_words(row | _NO_QUOTES, sources) if is_public(row) else row
                except MissingSourceError as error:
                    sys.stderr.write(f"{question['id']}: left out: {error}\n")
                    is_complete = False
                    continue
                id_of[key] = row["id"]
                yield {name: line[name] for name in _PASSAGE}
            ids.append(id_of[key])
        if is_complete:
            yield question | {"read": ids}


def main() -> None:
    """Add to the file, and print how many questions each part has now."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("asked", type=Path)
    parser.add_argument("marks", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sources", type=Path, required=True)
    parser.add_argument("--part", choices=read_split(), default="train", help="of new document sets")
    options = parser.parse_args()
    questions = list(gather_found(options.asked, options.marks))
    shared = set(shared_with([row["q"] for row in questions], known_questions(options.data)))
    for question in shared:
        sys.stderr.write(f"left out, since it is in the evaluation data: {question}\n")
    remaining = [row for row in questions if row["q"] not in shared]
    split = read_split()
    known = {name for names in split.values() for name in names}
    split[options.part] += sorted({row["set"] for row in remaining} - known)
    write_split(split)
    rows = list(_rows())
    rows += lines_of(remaining, options.sources, first=sum("text" in row for row in rows))
    with lzma.open(FOUND, "wt", encoding="utf-8", preset=9) as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    for part in split:
        asked = list(read_asked(part))
        told, types = Counter(row["told"] for row in asked), Counter(row["type"] for row in asked)
        points = sum(len(row["points"]) for row in asked)
        sys.stdout.write(f"{part}: {len(asked)} questions {dict(types)}, {dict(told)}, {points} points\n")


if __name__ == "__main__":
    main()
