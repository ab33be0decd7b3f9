"""How often something may be done."""

import re
import time

import pytest

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.server.machine import network_of
from adaptive_rag.server.problems import Problem
from adaptive_rag.server.rates import Rates
from adaptive_rag.server.settings import read_server_settings
from tests.server.conftest import SAMPLES, Serve, add_user
from tests.server.test_asking import QUESTION, URL


def test_one_caller_asks_too_often_and_another_is_answered(serve: Serve) -> None:
    with serve(rate="2/hour", collection=SAMPLES) as client:
        # It has no documents, which is told to those who may still ask.
        ada, bob = (add_user(client, name, is_admin=True) for name in ("ada", "bob"))
        assert [ada.post(URL, json=QUESTION).status_code for _ in range(3)] == [409, 409, 429]
        refused = ada.post(URL, json=QUESTION)
        assert 1 <= int(refused.headers["Retry-After"]) <= 3600
        assert "2 in 1 hour" in refused.json()["detail"]
        assert bob.post(URL, json=QUESTION).status_code == 409


def test_several_limits_hold_together_and_the_one_that_is_waited_for_longest_is_named(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve(rate="2/minute; 3/day", collection=SAMPLES) as client:
        passed, real = [0.0], time.monotonic
        monkeypatch.setattr(time, "monotonic", lambda: real() + passed[0])
        told = []
        for seconds in (0, 0, 0, 0, 61, 0, 86_400):
            passed[0] += seconds
            answer = client.post(URL, json=QUESTION)
            told.append((answer.status_code, answer.json()["detail"]))
    assert [status for status, _ in told] == [409, 409, 429, 429, 409, 429, 409]
    # What was refused counts against no limit.
    assert re.fullmatch(r"Too many attempts: at most 2 in 1 minute\. Try again in \d+ seconds\.", told[2][1])
    assert told[5][1] == "Too many attempts: at most 3 in 1 day. Try again in 24 hours."


def test_guesses_are_bounded_by_name_and_by_address() -> None:
    counts = Rates("1/minute")
    for _ in range(10):
        counts.count_password("192.0.2.1", "ada", lambda: True)
    with pytest.raises(Problem) as refused:
        counts.count_password("192.0.2.1", "ada", lambda: True)
    assert refused.value.status_code == 429
    # Ada at home can still sign in, and who guesses many names cannot for long.
    counts.count_password("192.0.2.2", "ada", lambda: False)
    for number in range(49):
        counts.count_password("192.0.2.1", f"user{number}", lambda: False)
    with pytest.raises(Problem):
        counts.count_password("192.0.2.1", "bob", lambda: False)


def test_guesses_that_are_checked_at_once_are_counted_before() -> None:
    counts = Rates("1/minute")
    for number in range(100):
        counts.count_wrong_password(f"10.0.{number}.1", "ada")
    counts.count_password("192.0.2.1", "ada", lambda: False)  # and its password is being checked
    with pytest.raises(Problem, match="1 in 1 hour"):
        counts.count_password("192.0.2.1", "ada", lambda: False)
    counts.count_password("192.0.2.1", "ada", lambda: True)


def test_a_clock_that_jumps_keeps_nobody_out(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve(rate="2/hour", collection=SAMPLES) as client:
        assert [client.post(URL, json=QUESTION).status_code for _ in range(3)] == [409, 409, 429]
        real = time.time
        for days in (-30, 30):
            monkeypatch.setattr(time, "time", lambda jump=days: real() + jump * 86_400)
            jumped = client.post(URL, json=QUESTION)
            assert jumped.status_code == 429 and 3500 < int(jumped.headers["Retry-After"]) <= 3600


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8::1", "2001:db8::/64"),
        ("2001:db8::ffff:1", "2001:db8::/64"),
        ("testclient", "testclient"),
    ],
)
def test_an_ipv6_network_counts_as_one_machine(address: str, network: str) -> None:
    assert network_of(address) == network


def test_a_rate_that_cannot_be_read_is_refused_at_the_start() -> None:
    for rate in ("often", "", "2/hour; often"):
        with pytest.raises(ConfigurationError, match=r"server\.rate"):
            read_server_settings(rate=rate)
