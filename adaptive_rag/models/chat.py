"""Opens chat models: by "provider:name", or from a live LangChain object."""

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

# Providers that we support: provider -> (our extra for it, environment variable of its key).
PROVIDERS: dict[str, tuple[str | None, str]] = {
    "openai": (None, "OPENAI_API_KEY"),
    "anthropic": ("anthropic", "ANTHROPIC_API_KEY"),
    "google_genai": ("google-genai", "GOOGLE_API_KEY"),
    "groq": ("groq", "GROQ_API_KEY"),
    "mistralai": ("mistralai", "MISTRAL_API_KEY"),
    "ollama": ("ollama", ""),
}
# Environment variables that are part of the key under which an open model is kept.
_ENVIRONMENT = ("OPENAI_BASE_URL", "OPENAI_API_BASE", *(key for _, key in PROVIDERS.values() if key))
# Providers whose clients repeat failed calls by themselves unless they are told not to.
_REPEATING = ("anthropic", "groq", "mistralai")
# Names of the field that limits the length of a chat model's answer; the first that the model has is set.
_LENGTH_FIELDS = ("max_tokens", "max_output_tokens", "num_predict", "max_new_tokens", "max_completion_tokens")
MAX_OPEN = 16
# Default limit of a reply's tokens; for questions, `budget.max_tokens` takes its place.
MAX_TOKENS = 1024

_Opened: TypeAlias = LRUCache[Hashable, BaseChatModel]
# An asynchronous client keeps connections that belong to the event loop of its first use, so each loop has
# separate models, which are dropped with it.
_open_on: WeakKeyDictionary[asyncio.AbstractEventLoop, _Opened] = WeakKeyDictionary()
_open_elsewhere: _Opened = LRUCache(MAX_OPEN)
_lock = threading.Lock()

# Maximum number of seconds that a client waits for one reply, whatever the deadline.
LONGEST_WAIT = 86_400.0


def model_named_for(context: Context, role: Role) -> str | BaseChatModel | None:
    """Return the model setting for a role: a name, a live model, or None where there is none."""
    fast = context.models.fast_model
    return fast if role == "fast" and fast is not None else context.model


def chat_model_of(context: Context, role: Role) -> BaseChatModel | None:
    """Return the chat model for a role, limited to `budget.max_tokens`; raise as `load_chat_model` does."""
    spec = model_named_for(context, role)
    if spec is None:
        return None
    budget = context.budget
    # Rounded up to a power of two, so that questions with different deadlines can share a client.
    timeout = 2.0 ** math.ceil(math.log2(min(budget.deadline_s, LONGEST_WAIT)))
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
    """Open a chat model by "provider:name", or return a live object as it is; open models are reused.

    Args:
        spec: as LangChain's `init_chat_model` takes it, such as "openai:gpt-4.1-mini".
        base_url: address of an OpenAI-compatible server, for "openai:..."; by default OPENAI_BASE_URL.
        timeout: seconds after which one HTTP request is given up.
        max_tokens: limits the bytes that are read of one reply, for "openai:...".
        access: a key in place of the environment's, and which addresses may be connected to.

    Raises:
        ConfigurationError: the spec names no known provider, or the key is missing.
        MissingExtraError: the provider's package is not installed.
    """
    if isinstance(spec, BaseChatModel):
        remember_fields(vars(spec))
        return spec
    remember_address(base_url)
    key = (spec, base_url, timeout, max_tokens, access, *map(os.environ.get, _ENVIRONMENT))
    with _lock:
        try:
            opened = _open_on.setdefault(asyncio.get_running_loop(), LRUCache(MAX_OPEN))
        except RuntimeError:  # no event loop runs here
            opened = _open_elsewhere
        if (model := opened.get(key)) is None:
            model = opened[key] = _load(spec, base_url, timeout, max_tokens, access or ModelAccess())
            remember_fields(vars(model))
        return model


def limit_length(model: BaseChatModel, max_tokens: int) -> BaseChatModel:
    """Return the model with its answers limited to `max_tokens`, or to its own limit where that is lower."""
    name = next((name for name in _LENGTH_FIELDS if name in type(model).model_fields), None)
    if name is None:
        return model
    own = getattr(model, name)
    limit = min(own, max_tokens) if isinstance(own, int) and own > 0 else max_tokens
    return model if own == limit else model.model_copy(update={name: limit})


def with_temperature(model: BaseChatModel, temperature: float | None) -> BaseChatModel:
    """Return the model with the given temperature, or unchanged if it is None or the model accepts none."""
    takes = (model.profile or {}).get("temperature", True) and "temperature" in type(model).model_fields
    if temperature is None or not takes:
        return model
    return model.model_copy(update={"temperature": temperature})


def model_name(model: BaseChatModel) -> str:
    """Return the name by which the provider knows the model."""
    kept = (getattr(model, key, None) for key in ("model_name", "model", "model_id", "deployment_name"))
    return next((value for value in kept if isinstance(value, str) and value), type(model).__name__)


