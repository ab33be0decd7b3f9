"""The errors that this package raises on purpose; each says what happened and how to fix it."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable
from types import ModuleType


class AdaptiveRAGError(Exception):
    """Base of every error that Adaptive RAG raises on purpose."""


class ConfigurationError(AdaptiveRAGError, ValueError):
    """A setting, an argument or an input is not usable; nothing has been run yet."""


class InputError(ConfigurationError):
    """A caller's input cannot be used; the message names it and says what was expected."""


class ModelRefusedError(ConfigurationError):
    """A chat model's server refuses the key, or does not know the model."""


class MissingExtraError(AdaptiveRAGError, ImportError):
    """An optional package is not installed; the message holds the install line."""


# A LangGraph server shows the messages of Python's built-in error types and hides those of all others.
class IndexingError(AdaptiveRAGError, RuntimeError):
    """Documents could not be read or stored; what was complete before is kept."""


class IndexMismatchError(AdaptiveRAGError, RuntimeError):
    """An index was made with other settings, or a folder is not one of our indexes."""


class IndexUnfinishedError(IndexMismatchError):
    """An index is still empty: its first run is in progress, or did not finish."""


class IndexDamagedError(IndexMismatchError):
    """An index differs from what was written; the message names the command that repairs it."""


class IndexUnreachableError(AdaptiveRAGError, RuntimeError):
    """A bucket or a database does not answer or refuses access; the message says why and how to fix it."""


class DeadlineError(AdaptiveRAGError, TimeoutError):
    """A question took longer than allowed, or nobody waits for its answer; the message names the setting."""


class ServedError(AdaptiveRAGError, RuntimeError):
    """A served graph failed; the server's log has the reason, under the reference that the message names."""

    is_models_fault = False
    """Whether the chat model's server refused the key or did not know the model."""


class AdaptiveRAGWarning(RuntimeWarning):
    """Something could not be done as requested; the work goes on with what could be done."""


def import_extra(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import an optional module, or raise an error that names the extra to install.

    Raises:
        MissingExtraError: the module is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"{purpose} needs the package {module.partition('.')[0]!r}, which is not installed. "
            f"Install it with: {install_line(extra)}"
        ) from error


def install_line(extra: str) -> str:
    """Return the command that installs an extra."""
    return f"pip install 'adaptive-rag[{extra}]'"


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return a question with the closest known name, after a leading blank; "" if none is close."""
    matches = difflib.get_close_matches(name, list(names), n=1)
    return f" Did you mean {matches[0]!r}?" if matches else ""
