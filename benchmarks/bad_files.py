"""Read files that are wrong in every way we could think of, and show what each takes and what is said of it.

    python -m benchmarks.bad_files [PART OF A NAME ...]

Each file is read by a program of its own. A row holds the seconds that this took, the peak of memory of the
process that read the file (by `getrusage`), and the one line that is said, or how much was read.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MOST_SECONDS = 30.0
MOST_MEGABYTES = 1000.0
# Linux counts the memory of who starts a process as its own. So the program that has a file read must be
# small, and it is that program's worker which is measured.
READING = """
import json, resource, sys
from pathlib import Path
from adaptive_rag.ingest import Failure, SourceFile, read_source, split, workers
text = read_source(SourceFile(Path(sys.argv[1]), sys.argv[2]))
if isinstance(text, Failure):
    said = text.reason
else:
    said = f"read: {len(text.text):,} characters, {sum(1 for _ in split(text)):,} chunks"
workers.end_idle_workers()
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(json.dumps({"said": said, "peak": peak}))
"""
# What indexing itself takes with its embedding model and its database.
INDEXING = """
import json, resource, sys
from adaptive_rag import Index
report = Index.build(sys.argv[1], sys.argv[2])
print(json.dumps({"said": "", "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}))
"""


@dataclass(frozen=True)
class Outcome:
    """What came of one file: what is said of it, and what it took."""

    said: str
    seconds: float
    megabytes: float

    @property
    def held(self) -> bool:
        """Tell whether the file ended in time, within its memory, and in one line."""
        bounded = self.seconds < MOST_SECONDS and self.megabytes < MOST_MEGABYTES
        return bounded and len(self.said.splitlines()) == 1


def run(code: str, *arguments: str) -> Outcome:
    """Run a program that prints what it says and how much memory it took."""
    started = time.perf_counter()
    command = [sys.executable, "-c", code, *arguments]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    seconds = time.perf_counter() - started
    found: dict[str, Any] = json.loads(printed)
    unit = 1e-6 if sys.platform == "darwin" else 1024e-6  # bytes there, KiB elsewhere
    return Outcome(found["said"], seconds, found["peak"] * unit)


def read_badly(path: Path) -> Outcome:
    """Read one file in a program of its own."""
    return run(READING, str(path), ascii(path.name)[1:-1])


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a row for each file, and return how many did not end as they should."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="read only the files whose names hold one of these")
    names = parser.parse_args(arguments).names
    outcomes = []
    with tempfile.TemporaryDirectory() as folder:
        bad, good = Path(folder, "bad"), Path(folder, "good")
        bad.mkdir()
        good.mkdir()
        subprocess.run([sys.executable, "-m", "benchmarks.made_badly", str(bad), *names], check=True)
        print("| file | seconds | MB | what is said |\n|---|---|---|---|")
        for path in sorted(bad.iterdir()):
            outcome = read_badly(path)
            outcomes.append(outcome)
            said = outcome.said if outcome.held else f"**not held** {outcome.said}"
            name, taken = ascii(path.name)[1:-1][:40], f"{outcome.seconds:.1f} | {outcome.megabytes:.0f}"
            print(f"| {name} | {taken} | {said} |", flush=True)
        (good / "a.txt").write_text("The tide comes in twice a day.")
        indexing = run(INDEXING, str(good), str(Path(folder, "kb"))).megabytes
    held = sum(outcome.held for outcome in outcomes)
    read = sum(outcome.said.startswith("read: ") for outcome in outcomes)
    most = max(outcome.megabytes for outcome in outcomes)
    print(f"\n{held} of {len(outcomes)} held: {read} read, {len(outcomes) - read} named with the reason.")
    print(
        f"At most {max(outcome.seconds for outcome in outcomes):.1f} s; at most {most:.0f} MB, beside the "
        f"{indexing:.0f} MB of the program that indexes: {most + indexing:.0f} MB together."
    )
    return len(outcomes) - held


if __name__ == "__main__":
    sys.exit(main())
