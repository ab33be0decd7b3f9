"""Trains the router on a user's labelled questions: fits weights that are added to the shipped ones."""

import hashlib
import json
import lzma
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from adaptive_rag.analysis import router
from adaptive_rag.analysis.parse import parse_question
from adaptive_rag.errors import ConfigurationError
from adaptive_rag.private import make_folder, replace_text
from adaptive_rag.state import ROUTED_TYPES, RoutedType, Turn
from adaptive_rag.text.vectors import softmax

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

# Minimum number of labelled questions.
MIN_QUESTIONS = 12
# One question in so many is held out to measure the effect.
HELD_OUT = 4
# The factor of a question's vector, which has unit length. Patterns are learned better with 16 than with 4, 8
# or 12; the public questions show no difference (`python -m training.router_report`).
SCALE = 16.0
# Penalties for moving away from the shipped weights; the best is chosen by cross-validation.
PENALTIES = (3.0, 10.0, 30.0, 100.0)
# Labelled questions to documents of many kinds (`python -m training.built_in_questions`), which learning must
# not misroute. Two thirds are trained on, together with the user's own; one third is held out.
BUILT_IN = Path(__file__).with_name("questions.jsonl.xz")
# Maximum drop of the accuracy on the built-in questions through learning.
MAX_DROP = 0.01


class QuestionLine(NamedTuple):
    """A question from a file; `type` is None if no label was requested."""

    text: str
    user_context: str
    history: list[Turn]
    type: RoutedType | None


@dataclass(frozen=True)
class RouterQuality:
    """The quality of routing on a set of questions."""

    accuracy: float
    log_loss: float


@dataclass(frozen=True)
class BuiltInQuality:
    """The accuracy on the built-in questions before and after learning."""

    questions: int
    before: float
    after: float


@dataclass(frozen=True)
class LearningResult:
    """The effect of learning on the held-out questions; `file` is None if learning did not help.

    `kept_aside` is the number of held-out questions, and `built_in` the effect on the built-in ones that were
    held out.
    """

    learned_from: int
    kept_aside: int
    before: RouterQuality
    after: RouterQuality
    built_in: BuiltInQuality
    penalty: float
    file: Path | None

    @property
    def harms(self) -> bool:
        """Whether the accuracy on the built-in questions drops by more than `MAX_DROP`."""
        return self.built_in.before - self.built_in.after > MAX_DROP


def read_questions(path: str | Path, *, labelled: bool = False) -> list[QuestionLine]:
    """Read questions from a JSONL file: `text`, and optionally `user_context`, `history` and `type`.

    Args:
        path: the file, or `-` for standard input.
        labelled: whether each line needs a `type`, or a `best_type`: the cheapest strategy that found the
            evidence.

    Raises:
        ConfigurationError: the file or one of its lines cannot be used; the message names the line.
    """
    try:
        data = sys.stdin.buffer.read() if str(path) == "-" else Path(path).expanduser().read_bytes()
        content = data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"The questions {str(path)!r} cannot be read ({error}). Expected a JSONL file in UTF-8."
        ) from error
    lines = enumerate(content.split("\n"), start=1)
    return [_read_line(line, f"{path}, line {number}", labelled) for number, line in lines if line.strip()]


def _read_line(line: str, where: str, labelled: bool) -> QuestionLine:
    expected = 'expected an object like {"text": "..."}.'
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{where} is not JSON ({error}); {expected}") from None
    text = row.get("text", row.get("question")) if isinstance(row, dict) else None
    if not isinstance(text, str):
        raise ConfigurationError(f"{where} has no text, got {line[:80]!r}; {expected}")
    context, history = row.get("user_context") or "", row.get("history") or []
    if not isinstance(context, str):
        raise ConfigurationError(f"{where}: user_context is {context!r}; expected a text.")
    if not isinstance(history, list) or not all(map(_is_turn, history)):
        expected = 'expected a list of {"role": "user" or "agent", "text": "..."}.'
        raise ConfigurationError(f"{where}: history is {history!r}; {expected}")
    label = row.get("best_type", row.get("type"))
    query_type = next((name for name in ROUTED_TYPES if name == str(label).lower()), None)
    if labelled and query_type is None:
        raise ConfigurationError(f"{where}: type is {label!r}; expected one of {', '.join(ROUTED_TYPES)}.")
    return QuestionLine(text, context, history, query_type if labelled else None)


def _is_turn(turn: object) -> bool:
    return (
        isinstance(turn, dict) and turn.get("role") in ("user", "agent") and isinstance(turn.get("text"), str)
    )


def learn(path: str | Path) -> LearningResult:
    """Learn from a JSONL file of labelled questions (`read_questions`), and save the weights if they help.

    Raises:
        ConfigurationError: the file cannot be read, or has too few questions or only one type.
    """
    return learn_from(read_questions(path, labelled=True), router.learned_file(), repr(str(path)))


