"""Limits what a caller of a server may set, pass and read; everything else is up to the operator."""

from __future__ import annotations

import logging
import secrets
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from annotated_types import Le
from pydantic import ConfigDict, Field, ValidationError, create_model, model_validator

from adaptive_rag.context import CallerSettings, Context, explain, is_served, setting_names
from adaptive_rag.context.groups import GROUPS, CallerMaySet, Group, ServingSettings
from adaptive_rag.errors import (
    AdaptiveRAGError,
    DeadlineError,
    IndexingError,
    IndexMismatchError,
    InputError,
    ModelRefusedError,
    ServedError,
)
from adaptive_rag.state import Turn
from adaptive_rag.text.redaction import redact

if TYPE_CHECKING:
    from langgraph.runtime import Runtime
    from pydantic.fields import FieldInfo


def _field_of(name: str) -> FieldInfo:
    """Return the field of a setting, such as "retrieval.alpha"."""
    group, _, part = name.rpartition(".")
    return (GROUPS[group] if group else Context).model_fields[part]


# The settings that a caller may set, besides the recipes that the operator lists in `serving.recipes`.
ALLOWED = {
    name: mark
    for name in setting_names()
    for mark in _field_of(name).metadata
    if isinstance(mark, CallerMaySet)
}
# The keys of an input: those of a question, and `paths` for indexing.
INPUTS = ("question", "user_context", "history", "messages", "paths")
# Limits on the number of paths, and on the characters of one path.
MAX_PATHS, MAX_PATH = 100, 4096
# What a caller is told of an error by its class; the first that fits counts.
_SHOWN_INSTEAD: tuple[tuple[type[Exception], str], ...] = (
    (
        ModelRefusedError,
        "This server cannot ask its chat model: the key is refused, or the model is not known there.",
    ),
    (IndexMismatchError, "This server has no index that can be searched."),
    (IndexingError, "This server could not index or search the documents."),
    (AdaptiveRAGError, "This server is not set up for that."),
    (Exception, "The server could not do this."),
)

_log = logging.getLogger("adaptive_rag.serving")


class NothingToSet(CallerSettings):
    """The settings of a served graph for whose callers there are none, such as that for indexing."""

    model_config = ConfigDict(extra="ignore")


def caller_settings(operator: Context, routes: Sequence[str]) -> type[CallerSettings]:
    """Return a model of the settings that a caller may set, within the operator's limits."""
    groups: dict[str, dict[str, Any]] = {}
    names = {"route": tuple(routes), "recipe": tuple(sorted(operator.serving.recipes))}
    for name in (*ALLOWED, *(["recipe"] if names["recipe"] else [])):
        group, _, part = name.rpartition(".")
        declared, ceiling = _field_of(name), ALLOWED.get(name, CallerMaySet()).ceiling
        kind = Literal[names[name]] if name in names else declared.annotation
        bounds = [*declared.metadata, *([Le(attrgetter(ceiling)(operator))] if ceiling else [])]
        bounded: Any = Annotated[(kind, *bounds)] if bounds else kind
        # The operator's setting applies if a value is missing or null.
        field = bounded | None, Field(None, description=declared.description)
        groups.setdefault(group, {})[part] = field
    fields = groups.pop("")
    for group, parts in groups.items():
        model = create_model(f"Caller{group.title()}", __base__=_CallerGroup, **parts)
        description = Context.model_fields[group].description
        fields[group] = model, Field(default_factory=model, description=description)
    return create_model("CallerSettings", __base__=_CallerFields, __doc__=_CallerFields.__doc__, **fields)


def describe_allowed(routes: Sequence[str]) -> str:
    """Describe the settings that a caller may set, for the forms of the APIs."""
    lines = []
    for name in ALLOWED:
        field = _field_of(name)
        values = [value for part in get_args(field.annotation) for value in get_args(part)]
        values_text = ", ".join(routes if name == "route" else values)
        lines.append(f"- {name}: {field.description}{f' One of {values_text}.' if values_text else ''}")
    return "\n".join(["Any of these, and `recipe` where the operator allows it:", *lines])


class _CallerGroup(Group):
    """A group of a caller's settings; unknown names, NaN and infinity are refused."""

    model_config = ConfigDict(allow_inf_nan=False)


class _CallerFields(CallerSettings):
    """What a caller may set. Where a value is missing or null, the operator's setting applies."""

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, values: Any) -> Any:
        if not isinstance(values, Mapping):
            return values
        return {name: value for name, value in values.items() if value is not None}


