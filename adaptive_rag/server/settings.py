"""The operator's settings of the web server: the table [server] of the config file, and its environment."""

from __future__ import annotations

import ipaddress
import tomllib
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, ValidationError, model_validator
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from adaptive_rag.context import CONFIG_FILE, ENV_PREFIX, SERVER_TABLE
from adaptive_rag.context.groups import split_list
from adaptive_rag.context.trusted import TrustedConfigFile
from adaptive_rag.errors import ConfigurationError, did_you_mean
from adaptive_rag.text.addresses import is_loopback
from adaptive_rag.text.redaction import quote_user, remember_address

BACKUP_KEY, SECRETS_KEY = "backup.key", "secrets.key"
Names = Annotated[frozenset[str], NoDecode, BeforeValidator(split_list)]


def _check_networks(names: frozenset[str]) -> frozenset[str]:
    for name in names:
        ipaddress.ip_network(name)
    return names


def _check_database_address(address: SecretStr) -> SecretStr:
    text = address.get_secret_value()
    remember_address(text)
    if not text.startswith("postgresql://"):
        raise ValueError("expected an address that begins with postgresql://")
    quoted = quote_user(text)
    try:
        _ = urlsplit(quoted).port
    except ValueError:  # urlsplit's message would contain a part of the password
        raise ValueError(
            "expected a port after the host. In a password / is %2F, ? is %3F and # is %23"
        ) from None
    remember_address(quoted)
    return SecretStr(quoted)


def _check_rates(rates: str) -> str:
    from limits import parse_many

    parse_many(rates)
    return rates


