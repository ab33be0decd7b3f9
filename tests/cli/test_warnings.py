"""What the shell shows of warnings: ours in plain lines, those of other packages as Python shows them."""

import warnings

import pytest

from adaptive_rag.cli.output import reporting_errors
from adaptive_rag.models import cross_encoder


def test_a_warning_of_ours_is_one_plain_line(capfd: pytest.CaptureFixture[str]) -> None:
    @reporting_errors
    def command() -> None:
        cross_encoder.warn_once("a model of this test", "the cross-encoder does not score")

    command()
    assert capfd.readouterr().err == "the cross-encoder does not score\n"


def test_a_warning_of_another_package_is_left_alone(capfd: pytest.CaptureFixture[str]) -> None:
    @reporting_errors
    def command() -> None:
        warnings.warn_explicit("numbers overflow", RuntimeWarning, "elsewhere/matrix.py", 7)

    with pytest.warns(RuntimeWarning, match="numbers overflow"):
        command()
    assert capfd.readouterr().err == ""
