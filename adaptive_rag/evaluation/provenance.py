"""Record the conditions of a run, and let it be resumed only under the same conditions."""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path
from typing import Any

from adaptive_rag.analysis.router import learned_file
from adaptive_rag.context import make_context, setting_names
from adaptive_rag.errors import ConfigurationError
from adaptive_rag.evaluation.records import RUN, RUN_FILES, parse_json, read_text, write_json
from adaptive_rag.private import make_folder, replace_text
from adaptive_rag.text.redaction import redact_all

CODE_SUFFIXES = (".py", ".md", ".npy", ".onnx", ".xz", ".json", ".toml", ".yaml")
# The modules of the evaluation that affect answers or scores; the others only count and show.
ANSWER_MODULES = ("arms.py", "metrics.py", "replay.py", "run.py")


@dataclass(frozen=True)
class RunSettings:
    """The settings that two runs must share to be comparable, and a run to be resumed."""

    k: int = 10
    seed: int = 0
    limit: int | None = None
    # whether answers are scored; None means yes for data sets of documents, no for those of passages
    answers: bool | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    # folder of recorded replies that replace a chat model in the steps before the answer
    replies: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Return plain data: every setting under its current name, a live model as the name of its class."""
        context = make_context(self.settings)
        names = [name for name in setting_names() if name not in ("index", "retriever", "k")]
        replies = Path(self.replies).name if self.replies else None
        settings = {name: _as_plain(attrgetter(name)(context)) for name in names}
        return {**vars(self), "replies": replies, "settings": settings}


def begin_run(out: Path, conditions: Mapping[str, Any], *, fresh: bool) -> dict[str, Any]:
    """Return the record of the run in `out`; start a run if there is none.

    Args:
        out: the folder of the run.
        conditions: "settings", "code", "routing" and, by data set, the digests of its "data".
        fresh: remove the files of an earlier run first, and nothing else.

    Raises:
        ConfigurationError: `out` is a file, or holds other files or a run made under other conditions.
    """
    if out.exists() and not out.is_dir():
        raise ConfigurationError(f"--out {str(out)!r} is a file; expected a folder.")
    earlier = _read_run(out)
    if earlier is None and out.is_dir() and any(out.iterdir()):
        # `fresh` does not help: a data set has files of the same names.
        raise ConfigurationError(f"{str(out)!r} is not empty and holds no run; choose another --out.")
    if earlier is not None and not fresh:
        earlier_data = earlier["data"]
        current = json.loads(json.dumps(conditions))  # in the form in which the earlier ones were read
        differences = [name for name in ("settings", "code", "routing") if earlier.get(name) != current[name]]
        differences += [
            f"data of {name}"
            for name, data in current["data"].items()
            if earlier_data.get(name, data) != data
        ]
        if differences:
            raise ConfigurationError(
                f"{str(out)!r} holds a run made with other {' and '.join(differences)}. "
                "Choose another --out, or pass --fresh to start over there."
            )
        return {**earlier, "data": {**earlier_data, **conditions["data"]}}
    make_folder(out)
    for name in RUN_FILES:
        if name != RUN:  # which is replaced: without it, the folder would hold no run after an interruption
            (out / name).unlink(missing_ok=True)
    about = {**conditions, "started": now(), "machine": describe_machine(), **describe_code()}
    write_json(out / RUN, about)
    # Where the folder lies among documents, no file of the run is indexed.
    replace_text(out / ".gitignore", "*\n")
    return about


def _read_run(out: Path) -> dict[str, Any] | None:
    """Return the record of the run in a folder; None if there is none, or if another program wrote it."""
    if not (out / RUN).is_file():
        return None
    about = parse_json(read_text(out / RUN), f"{out / RUN} is damaged; choose another --out")
    is_run = isinstance(about, dict) and about.keys() >= {"settings", "data", "code"}
    return about if is_run else None


def code_digest() -> str:
    """Return a digest of the code and data that affect answers or scores; those of reports are left out."""
    digest = hashlib.sha256()
    for root in _package_folders():
        for file in sorted(root.rglob("*")):
            parts = file.relative_to(root).parts
            if parts[0] in ("cli", "evaluation", "samples") and file.name not in ANSWER_MODULES:
                continue
            if file.suffix in CODE_SUFFIXES and file.is_file():
                digest.update("/".join(parts).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


def routing_digest() -> str:
    """Return a digest of what the router learned from the user's questions; "" if it is as shipped."""
    file = learned_file()
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16] if file.is_file() else ""


def _package_folders() -> Iterator[Path]:
    for package in ("adaptive_rag", "adaptive_rag.graph", "adaptive_rag.nodes"):
        spec = importlib.util.find_spec(package)
        # Not `submodule_search_locations`: those of an editable install include the whole checkout.
        if spec and spec.origin:
            yield Path(spec.origin).parent


def describe_code() -> dict[str, str]:
    """Return the version and, if the code is in a checkout, the commit."""
    code = {"version": importlib.metadata.version("adaptive-rag")}
    commit = _git("rev-parse", "--short=12", "HEAD")
    if commit and _git("ls-files", "--error-unmatch", Path(__file__).name):
        changed = _git("status", "--porcelain", "--untracked-files=no")
        code["commit"] = commit + (" with changes" if changed else "")
    return code


def describe_machine() -> str:
    """Return the processor, its cores and the version of Python, in one line."""
    info = Path("/proc/cpuinfo")
    match = re.search(r"model name\s*: (.+)", info.read_text()) if info.is_file() else None
    model = match[1] if match else platform.processor() or platform.machine()
    return f"{model}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"


def now() -> str:
    """Return the current time as a run records it, to the minute."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(Path(__file__).parent), *arguments]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def _as_plain(value: Any) -> Any:
    if isinstance(value, frozenset):
        return sorted(value)
    if value is None or isinstance(value, str | int | float | bool | dict):
        return redact_all(value)
    return f"{type(value).__module__}.{type(value).__qualname__}"
