"""Writes a trained reader as ONNX with int8 weights, and says how near it is to the one that was trained.

    python -m training.reader.export OUT [--calibration FILE]

OUT holds `reader.pt` and receives `reader.onnx`. Its matrices are multiplied in int8, each column of weights
with a scale of its own and the activations with one for each run: so a passage is run alone. FILE, as
`calibrate.py` writes it, is put into the file. Needs `pip install torch onnx onnxscript` beside the package.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic

from adaptive_rag.models.reader import INPUTS, OUTPUTS
from training.reader.encoder import Encoder, Reader


def export(out: Path, calibration: Path | None = None) -> None:
    """Write the file and compare what both say of texts of several lengths."""
    reader = Reader(Encoder())
    reader.load_state_dict(torch.load(out / "reader.pt"))
    reader.eval()
    texts, tokens, sentences = (torch.export.Dim(name, min=2) for name in ("texts", "tokens", "sentences"))
    plain = {0: texts, 1: tokens}
    whole = out / "whole.onnx"
    torch.onnx.export(
        reader,
        _drawn(2, 12, 3),
        str(whole),
        input_names=list(INPUTS),
        output_names=list(OUTPUTS),
        dynamic_shapes=(plain, plain, plain, {0: texts, 1: sentences, 2: tokens}),
        external_data=False,
    )
    model = onnx.load(str(whole))
    # what the exporter says of the shapes of matrices that it turned round is not so
    del model.graph.value_info[:]
    onnx.save(model, str(whole))
    # 7 bits: on processors without VNNI the sums of 8 overflow
    quantize_dynamic(
        whole,
        out / "reader.onnx",
        per_channel=True,
        reduce_range=True,
        weight_type=QuantType.QInt8,
        op_types_to_quantize=["MatMul", "Gather"],
        extra_options={"MatMulConstBOnly": True},
    )
    whole.unlink()
    model = onnx.load(str(out / "reader.onnx"))
    if calibration:
        model.metadata_props.add(
            key="calibration", value=json.dumps(json.loads(calibration.read_text("utf-8")))
        )
    onnx.checker.check_model(model)
    onnx.save(model, str(out / "reader.onnx"))
    session = onnxruntime.InferenceSession(str(out / "reader.onnx"))
    for shape in ((1, 12, 3), (1, 200, 9), (1, 320, 20)):
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
    parser.add_argument("--calibration", type=Path)
    options = parser.parse_args()
    export(options.out, options.calibration)
