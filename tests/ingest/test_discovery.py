import os
import sys
from pathlib import Path

import pytest

from adaptive_rag.errors import ConfigurationError, InputError
from adaptive_rag.ingest import Confined, Patterns, discover, read_source
from tests.index.made import HashEmbeddings, build


def write(path, text=""):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("b.txt", "a.MD", "sub/c.txt", ".hidden.txt", ".git/d.txt", "x.raw"):
        write(tmp_path / "docs" / name, "x")
    return tmp_path


def sources(*arguments, **options):
    return [file.source for file in discover(*arguments, **options)]


def test_folders_are_listed_in_order_without_hidden_and_unread_files_and_the_index(folder):
    assert sources("docs") == ["docs/a.MD", "docs/b.txt", "docs/sub/c.txt"]
    assert sources(folder / "docs") == sources("docs")
    assert sources("docs", index=folder / "docs/sub") == ["docs/a.MD", "docs/b.txt"]


def test_patterns_and_repeats_give_each_file_once(folder):
    assert sources(["docs/*.txt", "docs", "docs/b.txt"]) == ["docs/b.txt", "docs/a.MD", "docs/sub/c.txt"]
    assert sources("docs/**/*") == ["docs/a.MD", "docs/b.txt", "docs/sub/c.txt"]


@pytest.fixture
def project(folder):
    """A folder with documents, and with what lies in folders beside them."""
    rules = "\ufeff*.draft.md\n# made\n/out/\n[z-a\n*a*a*a*a*a*b\n"
    for name, text in {".gitignore": rules, "sub/.gitignore": "!kept.draft.md\n"}.items():
        write(folder / "project" / name, text)
    for name in (
        *("a.draft.md", "sub/kept.draft.md", "out/page.html", "sub/out/page.html", "~$a.docx"),
        *("node_modules/lib/README.md", "my-env/pyvenv.cfg", "my-env/lib/LICENSE.txt"),
        "other-index/manifest.copy.json",
    ):
        write(folder / "project" / name)
    return "project"


def test_what_programs_and_a_gitignore_leave_out_is_passed_over(project):
    kept = ["project/sub/kept.draft.md", "project/sub/out/page.html"]
    assert sources(project) == kept
    assert sorted(sources(f"{project}/**/*")) == kept


def test_what_is_left_out_is_read_where_it_is_asked_for(project):
    assert sources(f"{project}/node_modules") == ["project/node_modules/lib/README.md"]
    assert sources(f"{project}/a.draft.md") == ["project/a.draft.md"]
    wanted = Patterns(exclude=["!node_modules/", "!my-env/", "!/out/", "*.draft.md"])
    assert sources(project, patterns=wanted) == [
        "project/my-env/pyvenv.cfg",
        "project/my-env/lib/LICENSE.txt",
        "project/node_modules/lib/README.md",
        "project/out/page.html",
        "project/sub/out/page.html",
    ]


def test_the_rules_of_a_folder_hold_for_the_folders_in_it_that_match_a_pattern(project):
    Path(project, "sub/b.draft.md").touch()
    assert sorted(sources(f"{project}/*")) == sources(project)
    wanted = Patterns(include=["sub/out/*"])
    assert sources(f"{project}/*", patterns=wanted) == ["project/sub/out/page.html"]


def test_include_reads_only_what_it_names(project):
    assert sources(project, patterns=Patterns(include=["*.html"])) == ["project/sub/out/page.html"]
    both = Patterns(include=["sub/*"], exclude=["*.html"])
    assert sources(project, patterns=both) == ["project/sub/kept.draft.md"]


@pytest.mark.parametrize("pattern", ["*a*a*a*a*b", "!", "**/a/**/a/**/a/**/b"])
def test_a_pattern_that_cannot_be_read_is_named(project, pattern):
    with pytest.raises(InputError, match="pattern"):
        discover(project, patterns=Patterns(exclude=[pattern]))


def test_files_outside_the_working_directory_keep_their_whole_path(folder, monkeypatch):
    monkeypatch.chdir(folder / "docs/sub")
    assert sources("../b.txt") == [(folder / "docs/b.txt").as_posix()]


def test_links_that_lead_back_up_end_and_a_file_is_found_once_whatever_links_lead_to_it(folder):
    for name in ("up", "back"):  # with two links, there are 2 ** 40 paths before the system refuses one
        (folder / "docs/sub" / name).symlink_to(folder / "docs", target_is_directory=True)
    assert sources("docs") == sources("docs/**/*") == ["docs/a.MD", "docs/b.txt", "docs/sub/c.txt"]
    assert sources(f"{'**/' * 20}*.txt") == ["docs/b.txt", "docs/sub/c.txt"]
    (folder / "docs/a-link.txt").symlink_to(folder / "docs/sub/c.txt")
    (folder / "docs/z").symlink_to(folder / "docs/sub", target_is_directory=True)
    files = discover("docs")
    assert [file.source for file in files] == ["docs/a-link.txt", "docs/a.MD", "docs/b.txt"]
    assert [file.real for file in files] == [os.path.realpath(file.path) for file in files]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nowhere", "'nowhere' does not exist"),
        ("~no-user/docs", "'~no-user/docs' does not exist"),
        ("x" * 300, "does not exist"),
        ("docs/x.raw", r"suffix is '.raw'.*PDF, text"),
        ("none/*.txt", "No file matches the pattern"),
        ("docs/.git/e", "does not exist"),
        ("s3://bucket/kb", "'s3://bucket/kb' is not a file.*--index"),
        ([], "No path was given"),
    ],
)
def test_what_cannot_be_found_is_named(folder, path, message):
    with pytest.raises(ConfigurationError, match=message):
        discover(path)


