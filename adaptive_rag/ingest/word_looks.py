"""Text of a Word document that a reader does not see, because of its runs and styles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from docx.oxml.ns import qn

_VAL, _FILL, _COLOR, _STYLE_ID = map(qn, ("w:val", "w:fill", "w:color", "w:styleId"))
_RUN_SETTINGS, _PARAGRAPH_SETTINGS, _SHADING = map(qn, ("w:rPr", "w:pPr", "w:shd"))
_DELETED_MARK = f"{_RUN_SETTINGS}/{qn('w:del')}"
_CELL, _TABLE, _BOX = map(qn, ("w:tc", "w:tbl", "w:txbxContent"))
_RUN_STYLE, _PARAGRAPH_STYLE, _TABLE_STYLE = map(qn, ("w:rStyle", "w:pStyle", "w:tblStyle"))
_OFF = ("0", "false", "off")
# A colour that is not known, or a pattern of two colours.
_ANY = "any"
_WHITE = "FFFFFF"
# Colours that differ no more than this, of 255, in red, green and blue look the same.
_NEAR = 15
# In half points: smaller text is too small to see.
_LEAST_SIZE = 2
# Styles inherit; this limit ends a cycle of styles.
_LONGEST_INHERITANCE = 10


class _Look(NamedTuple):
    """The look of letters that a run or a style sets; None where it sets nothing."""

    hidden: bool | None = None
    color: str | None = None
    behind: str | None = None
    size: int | None = None

    def over(self, other: _Look) -> _Look:
        """Combine two looks; this one takes precedence."""
        said = {name: value for name, value in self._asdict().items() if value is not None}
        return other._replace(**said)


class WordLooks:
    """The look of text by the styles of a document, and by the runs that override them."""

    def __init__(self, styles: Any, document: Any) -> None:
        self._styles = {style.get(_STYLE_ID): style for style in styles.iter(qn("w:style"))}
        self._normal = next(
            (
                name
                for name, style in self._styles.items()
                if style.get(qn("w:type")) == "paragraph" and style.get(qn("w:default")) in ("1", "true")
            ),
            "",
        )
        self._looks: dict[str, _Look] = {}
        page = document.find(qn("w:background"))
        self._page = _WHITE if page is None else page.get(_COLOR) or _ANY

    def hides(self, run: Any, paragraph: Any) -> bool:
        """Tell whether a run of a paragraph, or the paragraph's mark (given as its `w:pPr`), is hidden."""
        settings = run.find(_RUN_SETTINGS)
        own, letters = _Look(), _Look()
        if settings is not None:
            own = _read(settings)
            letters = self._look(_named(settings, _RUN_STYLE))
        around = self._look(self._style_of(paragraph))
        # "Hidden" in the style of a run and in that of its paragraph cancel each other.
        by_styles = bool(letters.hidden) != bool(around.hidden)
        hidden = by_styles if own.hidden is None else own.hidden
        look = own.over(letters).over(around)
        if hidden or (look.size is not None and look.size < _LEAST_SIZE):
            return True
        return look.color is not None and _are_near(look.color, look.behind or self._behind(paragraph))

    def hides_mark(self, paragraph: Any) -> bool:
        """Tell whether a paragraph's mark is hidden or deleted, so that Word does not count it in a list."""
        settings = paragraph.find(_PARAGRAPH_SETTINGS)
        if settings is None:
            return False
        return settings.find(_DELETED_MARK) is not None or self.hides(settings, paragraph)

    def tables_with_header(self) -> set[str]:
        """Return the names of the table styles that set the first row apart."""
        apart = f"{qn('w:tblStylePr')}[@{qn('w:type')}='firstRow']"
        return {
            name
            for name in self._styles
            if any(style.find(apart) is not None for style in self._inherited(name))
        }

    def _style_of(self, paragraph: Any) -> str:
        settings = paragraph.find(_PARAGRAPH_SETTINGS)
        return (_named(settings, _PARAGRAPH_STYLE) if settings is not None else "") or self._normal

    def _look(self, name: str) -> _Look:
        """Return the look of letters in a style, its own or inherited."""
        if name not in self._looks:
            self._looks[name] = _Look()
            for style in self._inherited(name):
                settings = style.find(_RUN_SETTINGS)
                if settings is not None:
                    self._looks[name] = self._looks[name].over(_read(settings))
        return self._looks[name]

    def _inherited(self, name: str) -> Iterator[Any]:
        for _ in range(_LONGEST_INHERITANCE):
            if name not in self._styles:
                return
            yield self._styles[name]
            name = _named(self._styles[name], qn("w:basedOn"))

    def _behind(self, paragraph: Any) -> str:
        """Return the colour behind a paragraph: its own, or that of its cell, table, text box or page."""
        styles = self._inherited(self._style_of(paragraph))
        for settings in (each.find(_PARAGRAPH_SETTINGS) for each in (paragraph, *styles)):
            if settings is not None and (color := _shade(settings.find(_SHADING))):
                return color
        for around in paragraph.iterancestors(_CELL, _TABLE, _BOX):
            if around.tag == _BOX:
                return _behind_box(around) or self._page
            settings = around.find(qn("w:tcPr" if around.tag == _CELL else "w:tblPr"))
            if settings is None:
                continue
            if color := _shade(settings.find(_SHADING)):
                return color
            for style in self._inherited(_named(settings, _TABLE_STYLE)):
                if any(map(_shade, style.iter(_SHADING))):  # which cells it applies to is not determined
                    return _ANY
        return self._page


