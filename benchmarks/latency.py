"""Measures the wall time of a question where every chat call takes a fixed time, beside two reference plans.

    python -m benchmarks.latency                 # a table: ours, the sequential plan, plain RAG
    python -m benchmarks.latency --batch         # 100 questions at once, at one second a call
    python -m benchmarks.latency --memory 2000   # resident memory over many questions

The sequential plan is that of the published adaptive-retrieval notebooks: classify, prepare the query,
score 2k = 8 candidates one call after another, answer. Plain RAG retrieves once and answers. All plans
search the same index (the sample documents) and call the same server.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from adaptive_rag import AdaptiveRAG
from adaptive_rag.index import Index
from adaptive_rag.models.chat import load_chat_model
from benchmarks.chat_server import ChatServer

TYPES = ("factual", "analytical", "opinion", "contextual")
SAMPLES = Path(__file__).parents[1] / "adaptive_rag" / "samples"
K = 4


def sequential_plan(kind: str, question: str, search: Callable[[str], list[str]], model: Any) -> int:
    """Answer as the notebooks do, one call after another, and return the number of calls."""
    calls = 0

    def call(task: str) -> str:
        nonlocal calls
        calls += 1
        return str(model.invoke(f"{task}\n\nQuestion: {question}").text)

    call("Classify this question.")
    if kind == "contextual":
        call("Infer the asker's context.")
        query = call("Reformulate the question with the context.") and question
    else:
        query = call("Prepare the search query, the sub-questions or the viewpoints.") and question
    passages = search(query)[: 2 * K]
    if kind in ("factual", "contextual"):
        for passage in passages:
            call(f"Score this passage from 0 to 10: {passage}")
    else:
        call("Choose the passages: " + "\n".join(passages))
    call("Answer from these passages: " + "\n".join(passages[:K]))
    return calls


def plain_plan(kind: str, question: str, search: Callable[[str], list[str]], model: Any) -> int:
    """Retrieve once and answer."""
    model.invoke(
        "Answer from these passages: " + "\n".join(search(question)[:K]) + f"\n\nQuestion: {question}"
    )
    return 1


def measure(index: str, seconds: float, repeats: int) -> list[dict[str, Any]]:
    """Time every plan on every type of question."""
    rows = []
    with ChatServer(seconds=seconds) as server:
        rag = AdaptiveRAG(index, model="openai:scripted", models={"base_url": server.url}, k=K)
        source = Index.open(index)
        model = load_chat_model("openai:scripted", base_url=server.url, timeout=60)

        def search(query: str) -> list[str]:
            return [candidate["text"] for candidate in source.search([query], limit=2 * K)[0]]

        questions = _questions()
        rag.invoke("Warm up?", context={"route": "factual"})
        search("Warm up?")
        for kind in TYPES:
            asked = (questions[kind] * repeats)[:repeats]
            for name, plan in (("sequential", sequential_plan), ("plain RAG", plain_plan)):
                times = []
                server.requests.clear()
                for question in asked:
                    started = time.perf_counter()
                    calls = plan(kind, question, search, model)
                    times.append(time.perf_counter() - started)
                rows.append(_row(kind, name, times, calls, calls, _tokens_of(server, len(asked))))
            times, calls, rounds, tokens = [], 0, 0, 0
            for question in asked:
                started = time.perf_counter()
                output = rag.invoke(question, context={"route": kind})
                times.append(time.perf_counter() - started)
                calls = max(calls, sum(record.get("calls", 0) for record in output["trace"]))
                rounds = max(rounds, sum(record.get("rounds", 0) for record in output["trace"]))
                tokens += sum(sum(record.get("tokens", {}).values()) for record in output["trace"])
            rows.append(_row(kind, "Adaptive RAG", times, calls, rounds, tokens // len(asked)))
    return rows


async def measure_batch(index: str, n: int, seconds: float) -> tuple[float, float]:
    """Return the time of one question and of n at once."""
    questions = [q for group in zip(*_questions().values(), strict=False) for q in group]
    with _server_apart(seconds) as url:
        rag = AdaptiveRAG(index, model="openai:scripted", models={"base_url": url}, k=K)
        await rag.ainvoke("Warm up?", context={"route": "factual"})
        started = time.perf_counter()
        await rag.ainvoke(questions[0], context={"route": "factual"})
        one = time.perf_counter() - started
        started, cpu = time.perf_counter(), time.process_time()
        outputs = await rag.abatch([questions[i % len(questions)] for i in range(n)])
        many = time.perf_counter() - started
        cpu = time.process_time() - cpu
    by_model = sum(
        not any(e["skill"] == "generate" for record in output["trace"] for e in record.get("stand_ins", ()))
        for output in outputs
    )
    print(f"{by_model} of {n} answers were written by the model; {cpu / n * 1000:.0f} ms of CPU a question")
    return one, many


def measure_memory(index: str, n: int) -> list[tuple[int, float]]:
    """Return the resident memory, in MB, after every tenth of n questions."""
    questions = [q for group in _questions().values() for q in group]
    seen = []
    with ChatServer() as server:
        rag = AdaptiveRAG(index, model="openai:scripted", models={"base_url": server.url}, k=K)
        for number in range(1, n + 1):
            rag.invoke(questions[number % len(questions)])
            server.requests.clear()
            if number % max(1, n // 10) == 0:
                seen.append((number, _resident()))
                print(f"{number:>6} questions  {seen[-1][1]:7.1f} MB", flush=True)
    return seen


@contextmanager
def _server_apart(seconds: float) -> Iterator[str]:
    """Serve in a process of its own, as real servers do, so that it takes no time from the questions."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "benchmarks.chat_server", "--seconds", str(seconds), "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        process.stdout.readline()
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait()


