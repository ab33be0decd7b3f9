"""Writes the vectors of the samples that come with the package: adaptive_rag/samples/vectors.npz."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from adaptive_rag import Index
from adaptive_rag.index.cache import EmbeddingCache
from adaptive_rag.samples import samples_path


def main() -> None:
    """Index the samples, and write the vectors of everything that was embedded."""
    with TemporaryDirectory() as folder:
        Index.build(samples_path(), folder)
        keys, vectors = EmbeddingCache(Path(folder)).entries()
    np.savez_compressed(
        samples_path().parent / "vectors.npz",
        keys=np.frombuffer(b"".join(keys), dtype=np.uint8).reshape(len(keys), -1),
        vectors=vectors.astype(np.float16),
    )


if __name__ == "__main__":
    main()
