"""Read files that are broken in many ways, and print the time, the memory and the message of each.

    python -m benchmarks.bad_files [PART OF A NAME ...]

Each file is read by its own program. A row of the table shows the seconds that this took, the peak memory of
the process that read the file (by `getrusage`), and either the one-line message or how much was read.
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

MAX_SECONDS = 30.0
MAX_MEGABYTES = 1000.0
# On Linux, the peak memory of a new process includes that of the process that started it. So a file is read
# by a small program, and the memory of that program's worker is measured.
READING_PROGRAM = """
import json, resource, sys
from pathlib import Path
from adaptive_rag.ingest import Failure, SourceFile, read_source, split, workers
text = read_source(SourceFile(Path(sys.argv[1]), sys.argv[2]))
if isinstance(text, Failure):
    message = text.reason
else:
    message = f"read: {len(text.text):,} characters, {sum(1 for _ in split(text)):,} chunks"
workers.end_idle_workers()
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(json.dumps({"message": message, "peak": peak}))
"""
# Measures the memory of indexing itself, with its embedding model and its database.
INDEXING_PROGRAM = """
import json, resource, sys
from adaptive_rag import Index
report = Index.build(sys.argv[1], sys.argv[2])
print(json.dumps({"message": "", "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}))
"""


@dataclass(frozen=True)
class Outcome:
    """The message about one file, and the time and memory that reading it took."""

    message: str
    seconds: float
    megabytes: float

    @property
    def passes(self) -> bool:
        """Return whether reading stayed within the limits and ended with a message of one line."""
        is_bounded = self.seconds < MAX_SECONDS and self.megabytes < MAX_MEGABYTES
        return is_bounded and len(self.message.splitlines()) == 1


def run(code: str, *arguments: str) -> Outcome:
    """Run a program that prints its message and its peak memory as JSON."""
    started = time.perf_counter()
    command = [sys.executable, "-c", code, *arguments]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    seconds = time.perf_counter() - started
    result: dict[str, Any] = json.loads(printed)
    unit = 1e-6 if sys.platform == "darwin" else 1024e-6  # the peak is in bytes on macOS, in KiB elsewhere
    return Outcome(result["message"], seconds, result["peak"] * unit)


def read_in_program(path: Path) -> Outcome:
    """Read one file in its own program."""
    return run(READING_PROGRAM, str(path), ascii(path.name)[1:-1])


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a row for each file, and return the number of files that did not pass."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="read only files whose name contains one of these")
    names = parser.parse_args(arguments).names
    outcomes = []
    with tempfile.TemporaryDirectory() as folder:
        bad, good = Path(folder, "bad"), Path(folder, "good")
        bad.mkdir()
        good.mkdir()
        subprocess.run([sys.executable, "-m", "benchmarks.made_badly", str(bad), *names], check=True)
        print("| file | seconds | MB | what is said |\n|---|---|---|---|")
        for path in sorted(bad.iterdir()):
            outcome = read_in_program(path)
            outcomes.append(outcome)
            message = outcome.message if outcome.passes else f"**failed** {outcome.message}"
            name, cost = ascii(path.name)[1:-1][:40], f"{outcome.seconds:.1f} | {outcome.megabytes:.0f}"
            print(f"| {name} | {cost} | {message} |", flush=True)
        (good / "a.txt").write_text("The tide comes in twice a day.")
        indexing = run(INDEXING_PROGRAM, str(good), str(Path(folder, "kb"))).megabytes
    passed = sum(outcome.passes for outcome in outcomes)
    read = sum(outcome.message.startswith("read: ") for outcome in outcomes)
    peak = max(outcome.megabytes for outcome in outcomes)
    named = len(outcomes) - read
    print(f"\n{passed} of {len(outcomes)} passed: {read} read, {named} named with the reason.")
    slowest = max(outcome.seconds for outcome in outcomes)
    print(
        f"At most {slowest:.1f} s; at most {peak:.0f} MB, in addition to the {indexing:.0f} MB of the "
        f"program that indexes: {peak + indexing:.0f} MB together."
    )
    return len(outcomes) - passed


if __name__ == "__main__":
    sys.exit(main())
