import json
import os
from pathlib import Path
from typing import Any

import pytest

# The notebooks index the same documents: their vectors are made once.
LEND = """
def lend():
    import sys
    from pathlib import Path
    sys.path.append({tests!r})
    import sample_vectors
    sample_vectors.lend(Path({vectors!r}))

lend()
del lend
"""
NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


def test_all_notebooks_are_there() -> None:
    assert [notebook.stem for notebook in NOTEBOOKS] == [
        "01_quickstart",
        "02_strategies",
        "03_fusion",
        "04_evaluation",
        "05_langchain",
    ]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_stored_without_output(notebook: Path) -> None:
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            assert cell["execution_count"] is None


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_notebooks_import_is_there(notebook: Path) -> None:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    lines = [line for cell in cells if cell["cell_type"] == "code" for line in cell["source"]]
    imports = [line for line in lines if line.startswith("from adaptive_rag") and "(" not in line]
    assert imports
    exec("".join(line.rstrip() + "\n" for line in imports), {})


@pytest.mark.usefixtures("samples_embedded")
def test_the_first_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cells = json.loads(NOTEBOOKS[0].read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    known: dict[str, Any] = {}
    exec("\n".join(code), known)
    assert known["result"]["citations"] and known["silent"]["abstained"]


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run_without_a_key(
    notebook: Path,
    tmp_path: Path,
    sample_vectors: Path,
    monkeypatch: pytest.MonkeyPatch,
    socket_enabled: None,
) -> None:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    for name in [name for name in os.environ if name.endswith("_API_KEY")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    read = nbformat.read(notebook, as_version=4)
    lent = LEND.format(tests=str(Path(__file__).parents[1]), vectors=str(sample_vectors))
    read.cells.insert(0, nbformat.v4.new_code_cell(lent))
    client = nbclient.NotebookClient(
        read,
        timeout=300,
        kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    )
    client.execute()
