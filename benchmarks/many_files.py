"""How fast a folder of many small files is indexed, beside the embedding model alone, and kept up to date.

    python benchmarks/many_files.py [--files 10000]

Writes the files itself, one paragraph of three sentences each. Prints, for the first run, the share of the
bare rate of the embedding model that it reaches: the model alone on the same distinct chunks and sentences,
before and after, with nothing around it. Then the seconds of a second run with nothing changed, of one with
a single file changed, and of one after the folder was renamed. Each run is a process of its own, as
`adaptive-rag index` is; its start and its imports count. Beside the seconds on the clock stand those of the
processor, which other programs on the machine change less.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from adaptive_rag.ingest import SourceText, split
from adaptive_rag.models.onnx import load_minilm
from adaptive_rag.text.sentences import sentence_spans

WORDS = [
    "harbour",
    "tide",
    "storm",
    "pump",
    "gate",
    "ledger",
    "budget",
    "engine",
    "report",
    "valve",
    "market",
]
FILES_A_FOLDER = 100


def write_files(folder: Path, count: int) -> list[str]:
    """Write small text files, a hundred to a folder, and return their texts."""
    chance = random.Random(7)
    texts = []
    for number in range(count):
        sentences = [f"Note {number} is about the {chance.choice(WORDS)} and the {chance.choice(WORDS)}."]
        sentences += [
            f"On day {chance.randrange(365)} the {' '.join(chance.choices(WORDS, k=9))} was seen by {number}."
            for _ in range(2)
        ]
        texts.append(" ".join(sentences))
        path = folder / f"{number // FILES_A_FOLDER:03}" / f"note{number:05}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(texts[-1])
    return texts


class Spent(NamedTuple):
    """Seconds on the clock, and seconds of the processor in all processes together."""

    wall: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.wall:.2f} ({self.cpu:.2f} of the processor)"


def now() -> Spent:
    """Read both clocks; of processes that were started, those that have ended count."""
    return Spent(time.perf_counter(), sum(os.times()[:4]))


def since(start: Spent) -> Spent:
    """Return what was spent since then."""
    return Spent(*(after - before for after, before in zip(now(), start, strict=True)))


def bare_model(texts: list[str]) -> Spent:
    """Return what it takes the model by itself to embed a text, on average over chunks and sentences."""
    model, embedded = load_minilm(), list[str]()
    for number, text in enumerate(texts):
        chunks = [chunk["text"] for chunk in split(SourceText(str(number), text, ""))]
        embedded += chunks
        embedded += [chunk[a:b] for chunk in chunks for a, b in sentence_spans(chunk)]
    distinct = list(dict.fromkeys(embedded))
    started = now()
    model.encode(distinct)
    spent = since(started)
    return Spent(spent.wall / len(distinct), spent.cpu / len(distinct))


def index(folder: Path, place: Path) -> tuple[dict[str, Any], Spent]:
    """Run `adaptive-rag index` and return its report and what it took."""
    command = [sys.executable, "-m", "adaptive_rag", "index", str(folder), "--index", str(place), "--json"]
    started = now()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout), since(started)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--files", type=int, default=10_000)
    count = parser.parse_args().files
    with tempfile.TemporaryDirectory(prefix="adaptive-rag-many-files-") as scratch:
        folder, place = Path(scratch, "docs"), Path(scratch, "kb")
        texts = write_files(folder / "notes", count)
        sample = texts[:: max(1, count // 500)]
        before = bare_model(sample)
        report, first = index(folder, place)
        after = bare_model(sample)
        embedded = report["texts_embedded"]
        bare = Spent(*(embedded * (one + other) / 2 for one, other in zip(before, after, strict=True)))
        print(f"files, chunks, texts embedded   {count}, {report['chunks']}, {embedded}")
        print(
            f"bare model, texts a second      {embedded / bare.wall:.0f} "
            f"({1 / before.wall:.0f} before, {1 / after.wall:.0f} after)"
        )
        print(f"first run, texts a second       {embedded / first.wall:.0f}")
        print(f"first run, seconds              {first}")
        shares = f"{bare.wall / first.wall:.1%} ({bare.cpu / first.cpu:.1%} of the processor)"
        print(f"share of the bare rate          {shares}")
        print(f"share inside the model          {report['embedding_seconds'] / first.wall:.1%}")
        time.sleep(3)  # so that the next run need not doubt the time of any file
        print(f"nothing changed, seconds        {index(folder, place)[1]}")
        changed = next(folder.rglob("*.txt"))
        changed.write_text("This note says something else now. The ferry is late.")
        report, spent = index(folder, place)
        print(f"one file changed, seconds       {spent}, {report['updated']} updated")
        (folder / "notes").rename(folder / "archive")
        report, spent = index(folder, place)
        print(f"folder renamed, seconds         {spent}, {report['moved']} moved")


if __name__ == "__main__":
    main()
