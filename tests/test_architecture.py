"""The shape of the code: which way imports point, what stands behind one file, what tables must hold."""

import ast
import importlib
import typing
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import adaptive_rag
from adaptive_rag.llm.steps import SKILLS

ROOT = Path(__file__).parents[1]
FOLDERS = {"adaptive_rag": ROOT / "adaptive_rag"} | {
    f"adaptive_rag.{name}": ROOT / name for name in ("graph", "nodes")
}

# Whoever runs the whole graph is a door. The evaluation is one: it asks the graph its questions.
DOORS = (
    "adaptive_rag.__main__",
    "adaptive_rag.cli",
    "adaptive_rag.evaluation",
    "adaptive_rag.graph.studio",
    "adaptive_rag.retriever",
    "adaptive_rag.runnable",
)
# An empty name says nothing: what such a file holds belongs where it is used.
EMPTY_NAMES = {"utils", "util", "helpers", "helper", "manager", "handler", "common", "misc"}


def modules() -> Iterator[tuple[str, Path]]:
    for package, folder in FOLDERS.items():
        for file in sorted(folder.rglob("*.py")):
            parts = file.relative_to(folder).with_suffix("").parts
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            yield ".".join([package, *parts]), file


MODULES = dict(modules())


def lies_in(module: str, *packages: str) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def layer(module: str) -> str:
    if module == "adaptive_rag" or lies_in(module, *DOORS):
        return "doors"
    for name in ("graph", "nodes"):
        if lies_in(module, f"adaptive_rag.{name}"):
            return name
    return "core"


def imports(file: Path) -> set[str]:
    """Return the modules that a file imports anywhere in it; `from a import b` is a.b where that is one."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file} has a relative import"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                found.add(whole if whole in MODULES else str(node.module))
    return found


IMPORTS = {module: imports(file) for module, file in MODULES.items()}


@pytest.mark.parametrize(
    ("layer_name", "allowed"),
    [
        ("core", {"core"}),
        ("nodes", {"core", "nodes"}),
        ("graph", {"core", "nodes", "graph"}),
    ],
)
def test_arrows_point_one_way(layer_name: str, allowed: set[str]) -> None:
    wrong = [
        f"{module} imports {imported}"
        for module in MODULES
        if layer(module) == layer_name
        for imported in sorted(IMPORTS[module])
        if lies_in(imported, "adaptive_rag") and layer(imported) not in allowed
    ]
    assert wrong == []


def test_only_doors_import_the_graph() -> None:
    importing = {
        module
        for module, imported in IMPORTS.items()
        if any(lies_in(name, "adaptive_rag.graph") for name in imported)
    }
    assert {layer(module) for module in importing} == {"doors", "graph"}
    assert "adaptive_rag.runnable" in importing


def test_the_reading_of_imports_sees_them_wherever_they_stand() -> None:
    # Guards the tests above: a reader that sees nothing would let everything pass.
    assert "adaptive_rag.index" in IMPORTS["adaptive_rag.cli.info"]
    assert "adaptive_rag.context" in IMPORTS["adaptive_rag"]
    assert "adaptive_rag.nodes.rerank" in IMPORTS["adaptive_rag.nodes.balance"]


@pytest.mark.parametrize(
    ("library", "allowed"),
    [
        # PyMuPDF is AGPL or commercial: whoever replaces it replaces one file.
        ("pymupdf", ["adaptive_rag.ingest.pdf"]),
        # Its maintainers are winding it down.
        ("langchain_community", ["adaptive_rag.ingest.community"]),
    ],
)
def test_one_file_alone_stands_before_a_library(library: str, allowed: list[str]) -> None:
    importing = [m for m, imported in IMPORTS.items() if any(lies_in(name, library) for name in imported)]
    importing += [m for m in MODULES if f'"{library}.' in MODULES[m].read_text() and m not in importing]
    assert importing == allowed


def test_no_module_has_an_empty_name() -> None:
    assert [module for module in MODULES if EMPTY_NAMES & set(module.split("."))] == []


@pytest.mark.parametrize("module", MODULES)
def test_a_module_says_first_where_it_stands(module: str) -> None:
    docstring = ast.get_docstring(ast.parse(MODULES[module].read_text(encoding="utf-8")))
    assert docstring and docstring.split("\n\n")[0].rstrip().endswith((".", "?", ":"))


def test_the_graph_is_no_name_of_the_package() -> None:
    # It would hide the folder of that name.
    assert "graph" not in adaptive_rag.__all__
    assert isinstance(importlib.import_module("adaptive_rag.graph"), ModuleType)


def tables() -> Iterator[tuple[str, str, str]]:
    """Find the tables `NAME: dict[Key, ...] = {...}` of all modules."""
    for module, file in MODULES.items():
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if (
                isinstance(node, ast.AnnAssign)
                and isinstance(node.target, ast.Name)
                and isinstance(node.annotation, ast.Subscript)
                and ast.unparse(node.annotation.value) in ("dict", "Mapping")
                and isinstance(node.annotation.slice, ast.Tuple)
            ):
                yield module, node.target.id, ast.unparse(node.annotation.slice.elts[0])


TABLES = list(tables())


@pytest.mark.parametrize(
    ("module", "table", "key"), TABLES, ids=lambda name: name.removeprefix("adaptive_rag.")
)
def test_a_table_has_the_keys_that_its_literal_names(module: str, table: str, key: str) -> None:
    loaded = importlib.import_module(module)
    named = getattr(loaded, key, None)
    if typing.get_origin(named) is not typing.Literal:
        # A table whose keys are open, such as the suffixes of files, has none to forget.
        assert key == "str"
        return
    assert set(getattr(loaded, table)) == set(typing.get_args(named))


@pytest.mark.parametrize("table", ["STRATEGIES", "SKILLS", "ARMS", "RERANKERS", "LOADERS"])
def test_the_tables_that_people_add_to_are_found(table: str) -> None:
    assert table in {name for _, name, _ in TABLES}


@pytest.mark.parametrize("skill", SKILLS.values(), ids=lambda skill: skill.name)
def test_every_skill_has_its_prompt_its_schema_and_its_stand_in(skill: typing.Any) -> None:
    prompt = ROOT / "adaptive_rag" / "prompts" / f"{skill.name}.md"
    assert prompt.read_text(encoding="utf-8").strip()
    assert skill.schema.model_json_schema()["properties"]
    assert callable(skill.stand_in)


def test_nodes_hold_no_prompts_and_read_no_environment() -> None:
    for module, file in MODULES.items():
        if layer(module) in ("nodes", "graph"):
            assert not {"os", "dotenv", "getpass"} & IMPORTS[module], file


def test_nothing_is_printed_but_by_the_shell_door() -> None:
    printing = [
        module
        for module, file in MODULES.items()
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert printing == []
