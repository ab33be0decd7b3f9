"""Splits text into sentences, for chunk borders, sentence vectors and extractive answers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, pairwise

from adaptive_rag.text.speech import MESSAGE
from adaptive_rag.text.tables import is_row


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Abbreviations that never end a sentence, whatever follows.
_ABBREVIATIONS = _words(
    "mr mrs ms mx dr prof st mt sr fr rev hon gen col capt cpt lt sgt maj cmdr adm gov sen rep pres "
    "messrs mme mlle hr ing dipl e.g i.e eg ie cf vs viz resp approx ca c ibid op loc q.v d.h z.b u.a bzw "
    "incl excl inkl exkl mio mrd vgl "
    "jan feb mar apr jun jul aug sep sept oct nov dec"
)
# Abbreviations only if a number follows, Arabic or Roman: "no. 5", but "He said no."
_BEFORE_NUMBER = _words(
    "no nos nr fig figs eq eqs eqn sec secs sect ch chap chaps art arts vol vols p pp pg para ref refs tab "
    "app bk lib prop thm ex ed eds ver v s rs tel ext max min abs ziff kap bd rn"
)
# German months follow the number of the day: "am 3. März".
_GERMAN_MONTHS = _words(
    "januar jänner februar märz april mai juni juli august september oktober november dezember"
)
# Abbreviations that end a sentence only if a word follows that often begins one.
_MAY_END = _words(
    "etc al inc ltd co corp bros jr esq dept univ est assn a.m p.m b.c a.d b.c.e c.e u.s u.k u.n e.u u.s.a "
    "d.c ph.d m.d b.a m.a b.sc m.sc ll.d n.b p.s"
)
# Words that often begin a sentence.
_SENTENCE_STARTS = _words(
    "a after all although an and another as at because before both but by during each even every few first "
    "for from had has have he her here his how however i if in it its later many most my nevertheless no "
    "nor not now of on once one only or our other others she since so some still such than that the their "
    "then there therefore these they this those though thus to today under until was we were what when "
    "where whether which while who why will with you your"
)
# Words that begin a sentence after a single letter: "in Zone A. Can I stay?", but not "the U.S. Should".
_QUESTION_STARTS = _words("are can could did do does is must shall should would")

_PARAGRAPH = re.compile(r"\n[ \t\f\v]*(?:\n[ \t\f\v]*)+")
_BULLET = re.compile(r"[ \t]*(?:[-*+•▪◦‣·–—>]|#{1,6}|\|)[ \t]")
_NUMBER = re.compile(r"[ \t]*\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{2,5})[.)][ \t]")
# A line that begins with a name such as "R. Tolland" is not a list item.
_INITIAL = re.compile(r"[ \t]*[A-Z]\.[ \t]+[A-Z]")
_CLOSED = re.compile(r"[.!?:;,…][\"'”’»)\]]*\s*$")
_LABEL = re.compile(r"[^\s:][^:\n]{0,40}: ")
_RULE = re.compile(r"[ \t]*(?:[-=*_~#]{3,}|```.*)[ \t]*")
# A terminator, the closing quotes and brackets after it, and the reference marks after those: '.” [6]'.
_END = re.compile(
    r"(?<![.!?…])(?P<mark>[.!?…]++)(?P<close>[)\]}\"'”’»]*+)"
    r"(?:[ \t]?\[\d{1,3}(?:[,–-][ ]?\d{1,3})*\])*(?=\s|$)"
    r"|[。！？]+[」』”’）]*"
)
_LAST_WORD = re.compile(r"[^\W_](?:[\w.&’'-]*\w)?$")
_NEXT_WORD = re.compile(r"\s*(?P<open>[(\[{\"'“‘«¿¡*_]*)(?P<word>[\w’']*)")
_ROMAN = re.compile(r"[IVXLCDM]+$")
# The part number in "part no. BF-31".
_CODE = re.compile(r"[A-Z]{1,4}-?\d")
# The dots of a price list between a name and its value: "Whole costume ........ £18", ". . . . ."
_LEADER = re.compile(r"(?:\.[ \t]?){5,}")
# How many characters before a full stop are searched for the preceding word.
_MAX_LOOKBACK = 40
# In characters. A longer row may be prose that contains "|", as in "{x | x is a string}".
_MAX_ROW_LENGTH = 300


def sentence_spans(text: str, offset: int = 0) -> list[tuple[int, int]]:
    """Return the spans of the sentences in a text, without the blanks around them.

    The spans are in order, never overlap and are never empty. `offset` is added to each, so that
    `sentence_spans(chunk["text"], chunk["start"])` returns spans in the document's text. A heading, a list
    item, a table row, a chat message and a line "label: value" each count as a sentence.

    Indexes store these spans with their vectors, and the reader was trained on such sentences: after a change
    of the rules, older indexes keep the old spans until they are rebuilt.
    """
    return list(iter_sentences(text, offset))


def iter_sentences(text: str, offset: int = 0) -> Iterator[tuple[int, int]]:
    """Yield the spans of `sentence_spans` one by one, for long texts such as books."""
    return (span for spans, _ in iter_blocks(text, offset) for span in spans)


def iter_blocks(text: str, offset: int = 0) -> Iterator[tuple[list[tuple[int, int]], bool]]:
    """Yield the sentence spans of each block, and whether the block is a list item or a table row."""
    for start, end in _blocks(text):
        block = text[start:end].strip("\n")
        is_table_row = is_row(block)
        # A full stop in a table row does not end a sentence.
        is_one_sentence = is_table_row and end - start <= _MAX_ROW_LENGTH
        ends = () if is_one_sentence else _sentence_ends(text, start, end)
        stripped = [_strip(text, first, last) for first, last in pairwise((start, *ends, end))]
        spans = [(a + offset, b + offset) for a, b in stripped if any(map(str.isalnum, text[a:b]))]
        if spans:
            yield spans, is_table_row or bool(_BULLET.match(block) or _NUMBER.match(block))


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of paragraphs, list items, headings and labelled lines; no sentence crosses them."""
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
    """Return whether a line was ended on purpose, rather than wrapped."""
    # "there were" above "13. The sea" is not a list: the first line is neither an item nor a full sentence.
    is_item = _NUMBER.match(line) or _BULLET.match(line)
    follows_item_or_sentence = is_item or (_CLOSED.search(line) and not _INITIAL.match(following))
    if _NUMBER.match(following) and follows_item_or_sentence:
        return True
    if MESSAGE.match(following) or (is_row(line) and is_row(following)):
        return True
    if _BULLET.match(following) or _RULE.fullmatch(following) or _RULE.fullmatch(line):
        return True
    if _LEADER.search(line) or _LEADER.search(following):
        return True
    if line.lstrip().startswith("#") or (_LABEL.match(line) and _LABEL.match(following)):
        return True
    next_word = next(iter(following.split(maxsplit=1)), "")
    if not next_word or next_word[0].islower():
        return False
    # If the next word had fitted on this line, wrapping would have put it there.
    return len(line.rstrip()) + 1 + len(next_word) < 0.85 * width


