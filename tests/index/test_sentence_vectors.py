"""Sentence vectors: none, each sentence embedded apart, or pooled from the run of its chunk."""

from pathlib import Path

import numpy as np
import pytest

from adaptive_rag import Index
from adaptive_rag.context import IndexingContext
from adaptive_rag.errors import ConfigurationError, IndexMismatchError
from adaptive_rag.ingest.chunking import text_to_embed
from adaptive_rag.models.embeddings import limit_of
from adaptive_rag.models.onnx import load_minilm
from adaptive_rag.source import SentenceVectors, Vectors
from adaptive_rag.state import Chunk
from adaptive_rag.text.tokens import TextLimit
from adaptive_rag.text.vectors import cosines
from tests.index.made import HashEmbeddings, write_files
from tests.index.test_files import data_file, flip

WALL = (
    "# The sea wall\n\nThe wall is 214 metres long. It was built in 1953, after the flood.\n\n"
    "## Prices\n\n| Part | Price | Lead time |\n|---|---|---|\n"
    "| Brass hinge | 4.20 | 3 days |\n| Oak gate | 310.00 | 9 weeks |\n"
)
MARSH = "The marsh floods twice a day. Herons nest in it. Who owns it was never settled."


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write_files(tmp_path / "docs", {"wall.md": WALL, "marsh.txt": MARSH})


def build(docs: Path, kb: Path, way: bool | SentenceVectors = "pooled", **settings: object) -> int:
    """Return how many texts went through the model."""
    return Index.build(docs, kb, sentence_vectors=way, **settings).texts_embedded  # type: ignore[arg-type]


def sentences_in(kb: Path) -> dict[str, Vectors]:
    """Return the vector of each sentence, by its text."""
    index, found = Index.open(kb), dict[str, Vectors]()
    for chunk in index.chunks():
        [held] = index.sentences([chunk["id"]])
        for (start, end), vector in zip(held.spans - chunk["start"], held.vectors, strict=True):
            found[chunk["text"][start:end]] = vector
    return found


def naive(chunk: Chunk, sentence: str, limit: TextLimit) -> Vectors:
    """Return the mean of the states of a sentence's tokens in the run of its chunk, token by token."""
    model, text = load_minilm(), text_to_embed(chunk, limit)
    start = len(text) - len(chunk["text"]) + chunk["text"].index(sentence)
    read = model._tokenizer.encode(text)
    ids = np.array([read.ids], dtype=np.int64)
    feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    [states] = model._session.run(None, {name: feed[name] for name in model._inputs})[0]
    special = read.special_tokens_mask
    own = [
        state
        for state, (a, b), added in zip(states, read.offsets, special, strict=True)
        if not added and start <= a < b <= start + len(sentence)
    ]
    mean = np.mean(own, axis=0)
    return np.asarray(mean / np.linalg.norm(mean), dtype=np.float32)


def test_a_pooled_sentence_is_the_mean_of_its_tokens_below_headings_and_in_tables(
    docs: Path, tmp_path: Path
) -> None:
    assert build(docs, tmp_path / "kb") == len(Index.open(tmp_path / "kb")), "one text for each chunk"
    index, stored = Index.open(tmp_path / "kb"), sentences_in(tmp_path / "kb")
    limit, checked = limit_of(index.embeddings, 1000), set()
    for chunk in index.chunks():
        for sentence, vector in stored.items():
            if sentence in chunk["text"]:
                assert float(vector @ naive(chunk, sentence, limit)) > 0.999, sentence
                checked.add(sentence)
    assert checked >= {
        "The wall is 214 metres long.",
        "Herons nest in it.",
        "| Oak gate | 310.00 | 9 weeks |",
    }
    apart = load_minilm().encode(["Herons nest in it."])[0]
    assert float(stored["Herons nest in it."] @ apart) < 0.99, "it knows the sentences beside it"


def test_the_chunks_own_vectors_are_the_same_in_every_way(docs: Path, tmp_path: Path) -> None:
    vectors = []
    for way in ("apart", "pooled", "none"):
        build(docs, tmp_path / way, way)
        index = Index.open(tmp_path / way)
        vectors.append(index.vectors(sorted(chunk["id"] for chunk in index.chunks())))
    assert np.allclose(vectors[0], vectors[1], atol=1e-6) and np.allclose(vectors[0], vectors[2], atol=1e-6)


