import math

import numpy as np
import pytest

from adaptive_rag.answer.evidence import likelihood
from adaptive_rag.answer.styles import STYLES
from benchmarks.answers import ELSEWHERE, WHOLE, WITHOUT_GOLD
from benchmarks.evidence import Judged, fit, format_refusals, format_weights, threshold


def made(number, passage=5.0, lead=3.0):
    """Make questions whose answers are as likely as a logistic with these weights says."""
    drawn = np.random.default_rng(0)
    for i in range(number):
        measures = tuple(drawn.normal([0.9, 0.4], 0.3).tolist())
        likely = 1 / (1 + math.exp(-(passage * measures[0] + lead * measures[1] - 5.7)))
        where = WHOLE if drawn.random() < likely else (WITHOUT_GOLD, ELSEWHERE)[i % 2]
        yield Judged("factual_squad", str(i), where, ("factual", "opinion")[i % 2], measures)


def test_the_fit_finds_the_weights_that_made_the_questions():
    assert fit(list(made(4000))) == pytest.approx([5.0, 3.0], abs=0.6)


@pytest.mark.parametrize("strategy", STYLES)
def test_a_threshold_is_the_sum_of_measures_that_is_as_likely_as_the_style_needs(strategy):
    assert likelihood(threshold(strategy)) == pytest.approx(STYLES[strategy].evidence)


def test_the_tables_show_the_weights_and_what_is_refused():
    needed = threshold("factual")
    judged = [
        Judged("factual_squad", str(i), WHOLE, "factual", (needed - 0.5, lead))
        for i, lead in enumerate([0.45, 0.49, 0.51, 0.8])
    ]

    assert "| factual | factual_squad | whole | 4 | 0.00 | 0.00 | 0.50 | 0.75 | 0.75 |" in format_refusals(
        judged
    )
    assert format_weights(list(made(400))).splitlines()[-1].startswith("| in the code | 5.0 | 5.0 |")
