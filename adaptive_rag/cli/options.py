"""The options that several commands share."""

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

from typer import BadParameter, Option

from adaptive_rag.cli.output import print_note
from adaptive_rag.errors import ConfigurationError, InputError, import_extra
from adaptive_rag.graph.strategies import NAMES
from adaptive_rag.text.visible import escape_hidden

if TYPE_CHECKING:
    from adaptive_rag.server.settings import ServerSettings

ENV_FILE = ".env"
# The same as in adaptive_rag.context, which is slow to import and not needed without such a file.
CONFIG_FILE = "adaptive-rag.toml"


Index = Annotated[
    str | None, Option("--index", "-i", help="Folder or URI of the index.", show_default=".adaptive-rag")
]
Docs = Annotated[
    list[str] | None, Option("--docs", "-d", help="Answer only from these files.", metavar="PATH")
]
UserContext = Annotated[
    str, Option("--context", "-c", help="Who is asking, and their situation.", metavar="TEXT")
]
Recipe = Annotated[str | None, Option("--recipe", help="Use a published system's settings.", metavar="NAME")]
Model = Annotated[
    str | None,
    Option(
        "--model",
        "-m",
        help="Chat model as provider:name.",
        envvar="ADAPTIVE_RAG_MODEL",
        show_envvar=False,
        metavar="NAME",
    ),
]
Assignments = Annotated[list[str] | None, Option("--set", help="Any other setting.", metavar="NAME=VALUE")]
Data = Annotated[
    Path | None,
    Option(
        "--data", help="Data folder of the web server.", show_default=".adaptive-rag-server", file_okay=False
    ),
]
Json = Annotated[bool, Option("--json", help="Print one JSON object and nothing else.")]
Trace = Annotated[bool, Option("--trace", help="Show every step and its reasons.")]
# `reporting_errors`, which wraps the command, reads it.
Verbose = Annotated[
    int, Option("--verbose", "-v", count=True, help="Log each step; -vv adds scores.", show_default=False)
]


@dataclass(frozen=True, kw_only=True)
class AskOptions:
    """The options of commands that ask: the index, the user's context, the settings, and the display."""

    index: Index = None
    context: UserContext = ""
    where: Annotated[
        str | None, Option("--where", "-w", help="Restrict the search: 'kind = pdf'.", metavar="CONDITION")
    ] = None
    recipe: Recipe = None
    model: Model = None
    assignments: Assignments = None
    paths: Annotated[bool, Option("--paths", help="Show the full paths of documents.")] = False
    verbose: Verbose = 0

    def settings(self, **more: Any) -> dict[str, Any]:
        """Return the settings that were given, by name."""
        no_settings = ("context", "assignments", "paths", "verbose")
        named = {name: value for name, value in vars(self).items() if name not in no_settings}
        return collect_settings(self.assignments, **named, **more)


@dataclass(frozen=True, kw_only=True)
class ReadOptions(AskOptions):
    """`AskOptions`, and how many passages are read for an answer."""

    profile: Annotated[
        str | None, Option("--profile", help="conservative, balanced or aggressive.", metavar="NAME")
    ] = None
    k: Annotated[
        int | None, Option("-k", help="Number of passages to read.", show_default="by their length")
    ] = None


@dataclass(frozen=True, kw_only=True)
class RouteOptions(ReadOptions):
    """`ReadOptions`, and the strategy."""

    route: Annotated[
        str | None, Option("--route", "-r", help=f"Strategy: {', '.join(NAMES)}.", metavar="NAME")
    ] = None


def one_of(*names: str) -> Callable[[str], str]:
    """Return the parser of an option that takes one of these names."""

    def read(value: str) -> str:
        if value not in names:
            raise BadParameter(f"{value!r} is not one of {', '.join(names)}.")
        return value

    return read


