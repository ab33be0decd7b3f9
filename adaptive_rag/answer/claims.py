"""The words of a claim and of the sentences that it may rest on, as they are compared."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from adaptive_rag.answer.wording import DENIALS, NUMBER_NAMES, REPORTING, UNITS
from adaptive_rag.text.words import STOP_WORDS, stem

_TOKEN = re.compile(r"\d+(?:[.,:]\d+)*(?![\w])|[^\W_]+(?:['’][^\W_]+)*")
_DIGITS = re.compile(r"\d+(?:[.,:]\d+)*")
# A clause ends here: a denial does not reach beyond it.
_BREAK = re.compile(r"[.;:,()!?|\n]")
# From this share of its words on, a claim is taken to retell one sentence.
MOSTLY = 0.6
# How many words that carry meaning a word belongs with on either side, and how many a denial reaches.
NEAR = 3


@dataclass(frozen=True)
class Token:
    """A word or number of a sentence."""

    raw: str
    key: str  # the stem of a word, the value of a number: "1,000", "1000.00" and "thousand" are one
    clause: int  # how many commas and stops stand before it
    number: bool
    first: bool  # the first of its text or behind a colon, where any word may have a capital

    @property
    def content(self) -> bool:
        """Tell whether the word carries meaning of its own."""
        word = self.raw.lower()
        bare = word in DENIALS or word.endswith("n't") or {word, word.partition("'")[0]} & STOP_WORDS
        return self.number or not bare

    @property
    def capital(self) -> bool:
        """Tell whether it looks like a name: "Denver", "EAD", "P220"."""
        return not self.number and any(letter.isupper() or letter.isdigit() for letter in self.raw)


def read_tokens(text: str) -> list[Token]:
    """Split a text into words and numbers."""
    text = text.replace("’", "'").replace("%", " percent")
    tokens: list[Token] = []
    clause = last = 0
    for match in _TOKEN.finditer(text):
        between = text[last : match.start()]
        clause += len(_BREAK.findall(between))
        last, raw = match.end(), match.group()
        value = _value(raw)
        raw = raw.removesuffix("'s")
        tokens.append(
            Token(raw, value or stem(raw.lower()), clause, value is not None, not tokens or ":" in between)
        )
    return tokens


def _value(raw: str) -> str | None:
    if raw.lower() in NUMBER_NAMES:
        return NUMBER_NAMES[raw.lower()]
    if not _DIGITS.fullmatch(raw):
        return None
    plain = re.sub(r",(?=\d{3})", "", raw).replace(",", ".").lstrip("0") or "0"
    return plain.rstrip("0").rstrip(".") if plain.count(".") == 1 else plain


def number_unit(tokens: Sequence[Token], at: int) -> str:
    """Return the unit that follows a number; "" where none does."""
    following = tokens[at + 1 : at + 3]
    return next((UNITS[t.key] for t in following if t.key in UNITS and t.clause == tokens[at].clause), "")


@dataclass(frozen=True)
class Statement:
    """A sentence after the name of its speaker, or one cell of a table or record after its row and column."""

    tokens: list[Token]
    # of a cell: the keys of its row's name, the name of its column, the keys of what stands in it
    row: frozenset[str] = frozenset()
    column: str = ""
    value: frozenset[str] = frozenset()

    @cached_property
    def keys(self) -> frozenset[str]:
        """Return the keys of its words and numbers."""
        return frozenset(token.key for token in self.tokens)


@dataclass(frozen=True)
class CitedSentences:
    """The sentences that a claim may rest on, together."""

    sentences: list[list[Token]]
    known: set[str]  # keys of the words that need no sentence: title, question, the asker's situation
    statements: list[Statement]  # the same sentences, with what stands around them
    asked: list[Token]  # the question and the asker's situation

    @cached_property
    def keys(self) -> set[str]:
        """Return the keys of all words that a claim may hold."""
        return {token.key for sentence in self.sentences for token in sentence} | self.known

    @cached_property
    def stated(self) -> set[str]:
        """Return the keys of all words of its statements."""
        return {key for statement in self.statements for key in statement.keys}

    @cached_property
    def names(self) -> set[str]:
        """Return the keys of the words that have a capital wherever they stand, not at a beginning alone."""
        tokens = [token for statement in self.statements for token in statement.tokens]
        capital = {t.key for t in tokens if t.capital and not t.first and states(t)}
        return capital - {t.key for t in tokens if not t.capital}

    def gives(self, claim: Sequence[Token], at: int) -> bool:
        """Tell whether a number of a claim, with its unit, is the asker's own: "at six", "200 kilometres"."""
        unit = number_unit(claim, at)
        return claim[at].number and any(
            t.key == claim[at].key and number_unit(self.asked, i) == unit for i, t in enumerate(self.asked)
        )

    def holding(self, claim: Sequence[Token]) -> list[list[Token]]:
        """Return the sentences that hold the claim's words: the closest first, then those that add to it."""
        wanted = {token.key for token in claim if token.content}
        left, chosen = set(wanted), []
        rest = [(sentence, {token.key for token in sentence}) for sentence in self.sentences]
        while left and rest:
            best = max(rest, key=lambda pair: (len(left & pair[1]), len(wanted & pair[1])))
            if not left & best[1]:
                break
            chosen.append(best[0])
            left -= best[1]
            rest.remove(best)
        return chosen


def stated_words(text: str) -> set[str]:
    """Return the keys of the words that a claim states, without those by which it reports them."""
    return {token.key for token in read_tokens(text) if states(token)}


def states(token: Token) -> bool:
    """Tell whether a word says something of its own, rather than how the draft reports it."""
    return token.content and not token.number and token.key not in REPORTING


def retells(claim: Sequence[Token], sentences: Sequence[list[Token]]) -> bool:
    """Tell whether most of the words that a claim states come from the closest sentence."""
    closest = {token.key for token in sentences[0]} if sentences else set()
    stated = [token for token in claim if states(token)]
    return bool(closest) and sum(token.key in closest for token in stated) >= len(stated) * MOSTLY


def is_held(key: str, held: Collection[str]) -> bool:
    """Tell whether a word or another form of it is held: "broken" and "breaking" share their root."""
    return key in held or any(_same_root(key, other) for other in held)


def _same_root(one: str, other: str) -> bool:
    shared = next(
        (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
    return shared >= 4 and shared >= max(len(one), len(other)) - 3
