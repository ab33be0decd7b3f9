"""Reading of markup in steps: placeholders for pieces that are kept, and lines that keep their number.

Each step replaces some markup by what a reader sees. Pieces that later steps must not change (code, formulas)
are replaced by placeholders until the end. Line ends are never dropped and none are added, so that each line
keeps its line number in the file.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence

# Two characters that occur in no text: they enclose the number of a kept piece.
_OPEN, _CLOSE = "\ufdd0", "\ufdd1"
_SIGN = re.compile(f"{_OPEN}(\\d+){_CLOSE}")
SIGN = f"{_OPEN}\\d+{_CLOSE}"
"""A regular expression for the placeholder of a kept piece."""
# A pattern, and what a reader sees instead of a match.
Step = tuple[str, str | Callable[[re.Match[str]], str]]

# Roles of reStructuredText and MyST: `label <target>` shows its label.
_TITLED = re.compile(r"(?P<title>.+?)\s*<[^<>]*>", re.DOTALL)
_LITERAL_ROLE = re.compile(
    r"code|command|console|envvar|file|literal|math|option|program|samp|setting|"
    r"(?:[a-z]+:)?(?:any|attr|class|const|data|exc|func|macro|member|meth|mod|obj|type|keyword)"
)
_NUMBERED_ROLES = {"pep": "PEP ", "rfc": "RFC ", "gh": "GH-", "cve": "CVE-", "issue": "#", "pr": "#"}
_UNSEEN_ROLES = ("index", "raw", "raw-html", "eval")


class Kept:
    """The pieces of a text that are kept unchanged."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self.spans: list[tuple[int, int]] = []
        """The spans of multi-line pieces in the text that `restore` last returned, in order."""

    def keep(self, piece: str) -> str:
        """Store a piece and return its placeholder."""
        self._pieces.append(self.plain(piece))
        return f"{_OPEN}{len(self._pieces) - 1}{_CLOSE}"

    def plain(self, text: str) -> str:
        """Replace placeholders by their pieces, as `restore` does, but without recording spans."""
        return _SIGN.sub(lambda sign: self._pieces[int(sign[1])], text)

    def drop(self, text: str) -> str:
        """Return what remains of a text that no reader sees: its line ends."""
        return "\n" * self.plain(text).count("\n")

    def put(self, text: str, instead: str) -> str:
        """Return `instead`, followed by the line ends that it has fewer than `text`."""
        return instead + "\n" * max(0, len(self.drop(text)) - len(self.drop(instead)))

    def restore(self, text: str) -> str:
        """Replace placeholders by their pieces, and record the spans of multi-line pieces."""
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
        """Return whether an offset in the restored text is inside a multi-line piece."""
        at = bisect_right(self.spans, offset, key=lambda span: span[0])
        return at > 0 and offset < self.spans[at - 1][1]


def without_signs(text: str) -> str:
    """Replace the characters that enclose placeholders, without changing the length of the text."""
    return text.replace(_OPEN, "\ufffd").replace(_CLOSE, "\ufffd")


def follow(steps: Sequence[Step], text: str, times: int = 1) -> str:
    """Apply steps one after the other, each up to `times` times."""
    for pattern, write in steps:
        for _ in range(times):
            text, count = re.subn(pattern, write, text, flags=re.MULTILINE)
            if not count:
                break
    return text


def fenced(code: str, language: str = "") -> str:
    """Return code as a Markdown block, with a fence longer than those inside it."""
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`{3,}", code))])
    return f"{fence}{language}\n{code}\n{fence}"


def blank(match: re.Match[str]) -> str:
    """Return what remains of a match that no reader sees: its line ends."""
    return "\n" * match[0].count("\n")


def read_role(name: str, content: str) -> str:
    """Return the content of a role as a reader sees it: "PEP 8" for :pep:`8`."""
    name = name.lower()
    if name in _UNSEEN_ROLES:
        return ""
    titled = _TITLED.fullmatch(content.strip()) if name not in ("math", "code", "samp") else None
    if titled:
        return titled["title"]
    shown = content.strip().removeprefix("!")
    if shown.startswith("~"):
        shown = shown[1:].rpartition(".")[2]
    shown = _NUMBERED_ROLES.get(name, "") + shown
    return f"`{shown}`" if _LITERAL_ROLE.fullmatch(name) and shown and "`" not in shown else shown


def tidy(before: str, after: str) -> str:
    """Return the text after markup was read, without the blanks that the markup leaves on its lines.

    If lines were lost because the text is malformed, return the text as it was before.
    """
    if before.count("\n") != after.count("\n"):
        return before
    kept = []
    for old, new in zip(before.split("\n"), after.split("\n"), strict=True):
        emptied = new.strip() != old.strip() and re.fullmatch(r"[\s>]*(?:[*+-]\s*)?", new)
        kept.append(new if old == new else "" if emptied else new.rstrip())
    return "\n".join(kept)


def numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield each line with the offset at which it starts."""
    at = 0
    for line in text.split("\n"):
        yield at, line
        at += len(line) + 1
