"""Separation: how well each metric tells models apart, the most reliable metric first."""

from collections.abc import Sequence
from math import floor, isinf, isnan
from typing import Any

import numpy as np
import polars as pl
from typing_extensions import Unpack

from attune_bench.scores.columns import (
    COMMON_COLUMNS,
    Columns,
    FrameColumn,
    build_frame,
    columns,
    said_by_condition,
    share,
    whole,
)
from attune_bench.scores.provenance import kind_of_group
from attune_bench.scores.table import ScoreTable, metrics_per_unit
from attune_bench.stats.comparability import check_within_conditions
from attune_bench.stats.compare import all_pairs_tested
from attune_bench.stats.options import AnalysisKeywords, Label, Mask, ScoreSeries, begin, interval_ends
from attune_bench.stats.summary import per_unit
from attune_data.text import listed, plural
from attune_metrics.metric import Metric, nan_to_none
from attune_metrics.stats.separation import Separation, units_for_reliability
from attune_metrics.stats.separation import separation as separation_of
from attune_metrics.stats.sums import MOST_SKEWNESS, ROUNDING, Floats, skewness_of_mean

TARGET = 0.9


def _part(name: str, what: str) -> Columns:
    """Return the columns of a share of the variance and of its interval."""
    ends = {
        end: f"{side} end of the interval of that share; none where few far units decide it."
        for end, side in (("low", "Lower"), ("high", "Upper"))
    }
    head = name.removesuffix("_share")
    return {name: share(f"Share of the variance of one score {what}.")._replace(head=head)} | {
        f"{name}_{end}": share(text, "files") for end, text in ends.items()
    }


SEPARATION: Columns = (
    columns(
        "condition metric reliability low high pairs differ",
        reliability=FrameColumn(
            "Share of the variance between the models' means that other units would show again; below 0 where the "
            "means differ less than noise alone would make them.",
            high=1,
            shown="plain",
        ),
        low=share("Lower end of the interval of the reliability."),
        high=share("Upper end of the interval of the reliability."),
        pairs=whole("How many pairs of models were tested.")._replace(shown="files"),
        differ=share("Share of the pairs that differ significantly, with Holm's correction for all pairs."),
    )
    | _part("models_share", "between models")
    | _part("units_share", "between units")
    | _part("within_share", "within models and units")
    | columns(
        "units_needed detectable n models clusters reason",
        units_needed=whole("How many units a reliability of 0.9 takes; empty where none would do.", 1),
        detectable=FrameColumn(
            "Minimum detectable difference of two models, as a share of the range of the models' means.",
            low=0,
            shown="plain",
        ),
        n="How many units every model has.",
        models=COMMON_COLUMNS["models"]._replace(shown="files"),
    )
)


def separation(scores: ScoreTable, **options: Unpack[AnalysisKeywords]) -> pl.DataFrame:
    """Return how well each metric tells the models of a condition apart, the most reliable metric first.

    Baselines and people, see `attune_bench.scores.provenance.kind_of_group`, are no models and left out, as are models
    without a value.

    Parameters
    ----------
    scores : ScoreTable
        The scores.
    **options
        ``metrics``, ``resamples``, ``seed``, ``level``, ``unit``; see
        `attune_bench.stats.options.AnalysisOptions`. By default the metrics of the board that have a value of each
        unit. The intervals are by formula, whatever ``interval`` says; ``resamples`` and ``seed`` are of the tests.

    Returns
    -------
    polars.DataFrame
        The columns `SEPARATION`. Reliability, shares and intervals are from
        `attune_metrics.stats.separation.separation`, on the ``n`` units on which every model has a value. ``differ`` is
        the share of the ``pairs`` of models that `attune_bench.stats.compare.compare_all` finds different, by all units
        that both have. Shares have no interval where few far units decide the variance of units: it would cover too
        rarely.

    Raises
    ------
    MetricInputError
        Where an option is unknown or out of range, or a metric has no value of each unit.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> scores = score(load("demo"), load_runs("demo"))
    >>> found = separation(scores, metrics=["avg_emotion_va_score", "avg_pairwise_accuracy"], resamples=200)
    >>> found.select("metric", pl.col("reliability").round(2), "differ", "units_needed").rows()
    [('avg_pairwise_accuracy', 0.99, 1.0, 3), ('avg_emotion_va_score', 0.8, 0.0, 89)]
    """
    chosen, series, _ = begin(scores, options)
    labels = series.clusters(chosen)
    metrics = chosen.names(scores, [name for name in scores.headline if name in metrics_per_unit(scores)])
    check_within_conditions(scores, metrics)
    others: dict[str, Any] = {name: value for name, value in options.items() if name != "metrics"}
    rows: list[dict[str, Any]] = []
    for condition, groups in series.by_condition().items():
        found = []
        for metric in metrics:
            values = series.values(per_unit(scores, metric, "separation"))[:, 0]
            kept = [
                group
                for group in groups
                if kind_of_group(series.groups[group][0]) == "model" and not np.isnan(values[group]).all()
            ]
            if len(kept) > 1:
                family = scores.keep(groups=[series.groups[group] for group in kept])
                tests = all_pairs_tested(family, metric, **others)["significant"].drop_nulls()
            else:
                tests = pl.Series(dtype=pl.Boolean)
            measured = separation_of(values[kept], labels, level=chosen.level)
            row = _row(scores, series, measured, values[kept], labels)
            found.append({"condition": condition, "metric": metric, "pairs": len(tests), "differ": tests.mean(), **row})
        rows += sorted(found, key=lambda row: -np.inf if row["reliability"] is None else row["reliability"])[::-1]
    return build_frame(SEPARATION, [{name: row.get(name) for name in SEPARATION} for row in rows])


