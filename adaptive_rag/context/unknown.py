"""Names that are no setting: what they may have meant, and which of them the environment holds."""

from __future__ import annotations

import os
import warnings
from collections.abc import Collection, Mapping
from functools import cache

from adaptive_rag.errors import AdaptiveRAGWarning

ENV_PREFIX = "ADAPTIVE_RAG_"
# Variables that are read elsewhere. The server reads its own, and the tests read where their data is.
_OTHER_VARIABLES = ("HOME", "TRUST_FOLDER", "DATA", "SERVER")
# The longest name that is compared: the cost of a comparison is the product of both lengths.
MAX_NAME_LENGTH = 100


def nearest_names(name: str, names: Mapping[str, str], count: int = 3) -> list[str]:
    """Return the settings whose names take the fewest edits, the nearest first.

    `names` maps what may have been written to the setting that is meant. The last part of a name is compared
    by itself too; then a setting that has another name at the top level counts as one edit further away, so
    that 'kay' is nearer to 'k' than to 'retrieval.ray'.
    """
    name = name[:MAX_NAME_LENGTH].lower()
    last_part = name.rpartition(".")[2]

    def distance(written: str) -> tuple[int, bool]:
        is_nested = "." in written or names[written] != written
        by_part = _edits(last_part, written.rpartition(".")[2]) + is_nested
        return min(_edits(name, written), by_part), is_nested

    by_distance = sorted(names, key=distance)
    return list(dict.fromkeys(names[written] for written in by_distance))[:count]


def _edits(left: str, right: str) -> int:
    """Return how many letters must be inserted, deleted or replaced (Levenshtein)."""
    row = list(range(len(right) + 1))
    for i, letter in enumerate(left, start=1):
        diagonal, row[0] = row[0], i
        for j, other in enumerate(right, start=1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (letter != other))
    return row[-1]


def warn_of_unknown_variables(fields: Collection[str], names: Mapping[str, str]) -> None:
    """Warn once of each variable of the environment that looks like a setting, but is none.

    It is no error, since other programs may have variables with our prefix.
    """
    for variable in os.environ:
        if variable.upper().startswith(ENV_PREFIX):
            field = variable[len(ENV_PREFIX) :].partition("__")[0]
            if field.lower() not in fields and field.upper() not in _OTHER_VARIABLES:
                written = variable[len(ENV_PREFIX) :].lower().replace("__", ".")
                _warn_of_variable(variable, nearest_names(written, names, count=1)[0])


@cache
def _warn_of_variable(variable: str, nearest: str) -> None:
    setting = nearest.partition("=")[0]
    meant = f"{ENV_PREFIX}{setting.replace('.', '__').upper()}"
    message = f"The variable {variable} is not a setting and has no effect. The nearest is {meant}."
    warnings.warn(message, AdaptiveRAGWarning, stacklevel=4)
