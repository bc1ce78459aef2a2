"""Ranks of models with intervals, ratings from comparisons in pairs, and tiers."""

import warnings
from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from typing_extensions import Unpack

from attune_bench.scores.columns import FrameColumn, build_frame, columns, whole
from attune_bench.scores.table import ScoreTable
from attune_bench.stats.comparability import check_within_conditions
from attune_bench.stats.compare import compare_all
from attune_bench.stats.options import (
    AnalysisKeywords,
    Mask,
    SamplingKeywords,
    begin,
    direction,
    distribution_ends,
    interval_ends,
)
from attune_bench.stats.summary import per_unit
from attune_data.text import listed, pluralize
from attune_metrics.metric import PSEUDO_VALUES, MetricInputError, nan_to_none
from attune_metrics.stats.bootstrap import Resamples, bootstrap_distribution, point_estimate
from attune_metrics.stats.pairwise_ratings import Rating, bradley_terry_ratings
from attune_metrics.stats.ranking import tier_spans
from attune_metrics.stats.ranking import tiers as tiers_of
from attune_metrics.stats.sums import Floats, average_ranks, rounding_of

_MOST_NAMED = 3


def in_tiers(table: ScoreTable, ranks: pl.DataFrame, pairs: pl.DataFrame) -> pl.DataFrame:
    """Return ranked models in their tiers, where they are ranked and compared already.

    Parameters
    ----------
    table : ScoreTable
        The scores.
    ranks : polars.DataFrame
        A row a model and condition, of each condition the best first, with the columns ``condition, model, rank``; a
        model without a rank is in no tier.
    pairs : polars.DataFrame
        Of the primary metric, as from `attune_bench.stats.compare.compare_all`.

    Returns
    -------
    polars.DataFrame
        `ranks`, then ``tier, tier_first, tier_last``, as in `Tiers.models`.

    Warns
    -----
    UserWarning
        As `attune_bench.stats.rank.tiers`.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_bench.stats.compare import compare_all
    >>> from attune_bench.stats.rank import rank
    >>> from attune_data import load, load_runs
    >>> scores = score(load("demo"), load_runs("demo"))
    >>> ranks = rank(scores, resamples=200).select("condition", "model", "rank")
    >>> pairs = compare_all(scores, metrics=[scores.primary], resamples=200)
    >>> in_tiers(scores, ranks, pairs)["tier"].to_list()
    [1, 2]
    """
    sign = table.metric(table.primary).sign
    parts, against, without = [], [], []
    for condition in table.conditions:
        here = pl.col("condition").eq_missing(pl.lit(condition))
        models = ranks.filter(here, pl.col("rank").is_not_null())["model"].to_list()
        place = {model: position for position, model in enumerate(models)}
        significant = np.zeros((len(models), len(models)), dtype=np.bool_)
        compared = pairs.filter(here, pl.col("model_a", "model_b").is_in(models))
        told = compared.filter("significant").select("model_a", "model_b", "difference")
        for one, other, difference in told.iter_rows():
            better, worse = (one, other) if sign * difference > 0 else (other, one)
            if place[better] < place[worse]:
                significant[place[better], place[worse]] = significant[place[worse], place[better]] = True
            else:
                against.append(f"{better} below {worse}")
        without += [f"{a} and {b}" for a, b in compared.filter(n=0).select("model_a", "model_b").iter_rows()]
        spans = tier_spans(significant)
        frame = {
            "condition": [condition] * len(models),
            "model": models,
            "tier": tiers_of(significant),
            "tier_first": spans[:, 0],
            "tier_last": spans[:, 1],
        }
        schema = {"condition": pl.String, "model": pl.String} | dict.fromkeys(
            ("tier", "tier_first", "tier_last"), pl.Int64
        )
        parts.append(pl.DataFrame(frame, schema=schema))
    _warn(against, without, table.provenance.unit)
    keys = ["condition", "model"]
    return ranks.join(pl.concat(parts), on=keys, how="left", nulls_equal=True, maintain_order="left")


def _warn(against: Sequence[str], without: Sequence[str], unit: str) -> None:
    """Warn of pairs that the ranks do not order reliably, as the two models were ranked on different units."""
    if against:
        warnings.warn(
            f"ranked below a model that is worse on the {pluralize(unit)} that both have: "
            f"{listed(against, _MOST_NAMED)}; each model is ranked by all of its own, and no tier parts such two",
            stacklevel=4,
        )
    if without:
        warnings.warn(
            f"no {unit} in common: {listed(without, _MOST_NAMED)}; the ranks of such two do not say which is better",
            stacklevel=4,
        )


RANKS = columns(
    "condition metric model value rank low high n clusters reason",
    low=FrameColumn("Best rank of the interval: other units would have put the model there.", low=1),
    high=FrameColumn("Worst rank of the interval.", low=1),
)


