"""Run the command line as `python -m adaptive_rag`."""

from adaptive_rag.cli import main

main()