class ServerSettings(BaseSettings):
    """How the server runs. Only the operator sets this, never a caller."""

    model_config = SettingsConfigDict(
        env_prefix=f"{ENV_PREFIX}{SERVER_TABLE.upper()}__",
        frozen=True,
        extra="forbid",
        toml_file=CONFIG_FILE,
        hide_input_in_errors=True,
    )

    host: str = Field(
        "127.0.0.1", description="Address to listen on; beyond this machine the server needs users."
    )
    port: int = Field(8080, ge=0, le=65_535, description="Port to listen on; 0 takes a free one.")
    data: Path = Field(
        Path(".adaptive-rag-server"),
        description="Folder of the collections and of all other files of the server.",
    )
    database: Annotated[SecretStr, AfterValidator(_check_database_address)] | None = Field(
        None,
        description="Address of a PostgreSQL database for users, threads and jobs, as in "
        "postgresql://name:password@host/database. By default SQLite files in the data folder.",
    )
    backup_key: Path | None = Field(
        None,
        description="File of the key that signs backups. By default backup.key in the data folder, made with "
        "the first backup.",
    )
    secrets_key: Path | None = Field(
        None,
        description="File of the key that encrypts the API key of a chat model that is set on the page. By "
        "default secrets.key in the data folder, made when the first one is stored.",
    )
    names: Names = Field(
        frozenset(),
        description="Names under which browsers reach the server, as in docs.example.org. By default the "
        "names of this machine.",
    )
    trusted_proxies: Annotated[Names, AfterValidator(_check_networks)] = Field(
        frozenset(), description="Addresses or networks of proxies whose X-Forwarded-* headers are believed."
    )
    tls: bool = Field(
        False, description="Callers use https, through a proxy. Cookies are then sent over https only."
    )
    session_hours: float = Field(24 * 7, gt=0, le=87_600, description="How long a person stays signed in.")
    audit_days: int = Field(
        365, ge=0, le=36_500, description="How long entries of the audit log are kept; 0 keeps them all."
    )
    oidc_issuer: str | None = Field(
        None, description="Address of an OpenID Connect provider that signs people in."
    )
    oidc_client_id: str | None = Field(None, description="Name of this server at that provider.")
    oidc_client_secret: SecretStr | None = Field(None, description="Its secret there.")
    oidc_scopes: str = Field(
        "openid profile email", description="The scopes that are requested from the provider."
    )
    max_upload_megabytes: int = Field(
        200, ge=1, description="Size of one upload with all its documents, at most."
    )
    max_collection_megabytes: int = Field(
        20_000, ge=1, description="Size of the documents of one collection together, at most."
    )
    max_running: int = Field(
        32, ge=1, description="Questions that are answered at the same time; the others wait."
    )
    max_waiting: int = Field(100, ge=0, description="Questions that may wait; any more are refused (429).")
    max_per_person: int = Field(
        4, ge=1, description="Questions that one user may have in progress; any more are refused (429)."
    )
    max_connections: int = Field(
        200, ge=1, description="Connections that one address may hold; a trusted proxy ten times as many."
    )
    max_seconds: float = Field(
        120, gt=0, le=86_400, description="How long a question may take, its waiting included."
    )
    rate: Annotated[str, AfterValidator(_check_rates)] = Field(
        "120/minute",
        description="Requests for answers that one caller may make. All limits of several hold: 120/minute; "
        "500/day.",
    )
    stop_seconds: float = Field(
        20,
        ge=0,
        le=86_400,
        description="How long the answers in progress may still take when the server is stopped.",
    )
    workers: int = Field(
        2,
        ge=0,
        le=32,
        description="Processes that index documents, each another collection; 0 where others do "
        "(adaptive-rag worker).",
    )
    metrics: bool = Field(
        True,
        description="Show figures for Prometheus at /metrics, to this machine and to a server admin's token.",
    )
    trace: bool = Field(
        False, description="Send OpenTelemetry traces to where OTEL_EXPORTER_OTLP_ENDPOINT says."
    )
    trace_contents: bool = Field(
        False, description="Include the texts of questions, passages and answers in these traces."
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Order the sources by precedence: arguments, then the environment, then the config file."""
        toml = TrustedConfigFile(settings_cls, CONFIG_FILE, (SERVER_TABLE,))
        return init_settings, env_settings, toml

    @model_validator(mode="after")
    def _check_provider(self) -> ServerSettings:
        if self.oidc_issuer and not self.oidc_client_id:
            raise ValueError("oidc_issuer needs oidc_client_id, the name of this server at the provider")
        address = urlsplit(self.oidc_issuer or "")
        if self.oidc_issuer and address.scheme != "https" and not is_loopback(address.hostname):
            raise ValueError("oidc_issuer must be an https address, since its answers say who signs in")
        return self

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        return is_loopback(self.host)

    @property
    def learned_router(self) -> Path:
        """The file with what the router learned from votes; while it exists, the router uses it."""
        return self.data.absolute() / "router.json"

    @property
    def signing_key(self) -> Path:
        """The file of the key that signs backups."""
        return self.backup_key or self.data.absolute() / BACKUP_KEY

    @property
    def encryption_key(self) -> Path:
        """The file of the key that encrypts the API keys in the database."""
        return self.secrets_key or self.data.absolute() / SECRETS_KEY

    @property
    def database_address(self) -> str:
        """The address of the database in the form that SQLAlchemy expects."""
        if self.database is None:
            return f"sqlite:///{self.data / 'server.sqlite'}"
        address = self.database.get_secret_value()
        return address.replace("postgresql://", "postgresql+psycopg://", 1)


def read_server_settings(**values: Any) -> ServerSettings:
    """Read the settings; a wrong value becomes one readable error.

    Raises:
        ConfigurationError: a setting is unknown or out of bounds, and the message names each such setting;
            or the config file cannot be read.
    """
    try:
        return ServerSettings(**values)
    except ValidationError as error:
        raise ConfigurationError(_explain(error)) from None
    except SettingsError as error:
        raise ConfigurationError(f"The environment cannot be read: {error}.") from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"The config file {CONFIG_FILE} cannot be read: {error}.") from error
    except RecursionError as error:
        where = f"The environment, or the config file {CONFIG_FILE},"
        raise ConfigurationError(f"{where} cannot be read: a value is nested too deep.") from error


def _explain(error: ValidationError) -> str:
    """Describe what is wrong, without the values: some are secret."""
    lines = list[str]()
    for problem in error.errors():
        name = ".".join(map(str, problem["loc"]))
        setting = f"{SERVER_TABLE}.{name}" if name else SERVER_TABLE
        if problem["type"] == "extra_forbidden":
            hint = did_you_mean(name, ServerSettings.model_fields)
            lines.append(f"{setting!r} is not a setting.{hint} All settings: adaptive-rag settings --server")
        else:
            reason = problem["msg"].removeprefix("Value error, ").replace("Input should be", "expected")
            lines.append(f"{setting} is not usable: {reason}.")
    return " ".join(lines)
