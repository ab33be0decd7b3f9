import base64
import time
import traceback
from typing import Any

import pytest

from adaptive_rag.text import redaction
from adaptive_rag.text.redaction import (
    REDACTED,
    PiecewiseRedactor,
    cause_of,
    quote_user,
    redact,
    redact_all,
    redact_known,
    remember,
    remember_address,
    remember_fields,
)

KEY = "canary-key-7f3a9c51e2"


@pytest.fixture(autouse=True)
def _nothing_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "_remembered", {})


@pytest.mark.parametrize(
    "name", "OPENAI_API_KEY HF_TOKEN AWS_SECRET_ACCESS_KEY PGPASSWORD MY_SECRET db_password DB_PWD".split()
)
def test_the_keys_of_the_environment_are_known(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    said = f"the key {KEY} is wrong, and so is ?k={KEY}&x"
    assert redact_known(said) == said
    monkeypatch.setenv(name, KEY)
    assert redact_known(said) == f"the key {REDACTED} is wrong, and so is ?k={REDACTED}&x"
    monkeypatch.delenv(name)
    assert redact_known(said) == said


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OPENAI_API_KEY", "none"),  # what a local server is given
        ("API_TOKEN", "password"),
        ("API_TOKEN", "12345678"),
        ("KEYBOARD", "dvorak-international"),
        ("OLDPWD", "/home/somebody/with-numbers-2024"),
        ("GOOGLE_APPLICATION_CREDENTIALS", __file__),
        ("HOME_URL", "https://town.example/wall"),
        ("SERVER_HOST", "machine-number-seventeen"),
    ],
)
def test_a_word_or_an_address_is_no_secret(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    said = f"none of the passages says password 12345678 at {value}"
    assert redact(said) == said


@pytest.mark.parametrize(
    "name", ["DATABASE_URL", "OPENAI_BASE_URL", "OPENAI_API_BASE", "HTTPS_PROXY", "SENTRY_DSN"]
)
def test_the_password_of_an_address_of_the_environment_is_known(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "https://bob:s3cret%2Fword@town.example/v1")
    basic = base64.b64encode(b"bob:s3cret/word").decode()
    for shown in ("s3cret/word", "s3cret%2Fword", "bob:s3cret%2Fword", basic):
        assert redact_known(f"it is {shown}!") == f"it is {REDACTED}!"
    assert redact_known("bob at town.example") == "bob at town.example"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("at https://bob:pw@town.example/v1?a=1.", f"at https://{REDACTED}@town.example/v1?a=1."),
        ("at https://x/v1?api_key=abc&a=1#b", f"at https://x/v1?api_key={REDACTED}&a=1#b"),
        ("Authorization: Bearer abc123def456ghi789", f"Authorization: Bearer {REDACTED}"),
        ("'Authorization': 'Basic Ym9iOnMzY3JldA=='", f"'Authorization': 'Basic {REDACTED}'"),
        ("key sk-proj-a1b2c3d4e5f6g7h8 refused", f"key {REDACTED} refused"),
        ("gsk_a1b2c3d4e5f6g7h8i9 hf_a1b2c3d4e5f6g7h8i9", f"{REDACTED} {REDACTED}"),
        ("AKIAIOSFODNN7EXAMPLE.", f"{REDACTED}."),
        ("eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.SflKxwRJSMeKKF2QT4", REDACTED),
    ],
)
def test_other_secrets_are_told_by_their_shape(said: str, shown: str) -> None:
    assert redact(said) == shown
    # A document may show an example of a key, and an answer quotes it.
    assert redact_known(said) == said


@pytest.mark.parametrize(
    "text",
    [
        "Basic understanding of bearer bonds-and-securities is needed.",
        "The sk-learn and pk-tools packages; a risk-based-approach-for-2024.",
        "https://town.example/a@b?page=2&keyword=sea and a@town.example",
        "Its token count is 4096; the secret of the sea.",
        "chunk 5f3a9c51e2d84b60 scored 0.563",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert redact(text) == text


def test_a_live_model_s_key_headers_and_address_are_remembered() -> None:
    class Secret:
        def get_secret_value(self) -> str:
            return KEY

    fields: dict[str, Any] = {
        "openai_api_key": Secret(),
        "default_headers": {"Authorization": "Token header-value-42"},
        "base_url": "https://bob:pass-word-9@town.example",
        "name": "an ordinary field of a model",
    }
    remember_fields(fields)
    said = f"{KEY} header-value-42 pass-word-9 an ordinary field of a model"
    assert redact_known(said) == f"{REDACTED} {REDACTED} {REDACTED} an ordinary field of a model"


def test_plain_data_is_redacted_in_all_its_texts() -> None:
    remember(KEY)
    live = object()
    value = {"a": [f"x {KEY}", 1, None], "b": {"c": (KEY,)}, "d": live}
    assert redact_all(value) == {"a": [f"x {REDACTED}", 1, None], "b": {"c": (REDACTED,)}, "d": live}
    assert value["a"] == [f"x {KEY}", 1, None]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 50, 500])
def test_a_secret_that_comes_in_pieces_is_not_shown(size: int) -> None:
    remember(KEY)
    said = f"It is {KEY}, or canary-key, or canar{KEY} and c"
    redactor = PiecewiseRedactor()
    shown = [redactor.feed(said[start : start + size]) for start in range(0, len(said), size)]
    assert "".join([*shown, redactor.rest()]) == said.replace(KEY, REDACTED)


def test_an_error_that_repeats_a_secret_is_no_cause() -> None:
    remember_address(f"https://bob:{KEY}@town.example")

    def fail(said: str) -> Exception:
        try:
            try:
                raise OSError(said)
            except OSError as inner:
                raise ValueError("no connection") from inner
        except ValueError as outer:
            return outer

    harmless = fail("refused")
    assert cause_of(harmless) is harmless
    telling = fail(f"refused for {KEY}")
    assert KEY in "".join(traceback.format_exception(telling))
    assert cause_of(telling) is None


def test_a_secret_that_is_no_utf_8_is_known_too(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = b"caf\xe9-canary-1234".decode(errors="surrogateescape")
    monkeypatch.setenv("DB_PASSWORD", secret)
    monkeypatch.setenv("DATABASE_URL", f"postgres://ada:{secret}@host/db")
    assert redact(f"it is {secret}") == f"it is {REDACTED}"


def test_shapes_of_keys_are_sought_in_a_time_that_grows_with_the_length() -> None:
    for text in ("sk-" * 20_000, "eyJ-" * 20_000, "Bearer " + "x" * 60_000):
        started = time.process_time()
        redact(text)
        assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("address", "quoted"),
    [
        ("postgresql://rag:SECRET@pass99@host/db", "postgresql://rag:SECRET%40pass99@host/db"),
        ("postgresql://rag@town:a@b@host:5432/db?x=a@b", "postgresql://rag%40town:a%40b@host:5432/db?x=a@b"),
        ("postgresql://rag:plain@host/db", "postgresql://rag:plain@host/db"),
        ("postgresql://host/db?user=a@b", "postgresql://host/db?user=a@b"),
    ],
)
def test_a_password_ends_at_the_last_at_sign_of_an_address(address: str, quoted: str) -> None:
    assert quote_user(address) == quoted
    assert "pass99" not in redact(f"{address} and {quoted}")
