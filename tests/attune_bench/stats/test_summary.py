"""The summary: values, counts and coverage by hand, intervals against scipy and statsmodels."""

from collections.abc import Callable
from dataclasses import replace
from math import sqrt

import numpy as np
import polars as pl
import pytest
from benchmark_scores import NAMES, dialogues, scores_named
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from attune_bench import Scores, score
from attune_bench.benchmarks.attunebench.scores_json import aggregates
from attune_bench.scores.columns import build_frame
from attune_bench.scores.table import coverage
from attune_bench.stats.signing import sign
from attune_bench.stats.subgroups import subgroups
from attune_bench.stats.summary import SUMMARY, distribution
from attune_metrics.metric import MetricInputError
from attune_metrics.signature import Signature
from attune_metrics.stats.bootstrap import bootstrap, draw_resamples
from attune_metrics.stats.cluster_means import share_of_clusters_interval

Build = Callable[..., Scores]

M = ["composite_score"]


def test_columns_and_counts(build: Build) -> None:
    # Six conversations by five participants; one has no composite.
    frame = build({"a": [1.0, 2, 3, 4, 5, None]}, people=[0, 1, 2, 3, 4, 4]).summary(metrics=M)
    expected = "model condition metric value low high n clusters coverage excluded reason"
    assert frame.columns == expected.split()
    assert frame.schema == build_frame(SUMMARY, []).schema
    row = frame.row(0, named=True)
    assert (row["value"], row["n"], row["clusters"], row["excluded"]) == (3.0, 5, 5, 1)
    assert row["low"] < 3 < row["high"]
    assert row["reason"] is None


def test_every_aggregate_with_its_coverage(make_scores: Build) -> None:
    scores = make_scores(["a", "b"], conversations=6)
    frame = scores.summary(resamples=50)
    assert frame.select("model", "condition", "metric").is_duplicated().sum() == 0
    assert set(frame["metric"]) == set(scores.metrics)
    model = aggregates(scores)[0]
    values = dict(frame.filter(model="a").select("metric", "value").iter_rows())
    for key, value in values.items():
        name, _, cell = key.partition(".")
        assert value == pytest.approx(model[name][cell] if cell else model[name], abs=1e-12), key
    of_metric = dict(frame.filter(model="a").select("metric", "coverage").iter_rows())
    assert of_metric["pooled_binary_om_metrics_hp.f1"] == model["coverage_binary_om_hp"]
    assert of_metric["avg_binary_human_accuracy"] == model["coverage_binary_human"]
    assert of_metric["hp_perspective_gap"] == min(model["coverage_binary_human"], model["coverage_binary_human_hp"])
    assert of_metric["panas_normalized"] == model["coverage_panas"]
    assert of_metric["composite_score"] is None
    # Every run is the same one, without a draft judge's score.
    assert set(frame["reason"]) == {
        "all participants have the same value", "no conversation has a value", "depends on all models' results"
    }  # fmt: skip


def test_the_percentile_interval_agrees_with_scipy(build: Build) -> None:
    values = np.random.default_rng(1).gamma(2, 10, size=80)
    row = build({"a": list(values)}).summary(metrics=M, unit="conversation", interval="percentile").row(0, named=True)
    theirs = stats.bootstrap((values,), np.mean, method="percentile", n_resamples=10_000, rng=2).confidence_interval
    # An end of 10,000 resamples has a Monte Carlo error of about 0.027 standard errors; two ends, four errors.
    tolerance = 4 * sqrt(2) * 0.027 * values.std() / sqrt(80)
    assert (row["low"], row["high"]) == (
        pytest.approx(theirs.low, abs=tolerance),
        pytest.approx(theirs.high, abs=tolerance),
    )


@pytest.mark.parametrize("level", [0.9, 0.95])
def test_a_share_of_independent_trials_has_wilsons_interval(level: float) -> None:
    scores = score(dialogues())
    frame = scores.summary(metrics=["success", "failure"], level=level, resamples=20)
    assert frame.height == 6
    for row in frame.iter_rows(named=True):
        hits = scores.values.filter(model=row["model"])[row["metric"]].to_list()
        assert row["value"] == sum(hits) / 30
        theirs = proportion_confint(sum(hits), 30, alpha=1 - level, method="wilson")
        assert (row["low"], row["high"]) == pytest.approx(theirs, abs=1e-12)


