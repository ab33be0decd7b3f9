"""Lets a chat model compare the answers of two or three arms, with their positions swapped."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypedDict

from langchain_core.language_models import BaseChatModel
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.evaluation.arms import ArmName, find_arms
from adaptive_rag.evaluation.records import QuestionRecord
from adaptive_rag.state import QUERY_TYPES

CRITERIA = ("accuracy", "relevance", "comprehensiveness", "clarity")
LETTERS = ("A", "B", "C")
TIE = "tie"

ComparisonName = Literal["adaptive-against-standard", "vector-bm25-fusion"]
COMPARISONS: dict[ComparisonName, tuple[ArmName, ...]] = {
    "adaptive-against-standard": ("standard", "adaptive"),
    "vector-bm25-fusion": ("standard", "bm25", "fusion"),
}

TRIES = 2
REASONS_SHOWN = 20


class AnswerScores(BaseModel):
    """The scores of one answer."""

    model_config = ConfigDict(extra="ignore")

    accuracy: float = Field(ge=0, le=10)
    relevance: float = Field(ge=0, le=10)
    comprehensiveness: float = Field(ge=0, le=10)
    clarity: float = Field(ge=0, le=10)


class Verdict(BaseModel):
    """What the judge says about one question, with the answers in one order."""

    model_config = ConfigDict(extra="ignore")

    scores: dict[Literal["A", "B", "C"], AnswerScores]
    best: Literal["A", "B", "C", "tie"]
    reason: str = Field("", max_length=2000)


class Judged(TypedDict):
    """One question's verdicts, folded over all orders."""

    dataset: str
    id: str
    type: str | None
    scores: dict[str, dict[str, float]]  # arm -> criterion -> mean over the orders
    best: str  # an arm that was best in every order, else "tie"
    agreed: bool  # whether all orders named the same
    reasons: list[str]


class JudgeReport(TypedDict):
    """A whole comparison."""

    arms: list[str]
    n: int
    # type ("all" too) -> arm, and "tie" -> questions on which it was best
    wins: dict[str, dict[str, int]]
    means: dict[str, dict[str, float]]  # arm -> criterion, and "overall"
    order_changed_verdict: int
    failed: int  # questions for which no usable verdict came
    analysis: str
    questions: list[Judged]


def comparison(spec: str) -> tuple[str, ...]:
    """Return the arms of a ready comparison, or those listed with commas.

    Raises:
        ConfigurationError: it is neither, or not two or three arms.
    """
    if spec in COMPARISONS:
        return COMPARISONS[spec]
    arms = tuple(find_arms([name.strip() for name in spec.split(",")]))
    if not 2 <= len(arms) <= len(LETTERS):
        raise ConfigurationError(
            f"A judge compares two or three arms, got {spec!r}; ready comparisons: {', '.join(COMPARISONS)}."
        )
    return arms


def judge_run(
    model: BaseChatModel,
    records: Sequence[QuestionRecord],
    arms: Sequence[str],
    *,
    advance: Callable[[], None] = lambda: None,
) -> JudgeReport:
    """Judge every question that has a reference and an answer of each arm."""
    judged: list[Judged] = []
    failed = 0
    for record in judgeable(records, arms):
        found = judge_question(model, record, arms)
        if found is None:
            failed += 1
        else:
            judged.append(found)
        advance()
    report = JudgeReport(
        arms=list(arms),
        n=len(judged),
        wins=_wins(judged, arms),
        means=_means(judged, arms),
        order_changed_verdict=sum(not one["agreed"] for one in judged),
        failed=failed,
        analysis="",
        questions=judged,
    )
    if judged:
        report["analysis"] = _analyse(model, report)
    return report


def judgeable(records: Sequence[QuestionRecord], arms: Sequence[str]) -> list[QuestionRecord]:
    """Return the questions that can be judged."""
    return [
        record
        for record in records
        if record["reference"]
        and all(arm in record["arms"] and record["arms"][arm].get("answer") for arm in arms)
    ]


def judge_question(model: BaseChatModel, record: QuestionRecord, arms: Sequence[str]) -> Judged | None:
    """Ask once for each rotation, so that every arm stands in every position.

    Returns None where a reply stays unusable.
    """
    verdicts: list[tuple[dict[str, str], Verdict]] = []
    for shift in range(len(arms)):
        order = dict(zip(LETTERS, [*arms[shift:], *arms[:shift]], strict=False))
        verdict = _ask(model, _prompt(record, order), set(order))
        if verdict is None:
            return None
        verdicts.append((order, verdict))
    scores = {
        arm: {
            criterion: sum(
                float(getattr(answer, criterion))
                for order, verdict in verdicts
                for letter, answer in verdict.scores.items()
                if order.get(letter) == arm
            )
            / len(verdicts)
            for criterion in CRITERIA
        }
        for arm in arms
    }
    named = {TIE if verdict.best == TIE else order[verdict.best] for order, verdict in verdicts}
    return Judged(
        dataset=record["dataset"],
        id=record["id"],
        type=record["type"],
        scores=scores,
        best=next(iter(named)) if len(named) == 1 else TIE,
        agreed=len(named) == 1,
        reasons=[_with_names(verdict.reason, order) for order, verdict in verdicts if verdict.reason],
    )


