"""Asks thousands of questions of every kind over folders of real documents, and judges every answer.

    python -m benchmarks.fuzz_questions FOLDER ... [--count 20000] [--seed 1] [--jobs 2]
    python -m benchmarks.fuzz_questions FOLDER ... --only NUMBER

Each folder is indexed by itself. A question is made from its number and the seed, so that `--only` repeats it
alone. Nothing may be raised but the refusal of an input that is empty, too long or no condition; parts that
only improve an answer raise too. Every answer has text, a trace, plain data, and quotes that stand in the
documents where their citations say.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import multiprocessing
import random
import sys
import tempfile
import time
import traceback
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.index import Index
from adaptive_rag.llm import exchange, structured
from adaptive_rag.runnable import AdaptiveRAG
from adaptive_rag.samples import samples_path
from adaptive_rag.state import Candidate, Citation
from adaptive_rag.testing import Reply, ScriptedChatModel
from adaptive_rag.text.markers import find_markers
from benchmarks.faulty_replies import TEXTS
from benchmarks.fuzzed_questions import CODE, FOREIGN, SIGNS, Case, Material, make_case

ROOT = Path(__file__).parents[1]
# Seconds of the processors for one question beyond which it is a fault: other processes do not count.
SLOW = 10.0
# A question that takes longer than this has its stack written to the standard error.
HANGS = 120
# The longest of `faulty_replies` say more of reading a reply than of answering, and take their time.
LONGEST_REPLY = 20_000
FAULTY = {name: text for name, text in TEXTS.items() if len(text) <= LONGEST_REPLY}
MADE_REPLIES = ("sensible", "passages", "odd", "strange forms", "an error")
REPLIES = (*MADE_REPLIES * 4, *FAULTY)


@dataclass(frozen=True)
class Result:
    """What came of one question."""

    number: int
    folder: str
    kind: str
    question: str
    seconds: float
    # what was wrong, and where; empty where nothing was
    fault: str = ""
    detail: str = ""
    refused: bool = False


class Asker:
    """The indexes of some folders, and what asks them."""

    def __init__(self, folders: Sequence[str], places: Sequence[str], seed: int) -> None:
        exchange.BACKOFF = 0.001
        self.folders, self.seed = folders, seed
        self.indexes = [Index.open(place) for place in places]
        self.materials = [
            Material([*index.chunks()], index.reader().rows_and_fields[1]) for index in self.indexes
        ]
        self.texts = [_texts(index) for index in self.indexes]
        self.rags = [AdaptiveRAG(index) for index in self.indexes]

    def case(self, number: int) -> Case:
        """Return the question of a number."""
        return make_case(number, self.seed, self.materials[number % len(self.folders)], REPLIES)

    def run(self, number: int) -> Result:
        """Ask the question of a number, and say what was wrong."""
        case, at = self.case(number), number % len(self.folders)
        started, fault, detail, refused = time.process_time(), "", "", False
        faulthandler.dump_traceback_later(HANGS, exit=False)
        try:
            problems = list(check(self._ask(case, at), self.texts[at]))
            fault = f"invariant: {problems[0][0]}" if problems else ""
            detail = "; ".join(f"{what}: {which}" for what, which in problems)
        except Exception as error:  # each is what this looks for
            refused = isinstance(error, ConfigurationError) and case.refusable
            fault = "" if refused else f"{type(error).__name__} at {_place(error)}"
            detail = "".join(traceback.format_exception(error))
        finally:
            faulthandler.cancel_dump_traceback_later()
        seconds = time.process_time() - started
        if not fault and seconds > SLOW:
            fault, detail = f"slow: {case.kind}", f"{seconds:.1f} s"
        question = case.input["question"]
        return Result(number, self.folders[at], case.kind, question, seconds, fault, detail, refused)

    def _ask(self, case: Case, at: int) -> Mapping[str, Any]:
        rag, settings, asked = self.rags[at], dict(case.settings), dict(case.input)
        if case.reply:
            structured._refused.clear()
            script = _script(case, self.seed, self.materials[at])
            settings |= {"model": ScriptedChatModel(script=script), "budget": {"deadline_s": 5}}
        if case.goes_on:
            first = random.Random(case.number).choice(self.materials[at].headings)
            told = rag.invoke(first, context={"strict": True})["answer"]
            asked["history"] = [{"role": "user", "text": first}, {"role": "agent", "text": told}]
        if case.streams:
            *_, output = rag.stream(asked, context=settings, steps=True, drafts=True)
            return output  # type: ignore[no-any-return]
        return rag.invoke(asked, context=settings)  # type: ignore[arg-type]


def check(output: Mapping[str, Any], texts: Mapping[str, list[Candidate]]) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with an answer, each with what shows it; `texts` are the chunks of each source."""
    answer, citations = output["answer"], output["citations"]
    if not answer.strip():
        yield "the answer is empty", repr(answer)
    if not output["trace"]:
        yield "there is no trace", ""
    if not 0 <= output["grounding"] <= 1:
        yield "the grounding is no share", repr(output["grounding"])
    marked, cited = set(find_markers(answer)), {citation["marker"] for citation in citations}
    if marked - cited:
        yield "a marker has no citation", f"{sorted(marked - cited)} of {answer!r}"
    if cited - marked:
        yield "a citation has no marker", f"{sorted(cited - marked)} of {answer!r}"
    for citation in citations:
        if not _stands(citation, texts.get(citation["source"], [])):
            yield "a quote is not what stands there", repr(citation)
    try:
        plain = {name: value for name, value in output.items() if name != "messages"}
        plain["messages"] = [message.model_dump() for message in output["messages"]]
        json.dumps(plain, allow_nan=False)
    except (TypeError, ValueError) as error:
        yield "the output is no JSON", str(error)
    try:
        answer.encode()
    except UnicodeEncodeError as error:
        yield "the answer cannot be written", str(error)


