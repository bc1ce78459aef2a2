"""A mean is one number, bit for bit, wherever it is given, and whatever the order of what it is of."""

import csv
import json
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from io import StringIO
from math import fsum
from operator import add
from random import Random
from typing import Any

import polars as pl
import pytest
from benchmark_scores import NAMES, TRAITS, scores_named
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_cases import slow_except

from attune_bench import Scores, score
from attune_bench.analyses import condition_differences
from attune_bench.benchmarks.attunebench.scores_json import aggregates
from attune_bench.report.tables import model_frame
from attune_bench.stats.subgroups import compare_by, subgroups
from attune_bench.stats.summary import distribution
from attune_data import load, load_runs

pytestmark = pytest.mark.filterwarnings("ignore:[0-9]+ resamples are too few")

QUICK: dict[str, Any] = {"resamples": 5}


def everywhere(scores: Scores, metric: str, model: str) -> dict[str, float]:
    """Return the mean of a metric for one model of one condition, as everything that has it gives it."""
    options = {"metrics": [metric], **QUICK}
    main = replace(scores, provenance=scores.provenance.model_copy(update={"primary": metric}))
    content = json.loads(main.report(format="json", **QUICK))
    [of_model] = [row for row in content["models"] if row["model"] == model]
    [of_board] = [row for row in content["summary"] if (row["model"], row["metric"]) == (model, metric)]
    rows = csv.DictReader(StringIO(main.report(format="csv", **QUICK)))
    [of_csv] = [row for row in rows if (row["model"], row["metric"]) == (model, metric)]
    units = scores.units["unit"].to_list()
    strata = subgroups(scores, {"all": units}, known=units, **options).filter(model=model)
    with_empty = compare_with_zero(scores, metric, model)
    found = {
        "summary": scores.summary(**options).filter(model=model)["value"].item(),
        "rank": scores.rank(**options).filter(model=model)["value"].item(),
        "by": strata["value"].item(),
        "distribution": distribution(scores, [metric]).filter(model=model)["mean"].item(),
        "models": model_frame(scores).filter(model=model)[metric].item(),
        "JSON, models": of_model[metric],
        "JSON, summary": of_board["value"],
        "CSV": float(of_csv["value"]),
        "compare": with_empty.compare(model, "zero", **options)["difference"].item(),
        "condition_differences": condition_differences(
            with_empty.keep(groups=[(model, None), (model, "other")]), **options
        )["value_reference"].item(),
    }
    if scores.provenance.benchmark == "attunebench":
        [row] = [row for row in aggregates(scores) if row["em_model"] == model]
        found["aggregates"] = row[metric]
    return found


def compare_with_zero(scores: Scores, metric: str, model: str) -> Scores:
    """Return one model's scores without a condition, beside a model, and another condition, that has 0 everywhere."""
    own = scores.values.filter(model=model).select("unit", metric).drop_nulls()
    none = pl.lit(None, dtype=pl.String)
    zero = pl.lit(0.0).alias(metric)
    parts = [
        own.select(pl.lit(model).alias("model"), none.alias("condition"), "unit", metric),
        own.select(pl.lit("zero").alias("model"), none.alias("condition"), "unit", zero),
        own.select(pl.lit(model).alias("model"), pl.lit("other").alias("condition"), "unit", zero),
    ]
    entries = {metric: scores.metrics[metric]}
    held = scores.provenance.model_copy(update={"primary": metric, "headline": (), "reference": None})
    return Scores(values=pl.concat(parts), units=scores.units, metrics=entries, provenance=held)


def shuffled(scores: Scores, seed: int) -> Scores:
    """Return the same scores in another order of rows."""
    order = Random(seed).sample(range(scores.values.height), scores.values.height)
    detail = None if scores.detail is None else scores.detail.at(order)
    return replace(scores, values=scores.values[order], units=scores.units.reverse(), detail=detail)


@pytest.mark.slow
def test_the_composite_of_the_demo() -> None:
    scores = score(load("demo"), load_runs("demo"))
    model = "synthetic/attentive"
    values = scores.values.filter(model=model)["composite_score"].to_list()
    # Added one after the other, as sum does before Python 3.12, the last digit is another.
    assert reduce(add, values) / 40 == 67.33674999999998
    assert fsum(values) / 40 == 67.33675
    for seed in range(3):
        found = everywhere(shuffled(scores, seed), "composite_score", model)
        assert set(found.values()) == {67.33675}, found


@pytest.mark.parametrize("name", slow_except(NAMES, "sage"))
def test_every_mean_of_every_benchmark(name: str) -> None:
    scores = scores_named(name)
    if name == "table":
        scores = scores.keep(groups=[group for group in scores.groups if group[1] == "plain"])
    means = [metric.name for metric in scores.metrics.values() if metric.statistic in {"mean", "share"}]
    for metric in [metric for metric in means if metric in scores.headline]:
        for model in scores.models:
            values = scores.values.filter(model=model)[metric].drop_nulls().to_list()
            if values:
                found = everywhere(scores, metric, model)
                assert set(found.values()) == {fsum(values) / len(values)}, (metric, model, found)


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30), st.integers(0, 9))
def test_any_values_in_any_order(values: Sequence[float], seed: int) -> None:
    rows = [("m", f"u{place:02}", "x", value) for place, value in enumerate(values)]
    scores = Scores.from_table(pl.DataFrame(rows, schema=["model", "unit", "metric", "value"], orient="row"))
    found = everywhere(shuffled(scores, seed), "x", "m")
    assert set(found.values()) == {fsum(values) / len(values)}, found


@pytest.mark.parametrize("name", slow_except(NAMES, "eibench", "sage"))
def test_differences_are_those_of_the_values(name: str) -> None:
    scores = scores_named(name)
    metric = scores.primary
    # On units that all models have.
    full = scores.values.group_by("unit").agg(pl.col(metric).is_not_null().all())
    scores = scores.keep(units=full.filter(pl.col(metric))["unit"])
    frames = {"overall": scores}
    for (stratum,), units in scores.units.group_by(TRAITS[name]):
        frames[str(stratum)] = scores.keep(units=units["unit"])
    compared = compare_by(scores, TRAITS[name], metrics=[metric], **QUICK)
    assert compared.height == len(frames) * scores.compare_all(metrics=[metric], **QUICK).height
    for row in compared.iter_rows(named=True):
        part = frames[row["stratum"]]
        values = {
            (model, condition): value
            for model, condition, value in part.summary(metrics=[metric], **QUICK)
            .select("model", "condition", "value")
            .rows()
        }
        a, b = (values[row[side], row["condition"]] for side in ("model_a", "model_b"))
        assert row["difference"] == a - b


@pytest.mark.slow
def test_the_score_of_pooled_counts_is_one_number_too() -> None:
    scores = scores_named("attunebench")
    metric = "pooled_binary_om_metrics.mcc"
    for row in scores.summary(metrics=[metric], **QUICK).iter_rows(named=True):
        [of_file] = [one for one in aggregates(scores) if one["em_model"] == row["model"]]
        assert row["value"] == of_file["pooled_binary_om_metrics"]["mcc"]
        assert row["value"] == scores.rank(metrics=[metric], **QUICK).filter(model=row["model"])["value"].item()
        assert row["value"] == model_frame(scores).filter(model=row["model"])[metric].item()
