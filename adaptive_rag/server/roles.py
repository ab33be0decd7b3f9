"""The table of roles and their actions. A new role or action is a row here."""

from __future__ import annotations

from collections.abc import Set
from enum import StrEnum
from typing import Self


class Action(StrEnum):
    """What may be done. An action also allows seeing all fields of its routes' responses."""

    SEE = "see"  # see that a collection exists, its description and its size; every other action needs it
    ASK = "ask"  # ask it; keep threads over it, and read those of others that are shared
    VOTE = "vote"  # give feedback on its answers
    READ = "read"  # see its documents, folders, fields and jobs; write notes
    WRITE = "write"  # add, reindex and delete documents; cancel jobs
    MANAGE = "manage"  # describe it, rebuild its index, see everybody's feedback, set members, delete it
    SERVE = "serve"  # users, collections, the router and the audit log; only for admins of the server


class Role(StrEnum):
    """The roles in a collection with their actions, the lowest role first."""

    actions: frozenset[Action]

    READER = "reader", {Action.SEE, Action.ASK, Action.VOTE, Action.READ}
    WRITER = "writer", {Action.SEE, Action.ASK, Action.VOTE, Action.READ, Action.WRITE}
    ADMIN = "admin", set(Action)

    def __new__(cls, name: str, actions: set[Action] = frozenset()) -> Self:  # type: ignore[assignment]
        """Create a row of the table."""
        role = str.__new__(cls, name)
        role._value_ = name
        role.actions = frozenset(actions)
        return role


def roles_with(action: Action) -> list[Role]:
    """Return the roles that allow an action."""
    return [role for role in Role if {Action.SEE, action} <= role.actions]


def roles_within(actions: Set[Action]) -> list[Role]:
    """Return the roles that somebody with these actions may give: those that allow nothing more."""
    return [role for role in Role if role.actions <= actions]
