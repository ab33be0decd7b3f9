"""From passages to an answer with citations: quoted sentences or a checked draft, or why there is none."""

from adaptive_rag.answer.citations import Claim, MarkedAnswer, cite, read_markers
from adaptive_rag.answer.evidence import Evidence, format_abstention, judge_evidence
from adaptive_rag.answer.extract import ExtractedAnswer, extract_answer
from adaptive_rag.answer.grounding import Grounding, Review, ground, review_draft
from adaptive_rag.answer.passages import read_passages, read_sentences
from adaptive_rag.answer.styles import STYLES, AnswerRequest, AnswerStyle, Aspect, Block

__all__ = [
    "STYLES",
    "AnswerRequest",
    "AnswerStyle",
    "Aspect",
    "Block",
    "Claim",
    "Evidence",
    "ExtractedAnswer",
    "Grounding",
    "MarkedAnswer",
    "Review",
    "cite",
    "extract_answer",
    "format_abstention",
    "ground",
    "judge_evidence",
    "read_markers",
    "read_passages",
    "read_sentences",
    "review_draft",
]
