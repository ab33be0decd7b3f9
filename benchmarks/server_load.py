"""How the web server holds up when many people ask at once.

    python -m benchmarks.server_load [--seconds 60] [--peer-seconds 60] [--people 100] [--think 10 0]
                                     [--chunks 10000] [--hostile] [--model] [--plain] [--studio]

A server runs in a process of its own over made chunks (those of benchmarks.warm_question). First one person
asks alone; then all ask, each reading for about `--think` seconds between two questions (an exponential
distribution; 0 is the closed loop, in which everybody asks again at once). It prints errors, the refusals
(429) and whether each had Retry-After, the median and the 95th percentile beside those of the person
who asked alone, and the server's memory at the start and at the end of each fifth of the time. Each person is
a user of their own.

--hostile: the same once more beside another user, who asks six questions of 20,000 letters without a blank
at once, and again when one is answered or as `Retry-After` says; the others' 95th percentile beside that
without this user, both at the server's own rates.
--model: with a scripted chat model that takes a second for each call, all ask once; the time of all answers
beside what the number of questions that run at once allows. --plain and --studio: the same load, for
`--peer-seconds`, on a plain FastAPI endpoint around `ainvoke`, and on LangGraph's development server.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import string
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psutil
from sqlalchemy.orm import Session

from adaptive_rag.samples import questions_path
from adaptive_rag.server.access import digest_of
from adaptive_rag.server.database import open_database
from adaptive_rag.server.folders import folder_of
from adaptive_rag.server.roles import Role
from adaptive_rag.server.settings import read_server_settings
from adaptive_rag.server.tables import Collection, Membership, Token, User
from benchmarks.chat_server import ChatServer
from benchmarks.warm_question import make_index

PORT = 18_432
URL = f"http://localhost:{PORT}"
ALONE = 20  # questions of the one person who asks alone
FIFTHS = 5
HOSTILE, AT_ONCE, LETTERS = "hostile", 6, 20_000
UNBOUNDED = "1000000/minute"
RUNNING = 32  # questions that the server answers at once
PLAIN = """
import sys, uvicorn
from fastapi import FastAPI
from adaptive_rag import AdaptiveRAG
rag, app = AdaptiveRAG(sys.argv[1]), FastAPI()
@app.post("/ask")
async def ask(asked: dict) -> dict:
    output = await rag.ainvoke({"question": asked["question"]})
    return {"answer": output["answer"]}
uvicorn.run(app, port=int(sys.argv[2]), log_level="warning")
"""
Body = Callable[[str], dict[str, Any]]


@dataclass
class Target:
    """A server under load: its process, where it is asked, and how."""

    name: str
    process: psutil.Process
    path: str
    body: Body
    users: Sequence[str] = ()
    """The tokens of the users who may ask; without them anybody may."""

    def headers(self, person: int) -> dict[str, str]:
        """Return what a person's requests carry."""
        return {"Authorization": f"Bearer {self.users[person % len(self.users)]}"} if self.users else {}

    def megabytes(self) -> float:
        """Return its memory, with that of its children."""
        family = [self.process, *self.process.children(recursive=True)]
        return sum(member.memory_info().rss for member in family) / 1e6


@dataclass
class Seen:
    """What came of the questions."""

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    without_retry_after: int = 0
    megabytes: list[float] = field(default_factory=list)

    def ms(self, percent: float) -> float:
        """Return a percentile of the answers' times in milliseconds."""
        return 1000 * float(np.percentile(self.seconds, percent)) if self.seconds else float("nan")


async def ask(
    client: httpx.AsyncClient, target: Target, question: str, seen: Seen, headers: Mapping[str, str]
) -> float:
    """Ask once; return how long to wait before asking again."""
    started = time.perf_counter()
    try:
        answer = await client.post(target.path, json=target.body(question), headers=headers)
    except httpx.HTTPError as error:
        seen.statuses[type(error).__name__] += 1
        return 1.0
    seen.statuses[str(answer.status_code)] += 1
    if answer.status_code == 200:
        seen.seconds.append(time.perf_counter() - started)
        return 0.0
    seen.without_retry_after += "retry-after" not in answer.headers
    return float(answer.headers.get("retry-after", 1))


