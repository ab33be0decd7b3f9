"""Options that several commands share, written once."""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

from typer import Option

from adaptive_rag.graph.strategies import NAMES

if TYPE_CHECKING:
    from adaptive_rag.server.settings import ServerSettings

ENV_FILE = ".env"
# the same as in adaptive_rag.context, which a command without such a file need not import
CONFIG_FILE = "adaptive-rag.toml"
MODEL = "ADAPTIVE_RAG_MODEL"

Index = Annotated[
    str | None, Option("--index", "-i", help="Folder or URI of it.", show_default=".adaptive-rag")
]
Docs = Annotated[
    list[Path] | None,
    Option("--docs", "-d", help="Answer from these files alone.", metavar="PATH"),
]
UserContext = Annotated[
    str, Option("--context", "-c", help="Who asks, or in what situation.", metavar="TEXT")
]
Recipe = Annotated[str | None, Option("--recipe", help="Answer as a published system does.", metavar="NAME")]
Model = Annotated[
    str | None,
    Option(
        "--model", "-m", help="Chat model as provider:name.", envvar=MODEL, show_envvar=False, metavar="NAME"
    ),
]
Settings = Annotated[list[str] | None, Option("--set", help="Any other setting.", metavar="NAME=VALUE")]
Data = Annotated[
    Path | None,
    Option(
        "--data",
        help="Folder of what the web server keeps.",
        show_default=".adaptive-rag-server",
        file_okay=False,
    ),
]
Json = Annotated[bool, Option("--json", help="Print one JSON object and nothing else.")]
Trace = Annotated[bool, Option("--trace", help="Show every step and its reasons.")]
# Read by `reporting_errors`, around the command.
Verbose = Annotated[
    int, Option("--verbose", "-v", count=True, help="Log each step; -vv adds scores.", show_default=False)
]


@dataclass(frozen=True, kw_only=True)
class AskOptions:
    """Options of commands that ask: the index, the user's context, the settings, and the display."""

    index: Index = None
    context: UserContext = ""
    where: Annotated[
        str | None,
        Option("--where", "-w", help="Search where this holds: 'kind = pdf'.", metavar="CONDITION"),
    ] = None
    recipe: Recipe = None
    model: Model = None
    settings: Settings = None
    paths: Annotated[bool, Option("--paths", help="Name documents by their whole paths.")] = False
    verbose: Verbose = 0

    def given(self, **more: Any) -> dict[str, Any]:
        """Collect the settings that were given, by name."""
        shown = ("context", "settings", "paths", "verbose")
        named = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in shown}
        return given_settings(self.settings, **named, **more)


@dataclass(frozen=True, kw_only=True)
class ReadOptions(AskOptions):
    """`AskOptions`, and how much is read for an answer."""

    profile: Annotated[
        str | None, Option("--profile", help="conservative, balanced or aggressive", metavar="NAME")
    ] = None
    k: Annotated[
        int | None, Option("-k", help="Passages that reach the answer.", show_default="by length")
    ] = None


@dataclass(frozen=True, kw_only=True)
class RouteOptions(ReadOptions):
    """`ReadOptions`, and the strategy."""

    route: Annotated[
        str | None, Option("--route", "-r", help=f"Strategy: {', '.join(NAMES)}.", metavar="NAME")
    ] = None


