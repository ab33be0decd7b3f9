"""Where the shell door writes: answers to standard output, everything else to standard error."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import typer

if TYPE_CHECKING:
    from rich.console import Console

CommandT = TypeVar("CommandT", bound=Callable[..., Any])


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

    sys.stdout.write(json.dumps(value, ensure_ascii=False, default=str) + "\n")
    sys.stdout.flush()


def reporting_errors(command: CommandT) -> CommandT:
    """Report an error of ours as one message and exit 1; leave real surprises their traceback."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        from adaptive_rag.errors import AdaptiveRAGError

        try:
            return command(*args, **kwargs)
        except AdaptiveRAGError as error:
            stderr().print("[bold red]Error:[/] ", end="")
            stderr().print(str(error), markup=False)
            raise typer.Exit(1) from None
        except KeyboardInterrupt:
            stderr().print("Interrupted. What was complete before is kept; run the same command to go on.")
            raise typer.Exit(130) from None
        except BrokenPipeError:
            # The reader (head, less) went away; a second error at interpreter exit would help nobody.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None

    return run  # type: ignore[return-value]
