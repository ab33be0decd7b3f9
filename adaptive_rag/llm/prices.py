"""Turns tokens into money, where the price of a model is known; the user's own table comes first."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.llm.structured import model_name

PRICES = Path(__file__).parent.parent / "models" / "prices.toml"


def price_of(model: BaseChatModel, tokens: Mapping[str, int], table: str | None = None) -> float | None:
    """Return what tokens cost in US dollars, or None where the model's price is not known.

    Raises:
        ConfigurationError: the user's table cannot be read.
    """
    name = model_name(model)
    prices = {**load_prices(), **(load_prices(table) if table else {})}
    # A server of one's own may serve anything under a known name, for nothing; only a listed name at
    # the provider's own address, or a name in the user's table, has a price.
    own = _is_own_server(model)
    found = _find(load_prices(table) if table else {}, name) or (None if own else _find(prices, name))
    if found is None:
        return None
    return (tokens.get("input", 0) * found["input"] + tokens.get("output", 0) * found["output"]) / 1_000_000


@lru_cache(maxsize=8)
def load_prices(path: str | None = None) -> dict[str, dict[str, float]]:
    """Read a price table: model name -> US dollars for a million tokens of input and of output.

    Raises:
        ConfigurationError: the file is missing, is no TOML, or an entry lacks one of the two numbers.
    """
    file = Path(path) if path else PRICES
    try:
        table: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"prices = {str(file)!r} cannot be read: {error}") from error
    for name, entry in table.items():
        if not isinstance(entry, dict) or not all(
            isinstance(entry.get(kind), int | float) and entry[kind] >= 0 for kind in ("input", "output")
        ):
            raise ConfigurationError(
                f"prices = {str(file)!r}: the entry {name!r} is {entry!r}; expected "
                f'["{name}"] with input = and output =, in US dollars for a million tokens.'
            )
    return {name: {kind: float(entry[kind]) for kind in ("input", "output")} for name, entry in table.items()}


def _find(prices: Mapping[str, dict[str, float]], name: str) -> dict[str, float] | None:
    """Find a model by its name, or by the name without the date that providers append."""
    if name in prices:
        return prices[name]
    dated = [known for known in prices if name.startswith(f"{known}-20")]
    return prices[max(dated, key=len)] if dated else None


def _is_own_server(model: BaseChatModel) -> bool:
    address = str(getattr(model, "openai_api_base", None) or "")
    return bool(address) and "api.openai.com" not in address
