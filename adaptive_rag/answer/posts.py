"""Finds the authors of mails, posts and reviews in a text: by their headers, and by who sent a mail."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from adaptive_rag.answer.speakers import BOLD_LABEL, STARS, in_first_person
from adaptive_rag.state import Candidate
from adaptive_rag.text.letters import author_in, find_letters, header_spans

# A letter's salutation, which a chat message and "Sir John" do not have.
LETTER = re.compile(r"^[ \t]*(?:Dear\b|To the [Ee]ditor)", re.MULTILINE)
# All below "--" in a mail
_FOOTER = re.compile(r"^-- ?\n[\s\S]*\Z", re.MULTILINE)
_ASKS_OF_MAIL = re.compile(
    r"\b(?:e-?mails?|mails?|messages?|letters?|wrote|written|writes?|sent|sends?)\b", re.I
)
# A line of another mail
MARKED_LINE = re.compile(r"^[ \t]*>[^\n]*", re.MULTILINE)
# Lines of another mail that are marked, with blank lines between them
_MARKED_LINES = re.compile(r"^(?:[ \t]*>[^\n]*(?:\n|\Z)(?:[ \t]*\n(?=[ \t]*>))?)+", re.MULTILINE)
# The time of a post: "3 Nov 2023, 20:40", "2 days ago"; a year alone is part of a title, and "Jun P." a name.
_WHEN = re.compile(
    r"\b\d{1,2}:\d\d\b|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b|\b\d{4}-\d\d-\d\d\b|\b\w+ \w+ ago\b|"
    r"\b(?:\d{1,2}(?:st|nd|rd|th)? )?(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|"
    r"Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\b(?! [A-Z]\.)(?: \d{1,2}\b)?"
    r"(?:,? \d{4}\b)?",
)
# "On Thu, 30 May 2024 at 22:41, Ann Lee wrote:"
_WEEKDAY = re.compile(r"(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?\.?", re.IGNORECASE)
# "## Follow-up 8 February" begins a section; "## Ann, 8 February" a post.
_DATED_HEADING = re.compile(r"#+ +[^\W\d_][\w-]* +\d{1,2} +[^\W\d_]+(?: \d{4})? *$")
# "--- Comment card, Friday ---" begins what somebody else wrote.
_FRAMED = re.compile(r"[ \t]*([-=*_~])\1+ .*\w.* \1{2,}[ \t]*")
# Separators in a header, and words before or after a name.
_PARTS = re.compile(
    r"[\[\](){}|·•,;–—]|\s-\s|\b(?:posted|written|reviewed|review|by|on|at|wrote|said)\b:?", re.IGNORECASE
)
# What a numbered heading and a salutation begin with.
_NO_AUTHOR = re.compile(r"\d+[.)]?\s|(?:Dear|Hello|Hi)\b")
# A header is shorter than this, in characters, and a name in it has at most this many words.
LONGEST_HEADER, NAME_WORDS = 80, 4


def asks_of_mail(question: str) -> bool:
    """Return whether the headers of a mail may answer a question, such as who sent it."""
    return bool(_ASKS_OF_MAIL.search(question))


def unsaid_spans(text: str) -> list[tuple[int, int]]:
    """Return the spans that nobody says in a mail or letter: headers, and what stands below "--"."""
    return [*header_spans(text), *(match.span() for match in _FOOTER.finditer(text))]


def find_posts(text: str, paragraphs: Sequence[int], *, is_mail: bool) -> list[tuple[int, str | None]]:
    """Return where each mail or post starts, and its author; None where what follows is nobody's.

    Two headers like "Lunch (12:30)" are not enough: without stars, at least half of the posts must be in the
    first person. One name alone is the header of pages, and a date above a salutation is a letter's. In a
    mail, one header may be that of a mail that it quotes. `paragraphs`: where the paragraphs start.
    """
    headers = [(letter.header, letter.body, letter.author) for letter in find_letters(text)]
    rated = [bold for bold in BOLD_LABEL.finditer(text) if STARS.search(bold["label"])]
    headers += [(bold.start(), bold.end(), name) for bold in rated if (name := _read_header(bold["label"]))]
    known = {start for start, *_ in headers}
    for start in paragraphs:
        line = text[start : start + LONGEST_HEADER].split("\n", 1)[0]
        if start not in known and len(line) < LONGEST_HEADER:
            name = _read_header(line)
            if name or _FRAMED.fullmatch(line):
                headers.append((start, start + len(line), name))
    headers.sort()
    ends = [*(start for start, *_ in headers[1:]), len(text)]
    posts = [
        (start, below, name, text[below:end])
        for (start, below, name), end in zip(headers, ends, strict=False)
        if start in known or not LETTER.search(text, below, end)
    ]
    has_stars = any(STARS.search(text, start, below) for start, below, _ in headers)
    in_first = sum(in_first_person(post) for *_, post in posts)
    has_authors = is_mail or len({name for _, _, name, _ in posts if name}) > 1
    is_discussion = has_authors and (has_stars or 2 * in_first >= len(posts))
    return list(_without_quotes(text, [post[:3] for post in posts])) if is_discussion else []


def _without_quotes(
    text: str, posts: Sequence[tuple[int, int, str | None]]
) -> Iterator[tuple[int, str | None]]:
    """Yield the starts and authors of posts; lines that a post quotes are those of the header above them."""
    author: str | None = None
    ends = [*(start for start, *_ in posts[1:]), len(text)]
    for (start, below, name), end in zip(posts, ends, strict=False):
        yield start, name
        is_marked = text[start:below].lstrip().startswith(">")
        quotes = list(_MARKED_LINES.finditer(text, start if is_marked else below, end))
        is_header_of_quote = bool(quotes) and quotes[0].start() <= below + 1
        if not is_header_of_quote:
            author = name
        for i, quote in enumerate(quotes):
            if i or not is_header_of_quote:
                yield quote.start(), None
            yield quote.end(), author


def sender_of(passage: Candidate) -> str | None:
    """Return who sent the mail that a passage is part of, if it is in the first person."""
    metadata = passage["metadata"]
    sender = metadata.get("from")
    if not isinstance(sender, str) or "subject" not in metadata or metadata.get("quoted"):
        return None
    own_text = passage["text"]
    for start, end in reversed(sorted(unsaid_spans(own_text))):
        own_text = own_text[:start] + own_text[end:]
    return author_in(sender) if in_first_person(MARKED_LINE.sub("", own_text)) else None


def _read_header(line: str) -> str | None:
    """Return the author from a post's header: "5 stars, Anneke V., January".

    "Valid from 1 May 2026." is a sentence, "10 Plan 2030" and "1. Fees from 1 March" are headings, and
    "| Kind | July |" the names of a table's columns; all give None.
    """
    if line.lstrip().startswith("|"):
        return None
    stars = STARS.search(line)
    if not stars and (not _WHEN.search(line) or _DATED_HEADING.match(line)):
        return None
    without_date = _WHEN.sub(" | ", STARS.sub(" | ", line))
    parts = [part.strip(' \t"“”:#*_-') for part in _PARTS.sub("|", without_date).split("|")]
    names = [part for part in parts if any(map(str.isalpha, part)) and not _WEEKDAY.fullmatch(part)]
    if not names or len(names[0].split()) > NAME_WORDS or _NO_AUTHOR.match(names[0]):
        return None
    return None if line.rstrip()[-1:] in ("?!;" if stars else ".?!;") else names[0]
