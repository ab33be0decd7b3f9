"""Writes a trained reader as ONNX with int8 weights, and says how near it is to the one that was trained.

    python -m training.reader.export OUT

OUT holds `reader.pt` and receives `reader.onnx`. Each row of a table and each column of a matrix has a
scale of its own; activations stay float32, so a batch gives each text what it has alone. Needs `pip install
torch onnx onnxscript` beside the package.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import helper, numpy_helper

from training.reader.encoder import Encoder, Reader

INPUTS = ("input_ids", "token_type_ids", "attention_mask", "spans")
OUTPUTS = ("sentences", "passage", "claim", "sides")
# Smaller ones are not worth their scales.
_LEAST_VALUES = 50_000


def to_int8(model: onnx.ModelProto) -> None:
    """Replace the large float weights of a model, in place, by int8 and a scale for each row or column."""
    graph = model.graph
    tables = {node.input[0] for node in graph.node if node.op_type == "Gather"}
    replaced = []
    for weight in list(graph.initializer):
        values = numpy_helper.to_array(weight)
        if values.dtype != np.float32 or values.ndim != 2 or values.size < _LEAST_VALUES:
            continue
        axis = 0 if weight.name in tables else 1
        scale = np.abs(values).max(axis=1 - axis) / 127
        scale[scale == 0] = 1
        rounded = np.round(values / np.expand_dims(scale, 1 - axis)).astype(np.int8)
        graph.initializer.remove(weight)
        graph.initializer.append(numpy_helper.from_array(rounded, f"{weight.name}_q"))
        graph.initializer.append(numpy_helper.from_array(scale.astype(np.float32), f"{weight.name}_scale"))
        names = [f"{weight.name}_q", f"{weight.name}_scale"]
        replaced.append(helper.make_node("DequantizeLinear", names, [weight.name], axis=axis))
    for node in reversed(replaced):
        graph.node.insert(0, node)


def export(out: Path) -> None:
    """Write the file and compare what both say of texts of several lengths."""
    reader = Reader(Encoder())
    reader.load_state_dict(torch.load(out / "reader.pt"))
    reader.eval()
    texts, tokens, sentences = (torch.export.Dim(name, min=2) for name in ("texts", "tokens", "sentences"))
    plain = {0: texts, 1: tokens}
    torch.onnx.export(
        reader,
        _drawn(2, 12, 3),
        str(out / "whole.onnx"),
        input_names=list(INPUTS),
        output_names=list(OUTPUTS),
        dynamic_shapes=(plain, plain, plain, {0: texts, 1: sentences, 2: tokens}),
        external_data=False,
    )
    model = onnx.load(str(out / "whole.onnx"))
    (out / "whole.onnx").unlink()
    to_int8(model)
    onnx.checker.check_model(model)
    onnx.save(model, str(out / "reader.onnx"))
    session = onnxruntime.InferenceSession(str(out / "reader.onnx"))
    for shape in ((2, 12, 3), (3, 200, 9), (5, 320, 20)):
        drawn = _drawn(*shape)
        with torch.no_grad():
            expected = reader(*drawn)
        got = session.run(
            list(OUTPUTS), {name: each.numpy() for name, each in zip(INPUTS, drawn, strict=True)}
        )
        far = {
            name: round(float(np.abs(each.numpy() - other).max()), 3)
            for name, each, other in zip(OUTPUTS, expected, got, strict=True)
        }
        sys.stdout.write(f"{shape}: largest difference of a logit {far}\n")
    sys.stdout.write(f"{(out / 'reader.onnx').stat().st_size / 1e6:.1f} MB\n")


def _drawn(texts: int, tokens: int, sentences: int) -> tuple[torch.Tensor, ...]:
    ids = torch.randint(1000, 20_000, (texts, tokens), generator=torch.Generator().manual_seed(tokens))
    spans = torch.zeros(texts, sentences, tokens)
    for which in range(sentences):
        start, end = (tokens * at // sentences for at in (which, which + 1))
        spans[:, which, start:end] = 1 / (end - start)
    return ids, (torch.arange(tokens) > tokens // 4).long().expand(texts, -1), torch.ones_like(ids), spans


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("out", type=Path)
    export(parser.parse_args().out)
