"""Reads comparisons in questions over a table, such as "less than 60 pounds" or "after 1 February".

A comparison is a condition on a column: the cells that fulfil it.
"""

from __future__ import annotations

import re
from calendar import month_name
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from operator import eq, ge, gt, le, lt
from typing import Any, NamedTuple

from adaptive_rag.answer.rows import with_unit
from adaptive_rag.answer.table_meaning import closest
from adaptive_rag.answer.whole_tables import (
    NamedRow,
    WholeTable,
    column_dates,
    column_numbers,
    with_decimal_point,
)
from adaptive_rag.answer.word_lists import NUMBER_NAMES, UNITS
from adaptive_rag.text.words import STOP_WORDS, stem, terms, words

# Words of questions, and the column names that they ask for, the likeliest first.
_SIZE, _PRICE = "size capacity amount total", "price cost fee amount total rate"
MEASURES = {
    "heavy": "weight", "tall": "height", "high": "height", "wide": "width", "deep": "depth", "fast": "speed",
    "long": "length duration hours days weeks months minutes", "old": "age", "big": _SIZE, "large": _SIZE,
    "many": "quantity number count", "when": "date day time since joined",
    **dict.fromkeys("weigh weighs weighing".split(), "weight"), "aged": "age", "dated": "date",
    **dict.fromkeys("earn earns earning".split(), "salary wage wages pay"),
    **dict.fromkeys("expensive cheap cost costs costing pay pays paid spend spent".split(), _PRICE),
}  # fmt: skip
# Superlatives for the most and the least, each with the word that it is a form of.
MOST = {
    "largest": "large", "biggest": "big", "highest": "high", "longest": "long", "heaviest": "heavy",
    "tallest": "tall", "fastest": "fast", "widest": "wide", "deepest": "deep", "dearest": "expensive",
    "greatest": "large", "maximum": "", "most": "", "latest": "when", "newest": "when", "last": "when",
}  # fmt: skip
LEAST = {
    "smallest": "large", "lowest": "high", "shortest": "long", "lightest": "heavy", "slowest": "fast",
    "narrowest": "wide", "cheapest": "expensive", "minimum": "", "least": "", "fewest": "",
    "earliest": "when", "oldest": "when", "first": "when", "youngest": "old",
}  # fmt: skip
SUPERLATIVES = {**MOST, **LEAST}
# "longer" and "cheaper"; who is older than 40 has a higher age
_COMPARATIVES = {f"{word[:-3]}er": of for word, of in SUPERLATIVES.items() if word.endswith("est")}
_COMPARATIVES["older"] = "old"
_MORE = "|".join(["more", "greater", "older", *(f"{word[:-3]}er" for word in MOST if word.endswith("est"))])
_LESS = "|".join(word for word in ["less", "fewer", *_COMPARATIVES] if word not in _MORE.split("|"))
YEAR = re.compile(r"(?:19|20)\d\d")
_MONTHS = "|".join(f"{name[:3]}(?:{name[3:]})?" for name in month_name if name)
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_DATE = (
    rf"\d{{4}}-\d\d-\d\d|(?:{_DAY} (?:of )?)?(?:{_MONTHS})\b(?: {_DAY}\b)?(?:,? {YEAR.pattern}\b)?|"
    rf"{YEAR.pattern}(?![\d:/]|[.-]\d)"
)
_NAMES = {"one": "1", **NUMBER_NAMES}
# "1,200.50", "89,90" and "1.249,00"; not "10:00", "3/4" or "2.1.3"
_NUMBER = r"(?:\d{1,3}(?:\.\d{3})+,\d+|\d[\d,]{0,20}+(?:\.\d+)?)(?![\d:/]|[.-]\d)"
# A date or year, or an amount: "£1,200.50", "three"
_VALUE = rf"(?:the )?(?P<low>{_DATE}|[£$€]?{_NUMBER}%?|(?:{'|'.join(_NAMES)})\b)"
# The comparisons in the order in which they are looked for: "no more than" before "more than".
_COMPARISONS: list[tuple[Callable[[Any, Any], bool], str]] = [
    (ge, rf"(?:between|from) {_VALUE} (?:and|to|until) {_VALUE.replace('low', 'high')}"),
    (ge, rf"{_VALUE}(?P<unit> \w+)? (?:or|and) (?:over|above|{_MORE})\b(?! than\b)"),
    (le, rf"{_VALUE}(?P<unit> \w+)? (?:or|and) (?:under|below|{_LESS})\b(?! than\b)"),
    (lt, rf"since before {_VALUE}"),
    (ge, rf"(?:since|at least|not? (?:{_LESS}) than|a minimum of) {_VALUE}"),
    (le, rf"(?:until|by|at most|up to|not? (?:{_MORE}) than|a maximum of) {_VALUE}"),
    (gt, rf"(?:after|over|above|exceeds?|exceeding|(?:{_MORE}) than) {_VALUE}"),
    (lt, rf"(?:before|under|below|(?:{_LESS}) than) {_VALUE}"),
    (eq, rf"(?P<low>{'|'.join(_NAMES)})(?= [^\W\d_]+\W*$)"),
]
# "after 2000", but not "more than 2000"
_OF_TIMES = re.compile(r"(?:between|from|since|until|by|after|before|earlier|later|newer)\b", re.IGNORECASE)
_SYMBOLS = {"£": "pound", "€": "euro", "$": "dollar", "%": "percent"}
# Stands in a question for a comparison that was read: a sign that nobody types.
MARK = "\ue000"


