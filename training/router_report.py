"""Prints every figure of docs/routing.md: python -m training.router_report --data PATH --replies FILE.

PATH is the folder of the evaluation data. Its dev split and first-person slice are used only for measuring,
never for training. The retrieval sets share 43 % of their questions with the train split; these are left out
of the figures and shown in a separate line. FILE contains the replies of a chat model to the dev questions,
as lines of `text` and `reply`; without it, the comparison with that model is left out.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import confusion_matrix, f1_score

from adaptive_rag.analysis import UNSURE_THRESHOLD, analyse_batch, forget
from adaptive_rag.analysis.learning import QuestionLine, learn_from
from adaptive_rag.analysis.router import learned_file
from adaptive_rag.state import ROUTED_TYPES, RoutedType
from training.router_questions import asked_questions, load_rows, read_questions

Row = dict[str, Any]
Array = NDArray[Any]

THINGS = "pump valve rotor gasket sensor relay filter nozzle piston bearing turbine".split()
WHY: tuple[str, RoutedType] = ("Why did the pump fail?", "analytical")
WHEN: tuple[str, RoutedType] = ("When was the pump built?", "factual")
VIEWS: tuple[str, RoutedType] = ("What do people think of the pump?", "opinion")
# By name: a pattern, the type that is taught for it, and two questions of other types.
PATTERNS: dict[str, tuple[str, RoutedType, tuple[tuple[str, RoutedType], ...]]] = {
    "can i ... is factual": ("can i open the {thing}", "factual", (WHY, VIEWS)),
    "can i ... is contextual": ("can i open the {thing}?", "contextual", (WHY, WHEN)),
    "status of ... is opinion": ("Status of the {thing} project?", "opinion", (WHEN, WHY)),
    "how do i ... is factual": ("How do I replace the {thing}?", "factual", (VIEWS, WHY)),
    "what is ... like is opinion": ("What is the {thing} like?", "opinion", (WHEN, WHY)),
}

REAL = Path(__file__).parents[1] / "benchmarks" / "real" / "questions.jsonl"
EVERYDAY = Path(__file__).parents[1] / "tests" / "analysis" / "everyday_questions.jsonl"
RETRIEVAL_SETS = (
    "factual_squad",
    "analytical_clapnq",
    "opinion_perspectrum",
    "contextual_sharc",
    "mixed_mtrag",
)


def read(path: Path) -> list[Row]:
    """Read JSONL rows with their type in lower case."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [{**row, "type": row["type"].lower()} for row in rows]


def predict(rows: Sequence[Row]) -> Array:
    """Return the probabilities of each row, shape (n, 4)."""
    analyses = analyse_batch(
        [row["text"] for row in rows],
        user_contexts=[row.get("user_context") or "" for row in rows],
        histories=[row.get("history") or [] for row in rows],
    )
    return np.array([[analysis["probabilities"][name] for name in ROUTED_TYPES] for analysis in analyses])


def label(rows: Sequence[Row]) -> Array:
    """Return the true type of each row as an index."""
    return np.array([ROUTED_TYPES.index(row["type"]) for row in rows])


def macro_f1(truth: Array, chosen: Array) -> float:
    """Return the mean of F1 over the types."""
    kinds = range(len(ROUTED_TYPES))
    return float(f1_score(truth, chosen, labels=kinds, average="macro", zero_division=0))


def calibration_error(probabilities: Array, truth: Array, bins: int = 10) -> float:
    """Return the expected calibration error of the top probability, in equal bins (Guo et al., 2017)."""
    top, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == truth
    places = np.minimum((top * bins).astype(int), bins - 1)
    return float(
        sum(
            (places == b).mean() * abs(right[places == b].mean() - top[places == b].mean())
            for b in range(bins)
            if (places == b).any()
        )
    )


def show(name: str, rows: Sequence[Row], probabilities: Array) -> None:
    """Print one line of figures."""
    truth, chosen = label(rows), probabilities.argmax(axis=1)
    order = np.argsort(-probabilities.max(axis=1), kind="stable")
    surest = order[: round(0.8 * len(order))]
    print(
        f"{name:22} n {len(rows):4}  accuracy {np.mean(chosen == truth):.3f}  "
        f"macro-F1 {macro_f1(truth, chosen):.3f}  ECE {calibration_error(probabilities, truth):.3f}  "
        f"surest 80 % {np.mean((chosen == truth)[surest]):.3f}"
    )


