"""Asks questions of the document sets, and writes down what was found for a strong reader to mark.

    python -m training.reader.ask QUESTIONS OUT --sources FOLDER [--cache FOLDER]

QUESTIONS is a file of JSON lines: set, type, q, and sit where the asker says something of themselves. They
were written by people who knew an outline of the set's documents. OUT receives a file of the same name, each
question with the passages that the program reads first, and forms of ten questions: the passages of each with
their sentences numbered, "2.3" for the third of the second. `found.py` tells what is marked there.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from adaptive_rag.answer.score import chunks_to_read
from adaptive_rag.context import Context
from adaptive_rag.evaluation.corpora import default_cache
from adaptive_rag.graph.builder import build_graph
from adaptive_rag.text.reading import passage_of
from adaptive_rag.text.sentences import sentence_spans
from benchmarks.reader import open_documents
from training.reader.examples import read_lines
from training.reader.public import SELQA
from training.reader.sources import Row

SHOWN = 6
A_FORM = 10


def ask(questions: Path, sources: Path, cache: Path) -> Iterator[Row]:
    """Yield each question with the passages that its strategy reads first."""
    rows = [json.loads(line) for line in questions.read_text("utf-8").splitlines()]
    examples = list(read_lines())
    indexes = {
        name: open_documents(name, [each for each in examples if each["set"] == name], sources, cache)
        for name in dict.fromkeys(row["set"] for row in rows)
    }
    graph = build_graph().compile()
    for number, row in enumerate(rows):
        asked = {"question": row["q"], "user_context": row.get("sit") or ""}
        output = graph.invoke(asked, context=Context(index=indexes[row["set"]], route=row["type"]))
        read = list[Row]()
        for _, chunk in chunks_to_read(output["documents"])[:SHOWN]:
            source = chunk["source"].partition(f"{row['set']}/documents/")[2] or chunk["source"]
            if row["set"] == SELQA:
                source = str(Path(source).parent)
            read.append({"source": source, **passage_of(chunk)._asdict()})
        yield row | {"id": f"{questions.stem}-{number:04d}", "read": read}


def form(row: Row) -> str:
    """Return what a strong reader sees of a question."""
    lines = [f"######## {row['id']} ({row['type']})", f"QUESTION: {row['q']}"]
    if row.get("sit"):
        lines.append(f"ASKER: {row['sit']}")
    for number, passage in enumerate(row["read"], 1):
        lines.append(f"-- {number} [{passage['title']} > {passage['section'].split(' > ')[-1]}]")
        for at, (start, end) in enumerate(sentence_spans(passage["text"]), 1):
            lines.append(f"{number}.{at} {' '.join(passage['text'][start:end].split())}")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("questions", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--sources", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=default_cache())
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    rows = list(ask(options.questions, options.sources, options.cache))
    with (options.out / options.questions.name).open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    for first in range(0, len(rows), A_FORM):
        shown = "\n\n".join(map(form, rows[first : first + A_FORM]))
        name = f"{options.questions.stem}-{first // A_FORM:02d}.txt"
        (options.out / name).write_text(shown + "\n", "utf-8")