class CellComparison(NamedTuple):
    """What a question compares the cells of a column with: "between 3 and 5 weeks long"."""

    limits: list[tuple[Callable[[Any, Any], bool], str]]
    is_of_times: bool  # whether dates or years are compared
    unit: str  # such as "euro"
    before: str  # the words right before and after it, which may name the column
    after: str
    text: str

    def values(self, rows: Sequence[NamedRow], column: str) -> dict[int, tuple[Any, ...]]:
        """Return the comparable values of a column by the index of their row; a date is (2024, 5, 1)."""
        numbers = {i: (number,) for i, number in column_numbers(rows, column).items()}
        dates = {i: (date.year, date.month, date.day) for i, date in column_dates(rows, column).items()}
        are_years = all(YEAR.fullmatch(str(number)) for (number,) in numbers.values())
        return (dates or numbers) if self.is_of_times == are_years else {}

    def select(self, values: dict[int, tuple[Any, ...]]) -> list[int]:
        """Return the indexes of the values that fulfil it: after May is any day of June, but none of May."""
        named, in_cells = YEAR.findall(self.limits[-1][1]), {str(value[0]) for value in values.values()}
        if self.is_of_times and named and in_cells == {"1900"}:
            return []  # dates without a year
        years = named or sorted(in_cells)
        # What expires before August does so in the first of the years.
        limits = [
            (test, self._read_limit(text, years[:1] if test in (lt, le) else years))
            for test, text in self.limits
        ]
        return [
            i
            for i, value in values.items()
            if all(0 < len(n) <= len(value) and test(value[: len(n)], n) for test, n in limits)
        ]

    def _read_limit(self, text: str, years: list[str]) -> tuple[Any, ...]:
        """Return a number, or the year, month and day of a date; () if its year may be any of several."""
        if not self.is_of_times:
            number = with_decimal_point(re.sub(r"[^\d.,]", "", _NAMES.get(text, text)))
            # "1.000" is one, or a thousand.
            is_clear = number and not re.fullmatch(r"[1-9]\d{0,2}\.\d{3}", number)
            return (Decimal(number.replace(",", "")),) if is_clear else ()
        years = YEAR.findall(text) or years
        months = [i for i, name in enumerate(month_name) if i and name[:3].lower() in text]
        days = map(int, re.findall(r"\b\d\d?(?!\d)", text))
        is_whole = len(years) == 1 and re.search(r"[a-z]{3}|\d{4}", text)
        return (int(years[0]), *months, *days) if is_whole else ()


