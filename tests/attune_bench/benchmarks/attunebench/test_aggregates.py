"""The aggregates of ``scores.json``: means, standard errors, pooled counts, coverage and z-scores by hand."""

from collections.abc import Callable, Sequence
from math import nan, sqrt
from typing import Any

import pytest

from attune_bench.benchmarks.attunebench import conversation_score
from attune_bench.benchmarks.attunebench.scores_json import aggregates
from attune_bench.benchmarks.attunebench.scoring import provenance_of, scores_of

Json = dict[str, Any]
Make = Callable[..., Json]
IN_COMPOSITE = (
    "avg_emotion_f1",
    "avg_emotion_va_score",
    "avg_binary_om_accuracy",
    "avg_binary_human_accuracy",
    "avg_pairwise_accuracy",
    "panas_baseline_adjusted",
    "q1_looking_for_score",
    "q2_emotion_clarity_match",
    "q3_model_fit_match",
    "q3_follow_up_score",
    "four_branch_normalized",
    "composite_score",
)
INCOMPLETE: Json = dict.fromkeys(
    ("post_score", "avg_four_branch_mae", "conversation_wide_average", "composite_score", "equal_weight_composite")
)


def _rows(records: Sequence[Json]) -> list[Json]:
    """Return the aggregates of records, each of a conversation of its own."""
    apart: list[Any] = [record | {"conversationId": f"c{place}"} for place, record in enumerate(records)]
    return aggregates(scores_of(apart, provenance_of(protocol="documented")))


def _one(records: list[Json]) -> Json:
    [row] = _rows(records)
    return row


def test_a_single_conversation_is_its_own_mean(make_record: Make) -> None:
    record = make_record()
    row = _one([record])
    averages = [
        name for name in record if name.startswith(("avg_", "hp_")) or name.endswith(("_average", "_composite"))
    ]
    assert len(averages) == 28
    for name in (*averages, "composite_score"):
        assert (row[name], row[f"{name}_n"]) == (pytest.approx(record[name], abs=1e-12), 1), name
    post = record["post_score"]
    for name in post.keys() - {"panas_item_errors", "four_branch_per_branch"}:
        assert (row[name], row[f"{name}_n"]) == (pytest.approx(post[name], abs=1e-12), 1), name
    for name in IN_COMPOSITE:
        assert row[f"{name}_se"] is None, name
    assert {name.removesuffix("_se") for name in row if name.endswith("_se")} == set(IN_COMPOSITE)
    assert set(conversation_score.IN_COMPOSITE) == set(IN_COMPOSITE)
    assert (row["em_model"], row["mode"], row["n_conversations"]) == ("vendor/model", "default", 1)
    assert row["composite_z"] == 0


@pytest.mark.parametrize("name", ["composite_score", "avg_emotion_f1"])
def test_mean_and_standard_error(make_record: Make, name: str) -> None:
    row = _one([make_record(**{name: value}) for value in (0.2, 0.5, 0.8)])
    # Mean .5; deviations -.3, 0, .3: variance .18/2, standard deviation .3, over sqrt 3.
    assert row[name] == pytest.approx(0.5, abs=1e-12)
    assert row[f"{name}_se"] == pytest.approx(0.3 / sqrt(3), abs=1e-12)
    assert (row[f"{name}_n"], row["n_conversations"]) == (3, 3)


def test_nulls_are_skipped(make_record: Make) -> None:
    row = _one([make_record(composite_score=value) for value in (20.0, None, 50.0, None)])
    # Deviations -15, 15: standard deviation sqrt(450), over sqrt 2.
    assert (row["composite_score"], row["composite_score_n"], row["n_conversations"]) == (35, 2, 4)
    assert row["composite_score_se"] == pytest.approx(15, abs=1e-12)