async def load(
    target: Target, questions: list[str], people: int, think: float, seconds: float, *, hostile: bool = False
) -> Seen:
    """Let people ask until the time is over, and look at the server's memory; who was asked to wait waits."""
    seen, end, draw = Seen(), time.monotonic() + seconds, random.Random(0)
    limits = httpx.Limits(max_connections=None)

    async def person(client: httpx.AsyncClient, number: int) -> None:
        await asyncio.sleep(draw.random() * think)
        while time.monotonic() < end:
            wait = await ask(client, target, draw.choice(questions), seen, target.headers(number))
            await asyncio.sleep(wait + (draw.expovariate(1 / think) if think else 0))

    async def attack(client: httpx.AsyncClient) -> None:
        headers, unseen = {"Authorization": f"Bearer {HOSTILE}"}, Seen()
        while time.monotonic() < end:
            letters = "".join(draw.choices(string.ascii_lowercase, k=LETTERS))
            await asyncio.sleep(await ask(client, target, letters, unseen, headers))

    async def look() -> None:
        for _ in range(FIFTHS):
            await asyncio.sleep(seconds / FIFTHS)
            seen.megabytes.append(target.megabytes())

    async with httpx.AsyncClient(base_url=URL, limits=limits, timeout=150) as client:
        attacks = [attack(client) for _ in range(AT_ONCE if hostile else 0)]
        await asyncio.gather(look(), *attacks, *(person(client, number) for number in range(people)))
    return seen


async def alone(target: Target, questions: list[str]) -> Seen:
    """Ask one question after the other; the first few warm the server."""
    warm, seen = Seen(), Seen()
    async with httpx.AsyncClient(base_url=URL, timeout=150) as client:
        for number, question in enumerate(questions[: ALONE + 5]):
            await ask(client, target, question, warm if number < 5 else seen, target.headers(0))
    return seen


@contextmanager
def running(
    name: str, command: list[str], folder: Path, path: str, body: Body, users: Sequence[str] = (), **more: str
) -> Iterator[Target]:
    """Run a server, and wait until it listens."""
    environment = os.environ | {"PYTHONPATH": os.getcwd()} | more
    with (folder / f"{name.replace(' ', '-')}.log").open("w") as log:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
    try:
        for _ in range(1200):
            try:
                httpx.get(f"http://localhost:{PORT}/", timeout=5)
                break
            except httpx.TransportError:
                time.sleep(0.1)
        yield Target(name, psutil.Process(process.pid), path, body, users)
    finally:
        process.terminate()
        process.wait(60)


@contextmanager
def our_server(folder: Path, index: Path, people: int, **more: str) -> Iterator[Target]:
    """Run `adaptive-rag serve` with one collection and its readers."""
    settings = read_server_settings(data=folder / "data")
    engine = open_database(settings)
    users = [f"person-{number}" for number in range(people)]
    with Session(engine) as db:
        row = db.query(Collection).first() or Collection(name="made")
        if row.id is None:
            db.add(row)
            for name in (*users, HOSTILE):
                user = User(name=name)
                db.add(user)
                db.flush()
                db.add(Token(user_id=user.id, digest=digest_of(name), name="load", role=Role.READER))
                db.add(Membership(collection_id=row.id, user_id=user.id, role=Role.READER))
        db.commit()
        place = folder_of(settings.data, row.id).index
    engine.dispose()
    place.parent.mkdir(parents=True, exist_ok=True)
    if not place.exists():
        place.symlink_to(index)
    command = [
        sys.executable,
        "-m",
        "adaptive_rag",
        "serve",
        "--port",
        str(PORT),
        "--data",
        str(settings.data),
    ]
    more = {"ADAPTIVE_RAG_SERVER__WORKERS": "0"} | more
    path = "/api/v1/collections/made/ask"
    with running(
        "adaptive-rag serve", command, folder, path, lambda text: {"question": text}, users, **more
    ) as target:
        yield target


def plain_endpoint(folder: Path, index: Path) -> Any:
    """Run a plain endpoint around `ainvoke`."""
    command = [sys.executable, "-c", PLAIN, str(index), str(PORT)]
    return running("plain FastAPI", command, folder, "/ask", lambda text: {"question": text})


def development_server(folder: Path, index: Path) -> Any:
    """Run `langgraph dev` as this project configures it."""
    served = json.loads(Path("langgraph.json").read_text()) | {"dependencies": [os.getcwd()]}
    (folder / "langgraph.json").write_text(json.dumps(served))
    command = [
        "langgraph",
        "dev",
        "--port",
        str(PORT),
        "--no-browser",
        "--no-reload",
        "--n-jobs-per-worker",
        "10",
    ]
    body: Body = lambda text: {"assistant_id": "adaptive_rag", "input": {"question": text}}  # noqa: E731
    return running(
        "langgraph dev", command, folder, "/runs/wait", body, ADAPTIVE_RAG_INDEX=str(index),
        LANGGRAPH_NO_VERSION_CHECK="1", LANGGRAPH_CLI_NO_ANALYTICS="1",
    )  # fmt: skip