def flatten_options(command: Callable[..., None]) -> Callable[..., None]:
    """Wrap a command that takes groups of options as dataclasses, so that each field becomes an option."""
    hints = get_type_hints(command, include_extras=True)
    groups = dict[str, Any]()
    parameters, keyword = list[Parameter](), Parameter.KEYWORD_ONLY
    for name, parameter in signature(command).parameters.items():
        if is_dataclass(group := hints[name]):
            field_hints = get_type_hints(group, include_extras=True)
            groups[name] = group
            parameters += [
                Parameter(each.name, keyword, default=each.default, annotation=field_hints[each.name])
                for each in fields(group)
            ]
        else:
            parameters.append(parameter.replace(kind=keyword, annotation=hints[name]))

    @wraps(command)
    def run(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        command(**values)

    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def load_env_file() -> None:
    """Load variables from the file .env of the working directory; variables already set keep their values.

    A file with a key, an address or a variable of another program is loaded only after the user allowed it.
    """
    try:
        os.getcwd()
    except FileNotFoundError as error:
        raise InputError("The working directory no longer exists. Change to another one.") from error
    if not os.path.isfile(ENV_FILE):
        return
    from dotenv import dotenv_values, load_dotenv

    from adaptive_rag.context.trusted import risky_variables

    try:
        variables = dotenv_values(ENV_FILE, encoding="utf-8-sig")
        if confirm_trust(Path(ENV_FILE), risky_variables(variables), "sets"):
            load_dotenv(ENV_FILE, encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise ConfigurationError(f"The file {ENV_FILE} cannot be read: {error}.") from error


def confirm_config_file() -> None:
    """If the config file of the working directory names other machines, ask the user once to trust it.

    Without a terminal, or with a file that cannot be read, reading the settings raises the error later.
    """
    if not (os.path.isfile(CONFIG_FILE) and _is_interactive()):
        return
    from adaptive_rag.context.trusted import load_toml, other_hosts

    hosts = list[str]()
    unreadable = OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError
    with suppress(*unreadable):
        hosts = other_hosts(load_toml(Path(CONFIG_FILE)))
    confirm_trust(Path(CONFIG_FILE), hosts, "names other machines:")


def confirm_trust(file: Path, risks: Sequence[str], verb: str) -> bool:
    """Return whether a file may be used despite its risks; ask the user once, if there is a terminal."""
    from adaptive_rag.context.trusted import HOW_TO_TRUST, is_trusted, store_trust, stored_trust

    if not risks or is_trusted(file):
        return True
    warning = escape_hidden(f"The file {file.absolute()} {verb} {', '.join(risks)}.")
    if stored_trust(file) is None and _is_interactive():
        import typer

        trusted = typer.confirm(f"{warning} Use it here, now and from now on?", err=True)
        store_trust(file, trusted=trusted)
        return trusted
    if stored_trust(file) is None:
        print_note(("Note: ", "yellow"), f"{warning} It is not used. To use it, {HOW_TO_TRUST}")
    return False


def _is_interactive() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def collect_settings(assignments: list[str] | None = None, **named: Any) -> dict[str, Any]:
    """Return the named settings that are not None, and those of `--set NAME=VALUE`."""
    settings = {name: value for name, value in named.items() if value is not None}
    for assignment in assignments or []:
        name, equals, value = assignment.partition("=")
        if not equals:
            expected = "expected NAME=VALUE, as in retrieval.alpha=0.5"
            raise ConfigurationError(f"--set {assignment!r} is not usable: {expected}.")
        settings[name.strip().replace("-", "_")] = value.strip()
    return settings


def index_address(index: str | None) -> str:
    """Return the folder or URI of the index that the option, the environment or the config file names."""
    from adaptive_rag.context import make_context

    return str(make_context(collect_settings(index=index)).index)


def server_settings(**named: Any) -> ServerSettings:
    """Read the web server's settings; the named ones that are not None win over those of the environment.

    Raises:
        ConfigurationError: a setting is not usable, wherever it comes from.
        MissingExtraError: the extra `server` is not installed.
    """
    import_extra("limits", extra="server", purpose="The web server")
    from adaptive_rag.server.settings import read_server_settings

    return read_server_settings(**{name: value for name, value in named.items() if value is not None})


def existing_server_settings(data: Path | None) -> ServerSettings:
    """Read the settings of a web server that has been used; a mistyped folder must not become a new server.

    Raises:
        ConfigurationError: there is no such folder, or a setting is not usable.
    """
    settings = server_settings(data=data)
    if settings.database is None and not settings.data.is_dir():
        place = str(settings.data)
        raise ConfigurationError(f"There is no server's data in {place!r}. Name its folder with --data.")
    return settings


def serve_command(data: Path | None) -> str:
    """Return the command that starts the web server over a data folder that was named."""
    from adaptive_rag.index.manifest import quoted

    return "adaptive-rag serve" if data is None else f"adaptive-rag serve --data {quoted(str(data))}"


def read_question_argument(question: str) -> str:
    """Return the question; read it from standard input if it is "-".

    Raises:
        InputError: it is empty.
    """
    text = sys.stdin.read() if question == "-" else question
    if not text.strip():
        raise InputError('The question is empty. Write it in quotation marks: "When was the wall built?"')
    return text.strip()
