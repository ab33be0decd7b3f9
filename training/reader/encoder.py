"""The networks that are trained: an encoder as in BERT, and the reader, which adds small heads."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from copy import deepcopy
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import Tensor, nn
from torch.nn import functional

from adaptive_rag.models.onnx import find_minilm

# The size of MiniLM: width, attention heads, inner width, vocabulary, positions; and the number of layers of
# the reader, which starts as a cross-encoder for relevance, and of the embedding model.
LAYERS, LAYERS_OF_EMBEDDING_MODEL = 12, 6
# The lowest layers, which all tasks of the reader share; claims have layers of their own above them.
SHARED_LAYERS = 8
WIDTH, HEADS, INNER, WORDS, POSITIONS = 384, 12, 1536, 30522, 512
_EPSILON = 1e-12
# Is added to the attention to padding.
_MASKED = -1e4
# The names of matrices in an ONNX file: in that of the cross-encoder, of the embedding model, and in one that
# `export.py` wrote.
_MATRIX, _EMBEDDING_MATRIX = re.compile(r"onnx::MatMul_(\d+)_quantized"), re.compile(r"val_(\d+)_q")
_EXPORTED = re.compile(r"val_(\d+)_quantized")
# The matrices of a layer, in the order in which they are applied.
MATRICES = ("query", "key", "value", "out", "inner", "outer")
_NAMES_IN_FILE = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "out": "attention.output.dense",
    "inner": "intermediate.dense",
    "outer": "output.dense",
}
# The tables of vectors by their names in a file.
_TABLES = {"word": "words", "position": "positions", "token_type": "types"}


class Layer(nn.Module):
    """One layer of BERT: attention, then a network for each token, each added and normalised."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.inner, self.outer = nn.Linear(WIDTH, INNER), nn.Linear(INNER, WIDTH)
        self.attention_norm, self.norm = (nn.LayerNorm(WIDTH, eps=_EPSILON) for _ in range(2))

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return the states (texts, tokens, width) of the next layer.

        `mask` is (texts, 1, 1, tokens): 0 for a token, `_MASKED` for padding. PyTorch's own attention is not
        used, since it trains three times as slowly in bfloat16 without an accelerator; there is no dropout
        for the same reason.
        """
        texts, tokens, _ = states.shape

        def split_heads(linear: nn.Module) -> Tensor:
            projected: Tensor = linear(states)
            return projected.view(texts, tokens, HEADS, WIDTH // HEADS).transpose(1, 2)

        query = split_heads(self.query) * (HEADS / WIDTH) ** 0.5
        weights = (query @ split_heads(self.key).transpose(2, 3) + mask.to(query.dtype)).softmax(-1)
        attended = (weights.to(query.dtype) @ split_heads(self.value)).transpose(1, 2)
        states = self.attention_norm(states + self.out(attended.reshape(texts, tokens, WIDTH)))
        normalised: Tensor = self.norm(states + self.outer(functional.gelu(self.inner(states))))
        return normalised


class Encoder(nn.Module):
    """BERT in the size of MiniLM."""

    def __init__(self, layers: int = LAYERS) -> None:
        super().__init__()
        self.words, self.positions = nn.Embedding(WORDS, WIDTH), nn.Embedding(POSITIONS, WIDTH)
        self.types, self.norm = nn.Embedding(2, WIDTH), nn.LayerNorm(WIDTH, eps=_EPSILON)
        self.layers = nn.ModuleList(Layer() for _ in range(layers))

    def forward(self, ids: Tensor, types: Tensor, mask: Tensor) -> Tensor:
        """Return the states (texts, tokens, width) of tokens; all three inputs are (texts, tokens)."""
        return run_layers(self.layers, self.embed(ids, types), mask)

    def embed(self, ids: Tensor, types: Tensor) -> Tensor:
        """Return the states before the first layer."""
        positions = torch.arange(ids.shape[1], device=ids.device)
        states: Tensor = self.norm(self.words(ids) + self.positions(positions) + self.types(types))
        return states


def run_layers(layers: Iterable[nn.Module], states: Tensor, mask: Tensor) -> Tensor:
    """Return the states after some layers; the mask is (texts, tokens)."""
    layer_mask = (1.0 - mask[:, None, None, :].float()) * _MASKED
    for layer in layers:
        states = layer(states, layer_mask)
    return states


class Reader(nn.Module):
    """Judges a passage for a question, a claim or a proposal, in one pass.

    `spans` is (texts, 1 + sentences, tokens): the weights of the tokens in the mean of the query, and then of
    each sentence. The score of a sentence is a logit in a choice among all sentences of a question's passages
    and "none", whose logit is 0. Before training it depends on the cosine of the two means.
    """

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.encoder, self.claim_layers = encoder, deepcopy(encoder.layers[SHARED_LAYERS:])
        self.sentence, self.side = nn.Linear(3 * WIDTH, 1), nn.Linear(3 * WIDTH, 3)
        self.passage, self.claim = nn.Linear(2 * WIDTH, 2), nn.Linear(2 * WIDTH, 3)
        self.cosine = nn.Parameter(torch.tensor([3.0, -3.0]))
        self.dropout = nn.Dropout(0.1)

    def forward(
        self, ids: Tensor, types: Tensor, mask: Tensor, spans: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return the logits of sentences, passages (answers, relevance), claims, and sentences' sides."""
        shared = self.read_shared(ids, types, mask)
        states = self.dropout(run_layers(self.encoder.layers[SHARED_LAYERS:], shared, mask))
        means = spans @ states
        query, sentences = means[:, :1], means[:, 1:]
        first = states[:, :1]
        pairs = torch.cat([sentences, sentences * query, first.expand_as(sentences)], -1)
        cosine = functional.cosine_similarity(sentences, query, dim=-1)
        scores = self.sentence(pairs).squeeze(-1) + self.cosine[0] * cosine + self.cosine[1]
        passage = self.passage(torch.cat([first, query], -1).squeeze(1))
        return scores, passage, self.judge_claims(shared, mask, spans), self.side(pairs)

    def read_shared(self, ids: Tensor, types: Tensor, mask: Tensor) -> Tensor:
        """Return the states after the shared layers."""
        return run_layers(self.encoder.layers[:SHARED_LAYERS], self.encoder.embed(ids, types), mask)

    def judge_claims(self, shared: Tensor, mask: Tensor, spans: Tensor) -> Tensor:
        """Return the logits of claims (supported, contradicted, untold) from the shared states."""
        states = self.dropout(run_layers(self.claim_layers, shared, mask))
        return self.claim(torch.cat([states[:, :1], spans[:, :1] @ states], -1).squeeze(1))  # type: ignore[no-any-return]


