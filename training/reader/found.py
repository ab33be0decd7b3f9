"""Questions asked of whole document sets: what an index returned for each, and which sentences answer.

    python -m training.reader.found ASKED MARKS --data PATH --sources FOLDER

A question of `examples.py` was written for one passage, and has one sentence that answers. These were asked
by people who knew no more than an outline of the documents; a strong reader then marked what was found. So
there are several points in several passages, and questions that nothing found answers though it is near.

A line of `found.jsonl.xz` is a passage (id, set, source, section, title, text) or a question:

id, set, type, q, sit    the question, and the asker's situation; "" where there is none
told                     whether the passages answer: "yes", "partly", "no"
read                     the ids of the passages, as the program read them, the best first
best                     the sentence to put first: [passage, start, end]; null where nothing answers
points                   the sentences of a short answer, in the order in which they would be shown
beside                   sentences that a point needs to be understood; they do not answer alone

The command replaces the file. ASKED and MARKS are folders: what was asked with the passages that were found,
and the marks, in which "2.3" is the third sentence of the second passage.
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
from training.reader.examples import TYPES, read_split, shared_with
from training.reader.gather import known_questions
from training.reader.sources import MissingSourceError, Row, is_public, read_back, write_down

FOUND = Path(__file__).parent / "found.jsonl.xz"
TOLD = frozenset(("yes", "partly", "no"))
_PASSAGE = ("id", "set", "source", "section", "title", "text")
# What a passage of `sources.py` may quote; these quote nothing.
_NO_QUOTES: Row = {"qa": [], "sides": [], "follow": None}


def read_found(part: str, sources: Path | None = None) -> Iterator[Row]:
    """Yield the questions of a part; `read` holds the passages, with their words.

    Without the folder of the public sources only those of invented documents come.

    Raises:
        MissingSourceError: the folder lacks one of them.
    """
    passages = dict[str, Row]()
    for row in _rows(part):
        if is_public(row) and sources is None:
            continue
        if "text" in row:
            passages[row["id"]] = read_back(row | _NO_QUOTES, sources) if is_public(row) else row
        else:
            yield row | {"read": [passages[one] for one in row["read"]]}


def read_asked(part: str) -> Iterator[Row]:
    """Yield the questions of a part without their passages."""
    return (row for row in _rows(part) if "text" not in row)


def _rows(part: str) -> Iterator[Row]:
    sets = set(read_split()[part])
    with lzma.open(FOUND, "rt", encoding="utf-8") as lines:
        yield from (row for row in map(json.loads, lines) if row["set"] in sets)


def points_of(row: Row) -> list[list[int]]:
    """Return of each passage of a question which sentences are points of its answer."""
    points = {tuple(point) for point in row["points"]}
    return [
        [at for at, span in enumerate(sentence_spans(passage["text"])) if (which, *span) in points]
        for which, passage in enumerate(row["read"])
    ]


def gather_found(asked: Path, marks: Path) -> Iterator[Row]:
    """Yield each marked question with its passages; what is wrong with a mark is raised as ValueError."""
    marked = {mark["id"]: mark for mark in _lines(marks)}
    for row in _lines(asked):
        if not (mark := marked.get(row["id"])):
            continue
        if row["type"] not in TYPES or mark["told"] not in TOLD:
            raise ValueError(f"{row['id']} is of a wrong form: {mark}")
        texts = [passage["text"] for passage in row["read"]]
        named = _places(mark["points"], texts)
        points = [one for one in named if texts[one[0]][one[1]] != "#"]  # a bare heading is no point
        [best] = _places([mark["best"]], texts) if mark.get("best") else [None]
        yield {
            **{name: row.get(name) or "" for name in ("id", "set", "type", "q", "sit")},
            "told": mark["told"] if points else "no",
            "read": row["read"],
            "best": best if best in points else points[0] if points else None,
            "points": points,
            "beside": [one for one in _places(mark.get("beside") or [], texts) if one not in points],
        }


def _places(names: Sequence[str], texts: Sequence[str]) -> list[list[int]]:
    """Return [passage, start, end] of sentences by their names, "2.3" for the third of the second passage."""
    places = list[list[int]]()
    for name in dict.fromkeys(names):
        passage, sentence = (int(number) - 1 for number in name.split("."))
        places.append([passage, *sentence_spans(texts[passage])[sentence]])
    return places


def _lines(folder: Path) -> Iterator[Row]:
    for file in sorted(folder.glob("*.jsonl")):
        yield from (json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip())


def written_down(questions: Iterable[Row], sources: Path) -> Iterator[Row]:
    """Yield the lines of the file: each passage once, before the first question for which it was found."""
    known = dict[tuple[str, str, str], str]()
    for question in questions:
        read, whole = list[str](), True
        for passage in question["read"]:
            key = (question["set"], passage["source"], passage["text"])
            if key not in known:
                kept = {"id": f"f{len(known):05d}", "set": question["set"]}
                kept |= {name: passage[name] for name in _PASSAGE[2:]}
                try:
                    written = write_down(kept | _NO_QUOTES, sources) if is_public(kept) else kept
                except MissingSourceError as error:
                    sys.stderr.write(f"{question['id']}: left out: {error}\n")
                    whole = False
                    continue
                known[key] = kept["id"]
                yield {name: written[name] for name in _PASSAGE}
            read.append(known[key])
        if whole:
            yield question | {"read": read}


def main() -> None:
    """Write the file and say what it holds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("asked", type=Path)
    parser.add_argument("marks", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sources", type=Path, required=True)
    options = parser.parse_args()
    questions = list(gather_found(options.asked, options.marks))
    shared = set(shared_with([row["q"] for row in questions], known_questions(options.data)))
    for question in shared:
        sys.stderr.write(f"left out, for the evaluation data hold it: {question}\n")
    kept = [row for row in questions if row["q"] not in shared]
    with lzma.open(FOUND, "wt", encoding="utf-8", preset=9) as file:
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in written_down(kept, options.sources))
        file.writelines(lines)
    for part, names in read_split().items():
        of = [row for row in kept if row["set"] in names]
        told, types = Counter(row["told"] for row in of), Counter(row["type"] for row in of)
        points = sum(len(row["points"]) for row in of)
        sys.stdout.write(f"{part}: {len(of)} questions {dict(types)}, {dict(told)}, {points} points\n")


if __name__ == "__main__":
    main()