def test_post_conversation_scores_are_averaged_too(make_record: Make) -> None:
    post = make_record()["post_score"]
    branches = [{"perceiving": 2.0}, {"perceiving": 1.0, "managing": 4.0}]
    records = [
        make_record(post_score=post | {"panas_baseline_adjusted": skill, "four_branch_per_branch": errors})
        for skill, errors in zip((None, 0.5), branches, strict=True)
    ]
    row = _one([*records, make_record(**INCOMPLETE)])
    assert (row["panas_baseline_adjusted"], row["panas_baseline_adjusted_n"]) == (0.5, 1)
    assert row["panas_baseline_adjusted_se"] is None
    assert (row["q2_emotion_clarity_match"], row["q2_emotion_clarity_match_n"]) == (1, 2)
    assert row["q2_emotion_clarity_match_se"] == 0
    assert (row["four_branch_perceiving_mae"], row["four_branch_perceiving_mae_n"]) == (1.5, 2)
    assert (row["four_branch_managing_mae"], row["four_branch_managing_mae_n"]) == (4, 1)
    assert (row["composite_score_n"], row["holistic_n"], row["avg_pairwise_accuracy_n"]) == (2, 2, 3)


def test_a_mean_of_nulls_is_null(make_record: Make) -> None:
    row = _one([make_record(avg_pairwise_kendall_tau=None)] * 2)
    assert (row["avg_pairwise_kendall_tau"], row["avg_pairwise_kendall_tau_n"]) == (None, 0)


def test_a_model_with_incomplete_runs_only_has_every_key(make_record: Make) -> None:
    rows = _rows([make_record(em_model="a"), make_record(em_model="b", **INCOMPLETE)])
    assert list(rows[0]) == list(rows[1])
    for name in ("composite_score", "q1_looking_for_score", "panas_mae", "four_branch_normalized", "holistic"):
        assert (rows[1][name], rows[1][f"{name}_n"]) == (None, 0)
    assert (rows[1]["composite_score_se"], rows[1]["composite_z"]) == (None, None)


def test_nan_is_undefined_as_null_is(make_record: Make) -> None:
    row = _one([make_record(composite_score=value) for value in (nan, 20.0, None, 50.0)])
    assert (row["composite_score"], row["composite_score_n"], row["n_conversations"]) == (35, 2, 4)
    assert row["composite_score_se"] == pytest.approx(15, abs=1e-12)
    row = _one([make_record(avg_emotion_f1=nan)])
    assert (row["avg_emotion_f1"], row["avg_emotion_f1_n"], row["emotion_blend"]) == (None, 0, None)
    assert row["avg_emotion_va_score"] == pytest.approx(0.7596, abs=1e-12)


def _cells(tp: int, tn: int, fp: int, fn: int) -> Json:
    # Derived values are wrong on purpose: pooling starts from the cells.
    return {"tp": tp, "tn": tn, "fp": fp, "fn": fn} | dict.fromkeys(
        ("accuracy", "precision", "recall", "f1", "mcc"), 0.0
    )


@pytest.mark.parametrize("task", ["om", "human"])
@pytest.mark.parametrize("phrasing", ["", "_hp"])
def test_counts_are_pooled(make_record: Make, task: str, phrasing: str) -> None:
    name = f"pooled_binary_{task}_metrics{phrasing}"
    row = _one([make_record(**{name: cells}) for cells in (_cells(2, 0, 1, 0), _cells(1, 4, 0, 1), None)])
    # 3 4 1 1 of 9: accuracy 7/9, precision and recall 3/4, F1 3/4, MCC (12 - 1)/sqrt(4 4 5 5) = 11/20.
    expected = {"tp": 3, "tn": 4, "fp": 1, "fn": 1, "accuracy": 7 / 9}
    expected |= {"precision": 0.75, "recall": 0.75, "f1": 0.75, "mcc": 0.55}
    assert row[name] == pytest.approx(expected, abs=1e-12)


def test_nothing_to_pool_is_null(make_record: Make) -> None:
    row = _one([make_record(pooled_binary_om_metrics_hp=None)] * 2)
    assert row["pooled_binary_om_metrics_hp"] is None


def test_coverage_is_pooled(make_record: Make) -> None:
    first = {"pairwise": {"present": 1, "expected": 4}, "panas": {"present": 0, "expected": 0}}
    second = {"pairwise": {"present": 12, "expected": 12}, "panas": {"present": 0, "expected": 0}}
    row = _one([make_record(coverage=first), make_record(coverage=second)])
    assert row["coverage_pairwise"] == 13 / 16
    assert row["coverage_panas"] is None


