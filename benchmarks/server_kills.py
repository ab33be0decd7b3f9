"""Kills a server, and its worker, while documents come in and answers are streamed; counts what is lost.

    python -m benchmarks.server_kills [--moments 30] [--streaming 15]

The worker and then the server are killed at 30 moments each of uploading and indexing, and the server at more
while three threads have their questions answered by a scripted model. After each kill the server is started
again. At the end every document whose upload was answered must be there once, with the text that was sent
last, its passages in the index once, and every job at an end that says so. In the threads every answered
question must stand once with its answer, and no question without one.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import httpx

from tests.server.processes import ServerProcess, wait_for

NAMES = 12
THREADS = 3
MODEL_SECONDS = 0.5  # of each call: most kills then fall into an answer


def text_of(name: str, version: int) -> str:
    """Return a text that names its document and its version."""
    return " ".join(f"Version {version} of {name} has its mark at {at} metres." for at in range(200))


class Sender(threading.Thread):
    """Uploads documents, one after the other, and keeps what was answered and what was not."""

    def __init__(self, server: ServerProcess, chance: random.Random) -> None:
        super().__init__(daemon=True)
        self._server, self._chance = server, chance
        self.answered = dict[str, int]()
        # sent after the last answer: it may be there or not
        self.unanswered = dict[str, set[int]]()
        self.jobs = list[str]()
        self.ended = threading.Event()

    def run(self) -> None:
        """Upload until it is told to end."""
        version = 0
        while not self.ended.is_set():
            version += 1
            name = f"{self._chance.randrange(NAMES)}.md"
            try:
                self.jobs.append(self._server.upload(name, text_of(name, version)))
            except httpx.TransportError:
                self.unanswered.setdefault(name, set()).add(version)
                time.sleep(0.2)
                continue
            self.answered[name] = version
            self.unanswered.pop(name, None)
            time.sleep(self._chance.random())


class Asker(threading.Thread):
    """Asks one question after the other in a thread, and keeps which were answered and how."""

    def __init__(self, server: ServerProcess) -> None:
        super().__init__(daemon=True)
        self._http = server.http
        self.place = f"/threads/{self._http.post('/collections/kills/threads', json={}).json()['id']}"
        self.answered = dict[str, str]()
        self.broken_off = Counter[str]()
        self.refused = Counter[str]()
        self.is_told = False
        self.ended = threading.Event()

    def run(self) -> None:
        """Ask until it is told to end."""
        number = 0
        while not self.ended.is_set():
            number += 1
            question = f"At how many metres is the mark of version {number}?"
            last = "none"
            try:
                asked = {"question": question}
                with self._http.stream("POST", f"{self.place}/ask/events", json=asked) as answer:
                    for line in answer.iter_lines():
                        name, _, content = line.partition(": ")
                        if name == "event":
                            last, self.is_told = content, True
                        elif name == "data" and last == "answer":
                            self.answered[question] = json.loads(content)["answer"]
            except httpx.ConnectError:  # it is being started
                time.sleep(0.1)
                continue
            except httpx.TransportError:
                self.broken_off[last] += 1
                time.sleep(0.2)
                continue
            if question not in self.answered:
                self.refused[f"{answer.status_code}, last event: {last}"] += 1


def main() -> None:
    """Kill, start again, and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--moments", type=int, default=30)
    parser.add_argument("--streaming", type=int, default=15)
    arguments = parser.parse_args()
    chance = random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        server = ServerProcess(Path(folder), MODEL_SECONDS)
        server.start()
        server.http.post("/collections", json={"name": "kills"})
        try:
            _torment_uploads(server, chance, arguments.moments)
            _torment_answers(server, chance, arguments.streaming)
        finally:
            server.stop()


def _torment_uploads(server: ServerProcess, chance: random.Random, moments: int) -> None:
    sender = Sender(server, chance)
    sender.start()
    for kill in (server.kill_worker, partial(_kill_server, server)):
        for _ in range(moments):
            time.sleep(chance.uniform(0.2, 2))
            kill()
    sender.ended.set()
    sender.join()
    wait_for(lambda: all(server.job(job)["ended"] for job in sender.jobs), "all jobs have ended", 600)
    _compare_documents(server, sender)


def _torment_answers(server: ServerProcess, chance: random.Random, moments: int) -> None:
    askers = [Asker(server) for _ in range(THREADS)]
    for asker in askers:
        asker.start()
    for _ in range(moments):
        for asker in askers:
            asker.is_told = False
        # A server that has just started takes a while until the first event.
        wait_for(lambda: any(asker.is_told for asker in askers), "an answer is streamed", 120)
        time.sleep(chance.uniform(0, 3))
        _kill_server(server)
    for asker in askers:
        asker.ended.set()
    for asker in askers:
        asker.join()
    _compare_turns(server, askers)


def _kill_server(server: ServerProcess) -> None:
    server.kill()
    server.start()


def _compare_documents(server: ServerProcess, sender: Sender) -> None:
    texts = server.texts()
    wrong = []
    for name, version in sender.answered.items():
        may_be = {version, *sender.unanswered.get(name, ())}
        if texts.get(name) not in {text_of(name, each) for each in may_be}:
            wrong.append(name)
    twice = [name for name in texts if name not in sender.answered and name not in sender.unanswered]
    held, stored = server.indexed_chunks()
    states = Counter(server.job(job)["state"] for job in sender.jobs)
    print(f"{len(sender.answered)} documents answered for, {len(wrong)} lost or wrong, {len(twice)} twice")
    print(f"{held} passages of documents, {stored} in the index")
    print(f"{len(sender.jobs)} jobs: {', '.join(f'{count} {state}' for state, count in states.items())}")


def _compare_turns(server: ServerProcess, askers: Sequence[Asker]) -> None:
    lost = twice = half = unasked = 0
    for asker in askers:
        turns = server.http.get(asker.place).json()["turns"]
        counts = Counter(turn["question"] for turn in turns)
        kept = {turn["question"]: turn["answer"] for turn in turns}
        lost += sum(kept.get(question) != answer for question, answer in asker.answered.items())
        twice += sum(count > 1 for count in counts.values())
        half += sum(not (turn["question"] and turn["answer"]) for turn in turns)
        unasked += len(kept.keys() - asker.answered.keys())
    answered = sum(len(asker.answered) for asker in askers)
    broken_off = sum((asker.broken_off for asker in askers), Counter[str]())
    refused = sum((asker.refused for asker in askers), Counter[str]())
    print(f"{answered} turns answered, {lost} lost or wrong, {twice} twice, {half} half")
    print(f"{broken_off.total()} streams broken off, by their last event: {dict(broken_off)}")
    print(f"{unasked} of these are whole in their thread; other answers: {dict(refused) or 'none'}")


if __name__ == "__main__":
    main()
