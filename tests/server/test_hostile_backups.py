"""Archives that are no backup, or one that somebody changed: a clear error, and nothing restored."""

import hashlib
import hmac
import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adaptive_rag.errors import AdaptiveRAGError
from adaptive_rag.server import archive
from adaptive_rag.server.backup import BackupError, back_up, restore
from adaptive_rag.server.database import open_database
from adaptive_rag.server.settings import read_server_settings

Change = Callable[[dict[str, bytes], dict[str, Any]], None]
KEY = bytes(range(32))


def put(name: str, content: bytes) -> Change:
    return lambda files, about: files.update({name: content})


def say(**changed: Any) -> Change:
    return lambda files, about: about.update(changed)


def drop(prefix: str) -> Change:
    return lambda files, about: [files.pop(name) for name in list(files) if name.startswith(prefix)] and None


USER = b'{"id": "a", "name": "eve", "is_admin": true, "is_disabled": false, "created": %s}\n'
CHANGES: dict[str, Change] = {
    "a table that no version has": put("tables/evil.jsonl", b'{"a": 1}\n'),
    "the table of migrations": put("tables/alembic_version.jsonl", b'{"version_num": "evil"}\n'),
    "rows that are no JSON": put("tables/users.jsonl", b"no rows\n"),
    "rows that are lists": put("tables/users.jsonl", b"[1, 2]\n"),
    "rows nested deep": put("tables/users.jsonl", b"[" * 200_000 + b"\n"),
    "rows that are no text": put("tables/users.jsonl", b"\xff\xfe\x00\n"),
    "rows without their columns": put("tables/users.jsonl", b'{"id": "a"}\n'),
    "a time that is none": put("tables/users.jsonl", USER % b'"yesterday"'),
    "a time that is a number": put("tables/users.jsonl", USER % b"7"),
    "rows of a collection that is not there": put(
        "tables/memberships.jsonl", b'{"collection_id": "x", "user_id": "y", "role": "admin"}\n'
    ),
    "profiles that are a list": put("profiles.jsonl", b"[1]"),
    "profiles that are no JSON": put("profiles.jsonl", b"{"),
    "no profiles": drop("profiles"),
    "no tables": drop("tables/"),
    "a revision that no version has": say(revision="evil"),
    "a revision that is a number": say(revision=7),
    "no revision": say(revision=None),
    "another form": say(format=99),
    "a form that is a list": say(format=[2]),
    "a database in the place of ours": put("data/server.sqlite", b"SQLite format 3\0"),
    "conversations in a file": put("data/conversations.sqlite", b"SQLite format 3\0"),
    "a key that others know": put("data/backup.key", KEY.hex().encode()),
    "a row of 33 MB": put("tables/users.jsonl", b'{"id": "' + b"a" * 2**25 + b'"}\n'),
}
# What restoring leaves out of a foreign backup, but reads of one that is signed.
OF_CONVERSATIONS: dict[str, Change] = {
    "a conversation that is pickled": put("conversations/t.pickle", b"cos\nsystem\n(S'true'\ntR."),
    "a conversation of LangChain's JSON": put("conversations/t.json", b'[{"lc": 1}, {}]'),
    "a conversation that is no pair": put("conversations/t.msgpack", b"\x07"),
    "a conversation of garbage": put("conversations/t.msgpack", b"\xc1\xc1"),
}


def named(files: dict[str, bytes]) -> list[dict[str, Any]]:
    return [
        {"name": name, "size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in files.items()
    ]


def pack(
    file: Path, files: dict[str, bytes], about: dict[str, Any], lines: Any = None, key: bytes | None = KEY
) -> None:
    """Write an archive as a server does that has the key."""
    manifest = "".join(
        json.dumps(line) + "\n" for line in (about, *(named(files) if lines is None else lines))
    )
    written = {"manifest.jsonl": manifest.encode(), **files}
    if key is not None:
        signature = hmac.new(key, manifest.encode(), hashlib.sha256).hexdigest().encode()
        written = {"signature": signature, **written}
    with tarfile.open(file, "w", format=tarfile.GNU_FORMAT) as tar:
        for name, content in written.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))