def _sentence_ends(text: str, start: int, end: int) -> Iterator[int]:
    begin = start
    leaders = _LEADER.finditer(text, start, end)
    leader = next(leaders, None)
    for match in _END.finditer(text, start, end):
        if match.end() >= end:
            return
        while leader and leader.end() <= match.start():
            leader = next(leaders, None)
        if leader and leader.start() <= match.start():
            continue
        if match["mark"] is None or _is_end(text, begin, match):
            yield match.end()
            begin = match.end()


def _is_end(text: str, begin: int, match: re.Match[str]) -> bool:
    """Return whether a terminator that is followed by a blank ends its sentence."""
    following = _NEXT_WORD.match(text, match.end())
    assert following is not None  # the pattern matches an empty text too
    word = following["word"]
    if word[:1].islower():
        return False
    if match["mark"] != "." or match["close"]:
        return True
    before = _LAST_WORD.search(text, max(begin, match.start() - _MAX_LOOKBACK), match.start())
    if before is None:
        return True
    last = before[0]
    lowered = last.lower()
    is_initial = len(word) == 1 and text[following.end() : following.end() + 1] == "."
    is_start = word.lower() in _SENTENCE_STARTS and not is_initial
    text_before = text[begin : min(before.start(), begin + _MAX_LOOKBACK)]
    if not text_before.strip("([*_# \t\n") and (last.isdigit() or len(last) == 1):
        return False  # the number of a list item: "3. Close the gate."
    if lowered in _ABBREVIATIONS or (last.isdigit() and len(last) < 3 and word.lower() in _GERMAN_MONTHS):
        return False
    is_number = word[:1].isdigit() or _ROMAN.match(word) or _CODE.match(text, following.start("word"))
    if lowered in _BEFORE_NUMBER and is_number:
        return False
    if len(last) == 1 and last.isalpha():  # an initial, or a name such as "plan B"
        is_start = is_start or word.lower() in _QUESTION_STARTS
        return is_start and last != "I"
    if lowered in _MAY_END or re.fullmatch(r"(?:\w\.)+\w", last):
        return is_start
    return True


def _strip(text: str, start: int, end: int) -> tuple[int, int]:
    part = text[start:end]
    return end - len(part.lstrip()), start + len(part.rstrip())
