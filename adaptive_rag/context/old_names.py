"""The names of settings before they stood in groups; each is understood for one release."""

from __future__ import annotations

import warnings
from typing import Any

from adaptive_rag.context.groups import Mechanism
from adaptive_rag.errors import ConfigurationError

OLD_NAMES = {
    **{name: f"models.{name}" for name in ("fast_model", "base_url", "prompts", "prices")},
    **{name: f"budget.{name}" for name in ("max_llm_calls", "max_tokens", "deadline_s", "context_tokens")},
    **{name: f"retrieval.{name}" for name in ("fusion", "alpha", "qa_views", "reranker", "reranker_model")},
    **{name: f"retrieval.{name}" for name in ("sub_questions", "viewpoints", "diversity", "selection")},
}
OLD_SWITCHES: dict[str, Mechanism] = {
    "abstain": "abstain",
    "balance": "balance",
    "contextualize": "context",
    "diversify": "diversify",
    "enhance": "enhance",
    "extractive_fallback": "extractive-fallback",
    "fan_out": "fan-out",
    "hedge": "hedge",
    "join": "join",
    "rerank": "rerank",
    "window": "window",
}
_OFF = {"false", "0", "no", "off", "f", "n"}
_ON = {"true", "1", "yes", "on", "t", "y"}


def is_off(name: str, value: Any) -> bool:
    """Tell whether an old switch was turned off.

    Raises:
        ConfigurationError: its value is neither true nor false.
    """
    said = str(value).strip().lower()
    if said not in _OFF | _ON:
        raise ConfigurationError(f"{name} = {value!r} is not usable: expected true or false.")
    return said in _OFF


def warn_of(old: str, new: str) -> None:
    """Say what the setting of an old name is called now."""
    warnings.warn(f"The setting {old!r} is now {new}.", DeprecationWarning, stacklevel=4)
