"""The command line interface, `adaptive-rag`."""

import errno
import os
import sys
from io import TextIOWrapper
from traceback import format_exception
from types import TracebackType

# Why an output cannot be written: the disk or a quota is used up, a limit is reached, a device fails.
_OUTPUT_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO} if os.name != "nt" else {errno.ENOSPC}


def main() -> None:
    """Run the command line."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # It was closed, and its number must not become that of the next file that is opened.
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        # A character that cannot be read or shown is replaced instead of ending the command.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    sys.excepthook = _print_traceback
    try:
        from adaptive_rag.cli.app import app

        app()
    except KeyboardInterrupt:
        # interrupted before a command began; a running command prints a fuller message
        sys.stderr.write("Interrupted.\n")
        sys.exit(130)
    except OSError as error:
        if error.errno not in _OUTPUT_ERRORS or error.filename is not None:
            raise
        # Without this, flushing at exit would raise a second error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.stderr.write(f"Error: The output cannot be written: {error.strerror}.\n")
        sys.exit(1)


def _print_traceback(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print the traceback of a bug, without secrets and escape sequences that it may quote."""
    from adaptive_rag.text.redaction import redact
    from adaptive_rag.text.visible import visible

    sys.stderr.write(visible(redact("".join(format_exception(kind, error, trace)))))
