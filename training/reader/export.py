"""Writes a trained reader as ONNX with int8 weights, and prints how much its logits differ from the original.

    python -m training.reader.export OUT [--calibration FILE]

OUT contains `reader.pt` and receives `reader.onnx`. Its matrices are multiplied in int8. Each column of
weights has a scale, and the activations have one for each run, which is why each passage is run alone. FILE,
which `calibrate.py` writes, becomes part of the file. Needs `pip install torch onnx onnxscript` in addition
to the package.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from torch import nn

from adaptive_rag.models.reader import INPUTS, OUTPUTS, OUTPUTS_BY_TASK, PairEncoder
from adaptive_rag.text.reading import Passage
from training.reader.encoder import Encoder, Reader


def export(out: Path, calibration: Path | None = None) -> None:
    """Write the file, and compare both networks on texts of several lengths."""
    reader = Reader(Encoder())
    reader.load_state_dict(torch.load(out / "reader.pt"))
    reader.eval()
    texts, tokens, sentences = (torch.export.Dim(name, min=2) for name in ("texts", "tokens", "sentences"))
    shape = {0: texts, 1: tokens}
    metadata = {}
    if calibration:
        metadata["calibration"] = json.dumps(json.loads(calibration.read_text("utf-8")))
    write_quantized(
        reader,
        _random_inputs(2, 12, 3),
        (INPUTS, OUTPUTS),
        (shape, shape, shape, {0: texts, 1: sentences, 2: tokens}),
        out / "reader.onnx",
        metadata,
    )
    _compare(reader, out / "reader.onnx")
    sys.stdout.write(f"{(out / 'reader.onnx').stat().st_size / 1e6:.1f} MB\n")


def write_quantized(
    network: nn.Module,
    inputs: tuple[torch.Tensor, ...],
    names: tuple[Sequence[str], Sequence[str]],
    shapes: tuple[dict[int, Any], ...],
    file: Path,
    metadata: Mapping[str, str],
) -> None:
    """Write a network as ONNX with int8 weights.

    `inputs` are an example, `names` those of inputs and outputs, and `shapes` the variable dimensions of each
    input.
    """
    unquantized = file.with_suffix(".whole")
    torch.onnx.export(
        network,
        inputs,
        str(unquantized),
        input_names=list(names[0]),
        output_names=list(names[1]),
        dynamic_shapes=shapes,
        external_data=False,
    )
    model = onnx.load(str(unquantized))
    # The exporter records wrong shapes for matrices that it transposed.
    del model.graph.value_info[:]
    onnx.save(model, str(unquantized))
    # The range is reduced to 7 bits, since sums of 8 bits overflow on processors without VNNI.
    quantize_dynamic(
        unquantized,
        file,
        per_channel=True,
        reduce_range=True,
        weight_type=QuantType.QInt8,
        op_types_to_quantize=["MatMul", "Gather"],
        extra_options={"MatMulConstBOnly": True},
    )
    unquantized.unlink()
    model = onnx.load(str(file))
    if "claim" in names[1]:
        split_by_task(model.graph)
    onnx.helper.set_model_props(model, dict(metadata))
    onnx.checker.check_model(model)
    onnx.save(model, str(file))


def split_by_task(graph: onnx.GraphProto) -> None:
    """Run the layers for claims only for claims, and the other upper layers only for the other tasks.

    ONNX Runtime computes all outputs, whichever are asked for. So a condition decides: whether the text
    begins with "claim". The outputs of the tasks that do not run are empty.
    """
    claim, others = (_nodes_for(graph, OUTPUTS_BY_TASK[task]) for task in ("claim", "question"))
    others |= _nodes_for(graph, OUTPUTS_BY_TASK["proposal"])
    branches = [
        _branch(graph, name, sorted(own), outputs)
        for name, own, outputs in (
            ("claims", claim - others, OUTPUTS_BY_TASK["claim"]),
            ("others", others - claim, [name for name in OUTPUTS if name != "claim"]),
        )
    ]
    shared = [graph.node[i] for i in sorted(claim & others)]
    word = PairEncoder().pair("claim", "", Passage(""))[0].ids[1]
    for name, value in (("task_place", [0, 1]), ("claim_word", word)):
        graph.initializer.append(numpy_helper.from_array(np.array(value, dtype=np.int64), name))
    make = onnx.helper.make_node
    decision = [
        make("GatherND", ["input_ids", "task_place"], ["task_word"]),
        make("Equal", ["task_word", "claim_word"], ["is_claim"]),
        make("If", ["is_claim"], list(OUTPUTS), then_branch=branches[0], else_branch=branches[1]),
    ]
    del graph.node[:]
    graph.node.extend([*shared, *decision])


def _nodes_for(graph: onnx.GraphProto, outputs: Sequence[str]) -> set[int]:
    """Return the indexes of the nodes that some outputs need."""
    makers = {name: i for i, node in enumerate(graph.node) for name in node.output}
    found, waiting = set[int](), list(outputs)
    while waiting:
        i = makers.get(waiting.pop())
        if i is not None and i not in found:
            found.add(i)
            waiting += graph.node[i].input
    return found


def _branch(graph: onnx.GraphProto, name: str, own: Sequence[int], outputs: Sequence[str]) -> onnx.GraphProto:
    """Return the nodes of a branch as a graph with all outputs, of which those of other tasks are empty."""
    empty = onnx.helper.make_tensor("empty", onnx.TensorProto.FLOAT, [0], [])
    nodes = [
        onnx.helper.make_node("Constant", [], [f"{output}_{name}"], value=empty)
        for output in OUTPUTS
        if output not in outputs
    ]
    for i in own:
        node = onnx.NodeProto()
        node.CopyFrom(graph.node[i])
        for texts in (node.input, node.output):
            texts[:] = [f"{text}_{name}" if text in outputs else text for text in texts]
        nodes.append(node)
    float_type = onnx.helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, None)
    values = [onnx.helper.make_value_info(f"{output}_{name}", float_type) for output in OUTPUTS]
    return onnx.helper.make_graph(nodes, name, [], values)


def _compare(reader: Reader, file: Path) -> None:
    """Print the largest differences between the logits of a reader and those of its exported file."""
    session = onnxruntime.InferenceSession(str(file))
    for task, tokens in product(OUTPUTS_BY_TASK, (12, 200, 320)):
        inputs = _random_inputs(1, tokens, 9)
        inputs[0][0, 1] = PairEncoder().pair(task, "", Passage(""))[0].ids[1]
        with torch.no_grad():
            expected = dict(zip(OUTPUTS, reader(*inputs), strict=True))
        feed = {name: tensor.numpy() for name, tensor in zip(INPUTS, inputs, strict=True)}
        names = OUTPUTS_BY_TASK[task]
        differences = {
            name: round(float(np.abs(expected[name].numpy() - output).max()), 3)
            for name, output in zip(names, session.run(names, feed), strict=True)
        }
        sys.stdout.write(f"{task}, {tokens} tokens: largest difference of a logit {differences}\n")


def _random_inputs(texts: int, tokens: int, sentences: int) -> tuple[torch.Tensor, ...]:
    """Return inputs of the network with random tokens and sentences of equal length."""
    ids = torch.randint(1000, 20_000, (texts, tokens), generator=torch.Generator().manual_seed(tokens))
    spans = torch.zeros(texts, sentences, tokens)
    for sentence in range(sentences):
        start, end = (tokens * i // sentences for i in (sentence, sentence + 1))
        spans[:, sentence, start:end] = 1 / (end - start)
    types = (torch.arange(tokens) > tokens // 4).long().expand(texts, -1)
    return ids, types, torch.ones_like(ids), spans


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--calibration", type=Path)
    options = parser.parse_args()
    export(options.out, options.calibration)
