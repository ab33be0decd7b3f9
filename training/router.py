"""Fits the question router and writes its weights: python -m training.router --data PATH.

PATH contains `classification/classification.jsonl`, of which only the train split is read. The other sources
are `router_examples.jsonl` in this folder, which was written for the router, and the typed questions of the
reader's train part (`training/reader`), about single passages and about document sets. Training needs
scikit-learn; the router itself needs only NumPy.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from adaptive_rag.analysis.features import KINDS, extract_features, find_kind
from adaptive_rag.analysis.parse import parse_question
from adaptive_rag.analysis.router import WEIGHTS, embed_questions
from adaptive_rag.state import ROUTED_TYPES
from adaptive_rag.text.vectors import softmax
from training.reader.examples import read_lines, read_split
from training.reader.found import read_asked

EXAMPLES = Path(__file__).parent / "router_examples.jsonl"
FAMILIES = ("words", "shapes", "letters", "form")
# Minimum number of questions with a feature.
MIN_QUESTIONS = {"words": 2, "shapes": 2, "letters": 4, "form": 2}
# The weight of each family, chosen by cross-validation on the training data.
SCALES = {"words": 1.5, "shapes": 3.0, "letters": 2.0, "form": 1.0, "embedding": 2.0, "by kind": 1.5}
# Inverse strength of the regularization.
INVERSE_PENALTY = 0.8
# Number of directions of the training questions that are used; more have no effect.
RANK = 1000
# Weights of our own questions, which are simpler than those of other people and would otherwise dominate. The
# weight is higher in the first person, where there are hardly any others.
WEIGHT_OF_PLAIN_EXAMPLES, WEIGHT_OF_FIRST_PERSON_EXAMPLES = 0.25, 0.6
# Groups of questions with one form and many topics. They teach the form, but are too similar for a higher
# weight.
PATTERNED = ("asked for views", "asked for a fact", "asked to explain")
WEIGHT_OF_PATTERNED_EXAMPLES = 0.12
# The first-person questions were written in three batches by one author and are more similar than those of
# different people, so their temperature is raised by this factor. Set by hand, after the calibration on the
# first-person slice had been seen; see docs/routing.md.
FIRST_PERSON_SOFTENING = 1.25
# The batches in which our first-person questions were written.
BATCHES = ("first person 1", "first person 2", "first person 3")

# How many questions about single passages are drawn, by type and by whether they have the asker's situation.
READ_EXAMPLES = {
    ("factual", False): 800, ("factual", True): 100,
    ("analytical", False): 500, ("analytical", True): 60,
    ("opinion", False): 500,
    ("contextual", False): 346, ("contextual", True): 900,
}  # fmt: skip
WEIGHT_OF_READ_EXAMPLES = 0.2
# The weight of questions about document sets. At .2, those about real documents are routed .01 better, and
# dev .008 worse.
WEIGHT_OF_ASKED_EXAMPLES = 0.1

Array = NDArray[Any]
Row = dict[str, Any]


def load_rows(data: Path) -> list[Row]:
    """Return the train split and our own examples."""
    lines = (data / "classification" / "classification.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    train = [{**row, "type": row["type"].lower()} for row in rows if row["split"] == "train"]
    own = [json.loads(line) for line in EXAMPLES.read_text("utf-8").splitlines()]
    return [
        *train,
        *({**row, "source": "own"} for row in own),
        *draw_read_questions(),
        *asked_questions("train"),
    ]


def asked_questions(part: str) -> Iterator[Row]:
    """Yield the questions about document sets of a part of the reader's examples."""
    for row in read_asked(part):
        yield {"text": row["q"], "type": row["type"], "user_context": row["sit"], "source": "asked"}


def read_questions(part: str) -> Iterator[Row]:
    """Yield the typed questions about single passages of a part of the reader's examples."""
    sets = set(read_split()[part])
    for row in read_lines():
        for question in row["qa"] if row["set"] in sets else ():
            if query_type := question.get("type"):
                context = question.get("sit") or ""
                yield {
                    "text": question["q"], "type": query_type, "user_context": context, "source": "read",
                }  # fmt: skip


def draw_read_questions() -> Iterator[Row]:
    """Yield a sample of the questions about passages of the train part; its sizes are `READ_EXAMPLES`."""
    groups = defaultdict[tuple[str, bool], list[Row]](list)
    for row in read_questions("train"):
        groups[row["type"], bool(row["user_context"])].append(row)
    draw = random.Random(5)
    for group, count in READ_EXAMPLES.items():
        yield from draw.sample(groups[group], count)