def new(tmp_path: Path) -> Any:
    (tmp_path / "key").write_text(KEY.hex())
    return read_server_settings(data=tmp_path / "new", backup_key=tmp_path / "key")


def refuse(file: Path, tmp_path: Path, message: str = ".", foreign: tuple[bool, ...] = (False, True)) -> None:
    """Refuse an archive that its own server signed, and one that is restored as another's."""
    for is_foreign in foreign:
        with pytest.raises(AdaptiveRAGError, match=message):
            restore(new(tmp_path), file, foreign=is_foreign)
        assert not list(tmp_path.glob("new*"))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, bytes], dict[str, Any]]:
    """Make a backup; return its files, and what it says of itself."""
    folder = tmp_path_factory.mktemp("good")
    settings = read_server_settings(data=folder / "old")
    open_database(settings).dispose()
    back_up(settings, folder / "good.tar")
    with tarfile.open(folder / "good.tar") as tar:
        files = {m.name: tar.extractfile(m).read() for m in tar if m.isfile()}
    del files["signature"]
    about = json.loads(files.pop("manifest.jsonl").splitlines()[0])
    pack(folder / "same.tar", files, about)
    restore(new(folder), folder / "same.tar")
    return files, about


@pytest.fixture
def good(made: tuple[dict[str, bytes], dict[str, Any]]) -> tuple[dict[str, bytes], dict[str, Any]]:
    """Return the files of a backup that a test may change."""
    return dict(made[0]), dict(made[1])


Good = tuple[dict[str, bytes], dict[str, Any]]


@pytest.mark.few(3)
@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_backup_is_refused_and_restores_nothing(name: str, good: Good, tmp_path: Path) -> None:
    CHANGES[name](*good)
    pack(tmp_path / "evil.tar", *good)
    refuse(tmp_path / "evil.tar", tmp_path)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", OF_CONVERSATIONS)
def test_a_hostile_conversation_is_refused_or_left_out(name: str, good: Good, tmp_path: Path) -> None:
    OF_CONVERSATIONS[name](*good)
    pack(tmp_path / "evil.tar", *good)
    refuse(tmp_path / "evil.tar", tmp_path, foreign=(False,))
    assert restore(new(tmp_path), tmp_path / "evil.tar", foreign=True)["left_out"] == 1


LIES: dict[str, Callable[[list[dict[str, Any]]], Any]] = {
    "a file that is not there": lambda lines: [*lines, {"name": "data/x", "size": 0, "sha256": "0"}],
    "a file that is not named": lambda lines: lines[1:],
    "a file that is named twice": lambda lines: [*lines, lines[0]],
    "a size that is larger": lambda lines: [{**lines[0], "size": lines[0]["size"] + 1}, *lines[1:]],
    "a digest of another content": lambda lines: [{**lines[0], "sha256": "0" * 64}, *lines[1:]],
    "a digest that is a list": lambda lines: [{**lines[0], "sha256": [1]}, *lines[1:]],
    "a name that is a list": lambda lines: [{**lines[0], "name": [1]}, *lines[1:]],
    "a line that is a list": lambda lines: [[1], *lines],
    "a line without a name": lambda lines: [{}, *lines],
}


@pytest.mark.few(2)
@pytest.mark.parametrize("name", LIES)
def test_a_manifest_that_lies_is_refused(name: str, good: Good, tmp_path: Path) -> None:
    pack(tmp_path / "evil.tar", *good, lines=LIES[name](named(good[0])))
    refuse(tmp_path / "evil.tar", tmp_path, message="is damaged at|is not a whole backup")