def rank(table: ScoreTable, **options: Unpack[AnalysisKeywords]) -> pl.DataFrame:
    """Return the rank of every model in every condition, the best first.

    Parameters
    ----------
    table : ScoreTable
        The scores.
    **options
        ``metrics``, ``resamples``, ``seed``, ``level``, ``unit``, ``weight``, ``interval`` (no BCa); see
        `AnalysisOptions`. The metric is by default the primary one.

    Returns
    -------
    polars.DataFrame
        The columns `RANKS`. Rank 1 is the best, ties share their mean rank; models without a value have none and come
        last. The ends of the interval are ranks that occur.

    Raises
    ------
    MetricInputError
        Where an option is unknown or out of range, or a metric has no better direction.
    MixedSettingsError
        Where the runs differ in settings that change answers; see `attune_bench.stats.comparability`.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> found = rank(score(load("demo"), load_runs("demo")), resamples=200)
    >>> found.select("model", "rank", "low", "high").rows()
    [('synthetic/attentive', 1.0, 1.0, 1.0), ('synthetic/hasty', 2.0, 2.0, 2.0)]
    """
    chosen, series, draws = begin(table, options, weighted=True)
    rows: list[tuple[Any, ...]] = []
    names = chosen.names_of_means(table, [table.primary])
    check_within_conditions(table, names)
    for name in names:
        sign = direction(table.metric(name))
        terms, statistic = series.values(name), series.statistic(name)
        values, defined = series.counted(terms, chosen), ~np.isnan(terms[:, 0])
        for condition, groups in series.by_condition().items():
            points = point_estimate(values[groups], statistic=statistic)
            known = [group for group, value in zip(groups, points, strict=True) if not np.isnan(value)]
            there: Mask = np.logical_or.reduce(defined[known], axis=0)
            rounding = rounding_of(values[known])
            ranks = average_ranks(-sign * points[~np.isnan(points)], rounding)
            resamples = draws.of(there)
            drawn = average_ranks(
                -sign * bootstrap_distribution(values[known][:, :, there], resamples, statistic=statistic).T, rounding
            )
            found: list[tuple[Any, ...]] = []
            for place, group in enumerate(known):
                present = defined[group]
                clusters = series.count(present)
                low, high, reason = distribution_ends(
                    drawn[:, place],
                    chosen,
                    table,
                    drawn=len(np.unique(resamples.clusters[present[there]])),
                    clusters=clusters,
                    of="a rank",
                    whole=True,
                )
                value = float(points[groups.index(group)])
                found.append(
                    (condition, name, series.groups[group][0], value, float(ranks[place]), low, high,
                     int(present.sum()), clusters, reason)
                )  # fmt: skip
            found.sort(key=lambda row: (row[4], row[2]))
            is_fitted = table.metric(name).statistic == PSEUDO_VALUES
            why = "not rated; a note says why" if is_fitted else f"no {table.provenance.unit} has a value"
            found += [
                (condition, name, series.groups[group][0], None, None, None, None, 0, 0, why)
                for group in groups
                if group not in known
            ]
            rows += found
    return build_frame(RANKS, rows)


RATINGS = columns(
    "condition metric model strength low high wins ties losses group rank n clusters reason",
    strength=FrameColumn("Bradley-Terry strength in log odds; 0 is the mean of the group.", shown="plain", signed=True),
    wins=whole("How many comparisons the model won."),
    ties=whole("How many were ties."),
    losses=whole("How many it lost."),
    group=whole("Number of the group: only models of one group are compared, by chains of wins both ways."),
    rank="Rank in the group, 1 is the best.",
    n="How many units have a comparison.",
)


