"""Which documents a question is asked of: some by name, whole folders, and those that fulfil a condition."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from adaptive_rag.errors import InputError
from adaptive_rag.ingest.archives import is_archive
from adaptive_rag.server.folders import LONGEST_NAME
from adaptive_rag.where import LONGEST, join_conditions

MOST_NAMES, MOST_COLLECTIONS = 100, 8
# Of several collections, a name begins with its collection.
Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME + 101)]


class Selection(BaseModel):
    """The documents that are asked. With names and a condition, both must hold."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"folders": ["reports/2024"], "where": 'author = "Ann Lee"'}]},
    )

    documents: list[Name] = Field([], max_length=MOST_NAMES, description="Documents by name.")
    folders: list[Name] = Field(
        [], max_length=MOST_NAMES, description="Folders: all documents below them, later ones included."
    )
    where: str = Field("", max_length=LONGEST, description="A condition, such as 'year >= 2020'.")

    def condition(self, *also: str) -> str:
        """Return the one condition that selects the passages of these documents; "" for all.

        `also` are further conditions that must hold.

        Raises:
            InputError: a condition cannot be read, or there are too many names.
        """
        conditions = (" or ".join(self._named()), self.where, *also)
        if (length := sum(map(len, conditions))) > LONGEST:
            raise InputError(
                f"These documents and the condition are too many to be searched by name: {length:,} "
                f"characters, at most {LONGEST:,} are taken. Choose fewer, or their folder."
            )
        return join_conditions(*conditions)

    def kept(self) -> dict[str, Any]:
        """Return what is kept with the answer; nothing if all documents are asked."""
        only = self.model_dump(exclude_defaults=True)
        return {"only": only} if only else {}

    def _named(self) -> Iterator[str]:
        exact = [name for name in self.documents if not {'"', "'"} <= set(name)]
        if exact:
            yield f"source in ({', '.join(map(_quoted, exact))})"
        for name in self.documents:
            if name not in exact:
                yield f"source like {_quoted(_as_pattern(name))}"
            if is_archive(Path(name)) or "://" in name:  # its files and pages have longer names
                yield _below(name)
        yield from map(_below, self.folders)


def _below(name: str) -> str:
    return f"source like {_quoted(_as_pattern(name.rstrip('/')) + '/*')}"


def _as_pattern(name: str) -> str:
    return re.sub(r"[][*?]", lambda special: f"[{special[0]}]", name)


def _quoted(text: str) -> str:
    """Return a text in quotes. One that holds both kinds can only be a pattern: ? stands for any letter."""
    return f"'{text}'" if '"' in text and "'" not in text else f'"{text.replace(chr(34), "?")}"'
