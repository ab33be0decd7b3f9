"""Corpora of any size for `scale`: made up by statistics, or public passages among made-up ones."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adaptive_rag.evaluation.datasets import CORPUS, load_dataset
from adaptive_rag.index.cache import FILE, EmbeddingCache
from adaptive_rag.models.embeddings import embedding_name
from adaptive_rag.models.onnx import load_minilm

Array = NDArray[Any]
Slices = Callable[[], Iterator[tuple[list[str], Array]]]

DIMENSION, WORDS, VOCABULARY, SLICE = 384, 90, 50_000, 20_000
# The commonest words of English text in their order: 44 % of its tokens, as here, and full-text search
# drops them from texts and questions.
STOP_WORDS = """
    the of to and a in you is that for it as on are with be was i by your or have not if this from an at can
    they but will he which their more there his all has
"""


@dataclass(frozen=True)
class Questions:
    """Questions, their vectors, and for each the grades of the passages that answer it."""

    texts: list[str]
    vectors: Array
    gold: list[dict[int, int]]


@dataclass(frozen=True)
class Corpus:
    """Passages, numbered in the order they come, and what is asked of them."""

    name: str
    size: int
    slices: Slices
    """Yields texts and unit vectors, a slice at a time, the same for every call."""
    vectors: Callable[[], Iterator[Array]]
    """Yields the vectors alone, which takes less time."""
    questions: Callable[[], Questions]


def made_up(size: int, count: int) -> Corpus:
    """Draw words by Zipf's law around topics, and vectors in clusters."""
    return Corpus(
        name="made-up",
        size=size,
        slices=lambda: (([" ".join(row) for row in words], rows) for words, rows, _ in _draw(size)),
        vectors=lambda: (rows for _, rows, _ in _draw(size)),
        questions=lambda: _ask(size, count),
    )


def _ask(size: int, count: int) -> Questions:
    """Make questions, each about one chunk.

    A question has seven words, two of the chunk that answers it and five of another chunk. Its vector lies
    between that chunk's and the centre of its topic, and is moved: the cosine with the chunk is about 0.6,
    as it is between real questions and their passages, and with others of the topic a little less.
    """
    numbers = np.sort(np.random.default_rng(size + 1).choice(size, size=min(count, size), replace=False))
    generator = np.random.default_rng(size + 2)
    questions, vectors = [], []
    for part, (words, rows, centres) in enumerate(_draw(size)):
        for at in numbers[numbers // SLICE == part] - part * SLICE:
            anywhere = words[int(generator.integers(len(words)))]
            own, other = generator.choice(words[at], 2), generator.choice(anywhere, 5)
            questions.append(" ".join([*own, *other]))
            vectors.append(0.2 * rows[at] + 0.8 * centres[at] + generator.normal(scale=0.05, size=DIMENSION))
    order = generator.permutation(len(questions))
    return Questions(
        texts=[questions[i] for i in order],
        vectors=unit(np.array(vectors)[order]),
        gold=[{int(numbers[i]): 1} for i in order],
    )


class _Words(Sequence[list[str]]):
    """The words of texts, looked up when they are asked for."""

    def __init__(self, vocabulary: list[str], numbers: Array) -> None:
        self._vocabulary, self._numbers = vocabulary, numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, at: Any) -> Any:
        return [self._vocabulary[number] for number in self._numbers[at].tolist()]


