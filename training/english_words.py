"""Writes the list of English words that distinguishes words from misspellings.

    python -m training.english_words FOLDER

FOLDER contains `en_US.dic` and `en_US.aff`, the American English dictionary for Hunspell (made from SCOWL,
http://wordlist.aspell.net). The package `spylls` 0.1.7 contains both, in `spylls/hunspell/data/en`.
"""

from __future__ import annotations

import lzma
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from adaptive_rag.query.spelling import ENGLISH, is_everyday

# American endings and their British spellings.
BRITISH = (("ize", "ise"), ("izing", "ising"), ("ization", "isation"), ("yze", "yse"), ("yzing", "ysing"))
# An "l" that is doubled in British spelling: "traveled".
SINGLE_L = re.compile(r"(?<=[aeiou])l(?=(?:ed|ing|er|ers)$)")
WORD = re.compile(r"[a-z]{4,40}")


class Affix(NamedTuple):
    """A rule of the dictionary: what is cut from the end or start of a word, and what is added."""

    is_suffix: bool
    cut: str
    added: str
    condition: re.Pattern[str]

    def apply(self, word: str) -> Iterator[str]:
        """Yield the form of a word by this rule, if it applies."""
        if self.is_suffix and word.endswith(self.cut) and self.condition.search(word):
            yield word.removesuffix(self.cut) + self.added
        elif not self.is_suffix and self.condition.match(word):
            yield self.added + word.removeprefix(self.cut)


def read_affixes(file: Path) -> dict[str, list[Affix]]:
    """Return the rules of a dictionary by their flag."""
    rules = defaultdict[str, list[Affix]](list)
    for line in file.read_text("utf-8").splitlines():
        match line.split():
            case ["SFX" | "PFX" as kind, flag, cut, added, condition, *_]:
                is_suffix = kind == "SFX"
                pattern = re.compile(f"{condition}$" if is_suffix else condition)
                rules[flag].append(Affix(is_suffix, cut.strip("0"), added.split("/")[0].strip("0"), pattern))
    return rules


def forms(word: str, affixes: list[Affix]) -> set[str]:
    """Return a word and its forms: with each suffix, each prefix, and both."""
    suffixed = {word, *(form for rule in affixes if rule.is_suffix for form in rule.apply(word))}
    prefixes = [rule for rule in affixes if not rule.is_suffix]
    return suffixed | {form for rule in prefixes for base in suffixed for form in rule.apply(base)}


def main() -> None:
    """Write the file."""
    folder = Path(sys.argv[1])
    rules = read_affixes(folder / "en_US.aff")
    words = set[str]()
    for line in (folder / "en_US.dic").read_text("utf-8").splitlines()[1:]:
        word, _, flags = line.strip().partition("/")
        words |= forms(word, [rule for flag in flags for rule in rules.get(flag, ())])
    american = {word.lower() for word in words if WORD.fullmatch(word.lower())}
    british = {word.replace(a, b) for word in american for a, b in BRITISH if a in word}
    with_double_l = {SINGLE_L.sub("ll", word) for word in american}
    listed = sorted(word for word in american | british | with_double_l if not is_everyday(word))
    ENGLISH.write_bytes(lzma.compress("\n".join(listed).encode(), preset=9 | lzma.PRESET_EXTREME))


if __name__ == "__main__":
    main()
