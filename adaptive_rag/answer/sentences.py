"""The sentences of the passages that an answer may quote: trimmed, graded and without duplicates."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from adaptive_rag.answer.outline import Paragraph, paragraph_at, read_outline
from adaptive_rag.answer.passages import parts_at, text_at
from adaptive_rag.answer.units import Unit, read_units
from adaptive_rag.answer.wording import DENIALS, MONTHS, WEEKDAYS
from adaptive_rag.deadline import in_time
from adaptive_rag.models.onnx import Vectors
from adaptive_rag.optional import attempt
from adaptive_rag.source import Sentences
from adaptive_rag.state import Candidate
from adaptive_rag.text.markdown import sub_in_prose
from adaptive_rag.text.markers import hides_marker
from adaptive_rag.text.tables import find_tables, is_row
from adaptive_rag.text.words import stem, terms, words

_BULLET = re.compile(
    r"^(?:[-*•‣▪◦·–—]|\(?(?:\d{1,3}|[a-z]|[A-Z](?=\))|[ivx]{1,4})[.)])\s+|"
    # the number of a clause: "5.1 The landlord keeps the roof."; not "5.1 percent of"
    r"^\d{1,2}(?:\.\d{1,2})+\.?\s+(?=[A-Z])"
)
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
# The marks of a quotation in Markdown: "> It is so." on each line
_QUOTE_MARK = re.compile(r"(?:\A|\s*\n)[ \t]*>(?:[ \t]*>)*[ \t]*|\s*\n[ \t]*>[ \t]*\Z")
# Reference marks that are removed: "built in 1957[3]", "the wall. [6, 7]", "the wall.³". "as is shown in [3]"
# keeps its reference.
_NOTE_MARK = re.compile(
    r"(?<=[^\W_])\[(?:\d{1,3}|[a-z]|note \d+)\]|"
    r"(?<=[\w.,;:!?”\"’')])\[(?:citation needed|not in citation given)\]|"
    # not "O((log N)³)" and "[m]²", where it is a power or a unit
    r"(?<=[.,;:!?”\"])[¹²³⁴-⁹⁰]+|"
    r"(?P<before>[\w’'-]+|[.,;:!?”\"’')])[ \t]?(?:\[\d{1,3}(?:[,–-][ ]?\d{1,3})*\])+"
)
_SPEAKS_OF = frozenset("in of by see cf from and or to with at eq ref refs than".split())
# A line that opens a code block, or the beginning of a link's definition: a marker after it would become part
# of the code or the definition in Markdown.
_UNFINISHED = re.compile(r"```|~~~|\[[^\n]*\]:$")
_ANSWER_LABEL = re.compile(r"^(?:A|Answer)\s*:\s*", re.I)
# Letters of scripts that set no blanks between words
_UNSPACED = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]")
_UNSPACED_END = re.compile(r"[。！!.…][」』”’）)]*$")
_END = re.compile(r"[.!…][\"'”’)\]»*_]*(?:\s*\[\d+\])*$|[.!]$")
_OPENING = re.compile(r"^[\"'“‘(\[|*_`]*[^\W_]")
_CONTENTS = re.compile(
    r"(?:\.\s?){4,}|(?:…|\.{2,})\s*\d*\s*$|^\s*(?:chapter|section|part)\s+[\dIVXLC]+\b.{0,60}$|"
    r"^(?:\d+\s+)?\d+(?:\.\d+)+\s+[A-Z][^.!?]*$",
    re.IGNORECASE,
)
_REFERRING = re.compile(
    r"^[\"“‘(]?(?:it|its|this|that|these|those|they|their|he|his|she|her|such|both|another|others|here|"
    r"there(?! (?:is|are|was|were|used|had|has|have|will|can|may)\b)|then|thus|hence|therefore|however|"
    r"moreover|furthermore|nevertheless|also|but|yet|so|and|or|as a result|for (?:example|instance)|"
    r"the (?:latter|former|same|second|others?|following)|(?:all|some|most|each|one|among) (?:of )?these|"
    r"(?:all|most|part) of (?:this|it|them)|in addition|additionally|consequently|conversely|"
    r"(?:for|in|by|of|to|with|from) (?:this|these|that|those|it|him|her|them)|on the other hand|"
    r"according to (?:him|her|them))\b",
    re.IGNORECASE,
)
# "AI enhances their precision": the word refers to the sentence before.
_EARLY_REFERENCE = re.compile(r"^\w[\w-]* \w+ (?:its|their|them|this|these|those|such|his|her|both)\b", re.I)
# Maximum number of words of a sentence that refers back; a longer one can be understood alone.
_REFERRING_WORDS = 40
_DENIES = re.compile(r"n['’]t\b", re.IGNORECASE)
_CALENDAR = frozenset(map(stem, MONTHS | WEEKDAYS))
# Two sentences repeat each other if their cosine, or the shared part of the shorter one's words, is this
# high.
SAME_MEANING, SAME_WORDS = 0.93, 0.8


@dataclass(frozen=True, eq=False)
class AnswerSentence:
    """A sentence of a passage, or another piece that is quoted like one."""

    document: int  # index of the passage
    position: int  # index among the passage's sentences
    start: int
    end: int
    text: str  # for reading: the text of the span without reference marks, or a unit in words
    vector: Vectors  # (dimension,), unit length
    terms: tuple[str, ...]  # stems of the content words, with repeats
    quality: float  # 1 for a full sentence, 0.5 for a readable piece, 0 if it should not be shown
    opens: bool  # whether it is the first of its source or of a question's answer: it needs nothing before it
    continues: bool  # whether it is a later sentence of a question's answer
    alone: bool = False  # whether it is a row, code or a message: it needs no context, and names its speaker
    speaker: str = ""  # the speaker of a message
    paragraph: int = 0  # index of its paragraph in the passage
    listed: bool = False  # whether it begins a list item
    cells: tuple[tuple[str, str], ...] = ()  # for a table row: pairs of column name and value

    @cached_property
    def refers_back(self) -> bool:
        """Return whether the sentence needs the one before it to be understood ("It was closed.")."""
        if self.opens or self.continues:
            return self.continues
        refers = _REFERRING.match(self.text) or _EARLY_REFERENCE.match(self.text)
        return bool(refers) and len(self.text.split()) <= _REFERRING_WORDS

    @property
    def leads(self) -> bool:
        """Return whether it introduces what follows, as "You need:" does."""
        return self.text.rstrip("*_ ").endswith(":")

    @property
    def is_row(self) -> bool:
        """Return whether it is a table row or a piece of code: it stands alone and is no message."""
        return self.alone and not self.speaker

    @cached_property
    def _numbers(self) -> set[str]:
        """Return its numbers, months and days of the week."""
        return {term for term in self.terms if term[0].isdigit() or term in _CALENDAR}

    @cached_property
    def _denies(self) -> bool:
        return not DENIALS.isdisjoint(words(self.text)) or bool(_DENIES.search(self.text))

    def follows(self, other: AnswerSentence) -> bool:
        """Return whether the sentence comes right after another one and may continue it."""
        after = self.document == other.document and self.position == other.position + 1
        return after and not (self.alone or other.alone)

    def goes_on_from(self, other: AnswerSentence) -> bool:
        """Return whether it follows another one in its paragraph, or in the list that the other leads to."""
        together = self.paragraph == other.paragraph or (other.leads and self.listed)
        return together and self.follows(other)

    def repeats(self, other: AnswerSentence) -> bool:
        """Return whether two sentences say the same, by words or meaning.

        Different numbers or days, names of rows, or a denial in one of them keep them apart.
        """
        if self.cells and other.cells and self.cells[0][1] != other.cells[0][1]:
            return False  # "Saturday: 10:00-14:00" beside "Sunday: 10:00-14:00"
        if self._denies != other._denies:
            return False  # "Dogs are allowed in the garden." beside "Dogs are not allowed after nine."
        mine, theirs = (set(_NUMBER.findall(s.text)) for s in (self, other))
        if self.is_row and len(mine) > 1 and mine <= theirs:
            return True  # "14 January 2015: height 4.83" beside "It was 4.83 metres on 14 January 2015."
        if self._numbers - other._numbers and other._numbers - self._numbers:
            return False  # "The pool costs 24 pounds a month." beside "The gym costs 39 pounds a month."
        if float(self.vector @ other.vector) >= SAME_MEANING:
            return True
        mine, theirs = set(self.terms), set(other.terms)
        return bool(mine and theirs) and len(mine & theirs) / min(len(mine), len(theirs)) >= SAME_WORDS


def collect_sentences(passages: Sequence[Candidate], found: Sequence[Sentences]) -> list[AnswerSentence]:
    """Return the sentences of the passages in order, each span of a source once.

    Passages that overlap share sentences. The copy in the better-ranked passage is kept, unless it was cut at
    the border of a chunk. For a question with its answer, only the answer is quoted, but both are compared.

    Args:
        passages: the passages in rank order.
        found: the sentences of each passage, in the offsets of the passage's own span.
    """
    kept: dict[tuple[str, int], list[AnswerSentence]] = {}
    for index, passage in enumerate(in_time(passages)):
        others = kept.setdefault((passage["source"], _text_number(passages, index)), [])
        for sentence in _sentences_of(index, passage, found[index]):
            # The kept sentences of a source are sorted and never overlap, so one search finds the rival.
            at = bisect_right(others, sentence.start, key=lambda other: other.end)
            rival = others[at] if at < len(others) and others[at].start < sentence.end else None
            if rival is None:
                others.insert(at, sentence)
            elif rival.end - rival.start < sentence.end - sentence.start and rival.quality < sentence.quality:
                others[at] = sentence
                while at + 1 < len(others) and others[at + 1].start < sentence.end:
                    del others[at + 1]
    return sorted((s for group in kept.values() for s in group), key=lambda s: (s.document, s.position))


def _text_number(passages: Sequence[Candidate], index: int) -> int:
    """Return 0 if a passage's offsets fit the source's common text, or the passage's index if they do not.

    Passages from an app's own retriever may all start at 0 although they are different parts of one source.
    """
    passage = passages[index]
    for other in passages[:index]:
        start, end = max(passage["start"], other["start"]), min(passage["end"], other["end"])
        overlap = passage["source"] == other["source"] and start < end
        if overlap and text_at(passage, start, end) != text_at(other, start, end):
            return index
    return 0


def _sentences_of(index: int, passage: Candidate, found: Sentences) -> Iterator[AnswerSentence]:
    """Trim and grade the sentences of a passage; skip those that are empty afterwards."""
    answer = _answer_start(passage)
    asked = [i for i, (_, end) in enumerate(found.spans.tolist()) if end <= answer]
    asked_terms = terms(text_at(passage, passage["start"], answer))
    outline = read_outline(passage)
    units = list(_units_of(index, passage, found, outline))
    headers = attempt("units", partial(_headers, passage), set[int]())
    yield from units
    for position, (start, end) in enumerate(found.spans.tolist()):
        if any(start < unit.end and unit.start < end for unit in units):
            continue
        start, end = max(start, passage["start"], answer), min(end, passage["end"])
        text = text_at(passage, start, end)
        sections = (part["section"] for part in parts_at(passage, start, end) if end <= part["end"])
        heading = _leading_heading(text, next(sections, passage["section"]))
        bullet = _leading_bullet(text[heading:])
        text = text[heading + bullet :]
        start += heading + bullet + len(text) - len(text.lstrip())
        text = text.strip()
        if not any(character.isalnum() for character in text) or _UNFINISHED.match(text):
            continue
        if hides_marker(text) or (is_row(text) and start in headers):
            continue
        opens = start == answer
        shown = sub_in_prose(_NOTE_MARK, _without_note, _QUOTE_MARK.sub(" ", text).strip())
        vector = np.asarray(found.vectors[position], dtype=np.float32)
        if asked:
            # "Yes, until nine." can only be understood together with its question.
            vector = vector + np.asarray(found.vectors[asked], dtype=np.float32).mean(axis=0)
            vector = vector / np.linalg.norm(vector)
        end = start + len(text)
        paragraph = paragraph_at(outline, start)
        if answer:
            quality = max(_quality(shown), 0.6)  # an answer may be short: "At nine."
        else:
            # "pandas is faster": a sentence begins below a heading, even with a small letter.
            begins = start == outline[paragraph].start and paragraph > 0 and outline[paragraph - 1].heads
            quality = _quality(shown, in_list=bullet > 0, begins=begins)
            quality = 0.0 if outline[paragraph].heads else quality
        yield AnswerSentence(
            document=index,
            position=position,
            start=start,
            end=end,
            text=shown,
            vector=vector,
            terms=(*asked_terms, *terms(shown)),
            quality=quality,
            opens=opens,
            continues=bool(answer) and not opens,
            paragraph=paragraph,
            listed=bullet > 0,
        )


def _units_of(
    index: int, passage: Candidate, found: Sentences, outline: Sequence[Paragraph]
) -> Iterator[AnswerSentence]:
    """Yield the rows, lists, code and messages of a passage, with the mean of their sentences' vectors."""
    spans = found.spans.tolist()
    for unit in attempt("units", partial(read_units, passage, spans), list[Unit]()):
        inside = [i for i, (start, end) in enumerate(spans) if start < unit.end and unit.start < end]
        if not inside or hides_marker(unit.text):
            continue
        vector = np.asarray(found.vectors[inside], dtype=np.float32).mean(axis=0)
        yield AnswerSentence(
            document=index,
            position=inside[0],
            start=unit.start,
            end=unit.end,
            text=unit.text,
            vector=vector / (np.linalg.norm(vector) or 1.0),
            terms=tuple(terms(unit.text)),
            quality=unit.quality,
            opens=unit.alone,
            continues=False,
            alone=unit.alone,
            speaker=unit.speaker,
            cells=unit.cells,
            paragraph=paragraph_at(outline, unit.start),
        )


