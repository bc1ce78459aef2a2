"""SAGE's board: thresholds, intervals, rounding."""

from fractions import Fraction
from math import inf, isnan, nan, sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import attune_metrics as am
from attune_metrics.sage import round_half_up, sage_scores

quick = settings(deadline=None)


def test_sage_counts_at_its_two_thresholds() -> None:
    scores = sage_scores([100, 99, 10, 9, 0])
    assert (scores.n, scores.score, scores.successes, scores.failures) == (5, 43.6, 1, 2)
    # Wilson with z of 97.5%: (p + z^2/2n -+ z sqrt(p (1 - p) / n + z^2/4n^2)) / (1 + z^2/n).
    z, n = 1.959963984540054, 5
    for interval, p in ((scores.success, 0.2), (scores.failure, 0.4)):
        margin = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        ends = [(p + z * z / (2 * n) + side * margin) / (1 + z * z / n) for side in (-1, 1)]
        assert [interval.low, interval.high] == pytest.approx(ends, abs=1e-12)
        assert (interval.estimate, interval.method) == (p, "wilson")


def test_sage_counts_what_lies_between_whole_numbers() -> None:
    scores = sage_scores([99.5, 9.5, 10.5])
    assert (scores.successes, scores.failures) == (0, 1)


def test_sage_without_conversations_is_undefined() -> None:
    with pytest.warns(am.UndefinedMetricWarning, match="undefined: sage_scores; there are no conversations") as caught:
        scores = sage_scores([])
    assert caught[0].filename == __file__
    assert isnan(scores.score)
    assert scores.success.reason == "no trials"
    with pytest.raises(am.MetricInputError, match="final 104 is outside 0-100"):
        sage_scores([104])


@given(st.integers(0, 10_000))
@quick
def test_half_up_as_in_exact_arithmetic(total: int) -> None:
    exact = Fraction(total, 100)
    assert round_half_up(total / 100) == pytest.approx(float((exact * 10 + Fraction(1, 2)) // 1 / 10), abs=1e-12)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(28.95, 29.0), (68.15, 68.2), (61.25, 61.3), (35.85, 35.9), (0.25, 0.3), (-0.25, -0.3), (1e-7, 0), (1e300, 1e300)],
)
def test_half_up(value: float, expected: float) -> None:
    assert round_half_up(value) == expected


@pytest.mark.parametrize("value", [nan, inf, "many", None])
def test_what_cannot_be_rounded_is_refused(value: float) -> None:
    with pytest.raises(am.MetricInputError, match="is not a finite number"):
        round_half_up(value)