def learn_from(questions: Sequence[QuestionLine], target: Path, source: str) -> LearningResult:
    """Learn from labelled questions, and save the weights to `target` if they help.

    A quarter of the questions, chosen by a hash of their text, is held out. The file is written only if their
    accuracy is no worse than before, their log loss is lower, and the accuracy on the built-in questions
    drops by no more than `MAX_DROP`. If it drops further, stronger penalties are tried. Errors name the
    questions by `source`.

    Raises:
        ConfigurationError: there are too few questions or only one type.
    """
    types = len({question.type for question in questions})
    if len(questions) < MIN_QUESTIONS or types < 2:
        raise ConfigurationError(
            f"{source} has {len(questions)} labelled questions of {types} types; learning needs at "
            f"least {MIN_QUESTIONS} of two types or more."
        )
    examples = _read_examples(questions)
    held_out = _choose_held_out(questions)
    train, test = np.flatnonzero(~held_out), np.flatnonzero(held_out)
    built_in_rows = np.arange(len(questions), len(examples.labels))
    built_in_test = built_in_rows[::3]
    built_in_train = np.setdiff1d(built_in_rows, built_in_test)
    all_train = np.concatenate([train, built_in_train])
    best = min(PENALTIES, key=lambda penalty: _cross_validate(examples, train, built_in_train, penalty))
    for penalty in (stronger for stronger in PENALTIES if stronger >= best):
        dual = examples.fit(all_train, penalty)
        before, after = examples.compare(test, all_train, dual)
        built_in_before, built_in_after = examples.compare(built_in_test, all_train, dual)
        built_in = BuiltInQuality(len(built_in_test), built_in_before.accuracy, built_in_after.accuracy)
        result = LearningResult(len(train), len(test), before, after, built_in, penalty, None)
        if not result.harms:
            break
    if result.harms or after.accuracy < before.accuracy or after.log_loss >= before.log_loss:
        return result
    facts: dict[str, Any] = {"learned_from": len(train), "kept_aside": len(test), "penalty": penalty}
    for name in ("accuracy", "log_loss"):
        facts[name] = {"before": round(getattr(before, name), 4), "after": round(getattr(after, name), 4)}
    facts["built_in"] = asdict(built_in)
    return replace(result, file=_save(examples.weights_of(all_train, dual), facts, target))


@dataclass
class _Examples:
    """The questions as numbers; `kernel` (n, n) holds the products of their vectors."""

    vectors: Array
    scores: Array
    labels: Rows
    # (questions, types): the target probabilities. A user's own question has 1 for its type; a built-in one
    # has the probabilities of the shipped router.
    targets: Array
    kernel: Array

    @cached_property
    def largest_eigenvalue(self) -> float:
        """The largest eigenvalue of the kernel, which bounds that of every submatrix."""
        from scipy.sparse.linalg import eigsh  # type: ignore[import-untyped]

        start = np.ones(len(self.kernel))  # a random one would give other last digits each time
        return float(eigsh(self.kernel, k=1, v0=start, return_eigenvectors=False)[0])

    def fit(self, rows: Rows, penalty: float, steps: int = 400) -> Array:
        """Fit a softmax regression on top of the router's scores, and return its dual weights (n, 4)."""
        kernel, scores = self.kernel[np.ix_(rows, rows)], self.scores[rows]
        targets = self.targets[rows]
        # At the solution, penalty * dual = targets - probabilities.
        step = penalty / (penalty + 0.5 * self.largest_eigenvalue)
        # Nesterov's momentum for a strongly convex function (Nesterov 2004, "Introductory Lectures", 2.2).
        momentum = (1 - step**0.5) / (1 + step**0.5)
        dual = ahead = np.zeros_like(targets)
        for _ in range(steps):
            previous = dual
            dual = ahead + step * ((targets - softmax(scores + kernel @ ahead)) / penalty - ahead)
            ahead = dual + momentum * (dual - previous)
        return dual

    def predict(self, rows: Rows, train: Rows, dual: Array) -> Array:
        """Return the scores of the questions in `rows` with the weights learned from those in `train`."""
        return self.scores[rows] + self.kernel[np.ix_(rows, train)] @ dual

    def compare(self, rows: Rows, train: Rows, dual: Array) -> tuple[RouterQuality, RouterQuality]:
        """Measure the routing of `rows` as shipped, and with the weights that were learned from `train`."""
        labels = self.labels[rows]
        return _measure(self.scores[rows], labels), _measure(self.predict(rows, train, dual), labels)

    def weights_of(self, rows: Rows, dual: Array) -> router.LearnedWeights:
        """Convert the dual weights of the examples (n, 4) into weights of the vector."""
        weights, bias = SCALE**2 * self.vectors[rows].T @ dual, dual.sum(axis=0)
        return router.LearnedWeights(weights.astype(np.float32), bias.astype(np.float32))