def _headers(passage: Candidate) -> set[int]:
    """Return where the tables of a passage name their columns."""
    columns = tuple(passage["metadata"].get("columns", ()))
    tables = find_tables(passage["text"], columns)
    return {
        passage["start"] + table.start
        for table in tables
        if table.columns and (not table.rows or table.start < table.rows[0].start)
    }


def _without_note(mark: re.Match[str]) -> str:
    before: str = mark["before"] or ""
    return mark[0] if before.lower() in _SPEAKS_OF else before


def _answer_start(passage: Candidate) -> int:
    """Return where the answer begins in a question-answer chunk; 0 for any other chunk."""
    metadata, text = passage["metadata"], passage["text"]
    if metadata.get("kind") != "qa":
        return 0
    answer, question = metadata.get("answer"), str(metadata.get("question", ""))
    at = text.rfind(answer) if isinstance(answer, str) and answer else -1
    if at < 0:
        # A long answer is split into several chunks, and only the first one contains the question.
        at = len(question) if text.startswith(question) else 0
    return passage["start"] + at


def _leading_heading(text: str, section: str | None) -> int:
    """Return the length of a heading that the splitter left in front of a sentence."""
    first, newline, rest = text.partition("\n")
    rest = rest.lstrip()
    if newline and rest and len(first) < 80 and not re.search(r"[.,;:!?\-–]\s*$", first):
        capitals = [word[0].isupper() for word in re.findall(r"[^\W\d_]{4,}", first)]
        if rest[0].isupper() and capitals and all(capitals):
            return len(text) - len(rest)
    heading = (section or "").strip().rpartition(" > ")[2]
    if heading and text.startswith(heading) and re.match(r"\s+[A-Z]", text[len(heading) :]):
        return len(heading)
    return 0


