"""Roles: what each may do, in one table. A new role or action is a row here."""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class Action(StrEnum):
    """What may be done. Each action includes seeing the fields in the responses of its routes."""

    ASK = "ask"  # see that a collection is there, ask it, keep threads; every role has it
    VOTE = "vote"  # judge its answers
    READ = "read"  # see its documents, folders, fields and jobs; keep notes
    WRITE = "write"  # add, read again and delete documents; cancel jobs
    MANAGE = "manage"  # describe it, rebuild its index, see everybody's feedback, set members, delete it
    SERVE = "serve"  # users, collections, the router and the audit log; only for admins of the server


class Role(StrEnum):
    """What somebody may do in a collection: the table of roles, the lowest first."""

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
        """Tell whether this role may do all that another may."""
        return self.actions >= other.actions

    def within(self, ceiling: Role) -> Role | None:
        """Return the highest role whose actions are allowed by both roles."""
        both = self.actions & ceiling.actions
        return next((role for role in reversed(Role) if role.actions <= both), None)


def lowest_with(action: Action) -> Role:
    """Return the lowest role that allows an action, to be named in refusals."""
    return next(role for role in Role if action in role.actions)
