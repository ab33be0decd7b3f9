"""The words of a claim and of the sentences that may support it, in the form in which they are compared."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import pairwise, takewhile

from adaptive_rag.answer.contributions import Contributions
from adaptive_rag.answer.passages import text_at
from adaptive_rag.answer.rows import Cell
from adaptive_rag.answer.word_lists import DENIALS, MONTHS, NUMBER_NAMES, ONES, REPORTING, TENS, UNITS
from adaptive_rag.source import Sentences
from adaptive_rag.state import Candidate
from adaptive_rag.text.tables import find_tables, name_cells
from adaptive_rag.text.visible import plain
from adaptive_rag.text.words import STOP_WORDS, stem

_TOKEN = re.compile(r"\d+(?:[.,:]\d+)*(?![\w])|[^\W_]+(?:['’][^\W_]+)*")
NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_DECIMAL = re.compile(r"\d+(?:[.:]\d+)?")
_TENS_AND_ONES = re.compile(rf"\b({'|'.join(TENS)})-({'|'.join(ONES)})\b", re.IGNORECASE)
_CURRENCIES = {"£": "pounds", "$": "dollars", "€": "euros"}
_CURRENCIES |= {"GBP": "pounds", "USD": "dollars", "EUR": "euros"}
_CURRENCY = r"[£$€]|\b(?:GBP|USD|EUR)"
# "£79.90", "EUR 79.90", "$2.5 million", "79.90 €", which are read as "79.90 pounds"; not "$2.5M"
_PRICE = re.compile(
    rf"(?P<before>{_CURRENCY})\s?(?P<number>\d++(?:[.,]\d++)*+(?!\w)(?:\s(?:thousand|[mbt]r?illion)\b)?)|"
    rf"(?P<amount>(?<![\w.,])\d++(?:[.,]\d++)*+)\s?(?P<after>[£$€])(?!\s?\d)"
)
# "6 a.m.", "6am", "6.30 am", "6:30 a.m.", which are read as "6 am" and "6:30 am"
_CLOCK = re.compile(r"\b(\d{1,2})(?:[.:](\d\d))?\s?([ap])(?:m\b|\.m\.)", re.IGNORECASE)
# "4.1kg", which is read as "4.1 kg"; not "12a"
_JOINED = re.compile(r"(?<![\w.,])(\d+(?:[.,]\d+)*)([^\W\d_]+)\b")
# "3rd", which is read as "3"
_ORDINAL = re.compile(r"\b(\d+)(?:st|nd|rd|th)\b")
# Characters that end a clause; a denial does not reach beyond them.
_CLAUSE_END = re.compile(r"[.;:,()!?|\n]")
# A line of a record: "stock: 7"
_FIELD = re.compile(r"(?P<name>[^\W\d_][\w /()-]{0,30}): (?P<value>\S.*)")
# The beginning of a sentence that refers to the one before it: "They must be taken by June."
_REFERS_BACK = re.compile(
    r"\W*(?:(?:he|she|it|they|this|these|that|those|his|her|its|their)\b|\w+ (?:he|she|it|they)\b)", re.I
)
# A claim retells a sentence if at least this share of its words comes from it.
MOSTLY = 0.6
# The last word before the unit of a rate: "30 pounds a month"
_PER = {"a", "an", "per", "each", "every"}
_FACTORS = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
# Units of time, in minutes or in months
_TIMES = {
    "minute": (1, "minute"), "hour": (60, "minute"), "day": (24 * 60, "minute"),
    "week": (7 * 24 * 60, "minute"),
    "month": (1, "month"), "year": (12, "month"), "decade": (120, "month"),
}  # fmt: skip
# Number of content words on either side that count as the context of a word, and number of content words that
# a denial denies.
NEAR = 3


@dataclass(frozen=True)
class Token:
    """A word or number of a sentence."""

    raw: str
    key: str  # the stem of a word or the value of a number: "1,000" and "1000.00" have the same key
    clause: int  # number of punctuation marks before it
    is_number: bool
    is_first: bool  # whether it begins the text or follows a colon, where any word may have a capital

    @cached_property
    def word(self) -> str:
        """Return the word in lower case."""
        return self.raw.lower()

    @property
    def is_denial(self) -> bool:
        """Return whether it is a word like "not", "without" or "doesn't"."""
        return self.word in DENIALS or self.word.endswith("n't")

    @property
    def is_month(self) -> bool:
        """Return whether it is a month: "May" inside a sentence, not "may"."""
        return self.is_capitalised and not self.is_first and self.word in MONTHS

    @cached_property
    def is_content(self) -> bool:
        """Return whether it is a content word or a number."""
        is_stop_word = bool({self.word, self.word.partition("'")[0]} & STOP_WORDS) and not self.is_month
        return self.is_number or not (self.is_denial or is_stop_word)

    @property
    def is_statement(self) -> bool:
        """Return whether it is a content word, and neither a number nor a reporting word."""
        return self.is_content and not self.is_number and self.key not in REPORTING

    @property
    def is_capitalised(self) -> bool:
        """Return whether it looks like a name, such as "Denver", "EAD" or "P220"."""
        return not self.is_number and any(letter.isupper() or letter.isdigit() for letter in self.raw)


def read_tokens(text: str) -> list[Token]:
    """Split a text into words and numbers."""
    text = text.replace("’", "'").replace("%", " percent")
    text = _CLOCK.sub(lambda c: f"{c[1]}{(c[2] and ':' + c[2]) or ''} {c[3].lower()}m", text)
    text = _ORDINAL.sub(r"\1", text)
    text = _JOINED.sub(lambda m: f"{m[1]} {m[2]}" if stem(m[2].lower()) in UNITS else m[0], text)
    text = _PRICE.sub(_price_in_words, text)
    text = _TENS_AND_ONES.sub(lambda two: f"{TENS[two[1].lower()] + ONES[two[2].lower()]}", text)
    tokens: list[Token] = []
    clause = last = 0
    for match in _TOKEN.finditer(text):
        between = text[last : match.start()]
        clause += len(_CLAUSE_END.findall(between))
        last, raw = match.end(), match.group()
        value = _number_value(raw)
        raw = raw.removesuffix("'s")
        tokens.append(
            Token(raw, value or stem(raw.lower()), clause, value is not None, not tokens or ":" in between)
        )
    return tokens


def _price_in_words(price: re.Match[str]) -> str:
    return f" {price['number'] or price['amount']} {_CURRENCIES[price['before'] or price['after']]} "


def _number_value(raw: str) -> str | None:
    """Return the value of a number without separators and final zeros; None for a word."""
    if raw.lower() in NUMBER_NAMES:
        return NUMBER_NAMES[raw.lower()]
    if not NUMBER.fullmatch(raw):
        return None
    value = re.sub(r",(?=\d{3})", "", raw).replace(",", ".").lstrip("0") or "0"
    return value.rstrip("0").rstrip(".") if value.count(".") == 1 else value


def number_unit(tokens: Sequence[Token], index: int) -> str:
    """Return the unit that follows a number; "" where there is none."""
    clause, following = tokens[index].clause, tokens[index + 1 : index + 3]
    return next((UNITS[t.key] for t in following if t.key in UNITS and t.clause == clause), "")


def number_rate(tokens: Sequence[Token], index: int) -> str:
    """Return the unit that a number is a rate of: "month" of "30 pounds a month"; "" where there is none."""
    clause, following = tokens[index].clause, tokens[index + 1 : index + 5]
    following = list(takewhile(lambda t: t.clause == clause and not t.is_number, following))
    return next((UNITS[b.key] for a, b in pairwise(following) if a.word in _PER and b.key in UNITS), "")


def number_size(tokens: Sequence[Token], index: int) -> tuple[Decimal, str] | None:
    """Return a number in one form, and of a time its unit; None for "1.2.3".

    It is 1200000 for "1.2 million", 18 with "clock" for "6 pm" and "18:00", and 20160 with "minute" for "two
    weeks" and "14 days".
    """
    key = tokens[index].key
    if not _DECIMAL.fullmatch(key):
        return None
    unit, value = number_unit(tokens, index), Decimal(key.replace(":", "."))
    if unit in ("am", "pm"):
        return value % 12 + 12 * (unit == "pm"), "clock"
    if ":" in key:
        return value, "clock"
    factor, base = _TIMES.get(unit, (_FACTORS.get(unit, 1), ""))
    return value * factor, base


@dataclass(frozen=True)
class Statement:
    """A sentence after its speaker's name, or a cell of a table or record after its row and column."""

    tokens: list[Token]
    is_cell: bool = False
    column: frozenset[str] = frozenset()  # of a cell: the keys of the words in its column's name

    @cached_property
    def keys(self) -> frozenset[str]:
        """Return the keys of the words and numbers."""
        return frozenset(token.key for token in self.tokens)

    @cached_property
    def speaker(self) -> set[str]:
        """Return the keys of the words before the colon: "Lee: I object"."""
        colon = next((i for i, token in enumerate(self.tokens) if i and token.is_first), 0)
        return {token.key for token in self.tokens[:colon]}