def _load(
    spec: str, base_url: str | None, timeout: float | None, max_tokens: int, access: ModelAccess
) -> BaseChatModel:
    # LangChain guesses the provider of these names; a model of OpenAI is opened with our own settings.
    if ":" not in spec and spec.startswith(("gpt-", "o1", "o3", "o4")):
        spec = f"openai:{spec}"
    provider, colon, name = spec.partition(":")
    if not spec.strip() or (colon and not name.strip()):
        raise ConfigurationError(f"model = {spec!r} is not usable: expected 'provider:name'.")
    if provider == "openai" and colon:
        return _load_openai(name, base_url, timeout, max_tokens, access)
    if base_url is not None:
        raise ConfigurationError(
            f"models.base_url = {redact(base_url)!r} goes with a model of an OpenAI-compatible server, "
            f"written 'openai:NAME'; got model = {spec!r}."
        )
    extra, variable = PROVIDERS.get(provider, (None, ""))
    if extra is not None:
        import_extra(f"langchain_{provider}", extra=extra, purpose=f"The chat model {spec!r}")
    from langchain.chat_models import init_chat_model

    settings: dict[str, Any] = {"api_key": access.key} if access.key else {}
    if provider in _REPEATING:
        settings["max_retries"] = 0
    try:
        model: BaseChatModel = init_chat_model(spec, **settings)
        return model
    except ImportError as error:
        # LangChain's message names the package.
        named = str(error).partition("pip install ")[2].split()
        install = f"pip install {named[0].strip('`.')}" if named else str(error)
        raise MissingExtraError(
            f"The chat model {spec!r} needs a package that is not installed. Install it with: {install}"
        ) from error
    except Exception as error:
        # Providers' constructors raise errors of many kinds; none of them has called the model yet.
        known, hint = ", ".join(PROVIDERS), f" Is {variable} set?" if variable else ""
        # LangChain's message lists all known providers on several lines, which is cut off.
        said = redact(" ".join(str(error).partition("Please specify 'model_provider'")[0].split()))[:300]
        raise ConfigurationError(
            f"model = {spec!r} cannot be opened: {said.rstrip('.')}.{hint} Expected "
            f"'provider:name' with a provider such as {known}, or any other that init_chat_model knows."
        ) from cause_of(error)


def _load_openai(
    name: str, base_url: str | None, timeout: float | None, max_tokens: int, access: ModelAccess
) -> BaseChatModel:
    """Open a model of OpenAI, or of any server with the same protocol."""
    address = base_url or os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_BASE")
    key = access.key or os.environ.get("OPENAI_API_KEY")
    if not key and not address:
        raise ConfigurationError(
            f"The chat model 'openai:{name}' needs a key: set OPENAI_API_KEY. For a server of your own "
            "that speaks OpenAI's protocol (vLLM, llama.cpp, LM Studio and the like), set models.base_url or "
            "OPENAI_BASE_URL to its address, such as http://localhost:8080/v1."
        )
    if address and not address.startswith(("http://", "https://")):
        raise ConfigurationError(
            f"models.base_url = {redact(address)!r} is not usable: expected http://... or https://..."
        )
    from openai import DefaultAsyncHttpxClient, DefaultHttpxClient

    from adaptive_rag.models.openai import OpenAIModel

    sync, asynchronous = response_hook(max_tokens, timeout), async_response_hook(max_tokens, timeout)
    # Request only the encodings for which `response_hook` can bound the size.
    common: dict[str, Any] = {"timeout": timeout, "headers": {"Accept-Encoding": "gzip, deflate"}}
    sync_only, async_only = dict[str, Any](), dict[str, Any]()
    if access.may_connect is not None:
        from adaptive_rag.models.guarded import AsyncGuardedTransport, GuardedTransport

        common["follow_redirects"] = False
        sync_only["transport"] = GuardedTransport(access.may_connect)
        async_only["transport"] = AsyncGuardedTransport(access.may_connect)
    settings: dict[str, Any] = {
        **({"base_url": address} if address else {}),
        "model": name,
        # A local server asks for no key, but the client insists on one.
        "api_key": key or "none",
        "timeout": timeout,
        # We repeat calls ourselves, so that every repetition is counted and none exceeds the deadline.
        "max_retries": 0,
        "stream_usage": True,
        # Use our own clients: LangChain's are shared by all models and event loops, and read without a limit.
        "http_client": DefaultHttpxClient(**common, **sync_only, event_hooks={"response": [sync]}),
        "http_async_client": DefaultAsyncHttpxClient(
            **common, **async_only, event_hooks={"response": [asynchronous]}
        ),
    }
    model: BaseChatModel = OpenAIModel(**settings)
    # Reasoning models refuse a temperature; models that accept one follow instructions best at 0.
    if (model.profile or {}).get("temperature", bool(address)):
        model = OpenAIModel(**settings, temperature=0)
    return model
