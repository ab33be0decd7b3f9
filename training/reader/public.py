"""Questions of a public set, in the form of the examples: SelQA (Jurczyk, Zhai and Choi 2016).

Its files that are small enough for a copy of the repository: 2,375 questions on sections of Wikipedia, each
with the sentences that answer. They are read where they are, and only trained on. Its sections, put together
as articles, are one of the document sets that `ask.py` asks questions of.
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
    asked = defaultdict[tuple[str, str, str], list[Row]](list)
    for file in _FILES:
        for row in json.loads(read_file(folder, SELQA, file)):
            section = (row["article"], row["section"], " ".join(row["candidates"]))
            quote = row["candidates"][row["answers"][0]]
            asked[section].append({"q": row["question"], "a": quote, "s": quote})
    for at, ((title, section, text), questions) in enumerate(asked.items()):
        yield {
            "id": f"{SELQA}-{at}", "set": SELQA, "source": "", "title": title, "section": section,
            "text": text, "qa": questions, "no": [], "true": [], "false": [], "follow": None, "sides": [],
        }  # fmt: skip


def read_articles(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the articles of SelQA, as far as it has them: the path, below the file an article is from; text.

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