def test_an_empty_folder_says_which_kinds_are_read(tmp_path):
    with pytest.raises(ConfigurationError, match=r"No file to read was found in .*PDF, text"):
        discover(tmp_path)


@pytest.mark.skipif(os.name == "nt", reason="such names and files cannot be made on Windows")
def test_what_is_no_ordinary_file_is_listed_so_that_reading_says_what_it_is(folder):
    os.mkfifo("docs/d.txt")
    os.symlink("nowhere", "docs/e.txt")
    os.symlink("f.txt", "docs/f.txt")
    files = {file.source: file for file in discover("docs")}
    for name, said in (("d", "a pipe"), ("e", "does not exist"), ("f", "symbolic links")):
        assert said in read_source(files[f"docs/{name}.txt"]).reason


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_a_name_that_no_terminal_shows_is_written_so_that_it_can_be_told(folder):
    names = {
        b"\x1b[31mred.txt": r"\x1b[31mred.txt",
        b"caf\xe9.txt": r"caf\xe9.txt",
        "café\u00a0潮.txt".encode(): "café\u00a0潮.txt",
        b"two\nlines.txt": r"two\nlines.txt",
    }
    os.mkdir("odd")
    for name in names:
        Path(os.fsdecode(b"odd/" + name)).write_text(f"The tide comes in, {len(name)}.")
    shown = sorted(f"odd/{each}" for each in names.values())
    assert sorted(sources("odd")) == shown
    for _ in range(2):
        report = build("odd", Path("kb"), embeddings=HashEmbeddings())
    assert (sorted(report.sources), report.unchanged) == (shown, 4)
    for name in names:
        os.remove(os.fsdecode(b"odd/" + name))
    Path("odd/b.txt").write_text("The tide goes out.")
    assert build("odd", Path("kb"), embeddings=HashEmbeddings()).removed == 4


@pytest.fixture
def confined(folder):
    """A folder with ways out of it, and what lies outside."""
    (folder / "outside").mkdir()
    (folder / "outside/secret.txt").write_text("secret")
    (folder / "docs/way-out").symlink_to(folder / "outside")
    (folder / "docs/sub/leak.txt").symlink_to(folder / "outside/secret.txt")
    (folder / "docs/inside.txt").symlink_to(folder / "docs/b.txt")
    (folder / "root").symlink_to(folder / "docs")
    return lambda *paths, most=100: Confined(paths, [str(folder / "docs")], most)


def test_of_confined_paths_what_links_lead_out_to_is_passed_over(folder, confined):
    inside = {folder / "docs" / name for name in ("a.MD", "b.txt", "sub/c.txt")}
    for asked in ("docs", "docs/*", "docs/**/*", "root", "./docs"):
        assert {file.path for file in discover(confined(asked))} == inside, asked


REFUSED = [
    "outside", "outside/secret.txt", "outside/nothing.txt", "docs/../outside", "docs/*/../../outside/*",
    "docs/way-out", "docs/way-out/*.txt", "docs/way-out/secret.txt", "docs/sub/leak.txt", "docs/.hidden.txt",
    "docs/.git/*", "*/secret.txt", "/", ".", "~", "~root/x.txt", "docs/\0", "docs-of-others/x.txt",
    "http://127.0.0.1/",
]  # fmt: skip


def test_a_confined_path_outside_is_refused_in_the_same_words_whether_it_is_there(folder, confined):
    (folder / "docs-of-others").mkdir()
    for asked in REFUSED:
        with pytest.raises(InputError) as refused:
            discover(confined(asked))
        assert "not in a folder that callers may index" in str(refused.value), asked
    with pytest.raises(InputError, match="does not exist"):
        discover(confined("docs/nothing.txt"))


def test_a_gitignore_outside_the_roots_says_nothing(folder, confined):
    (folder / "outside/rules").write_text("b.txt")
    (folder / "docs/.gitignore").symlink_to(folder / "outside/rules")
    assert folder / "docs/b.txt" in {file.path for file in discover(confined("docs"))}


def test_more_confined_files_than_may_be_are_refused(confined):
    assert len(discover(confined("docs", most=3))) == 3
    with pytest.raises(InputError, match=r"3 files were found; one call may index at most 2"):
        discover(confined("docs", most=2))
