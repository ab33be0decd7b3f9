"""Where the shell door writes: answers to standard output, everything else to standard error."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

CommandT = TypeVar("CommandT", bound=Callable[..., Any])

# Longer lines are hard to read, however wide the terminal is.
MEASURE = 96


def stdout() -> Console:
    """Return the console for answers."""
    from rich.console import Console

    return Console(highlight=False)


def stderr() -> Console:
    """Return the console for progress and messages."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def print_json(value: Any) -> None:
    """Write one JSON value, and nothing else, to standard output."""
    import json

    text = json.dumps(value, ensure_ascii=False, default=str)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        # A file name that is no text, or a terminal that knows few letters: \u escapes say the same.
        text = json.dumps(value, default=str)
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def print_block(console: Console, text: Text, *, indent: int = 2, hanging: int = 0) -> None:
    """Print a text wrapped to a readable measure, without blanks at the ends of its lines."""
    from rich.text import Text

    width = max(20, min(console.width, MEASURE) - indent - hanging)
    for number, line in enumerate(text.wrap(console, width)):
        line.rstrip()
        margin = " " * (indent + (hanging if number else 0)) if line.plain else ""
        console.print(Text.assemble(margin, line), soft_wrap=True)


def short_source(source: str) -> str:
    """Shorten an absolute path: relative to the working directory, or its last two parts."""
    path = Path(source)
    if "://" in source or not path.is_absolute():
        return source
    here = Path.cwd()
    if path.is_relative_to(here):
        return path.relative_to(here).as_posix()
    return source if len(path.parts) <= 3 else "…/" + "/".join(path.parts[-2:])


def place_of(source: str, page: int | None) -> str:
    """Name a place as a reader looks it up."""
    return short_source(source) + (f", page {page}" if page is not None else "")


def reporting_errors(command: CommandT) -> CommandT:
    """Report an error of ours as one message and exit 1; leave real surprises their traceback."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        from adaptive_rag.errors import AdaptiveRAGError

        try:
            return command(*args, **kwargs)
        except AdaptiveRAGError as error:
            _complain(str(error))
            raise typer.Exit(1) from None
        except KeyboardInterrupt as error:
            notes = getattr(error, "__notes__", [])
            stderr().print(" ".join(["Interrupted.", *notes]), markup=False, soft_wrap=True)
            raise typer.Exit(130) from None
        except BrokenPipeError:
            # The reader (head, less) went away; a second error at interpreter exit would help nobody.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None

    return run  # type: ignore[return-value]


def _complain(message: str) -> None:
    from rich.text import Text

    # A path or a command in the message stays in one piece, for copying.
    stderr().print(Text.assemble(("Error: ", "bold red"), message), soft_wrap=True)