def check_settings(form: type[CallerSettings], settings: Mapping[str, Any]) -> None:
    """Check that a caller may set these settings, and that they are within the operator's limits.

    Raises:
        InputError: they are not.
    """
    unknown = [name for name in settings if name not in form.model_fields]
    if unknown and not form.model_fields:
        raise InputError(f"{unknown[0][:80]!r} cannot be set: this graph has no settings for callers.")
    try:
        form.model_validate(settings)
    except ValidationError as error:
        names = (*ALLOWED, "recipe") if "recipe" in form.model_fields else ALLOWED
        raise InputError(explain(error, names)) from error


def check_input(value: Any, serving: ServingSettings) -> None:
    """Check that an input has the right form and is within the operator's limits; None resumes a thread.

    Raises:
        InputError: it is not.
    """
    if value is None:
        return
    if not isinstance(value, dict) or (unknown := [name for name in value if name not in INPUTS]):
        got = "something else" if not isinstance(value, dict) else repr(str(unknown[0])[:80])
        raise InputError(f"The input has {got}; expected an object with {', '.join(INPUTS)}.")
    check_text("question", value.get("question"), serving.max_question, "max_question")
    check_text("user_context", value.get("user_context"), serving.max_user_context, "max_user_context")
    _check_turns("history", value.get("history"), ("text",), serving)
    _check_turns("messages", value.get("messages"), ("content", "text"), serving)
    paths = value.get("paths")
    if paths is not None and not (
        isinstance(paths, list)
        and len(paths) <= MAX_PATHS
        and all(isinstance(path, str) and 0 < len(path) <= MAX_PATH for path in paths)
    ):
        raise InputError(f"paths is not usable: expected a list of at most {MAX_PATHS} paths.")


def check_text(name: str, text: Any, most: int, setting: str) -> None:
    """Check that a value is a text within the operator's limit, or None."""
    if text is not None and not isinstance(text, str):
        raise InputError(f"{name} is not usable: expected a text, got {type(text).__name__}.")
    if text is not None and len(text) > most:
        raise InputError(
            f"{name} has {len(text):,} characters; at most {most:,} are accepted (serving.{setting})."
        )


def _check_turns(name: str, turns: Any, texts: Sequence[str], serving: ServingSettings) -> None:
    # The graph also accepts a single message in place of a list.
    turns = [turns] if isinstance(turns, dict | str) else turns
    if turns is None:
        return
    if not isinstance(turns, list) or not all(isinstance(turn, dict | str) for turn in turns):
        raise InputError(f"{name} is not usable: expected a list of objects, each with {texts[0]!r}.")
    if len(turns) > serving.max_turns:
        raise InputError(
            f"{name} has {len(turns):,} turns; at most {serving.max_turns:,} are accepted "
            "(serving.max_turns)."
        )
    characters = sum(_length(turn) for turn in turns)
    if characters > serving.max_characters:
        raise InputError(
            f"{name} has {characters:,} characters; at most {serving.max_characters:,} are accepted "
            "(serving.max_characters)."
        )


def _length(value: Any) -> int:
    """Return the number of characters of all texts in plain data, at any depth."""
    total, pending = 0, [value]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            pending += [*part.keys(), *part.values()]
        elif isinstance(part, list):
            pending += part
        else:
            total += len(str(part))
    return total


def newest_turns(history: Sequence[Turn], serving: ServingSettings) -> list[Turn]:
    """Return the newest turns that are within the limits, so that a long thread can go on."""
    turns: list[Turn] = []
    remaining = serving.max_characters
    for turn in reversed(history[-serving.max_turns :]):
        remaining -= len(turn["text"])
        if remaining < 0:
            break
        turns.insert(0, turn)
    return turns


def user_of(runtime: Runtime[Any], context: Context) -> str | None:
    """Return the id of the user; on a server it is the authenticated caller, whatever the settings say."""
    if not isinstance(runtime.context, CallerSettings):
        return context.user_id
    server = runtime.server_info
    return server.user.identity if server is not None and server.user is not None else None


@contextmanager
def shown_to_callers(runtime: Runtime[Any]) -> Iterator[None]:
    """Hide internal errors from a server's caller: input errors and timeouts pass, others are logged.

    Raises:
        ServedError: replaces an error that may contain a path, an address or a document's text.
    """
    try:
        yield
    except (InputError, DeadlineError):
        raise
    except Exception as error:
        if not is_served(runtime):
            raise
        raise served_error(error) from None


def served_error(error: Exception) -> ServedError:
    """Log an error under a short reference, and return the error that the caller sees instead."""
    reference = secrets.token_hex(4)
    text = "".join(traceback.format_exception(error))
    _log.error("Reference %s: %s\n%s", reference, redact(str(error)), redact(text))
    message = next(text for kind, text in _SHOWN_INSTEAD if isinstance(error, kind))
    served = ServedError(f"{message} Its log says why, under the reference {reference}.")
    served.is_models_fault = isinstance(error, ModelRefusedError)
    return served
