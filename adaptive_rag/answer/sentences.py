"""The sentences of the passages that an answer may quote: trimmed, graded and without duplicates."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from typing import NamedTuple

import numpy as np

from adaptive_rag.answer.grading import grade, has_value
from adaptive_rag.answer.outline import LONGEST_HEADING, Paragraph, paragraph_at, read_outline
from adaptive_rag.answer.passages import parts_at, text_at
from adaptive_rag.answer.units import Unit, read_units
from adaptive_rag.answer.word_lists import DENIALS, MONTHS, WEEKDAYS
from adaptive_rag.deadline import in_time
from adaptive_rag.models.onnx import Vectors
from adaptive_rag.optional import attempt
from adaptive_rag.source import Sentences
from adaptive_rag.state import Candidate, Phrase
from adaptive_rag.text.letters import header_spans
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
    r"(?P<before>(?<![\w’'-])[\w’'-]+|[.,;:!?”\"’')])[ \t]?(?:\[\d{1,3}(?:[,–-][ ]?\d{1,3})*\])+"
)
# Words after which a reference mark is part of the sentence
_BEFORE_REFERENCE = frozenset("in of by see cf from and or to with at eq ref refs than".split())
# A line that opens a code block, or the beginning of a link's definition: in Markdown, a marker after it
# would become part of the code or the definition.
_UNFINISHED = re.compile(r"```|~~~|\[[^\n]*\]:$")
_DOCSTRING = '"""'
_ANSWER_LABEL = re.compile(r"^(?:A|Answer)\s*:\s*", re.I)
# The beginning of a sentence that refers to the one before: "It was closed.", "For this"; not "There is",
# "The following are closed: ..."
_REFERS_BACK = re.compile(
    r"^[\"“‘(]?(?:it|its|this|that|these|those|they|their|he|his|she|her|such|both|another|others|here|"
    r"there(?! (?:is|are|was|were|used|had|has|have|will|can|may)\b)|then|thus|hence|therefore|however|"
    r"moreover|furthermore|nevertheless|also|but|yet|so|and|or|as a result|for (?:example|instance)|"
    r"the (?:latter|former|same|second|others?|following(?![^:]*:(?!\d)))|"
    r"(?:all|some|most|each|one|among) (?:of )?these|(?:all|most|part) of (?:this|it|them)|"
    r"in addition|additionally|consequently|conversely|"
    r"(?:for|in|by|of|to|with|from) (?:this|these|that|those|it|him|her|them)|on the other hand|"
    r"according to (?:him|her|them))\b",
    re.IGNORECASE,
)
# "AI enhances their precision": the third word refers to the sentence before.
_EARLY_REFERENCE = re.compile(r"^\w[\w-]* \w+ (?:its|their|them|this|these|those|such|his|her|both)\b", re.I)
# A sentence with more words can be understood alone, even if it refers back.
_LONGEST_REFERRING = 40
# The beginning of a reply, and the end of one that leaves out what was asked: "The terrace and the bar are."
_REPLY = re.compile(r"\W*(?:yes|no|ja|nein)\b", re.IGNORECASE)
_ENDS_REPLY = re.compile(
    r"\b(?:is|are|was|were|do|does|did|can|could|may|must|should|will|would|has|have)(?: not|n['’]t)?\W*\Z"
)
_CONTRACTED_NOT = re.compile(r"n['’]t\b", re.IGNORECASE)
_CALENDAR = frozenset(map(stem, MONTHS | WEEKDAYS))
# What stands between a name and its value: "Deposit: EUR 450", "MAX_BODY = 262144", "Total £5.00"
_VALUE = re.compile(r"\s*[:=]\s*|\s(?=[£$€\d])")
# Two sentences repeat each other from this cosine on, or from this share of the shorter one's words on.
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
    is_first: bool  # whether its source, or the answer to a question, begins with it
    continues_answer: bool  # whether it is a later sentence of the answer to a question
    standalone: bool = False  # whether it needs no context: a row, code, a message, a name with its value
    is_value: bool = False  # whether it is a name with its value: "Deposit: EUR 450"
    speaker: str = ""  # the speaker of a message
    paragraph: int = 0  # index of its paragraph in the passage
    list_mark: str = ""  # what a list item that it begins is marked with: "-", or its number ("3.", "b)")
    cells: tuple[tuple[str, str], ...] = ()  # for a table row: pairs of column name and value
    caveat: Phrase | None = None  # what is said before it: that it may no longer hold

    @cached_property
    def word_count(self) -> int:
        """Return the number of words, as separated by blanks."""
        return len(self.text.split())

    @cached_property
    def refers_back(self) -> bool:
        """Return whether the sentence needs the one before it to be understood ("It was closed.")."""
        if self.is_first or self.continues_answer:
            return self.continues_answer
        refers = _REFERS_BACK.match(self.text) or _EARLY_REFERENCE.match(self.text)
        return bool(refers) and self.word_count <= _LONGEST_REFERRING

    @property
    def is_reply(self) -> bool:
        """Return whether it begins with yes or no, or leaves out what was asked."""
        return bool(_REPLY.match(self.text) or _ENDS_REPLY.search(self.text))

    @property
    def is_list_item(self) -> bool:
        """Return whether it begins a list item."""
        return bool(self.list_mark)

    @property
    def is_lead_in(self) -> bool:
        """Return whether it introduces what follows, as "You need:" does."""
        return self.text.rstrip("*_ ").endswith(":")

    @property
    def is_row(self) -> bool:
        """Return whether it is a table row or a piece of code."""
        return self.standalone and not self.speaker

    @cached_property
    def _numbers(self) -> set[str]:
        """Return its numbers, months and days of the week."""
        return {term for term in self.terms if term[0].isdigit() or term in _CALENDAR}

    @cached_property
    def is_negated(self) -> bool:
        """Return whether it denies something."""
        return not DENIALS.isdisjoint(words(self.text)) or bool(_CONTRACTED_NOT.search(self.text))

    def comes_right_after(self, other: AnswerSentence) -> bool:
        """Return whether it is the next sentence of the same passage."""
        return self.document == other.document and self.position == other.position + 1

    def follows(self, other: AnswerSentence) -> bool:
        """Return whether it comes right after another sentence and may refer to it."""
        return self.comes_right_after(other) and not (self.standalone or other.standalone)

    def continues(self, other: AnswerSentence) -> bool:
        """Return whether it follows another sentence in its paragraph, or in the list that it introduces."""
        belongs = self.paragraph == other.paragraph or (other.is_lead_in and self.is_list_item)
        return belongs and self.follows(other)

    def repeats(self, other: AnswerSentence) -> bool:
        """Return whether two sentences say the same, by words or meaning.

        They do not if their numbers, their days or the names of their rows differ, or if only one is negated.
        """
        if self.cells and other.cells and self.cells[0][1] != other.cells[0][1]:
            return False  # "Saturday: 10:00-14:00" and "Sunday: 10:00-14:00"
        if self.is_value and other.is_value and _VALUE.split(self.text)[0] != _VALUE.split(other.text)[0]:
            return False  # the same as lines that are not in a table
        if self.is_negated != other.is_negated:
            return False  # "Dogs are allowed in the garden." and "Dogs are not allowed after nine."
        digits, other_digits = (set(_NUMBER.findall(s.text)) for s in (self, other))
        if self.is_row and len(digits) > 1 and digits <= other_digits:
            return True  # "14 January 2015: height 4.83" and "It was 4.83 metres on 14 January 2015."
        if self._numbers - other._numbers and other._numbers - self._numbers:
            return False  # "The pool costs 24 pounds a month." and "The gym costs 39 pounds a month."
        if float(self.vector @ other.vector) >= SAME_MEANING:
            return True
        own_terms, other_terms = set(self.terms), set(other.terms)
        shorter = min(len(own_terms), len(other_terms))
        return shorter > 0 and len(own_terms & other_terms) / shorter >= SAME_WORDS


