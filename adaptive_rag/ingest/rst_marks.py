"""Inline markup of reStructuredText: literals, roles, references, substitutions and notes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from adaptive_rag.ingest.markup_steps import Kept, read_role

_BODY = r"(?:[^`\\]|\\.){1,1000}+"
_ROLE = r"[A-Za-z][\w:.+-]{0,60}"
_MARK = re.compile(
    r"(?<!\w)``(?=\S)(?P<literal>(?:[^`]|`(?!`)|`(?=``(?!`))){1,1000}+)``"
    rf"|(?<!\w):(?P<role>{_ROLE}):`(?P<content>{_BODY})`(?!\w)"
    rf"|(?<!\w)_`(?=\S)(?P<target>{_BODY})`(?!\w)"
    rf"|(?<!\w)`(?=\S)(?P<text>{_BODY})`(?P<after>__?(?!\w)|:{_ROLE}:(?!`)|(?!\w))",
    re.DOTALL,
)
_LINK = re.compile(r"(?P<title>.*?)\s*<(?P<address>[^<>]*)>", re.DOTALL)
_WEB_ADDRESS = re.compile(r"https?://\S+", re.IGNORECASE)
_SUBSTITUTION = re.compile(r"(?<![\w|])\|(?P<name>[^\s|](?:[^|\n]{0,60}[^\s|])?)\|(?:__?)?(?![\w|])")
_NOTE = re.compile(r" ?(?<!\w)\[(?:#?[\w.-]{0,60}|\*)\]_(?!\w)")
_NAME = re.compile(
    r"(?<![\w`:/.-])(?P<name>[A-Za-z0-9](?:[\w.+-]{0,60}[A-Za-z0-9])?)(?P<mark>__?)(?=[\s.,;:!?)\]'\"/-]|$)"
)
_ESCAPE = re.compile(r"\\([\s\S])")


@dataclass
class RstPage:
    """The kept pieces of a page, and the names that it defines: substitutions and link targets."""

    kept: Kept = field(default_factory=Kept)
    substitutions: dict[str, str] = field(default_factory=dict)
    targets: dict[str, str] = field(default_factory=dict)
    fields: dict[str, str] = field(default_factory=dict)
    """The fields at its beginning: author, date."""


def fold_name(name: str) -> str:
    """Return a name in the form in which reStructuredText compares names."""
    return " ".join(name.replace("\\", "").split()).casefold()


def read_inline(text: str, page: RstPage) -> str:
    """Return the visible text, with the same number of lines."""

    def replace_name(match: re.Match[str]) -> str:
        address = page.targets.get(fold_name(match["name"]))
        if address is None and match["mark"] != "__":
            return match[0]
        return page.kept.keep(_format_link(match["name"], address or ""))

    text = _MARK.sub(lambda match: page.kept.put(match[0], _read_mark(match, page)), text)
    text = _NOTE.sub("", text)
    text = _SUBSTITUTION.sub(
        lambda match: page.substitutions.get(fold_name(match["name"]), match["name"]), text
    )
    text = _NAME.sub(replace_name, text) if page.targets else text
    return _ESCAPE.sub(lambda match: match[1].replace(" ", ""), text)


def _read_mark(match: re.Match[str], page: RstPage) -> str:
    """Return what a reader sees of a match of `_MARK`."""
    if literal := match["literal"]:
        words = " ".join(literal.split())
        return page.kept.keep(f"`` {words} ``" if "`" in words else f"`{words}`")
    if match["target"]:
        return _plain(match["target"])
    role = match["role"] or (match["after"] or "").strip(":_")
    text = _plain(match["content"] or match["text"])
    if role:
        return page.kept.keep(" ".join(read_role(role, text).split()))
    if not match["after"]:
        return page.kept.keep(f"`{text}`")
    address = page.targets.get(fold_name(text), "")
    if link := _LINK.fullmatch(text):
        address = link["address"].strip()
        text, address = link["title"] or address, page.targets.get(fold_name(address.rstrip("_")), address)
    return page.kept.keep(_format_link(text, address))


def _format_link(text: str, address: str) -> str:
    """Return the words of a link, with its address if that is on the web."""
    shows_text_only = text == address or not _WEB_ADDRESS.fullmatch(address)
    return text if shows_text_only else f"[{text}]({address})"


def _plain(text: str) -> str:
    return " ".join(_ESCAPE.sub(lambda match: match[1].replace(" ", ""), text).split())
