"""Web pages as sources: a crawl from an address along the links of its site, within bounds.

Pages are requested one after the other. A page that was fetched before is requested with the `ETag` and the
`Last-Modified` date that its server gave then, so that an unchanged page costs one short answer.
"""

from __future__ import annotations

import hashlib
import mimetypes
import re
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard
from urllib.parse import urljoin

from adaptive_rag.errors import IndexingError, InputError, import_extra
from adaptive_rag.ingest.documents import Failure, Note, SourceFile, SourceText
from adaptive_rag.ingest.loaders import Loader
from adaptive_rag.ingest.read import read_source
from adaptive_rag.ingest.web_fetch import AGENT, Fetched, Reach, fetch, port_of, read_address
from adaptive_rag.ingest.web_kinds import LINKS, suffix_of, to_utf8

if TYPE_CHECKING:
    import httpx
    from anyio.from_thread import BlockingPortal
    from protego import Protego

_PAGE_LOADER = Loader((".html",), ".web_page:load_web_page")
_REDIRECTS = (301, 302, 303, 307, 308)
_MOST_REDIRECTS = 5
_PERMANENT_REDIRECTS = (301, 308)
# In bytes, and what a message calls them.
_LARGEST_PAGE = 20_000_000, "that a page may have"
_LARGEST_ROBOTS = 1_000_000, "that a robots.txt may have"
_MOST_STORED_LINKS = 500
# In seconds: a site may ask for a pause between two pages; a longer one is cut to this.
_LONGEST_PAUSE = 10.0


@dataclass(frozen=True, slots=True)
class Site:
    """Pages to index: the page at an address, and the pages on the same site that its links lead to.

    Raises:
        InputError: the depth is negative.
    """

    address: str
    depth: int = 0
    """The most links followed from the first page to any other page."""
    max_pages: int = 100
    max_megabytes: int = 200
    private_networks: bool = False
    """Whether to read pages of this machine and of private networks, too."""

    def __post_init__(self) -> None:
        if self.depth < 0:
            raise InputError(f"depth = {self.depth} is not usable: expected 0, 1, 2 or more links.")


@dataclass(frozen=True, slots=True)
class PageStamp:
    """What is needed to request a page again and to learn whether it has changed."""

    start: str
    """The address of the `Site` that led to the page."""
    address: str
    """The address where it was fetched, after all redirects."""
    etag: str | None = None
    modified: str | None = None
    links: list[str] | None = None
    """The links to pages of the same site; None if they were not needed."""


@dataclass(slots=True)
class Crawl:
    """The result of a crawl."""

    pages: list[tuple[SourceText, PageStamp]] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    """The names of the unchanged sources."""
    gone: dict[str, str] = field(default_factory=dict)
    """Sources that are gone or have a new name, and the reason."""
    failed: list[Failure] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Fetching:
    """The progress of fetching a site's pages."""

    fetched: int
    waiting: int
    """The number of known pages still to be fetched, within the bound on pages."""
    bytes: int
    address: str
    """The address that is fetched now."""


def is_address(text: object) -> TypeGuard[str]:
    """Return whether a text is a web address and not a path."""
    return isinstance(text, str) and re.match(r"https?://", text, re.IGNORECASE) is not None


def crawl(
    site: Site, known: Mapping[str, Mapping[str, Any]], progress: Callable[[Fetching], None] | None = None
) -> Crawl:
    """Fetch and read the pages of a site, and call `progress` before each page.

    `known` maps the names of sources that were indexed before to their page stamps, in the form that `asdict`
    returns. Pages that were found from the same address are requested again, even if no link leads to them
    any more, so that missing pages are noticed.

    Raises:
        MissingExtraError: the packages for fetching pages are not installed.
    """
    for package in ("httpx", "protego"):
        import_extra(package, extra="web", purpose="Reading pages of the web")
    from anyio.from_thread import start_blocking_portal

    try:
        site = replace(site, address=str(read_address(site.address)))
    except IndexingError as error:
        return Crawl(failed=[Failure(_without_password(site.address), str(error))])
    stamps = {source: PageStamp(**stamp) for source, stamp in known.items()}
    with start_blocking_portal() as portal:
        crawler = _Crawler(site, stamps, portal, progress)
        if crawler.walk([(site.address, site.depth)]):
            crawler.walk([(stamp.address, 0) for stamp in stamps.values() if stamp.start == site.address])
        return crawler.end()