def test_a_share_of_trials_in_clusters_rests_on_the_clusters() -> None:
    # Five clusters of four units that are alike: the share rests on five trials, not on twenty.
    scores = score([one for one in dialogues() if one.model == "a"][:20])
    clusters = [f"k{place // 4}" for place in range(20)]
    hits = [float(place // 4 < 2) for place in range(20)]
    shared = replace(
        scores,
        units=scores.units.with_columns(cluster=pl.Series(clusters)),
        values=scores.values.with_columns(success=pl.Series(hits)),
    )
    row = shared.summary(metrics=["success"]).row(0, named=True)
    wilson = proportion_confint(8, 20, method="wilson")
    assert (row["value"], row["n"], row["clusters"]) == (0.4, 20, 5)
    assert row["high"] - row["low"] > 1.5 * (wilson[1] - wilson[0])
    [interval] = share_of_clusters_interval(hits, clusters)
    assert (row["low"], row["high"]) == (interval.low, interval.high)
    assert Signature.parse(sign(shared, metrics=["success"])).interval == "percentile-expanded_logit-t"
    assert "|interval:percentile-expanded_logit-t|" in sign(shared, metrics=["success"])
    assert Signature.parse(sign(scores, metrics=["success"])).interval == "percentile-expanded"
    alone = shared.summary(metrics=["success"], unit="unit").row(0, named=True)
    assert alone["high"] - alone["low"] < row["high"] - row["low"]
    # Another interval that is asked for is resampled.
    [resampled] = bootstrap(hits, draw_resamples(clusters), method="percentile")
    asked = shared.summary(metrics=["success"], interval="percentile").row(0, named=True)
    assert (asked["low"], asked["high"]) == (resampled.low, resampled.high)
    assert Signature.parse(sign(shared, metrics=["success"], interval="percentile")).interval == "percentile"
    # A subgroup has the interval of its own units.
    half = subgroups(shared, {"half": shared.units["unit"][8:]}, known=[], metrics=["success"])
    assert half.select("value", "low", "high", "reason").row(0) == (0.0, None, None, "fewer than 5 scenarios")
    rare = replace(shared, values=shared.values.with_columns(success=pl.lit(0.0)))
    row = rare.summary(metrics=["success"]).row(0, named=True)
    assert (row["low"], row["high"]) == (0.0, pytest.approx(1 - 0.025**0.2, abs=1e-12))


def test_coverage_of_a_metric_without_questions_is_the_share_of_all_units() -> None:
    # 32 scenarios, of which invented/rash failed every seventh: 4.
    frame = scores_named("eibench").summary(metrics=["reward"], resamples=20)
    assert frame.select("model", "n", "coverage", "excluded").rows() == [
        ("invented/calm", 32, 1.0, 0),
        ("invented/plain", 32, 1.0, 0),
        ("invented/rash", 28, 28 / 32, 4),
    ]


def test_coverage_where_the_number_of_units_is_not_known() -> None:
    assert scores_named("table").summary(resamples=5)["coverage"].null_count() == 6 * 2 * 2
    assert set(map(len, coverage(scores_named("table")).values())) == {0}


def test_a_single_resample_is_the_reason(build: Build) -> None:
    row = build({"a": [1, 2, 3, 4, 5, 6]}).summary(metrics=M, resamples=1).row(0, named=True)
    assert (row["low"], row["reason"]) == (None, "a single resample has no spread")


def test_no_scores(build: Build) -> None:
    frame = build({}).summary()
    assert (frame.height, frame.schema) == (0, build_frame(SUMMARY, []).schema)


# How values spread over units.


def test_distribution_by_hand(build: Build) -> None:
    # Deviations from 4: -3, -1, 0, 4; variance 26 / 3.
    frame = distribution(build({"a": [1, 3, None, 4, 8], "b": [2, None, None, None, None]}), M)
    assert frame.rows() == [
        ("a", "default", "composite_score", 4, 4.0, pytest.approx(sqrt(26 / 3), abs=1e-12), 1.0, 3.5, 8.0),
        ("b", "default", "composite_score", 1, 2.0, None, 2.0, 2.0, 2.0),
    ]
    assert frame.columns == "model condition metric n mean sd lowest median highest".split()


@pytest.mark.parametrize("name", NAMES)
def test_distribution_has_the_metrics_that_units_have(name: str) -> None:
    scores = scores_named(name)
    frame = distribution(scores)
    own = [metric.name for metric in scores.metrics.values() if metric.statistic in {"mean", "share"}]
    for model, condition in scores.groups:
        values = scores.values.filter(pl.col("condition").eq_missing(pl.lit(condition)), model=model)
        rows = frame.filter(pl.col("condition").eq_missing(pl.lit(condition)), model=model)
        assert rows["metric"].to_list() == [name for name in own if values[name].count()]
        assert rows["n"].to_list() == [values[name].count() for name in rows["metric"]]
    assert (frame["lowest"] <= frame["median"]).all()
    assert (frame["median"] <= frame["highest"]).all()
    with pytest.raises(MetricInputError, match="no metric 'grades'"):
        distribution(scores, ["grades"])
