"""Measures what it is worth to read the situation out of a question: "I run a bakery. How do I prepare?".

    python -m benchmarks.told_situations --data ../shared/data

Questions of contextual_sharc that come with a situation and no conversation are asked three ways: with the
situation given apart, put before the question and read out of it, and put before it and left there. For each:
nDCG@10 of what was read, how many answers were refused, and how many cite a passage that answers.
"""

from __future__ import annotations

import argparse
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from unittest.mock import patch

import numpy as np

from adaptive_rag import AdaptiveRAG
from adaptive_rag.evaluation.corpora import default_cache, open_corpus
from adaptive_rag.evaluation.datasets import Question, load_dataset
from adaptive_rag.evaluation.metrics import headline, ranked_ids, score_ranking

K = 10


def put_before(question: Question) -> dict[str, str]:
    """Return the question as somebody writes it who tells and asks in one go."""
    told = question.user_context.strip()
    return {"question": f"{told if told.endswith(('.', '!')) else told + '.'} {question.text}"}


def apart(question: Question) -> dict[str, str]:
    """Return the question with its situation in a field of its own."""
    return {"question": question.text, "user_context": question.user_context}


def left_there() -> AbstractContextManager[object]:
    """Read nothing out of questions, for a while."""
    return patch("adaptive_rag.nodes.classify.split_situation", lambda question: ("", question))


def main() -> None:
    """Ask each question three ways, and print a line for each way."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, required=True, help="folder of the public data sets")
    dataset = load_dataset(parser.parse_args().data / "contextual_sharc")
    # A context that asks is a conversation written down.
    questions = [
        each
        for each in dataset.questions
        if each.user_context and not each.history and "?" not in each.user_context
    ]
    index, _ = open_corpus(dataset, default_cache())
    rag = AdaptiveRAG(index, route="contextual")
    print(f"{len(questions)} questions: nDCG@{K}, refused, citing a passage that answers")
    for name, ask, reading in (
        ("given apart", apart, nullcontext()),
        ("read out of the question", put_before, nullcontext()),
        ("left in the question", put_before, left_there()),
    ):
        scores, refused, cited = [], 0, 0
        with reading:
            for question in questions:
                output = rag.invoke(ask(question))
                scores.append(score_ranking(question, ranked_ids(output["documents"]), K)[headline(K)])
                refused += output["abstained"]
                quoted = {citation["source"] for citation in output["citations"]}
                cited += not quoted.isdisjoint(question.gold)
        print(f"{name:26} {np.mean(scores):.3f} {refused:4} {cited:4}")


if __name__ == "__main__":
    main()