def read_result(file: Path) -> LearningResult | None:
    """Read the result of learning from a file of learned weights; return None if there is no such file.

    Raises:
        ConfigurationError: the file exists but cannot be used.
    """
    if router.load_learned(file) is None:
        return None
    data = json.loads(file.read_text(encoding="utf-8"))
    try:
        before, after = (
            RouterQuality(data["accuracy"][when], data["log_loss"][when]) for when in ("before", "after")
        )
        built_in = BuiltInQuality(**data["built_in"])
        return LearningResult(
            data["learned_from"], data["kept_aside"], before, after, built_in, data["penalty"], file
        )
    except (KeyError, TypeError) as error:
        raise ConfigurationError(
            f"What the router learned, {str(file)!r}, lacks {error}. Learn again."
        ) from None


def forget(file: Path | None = None) -> Path | None:
    """Rename the file of learned weights, so that the router is as shipped, and return its new path.

    `file` is by default the user's own. The result is None if nothing was learned. To restore the weights,
    rename the file back.

    Raises:
        ConfigurationError: the file cannot be renamed.
    """
    file = file or router.learned_file()
    if not file.exists():
        return None
    try:
        return file.replace(file.with_name(f"{file.name}.bak"))
    except OSError as error:
        raise ConfigurationError(
            f"What the router learned, {str(file)!r}, cannot be renamed: {error}. Remove the file yourself."
        ) from error


class _BuiltIn(NamedTuple):
    questions: list[QuestionLine]
    scores: list[router.RouterScores]


@cache
def _read_built_in() -> _BuiltIn:
    with lzma.open(BUILT_IN, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    questions = [QuestionLine(row["text"], row["user_context"], [], row["type"]) for row in rows]
    return _BuiltIn(questions, _score(questions))


def _score(questions: Sequence[QuestionLine]) -> list[router.RouterScores]:
    shipped = router.load_router()
    return [shipped.score(parse_question(line.text).full_text, line.user_context) for line in questions]


def _read_examples(user_questions: Sequence[QuestionLine]) -> _Examples:
    """Return the questions of a user as numbers, followed by the built-in ones."""
    built_in = _read_built_in()
    questions = [*user_questions, *built_in.questions]
    routed = [*_score(user_questions), *built_in.scores]
    vectors, scores = (
        np.array(rows, dtype=float) for rows in zip(*((r.vector, r.total) for r in routed), strict=True)
    )
    labels = np.array([ROUTED_TYPES.index(line.type) for line in questions if line.type is not None])
    targets = softmax(scores)
    user_rows = slice(len(user_questions))
    targets[user_rows] = np.eye(len(ROUTED_TYPES))[labels[user_rows]]
    return _Examples(vectors, scores, labels, targets, SCALE**2 * vectors @ vectors.T + 1.0)


def _cross_validate(examples: _Examples, train: Rows, built_in: Rows, penalty: float) -> float:
    """Return the cross-validated log loss on `train`; `built_in` is part of every training set."""
    folds = np.arange(len(train)) % 3
    total = 0.0
    for fold in range(3):
        fold_train, fold_test = np.concatenate([train[folds != fold], built_in]), train[folds == fold]
        scores = examples.predict(fold_test, fold_train, examples.fit(fold_train, penalty, steps=150))
        total += _measure(scores, examples.labels[fold_test]).log_loss * len(fold_test)
    return total


def _choose_held_out(questions: Sequence[QuestionLine]) -> NDArray[np.bool_]:
    """Select a quarter of each type by a hash of the text, so that a rerun selects the same questions.

    One of three questions of a type is selected, so that the minimum number of questions always gives some.
    """
    held_out = np.zeros(len(questions), dtype=bool)
    for query_type in ROUTED_TYPES:
        rows = [i for i, question in enumerate(questions) if question.type == query_type]
        rows.sort(key=lambda i: hashlib.sha256(questions[i].text.encode(errors="surrogatepass")).hexdigest())
        held_out[rows[: (len(rows) + 1) // HELD_OUT]] = True
    return held_out


def _measure(scores: Array, labels: Rows) -> RouterQuality:
    probabilities = softmax(scores)[np.arange(len(labels)), labels]
    is_right = scores.argmax(axis=1) == labels
    return RouterQuality(float(is_right.mean()), float(-np.log(np.maximum(probabilities, 1e-12)).mean()))


def _save(learned: router.LearnedWeights, facts: dict[str, Any], file: Path) -> Path:
    """Write the learned weights, with facts about the learning for people who open the file."""
    make_folder(file.parent)
    about = "Learned from labelled questions. Remove this file to undo it."
    arrays = {"bias": learned.bias, "weights": list(learned.weights)}
    data = {"format": router.LEARNED_FORMAT, "about": about, **facts, **arrays}
    text = json.dumps(data, ensure_ascii=False, default=lambda row: [round(float(x), 5) for x in row])
    replace_text(file, text)
    return file