def collect_sentences(
    passages: Sequence[Candidate], sentences: Sequence[Sentences], *, with_headers: bool = False
) -> list[AnswerSentence]:
    """Return the sentences of the passages in order, each span of a source once.

    Passages that overlap share sentences. The copy in the better-ranked passage is kept, unless it was cut at
    the border of a chunk. For a question with its answer, only the answer is quoted, but both are compared.
    The passages are in rank order, and the spans of their sentences have the offsets of the passage's span.
    The headers of mails and letters are left out, unless `with_headers` is given.
    """
    kept_by_source: dict[tuple[str, int], list[AnswerSentence]] = {}
    for index, passage in enumerate(in_time(passages)):
        kept = kept_by_source.setdefault((passage["source"], _text_number(passages, index)), [])
        headers = [] if with_headers else header_spans(passage["text"])
        for sentence in _read_passage(index, passage, sentences[index]):
            if any(start <= sentence.start - passage["start"] < end for start, end in headers):
                continue
            # The kept sentences of a source are sorted and do not overlap, so at most one must be looked at.
            i = bisect_right(kept, sentence.start, key=lambda other: other.end)
            rival = kept[i] if i < len(kept) and kept[i].start < sentence.end else None
            if rival is None:
                kept.insert(i, sentence)
            elif rival.end - rival.start < sentence.end - sentence.start and rival.quality < sentence.quality:
                kept[i] = sentence
                while i + 1 < len(kept) and kept[i + 1].start < sentence.end:
                    del kept[i + 1]
    return sorted(chain(*kept_by_source.values()), key=lambda s: (s.document, s.position))


