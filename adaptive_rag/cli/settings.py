"""`adaptive-rag settings`: list every setting with its default, its bounds and what it does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeAlias, get_args, get_origin

from typer import Option

from adaptive_rag.cli.options import CONFIG_FILE, ENV_FILE
from adaptive_rag.cli.output import print_line, print_plain, print_table
from adaptive_rag.errors import InputError, import_extra

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

# The head of docs/settings.md.
HEAD = """# Settings

You can set a value in the constructor, for one call, in the environment or in `adaptive-rag.toml`. A call
overrides the constructor, which overrides the environment, which overrides the file. A setting of a group
is written like this:

| where | `retrieval.alpha` |
|---|---|
| in Python | `AdaptiveRAG(retrieval={"alpha": 0.5})`; for one call `context={"retrieval": {"alpha": 0.5}}` |
| in the shell | `--set retrieval.alpha=0.5` |
| in the environment | `ADAPTIVE_RAG_RETRIEVAL__ALPHA=0.5` |
| in `adaptive-rag.toml` | `alpha = 0.5` under `[retrieval]` |

`without` takes the names of parts to leave out: `without={"hedge"}`, `--set without=hedge,window`.

`adaptive-rag.toml` is read from the folder in which the program starts. So is `.env`, by the shell only: it
holds variables of the environment, one a line. Both files may have come with somebody's documents. So an
`adaptive-rag.toml` that names other machines, or a `.env` that sets a key, an address or a variable of
another program, is used only with your permission. The shell asks for it the first time, and again after the
file has changed. Where it cannot ask, look at the files and run `adaptive-rag settings --trust` in their
folder, or set `ADAPTIVE_RAG_TRUST_FOLDER=1`. Variables that are already set need no permission.

`adaptive-rag settings --markdown` writes this page from the fields of `adaptive_rag/context/groups.py`.
"""


class _Row(NamedTuple):
    """A setting as the tables show it."""

    name: str
    default: str
    values: str
    description: str


_Section: TypeAlias = tuple[str, list[_Row]]  # heading, settings


def settings(
    markdown: Annotated[bool, Option("--markdown", help="Print the reference page.")] = False,
    server: Annotated[bool, Option("--server", help="List only those of the web server.")] = False,
    trust: Annotated[
        bool,
        Option(
            "--trust",
            help="Use this folder's .env and adaptive-rag.toml as they are now, with the keys and machines "
            "they name.",
        ),
    ] = False,
) -> None:
    """List every setting with its default and what it does."""
    if trust:
        _trust_files()
        return
    if markdown:
        print_plain(format_server_table() if server else format_reference())
        return
    for heading, rows in [_server_section()] if server else _sections():
        print_line(f"\n{heading}", style="bold")
        print_table(("", ""), [(f"{row.name:<24}", _describe(row)) for row in rows])


def _trust_files() -> None:
    """Record that the user trusts the .env and config file of the working directory as they are now."""
    from adaptive_rag.context.trusted import store_trust

    files = [Path(name) for name in (ENV_FILE, CONFIG_FILE) if Path(name).is_file()]
    if not files:
        raise InputError(f"There is neither {ENV_FILE} nor {CONFIG_FILE} in {str(Path.cwd())!r}.")
    for file in files:
        store_trust(file, trusted=True)
        print_line(f"{file.absolute()} is trusted as it is now.")


def _describe(row: _Row) -> str:
    """Return a setting's description with its values and its default."""
    values = f" Values: {row.values}." if row.values else ""
    default = f" Default: {row.default}." if row.default else ""
    return f"{row.description}{values}{default}"


def format_reference() -> str:
    """Return the reference page as Markdown."""
    return "\n".join([HEAD, *(f"## {heading}\n\n{_format_table(rows)}" for heading, rows in _sections())])


def format_server_table() -> str:
    """Return the web server's settings as a table in Markdown."""
    _, rows = _server_section()
    return _format_table(rows)


def _format_table(rows: list[_Row]) -> str:
    lines = ["| setting | default | values | what it does |", "|---|---|---|---|"]
    lines += [
        f"| `{row.name}` | {f'`{row.default}`' if row.default else ''} | {row.values} | {row.description} |"
        for row in rows
    ]
    return "\n".join(lines) + "\n"


def _server_section() -> _Section:
    from adaptive_rag.context import SERVER_TABLE

    import_extra("limits", extra="server", purpose="The web server")
    from adaptive_rag.server.settings import ServerSettings

    rows = [_make_row(f"{SERVER_TABLE}.{name}", field) for name, field in ServerSettings.model_fields.items()]
    return f"{SERVER_TABLE}: {str(ServerSettings.__doc__).rstrip('.')}", rows


def _sections() -> list[_Section]:
    """Return the settings outside of groups, then those of each group."""
    from adaptive_rag.context.caller import ALLOWED
    from adaptive_rag.graph.builder import context_schema

    def make_row(name: str, field: FieldInfo) -> _Row:
        row, mark = _make_row(name, field), ALLOWED.get(name)
        ceiling = f", up to the operator's `{mark.ceiling}`" if mark and mark.ceiling else ""
        note = f" Callers of a server may set it{ceiling}." if mark else ""
        return row._replace(description=row.description + note)

    fields = context_schema().model_fields
    groups: dict[str, Any] = {
        name: field.annotation for name, field in fields.items() if hasattr(field.annotation, "model_fields")
    }
    ungrouped = [make_row(name, field) for name, field in fields.items() if name not in groups]
    sections = [("General", ungrouped)]
    for group, model in groups.items():
        rows = [make_row(f"{group}.{name}", field) for name, field in model.model_fields.items()]
        sections.append((f"{group}: {str(model.__doc__).rstrip('.')}", rows))
    return sections


def _make_row(name: str, field: FieldInfo) -> _Row:
    default = field.get_default(call_default_factory=True)
    if isinstance(default, frozenset):
        # In the order of the annotation, if it lists the names; else in alphabetical order.
        names = _accepted_names(field.annotation)
        default = ",".join(sorted(default, key=names.index if names else None))
    default_text = str(default) if default or isinstance(default, int | float) else ""
    return _Row(name, default_text, _accepted_values(field), str(field.description))


def _accepted_values(field: FieldInfo) -> str:
    """Return the bounds of a setting, also those within a union, and the names that it accepts."""
    signs = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}
    in_union = [item for part in get_args(field.annotation) for item in getattr(part, "__metadata__", ())]
    limits = [limit for item in (field, *in_union) for limit in getattr(item, "metadata", ())]
    bounds = [(signs[kind], getattr(limit, kind, None)) for limit in limits for kind in signs]
    bounds_text = ", ".join(f"{sign} {value:g}" for sign, value in bounds if value is not None)
    names_text = ", ".join(_accepted_names(field.annotation))
    return ", or ".join(filter(None, (bounds_text, names_text)))


def _accepted_names(annotation: Any) -> list[str]:
    if get_origin(annotation) is Literal:
        return [str(value) for value in get_args(annotation)]
    return [name for part in get_args(annotation) for name in _accepted_names(part)]