class _Crawler:
    """A crawl: the addresses requested, the pages found, and what may still be fetched."""

    def __init__(
        self,
        site: Site,
        known: Mapping[str, PageStamp],
        portal: BlockingPortal,
        progress: Callable[[Fetching], None] | None,
    ) -> None:
        self._site = site
        self._progress = progress
        self._stamps = {stamp.address: (source, stamp) for source, stamp in known.items()}
        self._portal = portal
        self._reach = Reach(frozenset({80, 443}), site.private_networks)
        self._hosts: set[str] = set()
        self._seen: set[str] = set()  # the addresses visited, left out, or reached by a redirect
        self._visits = 0
        self._names: dict[str, str] = {}  # the sources of the pages read, by address
        self._successors: dict[str, str] = {}  # of known sources: the addresses that they lead to for good
        self._bytes_left = site.max_megabytes * 1_000_000
        self._pages = 0
        self._robots: dict[str, Protego | IndexingError | None] = {}
        self._left_out: Counter[str] = Counter()
        self._result = Crawl()

    def walk(self, starts: Iterable[tuple[str, int]]) -> bool:
        """Visit pages and the pages they lead to, nearest first; return whether any could be fetched."""
        read_before = self._visits - len(self._result.failed)
        queue = deque(starts)
        while queue:
            address, depth = queue.popleft()
            if address in self._seen:
                continue
            self._seen.add(address)
            if self._visits >= self._site.max_pages or self._bytes_left <= 0:
                bounds = f"{self._site.max_pages:,} pages and {self._site.max_megabytes:,} MB"
                self._left_out[f"beyond the bounds of {bounds} (web.max_pages, web.max_megabytes)"] += 1
                continue
            self._visits += 1
            self._report_progress(address, queue)
            try:
                links = self._visit(address, depth)
            except IndexingError as error:
                self._result.failed.append(Failure(_without_password(address), str(error)))
                continue
            queue.extend((link, depth - 1) for link in links if depth > 0)
        return self._visits - len(self._result.failed) > read_before

    def _report_progress(self, address: str, queue: Iterable[tuple[str, int]]) -> None:
        if self._progress is None:
            return
        waiting = len({other for other, _ in queue} - self._seen)
        waiting = min(waiting, self._site.max_pages - self._visits)
        fetched_bytes = self._site.max_megabytes * 1_000_000 - self._bytes_left
        self._progress(Fetching(self._pages, waiting, fetched_bytes, _without_password(address)))

    def end(self) -> Crawl:
        """Return the result, with what has a new name and a note about the pages that were left out."""
        for old_source, address in self._successors.items():
            if self._names.get(address, old_source) != old_source:
                self._result.gone[old_source] = f"it is now named {self._names[address]}"
        if self._left_out:
            reasons = ", ".join(f"{count:,} {reason}" for reason, count in self._left_out.items())
            name = _without_password(self._site.address)
            self._result.notes.append(Note(name, f"pages were left out: {reasons}"))
        return self._result

    def _visit(self, address: str, depth: int) -> Iterable[str]:
        """Read one page into the result, and return its links."""
        is_first = not self._hosts
        url = read_address(address)
        if is_first:
            self._reach = replace(self._reach, ports=self._reach.ports | {port_of(url)})
            self._hosts.add(_host(url))
        page = self._follow(url, depth, is_first=is_first)
        if page is None:
            return ()
        url, reply, has_moved = page
        self._hosts.add(_host(url))
        for known_address in (address, str(url)) if has_moved else (str(url),):
            if known_address in self._stamps:
                self._successors[self._stamps[known_address][0]] = str(url)
        if str(url) != address and str(url) in self._seen:
            return ()
        self._seen.add(str(url))
        source, stamp = self._stamps.get(str(url), (None, None))
        if reply.status == HTTPStatus.NOT_MODIFIED and source is not None and stamp is not None:
            self._result.unchanged.append(source)
            self._names[str(url)] = source
            return stamp.links or ()
        if reply.status != HTTPStatus.OK:
            answer = f"the server answers {_status(reply.status)}"
            if source is None or reply.status not in (404, 410):
                raise IndexingError(f"cannot be read: {answer}")
            self._result.gone[source] = answer
            return ()
        self._pages += 1
        self._bytes_left -= len(reply.body)
        return self._read(url, reply, depth)

    def _follow(
        self, url: httpx.URL, depth: int, *, is_first: bool
    ) -> tuple[httpx.URL, Fetched, bool] | None:
        """Fetch a page and follow its redirects; return None if they lead to a page that must not be read.

        Also return whether all redirects are permanent.
        """
        has_moved = True
        for _ in range(_MOST_REDIRECTS + 1):
            if not is_first and _host(url) not in self._hosts:
                self._left_out["that lead to another site"] += 1
                return None
            robots = self._robots_of(url)
            if robots is not None and not robots.can_fetch(str(url), AGENT):
                if is_first:
                    raise IndexingError("is not fetched: the robots.txt of its site asks programs not to")
                self._left_out["that robots.txt asks programs not to read"] += 1
                return None
            if robots is not None and not is_first and (pause := robots.crawl_delay(AGENT)):
                time.sleep(min(pause, _LONGEST_PAUSE))
            left = self._bytes_left, "that are left of web.max_megabytes"
            reply = self._fetch(url, self._conditions(url, depth), min(_LARGEST_PAGE, left))
            if reply.status not in _REDIRECTS or "location" not in reply.headers:
                return url, reply, has_moved
            has_moved = has_moved and reply.status in _PERMANENT_REDIRECTS
            url = _join(url, reply.headers["location"])
        raise IndexingError(f"leads on to other addresses more than {_MOST_REDIRECTS} times")

    def _conditions(self, url: httpx.URL, depth: int) -> dict[str, str]:
        """Return the request headers that let a server answer that a page is unchanged."""
        _, stamp = self._stamps.get(str(url), (None, None))
        if stamp is None or (depth > 0 and stamp.links is None):
            return {}
        headers = {"If-None-Match": stamp.etag, "If-Modified-Since": stamp.modified}
        # A request header is ASCII, but a server may send anything.
        return {name: value for name, value in headers.items() if value and value.isascii()}

    def _robots_of(self, url: httpx.URL) -> Protego | None:
        """Return the robots.txt rules of a page's site; None if it has none.

        Raises:
            IndexingError: the rules cannot be read, which counts as a refusal.
        """
        robots_url = url.copy_with(raw_path=b"/robots.txt")
        if str(robots_url) not in self._robots:
            try:
                self._robots[str(robots_url)] = self._read_robots(robots_url)
            except IndexingError as error:
                self._robots[str(robots_url)] = error
        if isinstance(robots := self._robots[str(robots_url)], IndexingError):
            raise IndexingError(str(robots))
        return robots

    def _read_robots(self, url: httpx.URL) -> Protego | None:
        """Fetch a robots.txt as RFC 9309 says: if there is none, every page may be read."""
        from protego import Protego

        for _ in range(_MOST_REDIRECTS + 1):
            reply = self._fetch(url, {}, _LARGEST_ROBOTS)
            if reply.status not in _REDIRECTS or "location" not in reply.headers:
                break
            url = _join(url, reply.headers["location"])
        if reply.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise IndexingError(f"is not fetched: its site's robots.txt answers {_status(reply.status)}")
        text = reply.body.decode("utf-8-sig", "replace")
        return Protego.parse(text) if reply.status == HTTPStatus.OK else None

    def _fetch(self, url: httpx.URL, headers: Mapping[str, str], limit: tuple[int, str]) -> Fetched:
        return self._portal.call(fetch, url, self._reach, headers, limit)

    def _read(self, url: httpx.URL, reply: Fetched, depth: int) -> Iterable[str]:
        """Read a page's text with the loader of its kind into the result, and return its links."""
        kind, _, parameters = reply.headers.get("content-type", "").partition(";")
        kind = kind.strip().lower()
        suffix = suffix_of(kind, url)
        if suffix is None:
            raise IndexingError(f"is of type {kind[:80]!r}, which is not read from the web")
        if not reply.body:
            raise IndexingError("is empty: it has 0 bytes")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, f"page{suffix}")
            path.write_bytes(to_utf8(reply.body, parameters) if kind.startswith("text/") else reply.body)
            text = read_source(SourceFile(path, str(url)), loader=_PAGE_LOADER if suffix == ".html" else None)
        if isinstance(text, Failure):
            raise IndexingError(text.reason)
        links = list(self._links_inside(url, text.metadata.get(LINKS, ())))[:_MOST_STORED_LINKS]
        source = self._choose_name(url, text.metadata.get("url"))
        stamp = PageStamp(
            start=self._site.address,
            address=str(url),
            etag=reply.headers.get("etag"),
            modified=reply.headers.get("last-modified"),
            links=links if depth > 0 else None,
        )
        self._result.pages.append((_as_source(text, source), stamp))
        return links

    def _choose_name(self, url: httpx.URL, canonical: Any) -> str:
        """Return the address that names a page: its canonical address, unless another page has the same one.

        Some sites give the address of their first page on every page.
        """
        name = str(url)
        if isinstance(canonical, str):
            try:
                target = _join(url, canonical)
            except IndexingError:
                target = url
            if _host(target) in self._hosts and str(target) not in self._names.values():
                name = str(target)
        self._names[str(url)] = name
        return name

    def _links_inside(self, url: httpx.URL, links: Iterable[str]) -> Iterator[str]:
        """Yield the links to pages on the same site that can be read."""
        for link in links:
            try:
                target = _join(url, link)
            except IndexingError:  # "mailto:", "javascript:"
                continue
            kind = mimetypes.guess_type(target.path)[0]  # None for "/about" and "/index.php"
            if _host(target) in self._hosts and (kind is None or suffix_of(kind, target)):
                yield str(target)


