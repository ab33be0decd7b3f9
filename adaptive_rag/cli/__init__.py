"""The shell door: `adaptive-rag`."""


def main() -> None:
    """Run the command line."""
    from adaptive_rag.cli.app import app

    app()
