"""What markup leaves of a text: pieces that are kept as they are, and lines that stay where they are.

A text is read as a reader sees it in steps. Each step puts something else in the place of some markup, and
what later steps must not touch (code, formulas) stands in it as a sign until the end. Line ends are never
dropped and none are added, so that each line of what is read has the number of the file's own line.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence

# Two characters that no text holds: they frame the number of what is kept.
_OPEN, _CLOSE = "\ufdd0", "\ufdd1"
_SIGN = re.compile(f"{_OPEN}(\\d+){_CLOSE}")
SIGN = f"{_OPEN}\\d+{_CLOSE}"
"""What stands for a kept piece, as a part of a regular expression."""
# a pattern, and what a reader sees instead of what it finds
Step = tuple[str, str | Callable[[re.Match[str]], str]]

# Roles of reStructuredText and MyST: `label <target>` is its label.
_TITLED = re.compile(r"(?P<title>.+?)\s*<[^<>]*>", re.DOTALL)
_LITERAL_ROLE = re.compile(
    r"code|command|console|envvar|file|literal|math|option|program|samp|setting|"
    r"(?:[a-z]+:)?(?:any|attr|class|const|data|exc|func|macro|member|meth|mod|obj|type|keyword)"
)
_NUMBERED_ROLES = {"pep": "PEP ", "rfc": "RFC ", "gh": "GH-", "cve": "CVE-", "issue": "#", "pr": "#"}
_UNSEEN_ROLES = ("index", "raw", "raw-html", "eval")


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
        return "\n" * self.plain(text).count("\n")

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


def without_signs(text: str) -> str:
    """Return a text of the same length without the characters that frame signs."""
    return text.replace(_OPEN, "\ufffd").replace(_CLOSE, "\ufffd")


def follow(steps: Sequence[Step], text: str, times: int = 1) -> str:
    """Put what a reader sees in the place of each pattern, one after the other, each up to so many times."""
    for pattern, write in steps:
        for _ in range(times):
            text, found = re.subn(pattern, write, text, flags=re.MULTILINE)
            if not found:
                break
    return text


def blank(found: re.Match[str]) -> str:
    """Return what stays of a match that no reader sees: its line ends."""
    return "\n" * found[0].count("\n")


def read_role(name: str, content: str) -> str:
    """Return what a reader sees of a role's content: "PEP 8" of :pep:`8`."""
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
    """Return what was read of a text, without blanks that markup leaves at the ends of lines and in others.

    A text so malformed that lines were lost stays as it stands.
    """
    if before.count("\n") != after.count("\n"):
        return before
    kept = []
    for old, new in zip(before.split("\n"), after.split("\n"), strict=True):
        emptied = new.strip() != old.strip() and re.fullmatch(r"[\s>]*(?:[*+-]\s*)?", new)
        kept.append(new if old == new else "" if emptied else new.rstrip())
    return "\n".join(kept)


def numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield each line with the place where it starts."""
    at = 0
    for line in text.split("\n"):
        yield at, line
        at += len(line) + 1
