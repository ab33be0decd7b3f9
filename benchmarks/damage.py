"""Damage an index as a bad disk does: flip bits, cut files, and kill processes while they write.

    python -m benchmarks.damage [--flips 40] [--kills 60] [--seed 7]

Prints a table of what was tried, how often, and how often it passed. A flipped bit or a cut file passes if it
is noticed (by opening, searching or `--check --deep`) or has no effect, and if the command that the message
names restores the answers of a fresh index. A kill passes if a reader in another process sees only complete
states, and if the index afterwards equals a fresh one.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from langchain_core.embeddings import Embeddings

from adaptive_rag.errors import AdaptiveRAGError
from adaptive_rag.index import Index, describe

NOTE_COUNT, PARAGRAPH_COUNT = 24, 12
QUESTIONS = ["high tide in the harbour", "note 3 storm wall", "paragraph 7 of the marsh", "siren"]
WORDS = "tide storm wall harbour marsh siren flood gate quay beach dune ferry".split()
# Kind of file -> pattern; one of the files that match is damaged.
KINDS = {
    "data": "chunks-*.lance/data/*",
    "deletions": "chunks-*.lance/_deletions/*",
    "word index": "chunks-*.lance/_indices/*/part_*",
    "id index": "chunks-*.lance/_indices/*/page_*",
    "vector index": "chunks-*.lance/_indices/*/[ai]*",
    "indexes' metadata": "chunks-*.lance/_indices/*/metadata.lance",
    "Lance's versions": "chunks-*.lance/_versions/*",
    "Lance's transactions": "chunks-*.lance/_transactions/*",
    "manifest": "manifest.json",
    "copy of the manifest": "manifest.copy.json",
    "cache": "embeddings.sqlite",
}
NOT_NOTICED = "NOT NOTICED"
MAX_WRITE_SECONDS = 120
Results = list[list[tuple[str, float, float]]]


class WordHashes(Embeddings):
    """A fast embedding model: the sum of a random vector for each word."""

    # An index records the module of its model: it must be the same if this module runs as `__main__`.
    __module__ = "benchmarks.damage"
    model = "hashes"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return a vector for each text."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a text, 16 dimensions."""
        seeds = [int.from_bytes(hashlib.sha256(word.encode()).digest()[:4]) for word in text.lower().split()]
        vectors = [np.random.default_rng(seed).normal(size=16) for seed in seeds]
        return [float(value) for value in np.sum(vectors, axis=0)]


class Outcome(NamedTuple):
    """The result of one damage: which kind of file, what noticed it, and whether it passed."""

    kind: str
    noticed: str
    passed: bool
    message: str = ""


def write_notes(folder: Path, revision: int) -> None:
    """Write the documents of a revision; each replaces the one before it atomically."""
    folder.mkdir(parents=True, exist_ok=True)
    for note in range(NOTE_COUNT):
        paragraphs = (
            f"Revision {revision} of note {note}, paragraph {number}: {WORDS[(note * number) % len(WORDS)]} "
            f"and {WORDS[(note + number) % len(WORDS)]}."
            for number in range(PARAGRAPH_COUNT)
        )
        new_file = folder.parent / f"new-{note}"
        new_file.write_text("\n\n".join(paragraphs))
        new_file.replace(folder / f"{note}.txt")


def build_index(docs: Path, kb: Path, **arguments: Any) -> None:
    """Bring the index up to date; each paragraph becomes a chunk."""
    fixed = {"sentence_vectors": False, "chunk_size": 80, "chunk_overlap": 0}
    Index.build(docs, kb, embeddings=WordHashes(), **fixed, **arguments)


def open_index(kb: Path) -> Index:
    """Open the index."""
    return Index.open(kb, embeddings=WordHashes())


def ask(kb: Path) -> Results:
    """Open the index and return the hits of all questions, in an order that does not depend on the disk."""
    results = open_index(kb).search(QUESTIONS, limit=400)
    return [
        sorted(
            (hit["text"], round(hit["scores"]["dense"], 4), round(hit["scores"]["sparse"], 3)) for hit in hits
        )
        for hits in results
    ]


@contextmanager
def small_limits(*, in_memory: bool) -> Iterator[None]:
    """Let a small index have a vector index and, unless `in_memory`, be read from disk as a large one is."""
    with ExitStack() as stack:
        stack.enter_context(mock.patch("adaptive_rag.index.neighbours.EXACT_UP_TO", 100))
        for module in () if in_memory else ("row_reader", "files"):
            stack.enter_context(mock.patch(f"adaptive_rag.index.{module}.IN_MEMORY_UP_TO", 0))
        yield


def build_sample(folder: Path) -> tuple[Path, Path]:
    """Make documents and an index with files of every kind, one of which records a deletion."""
    docs, kb = folder / "docs", folder / "kb"
    write_notes(docs, 1)
    # A table that is not small keeps a removed document as a deletion.
    with mock.patch("adaptive_rag.index.table.SMALL", 0):
        build_index(docs, kb)
        (docs / "0.txt").unlink()
        build_index(docs, kb)
    return docs, kb


