"""Runs the arms over the questions of data sets; what was answered is kept, so that a run can go on."""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import subprocess
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from adaptive_rag.context import make_context
from adaptive_rag.errors import ConfigurationError
from adaptive_rag.evaluation.answers import Answer, score_answer
from adaptive_rag.evaluation.arms import Arm, ArmName, Bench, Result, by_fusion
from adaptive_rag.evaluation.datasets import Dataset, Question
from adaptive_rag.evaluation.metrics import headline, require_measures, score_rankings
from adaptive_rag.evaluation.records import (
    RUN,
    RUN_FILES,
    ArmRecord,
    Journal,
    QuestionRecord,
    read_json,
    write_json,
)
from adaptive_rag.models.onnx import load_minilm
from adaptive_rag.state import Candidate, TraceRecord

# Characters of a chunk that are kept for a reader of the report.
BEGINNING = 300
ALPHAS = tuple(round(step / 10, 1) for step in range(11))

Advance = Callable[[], None]
# Gives a bar for a description and a total, and closes it afterwards.
OpenBar = Callable[[str, int], Any]


@dataclass(frozen=True)
class RunSettings:
    """What makes two runs comparable; a run is resumed only under the same."""

    k: int = 10
    seed: int = 0
    limit: int | None = None
    # None scores answers where documents are searched and leaves them out where passages are judged
    answers: bool | None = None
    knobs: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Return the settings as plain data; a live model is named by its class."""
        context = make_context(**self.knobs)
        plain = context.model_dump(exclude={"index", "retriever", "k"})
        return {
            **asdict(self),
            "knobs": {name: value if _is_plain(value) else _class_of(value) for name, value in plain.items()},
        }


@dataclass(frozen=True)
class FinishedRun:
    """A run's questions with all results, and what is known about the run."""

    about: dict[str, Any]
    records: list[QuestionRecord]
    # data set -> type ("all" too) -> alpha -> headline metric
    alpha: dict[str, dict[str, dict[str, float]]]


def run_arms(
    datasets: Sequence[Dataset],
    arms: Mapping[ArmName, Arm],
    open_bench: Callable[[Dataset], tuple[Dataset, Bench]],
    settings: RunSettings,
    out: Path,
    *,
    open_bar: OpenBar | None = None,
    jobs: int = 1,
    fresh: bool = False,
) -> FinishedRun:
    """Ask every question of every arm, skipping what `out` already holds.

    `open_bench` opens a data set's index when it is needed, and may complete the data set from it.
    `fresh` removes the files of an earlier run in `out` first, and nothing else.

    Raises:
        ConfigurationError: `out` holds a run made with other settings, data or code.
        MissingExtraError: a package that scores rankings is not installed.
    """
    _check_names(datasets)
    require_measures([question for dataset in datasets for question in dataset.questions])
    about = _begin(out, datasets, settings, fresh=fresh)
    journal = Journal(out)
    bar = open_bar or no_bar
    alpha = about.get("alpha", {})
    for dataset in datasets:
        sweep = "fusion" in arms and dataset.name not in alpha
        if not sweep and not any(journal.missing(dataset.name, q.id, arms) for q in dataset.questions):
            continue
        dataset, bench = open_bench(dataset)
        waiting = [
            (question, missing)
            for question in dataset.questions
            if (missing := journal.missing(dataset.name, question.id, arms))
        ]
        work = ((dataset, question, missing, arms, bench) for question, missing in waiting)
        with bar(dataset.name, len(waiting)) as advance, _workers(jobs) as each:
            for record in each(_ask, work):
                journal.add(record)
                advance()
        if sweep:
            alpha[dataset.name] = sweep_alpha(dataset, bench)
            about["alpha"] = alpha
            write_json(out / RUN, about)
    for dataset in datasets:
        _score(dataset, [journal.records[dataset.name, q.id] for q in dataset.questions], settings)
    journal.compact()
    about["arms"] = {**about.get("arms", {}), **{name: arm.what for name, arm in arms.items()}}
    about["finished"] = _now()
    write_json(out / RUN, about)
    return FinishedRun(about, list(journal.records.values()), alpha)


