"""Retrieves passages for questions about document sets, and writes forms for a strong reader to mark.

    python -m training.reader.ask QUESTIONS OUT --sources FOLDER [--cache FOLDER]

QUESTIONS is a JSONL file: set, type, q, and sit if the asker describes their situation. The questions were
written by people who knew an outline of the set's documents. OUT receives a file of the same name, with the
passages that the program reads first for each question, and forms of ten questions each. In a form, the
sentences of the passages are numbered: "2.3" is the third sentence of the second passage. `found.py` reads
the marks.
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

# Maximum passages of a question in a form, and questions of a form.
PASSAGES_SHOWN = 6
QUESTIONS_PER_FORM = 10


def ask(questions: Path, sources: Path, cache: Path) -> Iterator[Row]:
    """Yield each question with the passages that its strategy reads first."""
    rows = [json.loads(line) for line in questions.read_text("utf-8").splitlines()]
    examples = list(read_lines())
    indexes = {
        name: open_documents(name, [row for row in examples if row["set"] == name], sources, cache)
        for name in dict.fromkeys(row["set"] for row in rows)
    }
    graph = build_graph().compile()
    for number, row in enumerate(rows):
        question = {"question": row["q"], "user_context": row.get("sit") or ""}
        output = graph.invoke(question, context=Context(index=indexes[row["set"]], route=row["type"]))
        passages = list[Row]()
        for _, chunk in chunks_to_read(output["documents"])[:PASSAGES_SHOWN]:
            source = chunk["source"].partition(f"{row['set']}/documents/")[2] or chunk["source"]
            if row["set"] == SELQA:
                source = str(Path(source).parent)
            passages.append({"source": source, **passage_of(chunk)._asdict()})
        yield row | {"id": f"{questions.stem}-{number:04d}", "read": passages}


def format_question(row: Row) -> str:
    """Return a question with its numbered passages and sentences, as a form shows it."""
    lines = [f"######## {row['id']} ({row['type']})", f"QUESTION: {row['q']}"]
    if row.get("sit"):
        lines.append(f"ASKER: {row['sit']}")
    for number, passage in enumerate(row["read"], 1):
        lines.append(f"-- {number} [{passage['title']} > {passage['section'].split(' > ')[-1]}]")
        for sentence, (start, end) in enumerate(sentence_spans(passage["text"]), 1):
            lines.append(f"{number}.{sentence} {' '.join(passage['text'][start:end].split())}")
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
    for first in range(0, len(rows), QUESTIONS_PER_FORM):
        form = "\n\n".join(map(format_question, rows[first : first + QUESTIONS_PER_FORM]))
        name = f"{options.questions.stem}-{first // QUESTIONS_PER_FORM:02d}.txt"
        (options.out / name).write_text(form + "\n", "utf-8")
