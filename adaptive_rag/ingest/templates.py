"""Template tags and what a reader sees of them: Liquid, Jinja, Hugo's shortcodes, Handlebars.

`{% ... %}` controls the template and is not shown; `{{ ... }}` stands for text from elsewhere; a shortcode
may have visible text among its arguments, such as the caption of a figure.
"""

from __future__ import annotations

import re

from adaptive_rag.ingest.markup_steps import Kept

_TAG = (
    r"\{%(?:(?!\{%|%\}).){0,3000}+%\}|(?<![\\^_{])\{\{(?:(?!\{\{|\}\}).){1,3000}+\}\}"
    r"|\{#\s(?:(?!\{#|#\}).){0,3000}+#\}"
)
TAG = (
    r"\{%-?\s*(?P<block>highlight|code|codeblock|prism|raw|verbatim|comment)\b[^%]{0,200}+%\}"
    r"(?P<inside>(?:(?!\{%-?\s*(?P=block)\b).)*?)\{%-?\s*end(?P=block)\b[^%]{0,50}+%\}"
    rf"|(?P<tag>{_TAG})"
)
"""Part of a regular expression for a tag or a block of code; in it `.` matches line ends."""
_TEXT_ATTRIBUTE = re.compile(
    r"\b(?:alt|caption|description|label|message|summary|text|title)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')"
)
_QUOTED = re.compile(r"\"([^\"]*\s[^\"]*)\"")
_HTML_CODE = r"<(?P<html>pre|code|samp|kbd|script|style|textarea)\b(?:(?!<(?P=html)\b).)*?</(?P=html)\s*>"
_CODE_OR_TAG = re.compile(rf"{_HTML_CODE}|{TAG}", re.IGNORECASE | re.DOTALL)
_ANY_TAG = re.compile(_TAG, re.DOTALL)


def read_tag(match: re.Match[str], kept: Kept) -> str:
    """Return the visible text for a match of `TAG`; the tags in a raw block are kept, since they are text."""
    if match["tag"]:
        tag, texts = match["tag"], list[str]()
        if tag.startswith(("{{<", "{{%", "{%")):
            texts += [double or single for double, single in _TEXT_ATTRIBUTE.findall(tag)]
        if tag.startswith(("{{<", "{{%")):
            texts += _QUOTED.findall(tag)
        return kept.put(match[0], " ".join(texts[0].split()) if texts else "")
    content = match["inside"]
    match match["block"].lower():
        case "comment":
            return kept.drop(match[0])
        case "raw" | "verbatim":
            return kept.put(match[0], _ANY_TAG.sub(lambda tag: kept.keep(tag[0]), content))
    is_block = content.strip("\n") and content.startswith("\n") and content.endswith("\n")
    return kept.put(match[0], kept.keep(f"```{content}```" if is_block else content))


def without_tags(page: str) -> str:
    """Return an HTML page without template tags, except for those in code."""
    kept = Kept()
    visible = _CODE_OR_TAG.sub(
        lambda match: kept.keep(match[0]) if match["html"] else read_tag(match, kept), page
    )
    return kept.restore(visible)
