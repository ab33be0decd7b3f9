"""Pages of the web, from real servers on this machine, which these tests alone allow to be read."""

import gzip
import socket
import ssl
import threading
import time
import zlib
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from adaptive_rag.cli.session import format_progress
from adaptive_rag.errors import IndexingError, MissingExtraError
from adaptive_rag.index import Index
from adaptive_rag.index.location import open_location
from adaptive_rag.index.manifest import read_manifest
from adaptive_rag.ingest import Site, web, web_fetch
from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.web_fetch import Reach
from adaptive_rag.ingest.web_page import load_web_page
from tests.web_server import serving_pages


@pytest.fixture
def server():
    with serving_pages() as served:
        yield served


def page(text, *links, head=""):
    led = "".join(f'<p>See <a href="{link}">{link}</a>.</p>' for link in links)
    return f"<html><head><title>Page</title>{head}</head><body><main><p>{text}</p>{led}</main></body></html>"


def put_pages(server, **links):
    """Put pages with some words and links: "start" is the first page, the others have their names."""
    for name, led in links.items():
        path = "/" if name == "start" else f"/{name}"
        server.put(path, page(f"The page {path}.", *led.split()))


def site_of(server, path="/", depth=0, **bounds):
    return Site(server.url + path, depth, **{"private_networks": True, **bounds})


def build(index, server, path="/", depth=0, *, prune=True, **bounds):
    return Index.build(site_of(server, path, depth, **bounds), index, prune=prune)


def crawled(server, path="/", depth=0, **bounds):
    return web.crawl(site_of(server, path, depth, **bounds), {})


def test_a_page_is_found_and_cited_by_its_address_and_replaced_when_it_changes(server, tmp_path):
    for force in ("nine", "ten"):
        server.put("/storm", page(f"The harbour closes at wind force {force}."))
        report = build(tmp_path / "index", server, "/storm")
    assert (report.sources, report.updated) == ([f"{server.url}/storm"], 1)
    [[found]] = Index.open(tmp_path / "index").search(["When does the harbour close?"], limit=5)
    assert found["text"] == "The harbour closes at wind force ten."
    assert found["source"] == found["metadata"]["url"] == f"{server.url}/storm"


SITE = (
    "<header><a href='/x'>Home</a></header><nav>Menu</nav><div class='cookie-banner'>We use cookies.</div>"
    "<main><h1>Storms</h1><header>By Ada</header><table><tr><th>Force</th><td>9</td></tr></table></main>"
    "<div id='sidebar'>Latest news</div><footer>Imprint</footer>"
)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (SITE, "Storms By Ada Force | 9"),
        ("<div class='menu'><p>Soup of the day</p><p>Bread</p></div>", "Soup of the day Bread"),
        ("<div class='page-header'><h1>Soup</h1></div>" + "<p>Fish</p>" * 9, "Soup" + " Fish" * 9),
        ("<header><h1>Soup</h1><nav>Menu</nav></header><p>Of the day</p>", "Soup Of the day"),
    ],
    ids=["around the text", "a menu that is the page itself", "beside a title", "a title"],
)
def test_what_stands_on_every_page_is_left_out(server, body, words):
    server.put("/", f"<body>{body}</body>")
    [(text, _)] = crawled(server).pages
    assert text.text.split() == words.split()


def test_the_main_part_of_a_deep_page_is_found_soon(tmp_path):
    part = "<div>" * 200 + "<p>Tide</p>" * 4_000 + "</div>" * 200
    (tmp_path / "a.html").write_text(f"<body>{part * 8}</body>")
    started = time.process_time()
    load_web_page(tmp_path / "a.html", TextBuilder())
    assert time.process_time() - started < 3


def test_links_are_followed_so_far_and_on_the_same_site_alone(server):
    elsewhere = "https://example.org/ mailto:ada@example.org /x.png /#top"
    put_pages(server, start=f"/a {elsewhere}", a="b#part /", b="/c", c="")
    for depth, expected in ((0, ["/"]), (1, ["/", "/a"]), (2, ["/", "/a", "/b"])):
        assert not crawled(server, "", depth=depth).failed
        assert server.paths() == expected


