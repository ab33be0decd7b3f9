"""The table of roles and their actions. A new role or action is a row here."""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class Action(StrEnum):
    """What may be done. An action also allows seeing all fields of its routes' responses."""

    ASK = "ask"  # see that a collection exists, ask it, keep threads; every role has it
    VOTE = "vote"  # give feedback on its answers
    READ = "read"  # see its documents, folders, fields and jobs; write notes
    WRITE = "write"  # add, reindex and delete documents; cancel jobs
    MANAGE = "manage"  # describe it, rebuild its index, see everybody's feedback, set members, delete it
    SERVE = "serve"  # users, collections, the router and the audit log; only for admins of the server


class Role(StrEnum):
    """The roles in a collection with their actions, the lowest role first."""

    actions: frozenset[Action]

    READER = "reader", {Action.ASK, Action.VOTE, Action.READ}
    WRITER = "writer", {Action.ASK, Action.VOTE, Action.READ, Action.WRITE}
    ADMIN = "admin", set(Action)

    def __new__(cls, name: str, actions: set[Action] = frozenset()) -> Self:  # type: ignore[assignment]
        """Create a row of the table."""
        role = str.__new__(cls, name)
        role._value_ = name
        role.actions = frozenset(actions)
        return role

    def includes(self, other: Role) -> bool:
        """Return whether this role allows everything that another allows."""
        return self.actions >= other.actions

    def within(self, ceiling: Role) -> Role | None:
        """Return the highest role that allows only what both roles allow; None if there is none."""
        shared = self.actions & ceiling.actions
        return next((role for role in reversed(Role) if role.actions <= shared), None)


def lowest_with(action: Action) -> Role:
    """Return the lowest role that allows an action; refusals name it."""
    return next(role for role in Role if action in role.actions)
