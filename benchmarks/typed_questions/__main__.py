"""Asks a hundred questions as people type them, over twelve ordinary documents, and judges the answers.

    python -m benchmarks.typed_questions [--standard] [--markdown docs/answers.md]
    python -m benchmarks.typed_questions --prompts FILE [--steps generate] [--standard]

The index is built in a temporary folder, and no chat model is asked. What a good answer holds stands beside
each question in `questions.jsonl`; documents and questions were written before any answer was seen, and stay
as they are. `--standard` asks standard retrieval too: the four nearest passages by vector, answered in the
same way. `--markdown` writes every question with its verdict and answer into a file.

`--prompts` asks with a chat model whose replies stand in FILE, each by a hash of its request. Where a reply
is missing, the request is written to FILE and the question waits: fill in "reply" and run again until none
is missing. `replies.jsonl` holds those behind the figures in docs/answer-quality.md. `--steps` names the
steps that ask the model, as the setting `models.steps` does.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import mean, median

from adaptive_rag.evaluation.arms import ARMS, Bench, Result
from adaptive_rag.evaluation.datasets import Dataset
from adaptive_rag.evaluation.provenance import RunSettings
from adaptive_rag.evaluation.run import open_bench
from adaptive_rag.testing import ScriptedChatModel
from benchmarks.typed_questions.judge import (
    VERDICTS,
    Judgement,
    TypedQuestion,
    judge,
    read_questions,
)
from benchmarks.typed_questions.replies import NoReply, RecordedReplies
from benchmarks.typed_questions.sources import make_documents

STANDARD_K = 4
INTRODUCTION = """\
# A hundred answers

Questions as people type them, over twelve ordinary documents: a handbook and a report as PDF, a lease as
DOCX, a price list as CSV, minutes, an FAQ, a debate, letters to the editor, a chat log, an HTML manual, the
README of a program and a history. No chat model was asked. Documents and questions were written before any
answer was seen. A program judges by what an answer must hold, what it must not hold, and how long it may be
(`benchmarks/typed_questions/questions.jsonl`); it cannot tell whether an answer reads well. Three of
its rules, on other documents, on sides (`sides.jsonl`) and on other forms of a word, were added after
answers had been read: by the others alone 40 of the first 100 answers were good, and 33 of those of
standard retrieval. *standard* is asked the question alone, without what the asker said before or says of
themselves, and answers in the same way from the four nearest passages. What a chat model makes of the same
questions is told in [answer-quality.md](answer-quality.md#with-a-chat-model). This page is written by
`python -m benchmarks.typed_questions --standard --markdown docs/answers.md`.
"""


@dataclass(frozen=True)
class Answered:
    """A question with the answer that it got, and what the judge says of it."""

    question: TypedQuestion
    answer: str
    judgement: Judgement
    # calls of a chat model
    calls: int = 0
    # whether a chat model wrote a draft, and sentences of the documents took its place
    replaced: bool = False
    # sentences of the draft that the check calls unsupported, with the reason
    marked: tuple[tuple[str, str], ...] = ()


def main(arguments: Sequence[str] | None = None) -> None:
    """Ask, judge, print the tables, and write the page where a file is given."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--standard", action="store_true", help="ask standard retrieval too")
    parser.add_argument("--markdown", type=Path, help="file for the questions with verdicts and answers")
    parser.add_argument("--prompts", type=Path, help="file for a chat model's prompts and replies")
    parser.add_argument("--steps", help="steps that ask the chat model, such as generate")
    given = parser.parse_args(arguments)
    page = given.markdown.resolve() if given.markdown else None
    replies = RecordedReplies(given.prompts.resolve()) if given.prompts else None
    arms = ("adaptive", "standard") if given.standard else ("adaptive",)
    questions = read_questions()
    with open_documents() as bench:
        answered = {
            arm: ask(arm, questions, with_model(bench, arm, replies, given.steps) if replies else bench)
            for arm in arms
        }
    tables = format_tables(answered) if all(answered.values()) else ""
    if replies:
        replies.save()
        waiting = sum(len(questions) - len(rows) for rows in answered.values())
        tables = f"{format_drafts(answered)}\n\n{tables}"
        print(
            f"{waiting} questions wait; {given.prompts} lacks {len(replies.missing)} replies, and "
            f"{len(replies.outdated)} of those given were written by other instructions\n"
        )
    print(tables)
    if page:
        page.write_text(format_page(answered, tables), encoding="utf-8")


def with_model(bench: Bench, arm: str, replies: RecordedReplies, steps: str | None = None) -> Bench:
    """Return the bench with a chat model whose replies are recorded; `steps` are all of the default's."""
    model = {"model": ScriptedChatModel(script=partial(replies.reply, arm))}
    chosen = {"models.steps": steps} if steps else {}
    return replace(bench, settings={**bench.settings, **model, **chosen})


