"""What becomes of an index on a bad disk: flipped bits, torn files, and processes killed while they write.

    python -m benchmarks.damage [--flips 40] [--kills 60] [--seed 7]

Prints a table: what was tried, how often, how it ended. A flipped bit or a torn file is held where it is
noticed (by opening, searching or `--check --deep`) or proven without effect, and where the command that the
message names gives the answers of a fresh index again. A kill is held where a reader in another process
sees whole states alone, and where the index afterwards is the same as a fresh one.
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

NOTES, PARAGRAPHS = 24, 12
QUESTIONS = ["high tide in the harbour", "note 3 storm wall", "paragraph 7 of the marsh", "siren"]
WORDS = "tide storm wall harbour marsh siren flood gate quay beach dune ferry".split()
# What a small index has of each kind of file; the first that fits a pattern is damaged.
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
LONGEST_WRITE_S = 120
Answers = list[list[tuple[str, float, float]]]


class WordHashes(Embeddings):
    """A model that costs nothing: a random vector for each word, added up."""

    # the same name in every process, whichever module was started
    __module__ = "benchmarks.damage"
    model = "hashes"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return a vector for each text."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a text, 16 dimensions."""
        seeds = [int.from_bytes(hashlib.sha256(word.encode()).digest()[:4]) for word in text.lower().split()]
        drawn = [np.random.default_rng(seed).normal(size=16) for seed in seeds]
        return [float(part) for part in np.sum(drawn, axis=0)]


class Outcome(NamedTuple):
    """How one attempt ended: what was damaged, what noticed it, and whether all was well afterwards."""

    kind: str
    noticed: str
    held: bool
    said: str = ""


def write_notes(folder: Path, revision: int) -> None:
    """Write the documents of a revision; each takes its old one's place in a single step."""
    folder.mkdir(parents=True, exist_ok=True)
    for note in range(NOTES):
        paragraphs = (
            f"Revision {revision} of note {note}, paragraph {each}: {WORDS[(note * each) % len(WORDS)]} and "
            f"{WORDS[(note + each) % len(WORDS)]}."
            for each in range(PARAGRAPHS)
        )
        new = folder.parent / f"new-{note}"
        new.write_text("\n\n".join(paragraphs))
        new.replace(folder / f"{note}.txt")


def build(docs: Path, kb: Path, **more: Any) -> None:
    """Bring the index up to date; a chunk is a paragraph."""
    Index.build(
        docs, kb, embeddings=WordHashes(), sentence_vectors=False, chunk_size=80, chunk_overlap=0, **more
    )


def open_index(kb: Path) -> Index:
    """Open the index."""
    return Index.open(kb, embeddings=WordHashes())


def answers(kb: Path) -> Answers:
    """Open the index and ask it all questions; what comes back must not depend on its order on the disk."""
    found = open_index(kb).search(QUESTIONS, limit=400)
    return [
        sorted(
            (each["text"], round(each["scores"]["dense"], 4), round(each["scores"]["sparse"], 3))
            for each in some
        )
        for some in found
    ]


@contextmanager
def small_bounds(*, in_memory: bool) -> Iterator[None]:
    """Let a small index have a vector index; and, not in memory, be read from the disk as a large one is."""
    with ExitStack() as stack:
        stack.enter_context(mock.patch("adaptive_rag.index.neighbours.EXACT_UP_TO", 100))
        for module in () if in_memory else ("row_reader", "files"):
            stack.enter_context(mock.patch(f"adaptive_rag.index.{module}.IN_MEMORY_UP_TO", 0))
        yield


def build_sample(folder: Path) -> tuple[Path, Path]:
    """Make documents and an index that has files of every kind, a deletion among them."""
    docs, kb = folder / "docs", folder / "kb"
    write_notes(docs, 1)
    # so that a removed document stays as a deletion, as in a large index
    with mock.patch("adaptive_rag.index.table.SMALL", 0):
        build(docs, kb)
        (docs / "0.txt").unlink()
        build(docs, kb)
    return docs, kb


def flip(file: Path, draw: random.Random) -> None:
    """Flip one bit of a file."""
    content = bytearray(file.read_bytes())
    content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    file.write_bytes(content)