def read_statements(passage: Candidate, sentences: Sentences) -> Iterator[Statement]:
    """Yield the statements of a passage, in the plain text that the model read."""
    row_spans: list[tuple[int, int]] = []
    for table in find_tables(passage["text"], tuple(passage["metadata"].get("columns", ()))):
        for row in table.rows:
            row_spans.append((passage["start"] + row.start, passage["start"] + row.end))
            yield from _read_cells(name_cells(row.cells, table.columns))
    record: list[Cell] = []
    previous_text, previous_end, contributions = "", passage["start"], Contributions(passage)
    for start, end in sentences.spans.tolist():
        text = text_at(passage, start, end)
        field = _FIELD.fullmatch(text)
        if not field or "\n\n" in text_at(passage, previous_end, start):
            yield from _read_cells(record)
            record = []
        previous_end = end
        if field:
            record.append((field["name"], field["value"]))
        elif not any(row_start <= start < row_end for row_start, row_end in row_spans):
            speaker = contributions.speaker_at(start, end) or ""
            # "A year counts 10 points; each child counts 15 points" states two things.
            for part in text.split("; "):
                statement = f"{speaker}: {part}"
                if _REFERS_BACK.match(part):
                    statement = f"{previous_text} {statement}"
                yield Statement(read_tokens(plain(statement)))
                previous_text = part
    yield from _read_cells(record)


