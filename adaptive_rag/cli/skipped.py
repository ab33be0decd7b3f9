"""The messages after indexing: which files were skipped, and notes on those that were read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from adaptive_rag.cli.output import print_line, print_note, short_source
from adaptive_rag.ingest.conversions import how_to_convert, readable_suffix

if TYPE_CHECKING:
    from adaptive_rag.index import IndexReport

# Up to this many files with the same reason get a line each; more share one line, which names this many.
MAX_FILES_NAMED = 3
MAX_KINDS_NAMED = 8
# The install command in a reason or a note.
_INSTALL_COMMAND = re.compile(r"pip install '[^']+'")


def print_skipped(report: IndexReport, *, verbose: bool) -> None:
    """Print on standard error which files were skipped and why: each reason once, unless `verbose`."""

    def print_skip(text: str) -> None:
        print_note(("Skipped:", "yellow"), f" {text}")

    failures = [(failure.source, failure.reason) for failure in report.failed]
    extra_needed = "cannot be read without"
    is_shortened = _print_messages(print_skip, failures, "{} {}", extra_needed, verbose=verbose)
    is_shortened |= _print_unknown(print_skip, report.unknown, verbose=verbose)
    if is_shortened:
        print_note("To see the name of each file, index again with -v.")


def print_notes(report: IndexReport, *, verbose: bool) -> None:
    """Print on standard output the notes on what was read: each note once, unless `verbose`."""
    notes = [(note.source, note.text) for note in report.notes]
    extra_needed = "were read in part; to have the rest read:"
    _print_messages(lambda text: print_line(f"Note: {text}"), notes, "{}: {}", extra_needed, verbose=verbose)


def _short_name(source: str) -> str:
    """Return a source's name; the middle of a very long one, as files in archives may have, is cut."""
    name = short_source(source)
    return name if len(name) <= 300 else f"{name[:200]} … {name[-90:]}"


def _print_messages(
    print_message: Callable[[str], None],
    messages: Sequence[tuple[str, str]],
    template: str,
    extra_needed: str,
    *,
    verbose: bool,
) -> bool:
    """Print (source, text) messages, grouped by text; return whether some sources are not named.

    Texts that name the same install command belong to one group. `template` is a line for one source, and
    `extra_needed` stands between a number of files and the install command that they need.
    """
    groups: dict[str, list[tuple[str, str]]] = {}
    for source, text in messages:
        command = _INSTALL_COMMAND.search(text)
        groups.setdefault(command[0] if command else text, []).append((_short_name(source), text))
    is_shortened = False
    for key, group in groups.items():
        if verbose or len(group) <= MAX_FILES_NAMED:
            for source, text in group:
                print_message(template.format(source, text))
            continue
        is_shortened = True
        named = ", ".join(source for source, _ in group[:MAX_FILES_NAMED])
        problem = f" {extra_needed} {key}" if _INSTALL_COMMAND.fullmatch(key) else f", each {key}"
        hidden = len(group) - MAX_FILES_NAMED
        print_message(f"{len(group):,} files{problem} ({named} and {hidden:,} more)")
    return is_shortened


def _print_unknown(print_message: Callable[[str], None], sources: Sequence[str], *, verbose: bool) -> bool:
    """Print the files that no loader reads, or only their types if there are many.

    Returns whether only types were printed.
    """
    if verbose or len(sources) <= MAX_FILES_NAMED:
        for source in sources:
            kind = PurePath(source).suffix.lower() or "no suffix"
            message = f"{_short_name(source)} is of a kind that is not read ({kind})"
            print_message(". ".join(filter(None, (message, how_to_convert(Path(source))))))
        return False
    kinds = Counter(PurePath(source).suffix.lower() for source in sources)
    named = [f"{count:,} {kind or 'without a suffix'}" for kind, count in kinds.most_common(MAX_KINDS_NAMED)]
    hidden = len(kinds) - MAX_KINDS_NAMED
    more = f" and {hidden:,} more kinds" if hidden > 0 else ""
    conversions = ((kind, readable_suffix(kind)) for kind in sorted(kinds))
    advice = "".join(f". Save {old} as {new}" for old, new in conversions if new)
    print_message(f"{len(sources):,} files of kinds that are not read: {', '.join(named)}{more}{advice}")
    return True
