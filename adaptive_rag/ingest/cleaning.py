"""PDF text cleaning: repairs to a line of extracted text, and hyphens at the ends of lines."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable

# Unicode's presentation forms of Latin ligatures. NFKC on the whole text would also turn "10²" into "102".
_LIGATURES = {chr(code): unicodedata.normalize("NFKC", chr(code)) for code in range(0xFB00, 0xFB07)}
# TeX sets an accent as a separate character before its letter: "D¨uhring".
_ACCENTS = {
    "¨": "\u0308", "´": "\u0301", "`": "\u0300", "ˆ": "\u0302", "˜": "\u0303", "ˇ": "\u030c", "¸": "\u0327",
}  # fmt: skip
# Bullets and boxes of the fonts Symbol and Wingdings, in the private codes that Word gives them in a PDF.
SYMBOLS = {
    "\uf0b7": "•", "\uf0a7": "▪", "\uf0d8": "➢", "\uf0e0": "→", "\uf0fc": "✓", "\uf0fb": "✗", "\uf0a8": "☐",
    "\uf0fd": "☒", "\uf0fe": "☑",
}  # fmt: skip
_TO_CLEAN = re.compile(
    r"(?P<ligature>[\ufb00-\ufb06])"
    r"|(?P<form>[\ufb1d-\ufdff\ufe70-\ufefc]+)"
    r"|(?P<small>[\uf730-\uf739\uf761-\uf77a])"
    rf"|(?P<symbol>[{''.join(SYMBOLS)}])"
    r"|(?P<accent>(?:[¨´ˆ˜ˇ¸]|(?<=[^\W\d_])`)[^\W\d_])"
    r"|(?P<leader>(?:\. ?){5,})"
    r"|(?P<blanks>(?! (?=\S))[\s\u200b\u2060]+)"
    r"|(?P<removed>[\u00ad\u200b\u2060\ufeff\x00-\x08\x0e-\x1f\x7f])"
)
# Parts of a text, none of which begins with an accent unless there are hundreds: the normal form of 100,000
# accents in a row takes minutes.
_PART = re.compile(r".{1,1000}(?![\u0300-\U0010ffff])|.{1,1000}", re.DOTALL)
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_HYPHENS = "-\u2010\u00ad"
_BEFORE_HYPHEN = re.compile(rf"(?P<word>[^\W_]+(?:['’-][^\W_]+)*)[{_HYPHENS}]$")
_AFTER_HYPHEN = re.compile(r"[^\W\d_]+")
# First parts that English writes with a hyphen more often than not.
_PREFIXES = frozenset({"cross", "half", "high", "long", "low", "mid", "non", "quasi", "self", "well"})


def join_accents(text: str) -> str:
    """Join separate accents with their letters, as in the words of a question."""
    if text.isascii():
        return text
    return _PART.sub(lambda match: unicodedata.normalize("NFC", match[0]), text)


def clean(text: str) -> str:
    """Clean up a line of extracted text.

    Ligatures and Arabic presentation forms become plain letters, separate accents join their letter, runs of
    blanks become one blank, the dots before a page number become "…", and soft hyphens and control characters
    are removed.
    """
    return _TO_CLEAN.sub(_clean_match, join_accents(text))


def _clean_match(match: re.Match[str]) -> str:
    if match["ligature"]:
        return _LIGATURES[match[0]]
    if match["form"]:  # the initial, medial or final form of an Arabic letter
        # without the blank that carries a mark without a letter
        return "".join(unicodedata.normalize("NFKC", form).lstrip(" ") for form in match[0])
    if match["small"]:  # an old-style figure or a small capital in Adobe's private codes: "\uf761" is an "a"
        return chr(ord(match[0]) - 0xF700)
    if match["symbol"]:
        return SYMBOLS[match[0]]
    if accented := match["accent"]:
        letter = {"ı": "i", "ȷ": "j"}.get(accented[1], accented[1])
        composed = unicodedata.normalize("NFC", letter + _ACCENTS[accented[0]])
        return composed if len(composed) == 1 else accented
    if match["leader"]:
        return "… "
    return " " if match["blanks"] else ""


class Vocabulary:
    """The words of one document, which decide whether a hyphen at the end of a line is kept."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def learn(self, lines: Iterable[str]) -> None:
        """Count the words of lines, except words that are split between two lines."""
        is_split = False
        for line in lines:
            words = _WORD.findall(line.lower())
            if is_split:
                words = words[1:]
            is_split = line.endswith(tuple(_HYPHENS))
            self._counts.update(words[:-1] if is_split else words)

    def joins(self, before: str, after: str) -> str | None:
        """Return what stands between the halves of a word that two lines split: "" or "-".

        The result is None if no word is split.

        A word that continues in lower case loses its hyphen, unless the document or common usage writes it
        with one. A hyphen before a capital or a figure is kept.
        """
        match = _BEFORE_HYPHEN.search(before)
        if match is None:
            return None
        if before[-1] == "\u00ad":
            return ""
        rest = _AFTER_HYPHEN.match(after)
        if rest is None or not after[:1].islower():
            return "-" if after[:1].isalnum() else None
        first, second = match["word"].lower(), rest[0].lower()
        last_part = first.rpartition("-")[2]
        joined_count = self._counts[first + second] or self._counts[last_part + second]
        hyphenated_count = self._counts[f"{first}-{second}"]
        if joined_count or hyphenated_count:
            return "" if joined_count >= hyphenated_count else "-"
        if "-" in first or first[-1].isdigit():
            return "-"
        is_prefix = first in _PREFIXES or (min(len(first), len(second)) > 3 and self._counts[first])
        return "-" if is_prefix and self._counts[second] else ""
