"""Cross-encoders: reading their outputs, and loading one from a folder, a cache or the hub."""

import importlib.util
import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from adaptive_rag.errors import ConfigurationError, MissingExtraError
from adaptive_rag.models.cross_encoder import (
    OnnxCrossEncoder,
    ScoringError,
    find_reranker,
    load_reranker,
    read_outputs,
)
from tests.models.made_cross_encoder import POISON, Head, forget_rerankers, write_cross_encoder

QUESTION = "How long is the sea wall?"
PASSAGES = ["the sea wall is long", "the wall", "herring", "is the sea warm"]
SHARED = [5, 2, 0, 3]


@pytest.fixture(autouse=True)
def _nothing_loaded(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    forget_rerankers()
    monkeypatch.setenv("HF_HUB_DISABLE_TELEMETRY", "1")
    yield
    forget_rerankers()


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def made(folder: Path, head: Head = "logit", output: str = "logits") -> OnnxCrossEncoder:
    return OnnxCrossEncoder(
        write_cross_encoder(folder, QUESTION, *PASSAGES, head=head, output=output), name="made"
    )


@pytest.mark.parametrize(
    ("head", "output", "slope"),
    [
        ("logit", "logits", 1),
        ("half", "logits", 1),
        ("probability", "score", 1),
        ("two logits", "logits", 2),
        ("two probabilities", "probabilities", 2),
    ],
)
def test_outputs_are_read_for_what_they_are(tmp_path, head, output, slope):
    scores = made(tmp_path, head, output).score(QUESTION, PASSAGES)
    assert scores.dtype == np.float64
    assert scores == pytest.approx([sigmoid(slope * (2 * n - 3)) for n in SHARED], abs=1e-6)
    assert made(tmp_path, head, output).score(QUESTION, []).shape == (0,)


def test_a_classifier_of_three_labels_is_refused(tmp_path):
    write_cross_encoder(tmp_path, QUESTION, *PASSAGES, head="three labels")
    with pytest.raises(ConfigurationError, match=r"shape \(3, 3\)"):
        load_reranker(str(tmp_path))


def test_scores_do_not_depend_on_the_batch_a_pair_is_run_in(tmp_path):
    encoder = made(tmp_path)
    passages = [" ".join([*["herring"] * (n % 40), *["wall"] * (n % 2)]) for n in range(75)]
    together = encoder.score(QUESTION, passages)
    assert together == pytest.approx([encoder.score(QUESTION, [passage])[0] for passage in passages])
    assert together[1] > together[2]


def test_pairs_are_cut_at_the_length_the_model_takes(tmp_path):
    write_cross_encoder(tmp_path, QUESTION, *PASSAGES)
    late = " ".join(["herring"] * 30) + " sea wall"
    whole = OnnxCrossEncoder(tmp_path, name="whole").score(QUESTION, [late])
    (tmp_path / "config.json").write_text(json.dumps({"max_position_embeddings": 32}))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 1e30}))
    cut = OnnxCrossEncoder(tmp_path, name="cut").score(QUESTION, [late])
    assert whole == pytest.approx([sigmoid(2 * 2 - 3)])
    assert cut == pytest.approx([sigmoid(-3)])


def test_a_passage_far_beyond_the_limit_is_scored(tmp_path):
    assert made(tmp_path).score(QUESTION, ["wall " * 200_000]) == pytest.approx([sigmoid(2 * 1 - 3)])


def test_what_the_network_raises_and_what_is_no_score_become_one_kind_of_error(tmp_path):
    with pytest.raises(ScoringError, match="InvalidArgument"):
        made(tmp_path).score(QUESTION, ["the wall", POISON])
    folder = write_cross_encoder(tmp_path, QUESTION, *PASSAGES, "library open", head="nan")
    with pytest.raises(ScoringError, match="not a number"):
        OnnxCrossEncoder(folder, name="nan").score(QUESTION, ["herring"])
    with pytest.raises(ScoringError, match="outside 0-1"):
        read_outputs(np.array([[1.7]]), "probability")


def test_a_folder_that_is_missing_or_holds_no_model_is_named(tmp_path):
    with pytest.raises(ConfigurationError, match="is not a folder"):
        load_reranker(str(tmp_path / "nowhere"))
    with pytest.raises(ConfigurationError, match="without a cross-encoder"):
        load_reranker(str(tmp_path))
    with pytest.raises(ConfigurationError, match="is empty"):
        load_reranker(" ")


