"""How often something may be done."""

import pytest

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.server.problems import Problem
from adaptive_rag.server.rates import Rates, network_of
from adaptive_rag.server.settings import read_server_settings
from tests.server.conftest import SAMPLES, Serve, add_user
from tests.server.test_asking import QUESTION, URL


def test_one_caller_asks_too_often_and_another_is_answered(serve: Serve) -> None:
    with serve(rate="2/hour") as client:
        # It has no documents, which is told to those who may still ask.
        client.post("/api/v1/collections", json={"name": SAMPLES})
        ada, bob = (add_user(client, name, is_admin=True) for name in ("ada", "bob"))
        assert [ada.post(URL, json=QUESTION).status_code for _ in range(3)] == [409, 409, 429]
        refused = ada.post(URL, json=QUESTION)
        assert 1 <= int(refused.headers["Retry-After"]) <= 3600
        assert "2 per 1 hour" in refused.json()["detail"]
        assert bob.post(URL, json=QUESTION).status_code == 409


def test_guesses_are_bounded_by_name_and_by_address() -> None:
    rates = Rates("1/minute")
    for _ in range(10):
        rates.count_sign_in("192.0.2.1", "ada")
    with pytest.raises(Problem) as refused:
        rates.count_sign_in("192.0.2.1", "ada")
    assert refused.value.status_code == 429
    # Ada at home can still sign in, and who guesses many names cannot for long.
    rates.count_sign_in("192.0.2.2", "ada")
    for number in range(49):
        rates.count_sign_in("192.0.2.1", f"user{number}")
    with pytest.raises(Problem):
        rates.count_sign_in("192.0.2.1", "bob")


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
    with pytest.raises(ConfigurationError, match=r"server\.rate"):
        read_server_settings(rate="often")
