"""The page for browsers: static files, and their content security policy."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import FileResponse
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
from starlette.types import Message, Receive, Scope, Send

PAGE = Path(__file__).parent / "page"
router = APIRouter()
# Browsers check each time whether a file has changed, so that they never mix files of two versions.
_FRESH = {"Cache-Control": "no-cache"}


def _policy() -> str:
    """Return the content security policy: only the page's own files, and only HTML from the sanitizer."""
    [imports] = re.findall(r'<script type="importmap">(.*?)</script>', _index(), re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(imports.encode()).digest()).decode()
    rules = {
        "default-src": "'none'",
        "script-src": f"'self' 'sha256-{digest}'",
        "style-src": "'self'",
        "img-src": "'self' data: blob:",
        "font-src": "'self' data: blob:",
        "connect-src": "'self'",
        "worker-src": "'self'",
        "form-action": "'self'",
        "base-uri": "'none'",
        "frame-ancestors": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "dompurify adaptive-rag",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def _index() -> str:
    return (PAGE / "index.html").read_text(encoding="utf-8")


_HEADERS = _FRESH | {"Content-Security-Policy": _policy()}
# Files that a browser may open by themselves, or as a worker: no page's policy covers them. Sent with every
# module and style, which the page's own covers, it would be a tenth of what a first visit loads.
_CONTEXTS = (".worker.min.mjs", ".svg", ".html")


@router.get("/", include_in_schema=False)
def show_page() -> FileResponse:
    """Send the page."""
    return FileResponse(PAGE / "index.html", headers=_HEADERS)


class _Files(StaticFiles):
    """The files of the page; workers and pictures with the page's policy, which no page covers for them."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_bound(message: Message) -> None:
            if message["type"] == "http.response.start":
                sent = _HEADERS if scope["path"].endswith(_CONTEXTS) else _FRESH
                bound = [(name.lower().encode(), value.encode()) for name, value in sent.items()]
                message["headers"] = [*message["headers"], *bound]
            await send(message)

        await super().__call__(scope, receive, send_bound)


def page_files() -> Mount:
    """Return the route of the page's files, compressed if the browser accepts it."""
    return Mount("/page", GZipMiddleware(_Files(directory=PAGE), minimum_size=1000), name="page")
