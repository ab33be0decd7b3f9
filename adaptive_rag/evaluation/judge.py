"""Lets a chat model compare the answers of two or three arms, with their positions swapped."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Annotated, Literal, TypedDict

from langchain_core.language_models import BaseChatModel
from pydantic import BaseModel, Field

from adaptive_rag.errors import AdaptiveRAGError, ConfigurationError
from adaptive_rag.evaluation.arms import FUSION, find_arms
from adaptive_rag.evaluation.records import QuestionRecord
from adaptive_rag.evaluation.run import OpenBar, no_bar
from adaptive_rag.evaluation.summary import ALL
from adaptive_rag.evaluation.templates import render
from adaptive_rag.llm.faults import fault_of
from adaptive_rag.state import QUERY_TYPES
from adaptive_rag.text.redaction import cause_of, redact_known

LETTERS = ("A", "B", "C")
TIE = "tie"
OVERALL = "overall"

COMPARISONS: dict[str, tuple[str, ...]] = {
    "adaptive-against-standard": ("standard", "adaptive"),
    # the recipe and its two signals, each alone
    FUSION: ("vector-alone", "okapi-alone", f"recipe-{FUSION}"),
}

TRIES = 2
REASONS_SHOWN = 20


Score = Annotated[float, Field(ge=0, le=10)]


class AnswerScores(BaseModel):
    """The scores of one answer."""

    accuracy: Score
    relevance: Score
    comprehensiveness: Score
    clarity: Score


CRITERIA = tuple(AnswerScores.model_fields)


class Verdict(BaseModel):
    """What the judge says about one question, with the answers in one order."""

    scores: dict[Literal["A", "B", "C"], AnswerScores]
    best: Literal["A", "B", "C", "tie"]
    reason: str = Field("", max_length=2000)


class Judged(TypedDict):
    """One question's verdicts, combined over all orders."""

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
    # type or "all" -> arm or "tie" -> number of questions on which it was best
    wins: dict[str, dict[str, int]]
    means: dict[str, dict[str, float]]  # arm -> criterion, and "overall"
    order_changed_verdict: int
    failed: int  # questions without a usable verdict
    analysis: str
    questions: list[Judged]


def comparison(spec: str) -> tuple[str, ...]:
    """Return the arms of a predefined comparison, or those listed with commas.

    Raises:
        ConfigurationError: it is neither, or not two or three arms.
    """
    if spec in COMPARISONS:
        return COMPARISONS[spec]
    arms = tuple(find_arms([name.strip() for name in spec.split(",")]))
    if not 2 <= len(arms) <= len(LETTERS):
        expected = f"expected two or three arms or one of {', '.join(COMPARISONS)}"
        raise ConfigurationError(f"A judge compares two or three arms, got {spec!r}; {expected}.")
    return arms


def judge_run(
    model: BaseChatModel,
    records: Sequence[QuestionRecord],
    arms: Sequence[str],
    *,
    open_bar: OpenBar = no_bar,
) -> JudgeReport:
    """Judge every question that has a reference and an answer of each arm."""
    answered = [r for r in records if all(arm in r["arms"] and r["arms"][arm].get("answer") for arm in arms)]
    waiting = [record for record in answered if record["reference"]]
    judged: list[Judged] = []
    with open_bar("Judging", len(waiting)) as advance:
        for record in waiting:
            if (found := judge_question(model, record, arms)) is not None:
                judged.append(found)
            advance()
    by_type = {kind: [one for one in judged if kind in (ALL, one["type"])] for kind in (ALL, *QUERY_TYPES)}
    means = {
        arm: {name: fmean(one["scores"][arm][name] for one in judged) for name in CRITERIA}
        for arm in (arms if judged else ())
    }
    report = JudgeReport(
        arms=list(arms),
        n=len(judged),
        wins={
            kind: {name: sum(one["best"] == name for one in group) for name in (*arms, TIE)}
            for kind, group in by_type.items()
            if group
        },
        means={arm: {**scores, OVERALL: fmean(scores.values())} for arm, scores in means.items()},
        order_changed_verdict=sum(not one["agreed"] for one in judged),
        failed=len(waiting) - len(judged),
        analysis="",
        questions=judged,
    )
    if judged:
        reasons = [(one["type"], reason) for one in judged for reason in one["reasons"][:1]]
        prompt = render("judge_overall.md", report=report, reasons=reasons[:REASONS_SHOWN])
        report["analysis"] = _reply(model, prompt).strip()
    return report


def judge_question(model: BaseChatModel, record: QuestionRecord, arms: Sequence[str]) -> Judged | None:
    """Ask once for each rotation, so that every arm has every position once; None if a reply is unusable."""
    points = {arm: dict.fromkeys(CRITERIA, 0.0) for arm in arms}
    named, reasons = set(), []
    for shift in range(len(arms)):
        order = dict(zip(LETTERS, [*arms[shift:], *arms[:shift]], strict=False))
        answers = {letter: _unfenced(record["arms"][arm]["answer"]) for letter, arm in order.items()}
        scores = {letter: dict.fromkeys(CRITERIA, 0) for letter in order}
        form = json.dumps({"scores": scores, "best": "A", "reason": ".."})
        verdict = _ask(model, render("judge.md", record=record, answers=answers, form=form), set(order))
        if verdict is None:
            return None
        named.add(order.get(verdict.best, TIE))
        reasons += [_with_names(verdict.reason, order)] if verdict.reason else []
        for letter, arm in order.items():
            for criterion, score in dict(verdict.scores[letter]).items():  # type: ignore[index]
                points[arm][criterion] += score / len(arms)
    return Judged(
        dataset=record["dataset"],
        id=record["id"],
        type=record["type"],
        scores=points,
        best=next(iter(named)) if len(named) == 1 else TIE,
        agreed=len(named) == 1,
        reasons=reasons,
    )


def _ask(model: BaseChatModel, prompt: str, letters: set[str]) -> Verdict | None:
    asked = prompt
    for _ in range(TRIES):
        reply = _reply(model, asked)
        try:
            verdict = Verdict.model_validate_json(reply[reply.find("{") : reply.rfind("}") + 1])
            if letters - set(verdict.scores) or verdict.best not in {*letters, TIE}:
                raise ValueError(f"expected scores for {sorted(letters)}, and one of them or 'tie' as best")
            return verdict
        except ValueError as error:  # pydantic's error is one too
            wrong = f"Your last reply could not be used: {error}\nReply with the JSON object only."
            asked = f"{prompt}\n\n{wrong}"
    return None


def _reply(model: BaseChatModel, prompt: str) -> str:
    try:
        return redact_known(model.invoke(prompt).text)
    except Exception as error:  # every provider raises its own errors
        raise AdaptiveRAGError(f"The judge failed: {fault_of(error, model).text}") from cause_of(error)


def _unfenced(answer: str) -> str:
    """Break up the tags inside an answer, so that it cannot close its own fence."""
    return re.sub(r"<(/?)\s*answer", r"‹\1answer", answer, flags=re.IGNORECASE)


def _with_names(reason: str, order: Mapping[str, str]) -> str:
    """Name the arms that a reason calls "answer B" or "B"; a lone "A" is left, as it may be an article."""
    return re.sub(
        r"\b(?:[Aa]nswer ([ABC])|([BC]))\b(?=[ ,.;:)]|$)", lambda m: order.get(m[1] or m[2], m[0]), reason
    )
