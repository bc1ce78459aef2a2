"""PANAS. Expected values are derived by hand in the comments."""

from math import isnan
from typing import Any

import pytest

from attune_metrics import (
    MetricInputError,
    UndefinedMetricWarning,
    panas_baseline_adjusted,
    panas_item_baseline_adjusted,
    panas_item_mae,
    panas_item_normalized,
    panas_mae,
    panas_na_baseline_adjusted,
    panas_na_mae,
    panas_na_normalized,
    panas_normalized,
    panas_pa_baseline_adjusted,
    panas_pa_mae,
    panas_pa_normalized,
)
from attune_metrics.attunebench.composite import RELEASED
from attune_metrics.attunebench.emotion import NEGATIVE_AFFECT, POSITIVE_AFFECT
from attune_metrics.attunebench.panas import Panas, PanasTotals, panas_scores, panas_totals, prepare_panas, score_panas

THREES = dict.fromkeys(POSITIVE_AFFECT, 3)  # sum 30


def totals(positive: float | None, negative: float | None = None) -> Panas:
    return Panas(positive_total=positive, negative_total=negative)


def test_aggregate_errors() -> None:
    # |50 - 44| = 6, |20 - 30| = 10, mean 8
    reference, predicted = totals(50, 20), totals(44, 30)
    assert panas_pa_mae(reference, predicted) == 6
    assert panas_na_mae(reference, predicted) == 10
    assert panas_mae(reference, predicted) == 8
    assert panas_pa_normalized(reference, predicted) == pytest.approx(0.9, abs=1e-12)
    assert panas_na_normalized(reference, predicted) == pytest.approx(5 / 6, abs=1e-12)
    assert panas_normalized(reference, predicted) == pytest.approx(1 - 8 / 60, abs=1e-12)


def test_a_total_missing_on_one_end_is_forty() -> None:
    # PA |40 - 46| = 6, NA |10 - 40| = 30
    assert panas_mae(totals(None, 10), totals(46, None)) == 18


def test_an_affect_missing_on_both_ends_is_left_out() -> None:
    assert panas_mae(totals(50), totals(44)) == 6
    with pytest.warns(UndefinedMetricWarning, match="undefined: panas_na_mae") as caught:
        assert isnan(panas_na_mae(totals(50), totals(44)))
    assert caught[0].filename == __file__


def test_nothing_at_all_is_undefined() -> None:
    with pytest.warns(UndefinedMetricWarning, match="undefined: mae, normalized, pa_mae") as caught:
        scores = panas_scores(Panas(), Panas())
    assert caught[0].filename == __file__
    assert isnan(scores.mae)
    assert isnan(scores.normalized)
    assert isnan(scores.item_mae)
    assert scores.item_errors == {}
    assert "baseline_adjusted" not in str(caught[0].message)


def test_baseline_adjusted() -> None:
    # PA: naive error |50 - 40| = 10, error |50 - 46| = 4, 1 - 4/10. In full: naive 1 - 10/60 = 5/6, raw 1 - 4/60 =
    # 14/15, (14/15 - 5/6) / (1 - 5/6) = 3/5. NA: 1 - 5/10. Mean 0.55.
    baseline, reference, predicted = totals(40, 30), totals(50, 20), totals(46, 25)
    assert panas_pa_baseline_adjusted(reference, predicted, baseline=baseline) == pytest.approx(0.6, abs=1e-12)
    assert panas_na_baseline_adjusted(reference, predicted, baseline=baseline) == 0.5
    assert panas_baseline_adjusted(reference, predicted, baseline=baseline) == pytest.approx(0.55, abs=1e-12)


def test_baseline_adjusted_equals_the_documented_formula() -> None:
    for before in range(10, 71, 6):
        for after in range(10, 71, 7):
            for guess in range(10, 71, 5):
                if before != after:
                    naive, raw = max(0, 1 - abs(after - before) / 60), max(0, 1 - abs(after - guess) / 60)
                    expected = min(1, max(-1, (raw - naive) / (1 - naive)))
                    got = panas_baseline_adjusted(totals(after), totals(guess), baseline=totals(before))
                    assert got == pytest.approx(expected, abs=1e-12)


def test_baseline_adjusted_is_clamped() -> None:
    # 1 - 40/10 = -3
    assert panas_baseline_adjusted(totals(50), totals(10), baseline=totals(40)) == -1


@pytest.mark.parametrize(
    ("baseline", "reference", "predicted"),
    [
        (totals(50), totals(50), totals(40)),  # nothing changed
        (totals(None), totals(50), totals(40)),
        (totals(30), totals(None), totals(40)),
        (totals(30), totals(50), totals(None)),  # a missing total is 40 for the MAE only
    ],
)
def test_baseline_adjusted_is_undefined(baseline: Panas, reference: Panas, predicted: Panas) -> None:
    with pytest.warns(UndefinedMetricWarning, match="panas_baseline_adjusted"):
        assert isnan(panas_baseline_adjusted(reference, predicted, baseline=baseline))


