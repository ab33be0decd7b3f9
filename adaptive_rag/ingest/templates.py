"""What a reader sees of the tags of a template: Liquid, Jinja, Hugo's shortcodes, Handlebars.

`{% ... %}` steers the template and is not seen; `{{ ... }}` stands for text of another place; a shortcode may
have text among its arguments, such as the caption of a figure.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.marks import Finder, Kept

# In characters: a longer one is no tag.
_LONGEST_TAG = 3000
_NAME = re.compile(r"\{[{%][-~<%]*\s*(?P<ends>end|/)?\s*(?P<name>[\w./-]*)")
# "{{ page.title }}", "{{< figure ... >}}"; not "x^{{2}}" or "{{\bf a}}"
_EXPRESSION = re.compile(r"\{\{[-~]?(?:[<%#/^&>!]|\s*[\w.\"'$(/@\[:])")
_WORDED = re.compile(
    r"\b(?:alt|caption|content|description|label|message|summary|text|title)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')"
)
_QUOTED = re.compile(r"\"([^\"]*\s[^\"]*)\"")
# what stands between these is code, is shown as it is, or is not shown
_CODE, _COMMENT, _RAW = (
    ("highlight", "code", "codeblock", "code-toggle", "prism"),
    ("comment",),
    ("raw", "verbatim", "nunjucks"),
)
_END = {"{%": "%}", "{{": "}}"}
# of these the reader of the page sees more than stands here
_FROM_ELSEWHERE = re.compile(
    r"\{\{-?\s*[\w.\"'$]|\{%-?\s*(?:include\w*|data|render|indented_data_reference)\b"
)
_OPENINGS = re.compile(r"\{[{%#]")
_CODE_OF_PAGE = re.compile(
    r"<(?P<tag>pre|code|samp|kbd|script|style|textarea)\b(?:(?!<(?P=tag)\b).)*?</(?P=tag)\s*>", re.I | re.S
)


class Templates:
    """Reads the tags of one text, and counts those that stand for text of another place."""

    def __init__(self, text: str, kept: Kept, finder: Finder) -> None:
        self._text = text
        self._kept = kept
        self._finder = finder
        self._raw_until = -1
        self._unclosed: set[str] = set()
        self.left_out = 0

    def read(self, start: int) -> tuple[int, str] | None:
        """Return where what opens at a place ends, and what is seen instead; None where it is no tag."""
        text, opening = self._text, self._text[start : start + 2]
        if start < self._raw_until:
            return None
        if opening == "{#":
            end = self._end_of("#}", start + 2)
            return (end, self._kept.drop(text[start:end])) if end and text[start + 2].isspace() else None
        end = self._end_of(_END[opening], start + 2)
        if not end or (opening == "{{" and not self._is_expression(start)):
            return None
        tag = text[start:end]
        found = _NAME.match(tag)
        name = found["name"] if found and not found["ends"] else ""
        if name and (block := self._read_block(name, start, end)):
            return block
        if tag.startswith(("{{<", "{{%", "{%")):
            shown = next((a or b for a, b in _WORDED.findall(tag)), "")
            shown = shown or next(iter(_QUOTED.findall(tag) if tag.startswith("{{") else []), "")
        else:
            shown = ""
        self.left_out += not shown and _FROM_ELSEWHERE.match(tag) is not None
        return end, self._kept.put(tag, " ".join(shown.split()))

    def note(self, builder: TextBuilder) -> None:
        """Say how many tags were left out whose text stands elsewhere."""
        if self.left_out:
            tags = "1 template tag" if self.left_out == 1 else f"{self.left_out} template tags"
            builder.notes.append(f"{tags} left out, whose text stands in other files")

    def _end_of(self, mark: str, start: int) -> int:
        end = self._finder.find(mark, start)
        return end + len(mark) if 0 <= end <= start + _LONGEST_TAG else 0

    def _is_expression(self, start: int) -> bool:
        before = self._text[start - 1 : start]
        return before not in ("_", "^", "\\", "{") and bool(_EXPRESSION.match(self._text, start))

    def _read_block(self, name: str, start: int, end: int) -> tuple[int, str] | None:
        """Return where a tag ends with all that it holds, if that is code, hidden or shown as it is."""
        text = self._text
        slashed = text.startswith("{{", start)
        pattern = (
            rf"\{{\{{[<%] *\/ *{name} *[>%]\}}\}}" if slashed else rf"\{{%-? *end{name}\b[^%]{{0,50}}%\}}"
        )
        if name not in (*_CODE, *_COMMENT, *_RAW) or pattern in self._unclosed:
            return None
        found = re.compile(pattern).search(text, end)
        if not found:
            self._unclosed.add(pattern)
            return None
        if name in _RAW:
            # the end of an earlier one may stand in code, where it is not seen
            if not re.search(rf"\{{%-? *{name}\b", text[end : found.start()]):
                self._raw_until = found.start()
            return end, self._kept.drop(text[start:end])
        whole = text[start : found.end()]
        if name in _COMMENT:
            return found.end(), self._kept.drop(whole)
        inside = text[end : found.start()]
        if inside.strip("\n") and inside.startswith("\n") and inside.endswith("\n"):
            return found.end(), self._kept.keep(f"```{inside}```")
        return found.end(), self._kept.keep(inside)


def without_tags(page: str, builder: TextBuilder) -> str:
    """Return a page of HTML without the tags of a template, but for those in code."""
    if "{%" not in page and "{{" not in page:
        return page
    kept = Kept()
    text = _CODE_OF_PAGE.sub(lambda found: kept.keep(found[0]), page)
    templates = Templates(text, kept, Finder(text))
    text = replace_openings(_OPENINGS, templates.read, text)
    templates.note(builder)
    return kept.restore(text)


def replace_openings(
    openings: re.Pattern[str], read: Callable[[int], tuple[int, str] | None], text: str
) -> str:
    """Replace, from left to right, what begins at each opening and is read by `read`, which tells its end."""
    parts, last = list[str](), 0
    for opening in openings.finditer(text):
        if opening.start() >= last and (found := read(opening.start())):
            parts += [text[last : opening.start()], found[1]]
            last = found[0]
    return "".join([*parts, text[last:]])
