"""Does a process that lives long go on answering, and go on answering the same?

    python -m benchmarks.soak [--questions 20000] [--threads 1]
    python -m benchmarks.soak --load [--seconds 60] [--chunks 2000]

The first form asks mixed questions of one process, in the order of a seeded lottery: the sample questions,
plainly, with what the asker says of themselves, after a conversation, by a named route, with another k. A
process beside it writes the index again and again meanwhile: one document changes between two forms. Each
answer is compared with the one that a fresh process gave over the same form; a question during which the
index changed may have either.

The second form asks from 50 threads and 50 tasks at once for some seconds, over an index of made-up chunks
beside the samples, and compares each answer with the one that a single thread got before.

Both print how many questions were asked, failed and differed, and what memory did: the resident size after
a tenth of the run, and at its end. There is no chat model.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from adaptive_rag import AdaptiveRAG, Index
from adaptive_rag.index.location import open_location
from adaptive_rag.index.manifest import read_manifest
from adaptive_rag.ingest import discover, extract_text
from adaptive_rag.samples import questions_path, samples_path
from adaptive_rag.text.sentences import sentence_spans

CHANGING = "tide_tables.md"
FORMS = {
    "spring": "# Tide tables\n\nThe spring tides of this year reach the upper steps of the harbour twice.\n",
    "neap": "# Tide tables\n\nThe neap tides of this year leave the harbour's mud bare for an hour.\n\n"
    "Boats of more than two metres' draught wait outside until the water is back.\n",
}
SECONDS_BETWEEN_FORMS = 1.0
TALK = [
    {"role": "user", "text": "We moved into Harbour Street last winter."},
    {"role": "agent", "text": "Harbour Street lies in the flood zone. [1]"},
]
SITUATIONS = ["", "I rent a ground-floor flat and I use a wheelchair.", "I run a bakery. It has a cellar."]
CALLERS = 50


@dataclass(frozen=True)
class Asked:
    """One question with all that its answer depends on but the index."""

    input: dict[str, Any]
    settings: dict[str, Any]


@dataclass
class Count:
    """What became of the questions."""

    asked: int = 0
    differing: list[str] = field(default_factory=list)
    failed: Counter[str] = field(default_factory=Counter)
    resident: list[float] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, failure: str = "", difference: str = "") -> None:
        """Count one question."""
        with self.lock:
            self.asked += 1
            if failure:
                self.failed[failure] += 1
            if difference:
                self.differing.append(difference)

    def measure(self, every: int) -> None:
        """Note the resident memory once in so many questions, in MB."""
        if self.asked // max(1, every) > len(self.resident):
            gc.collect()
            self.resident.append(psutil.Process().memory_info().rss / 2**20)


def mixed_questions(of: int | None = None) -> list[Asked]:
    """Return some hundred different questions, made of the first so many of the samples."""
    lines = questions_path().read_text(encoding="utf-8").splitlines()[:of]
    texts = list(dict.fromkeys(json.loads(line)["question"] for line in lines))
    asked = [
        Asked({"question": text, "user_context": situation}, {}) for text in texts for situation in SITUATIONS
    ]
    asked += [Asked({"question": text, "history": TALK}, {}) for text in texts]
    routes = ("factual", "analytical", "opinion", "contextual")
    asked += [
        Asked({"question": text}, {"route": routes[number % 4], "k": 2 + number % 7})
        for number, text in enumerate(texts)
    ]
    return asked


def answered(output: dict[str, Any]) -> list[Any]:
    """Return what is compared of an answer."""
    citations = [(c["source"], c["start"], c["end"]) for c in output["citations"]]
    return json.loads(json.dumps([output["query_type"], output["answer"], citations]))


def fresh_answers(index: Path, of: int | None) -> list[list[Any]]:
    """Return the answers of a process that has answered nothing before."""
    command = [sys.executable, "-m", "benchmarks.soak", "--answers", str(index), *_only(of)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def change_until_stopped(folder: Path, index: Path) -> None:
    """Write the index again and again, its one document in turn in each of its forms."""
    number = 0
    while True:
        number += 1
        (folder / CHANGING).write_text(list(FORMS.values())[number % 2], encoding="utf-8")
        Index.build(folder, str(index))
        time.sleep(SECONDS_BETWEEN_FORMS)


def _only(of: int | None) -> list[str]:
    return [] if of is None else ["--of", str(of)]


def soak(questions: int, threads: int, seed: int = 0, of: int | None = None) -> Count:
    """Ask in some threads while another process changes the index."""
    with tempfile.TemporaryDirectory() as place:
        folder, index = Path(place) / "documents", Path(place) / "kb"
        shutil.copytree(samples_path(), folder)
        expected = {}
        for form in FORMS.values():
            (folder / CHANGING).write_text(form, encoding="utf-8")
            Index.build(folder, str(index))
            expected[_form(index)] = fresh_answers(index, of)
        changing = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.soak", "--change", str(folder), str(index)]
        )
        try:
            drawn = random.Random(seed).choices(list(enumerate(mixed_questions(of))), k=questions)
            return _ask_in_threads(AdaptiveRAG(index), index, expected, drawn, threads)
        finally:
            changing.kill()
            changing.wait()


def _ask_in_threads(
    rag: AdaptiveRAG,
    index: Path,
    expected: dict[str, list[list[Any]]],
    drawn: Sequence[tuple[int, Asked]],
    threads: int,
) -> Count:
    count, left = Count(), iter(drawn)

    def work() -> None:
        for number, asked in _shared(left, count.lock):
            before = _form(index)
            try:
                output = rag.invoke(asked.input, context=asked.settings)
            except Exception as error:  # whatever it is, it is what the run looks for
                count.note(failure=f"{type(error).__name__}: {error}")
                continue
            found = answered(output)
            usable = [expected[form][number] for form in (before, _form(index))]
            count.note(difference="" if found in usable else _difference(asked, found, usable[0]))
            count.measure(len(drawn) // 20)

    _in_threads(work, threads)
    return count


def load(seconds: float, chunks: int, of: int | None = None) -> Count:
    """Ask from many threads and tasks at once."""
    with tempfile.TemporaryDirectory() as place:
        folder, index = Path(place) / "documents", Path(place) / "kb"
        shutil.copytree(samples_path(), folder)
        (folder / "made.md").write_text(_made_text(chunks), encoding="utf-8")
        print(f"{Index.build(folder, str(index)).total_chunks:,} chunks", flush=True)
        rag, asked, count = AdaptiveRAG(index), mixed_questions(of), Count()
        expected = [answered(rag.invoke(one.input, context=one.settings)) for one in asked]
        ends = time.monotonic() + seconds

        def draw(seed: int) -> Iterator[int]:
            drawn = random.Random(seed)
            while time.monotonic() < ends:
                yield drawn.randrange(len(asked))

        def judge(number: int, output: dict[str, Any]) -> None:
            found = answered(output)
            same = found == expected[number]
            count.note(difference="" if same else _difference(asked[number], found, expected[number]))
            count.measure(every=100)

        def work() -> None:
            for number in draw(threading.get_ident()):
                try:
                    judge(number, rag.invoke(asked[number].input, context=asked[number].settings))
                except Exception as error:  # as in `_ask_in_threads`
                    count.note(failure=f"{type(error).__name__}: {error}")

        async def task(seed: int) -> None:
            for number in draw(seed):
                try:
                    judge(number, await rag.ainvoke(asked[number].input, context=asked[number].settings))
                except Exception as error:  # as in `_ask_in_threads`
                    count.note(failure=f"{type(error).__name__}: {error}")

        async def tasks() -> None:
            await asyncio.gather(*(task(seed) for seed in range(CALLERS)))

        on_the_loop = threading.Thread(target=lambda: asyncio.run(tasks()))
        on_the_loop.start()
        _in_threads(work, CALLERS)
        on_the_loop.join()
        return count


def _made_text(chunks: int) -> str:
    """Return a text of about so many chunks, drawn from the sentences of the samples."""
    texts = [extract_text(file.path).text for file in discover(samples_path())]
    sentences = [" ".join(text[a:b].split()) for text in texts for a, b in sentence_spans(text)]
    draw = random.Random(0)
    return "\n\n".join(" ".join(draw.choices(sentences, k=12)) for _ in range(chunks))


def _form(index: Path) -> str:
    """Return the hash of the changing document in the state of the index that is complete now."""
    manifest = read_manifest(open_location(index))
    assert manifest is not None
    return next(record.hash for name, record in manifest.sources.items() if name.endswith(CHANGING))


def _shared(drawn: Iterator[tuple[int, Asked]], lock: threading.Lock) -> Iterator[tuple[int, Asked]]:
    while True:
        with lock:
            following = next(drawn, None)
        if following is None:
            return
        yield following


def _in_threads(work: Callable[[], None], count: int) -> None:
    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _difference(asked: Asked, found: list[Any], expected: list[Any]) -> str:
    return f"{asked}: {found} instead of {expected}"


def report(count: Count) -> str:
    """Say in plain words what became of the questions."""
    lines = [f"{count.asked:,} questions, {count.failed.total()} failed, {len(count.differing)} differed"]
    lines += [f"  {number} times {failure}" for failure, number in count.failed.most_common(10)]
    lines += [f"  {difference}" for difference in count.differing[:5]]
    if count.resident:
        early, late = count.resident[len(count.resident) // 10], count.resident[-1]
        lines.append(f"resident memory {early:.0f} MB after a tenth, {late:.0f} MB at the end")
        lines.append(f"  on the way: {' '.join(f'{size:.0f}' for size in count.resident)}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; 1 where a question failed or an answer differed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--questions", type=int, default=20_000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--load", action="store_true")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--chunks", type=int, default=2000)
    parser.add_argument("--of", type=int, help="take only so many of the sample questions")
    parser.add_argument("--answers", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--change", type=Path, nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.answers:
        rag = AdaptiveRAG(given.answers)
        outputs = [rag.invoke(asked.input, context=asked.settings) for asked in mixed_questions(given.of)]
        print(json.dumps([answered(output) for output in outputs]))
        return 0
    if given.change:
        change_until_stopped(*given.change)
    if given.load:
        count = load(given.seconds, given.chunks, given.of)
    else:
        count = soak(given.questions, given.threads, given.seed, given.of)
    print(report(count))
    return int(bool(count.failed or count.differing))


if __name__ == "__main__":
    sys.exit(main())
