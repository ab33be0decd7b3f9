"""What you told of yourself: it reaches your own questions, and nobody else's."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from adaptive_rag.conversation import MAX_PROFILE, forget_profile, read_profile, write_profile
from adaptive_rag.server.access import CurrentCaller
from adaptive_rag.server.rates import ChangingCaller
from adaptive_rag.server.services import Parts

router = APIRouter(prefix="/me/profile", tags=["you"])


class Profile(BaseModel):
    """What answers should take into account of whoever asks."""

    model_config = ConfigDict(extra="forbid")

    # PostgreSQL keeps no NUL in a profile.
    text: str = Field(
        max_length=MAX_PROFILE, pattern=r"^[^\x00]*$", examples=["I use a wheelchair and live in Saltmere."]
    )


@router.get("")
def show_profile(caller: CurrentCaller, parts: Parts) -> Profile:
    """Show your profile; its text is empty where there is none."""
    return Profile(text=read_profile(parts.conversations.store, caller.id))


@router.put("")
def replace_profile(profile: Profile, caller: ChangingCaller, parts: Parts) -> Profile:
    """Replace your profile."""
    write_profile(parts.conversations.store, caller.id, profile.text)
    return profile


@router.delete("", status_code=204)
def delete_profile(caller: CurrentCaller, parts: Parts) -> None:
    """Delete your profile."""
    forget_profile(parts.conversations.store, caller.id)