def load_cross_encoder(model: Path) -> Encoder:
    """Return the encoder of a quantized ms-marco-MiniLM-L-12-v2, without its pooler and classifier."""
    initializers = _read_initializers(model)
    numbers = _matrix_numbers(initializers, _MATRIX)
    matrices = (_dequantize(initializers, f"onnx::MatMul_{number}") for number in numbers)
    tables = (_dequantize(initializers, f"bert.embeddings.{name}_embeddings.weight") for name in _TABLES)
    return _load_encoder(Encoder(), initializers, "bert", tables, matrices)


def load_embedding_model() -> Encoder:
    """Return the encoder of the embedded all-MiniLM-L6-v2."""
    model, _ = find_minilm()
    initializers = _read_initializers(model)

    def read(name: str) -> Tensor:
        if name in initializers:
            return torch.from_numpy(initializers[name].copy())
        values = initializers[f"{name}_q"].astype(np.float32)
        return torch.from_numpy(values * initializers[f"{name}_scale"])

    matrices = (read(f"val_{number}") for number in _matrix_numbers(initializers, _EMBEDDING_MATRIX))
    tables = (read(f"inner.embeddings.{name}_embeddings.weight") for name in _TABLES)
    return _load_encoder(Encoder(LAYERS_OF_EMBEDDING_MODEL), initializers, "inner", tables, matrices)


