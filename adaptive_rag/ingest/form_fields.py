"""The answers in a PDF form: each is written after the words that ask for it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from adaptive_rag.ingest.layout import Line

_MARKS = ("CheckBox", "RadioButton")
_SHOWN = ("Text", "ComboBox", "ListBox", *_MARKS)
# Bits of a field's flags, and a value of its display setting, as the PDF format defines them.
_PASSWORD = 1 << 13
_HIDDEN = 1
_OFF = ("", "Off", "False", "None")
# Fields are written as rows of a table with one column, so that no line continues from another.
_ROW = (0.0,)
# In type sizes: text further away from a field is not its label.
_FARTHEST = 15
# In characters: a longer answer, or a sentence, is written on a line of its own.
_LONGEST_ANSWER = 60
_SENTENCE = re.compile(r"[.!?][\"'”’»)]*\s*$")


def with_fields(page: Any, lines: Sequence[Line], *, from_right: bool) -> list[Line]:
    """Return a page's lines with the contents of its form fields: "Length in metres: 14.2", "Insured: yes".

    A field is named by the words beside it, or else by its own label or name. These words are to its left, or
    to its right if the page is read `from_right`; for a box to tick, it is the other way round. If nothing on
    the page was filled in, unticked boxes are not answers and are left out.
    """
    fields = [field for field in page.widgets() if field.field_type_string in _SHOWN and _is_shown(field)]
    answers = [(field, answer) for field in fields if (answer := _answer(field))]
    if all(answer == "no" for _, answer in answers):
        return list(lines)
    boxes = [tuple(field.rect) for field, _ in answers]
    shown = [line for line in lines if not any(_is_inside(line, box) for box in boxes)]
    taken: set[int] = set()
    for (field, answer), box in zip(answers, boxes, strict=True):
        on_right = (field.field_type_string in _MARKS) != from_right
        at = _find_label(shown, box, on_right=on_right)
        if at is None or (id(shown[at]) in taken and field.field_type_string in _MARKS):
            at = _place_of(shown, box)
            shown[at:at] = _lines(_name(field), answer, box)
        else:
            asked = shown[at]
            gap = " " if id(asked) in taken else _colon(asked.text)
            apart = _stands_alone(answer)
            x0, x1 = min(asked.x0, box[0]), max(asked.x1, box[2])
            text = f"{asked.text}{gap}{'' if apart else answer}"
            shown[at] = replace(asked, pieces=[text], x0=x0, x1=x1, columns=_ROW)
            taken.add(id(shown[at]))
            if apart:
                shown.insert(at + 1, _line(answer, box))
    return shown


def _is_shown(field: Any) -> bool:
    return field.field_display != _HIDDEN and not (field.field_flags or 0) & _PASSWORD


def _answer(field: Any) -> str:
    """Return the value of a field, or "yes" or "no" for a box to tick."""
    value = field.field_value
    if field.field_type_string in _MARKS:
        return "no" if str(value) in _OFF or str(value) not in ("True", *_names_when_ticked(field)) else "yes"
    values = value if isinstance(value, list | tuple) else [value]
    # A choice is stored as it is shown, or as a pair of what is stored and what is shown.
    shown = dict(pair for pair in field.choice_values or () if not isinstance(pair, str))
    return " ".join(" ".join(str(shown.get(each, each)) for each in values if each is not None).split())


def _names_when_ticked(field: Any) -> list[str]:
    """Return the values that mean a ticked box: "Yes" if its appearances name no state."""
    named = [name for names in (field.button_states() or {}).values() for name in names or ()]
    return [name for name in named if name != "Off"][:1] or ["Yes"]


def _name(field: Any) -> str:
    """Return a field's label, or the last part of its name: "ship" of "form[0].ship[0]"."""
    name = str(field.field_label or field.field_name or "").rpartition(".")[2]
    return " ".join(re.sub(r"\[\d+\]|_", " ", name).split())


def _is_inside(line: Line, box: tuple[float, ...]) -> bool:
    x, y = (line.x0 + line.x1) / 2, (line.y0 + line.y1) / 2
    return box[0] <= x <= box[2] and box[1] <= y <= box[3]


def _find_label(lines: Sequence[Line], box: tuple[float, ...], *, on_right: bool) -> int | None:
    """Return the index of the nearest line at a field's height, on its right or on its left."""
    best: tuple[float, int] | None = None
    for at, line in enumerate(lines):
        gap = line.x0 - box[2] if on_right else box[0] - line.x1
        middle = (line.y0 + line.y1) / 2
        beside = box[1] <= middle <= box[3] and -1 <= gap <= _FARTHEST * line.size
        if beside and any(map(str.isalpha, line.text)) and (best is None or gap < best[0]):
            best = gap, at
    return best[1] if best else None


def _place_of(lines: Sequence[Line], box: tuple[float, ...]) -> int:
    """Return the index of the first line below a field; one without words beside it is inserted there."""
    return next((at for at, line in enumerate(lines) if line.y0 >= box[3]), len(lines))


def _lines(name: str, answer: str, box: tuple[float, ...]) -> list[Line]:
    if not name:
        return [_line(answer, box)]
    if _stands_alone(answer):
        return [_line(f"{name}:", box), _line(answer, box)]
    return [_line(f"{name}: {answer}", box)]


def _stands_alone(answer: str) -> bool:
    return len(answer) > _LONGEST_ANSWER or bool(_SENTENCE.search(answer))


def _colon(text: str) -> str:
    return " " if text.endswith((":", "?")) else ": "


def _line(text: str, box: tuple[float, ...]) -> Line:
    x0, y0, x1, y1 = box
    return Line([text], x0, y0, x1, y1, min(y1 - y0, 10.0), bold=False, columns=_ROW)
