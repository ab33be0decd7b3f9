"""Authorization for LangGraph's server: callers may ask questions in their own threads, and little else."""

from __future__ import annotations

from typing import Any

from langgraph_sdk import Auth

from adaptive_rag.context.caller import NothingToSet, check_input, check_settings
from adaptive_rag.conversation import MAX_PROFILE, NAMESPACE
from adaptive_rag.errors import InputError
from adaptive_rag.graph.studio import form, operator
from adaptive_rag.server.door import admit
from adaptive_rag.server.machine import Refused

auth = Auth()
# Settings that the server itself adds to a run, with values from the URL of the request.
_SERVER_SETTINGS = {"thread_id", "checkpoint_id", "__event_streaming_v2"}
# Prefixes of settings that control the server's internals: its run loop, and the project of its traces.
_INTERNAL = ("__pregel", "__langsmith")


@auth.authenticate
async def authenticate(scope: dict[str, Any]) -> Auth.types.MinimalUserDict:
    """Identify the user, as `Door` does."""
    try:
        return {"identity": admit(scope, operator.serving)}
    except Refused as refused:
        raise Auth.exceptions.HTTPException(refused.status, str(refused)) from None


@auth.on
async def refuse_all_else(ctx: Auth.types.AuthContext, value: Any) -> None:
    """Refuse what no other rule allows, such as creating assistants or crons and searching the store."""
    raise _refusal(403, f"Callers of this server may not do that: {ctx.resource} {ctx.action}.")


@auth.on(resources="assistants", actions=["read", "search"])
async def allow_reading_assistants(ctx: Auth.types.AuthContext, value: Any) -> bool:
    """Allow every caller to see the graphs."""
    return True


@auth.on.threads
async def allow_own_threads(ctx: Auth.types.AuthContext, value: Any) -> dict[str, str]:
    """Allow callers to use their own threads and runs. Only the graphs may write the state of a thread."""
    if ctx.action == "update" and not value.keys() & {"metadata", "action"}:
        raise _refusal(403, "Only runs may write the state of a thread.")
    return _restrict_to_owner(ctx, value)


@auth.on.threads.create_run
async def check_run(ctx: Auth.types.AuthContext, value: Any) -> dict[str, str]:
    """Allow callers to start runs, with the settings that they may choose, within the operator's limits."""
    kwargs = value["kwargs"]
    settings = kwargs.get("context") or {}
    caller_settings = {name: settings[name] for name in settings if name not in _SERVER_SETTINGS}
    configurable = (kwargs.get("config") or {}).get("configurable") or {}
    content = kwargs.get("input")
    try:
        check_input(content, operator.serving)
        check_settings(NothingToSet if content and "paths" in content else form, caller_settings)
    except InputError as error:
        raise _refusal(422, str(error)) from None
    if operator.serving.users and "events" in kwargs.get("stream_mode", ()):
        raise _refusal(422, "The stream mode 'events' shows the server's own calls; use 'updates'.")
    if kwargs.get("webhook"):
        raise _refusal(422, "This server calls no webhook.")
    if (kwargs.get("command") or {}).keys() - {"resume"}:
        raise _refusal(422, "A run's command may only resume it.")
    if internal := [name for name in configurable if name.startswith(_INTERNAL)]:
        raise _refusal(422, f"{internal[0][:80]!r} cannot be set by a caller.")
    return _restrict_to_owner(ctx, value)


@auth.on.store(actions=["get", "put", "delete"])
async def allow_own_profile(ctx: Auth.types.AuthContext, value: Any) -> None:
    """Allow callers to read, write and delete their profile, one short text, in the store."""
    if (tuple(value["namespace"]), value["key"]) != (NAMESPACE, ctx.user.identity):
        raise _refusal(403, f"In the store, only {'.'.join(NAMESPACE)} under your own name is open to you.")
    if ctx.action == "put":
        text = value["value"].get("text")
        if value["value"].keys() != {"text"} or not isinstance(text, str) or len(text) > MAX_PROFILE:
            raise _refusal(422, f"A profile is {{'text': ...}} of at most {MAX_PROFILE:,} characters.")


def _restrict_to_owner(ctx: Auth.types.AuthContext, value: Any) -> dict[str, str]:
    """Set the owner of what is created or changed, and return the filter for what the caller owns."""
    owner = {"owner": ctx.user.identity}
    if ctx.action in ("create", "update", "create_run") and "action" not in value:
        # Changed in place, because the server continues with the same dict.
        value.setdefault("metadata", {}).update(owner)
    return owner


def _refusal(status: int, detail: str) -> Exception:
    return Auth.exceptions.HTTPException(status, detail)
