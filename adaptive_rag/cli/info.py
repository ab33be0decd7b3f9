"""`adaptive-rag info`: what an index holds and how it was made."""

from __future__ import annotations

from adaptive_rag.cli.options import IndexOption, JsonOption, knobs


def info(index: IndexOption = None, as_json: JsonOption = False) -> None:
    """Show what the index holds, how it was made and whether it is whole."""
    from adaptive_rag.cli.output import print_json, stdout
    from adaptive_rag.context import make_context
    from adaptive_rag.index import Index

    facts = Index.open(str(make_context(**knobs(index=index)).index)).info()
    if as_json:
        print_json(facts)
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 2))
    for name, value in facts.items():
        shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        table.add_row(Text(name.replace("_", " "), style="bold"), Text(shown))
    stdout().print(table)
