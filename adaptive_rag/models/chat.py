"""Opens chat models by "provider:name"; a live LangChain object is used as it is."""

from __future__ import annotations

import asyncio
import math
import os
import threading
from collections.abc import Hashable
from typing import Any, Literal, TypeAlias
from weakref import WeakKeyDictionary

from cachetools import LRUCache
from langchain_core.language_models import BaseChatModel

from adaptive_rag.context import Context, ModelAccess
from adaptive_rag.errors import ConfigurationError, MissingExtraError, import_extra
from adaptive_rag.models.transport import async_response_hook, response_hook
from adaptive_rag.text.redaction import cause_of, redact, remember_address, remember_fields

Role = Literal["fast", "answer"]

# Supported providers: provider -> (our extra for it, environment variable of its key).
PROVIDERS: dict[str, tuple[str | None, str]] = {
    "openai": (None, "OPENAI_API_KEY"),
    "anthropic": ("anthropic", "ANTHROPIC_API_KEY"),
    "google_genai": ("google-genai", "GOOGLE_API_KEY"),
    "groq": ("groq", "GROQ_API_KEY"),
    "mistralai": ("mistralai", "MISTRAL_API_KEY"),
    "ollama": ("ollama", ""),
}
# Environment variables that are part of the cache key of an open model.
_ENVIRONMENT = ("OPENAI_BASE_URL", "OPENAI_API_BASE", *(key for _, key in PROVIDERS.values() if key))
# Providers whose clients repeat failed calls by default.
_RETRYING = ("anthropic", "groq", "mistralai")
# Names of the field that limits the length of a model's reply; the first that the model has is set.
_LENGTH_FIELDS = ("max_tokens", "max_output_tokens", "num_predict", "max_new_tokens", "max_completion_tokens")
# Maximum number of open models, for each event loop.
MAX_OPEN = 16
# Default limit of a reply's tokens; for questions, `budget.max_tokens` takes its place.
MAX_TOKENS = 1024

_OpenModels: TypeAlias = LRUCache[Hashable, BaseChatModel]
# An asynchronous client has connections that belong to the event loop of its first use, so each loop has
# separate models, which are dropped with it.
_open_by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, _OpenModels] = WeakKeyDictionary()
_open_without_loop: _OpenModels = LRUCache(MAX_OPEN)
_lock = threading.Lock()

# Maximum number of seconds that a client waits for one reply, whatever the deadline.
MAX_TIMEOUT_S = 86_400.0


def model_named_for(context: Context, role: Role) -> str | BaseChatModel | None:
    """Return the model setting for a role: a name, a live model, or None."""
    fast = context.models.fast_model
    return fast if role == "fast" and fast is not None else context.model


def chat_model_of(context: Context, role: Role) -> BaseChatModel | None:
    """Return the chat model for a role, limited to `budget.max_tokens`; errors as in `load_chat_model`."""
    spec = model_named_for(context, role)
    if spec is None:
        return None
    budget = context.budget
    # Rounded up to a power of two, so that questions with different deadlines can share a client.
    timeout = 2.0 ** math.ceil(math.log2(min(budget.deadline_s, MAX_TIMEOUT_S)))
    model = load_chat_model(
        spec,
        base_url=context.models.base_url,
        timeout=timeout,
        max_tokens=budget.max_tokens,
        access=context.served.access,
    )
    return limit_length(model, budget.max_tokens)


def load_chat_model(
    spec: str | BaseChatModel,
    *,
    base_url: str | None = None,
    timeout: float | None = None,
    max_tokens: int = MAX_TOKENS,
    access: ModelAccess | None = None,
) -> BaseChatModel:
    """Open a chat model by "provider:name", or return a live object; open models are reused.

    Args:
        spec: as LangChain's `init_chat_model` takes it, such as "openai:gpt-4.1-mini".
        base_url: address of an OpenAI-compatible server, for "openai:..."; by default OPENAI_BASE_URL.
        timeout: seconds after which one HTTP request is given up.
        max_tokens: limits the bytes that are read of one reply, for "openai:...".
        access: a key to use instead of the environment's, and the addresses that may be connected to.

    Raises:
        ConfigurationError: the provider is not known, or the key is missing.
        MissingExtraError: the provider's package is not installed.
    """
    if isinstance(spec, BaseChatModel):
        remember_fields(vars(spec))
        return spec
    remember_address(base_url)
    key = (spec, base_url, timeout, max_tokens, access, *map(os.environ.get, _ENVIRONMENT))
    with _lock:
        try:
            open_models = _open_by_loop.setdefault(asyncio.get_running_loop(), LRUCache(MAX_OPEN))
        except RuntimeError:  # no event loop runs here
            open_models = _open_without_loop
        if (model := open_models.get(key)) is None:
            model = open_models[key] = _load(spec, base_url, timeout, max_tokens, access or ModelAccess())
            remember_fields(vars(model))
        return model


def limit_length(model: BaseChatModel, max_tokens: int) -> BaseChatModel:
    """Return the model with its replies limited to `max_tokens`, or to its own limit if that is lower."""
    name = next((name for name in _LENGTH_FIELDS if name in type(model).model_fields), None)
    if name is None:
        return model
    own_limit = getattr(model, name)
    has_limit = isinstance(own_limit, int) and own_limit > 0
    limit = min(own_limit, max_tokens) if has_limit else max_tokens
    return model if own_limit == limit else model.model_copy(update={name: limit})