def _read(settings: Any) -> _Look:
    hidden, color, behind, size = None, None, None, None
    for each in settings:
        value = each.get(_VAL)
        if each.tag == qn("w:vanish"):
            hidden = value not in _OFF
        elif each.tag == _COLOR:
            color = value if value != "auto" else None
        elif each.tag == qn("w:highlight"):
            behind = _WHITE if value == "white" else None if value == "none" else _ANY
        elif each.tag == _SHADING:
            behind = behind or _shade(each)
        elif each.tag == qn("w:sz") and value and value.isdecimal():
            size = int(value)
    return _Look(hidden, color, behind, size)


def _named(element: Any, kind: str) -> str:
    """Return the name of the style that an element refers to; "" if there is none."""
    style = element.find(kind)
    return (style.get(_VAL) or "") if style is not None else ""


def _shade(shading: Any) -> str | None:
    """Return the colour of a shading; None if there is none."""
    if shading is None or (kind := shading.get(_VAL)) == "nil":
        return None
    if kind not in (None, "clear"):
        return (shading.get(_COLOR) or _ANY) if kind == "solid" else _ANY
    fill = shading.get(_FILL, "auto")
    return (_ANY if shading.get(qn("w:themeFill")) else None) if fill == "auto" else str(fill)


def _behind_box(box: Any) -> str | None:
    """Return the fill colour of a text box, DrawingML or VML; None if the page shows through."""
    for shape in box.iterancestors("{*}wsp", "{*}shape", "{*}rect", "{*}roundrect", "{*}oval"):
        if not shape.tag.endswith("}wsp"):
            fill = shape.get("fillcolor", "#ffffff").lstrip("#").upper()
            return None if shape.get("filled") in ("f", "false") else fill
        drawn = shape.find("{*}spPr")
        if drawn is not None and drawn.find("{*}noFill") is not None:
            return None
        color = drawn.find("{*}solidFill/{*}srgbClr") if drawn is not None else None
        return color.get("val", _ANY) if color is not None else _ANY
    return _ANY


def _are_near(color: str, behind: str) -> bool:
    try:
        one, other = (bytes.fromhex(each) for each in (color, behind))
    except ValueError:  # a named or unknown colour
        return False
    return len(one) == len(other) == 3 and all(abs(a - b) <= _NEAR for a, b in zip(one, other, strict=True))
