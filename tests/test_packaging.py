"""The wheel that people install holds what the tree holds, and nothing else."""

import json
import os
import subprocess
import sys
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# Where each folder of the tree lies in the package.
HOMES = {"adaptive_rag": "adaptive_rag", "graph": "adaptive_rag/graph", "nodes": "adaptive_rag/nodes"}

pytestmark = pytest.mark.slow


def tracked(folder: str) -> Iterator[Path]:
    """Go through the files of a folder that belong to the project, not those that runs leave behind."""
    for file in sorted((ROOT / folder).rglob("*")):
        is_left = {"__pycache__", "node_modules"} & set(file.parts)
        if file.is_file() and not is_left and not file.name.startswith("."):
            yield file


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """Build the wheel from a copy of the tree, without a network."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for folder in HOMES:
        for file in tracked(folder):
            copy = source / file.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(file.read_bytes())
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        (source / name).write_bytes((ROOT / name).read_bytes())
    # What must not get in, although it lies beside the package.
    (source / "tests").mkdir()
    (source / "tests" / "__init__.py").touch()
    # The build that pip calls, without the seconds that pip itself and compression take.
    build = (
        "import sys; from setuptools.build_meta import build_wheel;"
        "build_wheel(sys.argv[1], {'--build-option': ['--compression=stored']})"
    )
    done = subprocess.run([sys.executable, "-c", build, out], cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    [file] = out.glob("*.whl")
    return zipfile.ZipFile(file)


def test_every_file_of_the_tree_is_in_the_wheel_and_no_other(wheel: zipfile.ZipFile) -> None:
    expected = {
        f"{home}/{file.relative_to(ROOT / folder).as_posix()}": file.stat().st_size
        for folder, home in HOMES.items()
        for file in tracked(folder)
    }
    found = {i.filename: i.file_size for i in wheel.infolist() if ".dist-info/" not in i.filename}
    assert expected == found


def test_nothing_but_the_package_is_installed_at_the_top(wheel: zipfile.ZipFile) -> None:
    tops = {name.split("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"adaptive_rag"}


def test_the_licences_travel_along(wheel: zipfile.ZipFile) -> None:
    names = [name for name in wheel.namelist() if "/licenses/" in name]
    assert {Path(name).name for name in names} == {"LICENSE", "NOTICE"}


def test_the_wheel_answers_without_the_tree(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    """Install it plainly, beside the libraries of this environment, and start it from another folder."""
    venv.create(tmp_path / "venv", with_pip=False)
    [site] = (tmp_path / "venv").rglob("site-packages")
    wheel.extractall(site)
    libraries = Path(pytest.__file__).parents[1]
    # Appended after our own: the editable install of this environment must not answer instead.
    (site / "libraries.pth").write_text(f"{libraries}\n")
    [python] = [*(tmp_path / "venv").glob("bin/python"), *(tmp_path / "venv").glob("Scripts/python.exe")]
    code = (
        "import adaptive_rag, json; from adaptive_rag.graph.studio import graph;"
        "from adaptive_rag.samples import samples_path;"
        "places = [adaptive_rag.__file__, adaptive_rag.graph.__file__, str(samples_path())];"
        "print(json.dumps([*places, list(graph.nodes)]))"
    )
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([python, "-c", code], cwd=tmp_path, env=alone, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    *places, nodes = json.loads(done.stdout)
    assert all(Path(place).is_relative_to(site) for place in places)
    assert {"classify", "factual", "generate"} <= set(nodes)


def test_the_list_of_packages_is_the_list_of_folders() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    folders = {
        f"{home}/{file.parent.relative_to(ROOT / folder).as_posix()}".removesuffix("/.").replace("/", ".")
        for folder, home in HOMES.items()
        for file in tracked(folder)
        if file.suffix == ".py"
    }
    assert set(project["tool"]["setuptools"]["packages"]) == folders


def test_studio_is_told_the_graphs_by_module() -> None:
    # A path would run the file a second time, under another name.
    graphs = json.loads((ROOT / "langgraph.json").read_text())["graphs"]
    assert set(graphs) == {"adaptive_rag", "indexing"}
    for place in graphs.values():
        module, _, name = place.partition(":")
        assert module == "adaptive_rag.graph.studio" and name in ("graph", "indexing")


def test_the_served_graphs_stand_behind_the_door_and_the_rules() -> None:
    config = json.loads((ROOT / "langgraph.json").read_text())
    # Studio's own way in would let anybody in who sends its header.
    assert config["auth"] == {"path": "adaptive_rag.server.auth:auth", "disable_studio_auth": True}
    assert config["http"] == {"app": "adaptive_rag.server.door:app"}
