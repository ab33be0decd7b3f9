"""The answer without a chat model: sentences of the passages, arranged as the strategy's style says."""

from __future__ import annotations

import re
from dataclasses import dataclass

from adaptive_rag.answer.passages import cite_span
from adaptive_rag.answer.ranking import Ranking
from adaptive_rag.answer.sentences import speaker_of
from adaptive_rag.answer.styles import AnswerRequest, Block
from adaptive_rag.state import Citation

_FAKE_MARKER = re.compile(r"\[(\s*\d+(?:\s*[,;–-]\s*\d+)*\s*)\]")


@dataclass(frozen=True)
class ExtractedAnswer:
    """An answer of quoted sentences, each followed by its marker [n], and where each one stands."""

    text: str
    citations: list[Citation]


def extract_answer(request: AnswerRequest) -> ExtractedAnswer:
    """Answer with exact sentences of the documents, in the blocks of the request's style.

    A sentence that refers back ("It ...") comes with the one before it. Headings are set in bold on a line
    of their own. The answer is empty where the documents hold no readable sentence.
    """
    sentences = request.answer_sentences
    blocks = request.style.arrange(request, Ranking(sentences)) if sentences else []
    blocks = [block for block in blocks if block.sentences]
    return ExtractedAnswer(
        "\n\n".join(_format_block(request, block) for block in blocks),
        [
            cite_span(request.documents[s.document], s.document + 1, s.start, s.end)
            for block in blocks
            for s in block.sentences
        ],
    )


def _format_block(request: AnswerRequest, block: Block) -> str:
    shown, last = [], None
    for number, sentence in enumerate(block.sentences, start=1):
        # On one line; a bracketed number of the sentence's own would read as a marker of ours.
        text = _FAKE_MARKER.sub(r"(\1)", " ".join(sentence.text.split()))
        speaker = speaker_of(request.documents[sentence.document], sentence.start, sentence.text)
        if speaker:
            text = f"“{text}”" if speaker == last else f"{speaker}: “{text}”"
        last = speaker
        shown.append(f"{f'{number}. ' if block.numbered else ''}{text} [{sentence.document + 1}]")
    body = ("\n" if block.numbered else " ").join(shown)
    return f"**{block.heading}**\n{body}" if block.heading else body
