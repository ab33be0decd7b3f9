"""The output of the commands: answers go to standard output, everything else to standard error."""

from __future__ import annotations

import functools
import json
import logging
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.containers import Lines
from rich.segment import Segment
from rich.table import Table
from rich.text import Text
from typer import Exit, echo

from adaptive_rag.errors import AdaptiveRAGError, AdaptiveRAGWarning
from adaptive_rag.samples import samples_path
from adaptive_rag.text.markdown import links_as_words, without_emphasis
from adaptive_rag.text.places import format_place
from adaptive_rag.text.redaction import redact, redact_known, redact_known_all
from adaptive_rag.text.visible import escape_hidden, is_hidden, visible

if TYPE_CHECKING:
    from adaptive_rag.context import Context
    from adaptive_rag.state import Candidate, Citation, Place

PassageT = TypeVar("PassageT", "Citation", "Candidate")
CommandT = TypeVar("CommandT", bound=Callable[..., Any])
# A piece of a line: a text, or a text with its style.
Part: TypeAlias = str | Text | tuple[str, str]

# "docs/", "board_", "minutes_" and "2026.docx" of a name, and the words of a sentence
_NAME_PART = re.compile(r"[^\s/_-]*[\s/_-]+|[^\s/_-]+$")

# Characters of a line. Longer lines are hard to read, however wide the terminal is.
MEASURE = 96
# Characters of a line that is not shown in a terminal, where a name that is broken in two is not found.
MAX_WIDTH = 10_000


class _Terminal(Console):
    """A console that prints only visible characters, and no known secrets."""

    def on_broken_pipe(self) -> None:
        # Rich would exit 1 here; `reporting_errors` does not treat this as an error.
        raise BrokenPipeError

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(visible(redact_known(text)), **options)

    def render(self, renderable: Any, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))


def stdout(*, unbroken: bool = False) -> Console:
    """Return the console for answers; if `unbroken`, a file or a pipe gets lines of any length."""
    console = _open_console(stderr=False)
    if unbroken and not console.is_terminal:
        console.width = MAX_WIDTH
    return console


def stderr() -> Console:
    """Return the console for progress and messages."""
    return _open_console(stderr=True)


def _open_console(*, stderr: bool) -> Console:
    console = _Terminal(stderr=stderr, highlight=False, markup=False, emoji=False)
    if console.width < 1:  # the variable COLUMNS is 0
        console.width = 80
    return console


def _visible(part: Part) -> Part:
    # Rich would remove only some control characters when it makes a Text of the part.
    if isinstance(part, Text):
        return part
    return visible(part) if isinstance(part, str) else (visible(part[0]), part[1])


def _assemble(*parts: Part, style: str = "") -> Text:
    """Join the parts of a text and remove secrets from it: wrapping may split a secret in two later."""
    text = Text.assemble(*map(_visible, parts), style=style)
    clean = visible(redact_known(text.plain))
    return text if clean == text.plain else Text(clean, style=style)


def print_line(*parts: Part, style: str = "") -> None:
    """Print one line of an answer; only the terminal wraps it."""
    stdout().print(_assemble(*parts, style=style), soft_wrap=True)


def print_note(*parts: Part) -> None:
    """Print one message to standard error, unwrapped, so that a path or a command in it can be copied."""
    stderr().print(_assemble(*parts), soft_wrap=True)


def print_block(*parts: Part, style: str = "", indent: int = 2, hanging: int = 0) -> None:
    """Print a text wrapped to a readable width, without trailing blanks."""
    _print_wrapped(Text(" " * indent), indent + hanging, _assemble(*parts, style=style))


def print_fact(label: Sequence[Part], *parts: Part, style: str = "") -> None:
    """Print a text after its label; further lines are aligned with the text of the first."""
    prefix = _assemble(*label)
    _print_wrapped(prefix, prefix.cell_len, _assemble(*parts, style=style))


def _print_wrapped(prefix: Text, indent: int, text: Text) -> None:
    """Print a text after a prefix, and its further lines indented."""
    console = stdout()
    for part in text.wrap(console, max(20, min(console.width, MEASURE) - indent)):
        line = prefix + part
        line.rstrip()
        print_line(line)
        prefix = Text(" " * indent)


def print_json(value: Any) -> None:
    """Write one JSON value, and nothing else, to standard output; hidden characters are escaped.

    What is not a number (NaN) or is infinite is null: JSON has no form for it.
    """
    value = redact_known_all(value)
    try:
        text = json.dumps(value, ensure_ascii=False, default=_as_json, allow_nan=False)
    except ValueError:
        value = json.loads(json.dumps(value, default=_as_json), parse_constant=lambda _: None)
        text = json.dumps(value, ensure_ascii=False)
    # Some terminals draw a line separator as a new line.
    hidden = {character for character in set(text) if is_hidden(character) or character in "\u2028\u2029"}
    text = text.translate({ord(character): json.dumps(character)[1:-1] for character in hidden})
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        # A file name that is not valid text, or a terminal with a small character set: use \u escapes.
        text = json.dumps(value, default=_as_json)
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _as_json(value: Any) -> Any:
    plain = asdict(value) if is_dataclass(value) and not isinstance(value, type) else str(value)
    return redact_known_all(plain)


def print_plain(text: str) -> None:
    """Write a text as it is, for a file or a pipe, but for hidden characters and known secrets."""
    echo(visible(redact_known(text)), nl=False)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Part]], *, unbroken: bool = False) -> None:
    """Print rows below the names of their columns, or only the rows if no column has a name."""
    table = Table(box=None, padding=(0, 2), show_header=any(columns), header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(_Cell.assemble(_assemble(cell)) for cell in row))
    stdout(unbroken=unbroken).print(table)


