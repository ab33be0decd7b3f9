"""The page on security: its example configuration works, and its counts are those of the tests."""

import hashlib
import importlib
import math
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from starlette.datastructures import Headers

from adaptive_rag.context import CONFIG_FILE, make_context
from adaptive_rag.server.door import admit
from adaptive_rag.server.machine import Refused

PAGE = (Path(__file__).parents[2] / "docs" / "security.md").read_text(encoding="utf-8")
SERVED = PAGE.partition("## The served graphs\n")[2].partition("\n## ")[0]
ROWS = re.findall(r"^\| (\d+) \| .* \| (\d+): .* \| `tests/(\S+)\.py::(\w+)` \|$", PAGE, re.MULTILINE)


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", SERVED, re.DOTALL)
    assert found
    return found[1]


def test_the_example_configuration_lets_its_user_in_and_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(CONFIG_FILE).write_text(block("toml"))
    context = make_context()
    assert context.budget.deadline_s == 20
    assert context.serving.roots == {"documents"} and context.serving.max_k == 20

    def scope(token: str) -> dict[str, object]:
        headers = Headers({"authorization": f"Bearer {token}", "host": "rag.example"}).raw
        return {"type": "http", "headers": headers, "client": ("203.0.113.5", 1)}

    assert admit(scope("the-token-of-ada-in-this-page"), context.serving) == "ada"
    with pytest.raises(Refused):
        admit(scope(tomllib.loads(block("toml"))["serving"]["users"]["ada"]), context.serving)


def test_the_command_makes_a_token_and_its_hash() -> None:
    _, *command = shlex.split(block("sh"))
    made = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=True)
    token, digest = made.stdout.split()
    assert len(token) >= 43 and hashlib.sha256(token.encode()).hexdigest() == digest


@pytest.mark.parametrize(("tried", "held", "module", "test"), ROWS, ids=lambda part: part[-60:])
def test_the_counts_are_those_of_the_tests(tried: str, held: str, module: str, test: str) -> None:
    function = getattr(importlib.import_module(f"tests.{module.replace('/', '.')}"), test)
    marks = [mark for mark in getattr(function, "pytestmark", ()) if mark.name == "parametrize"]
    assert int(tried) == int(held) == math.prod(len(mark.args[1]) for mark in marks)


def test_the_table_has_every_hostile_test_of_the_running_server() -> None:
    from tests.server import test_served

    hostile = {name for name in dir(test_served) if name.startswith("test_")}
    friendly = {
        "test_a_callers_own_profile_reaches_their_question_and_no_others",
        "test_what_a_caller_may_set_is_set",
    }
    assert {test for _, _, module, test in ROWS if module == "server/test_served"} == hostile - friendly
    assert sum(int(tried) for tried, *_ in ROWS) > 150
