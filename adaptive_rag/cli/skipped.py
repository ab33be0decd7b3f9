"""Messages after indexing: which files were skipped, and notes on those that were read."""

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

# Up to this many files with one reason have a line each; of more, this many are named in one line.
NAMED = 3
KINDS_NAMED = 8
# The install command in a reason or a note.
_INSTALL = re.compile(r"pip install '[^']+'")


def print_skipped(report: IndexReport, *, verbose: bool) -> None:
    """Print on standard error which files were skipped and why: each reason once, unless `verbose`."""

    def tell(text: str) -> None:
        print_note(("Skipped:", "yellow"), f" {text}")

    failed = [(failure.source, failure.reason) for failure in report.failed]
    lacking = "cannot be read without"
    shortened = _tell(tell, failed, "{} {}", lacking, verbose=verbose)
    shortened |= _tell_unknown(tell, report.unknown, verbose=verbose)
    if shortened:
        print_note("To see the name of each file, index again with -v.")


def print_notes(report: IndexReport, *, verbose: bool) -> None:
    """Print on standard output the notes on what was read: each note once, unless `verbose`."""
    notes = [(note.source, note.text) for note in report.notes]
    lacking = "were read in part; to have the rest read:"
    _tell(lambda text: print_line(f"Note: {text}"), notes, "{}: {}", lacking, verbose=verbose)


def _tell(
    tell: Callable[[str], None],
    said: Sequence[tuple[str, str]],
    one: str,
    lacking: str,
    *,
    verbose: bool,
) -> bool:
    """Print what is said about sources, equal messages together; return whether some sources are not named.

    Messages that name the same install command count as equal.
    """
    groups: dict[str, list[tuple[str, str]]] = {}
    for source, text in said:
        install = _INSTALL.search(text)
        groups.setdefault(install[0] if install else text, []).append((short_source(source), text))
    shortened = False
    for same, held in groups.items():
        if verbose or len(held) <= NAMED:
            for source, text in held:
                tell(one.format(source, text))
            continue
        shortened = True
        named = ", ".join(source for source, _ in held[:NAMED])
        what = f" {lacking} {same}" if _INSTALL.fullmatch(same) else f", each {same}"
        tell(f"{len(held):,} files{what} ({named} and {len(held) - NAMED:,} more)")
    return shortened


def _tell_unknown(tell: Callable[[str], None], sources: Sequence[str], *, verbose: bool) -> bool:
    """Print which files no loader reads, by their types if there are many; return whether by types."""
    kinds = Counter(PurePath(source).suffix.lower() for source in sources)
    if verbose or len(sources) <= NAMED:
        for source in sources:
            kind = PurePath(source).suffix.lower() or "no suffix"
            way = how_to_convert(Path(source))
            tell(f"{short_source(source)} is of a kind that is not read ({kind}){f'. {way}' if way else ''}")
        return False
    shown = [f"{count:,} {kind or 'without a suffix'}" for kind, count in kinds.most_common(KINDS_NAMED)]
    more = f" and {len(kinds) - KINDS_NAMED:,} more kinds" if len(kinds) > KINDS_NAMED else ""
    ways = ((kind, readable_suffix(kind)) for kind in sorted(kinds))
    saved = "".join(f". Save {old} as {new}" for old, new in ways if new)
    tell(f"{len(sources):,} files of kinds that are not read: {', '.join(shown)}{more}{saved}")
    return True
