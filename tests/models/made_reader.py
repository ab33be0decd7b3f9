"""A tiny reader for tests: a network that counts the words which what is asked and a passage share."""

import json
from pathlib import Path

import onnx
from onnx import TensorProto, helper

from adaptive_rag.models.reader import OUTPUTS


def write_reader(file: Path, *, calibration: dict[str, float] | None = None) -> Path:
    """Write a network of the reader's form.

    The logit of a sentence is the share of its tokens that are asked for, times 8, less 2; that a passage
    answers, and its relevance, the number of its tokens that are asked for. Claims and sides get constants.
    """
    ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["texts", "tokens"])
    types = helper.make_tensor_value_info("token_type_ids", TensorProto.INT64, ["texts", "tokens"])
    mask = helper.make_tensor_value_info("attention_mask", TensorProto.INT64, ["texts", "tokens"])
    spans = helper.make_tensor_value_info("spans", TensorProto.FLOAT, ["texts", "sentences", "tokens"])
    shapes = (["texts", "found"], ["texts", 2], ["texts", 3], ["texts", "found", 3])
    nodes = [
        helper.make_node("Unsqueeze", ["input_ids", "two"], ["rows"]),
        helper.make_node("Unsqueeze", ["input_ids", "one"], ["columns"]),
        helper.make_node("Equal", ["rows", "columns"], ["same"]),
        helper.make_node("Cast", ["same"], ["equal"], to=TensorProto.FLOAT),
        helper.make_node("Cast", ["token_type_ids"], ["told"], to=TensorProto.FLOAT),
        helper.make_node("Sub", ["unit", "told"], ["asked"]),
        helper.make_node("Cast", ["attention_mask"], ["there"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["asked", "there"], ["asks"]),
        # the marks around both texts, and what "question: " is written as, count for nothing
        helper.make_node("Greater", ["input_ids", "marks"], ["plain"]),
        helper.make_node("Cast", ["plain"], ["word"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["asks", "word"], ["wanted"]),
        helper.make_node("Unsqueeze", ["wanted", "two"], ["wanted_column"]),
        helper.make_node("MatMul", ["equal", "wanted_column"], ["hits_column"]),
        helper.make_node("Squeeze", ["hits_column", "two"], ["hits"]),
        helper.make_node("Min", ["hits", "unit"], ["hit"]),
        helper.make_node("Mul", ["hit", "told"], ["found"]),
        helper.make_node("Unsqueeze", ["found", "two"], ["found_column"]),
        helper.make_node("MatMul", ["spans", "found_column"], ["shares_column"]),
        helper.make_node("Squeeze", ["shares_column", "two"], ["shares"]),
        helper.make_node("Slice", ["shares", "start", "end", "axis"], ["of_sentences"]),
        helper.make_node("Mul", ["of_sentences", "eight"], ["scaled"]),
        helper.make_node("Sub", ["scaled", "lowered"], ["sentences"]),
        helper.make_node("ReduceSum", ["found", "one"], ["total"]),
        helper.make_node("Concat", ["total", "total"], ["passage"], axis=1),
        helper.make_node("Concat", ["total", "unit_row", "unit_row"], ["claim"], axis=1),
        helper.make_node("Unsqueeze", ["of_sentences", "two"], ["side"]),
        helper.make_node("Concat", ["side", "side", "side"], ["sides"], axis=2),
    ]
    constants = {
        "one": (TensorProto.INT64, [1], [1]),
        "two": (TensorProto.INT64, [1], [2]),
        "start": (TensorProto.INT64, [1], [1]),
        "end": (TensorProto.INT64, [1], [10_000]),
        "axis": (TensorProto.INT64, [1], [1]),
        "marks": (TensorProto.INT64, [1], [1999]),
        "unit": (TensorProto.FLOAT, [1], [1.0]),
        "unit_row": (TensorProto.FLOAT, [1, 1], [0.0]),
        "eight": (TensorProto.FLOAT, [1], [8.0]),
        "lowered": (TensorProto.FLOAT, [1], [2.0]),
    }
    graph = helper.make_graph(
        nodes,
        "reader",
        [ids, types, mask, spans],
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
            for name, shape in zip(OUTPUTS, shapes, strict=True)
        ],
        [helper.make_tensor(name, kind, dims, values) for name, (kind, dims, values) in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    if calibration:
        model.metadata_props.add(key="calibration", value=json.dumps(calibration))
    onnx.save(model, str(file))
    return file