def measure(
    target: Target,
    questions: list[str],
    people: int,
    thinks: list[float],
    seconds: float,
    *,
    hostile: bool = False,
) -> None:
    """Print what one person and many see."""
    single = asyncio.run(alone(target, questions))
    before = target.megabytes()
    print(
        f"{target.name}: alone p50 {single.ms(50):.0f} ms, p95 {single.ms(95):.0f} ms, "
        f"{dict(single.statuses)}"
    )
    for think in thinks:
        seen = asyncio.run(load(target, questions, people, think, seconds))
        print(
            f"  {people} people, think {think:g} s, {seconds:g} s: "
            f"{dict(seen.statuses)}, "
            f"{len(seen.seconds) / seconds:.1f} answers/s, p50 {seen.ms(50):.0f} ms, "
            f"p95 {seen.ms(95):.0f} ms = {seen.ms(95) / single.ms(50):.1f}x alone; "
            f"without Retry-After {seen.without_retry_after}; "
            f"memory {' -> '.join(f'{each:.0f}' for each in (before, *seen.megabytes))} MB",
            flush=True,
        )
        if hostile:
            beside = asyncio.run(load(target, questions, people, think, seconds, hostile=True))
            print(
                f"    beside a hostile reader: {dict(beside.statuses)}, p50 {beside.ms(50):.0f} ms, "
                f"p95 {beside.ms(95):.0f} ms = {beside.ms(95) / seen.ms(95):.1f}x without; "
                f"memory {beside.megabytes[-1]:.0f} MB",
                flush=True,
            )


def measure_model(folder: Path, index: Path, questions: list[str], people: int) -> None:
    """Print the time of everybody's one answer with a model that takes a second a call."""
    with ChatServer(seconds=1.0) as model:
        more = {
            "ADAPTIVE_RAG_MODEL": "openai:scripted",
            "OPENAI_BASE_URL": model.url,
            "OPENAI_API_KEY": "scripted",
            "ADAPTIVE_RAG_SERVER__MAX_RUNNING": str(RUNNING),
            "ADAPTIVE_RAG_SERVER__RATE": UNBOUNDED,
        }  # fmt: skip
        with our_server(folder, index, people, **more) as target:
            single = asyncio.run(alone(target, questions[:8]))
            started, seen = time.perf_counter(), Seen()

            async def everybody() -> None:
                limits = httpx.Limits(max_connections=None)
                async with httpx.AsyncClient(base_url=URL, limits=limits, timeout=150) as client:
                    await asyncio.gather(
                        *(
                            ask(client, target, questions[at % len(questions)], seen, target.headers(at))
                            for at in range(people)
                        )
                    )

            asyncio.run(everybody())
            took, each = time.perf_counter() - started, single.ms(50) / 1000
    allowed = -(-people // RUNNING) * each
    print(
        f"with a model of 1 s: alone {each:.2f} s; {people} at once {took:.2f} s, {dict(seen.statuses)}; "
        f"{RUNNING} at a time allow {allowed:.2f} s = {took / allowed:.2f}x"
    )


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--peer-seconds", type=float, default=60)
    parser.add_argument("--people", type=int, default=100)
    parser.add_argument("--think", type=float, nargs="+", default=[10.0, 0.0])
    parser.add_argument("--chunks", type=int, default=10_000)
    for name in ("hostile", "model", "plain", "studio"):
        parser.add_argument(f"--{name}", action="store_true")
    arguments = parser.parse_args()
    lines = questions_path().read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line)["question"] for line in lines]
    peers = arguments.people, arguments.think, arguments.peer_seconds
    whole = arguments.people, arguments.think, arguments.seconds
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        index = folder / "kb"
        make_index(index, arguments.chunks)
        # Who asks again at once would be asked to wait; with a hostile user that is what is measured.
        unbounded = {} if arguments.hostile else {"ADAPTIVE_RAG_SERVER__RATE": UNBOUNDED}
        with our_server(folder, index, arguments.people, **unbounded) as target:
            measure(target, questions, *whole, hostile=arguments.hostile)
        if arguments.plain:
            with plain_endpoint(folder, index) as target:
                measure(target, questions, *peers)
        if arguments.studio:
            with development_server(folder, index) as target:
                measure(target, questions, *peers)
        if arguments.model:
            measure_model(folder, index, questions, arguments.people)


if __name__ == "__main__":
    main()
