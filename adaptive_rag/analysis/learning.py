"""Trains the router: fits additional weights for a user's labelled questions on top of the shipped ones."""

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
from adaptive_rag.analysis.features import extract_features
from adaptive_rag.analysis.parse import ParsedQuestion, parse_question
from adaptive_rag.errors import ConfigurationError
from adaptive_rag.models.onnx import Vectors
from adaptive_rag.private import make_folder, replace_text
from adaptive_rag.state import QUERY_TYPES, QueryType, Turn

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

# Minimum number of questions for learning and checking.
LEAST_QUESTIONS = 12
# One question in so many is held out for measuring.
HELD_OUT = 4
# Weights below this are not kept, since they would change a score only in its fourth digit.
LEAST_WEIGHT = 5e-4
# Penalties for moving away from the shipped weights; the best is chosen by cross-validation.
PENALTIES = (3.0, 10.0, 30.0, 100.0)
# Labelled questions to documents of many kinds (`python -m training.built_in_questions`), which learning must
# not misroute: two thirds are learned from together with the user's own, and one third is measured on.
BUILT_IN = Path(__file__).with_name("questions.jsonl.xz")
# Maximum drop in the accuracy on the built-in questions through learning.
MOST_LOST = 0.01


class QuestionLine(NamedTuple):
    """A question as read from a file; `type` is None where no label was requested."""

    text: str
    user_context: str
    history: list[Turn]
    type: QueryType | None


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
    """The effect of learning on the held-out questions; `file` is None where it did not help.

    `built_in` is the effect on the built-in questions that were not learned from.
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
        """Tell whether the accuracy on the built-in questions drops by more than `MOST_LOST`."""
        return self.built_in.before - self.built_in.after > MOST_LOST


def read_questions(path: str | Path, *, labelled: bool = False) -> list[QuestionLine]:
    """Read questions from a JSONL file: `text`, and optionally `user_context`, `history` and `type`.

    Args:
        path: the file, or `-` for standard input.
        labelled: whether each line needs a `type` or a `best_type` (the cheapest strategy that found the
            evidence).

    Raises:
        ConfigurationError: the file or one of its lines cannot be used; the message names the line.
    """
    try:
        piped = str(path) == "-"
        data = sys.stdin.buffer.read() if piped else Path(path).expanduser().read_bytes()
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
    except ValueError as error:
        raise ConfigurationError(f"{where} is no JSON ({error}); {expected}") from None
    text = row.get("text", row.get("question")) if isinstance(row, dict) else None
    if not isinstance(text, str):
        raise ConfigurationError(f"{where} has no text, got {line[:80]!r}; {expected}")
    context, history = row.get("user_context") or "", row.get("history") or []
    if not isinstance(context, str):
        raise ConfigurationError(f"{where}: user_context is {context!r}; expected a text.")
    if not isinstance(history, list) or not all(
        isinstance(turn, dict) and turn.get("role") in ("user", "agent") and isinstance(turn.get("text"), str)
        for turn in history
    ):
        expected = 'expected a list of {"role": "user" or "agent", "text": "..."}.'
        raise ConfigurationError(f"{where}: history is {history!r}; {expected}")
    label = row.get("best_type", row.get("type"))
    query_type = next((name for name in QUERY_TYPES if name == str(label).lower()), None)
    if labelled and query_type is None:
        raise ConfigurationError(f"{where}: type is {label!r}; expected one of {', '.join(QUERY_TYPES)}.")
    return QuestionLine(text, context, history, query_type if labelled else None)


def learn(path: str | Path) -> LearningResult:
    """Learn from a JSONL file of `text` and `type` (optional `user_context`, `history`); save it if it helps.

    Raises:
        ConfigurationError: the file cannot be read, or holds too few questions or only one type.
    """
    return learn_from(read_questions(path, labelled=True), router.learned_file(), repr(str(path)))


def learn_from(questions: Sequence[QuestionLine], target: Path, source: str) -> LearningResult:
    """Learn from labelled questions and save the weights to `target` if they help; messages name `source`.

    A quarter of the questions, chosen by a hash of their text, is held out. The file is written only where
    their accuracy is no worse than before, their log loss is lower, and the accuracy on the built-in
    questions drops by no more than `MOST_LOST`. Where it drops further, stronger penalties are tried.

    Raises:
        ConfigurationError: there are too few questions or only one type.
    """
    types = len({question.type for question in questions})
    if len(questions) < LEAST_QUESTIONS or types < 2:
        raise ConfigurationError(
            f"{source} holds {len(questions)} labelled questions of {types} types; learning needs at "
            f"least {LEAST_QUESTIONS} of two types or more."
        )
    examples = _read_examples(questions)
    held_out = _choose_held_out(questions)
    train, test = np.flatnonzero(~held_out), np.flatnonzero(held_out)
    others = np.arange(len(questions), len(examples.labels))
    unseen = others[::3]
    beside = np.setdiff1d(others, unseen)
    learned = np.concatenate([train, beside])
    best = min(PENALTIES, key=lambda penalty: _cross_validate(examples, train, beside, penalty))
    for penalty in (each for each in PENALTIES if each >= best):
        dual = examples.fit(learned, penalty)
        before, after = examples.compare(test, learned, dual)
        others_before, others_after = examples.compare(unseen, learned, dual)
        built_in = BuiltInQuality(len(unseen), others_before.accuracy, others_after.accuracy)
        result = LearningResult(len(train), len(test), before, after, built_in, penalty, None)
        if not result.harms:
            break
    if result.harms or after.accuracy < before.accuracy or after.log_loss >= before.log_loss:
        return result
    facts: dict[str, Any] = {"learned_from": len(train), "kept_aside": len(test), "penalty": penalty}
    for name in ("accuracy", "log_loss"):
        facts[name] = {"before": round(getattr(before, name), 4), "after": round(getattr(after, name), 4)}
    facts["built_in"] = asdict(built_in)
    return replace(result, file=_save(examples.weigh(learned, dual), facts, target))


@dataclass
class _Examples:
    """The questions as numbers; `kernel` (n, n) holds the products of their features."""

    # sparse, (questions, features); the name of a feature is its family, a tab and its own name
    features: Any
    names: list[str]
    vectors: Array
    scores: Array
    labels: Rows
    # (questions, types): the target probabilities. A user's own question has 1 for its type; a built-in one
    # has the probabilities that the shipped router gives it.
    targets: Array
    kernel: Array

    @cached_property
    def largest(self) -> float:
        """Return the largest eigenvalue of the kernel, which bounds that of every submatrix."""
        return float(np.linalg.eigvalsh(self.kernel)[-1])

    def fit(self, rows: Rows, penalty: float, steps: int = 400) -> Array:
        """Fit softmax regression on top of the router's scores, in the dual."""
        kernel, scores = self.kernel[np.ix_(rows, rows)], self.scores[rows]
        truth = self.targets[rows]
        # At the solution, penalty * dual = truth - probabilities.
        step = penalty / (penalty + 0.5 * self.largest)
        # Nesterov's momentum for a strongly convex function (Nesterov 2004, "Introductory Lectures", 2.2).
        momentum = (1 - step**0.5) / (1 + step**0.5)
        dual = ahead = np.zeros_like(truth)
        for _ in range(steps):
            last = dual
            dual = ahead + step * ((truth - router.softmax(scores + kernel @ ahead)) / penalty - ahead)
            ahead = dual + momentum * (dual - last)
        return dual

    def predict(self, rows: Rows, train: Rows, dual: Array) -> Array:
        """Return the scores of the questions in `rows` with the weights learned from those in `train`."""
        return self.scores[rows] + self.kernel[np.ix_(rows, train)] @ dual

    def compare(self, rows: Rows, train: Rows, dual: Array) -> tuple[RouterQuality, RouterQuality]:
        """Measure the routes of the questions in `rows` as shipped, and with what those in `train` taught."""
        labels = self.labels[rows]
        return _measure(self.scores[rows], labels), _measure(self.predict(rows, train, dual), labels)

    def weigh(self, rows: Rows, dual: Array) -> router.LearnedWeights:
        """Convert the weights of the examples (n, 4) into weights of the features."""
        weights: dict[str, dict[str, Any]] = {family: {} for family in router.LEARNED_FAMILIES}
        for key, row in zip(self.names, self.features[rows].T @ dual, strict=True):
            if np.abs(row).max() >= LEAST_WEIGHT:
                family, _, name = key.partition("\t")
                weights[family][name] = row
        embedding = router.LEARNED_EMBEDDING_SCALE * self.vectors[rows].T @ dual
        bias = dual.sum(axis=0)
        return router.LearnedWeights(weights, embedding.astype(np.float32), bias.astype(np.float32))


