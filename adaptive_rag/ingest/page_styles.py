"""The styles in a web page that hide text from its reader."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import tinycss2
from tinycss2.color3 import RGBA, parse_color

# A selector for one element: "p.note", "#banner"; others depend on the elements around it.
_SIMPLE_SELECTOR = re.compile(r"(?P<tag>[a-z][a-z0-9]*|\*)?(?P<marks>(?:[.#][\w-]+)*)", re.IGNORECASE)
_MARK = re.compile(r"[.#][\w-]+")
_ZERO = re.compile(r"[+-]?0*\.?0+(?:%|[a-z]+)?", re.IGNORECASE)
# The most characters of a sheet and of a style attribute, and the most rules of a page; the rest is not read.
_MAX_SHEET_LENGTH, _MAX_STYLE_LENGTH, _MAX_RULES = 200_000, 2_000, 5_000
# An element with more classes and ids is not matched against rules.
_MAX_MARKS = 50
# Colours that differ less than this in red, green and blue, each from 0 to 1, look the same.
_MAX_COLOR_DIFFERENCE = 0.06
_WHITE = RGBA(1.0, 1.0, 1.0, 1.0)
# If styles hide the whole page, a script shows it.
_PAGE_TAGS = ("html", "body")
# An element that fades in has no opacity at first.
_ANIMATED = frozenset({"transform", "transition", "animation", "will-change"})
_USED_PROPERTIES = _ANIMATED.union(
    ("display", "visibility", "opacity", "font-size", "color", "background", "background-color"),
    ("background-image", "background-clip", "-webkit-background-clip"),
)
_NO_VALUE = ("none", "transparent", "inherit", "initial", "unset")
_SIZE_DECLARATION = re.compile(r"font(?:-size)?\s*:", re.IGNORECASE)
# Attributes other than `style` that set an element's look.
_LOOK_ATTRIBUTES = frozenset({"hidden", "bgcolor", "background"})


@dataclass(frozen=True)
class Look:
    """The look of an element's text, which elements inside it inherit."""

    displayed: bool = True
    """Whether `visibility` does not hide it."""
    has_size: bool = True
    """Whether its font size is not zero."""
    color: RGBA | None = None
    background: RGBA | None = _WHITE
    """None if it is an image or not known; then all text counts as visible."""

    @property
    def is_seen(self) -> bool:
        """Whether text with this look can be seen against its background."""
        if not (self.displayed and self.has_size):
            return False
        if self.color is None:
            return True
        if self.color.alpha == 0:
            return False
        return self.background is None or any(
            abs(a - b) > _MAX_COLOR_DIFFERENCE for a, b in zip(self.color, self.background, strict=True)
        )


class _Rule(NamedTuple):
    weight: tuple[int, int]  # the specificity, then the position among all rules
    tag: str
    marks: frozenset[str]
    declarations: dict[str, str]


