import pytest

from adaptive_rag.evaluation.routing import RoutedQuestion, reliability, risk_coverage, score_routing

ROUTED = [
    RoutedQuestion("factual", "factual", 0.9),
    RoutedQuestion("factual", "factual", 0.8),
    RoutedQuestion("factual", "analytical", 0.5),
    RoutedQuestion("analytical", "analytical", 0.6),
    RoutedQuestion("opinion", "opinion", 0.95),
]


def test_accuracy_macro_f1_confusion_and_calibration_agree_with_a_calculation_by_hand() -> None:
    report = score_routing(ROUTED)
    assert report is not None
    assert report.accuracy == pytest.approx(4 / 5)
    assert report.f1 == pytest.approx({"factual": 4 / 5, "analytical": 2 / 3, "opinion": 1.0})
    assert report.macro_f1 == pytest.approx((4 / 5 + 2 / 3 + 1) / 3)
    assert report.confusion["factual"] == {"factual": 2, "analytical": 1, "opinion": 0, "contextual": 0}
    # Bins (0.4, 0.5], (0.5, 0.6], (0.7, 0.8], (0.8, 0.9], (0.9, 1.0], one question each.
    assert report.calibration_error == pytest.approx((0.5 + 0.4 + 0.2 + 0.1 + 0.05) / 5)


def test_a_router_that_is_as_right_as_it_says_has_no_calibration_error() -> None:
    honest = [RoutedQuestion("factual", "factual" if i < 3 else "opinion", 0.75) for i in range(4)]
    report = score_routing(honest)
    assert report is not None
    assert report.calibration_error == pytest.approx(0.0)
    assert [(b.n, b.accuracy) for b in reliability(honest)] == [(4, 0.75)]


def test_risk_grows_as_less_sure_questions_are_let_in() -> None:
    assert risk_coverage(ROUTED) == [(0.2, 0.0), (0.4, 0.0), (0.6, 0.0), (0.8, 0.0), (1.0, 0.2)]


def test_questions_of_one_probability_share_their_risk_whatever_their_order() -> None:
    pair = [RoutedQuestion("factual", "factual", 0.5), RoutedQuestion("factual", "opinion", 0.5)]
    assert risk_coverage(pair) == risk_coverage(pair[::-1]) == [(0.5, 0.5), (1.0, 0.5)]


def test_without_labelled_questions_there_is_no_report() -> None:
    assert score_routing([]) is None
