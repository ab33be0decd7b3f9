"""The shape of the code: the order of the rooms, what stands behind one file, what pages name."""

import ast
import importlib
import re
import typing
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

import adaptive_rag
from adaptive_rag.context.groups import StepName

ROOT = Path(__file__).parents[1]
FOLDERS = {"adaptive_rag": ROOT / "adaptive_rag"} | {
    f"adaptive_rag.{name}": ROOT / name for name in ("graph", "nodes")
}
# A question and a document pass through them in this order; each imports only itself and those above it.
ROOMS = tuple(
    "errors deadline private recipes state where source text optional context ingest models "
    "llm index analysis query search rank answer checkpoints conversation nodes graph samples "
    "testing compare tool streaming runnable retriever evaluation server cli __main__".split()
)


def modules() -> Iterator[tuple[str, Path]]:
    for package, folder in FOLDERS.items():
        for file in sorted(folder.rglob("*.py")):
            parts = file.relative_to(folder).with_suffix("").parts
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            yield ".".join([package, *parts]), file


MODULES = dict(modules())


# An import statement at the start of a line; to parse whole files takes seconds.
IMPORT = re.compile(r"^[ \t]*(from [\w.]+ import (?:\([^)]*\)|[^\n(]+)|import [\w., ]+)", re.MULTILINE)


def lies_in(module: str, *packages: str) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def imports(file: Path) -> set[str]:
    """Return the modules that a file imports anywhere in it, also inside functions and for types alone.

    `from a import b` is a.b where that is a module.
    """
    found = set()
    for node in ast.parse("\n".join(IMPORT.findall(file.read_text(encoding="utf-8")))).body:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file} has a relative import"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                found.add(whole if whole in MODULES else str(node.module))
    return found


@cache
def all_imports() -> dict[str, set[str]]:
    return {module: imports(file) for module, file in MODULES.items()}


def test_every_room_has_its_place() -> None:
    assert {room(module) for module in MODULES if room(module)} == set(ROOMS)


def test_the_guide_lists_the_rooms_in_their_order() -> None:
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = guide.split("| layer |")[1].split("\n\n")[0]
    names = re.findall(r"`(\w+)/?`", "".join(line.split("|")[1] for line in section.splitlines()[2:]))
    assert tuple(names) == ROOMS[:-1]


def test_every_path_that_the_guide_names_is_there() -> None:
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = guide.split("## In five minutes")[1].split("\n\n")[1]
    named = re.findall(r"`([\w./-]+\.(?:py|md|toml))`", table)
    assert len(named) > 50
    for name in named:
        file = ROOT / name
        assert file.is_file() or (file.parent.is_dir() and file.stem in ("NAME", "STEP")), name


def test_a_room_imports_only_rooms_above_it() -> None:
    wrong = [
        f"{module} imports {imported}"
        for module in MODULES
        if room(module)
        for imported in sorted(all_imports()[module])
        if lies_in(imported, "adaptive_rag")
        and room(imported) not in ("", *ROOMS[: ROOMS.index(room(module)) + 1])
    ]
    assert wrong == []


def test_no_files_import_each_other_in_a_circle() -> None:
    arrows = {
        module: {name for name in imported if name in MODULES and name not in (module, "adaptive_rag")}
        for module, imported in all_imports().items()
        if module != "adaptive_rag"
    }
    done: set[str] = set()

    def follow(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " -> ".join([*path[path.index(module) :], module])
        if module not in done:
            for name in sorted(arrows[module]):
                follow(name, (*path, module))
            done.add(module)

    for module in arrows:
        follow(module, ())


def test_the_reading_of_imports_sees_them_wherever_they_stand() -> None:
    # Guards the tests above: a reader that sees nothing would let everything pass.
    assert "adaptive_rag.context" in all_imports()["adaptive_rag.cli.index"]  # inside a function
    assert "adaptive_rag.context" in all_imports()["adaptive_rag"]  # for types alone
    assert "adaptive_rag.nodes.rerank" in all_imports()["adaptive_rag.nodes.balance"]


@pytest.mark.parametrize(
    ("library", "allowed"),
    [
        # PyMuPDF is AGPL or commercial: whoever replaces it replaces what reads PDFs, and what writes them.
        ("pymupdf", ["adaptive_rag.ingest.pdf", "adaptive_rag.server.pdf"]),
        # Its maintainers are winding it down.
        ("langchain_community", ["adaptive_rag.ingest.community"]),
    ],
)
def test_one_file_alone_stands_before_a_library(library: str, allowed: list[str]) -> None:
    importing = [m for m, names in all_imports().items() if any(lies_in(name, library) for name in names)]
    importing += [m for m in MODULES if f'"{library}.' in MODULES[m].read_text() and m not in importing]
    assert importing == allowed


def test_the_graph_is_no_name_of_the_package() -> None:
    # It would hide the folder of that name.
    assert "graph" not in adaptive_rag.__all__
    assert isinstance(importlib.import_module("adaptive_rag.graph"), ModuleType)


@pytest.mark.parametrize("step", typing.get_args(StepName))
def test_every_step_has_its_prompt(step: str) -> None:
    prompt = ROOT / "adaptive_rag" / "llm" / "prompts" / f"{step}.md"
    assert prompt.read_text(encoding="utf-8").strip()


def test_nodes_hold_no_prompts_and_read_no_environment() -> None:
    for module, file in MODULES.items():
        if room(module) in ("nodes", "graph"):
            assert not {"os", "dotenv", "getpass"} & all_imports()[module], file


def test_every_test_that_a_page_names_exists() -> None:
    tests = {file: file.read_text(encoding="utf-8") for file in (ROOT / "tests").rglob("test_*.py")}
    there = {file.relative_to(ROOT).as_posix() for file in tests} | {file.name for file in tests}
    there.update(name for text in tests.values() for name in re.findall(r"def (test_\w+)", text))
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    named = {
        name
        for page in pages
        for name in re.findall(r"`((?:tests/[\w/]+/)?test_[\w.]+)`", page.read_text(encoding="utf-8"))
    }
    assert len(named) > 100
    assert named - there == set()
