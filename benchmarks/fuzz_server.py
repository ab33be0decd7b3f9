"""Send a running server requests that schemathesis makes from its OpenAPI document, right and wrong ones.

    python -m benchmarks.fuzz_server [--minutes 20] [--seed 1]

A server runs in a process of its own over two documents, without users, so that every door is open to whoever
asks. A status that is 5xx or not in the document is a failure. What removes a collection is left out, since
the other routes would have nothing to work on. It ends with the exit status of schemathesis, or 1 where the
server is gone.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx

PORT = 18_431
DOCUMENTS = {
    "ferry.md": "# Ferry\n\nThe ferry to Grauholm leaves at 7:45 from the east quay.\n",
    "tides.md": "# Tides\n\nThe highest tide of 1911 stood at 6.2 metres above the mark.\n",
}


def main() -> None:
    """Serve, fill a collection whose name is easily guessed, and fuzz."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"PYTHONPATH": os.getcwd(), "ADAPTIVE_RAG_SERVER__RATE": "1000000/minute"}
        command = [sys.executable, "-m", "adaptive_rag", "serve", "--port", str(PORT), "--data", "data"]
        server = subprocess.Popen(command, cwd=folder, env=environment)
        try:
            _fill()
            status = _fuzz(Path(folder), arguments.minutes, arguments.seed)
            is_alive = httpx.get(f"http://localhost:{PORT}/readyz", timeout=30).status_code == 200
        finally:
            server.terminate()
            server.wait(60)
    sys.exit(status or int(not is_alive))


def _fill() -> None:
    with httpx.Client(base_url=f"http://localhost:{PORT}", timeout=30) as client:
        for _ in range(600):
            try:
                client.get("/healthz")
                break
            except httpx.TransportError:
                time.sleep(0.1)
        client.post("/api/v1/collections", json={"name": "0"}).raise_for_status()
        files = [("files", document) for document in DOCUMENTS.items()]
        client.post("/api/v1/collections/0/documents", files=files).raise_for_status()


def _fuzz(folder: Path, minutes: float, seed: int) -> int:
    """Run schemathesis again and again, each time with other requests, until the time is over."""
    schema, end = f"http://localhost:{PORT}/api/openapi.json", time.monotonic() + minutes * 60
    while (left := end - time.monotonic()) > 0:
        command = [
            "schemathesis", "--no-color", "run", schema, "--seed", str(seed), "--max-examples", "10",
            "--phases", "examples,coverage,fuzzing", "--checks", "not_a_server_error,status_code_conformance",
            "--continue-on-failure", "--max-failures", "20",
            "--exclude-name", "DELETE /api/v1/collections/{collection}",
            "--exclude-path", "/readyz", "--request-timeout", "60", "--wait-for-schema", "60",
        ]  # fmt: skip
        with subprocess.Popen(command, cwd=folder) as run:
            try:
                run.wait(left)
            except subprocess.TimeoutExpired:
                # It says what it has found so far, which a kill would hide.
                run.send_signal(signal.SIGINT)
        if run.returncode:
            return run.returncode
        seed += 1
    return 0


if __name__ == "__main__":
    main()
