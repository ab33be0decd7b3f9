"""Measure the wall time of a question if every chat call takes a fixed time, and that of two other plans.

    python -m benchmarks.latency [--seconds 0.3] [--repeats 5]

The sequential plan is that of the published adaptive-retrieval notebooks: classify, prepare the query, score
2k = 8 candidates with one call each, one after another, and answer. Plain RAG retrieves once and answers. All
plans search the same index (of the sample documents) and call the same server.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
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
    """Answer as the notebooks do, with one call after another; return the number of calls."""
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
    """Retrieve once and answer; return the number of calls."""
    model.invoke(
        "Answer from these passages: " + "\n".join(search(question)[:K]) + f"\n\nQuestion: {question}"
    )
    return 1


def measure(index: str, seconds: float, repeats: int) -> list[dict[str, Any]]:
    """Return a row of the table for every type of question and every plan."""
    rows = []
    with ChatServer(seconds=seconds) as server:
        rag = AdaptiveRAG(index, model="openai:scripted", models={"base_url": server.url}, k=K)
        source = Index.open(index)
        model = load_chat_model("openai:scripted", base_url=server.url, timeout=60)

        def search(query: str) -> list[str]:
            return [candidate["text"] for candidate in source.search([query], limit=2 * K)[0]]

        questions = _read_questions()
        rag.invoke("Warm up?", context={"route": "factual"})
        search("Warm up?")
        for kind in TYPES:
            repeated = (questions[kind] * repeats)[:repeats]
            for name, plan in (("sequential", sequential_plan), ("plain RAG", plain_plan)):
                times = []
                server.requests.clear()
                for question in repeated:
                    started = time.perf_counter()
                    calls = plan(kind, question, search, model)
                    times.append(time.perf_counter() - started)
                rows.append(_row(kind, name, times, calls, calls, _tokens_of(server, len(repeated))))
            times, calls, rounds, tokens = [], 0, 0, 0
            for question in repeated:
                started = time.perf_counter()
                output = rag.invoke(question, context={"route": kind})
                times.append(time.perf_counter() - started)
                calls = max(calls, sum(record.get("calls", 0) for record in output["trace"]))
                rounds = max(rounds, sum(record.get("rounds", 0) for record in output["trace"]))
                tokens += sum(record.get("tokens", {}).get("input", 0) for record in output["trace"])
            rows.append(_row(kind, "Adaptive RAG", times, calls, rounds, tokens // len(repeated)))
    return rows


def _read_questions() -> dict[str, list[str]]:
    """Return the sample questions of each type."""
    questions: dict[str, list[str]] = {kind: [] for kind in TYPES}
    for line in (SAMPLES / "questions.jsonl").read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        kind = entry.get("type", "").lower()
        if kind in questions:
            questions[kind].append(entry["question"])
    return questions


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
    """Return the mean number of words that a question's calls send."""
    messages = [message for call in server.calls for message in call.body["messages"]]
    return sum(len(str(message["content"]).split()) for message in messages) // questions


def main() -> None:
    """Measure all plans and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=0.3, help="time of each chat call")
    parser.add_argument("--repeats", type=int, default=5, help="questions of each type")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        index = str(Path(folder) / "index")
        Index.build([str(SAMPLES / "documents")], index)
        _print(measure(index, arguments.seconds, arguments.repeats))


def _print(rows: list[dict[str, Any]]) -> None:
    print("| type | plan | seconds | calls | rounds | tokens read | times faster |")
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        base = next(r for r in rows if r["type"] == row["type"] and r["plan"] == "sequential")
        print(
            f"| {row['type']} | {row['plan']} | {row['seconds']:.2f} | {row['calls']} | {row['rounds']} "
            f"| {row['tokens']} | {base['seconds'] / row['seconds']:.1f} |"
        )


if __name__ == "__main__":
    main()