def test_an_index_that_grew_has_the_sentences_of_one_made_at_once(docs: Path, tmp_path: Path) -> None:
    build(docs / "marsh.txt", tmp_path / "grown")
    build(docs, tmp_path / "grown")
    build(docs, tmp_path / "whole")
    grown, whole = sentences_in(tmp_path / "grown"), sentences_in(tmp_path / "whole")
    assert grown.keys() == whole.keys()
    assert all(float(grown[text] @ whole[text]) > 0.9999 for text in whole)


def test_what_was_pooled_once_is_taken_from_the_cache(docs: Path, tmp_path: Path) -> None:
    kb = tmp_path / "kb"
    build(docs, kb)
    before = sentences_in(kb)
    assert build(docs, kb, rebuild=True) == 0
    after = sentences_in(kb)
    assert all(np.array_equal(after[text], before[text]) for text in before)
    assert build(docs, kb, "apart", rebuild=True) > 0, "vectors of the two ways are not mixed"
    assert float(sentences_in(kb)["Herons nest in it."] @ before["Herons nest in it."]) < 0.99


def test_a_text_longer_than_the_model_reads_has_its_last_sentences_embedded_apart(tmp_path: Path) -> None:
    from adaptive_rag.ingest import SourceText

    said = [f"In the year {1000 + n} the herring fishers of Saltmere mended their nets." for n in range(40)]
    text = SourceText("year.txt", " ".join(said), "1", whole=True)
    Index.build([text], tmp_path / "kb", sentence_vectors="pooled", chunk_size=10_000)
    stored = sentences_in(tmp_path / "kb")
    alone = load_minilm().encode(said)
    near = np.diag(cosines(np.stack([stored[sentence] for sentence in said]), alone))
    # of 256 tokens a sentence takes about 15
    assert near[:10].max() < 0.98 and near[20:].min() > 0.999


def test_a_damaged_pooled_index_is_mended_to_what_it_was(docs: Path, tmp_path: Path) -> None:
    kb = tmp_path / "kb"
    build(docs, kb)
    before = sentences_in(kb)
    (kb / "embeddings.sqlite").unlink()
    flip(data_file(kb))
    assert Index.repair(kb).read_again
    assert Index.check(kb, deep=True).healthy
    after = sentences_in(kb)
    assert after.keys() == before.keys()
    assert all(float(after[text] @ before[text]) > 0.9999 for text in before)


@pytest.mark.parametrize(("made", "asked"), [("pooled", "apart"), ("apart", "pooled"), ("pooled", "none")])
def test_another_way_is_refused_with_both_and_the_command_that_mends(
    docs: Path, tmp_path: Path, made: SentenceVectors, asked: SentenceVectors
) -> None:
    said = {"apart": "with", "pooled": "with pooled", "none": "without"}
    build(docs, tmp_path / "kb", made)
    both = rf", {said[made]} sentence .*, {said[asked]} sentence .*--rebuild"
    with pytest.raises(IndexMismatchError, match=both):
        build(docs, tmp_path / "kb", asked)


@pytest.mark.parametrize(("name", "value"), [("apart", True), ("none", False)])
def test_the_ways_have_names(docs: Path, tmp_path: Path, name: SentenceVectors, value: bool) -> None:
    build(docs, tmp_path / "kb", name)
    assert build(docs, tmp_path / "kb", value) == 0
    assert Index.open(tmp_path / "kb").stores_sentences is value
    assert IndexingContext(sentence_vectors=value).sentence_vectors == name  # type: ignore[arg-type]


def test_a_way_that_is_not_known_or_not_possible_is_refused(docs: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"'pool' is unknown: .* 'apart', 'pooled', 'none'"):
        build(docs, tmp_path / "kb", "pool")  # type: ignore[arg-type]
    # and pooling by another model
    with pytest.raises(ConfigurationError, match=r"'local:all-MiniLM-L6-v2', the.*HashEmbeddings.*'apart'"):
        build(docs, tmp_path / "kb", embeddings=HashEmbeddings())
    assert not (tmp_path / "kb").exists()
