"""Adds what readers wrote of passages to the examples, and says what there is.

    python -m training.reader.gather PASSAGES LINES --data PATH --sources FOLDER

FOLDER holds the public repositories (`sources.py`); what there is already is kept. PASSAGES and LINES are
folders: JSON lists of passages with their id, set, source, section, title and text, and files of JSON
lines, each of one passage in the form of `examples.py`; a line may bring its passage along, as those of
invented documents do. PATH holds the public evaluation data: questions that stand there too are left out,
and so are lines of a wrong form; each is named. The document sets that `split.json` does not know yet are
added to it by a draw.
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
)
from training.reader.sources import MissingSourceError, is_public, write_down

SHARES = {"train": 0.70, "development": 0.15, "test": 0.15}
_PASSAGE = ("id", "set", "source", "section", "title", "text")
_READ = {"qa": list, "no": list, "true": list, "false": list, "follow": type(None), "sides": list}


def gather(passages: Path, lines: Path) -> Iterator[Row]:
    """Yield what was read, each with its passage."""
    known = {
        row["id"]: row
        for file in sorted(passages.glob("*.json"))
        for row in json.loads(file.read_text("utf-8"))
    }
    for file in sorted(lines.glob("*.jsonl")):
        for line in file.read_text("utf-8").splitlines():
            row = json.loads(line) if line.strip() else {"skip": ""}
            if "skip" not in row:
                passage = known.get(row["id"], row)
                yield {name: passage.get(name) or "" for name in _PASSAGE} | {
                    name: row.get(name) or kind() for name, kind in _READ.items()
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
    """Draw the part of each document set that has none yet, so that each part keeps its share of passages."""
    parts: dict[str, list[str]] = read_split() if SPLIT.exists() else {part: [] for part in SHARES}
    part_of = {name: part for part, names in parts.items() for name in names}
    sizes = Counter(row["set"] for row in rows)
    held = Counter({part: sum(sizes[name] for name in names) for part, names in parts.items()})
    new = sorted(set(sizes) - set(part_of))
    random.Random(29).shuffle(new)
    for name in new:
        part = min(SHARES, key=lambda part: held[part] / SHARES[part])
        parts[part].append(name)
        held[part] += sizes[name]
    SPLIT.write_text(
        json.dumps({part: sorted(names) for part, names in parts.items()}, indent=1) + "\n", "utf-8"
    )


def main() -> None:
    """Write the examples."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("passages", type=Path)
    parser.add_argument("lines", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sources", type=Path, required=True)
    options = parser.parse_args()
    public = known_questions(options.data)
    rows = {row["id"]: row for row in read_lines()} if EXAMPLES.exists() else {}
    for row in gather(options.passages, options.lines):
        faults = [*find_faults(row), *(["it comes twice"] if row["id"] in rows else [])]
        if shared := set(shared_with(questions_of(row), public)):
            row["qa"] = [asked for asked in row["qa"] if asked["q"] not in shared]
            row["no"] = [asked for asked in row["no"] if asked["q"] not in shared]
            if row["follow"] and {row["follow"]["q"], row["follow"]["before"]} & shared:
                row["follow"] = None
            sys.stderr.write(f"{row['id']}: left out, for the evaluation data hold them: {sorted(shared)}\n")
        if faults:
            sys.stderr.write(f"{row['id']}: left out: {'; '.join(faults)}\n")
            continue
        try:
            rows[row["id"]] = write_down(row, options.sources) if is_public(row) else row
        except MissingSourceError as error:
            sys.stderr.write(f"{row['id']}: left out: {error}\n")
    with lzma.open(EXAMPLES, "wt", encoding="utf-8", preset=9) as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows.values())
    add_to_split(list(rows.values()))
    for part, names in read_split().items():
        of = [row for row in rows.values() if row["set"] in names]
        counts = {name: sum(len(row[name]) for row in of) for name in ("qa", "no", "true", "false", "sides")}
        follow = sum(row["follow"] is not None for row in of)
        sys.stdout.write(f"{part}: {len(names)} sets, {len(of)} passages, {counts}, follow-ups {follow}\n")


if __name__ == "__main__":
    main()
