"""Formats documents for a prompt: numbered, delimited, and unable to imitate another part of the prompt."""

from __future__ import annotations

import re
from collections.abc import Sequence

from adaptive_rag.state import Candidate
from adaptive_rag.text.markers import respell_for_model
from adaptive_rag.text.places import format_other_names
from adaptive_rag.text.visible import plain

CUT = " …"

# Everything that Python or a terminal treats as a line end.
_LINE_END = re.compile("\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_ROLES = (
    r"system|user|assistant|agent|human|ai|developer|tool|function|instructions?|context|passages?|question|answer|"
    r"input|output|response|prompt"
)
# "System:" at the start of a line.
_ROLE = re.compile(rf"(?im)^(?P<lead>[\s>#*_\-|\"'(\[]*)(?P<role>{_ROLES})(?P<tail>[\s*_\])\"']*):")
# "[INST]", "[/SYS]" and other tokens of chat templates.
_TEMPLATE = re.compile(
    r"\[(?P<inside>\s*/?\s*(?:INST|SYS|SYSTEM|USER|ASSISTANT|PASSAGE[^\]]{0,20})\s*)\]", re.I
)
# "a < b" is not a tag; "<b", "</", "<|" and "< passage" are.
_OPENING = re.compile(r"<(?=[a-z/!?|<]|\s*/|\s*passage)", re.IGNORECASE)
_CLOSING = re.compile(r"‹(?P<inside>[^<>‹›\n]{0,200})>")
_LINK = re.compile(r"\]\((?=\s*(?:\w+:|//))")
_RULE = re.compile(r"(?m)^\s*(?:[-=_*~#]{3,}|#{1,6}(?=\s))")
# Greek, Cyrillic and phonetic letters that look like the letters of "system" and the other roles.
_LOOKALIKE_LETTERS = str.maketrans(
    "АВЕЅІЈКМНОРСТУХаеѕіјорсухԁԛԝһӏтмнкᴀᴄᴇɪᴏᴘѕᴛᴜᴠΑΒΕΖΗΙΚΜΝΟΡΤΥΧορνυі",
    "ABESIJKMHOPCTYXaesijopcyxdqwhltmhkaceiopstuvABEZHIKMNOPTYXopvui",
)
_LOOKALIKES = str.maketrans("＜＞［］【】〈〉＃：｜ǀ⟦⟧﹤﹥", "<>[][]<>#:||[]<>")


def format_passages(documents: Sequence[Candidate], budget: int) -> str:
    """Format documents as numbered passages for a prompt, with about `budget` characters of text at most.

    Passage n is `documents[n - 1]`. Each line of a document's text begins with "| ", and `neutralize`
    respells whatever could end the passage or look like another part of the prompt. A passage that begins
    inside a table has the names of the table's columns above it. If the budget is short, the longest passages
    are cut; none is left out, since the numbers must stay valid.
    """
    texts = [neutralize(_with_columns(document)) for document in documents]
    limit = _length_limit(sorted(map(len, texts)), budget)
    return "\n\n".join(
        _format_passage(number, document, _cut(text, limit))
        for number, (document, text) in enumerate(zip(documents, texts, strict=True), start=1)
    )


def cut_texts(documents: Sequence[Candidate], characters: int | None) -> list[Candidate]:
    """Return the documents with their texts cut to a number of characters, or uncut if it is None."""
    return [{**document, "text": document["text"][:characters]} for document in documents]


def neutralize(text: str) -> str:
    """Respell what a model could read as a delimiter, a marker, a role or a token of a chat template.

    Invisible characters are dropped, so that a prompt contains no more than the document shows.
    """
    text = plain(_LINE_END.sub("\n", text)).translate(_LOOKALIKES)
    text = _CLOSING.sub(r"‹\g<inside>›", _OPENING.sub("‹", text))
    text = _LINK.sub("] (", text)
    # This must come before the fences of code are replaced, while code can still be recognized.
    text = respell_for_model(text)
    text = text.replace("```", "'''").replace("~~~", "---")
    text = _TEMPLATE.sub(r"(\g<inside>)", text)
    return _RULE.sub("—", _respell_roles(text))


def _respell_roles(text: str) -> str:
    """Replace the colon of "System:" at the start of a line, even if lookalike letters spell the word."""
    colons = {match.end() - 1 for match in _ROLE.finditer(text.translate(_LOOKALIKE_LETTERS))}
    if not colons:
        return text
    return "".join(" –" if i in colons else character for i, character in enumerate(text))


def _with_columns(document: Candidate) -> str:
    columns = document["metadata"].get("columns", ())
    return "\n".join(filter(None, (" | ".join(columns), document["text"])))


def _format_passage(number: int, document: Candidate, text: str) -> str:
    source = _attribute(document["source"])
    other_names = format_other_names([_attribute(name) for name in document["metadata"].get("also_as", ())])
    source += f" ({other_names})" if other_names else ""
    page = f' page="{document["page"]}"' if document["page"] is not None else ""
    body = "\n".join(f"| {line}" for line in text.splitlines() if line.strip())
    return f'<passage n="{number}" source="{source}"{page}>\n{body}\n</passage>'


def _attribute(name: str) -> str:
    return re.sub(r"[\"<>]", "'", " ".join(neutralize(name).split()))[-120:]


def _length_limit(lengths: Sequence[int], budget: int) -> int:
    """Return the maximum length of a passage such that all fit into the budget.

    `lengths` are in ascending order; what short passages do not need is left to the longer ones.
    """
    remaining = budget
    for index, length in enumerate(lengths):
        share = remaining // (len(lengths) - index)
        if length > share:
            return share
        remaining -= length
    return budget


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    head = text[: max(0, limit - len(CUT))]
    ends = [match.end() for match in re.finditer(r"[.!?](?=\s)", head)]
    # Cut after the last full sentence, unless that leaves half of the limit unused.
    if ends and ends[-1] > len(head) // 2:
        return head[: ends[-1]] + CUT
    return head.rpartition(" ")[0] + CUT if " " in head else head + CUT
