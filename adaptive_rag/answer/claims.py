"""The words of a claim and of the sentences that may support it, in the form in which they are compared."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from adaptive_rag.answer.wording import DENIALS, NUMBER_NAMES, ONES, REPORTING, TENS, UNITS
from adaptive_rag.text.words import STOP_WORDS, stem

_TOKEN = re.compile(r"\d+(?:[.,:]\d+)*(?![\w])|[^\W_]+(?:['’][^\W_]+)*")
NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_TENS_AND_ONES = re.compile(rf"\b({'|'.join(TENS)})-({'|'.join(ONES)})\b", re.IGNORECASE)
# "£79.90", "$2.5 million", which are read as "79.90 pounds"; not "$2.5M"
_PRICE = re.compile(r"([£$€])\s?(\d++(?:[.,]\d++)*+(?!\w)(?:\s(?:thousand|[mbt]r?illion)\b)?)", re.IGNORECASE)
_CURRENCIES = {"£": "pounds", "$": "dollars", "€": "euros"}
# Characters that end a clause; a denial does not reach beyond them.
_BREAK = re.compile(r"[.;:,()!?|\n]")
# A claim retells a sentence if at least this share of its words comes from it.
MOSTLY = 0.6
# Number of content words on either side that belong to a word, and number of content words that a denial
# reaches.
NEAR = 3


@dataclass(frozen=True)
class Token:
    """A word or number of a sentence."""

    raw: str
    key: str  # the stem of a word or the value of a number: "1,000" and "1000.00" have the same key
    clause: int  # number of punctuation marks before it
    number: bool
    first: bool  # whether it begins the text or follows a colon, where any word may have a capital

    @property
    def content(self) -> bool:
        """Return whether it is a content word or a number."""
        word = self.raw.lower()
        bare = word in DENIALS or word.endswith("n't") or {word, word.partition("'")[0]} & STOP_WORDS
        return self.number or not bare

    @property
    def capital(self) -> bool:
        """Return whether it looks like a name, such as "Denver", "EAD" or "P220"."""
        return not self.number and any(letter.isupper() or letter.isdigit() for letter in self.raw)


def read_tokens(text: str) -> list[Token]:
    """Split a text into words and numbers."""
    text = text.replace("’", "'").replace("%", " percent")
    text = _PRICE.sub(lambda price: f" {price[2]} {_CURRENCIES[price[1]]}", text)
    text = _TENS_AND_ONES.sub(lambda two: f"{TENS[two[1].lower()] + ONES[two[2].lower()]}", text)
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
    if not NUMBER.fullmatch(raw):
        return None
    plain = re.sub(r",(?=\d{3})", "", raw).replace(",", ".").lstrip("0") or "0"
    return plain.rstrip("0").rstrip(".") if plain.count(".") == 1 else plain


def number_unit(tokens: Sequence[Token], at: int) -> str:
    """Return the unit that follows a number; "" where there is none."""
    following = tokens[at + 1 : at + 3]
    return next((UNITS[t.key] for t in following if t.key in UNITS and t.clause == tokens[at].clause), "")


@dataclass(frozen=True)
class Statement:
    """A sentence after its speaker's name, or a cell of a table or record after its row and column."""

    tokens: list[Token]
    cell: bool = False

    @cached_property
    def keys(self) -> frozenset[str]:
        """Return the keys of the words and numbers."""
        return frozenset(token.key for token in self.tokens)


@dataclass(frozen=True)
class CitedSentences:
    """The sentences that may support a claim."""

    sentences: list[list[Token]]
    known: set[str]  # keys of words that need no support: from titles, the question, the user's situation
    statements: list[Statement]  # the same sentences with their speakers, and the cells of tables
    asked: list[Token]  # the question and the user's situation

    @cached_property
    def keys(self) -> set[str]:
        """Return the keys of all words that a claim may contain."""
        return {token.key for sentence in self.sentences for token in sentence} | self.known

    @cached_property
    def stated(self) -> set[str]:
        """Return the keys of all words in the statements."""
        return {key for statement in self.statements for key in statement.keys}

    @cached_property
    def names(self) -> set[str]:
        """Return the keys of the words that always have a capital, and not only at the beginning."""
        tokens = [token for statement in self.statements for token in statement.tokens]
        capital = {t.key for t in tokens if t.capital and not t.first and states(t)}
        return capital - {t.key for t in tokens if not t.capital}

    def gives(self, claim: Sequence[Token], at: int) -> bool:
        """Return whether a number of a claim, with its unit, is the user's: "at six", "200 kilometres"."""
        unit = number_unit(claim, at)
        return claim[at].number and any(
            t.key == claim[at].key and number_unit(self.asked, i) == unit for i, t in enumerate(self.asked)
        )

    def holding(self, claim: Sequence[Token]) -> list[list[Token]]:
        """Return sentences that cover the claim's words: the closest first, then those that add words."""
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
    """Return the keys of the words that a claim states, without reporting words and numbers."""
    return {token.key for token in read_tokens(text) if states(token)}


def states(token: Token) -> bool:
    """Return whether a word is a content word, and neither a number nor a reporting word."""
    return token.content and not token.number and token.key not in REPORTING


def retells(claim: Sequence[Token], sentences: Sequence[list[Token]]) -> bool:
    """Return whether most of the words that a claim states come from the closest sentence."""
    closest = {token.key for token in sentences[0]} if sentences else set()
    stated = [token for token in claim if states(token)]
    return bool(closest) and sum(token.key in closest for token in stated) >= len(stated) * MOSTLY


def is_held(key: str, held: Collection[str]) -> bool:
    """Return whether a word or another form of it is among `held`: "walker" and "walking" share a root."""
    return key in held or any(_same_root(key, other) for other in held)


def _same_root(one: str, other: str) -> bool:
    shared = next(
        (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
    return shared >= 4 and shared >= max(len(one), len(other)) - 3
