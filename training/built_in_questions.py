"""Draws the questions that learning from one's own must leave where they belong.

    python -m training.built_in_questions

They are typed questions to documents, as many of each type, of the development part of the reader's examples
(`training/reader`), which the router is not trained on, and questions that were written for the router.
"""

from __future__ import annotations

import json
import lzma
import random
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from adaptive_rag.analysis.learning import BUILT_IN
from adaptive_rag.state import QUERY_TYPES
from training.router import EXAMPLES, read_questions

# Of each type, from either source.
OF_A_TYPE = 113


def draw(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return as many questions of each type."""
    found = defaultdict[str, list[dict[str, Any]]](list)
    for row in rows:
        found[row["type"]].append(row)
    chosen = random.Random(7)
    return [
        row for kind in QUERY_TYPES for row in chosen.sample(found[kind], min(OF_A_TYPE, len(found[kind])))
    ]


def main() -> None:
    """Write the file."""
    own = (json.loads(line) for line in EXAMPLES.read_text("utf-8").splitlines())
    alone = (row for row in own if not row.get("history"))
    rows = [*draw(read_questions("development")), *draw(alone)]
    random.Random(7).shuffle(rows)
    with lzma.open(BUILT_IN, "wt", encoding="utf-8") as file:
        for row in rows:
            kept = {"text": row["text"], "user_context": row.get("user_context") or "", "type": row["type"]}
            file.write(json.dumps(kept, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