def _text_number(passages: Sequence[Candidate], index: int) -> int:
    """Return 0 if a passage's offsets fit the source's common text, or the passage's index if they do not.

    Passages from an app's own retriever may all start at 0 although they are different parts of one source.
    """
    passage = passages[index]
    for other in passages[:index]:
        start, end = max(passage["start"], other["start"]), min(passage["end"], other["end"])
        overlaps = passage["source"] == other["source"] and start < end
        if overlaps and text_at(passage, start, end) != text_at(other, start, end):
            return index
    return 0


def _read_passage(index: int, passage: Candidate, sentences: Sentences) -> Iterator[AnswerSentence]:
    """Yield the units of a passage, and its other sentences, trimmed and graded; skip empty ones."""
    answer = _answer_start(passage)
    in_question = [i for i, (_, end) in enumerate(sentences.spans.tolist()) if end <= answer]
    question_terms = terms(text_at(passage, passage["start"], answer))
    outline = read_outline(passage)
    units = list(_read_units(index, passage, sentences, outline))
    table_headers = attempt("units", partial(_find_table_headers, passage), set[int]())
    yield from units
    for position, (start, end) in enumerate(sentences.spans.tolist()):
        if answer:
            # "At nine.\nteam: Kitchen" may be one sentence; the line below the answer is a unit.
            end = min([end, *(unit.start for unit in units if unit.start > start)])
        if any(start < unit.end and unit.start < end for unit in units):
            continue
        piece = _trim(passage, max(start, passage["start"], answer), min(end, passage["end"]))
        start, text = piece.start, piece.text
        if not any(map(str.isalnum, text)) or _UNFINISHED.match(text) or hides_marker(text):
            continue
        if is_row(text) and start in table_headers:
            continue
        shown = sub_in_prose(_NOTE_MARK, _without_note, _QUOTE_MARK.sub(" ", text).strip()) + piece.closing
        vector = np.asarray(sentences.vectors[position], dtype=np.float32)
        if in_question:
            # "Yes, until nine." can only be understood together with its question.
            vector = vector + np.asarray(sentences.vectors[in_question], dtype=np.float32).mean(axis=0)
            vector = vector / np.linalg.norm(vector)
        paragraph = paragraph_at(outline, start)
        is_value = not piece.in_list and not answer and not shown.endswith((".", "!")) and has_value(shown)
        if answer:
            quality = max(grade(shown), 0.6)  # an answer may be short: "At nine."
        elif outline[paragraph].is_heading and not (is_value and re.search(r"\d", _VALUE.split(shown)[-1])):
            quality = 0.0  # "Step 1: Open the box"; not "Deposit: EUR 450"
        else:
            begins = paragraph > 0 and outline[paragraph - 1].is_heading and start == outline[paragraph].start
            quality = grade(shown, in_list=piece.in_list, begins=begins)
        is_first = start == answer
        yield AnswerSentence(
            document=index,
            position=position,
            start=start,
            end=start + len(text),
            text=shown,
            vector=vector,
            terms=(*question_terms, *terms(shown)),
            quality=quality,
            is_first=is_first,
            continues_answer=bool(answer) and not is_first,
            standalone=is_value and quality > 0,
            is_value=is_value,
            paragraph=paragraph,
            list_mark=piece.list_mark,
        )