@contextlib.contextmanager
def open_documents() -> Iterator[Bench]:
    """Index the documents in a temporary folder, and stand in it: answers then name the files alone."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        place, before = Path(folder, "documents"), Path.cwd()
        place.mkdir()
        make_documents(place)
        os.chdir(place)
        try:
            paths = tuple(Path(path.name) for path in sorted(place.iterdir()))
            # as a person asks: k is unset, and how much is read follows the strategy
            settings = RunSettings(k=STANDARD_K, answers=True, settings={"k": None})
            yield open_bench(
                Dataset("typed-questions", (), documents=paths), Path(folder, "index"), settings
            )[1]
        finally:
            os.chdir(before)


def ask(arm: str, questions: Sequence[TypedQuestion], bench: Bench) -> list[Answered]:
    """Ask each question by itself, and judge what comes back; one that waits for a reply is left out."""
    answered = []
    for question in questions:
        with contextlib.suppress(NoReply):
            answered.append(_judged(question, ARMS[arm].run(question.asked(), bench)))
    return answered


def _judged(question: TypedQuestion, result: Result) -> Answered:
    answer = result.answer or ""
    quoted = {Path(citation["source"]).name for citation in result.citations}
    judgement = judge(question, answer, abstained=result.abstained, quoted=quoted)
    decisions = [decision for record in result.trace for decision in record.get("decisions", ())]
    return Answered(
        question,
        answer,
        judgement,
        calls=result.cost()["model_calls"],
        replaced=any((d["what"], d["chosen"]) == ("answer", "extractive") for d in decisions),
        marked=tuple((d["chosen"], d["why"]) for d in decisions if d["what"] == "unsupported"),
    )


def format_drafts(answered: Mapping[str, Sequence[Answered]]) -> str:
    """Return what became of a chat model's drafts, by arm and type of question."""
    names = ["with a chat model", "asked", "good", "right but too long", "not right", "given"]
    names += ["draft replaced", "sentences marked", "median words", "calls"]
    lines = [f"| {' | '.join(names)} |", f"|---|{'--:|' * (len(names) - 1)}"]
    for arm, rows in answered.items():
        for name in [*dict.fromkeys(row.question.part for row in rows), "all"]:
            of_part = [row for row in rows if name in ("all", row.question.part)]
            if of_part:
                lines.append(f"| {arm}: {name} | {' | '.join(_drafts_of(of_part))} |")
    return "\n".join(lines)


def _drafts_of(rows: Sequence[Answered]) -> Iterator[str]:
    good, given = (sum(row.judgement.verdict == verdict for row in rows) for verdict in ("good", "given"))
    long = sum(row.judgement.only_too_long for row in rows)
    yield from map(str, [len(rows), good, long, len(rows) - good - long - given, given])
    yield str(sum(row.replaced for row in rows))
    yield str(sum(len(row.marked) for row in rows))
    yield f"{median(row.judgement.words for row in rows):.0f}"
    yield f"{mean(row.calls for row in rows):.1f}"


def format_tables(answered: dict[str, list[Answered]]) -> str:
    """Return the verdicts of each arm by type of question, and those of the first by document."""
    first, *_ = answered.values()
    by_type = [
        line
        for arm, rows in answered.items()
        for line in _rows(rows, lambda one: one.question.part, f"{arm}: ")
    ]
    by_source = _rows(first, lambda one: one.question.source, "")
    return "\n".join([_header("questions"), *by_type, "", _header("document"), *by_source])


def _header(first: str) -> str:
    names = [first, "asked", *VERDICTS, "leads", "median words"]
    return f"| {' | '.join(names)} |\n|---|{'--:|' * (len(names) - 1)}"


def _rows(rows: Sequence[Answered], group: Callable[[Answered], str], prefix: str) -> Iterator[str]:
    names = list(dict.fromkeys(map(group, rows)))
    for name in [*names, "all"]:
        of_group = [row for row in rows if name in ("all", group(row))]
        counts = Counter(row.judgement.verdict for row in of_group)
        words = median(row.judgement.words for row in of_group)
        leading = sum(row.judgement.leads for row in of_group)
        cells = [len(of_group), *(counts[verdict] for verdict in VERDICTS), leading, round(words)]
        yield f"| {prefix}{name} | {' | '.join(map(str, cells))} |"


def format_page(answered: dict[str, list[Answered]], tables: str) -> str:
    """Return the page: the tables, and each question with the first arm's verdict and answer."""
    first, *_ = answered.values()
    meanings = "\n".join(f"- *{verdict}*: {meaning}." for verdict, meaning in VERDICTS.items())
    meanings += "\n\n*leads* counts the answers whose first sentence holds something that they must hold."
    return "\n".join([INTRODUCTION, meanings, "", tables, "", *map(_format_answered, first)])


def _format_answered(one: Answered) -> str:
    question, judgement = one.question, one.judgement
    asked = [f"{turn['role']}: {turn['text']}" for turn in question.history]
    asked += [f"*{question.user_context}*"] if question.user_context else []
    why = [f"lacks “{'” or “'.join(group)}”" for group in judgement.missing]
    why += [f"holds “{wording}”" for wording in judgement.forbidden]
    why += [f"quotes {name}" for name in judgement.others]
    why += [f"“{wording}” on the wrong side" for wording in judgement.misplaced]
    if question.answerable and judgement.words > question.longest:
        why.append(f"{judgement.words} words where {question.longest} do")
    reason = f" ({'; '.join(why)})" if why and judgement.verdict in ("partly", "wrong") else ""
    quoted = "\n".join(f"> {line}".rstrip() for line in one.answer.splitlines())
    return "\n\n".join(
        [
            f"## {question.question}",
            f"{question.id}, {question.part}, {question.source}: **{judgement.verdict}**{reason}",
            *asked,
            f"{quoted}\n",
        ]
    )


if __name__ == "__main__":
    main()
