import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from math import sqrt
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from attune_bench import Scores
from attune_bench.stats.comparison import told_apart
from attune_metrics.attunebench.binary import BinaryCounts
from attune_metrics.errors import MetricInputError

Make = Callable[..., dict[str, Any]]
Build = Callable[[Mapping[str, Sequence[float | None]]], Scores]

M = ["composite_score"]
Z = 1.959963984540054 + 0.8416212335729143  # normal quantiles at 0.975 and 0.8, from a table


@pytest.fixture(scope="session")
def build(make_record: Make) -> Build:
    """Return the function from composites per model to scores of conversations c0, c1, ... by a participant each."""

    def scores(models: Mapping[str, Sequence[float | None]]) -> Scores:
        records: list[Any] = [
            make_record(em_model=model, conversationId=f"c{i}", participant_id=f"P{i}", composite_score=value)
            for model, values in models.items()
            for i, value in enumerate(values)
        ]
        return Scores.of(records, protocol="documented", synthetic=False)

    return scores


# Summaries.


def test_summary_columns_and_counts(make_record: Make) -> None:
    # Six conversations by five participants; one has no composite.
    records: list[Any] = [
        make_record(conversationId=f"c{i}", participant_id=f"P{min(i, 4)}", composite_score=value)
        for i, value in enumerate([1.0, 2, 3, 4, 5, None])
    ]
    frame = Scores.of(records, protocol="documented", synthetic=False).summary(metrics=M)
    expected = "model mode metric value low high n participants coverage excluded reason"
    assert frame.columns == expected.split()
    row = frame.row(0, named=True)
    assert (row["value"], row["n"], row["participants"], row["excluded"]) == (3.0, 5, 5, 1)
    assert row["low"] < 3 < row["high"]
    assert row["reason"] is None


def test_summary_has_every_aggregate_with_its_coverage(make_scores: Callable[..., Scores]) -> None:
    scores = make_scores(["a", "b"], conversations=6)
    frame = scores.summary(resamples=50)
    assert frame.select("model", "mode", "metric").is_duplicated().sum() == 0
    model = scores.aggregates[0]
    values = dict(frame.filter(pl.col("model") == "a").select("metric", "value").iter_rows())
    for key, value in values.items():
        name, _, cell = key.partition(".")
        assert value == pytest.approx(model[name][cell] if cell else model[name], abs=1e-12), key
    coverage = dict(frame.filter(pl.col("model") == "a").select("metric", "coverage").iter_rows())
    assert coverage["pooled_binary_om_metrics_hp.f1"] == model["coverage_binary_om_hp"]
    assert coverage["avg_binary_human_accuracy"] == model["coverage_binary_human"]
    assert coverage["hp_perspective_gap"] == min(model["coverage_binary_human"], model["coverage_binary_human_hp"])
    assert coverage["panas_normalized"] == model["coverage_panas"]
    assert coverage["composite_score"] is None
    # Every run is the same one, without a draft judge's score.
    assert set(frame["reason"]) == {"no variation among clusters", "no conversation has a value"}


def test_summary_percentile_interval_agrees_with_scipy(build: Build) -> None:
    values = np.random.default_rng(1).gamma(2, 10, size=80)
    row = build({"a": list(values)}).summary(metrics=M, unit="conversation", interval="percentile").row(0, named=True)
    theirs = stats.bootstrap((values,), np.mean, method="percentile", n_resamples=10_000, rng=2).confidence_interval
    # An end of 10,000 resamples has a Monte Carlo error of about 0.027 standard errors; two ends, four errors.
    tolerance = 4 * sqrt(2) * 0.027 * values.std() / sqrt(80)
    assert (row["low"], row["high"]) == (
        pytest.approx(theirs.low, abs=tolerance),
        pytest.approx(theirs.high, abs=tolerance),
    )


# Comparison by hand.


