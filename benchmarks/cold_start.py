"""How long a cold question at the shell takes, beside the mere import of the libraries under it.

    python benchmarks/cold_start.py [--runs 7] [--index FOLDER]

The two are run in turn in fresh processes, so that whatever else the machine does slows both alike. Prints
the medians of wall and processor time, and their ratios. Without an index, one of the sample documents is
made first.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from adaptive_rag import Index
from adaptive_rag.samples import samples_path

QUESTION = "Where is the rest centre?"
IMPORTS = "import langgraph.graph, lancedb, onnxruntime"


def measure(command: list[str]) -> tuple[float, float]:
    """Run a command; return its wall and processor time in seconds."""
    before, started = os.times(), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    wall, after = time.perf_counter() - started, os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return wall, used


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--index", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        index = arguments.index or Path(folder) / "kb"
        if arguments.index is None:
            Index.build(samples_path() / "guidance_households.md", index)
        commands = {
            "ask": [sys.executable, "-m", "adaptive_rag", "ask", QUESTION, "--index", str(index), "--json"],
            "imports": [sys.executable, "-c", IMPORTS],
            "help": [sys.executable, "-m", "adaptive_rag", "--help"],
        }
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
        for run in range(arguments.runs + 1):
            for name, command in commands.items():
                measured = measure(command)
                if run:  # the first round only warms the file cache
                    times[name].append(measured)
    medians = {
        name: [statistics.median(column) for column in zip(*rows, strict=True)]
        for name, rows in times.items()
    }
    for name, (wall, used) in medians.items():
        print(f"{name:8} {wall:6.2f} s wall  {used:6.2f} s processor")
    wall, used = (ours / theirs for ours, theirs in zip(medians["ask"], medians["imports"], strict=True))
    print(f"ask / imports: {wall:.2f} in wall time, {used:.2f} in processor time (goal: at most 2)")


if __name__ == "__main__":
    main()
