import operator
import re
from datetime import date, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adaptive_rag.errors import InputError
from adaptive_rag.where import DEEPEST, HINTS, LONGEST, kind_of, read_where

SIGNS = {
    "=": operator.eq, "!=": operator.ne,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


class Held:
    """What is known of four passages, or of those that a test gives."""

    def __init__(self, **columns: list[Any]) -> None:
        self.columns = columns or {
            "page": [1, 5, None, 3],
            "kind": ["pdf", "md", "PDF", None],
            "tags": [["a", "b"], None, ["c"], ["A"]],
            "date": ["2024-03-01", "2023-12-31T10:00", "2024", None],
            "draft": [True, False, None, True],
            "issued by": ["A. Smith", "B. Ray", "A. Smith", None],
        }

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def kinds(self) -> dict[str, Any]:
        return {name: kind_of(values) for name, values in self.columns.items()}

    def values(self, field: str) -> list[Any]:
        return self.columns[field]


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        ("page < 4", [0, 3]),
        ("page <= 5 and page != 1", [1, 3]),
        ("page != 1", [1, 2, 3]),
        ("page is known", [0, 1, 3]),
        ("not page is known", [2]),
        ("kind = pdf", [0, 2]),
        ("KIND = 'PDF'", [0, 2]),
        ("not kind = pdf", [1, 3]),
        ('kind in (md, "x y")', [1]),
        ("kind not in (md)", [0, 2, 3]),
        ('kind like "p*"', [0, 2]),
        ("tags = a", [0, 3]),
        ("tags != a", [1, 2]),
        ("date >= 2024", [0, 2]),
        ("date = 2024", [0, 2]),
        ("date = 2024-03", [0]),
        ("date > 2023-12-30 and date < 2024-01-01", [1]),
        ("draft = yes", [0, 3]),
        ("draft != true", [1, 2]),
        ('`issued by` = "a. smith"', [0, 2]),
        ("page < 3 or page > 4 and kind = pdf", [0]),
        ("(page < 3 or page > 4) and kind = md", [1]),
        ("not (page < 3 or kind = md)", [2, 3]),
    ],
)
def test_a_condition_keeps_what_fulfils_it(condition: str, kept: list[int]) -> None:
    assert np.flatnonzero(read_where(condition).keep(Held())).tolist() == kept


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        ("", "at its end"),
        ("page <", "at its end"),
        ("page ! 3", "at '! 3'"),
        ("page = 1; drop table chunks", "at '; drop table chunks'"),
        ("page = 1 or 1 = 1", "at '1 = 1'"),
        ("pages = 3", "Did you mean 'page'"),
        ("page < abc", "page holds numbers, as in 10. This is none: 'abc'"),
        ("date = 3", "as in 2024-03-01, 2024-03 or 2024"),
        ("date = 2024-13", "as in 2024-03-01, 2024-03 or 2024"),
        ("draft > yes", "compare it with = or !="),
        ("draft = maybe", "holds yes or no. This is none: 'maybe'"),
        ("kind pdf", "at 'pdf'. Write after a field how it is compared, and with what, as in: page < 10"),
        ("author = A. Smith", "put several words in quotation marks"),
        ("(kind = pdf", "at its end. A parenthesis is not closed"),
        ("kind = pdf)", "at ')'. A parenthesis is closed that was not opened"),
        ("kind in pdf", "Put the values in parentheses"),
        ("page = " + "1" * LONGEST, "too long"),
        ("(" * (DEEPEST + 1) + "page = 1" + ")" * (DEEPEST + 1), "too deeply"),
        ("not " * (DEEPEST + 1) + "page = 1", "too deeply"),
    ],
)
def test_what_is_no_condition_is_refused_with_the_reason(condition: str, why: str) -> None:
    with pytest.raises(InputError, match=re.escape(why)):
        read_where(condition).keep(Held())


def test_numbers_of_any_length_are_told_apart() -> None:
    held = Held(id=[1234567890123456788, 1234567890123456789])
    assert read_where("id = 1234567890123456789").keep(held).tolist() == [False, True]


@pytest.mark.parametrize("hint", [hint for hint in HINTS.values() if ": " in hint])
def test_the_example_of_each_hint_is_a_condition(hint: str) -> None:
    held = Held(kind=["pdf", "txt"], page=[1, 20], author=["A. Smith", None])
    assert read_where(hint.partition(": ")[2]).keep(held).tolist() == [True, False]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2.5, None], "number"),
        ([True, False], "yes or no"),
        ([1, True], "text"),
        (["2024-01-31", "2024-01-31T10:00:00"], "date"),
        (["2024-01-31", "soon"], "text"),
        (["20240"], "text"),
        (["2023 Annual Report", "2024 Annual Report"], "text"),
        ([None, None], "text"),
        ([["a"], ["b", "c"]], "text"),
    ],
)
def test_a_field_is_of_the_kind_of_its_values(values: list[Any], kind: str) -> None:
    assert kind_of(values) == kind


numbers = st.lists(st.none() | st.integers(-3, 3), min_size=1, max_size=8)
days = st.integers(0, 400).map(lambda day: (date(2023, 6, 1) + timedelta(day)).isoformat())


@settings(max_examples=60, deadline=None)
@given(numbers, st.sampled_from(sorted(SIGNS)), st.integers(-3, 3), st.sampled_from(sorted(SIGNS)), st.data())
def test_conditions_mean_what_their_signs_say(values, sign, bound, other, data) -> None:
    words = data.draw(st.lists(st.none() | days, min_size=len(values), max_size=len(values)))
    # a column without a value is text, and a number is no date
    values, words = [0, *values], ["2024-01-01", *words]
    day = data.draw(days)
    joined = data.draw(st.sampled_from(["and", "or"]))
    kept = read_where(f"page {sign} {bound} {joined} not (date {other} {day})").keep(
        Held(page=values, date=words)
    )
    for number, word, found in zip(values, words, kept, strict=True):
        one = SIGNS[sign](number, bound) if number is not None else sign == "!="
        two = not (SIGNS[other](word, day) if word is not None else other == "!=")
        assert found == ((one and two) if joined == "and" else (one or two))


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60))
@example('author = "\ud800"')
def test_any_text_is_a_condition_or_refused(text: str) -> None:
    try:
        condition = read_where(text)
        assert condition.text.encode().decode() == condition.text
        condition.keep(Held())
    except InputError as error:
        assert str(error)
