"""`adaptive-rag doctor`: is all there that a question needs? Each fault with the line that mends it."""

from __future__ import annotations

from typing import Annotated

import typer

from adaptive_rag.cli.options import IndexOption, JsonOption, ModelOption, SettingOption, knobs

MARKS = {"ok": ("✓", "green"), "note": ("·", "dim"), "fault": ("✗", "bold red")}


def doctor(
    index: IndexOption = None,
    model: ModelOption = None,
    settings: SettingOption = None,
    offline: Annotated[bool, typer.Option("--offline", help="Make no call to a model.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Check settings, index, embeddings and chat models; exit 1 where something is wrong."""
    from adaptive_rag.cli.diagnosis import diagnose
    from adaptive_rag.cli.output import print_json, stdout

    findings = diagnose(knobs(settings, index=index, model=model), offline=offline)
    faults = [finding for finding in findings if finding.state == "fault"]
    if as_json:
        print_json({"healthy": not faults, "findings": [finding.as_dict() for finding in findings]})
    else:
        from rich.text import Text

        console = stdout()
        width = max(len(finding.what) for finding in findings)
        for finding in findings:
            mark, style = MARKS[finding.state]
            line = Text.assemble((f"  {mark} ", style), (f"{finding.what:<{width}}  ", "bold"), finding.found)
            console.print(line, soft_wrap=True)
            if finding.mend:
                console.print(Text(f"    {finding.mend}", style="yellow"), soft_wrap=True)
        summary = f"{len(faults)} fault{'s' * (len(faults) != 1)}" if faults else "All is well"
        console.print(Text(f"\n  {summary}.", style="bold"))
    if faults:
        raise typer.Exit(1)
