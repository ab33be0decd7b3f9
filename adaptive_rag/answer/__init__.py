"""From documents to an answer with citations: extracted sentences, markers, grounding, abstention."""

from adaptive_rag.answer.citations import Claim, MarkedAnswer, cite, read_markers
from adaptive_rag.answer.evidence import Evidence, format_abstention, judge_evidence
from adaptive_rag.answer.extract import ExtractedAnswer, extract_answer
from adaptive_rag.answer.grounding import Grounding, ground
from adaptive_rag.answer.request import AnswerRequest, Branch
from adaptive_rag.llm.passages import format_passages

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
