"""Opens the chat model that a run names: "provider:name", or a live LangChain object."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakKeyDictionary

from langchain_core.language_models import BaseChatModel

from adaptive_rag.errors import ConfigurationError, MissingExtraError, import_extra
from adaptive_rag.llm.request import Role

if TYPE_CHECKING:
    from adaptive_rag.context import Context

# Providers with an extra of ours: provider -> (extra, variable of the key).
PROVIDERS: dict[str, tuple[str | None, str]] = {
    "openai": (None, "OPENAI_API_KEY"),
    "anthropic": ("anthropic", "ANTHROPIC_API_KEY"),
    "google_genai": ("google-genai", "GOOGLE_API_KEY"),
    "groq": ("groq", "GROQ_API_KEY"),
    "mistralai": ("mistralai", "MISTRAL_API_KEY"),
    "ollama": ("ollama", ""),
}
# Where a chat model keeps the limit of its answer's length; the first that it has is set.
_LENGTH_FIELDS = ("max_tokens", "max_output_tokens", "num_predict", "max_new_tokens", "max_completion_tokens")
_MAX_OPEN = 16

_Opened: TypeAlias = OrderedDict[Hashable, BaseChatModel]
# An asynchronous client keeps connections that belong to the event loop it was first used on, so each
# loop has models of its own; they end with it.
_open_on: WeakKeyDictionary[asyncio.AbstractEventLoop, _Opened] = WeakKeyDictionary()
_open_elsewhere: _Opened = OrderedDict()
_lock = threading.Lock()


def chat_model_of(context: Context, role: Role) -> BaseChatModel | None:
    """Return the chat model that plays a role in this run, with its answers limited to `max_tokens`.

    Raises:
        ConfigurationError: the spec names no provider that is known, or the key is missing.
        MissingExtraError: the provider's package is not installed.
    """
    fast = role == "fast" and context.models.fast_model is not None
    spec = context.models.fast_model if fast else context.model
    if spec is None:
        return None
    model = load_chat_model(spec, base_url=context.models.base_url, timeout=context.budget.deadline_s)
    return limit_length(model, context.budget.max_tokens)


def load_chat_model(
    spec: str | BaseChatModel, *, base_url: str | None = None, timeout: float | None = None
) -> BaseChatModel:
    """Open a chat model by "provider:name", each once; a live object is returned as it is.

    Args:
        spec: as LangChain's `init_chat_model` takes it, such as "openai:gpt-4.1-mini".
        base_url: address of an OpenAI-compatible server, for "openai:..."; else OPENAI_BASE_URL.
        timeout: seconds after which one HTTP request is given up.

    Raises:
        ConfigurationError: the spec names no provider that is known, or the key is missing.
        MissingExtraError: the provider's package is not installed.
    """
    if isinstance(spec, BaseChatModel):
        return spec
    key = (spec, base_url, timeout, *_environment())
    with _lock:
        opened = _opened_here()
        if key not in opened:
            opened[key] = _load(spec, base_url, timeout)
            if len(opened) > _MAX_OPEN:
                opened.popitem(last=False)
        opened.move_to_end(key)
        return opened[key]


def limit_length(model: BaseChatModel, max_tokens: int) -> BaseChatModel:
    """Return the model with answers of at most `max_tokens`, or fewer where it is set to fewer."""
    fields = type(model).model_fields
    name = next((name for name in _LENGTH_FIELDS if name in fields), None)
    if name is None:
        return model
    own = getattr(model, name)
    limit = min(own, max_tokens) if isinstance(own, int) and own > 0 else max_tokens
    return model if own == limit else model.model_copy(update={name: limit})


def _opened_here() -> _Opened:
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return _open_elsewhere
    return _open_on.setdefault(loop, OrderedDict())


def _load(spec: str, base_url: str | None, timeout: float | None) -> BaseChatModel:
    provider, colon, name = spec.partition(":")
    if not spec.strip() or (colon and not name.strip()):
        raise ConfigurationError(f"model = {spec!r} is not usable: expected 'provider:name'.")
    if provider == "openai" and colon:
        return _load_openai(name, base_url, timeout)
    if base_url is not None:
        raise ConfigurationError(
            f"base_url = {base_url!r} goes with a model of an OpenAI-compatible server, "
            f"written 'openai:NAME'; got model = {spec!r}."
        )
    extra = PROVIDERS.get(provider, (None, ""))[0]
    if extra is not None:
        import_extra(f"langchain_{provider}", extra=extra, purpose=f"The chat model {spec!r}")
    from langchain.chat_models import init_chat_model

    try:
        return init_chat_model(spec)
    except ImportError as error:
        raise MissingExtraError(
            f"The chat model {spec!r} needs a package that is not installed. "
            f"Install it with: {_install_line(str(error))}"
        ) from error
    except Exception as error:
        # Every provider's constructor fails in its own way; what they have in common is that nothing
        # has been called yet.
        known = ", ".join(PROVIDERS)
        variable = PROVIDERS.get(provider, (None, ""))[1]
        hint = f" Is {variable} set?" if variable else ""
        raise ConfigurationError(
            f"model = {spec!r} cannot be opened: {' '.join(str(error).split())[:300]}.{hint} Expected "
            f"'provider:name' with a provider such as {known}, or any other that init_chat_model knows."
        ) from error


def _load_openai(name: str, base_url: str | None, timeout: float | None) -> BaseChatModel:
    """Open a model of OpenAI, or of any server that speaks its protocol."""
    address = base_url or os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_BASE")
    key = os.environ.get("OPENAI_API_KEY")
    if not key and not address:
        raise ConfigurationError(
            f"The chat model 'openai:{name}' needs a key: set OPENAI_API_KEY. For a server of your own "
            "that speaks OpenAI's protocol (vLLM, llama.cpp, LM Studio and the like), set base_url or "
            "OPENAI_BASE_URL to its address, such as http://localhost:8080/v1."
        )
    if address and not address.startswith(("http://", "https://")):
        raise ConfigurationError(f"base_url = {address!r} is not usable: expected http://... or https://...")
    from langchain_openai import ChatOpenAI
    from openai import DefaultAsyncHttpxClient

    settings: dict[str, Any] = {
        "model": name,
        # A local server asks for no key, but the client insists on one.
        "api_key": key or "none",
        "timeout": timeout,
        # We repeat calls ourselves, so that each repetition is counted and none outlives the deadline.
        "max_retries": 0,
        "stream_usage": True,
        # Otherwise one client is shared by all models, and so by all event loops.
        "http_async_client": DefaultAsyncHttpxClient(timeout=timeout),
    }
    if address:
        settings["base_url"] = address
    model: BaseChatModel = ChatOpenAI(**settings)
    # Reasoning models refuse a temperature; the others follow instructions best without one.
    if (model.profile or {}).get("temperature", bool(address)):
        model = ChatOpenAI(**settings, temperature=0)
    return model


def _environment() -> tuple[str | None, ...]:
    names = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE")
    return tuple(os.environ.get(name) for name in names)


def _install_line(said: str) -> str:
    """Return the install line out of LangChain's message, which names the package."""
    _, found, line = said.partition("pip install ")
    return f"pip install {line.split()[0].strip('`.')}" if found and line.split() else said