def test_a_comparison_by_hand(build: Build) -> None:
    # Differences 1, 2, 2. Of 8 exchanges this one and its opposite are as large: p = 2/8. Their standard deviation is
    # sqrt(1/3), so that the standard error is sqrt(1/3) / sqrt(3) = 1/3.
    frame = build({"a": [2, 4, 5], "b": [1, 2, 3]}).compare("a", "b", metrics=M)
    expected = "model_a model_b mode metric difference low high p p_holm n participants detectable reason"
    assert frame.columns == expected.split()
    row = frame.row(0, named=True)
    assert row["difference"] == pytest.approx(5 / 3, abs=1e-12)
    assert (row["p"], row["p_holm"], row["n"], row["participants"]) == (0.25, 0.25, 3, 3)
    assert row["detectable"] == pytest.approx(Z / 3, abs=1e-12)
    assert (row["low"], row["high"], row["reason"]) == (None, None, "fewer than 5 participants")


def test_the_family_is_the_pairs_of_a_metric(build: Build) -> None:
    # a is above b and c in all of six conversations: p = 2/64 each. b - c is +1 and -1 three times: p = 1.
    # Holm: 3 x 2/64, 2 x 2/64 but not below the former, 1.
    scores = build({"a": [9] * 6, "b": [1, 0, 1, 0, 1, 0], "c": [0, 1, 0, 1, 0, 1]})
    frame = scores.compare_all(metrics=M)
    assert frame.select("model_a", "model_b").rows() == [("a", "b"), ("a", "c"), ("b", "c")]
    assert frame["p"].to_list() == [2 / 64, 2 / 64, 1.0]
    assert frame["p_holm"].to_list() == [6 / 64, 6 / 64, 1.0]
    # Both differences from a are between 8 and 9 for certain; that of b and c is not different from 0.
    assert told_apart(frame).rows() == [("default", "composite_score", 3, 3, 0, 2)]


def test_only_conversations_of_both_count(build: Build) -> None:
    frame = build({"a": [1, 2, None, 4, 5, 6, 7], "b": [0, 1, 1, 3, 4, 5]}).compare("a", "b", metrics=M)
    row = frame.row(0, named=True)
    assert (row["difference"], row["n"], row["participants"]) == (1.0, 5, 5)
    assert row["reason"] == "no variation among clusters"
    assert row["detectable"] is None


def test_compare_gives_the_row_of_compare_all(build: Build) -> None:
    rng = np.random.default_rng(4)
    scores = build({name: list(rng.normal(size=9)) for name in "abc"})
    every = scores.compare_all(metrics=M).filter(model_a="a", model_b="c")
    assert scores.compare("a", "c", metrics=M).drop("p_holm").equals(every.drop("p_holm"))


# Against other tools.


def test_permutation_p_equals_scipys_for_a_mean(build: Build) -> None:
    rng = np.random.default_rng(5)
    a, b = rng.normal(0.5, 1, size=10), rng.normal(size=10)
    theirs = stats.permutation_test(
        (a, b), lambda x, y, axis: np.mean(x - y, axis=axis), permutation_type="samples", n_resamples=1024,
        vectorized=True,
    ).pvalue  # fmt: skip
    assert build({"a": list(a), "b": list(b)}).compare("a", "b", metrics=M)["p"].item() == pytest.approx(
        theirs, abs=1e-12
    )


def test_permutation_p_of_a_pooled_score_equals_all_exchanges(make_record: Make) -> None:
    rng = np.random.default_rng(6)
    counts = rng.integers(1, 9, size=(2, 6, 4)).tolist()

    def pooled(cells: Sequence[Sequence[int]]) -> float:
        return BinaryCounts(*(sum(column) for column in zip(*cells, strict=True))).mcc

    unused = dict.fromkeys(("accuracy", "precision", "recall", "f1", "mcc"), 0.5)
    records: list[Any] = [
        make_record(
            em_model=model,
            conversationId=f"c{i}",
            participant_id=f"P{i}",
            pooled_binary_om_metrics=dict(zip(("tp", "tn", "fp", "fn"), cells, strict=True)) | unused,
        )
        for model, rows in zip("ab", counts, strict=True)
        for i, cells in enumerate(rows)
    ]  # fmt: skip
    scores = Scores.of(records, protocol="documented", synthetic=False)
    row = scores.compare("a", "b", metrics=["pooled_binary_om_metrics.mcc"]).row(0, named=True)
    observed = pooled(counts[0]) - pooled(counts[1])
    differences = []
    for swaps in product((0, 1), repeat=6):
        one = [counts[swap][i] for i, swap in enumerate(swaps)]
        other = [counts[1 - swap][i] for i, swap in enumerate(swaps)]
        differences.append(pooled(one) - pooled(other))
    assert row["difference"] == pytest.approx(observed, abs=1e-12)
    assert row["p"] == sum(abs(d) >= abs(observed) - 1e-12 for d in differences) / 64
    assert row["low"] < row["difference"] < row["high"]
    # The smallest difference found comes from the bootstrap's standard error, so in proportion to the interval.
    assert 0 < row["detectable"] < 3 * (row["high"] - row["low"])


