"""The look of a Word document's text: what its runs and styles make bold, or invisible to a reader."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from docx.oxml.ns import qn

_VAL, _FILL, _COLOR = map(qn, ("w:val", "w:fill", "w:color"))
_RUN_SETTINGS, _PARAGRAPH_SETTINGS, _SHADING = map(qn, ("w:rPr", "w:pPr", "w:shd"))
_RUN, _TEXT = map(qn, ("w:r", "w:t"))
_CELL, _TABLE, _BOX = map(qn, ("w:tc", "w:tbl", "w:txbxContent"))
_RUN_STYLE, _PARAGRAPH_STYLE, _TABLE_STYLE = map(qn, ("w:rStyle", "w:pStyle", "w:tblStyle"))
_OFF = ("0", "false", "off")
# A colour that is not known, or a pattern of two colours.
_UNKNOWN_COLOR = "any"
_WHITE = "FFFFFF"
# Colours that differ no more than this, of 255, in red, green and blue look the same.
_SIMILAR_COLORS = 15
# In half points: smaller text is too small to see.
_SMALLEST_SIZE = 2
# Styles inherit; this limit ends a cycle of styles.
_LONGEST_INHERITANCE = 10


class _Look(NamedTuple):
    """The look of letters that a run or a style sets; None where it sets nothing."""

    hidden: bool | None = None
    color: str | None = None
    behind: str | None = None
    size: int | None = None
    bold: bool | None = None

    def over(self, other: _Look) -> _Look:
        """Return this look, completed by another where it sets nothing."""
        settings = {name: value for name, value in self._asdict().items() if value is not None}
        return other._replace(**settings)


class WordLooks:
    """The look of text by the styles of a document, and by the runs that override them."""

    def __init__(self, styles: Any, document: Any) -> None:
        self.styles = {style.styleId: style for style in styles.style_lst}
        normal = "./w:style[@w:type='paragraph' and (@w:default='1' or @w:default='true')]/@w:styleId"
        self._normal = next(iter(styles.xpath(normal)), "")
        self._looks: dict[str, _Look] = {}
        page = document.find(qn("w:background"))
        self._page = _WHITE if page is None else page.get(_COLOR) or _UNKNOWN_COLOR

    def hides(self, run: Any, paragraph: Any) -> bool:
        """Return whether a run of a paragraph, or the paragraph's mark (given as its `w:pPr`), is hidden."""
        direct, run_style = self._run_looks(run)
        paragraph_style = self._look(self._style_of(paragraph))
        # "Hidden" in the style of a run and in that of its paragraph cancel each other.
        hidden_by_styles = bool(run_style.hidden) != bool(paragraph_style.hidden)
        hidden = hidden_by_styles if direct.hidden is None else direct.hidden
        look = direct.over(run_style).over(paragraph_style)
        if hidden or (look.size is not None and look.size < _SMALLEST_SIZE):
            return True
        if look.color is None:
            return False
        return _are_similar(look.color, look.behind or self._color_behind(paragraph))

    def is_bold(self, paragraph: Any) -> bool:
        """Return whether all text of a paragraph is bold."""
        paragraph_style = self._look(self._style_of(paragraph))
        runs = [run for run in paragraph.iter(_RUN) if "".join(run.itertext(_TEXT)).strip()]
        looks = (direct.over(style).over(paragraph_style) for direct, style in map(self._run_looks, runs))
        return bool(runs) and all(look.bold for look in looks)

    def hides_mark(self, paragraph: Any) -> bool:
        """Return whether a paragraph's mark is hidden; Word does not count it in a list then."""
        settings = paragraph.find(_PARAGRAPH_SETTINGS)
        return settings is not None and self.hides(settings, paragraph)

    def tables_with_header(self) -> set[str]:
        """Return the names of the table styles that set the first row apart."""
        first_row = f"{qn('w:tblStylePr')}[@{qn('w:type')}='firstRow']"
        return {
            name
            for name in self.styles
            if any(style.find(first_row) is not None for style in self.inherited(name))
        }

    def _run_looks(self, run: Any) -> tuple[_Look, _Look]:
        """Return the looks that a run sets by itself and by its style."""
        settings = run.find(_RUN_SETTINGS)
        if settings is None:
            return _Look(), _Look()
        return _read_look(settings), self._look(_style_name(settings, _RUN_STYLE))

    def _style_of(self, paragraph: Any) -> str:
        settings = paragraph.find(_PARAGRAPH_SETTINGS)
        return (_style_name(settings, _PARAGRAPH_STYLE) if settings is not None else "") or self._normal

    def _look(self, name: str) -> _Look:
        """Return the look of letters in a style, its own or inherited."""
        if name not in self._looks:
            self._looks[name] = _Look()
            for style in self.inherited(name):
                settings = style.find(_RUN_SETTINGS)
                if settings is not None:
                    self._looks[name] = self._looks[name].over(_read_look(settings))
        return self._looks[name]

    def inherited(self, name: str) -> Iterator[Any]:
        """Yield a style and those that it inherits from: "My chapter" from "Heading 1"."""
        for _ in range(_LONGEST_INHERITANCE):
            if name not in self.styles:
                return
            yield self.styles[name]
            name = _style_name(self.styles[name], qn("w:basedOn"))

    def _color_behind(self, paragraph: Any) -> str:
        """Return the colour behind a paragraph: its own, or that of its cell, table, text box or page."""
        styles = self.inherited(self._style_of(paragraph))
        for settings in (each.find(_PARAGRAPH_SETTINGS) for each in (paragraph, *styles)):
            if settings is not None and (color := _shading_color(settings.find(_SHADING))):
                return color
        for ancestor in paragraph.iterancestors(_CELL, _TABLE, _BOX):
            if ancestor.tag == _BOX:
                return _box_color(ancestor) or self._page
            settings = ancestor.find(qn("w:tcPr" if ancestor.tag == _CELL else "w:tblPr"))
            if settings is None:
                continue
            if color := _shading_color(settings.find(_SHADING)):
                return color
            for style in self.inherited(_style_name(settings, _TABLE_STYLE)):
                # Which cells a table style's shading applies to is not determined.
                if any(map(_shading_color, style.iter(_SHADING))):
                    return _UNKNOWN_COLOR
        return self._page


