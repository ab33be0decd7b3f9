"""Count the files of the package that one question enters, from `invoke` to its answer.

A file is entered where at least one of its functions is called; what is merely imported does not count.

    python -m benchmarks.files_entered [--route TYPE] [QUESTION]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import adaptive_rag
from adaptive_rag import AdaptiveRAG
from adaptive_rag.samples import samples_path

ROOTS = [Path(folder).resolve() for folder in adaptive_rag.__path__]
QUESTION = "What is the highest water level ever recorded?"


def entered_files(rag: AdaptiveRAG, question: str, **settings: Any) -> Counter[str]:
    """Return how many calls each file of the package got while one question was answered."""
    calls: Counter[str] = Counter()

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            calls[frame.f_code.co_filename] += 1

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        rag.invoke(question, context=settings or None)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    named: Counter[str] = Counter()
    for file, count in calls.items():
        if file.startswith("<"):
            continue
        path = Path(file).resolve()
        for root in ROOTS:
            if path.is_relative_to(root / "adaptive_rag") or path.is_relative_to(root):
                name = str(path.relative_to(root))
                if name.startswith(("tests/", "benchmarks/", ".")):
                    break
                named[name] += count
                break
    return named


def main() -> None:
    """Print the files and how many there are."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("question", nargs="?", default=QUESTION)
    parser.add_argument("--route", default=None, help="send the question this way, whatever the router says")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rag = AdaptiveRAG.from_documents(samples_path(), index=folder)
        settings = {"route": options.route} if options.route else {}
        found = entered_files(rag, options.question, **settings)
    for name, count in sorted(found.items()):
        print(f"{count:7,}  {name}")
    print(f"{len(found)} files")


if __name__ == "__main__":
    main()