def sweep_alpha(dataset: Dataset, bench: Bench) -> dict[str, dict[str, float]]:
    """Return the headline metric of plain fusion for each alpha, by question type and overall."""
    limit = max(50, 3 * bench.k)
    pools: list[list[Candidate]] = []
    texts = [question.text for question in dataset.questions]
    for start in range(0, len(texts), 64):
        pools += bench.source.search(texts[start : start + 64], limit=limit)
    by_type: dict[str, dict[str, float]] = {}
    for alpha in ALPHAS:
        rankings = {
            question.id: ranked_ids(by_fusion(pool, alpha)[: bench.k])
            for question, pool in zip(dataset.questions, pools, strict=True)
        }
        scores = score_rankings(dataset.questions, rankings, bench.k)
        for kind in ("all", *sorted({q.type for q in dataset.questions if q.type})):
            values = [
                scores[question.id][headline(bench.k)]
                for question in dataset.questions
                if kind in ("all", question.type) and question.gold
            ]
            if values:
                by_type.setdefault(kind, {})[f"{alpha:.1f}"] = sum(values) / len(values)
    return by_type


def ranked_ids(documents: Sequence[Candidate]) -> list[str]:
    """Return the ids as the data set names its passages, each once."""
    return list(dict.fromkeys(str(d["metadata"].get("_id", d["id"])) for d in documents))


def _ask(work: tuple[Dataset, Question, list[ArmName], Mapping[ArmName, Arm], Bench]) -> QuestionRecord:
    dataset, question, names, arms, bench = work
    results = {}
    # The first search of a question pays for what the others find warm, so the arms take turns at it.
    turn = zlib.crc32(question.id.encode()) % len(names)
    for name in [*names[turn:], *names[:turn]]:
        # An arm must not profit from what the arm before it has embedded.
        load_minilm().forget()
        results[name] = arms[name].run(question, bench)
    record = QuestionRecord(
        dataset=dataset.name,
        id=question.id,
        type=question.type,
        question=question.text,
        user_context=question.user_context,
        history=list(question.history),
        reference=question.reference,
        has_answer=question.has_answer,
        gold=question.gold,
        ranked={name: ranked_ids(results[name].documents) for name in names},
        arms={name: _arm_record(question, results[name]) for name in names},
    )
    if not dataset.passages:
        found = [document for result in results.values() for document in result.documents]
        record["texts"] = {document["id"]: document["text"][:BEGINNING] for document in found}
    return record


def _arm_record(question: Question, result: Result) -> ArmRecord:
    analysis = result.analysis
    record = ArmRecord(
        metrics={},
        ms=result.ms,
        model_calls=result.model_calls,
        rounds=result.rounds,
        tokens=result.tokens,
        route=analysis["type"] if analysis else None,
        probability=round(analysis["probabilities"][analysis["type"]], 6) if analysis else None,
        confidence=round(analysis["confidence"], 6) if analysis else None,
        trace=[_compact(step) for step in result.trace],
    )
    if analysis and analysis["alternatives"]:
        record["routes"] = [analysis["type"], *analysis["alternatives"]]
    if result.answer is not None:
        answer = Answer(result.answer, result.citations, result.abstained, result.documents)
        record["metrics"] = score_answer(question, answer, load_minilm().encode)
        record["answer"] = result.answer
        record["citations"] = result.citations
        record["abstained"] = result.abstained
    return record


def _compact(step: TraceRecord) -> TraceRecord:
    """Keep of a step's candidates what a reader follows: which, in what order, with what scores."""
    if "candidates" not in step:
        return step
    kept = [
        {
            "id": candidate.get("id"),
            "scores": {name: round(score, 4) for name, score in candidate.get("scores", {}).items()},
        }
        for candidate in step["candidates"][:10]
    ]
    return {**step, "candidates": kept}


def _score(dataset: Dataset, records: Sequence[QuestionRecord], settings: RunSettings) -> None:
    # What is relevant among chunks of documents was only known once they were cut.
    gold = {record["id"]: record["gold"] for record in records}
    questions = [replace(question, gold=gold[question.id]) for question in dataset.questions]
    for name in {name for record in records for name in record["arms"]}:
        rankings = {r["id"]: r["ranked"][name] for r in records if name in r["ranked"]}
        scores = score_rankings(questions, rankings, settings.k)
        for record in records:
            if name in record["arms"]:
                metrics = record["arms"][name]["metrics"]
                metrics.update({key: round(value, 6) for key, value in scores[record["id"]].items()})


