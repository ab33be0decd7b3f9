"""The reader as a network: an encoder that is trained whole, from the shipped MiniLM, with light heads."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import Tensor, nn
from torch.nn import functional

LAYERS, WIDTH, HEADS, INNER, WORDS, POSITIONS = 6, 384, 12, 1536, 30522, 512
_EPSILON = 1e-12
_AWAY = -1e4
_MATRIX, _QUANTIZED = re.compile(r"val_(\d+)_q"), re.compile(r"val_(\d+)_quantized")
# The matrices of a layer, in the order in which a text goes through them.
MATRICES = ("query", "key", "value", "out", "inner", "outer")


class Layer(nn.Module):
    """One layer of BERT: attention, then a network for each token, each added and normalised."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.inner, self.outer = nn.Linear(WIDTH, INNER), nn.Linear(INNER, WIDTH)
        self.attention_norm, self.norm = (nn.LayerNorm(WIDTH, eps=_EPSILON) for _ in range(2))

    def forward(self, states: Tensor, away: Tensor) -> Tensor:
        """Return the states (texts, tokens, width) of the next layer.

        `away` is (texts, 1, 1, tokens): 0 for a token, far below it for what only fills a text up. Attention
        is written out, since PyTorch's own is three times as slow to train in bfloat16 without an
        accelerator, and for the same reason nothing is dropped out.
        """
        texts, tokens, _ = states.shape

        def heads(linear: nn.Module) -> Tensor:
            projected: Tensor = linear(states)
            return projected.view(texts, tokens, HEADS, WIDTH // HEADS).transpose(1, 2)

        query = heads(self.query) * (HEADS / WIDTH) ** 0.5
        weights = (query @ heads(self.key).transpose(2, 3) + away.to(query.dtype)).softmax(-1)
        attended = (weights.to(query.dtype) @ heads(self.value)).transpose(1, 2)
        states = self.attention_norm(states + self.out(attended.reshape(texts, tokens, WIDTH)))
        normalised: Tensor = self.norm(states + self.outer(functional.gelu(self.inner(states))))
        return normalised


class Encoder(nn.Module):
    """BERT in the size of all-MiniLM-L6-v2."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.positions = nn.Embedding(WORDS, WIDTH), nn.Embedding(POSITIONS, WIDTH)
        self.types, self.norm = nn.Embedding(2, WIDTH), nn.LayerNorm(WIDTH, eps=_EPSILON)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))

    def forward(self, ids: Tensor, types: Tensor, mask: Tensor) -> Tensor:
        """Return the states (texts, tokens, width) of tokens; all three are (texts, tokens)."""
        positions = torch.arange(ids.shape[1], device=ids.device)
        states = self.norm(self.words(ids) + self.positions(positions) + self.types(types))
        away = (1.0 - mask[:, None, None, :].float()) * _AWAY
        for layer in self.layers:
            states = layer(states, away)
        read: Tensor = states
        return read


class Reader(nn.Module):
    """Judges a passage by a question, a claim or a proposal, in one pass.

    `spans` is (texts, 1 + sentences, tokens): the share of each token in the mean of the query, and then of
    each sentence. A score of a sentence is a logit beside those of all sentences of a question's passages and
    0 for "none"; it begins as the cosine of the two means, which is what the encoder was trained for.
    """

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.encoder = encoder
        self.sentence, self.side = nn.Linear(3 * WIDTH, 1), nn.Linear(3 * WIDTH, 3)
        self.passage, self.claim = nn.Linear(2 * WIDTH, 2), nn.Linear(2 * WIDTH, 3)
        self.cosine = nn.Parameter(torch.tensor([10.0, -8.0]))
        self.dropout = nn.Dropout(0.1)

    def forward(
        self, ids: Tensor, types: Tensor, mask: Tensor, spans: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return logits: of sentences, of passages (answers, is relevant), of claims, of sentences' sides."""
        states = self.dropout(self.encoder(ids, types, mask))
        means = spans @ states
        query, sentences = means[:, :1], means[:, 1:]
        whole = states[:, :1]
        pairs = torch.cat([sentences, sentences * query, whole.expand_as(sentences)], -1)
        alike = functional.cosine_similarity(sentences, query, dim=-1)
        scores = self.sentence(pairs).squeeze(-1) + self.cosine[0] * alike + self.cosine[1]
        one = torch.cat([whole, query], -1).squeeze(1)
        return scores, self.passage(one), self.claim(one), self.side(pairs)


def load_minilm(model: Path) -> Encoder:
    """Return the encoder of the shipped MiniLM: int8 weights, each times its scale."""
    kept = _initializers(model)

    def whole(name: str) -> Tensor:
        return torch.from_numpy(kept[f"{name}_q"].astype(np.float32) * kept[f"{name}_scale"])

    def plain(name: str) -> Tensor:
        return torch.from_numpy(kept[f"inner.{name}"].copy())

    weights = {
        "words.weight": whole("inner.embeddings.word_embeddings.weight"),
        "positions.weight": whole("inner.embeddings.position_embeddings.weight"),
        "types.weight": plain("embeddings.token_type_embeddings.weight"),
        **{f"norm.{of}": plain(f"embeddings.LayerNorm.{of}") for of in ("weight", "bias")},
    }
    theirs = {
        "query": "attention.self.query",
        "key": "attention.self.key",
        "value": "attention.self.value",
        "out": "attention.output.dense",
        "inner": "intermediate.dense",
        "outer": "output.dense",
    }
    numbers = _numbers(kept, _MATRIX)
    for layer in range(LAYERS):
        there = f"encoder.layer.{layer}"
        for at, name in enumerate(MATRICES):
            matrix = whole(f"val_{numbers[layer * len(MATRICES) + at]}")
            weights[f"layers.{layer}.{name}.weight"] = matrix.T.contiguous()
            weights[f"layers.{layer}.{name}.bias"] = plain(f"{there}.{theirs[name]}.bias")
        for name, norm in (("attention_norm", "attention.output"), ("norm", "output")):
            for of in ("weight", "bias"):
                weights[f"layers.{layer}.{name}.{of}"] = plain(f"{there}.{norm}.LayerNorm.{of}")
    encoder = Encoder()
    encoder.load_state_dict(weights)
    return encoder


def load_exported(model: Path) -> Reader:
    """Return the reader of a file that `export.py` wrote: int8 weights less their zero, times a scale."""
    kept = _initializers(model)

    def whole(name: str) -> Tensor:
        values = kept[f"{name}_quantized"].astype(np.float32) - kept[f"{name}_zero_point"].astype(np.float32)
        return torch.from_numpy(values * kept[f"{name}_scale"])

    reader = Reader(Encoder())
    names = [f"encoder.layers.{layer}.{name}.weight" for layer in range(LAYERS) for name in MATRICES]
    numbers = _numbers(kept, _QUANTIZED)
    weights = {
        name: whole(f"val_{number}").T.contiguous()
        for name, number in zip([*names, "sentence.weight", "side.weight"], numbers, strict=True)
    }
    weights["cosine"] = torch.tensor([float(kept[name]) for name in ("select", "select_1")])
    for name in reader.state_dict():
        if name in kept:
            weights[name] = torch.from_numpy(kept[name].copy())
        elif name not in weights:
            matrix = whole(name)
            weights[name] = matrix.T.contiguous() if name.startswith(("passage", "claim")) else matrix
    reader.load_state_dict(weights)
    return reader


def _initializers(model: Path) -> dict[str, np.ndarray]:
    return {each.name: numpy_helper.to_array(each) for each in onnx.load(str(model)).graph.initializer}


def _numbers(kept: Iterable[str], pattern: re.Pattern[str]) -> list[int]:
    """Return the numbers by which a file names its matrices, in the order in which a text meets them."""
    return sorted(int(found[1]) for name in kept if (found := pattern.fullmatch(name)))
