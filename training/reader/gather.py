"""Adds examples that strong readers wrote, and prints how many there are.

    python -m training.reader.gather PASSAGES LINES --data PATH --sources FOLDER

PASSAGES is a folder of JSON lists of passages with id, set, source, section, title and text. LINES is a
folder of JSONL files; each line is about one passage, in the form of `examples.py`, and may contain the
passage, as those of invented documents do. PATH is the folder of the public evaluation data: questions that
are there too are left out, and so are lines of a wrong form; each is printed. FOLDER has the public
repositories (`sources.py`). Existing examples stay. New document sets are added to `split.json` by a draw.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from training.reader.examples import (
    EXAMPLES,
    SPLIT,
    Row,
    find_faults,
    questions_of,
    read_lines,
    read_split,
    shared_with,
    write_split,
)
from training.reader.sources import MissingSourceError, is_public, replace_words

SHARES = {"train": 0.70, "development": 0.15, "test": 0.15}
_PASSAGE = ("id", "set", "source", "section", "title", "text")
# The fields of an example, with the type of an empty one.
_FIELDS = {"qa": list, "no": list, "true": list, "false": list, "follow": type(None), "sides": list}


def gather(passages: Path, lines: Path) -> Iterator[Row]:
    """Yield the examples in LINES, each with its passage."""
    passage_of = {
        row["id"]: row
        for file in sorted(passages.glob("*.json"))
        for row in json.loads(file.read_text("utf-8"))
    }
    for file in sorted(lines.glob("*.jsonl")):
        for line in file.read_text("utf-8").splitlines():
            row = json.loads(line) if line.strip() else {"skip": ""}
            if "skip" not in row:
                passage = passage_of.get(row["id"], row)
                yield {name: passage.get(name) or "" for name in _PASSAGE} | {
                    name: row.get(name) or kind() for name, kind in _FIELDS.items()
                }


def known_questions(data: Path) -> list[str]:
    """Return the questions of the public evaluation data."""
    rows = (
        json.loads(line)
        for file in [*data.glob("*/queries.jsonl"), *data.glob("classification/*.jsonl")]
        for line in file.read_text("utf-8").splitlines()
    )
    return [str(row.get("text") or row.get("question") or "") for row in rows]


def add_to_split(rows: list[Row]) -> None:
    """Assign a part to each new document set, so that the shares of passages come close to `SHARES`."""
    parts: dict[str, list[str]] = read_split() if SPLIT.exists() else {part: [] for part in SHARES}
    part_of = {name: part for part, names in parts.items() for name in names}
    sizes = Counter(row["set"] for row in rows)
    passages_of = Counter({part: sum(sizes[name] for name in names) for part, names in parts.items()})
    new = sorted(set(sizes) - set(part_of))
    random.Random(29).shuffle(new)
    for name in new:
        part = min(SHARES, key=lambda part: passages_of[part] / SHARES[part])
        parts[part].append(name)
        passages_of[part] += sizes[name]
    write_split(parts)


def main() -> None:
    """Add the new examples to the file, and print how many each part has."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("passages", type=Path)
    parser.add_argument("lines", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sources", type=Path, required=True)
    options = parser.parse_args()
    public = known_questions(options.data)
    rows = {row["id"]: row for row in read_lines()} if EXAMPLES.exists() else {}
    for row in gather(options.passages, options.lines):
        faults = [*find_faults(row), *(["it occurs twice"] if row["id"] in rows else [])]
        if shared := set(shared_with(questions_of(row), public)):
            row["qa"] = [question for question in row["qa"] if question["q"] not in shared]
            row["no"] = [question for question in row["no"] if question["q"] not in shared]
            if row["follow"] and {row["follow"]["q"], row["follow"]["before"]} & shared:
                row["follow"] = None
            sys.stderr.write(
                f"{row['id']}: left out, since they are in the evaluation data: {sorted(shared)}\n"
            )
        if faults:
            sys.stderr.write(f"{row['id']}: left out: {'; '.join(faults)}\n")
            continue
        try:
            rows[row["id"]] = replace_words(row, options.sources) if is_public(row) else row
        except MissingSourceError as error:
            sys.stderr.write(f"{row['id']}: left out: {error}\n")
    with lzma.open(EXAMPLES, "wt", encoding="utf-8", preset=9) as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows.values())
    add_to_split(list(rows.values()))
    for part, names in read_split().items():
        in_part = [row for row in rows.values() if row["set"] in names]
        fields = ("qa", "no", "true", "false", "sides")
        counts = {name: sum(len(row[name]) for row in in_part) for name in fields}
        follow = sum(row["follow"] is not None for row in in_part)
        sys.stdout.write(
            f"{part}: {len(names)} sets, {len(in_part)} passages, {counts}, follow-ups {follow}\n"
        )


if __name__ == "__main__":
    main()
