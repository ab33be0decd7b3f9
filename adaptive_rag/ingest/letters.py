"""Divides a text of several letters or mails into records, so that each chunk has one author."""

from __future__ import annotations

import re

from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.text.letters import find_letters

_SUBJECT = re.compile(r"^Subject:[ \t]*([^\n]+)", re.MULTILINE)


def divide_letters(builder: TextBuilder) -> None:
    """Make each letter or mail in a text a record, with its author and subject as for a mail.

    A letter without a subject has the first line of the text above all letters. Texts with records or with
    headings below the first letter stay as they are: a manual may show two mails as an example.
    """
    text = builder.text
    letters = [] if builder.has_records else find_letters(text)
    authors = [letter.author for letter in letters if letter.author]
    if len(authors) < 2 or builder.has_heading_after(letters[0].body):
        return
    preface = text[: letters[0].start].strip()
    title = preface.split("\n", 1)[0]
    if preface:
        builder.mark_record(text.index(preface), text.index(preface) + len(preface), {})
    ends = [*(letter.start for letter in letters[1:]), len(text)]
    for letter, end in zip(letters, ends, strict=True):
        header = text[letter.header : letter.body]
        subject = _SUBJECT.search(header)
        metadata = {"subject": subject[1].strip() if subject else title}
        if letter.author:
            metadata["from"] = letter.author
        builder.mark_heading(letter.author or header.strip().split("\n", 1)[0], 1, offset=letter.header)
        builder.mark_record(letter.header, letter.header + len(text[letter.header : end].rstrip()), metadata)
