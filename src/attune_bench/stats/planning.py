"""Plan a comparison: how many participants a difference needs, or which difference a number of participants shows."""

import warnings
from collections.abc import Sequence
from math import ceil, isnan
from typing import Any

import numpy as np
import polars as pl
from typing_extensions import Unpack

from attune_bench.scores.columns import FrameColumn, build_frame, columns, share, whole
from attune_bench.scores.table import ScoreTable
from attune_bench.stats.compare import check_below_range, check_shared_units, compare, compare_all
from attune_bench.stats.options import AnalysisKeywords, AnalysisOptions, ScoreSeries, have_values
from attune_data.text import pluralize
from attune_metrics.metric import MetricInputError, UndefinedMetricWarning, check_whole, nan_to_none
from attune_metrics.stats.looks import check_looks, plan_of_looks
from attune_metrics.stats.power import (
    MOST_UNITS,
    check_difference,
    effect_after_pilot,
    fewest_participants,
    participants_after_pilot,
    participants_needed,
    planned_effect,
)
from attune_metrics.stats.sums import ROUNDING, cluster_index, coefficient_of_variation

PLAN = columns(
    "model_a model_b condition metric difference participants units sd correlation icc units_per_participant "
    "units_cv n clusters mde reason",
    difference=FrameColumn("The difference that is found with 80% power.", low=0),
    participants=whole("How many participants that takes."),
    units=whole("How many units they have together."),
    sd=FrameColumn("Standard deviation of a unit's score, as stated.", low=0),
    correlation=FrameColumn("Correlation of both models' scores on a unit, as stated.", low=-1, high=1),
    icc=share("How alike the differences of one participant are, as stated."),
    units_per_participant=FrameColumn("Mean number of units of a participant.", low=0),
    units_cv=FrameColumn(
        "How unequal participants are: the standard deviation of their numbers of units, over the mean.", low=0
    ),
    n="How many units the pilot has.",
    clusters="How many clusters the pilot has.",
    mde="Minimum detectable effect of the pilot itself.",
)

EXPECTED = columns(
    "participants_expected",
    participants_expected=FrameColumn(
        "Mean number of participants until one of the looks finds the difference, where that is its true size.", low=0
    ),
)
"""The further column of a plan with several looks."""


def plan(
    table: ScoreTable,
    *,
    difference: float | None = None,
    participants: int | None = None,
    models: Sequence[str] | None = None,
    looks: int = 1,
    **options: Unpack[AnalysisKeywords],
) -> pl.DataFrame:
    """Plan a comparison from a pilot: find how many participants a difference needs, or what difference a number shows.

    With the planned participants, the test of `attune_bench.stats.compare.compare` finds the planned difference with
    80% power at 0.05, uncorrected for the number of pairs.

    Parameters
    ----------
    table : ScoreTable
        The scores of the pilot.
    difference : float, optional
        The true difference to find, above 0, in the unit of the values. Give this or `participants`.
    participants : int, optional
        How many participants there will be, 0 or more; if something else than participants is drawn, how many of that.
    models : pair of str, optional
        Two models; by default every two of a condition.
    looks : int
        How often the two models are compared while the participants come in, each time after an equal part of them,
        1 to 20; see `attune_metrics.stats.looks`.
    **options
        As for `compare`.

    Returns
    -------
    polars.DataFrame
        The columns `PLAN`. ``difference, participants, units`` are the plan; ``sd, correlation, icc`` are null.
        ``units_per_participant`` and ``units_cv`` (the coefficient of variation of the number of units of a
        participant) describe the pilot, as do ``n, clusters, mde``, which are as from `compare`. ``reason`` says why
        nothing can be planned. New participants are assumed to have as many units as the participants of the pilot,
        distributed as unequally. With several looks, ``participants`` are of all looks together, and
        ``participants_expected`` is the mean number until the difference is found.

    Raises
    ------
    MetricInputError
        As `compare`; also if not exactly one of `difference` and `participants` is given, if one of these or `looks` is
        out of range, or if the difference is as large as the range of a metric.
    MixedSettingsError
        As `compare`.

    Warns
    -----
    UserWarning
        As `compare`.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> scores = score(load("demo"), load_runs("demo"))
    >>> found = plan(scores, difference=2, metrics=["composite_score"]).row(0, named=True)
    >>> found["clusters"], round(found["mde"], 2), found["participants"], found["units"]
    (24, 3.87, 84, 140)
    >>> round(plan(scores, participants=84, metrics=["composite_score"])["difference"].item(), 2)
    1.99
    """
    _check_asked(difference, participants)
    check_looks(looks)
    chosen = AnalysisOptions(**options)
    check_shared_units(table, models)
    pilot = compare_all(table, **options) if models is None else compare(table, *models, **options)
    draws_clusters = chosen.draws_clusters(table)
    called = table.provenance.cluster if draws_clusters else table.provenance.unit
    series = ScoreSeries(table)
    labels = cluster_index(series.clusters(chosen))
    place = {group: place for place, group in enumerate(series.groups)}
    # Where each participant counts once, the number of its units changes nothing.
    metrics = [] if chosen.weighs_clusters(table) else pilot["metric"].unique().to_list()
    present = {metric: have_values(series.values(metric)) for metric in metrics}
    rows = []
    for row in pilot.iter_rows(named=True):
        if difference is not None:
            check_below_range("difference", difference, table.metrics[row["metric"]])
        size = row["clusters"] if draws_clusters else row["n"]
        of_each = row["n"] / size if size else None
        units_cv = 0.0
        if size and row["metric"] in present:
            both = [place[row[model], row["condition"]] for model in ("model_a", "model_b")]
            compared = present[row["metric"]][both].all(axis=0)
            units_cv = coefficient_of_variation(np.bincount(labels[compared]).astype(np.float64))
        found, needed, reason = difference, participants, None
        if row["mde"] is None or of_each is None:
            reason = row["reason"]
        elif difference is not None:
            pilot_has = {"mde": row["mde"], "pilot_participants": size, "units_cv": units_cv, "looks": looks}
            needed = int(participants_after_pilot(difference, **pilot_has, units_per_participant=of_each))
        elif participants is not None and participants >= fewest_participants(looks):
            found = effect_after_pilot(
                participants, mde=row["mde"], pilot_participants=size, units_cv=units_cv, looks=looks
            )
        else:
            reason = f"no difference is detectable with fewer than {fewest_participants(looks)} {pluralize(called)}"
        units = _units(needed, of_each)
        rows.append(
            (row["model_a"], row["model_b"], row["condition"], row["metric"], found, needed, units, None, None, None,
             of_each, units_cv if size else None, row["n"], row["clusters"], row["mde"], reason)
        )  # fmt: skip
    return _frame(rows, looks)