def _texts(index: Index) -> dict[str, list[Any]]:
    by_source = defaultdict[str, list[Any]](list)
    for chunk in index.chunks():
        by_source[chunk["source"]].append(chunk)
    return by_source


def _stands(citation: Citation, chunks: Sequence[Candidate]) -> bool:
    """Tell whether every letter of a quote is the one that its source's chunks have in its place."""
    start, end, quote = citation["start"], citation["end"], citation["quote"]
    if len(quote) != end - start:
        return any(chunk["start"] <= start and quote in chunk["text"] for chunk in chunks)
    over = [chunk for chunk in chunks if chunk["start"] < end and start < chunk["end"]]
    held = set[int]()
    for chunk in over:
        a, b = max(start, chunk["start"]), min(end, chunk["end"])
        if chunk["text"][a - chunk["start"] : b - chunk["start"]] == quote[a - start : b - start]:
            held.update(range(a, b))
    return bool(quote) and all(at in held or quote[at - start].isspace() for at in range(start, end))


def _script(case: Case, seed: int, material: Material) -> Any:
    rng = random.Random(f"{seed}/{case.number}/reply")

    def say(step: str, messages: Any) -> Reply:
        if case.reply in FAULTY:
            return FAULTY[case.reply]
        if case.reply == "an error":
            return rng.choice([ValueError("nonsense"), KeyError("choices"), OSError("no route"), None])
        if case.reply == "sensible" or (step != "generate" and case.reply != "strange forms"):
            return None
        if case.reply == "strange forms":
            values: list[Any] = [rng.choice(material.sentences), *SIGNS[:3], 1, -1, 99, 0.5, None, [], {}]
            names = "query scores sub_questions viewpoints sides passages type context reason answer".split()
            return {name: rng.choices(values, k=rng.randrange(9)) for name in rng.sample(names, 3)}
        things = material.sentences if case.reply == "passages" else [*CODE, *FOREIGN, *SIGNS[:20]]
        marks = [
            "[1]",
            "[2][3]",
            "[1-3]",
            "[99]",
            "[0]",
            "[[1]]",
            "【2†source】",
            "[1, 2",
            "",
            "([1])",
            "[^2]",
        ]
        written = (f"{rng.choice(things)} {rng.choice(marks)}" for _ in range(rng.randrange(1, 9)))
        return rng.choice(["\n", " ", "\n\n- ", "\n| "]).join(written)

    return say


