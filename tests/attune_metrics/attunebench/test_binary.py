"""Binary questions. Expected values are derived by hand in the comments."""

from math import sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attune_metrics import (
    MetricInputError,
    binary_accuracy,
    binary_f1,
    binary_mcc,
    binary_precision,
    binary_recall,
    draft_binary_alignment,
)
from attune_metrics.attunebench.questions import (
    BinaryCounts,
    binary_counts,
    count_answers,
    count_predictions,
    hp_reference,
    om_reference,
    prepare_answers,
)

ANSWERS = st.sampled_from(["yes", "no", "na", None])

# Yes: B1-B5, predicted yes yes yes no (missing); no: B6-B8, predicted yes no na; B9, B10 do not count.
REFERENCE = {f"B{i}": "yes" for i in range(1, 6)} | {f"B{i}": "no" for i in range(6, 9)} | {"B9": "na", "B10": None}
PREDICTED = {"B1": "yes", "B2": "yes", "B3": "yes", "B4": "no", "B6": "yes", "B7": "no", "B8": "na", "B9": "yes"}


def test_counts_and_scores() -> None:
    counts = binary_counts(REFERENCE, PREDICTED)
    assert counts == BinaryCounts(tp=3, tn=2, fp=1, fn=2)
    assert counts.n == 8
    assert counts.accuracy == binary_accuracy(REFERENCE, PREDICTED) == 5 / 8
    assert counts.precision == binary_precision(REFERENCE, PREDICTED) == 3 / 4
    assert counts.recall == binary_recall(REFERENCE, PREDICTED) == 3 / 5
    # 2 * 3 / (2 * 3 + 1 + 2)
    assert counts.f1 == binary_f1(REFERENCE, PREDICTED) == pytest.approx(2 / 3, abs=1e-12)
    # (3 * 2 - 1 * 2) / sqrt(4 * 5 * 3 * 4)
    assert counts.mcc == binary_mcc(REFERENCE, PREDICTED) == pytest.approx(4 / sqrt(240), abs=1e-12)


def test_a_missing_or_na_prediction_is_taken_as_no() -> None:
    assert binary_counts({"B1": "yes", "B2": "yes", "B3": "no"}, {"B2": "na"}) == BinaryCounts(fn=2, tn=1)


def test_letter_case_and_space_do_not_matter() -> None:
    assert binary_counts({"B1": " YES", "B2": "No "}, {"B1": "Yes", "B2": "nO"}) == BinaryCounts(tp=1, tn=1)


def test_without_judgements() -> None:
    assert binary_accuracy({}, {"B1": "yes"}) == 1.0
    assert binary_accuracy({}, {"B1": "yes"}, without_judgements=0.0) == 0.0
    assert binary_counts({}, {"B1": "yes"}) == BinaryCounts()
    assert not prepare_answers({}).judged


def test_judgements_but_none_answered() -> None:
    reference = {"B1": "na", "B2": None}
    assert binary_accuracy(reference, {"B1": "yes"}) == 0.0
    assert prepare_answers(reference).judged


@pytest.mark.parametrize("counts", [BinaryCounts(), BinaryCounts(tn=4), BinaryCounts(fn=4)])
def test_zero_over_zero_is_zero(counts: BinaryCounts) -> None:
    assert (counts.precision, counts.recall, counts.f1, counts.mcc) == (0, 0, 0, 0)


def test_counts_pool() -> None:
    parts = [BinaryCounts(1, 2, 3, 4), BinaryCounts(10, 20, 30, 40)]
    assert sum(parts, BinaryCounts()) == BinaryCounts(11, 22, 33, 44)


def test_mcc_published_value() -> None:
    # The example of sklearn.metrics.matthews_corrcoef (scikit-learn 1.9): true +1 +1 +1 -1, predicted +1 -1 +1 +1.
    truth = {"a": "yes", "b": "yes", "c": "yes", "d": "no"}
    assert binary_mcc(truth, {"a": "yes", "b": "no", "c": "yes", "d": "yes"}) == pytest.approx(-1 / 3, abs=1e-12)


def test_mcc_keeps_its_digits_in_large_pools() -> None:
    assert BinaryCounts(10**30, 10**30, 0, 0).mcc == 1.0
    assert BinaryCounts(0, 0, 10**30, 10**30).mcc == -1.0
    # One wrong of each kind: (n^2 - 1) / (n + 1)^2 = (n - 1) / (n + 1)
    n = 10**12
    assert BinaryCounts(n, n, 1, 1).mcc == pytest.approx((n - 1) / (n + 1), abs=1e-15)


def test_truth_falls_back_from_none_only() -> None:
    assert om_reference("no", "yes") == "no"
    assert om_reference("na", "yes") == "na"
    assert om_reference(None, "yes") == "yes"
    assert om_reference(None) is None
    assert hp_reference("no", "yes") == "no"
    assert hp_reference("na", "yes") == "na"
    assert hp_reference(None, "yes") == "yes"


def test_prepared_truth_serves_many_predictions() -> None:
    truth = prepare_answers(REFERENCE)
    assert count_answers(truth, PREDICTED) == binary_counts(REFERENCE, PREDICTED)
    assert count_answers(truth, {}) == BinaryCounts(fn=5, tn=3)


@given(st.dictionaries(st.sampled_from("abcdef"), ANSWERS), st.dictionaries(st.sampled_from("abcdef"), ANSWERS))
def test_a_prediction_is_there_where_it_is_not_none(reference: dict[str, Any], predicted: dict[str, Any]) -> None:
    *counts, present = count_predictions(prepare_answers(reference), predicted)
    assert BinaryCounts(*counts) == count_answers(prepare_answers(reference), predicted)
    counted = [question for question, answer in reference.items() if answer in ("yes", "no")]
    assert present == sum(predicted.get(question) is not None for question in counted)


def test_true_and_false_are_yes_and_no() -> None:
    # Of B1 to B4 the reference says yes, no, yes, no; the prediction yes, yes, no, no: one of each cell.
    words = {"B1": "yes", "B2": "yes", "B3": "no", "B4": "no"}, {"B1": "yes", "B2": "no", "B3": "yes", "B4": "no"}
    spelt: list[tuple[Any, Any]] = [
        (True, False),
        (np.True_, np.False_),
        (np.array(True), np.array(False)),
        ("YES", "no "),
    ]
    for yes, no in spelt:
        predicted, reference = ({q: yes if answer == "yes" else no for q, answer in side.items()} for side in words)
        assert binary_counts(reference, predicted) == BinaryCounts(tp=1, tn=1, fp=1, fn=1)
        assert draft_binary_alignment(reference, predicted) == draft_binary_alignment(words[1], words[0])
    with pytest.raises(MetricInputError, match="predicted B1: unknown answer array"):
        binary_counts({"B1": True}, {"B1": np.array([True, False])})  # type: ignore[dict-item]  # the mistake


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({"B1": "maybe"}, "predicted B1: unknown answer 'maybe'; expected yes, no, na, True, False or None"),
        ({"B1": 1}, "predicted B1: unknown answer 1"),
        ({"B1": ""}, "predicted B1: unknown answer ''"),
        ({1: "yes"}, "predicted question id 1 is not a text"),
        (["yes"], r"predicted is \['yes'\] \(list\); expected a mapping question id"),
        (None, "predicted is None; expected a mapping"),
    ],
)
def test_bad_answers_raise(answers: Any, message: str) -> None:
    with pytest.raises(MetricInputError, match=message):
        binary_counts({}, answers)
    with pytest.raises(MetricInputError, match=message.replace("predicted", "reference")):
        binary_counts(answers, {})