def read_comparisons(question: str) -> tuple[str, list[CellComparison]]:
    """Return a question with a mark for each comparison, and the comparisons."""
    found = list[CellComparison]()
    for test, pattern in _COMPARISONS:
        # In "courses that last longer than 5 weeks" is no superlative.
        whole = rf"\b(?:(?:takes?|lasts?|worth) )?(?P<text>{pattern})(?P<after> [^\W\d_]+)?"
        while match := re.search(whole, question, re.IGNORECASE):
            parts = defaultdict(str, match.groupdict(""))
            low, high = parts["low"].lower(), parts["high"].lower()
            after, text = parts["after"], parts["text"]
            unit = "".join(units_of(f"{low} {parts['unit']} {after}"))
            if units_of(after):
                text, after = text + after, ""
            before, after = question[: match.start()], after + question[match.end() :]
            question = f"{before}{MARK}{after}"
            previous, following = (
                [w for w in words(part) if w not in STOP_WORDS] for part in (before, after)
            )
            if low.isdigit() and re.search("[a-z]{3}", high):
                low += high.lstrip("0123456789")  # "between 1 and 20 February"
            is_date = _OF_TIMES.match(text) if YEAR.fullmatch(low) else re.fullmatch(f"(?i:{_DATE})", low)
            limits, is_of_times = [(test, low)] + [(le, high)] * bool(high), bool(is_date and not unit)
            beside = "".join(previous[-1:]), "".join(following[:1])
            found.append(CellComparison(limits, is_of_times, unit, *beside, text))
    return question, found


def measures_of(asked: Iterable[str]) -> Iterator[str]:
    """Yield the names of columns for words that compare: "price" for "costs", "age" for "older"."""
    for word in asked:
        yield from MEASURES.get(_COMPARATIVES.get(word, word), "").split()


def find_compared(
    comparison: CellComparison, asked: set[str], table: WholeTable, question: str = ""
) -> tuple[str, list[str], str] | None:
    """Return the column that a question with the terms `asked` compares, the fitting cells, and a text.

    None where it may be any of several columns; if `question` is given, the closest in meaning counts.
    """
    rows, (first, *others) = table.rows, table.columns
    _, is_of_times, unit, before, after, text = comparison
    # The first column may have the numbers of orders.
    values = {name: comparison.values(rows, name) for name in others + [first] * is_of_times}
    examples = {name: rows[min(found)].value(name) for name, found in values.items() if found}
    of_unit = [name for name, cell in examples.items() if unit in units_of(f"{name} {cell}")]
    columns = of_unit or [
        name for name, cell in examples.items() if not (unit and units_of(f"{name} {cell}"))
    ]
    near = {stem(before), stem(after)}
    likely = [name for name in columns if near.intersection(terms(name))]
    groups = [name for name in others if asked.intersection(terms(name)) and name not in examples]
    if not likely and not unit and len(groups) == 1 and stem(after) in terms(f"{first} {table.topic}"):
        # "Which tutor teaches two courses?" counts the rows of each tutor.
        counts = Counter(row.value(groups[0]) for row in rows)
        values[groups[0]] = {i: (counts[row.value(groups[0])],) for i, row in enumerate(rows)}
        likely, text = groups, f"{text} {after}"
    is_of_money = unit in ("pound", "euro", "dollar")
    measures = [*measures_of([before, after, *words(text)])] or _PRICE.split() * is_of_money
    if not measures and not unit and near.isdisjoint(terms(" ".join(others))):
        measures = ["age", *_SIZE.split()]
    by_measure = ([name for name in columns if stem(word) in terms(name)] for word in measures)
    likely = likely or next(filter(None, by_measure), [])
    named = of_unit or (question and unit in units_of(table.title))  # "Turnover, in thousand euro"
    if not likely and (is_of_times or (named and (is_of_money or not measures))):
        likely = columns
    if not likely and question and not unit and len(columns) == 1 and closest(f"{before} {after}", columns):
        likely = columns
    shared = {name: len(asked.intersection(terms(name))) for name in likely}
    best = [name for name in likely if shared[name] == max(shared.values())]
    fulfil = {name: comparison.select(values[name]) for name in best}
    if len(best) > 1 and question:
        # Of the price for members and for others, both may be below 5 euros in the same rows.
        same = all(rows == fulfil[best[0]] for rows in fulfil.values())
        best = best[:1] if same else [name for name in best if name == closest(question, best)]
    if len(best) != 1:
        return None
    cells = dict.fromkeys(rows[i].value(best[0]) for i in fulfil[best[0]])
    return best[0], list(filter(None, cells)), f"{with_unit(best[0], '0')[0]} {text}"


def units_of(text: str) -> set[str]:
    """Return the units that a text names: "euro" for "€" and "Fee (EUR)"."""
    named = {UNITS[term] for word in words(text) if (term := stem(word)) in UNITS}
    return named | {unit for symbol, unit in _SYMBOLS.items() if symbol in text}
