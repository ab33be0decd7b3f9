"""Tiny cross-encoders for tests: networks that count the words which question and passage share."""

import re
from pathlib import Path
from typing import Literal

import onnx
from onnx import TensorProto, helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from adaptive_rag.models import cross_encoder

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
POISON = "poison"

Head = Literal["logit", "half", "probability", "two logits", "two probabilities", "three labels", "nan"]


def forget_rerankers() -> None:
    """Forget the models that were loaded, those that could not be, and the warnings given of them."""
    cross_encoder.load_reranker.cache_clear()
    cross_encoder._try_to_load.cache_clear()
    cross_encoder._warned.clear()


def words_of(*texts: str) -> list[str]:
    return sorted({word for text in texts for word in re.findall(r"\w+", text.lower())})


def write_tokenizer(folder: Path, words: list[str]) -> None:
    """Write a tokenizer of whole words; the last one of its vocabulary is POISON."""
    known = [word for word in words if word != POISON]
    vocabulary = {token: i for i, token in enumerate([*SPECIAL, *known, POISON])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    # Published tokenizers come with settings of their own, which must not reach the scores.
    tokenizer.enable_truncation(max_length=6)
    tokenizer.enable_padding(length=64)
    tokenizer.save(str(folder / "tokenizer.json"))


def write_network(file: Path, vocabulary: int, head: Head = "logit", output: str = "logits") -> None:
    """Write a network whose logit is 2 * (words shared) - 3; it fails where it meets POISON."""
    nodes = [
        # the embedding table is one row short: the last word of the vocabulary is out of its bounds
        helper.make_node("Gather", ["table", "input_ids"], ["looked_up"]),
        helper.make_node("Greater", ["input_ids", "last_special"], ["is_word"]),
        helper.make_node("Cast", ["attention_mask"], ["attended"], to=TensorProto.BOOL),
        helper.make_node("And", ["is_word", "attended"], ["counts"]),
        helper.make_node("Cast", ["token_type_ids"], ["in_passage"], to=TensorProto.BOOL),
        helper.make_node("Not", ["in_passage"], ["in_question"]),
        helper.make_node("And", ["counts", "in_question"], ["asked"]),
        helper.make_node("And", ["counts", "in_passage"], ["told"]),
        helper.make_node("Unsqueeze", ["input_ids", "axis_2"], ["rows"]),
        helper.make_node("Unsqueeze", ["input_ids", "axis_1"], ["columns"]),
        helper.make_node("Equal", ["rows", "columns"], ["same"]),
        helper.make_node("Unsqueeze", ["asked", "axis_2"], ["asked_rows"]),
        helper.make_node("Unsqueeze", ["told", "axis_1"], ["told_columns"]),
        helper.make_node("And", ["same", "asked_rows"], ["same_asked"]),
        helper.make_node("And", ["same_asked", "told_columns"], ["shared"]),
        helper.make_node("Cast", ["shared"], ["ones"], to=TensorProto.FLOAT),
        # a word of the question counts once, however often the passage has it
        helper.make_node("ReduceMax", ["ones"], ["met"], axes=[2], keepdims=0),
        helper.make_node("Add", ["met", "looked_up"], ["met_words"]),
        helper.make_node("ReduceSum", ["met_words", "axis_1"], ["count"], keepdims=1),
        helper.make_node("Mul", ["count", "two"], ["doubled"]),
        helper.make_node("Sub", ["doubled", "three"], ["logit"]),
        *_head(head, output),
    ]
    integers = {"last_special": 3, "axis_1": 1, "axis_2": 2}
    floats = {"two": 2.0, "three": 3.0}
    constants = [helper.make_tensor(n, TensorProto.INT64, [1], [v]) for n, v in integers.items()]
    constants += [helper.make_tensor(n, TensorProto.FLOAT, [1], [v]) for n, v in floats.items()]
    rows = vocabulary - 1
    constants.append(helper.make_tensor("table", TensorProto.FLOAT, [rows], [0.0] * rows))
    names = ("input_ids", "attention_mask", "token_type_ids")
    inputs = [helper.make_tensor_value_info(n, TensorProto.INT64, ["batch", "length"]) for n in names]
    kind = TensorProto.FLOAT16 if head == "half" else TensorProto.FLOAT
    outputs = [helper.make_tensor_value_info(output, kind, ["batch", None])]
    graph = helper.make_graph(nodes, "shared words", inputs, outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    onnx.checker.check_model(model)
    onnx.save(model, str(file))


def write_cross_encoder(
    folder: Path, *texts: str, head: Head = "logit", output: str = "logits", subfolder: str = ""
) -> Path:
    """Write a cross-encoder that knows the words of some texts."""
    (folder / subfolder).mkdir(parents=True, exist_ok=True)
    words = words_of(*texts)
    write_tokenizer(folder, words)
    vocabulary = len(SPECIAL) + len([word for word in words if word != POISON]) + 1
    write_network(folder / subfolder / "model.onnx", vocabulary, head, output)
    return folder


def _head(head: Head, output: str) -> list[onnx.NodeProto]:
    if head == "logit":
        return [helper.make_node("Identity", ["logit"], [output])]
    if head == "half":
        return [helper.make_node("Cast", ["logit"], [output], to=TensorProto.FLOAT16)]
    if head == "probability":
        return [helper.make_node("Sigmoid", ["logit"], [output])]
    if head == "nan":
        # log of a negative number, where fewer than two words are shared
        return [helper.make_node("Log", ["logit"], [output])]
    negated = helper.make_node("Neg", ["logit"], ["other"])
    if head == "three labels":
        return [negated, helper.make_node("Concat", ["other", "logit", "other"], [output], axis=1)]
    pair = helper.make_node("Concat", ["other", "logit"], ["pair"], axis=1)
    last = "Softmax" if head == "two probabilities" else "Identity"
    return [negated, pair, helper.make_node(last, ["pair"], [output])]
