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
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from adaptive_rag import AdaptiveRAG
from adaptive_rag.index import Index
from adaptive_rag.models.chat import load_chat_model
from adaptive_rag.samples import questions_path, samples_path
from adaptive_rag.state import ROUTED_TYPES, TraceRecord
from benchmarks.chat_server import ChatServer

K = 4


class Cost(NamedTuple):
    """The chat calls of one question."""

    calls: int
    rounds: int  # calls made one after another
    tokens: int  # sent to the model; words for the reference plans


def sequential_plan(kind: str, question: str, search: Callable[[str], list[str]], model: Any) -> None:
    """Answer as the notebooks do, with one call after another."""

    def call(task: str) -> None:
        model.invoke(f"{task}\n\nQuestion: {question}")

    call("Classify this question.")
    if kind == "contextual":
        call("Infer the asker's context.")
        call("Reformulate the question with the context.")
    else:
        call("Prepare the search query, the sub-questions or the viewpoints.")
    # The scripted replies are no queries, so the question itself is searched for.
    passages = search(question)[: 2 * K]
    if kind in ("factual", "contextual"):
        for passage in passages:
            call(f"Score this passage from 0 to 10: {passage}")
    else:
        call("Choose the passages: " + "\n".join(passages))
    call("Answer from these passages: " + "\n".join(passages[:K]))


def plain_plan(kind: str, question: str, search: Callable[[str], list[str]], model: Any) -> None:
    """Retrieve once and answer."""
    passages = "\n".join(search(question)[:K])
    model.invoke(f"Answer from these passages: {passages}\n\nQuestion: {question}")


def measure(index: str, seconds: float, repeats: int) -> list[dict[str, Any]]:
    """Return a row of the table for every type of question and every plan."""
    rows = []
    with ChatServer(seconds=seconds) as server:
        rag = AdaptiveRAG(index, model="openai:scripted", models={"base_url": server.url}, k=K)
        source = Index.open(index)
        model = load_chat_model("openai:scripted", base_url=server.url, timeout=60)

        def search(query: str) -> list[str]:
            return [candidate["text"] for candidate in source.search([query], limit=2 * K)[0]]

        plans: dict[str, Callable[[str, str], Any]] = {
            "sequential": lambda kind, question: sequential_plan(kind, question, search, model),
            "plain RAG": lambda kind, question: plain_plan(kind, question, search, model),
            "Adaptive RAG": lambda kind, question: rag.invoke(question, context={"route": kind}),
        }
        questions = _read_questions()
        rag.invoke("Warm up?", context={"route": "factual"})
        search("Warm up?")
        for kind in ROUTED_TYPES:
            for name, plan in plans.items():
                times, costs = [], []
                for question in (questions[kind] * repeats)[:repeats]:
                    server.requests.clear()
                    started = time.perf_counter()
                    output = plan(kind, question)
                    times.append(time.perf_counter() - started)
                    costs.append(_cost_of_trace(output["trace"]) if output else _cost_of_calls(server))
                rows.append({
                    "type": kind,
                    "plan": name,
                    "seconds": statistics.median(times),
                    "calls": max(cost.calls for cost in costs),
                    "rounds": max(cost.rounds for cost in costs),
                    "tokens": sum(cost.tokens for cost in costs) // len(costs),
                })  # fmt: skip
    return rows


def _read_questions() -> dict[str, list[str]]:
    """Return the sample questions of each type."""
    questions: dict[str, list[str]] = {kind: [] for kind in ROUTED_TYPES}
    for line in questions_path().read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        kind = entry.get("type", "").lower()
        if kind in questions:
            questions[kind].append(entry["question"])
    return questions


def _cost_of_trace(trace: Sequence[TraceRecord]) -> Cost:
    return Cost(
        calls=sum(record.get("calls", 0) for record in trace),
        rounds=sum(record.get("rounds", 0) for record in trace),
        tokens=sum(record.get("tokens", {}).get("input", 0) for record in trace),
    )


def _cost_of_calls(server: ChatServer) -> Cost:
    """Return the cost of the calls that the server got, each of which waited for the one before it."""
    calls = server.calls
    messages = [message for call in calls for message in call.body["messages"]]
    words = sum(len(str(message["content"]).split()) for message in messages)
    return Cost(len(calls), len(calls), words)


def main() -> None:
    """Measure all plans and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=0.3, help="time of each chat call")
    parser.add_argument("--repeats", type=int, default=5, help="questions of each type")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        index = str(Path(folder) / "index")
        Index.build(samples_path(), index)
        _print_table(measure(index, arguments.seconds, arguments.repeats))


def _print_table(rows: list[dict[str, Any]]) -> None:
    print("| type | plan | seconds | calls | rounds | tokens read | times faster |")
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        baseline = next(r for r in rows if r["type"] == row["type"] and r["plan"] == "sequential")
        print(
            f"| {row['type']} | {row['plan']} | {row['seconds']:.2f} | {row['calls']} | {row['rounds']} "
            f"| {row['tokens']} | {baseline['seconds'] / row['seconds']:.1f} |"
        )


if __name__ == "__main__":
    main()
