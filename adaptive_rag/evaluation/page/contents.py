"""What the page shows, as its sections read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from adaptive_rag.evaluation.judge import JudgeReport
from adaptive_rag.evaluation.records import QuestionRecord
from adaptive_rag.evaluation.routing import RoutingReport
from adaptive_rag.evaluation.summary import Row
from adaptive_rag.evaluation.wording import headline_of

# Below this many questions a type has no bars or line of its own: its intervals say nothing.
FEW = 10
# Arms that a plot has room for.
ARMS_DRAWN = 7


@dataclass(frozen=True)
class Report:
    """All that a page shows."""

    about: Mapping[str, Any]
    k: int
    rows: Sequence[Row]
    pooled: Sequence[Row]
    routing: Mapping[str, RoutingReport]  # by data set, and for all of them together
    alpha: Mapping[str, Mapping[str, Mapping[str, float]]]
    steps: Mapping[str, Mapping[str, float]]
    lost: Sequence[tuple[float, QuestionRecord]]
    # text of a passage by data set and id
    texts: Mapping[tuple[str, str], str] = field(default_factory=dict)
    judge: JudgeReport | None = None
    against: Sequence[Row] = ()
    against_name: str = ""

    @property
    def metric(self) -> str:
        """Return the metric that the page compares arms by."""
        return headline_of(self.rows, self.k)

    @property
    def datasets(self) -> list[str]:
        """Return the names of the data sets."""
        return list(dict.fromkeys(row["dataset"] for row in self.rows))


def arms_drawn(rows: Sequence[Row]) -> list[str]:
    """Return the arms that plots show."""
    return list(dict.fromkeys(row["arm"] for row in rows))[:ARMS_DRAWN]
