"""`adaptive-rag info`: what an index holds and how it was made."""

from __future__ import annotations

from datetime import datetime
from itertools import islice
from typing import Any

from adaptive_rag.cli import options
from adaptive_rag.cli.output import print_fact, print_json, print_line, short_source, stdout
from adaptive_rag.cli.route import active_routing, format_routing
from adaptive_rag.errors import ConfigurationError

MOST_FIELDS = 100


def info(index: options.Index = None, as_json: options.Json = False) -> None:
    """Show what an index holds and how it was made."""
    from adaptive_rag.index import describe, describe_fields

    address = options.index_address(index)
    facts = {**describe(address), "fields": describe_fields(address)}
    try:
        routing, description = active_routing(), format_routing()
    except ConfigurationError as error:
        # A broken routing file does not hide what the index holds.
        routing, description = {"routing": "not usable", "why": str(error)}, f"not usable: {error}"
    facts["routing"] = routing if as_json else description
    if as_json:
        print_json(facts)
        return
    notes, fields = facts.pop("notes"), facts.pop("fields")
    width = max(map(len, facts))
    stdout().print()
    for name, value in facts.items():
        if value not in (None, "", {}):
            print_line((f"  {name.replace('_', ' '):<{width}}  ", "dim"), _format_value(name, value))
    print_line("  Fields for --where:")
    shown = dict(islice(fields.items(), MOST_FIELDS))
    width = max(map(len, shown), default=0)
    for name, description in shown.items():
        print_fact([(f"    {name:<{width}}  ", "dim")], description)
    if len(fields) > len(shown):
        print_line(f"    and {len(fields) - len(shown):,} more; --json lists them all")
    for note in notes:
        print_line(f"  Note: {short_source(note['source'])}: {note['text']}")


def _format_value(name: str, value: Any) -> str:
    if name == "updated":
        return datetime.fromtimestamp(value).astimezone().isoformat(" ", "seconds")
    if name == "bytes":
        return f"{value / 1e6:,.1f} MB"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{key} {item}" for key, item in value.items())
    return f"{value:,}" if isinstance(value, int) else str(value)
