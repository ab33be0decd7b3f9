"""Trains the reader's own layers for claims; the layers that all tasks share do not change.

    python -m training.reader.train_claims OUT --sources FOLDER

OUT contains `reader.pt`, in which the layers for claims are replaced. The claims are those of the examples,
sentences that are copied from their passage, some of them with one change, and the sentences of drafts, each
with its passage and with an excerpt of all passages of its prompt. Needs `pip install torch onnx` in addition
to the package.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from adaptive_rag.answer.excerpts import CutPassage, excerpt
from adaptive_rag.models.embeddings import Embeddings, encode, load_embeddings
from adaptive_rag.models.reader import PairEncoder
from adaptive_rag.text.reading import Passage, heading_of
from adaptive_rag.text.sentences import sentence_spans
from training.reader.drafts import claims_of, read_drafts
from training.reader.edits import change, whole_sentences
from training.reader.encoder import Encoder, Reader
from training.reader.examples import read_examples
from training.reader.readings import VERDICTS, Claim, Passages, claims_about, passage_of
from training.reader.train import EMA, batches, to_tensors

# Learning rates of the layers and of the head, steps with a rising rate, and the weight decay.
RATE, RATE_OF_HEAD, WARM_UP, WEIGHT_DECAY = 8e-5, 5e-4, 60, 0.01
# The weight of a true claim in the loss; a false one has 1.
WEIGHT_OF_TRUE = 1.3
# The share of the examples' claims with another passage that is kept; how often a draft's claim is read.
WITH_ANOTHER, DRAFTS = 0.25, 2
# The share of a draft's claims about one passage that are read with an excerpt of this passage rather than
# of all of them, and the share that is also read with a passage that does not address them.
OF_ITS_PASSAGE, BESIDE = 0.5, 0.2


def read_claims(part: str, sources: Path, draw: random.Random) -> Iterator[Claim]:
    """Yield all claims of a part; which sentences are changed, and how, is drawn."""
    encoder, embeddings = PairEncoder(), load_embeddings()
    rows = list(read_examples(part, sources))
    passages = Passages(rows, encode(embeddings, [row["text"] for row in rows]))
    for index, row in enumerate(rows):
        for claim in claims_about(encoder, passages, index, draw):
            if claim.kind != "another" or draw.random() < WITH_ANOTHER:
                yield claim
        sentences = whole_sentences(row["text"])
        draw.shuffle(sentences)
        if sentences:
            yield _read(encoder, sentences[0], passage_of(row), "supported", "copied")
        changed = (change(sentence, row["text"], draw) for sentence in sentences)
        if first := next(filter(None, changed), None):
            yield _read(encoder, first[0], passage_of(row), "contradicted", first[1])
    for _ in range(DRAFTS if part == "train" else 1):
        yield from _read_drafts(encoder, part, sources, draw)


def _read(encoder: PairEncoder, text: str, passage: Passage, verdict: str, kind: str) -> Claim:
    return Claim([encoder.pair("claim", text, passage)[0]], VERDICTS.index(verdict), kind)


def _read_drafts(encoder: PairEncoder, part: str, sources: Path, draw: random.Random) -> Iterator[Claim]:
    embeddings = load_embeddings()
    for draft, prompt in read_drafts(part, sources):
        claims = list(claims_of(draft))
        vectors = encode(embeddings, [text for text, *_ in claims])
        for (text, verdict, kind, numbers), vector in zip(claims, vectors, strict=True):
            own = [prompt[number] for number in numbers]
            if len(own) == 1:
                yield _read(encoder, text, own[0], verdict, kind)
            of_all = len(own) == 1 and draw.random() >= OF_ITS_PASSAGE
            nearest = excerpt(vector, [_cut(passage, embeddings) for passage in (prompt if of_all else own)])
            yield _read(encoder, text, nearest, verdict, kind)
            others = [passage for number, passage in enumerate(prompt) if number not in numbers]
            if len(own) == 1 and others and draw.random() < BESIDE:
                yield _read(encoder, text, draw.choice(others), "untold", "another")


def _cut(passage: Passage, embeddings: Embeddings) -> CutPassage:
    sentences = [passage.text[start:end] for start, end in sentence_spans(passage.text)]
    return CutPassage(heading_of(passage), sentences, encode(embeddings, sentences))


def train(out: Path, claims: list[Claim], hours: float) -> None:
    """Train for one pass over the claims, and write the moving average of the weights."""
    draw = random.Random(29)
    torch.manual_seed(29)
    reader = Reader(Encoder())
    reader.load_state_dict(torch.load(out / "reader.pt"))
    head = list(reader.claim.parameters())
    layers = list(reader.claim_layers.parameters())
    optimizer = torch.optim.AdamW(
        [{"params": layers, "lr": RATE}, {"params": head, "lr": RATE_OF_HEAD}], weight_decay=WEIGHT_DECAY
    )
    plan = batches(claims, draw)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / WARM_UP, 1 - step / len(plan))
    )
    own = nn.ModuleList([reader.claim_layers, reader.claim])
    mean = AveragedModel(own, multi_avg_fn=get_ema_multi_avg_fn(EMA))
    weights = torch.ones(len(VERDICTS))
    weights[VERDICTS.index("supported")] = WEIGHT_OF_TRUE
    began, losses = time.monotonic(), list[float]()
    reader.train()
    for step, batch in enumerate(plan):
        ids, types, mask, spans, _ = to_tensors([claim.readings[0] for claim in batch])
        with torch.no_grad():
            shared = reader.read_shared(ids, types, mask)
        logits = reader.judge_claims(shared, mask, spans)
        verdicts = torch.tensor([claim.verdict for claim in batch])
        loss = functional.cross_entropy(logits, verdicts, weight=weights)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_([*layers, *head], 1.0)
        optimizer.step()
        schedule.step()
        mean.update_parameters(own)
        losses.append(loss.item())
        if step % 50 == 49:
            sys.stdout.write(f"{step + 1} of {len(plan)}, loss {sum(losses[-50:]) / 50:.3f}\n")
            sys.stdout.flush()
        if time.monotonic() - began > hours * 3600:
            sys.stdout.write("The hours are over: what was learned so far is written.\n")
            break
    own.load_state_dict(mean.module.state_dict())
    torch.save(reader.state_dict(), out / "reader.pt")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--sources", type=Path, required=True)
    parser.add_argument("--hours", type=float, default=24)
    options = parser.parse_args()
    claims_to_read = list(read_claims("train", options.sources, random.Random(29)))
    train(options.out, claims_to_read, options.hours)
