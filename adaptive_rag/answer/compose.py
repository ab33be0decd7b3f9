"""Writes answers from quoted sentences, each with its marker and its speaker."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

from adaptive_rag.answer.choose import choose
from adaptive_rag.answer.evidence import NEAR, Evidence, judge_evidence
from adaptive_rag.answer.grading import has_value
from adaptive_rag.answer.headings import heading_needed, telling_heading
from adaptive_rag.answer.links import keep_own_links
from adaptive_rag.answer.outline import paragraph_at, read_outline
from adaptive_rag.answer.passages import cite_span
from adaptive_rag.answer.quotes import readable
from adaptive_rag.answer.request import AnswerRequest, Block
from adaptive_rag.answer.rows import say_row
from adaptive_rag.answer.score import score_lines
from adaptive_rag.answer.sentences import AnswerSentence
from adaptive_rag.answer.speakers import without_label
from adaptive_rag.answer.styles import FACTUAL_STYLE
from adaptive_rag.answer.subjects import lacks_word
from adaptive_rag.answer.units import CODE_FENCE
from adaptive_rag.models.onnx import load_minilm
from adaptive_rag.optional import attempt
from adaptive_rag.state import Citation, Piece
from adaptive_rag.text.markdown import without_open_emphasis
from adaptive_rag.text.markers import respell_markers
from adaptive_rag.text.phrases import (
    CitedText,
    citations_of,
    join_pieces,
    link_markers,
    say,
    say_heading,
    text_of,
)
from adaptive_rag.text.visible import plain

# Maximum number of cells of a row that the closest passages show whole.
WHOLE_ROW = 6
# Maximum number of sentences that are shown as the closest passages.
CLOSEST = 3
# A longer line "name: value" may be prose that goes on in the next line.
LONGEST_VALUE = 40
_LIST_LINE = re.compile(r"(?:-|\w{1,5}[.)]) ")
_CLOSED = re.compile(r"[.!?…:;][\"'”’)\]»*_]*$")


def answer_locally(request: AnswerRequest, *, abstains: bool) -> tuple[Evidence, CitedText | None]:
    """Return the evidence and the text: an answer, the closest passages, or None for a refusal.

    Each part of a question is answered on its own line, without sentences that an earlier line contains.
    Where no part can be answered, the question is judged as a whole. Unless `abstains`, the best sentences
    are returned in any case.
    """
    if answer := _answer_parts(request):
        return answer
    evidence = judge_evidence(request)
    if not abstains or evidence.outcome == "answer":
        return evidence, extract_answer(request)
    if evidence.outcome == "closest":
        return evidence, show_closest(request)
    return evidence, None


def _answer_parts(request: AnswerRequest) -> tuple[Evidence, CitedText] | None:
    """Answer the parts of a question, with the best of their evidence; None if no part can be answered."""
    parts = [_part_of(request, part) for part in request.parts]
    if parts and judge_evidence(parts[0]).outcome != "answer":
        # "Is there a sauna, and what are the opening hours?": those of the office are no answer.
        parts[1:] = [
            replace(part, is_strict=lacks_word(parts[0].question, part.question, request.documents))
            for part in parts[1:]
        ]
    evidence = [judge_evidence(part) for part in parts]
    if not any(judged.outcome == "answer" for judged in evidence):
        return None
    lines = list[list[Piece]]()
    for part, judged in zip(parts, evidence, strict=True):
        if judged.outcome != "answer":
            lines.append([say("nothing_on", part=part.question.partition("\n")[0])])
            continue
        cited = citations_of(join_pieces(lines, ""))
        best = part.scored.sentences[int(part.scored.scores.argmax())]
        if _is_cited(part, best, cited):
            continue  # an earlier line answers this part too
        answer = extract_answer(part, already_cited=cited)
        if answer.text and answer.pieces not in lines:
            lines.append(answer.pieces)
    likeliest = max(evidence, key=lambda judged: judged.confidence or 0.0)
    return likeliest, CitedText(join_pieces(lines, "\n"))


def _part_of(request: AnswerRequest, part: str) -> AnswerRequest:
    [vector] = load_minilm().encode([part])
    return replace(
        request,
        question=part,
        question_vector=vector,
        style=FACTUAL_STYLE,
        parts=(),
        whole=request,
        missing_side=None,
    )


def extract_answer(request: AnswerRequest, already_cited: Sequence[Citation] = ()) -> CitedText:
    """Answer with exact sentences of the documents, in the blocks of the request's style.

    Sentences that are `already_cited` are left out. The answer is empty where the documents contain no
    readable sentence.
    """
    if not request.scored.sentences:
        return CitedText([])
    return _write(request, request.blocks, already_cited)


def quote_plainly(request: AnswerRequest) -> tuple[Evidence, CitedText | None]:
    """Quote the sentences nearest to the question by vector, for use where `answer_locally` fails."""
    scored = [
        (float(sentences.vectors[position] @ request.question_vector), document, start, end)
        for document, sentences in enumerate(request.sentences)
        for position, (start, end) in enumerate(sentences.spans.tolist())
    ]
    best = [entry for entry in sorted(scored, reverse=True)[:CLOSEST] if entry[0] >= NEAR]
    if not best:
        return Evidence(None, "refusal", say("quoted_plainly")), None
    citations = [cite_span(request.documents[n], n + 1, start, end) for _, n, start, end in best]
    lines: list[list[Piece]] = [[f"- {readable(plain(c['quote']))} ", c] for c in citations]
    return Evidence(None, "closest", say("quoted_plainly")), _below_heading(join_pieces(lines, "\n"))


def show_closest(request: AnswerRequest) -> CitedText:
    """Show the sentences closest to an answer, and say that they may not answer the question."""
    scored = request.scored
    chosen = choose(scored, scored.scores, CLOSEST, mass=request.style.mass)
    # Which cells of a row answer is as unsure as whether it does, so a short row is shown whole.
    whole = [replace(s, cells=()) if len(s.cells) <= WHOLE_ROW else s for s in chosen]
    answer = _write(request, [Block(whole, bulleted=True)])
    return _below_heading(answer.pieces) if answer.pieces else answer


def _below_heading(pieces: Sequence[Piece]) -> CitedText:
    return CitedText([say_heading("closest"), "\n", *pieces])


def _write(
    request: AnswerRequest, blocks: Sequence[Block], already_cited: Sequence[Citation] = ()
) -> CitedText:
    """Write blocks; images become their descriptions, and tags that a page would act on are removed.

    The quotes in the citations stay exact.
    """
    blocks = [replace(block, sentences=_uncited(request, block, already_cited)) for block in blocks]
    pieces = join_pieces([_write_block(request, block) for block in blocks if block.sentences], "\n\n")
    text, _ = keep_own_links(text_of(pieces), None)
    cleaned = [keep_own_links(piece, None)[0] if isinstance(piece, str) else piece for piece in pieces]
    if text == text_of(cleaned):
        return CitedText(cleaned)
    # A link begins in one piece and ends in another, so the text is cleaned as a whole.
    return CitedText(link_markers(text, citations_of(pieces)))


def _uncited(request: AnswerRequest, block: Block, already_cited: Sequence[Citation]) -> list[AnswerSentence]:
    """Return the sentences of a block that are in none of the citations."""
    return [s for s in block.sentences if not _is_cited(request, s, already_cited)]


def _is_cited(request: AnswerRequest, sentence: AnswerSentence, citations: Sequence[Citation]) -> bool:
    source = request.documents[sentence.document]["source"]
    return any(c["source"] == source and c["start"] <= sentence.start < c["end"] for c in citations)


def _split_into_quotes(request: AnswerRequest, block: Block) -> list[list[AnswerSentence]]:
    """Split the sentences into quotes with one citation each: the words of one speaker in a paragraph."""
    quotes = list[list[AnswerSentence]]()
    for sentence in block.sentences:
        before = quotes[-1][-1] if quotes and not block.numbered else None
        is_same = before and sentence.continues(before) and sentence.caveat == before.caveat
        if before and is_same and _speaker(request, sentence) == _speaker(request, before):
            quotes[-1].append(sentence)
        else:
            quotes.append([sentence])
    return quotes


def _speaker(request: AnswerRequest, sentence: AnswerSentence) -> str | None:
    """Return the speaker of a sentence; None for a message, whose text names its speaker."""
    if sentence.standalone and not sentence.is_value:
        return None
    return request.contributions[sentence.document].speaker_at(sentence.start, sentence.end)


def _write_block(request: AnswerRequest, block: Block) -> list[Piece]:
    lines = list[list[Piece]]()
    ends_with_code = False  # whether the last line does
    is_closed = True  # whether what it ends with needs no punctuation before another quote
    before: AnswerSentence | None = None
    previous_speaker: str | None = None
    for number, quote in enumerate(_split_into_quotes(request, block), start=1):
        first, last = quote[0], quote[-1]
        speaker = _speaker(request, first)
        is_same_speaker = speaker is not None and speaker == previous_speaker
        # The marker goes after the introduction of a code block, and the block goes on separate lines.
        text, fence, code = _write_quote(request, quote, speaker, named=not is_same_speaker).partition(
            f"\n{CODE_FENCE}\n"
        )
        citation = cite_span(request.documents[first.document], first.document + 1, first.start, last.end)
        caveat: list[Piece] = [first.caveat, " "] if first.caveat else []
        pieces: list[Piece] = [*caveat, f"{text} ", citation, f"{fence}{code}"]
        is_list = bool(_LIST_LINE.match(text)) and first.is_list_item and not caveat
        refers_back = before and first.refers_back and first.follows(before) and speaker == previous_speaker
        if block.bulleted:
            joins_line = is_same_speaker or refers_back
        else:
            is_same_passage = before and first.document == before.document
            is_short = request.style.extent == "sentence"
            joins_line = is_same_speaker or not block.paragraphs or bool(is_same_passage and is_short)
        if block.numbered:
            lines.append([f"{number}. ", *pieces])
        elif lines and joins_line and not ends_with_code and not is_list:
            lines[-1] += [" " if is_closed else "; ", *pieces]
        else:
            if block.bulleted and not is_list:
                pieces = ["- ", *caveat, f"{text} ".replace("\n", "\n  "), *pieces[len(caveat) + 1 :]]
            lines.append(pieces)
        is_closed = bool(_CLOSED.search(text)) or not (last.cells or has_value(last.text))
        before, previous_speaker, ends_with_code = last, speaker, code.endswith(CODE_FENCE)
    if heading := block.heading:
        lines.insert(0, [f"**{heading}**" if isinstance(heading, str) else heading])
    body = join_pieces(lines, "\n\n" if block.paragraphs else "\n")
    return [block.opening, "\n\n", *body] if block.opening else body


def _write_quote(
    request: AnswerRequest, quote: Sequence[AnswerSentence], speaker: str | None, *, named: bool
) -> str:
    """Return the text of a quote, in quotation marks if its speaker is known.

    Several list items are written on separate lines, below the heading of their list. A sentence follows its
    heading if it answers only together with it. If `named`, the speaker's name comes first.
    """
    first = quote[0]
    has_items = sum(sentence.is_list_item for sentence in quote) > 1
    passage = request.documents[first.document]
    heading = _heading_of(request, first) if first.is_list_item and has_items else ""
    if first.is_list_item and (asked := telling_heading(request.question, passage, first.start)):
        heading = respell_markers(asked)
    elif not (heading or first.cells or speaker):
        heading = respell_markers(heading_needed(request.question, passage, quote))
    text = heading if heading.endswith("?") else heading and f"{heading}:"
    for sentence in quote:
        mark = f"\n{sentence.list_mark} " if has_items and sentence.is_list_item else " "
        text += mark + _show(request, sentence, speaker)
    text = text.strip()
    if speaker is None:
        return text
    return f"{speaker}: “{text}”" if named else f"“{text}”"


def _heading_of(request: AnswerRequest, sentence: AnswerSentence) -> str:
    """Return the heading above a sentence; "" where none is known."""
    outline = read_outline(request.documents[sentence.document])
    return respell_markers(outline[paragraph_at(outline, sentence.start)].heading) if outline else ""


def _show(request: AnswerRequest, sentence: AnswerSentence, speaker: str | None) -> str:
    """Return a sentence on one line; a code block keeps its lines."""
    text = without_label(sentence.text, speaker) if speaker else sentence.text
    if sentence.cells:
        # The parts of a question that one row answers show it once, with the cells for all of them.
        whole = request.whole or request
        judge = partial(score_lines, whole.question_for_reader, whole.reader) if whole.reader else None
        text = attempt("rows", partial(say_row, sentence.cells, whole.question, judge), text)
    elif text.startswith("|"):
        text = text.strip("| \t")  # a row of one cell
    if not text.endswith(f"\n{CODE_FENCE}"):
        lines = text.split("\n")
        for number, (line, following) in enumerate(pairwise(lines)):
            is_whole = len(line) < LONGEST_VALUE and not following.lstrip()[:1].islower()
            if is_whole and has_value(line) and not _CLOSED.search(line):
                lines[number] += ";"
        text = without_open_emphasis(" ".join(" ".join(lines).split()))
    # A bracketed number in the sentence itself would look like one of our markers.
    return respell_markers(text)
