"""The page for browsers: its static files with their content security policy, and its texts."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from functools import cache
from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import FileResponse
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import Response
from starlette.routing import Mount
from starlette.staticfiles import NotModifiedResponse, StaticFiles
from starlette.types import Message, Receive, Scope, Send

from adaptive_rag.text.languages import LANGUAGES, load_words

PAGE = Path(__file__).parent / "page"
router = APIRouter()
# Browsers then check each time whether a file has changed, so that they never mix files of two versions.
_NO_CACHE = {"Cache-Control": "no-cache"}


def _content_security_policy() -> str:
    """Return the content security policy: it allows only the page's own files, and only sanitized HTML."""
    [import_map] = re.findall(r'<script type="importmap">(.*?)</script>', _index(), re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(import_map.encode()).digest()).decode()
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


_HEADERS = _NO_CACHE | {"Content-Security-Policy": _content_security_policy()}
# Files that a browser may open directly or as a worker, for which the policy of the page does not apply. All
# other files are sent without it: with each of them it would be a tenth of what a first visit loads.
_STANDALONE = (".worker.min.mjs", ".svg", ".html")


@router.head("/", include_in_schema=False)
@router.get("/", include_in_schema=False)
def show_page() -> FileResponse:
    """Send the page."""
    return FileResponse(PAGE / "index.html", headers=_HEADERS)


@cache
def format_texts(language: str) -> bytes:
    """Return the page's texts in a language as JSON, in English where the language has none."""
    english, words = load_words("en"), load_words(language)
    labels = {kind: {**labels, **words.labels.get(kind, {})} for kind, labels in english.labels.items()}
    # The English page shows the words of phrases that the API sends with them.
    phrases = {} if words is english else words.phrases
    texts = {"texts": {**english.page, **words.page}, "labels": labels, "phrases": phrases}
    return json.dumps(texts | {"sentences": words.sentences}, ensure_ascii=False).encode()


_TEXTS = {str(Path("texts", f"{language}.json")): language for language in LANGUAGES}


class _Files(StaticFiles):
    """The files of the page; those in `_STANDALONE` are sent with the content security policy."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Return a file, or the texts in a language, which the page loads from `texts/en.json`."""
        if path not in _TEXTS or scope["method"] not in ("GET", "HEAD"):
            return await super().get_response(path, scope)
        body = format_texts(_TEXTS[path])
        headers = {"ETag": f'"{hashlib.sha256(body).hexdigest()}"'}
        response = Response(body, headers=headers, media_type="application/json")
        is_known = self.is_not_modified(response.headers, Headers(scope=scope))
        return NotModifiedResponse(response.headers) if is_known else response

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                extra = _HEADERS if scope["path"].endswith(_STANDALONE) else _NO_CACHE
                MutableHeaders(scope=message).update(extra)
            await send(message)

        await super().__call__(scope, receive, send_with_headers)


def page_files() -> Mount:
    """Return the route of the page's files, which compresses them if the browser accepts that."""
    return Mount("/page", GZipMiddleware(_Files(directory=PAGE), minimum_size=1000), name="page")