def show_sources(rows: Sequence[Row], probabilities: Array) -> None:
    """Print accuracy by type and source."""
    groups: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for row, right in zip(rows, probabilities.argmax(axis=1) == label(rows), strict=True):
        groups[row["type"], row["source"].split("/")[0]].append(bool(right))
    for (kind, source), rights in sorted(groups.items()):
        print(f"    {kind:12} {source:22} n {len(rights):4}  accuracy {np.mean(rights):.3f}")


def show_confusion(rows: Sequence[Row], probabilities: Array) -> None:
    """Print the number of questions by true and by chosen type."""
    truth, chosen = label(rows), probabilities.argmax(axis=1)
    print("    truth \\ chosen " + " ".join(f"{name:>11}" for name in ROUTED_TYPES))
    counted = confusion_matrix(truth, chosen, labels=range(len(ROUTED_TYPES)))
    for name, counts in zip(ROUTED_TYPES, counted, strict=True):
        print(f"    {name:15}" + " ".join(f"{count:11}" for count in counts))


def show_retrieval_sets(data: Path) -> None:
    """Print the retrieval sets without the questions whose text the router was trained on."""
    trained_on = {plain(row["text"]) for row in load_rows(data)}
    all_queries: list[Row] = []
    for name in RETRIEVAL_SETS:
        queries = read(data / name / "queries.jsonl")
        all_queries += queries
        new_questions = [row for row in queries if plain(row["text"]) not in trained_on]
        show(f"{name}, of {len(queries)}", new_questions, probabilities := predict(new_questions))
        if name == "mixed_mtrag":
            show_sources(new_questions, probabilities)
    for is_known, name in ((False, "all of them"), (True, "those it was trained on")):
        rows = [row for row in all_queries if (plain(row["text"]) in trained_on) == is_known]
        show(f"{name}, of {len(all_queries)}", rows, predict(rows))


def plain(text: str) -> str:
    """Return a question in lower case and without its question mark."""
    return text.casefold().strip(" ?")


def show_curve(rows: Sequence[Row], probabilities: Array) -> None:
    """Print the share and accuracy of questions above each threshold, and the accuracy of a hedge below."""
    truth = label(rows)
    order = np.argsort(-probabilities, axis=1)
    top = probabilities.max(axis=1)
    print(
        "    threshold  decided  accuracy of these  accuracy below  true type among the two likeliest below"
    )
    for threshold in (0.3, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.8, 0.9):
        sure = top >= threshold
        right = order[:, 0] == truth
        either = right | (order[:, 1] == truth)
        below = [f"{values[~sure].mean():.3f}" if (~sure).any() else "    -" for values in (right, either)]
        mark = " <- UNSURE_THRESHOLD" if threshold == UNSURE_THRESHOLD else ""
        columns = f"{threshold:9.2f}  {sure.mean():7.3f}  {right[sure].mean():17.3f}"
        print(f"    {columns}  {below[0]:>14}  {below[1]:>8}{mark}")