def _read_look(settings: Any) -> _Look:
    """Return the look that the settings of a run or a style (`w:rPr`) give its letters."""
    hidden, color, behind, size, bold = None, None, None, None, None
    for each in settings:
        value = each.get(_VAL)
        if each.tag == qn("w:vanish"):
            hidden = value not in _OFF
        elif each.tag == qn("w:b"):
            bold = value not in _OFF
        elif each.tag == _COLOR:
            color = value if value != "auto" else None
        elif each.tag == qn("w:highlight"):
            behind = {"white": _WHITE, "none": None}.get(value, _UNKNOWN_COLOR)
        elif each.tag == _SHADING:
            behind = behind or _shading_color(each)
        elif each.tag == qn("w:sz") and value and value.isdecimal():
            size = int(value)
    return _Look(hidden, color, behind, size, bold)


def _style_name(element: Any, kind: str) -> str:
    """Return the name of the style that an element refers to; "" if there is none."""
    style = element.find(kind)
    return (style.get(_VAL) or "") if style is not None else ""


def _shading_color(shading: Any) -> str | None:
    """Return the colour of a shading; None if there is none."""
    if shading is None or (kind := shading.get(_VAL)) == "nil":
        return None
    if kind not in (None, "clear"):
        return (shading.get(_COLOR) or _UNKNOWN_COLOR) if kind == "solid" else _UNKNOWN_COLOR
    fill = shading.get(_FILL, "auto")
    if fill != "auto":
        return str(fill)
    return _UNKNOWN_COLOR if shading.get(qn("w:themeFill")) else None


def _box_color(box: Any) -> str | None:
    """Return the fill colour of a text box, DrawingML or VML; None if the page shows through."""
    for shape in box.iterancestors("{*}wsp", "{*}shape", "{*}rect", "{*}roundrect", "{*}oval"):
        if not shape.tag.endswith("}wsp"):
            fill = shape.get("fillcolor", "#ffffff").lstrip("#").upper()
            return None if shape.get("filled") in ("f", "false") else fill
        properties = shape.find("{*}spPr")
        if properties is not None and properties.find("{*}noFill") is not None:
            return None
        color = properties.find("{*}solidFill/{*}srgbClr") if properties is not None else None
        return color.get("val", _UNKNOWN_COLOR) if color is not None else _UNKNOWN_COLOR
    return _UNKNOWN_COLOR


def _are_similar(color: str, behind: str) -> bool:
    """Return whether two colours, such as "FFFFFF", look the same."""
    try:
        first, second = bytes.fromhex(color), bytes.fromhex(behind)
    except ValueError:  # a named or unknown colour
        return False
    if not len(first) == len(second) == 3:
        return False
    return all(abs(a - b) <= _SIMILAR_COLORS for a, b in zip(first, second, strict=True))
