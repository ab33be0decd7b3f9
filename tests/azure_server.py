"""Azurite, Microsoft's emulator of Azure's blob storage, on this machine."""

import base64
import email.utils
import hashlib
import hmac
import http.client
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.s3_server import READY_SECONDS, free_ports

PROGRAM = "azurite-blob"
# The account that every emulator has, and its key, as Microsoft publishes them.
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


@contextmanager
def serving_azure(folder: Path) -> Iterator[int]:
    """Serve the container "wiki" from a folder, and yield the port."""
    [port] = free_ports(1)
    options = [f"--location={folder}", f"--blobPort={port}", "--disableTelemetry", "--skipApiVersionCheck"]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen([PROGRAM, *options], stdout=log, stderr=log)
        try:
            deadline = time.monotonic() + READY_SECONDS
            while not _make_container(port, "wiki"):
                if time.monotonic() > deadline or server.poll() is not None:
                    raise RuntimeError("the Azure server did not start")
                time.sleep(0.1)
            yield port
        finally:
            server.kill()
            server.wait()


def _make_container(port: int, name: str) -> bool:
    stamped = {"x-ms-date": email.utils.formatdate(usegmt=True), "x-ms-version": "2021-08-06"}
    lines = ["PUT", *[""] * 11, *(f"{key}:{value}" for key, value in stamped.items())]
    signed = "\n".join([*lines, f"/{ACCOUNT}/{ACCOUNT}/{name}", "restype:container"])
    digest = hmac.new(base64.b64decode(KEY), signed.encode(), hashlib.sha256).digest()
    headers = stamped | {"Authorization": f"SharedKey {ACCOUNT}:{base64.b64encode(digest).decode()}"}
    connection = http.client.HTTPConnection("127.0.0.1", port)
    try:
        connection.request("PUT", f"/{ACCOUNT}/{name}?restype=container", headers=headers)
        return connection.getresponse().status == http.HTTPStatus.CREATED
    except ConnectionRefusedError:
        return False
    finally:
        connection.close()
