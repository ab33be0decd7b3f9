"""How a run of the tests is shared among workers."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from tests import conftest

GIGABYTE = 1 << 30


@pytest.mark.parametrize(
    ("asked", "cores", "memory", "workers"),
    [
        ("tests", 2, 16, 3),
        ("tests/text", 2, 16, 0),
        ("tests/test_workers.py::test_a_run", 2, 16, 0),
        ("tests", 1, 16, 2),
        ("tests", 64, 500, conftest.MOST_WORKERS),
        ("tests", 16, 10, 3),
        ("tests", 16, 2, 0),
    ],
)
def test_all_tests_are_shared_as_cores_and_memory_allow(
    asked: str, cores: int, memory: int, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parents[1])
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(cores), raising=False)
    free = SimpleNamespace(available=memory * GIGABYTE)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: free)
    config: Any = SimpleNamespace(args=[asked])
    assert conftest.pytest_xdist_auto_num_workers(config) == workers
