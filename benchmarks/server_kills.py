"""Kills a server, and then its worker, at 30 moments each of uploading and indexing; counts what is lost.

    python -m benchmarks.server_kills [--moments 30]

After each kill the server is started again. At the end every document whose upload was answered must be there
once, with the text that was sent last, its passages in the index once, and every job at an end that says so.
"""

from __future__ import annotations

import argparse
import random
import socket
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import httpx

from tests.server.processes import ServerProcess, wait_for

NAMES = 12


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


def main() -> None:
    """Kill, start again, and compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--moments", type=int, default=30)
    moments = parser.parse_args().moments
    chance = random.Random(0)
    with tempfile.TemporaryDirectory() as folder, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        server = ServerProcess(Path(folder), port)
        server.start()
        server.http.post("/collections", json={"name": "kills"})
        sender = Sender(server, chance)
        sender.start()
        try:
            _torment(server, sender, chance, moments)
        finally:
            server.stop()


def _torment(server: ServerProcess, sender: Sender, chance: random.Random, moments: int) -> None:
    for victim in ("worker", "server"):
        for moment in range(moments):
            time.sleep(chance.uniform(0.2, 2))
            _kill(server, victim)
            print(f"{victim} killed, {moment + 1} of {moments}", flush=True)
    sender.ended.set()
    sender.join()
    wait_for(lambda: all(server.job(job)["ended"] for job in sender.jobs), "all jobs have ended", 600)
    _compare(server, sender)


def _kill(server: ServerProcess, victim: str) -> None:
    if victim == "server":
        server.kill()
        server.start()
        return
    server.kill_worker()


def _compare(server: ServerProcess, sender: Sender) -> None:
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


if __name__ == "__main__":
    main()