def test_holm_equals_statsmodels(build: Build) -> None:
    rng = np.random.default_rng(7)
    frame = build({name: list(rng.normal(shift, 1, size=9)) for shift, name in enumerate("abcd")}).compare_all(
        metrics=M
    )
    expected = multipletests(frame["p"].to_list(), method="holm")[1]
    assert frame["p_holm"].to_list() == pytest.approx(expected.tolist(), abs=1e-12)


# What must hold of any scores.

VALUES = st.lists(st.one_of(st.none(), st.floats(-100, 100).map(lambda x: round(x, 3))), min_size=1, max_size=8)


@settings(max_examples=25, deadline=None)
@given(a=VALUES, b=VALUES, seed=st.integers(0, 99))
def test_order_never_shows_and_a_seed_gives_the_same_again(
    build: Build, a: list[float | None], b: list[float | None], seed: int
) -> None:
    scores = build({"a": a, "b": b})
    shuffled = list(scores.records)
    np.random.default_rng(seed).shuffle(shuffled)
    other = Scores.of(shuffled, protocol="documented", synthetic=False)
    options: Any = {"metrics": M, "resamples": 50, "seed": seed}
    assert scores.summary(**options).equals(other.summary(**options))
    assert scores.compare_all(**options).equals(other.compare_all(**options))


@settings(max_examples=25, deadline=None)
@given(values=st.lists(st.floats(-100, 100), min_size=2, max_size=8))
def test_a_run_against_itself(build: Build, values: list[float]) -> None:
    row = build({"a": values}).compare("a", "a", metrics=M, resamples=50).row(0, named=True)
    assert (row["difference"], row["low"], row["high"], row["p"], row["p_holm"]) == (0.0, 0.0, 0.0, 1.0, 1.0)
    assert row["reason"] is None


@pytest.mark.parametrize(
    ("models", "reason"),
    [
        ({"a": [1.0], "b": [2.0]}, "fewer than 5 participants"),
        ({"a": [1.0] * 6, "b": [2.0] * 6}, "no variation among clusters"),
        ({"a": [None] * 6, "b": [2.0] * 6}, "no conversation has a value"),
    ],
)
def test_odd_scores_give_a_reason(build: Build, models: dict[str, list[float | None]], reason: str) -> None:
    scores = build(models)
    row = scores.compare("a", "b", metrics=M).row(0, named=True)
    assert (row["low"], row["high"], row["reason"]) == (None, None, reason)
    assert scores.summary(metrics=M)["reason"][0] == reason


def test_one_participant(make_record: Make) -> None:
    records: list[Any] = [
        make_record(em_model=model, conversationId=f"c{i}", participant_id="P", composite_score=float(i * len(model)))
        for model in ("a", "bb")
        for i in range(6)
    ]
    scores = Scores.of(records, protocol="documented", synthetic=False)
    row = scores.compare("a", "bb", metrics=M).row(0, named=True)
    assert (row["difference"], row["low"], row["p"], row["detectable"]) == (-2.5, None, None, None)
    assert (row["n"], row["participants"], row["reason"]) == (6, 1, "fewer than 5 participants")


