"""Fits the question router and writes its weights: python -m training.router --data PATH.

PATH holds `classification/classification.jsonl`; only its train split is read. The other sources are
`router_examples.jsonl` beside this file, questions written for the router, and the questions to documents
that the reader is trained on (`training/reader`, its train part), which are typed: those of single passages
and those of whole document sets. Training needs scikit-learn; the router itself needs NumPy alone.
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
from adaptive_rag.state import QUERY_TYPES
from training.reader.examples import read_lines, read_split
from training.reader.found import read_asked

EXAMPLES = Path(__file__).parent / "router_examples.jsonl"
FAMILIES = ("words", "shapes", "letters", "form")
# A feature must stand in this many questions.
LEAST = {"words": 2, "shapes": 2, "letters": 4, "form": 2}
# How strongly each family enters; found by cross-validation on the training data.
SCALES = {"words": 1.5, "shapes": 3.0, "letters": 2.0, "form": 1.0, "embedding": 2.0, "by kind": 1.5}
INVERSE_PENALTY = 0.8
# Directions of the training questions that are kept: more changes nothing.
RANK = 1000
# Our own questions are plainer than strangers' and would else set the tone. In the first person there are
# hardly any others.
WEIGHT_OF_PLAIN_EXAMPLES, WEIGHT_OF_FIRST_PERSON_EXAMPLES = 0.25, 0.6
# Questions of one form over many topics: enough to settle the form, too alike to count for more.
PATTERNED = ("asked for views", "asked for a fact", "asked to explain")
WEIGHT_OF_PATTERNED_EXAMPLES = 0.12
# Three batches by one hand are more alike than strangers are; what is learned from them is believed less.
# Set by hand, knowing the calibration on the first-person slice; see docs/routing.md.
FIRST_PERSON_SOFTENING = 1.25
# The batches in which our first-person questions were written.
OCCASIONS = ("first person 1", "first person 2", "first person 3")

# Questions to documents, by type and by whether they come with the asker's situation: how many are drawn.
READ_EXAMPLES = {
    ("factual", False): 800, ("factual", True): 100,
    ("analytical", False): 500, ("analytical", True): 60,
    ("opinion", False): 500,
    ("contextual", False): 346, ("contextual", True): 900,
}  # fmt: skip
WEIGHT_OF_READ_EXAMPLES = 0.2
# Questions of whole document sets. At .2 those to real documents are told .01 better, and dev .008 worse.
WEIGHT_OF_ASKED_EXAMPLES = 0.1

Array = NDArray[Any]
Row = dict[str, Any]


def load_rows(data: Path) -> list[Row]:
    """Read the train split and our own examples."""
    lines = (data / "classification" / "classification.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    train = [{**row, "type": row["type"].lower()} for row in rows if row["split"] == "train"]
    own = [json.loads(line) for line in EXAMPLES.read_text("utf-8").splitlines()]
    mine = ({**row, "source": "own"} for row in own)
    return [*train, *mine, *draw_read_questions(), *asked_questions("train")]


def asked_questions(part: str) -> Iterator[Row]:
    """Yield the questions that were asked of whole document sets of a part, with who asks."""
    for row in read_asked(part):
        yield {"text": row["q"], "type": row["type"], "user_context": row["sit"], "source": "asked"}


def read_questions(part: str) -> Iterator[Row]:
    """Yield the typed questions to the documents of a part of the reader's examples, with who asks."""
    sets = set(read_split()[part])
    for row in read_lines():
        for asked in row["qa"] if row["set"] in sets else ():
            if kind := asked.get("type"):
                context = asked.get("sit") or ""
                yield {"text": asked["q"], "type": kind, "user_context": context, "source": "read"}


def draw_read_questions() -> Iterator[Row]:
    """Yield questions to documents of the train part, of each kind as many as `READ_EXAMPLES` says."""
    found = defaultdict[tuple[str, bool], list[Row]](list)
    for row in read_questions("train"):
        found[row["type"], bool(row["user_context"])].append(row)
    draw = random.Random(5)
    for kind, count in READ_EXAMPLES.items():
        yield from draw.sample(found[kind], count)