def flip(file: Path, rng: random.Random) -> None:
    """Flip one bit of a file."""
    content = bytearray(file.read_bytes())
    content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    file.write_bytes(content)


def halve(file: Path, rng: random.Random) -> None:
    """Cut a file in half, as a torn write does."""
    os.truncate(file, file.stat().st_size // 2)


def empty(file: Path, rng: random.Random) -> None:
    """Remove the content of a file."""
    os.truncate(file, 0)


def delete(file: Path, rng: random.Random) -> None:
    """Remove a file."""
    file.unlink()


class Sample(NamedTuple):
    """An undamaged index, and its results in three states."""

    docs: Path
    more: Path
    kb: Path
    as_is: Results
    fresh: Results
    """Those of a new index, without deletions: deleted chunks still count in the frequencies of words."""
    with_more: Results
    """Those after one more document was indexed."""


def take_sample(folder: Path) -> Sample:
    """Make an index, and record its results in each state."""
    docs, kb = build_sample(folder)
    more, fresh, copy = folder / "more.txt", folder / "fresh", folder / "with-more"
    more.write_text("Another note.")
    build_index(docs, fresh)
    shutil.copytree(kb, copy)
    build_index(more, copy)
    return Sample(docs, more, kb, ask(kb), ask(fresh), ask(copy))


def damage_copies(
    folder: Path, damage: Callable[[Path, random.Random], None], count: int, seed: int, *, in_memory: bool
) -> list[Outcome]:
    """Damage `count` copies of an index, each kind of file in turn, and return the outcomes."""
    rng, outcomes = random.Random(seed), []
    with small_limits(in_memory=in_memory):
        sample = take_sample(folder / "sample")
        for number in range(count):
            kind = list(KINDS)[number % len(KINDS)]
            copy = folder / f"copy-{number}"
            shutil.copytree(sample.kb, copy)
            damage(rng.choice(sorted(copy.glob(KINDS[kind]))), rng)
            outcomes.append(examine(kind, copy, sample, in_memory=in_memory))
            shutil.rmtree(copy)
    return outcomes


def examine(kind: str, kb: Path, sample: Sample, *, in_memory: bool) -> Outcome:
    """Find out what notices the damage, whether `index` hides it, and whether the named command mends it."""
    noticed, message = _find_damage(kb, sample)
    if noticed == NOT_NOTICED:
        return Outcome(kind, noticed, False)
    if _is_hidden_by_index(kb, sample, in_memory=in_memory):
        return Outcome(kind, noticed, False, f"{message}: `index` succeeded, but the answers have changed")
    try:
        if "--rebuild" in message:
            build_index(sample.docs, kb, rebuild=True)
        elif "--repair" in message:
            Index.repair(kb, embeddings=WordHashes())
        is_right = ask(kb) in (sample.as_is, sample.fresh)
        return Outcome(kind, noticed, is_right and Index.check(kb, deep=True).healthy, message)
    except AdaptiveRAGError as error:
        return Outcome(kind, noticed, False, f"{message}: {error}")


def _find_damage(kb: Path, sample: Sample) -> tuple[str, str]:
    """Return what noticed the damage, and its message."""
    try:
        results = ask(kb)
    except AdaptiveRAGError as error:
        return "by opening or asking", str(error)
    if not (check := Index.check(kb, deep=True)).healthy:
        return f"by --check{' --deep' if Index.check(kb).healthy else ''}", check.mend
    return "without effect" if results == sample.as_is else NOT_NOTICED, ""


def _is_hidden_by_index(kb: Path, sample: Sample, *, in_memory: bool) -> bool:
    """Return whether an indexing run succeeds on the damaged index, and nothing reports wrong answers."""
    copy = kb.with_name(f"{kb.name}-again")
    shutil.copytree(kb, copy)
    try:
        build_index(sample.more, copy)
        # In a large index, only --check --deep compares the files that an indexing run does not rewrite.
        is_reported = not in_memory and not Index.check(copy, deep=True).healthy
        return not is_reported and ask(copy) != sample.with_more
    except AdaptiveRAGError:
        return False
    finally:
        shutil.rmtree(copy)


@contextmanager
def started(mode: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """Start this module in another process, in one of its modes, and wait until its imports are done."""
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.damage", mode, *map(str, arguments)],
        cwd=Path(__file__).parents[1],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        process.stdout.readline()
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def kill_writers(folder: Path, kills: int, seed: int) -> tuple[int, int, list[str]]:
    """Kill indexing runs at random moments while another process reads the index.

    Returns:
        The number of runs that were killed, the number of states that the reader saw, and the problems.
    """
    rng, docs, kb = random.Random(seed), folder / "docs", folder / "kb"
    write_notes(docs, 0)
    build_index(docs, kb)
    problems, killed, first_update = [], 0, describe(kb)["updated"]
    with started("--read", kb, folder / "stop") as reader:
        for number in range(kills):
            with started("--write", docs, kb) as writer:
                time.sleep(rng.uniform(0.0, 1.0))
                # On a slow machine no run may have written anything yet: let the last one write.
                deadline = time.monotonic() + MAX_WRITE_SECONDS
                is_last = number == kills - 1
                while is_last and describe(kb)["updated"] == first_update and time.monotonic() < deadline:
                    time.sleep(0.05)
                writer.send_signal(signal.SIGKILL)
                if (code := writer.wait()) == -signal.SIGKILL:
                    killed += 1
                else:
                    problems.append(f"a writer ended by itself with {code}")
        (folder / "stop").touch()
        assert reader.stdout is not None
        output = reader.stdout.read().strip()
        if reader.wait(60):
            problems.append(output)
    states = int(output) if output.isdigit() else 0
    write_notes(docs, 10_000)
    build_index(docs, kb)
    build_index(docs, folder / "fresh")
    if ask(kb) != ask(folder / "fresh"):
        problems.append("afterwards the answers of the index differ from those of a fresh one")
    problems += [f"{part} {problem}" for part, problem in Index.check(kb, deep=True).damages]
    return killed, states, problems


def write_until_killed(docs: Path, kb: Path) -> None:
    """Index one revision after another, in small batches that are published one by one, until killed."""
    from adaptive_rag.index import row_maker
    from adaptive_rag.index import run as building

    row_maker.CHUNKS_PER_STEP, building.ROWS_PER_WRITE, building.SECONDS_PER_PUBLISH = 8, 16, 0.0
    # Trigger the late imports before the clock starts.
    ask(kb)
    print("ready", flush=True)
    revision = time.time_ns()
    while True:
        write_notes(docs, revision := revision + 1)
        build_index(docs, kb)


def read_until_stopped(kb: Path, stop: Path) -> None:
    """Read the index until the file `stop` exists; print the number of states seen.

    Reads both through an index that stays open and through one that is opened each time. Exits 1 if a state
    is incomplete: a document then has too few paragraphs, or paragraphs of different revisions.
    """
    open_once, states = open_index(kb), set[str]()
    print("ready", flush=True)
    is_stopping = False
    while not is_stopping:
        is_stopping = stop.exists()  # before the read, so that the last state is read too
        for index in (open_once, open_index(kb)):
            reader = index.reader()
            revisions: dict[str, list[str]] = {}
            for chunk in reader.chunks():
                revisions.setdefault(chunk["source"], []).append(chunk["text"].split(" of note")[0])
            incomplete = [
                source
                for source, of_source in revisions.items()
                if len(of_source) != PARAGRAPH_COUNT or len(set(of_source)) != 1
            ]
            if incomplete or len(revisions) != NOTE_COUNT or not all(index.search(QUESTIONS, limit=5)):
                print(f"half a state: {incomplete or len(revisions)}")
                raise SystemExit(1)
            states.add(str(reader.manifest.committed))
    print(len(states))


def print_outcomes(damage: str, outcomes: Sequence[Outcome]) -> None:
    """Print a row of the table, and each attempt that did not pass."""
    counts = Counter(outcome.noticed for outcome in outcomes)
    noticed = ", ".join(f"{count} {how}" for how, count in counts.items())
    print(f"| {damage} | {len(outcomes)} | {sum(outcome.passed for outcome in outcomes)} | {noticed} |")
    for outcome in outcomes:
        if not outcome.passed:
            print(f"    {outcome.kind}: {outcome.noticed}: {outcome.message}", file=sys.stderr)


def main() -> None:
    """Run the benchmark, or one of the processes that it starts."""
    modes: dict[str, Callable[..., None]] = {"--write": write_until_killed, "--read": read_until_stopped}
    if len(sys.argv) > 1 and sys.argv[1] in modes:
        modes[sys.argv[1]](*map(Path, sys.argv[2:]))
        return
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--flips", type=int, default=40)
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    print("| tried | times | passed | how |\n|---|---:|---:|---|")
    damages = {
        "a flipped bit": (flip, options.flips),
        "a file cut in half": (halve, len(KINDS)),
        "an empty file": (empty, len(KINDS)),
        "a deleted file": (delete, len(KINDS)),
    }
    for in_memory in (True, False):
        for name, (damage, count) in damages.items():
            with tempfile.TemporaryDirectory() as folder:
                outcomes = damage_copies(Path(folder), damage, count, options.seed, in_memory=in_memory)
            print_outcomes(f"{name}, {'small' if in_memory else 'large'} index", outcomes)
    with tempfile.TemporaryDirectory() as folder:
        killed, states, problems = kill_writers(Path(folder), options.kills, options.seed)
    passed = options.kills - len(problems)
    print(f"| a killed run | {killed} | {passed} | {states} states were read meanwhile |")
    print(*problems, sep="\n", file=sys.stderr)


if __name__ == "__main__":
    main()