def plan_from_assumptions(
    *,
    difference: float | None = None,
    participants: int | None = None,
    sd: float,
    correlation: float,
    icc: float,
    units_per_participant: float = 1,
    units_cv: float = 0,
    looks: int = 1,
) -> pl.DataFrame:
    """Plan a comparison without a pilot.

    Parameters
    ----------
    difference, participants, looks
        As for `plan`.
    sd, correlation, icc, units_per_participant, units_cv
        As for `attune_metrics.stats.power.planned_effect`.

    Returns
    -------
    polars.DataFrame
        One row with the columns of `plan`; ``model_a, model_b, condition, metric, n, clusters, mde`` are null.

    Raises
    ------
    MetricInputError
        As `planned_effect`, and if not exactly one of `difference` and `participants` is given.

    Examples
    --------
    >>> stated = {"sd": 20, "correlation": 0.5, "icc": 0.3, "units_per_participant": 4}
    >>> plan_from_assumptions(difference=5, **stated).select("participants", "units").row(0)
    (62, 248)
    """
    _check_asked(difference, participants)
    stated = {
        "sd": sd, "correlation": correlation, "icc": icc, "units_per_participant": units_per_participant,
        "units_cv": units_cv,
    }  # fmt: skip
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UndefinedMetricWarning)
        if participants is not None:
            difference = nan_to_none(planned_effect(participants, looks=looks, **stated))
        elif difference is not None:
            found = participants_needed(difference, looks=looks, **stated)
            participants = None if isnan(found) else int(found)
    reason = str(caught[0].message).partition("; ")[2] if caught else None
    units = _units(participants, units_per_participant)
    row = (None, None, None, None, difference, participants, units, *stated.values(), None, None, None, reason)
    return _frame([row], looks)


def _frame(rows: Sequence[tuple[Any, ...]], looks: int) -> pl.DataFrame:
    """Return the table of a plan; with several looks it has the expected number of participants."""
    if looks == 1:
        return build_frame(PLAN, rows)
    place = [*PLAN].index("participants")
    return build_frame(PLAN | EXPECTED, [(*row, _expected(row[place], looks)) for row in rows])


def _expected(participants: int | None, looks: int) -> float | None:
    """Return the mean number of participants; looks at too few decide nothing, and none at fewer is of any use."""
    least = fewest_participants(looks)
    if participants is None:
        return None
    first = next((look for look in range(1, looks) if ceil(participants * look / looks) >= least), looks)
    planned = plan_of_looks(looks, first=first)
    return participants * planned.expected / planned.most


def _check_asked(difference: float | None, participants: int | None) -> None:
    """Raise unless exactly one of the two is given and it is in range."""
    if (difference is None) == (participants is None):
        raise MetricInputError("give either the difference to find or the number of participants, and get the other")
    if difference is not None:
        check_difference(difference)
    else:
        check_whole(participants, "participants", 0, MOST_UNITS)


def _units(participants: int | None, of_each: float | None) -> int | None:
    """Return how many units `participants` have with `of_each` units each, None if either number is unknown."""
    if participants is None or of_each is None:
        return None
    # Without this factor, a product that is too large by its last bits would give one unit more.
    units = participants * of_each * (1 - ROUNDING)
    if units > MOST_UNITS:
        raise MetricInputError(f"{participants} participants of {of_each:g} units each are more than 2^53 units")
    return ceil(units)