def _prompt(record: QuestionRecord, order: Mapping[str, str]) -> str:
    answers = "\n\n".join(
        f"<answer {letter}>\n{_unfenced(record['arms'][arm]['answer'])}\n</answer {letter}>"
        for letter, arm in order.items()
    )
    example = {letter: dict.fromkeys(CRITERIA, 0) for letter in order}
    return _fill(
        "judge.md",
        question=record["question"],
        reference=record["reference"] or "",
        answers=answers,
        form=json.dumps({"scores": example, "best": "A", "reason": ".."}),
    )


def _ask(model: BaseChatModel, prompt: str, letters: set[str]) -> Verdict | None:
    asked = prompt
    for _ in range(TRIES):
        reply = model.invoke(asked).text
        try:
            verdict = Verdict.model_validate_json(_json_of(reply))
            missing = letters - set(verdict.scores)
            if missing or (verdict.best != TIE and verdict.best not in letters):
                raise ValueError(f"expected scores for {sorted(letters)}, and one of them or 'tie' as best")
        except (ValidationError, ValueError) as error:
            asked = (
                f"{prompt}\n\nYour last reply could not be used: {error}\nReply with the JSON object only."
            )
            continue
        return verdict
    return None


def _analyse(model: BaseChatModel, report: JudgeReport) -> str:
    columns = [*report["arms"], TIE]
    table = "\n".join(
        f"{kind}: " + ", ".join(f"{name} best on {wins[name]}" for name in columns)
        for kind, wins in report["wins"].items()
    )
    means = "\n".join(
        f"{arm}: " + ", ".join(f"{name} {value:.1f}" for name, value in scores.items())
        for arm, scores in report["means"].items()
    )
    reasons = [
        f"- ({one['type'] or 'untyped'}) {reason}"
        for one in report["questions"]
        for reason in one["reasons"][:1]
    ]
    prompt = _fill(
        "judge_overall.md",
        count=str(report["n"]),
        table=f"{table}\n\nMean scores:\n{means}",
        reasons="\n".join(reasons[:REASONS_SHOWN]),
    )
    return model.invoke(prompt).text.strip()


def _wins(judged: Sequence[Judged], arms: Sequence[str]) -> dict[str, dict[str, int]]:
    wins: dict[str, dict[str, int]] = {}
    for kind in ("all", *QUERY_TYPES):
        group = [one for one in judged if kind in ("all", one["type"])]
        if group:
            wins[kind] = {name: sum(one["best"] == name for one in group) for name in (*arms, TIE)}
    return wins


def _means(judged: Sequence[Judged], arms: Sequence[str]) -> dict[str, dict[str, float]]:
    means: dict[str, dict[str, float]] = {}
    for arm in arms if judged else ():
        scores: dict[str, float] = {
            name: sum(one["scores"][arm][name] for one in judged) / len(judged) for name in CRITERIA
        }
        means[arm] = {**scores, "overall": sum(scores.values()) / len(CRITERIA)}
    return means


def _fill(name: str, **values: str) -> str:
    prompt = (Path(__file__).parent / name).read_text(encoding="utf-8")
    # One pass, so that a value that looks like a placeholder stays as it is.
    return re.sub(r"\{(\w+)\}", lambda found: values[found[1]], prompt)


def _json_of(reply: str) -> str:
    start, end = reply.find("{"), reply.rfind("}")
    if start < 0 or end < start:
        raise ValueError("it holds no JSON object")
    return reply[start : end + 1]


def _unfenced(answer: str) -> str:
    """Break up marks inside an answer, so that it cannot close its own fence."""
    return re.sub(r"<(/?)\s*answer", r"‹\1answer", answer, flags=re.IGNORECASE)


def _with_names(reason: str, order: Mapping[str, str]) -> str:
    return re.sub(r"\b(?:[Aa]nswer )?([ABC])\b(?=[ ,.;:)]|$)", lambda m: _name(m, order), reason)


def _name(found: re.Match[str], order: Mapping[str, str]) -> str:
    # A lone "A" at the head of a sentence is an article, not an answer.
    letter = found[1]
    if letter == "A" and not found[0].lower().startswith("answer"):
        return found[0]
    return order.get(letter, found[0])
