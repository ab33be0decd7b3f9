"""Splits text into sentences; chunk borders, sentence vectors and extractive answers all use this."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, pairwise

from adaptive_rag.text.speech import MESSAGE
from adaptive_rag.text.tables import is_row


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# never end a sentence, whatever follows
_TITLES = _words(
    "mr mrs ms mx dr prof st mt sr fr rev hon gen col capt cpt lt sgt maj cmdr adm gov sen rep pres "
    "messrs mme mlle hr ing dipl e.g i.e eg ie cf vs viz resp approx ca c ibid op loc q.v d.h z.b u.a bzw "
    "incl excl inkl exkl mio mrd vgl "
    "jan feb mar apr jun jul aug sep sept oct nov dec"
)
# abbreviations only before a number, Arabic or Roman: "no. 5", but "He said no."
_NUMBERED = _words(
    "no nos nr fig figs eq eqs eqn sec secs sect ch chap chaps art arts vol vols p pp pg para ref refs tab "
    "app bk lib prop thm ex ed eds ver v s rs tel ext max min abs ziff kap bd rn"
)
# the names of months in German, which follow the day: "am 3. März"
_MONTHS = _words("januar jänner februar märz april mai juni juli august september oktober november dezember")
# may end a sentence, and do if a common first word of a sentence follows
_EITHER = _words(
    "etc al inc ltd co corp bros jr esq dept univ est assn a.m p.m b.c a.d b.c.e c.e u.s u.k u.n e.u u.s.a "
    "d.c ph.d m.d b.a m.a b.sc m.sc ll.d n.b p.s"
)
_OPENINGS = _words(
    "a after all although an and another as at because before both but by during each even every few first "
    "for from had has have he her here his how however i if in it its later many most my nevertheless no "
    "nor not now of on once one only or our other others she since so some still such than that the their "
    "then there therefore these they this those though thus to today under until was we were what when "
    "where whether which while who why will with you your"
)
# like _OPENINGS, but only after a letter that is a name: "in Zone A. Can I stay?"; not "the U.S. Should"
_ASKING = _words("are can could did do does is must shall should would")

_PARAGRAPH = re.compile(r"\n[ \t\f\v]*(?:\n[ \t\f\v]*)+")
_BULLET = re.compile(r"[ \t]*(?:[-*+•▪◦‣·–—>]|#{1,6}|\|)[ \t]")
_NUMBER = re.compile(r"[ \t]*\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{2,5})[.)][ \t]")
# a wrapped line that begins with "R. Tolland" is not a list item
_INITIAL = re.compile(r"[ \t]*[A-Z]\.[ \t]+[A-Z]")
_CLOSED = re.compile(r"[.!?:;,…][\"'”’»)\]]*\s*$")
_LABEL = re.compile(r"[^\s:][^:\n]{0,40}: ")
_RULE = re.compile(r"[ \t]*(?:[-=*_~#]{3,}|```.*)[ \t]*")
# a terminator, the closing quotes and brackets after it, and reference marks after these: ".” [6]"
_END = re.compile(
    r"(?<![.!?…])(?P<mark>[.!?…]++)(?P<close>[)\]}\"'”’»]*+)"
    r"(?:[ \t]?\[\d{1,3}(?:[,–-][ ]?\d{1,3})*\])*(?=\s|$)"
    r"|[。！？]+[」』”’）]*"
)
_LAST_WORD = re.compile(r"[^\W_](?:[\w.&’'-]*\w)?$")
_NEXT_WORD = re.compile(r"\s*(?P<open>[(\[{\"'“‘«¿¡*_]*)(?P<word>[\w’']*)")
_ROMAN = re.compile(r"[IVXLCDM]+$")
# "part no. BF-31"
_CODE = re.compile(r"[A-Z]{1,4}-?\d")
# the word before a full stop is searched for this many characters back
_REACH = 40
# in characters
_LONGEST_ROW = 300


def sentence_spans(text: str, offset: int = 0) -> list[tuple[int, int]]:
    """Return the span of each sentence in `text`, without the blanks around it.

    Spans are shifted by `offset`, so `sentence_spans(chunk["text"], chunk["start"])` has the same offsets
    as the chunk's own span. They are in order, never overlap and are never empty. A heading, a list item, a
    table row, a chat message and a line "label: value" are each a sentence.
    """
    return list(iter_sentences(text, offset))


def iter_sentences(text: str, offset: int = 0) -> Iterator[tuple[int, int]]:
    """Yield the spans of `sentence_spans` one by one, for texts as long as a book."""
    return (span for spans, _ in iter_blocks(text, offset) for span in spans)


def iter_blocks(text: str, offset: int = 0) -> Iterator[tuple[list[tuple[int, int]], bool]]:
    """Yield the sentences of each block, and whether the block is a list item or table row."""
    for start, end in _blocks(text):
        block = text[start:end].strip("\n")
        row = is_row(block)
        # full stops in a table row end no sentence; a long row may be prose with "{xx | x is a string}" in it
        ends = () if row and end - start <= _LONGEST_ROW else _sentence_ends(text, start, end)
        spans = [_strip(text, left, right) for left, right in pairwise((start, *ends, end))]
        if told := [(a + offset, b + offset) for a, b in spans if any(map(str.isalnum, text[a:b]))]:
            yield told, row or bool(_BULLET.match(block) or _NUMBER.match(block))


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Yield the blocks that no sentence crosses: paragraphs, list items, headings, labelled lines."""
    start = 0
    for gap in chain(_PARAGRAPH.finditer(text), (None,)):
        end = gap.start() if gap else len(text)
        if start < end:
            yield from _split_lines(text, start, end)
        start = gap.end() if gap else end


