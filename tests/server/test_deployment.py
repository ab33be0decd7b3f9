"""The image and the compose file: they name what there is, and their commands work."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from adaptive_rag.server.app import build_app
from adaptive_rag.server.settings import ServerSettings, read_server_settings
from tests.server.processes import listening

ROOT = Path(__file__).parents[2]
PREFIX = "ADAPTIVE_RAG_SERVER__"


def dockerfile() -> str:
    return (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")


def compose() -> Any:
    return yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))


def test_the_image_is_built_of_what_there_is_and_of_extras_that_exist() -> None:
    copied = [
        name for line in re.findall(r"^COPY (?!--)(.+) \S+$", dockerfile(), re.M) for name in line.split()
    ]
    assert {"adaptive_rag", "graph", "nodes", "pyproject.toml", "constraints.txt"} <= set(copied)
    assert [name for name in copied if not (ROOT / name).exists()] == []
    let_in = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert [name for name in copied if f"!{name}" not in let_in] == []
    extras = re.search(r"^ARG EXTRAS=(.+)$", dockerfile(), re.M)
    assert extras is not None and '".[${EXTRAS}]"' in dockerfile()
    given = compose()["services"]["server"]["build"]["args"]["EXTRAS"]
    assert given == f"${{EXTRAS:-{extras[1]}}}"  # a word in .env adds to what the image has
    known = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(extras[1].split(",")) <= known["optional-dependencies"].keys()


def test_the_settings_of_image_and_compose_file_exist_and_are_usable(monkeypatch: pytest.MonkeyPatch) -> None:
    given = dict(re.findall(rf"({PREFIX}\w+)=(\S+)", dockerfile()))
    for name, value in compose()["services"]["server"]["environment"].items():
        # as docker compose fills in a variable that is not set
        given[name] = re.sub(r"\$\{\w+:[-?]([^}]*)\}", r"\1", str(value))
    assert {name.removeprefix(PREFIX).lower() for name in given} <= ServerSettings.model_fields.keys()
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    settings = read_server_settings()
    assert (settings.host, settings.port, settings.data) == ("0.0.0.0", 8080, Path("/data/server"))
    assert settings.database_address.startswith("postgresql+psycopg://rag:")
    assert f"VOLUME {settings.data.parent}\n" in dockerfile()
    assert "USER rag\n" in dockerfile()


def test_containers_write_their_volumes_alone_and_have_time_to_stop() -> None:
    server = compose()["services"]["server"]
    assert server["read_only"] is True
    assert server["cap_drop"] == ["ALL"]
    assert server["volumes"] == ["data:/data"]
    assert int(server["stop_grace_period"].rstrip("s")) >= ServerSettings().stop_seconds + 15
    named = {
        volume.partition(":")[0] for each in compose()["services"].values() for volume in each["volumes"]
    }
    assert named == compose()["volumes"].keys()


def test_what_a_container_holds_in_memory_is_bounded() -> None:
    server = compose()["services"]["server"]
    folder, _, options = server["tmpfs"][0].partition(":")
    limit = re.fullmatch(r"\$\{SERVER_MEMORY:-(\d+)g\}", server["mem_limit"])
    size = re.fullmatch(r"size=(\d+)g", options)
    assert folder == "/tmp" and limit and size
    assert int(size[1]) * 1000 >= 5 * ServerSettings().max_upload_megabytes
    assert int(limit[1]) >= 4 * int(size[1])


def test_the_health_check_tells_a_server_that_answers(tmp_path: Path) -> None:
    found = re.search(r'CMD \["python", "-c", "(.+)"\]', dockerfile())
    assert found is not None
    app = build_app(read_server_settings(data=tmp_path / "data", workers=0), {})
    with listening(app) as address:
        code = found[1].replace("8080", address.rpartition(":")[2])
        assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0
    assert subprocess.run([sys.executable, "-c", code], timeout=60, capture_output=True).returncode == 1
