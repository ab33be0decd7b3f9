"""Looks up words of an index in PostgreSQL, and words with a similar spelling."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from adaptive_rag.index.postgres.conditions import escape_regex
from adaptive_rag.index.postgres.database import Selection
from adaptive_rag.index.postgres.state import DatabaseState
from adaptive_rag.index.reader import LONGEST_SPELT

if TYPE_CHECKING:
    from psycopg import Cursor

# The table stores stems, so an ending counts as a difference too. The limits are: how many letters longer or
# shorter a stem may be, its least similarity (difflib), the number of stems, and of chunks for each.
LETTERS_APART, ALIKE, STEMS, CHUNKS_A_STEM = 3, 0.6, 20, 3
# Lists the stems with this first letter. It steps from one stem to the next, and so skips its other rows.
STEMS_FROM = """
WITH RECURSIVE held AS (
    (SELECT lexeme FROM {words} WHERE lexeme >= %(first)s ORDER BY lexeme LIMIT 1)
    UNION ALL
    SELECT (SELECT lexeme FROM {words} WHERE lexeme > held.lexeme ORDER BY lexeme LIMIT 1)
    FROM held WHERE starts_with(held.lexeme, %(first)s)
)
SELECT lexeme FROM held
WHERE starts_with(lexeme, %(first)s) AND length(lexeme) BETWEEN %(shortest)s AND %(longest)s
"""
TEXTS = """
SELECT content FROM unnest(%(near)s::text[]) AS near (stem), LATERAL (
    SELECT content FROM {words} JOIN {table} USING (number)
    WHERE lexeme = near.stem AND {chosen} LIMIT %(each)s
) AS held
"""


def spelt_like(
    cursor: Cursor[Any], state: DatabaseState, word: str, stems: Sequence[str], selection: Selection
) -> list[str]:
    """Return the words of chunks with a word spelt like this one; none if a chunk contains the word.

    Only words with the same first letter are compared. `stems` are those of the word, empty for a stop word.
    """
    condition, values = selection
    names = {"words": state.words, "table": state.table, "chosen": condition}
    if len(word) > LONGEST_SPELT or not stems:
        return []
    if cursor.execute(TEXTS.format(**names), {**values, "near": [*stems], "each": 1}).fetchone():
        return []
    length = len(stems[0])
    bounds = {"first": stems[0][0], "shortest": length - LETTERS_APART, "longest": length + LETTERS_APART}
    similar_stems = [stem for [stem] in cursor.execute(STEMS_FROM.format(**names), bounds)]
    nearest = difflib.get_close_matches(stems[0], similar_stems, STEMS, ALIKE)
    cursor.execute(TEXTS.format(**names), {**values, "near": nearest, "each": CHUNKS_A_STEM})
    texts = " ".join(text for [text] in cursor).lower()
    return list(dict.fromkeys(re.findall(r"[^\W\d_]+", texts)))


def holds(
    cursor: Cursor[Any], state: DatabaseState, word: str, stems: Sequence[str], selection: Selection
) -> bool:
    """Return whether a chunk contains exactly this word, ignoring case."""
    condition, values = selection
    with_stems = f"{state.words} JOIN {state.table} USING (number) WHERE lexeme = ANY(%(stems)s::text[]) AND"
    source = with_stems if stems else f"{state.table} WHERE"
    pattern = rf"\m{''.join(map(escape_regex, word))}\M"
    cursor.execute(
        f"SELECT 1 FROM {source} content ~* %(pattern)s AND {condition} LIMIT 1",
        {**values, "stems": [*stems], "pattern": pattern},
    )
    return cursor.fetchone() is not None