@dataclass
class Questions:
    """Questions as features, vectors, kinds and labels."""

    rows: Sequence[Row]
    features: list[dict[str, dict[str, float]]] = field(init=False)
    vectors: Array = field(init=False)
    kinds: Array = field(init=False)
    labels: Array = field(init=False)

    def __post_init__(self) -> None:
        parts = [
            parse_question(row["text"], row.get("user_context", ""), row.get("history", ()))
            for row in self.rows
        ]
        self.features = [extract_features(part) for part in parts]
        self.vectors = embed_questions(parts)
        self.kinds = np.array([find_kind(features["form"]) for features in self.features])
        self.labels = np.array([QUERY_TYPES.index(row["type"]) for row in self.rows])

    @property
    def first_person(self) -> Array:
        """Which questions speak in the first person singular."""
        return np.array(["first person" in features["form"] for features in self.features])

    @property
    def own(self) -> Array:
        """Which questions are of our own collecting, and not of strangers."""
        return np.array([row.get("source") in ("own", "read", "asked") for row in self.rows])

    @property
    def weights(self) -> Array:
        """How much each question counts in training."""
        own = np.where(self.first_person, WEIGHT_OF_FIRST_PERSON_EXAMPLES, WEIGHT_OF_PLAIN_EXAMPLES)
        patterned = np.array([row.get("group") in PATTERNED for row in self.rows])
        own = np.where(patterned, WEIGHT_OF_PATTERNED_EXAMPLES, own)
        read = np.array([row.get("source") == "read" for row in self.rows])
        own = np.where(read, WEIGHT_OF_READ_EXAMPLES, own)
        asked = np.array([row.get("source") == "asked" for row in self.rows])
        own = np.where(asked, WEIGHT_OF_ASKED_EXAMPLES, own)
        return np.where(self.own, own, 1.0)


@dataclass
class Space:
    """The features of the training questions, and the directions in which these differ most."""

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
            self._choose(family)
            matrix = self._matrix(family)
            self.matrices[family] = matrix
            gram += SCALES[family] ** 2 * (matrix @ matrix.T).toarray()
        similar = self.questions.vectors @ self.questions.vectors.T
        same_kind = self.questions.kinds[:, None] == self.questions.kinds[None, :]
        gram += similar * (SCALES["embedding"] ** 2 + SCALES["by kind"] ** 2 * same_kind)
        last = len(gram) - 1
        values, vectors = scipy.linalg.eigh(gram, subset_by_index=[max(last - RANK + 1, 0), last])
        self.directions = vectors / np.sqrt(np.maximum(values, 1e-6))
        self.coordinates = gram @ self.directions

    def _choose(self, family: str) -> None:
        counts = Counter(name for features in self.questions.features for name in features[family])
        names = sorted(name for name, count in counts.items() if count >= LEAST[family])
        total = len(self.questions.rows)
        rarity = [np.log((1 + total) / (1 + counts[name])) + 1 for name in names]
        self.names[family] = names
        # Half precision is what the weights file holds, so that training sees what the router will.
        self.importance[family] = (np.ones(len(names)) if family == "form" else np.array(rarity)).astype(
            np.float16
        )

    def _matrix(self, family: str) -> Any:
        columns_of = {name: column for column, name in enumerate(self.names[family])}
        rows, columns, values = [], [], []
        for row, features in enumerate(self.questions.features):
            present = [name for name in features[family] if name in columns_of]
            if not present:
                continue
            here = np.array([columns_of[name] for name in present])
            found = np.array([features[family][name] for name in present], dtype=np.float32)
            found *= self.importance[family][here].astype(np.float32)
            if family != "form":
                found /= np.linalg.norm(found)
            rows += [row] * len(here)
            columns += here.tolist()
            values += found.tolist()
        shape = (len(self.questions.rows), len(columns_of))
        return sp.csr_matrix((np.array(values, dtype=np.float32), (rows, columns)), shape=shape)


