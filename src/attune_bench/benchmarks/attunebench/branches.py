"""Profile of the four branches: how far each model is from random answers to a perfect score in each branch.

The README of AttuneBench says that the benchmark rests on the four branches of the ability model and measures them by
four behaviours, in this order: emotion inference, response evaluation, preference anticipation and outcome prediction.
`METRICS_OF_BRANCHES` takes the four behaviours as the four branches and adds to each branch the metric that is named
after it. Which metric belongs to which behaviour is the reading of this library.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl
from typing_extensions import Unpack

from attune_bench.scores.columns import FrameColumn, build_frame, columns, said_by_condition, text
from attune_bench.scores.parts import CHANCE
from attune_bench.scores.provenance import kind_of_group
from attune_bench.scores.table import ScoreTable
from attune_bench.stats.options import Mask, ResampleCache, SamplingKeywords, ScoreSeries, begin, interval_ends
from attune_data.text import joined, plural
from attune_metrics.metric import Metric, nan_to_none
from attune_metrics.stats.bootstrap import Interval, bootstrap
from attune_metrics.stats.sums import Floats

METRICS_OF_BRANCHES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "perceiving": (
            *("avg_emotion_f1", "avg_emotion_va_score", "q2_emotion_clarity_match"),
            "four_branch_perceiving_mae",
        ),
        "facilitating": ("avg_binary_om_accuracy", "q3_model_fit_match", "four_branch_facilitating_mae"),
        "understanding": (
            *("avg_binary_human_accuracy", "avg_pairwise_accuracy", "q1_looking_for_score"),
            "four_branch_understanding_mae",
        ),
        "managing": ("panas_baseline_adjusted", "four_branch_managing_mae"),
    }
)
"""The metrics of each branch; each metric counts once in its branch."""

WHOLE = "whole branch"

BRANCH_PROFILES = columns(
    "model condition branch part share low high ceiling value chance n clusters reason",
    branch=text("Branch of emotional intelligence."),
    part=text("Metric of the branch, or the whole branch: the mean of the shares of its metrics."),
    share=FrameColumn(
        "Share of the way from random answers (0) to a perfect score (1); below 0 is worse than random answers.",
        high=1,
        shown="plain",
    ),
    low=FrameColumn("Lower end of the interval of the share.", shown="plain"),
    high=FrameColumn("Upper end of the interval of the share.", shown="plain"),
    ceiling=FrameColumn(
        "The highest share of a person in the same condition, of people with an interval; empty without people.",
        high=1,
        shown="plain",
    ),
    value=FrameColumn("Mean of the metric; empty for a whole branch.", shown="plain"),
    chance=FrameColumn("What random answers score on average; empty for a whole branch.", shown="plain"),
    n="How many units have a value of a metric of the branch.",
)


def branches(scores: ScoreTable, **options: Unpack[SamplingKeywords]) -> pl.DataFrame:
    """Return how far each model is from random answers to a perfect score, in each branch and in each of its metrics.

    The share of a metric is ``(mean - chance) / (best - chance)``: the mean over the units that have a value, the mean
    of what random answers to these units score, and the best value of the metric. The share of a branch is the mean of
    the shares of its metrics, so that metrics on different scales count alike. A branch in which one metric has no
    share has none either, for the ``reason``.

    Parameters
    ----------
    scores : ScoreTable
        The scores.
    **options
        ``resamples``, ``seed``, ``level``, ``unit``, ``interval``; see
        `attune_bench.stats.options.AnalysisOptions`. A resample draws values and chance together.

    Returns
    -------
    polars.DataFrame
        The columns `BRANCH_PROFILES`: for each model and condition the branches, each followed by its metrics.

    Raises
    ------
    MetricInputError
        Where an option is unknown or out of range.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> found = branches(score(load("demo"), load_runs("demo")), resamples=200).filter(part="whole branch")
    >>> found.filter(model="synthetic/attentive").select("branch", pl.col("share").round(2)).rows()[0]
    ('perceiving', 0.46)
    """
    _, series, draws = begin(scores, options)
    found: dict[tuple[int, str, str], dict[str, Any]] = {}
    for branch, metrics in METRICS_OF_BRANCHES.items():
        terms = [_terms(scores, series, metric) for metric in metrics]
        for part, names, values in [
            (WHOLE, metrics, np.concatenate(terms, axis=1)),
            *((metric, (metric,), of_metric) for metric, of_metric in zip(metrics, terms, strict=True)),
        ]:
            for group, row in enumerate(_rows(series, draws, names, values)):
                found[group, branch, part] = row
    of_people: dict[tuple[str | None, str, str], list[float]] = {}
    for (group, branch, part), row in found.items():
        model, condition = series.groups[group]
        if kind_of_group(model) == "person" and row["low"] is not None:
            of_people.setdefault((condition, branch, part), []).append(row["share"])
    rows: list[dict[str, Any]] = []
    for group, (model, condition) in enumerate(series.groups):
        for branch, metrics in METRICS_OF_BRANCHES.items():
            for part in (WHOLE, *metrics):
                identity = {"model": model, "condition": condition, "branch": branch, "part": part}
                ceiling = max(of_people.get((condition, branch, part), ()), default=None)
                rows.append({**identity, **found[group, branch, part], "ceiling": ceiling})
    return build_frame(BRANCH_PROFILES, [{name: row[name] for name in BRANCH_PROFILES} for row in rows])


def _terms(scores: ScoreTable, series: ScoreSeries, metric: str) -> Floats:
    """Return how far each value is above chance, and how far the best value is (groups, 2, units); nan if unknown."""
    if metric not in scores.metrics or f"{CHANCE}{metric}" not in scores.units.columns:
        return np.full((len(series.groups), 2, len(series.units)), np.nan)
    entry = scores.metrics[metric]
    chance = scores.units.sort("unit")[f"{CHANCE}{metric}"].cast(pl.Float64).to_numpy()
    values = series.values(metric)[:, 0]
    reach = np.where(np.isnan(values), np.nan, entry.sign * (_best(entry) - chance))
    return np.stack([entry.sign * (values - chance), reach], axis=1)


def _best(entry: Metric) -> float:
    return entry.high if entry.sign > 0 else entry.low


def _mean_share(sums: Floats, _: Floats) -> Floats:
    """Return the mean over metrics of the share, from sums (..., terms) of distances from chance and of their ranges.

    The share is undefined where random answers score best already, or where no unit has a value.
    """
    above, reach = sums[..., ::2], sums[..., 1::2]
    possible = reach > 0
    shares = np.where(possible, above / np.where(possible, reach, 1.0), np.nan)
    found: Floats = shares.mean(axis=-1)
    return found


def _rows(series: ScoreSeries, draws: ResampleCache, metrics: tuple[str, ...], terms: Floats) -> list[dict[str, Any]]:
    """Return the row of each group for a mean of shares of metrics, from their terms (groups, terms, units)."""
    known = ~np.isnan(terms)
    present: Mask = np.logical_or.reduce(known, axis=1)
    # A unit without a value of one metric adds nothing to the sums of that metric.
    counted = np.where(known, terms, 0.0)
    counted[~np.broadcast_to(present[:, np.newaxis], terms.shape)] = np.nan
    intervals: dict[int, Interval] = {}
    for mask, places in draws.parts(present, present):
        of_part = draws.intervals(bootstrap, counted[places][:, :, mask], mask, statistic=_mean_share)
        intervals |= zip(places.tolist(), of_part, strict=True)
    table = series.table
    rows = []
    for group, units in enumerate(present):
        clusters = series.count(units)
        low, high, reason = interval_ends(intervals[group], clusters, table)
        row = {"share": nan_to_none(intervals[group].estimate), "low": low, "high": high, "reason": reason}
        row |= {"n": int(units.sum()), "clusters": clusters, "value": None, "chance": None}
        lacking = [name for place, name in enumerate(metrics) if not np.nansum(terms[group, 2 * place + 1]) > 0]
        if lacking:
            labels = [table.metrics[name].label if name in table.metrics else name for name in lacking]
            row |= {"low": None, "high": None, "reason": f"nothing above random answers to score in {joined(labels)}"}
            unknown = [name for place, name in enumerate(metrics) if not known[group, 2 * place + 1].any()]
            if unknown == lacking:
                row["reason"] = f"no value of {joined(labels)}"
        if len(metrics) == 1 and metrics[0] in table.metrics and units.any():
            entry = table.metrics[metrics[0]]
            above, reach = (float(np.nanmean(of)) for of in terms[group])
            row["chance"] = nan_to_none(_best(entry) - entry.sign * reach)
            row["value"] = nan_to_none(_best(entry) - entry.sign * (reach - above))
        rows.append(row)
    return rows


def above_random(scores: ScoreTable, frame: pl.DataFrame) -> str:
    """Say in which branches how many models are above random answers, by condition; people and baselines do not count.

    Examples
    --------
    >>> from attune_bench import Scores
    >>> scores = Scores.from_table(pl.DataFrame({"model": "m", "unit": "u", "metric": "hit", "value": [1.0]}))
    >>> shares = {"model": ["a", "b"], "branch": "managing", "part": WHOLE, "low": [0.1, -0.2], "high": [0.4, 0.2]}
    >>> above_random(scores, pl.DataFrame({"condition": None, **shares}))
    'Interval wholly above random answers: managing 1 of 2 models.'
    """
    models = [model for model in frame["model"].unique() if kind_of_group(model) == "model"]
    return said_by_condition(
        scores,
        frame,
        lambda rows: _above_random(rows.filter(pl.col("model").is_in(models), part=WHOLE).drop_nulls("low")),
    )


def _above_random(rows: pl.DataFrame) -> str:
    said: list[str] = []
    for branch in METRICS_OF_BRANCHES:
        known = rows.filter(branch=branch)["low"]
        if len(known):
            of = str(len(known)) if said else plural(len(known), "model")
            said.append(f"{branch} {(known > 0).sum() or 'none'} of {of}")
    return f"Interval wholly above random answers: {', '.join(said)}." if said else ""
