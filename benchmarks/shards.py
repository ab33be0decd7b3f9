"""What a question costs from two shards, in one process and held by actors of Ray, beside one index.

    python -m benchmarks.shards --sizes 10000 100000 --questions 200

The same made-up passages as `benchmarks.scale` makes, as one index and as one of shards. Every question is
put to all in turn, so that what else the machine does slows them alike; vectors are ready made. Prints the
medians in milliseconds, the processor's milliseconds a question with those of the actors, the ratios to one
index, and how far BM25 and hits are from those of one index.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from adaptive_rag.index import Index, ShardedIndex
from adaptive_rag.index.sharding.layout import SHARDS, Share
from adaptive_rag.state import Candidate
from benchmarks.scale import make_index
from benchmarks.scale_corpora import Corpus, made_up
from benchmarks.scale_sides import ReadyMade

LIMIT, WARM = 50, 20


def main() -> None:
    """Make the indexes of each size, ask them, and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000])
    parser.add_argument("--shards", type=int, default=2)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--keep", type=Path, help="folder in which what is made stays for the next run")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for size in arguments.sizes:
            measure(size, arguments.shards, arguments.questions, arguments.keep or Path(folder))


def measure(size: int, shards: int, questions: int, folder: Path) -> None:
    """Ask one index, its shards, and their actors the same questions, and print what each took."""
    corpus = made_up(size, questions + WARM)
    asked, made = corpus.questions(), {}
    vectors = dict(zip(asked.texts, asked.vectors, strict=True))
    places = {"one": folder / f"{size}-one", "shards": folder / f"{size}-{shards}-shards"}
    for name, place in places.items():
        if not place.exists():
            began = time.perf_counter()
            _make(place, corpus, shards if name == "shards" else 0)
            made[name] = time.perf_counter() - began
    model = ReadyMade(vectors)
    sides: dict[str, Any] = {
        "one index": Index.open(places["one"], model),
        f"{shards} shards": ShardedIndex.open(places["shards"], model),
        f"{shards} actors": ShardedIndex.open(places["shards"], model, ray="local"),
    }
    wall = {name: list[float]() for name in sides}
    work = dict.fromkeys(sides, 0.0)
    worst, others = 0.0, 0
    clocks = {name: _clock(side) for name, side in sides.items()}
    for number, text in enumerate(asked.texts):
        found = {}
        for name, side in sides.items():
            before, began = clocks[name](), time.perf_counter()
            [found[name]] = side.search([text], limit=LIMIT)
            took, spent = time.perf_counter() - began, clocks[name]() - before
            if number >= WARM:
                wall[name].append(1000 * took)
                work[name] += 1000 * spent / (len(asked.texts) - WARM)
        one, *rest = found.values()
        for other in rest:
            far, unlike = _compare(one, other)
            worst, others = max(worst, far), others + unlike
    print(f"{size:,} chunks, made in seconds: { ({name: round(took) for name, took in made.items()}) }")
    p50 = {name: statistics.median(each) for name, each in wall.items()}
    for name in sides:
        ratios = p50[name] / p50["one index"], work[name] / work["one index"]
        print(
            f"  {name:<12} p50 {p50[name]:6.1f} ms ({ratios[0]:.2f})   "
            f"processor {work[name]:6.1f} ms ({ratios[1]:.2f})"
        )
    print(f"  BM25 differs by {worst:.1e} at most; {others} hits of all questions are others")


def _make(place: Path, corpus: Corpus, shards: int) -> None:
    """Write the corpus as one index, or as shards."""
    if not shards:
        make_index(place, corpus)
        return
    place.mkdir(parents=True)
    for number in range(shards):
        make_index(place / f"shard-{number}", corpus, Share((), number, shards).holds)
    (place / SHARDS).write_text(json.dumps({"shards": shards}))


def _compare(one: list[Candidate], other: list[Candidate]) -> tuple[float, int]:
    """Return how far BM25 is apart, and how many hits are in one of them alone."""
    scores, others = ({hit["id"]: hit["scores"]["sparse"] for hit in hits} for hits in (one, other))
    both = scores.keys() & others.keys()
    return max((abs(scores[id_] - others[id_]) for id_ in both), default=0.0), len(scores) - len(both)


def _clock(side: Any) -> Callable[[], float]:
    """Return what tells the processor's seconds of this process, and of the actors where there are some."""
    actors = getattr(getattr(side, "_shards", None), "_actors", ())
    if not actors:
        return time.process_time
    import ray

    def spent() -> float:
        asked = [actor.__ray_call__.remote(lambda _: time.process_time()) for actor in actors]
        return time.process_time() + sum(ray.get(asked))

    return spent


if __name__ == "__main__":
    main()