def fit(space: Space, chosen: Array) -> LogisticRegression:
    """Fit the linear model on some of the questions."""
    questions = space.questions
    model = LogisticRegression(C=INVERSE_PENALTY, max_iter=300, tol=1e-3)
    return model.fit(
        space.coordinates[chosen], questions.labels[chosen], sample_weight=questions.weights[chosen]
    )


def predict_held_out(space: Space, folds: int = 5) -> Array:
    """Score every question by a model that has not seen it; shape (n, 4)."""
    questions = space.questions
    scores = np.zeros((len(questions.rows), len(QUERY_TYPES)))
    strata = [f"{row['type']} {row['source']} {row.get('group', '')}" for row in questions.rows]
    # A stratum smaller than the folds cannot be spread over them.
    sizes = Counter(strata)
    strata = [stratum if sizes[stratum] >= folds else "few" for stratum in strata]
    splitter = StratifiedKFold(folds, shuffle=True, random_state=1)
    for seen, unseen in splitter.split(space.coordinates, strata):
        scores[unseen] = fit(space, seen).decision_function(space.coordinates[unseen])
    return scores


def predict_other_occasion(space: Space) -> tuple[Array, Array]:
    """Score first-person questions by models that saw only those written on the other occasion.

    What one hand wrote in one go is alike; this is nearer to strangers' questions than a random split.
    """
    questions = space.questions
    scores, labels = [], []
    for group in OCCASIONS:
        unseen = np.array([row.get("group") == group for row in questions.rows]) & questions.first_person
        model = fit(space, np.flatnonzero(~unseen))
        scores.append(model.decision_function(space.coordinates[unseen]))
        labels.append(questions.labels[unseen])
    return np.vstack(scores), np.concatenate(labels)


def soften(scores: Array, temperature: float) -> Array:
    """Turn scores into probabilities."""
    powers = np.exp((scores - scores.max(axis=1, keepdims=True)) / temperature)
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def find_temperature(scores: Array, labels: Array) -> float:
    """Choose the temperature with the least log loss."""

    def loss(temperature: float) -> float:
        chosen = soften(scores, temperature)[np.arange(len(labels)), labels]
        return float(-np.log(np.maximum(chosen, 1e-12)).mean())

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
    own = [
        SCALES["by kind"] ** 2 * (vectors[kinds == kind].T @ dual[kinds == kind])
        for kind in range(len(KINDS))
    ]
    arrays["embedding"] = np.array([shared + part for part in own], dtype=np.float16)
    text = json.dumps({"families": FAMILIES, **facts}, sort_keys=True)
    arrays["facts"] = np.frombuffer(text.encode(), dtype=np.uint8)
    np.savez(path, **arrays)


def main() -> None:
    """Fit, calibrate, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder that holds classification/")
    parser.add_argument("--out", type=Path, default=WEIGHTS)
    arguments = parser.parse_args()
    space = Space(Questions(load_rows(arguments.data)))
    strangers = ~space.questions.own
    held_out = predict_held_out(space)
    temperature = find_temperature(held_out[strangers], space.questions.labels[strangers])
    first_person = max(find_temperature(*predict_other_occasion(space)), temperature)
    facts = {
        "temperature": round(temperature, 2),
        "first_person_temperature": round(first_person * FIRST_PERSON_SOFTENING, 2),
        "trained_on": int(strangers.sum()),
        "own_examples": int((~strangers).sum()),
    }
    right = held_out.argmax(axis=1) == space.questions.labels
    print(
        f"cross-validated accuracy: {right[strangers].mean():.3f}, on our own {right[~strangers].mean():.3f}"
    )
    print(facts)
    write(space, fit(space, np.arange(len(strangers))), facts, arguments.out)
    print(f"{arguments.out}: {arguments.out.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
