"""Reads the questions of SelQA (Jurczyk, Zhai and Choi 2016) in the form of the examples.

Only the files that are small enough for a copy of the repository are read: 2,375 questions about sections of
Wikipedia, each with the sentences that answer it. They are used for training only. The sections, joined to
articles, are one of the document sets for which `ask.py` retrieves passages.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from training.reader.sources import Row, read_file

SELQA = "emorynlp+selqa"
_FILES = ("ass/selqa-ass-dev.json", "ass/selqa-ass-test.json")


def read_selqa(folder: Path) -> Iterator[Row]:
    """Yield the sections of SelQA with their questions.

    Raises:
        MissingSourceError: the folder lacks its repository.
    """
    questions_of = defaultdict[tuple[str, str, str], list[Row]](list)
    for file in _FILES:
        for row in json.loads(read_file(folder, SELQA, file)):
            section = (row["article"], row["section"], " ".join(row["candidates"]))
            quote = row["candidates"][row["answers"][0]]
            questions_of[section].append({"q": row["question"], "a": quote, "s": quote})
    for number, ((title, section, text), questions) in enumerate(questions_of.items()):
        yield {
            "id": f"{SELQA}-{number}", "set": SELQA, "source": "", "title": title, "section": section,
            "text": text, "qa": questions, "no": [], "true": [], "false": [], "follow": None, "sides": [],
        }  # fmt: skip


def read_articles(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the path and the text of each article of SelQA, with the sections that SelQA has of it.

    Raises:
        MissingSourceError: the folder lacks its repository.
    """
    articles = defaultdict[tuple[str, str], dict[str, str]](dict)
    for file in _FILES:
        for row in json.loads(read_file(folder, SELQA, file)):
            articles[file, row["article"]].setdefault(row["section"], " ".join(row["candidates"]))
    for (file, title), sections in articles.items():
        text = "\n\n".join(f"## {section}\n\n{text}" for section, text in sections.items())
        name = re.sub(r"[^\w. -]", "_", title)
        yield f"{file}/{name}.md", f"# {title}\n\n{text}\n".encode()