def _begin(out: Path, datasets: Sequence[Dataset], settings: RunSettings, *, fresh: bool) -> dict[str, Any]:
    """Return what is known of the run in `out`, starting it where there is none."""
    if out.exists() and not out.is_dir():
        raise ConfigurationError(f"--out {str(out)!r} is a file; expected a folder.")
    about: dict[str, Any] = {
        "settings": settings.as_json(),
        "data": {d.name: {"corpus": d.corpus_digest, "questions": d.questions_digest} for d in datasets},
        "code": code_digest(),
    }
    if fresh:
        for name in RUN_FILES:
            (out / name).unlink(missing_ok=True)
    file = out / RUN
    if file.is_file():
        earlier = read_json(file)
        differs = [
            name for name, value in about.items() if name != "data" and earlier.get(name) != _as_read(value)
        ]
        known = earlier.get("data", {})
        differs += [
            f"data of {name}" for name, value in about["data"].items() if known.get(name, value) != value
        ]
        if differs:
            raise ConfigurationError(
                f"{str(out)!r} holds a run made with other {' and '.join(differs)}. "
                "Choose another --out, or pass --fresh to start over there."
            )
        return {**earlier, "data": {**known, **about["data"]}}
    if out.is_dir() and any(out.iterdir()) and not fresh:
        raise ConfigurationError(
            f"{str(out)!r} is not empty and holds no run; choose another --out, or pass --fresh to "
            "write there."
        )
    out.mkdir(parents=True, exist_ok=True)
    about |= {"started": _now(), "machine": describe_machine(), **describe_code()}
    write_json(file, about)
    return about


def code_digest() -> str:
    """Return a digest of the code and the data that decide an answer; reports are left out."""
    digest = hashlib.sha256()
    for package in ("adaptive_rag", "adaptive_rag.graph", "adaptive_rag.nodes"):
        spec = importlib.util.find_spec(package)
        for root in (spec.submodule_search_locations or []) if spec else []:
            for file in sorted(Path(root).rglob("*")):
                parts = file.relative_to(root).parts
                if parts[0] in ("cli", "evaluation", "samples") and file.name not in (
                    "arms.py",
                    "answers.py",
                ):
                    continue
                if file.suffix in (".py", ".md", ".npz", ".json", ".yaml") and file.is_file():
                    digest.update("/".join(parts).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


def describe_code() -> dict[str, str]:
    """Return the version, and the commit where the code lies in a checkout."""
    found = {"version": importlib.metadata.version("adaptive-rag")}
    folder = Path(__file__).parent
    commit = _git(folder, "rev-parse", "--short=12", "HEAD")
    if commit and _git(folder, "ls-files", "--error-unmatch", Path(__file__).name):
        changed = _git(folder, "status", "--porcelain", "--untracked-files=no")
        found["commit"] = commit + (" with changes" if changed else "")
    return found


def describe_machine() -> str:
    """Return the processor, its cores and the Python, in one line."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        names = [
            line.partition(":")[2].strip() for line in info.read_text().splitlines() if "model name" in line
        ]
        model = names[0] if names else model
    return f"{model}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"


def _git(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _check_names(datasets: Sequence[Dataset]) -> None:
    names = [dataset.name for dataset in datasets]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice or not names:
        raise ConfigurationError(
            f"Two data sets are called {twice[0]!r}; results are filed by name, so rename one folder."
            if twice
            else "No data set was given; pass at least one folder."
        )


@contextmanager
def _workers(jobs: int) -> Iterator[Callable[..., Iterator[QuestionRecord]]]:
    if jobs == 1:
        yield map
        return
    with ThreadPoolExecutor(jobs) as pool:
        try:
            yield pool.map
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


@contextmanager
def no_bar(description: str, total: int) -> Iterator[Advance]:
    """Show nothing."""
    yield lambda: None


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float | bool)


def _class_of(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _as_read(value: Any) -> Any:
    """Return a value as it comes back from JSON."""
    return json.loads(json.dumps(value))


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