@pytest.mark.parametrize(
    "kind",
    [
        tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE,
        tarfile.GNUTYPE_SPARSE, tarfile.XHDTYPE, tarfile.XGLTYPE, b"L", b"K",
    ],
)  # fmt: skip
def test_links_folders_devices_and_headers_that_grow_are_refused(kind: bytes, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "evil.tar", "w", format=tarfile.GNU_FORMAT) as tar:
        member = tarfile.TarInfo("tables/users.jsonl")
        member.type, member.linkname, member.size = kind, "/etc/passwd", 2**20
        tar.addfile(member, io.BytesIO(b"1\n" * 2**19))
    refuse(tmp_path / "evil.tar", tmp_path, message="which no backup does")


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "names",
    [
        ["../x"],
        ["/x/y"],
        ["data/collections/../../x"],
        ["data/collections//x"],
        ["profiles.jsonl", "profiles.jsonl"],
        ["tables/x", "tables/x/y"],
        ["tables/" + "a" * 5_000],
        ["tables/" + "a" * 70_000],
    ],
)
def test_names_that_no_backup_has_are_refused(names: list[str], good: Good, tmp_path: Path) -> None:
    files, about = good
    pack(tmp_path / "evil.tar", files, about, named({**files, **dict.fromkeys(names, b"")}))
    with tarfile.open(tmp_path / "evil.tar", "a", format=tarfile.GNU_FORMAT) as tar:
        for name in names:
            tar.addfile(tarfile.TarInfo(name))
    refuse(tmp_path / "evil.tar", tmp_path)


@pytest.mark.parametrize("size", [-1, 10**6, 2**62])
def test_a_member_that_is_larger_than_the_archive_is_refused(size: int, good: Good, tmp_path: Path) -> None:
    pack(tmp_path / "evil.tar", *good)
    content = bytearray((tmp_path / "evil.tar").read_bytes())
    member = tarfile.TarInfo("profiles.jsonl")
    member.size = size
    at = content.index(b"profiles.jsonl\0")
    content[at : at + 512] = member.tobuf(tarfile.GNU_FORMAT)
    (tmp_path / "evil.tar").write_bytes(content)
    refuse(tmp_path / "evil.tar", tmp_path, message="not a whole backup|damaged")


def test_too_many_members_are_refused(good: Good, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pack(tmp_path / "evil.tar", *good)
    monkeypatch.setattr(archive, "MOST_FILES", 5)
    refuse(tmp_path / "evil.tar", tmp_path, message="it holds more than 5 files")


@pytest.mark.parametrize("content", [b"", b"no archive" * 100, b"\x1f\x8b" + b"\0" * 600])
def test_what_is_no_archive_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "evil.tar").write_bytes(content)
    refuse(tmp_path / "evil.tar", tmp_path)


@pytest.mark.few(1)
@pytest.mark.parametrize("key", [None, b"x" * 32, b""])
def test_what_the_key_did_not_sign_is_refused_with_both_ways(
    key: bytes | None, good: Good, tmp_path: Path
) -> None:
    pack(tmp_path / "evil.tar", *good, key=key)
    with pytest.raises(BackupError, match=r"signature.*--key FILE.*--foreign.*Nothing was restored"):
        restore(new(tmp_path), tmp_path / "evil.tar")
    with pytest.raises(BackupError, match=r"no key is named.*--key FILE.*--foreign.*Nothing was restored"):
        restore(read_server_settings(data=tmp_path / "new"), tmp_path / "evil.tar")
    assert not list(tmp_path.glob("new*"))
    assert restore(new(tmp_path), tmp_path / "evil.tar", foreign=True)["left_out"] == 0


def test_a_signature_is_checked_before_anything_is_read_or_written(
    good: Good, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack(tmp_path / "evil.tar", {**good[0], "tables/users.jsonl": b"{"}, good[1], lines=[[1]], key=b"x" * 32)

    def fail(*_: object) -> None:
        raise AssertionError("something was made")

    monkeypatch.setattr("adaptive_rag.server.backup.make_folder", fail)
    with pytest.raises(BackupError, match="another signature than that of the key"):
        restore(new(tmp_path), tmp_path / "evil.tar")


@pytest.mark.few(1)
@pytest.mark.parametrize("content", ["", "x" * 64, "ab" * 31, "ab" * 33, "ab" * 10_000])
def test_what_is_no_key_is_refused(content: str, good: Good, tmp_path: Path) -> None:
    pack(tmp_path / "same.tar", *good)
    settings = new(tmp_path)
    (tmp_path / "key").write_text(content)
    with pytest.raises(AdaptiveRAGError, match="is no key of backups: expected 64 hexadecimal digits"):
        restore(settings, tmp_path / "same.tar")
    assert not list(tmp_path.glob("new*"))