def ratings(table: ScoreTable, **options: Unpack[AnalysisKeywords]) -> pl.DataFrame:
    """Return the Bradley-Terry strength of every model in every condition, the strongest of each group first.

    On each unit that two models have, the one with the better value wins; equal values are a tie, half a win for each.

    Parameters
    ----------
    table : ScoreTable
        The scores.
    **options
        ``metrics``, ``resamples``, ``seed``, ``level``, ``unit``, ``interval`` (no BCa); see `AnalysisOptions`. The
        metric is by default the primary one.

    Returns
    -------
    polars.DataFrame
        The columns `RATINGS`. ``strength`` is a natural logarithm, 0 being the mean of the models of the ``group``: one
        of strength a beats one of strength b with probability ``1 / (1 + exp(b - a))``. Only models of one group are
        compared, by chains of wins both ways; ``rank`` is among them. The strength of a model alone in its group is
        null: where it won, or lost, every comparison, it would be infinite. ``n`` and ``clusters`` are of the units
        with a comparison.

    Raises
    ------
    MetricInputError
        Where an option is unknown or out of range, or a metric has no better direction or no value of each unit.
    MixedSettingsError
        Where the runs differ in settings that change answers; see `attune_bench.stats.comparability`.

    References
    ----------
    Bradley, Terry (1952), Rank analysis of incomplete block designs I, Biometrika 39, 324-345. Hunter (2004), MM
    algorithms for generalized Bradley-Terry models, Ann. Stat. 32, 384-406.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> found = ratings(score(load("demo"), load_runs("demo")), metrics=["avg_emotion_f1"], resamples=200)
    >>> found.select("model", "wins", "ties", "losses", "group", "rank").rows()
    [('synthetic/attentive', 32, 1, 7, 1, 1.0), ('synthetic/hasty', 7, 1, 32, 1, 2.0)]
    """
    chosen, series, draws = begin(table, options)
    names = chosen.names(table, [table.primary])
    check_within_conditions(table, names)
    if chosen.interval == "bca":
        raise MetricInputError("there is no BCa interval of a strength; use percentile-expanded or percentile")
    rows: list[tuple[Any, ...]] = []
    for name in names:
        values = direction(table.metric(name)) * series.values(per_unit(table, name, "ratings"))[:, 0]
        for condition, groups in series.by_condition().items():
            present = ~np.isnan(values[groups])
            compared: Mask = present & (present.sum(axis=0) > 1)
            units: Mask = np.logical_or.reduce(compared, axis=0)
            rated = {
                groups[int(one.model)]: one
                for one in _rated(values[groups][:, units], draws.of(units), chosen.interval, chosen.level)
            }
            for group, one in rated.items():
                of_model = compared[groups.index(group)]
                clusters = series.count(of_model)
                low, high, reason = None, None, one.reason
                if one.strength.n:
                    low, high, why = interval_ends(one.strength, clusters, table)
                    reason = why or one.reason
                rows.append(
                    (condition, name, series.groups[group][0], nan_to_none(one.strength.estimate), low, high,
                     round(one.wins), round(one.ties), round(one.losses), one.group, nan_to_none(one.rank),
                     int(of_model.sum()), clusters, reason)
                )  # fmt: skip
            why = f"has no {table.provenance.unit} with another model"
            rows += [
                (condition, name, series.groups[group][0], None, None, None, 0, 0, 0, None, None, 0, 0, why)
                for group in groups
                if group not in rated and len(groups) > 1
            ]
    return build_frame(RATINGS, rows)


def _rated(values: Floats, resamples: Resamples, method: Any, level: float) -> list[Rating]:
    """Return the ratings of the models, by their places, from values (models, units); higher is better."""
    pairs = np.array([*combinations(range(len(values)), 2)], dtype=np.intp).reshape(-1, 2)
    one, other = values[pairs[:, 0]], values[pairs[:, 1]]
    pair, unit = np.nonzero(~np.isnan(one + other))
    won = ((one > other) + (one == other) / 2)[pair, unit]
    of_comparisons = Resamples(resamples.clusters[unit], resamples.counts)
    found = bradley_terry_ratings(pairs[pair, 0], pairs[pair, 1], won, of_comparisons, method=method, level=level)
    return found.models


class Tiers(NamedTuple):
    """The models in their tiers, and the comparisons that these rest on.

    Attributes
    ----------
    models : polars.DataFrame
        The columns of `attune_bench.stats.rank.rank`, then ``tier, tier_first, tier_last``: the tier, and the first
        and the last tier with a model that does not differ significantly from this model. Null for a model without a
        value.
    pairs : polars.DataFrame
        As from `attune_bench.stats.compare.compare_all`.
    """

    models: pl.DataFrame
    pairs: pl.DataFrame


def tiers(table: ScoreTable, **options: Unpack[SamplingKeywords]) -> Tiers:
    """Return the models of every condition in tiers, by the primary metric.

    Parameters
    ----------
    table : ScoreTable
        The scores.
    **options
        ``resamples``, ``seed``, ``level``, ``unit``, ``weight``, ``interval`` (no BCa); see
        `attune_bench.stats.options.AnalysisOptions`.

    Raises
    ------
    MetricInputError
        As `attune_bench.stats.rank.rank`.
    MixedSettingsError
        Where the runs differ in settings that change answers; see `attune_bench.stats.comparability`.

    Warns
    -----
    UserWarning
        Where a model is ranked below one that is significantly worse on the units that both have, or two models have no
        unit in common; see `attune_bench.stats.compare.compare_all` for others.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> found = tiers(score(load("demo"), load_runs("demo")), resamples=200)
    >>> found.models.select("model", "tier", "tier_first", "tier_last").rows()
    [('synthetic/attentive', 1, 1, 1), ('synthetic/hasty', 2, 2, 2)]
    """
    ranks = rank(table, metrics=[table.primary], **options)
    pairs = compare_all(table, metrics=[table.primary], **options)
    return Tiers(in_tiers(table, ranks, pairs), pairs)