def _row(
    scores: ScoreTable, series: ScoreSeries, found: Separation, values: Floats, labels: Sequence[Label]
) -> dict[str, Any]:
    """Return the cells of one metric in one condition, from values (models, units)."""
    complete: Mask = ~np.logical_or.reduce(np.isnan(values), axis=0)
    clusters = series.count(complete)
    is_skewed = False
    if not isnan(found.unit.estimate):
        units = values.mean(axis=0)
        is_skewed = bool(skewness_of_mean((units - units[complete].mean()) ** 2, labels)[0] > 2 * MOST_SKEWNESS)
    row: dict[str, Any] = {"n": found.reliability.n, "models": len(values), "clusters": clusters}
    low, high, reason = interval_ends(found.reliability, clusters, scores)
    if not found.reliability.n and len(values) > 1:
        reason = f"no {scores.provenance.unit} has a value of every model"
    row |= {"reliability": nan_to_none(found.reliability.estimate), "low": low, "high": high, "reason": reason}
    for name, part in (("models", found.model), ("units", found.unit), ("within", found.within)):
        low, high, _ = (None, None, None) if is_skewed else interval_ends(part, clusters, scores)
        row |= {f"{name}_share": nan_to_none(part.estimate), f"{name}_share_low": low, f"{name}_share_high": high}
    if not isnan(found.reliability.estimate):
        needed = units_for_reliability(found.reliability.estimate, found.reliability.n, target=TARGET)
        row["units_needed"] = None if isinf(needed) else int(needed)
        row["detectable"] = nan_to_none(found.detectable)
    return row


def advice(scores: ScoreTable, frame: pl.DataFrame) -> str:
    """Say which metric to trust most, how many are reliable, and which do not tell the models apart.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> scores = score(load("demo"), load_runs("demo"))
    >>> advice(scores, separation(scores, metrics=["avg_emotion_f1", "avg_pairwise_accuracy"], resamples=200))
    'Pairwise accuracy orders these models most reliably (0.99); 2 of 2 metrics reach a reliability of 0.9.'
    """
    return said_by_condition(scores, frame, lambda rows: _advice(scores, rows.to_dicts()))


def _advice(scores: ScoreTable, rows: Sequence[dict[str, Any]]) -> str:
    known = [row for row in rows if row["low"] is not None]

    def called(name: str) -> str:
        metric: Metric = scores.metrics[name]
        return metric.label

    if not known:
        return "No metric has an interval of its reliability, so that none can be called reliable."
    apart = [row for row in known if row["low"] > 0]
    if not apart:
        return f"None of {plural(len(known), 'metric')} tells these models apart: each reliability may be 0."
    best, reach = apart[0], sum(row["reliability"] >= TARGET for row in known)
    unsure = [called(row["metric"]) for row in rows if row["low"] is None and row["reliability"] is not None]
    said = (
        f"{called(best['metric'])} orders these models most reliably ({_rounded_down(best['reliability']):.2f}); "
        f"{reach} of {plural(len(known), 'metric')} {'reaches' if reach == 1 else 'reach'} a reliability of {TARGET}"
    )
    if unsure:
        said += f"; the reliability of {listed(unsure, 6)} has no interval, and is not counted"
    lost = [called(row["metric"]) for row in known if row["low"] <= 0 and not row["differ"]]
    if lost:
        verb = "does" if len(lost) == 1 else "do"
        said += f"; {listed(lost, 6)} {verb} not tell them apart, as the reliability may be 0"
    return f"{said}."


def _rounded_down(reliability: float) -> float:
    """Return a reliability to two digits, below 0.9 where it is below 0.9."""
    return floor(100 * reliability + ROUNDING) / 100
