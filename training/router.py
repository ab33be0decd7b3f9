"""Trains the question router: python -m training.router OUT --data PATH.

PATH contains `classification/classification.jsonl`, of which only the train split is read. The other sources
are `router_examples.jsonl` in this folder, which was written for the router, and the typed questions of the
reader's train part (`training/reader`), about single passages and about document sets. OUT receives
`router.onnx`. Takes a quarter of an hour on two cores, and needs `pip install torch onnx onnxscript` in
addition to the package.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from adaptive_rag.analysis.parse import parse_question
from adaptive_rag.analysis.router import INPUTS, NETWORK, OUTPUTS, QuestionEncoder
from adaptive_rag.state import ROUTED_TYPES
from training.reader.encoder import WIDTH, Encoder, load_embedding_model
from training.reader.export import write_quantized
from training.router_questions import Row, asked_questions, load_rows

EPOCHS, BATCH = 4, 32
# Learning rates of the encoder and of the head, the number of steps with a rising rate, the weight decay, and
# the decay of the moving average of the weights.
RATE, RATE_OF_HEAD, WARM_UP, WEIGHT_DECAY, EMA = 5e-5, 5e-4, 50, 0.01, 0.99
LABEL_SMOOTHING, DROPOUT = 0.05, 0.1
# How often a question counts in an epoch; for a value below 1, this share of the questions is drawn. Those of
# other people count most. Questions in the first person count more than our others, since there are few.
COUNTS = {"public": 2.5, "read": 0.5, "asked": 0.25, "own": 0.625}
COUNT_IN_FIRST_PERSON, COUNT_OF_PATTERNED = 1.5, 0.3
# Groups of our questions with one form and many topics, which teach the form.
PATTERNED = ("asked for views", "asked for a fact", "asked to explain")
FIRST_PERSON = frozenset("i me my mine myself".split())
# The share of the questions that get a slip of the keyboard in each epoch.
SLIPS = 0.1
# One public question in so many is not trained on: these and the questions about document sets of the
# reader's development part determine the temperature.
HELD_OUT = 10


@dataclass(frozen=True)
class Example:
    """A question with its label, and with how often it counts."""

    row: Row
    count: float

    @property
    def label(self) -> int:
        """The index of its type."""
        return ROUTED_TYPES.index(self.row["type"])


class Network(nn.Module):
    """Scores a question for each type, by the mean of the states of its tokens."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.encoder, self.head = encoder, nn.Linear(WIDTH, len(ROUTED_TYPES))
        self.dropout = nn.Dropout(DROPOUT)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, ids: Tensor, types: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return the vectors of questions (n, width), and their scores (n, 4)."""
        states = self.encoder(ids, types, mask)
        weights = mask[..., None].to(states.dtype)
        vectors = (states * weights).sum(1) / weights.sum(1)
        return vectors, self.head(self.dropout(vectors))


class Batches:
    """Turns questions into tensors."""

    def __init__(self) -> None:
        self._encoder = QuestionEncoder()

    def tensors(self, rows: Sequence[Row]) -> tuple[Tensor, ...]:
        """Return the ids, types and mask of questions, each (n, tokens)."""
        encoded = [
            self._encoder.encode(parse_question(row["text"]).full_text, row.get("user_context") or "")
            for row in rows
        ]
        longest = max(len(ids) for ids, _ in encoded)
        arrays = np.zeros((3, len(rows), longest), dtype=np.int64)
        for index, (ids, types) in enumerate(encoded):
            arrays[:, index, : len(ids)] = ids, types, [1] * len(ids)
        return tuple(torch.from_numpy(arrays))


def count_of(row: Row) -> float:
    """Return how often a question counts in an epoch."""
    if row["source"] != "own":
        return COUNTS[row["source"]]
    if row.get("group") in PATTERNED:
        return COUNT_OF_PATTERNED
    is_first_person = not FIRST_PERSON.isdisjoint(parse_question(row["text"]).words)
    return COUNT_IN_FIRST_PERSON if is_first_person else COUNTS["own"]


def draw_epoch(examples: Sequence[Example], draw: random.Random) -> list[list[Example]]:
    """Return the batches of an epoch, each of questions of similar length."""
    chosen = [example for example in examples if draw.random() < example.count]
    draw.shuffle(chosen)
    batches = list[list[Example]]()
    for start in range(0, len(chosen), 20 * BATCH):
        similar = sorted(chosen[start : start + 20 * BATCH], key=lambda example: len(example.row["text"]))
        some = [similar[first : first + BATCH] for first in range(0, len(similar), BATCH)]
        draw.shuffle(some)
        batches += some
    return batches


def slip(row: Row, draw: random.Random) -> Row:
    """Return a question with a slip of the keyboard: a letter is missing, doubled or swapped."""
    text = row["text"]
    position = draw.randrange(1, max(2, len(text) - 1))
    head, letter, tail = text[:position], text[position : position + 1], text[position + 1 :]
    return {
        **row,
        "text": draw.choice([head + tail, head + 2 * letter + tail, head + tail[:1] + letter + tail[1:]]),
    }


def train(examples: Sequence[Example], batches: Batches, seed: int = 1) -> Network:
    """Train the network on the examples, and return the moving average of its weights."""
    torch.manual_seed(seed)
    draw = random.Random(seed)
    network = Network(load_embedding_model())
    mean = AveragedModel(network, multi_avg_fn=get_ema_multi_avg_fn(EMA))
    optimizer = torch.optim.AdamW(
        [
            {"params": network.encoder.parameters(), "lr": RATE, "weight_decay": WEIGHT_DECAY},
            {"params": network.head.parameters(), "lr": RATE_OF_HEAD},
        ]
    )
    plan = [batch for _ in range(EPOCHS) for batch in draw_epoch(examples, draw)]
    rate = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / WARM_UP, 1 - step / len(plan))
    )
    network.train()
    for step, batch in enumerate(plan):
        rows = [slip(example.row, draw) if draw.random() < SLIPS else example.row for example in batch]
        losses = functional.cross_entropy(
            network(*batches.tensors(rows))[1],
            torch.tensor([example.label for example in batch]),
            reduction="none",
            label_smoothing=LABEL_SMOOTHING,
        )
        loss = (losses * torch.tensor([max(1.0, example.count) for example in batch])).mean()
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        rate.step()
        mean.update_parameters(network)
        if step % 100 == 99:
            sys.stdout.write(f"step {step + 1} of {len(plan)}: loss {loss.item():.3f}\n")
            sys.stdout.flush()
    trained: Network = mean.module
    return trained.eval()


@torch.no_grad()
def predict(network: Network, rows: Sequence[Row], batches: Batches) -> np.ndarray:
    """Return the scores of questions (n, 4)."""
    order = sorted(range(len(rows)), key=lambda index: len(rows[index]["text"]))
    scores = np.zeros((len(rows), len(ROUTED_TYPES)))
    for start in range(0, len(order), 2 * BATCH):
        indices = order[start : start + 2 * BATCH]
        scores[indices] = network(*batches.tensors([rows[index] for index in indices]))[1].numpy()
    return scores


def find_temperature(scores: np.ndarray, labels: np.ndarray) -> float:
    """Return the temperature with the smallest log loss (Guo et al., 2017)."""

    def loss(temperature: float) -> float:
        tempered = scores / temperature
        chosen = tempered[np.arange(len(labels)), labels]
        return float((np.logaddexp.reduce(tempered, axis=1) - chosen).mean())

    return round(float(min(np.arange(0.3, 3.0, 0.05), key=loss)), 2)


def export(network: Network, file: Path, temperature: float, batches: Batches) -> None:
    """Write the network with its temperature as ONNX with int8 weights, and compare both."""
    inputs = batches.tensors([{"text": "How does it work?"}, {"text": "Who wrote the second of them?"}])
    questions, tokens = (torch.export.Dim(name, min=2) for name in ("questions", "tokens"))
    shapes = ({0: questions, 1: tokens},) * len(INPUTS)
    write_quantized(network, inputs, (INPUTS, OUTPUTS), shapes, file, {"temperature": str(temperature)})
    session, largest = onnxruntime.InferenceSession(str(file)), 0.0
    for text in ("Who?", "How should I prepare for the exam in spring?", "why " * 60):
        row = batches.tensors([{"text": text}])
        _, scores = session.run(
            list(OUTPUTS), {name: tensor.numpy() for name, tensor in zip(INPUTS, row, strict=True)}
        )
        expected = predict(network, [{"text": text}], batches)
        largest = max(largest, float(np.abs(scores - expected).max()))
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    sys.stdout.write(
        f"{file}: {file.stat().st_size / 1e6:.1f} MB, largest difference of a score {largest:.3f}. "
        f"To use it, copy it to {NETWORK} and set NETWORK_SHA256 beside it to {digest}\n"
    )


def main() -> None:
    """Train and calibrate the router, and write its network."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--data", type=Path, required=True, help="folder with classification/")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    rows = load_rows(options.data)
    public = [row for row in rows if row["source"] == "public"]
    held_out = public[::HELD_OUT]
    del public[::HELD_OUT]
    kept = [*public, *(row for row in rows if row["source"] != "public")]
    batches = Batches()
    network = train([Example(row, count_of(row)) for row in kept], batches)
    torch.save(network.state_dict(), options.out / "router.pt")
    calibration = [*held_out, *asked_questions("development")]
    scores = predict(network, calibration, batches)
    labels = np.array([ROUTED_TYPES.index(row["type"]) for row in calibration])
    temperature = find_temperature(scores, labels)
    is_right = scores.argmax(axis=1) == labels
    sys.stdout.write(
        f"trained on {len(kept)} questions; accuracy on those held out: public "
        f"{is_right[: len(held_out)].mean():.3f}, all {is_right.mean():.3f}; temperature {temperature}\n"
    )
    export(network, options.out / "router.onnx", temperature, batches)


if __name__ == "__main__":
    main()