def test_records_of_another_scorer_have_no_coverage(make_record: Make) -> None:
    record = make_record()
    for name in ("coverage", "participant_id", "source_file"):
        del record[name]
    row = _one([record, make_record()])
    assert row["coverage_pairwise"] == 4 / 5
    assert _one([record])["n_participants"] is None
    assert row["n_participants"] == 1
    coverage = {name: value for name, value in _one([record]).items() if name.startswith("coverage")}
    assert set(coverage.values()) == {None}


def test_pillars_of_the_worked_example(make_record: Make) -> None:
    # Derived in test_scoring.py.
    expected = {"emotion_blend": (13 / 18 + 0.7596) / 2, "evaluation_quality": 95 / 144, "holistic": 0.54}
    assert conversation_score.pillars(make_record()) == pytest.approx(expected, abs=1e-12)
    assert conversation_score.pillars(make_record(**INCOMPLETE)) == pytest.approx(
        expected | {"holistic": None}, abs=1e-12
    )
    row = _one([make_record()])
    assert {name: row[name] for name in expected} == pytest.approx(expected, abs=1e-12)


def test_pillars_are_means_over_conversations(make_record: Make) -> None:
    row = _one([make_record(avg_emotion_f1=0.0), make_record(avg_emotion_f1=0.5)])
    # (0 + .7596)/2 and (.5 + .7596)/2.
    assert row["emotion_blend"] == pytest.approx((0.3798 + 0.6298) / 2, abs=1e-12)
    assert row["emotion_blend_n"] == 2


def test_composite_z(make_record: Make) -> None:
    rows = _rows(
        [make_record(em_model=name, composite_score=value) for name, value in zip("abc", (40, 50, 66), strict=True)]
    )
    # Mean 52, deviations -12, -2, 14: variance (144 + 4 + 196)/2 = 172.
    assert [row["composite_z"] for row in rows] == pytest.approx(
        [-12 / sqrt(172), -2 / sqrt(172), 14 / sqrt(172)], abs=1e-12
    )


@pytest.mark.parametrize(
    ("composites", "expected"),
    [([50.0], [0]), ([50.0, 50.0], [0, 0]), ([None, 50.0], [None, 0]), ([None, None], [None, None])],
    ids=["one-row", "no-spread", "one-of-two", "none"],
)
def test_composite_z_without_spread(
    make_record: Make, composites: list[float | None], expected: list[float | None]
) -> None:
    rows = _rows([make_record(em_model=str(i), composite_score=value) for i, value in enumerate(composites)])
    assert [row["composite_z"] for row in rows] == expected


def test_a_model_in_two_modes_is_two_rows_and_rows_are_sorted(make_record: Make) -> None:
    pairs = [("b", "verbose"), ("a", "verbose"), ("b", "default"), ("a", "default"), ("B", "default")]
    rows = _rows([make_record(em_model=model, mode=mode) for model, mode in pairs * 2])
    assert [(row["em_model"], row["mode"]) for row in rows] == sorted(pairs)
    assert [row["n_conversations"] for row in rows] == [2] * 5


@pytest.mark.parametrize(
    ("participants", "expected"),
    [(["P1", "P2", "P1"], 2), (["P1", None, None], 1), ([None, None, None], None)],
    ids=["repeats", "some-unknown", "all-unknown"],
)
def test_participants_are_counted(make_record: Make, participants: list[str | None], expected: int | None) -> None:
    row = _one([make_record(participant_id=person) for person in participants])
    assert (row["n_conversations"], row["n_participants"]) == (3, expected)


def test_no_records_no_rows() -> None:
    assert _rows([]) == []


def test_records_are_not_changed(make_record: Make) -> None:
    record: Any = make_record()
    scores = scores_of([record], provenance_of(protocol="documented"))
    aggregates(scores)
    assert record == make_record()
    assert list(scores.detail or ()) == [record]


@pytest.mark.parametrize("models", [3, 6, 11])
def test_composite_z_is_0_without_spread_whatever_the_value(make_record: Make, models: int) -> None:
    # The mean of equal values may differ from them in the last digit, as it does for 51.33.
    rows = _rows([make_record(em_model=f"m{model}", composite_score=51.33) for model in range(models)])
    assert {row["composite_z"] for row in rows} == {0.0}
