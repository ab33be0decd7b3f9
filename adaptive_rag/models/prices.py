"""Computes the cost of tokens if a model's price is known."""

from __future__ import annotations

from collections.abc import Mapping

from langchain_core.language_models import BaseChatModel

from adaptive_rag.models.chat import model_name

# The attributes in which LangChain's chat models store the address of their server.
_ADDRESSES = ("openai_api_base", "anthropic_api_url", "groq_api_base", "endpoint", "base_url")


def price_of(model: BaseChatModel, tokens: Mapping[str, int]) -> float | None:
    """Return the cost of tokens in US dollars, or None if the model's price is not known.

    Prices are those of the package genai-prices; nothing is downloaded. A self-hosted server has none, since
    it may serve any model under a known name.
    """
    packages = (class_.__module__.partition(".")[0] for class_ in type(model).__mro__)
    provider = next((p.removeprefix("langchain_") for p in packages if p.startswith("langchain_")), "core")
    if provider == "core":
        return None
    # Imported here because the list takes a moment to load, and is needed only after a call.
    from genai_prices import Usage, calc_price

    name = model_name(model)
    usage = Usage(input_tokens=tokens.get("input", 0), output_tokens=tokens.get("output", 0))
    address = next((a for field in _ADDRESSES if isinstance(a := getattr(model, field, None), str)), None)
    try:
        if address:
            return float(calc_price(usage, name, provider_api_url=address).total_price)
        return float(calc_price(usage, name, provider_id=provider).total_price)
    except LookupError:
        return None