@dataclass
class Questions:
    """Questions as features, vectors, kinds and labels."""

    rows: Sequence[Row]
    features: list[dict[str, dict[str, float]]] = field(init=False)
    vectors: Array = field(init=False)
    kinds: Array = field(init=False)
    labels: Array = field(init=False)

    def __post_init__(self) -> None:
        parsed = [
            parse_question(row["text"], row.get("user_context", ""), row.get("history", ()))
            for row in self.rows
        ]
        self.features = [extract_features(question) for question in parsed]
        self.vectors = embed_questions(parsed)
        self.kinds = np.array([find_kind(features["form"]) for features in self.features])
        self.labels = np.array([ROUTED_TYPES.index(row["type"]) for row in self.rows])

    @property
    def first_person(self) -> Array:
        """Whether each question is in the first person singular."""
        return np.array(["first person" in features["form"] for features in self.features])

    @property
    def own(self) -> Array:
        """Whether each question is one of ours rather than one of other people."""
        return np.array([row.get("source") in ("own", "read", "asked") for row in self.rows])

    @property
    def weights(self) -> Array:
        """The weight of each question in training."""
        pairs = zip(self.rows, self.first_person.tolist(), strict=True)
        return np.array([_weight(row, is_first_person=first_person) for row, first_person in pairs])


def _weight(row: Row, *, is_first_person: bool) -> float:
    if row.get("source") == "asked":
        return WEIGHT_OF_ASKED_EXAMPLES
    if row.get("source") == "read":
        return WEIGHT_OF_READ_EXAMPLES
    if row.get("source") != "own":
        return 1.0
    if row.get("group") in PATTERNED:
        return WEIGHT_OF_PATTERNED_EXAMPLES
    return WEIGHT_OF_FIRST_PERSON_EXAMPLES if is_first_person else WEIGHT_OF_PLAIN_EXAMPLES


@dataclass
class Space:
    """The features of the training questions, and the directions in which the questions differ most."""

    questions: Questions
    names: dict[str, list[str]] = field(init=False)
    importance: dict[str, Array] = field(init=False)
    matrices: dict[str, Any] = field(init=False)
    directions: Array = field(init=False)
    coordinates: Array = field(init=False)

    def __post_init__(self) -> None:
        self.names, self.importance, self.matrices = {}, {}, {}
        gram = np.zeros((len(self.questions.rows),) * 2, dtype=np.float32)
        for family in FAMILIES:
            self._select_features(family)
            matrix = self._matrix(family)
            self.matrices[family] = matrix
            gram += SCALES[family] ** 2 * (matrix @ matrix.T).toarray()
        similarity = self.questions.vectors @ self.questions.vectors.T
        same_kind = self.questions.kinds[:, None] == self.questions.kinds[None, :]
        gram += similarity * (SCALES["embedding"] ** 2 + SCALES["by kind"] ** 2 * same_kind)
        last = len(gram) - 1
        values, vectors = scipy.linalg.eigh(gram, subset_by_index=[max(last - RANK + 1, 0), last])
        self.directions = vectors / np.sqrt(np.maximum(values, 1e-6))
        self.coordinates = gram @ self.directions

    def _select_features(self, family: str) -> None:
        counts = Counter(name for features in self.questions.features for name in features[family])
        names = sorted(name for name, count in counts.items() if count >= MIN_QUESTIONS[family])
        total = len(self.questions.rows)
        rarity = [np.log((1 + total) / (1 + counts[name])) + 1 for name in names]
        self.names[family] = names
        # In half precision, like the file of the weights, so that training uses the values of the router.
        importance = np.ones(len(names)) if family == "form" else np.array(rarity)
        self.importance[family] = importance.astype(np.float16)

    def _matrix(self, family: str) -> Any:
        columns_of = {name: column for column, name in enumerate(self.names[family])}
        rows, columns, values = [], [], []
        for row, features in enumerate(self.questions.features):
            present = [name for name in features[family] if name in columns_of]
            if not present:
                continue
            row_columns = np.array([columns_of[name] for name in present])
            row_values = np.array([features[family][name] for name in present], dtype=np.float32)
            row_values *= self.importance[family][row_columns].astype(np.float32)
            if family != "form":
                row_values /= np.linalg.norm(row_values)
            rows += [row] * len(row_columns)
            columns += row_columns.tolist()
            values += row_values.tolist()
        shape = (len(self.questions.rows), len(columns_of))
        return sp.csr_matrix((np.array(values, dtype=np.float32), (rows, columns)), shape=shape)


