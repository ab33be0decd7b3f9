"""The skills: what a chat model is asked for, each with its prompt, schema and local stand-in."""

from typing import Any

from adaptive_rag.skills.base import Ask, Outcome, Skill, SkillName, SkillRequest
from adaptive_rag.skills.classify import CLASSIFY
from adaptive_rag.skills.contextualize import CONTEXTUALIZE
from adaptive_rag.skills.decompose import DECOMPOSE
from adaptive_rag.skills.enhance import ENHANCE
from adaptive_rag.skills.generate import GENERATE
from adaptive_rag.skills.score import SCORE
from adaptive_rag.skills.select import SELECT
from adaptive_rag.skills.viewpoints import VIEWPOINTS

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
