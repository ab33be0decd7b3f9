"""Measure how fast documents are indexed, compared with the embedding model alone in the same run.

    python benchmarks/indexing.py PATH... [--no-sentences]

Prints one line per figure. The share of time inside the embedding model is of wall time; "bare model" embeds
the same chunks and sentences and does nothing else.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

from adaptive_rag.index import Index, Progress
from adaptive_rag.ingest import SourceText, discover, read_source, split
from adaptive_rag.models.onnx import load_minilm
from adaptive_rag.text.sentences import sentence_spans


def texts_of(paths: list[str]) -> tuple[list[str], list[str]]:
    """Return the distinct chunks and sentences that indexing embeds."""
    sources = map(read_source, discover(paths))
    chunks = [chunk for source in sources if isinstance(source, SourceText) for chunk in split(source)]
    passages = [chunk["text"] for chunk in chunks]
    sentences = [text[start:end] for text in passages for start, end in sentence_spans(text)]
    return list(dict.fromkeys(passages)), list(dict.fromkeys(sentences))


def show(progress: Progress) -> None:
    """Print the progress as one line on standard error, over the line before."""
    left = f"{progress.seconds_left:.0f} s left" if progress.seconds_left is not None else ""
    line = f"\r{progress.done}/{progress.total} chunks, {progress.rate:.1f} a second, {left}"
    print(line.ljust(70), end="", file=sys.stderr, flush=True)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("paths", nargs="+", help="files or folders to index")
    parser.add_argument("--no-sentences", action="store_true", help="leave sentence vectors out")
    arguments = parser.parse_args()
    with_sentences = not arguments.no_sentences

    import lancedb  # noqa: F401  load it before the clock starts

    model = load_minilm()
    passages, sentences = texts_of(arguments.paths)
    texts = passages + sentences if with_sentences else passages
    started = time.perf_counter()
    model.encode(texts)
    bare_seconds = time.perf_counter() - started

    folder = Path(tempfile.mkdtemp(prefix="adaptive-rag-benchmark-"))
    try:
        report = Index.build(arguments.paths, folder / "kb", sentence_vectors=with_sentences, progress=show)
        print(file=sys.stderr)
        started = time.perf_counter()
        again = Index.build(arguments.paths, folder / "kb", sentence_vectors=with_sentences)
        repeat_seconds = time.perf_counter() - started
        size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    finally:
        shutil.rmtree(folder)

    print(f"sources                         {report.added}")
    print(f"chunks                          {report.chunks}")
    print(f"texts embedded                  {report.texts_embedded}")
    print(f"bare model, texts a second      {len(texts) / bare_seconds:.1f}")
    print(f"bare model, chunks a second     {report.chunks / bare_seconds:.2f}")
    print(f"indexing, chunks a second       {report.chunks / report.seconds:.2f}")
    print(f"indexing, seconds               {report.seconds:.2f}")
    print(f"share inside the model          {report.embedding_seconds / report.seconds:.1%}")
    print(f"indexing over bare model        {report.seconds / bare_seconds:.2f}x")
    print(f"indexing again, seconds         {repeat_seconds:.4f} ({again.unchanged} unchanged)")
    print(f"indexing again over first time  {repeat_seconds / report.seconds:.2%}")
    print(f"bytes a chunk on disk           {size / max(1, report.chunks):.0f}")


if __name__ == "__main__":
    main()
