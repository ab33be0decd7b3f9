"""Tools to replace markup by what a reader sees, step by step.

Pieces that later steps must not change, such as code and formulas, are replaced by placeholders until the
end. Line ends are never dropped and none are added, so that each line keeps its line number in the file.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence

# Two characters that occur in no text (Unicode noncharacters): they enclose the number of a piece.
_OPEN, _CLOSE = "\ufdd0", "\ufdd1"
_PLACEHOLDER = re.compile(f"{_OPEN}(\\d+){_CLOSE}")
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


class Kept:
    """The pieces of a text that are kept unchanged, and the placeholders for them."""

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
        return _PLACEHOLDER.sub(lambda match: self._pieces[int(match[1])], text)

    def drop(self, text: str) -> str:
        """Return the line ends of a text that no reader sees."""
        return "\n" * self.plain(text).count("\n")

    def put(self, text: str, instead: str) -> str:
        """Return `instead` with line ends added until it has as many as `text`."""
        return instead + "\n" * max(0, len(self.drop(text)) - len(self.drop(instead)))

    def restore(self, text: str) -> str:
        """Replace placeholders by their pieces, and record the spans of multi-line pieces."""
        parts, end, length = list[str](), 0, 0
        self.spans = []
        for match in _PLACEHOLDER.finditer(text):
            piece = self._pieces[int(match[1])]
            length += match.start() - end
            if "\n" in piece:
                self.spans.append((length, length + len(piece)))
            parts += [text[end : match.start()], piece]
            length, end = length + len(piece), match.end()
        return "".join([*parts, text[end:]])

    def holds(self, offset: int) -> bool:
        """Return whether an offset in the restored text is inside a multi-line piece."""
        index = bisect_right(self.spans, offset, key=lambda span: span[0])
        return index > 0 and offset < self.spans[index - 1][1]


def without_signs(text: str) -> str:
    """Replace the characters that enclose placeholders, without changing the length of the text."""
    return text.replace(_OPEN, "\ufffd").replace(_CLOSE, "\ufffd")


def follow(steps: Sequence[Step], text: str, times: int = 1) -> str:
    """Apply steps one after the other, each up to `times` times."""
    for pattern, replacement in steps:
        for _ in range(times):
            text, count = re.subn(pattern, replacement, text, flags=re.MULTILINE)
            if not count:
                break
    return text


def fenced(code: str, language: str = "") -> str:
    """Return code as a Markdown block, with a fence longer than those inside it."""
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`{3,}", code))])
    return f"{fence}{language}\n{code}\n{fence}"


def blank(match: re.Match[str]) -> str:
    """Return the line ends of a match that no reader sees."""
    return "\n" * match[0].count("\n")


def read_role(name: str, content: str) -> str:
    """Return the content of a role as a reader sees it: "PEP 8" for :pep:`8`."""
    name = name.lower()
    if name in ("index", "raw", "raw-html", "eval"):
        return ""
    content = content.strip()
    if name not in ("math", "code", "samp") and (titled := _TITLED.fullmatch(content)):
        return titled["title"]
    content = content.removeprefix("!")
    if content.startswith("~"):
        content = content[1:].rpartition(".")[2]
    content = _NUMBERED_ROLES.get(name, "") + content
    is_literal = _LITERAL_ROLE.fullmatch(name) is not None
    return f"`{content}`" if is_literal and content and "`" not in content else content


def tidy(before: str, after: str) -> str:
    """Return the text after markup was read, without the blanks and list marks that the markup leaves.

    If lines were lost because the text is malformed, return the text as it was before.
    """
    if before.count("\n") != after.count("\n"):
        return before
    lines = []
    for old, new in zip(before.split("\n"), after.split("\n"), strict=True):
        is_emptied = new.strip() != old.strip() and re.fullmatch(r"[\s>]*(?:[*+-]\s*)?", new)
        lines.append(new if old == new else "" if is_emptied else new.rstrip())
    return "\n".join(lines)


def numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield each line with the offset at which it starts."""
    offset = 0
    for line in text.split("\n"):
        yield offset, line
        offset += len(line) + 1
