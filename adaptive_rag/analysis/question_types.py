"""What is particular to each type of question that the router tells apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from adaptive_rag.context.groups import ModelStep
from adaptive_rag.state import Intent, RoutedType


@dataclass(frozen=True)
class QuestionType:
    """A type of question."""

    # what such a question asks for, with examples: the chat model that classifies is told this
    description: str
    # what it adds to the points of complexity
    points: float
    # its intent where its words have none
    intent: Intent
    # step that asks a chat model about such a question -> keys of a recorded reply
    reply_keys: Mapping[ModelStep, tuple[str, ...]]


TYPES: dict[RoutedType, QuestionType] = {
    "factual": QuestionType(
        description="asks for one specific, checkable piece of information. "
        '"When was the bridge opened?" "Who wrote the report?" "How many members are there?"',
        points=-0.75,
        intent="factual",
        reply_keys={"enhance": ("query",)},
    ),
    "analytical": QuestionType(
        description="asks for an explanation, a comparison, causes, a procedure, or several aspects of a "
        'matter. "Why did prices rise?" "How does X differ from Y?" "How do I set it up?"',
        points=0.5,
        intent="conceptual",
        reply_keys={"decompose": ("sub_questions",)},
    ),
    "opinion": QuestionType(
        description="asks about a matter on which reasonable people disagree, or for views and "
        'experiences. "Should cities ban cars?" "Is it worth it?"',
        points=0.5,
        intent="conceptual",
        reply_keys={"viewpoints": ("viewpoints", "sides")},
    ),
    "contextual": QuestionType(
        description="cannot be answered well without knowing the asker's own situation or what was said "
        'before. "Am I eligible?" "What about the second one?" "Which plan is best for my family?"',
        points=0.0,
        intent="factual",
        reply_keys={"infer": ("context",), "contextualize": ("context", "query")},
    ),
}
# "factual, analytical, opinion or contextual"
TYPE_NAMES = " or ".join((", ".join([*TYPES][:-1]), [*TYPES][-1]))


def describe_types() -> str:
    """Return the types with their descriptions, one on each line."""
    return "\n".join(f"- {name}: {question_type.description}" for name, question_type in TYPES.items())
