"""Ask thousands of questions of every kind about folders of real documents, and check every answer.

    python -m benchmarks.fuzz_questions FOLDER ... [--count 20000] [--seed 1] [--jobs 2]
    python -m benchmarks.fuzz_questions FOLDER ... --only NUMBER

Each folder gets its own index. A question depends only on its number and the seed, so that `--only` can
repeat it. The only error allowed is the refusal of an input that is empty, too long or not a condition; here
the steps that only improve an answer raise their errors too. Every answer must have text, a trace, plain
data, and quotes that stand in the documents at the places that the citations name.
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
from benchmarks.fuzzed_questions import CODE, OTHER_LANGUAGES, SYMBOLS, Case, Material, make_case

ROOT = Path(__file__).parents[1]
# More processor seconds than this for one question are a fault. (Other processes do not affect them.)
SLOW_SECONDS = 10.0
# After this time the stack of a question that still runs is written to standard error.
HANG_SECONDS = 120
# Longer replies of `faulty_replies` are left out: they are slow, and test only how replies are read.
MAX_REPLY_LENGTH = 20_000
FAULTY_REPLIES = {name: text for name, text in TEXTS.items() if len(text) <= MAX_REPLY_LENGTH}
GENERATED_REPLIES = ("sensible", "passages", "odd", "strange forms", "an error")
REPLIES = (*GENERATED_REPLIES * 4, *FAULTY_REPLIES)


@dataclass(frozen=True)
class Result:
    """The result of one question."""

    number: int
    folder: str
    kind: str
    question: str
    seconds: float
    # what was wrong, and where; "" if nothing was
    fault: str = ""
    detail: str = ""
    refused: bool = False


class Asker:
    """Asks the indexes of some folders the questions of a seed."""

    def __init__(self, folders: Sequence[str], index_paths: Sequence[str], seed: int) -> None:
        exchange.BACKOFF = 0.001
        self.folders, self.seed = folders, seed
        self.indexes = [Index.open(path) for path in index_paths]
        self.materials = [
            Material([*index.chunks()], index.reader().rows_and_fields[1]) for index in self.indexes
        ]
        self.chunks = [_chunks_by_source(index) for index in self.indexes]
        self.rags = [AdaptiveRAG(index) for index in self.indexes]

    def case(self, number: int) -> Case:
        """Return the question with a number."""
        return make_case(number, self.seed, self.materials[number % len(self.folders)], REPLIES)

    def run(self, number: int) -> Result:
        """Ask the question with a number, and check its answer."""
        case, folder = self.case(number), number % len(self.folders)
        started, fault, detail, refused = time.process_time(), "", "", False
        faulthandler.dump_traceback_later(HANG_SECONDS, exit=False)
        try:
            problems = list(check(self._ask(case, folder), self.chunks[folder]))
            fault = f"invariant: {problems[0][0]}" if problems else ""
            detail = "; ".join(f"{problem}: {evidence}" for problem, evidence in problems)
        except Exception as error:  # any error is a finding
            refused = isinstance(error, ConfigurationError) and case.refusable
            fault = "" if refused else f"{type(error).__name__} at {_locate(error)}"
            detail = "".join(traceback.format_exception(error))
        finally:
            faulthandler.cancel_dump_traceback_later()
        seconds = time.process_time() - started
        if not fault and seconds > SLOW_SECONDS:
            fault, detail = f"slow: {case.kind}", f"{seconds:.1f} s"
        question = case.input["question"]
        return Result(number, self.folders[folder], case.kind, question, seconds, fault, detail, refused)

    def _ask(self, case: Case, folder: int) -> Mapping[str, Any]:
        rag, settings, request = self.rags[folder], dict(case.settings), dict(case.input)
        if case.reply:
            structured._refused.clear()
            script = _write_script(case, self.seed, self.materials[folder])
            settings |= {"model": ScriptedChatModel(script=script), "budget": {"deadline_s": 5}}
        if case.is_follow_up:
            first_question = random.Random(case.number).choice(self.materials[folder].headings)
            first_answer = rag.invoke(first_question, context={"strict": True})["answer"]
            request["history"] = [
                {"role": "user", "text": first_question},
                {"role": "agent", "text": first_answer},
            ]
        if case.streams:
            *_, output = rag.stream(request, context=settings, steps=True, drafts=True)
            return output  # type: ignore[no-any-return]
        return rag.invoke(request, context=settings)  # type: ignore[arg-type]


def check(output: Mapping[str, Any], chunks: Mapping[str, list[Candidate]]) -> Iterator[tuple[str, str]]:
    """Yield each problem of an answer with its evidence; `chunks` are those of each source."""
    answer, citations = output["answer"], output["citations"]
    if not answer.strip():
        yield "the answer is empty", repr(answer)
    if not output["trace"]:
        yield "there is no trace", ""
    if not 0 <= output["grounding"] <= 1:
        yield "the grounding is no share", repr(output["grounding"])
    markers, cited = set(find_markers(answer)), {citation["marker"] for citation in citations}
    if markers - cited:
        yield "a marker has no citation", f"{sorted(markers - cited)} of {answer!r}"
    if cited - markers:
        yield "a citation has no marker", f"{sorted(cited - markers)} of {answer!r}"
    for citation in citations:
        if not _is_in_place(citation, chunks.get(citation["source"], [])):
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


def _chunks_by_source(index: Index) -> dict[str, list[Any]]:
    by_source = defaultdict[str, list[Any]](list)
    for chunk in index.chunks():
        by_source[chunk["source"]].append(chunk)
    return by_source


def _is_in_place(citation: Citation, chunks: Sequence[Candidate]) -> bool:
    """Return whether the source's chunks have each character of a quote, but blanks, in its place."""
    start, end, quote = citation["start"], citation["end"], citation["quote"]
    if len(quote) != end - start:
        return any(chunk["start"] <= start and quote in chunk["text"] for chunk in chunks)
    confirmed = set[int]()
    for chunk in chunks:
        first, last = max(start, chunk["start"]), min(end, chunk["end"])
        if first >= last:
            continue
        text = chunk["text"][first - chunk["start"] : last - chunk["start"]]
        if text == quote[first - start : last - start]:
            confirmed.update(range(first, last))
    return bool(quote) and all(
        position in confirmed or quote[position - start].isspace() for position in range(start, end)
    )


