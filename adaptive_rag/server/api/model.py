"""The chat model of the whole server, for its admins: shown without its key, set, tried and removed."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Annotated, Literal

from fastapi import APIRouter, Depends
from pydantic import AfterValidator, Field, SecretStr

from adaptive_rag.context.caller import served_error
from adaptive_rag.errors import ConfigurationError, install_line
from adaptive_rag.models.chat import PROVIDERS
from adaptive_rag.server.api.forms import Form, one_of
from adaptive_rag.server.calls import ASKING, AdminCall, Call
from adaptive_rag.server.database import let_go
from adaptive_rag.server.model import WITH_ADDRESS, Chosen, check_address
from adaptive_rag.server.model_trial import TOLD, Outcome, try_out
from adaptive_rag.server.problems import Problem

router = APIRouter(prefix="/model", tags=["model"])


def _sendable(key: SecretStr) -> SecretStr:
    # The message must not quote the key.
    if not all("!" <= letter <= "~" for letter in key.get_secret_value()):
        raise ValueError("expected letters, digits and signs without blanks")
    return key


class ModelGiven(Form):
    """A chat model that an admin sets, or tries."""

    provider: Annotated[
        str,
        AfterValidator(lambda name: one_of(name, PROVIDERS)),
        Field(json_schema_extra={"enum": list(PROVIDERS)}),
    ]
    name: str = Field(
        min_length=1,
        max_length=200,
        pattern=r"^[A-Za-z0-9~][A-Za-z0-9_.:/@+#~-]*$",
        description="The model's name at the provider.",
        examples=["gpt-4.1-mini"],
    )
    address: str | None = Field(
        None,
        max_length=500,
        description="Of a server that speaks OpenAI's protocol, such as http://localhost:11434/v1. Only with "
        "the provider openai. In plain http only on this machine or a private network.",
    )
    key: Annotated[SecretStr, Field(max_length=4000), AfterValidator(_sendable)] | None = Field(
        None,
        description="API key. It is never shown again. Null keeps the stored one, if the provider and the "
        "address stay the same; an empty text removes it.",
    )


class ProviderShown(Form):
    """A provider of chat models."""

    name: str
    install: str | None = Field(description="How the operator installs what it needs; null if it is there.")
    takes_key: bool
    has_operators_key: bool = Field(description="The operator has set its key in the environment.")
    takes_address: bool


class ModelShown(Form):
    """The chat model, without its key."""

    set_by: Literal["operator", "admin"] | None = Field(
        description="The operator's settings go before an admin's, who then can change nothing here. Null: "
        "there is no chat model, and answers quote the documents."
    )
    provider: str | None
    name: str | None
    address: str | None
    key: Literal["stored", "environment", "none", "unreadable"] = Field(
        description="Where the API key comes from. Unreadable: the server's secrets key is gone or another; "
        "store the API key again. Until then answers quote the documents."
    )
    has_operators_address: bool = Field(
        description="Models of openai are asked at an address that the operator has set."
    )
    providers: list[ProviderShown]


class ModelTried(Form):
    """The outcome of one short call."""

    outcome: Outcome
    detail: str = Field(description="The same in a sentence.")


@router.get("")
def show_model(call: AdminCall) -> ModelShown:
    """Show the chat model; its key is never shown."""
    return _shown(call)


@router.put("")
def set_model(given: ModelGiven, call: AdminCall) -> ModelShown:
    """Set the chat model for all questions from the next one on."""
    chosen = _chosen(given, call)
    try:
        call.parts.model.write(call.db, chosen)
    except ConfigurationError as error:
        raise served_error(error) from None
    call.commit("model.set", _named(chosen))
    return _shown(call)


@router.delete("", status_code=204)
def remove_model(call: AdminCall) -> None:
    """Remove the chat model and its key: answers quote the documents from the next question on."""
    if call.parts.model.delete(call.db):
        call.commit("model.remove")


def _to_try(given: ModelGiven, call: AdminCall) -> Chosen:
    chosen = _chosen(given, call)
    call.note("model.try", _named(chosen))
    let_go(call.db)
    return chosen


@router.post("/try", dependencies=[ASKING])
async def try_model(chosen: Annotated[Chosen, Depends(_to_try)], call: AdminCall) -> ModelTried:
    """Ask a chat model for one word, and describe the outcome; nothing is stored."""
    outcome = await try_out(chosen, *call.parts.model.reached(chosen))
    return ModelTried(outcome=outcome, detail=TOLD[outcome])


def _chosen(given: ModelGiven, call: Call) -> Chosen:
    """Return what an admin has given, with the stored key if it stays.

    Raises:
        Problem: the operator has set it, the provider is not installed, or the address cannot be used.
    """
    parts, address = call.parts.model, given.address or None
    if parts.operators is not None:
        raise Problem(409, "The operator of this server has set its chat model. It cannot be changed here.")
    if install := _install_line(given.provider):
        said = f"The provider {given.provider} is not installed. The operator installs it with: {install}"
        raise Problem(422, said)
    if address is not None:
        if given.provider != WITH_ADDRESS:
            raise Problem(422, f"An address goes with the provider {WITH_ADDRESS}.")
        if parts.operators_address is not None:
            said = "The operator of this server has set the address. Leave it empty here."
            raise Problem(422, said)
        if fault := check_address(address, call.parts.settings):
            raise Problem(422, fault)
    key = given.key.get_secret_value() if given.key is not None else None
    if key is None:
        # A stored key is not sent anywhere else, so that another admin cannot have it sent to themselves.
        before = parts.read(call.db)
        is_same = before is not None and (before.provider, before.address) == (given.provider, address)
        key = before.key if before is not None and is_same else ""
    takes_key = PROVIDERS[given.provider][1] and not (address or parts.operators_address)
    if takes_key and not key and _key_of(given.provider, address) == "none":
        raise Problem(422, f"The provider {given.provider} takes an API key.")
    return Chosen(given.provider, given.name, address, key)


def _shown(call: Call) -> ModelShown:
    parts, row = call.parts.model, call.parts.model.row(call.db)
    found = parts.read(call.db)
    provider, name, address, key = None, None, None, ""
    if parts.operators is not None:
        first, colon, rest = parts.operators.partition(":")
        provider, name = (first, rest) if colon else (None, first)
    elif row is not None:
        provider, name, address = row.provider, row.name, row.address
        key = "stored" if row.sealed_key else ""
    is_unreadable = parts.operators is None and row is not None and found is None
    return ModelShown(
        set_by="operator" if parts.operators else "admin" if row else None,
        provider=provider,
        name=name,
        address=address,
        key="unreadable" if is_unreadable else key or _key_of(provider, address),
        has_operators_address=parts.operators_address is not None,
        providers=[
            ProviderShown(
                name=each,
                install=_install_line(each),
                takes_key=bool(variable),
                has_operators_key=_key_of(each, None) == "environment",
                takes_address=each == WITH_ADDRESS,
            )
            for each, (_, variable) in PROVIDERS.items()
        ],
    )


def _key_of(provider: str | None, address: str | None) -> Literal["environment", "none"]:
    """Tell whether the environment has a key. It is never sent to an address that an admin has set."""
    _, variable = PROVIDERS.get(provider or "", (None, ""))
    return "environment" if variable and not address and os.environ.get(variable) else "none"


def _install_line(provider: str) -> str | None:
    extra, _ = PROVIDERS[provider]
    return install_line(extra) if extra and find_spec(f"langchain_{provider}") is None else None


def _named(chosen: Chosen) -> str:
    return f"{chosen.spec} {chosen.address or ''}".rstrip()