def halve(file: Path, draw: random.Random) -> None:
    """Cut a file off, as a torn write does."""
    os.truncate(file, file.stat().st_size // 2)


def empty(file: Path, draw: random.Random) -> None:
    """Leave nothing in a file."""
    os.truncate(file, 0)


def delete(file: Path, draw: random.Random) -> None:
    """Remove a file."""
    file.unlink()


class Sample(NamedTuple):
    """An index that is sound, and what it answers in three states."""

    docs: Path
    more: Path
    kb: Path
    as_is: Answers
    fresh: Answers
    """Made anew: without the deletions, which still count in the frequencies of words."""
    with_more: Answers
    """After one more document was indexed."""


def take_sample(folder: Path) -> Sample:
    """Make an index, and ask it in each state."""
    docs, kb = build_sample(folder)
    more, fresh, copy = folder / "more.txt", folder / "fresh", folder / "with-more"
    more.write_text("Another note.")
    build(docs, fresh)
    shutil.copytree(kb, copy)
    build(more, copy)
    return Sample(docs, more, kb, answers(kb), answers(fresh), answers(copy))


def damage_copies(
    folder: Path, damage: Callable[[Path, random.Random], None], count: int, seed: int, *, in_memory: bool
) -> list[Outcome]:
    """Damage so many copies of an index, the kinds of files in turn, and see what becomes of each."""
    draw, outcomes = random.Random(seed), []
    with small_bounds(in_memory=in_memory):
        sample = take_sample(folder / "sample")
        for number in range(count):
            kind = list(KINDS)[number % len(KINDS)]
            copy = folder / f"copy-{number}"
            shutil.copytree(sample.kb, copy)
            damage(draw.choice(sorted(copy.glob(KINDS[kind]))), draw)
            outcomes.append(examine(kind, copy, sample, in_memory=in_memory))
            shutil.rmtree(copy)
    return outcomes


def examine(kind: str, kb: Path, sample: Sample, *, in_memory: bool) -> Outcome:
    """See who notices a damage, whether `index` hides it, and whether the command that is named mends it."""
    noticed, said = _notice(kb, sample)
    if noticed == NOT_NOTICED:
        return Outcome(kind, noticed, False)
    if _is_hidden_by_index(kb, sample, in_memory=in_memory):
        return Outcome(kind, noticed, False, f"{said}: `index` said success, and the answers are others")
    try:
        if "--rebuild" in said:
            build(sample.docs, kb, rebuild=True)
        elif "--repair" in said:
            Index.repair(kb, embeddings=WordHashes())
        right = answers(kb) in (sample.as_is, sample.fresh)
        return Outcome(kind, noticed, right and Index.check(kb, deep=True).healthy, said)
    except AdaptiveRAGError as error:
        return Outcome(kind, noticed, False, f"{said}: {error}")


def _notice(kb: Path, sample: Sample) -> tuple[str, str]:
    """Return who noticed the damage, and what was said."""
    try:
        found = answers(kb)
    except AdaptiveRAGError as error:
        return "by opening or asking", str(error)
    if not (check := Index.check(kb, deep=True)).healthy:
        return f"by --check{' --deep' if Index.check(kb).healthy else ''}", check.mend
    return "without effect" if found == sample.as_is else NOT_NOTICED, ""


def _is_hidden_by_index(kb: Path, sample: Sample, *, in_memory: bool) -> bool:
    """Tell whether an indexing run succeeds over the damage, and nothing tells that the answers are wrong."""
    copy = kb.with_name(f"{kb.name}-again")
    shutil.copytree(kb, copy)
    try:
        build(sample.more, copy)
        # of a large index, what a run does not rewrite is compared by --check --deep alone
        told = not in_memory and not Index.check(copy, deep=True).healthy
        return not told and answers(copy) != sample.with_more
    except AdaptiveRAGError:
        return False
    finally:
        shutil.rmtree(copy)


@contextmanager
def started(mode: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """Start this module in another process, in a mode, and wait until its imports are done."""
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
    """Kill indexing runs at random moments while another process reads; the last one has written by then.

    Returns:
        How many were killed, how many states the reader saw, and what was wrong.
    """
    draw, docs, kb = random.Random(seed), folder / "docs", folder / "kb"
    write_notes(docs, 0)
    build(docs, kb)
    wrong, killed, before = [], 0, describe(kb)["updated"]
    with started("--read", kb, folder / "stop") as reader:
        for number in range(kills):
            with started("--write", docs, kb) as writer:
                time.sleep(draw.uniform(0.0, 1.0))
                # on a slow machine none of them may have come so far
                until = time.monotonic() + LONGEST_WRITE_S
                while number == kills - 1 and describe(kb)["updated"] == before and time.monotonic() < until:
                    time.sleep(0.05)
                writer.send_signal(signal.SIGKILL)
                if (code := writer.wait()) == -signal.SIGKILL:
                    killed += 1
                else:
                    wrong.append(f"a writer ended by itself with {code}")
        (folder / "stop").touch()
        assert reader.stdout is not None
        said = reader.stdout.read().strip()
        if reader.wait(60):
            wrong.append(said)
    states = int(said) if said.isdigit() else 0
    write_notes(docs, 10_000)
    build(docs, kb)
    build(docs, folder / "fresh")
    if answers(kb) != answers(folder / "fresh"):
        wrong.append("afterwards the index answers otherwise than a fresh one")
    wrong += [f"{part} {what}" for part, what in Index.check(kb, deep=True).damages]
    return killed, states, wrong


def write_on(docs: Path, kb: Path) -> None:
    """Index one revision after another, in batches that are published one by one, until killed."""
    from adaptive_rag.index import row_maker
    from adaptive_rag.index import run as building

    row_maker.CHUNKS_PER_STEP, building.ROWS_PER_WRITE, building.SECONDS_PER_PUBLISH = 8, 16, 0.0
    # what is imported late is imported now
    answers(kb)
    print("ready", flush=True)
    revision = time.time_ns()
    while True:
        write_notes(docs, revision := revision + 1)
        build(docs, kb)


def read_on(kb: Path, stop: Path) -> None:
    """Read the index, opened once and opened anew, until told to stop; print how many states were seen."""
    kept, seen = open_index(kb), set[str]()
    print("ready", flush=True)
    stopping = False
    while not stopping:
        stopping = stop.exists()  # what is written by then is still read
        for index in (kept, open_index(kb)):
            reader = index.reader()
            found: dict[str, list[str]] = {}
            for chunk in reader.chunks():
                found.setdefault(chunk["source"], []).append(chunk["text"].split(" of note")[0])
            halves = [
                source for source, texts in found.items() if len(texts) != PARAGRAPHS or len(set(texts)) != 1
            ]
            if halves or len(found) != NOTES or not all(index.search(QUESTIONS, limit=5)):
                print(f"half a state: {halves or len(found)}")
                raise SystemExit(1)
            seen.add(str(reader.manifest.committed))
    print(len(seen))


def print_outcomes(tried: str, outcomes: Sequence[Outcome]) -> None:
    """Print a row, and each attempt that was not held."""
    how = ", ".join(
        f"{count} {noticed}" for noticed, count in Counter(each.noticed for each in outcomes).items()
    )
    print(f"| {tried} | {len(outcomes)} | {sum(each.held for each in outcomes)} | {how} |")
    for each in outcomes:
        if not each.held:
            print(f"    {each.kind}: {each.noticed}: {each.said}", file=sys.stderr)


def main() -> None:
    """Run the benchmark, or one of the processes that it starts."""
    modes: dict[str, Callable[..., None]] = {"--write": write_on, "--read": read_on}
    if len(sys.argv) > 1 and sys.argv[1] in modes:
        modes[sys.argv[1]](*map(Path, sys.argv[2:]))
        return
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--flips", type=int, default=40)
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--seed", type=int, default=7)
    asked = parser.parse_args()
    print("| tried | times | held | how |\n|---|---:|---:|---|")
    damages = {
        "a flipped bit": (flip, asked.flips),
        "a file cut in half": (halve, len(KINDS)),
        "an empty file": (empty, len(KINDS)),
        "a deleted file": (delete, len(KINDS)),
    }
    for in_memory in (True, False):
        for name, (damage, count) in damages.items():
            with tempfile.TemporaryDirectory() as folder:
                done = damage_copies(Path(folder), damage, count, asked.seed, in_memory=in_memory)
            print_outcomes(f"{name}, {'small' if in_memory else 'large'} index", done)
    with tempfile.TemporaryDirectory() as folder:
        killed, states, wrong = kill_writers(Path(folder), asked.kills, asked.seed)
    print(f"| a killed run | {killed} | {asked.kills - len(wrong)} | {states} states were read meanwhile |")
    print(*wrong, sep="\n", file=sys.stderr)


if __name__ == "__main__":
    main()