class _Cell(Text):
    """The text of a cell; a word that is longer than a line is broken after a separator in it."""

    def wrap(self, console: Console, width: int, **options: Any) -> Lines:
        breaks, start = list[int](), 0
        is_too_long = any(cell_len(word) > width for word in self.plain.split())
        for part in _NAME_PART.finditer(self.plain if is_too_long else ""):
            if part.start() > start and cell_len(self.plain[start : part.end()].rstrip()) > width:
                start = part.start()
                breaks.append(start)
        return Lines(line for part in self.divide(breaks) for line in part.wrap(console, width, **options))


def format_count(number: int, noun: str) -> str:
    """Return a number with its noun: "1 fault", "2 faults", "1,000 faults"."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def snippet(text: str, source: str, length: int) -> str:
    """Return a passage shortened to one line, without the Markdown of headings, emphasis and links."""
    is_markdown = source.lower().endswith((".md", ".markdown"))
    return shorten(links_as_words(without_emphasis(text)) if is_markdown else text, length)


def shorten(text: str, length: int) -> str:
    """Return a text on one line, cut to a length."""
    text = " ".join(text.split())
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def short_source(source: str) -> str:
    """Return an absolute path relative to the working directory, unless the absolute one is shorter.

    A sample document, whose path lies deep in this package, is shown by name. Line breaks are escaped.
    """
    return escape_hidden(_relative_path(source))


def _relative_path(source: str) -> str:
    if "://" in source or not os.path.isabs(source):
        return source
    if Path(source).parent == samples_path():
        return Path(source).name
    try:
        relative = Path(os.path.relpath(source)).as_posix()
    except ValueError:  # another drive
        return source
    return min(relative, source, key=len)


def with_display_names(
    passages: Sequence[PassageT], context: Context, *, paths: bool = False
) -> list[PassageT]:
    """Return citations or passages in which `source` is the shortest distinct name of the document.

    With `paths` it is the file's path from the working directory. (The index itself names a file by its
    path from the folder in which it was first indexed.)
    """
    from adaptive_rag.index.index import source_of
    from adaptive_rag.index.open_index import OpenedIndex
    from adaptive_rag.source import KnowsFiles, ListsSources

    index, sources = source_of(context), dict.fromkeys(passage["source"] for passage in passages)

    def path_of(source: str) -> str:
        file = index.file_of(source) if isinstance(index, KnowsFiles) else None
        is_missing = file is None or not os.path.exists(file)
        return _relative_path(source if is_missing or os.path.realpath(source) == file else str(file))

    if paths:
        names = {source: path_of(source) for source in sources}
    else:
        # A name must be distinct in the whole index, also where only some documents are searched.
        whole = index.base if isinstance(index, OpenedIndex) else index
        names = shortest_names(sources, whole.sources() if isinstance(whole, ListsSources) else ())
    return [{**passage, "source": names[passage["source"]]} for passage in passages]


def shortest_names(sources: Iterable[str], others: Iterable[str] = ()) -> dict[str, str]:
    """Return, for each source, the shortest end of its path that no other has; for a web page its address."""
    sources = list(sources)
    paths = {name: name.replace(os.sep, "/") for name in (*sources, *others)}

    def shortest_name(source: str) -> str:
        if "://" in source:
            return source
        parts = paths[source].split("/")
        rivals = [path for name, path in paths.items() if path.endswith(parts[-1]) and name != source]
        for start in range(len(parts) - 1, 0, -1):
            end = "/".join(parts[start:])
            if not any(path == end or path.endswith(f"/{end}") for path in rivals):
                return end
        return source

    return {source: shortest_name(source) for source in sources}


def format_source_place(source: str, *places: Place) -> str:
    """Return a document's name with a place in it, or with several places that differ only in lines."""
    return ", ".join(filter(None, (short_source(source), format_place(*places))))


def reporting_errors(command: CommandT) -> CommandT:
    """Wrap a command so that an error of this package ends it with one message and exit code 1.

    Any other error is a bug and keeps its traceback. With `--verbose`, the log of the steps is shown on
    standard error.
    """

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            with _plain_warnings(), _log_on_stderr(kwargs.get("verbose", 0)):
                return command(*args, **kwargs)
        except AdaptiveRAGError as error:
            print_note(("Error: ", "bold red"), redact(str(error)))
            raise Exit(1) from None
        except KeyboardInterrupt as error:
            print_note(" ".join(["Interrupted.", *getattr(error, "__notes__", [])]))
            raise Exit(130) from None
        except BrokenPipeError:
            # The reader (head, less) is gone. Without this, flushing at exit would raise a second error.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise Exit(0) from None

    return run  # type: ignore[return-value]


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Print each warning of this package as one line, once; leave other packages' warnings as they are."""
    printed: set[str] = set()

    def show_warning(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        text = str(message)
        if not issubclass(category, AdaptiveRAGWarning):
            show_default(message, category, *place, **more)
        elif text not in printed:
            printed.add(text)
            print_note(text)

    with warnings.catch_warnings():
        show_default, warnings.showwarning = warnings.showwarning, show_warning
        yield


class _LogLines(logging.Handler):
    """Prints log records on standard error, above a progress bar if there is one."""

    def emit(self, record: logging.LogRecord) -> None:
        print_note((f"{record.name} ", "dim"), redact(self.format(record)))


@contextmanager
def _log_on_stderr(verbose: int) -> Iterator[None]:
    """Log the steps while a command runs: nothing (0), one line per step (1), or the scores too (2)."""
    if not verbose:
        yield
        return
    logger, handler = logging.getLogger("adaptive_rag"), _LogLines()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO if verbose == 1 else logging.DEBUG)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
