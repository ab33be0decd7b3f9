"""Runs the shell door as `python -m adaptive_rag`."""

from adaptive_rag.cli import main

main()
