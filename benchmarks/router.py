"""Times the question router: its loading, and each question beyond its embedding."""

from __future__ import annotations

import statistics
import time

from adaptive_rag.analysis import analyse, analyse_batch
from adaptive_rag.analysis.router import WEIGHTS, load_router
from adaptive_rag.models.onnx import load_minilm

FORMS = [
    "What is the boiling point of ethanol?",
    "Why did the price of wheat rise in the fourteenth century, and what did towns do about it?",
    "Should cities ban private cars from their centres?",
    "My boiler loses pressure every night, what should I check first?",
    "how do i get rid of rust on garden tools",
]
# Each is another text, since a repeated one is not embedded again.
QUESTIONS = [f"{FORMS[i % len(FORMS)]} ({i})" for i in range(200)]


def main() -> None:
    """Print medians."""
    load_router.cache_clear()
    started = time.perf_counter()
    load_router()
    loading = (time.perf_counter() - started) * 1e3

    model = load_minilm()
    vectors = model.encode(QUESTIONS)
    analyse(QUESTIONS[0], vector=vectors[0])
    routing, embedding = [], []
    for question, vector in zip(QUESTIONS, vectors, strict=True):
        started = time.perf_counter()
        analyse(question, vector=vector)
        routing.append((time.perf_counter() - started) * 1e3)
        started = time.perf_counter()
        model.encode([f"{question}!"])
        embedding.append((time.perf_counter() - started) * 1e3)
    started = time.perf_counter()
    analyse_batch([f"{question}?" for question in QUESTIONS])
    rate = len(QUESTIONS) / (time.perf_counter() - started)

    route, embed = statistics.median(routing), statistics.median(embedding)
    print(f"weights              {WEIGHTS.stat().st_size / 1e6:.2f} MB, loaded in {loading:.1f} ms")
    print(f"routing one question {route:.2f} ms at the median ({max(routing):.2f} at most)")
    print(f"embedding it         {embed:.2f} ms at the median; routing adds {route / embed:.0%} to that")
    print(f"a batch              {rate:.0f} questions a second, embedding and all")


if __name__ == "__main__":
    main()