def _load_encoder(
    encoder: Encoder,
    initializers: Mapping[str, np.ndarray],
    prefix: str,
    tables: Iterable[Tensor],
    matrices: Iterable[Tensor],
) -> Encoder:
    """Fill an encoder with the tables of words, positions and types, the matrices, and a file's arrays."""
    weights = {f"{name}.weight": table for name, table in zip(_TABLES.values(), tables, strict=True)}

    def read(name: str, name_in_file: str) -> None:
        for kind in ("weight", "bias") if "LayerNorm" in name_in_file else ("bias",):
            array = initializers[f"{prefix}.{name_in_file}.{kind}"]
            weights[f"{name}.{kind}"] = torch.from_numpy(array.copy())

    read("norm", "embeddings.LayerNorm")
    remaining = iter(matrices)
    for layer in range(len(encoder.layers)):
        name_in_file = f"encoder.layer.{layer}"
        for name in MATRICES:
            weights[f"layers.{layer}.{name}.weight"] = next(remaining).T.contiguous()
            read(f"layers.{layer}.{name}", f"{name_in_file}.{_NAMES_IN_FILE[name]}")
        read(f"layers.{layer}.attention_norm", f"{name_in_file}.attention.output.LayerNorm")
        read(f"layers.{layer}.norm", f"{name_in_file}.output.LayerNorm")
    encoder.load_state_dict(weights)
    return encoder


def load_exported(model: Path) -> Reader:
    """Return the reader of a file that `export.py` wrote: int8 weights with zero points and scales."""
    initializers = _read_initializers(model)
    reader = Reader(Encoder())
    layers = [f"encoder.layers.{layer}" for layer in range(LAYERS)]
    claim_layers = [f"claim_layers.{layer}" for layer in range(LAYERS - SHARED_LAYERS)]
    names = [f"{layer}.{name}.weight" for layer in layers for name in MATRICES]
    names += ["sentence.weight", *(f"{layer}.{name}.weight" for layer in claim_layers for name in MATRICES)]
    weights = {
        name: _dequantize(initializers, f"val_{number}").T.contiguous()
        for name, number in zip(
            [*names, "side.weight"], _matrix_numbers(initializers, _EXPORTED), strict=True
        )
    }
    weights["cosine"] = torch.tensor([float(initializers[name]) for name in ("select", "select_1")])
    for name in reader.state_dict():
        if name in initializers:
            weights[name] = torch.from_numpy(initializers[name].copy())
        elif name not in weights:
            matrix = _dequantize(initializers, name)
            weights[name] = matrix.T.contiguous() if name.startswith(("passage", "claim")) else matrix
    reader.load_state_dict(weights)
    return reader


def _read_initializers(model: Path) -> dict[str, np.ndarray]:
    """Return the arrays of an ONNX file by their names."""
    graph = onnx.load(str(model)).graph
    return {initializer.name: numpy_helper.to_array(initializer) for initializer in graph.initializer}


def _dequantize(initializers: Mapping[str, np.ndarray], name: str) -> Tensor:
    """Return a quantized array as numbers: its int8 values less their zero point, times their scale."""
    values = initializers[f"{name}_quantized"].astype(np.float32)
    zero = initializers[f"{name}_zero_point"].astype(np.float32)
    return torch.from_numpy((values - zero) * initializers[f"{name}_scale"])


def _matrix_numbers(names: Iterable[str], pattern: re.Pattern[str]) -> list[int]:
    """Return the numbers in the names of matrices, in the order in which the matrices are applied."""
    return sorted(int(match[1]) for name in names if (match := pattern.fullmatch(name)))
