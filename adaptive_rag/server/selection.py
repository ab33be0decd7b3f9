"""The documents that a question is asked of: by name, by folder, and by a condition."""

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
# If several collections are asked, a name begins with its collection: "handbook/notice.md".
Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME + 101)]


class Selection(BaseModel):
    """The documents that are asked. If there are names and a condition, both must be fulfilled."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"folders": ["reports/2024"], "where": 'author = "Ann Lee"'}]},
    )

    documents: list[Name] = Field([], max_length=MOST_NAMES, description="Documents by name.")
    folders: list[Name] = Field(
        [], max_length=MOST_NAMES, description="Folders; all documents below them are asked, also later ones."
    )
    where: str = Field("", max_length=LONGEST, description="A condition, such as 'year >= 2020'.")

    def condition(self, *further: str) -> str:
        """Return the condition for these documents, joined with further ones; "" if all are asked.

        Raises:
            InputError: a condition cannot be read, or there are too many names.
        """
        conditions = (" or ".join(self._name_conditions()), self.where, *further)
        if (length := sum(map(len, conditions))) > LONGEST:
            raise InputError(
                f"These documents and the condition are too many to be searched by name: {length:,} "
                f"characters, at most {LONGEST:,} are taken. Choose fewer, or their folder."
            )
        return join_conditions(*conditions)

    def to_metadata(self) -> dict[str, Any]:
        """Return the selection as it is stored with the answer; empty if all documents are asked."""
        selected = self.model_dump(exclude_defaults=True)
        return {"only": selected} if selected else {}

    def _name_conditions(self) -> Iterator[str]:
        quotable = [name for name in self.documents if not {'"', "'"} <= set(name)]
        if quotable:
            yield f"source in ({', '.join(map(_quote, quotable))})"
        for name in self.documents:
            if name not in quotable:
                yield f"source like {_quote(_escape_pattern(name))}"
            if is_archive(Path(name)) or "://" in name:  # the names of its files or pages begin with its own
                yield _below_folder(name)
        yield from map(_below_folder, self.folders)


def _below_folder(name: str) -> str:
    return f"source like {_quote(_escape_pattern(name.rstrip('/')) + '/*')}"


def _escape_pattern(name: str) -> str:
    return re.sub(r"[][*?]", lambda special: f"[{special[0]}]", name)


def _quote(text: str) -> str:
    """Put a text in quotes. If it has both kinds, it is a pattern, in which ? replaces the double ones."""
    return f"'{text}'" if '"' in text and "'" not in text else f'"{text.replace(chr(34), "?")}"'
