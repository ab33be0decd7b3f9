"""What `adaptive-rag doctor` finds."""

from __future__ import annotations

from typing import Literal, NamedTuple


class Finding(NamedTuple):
    """The result of one check."""

    what: str
    state: Literal["ok", "note", "fault"]
    found: str
    mend: str = ""