def _questions() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {kind: [] for kind in TYPES}
    for line in (SAMPLES / "questions.jsonl").read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        kind = entry.get("type", "").lower()
        if kind in found:
            found[kind].append(entry["question"])
    return found


def _row(kind: str, plan: str, times: list[float], calls: int, rounds: int, tokens: int) -> dict[str, Any]:
    return {
        "type": kind,
        "plan": plan,
        "seconds": statistics.median(times),
        "calls": calls,
        "rounds": rounds,
        "tokens": tokens,
    }


def _tokens_of(server: ChatServer, questions: int) -> int:
    words = sum(len(str(m["content"]).split()) for r in server.calls for m in r.body["messages"])
    return words // questions


def _resident() -> float:
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * resource.getpagesize() / 1e6
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def main() -> None:
    """Measure what is asked for and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, help="time of each chat call (default 0.3; 1 with --batch)")
    parser.add_argument("--repeats", type=int, default=5, help="questions of each type")
    parser.add_argument(
        "--batch", nargs="?", type=int, const=100, metavar="N", help="ask N questions at once"
    )
    parser.add_argument("--memory", type=int, metavar="N", help="ask N questions one after another")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        index = str(Path(folder) / "index")
        Index.build([str(SAMPLES / "documents")], index)
        if arguments.batch:
            one, many = asyncio.run(measure_batch(index, arguments.batch, arguments.seconds or 1.0))
            print(
                f"one question {one:.2f} s, {arguments.batch} at once {many:.2f} s ({many / one:.2f} times)"
            )
        elif arguments.memory:
            measure_memory(index, arguments.memory)
        else:
            _print(measure(index, arguments.seconds or 0.3, arguments.repeats))


def _print(rows: list[dict[str, Any]]) -> None:
    print("| type | plan | seconds | calls | rounds | tokens | times faster |")
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        base = next(r for r in rows if r["type"] == row["type"] and r["plan"] == "sequential")
        print(
            f"| {row['type']} | {row['plan']} | {row['seconds']:.2f} | {row['calls']} | {row['rounds']} "
            f"| {row['tokens']} | {base['seconds'] / row['seconds']:.1f} |"
        )


if __name__ == "__main__":
    main()
