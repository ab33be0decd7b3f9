"""The table of commands. Each command has its own file and imports heavy packages only when it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from adaptive_rag.cli.ask import ask
from adaptive_rag.cli.backup import backup, restore
from adaptive_rag.cli.chat import chat
from adaptive_rag.cli.compare import compare
from adaptive_rag.cli.demo import demo
from adaptive_rag.cli.doctor import doctor
from adaptive_rag.cli.evaluate import evaluate
from adaptive_rag.cli.feedback import feedback
from adaptive_rag.cli.graph import graph
from adaptive_rag.cli.index import index
from adaptive_rag.cli.info import info
from adaptive_rag.cli.list import list_documents
from adaptive_rag.cli.mcp import mcp
from adaptive_rag.cli.move_aside import move_aside
from adaptive_rag.cli.ontology import ontology
from adaptive_rag.cli.options import confirm_config_file, flatten_options, load_env_file
from adaptive_rag.cli.output import reporting_errors
from adaptive_rag.cli.recipes import recipes
from adaptive_rag.cli.remove import remove
from adaptive_rag.cli.route import route
from adaptive_rag.cli.search import search
from adaptive_rag.cli.serve import serve
from adaptive_rag.cli.settings import settings
from adaptive_rag.cli.show import show
from adaptive_rag.cli.users import users_app
from adaptive_rag.cli.worker import worker

app = typer.Typer(
    name="adaptive-rag",
    help="Answer questions over your own documents, each by the retrieval strategy that suits it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

COMMANDS: dict[str, Callable[..., None]] = {
    "ask": ask, "chat": chat, "index": index, "list": list_documents, "show": show, "remove": remove,
    "search": search, "compare": compare, "recipes": recipes,
    "route": route, "feedback": feedback, "ontology": ontology, "info": info, "graph": graph, "demo": demo,
    "settings": settings, "doctor": doctor, "eval": evaluate, "serve": serve, "worker": worker, "mcp": mcp,
    "backup": backup, "restore": restore, "move-aside": move_aside,
}  # fmt: skip

for name, command in COMMANDS.items():
    app.command(name)(reporting_errors(flatten_options(command)))
app.add_typer(users_app)


def _version(show: bool) -> None:
    if show:
        from importlib.metadata import version

        typer.echo(f"adaptive-rag {version('adaptive-rag')}")
        raise typer.Exit


@app.callback()
@reporting_errors
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    # Before the command's options are parsed: some of them read the environment.
    load_env_file()
    confirm_config_file()
