"""Measures chunks: whether a cell or an item deep in a long table or list is found and answered.

    python -m benchmarks.chunking [DOCUMENT...]

Makes documents (price lists of four branches, rules in wide rows, rainfall by month, checks in numbered
lists, Russian and Chinese text), indexes them, and asks for one cell, item or fact at a time. Prints for each
kind of document: the share of questions whose row or item is in the chunk nearest by vector, in the one
ranked first, and whose answer holds it; and of the chunks, how many rows and items are cut, and how many
chunks are longer than the embedded model reads. With documents named it prints these for each of them too.
"""

from __future__ import annotations

import argparse
import calendar
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from adaptive_rag import AdaptiveRAG
from adaptive_rag.context import make_context
from adaptive_rag.graph.builder import build_retrieval_graph
from adaptive_rag.index import Index
from adaptive_rag.models import onnx
from adaptive_rag.state import Chunk

READ = 256
"""Tokens that the embedded model reads of a text."""
QUESTIONS = 40
"""Asked of each kind of document."""
COLUMNS = ("questions", "nearest", "first", "answered", "rows or items", "cut", "chunks", "too long")
MONTHS = list(calendar.month_name)[1:]
METALS = ("brass", "steel", "copper", "zinc", "iron", "oak")
THINGS = ("hinge", "bracket", "bolt", "latch", "hook", "washer", "rail", "handle", "spacer", "clamp")
PLACES = ("Marlow", "Hexton", "Carrow", "Dunmere")


class Made(NamedTuple):
    """A document, its rows or items, and questions with the row that answers each and what it says."""

    name: str
    text: str
    lines: list[str]
    questions: list[tuple[str, str, str]]


def price_lists(draw: random.Random) -> Made:
    """Make a table for each of four branches with the same items in each."""
    text, lines, questions = "# Price lists\n\n", [], []
    for place in PLACES:
        text += f"## {place} branch\n\n| Item | Price | Stock | Lead time |\n|---|---|---|---|\n"
        for metal in METALS:
            for thing in THINGS:
                days, stock = draw.randint(2, 90), draw.randint(5, 900)
                item, price = f"{metal.title()} {thing}", f"£{draw.uniform(1, 60):.2f}"
                line = f"| {item} | {price} | {stock} | {days} days |"
                named = item.lower()
                asked = [
                    (f"What is the lead time of the {named} at the {place} branch?", f"{days} days"),
                    (f"How much does a {named} cost at the {place} branch?", price),
                ]
                lines.append(line)
                questions += [(question, line, said) for question, said in asked]
                text += line + "\n"
        text += "\n"
    return Made("prices.md", text, lines, questions)


def rules(draw: random.Random) -> Made:
    """Make a table whose cells hold several sentences."""
    text, lines, questions = "# Harbour rules\n\n| Craft | Duty | Charge |\n|---|---|---|\n", [], []
    for kind in ("Fishing", "Pilot", "Cargo", "Ferry", "Rescue", "Survey", "Sailing", "Diving"):
        for size in ("boat", "barge", "launch", "ship"):
            charge, hours = f"£{draw.randint(20, 900)}", draw.randint(2, 72)
            duty = (
                f"The master reports to the harbour office at least {hours} hours before entry. The report "
                "names the crew, the load and the last port. Where the wind is above force six, no craft of "
                "this kind enters without a tug, and the tug is paid for by the owner. It leaves by daylight."
            )
            line = f"| {kind} {size} | {duty} | {charge} |"
            lines.append(line)
            named = f"{kind.lower()} {size}"
            questions += [
                (f"How many hours before entry does the master of a {named} report?", line, f"{hours} hours"),
                (f"What is the charge for a {named}?", line, charge),
            ]
            text += line + "\n"
    return Made("rules.md", text, lines, questions)


def rainfall(draw: random.Random) -> Made:
    """Make a table of numbers alone for each of two stations."""
    text, lines, questions = "# Rainfall in millimetres\n\n", [], []
    for place in PLACES[:2]:
        names = " | ".join(month[:3] for month in MONTHS)
        text += f"## {place} station\n\n| Year | {names} |\n{'|---' * 13}|\n"
        for year in range(1950, 2010):
            amounts = [f"{draw.uniform(3, 190):.1f}" for _ in MONTHS]
            line = f"| {year} | {' | '.join(amounts)} |"
            lines.append(line)
            at = draw.randrange(12)
            asked = f"What was the rainfall at the {place} station in {MONTHS[at]} {year}?"
            questions.append((asked, line, amounts[at]))
            text += line + "\n"
        text += "\n"
    return Made("rainfall.md", text, lines, questions)