def read_result(file: Path) -> LearningResult | None:
    """Read from a file of learned weights how they were learned; return None where there is no such file.

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
    """Move the learned weights aside, so that the router is as shipped; return the path they were moved to.

    `file` is by default the user's own. The result is None where nothing was learned. To restore the weights,
    move the file back.

    Raises:
        ConfigurationError: the file cannot be moved.
    """
    file = file or router.learned_file()
    if not file.exists():
        return None
    try:
        return file.replace(file.with_name(f"{file.name}.bak"))
    except OSError as error:
        raise ConfigurationError(
            f"What the router learned, {str(file)!r}, cannot be put aside: {error}. Remove the file yourself."
        ) from error


class _BuiltIn(NamedTuple):
    questions: list[QuestionLine]
    parsed: list[ParsedQuestion]
    vectors: Vectors


@cache
def _read_built_in() -> _BuiltIn:
    with lzma.open(BUILT_IN, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    questions = [QuestionLine(row["text"], row["user_context"], [], row["type"]) for row in rows]
    parsed = [_parse(line) for line in questions]
    return _BuiltIn(questions, parsed, router.embed_questions(parsed))


def _parse(line: QuestionLine) -> ParsedQuestion:
    return parse_question(line.text, line.user_context, line.history)


def _read_examples(own: Sequence[QuestionLine]) -> _Examples:
    """Return a user's own questions as numbers, followed by the built-in ones."""
    from sklearn.feature_extraction import DictVectorizer

    built_in, parsed = _read_built_in(), [_parse(line) for line in own]
    vectors = np.concatenate([router.embed_questions(parsed), built_in.vectors])
    questions, parsed = [*own, *built_in.questions], [*parsed, *built_in.parsed]
    shipped = router.load_router()
    scores = np.array([shipped.score(*pair).total for pair in zip(parsed, vectors, strict=True)])
    vectorizer = DictVectorizer()
    features = vectorizer.fit_transform(
        {
            f"{family}\t{name}": value
            for family, of_family in extract_features(question).items()
            if family in router.LEARNED_FAMILIES
            for name, value in router.normalise(of_family, family).items()
        }
        for question in parsed
    )
    products = (features @ features.T).toarray()
    kernel = products + router.LEARNED_EMBEDDING_SCALE**2 * vectors.astype(float) @ vectors.T + 1.0
    labels = np.array([QUERY_TYPES.index(line.type) for line in questions if line.type is not None])
    names = list(vectorizer.feature_names_)
    targets = router.softmax(scores.astype(float))
    targets[: len(own)] = np.eye(len(QUERY_TYPES))[labels[: len(own)]]
    return _Examples(features, names, vectors.astype(float), scores.astype(float), labels, targets, kernel)


