"""The shell door: `adaptive-rag`."""

import sys
from io import TextIOWrapper


def main() -> None:
    """Run the command line."""
    from adaptive_rag.cli.app import app

    for stream in (sys.stdout, sys.stderr):
        # A terminal that lacks a letter shows "?" for it; the answer is worth more than the letter.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    app()