def test_what_is_fetched_and_what_waits_is_told_before_each_page(server, tmp_path):
    put_pages(server, start="/a /b /", a="/b /c", b="")
    told = []
    Index.build(site_of(server, depth=1, max_pages=4), tmp_path / "index", progress=told.append)
    fetching = [each.fetching for each in told if each.fetching]
    assert [(each.fetched, each.waiting, each.address.removeprefix(server.url)) for each in fetching] == [
        (0, 0, "/"),
        (1, 1, "/a"),
        (2, 0, "/b"),
    ]
    read = [each.bytes for each in fetching]
    assert read == sorted(read) and read[0] == 0 < read[1]
    assert format_progress(told[1]) == f"1 page fetched, 1 waiting · 0.0 MB · {server.url}/a"
    assert told[-1].fetching is None and told[-1].done == 3


def test_robots_txt_is_obeyed_and_one_that_cannot_be_read_is_a_no(server):
    server.put("/robots.txt", "User-agent: *\nDisallow: /private/\nAllow: /private/open", "text/plain")
    put_pages(server, **{"start": "/private/a /private/open", "private/open": ""})
    found = crawled(server, depth=1)
    assert server.paths() == ["/", "/private/open"]
    said = "pages were left out: 1 that robots.txt asks programs not to read"
    assert [note.text for note in found.notes] == [said]
    [failure] = crawled(server, "/private/a").failed
    assert "robots.txt" in failure.reason
    server.pages["/robots.txt"] = 503, {}, b""
    [failure] = crawled(server).failed
    assert failure.reason == "is not fetched: its site's robots.txt answers 503 Service Unavailable"
    assert server.paths() == []


def test_an_unchanged_page_is_asked_for_with_its_etag_and_not_embedded_again(server, tmp_path):
    server.put("/", page("Start here today.", "/a", "/b", "/c"), ETag='"1"')
    server.put("/a", page("The first step."), ETag='"2"')
    server.put("/b", page("A tag that no request can have."), ETag='"caf\xe9"')
    server.put("/c", page("The same words.", head="<meta name='csrf' content='1'>"))
    assert build(tmp_path / "index", server, depth=1).added == 4
    server.asked.clear()
    server.put("/c", page("The same words.", head="<meta name='csrf' content='2'>"))
    again = build(tmp_path / "index", server, depth=1)
    assert (again.unchanged, again.added, again.updated, again.texts_embedded) == (4, 0, 0, 0)
    assert not again.failed
    sent = {path: headers.get("If-None-Match") for path, headers in server.asked}
    assert sent == {"/robots.txt": None, "/": '"1"', "/a": '"2"', "/b": None, "/c": None}


@pytest.mark.parametrize("prune", [True, False])
def test_a_page_that_is_gone_is_named(server, tmp_path, prune):
    index = tmp_path / "index"
    put_pages(server, start="/a", a="")
    build(index, server, depth=1)
    del server.pages["/a"]
    # depth 0: the page is not linked to in this run, and yet it is asked for
    report = build(index, server, prune=prune)
    done = "It was removed from the index." if prune else "Its last version is kept."
    said = f"gone: the server answers 404 Not Found. {done}"
    assert [(note.source, note.text) for note in report.notes] == [(f"{server.url}/a", said)]
    manifest = read_manifest(open_location(index))
    assert manifest is not None
    assert (f"{server.url}/a" in manifest.sources) is not prune


def test_a_page_that_two_sites_miss_is_removed_once(server, tmp_path):
    put_pages(server, start="/a", a="", b="/a")
    sites = [site_of(server, path, depth=1) for path in ("/", "/b")]
    Index.build(sites, tmp_path / "index")
    del server.pages["/a"]
    report = Index.build(sites, tmp_path / "index")
    assert (report.removed, report.unchanged, len(report.notes)) == (1, 2, 1)


def test_a_server_that_fails_for_now_loses_nothing(server, tmp_path):
    put_pages(server, start="")
    build(tmp_path / "index", server)
    server.pages["/"] = 500, {}, b""
    report = build(tmp_path / "index", server)
    reasons = [failure.reason for failure in report.failed]
    assert reasons == ["cannot be read: the server answers 500 Internal Server Error"]
    assert report.total_chunks == 1