def gathered(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take groups of options as frozen dataclasses; each field becomes an option."""
    hints = get_type_hints(command, include_extras=True)
    groups, parameters = dict[str, tuple[Any, list[str]]](), list[Parameter]()
    for name, parameter in signature(command).parameters.items():
        if is_dataclass(kind := hints[name]):
            own = get_type_hints(kind, include_extras=True)
            groups[name] = kind, [field.name for field in fields(kind)]
            parameters += [
                Parameter(
                    field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=own[field.name]
                )
                for field in fields(kind)
            ]
        else:
            parameters.append(parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=kind))

    @wraps(command)
    def run(**given: Any) -> None:
        for name, (kind, names) in groups.items():
            given[name] = kind(**{own: given.pop(own) for own in names})
        command(**given)

    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def load_env_file() -> None:
    """Load variables from the file .env of the working directory; variables already set keep their values.

    A file that sets more than settings of this machine is loaded only after the user has allowed it.

    Raises:
        ConfigurationError: the file cannot be read.
    """
    if not os.path.isfile(ENV_FILE):
        return
    from dotenv import dotenv_values, load_dotenv

    from adaptive_rag.context.trusted import risky_variables
    from adaptive_rag.errors import ConfigurationError

    try:
        if may_use(Path(ENV_FILE), risky_variables(dotenv_values(ENV_FILE)), "sets"):
            load_dotenv(ENV_FILE)
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise ConfigurationError(f"The file {ENV_FILE} cannot be read: {error}.") from error


def ask_for_config_file() -> None:
    """Ask once whether the config file of the working directory may name other machines, if it does.

    Without a terminal, or with a file that cannot be read, the settings raise the error later.
    """
    if not (os.path.isfile(CONFIG_FILE) and _can_ask()):
        return
    from adaptive_rag.context.trusted import other_hosts

    hosts = list[str]()
    with suppress(OSError, UnicodeDecodeError, tomllib.TOMLDecodeError), open(CONFIG_FILE, "rb") as file:
        hosts = other_hosts(tomllib.load(file))
    may_use(Path(CONFIG_FILE), hosts, "names other machines:")


def may_use(file: Path, risks: Sequence[str], what: str) -> bool:
    """Tell whether a file may be used despite what was found in it; ask the user once, if possible."""
    from adaptive_rag.cli.output import print_note
    from adaptive_rag.context.trusted import HOW_TO_TRUST, is_trusted, store_trust, stored_trust
    from adaptive_rag.text.visible import escape_hidden

    if not risks or is_trusted(file):
        return True
    shown = escape_hidden(f"The file {file.absolute()} {what} {', '.join(risks)}.")
    if stored_trust(file) is None and _can_ask():
        import typer

        trusted = typer.confirm(f"{shown} Use it here, now and from now on?", err=True)
        store_trust(file, trusted=trusted)
        return trusted
    if stored_trust(file) is None:
        print_note(("Note: ", "yellow"), f"{shown} It is not used. To use it, {HOW_TO_TRUST}")
    return False


def _can_ask() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def given_settings(settings: list[str] | None = None, **named: Any) -> dict[str, Any]:
    """Collect the settings that were given, by name.

    Raises:
        ConfigurationError: a `--set` is not of the form name=value.
    """
    from adaptive_rag.errors import ConfigurationError

    given = {name: value for name, value in named.items() if value is not None}
    for setting in settings or []:
        name, equals, value = setting.partition("=")
        if not equals:
            expected = "expected NAME=VALUE, as in retrieval.alpha=0.5"
            raise ConfigurationError(f"--set {setting!r} is not usable: {expected}.")
        given[name.strip().replace("-", "_")] = value.strip()
    return given


def index_of(index: str | None) -> str:
    """Return the address of the index that an option, the environment or the config file names."""
    from adaptive_rag.context import make_context

    return str(make_context(given_settings(index=index)).index)


def server_settings(**named: Any) -> ServerSettings:
    """Read the web server's settings, with those that were given by name.

    Raises:
        ConfigurationError: a setting cannot be used, wherever it comes from.
        MissingExtraError: the extra `server` is not installed.
    """
    from adaptive_rag.errors import import_extra

    import_extra("limits", extra="server", purpose="The web server")
    from adaptive_rag.server.settings import read_server_settings

    return read_server_settings(**{name: value for name, value in named.items() if value is not None})


def read_argument(question: str) -> str:
    """Return the question; "-" reads it from standard input."""
    return sys.stdin.read().strip() if question == "-" else question