def test_items() -> None:
    # On both ends: proud |5 - 4| = 1, upset |2 - 5| = 3; afraid and alert are on one end, guilty is null.
    reference = Panas({"proud": 5, "UPSET": 2, "alert": 7, "guilty": None})
    predicted = Panas({" Proud ": 4, "Upset": 5, "afraid": 1, "guilty": 3})
    assert panas_item_mae(reference, predicted) == 2
    assert panas_item_normalized(reference, predicted) == pytest.approx(2 / 3, abs=1e-12)
    assert score_panas(prepare_panas(reference), prepare_panas(predicted)).item_errors == {"Proud": 1, "Upset": 3}


def test_item_baseline_adjusted() -> None:
    # proud 1 - 1/2, upset 1 - 3/1 -> -1, alert did not change, active has no baseline. Mean (0.5 - 1) / 2.
    baseline = Panas({"Proud": 3, "Upset": 3, "Alert": 4})
    reference = Panas({"Proud": 5, "Upset": 2, "Alert": 4, "Active": 2})
    predicted = Panas({"Proud": 4, "Upset": 5, "Alert": 1, "Active": 2})
    assert panas_item_baseline_adjusted(reference, predicted, baseline=baseline) == -0.25


def test_no_common_item_is_undefined() -> None:
    for metric in (panas_item_mae, panas_item_normalized):
        with pytest.warns(UndefinedMetricWarning, match=metric.__name__):
            assert isnan(metric(Panas({"Proud": 5}), Panas({"Upset": 5})))


@pytest.mark.parametrize(
    ("panas", "documented", "released"),
    [
        (Panas(THREES, 45, None), 30, 45),  # all ten items against a recorded total
        (Panas(THREES), 30, 30),
        (Panas({**THREES, "Proud": None}, 45), 45, 45),  # nine items: the recorded total
        (Panas({**THREES, "Proud": None}), 27, 27),
        (Panas({"Proud": 3}), 10, 10),  # 3 is clamped to 10
        (Panas({}, 45), 45, 45),
        (Panas({"Upset": 7}), None, None),
    ],
)
def test_positive_total_under_each_protocol(panas: Panas, documented: float | None, released: float | None) -> None:
    assert panas_totals(panas).positive == documented
    assert panas_totals(panas, protocol=RELEASED).positive == released
    assert panas_totals(panas, protocol="released") == panas_totals(panas, protocol=RELEASED)


def test_both_totals() -> None:
    assert panas_totals(Panas(dict.fromkeys(NEGATIVE_AFFECT, 2), 33, 44)) == PanasTotals(33, 20)


def test_protocol_changes_pre_post_and_prediction_alike() -> None:
    # documented: 30, 30, 30; released: pre 40, post 50, prediction 45.
    baseline, reference, predicted = Panas(THREES, 40), Panas(THREES, 50), Panas(THREES, 45)
    assert panas_mae(reference, predicted) == 0
    assert panas_mae(reference, predicted, protocol=RELEASED) == 5
    assert panas_baseline_adjusted(reference, predicted, baseline=baseline, protocol=RELEASED) == 0.5
    forms = [prepare_panas(form) for form in (reference, predicted, baseline)]
    assert isnan(score_panas(forms[0], forms[1], baseline=forms[2]).baseline_adjusted)


def test_the_unchecked_door_clamps_and_ignores_unknown_words() -> None:
    scores = score_panas(
        prepare_panas(Panas({"proud": 9, "happy": 3}, 80)), prepare_panas(Panas({"Proud": -1, "Happy": 5}, 5))
    )
    assert scores.item_errors == {"Proud": 6}
    assert scores.pa_mae == 60
    assert scores.pa_normalized == 0
    assert scores.item_normalized == 0


@pytest.mark.parametrize(
    ("panas", "message"),
    [
        (Panas({"happy": 3}), "reference item 'happy' is not one of the 20 PANAS words"),
        (Panas({1: 3}), "reference item 1 is not one"),  # type: ignore[dict-item]
        (Panas({"proud": 8}), r"reference item Proud 8 is outside 1-7; is this a 0-10 scale\?"),
        (Panas({"proud": "4"}), "reference item Proud '4' is not a finite number"),  # type: ignore[dict-item]
        (Panas({"proud": 3, "Proud": 4}), "reference item Proud is given twice"),
        (Panas({}, 3), "reference positive_total 3 is outside 10-70"),
        (Panas({}, None, -12), r"reference negative_total -12 is outside 10-70; is this a difference\?"),
        (Panas(None), "reference items is None; expected a mapping"),  # type: ignore[arg-type]
        ({"proud": 3}, "is not a Panas; write Panas"),
    ],
)
def test_bad_forms_raise(panas: Any, message: str) -> None:
    with pytest.raises(MetricInputError, match=message):
        panas_mae(panas, Panas())
    with pytest.raises(MetricInputError, match=message.replace("reference", "predicted")):
        panas_scores(Panas(), panas)
    with pytest.raises(MetricInputError, match=message.replace("reference", "baseline")):
        panas_scores(Panas(), Panas(), baseline=panas)
    with pytest.raises(MetricInputError, match=message.replace("reference", "panas")):
        panas_totals(panas)


def test_unknown_protocol_raises() -> None:
    with pytest.raises(MetricInputError, match="unknown protocol 'paper'; known: documented, released"):
        panas_mae(Panas(), Panas(), protocol="paper")