def test_a_broken_model_file_is_a_wrong_setting(tmp_path):
    write_cross_encoder(tmp_path, QUESTION)
    (tmp_path / "model.onnx").write_bytes(b"not a network")
    with pytest.raises(ConfigurationError, match="cannot be used"):
        load_reranker(str(tmp_path))


def test_a_torch_folder_without_sentence_transformers_names_the_install_line(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(MissingExtraError, match=r"pip install 'adaptive-rag\[cross-encoder\]'"):
        load_reranker(str(tmp_path))


class Hub:
    """Stands for huggingface_hub: what is cached, and what a download brings."""

    def __init__(self, cached: Path | None, fetched: Path | Exception) -> None:
        self.cached, self.fetched, self.calls = cached, fetched, []

    def snapshot_download(
        self, spec: str, *, allow_patterns: list[str], local_files_only: bool = False
    ) -> str:
        self.calls.append("cache" if local_files_only else "network")
        if local_files_only:
            if self.cached is None:
                raise FileNotFoundError("not in the cache")
            return str(self.cached)
        if isinstance(self.fetched, Exception):
            raise self.fetched
        return str(self.fetched)


def test_an_id_with_an_onnx_file_is_fetched_and_run_without_torch(tmp_path, monkeypatch):
    hub = Hub(None, write_cross_encoder(tmp_path, QUESTION, *PASSAGES, subfolder="onnx"))
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    encoder = load_reranker("someone/a-model")
    assert encoder.name == "someone/a-model"
    assert encoder.score(QUESTION, PASSAGES).argmax() == 0
    assert hub.calls == ["cache", "network"]


def test_an_id_in_the_cache_needs_no_network(tmp_path, monkeypatch):
    hub = Hub(write_cross_encoder(tmp_path, QUESTION), ConnectionError("no network"))
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    load_reranker("someone/a-model")
    assert hub.calls == ["cache"]


def test_an_id_without_an_onnx_file_goes_to_sentence_transformers(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", Hub(None, tmp_path))
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtraError, match="cross-encoder"):
        load_reranker("someone/a-model")


def test_an_id_that_cannot_be_fetched_says_why(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", Hub(None, ConnectionError("no route to host")))
    with pytest.raises(ConfigurationError, match=r"no route to host.*without a network connection, a folder"):
        load_reranker("someone/a-model")


def test_a_model_that_cannot_be_loaded_fails_as_a_broken_one_does(tmp_path, monkeypatch):
    with pytest.raises(ScoringError, match="is not a folder"):
        find_reranker(str(tmp_path / "nowhere"))
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ScoringError, match=r"Install it with: pip install 'adaptive-rag\[cross-encoder\]'"):
        find_reranker("someone/a-model")


def test_the_network_is_not_asked_again_at_once_for_what_it_did_not_bring(monkeypatch):
    hub = Hub(None, ConnectionError("no route to host"))
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    for _ in range(2):
        with pytest.raises(ScoringError, match="no route to host"):
            find_reranker("someone/a-model")
    assert hub.calls == ["cache", "network"]


def has_torch() -> bool:
    return all(importlib.util.find_spec(name) for name in ("torch", "sentence_transformers"))


@pytest.mark.skipif(not has_torch(), reason="sentence-transformers is not installed (extra cross-encoder)")
@pytest.mark.parametrize("labels", [1, 2])
def test_a_torch_folder_runs_through_sentence_transformers(tmp_path, labels):
    import torch
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    write_cross_encoder(tmp_path, QUESTION, *PASSAGES)
    (tmp_path / "model.onnx").unlink()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(tmp_path / "tokenizer.json"), pad_token="[PAD]", model_max_length=32
    )
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=32,
        num_labels=labels,
    )
    network = BertForSequenceClassification(config).eval()
    network.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    scores = load_reranker(str(tmp_path)).score(QUESTION, [*PASSAGES, "wall " * 500])
    feed = tokenizer([QUESTION] * 4, PASSAGES, return_tensors="pt", padding=True)
    with torch.no_grad():
        logits = network(**feed).logits.numpy()
    expected = logits[:, 1] - logits[:, 0] if labels == 2 else logits[:, 0]
    assert scores[:4] == pytest.approx([sigmoid(float(x)) for x in expected], abs=1e-5)
    assert 0 < scores[4] < 1