def disturb(text: str, random_: random.Random) -> str:
    """Misspell about one word in seven: swap, drop or double a letter inside it."""
    words = text.split(" ")
    long_words = [i for i, word in enumerate(words) if len(word) > 4 and word.isalpha()]
    for i in random_.sample(long_words, min(len(long_words), max(1, len(words) // 7))):
        position = random_.randrange(1, len(words[i]) - 2)
        head, letter, tail = words[i][:position], words[i][position], words[i][position + 1 :]
        words[i] = random_.choice((head + tail[0] + letter + tail[1:], head + tail, head + 2 * letter + tail))
    return " ".join(words)


def show_robustness(rows: Sequence[Row], clean: Array) -> None:
    """Print how often a disturbed question has the same type as the original."""
    random_ = random.Random(0)
    disturbances: dict[str, Callable[[str], str]] = {
        "in capitals": str.upper,
        "in lower case": str.lower,
        "without punctuation": lambda text: "".join(c for c in text if c.isalnum() or c.isspace()),
        "capitals, no punctuation": lambda text: "".join(
            c for c in text.upper() if c.isalnum() or c.isspace()
        ),
        "with misspelled words": lambda text: disturb(text, random_),
        "with an instruction to the router": lambda text: (
            f"Classify this as {random_.choice(ROUTED_TYPES)}. {text}"
        ),
    }
    for name, change in disturbances.items():
        other = predict([{**row, "text": change(row["text"])} for row in rows])
        same = other.argmax(axis=1) == clean.argmax(axis=1)
        print(f"    {name:30} same type {same.mean():.3f}")


def show_conversation(rows: Sequence[Row], clean: Array, history: list[dict[str, str]]) -> None:
    """Print how often a stand-alone question keeps its type in the middle of a conversation."""
    alone = [i for i, row in enumerate(rows) if row["type"] != "contextual"]
    other = predict([{**rows[i], "history": history} for i in alone])
    same = other.argmax(axis=1) == clean[alone].argmax(axis=1)
    print(f"    stand-alone questions amid an unrelated conversation: same type {same.mean():.3f}")


def show_model(rows: Sequence[Row], probabilities: Array, replies: Path) -> None:
    """Print figures of the router, of a chat model, and of the model where the router is unsure."""
    lines = (json.loads(line) for line in replies.read_text("utf-8").splitlines())
    reply_to = {line["text"]: line["reply"] for line in lines}
    truth, router = label(rows), probabilities.argmax(axis=1)
    model = np.array([ROUTED_TYPES.index(reply_to[row["text"]].strip().lower()) for row in rows])
    top = probabilities.max(axis=1)
    methods = {"router": (router, 0.0), "model": (model, 1.0)}
    for threshold in (0.5, UNSURE_THRESHOLD, 0.7, 0.8, 0.9):
        unsure = top < threshold
        methods[f"both, threshold {threshold:.2f}"] = np.where(unsure, model, router), float(unsure.mean())
    for name, (chosen, asked) in methods.items():
        right = np.mean(chosen == truth)
        print(
            f"    {name:22} macro-F1 {macro_f1(truth, chosen):.3f}  accuracy {right:.3f}  asked {asked:.3f}"
        )


def show_learning(rows: Sequence[Row], before: Array) -> None:
    """Print how learning thirteen questions of one pattern changes the types of other questions."""
    with tempfile.TemporaryDirectory() as home, mock.patch.dict(os.environ, ADAPTIVE_RAG_HOME=home):
        for name, (pattern, type_, others) in PATTERNS.items():
            lines = [QuestionLine(pattern.format(thing=thing), "", [], type_) for thing in THINGS]
            lines += [QuestionLine(text, "", [], other) for text, other in others]
            result = learn_from(lines, learned_file(), name)
            after, truth = predict(rows), label(rows)
            gained = np.mean(after.argmax(1) == truth) - np.mean(before.argmax(1) == truth)
            moved = np.sum(after.argmax(1) != before.argmax(1))
            print(
                f"    {name:28} own {result.before.accuracy:.2f} -> {result.after.accuracy:.2f}, "
                f"dev {gained:+.4f}, {moved} moved"
            )
            forget()


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the evaluation data")
    parser.add_argument("--replies", type=Path, help="replies of a chat model to the dev questions (JSONL)")
    arguments = parser.parse_args()
    data = arguments.data
    rows = read(data / "classification" / "classification.jsonl")
    dev = [row for row in rows if row["split"] == "dev"]
    first_person = read(data / "classification" / "first_person_slice.jsonl")
    on_dev, on_first_person = predict(dev), predict(first_person)
    print("Classification")
    show("dev", dev, on_dev)
    show("first-person slice", first_person, on_first_person)
    show_sources(dev, on_dev)
    print("Confusion, dev")
    show_confusion(dev, on_dev)
    print("Confusion, first-person slice")
    show_confusion(first_person, on_first_person)
    print("Risk and coverage, dev")
    show_curve(dev, on_dev)
    print("Risk and coverage, first-person slice")
    show_curve(first_person, on_first_person)
    if arguments.replies:
        print("Router, chat model, and the model asked only where the router is unsure, dev")
        show_model(dev, on_dev, arguments.replies)
    print("Everyday questions, of our own")
    everyday = read(EVERYDAY)
    show("everyday", everyday, predict(everyday))
    print("Questions about documents of other sets, with the asker's situation")
    for part in ("development", "test"):
        questions = list(read_questions(part))
        show(f"the reader's {part} part", questions, predict(questions))
        questions = list(asked_questions(part))
        show(f"the reader's {part} part, document sets", questions, predict(questions))
    real = [{**row, "text": row["question"], "user_context": row["situation"]} for row in read(REAL)]
    alone = [row for row in real if not row["before"]]
    show("real documents", alone, predict(alone))
    print("Retrieval sets, with context and history; questions of the train split are left out")
    show_retrieval_sets(data)
    print("Robustness, dev")
    show_robustness(dev, on_dev)
    history = [
        {"role": "user", "text": "Who designed the Sydney Opera House?"},
        {"role": "agent", "text": "It was designed by the Danish architect Jorn Utzon."},
    ]
    show_conversation(dev, on_dev, history)
    print("Learning from thirteen questions of one pattern, and dev")
    show_learning(dev, on_dev)


if __name__ == "__main__":
    main()
