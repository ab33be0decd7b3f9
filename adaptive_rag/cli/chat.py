"""`adaptive-rag chat`: a conversation in the terminal, kept by name and continued whenever it is wanted."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adaptive_rag.cli.options import ContextOption, IndexOption, ModelOption, SettingOption, knobs

if TYPE_CHECKING:
    from adaptive_rag.conversation import Threads
    from adaptive_rag.runnable import AdaptiveRAG
    from adaptive_rag.state import OutputState

HELP = """\
  /trace            how the last answer came about
  /profile          show what is known of you        /profile TEXT   replace it
  /forget           forget what is known of you
  /threads          list the conversations           /thread NAME    continue another one
  /delete NAME      delete a conversation
  /quit             leave (Ctrl-D)"""


def chat(
    name: Annotated[str, typer.Argument(help="The conversation to begin or to continue.")] = "default",
    index: IndexOption = None,
    context: ContextOption = "",
    model: ModelOption = None,
    user: Annotated[str, typer.Option("--user", "-u", help="Whose profile is used.")] = "me",
    file: Annotated[
        Path | None, typer.Option("--file", help="SQLite file that keeps conversations and profiles.")
    ] = None,
    settings: SettingOption = None,
) -> None:
    """Talk with your documents; follow-up questions are understood, and conversations are kept."""
    from adaptive_rag.cli.output import stdout
    from adaptive_rag.conversation import Threads, check_name
    from adaptive_rag.runnable import AdaptiveRAG

    given = knobs(settings, index=index, model=model, user_id=user)
    with Threads.open(file) as threads:
        rag = AdaptiveRAG(**given, checkpointer=threads.saver, store=threads.store)
        conversation = _Conversation(rag, threads, check_name(name), context, user)
        conversation.greet()
        while (line := _read()) is not None:
            if line.startswith("/"):
                if not conversation.command(line):
                    break
            elif line:
                conversation.ask(line)
        stdout().print()


def _read() -> str | None:
    """Read one line; None at the end of the input."""
    try:
        return input("\n> " if sys.stdin.isatty() else "").strip()
    except EOFError:
        return None


class _Conversation:
    """One terminal conversation: the thread that it is in, and its last answer."""

    def __init__(self, rag: AdaptiveRAG, threads: Threads, name: str, context: str, user: str) -> None:
        self._rag = rag
        self._threads = threads
        self._name = name
        self._context = context
        self._user = user
        self._last: OutputState | None = None

    def greet(self) -> None:
        turns = len(self._messages()) // 2
        known = f", {turns} question{'s' * (turns != 1)} so far" if turns else ", new"
        model = self._rag.context.model
        by = f"answers by {model}" if isinstance(model, str) else "answers by the model that was passed"
        if model is None:
            by = "no chat model is configured: answers quote the documents"
        self._say(f"Conversation {self._name!r}{known}; {by}. /help lists the commands.")

    def ask(self, question: str) -> None:
        from adaptive_rag.cli.streaming import answer_live

        state = {"question": question, "user_context": self._context}
        self._last, _ = answer_live(self._rag, state, self._config())

    def command(self, line: str) -> bool:
        """Obey a command; False where it ends the conversation."""
        from adaptive_rag.cli.answers import print_trace
        from adaptive_rag.conversation import check_name, forget_profile, read_profile, write_profile

        word, _, rest = line[1:].partition(" ")
        rest = rest.strip()
        if word in ("quit", "exit", "q"):
            return False
        if word == "trace":
            print_trace(self._last["trace"]) if self._last else self._say("Nothing was asked yet.")
        elif word == "profile" and rest:
            write_profile(self._threads.store, self._user, rest)
            self._say(f"Noted for {self._user!r}.")
        elif word == "profile":
            profile = read_profile(self._threads.store, self._user)
            self._say(profile or f"Nothing is known of {self._user!r}. /profile TEXT tells something.")
        elif word == "forget":
            known = forget_profile(self._threads.store, self._user)
            self._say(f"Forgotten: {self._user!r}." if known else f"Nothing was known of {self._user!r}.")
        elif word == "threads":
            for thread in self._threads.names():
                self._say(f"{thread.name}  ({thread.updated[:16].replace('T', ' ')})")
        elif word == "thread" and rest:
            self._name = check_name(rest)
            self._last = None
            self.greet()
        elif word == "delete" and rest:
            self._threads.forget(rest)
            self._say(f"Deleted: {rest!r}.")
        else:
            self._say(HELP)
        return True

    def _messages(self) -> list[Any]:
        values = self._rag.graph.get_state(self._config()).values  # type: ignore[arg-type]
        return list(values.get("messages", []))

    def _config(self) -> dict[str, Any]:
        return {"configurable": {"thread_id": self._name}}

    def _say(self, text: str) -> None:
        from rich.text import Text

        from adaptive_rag.cli.output import stdout

        stdout().print(Text(text, style="dim"), soft_wrap=True)