def test_a_page_goes_by_the_address_that_it_names(server):
    head = '<link rel="canonical" href="/storm">'
    server.put("/storm?from=mail", page("The harbour closes.", "/other", head=head))
    server.put("/other", page("The other page.", "/mine", head=head))
    server.put("/mine", page("Mine.", head='<link rel="canonical" href="https://example.org/">'))
    found = crawled(server, "/storm?from=mail", depth=2)
    # two name one address, which would make them one source: it goes to the first
    names = [text.source.removeprefix(server.url) for text, _ in found.pages]
    assert names == ["/storm", "/other", "/mine"]


def test_a_page_that_has_moved_for_good_is_not_kept_under_its_old_address(server, tmp_path):
    put_pages(server, start="/a /b", a="", b="", new="", login="")
    build(tmp_path / "index", server, depth=1)
    server.redirect("/a", "/new", 301)
    server.redirect("/b", "/login")  # for now
    report = build(tmp_path / "index", server, depth=1)
    assert (report.added, report.removed) == (2, 1)
    said = f"gone: it is now named {server.url}/new. It was removed from the index."
    assert [(note.source, note.text) for note in report.notes] == [(f"{server.url}/a", said)]


def test_redirects_are_followed_to_the_page_and_not_for_ever_or_to_another_port(server):
    server.redirect("/old", "/new")
    server.redirect("/loop", "/loop")
    server.redirect("/port", "http://127.0.0.1:1/")
    put_pages(server, new="")
    assert [text.source for text, _ in crawled(server, "/old").pages] == [f"{server.url}/new"]
    [endless] = crawled(server, "/loop").failed
    assert endless.reason == "leads on to other addresses more than 5 times"
    [other] = crawled(server, "/port").failed
    assert other.reason.startswith("leads to port 1, which is not requested")


@pytest.mark.parametrize(
    ("path", "body", "kind", "text"),
    [
        ("/notes", "# Storms\n\nForce nine.", "text/markdown; charset=utf-8", "# Storms\n\nForce nine."),
        ("/rows.csv", "force,what\n9,closed\n", "text/plain", "force: 9\nwhat: closed"),
        ("/notes.doc", "Force nine.", "application/msword", "Force nine."),
        ("/cafe", b"Caf\xe9 open", "text/plain; charset=iso-8859-1", "Caf\xe9 open"),
        # as browsers read it
        ("/euro", b"It\x92s 5 \x80 a day.", "Text/Plain; charset=ISO-8859-1", "It’s 5 € a day."),
        ("/slow", "Codecs-", "text/plain; charset=punycode", "Codecs-"),
        ("/packed", gzip.compress(b"<p>Start here.", mtime=0), "text/html", "Start here."),
        ("/image", b"\x89PNG", "image/png", "is of type 'image/png', which is not read from the web"),
    ],
)
def test_each_kind_is_read_by_its_loader_and_in_its_encoding(server, path, body, kind, text):
    server.put(path, body, kind, **({"Content_Encoding": "gzip"} if path == "/packed" else {}))
    found = crawled(server, path)
    assert [read.text for read, _ in found.pages] + [failure.reason for failure in found.failed] == [text]


def test_a_pause_that_a_site_asks_for_is_kept_within_bounds(server, monkeypatch):
    server.put("/robots.txt", "User-agent: *\nCrawl-delay: 3600", "text/plain")
    put_pages(server, start="/a", a="")
    pauses = []
    monkeypatch.setattr(web.time, "sleep", pauses.append)
    assert len(crawled(server, depth=1).pages) == 2
    assert pauses == [10.0]