def _split_lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    if text.find("\n", start, end) < 0:
        yield start, end
        return
    lines = text[start:end].split("\n")
    width = max(map(len, lines))
    position = begin = start
    for line, following in pairwise(lines):
        position += len(line) + 1
        if _ends_line(line, following, width):
            yield begin, position
            begin = position
    yield begin, end


def _ends_line(line: str, following: str, width: int) -> bool:
    """Tell whether a line was ended on purpose, rather than wrapped."""
    # "there were | 13. The sea" is not a list: its first line neither ends a sentence nor is an item
    if _NUMBER.match(following) and (
        _NUMBER.match(line) or (_CLOSED.search(line) and not _INITIAL.match(following))
    ):
        return True
    if MESSAGE.match(following) or (is_row(line) and is_row(following)):
        return True
    if _BULLET.match(following) or _RULE.fullmatch(following) or _RULE.fullmatch(line):
        return True
    if line.lstrip().startswith("#") or (_LABEL.match(line) and _LABEL.match(following)):
        return True
    word = following.split(maxsplit=1)[:1]
    if not word or word[0][:1].islower():
        return False
    # the next word would have fitted on this line, so the line was ended on purpose
    return len(line.rstrip()) + 1 + len(word[0]) < 0.85 * width


def _sentence_ends(text: str, start: int, end: int) -> Iterator[int]:
    begin = start
    for match in _END.finditer(text, start, end):
        if match.end() >= end:
            return
        if match["mark"] is None or _is_end(text, begin, match):
            yield match.end()
            begin = match.end()


def _is_end(text: str, begin: int, match: re.Match[str]) -> bool:
    """Decide whether a terminator followed by a blank ends its sentence."""
    following = _NEXT_WORD.match(text, match.end())
    assert following is not None  # every part of the pattern may be empty
    word = following["word"]
    if word[:1].islower():
        return False
    if match["mark"] != "." or match["close"]:
        return True
    before = _LAST_WORD.search(text, max(begin, match.start() - _REACH), match.start())
    if before is None:
        return True
    last, opens = before[0], word.lower() in _OPENINGS
    lowered = last.lower()
    if len(word) == 1 and text[following.end() : following.end() + 1] == ".":
        opens = False  # another initial
    opening = text[begin : min(before.start(), begin + _REACH)]
    if opening.strip("([*_# \t\n") == "" and (last.isdigit() or len(last) == 1):
        return False  # the number of a list item: "3. Close the gate."
    if lowered in _TITLES or (last.isdigit() and len(last) < 3 and word.lower() in _MONTHS):
        return False
    numbers = word[:1].isdigit() or _ROMAN.match(word) or _CODE.match(text, following.start("word"))
    if lowered in _NUMBERED and numbers:
        return False
    if len(last) == 1 and last.isalpha():  # an initial, or a name like "plan B"
        opens = opens or word.lower() in _ASKING
        return not word[:1].isdigit() and last != "I" and opens if last.isupper() else opens
    if lowered in _EITHER or re.fullmatch(r"(?:\w\.)+\w", last):
        return opens
    return True


def _strip(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