def checks(draw: random.Random) -> Made:
    """Make a numbered list for each of three checks, of the same parts in each."""
    text, lines, questions = "# Pump house\n\n", [], []
    parts = [f"{side} {part}" for part in ("valve", "gauge", "pump", "filter", "float") for side in SIDES]
    for when in ("daily", "weekly", "yearly"):
        text += f"## The {when} check\n\nWork through these points in order:\n\n"
        for number, part in enumerate(parts, start=1):
            bar = f"{draw.uniform(0.5, 9):.1f} bar"
            line = (
                f"{number}. Open the cover of the {part}. Wipe it dry and look for rust on all sides. Its "
                f"pressure must stay under {bar}. Close the cover and sign the sheet."
            )
            lines.append(line)
            asked = f"Under which pressure must the {part} stay in the {when} check?"
            questions.append((asked, line, bar))
            text += line + "\n"
        text += "\n"
    return Made("checks.md", text, lines, questions)


SIDES = ("inlet", "outlet", "upper", "lower", "relief", "spare")


def russian(draw: random.Random) -> Made:
    """Make a long paragraph of Russian sentences."""
    firsts = ("Сос", "Бере", "Кам", "Лугов", "Озер", "Дуб", "Верх", "Ольх", "Мор", "Став")
    names = [first + last for first in firsts for last in ("новка", "зово", "енка", "ское", "ино", "аничи")]
    lines, questions = [], []
    for name in names:
        metres, year = draw.randint(11, 99), draw.randint(1700, 1950)
        line = f"Маяк в деревне {name} построен в {year} году, его высота составляет {metres} метров."
        lines.append(line)
        questions.append((f"Какова высота маяка в деревне {name}?", line, f"{metres} метров"))
    return Made("mayaki.txt", " ".join(lines), lines, questions)


def chinese(draw: random.Random) -> Made:
    """Make a long paragraph of Chinese sentences."""
    names = [first + last + "桥" for first in "青白黑红黄长大小南北东西" for last in "石水山龙云木沙林花月"]
    lines, questions = [], []
    for name in names:
        metres, year = draw.randint(21, 499), draw.randint(1200, 1950)
        line = f"{name}建于{year}年，全长{metres}米，桥面用当地的石头铺成，两旁种着柳树。"
        lines.append(line)
        questions.append((f"{name}全长多少米？", line, f"{metres}米"))
    return Made("bridges.txt", "".join(lines), lines, questions)


KINDS: dict[str, Callable[[random.Random], Made]] = {
    "table": price_lists,
    "wide rows": rules,
    "numbers": rainfall,
    "list": checks,
    "Russian": russian,
    "Chinese": chinese,
}


def measure(made: Made, folder: Path, graph: object) -> dict[str, float]:
    """Index one document, ask for its rows, and return every column."""
    folder.mkdir()
    (folder / made.name).write_text(made.text)
    rag = AdaptiveRAG.from_documents(folder / made.name, index=folder / "index")
    index = Index.open(folder / "index")
    chunks = list(index.chunks())
    asked = random.Random(1).sample(made.questions, min(QUESTIONS, len(made.questions)))
    context = make_context(index=index)
    counts = dict.fromkeys(("nearest", "first", "answered"), 0)
    for question, line, said in asked:
        near = max(index.search([question], limit=20)[0], key=lambda chunk: chunk["scores"].get("dense", -1))
        counts["nearest"] += line in near["text"]
        state = {"question": question, "user_context": "", "history": []}
        ranked = graph.invoke(state, context=context)["documents"]  # type: ignore[attr-defined]
        counts["first"] += bool(ranked) and line in ranked[0]["text"]
        counts["answered"] += said in rag.invoke(question)["answer"]
    shares = {name: count / len(asked) for name, count in counts.items()}
    whole = sum(any(line in chunk["text"] for chunk in chunks) for line in made.lines)
    cut = len(made.lines) - whole
    return {
        "questions": len(asked),
        **shares,
        "rows or items": len(made.lines),
        "cut": cut,
        **_lengths(chunks),
    }


def _lengths(chunks: Sequence[Chunk]) -> dict[str, int]:
    tokenizer = onnx.load_tokenizer(Path(onnx.__file__).parent / "minilm" / "tokenizer.json", 100_000)
    lengths = [len(tokenizer.encode(chunk["text"]).ids) for chunk in chunks]
    return {"chunks": len(chunks), "too long": sum(length > READ for length in lengths)}


def _rows(documents: Sequence[Path], kinds: Sequence[str]) -> Iterator[tuple[str, dict[str, float]]]:
    graph = build_retrieval_graph().compile()
    with tempfile.TemporaryDirectory() as folder:
        for kind in kinds:
            yield kind, measure(KINDS[kind](random.Random(kind)), Path(folder) / kind, graph)
        for document in documents:
            place = Path(folder) / "documents" / document.name
            Index.build(document, place)
            yield document.name, dict(_lengths(list(Index.open(place).chunks())))


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the documents, ask, and print a row for each kind."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("documents", nargs="*", type=Path)
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), choices=list(KINDS))
    given = parser.parse_args(arguments)
    print(f"| | {' | '.join(COLUMNS)} |\n|---|{'--:|' * len(COLUMNS)}")
    for name, row in _rows(given.documents, given.kinds):
        cells = [f"{row[c]:.2f}" if isinstance(row.get(c), float) else str(row.get(c, "")) for c in COLUMNS]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
