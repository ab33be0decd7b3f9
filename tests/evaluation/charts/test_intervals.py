import re

import pytest

from adaptive_rag.evaluation.charts import draw_interval, tone


@pytest.mark.parametrize(
    ("low", "high", "expected"), [(0.01, 0.2, "good"), (-0.2, -0.01, "bad"), (-0.1, 0.1, "flat")]
)
def test_only_an_interval_that_leaves_out_zero_is_marked(low: float, high: float, expected: str) -> None:
    assert tone(low, high) == expected
    assert f'class="span {expected}"' in draw_interval((low + high) / 2, low, high, reach=0.2)


def test_an_interval_beyond_the_reach_is_cut_off_at_the_edge_of_its_cell() -> None:
    drawn = draw_interval(0.0, -9.0, 9.0, reach=0.1)
    [(left, right)] = re.findall(r'class="span flat" d="M([\d.]+) 9H([\d.]+)"', drawn)
    assert (float(left), float(right)) == (4.0, 86.0)
