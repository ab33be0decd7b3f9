"""How fast a folder of many small files is indexed, beside the embedding model alone, and kept up to date.

    python benchmarks/many_files.py [--files 10000]

Writes the files itself, one paragraph of three sentences each. Prints, for the first run, the share of the
bare rate of the embedding model that it reaches: the model alone on the same distinct chunks and sentences,
before and after, with nothing around it. Then the seconds of a second run with nothing changed, of one with
a single file changed, and of one after the folder was renamed. Each run is a process of its own, as
`adaptive-rag index` is; its start and its imports count.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

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


def bare_rate(texts: list[str]) -> float:
    """Return how many texts a second the model embeds by itself, chunks and sentences."""
    model, embedded = load_minilm(), list[str]()
    for number, text in enumerate(texts):
        chunks = [chunk["text"] for chunk in split(SourceText(str(number), text, ""))]
        embedded += chunks
        embedded += [chunk[a:b] for chunk in chunks for a, b in sentence_spans(chunk)]
    distinct = list(dict.fromkeys(embedded))
    started = time.perf_counter()
    model.encode(distinct)
    return len(distinct) / (time.perf_counter() - started)


def index(folder: Path, place: Path) -> tuple[dict[str, Any], float]:
    """Run `adaptive-rag index` and return its report and its seconds."""
    command = [sys.executable, "-m", "adaptive_rag", "index", str(folder), "--index", str(place), "--json"]
    started = time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout), time.perf_counter() - started


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--files", type=int, default=10_000)
    count = parser.parse_args().files
    with tempfile.TemporaryDirectory(prefix="adaptive-rag-many-files-") as scratch:
        folder, place = Path(scratch, "docs"), Path(scratch, "kb")
        texts = write_files(folder / "notes", count)
        sample = texts[:: max(1, count // 500)]
        before = bare_rate(sample)
        report, first = index(folder, place)
        bare = (before + bare_rate(sample)) / 2
        rate = report["texts_embedded"] / first
        print(f"files, chunks, texts embedded   {count}, {report['chunks']}, {report['texts_embedded']}")
        print(
            f"bare model, texts a second      {bare:.0f} ({before:.0f} before, {2 * bare - before:.0f} after)"
        )
        print(f"first run, texts a second       {rate:.0f} ({first:.1f} s)")
        print(f"share of the bare rate          {rate / bare:.1%}")
        print(f"share inside the model          {report['embedding_seconds'] / first:.1%}")
        time.sleep(3)  # so that the next run need not doubt the time of any file
        print(f"nothing changed, seconds        {index(folder, place)[1]:.2f}")
        changed = next(folder.rglob("*.txt"))
        changed.write_text("This note says something else now. The ferry is late.")
        report, seconds = index(folder, place)
        print(f"one file changed, seconds       {seconds:.2f} ({report['updated']} updated)")
        (folder / "notes").rename(folder / "archive")
        report, seconds = index(folder, place)
        print(f"folder renamed, seconds         {seconds:.2f} ({report['moved']} moved)")


if __name__ == "__main__":
    main()
