"""`adaptive-rag info`: what an index holds and how it was made."""

from __future__ import annotations

from typing import Any

from adaptive_rag.cli.options import IndexOption, JsonOption, knobs
from adaptive_rag.cli.output import print_json, short_source, stdout


def info(index: IndexOption = None, as_json: JsonOption = False) -> None:
    """Show what an index holds and how it was made."""
    from adaptive_rag.context import make_context
    from adaptive_rag.index import describe

    facts = describe(str(make_context(**knobs(index=index)).index))
    if as_json:
        print_json(facts)
        return
    from rich.text import Text

    console = stdout()
    notes = facts.pop("notes")
    shown = {name.replace("_", " "): _shown(name, value) for name, value in facts.items()}
    width = max(map(len, shown))
    console.print()
    for name, text in shown.items():
        if text:
            console.print(Text.assemble((f"  {name:<{width}}  ", "dim"), text), soft_wrap=True)
    for note in notes:
        console.print(f"  Note: {short_source(note['source'])}: {note['note']}", markup=False, soft_wrap=True)


def _shown(name: str, value: Any) -> str:
    """Return a fact as a person reads it; empty where there is none."""
    if value is None:
        return ""
    if name == "updated":
        from datetime import datetime

        return datetime.fromtimestamp(value).astimezone().isoformat(" ", "seconds")
    if name == "bytes":
        return f"{value / 1e6:,.1f} MB"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{key} {item}" for key, item in value.items())
    return f"{value:,}" if isinstance(value, int) else str(value)