class _Piece(NamedTuple):
    """A sentence without the heading and the bullet in front of it."""

    start: int
    text: str
    closing: str  # what closes the docstring that it opens
    list_mark: str
    in_list: bool


def _trim(passage: Candidate, start: int, end: int) -> _Piece:
    text = text_at(passage, start, end)
    sections = (part["section"] for part in parts_at(passage, start, end) if end <= part["end"])
    heading = _leading_heading(text, next(sections, passage["section"]))
    bullet = _leading_bullet(text[heading:])
    mark = text[heading : heading + bullet].strip()
    list_mark = mark if mark[:-1].isalnum() else mark and "-"
    text = text[heading + bullet :]
    start += heading + bullet + len(text) - len(text.lstrip())
    skipped, text, closing = _cut_docstring(text.strip())
    return _Piece(start + skipped, text, closing, list_mark, in_list=bullet > 0)


def _cut_docstring(text: str) -> tuple[int, str, str]:
    """Return how many characters to skip, the rest, and the closing mark of a docstring that is cut."""
    if text.count(_DOCSTRING) % 2 == 0:
        return 0, text, ""
    if text.startswith(_DOCSTRING):
        rest = text.removeprefix(_DOCSTRING).lstrip()
        skipped = len(text) - len(rest)
    else:
        skipped, rest = 0, text.removesuffix(_DOCSTRING).rstrip()
    return skipped, rest, _DOCSTRING if _DOCSTRING in rest else ""


def _read_units(
    index: int, passage: Candidate, sentences: Sentences, outline: Sequence[Paragraph]
) -> Iterator[AnswerSentence]:
    """Yield the rows, lists, code and messages of a passage, with the mean of their sentences' vectors."""
    spans = sentences.spans.tolist()
    for unit in attempt("units", partial(read_units, passage, spans), list[Unit]()):
        inside = [i for i, (start, end) in enumerate(spans) if start < unit.end and unit.start < end]
        if not inside or hides_marker(unit.text):
            continue
        vector = np.asarray(sentences.vectors[inside], dtype=np.float32).mean(axis=0)
        yield AnswerSentence(
            document=index,
            position=inside[0],
            start=unit.start,
            end=unit.end,
            text=unit.text,
            vector=vector / (np.linalg.norm(vector) or 1.0),
            terms=tuple(terms(unit.text)),
            quality=unit.quality,
            is_first=unit.standalone,
            continues_answer=False,
            standalone=unit.standalone,
            speaker=unit.speaker,
            cells=unit.cells,
            paragraph=paragraph_at(outline, unit.start),
        )


def _find_table_headers(passage: Candidate) -> set[int]:
    """Return the offsets of the header rows of a passage's tables."""
    columns = tuple(passage["metadata"].get("columns", ()))
    return {
        passage["start"] + table.start
        for table in find_tables(passage["text"], columns)
        if table.columns and (not table.rows or table.start < table.rows[0].start)
    }


def _without_note(mark: re.Match[str]) -> str:
    before: str = mark["before"] or ""
    return mark[0] if before.lower() in _BEFORE_REFERENCE else before


def _answer_start(passage: Candidate) -> int:
    """Return where the answer begins in a question-answer chunk; 0 for any other chunk."""
    metadata, text = passage["metadata"], passage["text"]
    if metadata.get("kind") != "qa":
        return 0
    answer, question = metadata.get("answer"), str(metadata.get("question", ""))
    offset = text.rfind(answer) if isinstance(answer, str) and answer else -1
    if offset < 0:
        # A long answer is split into several chunks, and only the first one contains the question.
        offset = len(question) if text.startswith(question) else 0
    return passage["start"] + offset


def _leading_heading(text: str, section: str | None) -> int:
    """Return the length of a heading that the splitter left in front of a sentence."""
    first, newline, rest = text.partition("\n")
    rest = rest.lstrip()
    is_closed = has_value(first) or re.search(r"[.,;:!?\-–]\s*$", first)
    if newline and rest and len(first) < LONGEST_HEADING and not is_closed:
        is_capital = [word[0].isupper() for word in re.findall(r"[^\W\d_]{4,}", first)]
        if rest[0].isupper() and is_capital and all(is_capital):
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