class PageStyles:
    """The style sheets of a page, and the look that they and its elements define.

    Rules that select one element by its name, classes and id are applied (CSS 2.2, section 5). Rules that
    depend on other elements, the medium or a script are not, and neither are external style sheets.
    """

    def __init__(self) -> None:
        self._rules: dict[str, list[_Rule]] = defaultdict(list)
        self._rule_count = 0
        self._marks = set[str]()  # the classes and ids that occur in rules
        # The declarations of rules by an element's tag and marks.
        self._declared_by_element: dict[tuple[str, frozenset[str]], dict[str, str]] = {}
        # Whether external sheets, or rules that are not read, may set a background or a size.
        self._background_unknown = self._size_unknown = False

    def add_sheet(self, sheet: str) -> None:
        """Add the rules of a <style> element."""
        self._declared_by_element.clear()
        for rule in tinycss2.parse_stylesheet(
            sheet[:_MAX_SHEET_LENGTH], skip_comments=True, skip_whitespace=True
        ):
            if rule.type == "at-rule" and rule.lower_at_keyword == "import":
                self.miss_sheet()
            elif rule.type == "at-rule" or (rule.type == "qualified-rule" and not self._add_rules(rule)):
                self._note_unread(_serialize(rule.content or ()))
        self._note_unread(sheet[_MAX_SHEET_LENGTH:])

    def miss_sheet(self) -> None:
        """Record that the page uses an external sheet, which may set anything."""
        self._background_unknown = self._size_unknown = True

    def _note_unread(self, rules: str) -> None:
        """Record which properties may be set by rules that are not read."""
        self._background_unknown |= "background" in rules.lower()
        self._size_unknown |= _SIZE_DECLARATION.search(rules) is not None

    def _add_rules(self, rule: Any) -> bool:
        """Add a rule; return whether none of its selectors depends on other elements."""
        if self._rule_count >= _MAX_RULES:
            return False
        declarations = _parse_declarations(rule.content)
        selectors = [
            _SIMPLE_SELECTOR.fullmatch(selector.strip()) for selector in _serialize(rule.prelude).split(",")
        ]
        for selector in selectors if declarations else ():
            if selector and selector[0]:
                self._add_selector(selector, declarations)
        return all(selector and selector[0] for selector in selectors)

    def _add_selector(self, selector: re.Match[str], declarations: dict[str, str]) -> None:
        """Add the declarations of a rule for one of its selectors, weighted by its specificity."""
        self._rule_count += 1
        marks = _MARK.findall(selector["marks"])
        tag = (selector["tag"] or "*").lower()
        weight = 100 * sum(mark[0] == "#" for mark in marks) + 10 * len(marks) + (tag != "*")
        rule = _Rule((weight, self._rule_count), tag, frozenset(marks), declarations)
        self._rules[marks[-1] if marks else tag].append(rule)
        self._marks.update(marks)

    def outermost(self, attributes: Mapping[str, str]) -> Look:
        """Return the look of the root element, with these attributes, once the sheets are known.

        It is on white, unless its styles or a sheet that is not read may set another background.
        """
        initial = Look(background=None if self._background_unknown else _WHITE)
        return self.look("html", attributes, initial) or initial

    def look(self, tag: str, attributes: Mapping[str, str], outer: Look) -> Look | None:
        """Return the look of an element inside one with the look `outer`; None if it takes no space."""
        declarations = self._find_declarations(tag, attributes)
        if self._size_unknown and not outer.has_size:  # the size may be set again for inner elements
            outer = replace(outer, has_size=True)
        if not declarations and _LOOK_ATTRIBUTES.isdisjoint(attributes):
            return outer
        is_page = tag in _PAGE_TAGS
        display = declarations.get("display", "none" if _is_hidden(attributes) else "")
        if display == "none" and not is_page:
            return None
        if _is_zero(declarations.get("opacity")) and not is_page and not declarations.keys() & _ANIMATED:
            return None
        return _apply(outer, declarations, attributes, is_page=is_page)

    def _find_declarations(self, tag: str, attributes: Mapping[str, str]) -> dict[str, str]:
        """Return the declarations for an element; those with higher specificity win."""
        declarations: dict[str, str] = {}
        if self._rule_count:
            marks = {f".{name}" for name in attributes.get("class", "").split(maxsplit=_MAX_MARKS)}
            marks |= {f"#{attributes['id']}"} if "id" in attributes else set()
            if len(marks) <= _MAX_MARKS:
                declarations = self._find_rule_declarations(tag, frozenset(marks & self._marks))
        style = attributes.get("style")
        return declarations | _parse_style(style[:_MAX_STYLE_LENGTH]) if style else declarations

    def _find_rule_declarations(self, tag: str, marks: frozenset[str]) -> dict[str, str]:
        """Return the declarations of the rules that select an element, by its tag, classes and ids."""
        if (tag, marks) not in self._declared_by_element:
            rules = (rule for key in (tag, "*", *marks) for rule in self._rules.get(key, ()))
            matching = sorted(rule for rule in rules if rule.tag in ("*", tag) and rule.marks <= marks)
            declarations = {name: value for rule in matching for name, value in rule.declarations.items()}
            if self._size_unknown and _is_zero(declarations.get("font-size")):
                del declarations["font-size"]
            self._declared_by_element[tag, marks] = declarations
        return self._declared_by_element[tag, marks]


@lru_cache(maxsize=5000)
def _parse_style(style: str) -> dict[str, str]:
    return _parse_declarations(tinycss2.parse_component_value_list(style))


def _parse_declarations(content: Iterable[Any]) -> dict[str, str]:
    """Return the values of the properties that may hide text, in lower case."""
    declarations = tinycss2.parse_blocks_contents(content, skip_comments=True, skip_whitespace=True)
    values = {
        declaration.lower_name: _serialize(declaration.value).strip().lower()
        for declaration in declarations
        if declaration.type == "declaration" and declaration.lower_name in _USED_PROPERTIES
    }
    return {name: value for name, value in values.items() if value}


def _serialize(content: Iterable[Any]) -> str:
    """Return parsed tokens as text; "" if their brackets are nested too deep."""
    try:
        return str(tinycss2.serialize(content))
    except RecursionError:
        return ""


# A page uses few colours, and uses them again and again.
_parse_color = lru_cache(maxsize=1000)(parse_color)


def _apply(
    outer: Look, declarations: Mapping[str, str], attributes: Mapping[str, str], *, is_page: bool
) -> Look:
    """Return the look of an element with declarations and attributes inside one that looks like `outer`."""
    look = outer
    if (visibility := declarations.get("visibility")) and not is_page:
        look = replace(look, displayed=visibility not in ("hidden", "collapse"))
    if size := declarations.get("font-size"):
        look = replace(look, has_size=not _is_zero(size))
    if (color := declarations.get("color")) and isinstance(parsed := _parse_color(color), RGBA):
        look = replace(look, color=parsed)
    if "text" in (declarations.get("background-clip"), declarations.get("-webkit-background-clip")):
        look = replace(look, color=None)  # the letters show the background
    colors = (declarations.get("background-color"), declarations.get("background"), attributes.get("bgcolor"))
    background = next(filter(None, colors), "none")
    if background not in _NO_VALUE:
        parsed = _parse_color(background)
        look = replace(look, background=parsed if isinstance(parsed, RGBA) and parsed.alpha == 1 else None)
    if attributes.get("background") or declarations.get("background-image", "none") not in _NO_VALUE:
        look = replace(look, background=None)
    return look


def _is_hidden(attributes: Mapping[str, str]) -> bool:
    """Return whether `hidden` hides an element; with "until-found", a search in the page shows it."""
    return "hidden" in attributes and attributes["hidden"].lower() != "until-found"


def _is_zero(value: str | None) -> bool:
    return value is not None and _ZERO.fullmatch(value) is not None
