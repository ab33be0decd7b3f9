"""The skills: what a chat model is asked for, each with its prompt, schema and local stand-in."""

from typing import Any

from adaptive_rag.analysis.classify import CLASSIFY
from adaptive_rag.answer.draft import GENERATE
from adaptive_rag.llm.request import Ask, Outcome, Skill, SkillName, SkillRequest
from adaptive_rag.query.contextualize import CONTEXTUALIZE
from adaptive_rag.query.decompose import DECOMPOSE
from adaptive_rag.query.enhance import ENHANCE
from adaptive_rag.query.viewpoints import VIEWPOINTS
from adaptive_rag.rank.score import SCORE
from adaptive_rag.rank.select import SELECT

SKILLS: dict[SkillName, Skill[Any, Any]] = {
    skill.name: skill
    for skill in (CLASSIFY, ENHANCE, DECOMPOSE, VIEWPOINTS, CONTEXTUALIZE, SCORE, SELECT, GENERATE)
}

__all__ = [
    "CLASSIFY",
    "CONTEXTUALIZE",
    "DECOMPOSE",
    "ENHANCE",
    "GENERATE",
    "SCORE",
    "SELECT",
    "SKILLS",
    "VIEWPOINTS",
    "Ask",
    "Outcome",
    "Skill",
    "SkillName",
    "SkillRequest",
]
