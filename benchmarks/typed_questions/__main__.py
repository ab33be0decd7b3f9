"""Ask a hundred questions as people type them, about twelve ordinary documents, and judge the answers.

    python -m benchmarks.typed_questions [--standard] [--markdown docs/answers.md]
    python -m benchmarks.typed_questions --prompts FILE [--steps generate] [--standard]

The index is built in a temporary folder, and no chat model is asked. `questions.jsonl` says of each question
what a good answer contains; documents and questions were written before any answer was seen, and must not be
changed. `--standard` also asks standard retrieval: the four nearest passages by vector, answered in the same
way. `--markdown` writes every question with its verdict and answer to a file.

`--prompts` uses a chat model whose replies are recorded in FILE, each under a hash of its request. If a reply
is missing, the request is written to FILE and the question is skipped: fill in "reply" and run again, until
none is missing. `replies.jsonl` has the replies behind the figures in docs/answer-quality.md. `--steps` names
the steps that ask the model, as the setting `models.steps` does.
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
from benchmarks.typed_questions.judge import VERDICTS, Judgement, TypedQuestion, judge, read_questions
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
class JudgedAnswer:
    """A question with its answer and its judgement."""

    question: TypedQuestion
    answer: str
    judgement: Judgement
    # number of chat calls
    calls: int = 0
    # whether sentences of the documents replaced a chat model's draft
    replaced: bool = False
    # sentences of the draft that the check calls unsupported, with the reason
    marked: tuple[tuple[str, str], ...] = ()


def main(arguments: Sequence[str] | None = None) -> None:
    """Ask, judge, print the tables, and write the page if a file is given."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--standard", action="store_true", help="ask standard retrieval too")
    parser.add_argument("--markdown", type=Path, help="file for the questions with verdicts and answers")
    parser.add_argument("--prompts", type=Path, help="file for a chat model's prompts and replies")
    parser.add_argument("--steps", help="steps that ask the chat model, such as generate")
    options = parser.parse_args(arguments)
    page = options.markdown.resolve() if options.markdown else None
    replies = RecordedReplies(options.prompts.resolve()) if options.prompts else None
    arms = ("adaptive", "standard") if options.standard else ("adaptive",)
    questions = read_questions()
    with open_documents() as bench:
        answers = {
            arm: ask(arm, questions, with_model(bench, arm, replies, options.steps) if replies else bench)
            for arm in arms
        }
    tables = format_tables(answers) if all(answers.values()) else ""
    if replies:
        replies.save()
        skipped = sum(len(questions) - len(of_arm) for of_arm in answers.values())
        tables = f"{format_drafts(answers)}\n\n{tables}"
        print(
            f"{skipped} questions were skipped; {options.prompts} lacks {len(replies.missing)} replies, and "
            f"{len(replies.outdated)} of those given were written by other instructions\n"
        )
    print(tables)
    if page:
        page.write_text(format_page(answers, tables), encoding="utf-8")


def with_model(bench: Bench, arm: str, replies: RecordedReplies, steps: str | None = None) -> Bench:
    """Return the bench with a chat model whose replies are recorded, asked in `steps` or in the default's."""
    model = {"model": ScriptedChatModel(script=partial(replies.reply, arm))}
    asked_steps = {"models.steps": steps} if steps else {}
    return replace(bench, settings={**bench.settings, **model, **asked_steps})


@contextlib.contextmanager
def open_documents() -> Iterator[Bench]:
    """Index the documents in a temporary folder, and work there, so that answers name only the files."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        documents, working_folder = Path(folder, "documents"), Path.cwd()
        documents.mkdir()
        make_documents(documents)
        os.chdir(documents)
        try:
            paths = tuple(Path(path.name) for path in sorted(documents.iterdir()))
            # Without k, as a person asks, so that the strategy decides how much is read.
            settings = RunSettings(k=STANDARD_K, answers=True, settings={"k": None})
            dataset = Dataset("typed-questions", (), documents=paths)
            _, bench = open_bench(dataset, Path(folder, "index"), settings)
            yield bench
        finally:
            os.chdir(working_folder)


def ask(arm: str, questions: Sequence[TypedQuestion], bench: Bench) -> list[JudgedAnswer]:
    """Ask each question and judge its answer; skip a question for which a reply is missing."""
    answers = []
    for question in questions:
        with contextlib.suppress(NoReply):
            answers.append(_judge_result(question, ARMS[arm].run(question.asked(), bench)))
    return answers


def _judge_result(question: TypedQuestion, result: Result) -> JudgedAnswer:
    answer = result.answer or ""
    quoted = {Path(citation["source"]).name for citation in result.citations}
    judgement = judge(question, answer, abstained=result.abstained, quoted=quoted)
    decisions = [decision for record in result.trace for decision in record.get("decisions", ())]
    return JudgedAnswer(
        question,
        answer,
        judgement,
        calls=result.cost()["model_calls"],
        replaced=any((d["what"], d["chosen"]) == ("answer", "extractive") for d in decisions),
        marked=tuple((d["chosen"], d["why"]) for d in decisions if d["what"] == "unsupported"),
    )


def format_drafts(answers: Mapping[str, Sequence[JudgedAnswer]]) -> str:
    """Return a table of a chat model's drafts and what the check did to them, by arm and type of question."""
    names = ["with a chat model", "asked", "good", "right but too long", "not right", "given"]
    names += ["draft replaced", "sentences marked", "median words", "calls"]
    lines = [f"| {' | '.join(names)} |", f"|---|{'--:|' * (len(names) - 1)}"]
    for arm, of_arm in answers.items():
        for name in [*dict.fromkeys(answer.question.part for answer in of_arm), "all"]:
            of_part = [answer for answer in of_arm if name in ("all", answer.question.part)]
            if of_part:
                lines.append(f"| {arm}: {name} | {' | '.join(_draft_cells(of_part))} |")
    return "\n".join(lines)


