"""What a web page keeps from the eye by the styles that stand in it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import tinycss2
from tinycss2.color3 import RGBA, parse_color

# a selector of one element: "p.note", "#banner"; others depend on what stands around it
_SIMPLE = re.compile(r"(?P<tag>[a-z][a-z0-9]*|\*)?(?P<marks>(?:[.#][\w-]+)*)", re.IGNORECASE)
_MARK = re.compile(r"[.#][\w-]+")
_ZERO = re.compile(r"[+-]?0*\.?0+(?:%|[a-z]+)?", re.IGNORECASE)
# in characters of one sheet, and in rules of a page: what is beyond them is not read
_LONGEST_SHEET = 200_000
_LONGEST_STYLE = 2_000
_MOST_RULES = 5_000
# an element with more classes or ids is compared with no rule
_MOST_MARKS = 50
# colours nearer than this, of 1 for each of red, green and blue, are one to the eye
_NEAR = 0.06
_WHITE = RGBA(1.0, 1.0, 1.0, 1.0)
# a page that hides all of itself shows itself by a script
_WHOLE_PAGE = ("html", "body")
# what fades in has no opacity at first
_MOVES = frozenset({"transform", "transition", "animation", "will-change"})
_READ = _MOVES.union(
    ("display", "visibility", "opacity", "font-size", "color", "background", "background-color")
)


@dataclass(frozen=True)
class Look:
    """What an element's text takes over from the elements around it."""

    shown: bool = True
    sized: bool = True
    color: RGBA | None = None
    background: RGBA | None = _WHITE

    @property
    def is_seen(self) -> bool:
        """Whether text of this look can be told from what is behind it."""
        if not (self.shown and self.sized):
            return False
        if self.color is None:
            return True
        if self.color.alpha == 0:
            return False
        behind = self.background
        return behind is None or any(abs(a - b) > _NEAR for a, b in zip(self.color, behind, strict=True))


class _Rule(NamedTuple):
    weight: tuple[int, int]  # names of the selector, then its place among all
    tag: str
    marks: frozenset[str]
    declared: dict[str, str]


class PageStyles:
    """The style sheets of a page, and what they and its elements say of how elements look.

    Rules for one element by its name, classes and id count (CSS 2.2, section 5); what depends on the
    elements around it, the medium or a script does not, and neither do sheets that lie elsewhere.
    """

    def __init__(self) -> None:
        self._rules: dict[str, list[_Rule]] = defaultdict(list)
        self._count = 0
        self.behind_unknown = False
        """Whether sheets that lie elsewhere, or rules that are not read, may set a background."""

    def add_sheet(self, sheet: str) -> None:
        """Take the rules of a <style> into account."""
        for rule in tinycss2.parse_stylesheet(
            sheet[:_LONGEST_SHEET], skip_comments=True, skip_whitespace=True
        ):
            if rule.type != "qualified-rule" or self._count >= _MOST_RULES:
                continue
            if declared := _declared(rule.content):
                for selector in tinycss2.serialize(rule.prelude).split(","):
                    self._add_rule(selector.strip(), declared)

    def _add_rule(self, selector: str, declared: dict[str, str]) -> None:
        found = _SIMPLE.fullmatch(selector)
        if not selector or found is None:
            self.behind_unknown |= "background" in declared or "background-color" in declared
            return
        self._count += 1
        marks = _MARK.findall(found["marks"])
        tag = (found["tag"] or "*").lower()
        weight = 100 * sum(mark[0] == "#" for mark in marks) + 10 * len(marks) + (tag != "*")
        rule = _Rule((weight, self._count), tag, frozenset(marks), declared)
        self._rules[marks[-1] if marks else tag].append(rule)

    def outermost(self) -> Look:
        """Return the look of a page's body before it says one: white, where nothing else may set it."""
        return Look(background=None if self.behind_unknown else _WHITE)

    def look(self, tag: str, attributes: Mapping[str, str], around: Look) -> Look | None:
        """Return the look of an element inside of one that looks like `around`; None if it takes no place."""
        declared = self._declared_for(tag, attributes)
        if not declared and "hidden" not in attributes and "bgcolor" not in attributes:
            return around
        whole = tag in _WHOLE_PAGE
        display = declared.get("display", "none" if _is_hidden(attributes) else "")
        if display == "none" and not whole:
            return None
        if _is_zero(declared.get("opacity")) and not whole and not declared.keys() & _MOVES:
            return None
        return _with(around, declared, attributes.get("bgcolor"), whole=whole)

    def _declared_for(self, tag: str, attributes: Mapping[str, str]) -> dict[str, str]:
        """Return what is declared for an element, the heavier over the lighter."""
        declared: dict[str, str] = {}
        if self._count:
            marks = {f".{name}" for name in attributes.get("class", "").split(maxsplit=_MOST_MARKS)}
            marks |= {f"#{attributes['id']}"} if "id" in attributes else set()
            if len(marks) <= _MOST_MARKS:
                rules = (rule for key in (tag, "*", *marks) for rule in self._rules.get(key, ()))
                for rule in sorted(rule for rule in rules if rule.tag in ("*", tag) and rule.marks <= marks):
                    declared |= rule.declared
        if style := attributes.get("style"):
            declared |= _declared(tinycss2.parse_component_value_list(style[:_LONGEST_STYLE]))
        return declared


def _declared(content: Iterable[Any]) -> dict[str, str]:
    """Return the values of the properties that are read, in small letters."""
    found = tinycss2.parse_blocks_contents(content, skip_comments=True, skip_whitespace=True)
    return {
        each.lower_name: tinycss2.serialize(each.value).strip().lower()
        for each in found
        if each.type == "declaration" and each.lower_name in _READ
    }


def _with(around: Look, declared: Mapping[str, str], bgcolor: str | None, *, whole: bool) -> Look:
    look = around
    if (visibility := declared.get("visibility")) and not whole:
        look = replace(look, shown=visibility not in ("hidden", "collapse"))
    if size := declared.get("font-size"):
        look = replace(look, sized=not _is_zero(size))
    if (color := declared.get("color")) and isinstance(parsed := parse_color(color), RGBA):
        look = replace(look, color=parsed)
    behind = declared.get("background-color") or declared.get("background") or bgcolor
    if behind and behind not in ("none", "transparent", "inherit", "initial", "unset"):
        parsed = parse_color(behind)
        look = replace(look, background=parsed if isinstance(parsed, RGBA) and parsed.alpha == 1 else None)
    return look


def _is_hidden(attributes: Mapping[str, str]) -> bool:
    """Tell whether the attribute `hidden` says so; "until-found" is shown to who searches the page."""
    return "hidden" in attributes and attributes["hidden"].lower() != "until-found"


def _is_zero(value: str | None) -> bool:
    return value is not None and _ZERO.fullmatch(value) is not None
