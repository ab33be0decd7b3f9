"""Computes the cost of tokens if a model's price is known; the user's own table takes precedence."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated

from langchain_core.language_models import BaseChatModel
from pydantic import Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.models.chat import model_name

# The attributes in which LangChain's chat models store the address of their server.
_ADDRESSES = ("openai_api_base", "anthropic_api_url", "groq_api_base", "endpoint", "base_url")


class Price(TypedDict):
    """US dollars for a million tokens."""

    input: Annotated[float, Field(ge=0)]
    output: Annotated[float, Field(ge=0)]


def price_of(model: BaseChatModel, tokens: Mapping[str, int], table: str | None = None) -> float | None:
    """Return the cost of tokens in US dollars, or None if the model's price is not known.

    Models that are not in the user's table are looked up in the list of the package genai-prices; nothing is
    downloaded. A self-hosted server has no price there, since it may serve any model under a known name.
    """
    name, prices = model_name(model), load_prices(table) if table else {}
    input_tokens, output_tokens = tokens.get("input", 0), tokens.get("output", 0)
    # Providers append a date to a name: "gpt-4.1-mini-2025-04-14".
    if names := [listed for listed in prices if name == listed or name.startswith(f"{listed}-20")]:
        price = prices[max(names, key=len)]
        return (input_tokens * price["input"] + output_tokens * price["output"]) / 1_000_000
    packages = (class_.__module__.partition(".")[0] for class_ in type(model).__mro__)
    provider = next((p.removeprefix("langchain_") for p in packages if p.startswith("langchain_")), "core")
    if provider == "core":
        return None
    # Imported here because the list takes a moment to load, and is needed only after a call.
    from genai_prices import Usage, calc_price

    usage = Usage(input_tokens=input_tokens, output_tokens=output_tokens)
    address = next((a for field in _ADDRESSES if isinstance(a := getattr(model, field, None), str)), None)
    try:
        if address:
            return float(calc_price(usage, name, provider_api_url=address).total_price)
        return float(calc_price(usage, name, provider_id=provider).total_price)
    except LookupError:
        return None


@lru_cache(maxsize=8)
def load_prices(path: str) -> dict[str, Price]:
    """Load a table of prices by the names of models.

    Raises:
        ConfigurationError: the file cannot be read or has an unusable entry.
    """
    try:
        table = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        return TypeAdapter(dict[str, Price]).validate_python(table, strict=True)
    except ValidationError as error:
        raise ConfigurationError(
            f"models.prices = {path!r}: the entry {error.errors()[0]['loc'][0]!r} is not usable; expected "
            '["NAME"] with input = and output =, in US dollars for a million tokens.'
        ) from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigurationError(f"models.prices = {path!r} cannot be read: {error}") from error