def test_a_server_that_never_comes_to_an_end_is_left(monkeypatch):
    """Each piece comes in time, and so no time limit of a single read would end it."""
    monkeypatch.setattr(web_fetch, "SECONDS", 1.0)
    ended = threading.Event()

    def drip(listener):
        connection, _ = listener.accept()
        with connection, suppress(OSError):
            connection.sendall(b"HTTP/1.1 200 OK\r\n")
            while not ended.wait(0.05):
                connection.sendall(b"X-Slow: yes\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=drip, args=[listener], daemon=True).start()
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        [failure] = web.crawl(Site(address, private_networks=True), {}).failed
        ended.set()
    assert failure.reason == "did not answer within 1 seconds. Try again later"


def test_a_redirect_takes_no_place_of_a_page_and_pages_beyond_the_bounds_are_counted_once(server):
    server.redirect("/", "/home")
    put_pages(server, home="/a /b /c", a="/b", b="", c="")
    found = crawled(server, depth=2, max_pages=2)
    assert server.paths() == ["/", "/home", "/a"]
    assert found.notes[0].text.startswith("pages were left out: 2 beyond the bounds of 2 pages")


def test_nothing_else_is_asked_for_where_the_first_page_leads_to_none(server):
    server.redirect("/", "/gone")
    stamp = {"start": server.url + "/", "address": server.url + "/a"}
    found = web.crawl(site_of(server), {server.url + "/a": stamp})
    assert server.paths() == ["/", "/gone"] and len(found.failed) == 1


def test_a_page_that_exceeds_what_is_left_for_its_site_is_told_so(server):
    server.put("/", page("a" * 800_000, "/b"))
    server.put("/b", page("b" * 800_000))
    [failure] = crawled(server, depth=1, max_megabytes=1).failed
    assert failure.reason == "has more than the 0.2 MB that are left of web.max_megabytes"


GZIP = {"Content-Encoding": "gzip"}


@pytest.mark.parametrize(
    ("body", "headers", "reason"),
    [
        (gzip.compress(bytes(50_000_000), mtime=0), GZIP, "has more than the 20 MB"),
        (gzip.compress(b"<p>Half of a page.", mtime=0)[:-9], GZIP, "its end is missing"),
        (b"no gzip", GZIP, "cannot be unpacked"),
        (zlib.compress(b"<p>A page."), {"Content-Encoding": "br"}, "is compressed as 'br'"),
        (bytes(20_000_001), {}, "has more than the 20 MB"),
        (b"", {}, "is empty"),
    ],
    ids=["bomb", "cut off", "no gzip", "unknown packing", "too large", "empty"],
)
def test_a_body_that_no_page_has_is_refused(server, body, headers, reason):
    server.pages["/"] = 200, {"Content-Type": "text/html", **headers}, body
    [failure] = crawled(server).failed
    assert reason in failure.reason


PRIVATE = (
    "127.0.0.1 localhost [::1] [::ffff:127.0.0.1] [64:ff9b::7f00:1] [2002:7f00:1::] 2130706433 "
    "0x7f000001 0177.0.0.1 127.1 0.0.0.0 10.0.0.1 172.16.0.1 192.168.1.1 100.64.0.1 "
    "169.254.169.254/latest/meta-data/ [fe80::1] [fc00::1] [fec0::1] 224.0.0.1 [ff02::1] 240.0.0.1 "
    "255.255.255.255 198.18.0.1 [::]"
).split()


@pytest.mark.parametrize("host", PRIVATE)
def test_an_address_that_is_not_public_is_refused(host):
    [failure] = web.crawl(Site(f"http://{host}"), {}).failed
    # Python 3.11 takes 0177 for no number; the system's resolver takes it for 127
    refused = "is no address that can be read" if "0177" in host else "is no address of the public Internet"
    assert refused in failure.reason


@pytest.mark.parametrize("place", ["169.254.169.254", "fe80::1", "0.0.0.0", "224.0.0.1", "240.0.0.1"])
def test_what_no_intranet_needs_stays_closed_with_the_allowance(place):
    assert not Reach(frozenset({80}), private_networks=True).holds(place)


@pytest.mark.parametrize("place", ["93.184.215.14", "2606:2800:21f::1", "64:ff9b::5db8:d70e"])
def test_the_public_internet_is_open(place):
    assert Reach(frozenset({80})).holds(place)


@pytest.fixture
def names(monkeypatch):
    """Let a test say what names mean, where this machine passes for a public one; keep what was looked up."""
    really = Reach.holds
    monkeypatch.setattr(Reach, "holds", lambda reach, place: place == "127.0.0.1" or really(reach, place))

    def script(answers):
        looked_up = []

        def getaddrinfo(host, port, *_, **__):
            name = host.decode() if isinstance(host, bytes) else host
            looked_up.append(name)
            stream = socket.AF_INET, socket.SOCK_STREAM, 6, ""
            return [(*stream, (place, port)) for place in answers(name)]

        monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
        return looked_up

    return script


def test_a_redirect_to_this_machine_is_refused(server, names):
    """The first server passes for a public one; what it leads to is checked as it is."""
    names(lambda name: ["127.0.0.1"] if name == "public.test" else ["127.0.0.2"])
    server.redirect("/", f"http://intern.test:{server.port}/secret")
    put_pages(server, secret="")
    found = web.crawl(Site(f"http://public.test:{server.port}/"), {})
    assert not found.pages
    assert found.failed[0].reason == (
        "is not fetched: 'intern.test' leads to 127.0.0.2, which is no address of the public Internet"
    )
    assert server.paths() == ["/"]


def test_a_name_that_changes_its_meaning_after_the_check_is_not_looked_up_again(server, names):
    """DNS rebinding: each request is connected to the address that was checked for it."""
    looked_up = names(lambda name: ["127.0.0.1"] if looked_up.count(name) % 2 else ["127.0.0.9"])
    put_pages(server, start="")
    # robots.txt was asked for by the first meaning; the page was refused by the second
    assert not web.crawl(Site(f"http://rebind.test:{server.port}/"), {}).pages
    assert looked_up == ["rebind.test", "rebind.test"]
    assert [path for path, _ in server.asked] == ["/robots.txt"]
    assert server.asked[0][1]["Host"] == f"rebind.test:{server.port}"


def test_a_certificate_is_held_against_the_name_that_was_asked_for(server, monkeypatch, names, tmp_path):
    certificate = make_certificate("public.test", tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    trusted = ssl.create_default_context(cafile=str(certificate))
    monkeypatch.setattr(web_fetch, "_certificates", lambda: trusted)
    names(lambda name: ["127.0.0.1"])
    server.encrypt(context)
    put_pages(server, start="")
    assert web.crawl(Site(f"https://public.test:{server.port}/", private_networks=True), {}).pages
    [failure] = web.crawl(Site(f"https://other.test:{server.port}/", private_networks=True), {}).failed
    assert "not valid for 'other.test'" in failure.reason


def make_certificate(name, folder):
    """Write a certificate that trusts itself, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file = folder / "certificate.pem"
    file.write_bytes(made.public_bytes(Encoding.PEM) + secret)
    return file


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("http://ada:secret@example.org/", "a name and a password"),
        ("http:///", "is no address"),
        (f"http://example.org/{'a' * 2000}", "is no address"),
        ("http://" + "a" * 70 + ".org/", "is no"),
    ],
)
def test_an_address_that_cannot_be_read_is_refused(address, reason):
    [failure] = web.crawl(Site(address), {}).failed
    assert reason in failure.reason or "not known" in failure.reason
    assert "secret" not in str(failure)


def test_a_page_of_this_machine_is_not_indexed_without_the_allowance(server, tmp_path):
    server.put("/", page("A secret."))
    with pytest.raises(IndexingError, match="is no address of the public Internet"):
        Index.build(f"{server.url}/", tmp_path / "index")
    assert server.asked == []


def test_a_missing_package_is_named_with_its_install_line(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "protego", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'adaptive-rag\[web\]'"):
        web.crawl(Site("https://example.org/"), {})


def test_pages_and_files_can_be_indexed_together(server, tmp_path):
    put_pages(server, start="")
    (tmp_path / "a.txt").write_text("A file beside it.")
    report = Index.build([str(tmp_path / "a.txt"), site_of(server)], tmp_path / "index")
    assert report.added == 2
    # a later run over the files alone leaves the page as it is
    assert Index.build(tmp_path, tmp_path / "index").removed == 0
