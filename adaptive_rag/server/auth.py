"""Authorization for LangGraph's server: callers may ask, in threads of their own, and do little else."""

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
# Settings that the server itself adds to a run; it takes their values from the URL of the request.
_OF_THE_SERVER = {"thread_id", "checkpoint_id", "__event_streaming_v2"}
# Prefixes of settings that reach the server's internals: its run loop, and the project of its traces.
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
    """Refuse what no other rule allows, such as own assistants, crons and searching the store."""
    raise _refused(403, f"Callers of this server may not do that: {ctx.resource} {ctx.action}.")


@auth.on(resources="assistants", actions=["read", "search"])
async def see_assistants(ctx: Auth.types.AuthContext, value: Any) -> bool:
    """Let every caller see the graphs that are served."""
    return True


@auth.on.threads
async def own_threads(ctx: Auth.types.AuthContext, value: Any) -> dict[str, str]:
    """Let a caller use their own threads and runs. Only the graphs write their state."""
    if ctx.action == "update" and not value.keys() & {"metadata", "action"}:
        raise _refused(403, "The state of a thread is written by its runs alone.")
    return _own(ctx, value)


@auth.on.threads.create_run
async def start_run(ctx: Auth.types.AuthContext, value: Any) -> dict[str, str]:
    """Let a caller start a run, with the settings they may choose and within the operator's limits."""
    kwargs = value["kwargs"]
    settings = kwargs.get("context") or {}
    given = {name: settings[name] for name in settings if name not in _OF_THE_SERVER}
    configurable = (kwargs.get("config") or {}).get("configurable") or {}
    content = kwargs.get("input")
    try:
        check_input(content, operator.serving)
        check_settings(NothingToSet if content and "paths" in content else form, given)
    except InputError as error:
        raise _refused(422, str(error)) from None
    if operator.serving.users and "events" in kwargs.get("stream_mode", ()):
        raise _refused(422, "The stream mode 'events' shows the server's own calls; use 'updates'.")
    if kwargs.get("webhook"):
        raise _refused(422, "This server calls no webhook.")
    if (kwargs.get("command") or {}).keys() - {"resume"}:
        raise _refused(422, "A run's command may only resume it.")
    if internal := [name for name in configurable if name.startswith(_INTERNAL)]:
        raise _refused(422, f"{internal[0][:80]!r} cannot be set by a caller.")
    return _own(ctx, value)


@auth.on.store(actions=["get", "put", "delete"])
async def own_profile(ctx: Auth.types.AuthContext, value: Any) -> None:
    """Let a caller read, write and delete their profile in the store: one short text."""
    if (tuple(value["namespace"]), value["key"]) != (NAMESPACE, ctx.user.identity):
        raise _refused(403, f"Of the store only {'.'.join(NAMESPACE)} under your own name is yours.")
    if ctx.action == "put":
        text = value["value"].get("text")
        if value["value"].keys() != {"text"} or not isinstance(text, str) or len(text) > MAX_PROFILE:
            raise _refused(422, f"A profile is {{'text': ...}} of at most {MAX_PROFILE:,} characters.")


def _own(ctx: Auth.types.AuthContext, value: Any) -> dict[str, str]:
    """Mark what is created or changed as the caller's, and return the filter for what they own."""
    owner = {"owner": ctx.user.identity}
    if ctx.action in ("create", "update", "create_run") and "action" not in value:
        # Changed in place, because the server continues with this same dict.
        value.setdefault("metadata", {}).update(owner)
    return owner


def _refused(status: int, line: str) -> Exception:
    return Auth.exceptions.HTTPException(status, line)
