import pytest

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.ingest import discover


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in [
        "docs/b.txt",
        "docs/a.MD",
        "docs/sub/c.txt",
        "docs/.hidden.txt",
        "docs/.git/d.txt",
        "docs/x.png",
    ]:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    return tmp_path


def sources(*arguments, **options):
    return [file.source for file in discover(*arguments, **options)]


def test_folders_are_listed_in_order_without_hidden_and_unread_files(folder):
    assert sources("docs") == ["docs/a.MD", "docs/b.txt", "docs/sub/c.txt"]
    assert sources(folder / "docs") == sources("docs")


def test_patterns_and_repeats_give_each_file_once(folder):
    assert sources(["docs/*.txt", "docs", "docs/b.txt"]) == ["docs/b.txt", "docs/a.MD", "docs/sub/c.txt"]
    assert sources("docs/**/*") == ["docs/a.MD", "docs/b.txt", "docs/sub/c.txt"]


def test_the_index_folder_is_passed_over(folder):
    assert sources("docs", exclude=[folder / "docs/sub"]) == ["docs/a.MD", "docs/b.txt"]


def test_files_outside_the_working_directory_keep_their_whole_path(folder, monkeypatch):
    monkeypatch.chdir(folder / "docs/sub")
    assert sources("../b.txt") == [(folder / "docs/b.txt").as_posix()]


def test_a_link_that_leads_back_up_ends(folder):
    (folder / "docs/sub/up").symlink_to(folder / "docs", target_is_directory=True)
    assert sources("docs") == ["docs/a.MD", "docs/b.txt", "docs/sub/c.txt"]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nowhere", "'nowhere' does not exist"),
        ("docs/x.png", r"suffix is '.png'.*\.pdf"),
        ("none/*.txt", "No file matches the pattern"),
        ("docs/.git/e", "does not exist"),
        ([], "No path was given"),
    ],
)
def test_what_cannot_be_found_is_named(folder, path, message):
    with pytest.raises(ConfigurationError, match=message):
        discover(path)


def test_an_empty_folder_says_which_suffixes_are_read(tmp_path):
    with pytest.raises(ConfigurationError, match=r"No file to read was found in .*\.pdf, \.txt"):
        discover(tmp_path)
