"""Draws an answer, its citations and its trace for a terminal."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from adaptive_rag.cli.output import stdout

if TYPE_CHECKING:
    from adaptive_rag.state import Citation, OutputState, TraceRecord

COLOURS = {"factual": "cyan", "analytical": "magenta", "opinion": "yellow", "contextual": "green"}
_MARKER = re.compile(r"(\[\d+\])")


def print_answer(output: OutputState, seconds: float) -> None:
    """Print route and confidence, the answer, the citations and the time."""
    from rich.padding import Padding
    from rich.text import Text

    console = stdout()
    analysis = output["analysis"]
    route = " + ".join([output["query_type"], *analysis["alternatives"]])
    colour = COLOURS[output["query_type"]]
    head = Text.assemble(
        ("● ", colour),
        (route, f"bold {colour}"),
        (f"  confidence {analysis['confidence']:.2f}, decided by {analysis['decided_by']}", "dim"),
    )
    console.print()
    console.print(head)
    console.print(Padding(_marked(output["answer"]), (1, 2)))
    for citation in output["citations"]:
        console.print(Padding(_citation(citation), (0, 2)))
    if output["citations"]:
        console.print()
    calls = sum(record.get("calls", 0) for record in output["trace"])
    used = f"{calls} model call{'s' * (calls != 1)}" if calls else "no chat model"
    console.print(
        f"  {seconds:.2f} s · {used} · {len(output['documents'])} chunks read · "
        f"grounding {output['grounding']:.0%}",
        style="dim",
    )


def print_trace(trace: Sequence[TraceRecord]) -> None:
    """Print every step with its time, queries, decisions and stand-ins."""
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 2), header_style="bold")
    table.add_column("step")
    table.add_column("ms", justify="right")
    table.add_column("what happened", ratio=1)
    for record in trace:
        lines = [f'query "{query}"' for query in record.get("queries", [])]
        lines += [f"{d['what']}: {d['chosen']} ({d['why']})" for d in record.get("decisions", [])]
        lines += [f"stand-in for {s['skill']}: {s['reason']}" for s in record.get("stand_ins", [])]
        if record.get("calls"):
            lines.append(f"{record['calls']} model calls, tokens {record.get('tokens', {})}")
        if "candidates" in record:
            lines.append(f"{len(record['candidates'])} candidates in the trace")
        from rich.text import Text

        table.add_row(record["step"], f"{record.get('ms', 0):.1f}", Text("\n".join(lines)))
    console = stdout()
    console.print()
    console.print(table)


def _marked(answer: str) -> object:
    from rich.text import Text

    text = Text()
    for part in _MARKER.split(answer):
        text.append(part, style="bold blue" if _MARKER.fullmatch(part) else "")
    return text


def _citation(citation: Citation) -> object:
    from rich.text import Text

    place = citation["source"]
    if citation["page"] is not None:
        place += f", page {citation['page']}"
    quote = " ".join(citation["quote"].split())
    if len(quote) > 100:
        quote = quote[:97] + "..."
    return Text.assemble(
        (f"[{citation['marker']}] ", "bold blue"),
        (place, "underline"),
        (f" {citation['start']}-{citation['end']}", "dim"),
        (f"  “{quote}”", "italic dim"),
    )
