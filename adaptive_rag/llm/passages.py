"""The documents as a prompt shows them: numbered, fenced, and unable to pass for any other part of it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from adaptive_rag.state import Candidate
from adaptive_rag.text.markers import respell_for_model
from adaptive_rag.text.places import format_other_names
from adaptive_rag.text.visible import plain

CUT = " …"

# Everything that Python or a terminal treats as the end of a line.
_LINE_END = re.compile("\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_ROLES = (
    r"system|user|assistant|agent|human|ai|developer|tool|function|instructions?|context|passages?|question|answer|"
    r"input|output|response|prompt"
)
_ROLE = re.compile(rf"(?im)^(?P<lead>[\s>#*_\-|\"'(\[]*)(?P<role>{_ROLES})(?P<tail>[\s*_\])\"']*):")
_TEMPLATE = re.compile(
    r"\[(?P<inside>\s*/?\s*(?:INST|SYS|SYSTEM|USER|ASSISTANT|PASSAGE[^\]]{0,20})\s*)\]", re.I
)
# "a < b" is not a tag; "<b", "</", "<|" and "< passage" are.
_OPENING = re.compile(r"<(?=[a-z/!?|<]|\s*/|\s*passage)", re.IGNORECASE)
_CLOSING = re.compile(r"‹(?P<inside>[^<>‹›\n]{0,200})>")
_LINK = re.compile(r"\]\((?=\s*(?:\w+:|//))")
_RULE = re.compile(r"(?m)^\s*(?:[-=_*~#]{3,}|#{1,6}(?=\s))")
# Letters of Greek and Cyrillic that look like those of "system" and the other roles.
_LOOKALIKE_LETTERS = str.maketrans(
    "АВЕЅІЈКМНОРСТУХаеѕіјорсухԁԛԝһӏтмнкᴀᴄᴇɪᴏᴘѕᴛᴜᴠΑΒΕΖΗΙΚΜΝΟΡΤΥΧορνυі",
    "ABESIJKMHOPCTYXaesijopcyxdqwhltmhkaceiopstuvABEZHIKMNOPTYXopvui",
)
_LOOKALIKES = str.maketrans("＜＞［］【】〈〉＃：｜ǀ⟦⟧﹤﹥", "<>[][]<>#:||[]<>")


def format_passages(documents: Sequence[Candidate], budget: int) -> str:
    """Write documents as numbered passages for a prompt, in at most about `budget` characters of text.

    [n] is `documents[n - 1]`. Every line of a document's text is quoted with "| ", and whatever could
    close the fence, pass for a marker or open a role's turn is respelled, so that everything between the
    fences is the document's own text. A passage that begins inside a table has the names of the table's
    columns above it. If the budget is short, the longest passages are cut; none is left out, since the
    numbers must stay valid.
    """
    texts = [neutralize(_with_columns(document)) for document in documents]
    limit = _share(sorted(map(len, texts)), budget)
    return "\n\n".join(
        _fence(number, document, _cut(text, limit))
        for number, (document, text) in enumerate(zip(documents, texts, strict=True), start=1)
    )


def cut_texts(documents: Sequence[Candidate], characters: int | None) -> list[Candidate]:
    """Return the documents with each text cut to a number of characters; None leaves them whole."""
    return [{**document, "text": document["text"][:characters]} for document in documents]


def neutralize(text: str) -> str:
    """Respell what a model could take for a fence, a marker, a role or a template's token.

    Invisible characters are dropped, so that a prompt says no more than the document shows.
    """
    text = plain(_LINE_END.sub("\n", text)).translate(_LOOKALIKES)
    text = _CLOSING.sub(r"‹\g<inside>›", _OPENING.sub("‹", text))
    text = _LINK.sub("] (", text)
    # Before the fences of code are replaced, while code still looks like code.
    text = respell_for_model(text)
    text = text.replace("```", "'''").replace("~~~", "---")
    text = _TEMPLATE.sub(r"(\g<inside>)", text)
    return _RULE.sub("—", _end_roles(text))


def _end_roles(text: str) -> str:
    """Replace the colon of "System:" at the start of a line, even if letters of another script spell it."""
    colons = {match.end() - 1 for match in _ROLE.finditer(text.translate(_LOOKALIKE_LETTERS))}
    return (
        "".join(" –" if at in colons else character for at, character in enumerate(text)) if colons else text
    )


def _with_columns(document: Candidate) -> str:
    columns = document["metadata"].get("columns", ())
    return "\n".join(filter(None, (" | ".join(columns), document["text"])))


def _fence(number: int, document: Candidate, text: str) -> str:
    source = _attribute(document["source"])
    others = format_other_names([_attribute(name) for name in document["metadata"].get("also_as", ())])
    source += f" ({others})" if others else ""
    page = f' page="{document["page"]}"' if document["page"] is not None else ""
    body = "\n".join(f"| {line}" for line in text.splitlines() if line.strip())
    return f'<passage n="{number}" source="{source}"{page}>\n{body}\n</passage>'


def _attribute(name: str) -> str:
    return re.sub(r"[\"<>]", "'", " ".join(neutralize(name).split()))[-120:]


def _share(lengths: Sequence[int], budget: int) -> int:
    """Return the greatest length of a passage at which all fit; short ones leave their room to long ones."""
    left = budget
    for index, length in enumerate(lengths):
        share = left // (len(lengths) - index)
        if length > share:
            return share
        left -= length
    return budget


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    head = text[: max(0, limit - len(CUT))]
    ends = [match.end() for match in re.finditer(r"[.!?](?=\s)", head)]
    # Cut after the last full sentence, unless that wastes half of the room.
    if ends and ends[-1] > len(head) // 2:
        return head[: ends[-1]] + CUT
    return head.rpartition(" ")[0] + CUT if " " in head else head + CUT