def _as_source(text: SourceText, source: str) -> SourceText:
    """Return a text named by its address, with a hash of the text in place of the hash of the page's bytes.

    The bytes of a page that contains the time or a token change with each visit.
    """
    metadata = {name: value for name, value in text.metadata.items() if name != LINKS} | {"url": source}
    named = replace(text, source=source, metadata=metadata, content_hash="")
    content = repr((named.text, *asdict(named).values())).encode(errors="surrogatepass")
    return replace(named, content_hash=hashlib.sha256(content).hexdigest())


def _join(url: httpx.URL, link: str) -> httpx.URL:
    try:
        return read_address(urljoin(str(url), link.strip()))
    except ValueError as error:  # "http://["
        raise IndexingError("leads to something that is no address") from error


def _host(url: httpx.URL) -> str:
    """Return the host and port that a site's pages share: www.example.org counts as example.org."""
    port = "" if port_of(url) in (80, 443) else f":{port_of(url)}"
    return url.host.removeprefix("www.") + port


def _status(code: int) -> str:
    """Return a status as text: "404 Not Found"."""
    is_known = code in HTTPStatus.__members__.values()
    return f"{code} {HTTPStatus(code).phrase}" if is_known else str(code)


def _without_password(address: str) -> str:
    return re.sub(r"//[^/?#]*@", "//", address)
