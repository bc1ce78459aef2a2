"""Scores as arrays: where each value is, what is drawn, and what contradicts itself."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf, isnan, nan
from typing import Any

import numpy as np
import polars as pl
import pytest

from attune_bench import Scores
from attune_bench.analyses.models import win_rates
from attune_bench.analyses.separation import separation
from attune_bench.benchmarks.attunebench.scores_json import aggregates
from attune_bench.stats.compare import compare_all
from attune_bench.stats.options import (
    AnalysisOptions,
    ResampleCache,
    SamplingKeywords,
    ScoreSeries,
    group_by_mask,
    shared_resamples,
)
from attune_bench.stats.rank import rank, ratings, tiers
from attune_bench.stats.subgroups import subgroups
from attune_bench.stats.summary import summary
from attune_metrics.metric import MetricInputError
from attune_metrics.stats.bootstrap import STATISTICS, draw_resamples

Build = Callable[..., Scores]


def _counts(tp: int, tn: int, fp: int, fn: int) -> dict[str, Any]:
    # Only the counts matter to what is pooled.
    return {"tp": tp, "tn": tn, "fp": fp, "fn": fn} | dict.fromkeys(("accuracy", "precision", "recall", "f1", "mcc"), 0)


def test_values_are_by_model_condition_and_sorted_unit(scores_of: Build) -> None:
    scores = scores_of(
        {
            "b": {"c2": {"composite_score": 3.0}, "c1": {"composite_score": None}},
            "a": {"c3": {"composite_score": 1.0}},
            "a verbose": {"c2": {"composite_score": nan}},
        },
        people={"c1": "P1", "c2": "P1", "c3": None},
        modes={"a verbose": ("a", "verbose")},
    )
    series = ScoreSeries(scores)
    assert series.groups == (("a", "default"), ("a", "verbose"), ("b", "default"))
    assert series.units == ("c1", "c2", "c3")
    assert series.labels == (("P1", ""), ("P1", ""), ("", "c3"))
    np.testing.assert_array_equal(
        series.values("composite_score")[:, 0], [[nan, nan, 1.0], [nan, nan, nan], [nan, 3.0, nan]]
    )
    assert series.scored.tolist() == [[False, False, True], [False, True, False], [True, True, False]]
    assert series.count(np.array([True, True, True])) == 2
    assert series.clusters(AnalysisOptions(unit="conversation")) == (("", "c1"), ("", "c2"), ("", "c3"))
    assert series.clusters(AnalysisOptions(unit="participant")) == series.labels
    assert series.by_condition() == {"default": [0, 2], "verbose": [1]}
    assert series.mask({"c3", "c1", "c9"}).tolist() == [True, False, True]


def test_the_order_of_rows_and_units_never_shows() -> None:
    rows = [("b", "v", 2.0, "y"), ("a", "u", 1.0, "x"), ("a", "v", 3.0, "y")]
    schema = ["model", "unit", "value", "cluster"]
    frame = pl.DataFrame(rows, schema=schema, orient="row").with_columns(metric=pl.lit("hit"))
    scores = Scores.from_table(frame)
    turned = replace(scores, units=scores.units.reverse(), values=scores.values.reverse())
    for one in (scores, turned, Scores.from_table(frame.reverse())):
        series = ScoreSeries(one)
        assert (series.units, series.labels) == (("u", "v"), (("x", ""), ("y", "")))
        np.testing.assert_array_equal(series.values("hit")[:, 0], [[1, 3], [nan, 2]])


def test_terms_of_pooled_counts(scores_of: Build) -> None:
    scores = scores_of(
        {
            "a": {
                "c1": {"pooled_binary_om_metrics": _counts(3, 2, 1, 0)},
                "c2": {"pooled_binary_om_metrics": _counts(1, 0, 2, 4)},
            }
        }
    )
    values = ScoreSeries(scores).values("pooled_binary_om_metrics.mcc")
    assert values.tolist() == [[[3, 1], [2, 0], [1, 2], [0, 4]]]


def test_every_statistic_gives_the_aggregate(scores_of: Build) -> None:
    # The pooled aggregates come from plain Python over the records.
    rng = np.random.default_rng(1)
    names = [name for name in scores_of({}).metrics if name.startswith("avg_")]
    records: dict[str, dict[str, Any]] = {}
    for i in range(12):
        changed = {name: float(rng.uniform()) for name in names}
        pooled = {f"pooled_binary_{t}_metrics{s}": _counts(*map(int, rng.integers(9, size=4)))
                  for t in ("om", "human") for s in ("", "_hp")}  # fmt: skip
        records[f"c{i}"] = changed | pooled
    scores = scores_of({"a": records})
    series, [row] = ScoreSeries(scores), aggregates(scores)
    compared = 0
    for name, metric in scores.metrics.items():
        if metric.statistic not in STATISTICS:
            continue
        values = series.values(name)
        present = ~np.isnan(values[0]).any(axis=0)
        sums = values[0][:, present].sum(axis=-1)
        found = float(series.statistic(name)(sums, np.array(float(present.sum())))) if present.any() else nan
        key, _, cell = name.partition(".")
        expected = row[key]
        expected = expected[cell] if cell else expected
        if name in names:
            expected = sum(of_unit[name] for of_unit in records.values()) / 12
        if expected is None:
            assert isnan(found), name
        else:
            compared += 1
            assert found == pytest.approx(expected, abs=1e-12), name
    assert compared > 60


def test_a_pooled_score_is_0_where_its_denominator_is_and_nan_without_units(scores_of: Build) -> None:
    # No question was answered yes: MCC's denominator is 0, and the score by definition.
    statistic = ScoreSeries(scores_of({})).statistic("pooled_binary_om_metrics.mcc")
    found = statistic(np.array([[0.0, 5, 0, 0], [0.0, 0, 0, 0]]), np.array([1.0, 0.0]))
    np.testing.assert_array_equal(found, [0.0, nan])


def test_records_that_contradict_each_other(make_record: Callable[..., dict[str, Any]]) -> None:
    from attune_bench.benchmarks.attunebench.scoring import provenance_of, scores_of

    def of(*records: Any) -> Scores:
        return Scores.of(scores_of(records, provenance_of(protocol="documented")))

    with pytest.raises(
        MetricInputError, match="two records of conversation 'c1', model 'vendor/model', mode 'default'"
    ):
        of(make_record(conversationId="c1"), make_record(conversationId="c1"))
    with pytest.raises(MetricInputError, match="by participant 'P1' in one record and by 'P2' in another"):
        of(make_record(participant_id="P1"), make_record(em_model="b", participant_id="P2"))
    # That a conversation is by P1 is known from one of its records.
    known = of(make_record(participant_id=None), make_record(em_model="b", participant_id="P1"))
    assert ScoreSeries(known).labels == (("P1", ""),)


def test_one_participant_however_spelt_is_one_cluster(scores_of: Build) -> None:
    people = {"c1": "P1", "c2": "p1 ", "c3": "P2", "c4": " ", "c5": None}
    scores = scores_of({"a": {unit: {} for unit in people}}, people=people)
    assert scores.units["cluster"].to_list() == ["P1", "P1", "P2", None, None]
    assert len(set(ScoreSeries(scores).labels)) == 4  # P1, P2, and two that name nobody
    assert aggregates(scores)[0]["n_participants"] == 2


def test_an_infinite_value_is_named(scores_of: Build) -> None:
    series = ScoreSeries(scores_of({"vendor/model": {"c1": {"hp_perspective_alignment": inf}}}))
    message = r"alignment of model 'vendor/model', mode 'default' on conversation 'c1' is infinite; expected a finite"
    with pytest.raises(MetricInputError, match=message):
        series.values("hp_perspective_alignment")


def test_what_has_no_value_of_each_unit(scores_of: Build) -> None:
    series = ScoreSeries(scores_of({}))
    with pytest.raises(MetricInputError, match="composite_z depends on all models' results; it has no value of each"):
        series.values("composite_z")
    with pytest.raises(MetricInputError, match="no metric 'composite_scor'; did you mean 'composite_score'"):
        series.statistic("composite_scor")


def test_no_scores_are_empty_series(scores_of: Build) -> None:
    series = ScoreSeries(scores_of({}))
    assert (series.groups, series.units, series.values("composite_score").shape) == ((), (), (0, 1, 0))
    assert group_by_mask(series.scored) == []
    assert series.by_condition() == {}


def test_resamples_are_drawn_once_for_the_same_units(make_scores: Build) -> None:
    series = ScoreSeries(make_scores(["a", "b"], conversations=4))
    draws = ResampleCache(series, AnalysisOptions(resamples=5, seed=3))
    [(mask, groups)] = group_by_mask(series.scored)
    assert groups.tolist() == [0, 1]
    assert draws.of(mask).counts is draws.of(mask.copy()).counts
    assert draws.of(mask).counts.shape == (5, 4)
    assert draws.labels(mask).tolist() == [0, 1, 2, 3]


def test_series_on_the_same_units_share_a_mask() -> None:
    rows = np.array([[True, False], [True, True], [True, False], [False, False]])
    found = {tuple(mask.tolist()): places.tolist() for mask, places in group_by_mask(rows)}
    assert found == {(True, False): [0, 2], (True, True): [1], (False, False): [3]}


def _of_metric(metric: str, units: Sequence[str], seed: int) -> pl.DataFrame:
    """Return the values of three models, a model without a value on each unit."""
    generator = np.random.default_rng(seed)
    rows = [
        (f"m{model}", unit, f"p{place // 2}", metric, None if place % 11 == model else float(generator.normal(model)))
        for model in range(3)
        for place, unit in enumerate(units)
    ]
    return pl.DataFrame(rows, schema=["model", "unit", "cluster", "metric", "value"], orient="row")


def test_units_without_a_value_of_the_metric_change_nothing_that_is_drawn() -> None:
    asked = _of_metric("asked", [f"u{unit:02}" for unit in range(40)], 1)
    # Units of another task, named and clustered before, between and after those of the first.
    other = _of_metric("other", [f"{name}{unit:02}" for name in "atz" for unit in range(20)], 2)
    other = other.with_columns(cluster=pl.concat_str(pl.lit("other"), "cluster"))
    alone, beside = Scores.from_table(asked), Scores.from_table(pl.concat([asked, other]))
    strata = {"half": [f"u{unit:02}" for unit in range(20)]}

    def drawn(table: Scores) -> list[pl.DataFrame]:
        options: SamplingKeywords = {"resamples": 200}
        frames = [
            analysis(table, metrics=["asked"], **options)
            for analysis in (compare_all, rank, ratings, win_rates, separation)
        ]
        halves = subgroups(table, strata, known=asked["unit"], compare=True, metrics=["asked"], **options)
        found = summary(table, metrics=["asked"], **options).drop("excluded")
        return [*frames, found, halves, tiers(table, **options).models]

    for one, same in zip(drawn(alone), drawn(beside), strict=True):
        assert one.equals(same)


@pytest.mark.filterwarnings("ignore:20 resamples are too few")
def test_analyses_of_a_page_share_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []

    def draw(clusters: Any, **how: Any) -> Any:
        drawn.append(len(clusters))
        return draw_resamples(clusters, **how)

    monkeypatch.setattr("attune_bench.stats.options.draw_resamples", draw)
    values = [*({"unit": f"u{place}", "value": place % 3} for place in range(8)), {"unit": "u8", "value": 1}]
    rows = [{**one, "model": model, "metric": "hit"} for model in "ab" for one in values[: 8 + (model == "b")]]
    scores = Scores.from_table(pl.DataFrame(rows))

    def analyses() -> list[pl.DataFrame]:
        return [scores.summary(resamples=20), scores.compare_all(resamples=20), scores.summary(resamples=20)]

    apart = analyses()
    assert sorted(drawn) == [8, 8, 8, 9, 9]
    drawn.clear()
    with shared_resamples():
        together = analyses()
    assert sorted(drawn) == [8, 9]
    assert all(one.equals(other) for one, other in zip(apart, together, strict=True))
    drawn.clear()
    scores.summary(resamples=20)
    assert sorted(drawn) == [8, 9]  # not kept
    monkeypatch.setattr("attune_bench.stats.options.MOST_KEPT", 20)
    drawn.clear()
    with shared_resamples():
        assert all(one.equals(other) for one, other in zip(apart, analyses(), strict=True))
    assert len(drawn) > 2
