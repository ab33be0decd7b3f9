"""The answers in a PDF form: each is written after the words that ask for it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from adaptive_rag.ingest.lines import Line, contains_centre

_CHECKABLE = ("CheckBox", "RadioButton")
_ANSWERABLE = ("Text", "ComboBox", "ListBox", *_CHECKABLE)
# A bit of a field's flags, and a value of its display setting, as the PDF format defines them.
_PASSWORD_FLAG, _HIDDEN = 1 << 13, 1
_UNCHECKED = ("", "Off", "False", "None")
# Fields are written as rows of a table with one column, so that no line continues from another.
_ROW_COLUMNS = (0.0,)
# In type sizes: text further away from a field is not its label.
_MAX_LABEL_DISTANCE = 15
# In characters: a longer answer, or a sentence, is written on a line of its own.
_MAX_INLINE_ANSWER = 60
_SENTENCE = re.compile(r"[.!?][\"'”’»)]*\s*$")


def insert_form_fields(page: Any, lines: Sequence[Line], *, is_rtl_page: bool) -> list[Line]:
    """Return a page's lines with the contents of its form fields: "Length in metres: 14.2", "Insured: yes".

    A field is named by the words beside it, or else by its own label or name. These words are to its left, or
    to its right if the page is read from right to left; for a box to tick, it is the other way round. If
    nothing on the page was filled in, unticked boxes are not answers and are left out.
    """
    fields = [
        field for field in page.widgets() if field.field_type_string in _ANSWERABLE and _is_visible(field)
    ]
    answers = [(field, answer) for field in fields if (answer := _read_answer(field))]
    if all(answer == "no" for _, answer in answers):
        return list(lines)
    boxes = [tuple(field.rect) for field, _ in answers]
    # A line inside a field repeats its answer.
    page_lines = [line for line in lines if not any(contains_centre(box, line.box) for box in boxes)]
    answered: set[int] = set()  # ids of lines
    for (field, answer), box in zip(answers, boxes, strict=True):
        is_checkable = field.field_type_string in _CHECKABLE
        index = _find_label(page_lines, box, on_right=is_checkable != is_rtl_page)
        if index is None or (is_checkable and id(page_lines[index]) in answered):
            index = next((at for at, line in enumerate(page_lines) if line.y0 >= box[3]), len(page_lines))
            page_lines[index:index] = _make_lines(_read_name(field), answer, box)
            continue
        label = page_lines[index]
        separator = " " if id(label) in answered or label.text.endswith((":", "?")) else ": "
        needs_own_line = _needs_own_line(answer)
        text = f"{label.text}{separator}{'' if needs_own_line else answer}"
        x0, x1 = min(label.x0, box[0]), max(label.x1, box[2])
        page_lines[index] = replace(label, pieces=[text], x0=x0, x1=x1, columns=_ROW_COLUMNS)
        answered.add(id(page_lines[index]))
        if needs_own_line:
            page_lines.insert(index + 1, _make_line(answer, box))
    return page_lines


def _is_visible(field: Any) -> bool:
    return field.field_display != _HIDDEN and not (field.field_flags or 0) & _PASSWORD_FLAG


def _read_answer(field: Any) -> str:
    """Return the value of a field, or "yes" or "no" for a box to tick."""
    value = field.field_value
    if field.field_type_string in _CHECKABLE:
        is_checked = str(value) not in _UNCHECKED and str(value) in ("True", *_find_checked_values(field))
        return "yes" if is_checked else "no"
    values = value if isinstance(value, list | tuple) else [value]
    # A choice is stored as it is shown, or as a pair of a value and the text that is shown for it.
    shown = dict(pair for pair in field.choice_values or () if not isinstance(pair, str))
    text = " ".join(str(shown.get(choice, choice)) for choice in values if choice is not None)
    return " ".join(text.split())


def _find_checked_values(field: Any) -> list[str]:
    """Return the values of a ticked box: "Yes" if its appearances name no state."""
    states = [name for names in (field.button_states() or {}).values() for name in names or ()]
    return [name for name in states if name != "Off"][:1] or ["Yes"]


def _read_name(field: Any) -> str:
    """Return a field's label, or the last part of its name: "ship" of "form[0].ship[0]"."""
    name = str(field.field_label or field.field_name or "").rpartition(".")[2]
    return " ".join(re.sub(r"\[\d+\]|_", " ", name).split())


def _find_label(lines: Sequence[Line], box: tuple[float, ...], *, on_right: bool) -> int | None:
    """Return the index of the nearest line at a field's height, on its right or on its left."""
    best: tuple[float, int] | None = None
    for index, line in enumerate(lines):
        gap = line.x0 - box[2] if on_right else box[0] - line.x1
        is_beside = box[1] <= line.middle <= box[3] and -1 <= gap <= _MAX_LABEL_DISTANCE * line.size
        if is_beside and any(map(str.isalpha, line.text)) and (best is None or gap < best[0]):
            best = gap, index
    return best[1] if best else None


def _make_lines(name: str, answer: str, box: tuple[float, ...]) -> list[Line]:
    texts = [f"{name}:", answer] if name else [answer]
    return [_make_line(text, box) for text in (texts if _needs_own_line(answer) else [" ".join(texts)])]


def _needs_own_line(answer: str) -> bool:
    return len(answer) > _MAX_INLINE_ANSWER or bool(_SENTENCE.search(answer))


def _make_line(text: str, box: tuple[float, ...]) -> Line:
    x0, y0, x1, y1 = box
    return Line([text], x0, y0, x1, y1, min(y1 - y0, 10.0), bold=False, columns=_ROW_COLUMNS)
