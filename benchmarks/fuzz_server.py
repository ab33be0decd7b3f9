"""Send a running server requests that schemathesis makes from its OpenAPI document, right and wrong ones.

    python -m benchmarks.fuzz_server [--minutes 20] [--seed 1]

A server runs in a process of its own over two documents, and its admin asks, so that every door is open. A
status that is 5xx or not in the document is a failure. An operation whose path has names in it is tried
twice: with names of what is there, and with made-up ones; what deletes, with made-up ones alone, since the
other operations would have nothing to work on. /readyz is left out: it says 503 where a part is missing. It
ends with exit status 1 where an operation failed, was never tried, or where the server is gone.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from itertools import count
from pathlib import Path
from typing import Any

import httpx

PORT = 18_431
URL = f"http://localhost:{PORT}"
PASSWORD = "of the admin who asks"
LEFT_OUT = "GET /readyz"
LONGEST_RUN = 120  # seconds for one operation; most take 5
LONGEST = {"maxLength": 300, "maxItems": 5}
DOCUMENTS = {
    "ferry.md": "# Ferry\n\nThe ferry to Grauholm leaves at 7:45 from the east quay.\n",
    "tides.md": "# Tides\n\nThe highest tide of 1911 stood at 6.2 metres above the mark.\n",
}


def main() -> None:
    """Serve, make something of each kind, and fuzz."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"PYTHONPATH": os.getcwd(), "ADAPTIVE_RAG_SERVER__RATE": "1000000/minute"}
        command = [sys.executable, "-m", "adaptive_rag", "serve", "--port", str(PORT), "--data", "data"]
        server = subprocess.Popen(command, cwd=folder, env=environment)
        try:
            token, known = _fill()
            operations = _write_document(Path(folder), known)
            failed = _fuzz(Path(folder), operations, token, arguments.minutes, arguments.seed)
            is_alive = httpx.get(f"{URL}/readyz", timeout=30).status_code == 200
        finally:
            server.terminate()
            server.wait(60)
    sys.exit(int(failed > 0 or not is_alive))


def _fill() -> tuple[str, dict[str, Any]]:
    """Return an admin's token, and by the names of parameters what is there: a collection, a thread, ..."""
    with httpx.Client(base_url=f"{URL}/api/v1", headers={"Origin": URL}, timeout=60) as client:
        for _ in range(600):
            try:
                client.get("/session")
                break
            except httpx.TransportError:
                time.sleep(0.1)

        def post(path: str, **sent: Any) -> Any:
            return client.post(path, **sent).raise_for_status().json()

        post("/users", json={"name": "root", "password": PASSWORD, "is_admin": True})
        post("/session", json={"name": "root", "password": PASSWORD})
        token = post("/tokens", json={"name": "fuzz", "role": "admin"})["token"]
        post("/users", json={"name": "ada"})
        post("/collections", json={"name": "harbour"})
        files = [("files", document) for document in DOCUMENTS.items()]
        added = post("/collections/harbour/documents", files=files)
        document, job = added["documents"][0]["id"], added["job"]["id"]
        while client.get(f"/collections/harbour/jobs/{job}").raise_for_status().json()["state"] != "done":
            time.sleep(0.1)
        thread = post("/collections/harbour/threads", json={})["id"]
        post(f"/threads/{thread}/ask", json={"question": "When does the ferry leave?"})
    return token, {"collection": "harbour", "model": "harbour", "user": "ada", "number": 1} | {
        "document": document,
        "job": job,
        "thread": thread,
    }


def _write_document(folder: Path, known: dict[str, Any]) -> list[str]:
    """Write the OpenAPI document for schemathesis; return the operations by the names that it gives them.

    Of long texts and lists it would make the longest that fit, for minutes each: here they are short.
    """
    document = _shortened(httpx.get(f"{URL}/api/openapi.json").json())
    paths = dict[str, Any]()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            in_path = [each for each in operation.get("parameters", ()) if each["in"] == "path"]
            if in_path and method != "delete" and known.keys() >= {each["name"] for each in in_path}:
                others = [each for each in operation["parameters"] if each not in in_path]
                named = operation | {"parameters": others, "operationId": f"known_{operation['operationId']}"}
                paths.setdefault(path.format(**known), {})[method] = named
            paths.setdefault(path, {})[method] = operation
    (folder / "openapi.json").write_text(json.dumps(document | {"paths": paths}))
    names = [f"{method.upper()} {path}" for path, methods in paths.items() for method in methods]
    return [name for name in names if name != LEFT_OUT]


def _shortened(part: Any) -> Any:
    if isinstance(part, dict):
        short = {name: _shortened(value) for name, value in part.items()}
        return short | {name: min(short[name], most) for name, most in LONGEST.items() if name in short}
    return [_shortened(each) for each in part] if isinstance(part, list) else part


def _fuzz(folder: Path, operations: list[str], token: str, minutes: float, seed: int) -> int:
    """Run schemathesis on one operation after the other, each round with other requests, for so many minutes.

    Each run ends by itself, so that all that it found is printed. Return how many operations failed or were
    not tried.
    """
    end = time.monotonic() + minutes * 60
    cases, failed = Counter[str](), set[str]()
    for number in count():
        if time.monotonic() > end:
            break
        name = operations[number % len(operations)]
        started = time.monotonic()
        passed, output = _run(folder, name, token, seed + number // len(operations))
        generated = re.search(r"(\d+) generated", output)
        made = int(generated[1]) if generated else 0
        cases[name] += made
        print(f"{name}: {made} cases in {time.monotonic() - started:.0f} s", flush=True)
        if not passed:
            failed.add(name)
            print(f"{name} failed:\n{output}", flush=True)
    untried = [name for name in operations if not cases[name]]
    print(f"{len(operations)} operations, {number} runs, {cases.total()} cases")
    print(f"failed: {', '.join(sorted(failed)) or 'none'}; not tried: {', '.join(untried) or 'none'}")
    return len(failed.union(untried))


def _run(folder: Path, operation: str, token: str, seed: int) -> tuple[bool, str]:
    """Tell whether an operation passed one run, and what schemathesis says of it.

    For a name in a path any text is right: it would look for a wrong one for minutes.
    """
    command = [
        "schemathesis", "--no-color", "run", "openapi.json", "--url", URL, "--include-name", operation,
        "--mode", "positive" if "{" in operation else "all", "--seed", str(seed), "--max-examples", "30",
        "--phases", "examples,coverage,fuzzing",
        "--checks", "not_a_server_error,status_code_conformance", "--warnings", "off",
        "--continue-on-failure", "--max-failures", "20", "--request-timeout", "60",
        "--suppress-health-check", "all", "--header", f"Authorization: Bearer {token}",
    ]  # fmt: skip
    with (folder / "output").open("w+") as output:
        try:
            run = subprocess.run(command, cwd=folder, stdout=output, stderr=output, timeout=LONGEST_RUN)
            passed = run.returncode == 0
        except subprocess.TimeoutExpired:
            passed = False
            output.write(f"It did not end within {LONGEST_RUN} seconds.")
        output.seek(0)
        return passed, output.read()


if __name__ == "__main__":
    main()
