"""The characters that Word stores as a font and a code: "μ" is code F06D of the font Symbol."""

from __future__ import annotations

from string import ascii_letters, digits

_GREEK = dict(zip(ascii_letters, "αβχδεφγηιϕκλμνοπθρστυϖωξψζΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ", strict=True))
_SIGNS = {
    "Symbol": _GREEK
    | dict(zip(digits, digits, strict=True))
    | dict(zip("\xa2\xa3\xa5\xac\xae\xb0\xb1\xb2\xb3\xb4\xb7\xb8\xb9\xbb\xd6\xd7\xde\xe5\xf2",
               "′≤∞←→°±″≥×•÷≠≈√⋅⇒∑∫", strict=True)),
    "Wingdings": {"\xa7": "▪", "\xa8": "☐", "\xe0": "→", "\xfb": "✗", "\xfc": "✓", "\xfd": "☒", "\xfe": "☑"},
    "Wingdings 2": {"P": "✓", "R": "☑", "S": "☒", "\xa3": "☐"},
}  # fmt: skip
# For a sign of a font that is not known.
_UNKNOWN = "\N{REPLACEMENT CHARACTER}"


def read_symbol(font: str, code: str) -> str:
    """Return the character of a hexadecimal code, which may be shifted into Unicode's private area."""
    number = int(code, 16)
    if 0xF000 <= number <= 0xF0FF or font in _SIGNS:
        return _SIGNS.get(font, {}).get(chr(number & 0xFF), _UNKNOWN)
    return chr(number)
