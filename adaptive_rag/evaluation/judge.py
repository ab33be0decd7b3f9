"""Let a chat model compare the answers of two or three arms, once with each arm in each position."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Annotated, Literal, TypedDict

from langchain_core.language_models import BaseChatModel
from pydantic import BaseModel, Field

from adaptive_rag.errors import AdaptiveRAGError, ConfigurationError
from adaptive_rag.evaluation.arms import FUSION_RECIPE, find_arms
from adaptive_rag.evaluation.records import QuestionRecord, append_line, read_complete_lines
from adaptive_rag.evaluation.run import OpenBar, no_bar
from adaptive_rag.evaluation.summary import ALL
from adaptive_rag.evaluation.templates import render
from adaptive_rag.llm.faults import fault_of
from adaptive_rag.state import ROUTED_TYPES
from adaptive_rag.text.redaction import cause_of, redact_known

LETTERS = ("A", "B", "C")
TIE = "tie"
OVERALL = "overall"

COMPARISONS: dict[str, tuple[str, ...]] = {
    "adaptive-against-standard": ("standard", "adaptive"),
    # the recipe, and each of its two signals alone
    FUSION_RECIPE: ("vector-alone", "okapi-alone", f"recipe-{FUSION_RECIPE}"),
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
    """The judge's reply about one question, with the answers in one order."""

    scores: dict[Literal["A", "B", "C"], AnswerScores]
    best: Literal["A", "B", "C", "tie"]
    reason: str = Field("", max_length=2000)


class Judged(TypedDict):
    """One question's verdicts, combined over all orders."""

    dataset: str
    id: str
    type: str | None
    scores: dict[str, dict[str, float]]  # arm -> criterion -> mean over the orders
    best: str  # the arm that was best in every order, else "tie"
    agreed: bool  # whether the best was the same in all orders
    reasons: list[str]


class JudgeReport(TypedDict):
    """The verdicts on all questions of a comparison."""

    arms: list[str]
    n: int
    # type or "all" -> arm or "tie" -> number of questions on which it was best
    wins: dict[str, dict[str, int]]
    means: dict[str, dict[str, float]]  # arm -> criterion, and "overall"
    order_changed_verdict: int
    failed: int  # questions without a usable verdict
    analysis: str
    questions: list[Judged]


def parse_comparison(spec: str) -> tuple[str, ...]:
    """Return the arms of a predefined comparison, or of a list with commas.

    Raises:
        ConfigurationError: the text is neither, or lists fewer than two or more than three arms.
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
    file: Path | None = None,
    open_bar: OpenBar = no_bar,
) -> JudgeReport:
    """Judge every question that has a reference and an answer of each arm.

    Each verdict is stored in `file` at once, and not asked for again if the model fails later.
    """
    eligible = [
        record
        for record in records
        if record["reference"]
        and all(arm in record["arms"] and record["arms"][arm].get("answer") for arm in arms)
    ]
    stored: list[Judged] = [*read_complete_lines(file)] if file else []
    known = {(each["dataset"], each["id"]): each for each in stored if [*each["scores"]] == [*arms]}
    results: list[Judged] = []
    with open_bar("Judging", len(eligible)) as advance:
        for record in eligible:
            result = known.get((record["dataset"], record["id"]))
            if result is None and (result := judge_question(model, record, arms)) and file:
                append_line(file, result)
            results += [result] if result else []
            advance()
    by_type = {kind: [r for r in results if kind in (ALL, r["type"])] for kind in (ALL, *ROUTED_TYPES)}
    means = {
        arm: {name: fmean(result["scores"][arm][name] for result in results) for name in CRITERIA}
        for arm in (arms if results else ())
    }
    report = JudgeReport(
        arms=list(arms),
        n=len(results),
        wins={
            kind: {name: sum(result["best"] == name for result in group) for name in (*arms, TIE)}
            for kind, group in by_type.items()
            if group
        },
        means={arm: {**scores, OVERALL: fmean(scores.values())} for arm, scores in means.items()},
        order_changed_verdict=sum(not result["agreed"] for result in results),
        failed=len(eligible) - len(results),
        analysis="",
        questions=results,
    )
    if results:
        reasons = [(result["type"], reason) for result in results for reason in result["reasons"][:1]]
        prompt = render("judge_overall.md", report=report, reasons=reasons[:REASONS_SHOWN])
        report["analysis"] = _reply(model, prompt).strip()
    return report


def judge_question(model: BaseChatModel, record: QuestionRecord, arms: Sequence[str]) -> Judged | None:
    """Judge one question, once for each rotation of the arms; return None if a reply is not usable."""
    means = {arm: dict.fromkeys(CRITERIA, 0.0) for arm in arms}
    winners, reasons = set(), []
    for shift in range(len(arms)):
        arm_of = dict(zip(LETTERS, [*arms[shift:], *arms[:shift]], strict=False))
        answers = {letter: _break_tags(record["arms"][arm]["answer"]) for letter, arm in arm_of.items()}
        empty_scores = {letter: dict.fromkeys(CRITERIA, 0) for letter in arm_of}
        form = json.dumps({"scores": empty_scores, "best": "A", "reason": ".."})
        prompt = render("judge.md", record=record, answers=answers, form=form)
        verdict = _ask_for_verdict(model, prompt, set(arm_of))
        if verdict is None:
            return None
        winners.add(arm_of.get(verdict.best, TIE))
        reasons += [_name_arms(verdict.reason, arm_of)] if verdict.reason else []
        for letter, arm in arm_of.items():
            for criterion, score in dict(verdict.scores[letter]).items():  # type: ignore[index]
                means[arm][criterion] += score / len(arms)
    return Judged(
        dataset=record["dataset"],
        id=record["id"],
        type=record["type"],
        scores=means,
        best=next(iter(winners)) if len(winners) == 1 else TIE,
        agreed=len(winners) == 1,
        reasons=reasons,
    )


def _ask_for_verdict(model: BaseChatModel, prompt: str, letters: set[str]) -> Verdict | None:
    """Ask for a verdict, and once more if the reply is not usable; return None if neither is."""
    request = prompt
    for _ in range(TRIES):
        reply = _reply(model, request)
        try:
            verdict = Verdict.model_validate_json(reply[reply.find("{") : reply.rfind("}") + 1])
            if letters - set(verdict.scores) or verdict.best not in {*letters, TIE}:
                raise ValueError(f"expected scores for {sorted(letters)}, and one of them or 'tie' as best")
            return verdict
        except ValueError as error:  # pydantic's error is one too
            complaint = f"Your last reply could not be used: {error}\nReply with the JSON object only."
            request = f"{prompt}\n\n{complaint}"
    return None


def _reply(model: BaseChatModel, prompt: str) -> str:
    try:
        return redact_known(model.invoke(prompt).text)
    except Exception as error:  # every provider raises its own errors
        raise AdaptiveRAGError(f"The judge failed: {fault_of(error, model).text}") from cause_of(error)


def _break_tags(answer: str) -> str:
    """Return an answer whose `<answer>` tags are broken, so that it cannot end its own fence."""
    return re.sub(r"<(/?)\s*answer", r"‹\1answer", answer, flags=re.IGNORECASE)


def _name_arms(reason: str, arm_of: Mapping[str, str]) -> str:
    """Replace "answer B" and "B" in a reason by the arm's name; a lone "A" stays: it may be an article."""
    return re.sub(
        r"\b(?:[Aa]nswer ([ABC])|([BC]))\b(?=[ ,.;:)]|$)", lambda m: arm_of.get(m[1] or m[2], m[0]), reason
    )