def with_temperature(model: BaseChatModel, temperature: float | None) -> BaseChatModel:
    """Return the model with a temperature, or unchanged if it is None or the model accepts none."""
    accepts = (model.profile or {}).get("temperature", True) and "temperature" in type(model).model_fields
    if temperature is None or not accepts:
        return model
    return model.model_copy(update={"temperature": temperature})


def model_name(model: BaseChatModel) -> str:
    """Return the name of a model at its provider."""
    names = (getattr(model, key, None) for key in ("model_name", "model", "model_id", "deployment_name"))
    return next((name for name in names if isinstance(name, str) and name), type(model).__name__)


def _load(
    spec: str, base_url: str | None, timeout: float | None, max_tokens: int, access: ModelAccess
) -> BaseChatModel:
    # LangChain would guess the provider of these names, but models of OpenAI need our own settings.
    if ":" not in spec and spec.startswith(("gpt-", "o1", "o3", "o4")):
        spec = f"openai:{spec}"
    provider, colon, name = spec.partition(":")
    if not spec.strip() or (colon and not name.strip()):
        raise ConfigurationError(f"model = {spec!r} is not usable: expected 'provider:name'.")
    if provider == "openai" and colon:
        return _load_openai(name, base_url, timeout, max_tokens, access)
    if base_url is not None:
        raise ConfigurationError(
            f"models.base_url = {redact(base_url)!r} is for a model of an OpenAI-compatible server, "
            f"written 'openai:NAME'; got model = {spec!r}."
        )
    extra, variable = PROVIDERS.get(provider, (None, ""))
    if extra is not None:
        import_extra(f"langchain_{provider}", extra=extra, purpose=f"The chat model {spec!r}")
    from langchain.chat_models import init_chat_model

    settings: dict[str, Any] = {"api_key": access.key} if access.key else {}
    if provider in _RETRYING:
        settings["max_retries"] = 0
    try:
        model: BaseChatModel = init_chat_model(spec, **settings)
        return model
    except ImportError as error:
        # LangChain's message contains the name of the package.
        words = str(error).partition("pip install ")[2].split()
        install = f"pip install {words[0].strip('`.')}" if words else str(error)
        raise MissingExtraError(
            f"The chat model {spec!r} needs a package that is not installed. Install it with: {install}"
        ) from error
    except Exception as error:
        # Providers' constructors raise errors of many kinds; none of them has called the model yet.
        providers, hint = ", ".join(PROVIDERS), f" Is {variable} set?" if variable else ""
        # LangChain's message ends with a long list of all known providers, which is cut off.
        text = redact(" ".join(str(error).partition("Please specify 'model_provider'")[0].split()))[:300]
        raise ConfigurationError(
            f"model = {spec!r} cannot be opened: {text.rstrip('.')}.{hint} Expected "
            f"'provider:name' with a provider such as {providers}, or any other that init_chat_model knows."
        ) from cause_of(error)


def _load_openai(
    name: str, base_url: str | None, timeout: float | None, max_tokens: int, access: ModelAccess
) -> BaseChatModel:
    """Open a model of OpenAI, or of another server with its protocol."""
    address = base_url or os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_BASE")
    key = access.key or os.environ.get("OPENAI_API_KEY")
    if not key and not address:
        raise ConfigurationError(
            f"The chat model 'openai:{name}' needs a key: set OPENAI_API_KEY. For your own server with "
            "OpenAI's protocol (such as vLLM, llama.cpp or LM Studio), set models.base_url or "
            "OPENAI_BASE_URL to its address, such as http://localhost:8000/v1."
        )
    if address and not address.startswith(("http://", "https://")):
        raise ConfigurationError(
            f"models.base_url = {redact(address)!r} is not usable: expected http://... or https://..."
        )
    from openai import DefaultAsyncHttpxClient, DefaultHttpxClient

    from adaptive_rag.models.openai import OpenAIModel

    # Only the encodings whose size `response_hook` can limit are requested.
    common: dict[str, Any] = {"timeout": timeout, "headers": {"Accept-Encoding": "gzip, deflate"}}
    sync_options: dict[str, Any] = {"event_hooks": {"response": [response_hook(max_tokens, timeout)]}}
    async_options: dict[str, Any] = {"event_hooks": {"response": [async_response_hook(max_tokens, timeout)]}}
    if access.may_connect is not None:
        from adaptive_rag.models.guarded import AsyncGuardedTransport, GuardedTransport

        common["follow_redirects"] = False
        sync_options["transport"] = GuardedTransport(access.may_connect)
        async_options["transport"] = AsyncGuardedTransport(access.may_connect)
    settings: dict[str, Any] = {
        **({"base_url": address} if address else {}),
        "model": name,
        # A local server needs no key, but the client requires one.
        "api_key": key or "none",
        "timeout": timeout,
        # `llm.exchange` repeats calls, so that each is counted and none exceeds the deadline.
        "max_retries": 0,
        "stream_usage": True,
        # LangChain's own clients are shared by all models and event loops, and read without a limit.
        "http_client": DefaultHttpxClient(**common, **sync_options),
        "http_async_client": DefaultAsyncHttpxClient(**common, **async_options),
    }
    model: BaseChatModel = OpenAIModel(**settings)
    # Reasoning models refuse a temperature; other models follow instructions best at 0.
    if (model.profile or {}).get("temperature", bool(address)):
        model = OpenAIModel(**settings, temperature=0)
    return model
