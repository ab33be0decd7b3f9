"""The chat model of the server, for its admins: show it without its key, set it, try it and remove it."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Annotated, Literal

from fastapi import APIRouter, Depends
from pydantic import AfterValidator, Field, SecretStr

from adaptive_rag.context.caller import served_error
from adaptive_rag.errors import ConfigurationError, install_line
from adaptive_rag.models.chat import PROVIDERS
from adaptive_rag.server.api.forms import Form, check_one_of
from adaptive_rag.server.calls import AdminCall, Call, count
from adaptive_rag.server.database import release_connection
from adaptive_rag.server.model import WITH_ADDRESS, ChosenModel, check_address
from adaptive_rag.server.model_trial import OUTCOME_TEXTS, Outcome, try_chat_model
from adaptive_rag.server.problems import MODEL_NAME, Problem

router = APIRouter(prefix="/model", tags=["model"])


def _check_key(key: SecretStr) -> SecretStr:
    # The message must not quote the key.
    if not all("!" <= letter <= "~" for letter in key.get_secret_value()):
        raise ValueError("expected letters, digits and signs without spaces")
    return key


class ModelGiven(Form):
    """A chat model to set or to try."""

    provider: Annotated[
        str,
        AfterValidator(lambda name: check_one_of(name, PROVIDERS)),
        Field(json_schema_extra={"enum": list(PROVIDERS)}),
    ]
    name: str = Field(
        min_length=1,
        max_length=200,
        pattern=MODEL_NAME,
        description="The model's name at the provider.",
        examples=["gpt-4.1-mini"],
    )
    address: str | None = Field(
        None,
        max_length=500,
        description="Address of a server that speaks OpenAI's protocol, such as http://localhost:11434/v1. "
        "Only with the provider openai. Plain http only to this machine or a private network.",
    )
    key: Annotated[SecretStr, Field(max_length=4000), AfterValidator(_check_key)] | None = Field(
        None,
        description="API key. It is never shown again. Null keeps the stored key if the provider and the "
        "address stay the same; an empty text removes it.",
    )


class ProviderShown(Form):
    """A provider of chat models."""

    name: str
    install: str | None = Field(description="The command that installs it; null if it is installed.")
    takes_key: bool
    has_operators_key: bool = Field(description="Whether the environment has a key for it.")
    takes_address: bool


class ModelShown(Form):
    """The chat model, without its key."""

    set_by: Literal["operator", "admin"] | None = Field(
        description="Who has set it. What the operator sets cannot be changed here. Null: there is no chat "
        "model, and answers quote the documents."
    )
    provider: str | None
    name: str | None
    address: str | None
    key: Literal["stored", "environment", "none", "unreadable"] = Field(
        description="Where the API key comes from. Unreadable: the server's secrets key was lost or "
        "replaced; store the API key again. Until then, answers quote the documents."
    )
    has_operators_address: bool = Field(
        description="Whether the operator has set the address for models of openai."
    )
    providers: list[ProviderShown]


class ModelTried(Form):
    """The outcome of a short call of a chat model."""

    outcome: Outcome
    detail: str = Field(description="The outcome in a sentence.")


@router.get("")
def show_model(call: AdminCall) -> ModelShown:
    """Show the chat model, without its key."""
    return _describe_model(call)


@router.put("")
def set_model(form: ModelGiven, call: AdminCall) -> ModelShown:
    """Set the chat model, from the next question on."""
    model = _read_form(form, call)
    try:
        call.services.model.write(call.db, model)
    except ConfigurationError as error:
        raise served_error(error) from None
    call.commit("model.set", _format_for_log(model))
    return _describe_model(call)


@router.delete("", status_code=204)
def remove_model(call: AdminCall) -> None:
    """Remove the chat model and its key. From the next question on, answers quote the documents."""
    if call.services.model.delete(call.db):
        call.commit("model.remove")


def _model_to_try(form: ModelGiven, call: AdminCall) -> ChosenModel:
    model = _read_form(form, call)
    call.record_event("model.try", _format_for_log(model))
    release_connection(call.db)
    return model


@router.post("/try", dependencies=[count("question")])
async def try_model(model: Annotated[ChosenModel, Depends(_model_to_try)], call: AdminCall) -> ModelTried:
    """Ask a chat model for one word, and describe the outcome; nothing is stored."""
    outcome = await try_chat_model(model, *call.services.model.resolve(model))
    return ModelTried(outcome=outcome, detail=OUTCOME_TEXTS[outcome])


def _read_form(form: ModelGiven, call: Call) -> ChosenModel:
    """Check a form (409, 422) and return its chat model, with the stored key if the form keeps it."""
    server_model, address = call.services.model, form.address or None
    if server_model.operator_model is not None:
        raise Problem(409, "The operator of this server has set its chat model. It cannot be changed here.")
    if install := _install_line(form.provider):
        detail = f"The provider {form.provider} is not installed. The operator installs it with: {install}"
        raise Problem(422, detail)
    if address is not None:
        _check_address(form.provider, address, call)
    key = form.key.get_secret_value() if form.key is not None else _stored_key(form.provider, address, call)
    takes_key = PROVIDERS[form.provider][1] and not (address or server_model.operator_address)
    if takes_key and not key and _key_source(form.provider, address) == "none":
        raise Problem(422, f"The provider {form.provider} takes an API key.")
    return ChosenModel(form.provider, form.name, address, key)


def _check_address(provider: str, address: str, call: Call) -> None:
    if provider != WITH_ADDRESS:
        raise Problem(422, f"An address goes with the provider {WITH_ADDRESS}.")
    if call.services.model.operator_address is not None:
        raise Problem(422, "The operator of this server has set the address. Leave it empty here.")
    if reason := check_address(address, call.services.settings):
        raise Problem(422, reason)


def _stored_key(provider: str, address: str | None, call: Call) -> str:
    """Return the stored key if it is for this provider and address, else "".

    Otherwise another admin could have the key sent to a server of their own.
    """
    stored = call.services.model.read(call.db)
    is_same = stored is not None and (stored.provider, stored.address) == (provider, address)
    return stored.key if stored is not None and is_same else ""


def _describe_model(call: Call) -> ModelShown:
    server_model, row = call.services.model, call.services.model.row(call.db)
    provider, name, address, key = None, None, None, ""
    if server_model.operator_model is not None:
        first, colon, rest = server_model.operator_model.partition(":")
        provider, name = (first, rest) if colon else (None, first)
    elif row is not None:
        provider, name, address = row.provider, row.name, row.address
        is_readable = server_model.read(call.db) is not None
        key = "unreadable" if not is_readable else "stored" if row.sealed_key else ""
    return ModelShown(
        set_by="operator" if server_model.operator_model else "admin" if row else None,
        provider=provider,
        name=name,
        address=address,
        key=key or _key_source(provider, address),
        has_operators_address=server_model.operator_address is not None,
        providers=[
            ProviderShown(
                name=provider_name,
                install=_install_line(provider_name),
                takes_key=bool(variable),
                has_operators_key=_key_source(provider_name, None) == "environment",
                takes_address=provider_name == WITH_ADDRESS,
            )
            for provider_name, (_, variable) in PROVIDERS.items()
        ],
    )


def _key_source(provider: str | None, address: str | None) -> Literal["environment", "none"]:
    """Return whether the environment has a key; an address that an admin has set never gets it."""
    _, variable = PROVIDERS.get(provider or "", (None, ""))
    return "environment" if variable and not address and os.environ.get(variable) else "none"


def _install_line(provider: str) -> str | None:
    extra, _ = PROVIDERS[provider]
    return install_line(extra) if extra and find_spec(f"langchain_{provider}") is None else None


def _format_for_log(model: ChosenModel) -> str:
    return f"{model.spec} {model.address or ''}".rstrip()