def _read_cells(cells: Sequence[Cell]) -> Iterator[Statement]:
    """Yield a statement for each cell after the first, which names the row."""
    for column, value in cells[1:]:
        tokens = read_tokens(plain(f"{cells[0][1]} | {column} | {value}"))
        yield Statement(tokens, is_cell=True, column=frozenset(t.key for t in read_tokens(plain(column))))


@dataclass(frozen=True)
class CitedSentences:
    """The sentences that may support a claim."""

    sentences: list[list[Token]]
    known: set[str]  # keys of words from titles, the question and the situation, which need no support
    statements: list[Statement]  # the same sentences with their speakers, and the cells of tables
    asked: list[Token]  # the question and the user's situation

    @cached_property
    def content(self) -> list[list[Token]]:
        """Return the content words of each sentence."""
        return [[token for token in sentence if token.is_content] for sentence in self.sentences]

    @cached_property
    def places(self) -> dict[str, list[tuple[int, int]]]:
        """Return by key where each content word occurs: the sentence's number, and the place in `content`."""
        places: dict[str, list[tuple[int, int]]] = {}
        for number, words in enumerate(self.content):
            for place, token in enumerate(words):
                places.setdefault(token.key, []).append((number, place))
        return places

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
        capitalised = {t.key for t in tokens if t.is_capitalised and not t.is_first and t.is_statement}
        return capitalised - {t.key for t in tokens if not t.is_capitalised}

    def is_from_user(self, claim: Sequence[Token], index: int) -> bool:
        """Return whether a number of a claim, with its unit, is the user's: "at six", "200 kilometres"."""
        unit = number_unit(claim, index)
        return claim[index].is_number and any(
            token.key == claim[index].key and number_unit(self.asked, i) == unit
            for i, token in enumerate(self.asked)
        )

    def covering(self, claim: Sequence[Token]) -> list[list[Token]]:
        """Return sentences that cover the claim's words: the closest first, then those that add words."""
        claim_keys = {token.key for token in claim if token.is_content}
        uncovered, chosen = set(claim_keys), []
        rest = [(sentence, {token.key for token in sentence}) for sentence in self.sentences]
        while uncovered and rest:
            best = max(rest, key=lambda pair: (len(uncovered & pair[1]), len(claim_keys & pair[1])))
            if not uncovered & best[1]:
                break
            chosen.append(best[0])
            uncovered -= best[1]
            rest.remove(best)
        return chosen


def stated_words(text: str) -> set[str]:
    """Return the keys of the words that a claim states, without reporting words and numbers."""
    return {token.key for token in read_tokens(text) if token.is_statement}


def retells(claim: Sequence[Token], sentences: Sequence[list[Token]]) -> bool:
    """Return whether most of the words that a claim states come from the closest sentence."""
    closest = {token.key for token in sentences[0]} if sentences else set()
    stated = [token for token in claim if token.is_statement]
    return bool(closest) and sum(token.key in closest for token in stated) >= len(stated) * MOSTLY


def contains_form(keys: Collection[str], key: str) -> bool:
    """Return whether keys contain a word or another form of it: "walker" and "walking" share a root."""
    return key in keys or any(_share_root(key, other) for other in keys)


def _share_root(one: str, other: str) -> bool:
    length = max(4, len(one) - 3, len(other) - 3)
    return len(one) >= length and one[:length] == other[:length]
