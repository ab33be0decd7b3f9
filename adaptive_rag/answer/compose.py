"""Writes answers from quoted sentences, in order, each with its marker and its speaker."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial

from adaptive_rag.answer.choose import choose
from adaptive_rag.answer.evidence import NEAR, Evidence, judge_evidence
from adaptive_rag.answer.links import keep_own_links
from adaptive_rag.answer.outline import paragraph_at, read_outline
from adaptive_rag.answer.passages import cite_span
from adaptive_rag.answer.request import AnswerRequest, Block
from adaptive_rag.answer.rows import say_row
from adaptive_rag.answer.sentences import AnswerSentence
from adaptive_rag.answer.speakers import without_label
from adaptive_rag.answer.styles import FACTUAL_STYLE
from adaptive_rag.answer.units import CODE_FENCE
from adaptive_rag.models.onnx import load_minilm
from adaptive_rag.optional import attempt
from adaptive_rag.state import Citation
from adaptive_rag.text.markers import respell_markers, write_marker
from adaptive_rag.text.visible import plain

NOTHING = "The documents hold nothing on “{part}”."
# Heading above quotes that may not answer the question.
CLOSEST_HEADING = "The documents may not say this outright. The closest passages:"
# Maximum number of sentences that are shown as the closest passages.
CLOSEST = 3


@dataclass(frozen=True)
class ExtractedAnswer:
    """An answer of quoted sentences, each followed by its marker [n], with their citations."""

    text: str
    citations: list[Citation]


def answer_locally(request: AnswerRequest, *, abstains: bool) -> tuple[Evidence, ExtractedAnswer | None]:
    """Return the evidence and the text: an answer, the closest passages, or None for a refusal.

    Each part of a question with several parts has a line, without sentences that an earlier line has shown.
    Where no part can be answered, the question is judged as a whole. Unless `abstains`, the best sentences
    are returned in any case.
    """
    asked = [_part_of(request, part) for part in request.parts]
    judged = [judge_evidence(one) for one in asked]
    if any(evidence.outcome == "answer" for evidence in judged):
        lines, citations = list[str](), list[Citation]()
        for one, evidence in zip(asked, judged, strict=True):
            answer = extract_answer(one, citations) if evidence.outcome == "answer" else None
            if answer is None:
                lines.append(NOTHING.format(part=one.question))
            elif answer.text:
                lines.append(answer.text)
                citations += answer.citations
        best = max(judged, key=lambda evidence: evidence.confidence or 0.0)
        return best, ExtractedAnswer("\n".join(lines), citations)
    evidence = judge_evidence(request)
    if not abstains or evidence.outcome == "answer":
        return evidence, extract_answer(request)
    if evidence.outcome == "closest":
        return evidence, show_closest(request)
    return evidence, None


def _part_of(request: AnswerRequest, part: str) -> AnswerRequest:
    [vector] = load_minilm().encode([part])
    return replace(
        request, question=part, question_vector=vector, style=FACTUAL_STYLE, parts=(), missing=None
    )


def extract_answer(request: AnswerRequest, shown: Sequence[Citation] = ()) -> ExtractedAnswer:
    """Answer with exact sentences of the documents, in the blocks of the request's style.

    Sentences that are already `shown` are left out. The answer is empty where the documents contain no
    readable sentence.
    """
    judged = request.judged
    if not judged.sentences:
        return ExtractedAnswer("", [])
    return _write(request, request.style.arrange(request, judged), shown)


def quote_plainly(request: AnswerRequest) -> tuple[Evidence, ExtractedAnswer | None]:
    """Quote the sentences nearest to the question by vector, for use where `answer_locally` fails."""
    found = [
        (float(sentences.vectors[position] @ request.question_vector), number, start, end)
        for number, sentences in enumerate(request.sentences)
        for position, (start, end) in enumerate(sentences.spans.tolist())
    ]
    best = [each for each in sorted(found, reverse=True)[:CLOSEST] if each[0] >= NEAR]
    why = "quoted by nearness alone: the usual way to answer failed"
    if not best:
        return Evidence(None, "refusal", why), None
    quoted = [cite_span(request.documents[number], number + 1, start, end) for _, number, start, end in best]
    lines = [
        f"- {respell_markers(' '.join(plain(citation['quote']).split()))} {write_marker(citation['marker'])}"
        for citation in quoted
    ]
    said = ExtractedAnswer("\n".join([f"**{CLOSEST_HEADING}**", *lines]), quoted)
    return Evidence(None, "closest", why), said


def show_closest(request: AnswerRequest) -> ExtractedAnswer:
    """Show the sentences closest to an answer, and say that they may not answer the question."""
    judged = request.judged
    chosen = choose(judged, judged.scores, CLOSEST)
    said = _write(request, [Block(chosen, listed=True)], ())
    return replace(said, text=f"**{CLOSEST_HEADING}**\n{said.text}") if said.text else said


def _write(request: AnswerRequest, blocks: Sequence[Block], shown: Sequence[Citation]) -> ExtractedAnswer:
    """Write blocks; images become their descriptions, and tags that a page would act on are removed.

    The quotes in the citations stay exact.
    """
    told = {(citation["source"], citation["start"]) for citation in shown}
    blocks = [replace(block, sentences=_untold(request, block, told)) for block in blocks]
    blocks = [block for block in blocks if block.sentences]
    text, _ = keep_own_links("\n\n".join(_format_block(request, block) for block in blocks), None)
    runs = [run for block in blocks for run in _runs(request, block)]
    return ExtractedAnswer(
        text,
        [
            cite_span(request.documents[run[0].document], run[0].document + 1, run[0].start, run[-1].end)
            for run in runs
        ],
    )


def _untold(request: AnswerRequest, block: Block, told: Collection[tuple[str, int]]) -> list[AnswerSentence]:
    return [s for s in block.sentences if (request.documents[s.document]["source"], s.start) not in told]


def _runs(request: AnswerRequest, block: Block) -> list[list[AnswerSentence]]:
    """Part the sentences into runs, each cited as one: what one speaker says in a paragraph."""
    runs = list[list[AnswerSentence]]()
    for sentence in block.sentences:
        before = runs[-1][-1] if runs else None
        if (
            before
            and not block.numbered
            and sentence.goes_on_from(before)
            and (_speaker(request, sentence) == _speaker(request, before))
        ):
            runs[-1].append(sentence)
        else:
            runs.append([sentence])
    return runs


def _speaker(request: AnswerRequest, sentence: AnswerSentence) -> str | None:
    """Return who says a sentence; None for a message, which already contains its speaker."""
    said_by = request.contributions[sentence.document]
    return None if sentence.alone else said_by.speaker_at(sentence.start, sentence.text)


def _format_block(request: AnswerRequest, block: Block) -> str:
    lines: list[str] = []
    before: tuple[AnswerSentence, str | None] | None = None
    for number, run in enumerate(_runs(request, block), start=1):
        speaker = _speaker(request, run[0])
        same = before is not None and speaker is not None and speaker == before[1]
        # The marker goes after the introduction of a code block, and the block goes on separate lines.
        said, fence, code = _said(request, run, speaker, named=not same).partition(f"\n{CODE_FENCE}\n")
        shown = f"{said} {write_marker(run[0].document + 1)}{fence}{code}"
        goes_on = (
            same
            or not (block.listed or block.apart)
            or (block.listed and before is not None and run[0].follows(before[0]))
        )
        if block.numbered:
            lines.append(f"{number}. {shown}")
        elif lines and goes_on and not lines[-1].endswith(CODE_FENCE):
            lines[-1] += f" {shown}"
        else:
            lines.append(f"- {shown}" if block.listed else shown)
        before = run[-1], speaker
    heading = [f"**{block.heading}**"] if block.heading else []
    body = ("\n\n" if block.apart else "\n").join([*heading, *lines])
    return f"{block.opening}\n\n{body}" if block.opening else body


def _said(request: AnswerRequest, run: Sequence[AnswerSentence], speaker: str | None, *, named: bool) -> str:
    """Return what a run says, items of a list on lines of their own, in quotes where its speaker is known."""
    dashed = sum(sentence.listed for sentence in run) > 1
    text = f"{_heading_of(request, run[0])}:" if dashed and run[0].listed else ""
    for sentence in run:
        text += ("\n- " if dashed and sentence.listed else " ") + _shown(request, sentence, speaker)
    text = text.strip(": ").strip()
    if speaker is None:
        return text
    return f"{speaker}: “{text}”" if named else f"“{text}”"


def _heading_of(request: AnswerRequest, sentence: AnswerSentence) -> str:
    """Return the heading above a sentence; "" where none is known."""
    outline = read_outline(request.documents[sentence.document])
    return respell_markers(outline[paragraph_at(outline, sentence.start)].heading) if outline else ""


def _shown(request: AnswerRequest, sentence: AnswerSentence, speaker: str | None) -> str:
    """Return a sentence on one line; a code block keeps its lines."""
    text = without_label(sentence.text) if speaker else sentence.text
    if sentence.cells:
        text = attempt("rows", partial(say_row, sentence.cells, request.question), text)
    elif text.startswith("|"):
        text = text.strip("| \t")  # a row of one cell
    if not text.endswith(f"\n{CODE_FENCE}"):
        text = " ".join(text.split())
    # A bracketed number in the sentence itself would look like one of our markers.
    return respell_markers(text)
