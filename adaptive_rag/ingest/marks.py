"""What markup leaves of a text: pieces that are kept as they are, and lines that stay where they are.

A text is read as a reader sees it in steps. Each step puts something else in the place of some markup, and
what later steps must not touch (code, formulas) stands in it as a sign until the end. Line ends are never
dropped and none are added, so that each line of what is read has the number of the file's own line.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator

# Two characters that no text holds: they frame the number of what is kept.
_OPEN, _CLOSE = "\ufdd0", "\ufdd1"
_SIGN = re.compile(f"{_OPEN}(\\d+){_CLOSE}")
SIGN = f"{_OPEN}\\d+{_CLOSE}"
"""What stands for a kept piece, as a part of a regular expression."""
_BLANK_LINE = re.compile(r"\n[ \t>]*(?=\n)")


class Kept:
    """The pieces of a text that are kept as they are."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self.spans: list[tuple[int, int]] = []
        """Where pieces of several lines stand in the text that `restore` returned last, in order."""

    def keep(self, piece: str) -> str:
        """Return the sign that stands for a piece until `restore`."""
        self._pieces.append(self.plain(piece))
        return f"{_OPEN}{len(self._pieces) - 1}{_CLOSE}"

    def plain(self, text: str) -> str:
        """Return a text with the pieces in the places of their signs, but for `restore` and its spans."""
        return _SIGN.sub(lambda sign: self._pieces[int(sign[1])], text)

    def drop(self, text: str) -> str:
        """Return what stays of a text that no reader sees: its line ends."""
        return "\n" * (text.count("\n") + sum(self._lines(sign) for sign in _SIGN.finditer(text)))

    def put(self, text: str, instead: str) -> str:
        """Return what a reader sees instead of a text, with the line ends that it lacks behind it."""
        return instead + "\n" * max(0, len(self.drop(text)) - len(self.drop(instead)))

    def restore(self, text: str) -> str:
        """Return a text with the pieces in the places of their signs."""
        parts, last, length = list[str](), 0, 0
        self.spans = []
        for sign in _SIGN.finditer(text):
            piece = self._pieces[int(sign[1])]
            length += sign.start() - last
            if "\n" in piece:
                self.spans.append((length, length + len(piece)))
            parts += [text[last : sign.start()], piece]
            length, last = length + len(piece), sign.end()
        return "".join([*parts, text[last:]])

    def holds(self, offset: int) -> bool:
        """Tell whether a place in the restored text is in a kept piece of several lines."""
        at = bisect_right(self.spans, offset, key=lambda span: span[0])
        return at > 0 and offset < self.spans[at - 1][1]

    def _lines(self, sign: re.Match[str]) -> int:
        return self._pieces[int(sign[1])].count("\n")


def without_signs(text: str) -> str:
    """Return a text of the same length without the characters that frame signs."""
    return text.replace(_OPEN, "\ufffd").replace(_CLOSE, "\ufffd")


def same_lines(before: str, after: str) -> str:
    """Return what was read of a text, or the text as it stands where markup is so broken that lines were
    lost.
    """
    return after if after.count("\n") == before.count("\n") else before


def tidy_lines(before: str, after: str) -> str:
    """Drop the blanks that markup leaves at the ends of lines, and lines that hold nothing else any more."""
    kept = []
    for old, new in zip(before.split("\n"), after.split("\n"), strict=True):
        if old != new:
            new = (
                ""
                if re.fullmatch(r"[\s>]*(?:[*+-]\s*)?", new) and new.strip() != old.strip()
                else new.rstrip()
            )
        kept.append(new)
    return "\n".join(kept)


class Finder:
    """Finds the next place of a string in a text, in time that grows with the text alone."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._next: dict[str, int] = {}

    def find(self, wanted: str, start: int) -> int:
        """Return where a string stands next from a place on, which only grows; -1 where it does not."""
        known = self._next.get(wanted, -2)
        if known != -1 and known < start:
            known = self._next[wanted] = self._text.find(wanted, start)
        return known


def backtick_ends(text: str) -> dict[int, int]:
    """Return where each run of backticks that opens code ends it: behind the next one as long, in its
    paragraph.
    """
    gaps = [gap.start() for gap in _BLANK_LINE.finditer(text)]
    later: dict[int, tuple[int, int]] = {}
    ends: dict[int, int] = {}
    for start, end in reversed([run.span() for run in re.finditer("`+", text)]):
        paragraph = bisect_right(gaps, start)
        same, closing = later.get(end - start, (-1, 0))
        if same == paragraph:
            ends[start] = closing
        later[end - start] = paragraph, end
    return ends


def sub_each(
    pattern: re.Pattern[str], write: str | Callable[[re.Match[str]], str], text: str, times: int = 3
) -> str:
    """Replace a pattern, and then what is found in what came of it, as images in links are."""
    for _ in range(times):
        text, found = pattern.subn(write, text)
        if not found:
            break
    return text


def numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield each line with the place where it starts."""
    at = 0
    for line in text.split("\n"):
        yield at, line
        at += len(line) + 1
