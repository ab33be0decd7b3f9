"""Five published systems, each a file of ordinary settings; `recipe=` names one of them."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

from adaptive_rag.errors import ConfigurationError

# Each is a file here, NAME.toml.
RecipeName = Literal[
    "adaptive-retrieval", "bounded-selection", "schema-routing", "faq-hybrid", "vector-bm25-fusion"
]
NAMES: tuple[RecipeName, ...] = get_args(RecipeName)


@dataclass(frozen=True)
class Recipe:
    """A published system as settings."""

    name: str
    # what it is, in five lines
    about: tuple[str, ...]
    # chat calls that one question plans, by type, at the recipe's own k
    calls: dict[str, int]
    settings: dict[str, Any]


@cache
def load_recipe(name: str) -> Recipe:
    """Read a recipe by its name.

    Raises:
        ConfigurationError: there is no such recipe.
    """
    if name not in NAMES:
        raise ConfigurationError(f"recipe = {name!r} is not usable: expected one of {', '.join(NAMES)}.")
    found = tomllib.loads((Path(__file__).parent / f"{name}.toml").read_text(encoding="utf-8"))
    return Recipe(name, tuple(found["about"]), found["calls"], found["settings"])


def recipe_settings(name: str) -> dict[str, Any]:
    """Return the settings of a recipe, those of a group under its name."""
    return load_recipe(name).settings