def _cross_validate(examples: _Examples, train: Rows, beside: Rows, penalty: float) -> float:
    """Return the cross-validated log loss on a user's questions; `beside` is part of every training set."""
    folds = np.arange(len(train)) % 3
    total = 0.0
    for fold in range(3):
        seen, unseen = np.concatenate([train[folds != fold], beside]), train[folds == fold]
        scores = examples.predict(unseen, seen, examples.fit(seen, penalty, steps=150))
        total += _measure(scores, examples.labels[unseen]).log_loss * len(unseen)
    return total


def _choose_held_out(questions: Sequence[QuestionLine]) -> NDArray[np.bool_]:
    """Select a quarter of each type by a hash of the text, so that a rerun holds out the same questions.

    One of three questions of a type is held out, so that the minimum number always gives some.
    """
    held_out = np.zeros(len(questions), dtype=bool)
    for query_type in QUERY_TYPES:
        rows = [i for i, question in enumerate(questions) if question.type == query_type]
        rows.sort(key=lambda i: hashlib.sha256(questions[i].text.encode()).hexdigest())
        held_out[rows[: (len(rows) + 1) // HELD_OUT]] = True
    return held_out


def _measure(scores: Array, labels: Rows) -> RouterQuality:
    chosen = router.softmax(scores)[np.arange(len(labels)), labels]
    right = scores.argmax(axis=1) == labels
    return RouterQuality(float(right.mean()), float(-np.log(np.maximum(chosen, 1e-12)).mean()))


def _save(learned: router.LearnedWeights, facts: dict[str, Any], file: Path) -> Path:
    """Write the learned weights, with facts about the learning for people who read the file."""
    make_folder(file.parent)
    about = "Learned from labelled questions. Remove this file to undo it."
    arrays = {"bias": learned.bias, "embedding": list(learned.embedding), "weights": learned.weights}
    data = {"format": router.LEARNED_FORMAT, "about": about, **facts, **arrays}
    text = json.dumps(data, ensure_ascii=False, default=lambda row: [round(float(x), 5) for x in row])
    replace_text(file, text)
    return file
