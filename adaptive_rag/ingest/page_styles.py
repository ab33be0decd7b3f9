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
_SIMPLE = re.compile(r"(?P<tag>[a-z][a-z0-9]*|\*)?(?P<marks>(?:[.#][\w-]+)*)", re.IGNORECASE)
_MARK = re.compile(r"[.#][\w-]+")
_ZERO = re.compile(r"[+-]?0*\.?0+(?:%|[a-z]+)?", re.IGNORECASE)
# In characters of a sheet, in characters of a style attribute, and in rules of a page: the rest is not read.
_LONGEST_SHEET = 200_000
_LONGEST_STYLE = 2_000
_MOST_RULES = 5_000
# An element with more classes and ids is not matched against rules.
_MOST_MARKS = 50
# Colours that differ less than this in red, green and blue, each from 0 to 1, look the same.
_NEAR = 0.06
_WHITE = RGBA(1.0, 1.0, 1.0, 1.0)
# A page that hides itself as a whole is shown by a script.
_WHOLE_PAGE = ("html", "body")
# An element that fades in has no opacity at first.
_MOVES = frozenset({"transform", "transition", "animation", "will-change"})
_READ = _MOVES.union(
    ("display", "visibility", "opacity", "font-size", "color", "background", "background-color"),
    ("background-image",),
)
_NOTHING = ("none", "transparent", "inherit", "initial", "unset")
_SETS_SIZE = re.compile(r"font(?:-size)?\s*:", re.IGNORECASE)
# Attributes other than `style` that set an element's look.
_ATTRIBUTES = frozenset({"hidden", "bgcolor", "background"})


@dataclass(frozen=True)
class Look:
    """The look that an element's text inherits from the elements around it."""

    shown: bool = True
    sized: bool = True
    color: RGBA | None = None
    background: RGBA | None = _WHITE

    @property
    def is_seen(self) -> bool:
        """Whether text with this look can be seen against its background."""
        if not (self.shown and self.sized):
            return False
        if self.color is None:
            return True
        if self.color.alpha == 0:
            return False
        behind = self.background
        return behind is None or any(abs(a - b) > _NEAR for a, b in zip(self.color, behind, strict=True))


class _Rule(NamedTuple):
    weight: tuple[int, int]  # the specificity, then the position among all rules
    tag: str
    marks: frozenset[str]
    declared: dict[str, str]


