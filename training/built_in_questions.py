"""Draws the built-in questions, which learning from a user's own questions must not misroute.

    python -m training.built_in_questions

They are typed questions about documents from the development part of the reader's examples
(`training/reader`), on which the router is not trained, and questions that were written for the router;
equally many of each type.
"""

from __future__ import annotations

import json
import lzma
import random
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from adaptive_rag.analysis.learning import BUILT_IN
from adaptive_rag.state import ROUTED_TYPES
from training.router_questions import EXAMPLES, read_questions

# Number of questions of each type from each of the two sources.
PER_TYPE = 113


def draw(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a sample with `PER_TYPE` questions of each type, or fewer if there are not so many."""
    by_type = defaultdict[str, list[dict[str, Any]]](list)
    for row in rows:
        by_type[row["type"]].append(row)
    random_ = random.Random(7)
    samples = (random_.sample(by_type[name], min(PER_TYPE, len(by_type[name]))) for name in ROUTED_TYPES)
    return [row for sample in samples for row in sample]


def main() -> None:
    """Write the file."""
    rows_for_router = (json.loads(line) for line in EXAMPLES.read_text("utf-8").splitlines())
    without_history = (row for row in rows_for_router if not row.get("history"))
    rows = [*draw(read_questions("development")), *draw(without_history)]
    random.Random(7).shuffle(rows)
    with lzma.open(BUILT_IN, "wt", encoding="utf-8") as file:
        for row in rows:
            line = {"text": row["text"], "user_context": row.get("user_context") or "", "type": row["type"]}
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