def _draft_cells(answers: Sequence[JudgedAnswer]) -> Iterator[str]:
    verdicts = Counter(answer.judgement.verdict for answer in answers)
    good, given = verdicts["good"], verdicts["given"]
    long = sum(answer.judgement.only_too_long for answer in answers)
    yield from map(str, [len(answers), good, long, len(answers) - good - long - given, given])
    yield str(sum(answer.replaced for answer in answers))
    yield str(sum(len(answer.marked) for answer in answers))
    yield f"{median(answer.judgement.words for answer in answers):.0f}"
    yield f"{mean(answer.calls for answer in answers):.1f}"


def format_tables(answers: dict[str, list[JudgedAnswer]]) -> str:
    """Return tables of the verdicts: of each arm by type of question, and of the first arm by document."""
    first_arm, *_ = answers.values()
    by_type = [
        line
        for arm, of_arm in answers.items()
        for line in _format_rows(of_arm, lambda answer: answer.question.part, f"{arm}: ")
    ]
    by_source = _format_rows(first_arm, lambda answer: answer.question.source, "")
    return "\n".join([_format_header("questions"), *by_type, "", _format_header("document"), *by_source])


def _format_header(first_column: str) -> str:
    names = [first_column, "asked", *VERDICTS, "leads", "median words"]
    return f"| {' | '.join(names)} |\n|---|{'--:|' * (len(names) - 1)}"


def _format_rows(
    answers: Sequence[JudgedAnswer], group_of: Callable[[JudgedAnswer], str], prefix: str
) -> Iterator[str]:
    """Yield a line of the table for each group of answers, and one for all."""
    names = list(dict.fromkeys(map(group_of, answers)))
    for name in [*names, "all"]:
        group = [answer for answer in answers if name in ("all", group_of(answer))]
        counts = Counter(answer.judgement.verdict for answer in group)
        words = median(answer.judgement.words for answer in group)
        leading = sum(answer.judgement.leads for answer in group)
        cells = [len(group), *(counts[verdict] for verdict in VERDICTS), leading, round(words)]
        yield f"| {prefix}{name} | {' | '.join(map(str, cells))} |"


def format_page(answers: dict[str, list[JudgedAnswer]], tables: str) -> str:
    """Return the page: the tables, and each question with the first arm's verdict and answer."""
    first_arm, *_ = answers.values()
    meanings = "\n".join(f"- *{verdict}*: {meaning}." for verdict, meaning in VERDICTS.items())
    meanings += "\n\n*leads* counts the answers whose first sentence holds something that they must hold."
    return "\n".join([INTRODUCTION, meanings, "", tables, "", *map(_format_answer, first_arm)])


def _format_answer(answer: JudgedAnswer) -> str:
    question, judgement = answer.question, answer.judgement
    context = [f"{turn['role']}: {turn['text']}" for turn in question.history]
    context += [f"*{question.user_context}*"] if question.user_context else []
    reasons = [f"lacks “{'” or “'.join(group)}”" for group in judgement.missing]
    reasons += [f"holds “{wording}”" for wording in judgement.forbidden]
    reasons += [f"quotes {name}" for name in judgement.others]
    reasons += [f"“{wording}” on the wrong side" for wording in judgement.misplaced]
    if question.answerable and judgement.words > question.longest:
        reasons.append(f"{judgement.words} words where {question.longest} do")
    has_reason = reasons and judgement.verdict in ("partly", "wrong")
    reason = f" ({'; '.join(reasons)})" if has_reason else ""
    quoted = "\n".join(f"> {line}".rstrip() for line in answer.answer.splitlines())
    return "\n\n".join(
        [
            f"## {question.question}",
            f"{question.id}, {question.part}, {question.source}: **{judgement.verdict}**{reason}",
            *context,
            f"{quoted}\n",
        ]
    )


if __name__ == "__main__":
    main()