def _place(error: BaseException) -> str:
    """Return the file and function of the project in which an error arose."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if Path(f.filename).is_relative_to(ROOT) and "benchmarks" not in f.filename]
    last = (own or frames)[-1]
    return f"{Path(last.filename).name}:{last.name}"


# --- running ---

_asker: Asker | None = None


def _open(folders: Sequence[str], places: Sequence[str], seed: int) -> None:
    global _asker
    _asker = Asker(folders, places, seed)


def _run(number: int) -> Result:
    assert _asker is not None
    return _asker.run(number)


def build_indexes(folders: Sequence[Path], kept: Path) -> list[str]:
    """Bring the index of each folder up to date, and return where they lie."""
    places = []
    for number, folder in enumerate(folders):
        place = kept / f"{number}-{folder.name}"
        report = Index.build(folder, place)
        print(f"{folder.name}: {report.total_chunks} passages, {len(report.failed)} not read", flush=True)
        places.append(str(place))
    return places


def fuzz(
    folders: Sequence[str], places: Sequence[str], seed: int, numbers: Sequence[int], jobs: int = 1
) -> Iterator[Result]:
    """Ask the questions of some numbers, in so many processes, and yield what came of each."""
    if jobs == 1:
        _open(folders, places, seed)
        yield from map(_run, numbers)
        return
    # Lance is not fork-safe.
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, spawn, _open, (folders, places, seed)) as pool:
        yield from pool.map(_run, numbers, chunksize=20)


def report(results: Sequence[Result], seconds: float, seed: int, command: str) -> str:
    """Return the faults by kind and place, each with the shortest question that shows it, and the totals."""
    groups = defaultdict[str, list[Result]](list)
    for result in results:
        if result.fault:
            groups[result.fault].append(result)
    lines = []
    for fault, same in sorted(groups.items(), key=lambda pair: -len(pair[1])):
        shortest = min(same, key=lambda result: len(result.question))
        lines += [
            f"{len(same)} times {fault}",
            f"  {shortest.question[:300]!r} ({shortest.kind}, {Path(shortest.folder).name})",
            f"  {shortest.detail.strip()[-600:]}",
            f"  repeat: {command} --seed {seed} --only {shortest.number}",
        ]
    slowest = max(results, key=lambda result: result.seconds)
    refused = sum(result.refused for result in results)
    failed = sum(bool(result.fault) for result in results)
    return "\n".join([
        *lines,
        f"{len(results)} questions over {len({result.folder for result in results})} folders in "
        f"{seconds:.0f} s ({len(results) / seconds:.1f} a second): {failed} faults of {len(groups)} kinds, "
        f"{refused} inputs refused; the slowest, number {slowest.number} ({slowest.kind}), took "
        f"{slowest.seconds:.1f} s.",
    ])  # fmt: skip


def main() -> int:
    """Run from the shell; the exit status is 1 where anything was wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="*", type=Path, default=[samples_path()])
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", type=int, help="ask the question of this number alone, and show it")
    given = parser.parse_args()
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    folders = list(map(str, given.folders))
    with tempfile.TemporaryDirectory() as temporary:
        places = build_indexes(given.folders, Path(temporary))
        if given.only is not None:
            asker = Asker(folders, places, given.seed)
            print(asker.case(given.only), asker.run(given.only), sep="\n\n")
            return 0
        numbers, results, started = range(given.count), list[Result](), 0.0
        for result in fuzz(folders, places, given.seed, numbers, given.jobs):
            # The first answer comes when the models are loaded.
            started = started or time.perf_counter()
            results.append(result)
            if result.fault:
                print(f"{result.number}: {result.fault}", flush=True)
            elif len(results) % 1000 == 0:
                print(f"{len(results)} asked", flush=True)
    command = "python -m benchmarks.fuzz_questions " + " ".join(folders)
    print(report(results, time.perf_counter() - started, given.seed, command))
    return int(any(result.fault for result in results))


if __name__ == "__main__":
    sys.exit(main())