def _draw(size: int) -> Iterator[tuple[_Words, Array, Array]]:
    """Yield the words of texts, their vectors and the centres of their topics, a slice at a time."""
    generator = np.random.default_rng(size)
    centres = unit(generator.normal(size=(max(50, size // 250), DIMENSION)))
    common = STOP_WORDS.split()
    vocabulary = [*common, *(_word(n) for n in range(len(common), VOCABULARY))]
    frequency = np.cumsum(1 / np.arange(1, VOCABULARY + 1) ** 1.05)
    for start in range(0, size, SLICE):
        count = min(SLICE, size - start)
        topics = generator.integers(0, len(centres), count)
        moved = 0.05 * generator.standard_normal((count, DIMENSION), dtype=np.float32)
        vectors = unit(centres[topics] + moved)
        drawn = np.searchsorted(frequency, generator.random((count, WORDS)) * frequency[-1])
        drawn[:, :15] = (topics[:, None] * 37 + drawn[:, :15] % 60) % VOCABULARY
        yield _Words(vocabulary, drawn), vectors, centres[topics]


def public(folder: Path, size: int, cache: Path) -> Corpus:
    """Pool the passages of data sets, with their questions, and fill up with made-up passages.

    A corpus smaller than the pool keeps every passage that answers a question. A made-up passage has the
    words of two real ones, half of each, and a vector between theirs: it stands near the questions of both
    and answers neither.

    Args:
        folder: holds data sets in the layout of BEIR, a folder each.
        size: passages in all.
        cache: where `adaptive-rag eval` keeps its indexes; what they embedded is not embedded again.
    """
    sets = [load_dataset(file.parent) for file in sorted(folder.glob(f"*/{CORPUS}"))]
    number: dict[str, int] = {}
    of_passage = {
        (data.name, passage["id"]): number.setdefault(passage["text"], len(number))
        for data in sets
        for passage in data.passages
    }
    asked = [(data.name, question) for data in sets for question in data.questions]
    gold = [{of_passage[name, id_]: grade for id_, grade in q.gold.items()} for name, q in asked]
    texts = list(number)
    generator = np.random.default_rng(size)
    judged = np.unique([passage for grades in gold for passage in grades])
    rest = generator.permutation(np.setdiff1d(np.arange(len(texts)), judged))
    kept = generator.permutation(np.concatenate([judged, rest[: max(0, size - len(judged))]]))
    place = {int(passage): at for at, passage in enumerate(kept)}
    passages = [texts[i] for i in kept]
    graded = [{place[passage]: grade for passage, grade in grades.items()} for grades in gold]
    questions = [question.text for _, question in asked]
    embedded = embed([*passages, *questions], cache)
    vectors = embedded[: len(passages)]
    order = generator.permutation(len(questions))
    digest = hashlib.sha256("".join(data.corpus_digest for data in sets).encode()).hexdigest()[:8]
    return Corpus(
        name=f"public-{digest}",
        size=max(size, len(passages)),
        slices=lambda: _among_made_up(passages, vectors, size),
        vectors=lambda: (rows for _, rows in _among_made_up(passages, vectors, size)),
        questions=lambda: Questions(
            [questions[i] for i in order], embedded[len(passages) + order], [graded[i] for i in order]
        ),
    )


def _among_made_up(passages: list[str], vectors: Array, size: int) -> Iterator[tuple[list[str], Array]]:
    yield passages, vectors
    generator = np.random.default_rng(size)
    split = [passage.split() for passage in passages]
    words = np.array([word for one in split for word in one], dtype=object)
    lengths = np.array([len(one) for one in split])
    begins = np.cumsum(lengths) - lengths
    for start in range(len(passages), size, SLICE):
        pairs = generator.integers(len(passages), size=(min(SLICE, size - start), 2))
        counts = lengths[pairs].mean(axis=1).astype(np.int64).clip(1)
        of = np.repeat(pairs, counts, axis=0)
        of = of[np.arange(len(of)), generator.integers(2, size=len(of))]
        drawn = words[begins[of] + (generator.random(len(of)) * lengths[of]).astype(np.int64)]
        made = [" ".join(part) for part in np.split(drawn, np.cumsum(counts)[:-1])]
        between = unit(vectors[pairs].sum(axis=1))
        yield made, unit(between + generator.normal(scale=0.02, size=between.shape))


def embed(texts: Sequence[str], cache: Path) -> Array:
    """Embed texts with the embedded model, but for those that a cache below `cache` holds."""
    model = load_minilm()
    name = f"{embedding_name(model)} {model.dimension}"
    known: dict[str, Array] = {}
    own = cache / "retrieval-scale"
    own.mkdir(parents=True, exist_ok=True)
    for folder in {own, *(file.parent for file in cache.glob(f"*/{FILE}"))}:
        stored = EmbeddingCache(folder)
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        found = zip(missing, stored.get(name, missing), strict=True)
        known.update({text: vector for text, vector in found if vector is not None})
        stored.close()
    missing = [text for text in dict.fromkeys(texts) if text not in known]
    if missing:
        made = model.encode(missing)
        stored = EmbeddingCache(own)
        stored.put(name, missing, made)
        stored.close()
        known.update(zip(missing, made, strict=True))
    return np.stack([known[text] for text in texts])


def unit(vectors: Array) -> Array:
    """Scale rows to length one."""
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def _word(number: int) -> str:
    letters = "aeioubcdfg"
    return "q" + "".join(letters[int(digit)] for digit in str(number)) + "x"