# Markers as models write them, right and wrong.
MARKS = ("[1]", "[2][3]", "[1-3]", "[99]", "[0]", "[[1]]", "【2†source】", "[1, 2", "", "([1])", "[^2]")


def _write_script(case: Case, seed: int, material: Material) -> Any:
    """Return the script of a chat model that replies as the case says."""
    rng = random.Random(f"{seed}/{case.number}/reply")

    def reply(step: str, messages: Any) -> Reply:
        if case.reply in FAULTY_REPLIES:
            return FAULTY_REPLIES[case.reply]
        if case.reply == "an error":
            return rng.choice([ValueError("nonsense"), KeyError("choices"), OSError("no route"), None])
        if case.reply == "sensible" or (step != "generate" and case.reply != "strange forms"):
            return None
        if case.reply == "strange forms":
            values: list[Any] = [rng.choice(material.sentences), *SYMBOLS[:3], 1, -1, 99, 0.5, None, [], {}]
            names = "query scores sub_questions viewpoints sides passages type context reason answer".split()
            return {name: rng.choices(values, k=rng.randrange(9)) for name in rng.sample(names, 3)}
        texts = material.sentences if case.reply == "passages" else [*CODE, *OTHER_LANGUAGES, *SYMBOLS[:20]]
        sentences = (f"{rng.choice(texts)} {rng.choice(MARKS)}" for _ in range(rng.randrange(1, 9)))
        return rng.choice(["\n", " ", "\n\n- ", "\n| "]).join(sentences)

    return reply


def _locate(error: BaseException) -> str:
    """Return the file and the function of this project in which an error arose."""
    frames = traceback.extract_tb(error.__traceback__)
    own_frames = [
        frame
        for frame in frames
        if Path(frame.filename).is_relative_to(ROOT) and "benchmarks" not in frame.filename
    ]
    last = (own_frames or frames)[-1]
    return f"{Path(last.filename).name}:{last.name}"


# --- running ---

_asker: Asker | None = None


def _start_process(folders: Sequence[str], index_paths: Sequence[str], seed: int) -> None:
    global _asker
    _asker = Asker(folders, index_paths, seed)


def _run_in_process(number: int) -> Result:
    assert _asker is not None
    return _asker.run(number)


def build_indexes(folders: Sequence[Path], target: Path) -> list[str]:
    """Bring the index of each folder up to date, and return their paths."""
    paths = []
    for number, folder in enumerate(folders):
        path = target / f"{number}-{folder.name}"
        report = Index.build(folder, path)
        print(f"{folder.name}: {report.total_chunks} passages, {len(report.failed)} not read", flush=True)
        paths.append(str(path))
    return paths


def fuzz(
    folders: Sequence[str], index_paths: Sequence[str], seed: int, numbers: Sequence[int], jobs: int = 1
) -> Iterator[Result]:
    """Ask the questions with some numbers, in `jobs` processes, and yield the results."""
    if jobs == 1:
        _start_process(folders, index_paths, seed)
        yield from map(_run_in_process, numbers)
        return
    # Lance is not fork-safe.
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, spawn, _start_process, (folders, index_paths, seed)) as pool:
        yield from pool.map(_run_in_process, numbers, chunksize=20)


def report(results: Sequence[Result], seconds: float, seed: int, command: str) -> str:
    """Return the faults by kind and place, each with the shortest question that causes it, and the totals."""
    groups = defaultdict[str, list[Result]](list)
    for result in results:
        if result.fault:
            groups[result.fault].append(result)
    lines = []
    for fault, group in sorted(groups.items(), key=lambda pair: -len(pair[1])):
        shortest = min(group, key=lambda result: len(result.question))
        lines += [
            f"{len(group)} times {fault}",
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
    """Ask the questions, print the report, and return 1 if there was a fault, else 0."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="*", type=Path, default=[samples_path()])
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", type=int, help="ask only the question with this number, and show it")
    options = parser.parse_args()
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    folders = list(map(str, options.folders))
    with tempfile.TemporaryDirectory() as temporary:
        index_paths = build_indexes(options.folders, Path(temporary))
        if options.only is not None:
            asker = Asker(folders, index_paths, options.seed)
            print(asker.case(options.only), asker.run(options.only), sep="\n\n")
            return 0
        numbers, results, started = range(options.count), list[Result](), 0.0
        for result in fuzz(folders, index_paths, options.seed, numbers, options.jobs):
            # The clock starts at the first answer, when the models are loaded.
            started = started or time.perf_counter()
            results.append(result)
            if result.fault:
                print(f"{result.number}: {result.fault}", flush=True)
            elif len(results) % 1000 == 0:
                print(f"{len(results)} asked", flush=True)
    command = "python -m benchmarks.fuzz_questions " + " ".join(folders)
    print(report(results, time.perf_counter() - started, options.seed, command))
    return int(any(result.fault for result in results))


if __name__ == "__main__":
    sys.exit(main())
