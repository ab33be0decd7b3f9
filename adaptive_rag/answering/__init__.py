"""From documents to an answer with citations: extracted sentences, markers, grounding, abstention."""

from adaptive_rag.answering.abstention import Evidence, format_abstention, judge_evidence
from adaptive_rag.answering.citations import Claim, MarkedAnswer, cite, read_markers
from adaptive_rag.answering.extractive import ExtractedAnswer, extract_answer
from adaptive_rag.answering.grounding import Grounding, ground
from adaptive_rag.answering.passages import format_passages
from adaptive_rag.answering.request import AnswerRequest, Branch

__all__ = [
    "AnswerRequest",
    "Branch",
    "Claim",
    "Evidence",
    "ExtractedAnswer",
    "Grounding",
    "MarkedAnswer",
    "cite",
    "extract_answer",
    "format_abstention",
    "format_passages",
    "ground",
    "judge_evidence",
    "read_markers",
]