def test_a_model_against_itself_differs_by_0_for_certain(make_record: Make) -> None:
    # By one participant with one conversation or several, and by two.
    for people in ("P", "PPP", "PQ"):
        records: list[Any] = [
            make_record(conversationId=f"c{i}", participant_id=person, composite_score=float(i))
            for i, person in enumerate(people)
        ]
        scores = Scores.of(records, protocol="documented", synthetic=False)
        model = scores.aggregates[0]["em_model"]
        row = scores.compare(model, model, metrics=M).row(0, named=True)
        assert (row["difference"], row["low"], row["high"], row["p"], row["reason"]) == (0, 0, 0, 1, None)


def test_what_pooled_accuracy_detects_is_what_its_mean_does(make_record: Make) -> None:
    # With equally many judgements in each conversation both are the same mean, so only Monte Carlo error differs. For
    # six participants the correction is sqrt(6 / 5), of 10%.
    rng = np.random.default_rng(9)
    records: list[Any] = []
    for model in "ab":
        for i, right in enumerate(rng.integers(0, 11, size=6).tolist()):
            counts = dict.fromkeys(("precision", "recall", "f1", "mcc"), 0.5) | {"accuracy": right / 10}
            cells = {"tp": right, "tn": 0, "fp": 10 - right, "fn": 0}
            changes: Any = {"pooled_binary_om_metrics": cells | counts, "avg_binary_om_accuracy": right / 10}
            records.append(make_record(em_model=model, conversationId=f"c{i}", participant_id=f"P{i}", **changes))
    scores = Scores.of(records, protocol="documented", synthetic=False)
    mean, pooled = scores.compare(
        "a", "b", metrics=["avg_binary_om_accuracy", "pooled_binary_om_metrics.accuracy"], resamples=40_000
    )["detectable"]
    assert pooled == pytest.approx(mean, rel=0.02)


def test_the_default_mode_comes_first(make_scores: Callable[..., Scores]) -> None:
    scores = make_scores(["a", "b", "c"], ["concise", "default", "verbose"])
    modes = ["default", "concise", "verbose"]
    assert scores.compare_all(metrics=M)["mode"].unique(maintain_order=True).to_list() == modes
    assert scores.compare("a", "b", metrics=M)["mode"].to_list() == modes


def test_a_single_resample_is_the_reason(build: Build) -> None:
    row = build({"a": [1, 2, 3, 4, 5, 6]}).summary(metrics=M, resamples=1).row(0, named=True)
    assert (row["low"], row["reason"]) == (None, "a single resample has no spread")


def test_no_scores_and_one_model(build: Build) -> None:
    for scores in (build({}), build({"a": [1, 2]})):
        frame = scores.compare_all(metrics=M)
        assert frame.height == 0
        assert told_apart(frame).height == 0
    assert build({}).summary().height == 0


def test_mistakes_are_named(build: Build, make_scores: Callable[..., Scores]) -> None:
    scores = build({"vendor/a": [1, 2], "vendor/b": [1, 2]})
    with pytest.raises(MetricInputError, match="no scores of model 'vendor/aa'; did you mean 'vendor/"):
        scores.compare("vendor/aa", "vendor/b")
    records = [*make_scores(["a"], ["x"]).records, *make_scores(["b"], ["y"]).records]
    apart = Scores.of(records, protocol="documented", synthetic=False)
    with pytest.raises(MetricInputError, match="'a' and 'b' have no mode in common: x and y"):
        apart.compare("a", "b")


def test_too_few_resamples_for_a_family_warn(build: Build) -> None:
    # All exchanges of 12 conversations are evaluated, whatever the number of resamples; of 13 as many as there are.
    rng = np.random.default_rng(8)
    exact, sampled = (build({name: list(rng.normal(size=size)) for name in "abc"}) for size in (12, 13))
    with pytest.warns(UserWarning, match=r"59 resamples are too few for 3 tests \(mode 'default'\).* at least 60"):
        sampled.compare_all(metrics=M, resamples=59)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sampled.compare_all(metrics=M, resamples=60)
        exact.compare_all(metrics=M, resamples=59)