def fit(space: Space, train: Array) -> LogisticRegression:
    """Fit the linear model on some of the questions."""
    questions = space.questions
    model = LogisticRegression(C=INVERSE_PENALTY, max_iter=300, tol=1e-3)
    return model.fit(
        space.coordinates[train], questions.labels[train], sample_weight=questions.weights[train]
    )


def predict_held_out(space: Space, folds: int = 5) -> Array:
    """Score every question with a model that was not trained on it; shape (n, 4)."""
    questions = space.questions
    scores = np.zeros((len(questions.rows), len(ROUTED_TYPES)))
    strata = [f"{row['type']} {row['source']} {row.get('group', '')}" for row in questions.rows]
    # A stratum with fewer questions than folds cannot be divided among them.
    sizes = Counter(strata)
    strata = [stratum if sizes[stratum] >= folds else "few" for stratum in strata]
    splitter = StratifiedKFold(folds, shuffle=True, random_state=1)
    for train, test in splitter.split(space.coordinates, strata):
        scores[test] = fit(space, train).decision_function(space.coordinates[test])
    return scores


def predict_other_batches(space: Space) -> tuple[Array, Array]:
    """Score first-person questions with models that were trained on those of the other batches only.

    Questions of one batch are similar, so this is closer to questions of other people than a random split.
    """
    questions = space.questions
    scores, labels = [], []
    for batch in BATCHES:
        test = np.array([row.get("group") == batch for row in questions.rows]) & questions.first_person
        model = fit(space, np.flatnonzero(~test))
        scores.append(model.decision_function(space.coordinates[test]))
        labels.append(questions.labels[test])
    return np.vstack(scores), np.concatenate(labels)


def find_temperature(scores: Array, labels: Array) -> float:
    """Return the temperature with the smallest log loss."""

    def loss(temperature: float) -> float:
        probabilities = softmax(scores / temperature)[np.arange(len(labels)), labels]
        return float(-np.log(np.maximum(probabilities, 1e-12)).mean())

    return float(min(np.arange(0.5, 3.0, 0.05), key=loss))


def write(space: Space, model: LogisticRegression, facts: dict[str, Any], path: Path) -> None:
    """Write the weights as plain arrays."""
    dual = space.directions @ model.coef_.T
    arrays: dict[str, Array] = {"bias": model.intercept_.astype(np.float32)}
    for family in FAMILIES:
        weights = SCALES[family] ** 2 * (space.matrices[family].T @ dual)
        arrays[f"{family}.names"] = np.frombuffer("\n".join(space.names[family]).encode(), dtype=np.uint8)
        arrays[f"{family}.importance"] = space.importance[family]
        arrays[f"{family}.weights"] = weights.astype(np.float16)
    vectors, kinds = space.questions.vectors, space.questions.kinds
    shared = SCALES["embedding"] ** 2 * (vectors.T @ dual)
    by_kind = [
        SCALES["by kind"] ** 2 * (vectors[kinds == kind].T @ dual[kinds == kind])
        for kind in range(len(KINDS))
    ]
    arrays["embedding"] = np.array([shared + weights for weights in by_kind], dtype=np.float16)
    text = json.dumps({"families": FAMILIES, **facts}, sort_keys=True)
    arrays["facts"] = np.frombuffer(text.encode(), dtype=np.uint8)
    np.savez(path, **arrays)


def main() -> None:
    """Fit and calibrate the router, and write its weights."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with classification/")
    parser.add_argument("--out", type=Path, default=WEIGHTS)
    arguments = parser.parse_args()
    space = Space(Questions(load_rows(arguments.data)))
    others = ~space.questions.own
    held_out = predict_held_out(space)
    temperature = find_temperature(held_out[others], space.questions.labels[others])
    first_person = max(find_temperature(*predict_other_batches(space)), temperature)
    facts = {
        "temperature": round(temperature, 2),
        "first_person_temperature": round(first_person * FIRST_PERSON_SOFTENING, 2),
        "trained_on": int(others.sum()),
        "own_examples": int((~others).sum()),
    }
    right = held_out.argmax(axis=1) == space.questions.labels
    print(f"cross-validated accuracy: {right[others].mean():.3f}, on our own {right[~others].mean():.3f}")
    print(facts)
    write(space, fit(space, np.arange(len(others))), facts, arguments.out)
    print(f"{arguments.out}: {arguments.out.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
