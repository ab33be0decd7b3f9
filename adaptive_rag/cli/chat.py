"""`adaptive-rag chat`: a conversation in the terminal, stored under a name so that it can be continued."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from adaptive_rag.cli import options
from adaptive_rag.cli.answers import print_trace
from adaptive_rag.cli.output import format_count, print_line, print_note, stdout
from adaptive_rag.cli.session import answer_live
from adaptive_rag.errors import AdaptiveRAGError
from adaptive_rag.text.redaction import redact

if TYPE_CHECKING:
    from adaptive_rag.conversation import Threads
    from adaptive_rag.runnable import AdaptiveRAG
    from adaptive_rag.state import OutputState

HELP = """\
  /trace            how the last answer came about
  /profile          show your profile                /profile TEXT   replace it
  /forget           delete your profile
  /threads          list the conversations           /thread NAME    continue another one
  /delete NAME      delete a conversation
  /help             show these commands
  /quit             leave (or Ctrl-D, exit, quit, bye)"""
LEAVING = {"/quit", "/exit", "/q", ":q", "quit", "exit", "bye", "goodbye"}
_print_dim = partial(print_line, style="dim")


def chat(
    ask_options: options.AskOptions,
    name: Annotated[
        str | None,
        Argument(help="Name of the conversation to start or continue.", show_default="one for each index"),
    ] = None,
    user: Annotated[str, Option("--user", "-u", help="The user whose profile is used.")] = "me",
    file: Annotated[
        Path | None,
        Option(
            "--file",
            help="SQLite file that keeps conversations and profiles.",
            show_default="in ADAPTIVE_RAG_HOME",
        ),
    ] = None,
) -> None:
    """Ask one question after another; follow-ups are understood, and the conversation is stored."""
    from adaptive_rag.conversation import Threads, check_name
    from adaptive_rag.index.index import source_of
    from adaptive_rag.runnable import AdaptiveRAG

    if sys.stdin.isatty():
        with suppress(ImportError):  # with it, a line can be edited and an earlier one brought back
            import readline  # noqa: F401
    with Threads.open(file) as threads:
        rag = AdaptiveRAG(
            **ask_options.settings(user_id=user), checkpointer=threads.saver, store=threads.store
        )
        conversation_name = check_name(name or _default_name(ask_options))
        conversation = _Conversation(rag, threads, conversation_name, ask_options, user)
        source_of(rag.context)  # without an index there is nothing to talk with
        conversation.greet()
        while (line := _read_line()) is not None:
            if line.casefold() in LEAVING:
                break
            try:
                if line.startswith("/"):
                    conversation.run_command(line)
                elif line:
                    conversation.ask(line)
            except AdaptiveRAGError as error:
                print_note(("Error: ", "bold red"), redact(str(error)))
        stdout().print()


def _default_name(ask_options: options.AskOptions) -> str:
    """Return the name of an index's conversation: its path or address, or the end of a long one."""
    from adaptive_rag.conversation import MAX_NAME

    address = options.index_address(ask_options.index)
    return redact(address if "://" in address else str(Path(address).absolute()))[-MAX_NAME:]


def _read_line() -> str | None:
    """Read one line; return None at the end of the input."""
    try:
        return input("\n> " if sys.stdin.isatty() else "").strip()
    except EOFError:
        return None


class _Conversation:
    """One terminal conversation: its thread and its last answer."""

    def __init__(
        self, rag: AdaptiveRAG, threads: Threads, name: str, ask_options: options.AskOptions, user: str
    ) -> None:
        self._rag = rag
        self._threads = threads
        self._name = name
        self._ask_options = ask_options
        self._user = user
        self._last_output: OutputState | None = None

    def greet(self) -> None:
        """Print the conversation's name, its length, and which model answers."""
        turns = len(self._values(self._name).get("messages", [])) // 2
        length = f", {format_count(turns, 'question')} so far" if turns else ", new"
        model, local = self._rag.context.model, "no chat model is configured: answers quote the documents"
        answers = f"answers by {model}" if model else local
        _print_dim(f"Conversation {self._name!r}{length}; {answers}. /help lists the commands.")

    def ask(self, question: str) -> None:
        """Ask a question and print its answer."""
        state = {"question": question, "user_context": self._ask_options.context}
        with self._turn(self._name):
            config = _config(self._name)
            self._last_output = answer_live(self._rag, state, config, paths=self._ask_options.paths)

    def run_command(self, line: str) -> None:
        """Run a line that begins with a slash, such as `/thread NAME`."""
        from adaptive_rag.conversation import check_name, forget_profile, read_profile, write_profile

        store, user = self._threads.store, self._user
        command, _, argument = line[1:].partition(" ")
        match command, argument.strip():
            case "trace", _ if self._last_output:
                print_trace(self._last_output["trace"])
            case "trace", _:
                _print_dim("Nothing was asked yet.")
            case "profile", "":
                profile = read_profile(store, user)
                _print_dim(profile or f"Nothing is known of {user!r}. /profile TEXT sets a profile.")
            case "profile", text:
                write_profile(store, user, text)
                _print_dim(f"Noted for {user!r}.")
            case "forget", _:
                had_profile = forget_profile(store, user)
                _print_dim(f"Forgotten: {user!r}." if had_profile else f"Nothing was known of {user!r}.")
            case "threads", _:
                for thread in self._threads.names():
                    updated = datetime.fromisoformat(thread.updated).astimezone()
                    _print_dim(f"{thread.name}  ({updated:%Y-%m-%d %H:%M})")
            case "thread", name if name:
                self._name, self._last_output = check_name(name), None
                self.greet()
            case "delete", name if name:
                with self._turn(check_name(name)):
                    existed = bool(self._values(name))
                    self._threads.forget(name)
                _print_dim(f"Deleted: {name!r}." if existed else f"There is no conversation {name!r}.")
            case _:
                if command != "help":
                    _print_dim(f"/{command} is not a command, or the NAME after it is missing.")
                _print_dim(HELP)

    def _turn(self, name: str) -> AbstractContextManager[None]:
        return self._threads.turn(name, lambda: print_note("Another chat is answering in this conversation."))

    def _values(self, name: str) -> dict[str, Any]:
        return self._rag.graph.get_state(_config(name)).values  # type: ignore[arg-type]


def _config(name: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": name}}