class PageStyles:
    """The style sheets of a page, and the look that they and its elements define.

    Rules that select one element by its name, classes and id are applied (CSS 2.2, section 5). Rules that
    depend on other elements, the medium or a script are not, and neither are external style sheets.
    """

    def __init__(self) -> None:
        self._rules: dict[str, list[_Rule]] = defaultdict(list)
        self._count = 0
        self._marks = set[str]()  # the classes and ids that occur in rules
        self._ruled: dict[tuple[str, frozenset[str]], dict[str, str]] = {}  # by an element's tag and marks
        # Whether external sheets, or rules that are not read, may set a background or a size.
        self._behind_unknown = self._size_unknown = False

    def add_sheet(self, sheet: str) -> None:
        """Add the rules of a <style> element."""
        self._ruled.clear()
        for rule in tinycss2.parse_stylesheet(
            sheet[:_LONGEST_SHEET], skip_comments=True, skip_whitespace=True
        ):
            if rule.type == "at-rule" and rule.lower_at_keyword == "import":
                self.miss_sheet()
            elif rule.type == "at-rule" or (rule.type == "qualified-rule" and not self._add_rules(rule)):
                self._pass_over(_text(rule.content or ()))
        self._pass_over(sheet[_LONGEST_SHEET:])

    def miss_sheet(self) -> None:
        """Note that the page uses an external sheet, which may set anything."""
        self._behind_unknown = self._size_unknown = True

    def _pass_over(self, rules: str) -> None:
        """Note which properties may be set by rules that are not read."""
        self._behind_unknown |= "background" in rules.lower()
        self._size_unknown |= _SETS_SIZE.search(rules) is not None

    def _add_rules(self, rule: Any) -> bool:
        """Add a rule; return whether each of its selectors is for one element alone."""
        if self._count >= _MOST_RULES:
            return False
        declared = _declared(rule.content)
        selectors = [_SIMPLE.fullmatch(selector.strip()) for selector in _text(rule.prelude).split(",")]
        for selector in selectors if declared else ():
            if selector and selector[0]:
                self._add_rule(selector, declared)
        return all(selector and selector[0] for selector in selectors)

    def _add_rule(self, selector: re.Match[str], declared: dict[str, str]) -> None:
        self._count += 1
        marks = _MARK.findall(selector["marks"])
        tag = (selector["tag"] or "*").lower()
        weight = 100 * sum(mark[0] == "#" for mark in marks) + 10 * len(marks) + (tag != "*")
        rule = _Rule((weight, self._count), tag, frozenset(marks), declared)
        self._rules[marks[-1] if marks else tag].append(rule)
        self._marks.update(marks)

    def outermost(self) -> Look:
        """Return the initial look of a page's body: on white, unless a sheet that is not read may set it."""
        return Look(background=None if self._behind_unknown else _WHITE)

    def look(self, tag: str, attributes: Mapping[str, str], around: Look) -> Look | None:
        """Return the look of an element inside one with the look `around`; None if it takes no space."""
        declared = self._declared_for(tag, attributes)
        if self._size_unknown and not around.sized:  # the size may be set again for inner elements
            around = replace(around, sized=True)
        if not declared and _ATTRIBUTES.isdisjoint(attributes):
            return around
        whole = tag in _WHOLE_PAGE
        display = declared.get("display", "none" if _is_hidden(attributes) else "")
        if display == "none" and not whole:
            return None
        if _is_zero(declared.get("opacity")) and not whole and not declared.keys() & _MOVES:
            return None
        return _with(around, declared, attributes, whole=whole)

    def _declared_for(self, tag: str, attributes: Mapping[str, str]) -> dict[str, str]:
        """Return the declarations for an element; those with higher specificity win."""
        declared: dict[str, str] = {}
        if self._count:
            marks = {f".{name}" for name in attributes.get("class", "").split(maxsplit=_MOST_MARKS)}
            marks |= {f"#{attributes['id']}"} if "id" in attributes else set()
            if len(marks) <= _MOST_MARKS:
                declared = self._declared_by_rules(tag, frozenset(marks & self._marks))
        style = attributes.get("style")
        return declared | _declared_in(style[:_LONGEST_STYLE]) if style else declared

    def _declared_by_rules(self, tag: str, marks: frozenset[str]) -> dict[str, str]:
        if (tag, marks) not in self._ruled:
            rules = (rule for key in (tag, "*", *marks) for rule in self._rules.get(key, ()))
            applied = sorted(rule for rule in rules if rule.tag in ("*", tag) and rule.marks <= marks)
            declared = {name: value for rule in applied for name, value in rule.declared.items()}
            if self._size_unknown and _is_zero(declared.get("font-size")):
                del declared["font-size"]
            self._ruled[tag, marks] = declared
        return self._ruled[tag, marks]


@lru_cache(maxsize=5000)
def _declared_in(style: str) -> dict[str, str]:
    return _declared(tinycss2.parse_component_value_list(style))


def _declared(content: Iterable[Any]) -> dict[str, str]:
    """Return the values of the properties that are used here, in lower case."""
    declarations = tinycss2.parse_blocks_contents(content, skip_comments=True, skip_whitespace=True)
    values = {
        each.lower_name: _text(each.value).strip().lower()
        for each in declarations
        if each.type == "declaration" and each.lower_name in _READ
    }
    return {name: value for name, value in values.items() if value}


def _text(content: Iterable[Any]) -> str:
    """Return parsed tokens as text; "" if their brackets are nested too deep."""
    try:
        return str(tinycss2.serialize(content))
    except RecursionError:
        return ""


# A page uses few colours, and uses them again and again.
_color = lru_cache(maxsize=1000)(parse_color)


def _with(around: Look, declared: Mapping[str, str], attributes: Mapping[str, str], *, whole: bool) -> Look:
    look = around
    if (visibility := declared.get("visibility")) and not whole:
        look = replace(look, shown=visibility not in ("hidden", "collapse"))
    if size := declared.get("font-size"):
        look = replace(look, sized=not _is_zero(size))
    if (color := declared.get("color")) and isinstance(parsed := _color(color), RGBA):
        look = replace(look, color=parsed)
    colors = (declared.get("background-color"), declared.get("background"), attributes.get("bgcolor"))
    behind = next(filter(None, colors), "none")
    if behind not in _NOTHING:
        parsed = _color(behind)
        look = replace(look, background=parsed if isinstance(parsed, RGBA) and parsed.alpha == 1 else None)
    if attributes.get("background") or declared.get("background-image", "none") not in _NOTHING:
        look = replace(look, background=None)
    return look


def _is_hidden(attributes: Mapping[str, str]) -> bool:
    """Return whether `hidden` hides an element; with "until-found", a search in the page shows it."""
    return "hidden" in attributes and attributes["hidden"].lower() != "until-found"


def _is_zero(value: str | None) -> bool:
    return value is not None and _ZERO.fullmatch(value) is not None
