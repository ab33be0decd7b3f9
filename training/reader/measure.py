"""Measures a reader on the development part, or on the test part, of which nothing but figures is printed.

    python -m training.reader.measure OUT --sources FOLDER [--part test]

OUT holds `reader.pt`. Each question is seen with the passage it was written for and the four of the same
document set that are nearest to it without its answer. "embedding" is the shipped embedding model alone: the
sentence, or the passage, nearest to the question. Intervals are of 95 %, by drawing questions 1,000 times.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch

from adaptive_rag.models.embeddings import encode, load_embeddings
from training.reader.encoder import Encoder, Reader
from training.reader.readings import VERDICTS, Claim, Question, Side
from training.reader.train import Data, batches, judge

OTHERS, DRAWS = 4, 1000
REFUSED = 0.80

Values = Sequence[float]


def share(values: Values) -> float:
    """Return the mean."""
    return float(np.mean(values)) if len(values) else float("nan")


def auc(answered: Values, missed: Values) -> float:
    """Return the area under the ROC curve: how often an answered question has the higher score."""
    order = np.sort(np.asarray(missed))
    below = np.searchsorted(order, answered, "left") + np.searchsorted(order, answered, "right")
    return float(np.mean(below) / (2 * max(1, len(order))))


def interval(figure: Callable[..., float], *samples: Values) -> str:
    """Return a figure of samples with its interval."""
    draw = np.random.default_rng(29)
    arrays = [np.asarray(sample) for sample in samples]
    drawn = [figure(*(draw.choice(each, len(each)) for each in arrays)) for _ in range(DRAWS)]
    low, high = np.quantile(drawn, (0.025, 0.975))
    return f"{figure(*arrays):.3f} ({low:.3f} to {high:.3f})"


def say(text: str) -> None:
    """Write a line."""
    sys.stdout.write(f"{text}\n")


def measure(reader: Reader, data: Data) -> None:
    """Print the figures of all tasks."""
    draw = random.Random(29)
    embeddings = load_embeddings()
    first, second, nearest = list[float](), list[float](), list[float]()
    told, near = list[float](), list[float]()
    missed = defaultdict[str, list[float]](list)
    near_missed = list[float]()
    claims, sides = defaultdict[str, list[float]](list), list[float]()
    reader.eval()
    for batch in batches(data.items(draw, OTHERS), draw):
        with torch.no_grad():
            scores, _, claim, side = judge(reader, batch)
        at = 0
        for item in batch:
            end = at + len(item.readings)
            if isinstance(item, Question):
                logits = scores[at:end]
                chance = 1 - float(torch.cat([torch.zeros(1), logits.flatten()]).softmax(0)[0])
                places = [(which, each) for which, of in enumerate(item.sentences) for each in range(len(of))]
                vectors = encode(embeddings, [item.sentences[which][each] for which, each in places])
                cosines = vectors @ encode(embeddings, [item.query])[0]
                if item.relevant is None:
                    missed[item.kind].append(chance)
                    near_missed.append(float(cosines.max()))
                else:
                    right = {(0, each) for each in item.answers[0]}
                    ranked = sorted(places, key=lambda place: -float(logits[place]))
                    first.append(ranked[0] in right)
                    second.append(bool(right & set(ranked[:2])))
                    nearest.append(places[int(cosines.argmax())] in right)
                    told.append(chance)
                    near.append(float(cosines.max()))
            elif isinstance(item, Claim):
                claims[item.kind].append(int(claim[at].argmax()) == VERDICTS.index("supported"))
            elif isinstance(item, Side):
                sides.append(int(side[at, item.sentence].argmax()) == item.side)
            at = end
    all_missed = [chance for chances in missed.values() for chance in chances]
    bound = float(np.quantile(all_missed, REFUSED))
    say(f"questions: {len(first)} answered, {len(all_missed)} near misses")
    say(f"answering sentence first: {interval(share, first)}; embedding {interval(share, nearest)}")
    say(f"answering sentence among the first two: {interval(share, second)}")
    say(f"answered or not, AUC: {interval(auc, told, all_missed)}; embedding {auc(near, near_missed):.3f}")
    say(f"wrongly refused where {REFUSED:.0%} are refused: {share([each < bound for each in told]):.3f}")
    for kind, chances in sorted(missed.items()):
        say(f"  {kind} refused: {share([each < bound for each in chances]):.3f} of {len(chances)}")
    for kind, accepted in sorted(claims.items()):
        caught = share(accepted) if kind == "true" else 1 - share(accepted)
        say(f"claims, {kind}: {caught:.3f} of {len(accepted)}")
    falsified = [not each for kind, of in claims.items() if kind != "true" for each in of]
    say(f"true accepted: {interval(share, claims['true'])}; falsified caught: {interval(share, falsified)}")
    say(f"sides: {interval(share, sides)} of {len(sides)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--sources", type=Path, required=True)
    parser.add_argument("--part", choices=("development", "test"), default="development")
    parser.add_argument("--share", type=float, default=1.0, help="of the passages")
    options = parser.parse_args()
    read = Reader(Encoder())
    read.load_state_dict(torch.load(options.out / "reader.pt"))
    measure(read, Data(options.part, options.sources, options.share))
