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
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from torch import nn

from adaptive_rag.models.reader import INPUTS, OUTPUTS
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
    onnx.helper.set_model_props(model, dict(metadata))
    onnx.checker.check_model(model)
    onnx.save(model, str(file))


def _compare(reader: Reader, file: Path) -> None:
    """Print the largest differences between the logits of a reader and those of its exported file."""
    session = onnxruntime.InferenceSession(str(file))
    for sizes in ((1, 12, 3), (1, 200, 9), (1, 320, 20)):
        inputs = _random_inputs(*sizes)
        with torch.no_grad():
            expected = reader(*inputs)
        feed = {name: tensor.numpy() for name, tensor in zip(INPUTS, inputs, strict=True)}
        outputs = session.run(list(OUTPUTS), feed)
        differences = {
            name: round(float(np.abs(tensor.numpy() - output).max()), 3)
            for name, tensor, output in zip(OUTPUTS, expected, outputs, strict=True)
        }
        sys.stdout.write(f"{sizes}: largest difference of a logit {differences}\n")


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
