"""Read every document below some folders, and count what is refused, for which reason, and what ended badly.

    python -m benchmarks.refusals FOLDER... [--only .doc .ppt] [--skip .csv] [--list] [--beside PYTHON]

A row for each suffix holds how many files were read, refused with a reason, or ended badly: with an exception
that is not one of ours, a crash, or too much time or memory. A reason that names no way to mend the file is
marked "no way out". Files of kinds that no loader reads count as refused where they are documents.
With --beside "others" counts the refused files that another reader gives text of, see benchmarks/beside.py.
"""

from __future__ import annotations

import argparse
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from adaptive_rag.ingest import Failure, SourceFile, read_source, workers
from adaptive_rag.ingest.conversions import how_to_convert
from adaptive_rag.ingest.loaders import LOADERS, find_loader

# Documents that no loader may read; what is neither there nor here is no document.
OTHERS = (
    ".doc .dot .docm .dotx .dotm .ppt .pps .pot .pptm .ppsx .ppsm .potx .potm .xlt .xltx .xltm .xlw"
    " .rtf .wps .wpd .odg .odf .ott .ots .otp .fodt .fods .fodp .sxw .sxc .sxi .xml .opml .rss .atom"
    " .fb2 .tex .latex .org .textile .wiki .mediawiki .dokuwiki .xhtml .xht .htmlz .pages .numbers"
    " .key .chm .xps .oxps .djvu .mobi .azw3 .one .vsd .vsdx .pub .dat .tnef .p7m .svg .prn .dif .slk"
    " .wks .mif .dbf .typ .log .docbook .dbk .tei .jats .nxml .hwp .hwpx"
).split()
_LEFT_OUT = ("source code", "archive", "image")
_BADLY = re.compile(r"crash|loader failed|takes more than|raised")
_MENDED = re.compile(
    r"\b(save|convert|give|make|export|split|fetch|open|pack|unpack|install|remove|index it again|print)\b",
    re.IGNORECASE,
)
# nothing is to be mended: there is no text in such a file
_NOTHING = re.compile(r"^(holds no text$|is empty|holds no file)")


@dataclass(frozen=True)
class Reading:
    """What came of one file: the suffix, and the reason where it was not read."""

    path: Path
    suffix: str
    reason: str
    bad: bool
    other: str = ""
    """The reader that gives text of a file that was refused."""

    @property
    def marked(self) -> str:
        """Return the reason without the figures and names that it holds, and a mark where it helps nobody."""
        plain = re.sub(r"'[^']*'|\d[\d,.]*", "#", self.reason)[:160]
        mended = _MENDED.search(self.reason) or _NOTHING.search(self.reason)
        return plain if mended else f"{plain} [no way out]"


def find_documents(folders: Iterable[Path], only: Sequence[str], skip: Sequence[str]) -> Iterator[Path]:
    """Yield the documents below the folders, of no kind of source code."""
    known = {suffix for kind, row in LOADERS.items() if kind not in _LEFT_OUT for suffix in row.suffixes}
    wanted = set(only) or (known | set(OTHERS)) - set(skip)
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.suffix.lower() in wanted and ".git" not in path.parts:
                yield path


def read(path: Path) -> Reading:
    """Read one file by the reader of its kind."""
    suffix = path.suffix.lower()
    if find_loader(path) is None:
        return Reading(
            path, suffix, f"is of a kind that is not read. {how_to_convert(Path(f'a{suffix}'))}", False
        )
    try:
        found = read_source(SourceFile(path, path.name))
    except Exception as error:  # what a reader never should do is what is looked for
        return Reading(path, suffix, f"raised {type(error).__name__}: {error}", True)
    reason = found.reason if isinstance(found, Failure) else ""
    return Reading(path, suffix, reason, bool(_BADLY.search(reason)))


def read_beside(readings: Sequence[Reading], python: str) -> list[Reading]:
    """Have the readers that a Python knows try the files that were refused."""
    refused = [each for each in readings if each.reason]
    script = Path(__file__).with_name("beside.py")
    paths = "".join(f"{each.path.resolve()}\n" for each in refused)
    found = subprocess.run([python, script], input=paths, stdout=subprocess.PIPE, text=True, check=True)
    others = dict(zip((each.path for each in refused), found.stdout.splitlines(), strict=True))
    return [replace(each, other=others.get(each.path, "")) for each in readings]


def report(readings: Sequence[Reading], *, listed: bool) -> None:
    """Print the counts by suffix, and the reasons with how many files of which suffixes they met."""
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    reasons: dict[str, list[Reading]] = defaultdict(list)
    for each in readings:
        rows[each.suffix]["badly" if each.bad else "refused" if each.reason else "read"] += 1
        rows[each.suffix]["others"] += bool(each.other)
        if each.reason:
            reasons[each.marked].append(each)
    print(f"| {'suffix':10} | read | refused | others | badly |\n|---|--:|--:|--:|--:|")
    total: Counter[str] = sum(rows.values(), Counter())
    for suffix, row in [*sorted(rows.items()), ("all", total)]:
        counts = f"{row['read']:4} | {row['refused']:7} | {row['others']:6} | {row['badly']:5}"
        print(f"| {suffix:10} | {counts} |")
    for reason, met in sorted(reasons.items(), key=lambda item: -len(item[1])):
        kinds = ", ".join(f"{kind} {n}" for kind, n in Counter(each.suffix for each in met).most_common())
        print(f"\n{len(met)} x {reason}\n    {kinds}")
        for each in met if listed else ():
            print(f"    {each.path}{f' ({each.other} reads it)' if each.other else ''}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report, and return how many files ended badly."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--only", nargs="*", default=[], metavar="SUFFIX", help="read these suffixes alone")
    parser.add_argument("--skip", nargs="*", default=[], metavar="SUFFIX", help="leave these out")
    parser.add_argument("--list", action="store_true", help="name the files below each reason")
    parser.add_argument("--jobs", type=int, default=2, help="files that are read at once")
    parser.add_argument("--beside", metavar="PYTHON", help="have its other readers try what is refused")
    asked = parser.parse_args(arguments)
    with ThreadPoolExecutor(asked.jobs) as pool:
        readings = list(pool.map(read, find_documents(asked.folders, asked.only, asked.skip)))
    workers.end_idle_workers()
    if asked.beside:
        readings = read_beside(readings, asked.beside)
    report(readings, listed=asked.list)
    return sum(each.bad for each in readings)


if __name__ == "__main__":
    raise SystemExit(main())