def _leading_bullet(text: str) -> int:
    """Return the length of a bullet or number of a list item, or of the "A:" before an answer."""
    stripped = text.lstrip()
    mark = _BULLET.match(stripped) or _ANSWER_LABEL.match(stripped)
    return len(text) - len(stripped) + (mark.end() if mark else 0)


def _quality(text: str, *, in_list: bool = False, begins: bool = False) -> float:
    """Grade how well a text reads as a sentence: 1 for a full one, 0.5 for a readable one, 0 for none."""
    words = re.findall(r"[^\W\d_]+", text)
    letters = sum(map(str.isalpha, text))
    if text.startswith("#") or text.endswith(("?", "？")) or _CONTENTS.search(text):
        return 0.0
    if 2 * len(_UNSPACED.findall(text)) > letters:
        return 0.6 if _UNSPACED_END.search(text) else 0.2
    if len(words) < 2 or len(re.findall(r"\w+", text)) < 3 or letters < 0.45 * len(text):
        return 0.0
    opening = text.lstrip("\"'“‘([|*_")
    # "49 the method of exhaustion." is a page number and the rest of a sentence; "231 people came." is a
    # sentence.
    numbered = re.match(r"\d+\s+(?:the|an?|of|in|and|or|to|is|was|by|for|with|that|which)\b", opening)
    starts_low = (opening[:1].islower() and not begins) or opening.startswith("Where ") or bool(numbered)
    capitals = sum(word[0].isupper() for word in words if len(word) > 2)
    if not _END.search(text):
        # A list item may lack its full stop; a heading has mostly capitalised words, or begins with a number.
        heading = len(words) < 14 and capitals > 0.6 * sum(len(word) > 3 for word in words)
        if heading or re.match(r"\d+\s", opening) or text.endswith((":", ",", ";")):
            return 0.0
        return 0.5 if in_list and not starts_low else 0.2
    if len(words) < 8 and capitals == sum(len(word) > 2 for word in words) > 1:
        return 0.2  # "The School of Pythagoras.": a running head
    shouted = sum(word.isupper() and len(word) > 1 for word in words) > 0.6 * len(words)
    if starts_low or shouted or re.match(r"[A-Z]{3,}[A-Z. ]*:", opening) or not _OPENING.match(text):
        return 0.2
    # A word of 26 letters is probably several words that lost their blanks.
    if max(map(len, words)) > 25:
        return 0.5
    return 1.0 if len(words) > 5 else 0.7 if len(words) > 3 else 0.6
