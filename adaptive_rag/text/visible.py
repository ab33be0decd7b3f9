"""Removes hidden characters from a text, for prompts, terminals and pages."""

from __future__ import annotations

import re
import unicodedata
from itertools import chain

# A complete escape sequence of a terminal: "\x1b[31m", or a link "\x1b]8;;https://...\x1b\\".
_ESCAPE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]"
)
# NUL as JSON escapes it. Backslashes before it must come in pairs, since each pair is one backslash.
ESCAPED_NUL = re.compile(rb"(?<!\\)((?:\\\\)*+)\\u0000")
# Control characters, direction marks and other format characters, private-use and unassigned characters.
_HIDDEN_CATEGORIES = {"Cc", "Cf", "Co", "Cn"}
# Letters and marks that are not drawn, including all variation selectors.
_HIDDEN_CHARACTERS = frozenset(
    chr(code)
    for code in chain(
        (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0),
        range(0x180B, 0x1810),
        range(0xFE00, 0xFE10),
        range(0xE0100, 0xE01F0),
    )
)
# Format characters that are drawn: the signs of numbers and verses in Arabic and Syriac.
_DRAWN = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2")
_KEPT = _DRAWN | {"\n", "\t"}
_NON_JOINER, _JOINER, _EMOJI_STYLE = "\u200c", "\u200d", "\ufe0f"
_LINE_ENDS = frozenset("\n\t\u2028\u2029")
# Styled forms of ASCII that a model reads as plain letters: full-width, mathematical, circled and squared.
_STYLED = ((0xFE50, 0xFE6C), (0xFF01, 0xFF5F), (0x1D400, 0x1D800), (0x24B6, 0x24EA), (0x1F130, 0x1F14A))
_PLAIN = {
    code: letter
    for code in chain.from_iterable(range(*block) for block in _STYLED)
    if (letter := unicodedata.normalize("NFKC", chr(code))).isascii() and len(letter) == 1
}


def without_surrogates(text: str) -> str:
    """Replace each lone surrogate, which UTF-8 cannot encode, with a question mark."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def visible(text: str) -> str:
    """Remove hidden characters: escape sequences, control and format characters, variation selectors.

    Line ends and tabs stay, and so do characters that a script needs: a joiner between letters of Persian or
    Hindi or inside an emoji, and the selector that makes "❤️" an emoji. A lone surrogate becomes "�".
    """
    if text.isascii() and text.isprintable():
        return text
    text = _ESCAPE.sub("", text)
    hidden = {character for character in set(text) if is_hidden(character)}
    if not hidden:
        return text
    if not hidden.isdisjoint({_JOINER, _NON_JOINER, _EMOJI_STYLE}):
        return "".join(_without_hidden(text))
    return text.translate({ord(c): "�" if unicodedata.category(c) == "Cs" else None for c in hidden})


def escape_hidden(name: str) -> str:
    """Return a name on one line, with line ends and hidden characters escaped."""
    if visible(name) == name and _LINE_ENDS.isdisjoint(name):
        return name
    # A lone surrogate, which comes from a name with an invalid encoding, is left to `visible`.
    return "".join(
        c.encode("unicode_escape").decode()
        if c in _LINE_ENDS or (is_hidden(c) and unicodedata.category(c) != "Cs")
        else c
        for c in name
    )


def plain(text: str) -> str:
    """Return the visible text with styled ASCII as plain letters: "ＳＹＳＴＥＭ：" is "SYSTEM:"."""
    text = visible(text)
    return text if text.isascii() else text.translate(_PLAIN)


def is_hidden(character: str) -> bool:
    """Return whether a character is not drawn on its own; a lone surrogate counts as hidden."""
    if character in _KEPT:
        return False
    return character in _HIDDEN_CHARACTERS or unicodedata.category(character) in {*_HIDDEN_CATEGORIES, "Cs"}


def _without_hidden(text: str) -> list[str]:
    visible_characters: list[str] = []
    following = chain(text[1:], " ")
    for character, after in zip(text, following, strict=True):
        before = visible_characters[-1] if visible_characters else " "
        if not is_hidden(character) or _is_needed(before, character, after):
            visible_characters.append(character)
        elif unicodedata.category(character) == "Cs":
            visible_characters.append("�")
    return visible_characters


def _is_needed(before: str, character: str, after: str) -> bool:
    """Return whether a hidden character is a joiner inside a word or an emoji, or a symbol's selector.

    `before` is the last character that was not removed, so at most one of several in a row stays.
    """
    if character == _EMOJI_STYLE:
        is_key = before in "#*0123456789" and after == "\u20e3"
        return is_key or before in "‼⁉" or unicodedata.category(before) in ("So", "Sm")
    if character == _JOINER and (unicodedata.category(before) in ("So", "Sk") or before == _EMOJI_STYLE):
        return unicodedata.category(after) == "So"
    # Letters of scripts without capitals, and marks on them: Arabic, the scripts of India, and others.
    in_word = ("Lo", "Mn", "Mc")
    return (
        character in (_JOINER, _NON_JOINER)
        and before not in _HIDDEN_CHARACTERS
        and unicodedata.category(before) in in_word
        and unicodedata.category(after) in (*in_word, "Zs", "Po")
    )
