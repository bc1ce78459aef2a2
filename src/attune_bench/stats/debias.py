"""A judge's metric corrected by people who rated a part of the units; how many ratings an interval needs.

People's ratings of units
-------------------------
Read from a table and checked, and the sheet of units to rate, drawn at random.

A table has the columns ``model`` (which may be left out where the scores have one), ``condition`` (likewise), ``unit``
and ``rating``. A row without a rating is not rated, so that a sheet may be filled in part.

`attune_metrics.stats.judges` defines the estimator; docs/judges.md says when to trust it.
"""

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import isnan, nan, sqrt
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray
from typing_extensions import Unpack

from attune_bench.scores.columns import FrameColumn, build_frame, columns, text, whole
from attune_bench.scores.table import ScoreTable
from attune_bench.scores.table_columns import COLUMNS
from attune_bench.scores.table_files import read_table
from attune_bench.scores.table_numbers import with_numbers
from attune_bench.stats.comparability import check_within_conditions
from attune_bench.stats.compare import family_of_pairs, holm_by_family
from attune_bench.stats.options import (
    ALPHA,
    AnalysisOptions,
    ResampleCache,
    SamplingKeywords,
    ScoreSeries,
    interval_ends,
    sorted_groups,
    warn_out_of_reach,
)
from attune_data.record import canonical
from attune_data.text import did_you_mean, plural, pluralize
from attune_metrics.metric import (
    Metric,
    MetricInputError,
    UndefinedMetricWarning,
    UnreliableIntervalWarning,
    check_whole,
    nan_to_none,
)
from attune_metrics.signature import hash_records
from attune_metrics.stats.bootstrap import PER_UNIT, symmetric_levels
from attune_metrics.stats.judges import MIN_LABELS, prediction_powered
from attune_metrics.stats.power import labels_needed
from attune_metrics.stats.sums import Floats, clustered_standard_error

_ROUNDING = 1e-9
_Key = tuple[str, str | None, str]


@dataclass(frozen=True, eq=False, slots=True)
class Labels:
    """Ratings of units of scores.

    Attributes
    ----------
    metric : Metric
        What was rated: the metric that the judge made.
    ratings : array of float, shape (groups, units)
        In the order of `attune_bench.stats.options.ScoreSeries`, nan where nobody rated.
    hash : str
        `attune_metrics.signature.hash_records` of the ratings, whatever the order of rows.
    """

    metric: Metric
    ratings: Floats
    hash: str

    def check_rated(self) -> None:
        """Raise where nothing is rated."""
        if np.isnan(self.ratings).all():
            raise MetricInputError("the labels have no rating; fill in the column 'rating'")

    def of_part(self, whole: ScoreTable, part: ScoreTable) -> Self:
        """Return the ratings of `part`, some groups of the scores `whole` that were rated."""
        rated, kept = ScoreSeries(whole), ScoreSeries(part)
        groups = [rated.groups.index(group) for group in kept.groups]
        return replace(self, ratings=self.ratings[groups][:, rated.mask(set(kept.units))])


def judged_metric(table: ScoreTable, name: str | None) -> Metric:
    """Return a metric, by default the main one, that people can rate on a unit.

    Raises
    ------
    MetricInputError
        Where there is no such metric, or a unit has no value of its own.
    """
    metric = table.metric(table.primary if name is None else name)
    if metric.statistic not in PER_UNIT:
        raise MetricInputError(
            f"{metric.name} has no value of each {table.provenance.unit} that people could rate; choose another metric"
        )
    return metric


def read_labels(
    table: ScoreTable, labels: pl.DataFrame | str | os.PathLike[str], *, metric: str | None = None
) -> Labels:
    """Read people's ratings, and check them against the scores that they are of.

    Parameters
    ----------
    table : ScoreTable
        The scores.
    labels : polars.DataFrame or path
        A frame, or a CSV, XLSX, JSONL or Parquet file, with the columns ``unit`` and ``rating``, and ``model`` and
        ``condition`` where the scores have several.
    metric : str, optional
        What was rated; by default the main metric.

    Raises
    ------
    MetricInputError
        Where a column is missing, a rating is no number or outside the range of the metric, a row names a model, a
        condition or a unit that the scores do not have, or rates a unit again; the text names the file and the row.
    SourceError
        Where the file cannot be read.

    Examples
    --------
    >>> from attune_bench import Scores
    >>> rows = [("a", "q1", "warm", 0.5), ("a", "q2", "warm", 0.75)]
    >>> scores = Scores.from_table(pl.DataFrame(rows, schema=["model", "unit", "metric", "value"], orient="row"))
    >>> read_labels(scores, pl.DataFrame({"unit": ["q2"], "rating": [0.25]})).ratings.tolist()
    [[nan, 0.25]]
    """
    judged = judged_metric(table, metric)
    name, first_row = "the labels", 1
    if not isinstance(labels, pl.DataFrame):
        name = str(labels)
        labels, first_row, _ = read_table(Path(labels), names=COLUMNS)
    called = table.provenance.condition
    if "condition" not in labels.columns and called in labels.columns:
        labels = labels.rename({called: "condition"})
    _check_columns(table, labels, name)
    series = ScoreSeries(table)
    places = {group: place for place, group in enumerate(series.groups)}
    units = {unit: place for place, unit in enumerate(series.units)}
    ratings = np.full((len(places), len(units)), np.nan)
    seen: dict[_Key, int] = {}
    labels = with_numbers(labels, "rating", range(first_row, first_row + labels.height), name)
    for number, row in enumerate(labels.iter_rows(named=True), start=first_row):
        where, rating = f"{name}, row {number}", row["rating"]
        if rating is None:
            continue
        _check_range(rating, judged, where)
        key = _key(table, row, where)
        model, condition, unit = key
        if unit not in units:
            raise MetricInputError(f"{where}: unit {unit!r:.80} is not in the scores; {did_you_mean(unit, units)}")
        group = places[model, condition]
        if not series.scored[group, units[unit]]:
            raise MetricInputError(f"{where}: {model!r} has no score on unit {unit!r:.80}; is it another model's?")
        if key in seen:
            raise MetricInputError(
                f"{where}: unit {unit!r:.80} of {model!r} is rated in row {seen[key]} already; give one rating, such "
                "as the mean of the raters"
            )
        seen[key] = number
        ratings[group, units[unit]] = rating
    rows = [
        {"model": key[0], "condition": key[1], "unit": key[2], "rating": ratings[places[key[:2]], units[key[2]]].item()}
        for key in seen
    ]
    return Labels(judged, ratings, hash_records(map(canonical, rows)))


def _check_columns(table: ScoreTable, labels: pl.DataFrame, name: str) -> None:
    """Raise where a column is missing that the scores need."""
    several = {"model": table.models, "condition": table.conditions}
    for column in ("unit", "rating", "model", "condition"):
        if column not in labels.columns and len(several.get(column, "ab")) > 1:
            held = f"; the scores have several: {', '.join(map(str, several[column][:4]))}" if column in several else ""
            raise MetricInputError(f"{name}: no column {column!r}{held}; it has {', '.join(labels.columns)}")


def _check_range(rating: float, metric: Metric, where: str) -> None:
    """Raise where a rating is outside the range of a metric."""
    if not metric.low - _ROUNDING <= rating <= metric.high + _ROUNDING:
        raise MetricInputError(
            f"{where}: rating {rating:g} is outside {metric.low:g} to {metric.high:g}, the range of {metric.name}; is "
            "it on another scale?"
        )


def _key(table: ScoreTable, row: dict[str, Any], where: str) -> _Key:
    """Return the model, condition and unit of a row; where the scores have one of them only, it may be left out."""
    texts = {name: str(value).strip() for name, value in row.items() if value is not None}
    unit = texts.get("unit") or ""
    if not unit:
        raise MetricInputError(f"{where}: unit is empty, and there is a rating")
    model = texts.get("model") or (table.models[0] if len(table.models) == 1 else "")
    if model not in table.models:
        raise MetricInputError(
            f"{where}: model {model!r:.80} is not in the scores; {did_you_mean(model, table.models)}"
        )
    condition = texts.get("condition") or (table.conditions[0] if len(table.conditions) == 1 else None)
    if (model, condition) not in table.groups:
        known = [str(one) for _, one in table.groups if _ == model]
        called = table.provenance.condition
        hint = did_you_mean(str(condition), known)
        raise MetricInputError(f"{where}: {called} {condition!r:.80} of {model!r} is not in the scores; {hint}")
    return model, condition, unit


def draw_labels(
    table: ScoreTable, n: int, *, metric: str | None = None, seed: int = 0, by: str = "unit"
) -> pl.DataFrame:
    """Draw units for people to rate, and return the sheet to fill in.

    Parameters
    ----------
    table : ScoreTable
        The scores. Units with a value of the metric are drawn.
    n : int
        How many units; of each every model and condition is rated, so that models can be compared.
    metric : str, optional
        The metric to rate; by default the main metric.
    seed : int
        The same seed draws the same units, in whatever order the scores come.
    by : str
        ``"unit"``, or ``"cluster"`` for whole clusters until `n` units are reached; or what the scores call these.

    Returns
    -------
    polars.DataFrame
        ``model, condition, unit, rating``, a row a model, condition and unit, the rating empty; without ``condition``
        where the scores have none. In the order in which units were drawn: who stops early has rated a random part,
        of whole clusters where these were drawn.

    Raises
    ------
    MetricInputError
        Where there are fewer units, an option is out of range, or the scores are means over repeats.

    Examples
    --------
    >>> from attune_bench import Scores
    >>> rows = [("a", "q1", "warm", 0.5), ("a", "q2", "warm", 0.75), ("a", "q3", "warm", 0.5)]
    >>> scores = Scores.from_table(pl.DataFrame(rows, schema=["model", "unit", "metric", "value"], orient="row"))
    >>> draw_labels(scores, 2, seed=1).rows()
    [('a', 'q1', None), ('a', 'q2', None)]
    """
    if table.repeats is not None:
        raise MetricInputError(
            "these scores are means over repeats, and people rate one answer; draw from the scores of one repeat alone"
        )
    judged = judged_metric(table, metric)
    series = ScoreSeries(table)
    present = ~np.isnan(series.values(judged.name)[:, 0])
    able = np.flatnonzero(present.any(axis=0))
    if check_whole(n, "n", 1) > len(able):
        raise MetricInputError(
            f"n is {n}, and {len(able)} {pluralize(table.provenance.unit)} have a value of {judged.name}"
        )
    generator = np.random.default_rng(check_whole(seed, "seed", 0))
    if AnalysisOptions(unit=by).draws_clusters(table):
        held: dict[tuple[str, str], list[int]] = {}
        for unit in able.tolist():
            held.setdefault(series.labels[unit], []).append(unit)
        labels = sorted(held)
        drawn: list[int] = []
        for place in generator.permutation(len(labels)).tolist():
            if len(drawn) >= n:
                break
            drawn += held[labels[place]]
    else:
        drawn = able[generator.permutation(len(able))[:n]].tolist()
    rows = [
        (*series.groups[group], series.units[unit], None)
        for unit in drawn
        for group in np.flatnonzero(present[:, unit])
    ]
    schema = {"model": pl.String, "condition": pl.String, "unit": pl.String, "rating": pl.Float64}
    sheet = pl.DataFrame(rows, schema=schema, orient="row")
    return sheet.drop("condition") if table.conditions == (None,) else sheet


_JUDGED = columns(
    "metric judge judge_low judge_high people people_low people_high corrected low high slope correlation n labels "
    "clusters label_clusters equivalent_ratings",
    judge="Mean of all scores that the judge gave.",
    judge_low="Lower end of its interval.",
    judge_high="Upper end of its interval.",
    people="Mean of the ratings that people gave.",
    people_low="Lower end of its interval.",
    people_high="Upper end of its interval.",
    corrected="The judge's mean, corrected by the ratings.",
    low="Lower end of the interval of the corrected value.",
    high="Upper end of the interval of the corrected value.",
    slope="By how much people's ratings rise where the judge gives one point more.",
    correlation=FrameColumn("Pearson's, of judge and people on the rated units.", low=-1, high=1),
    n="How many units the judge scored.",
    labels=whole("How many of them people rated."),
    clusters="How many clusters the scored units come from.",
    label_clusters=whole("How many clusters the rated units come from."),
    equivalent_ratings=FrameColumn("How many ratings without a judge would be as precise.", low=0),
)
_NOTED = columns(
    "reason note", note=text("Why not to trust the corrected value; empty where nothing speaks against it.")
)
JUDGED_MODELS = columns("model condition") | _JUDGED | _NOTED
JUDGED_PAIRS = (
    columns("model_a model_b condition")
    | _JUDGED
    | columns(
        "p p_min p_holm significant",
        p="p-value of the corrected difference: 1 minus the level of the interval that just excludes 0.",
    )
    | _NOTED
)
RATINGS_NEEDED = columns(
    "model condition metric width sd correlation design_effect pilot n labels reason",
    width=FrameColumn("Width of the interval that is wanted, from end to end.", low=0),
    sd=FrameColumn("Standard deviation of people's ratings (n - 1).", low=0),
    correlation=FrameColumn("Of judge and people.", low=-1, high=1),
    design_effect=FrameColumn(
        "By how much clusters raise the variance of the mean of what the judge leaves unexplained.", low=1
    ),
    pilot=whole("How many ratings the pilot has."),
    n="How many units the judge scored.",
    labels=whole("How many ratings are needed."),
)

Source = pl.DataFrame | str | os.PathLike[str] | Labels


def debias(
    table: ScoreTable, labels: Source, *, metric: str | None = None, **options: Unpack[SamplingKeywords]
) -> pl.DataFrame:
    """Return a judge's metric of every model that people rated, corrected by the ratings.

    Parameters
    ----------
    table : ScoreTable
        The scores: what the judge gave.
    labels : polars.DataFrame, path or Labels
        The ratings, as `attune_bench.stats.debias.read_labels` takes them or gives them.
    metric : str, optional
        The judge's metric, which the ratings are of; by default the main one.
    **options
        ``resamples``, ``seed``, ``level``, ``unit``, ``interval``; see `AnalysisOptions`.

    Returns
    -------
    polars.DataFrame
        The columns `JUDGED_MODELS`. Models that nobody rated have no row.

    Raises
    ------
    MetricInputError
        As `read_labels`, where nothing is rated, or an option is out of range.
    SourceError
        Where the file cannot be read.

    Warns
    -----
    UnreliableIntervalWarning
        For each row with a note: few ratings, a low correlation, or rated units unlike the others; see
        `attune_metrics.stats.judges.prediction_powered`.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> scores = score(load("demo"), load_runs("demo")).keep(groups=[("synthetic/hasty", "default")])
    >>> judged = scores.values.select("unit", pl.col("avg_draft_judge_score").alias("rating")).sort("unit")
    >>> strict = judged.with_columns(pl.col("rating") - 0.1)  # people that agree with the judge, but for 0.1
    >>> found = debias(scores, strict.head(30), metric="avg_draft_judge_score").row(0, named=True)
    >>> round(found["judge"] - found["corrected"], 3), round(found["slope"], 3), found["labels"]
    (0.1, 1.0, 30)
    """
    frame = _Frame(table, labels, metric, AnalysisOptions(**options))
    rated = np.flatnonzero(~np.isnan(frame.ratings).all(axis=1)).tolist()
    rows = []
    for group in rated:
        model, condition = frame.series.groups[group]
        found = frame.row(frame.scores[group], frame.ratings[group], frame.name(group))
        rows.append({"model": model, "condition": condition, **found})
    return build_frame(JUDGED_MODELS, rows)


def debias_pairs(
    table: ScoreTable, labels: Source, *, metric: str | None = None, **options: Unpack[SamplingKeywords]
) -> pl.DataFrame:
    """Return the corrected difference of every two models of a condition that people rated on common units.

    The correction is applied to the differences of units; see
    `attune_metrics.stats.judges.prediction_powered_difference`. p-values are corrected by Holm's method,
    over the pairs of a condition that have one; intervals are not.

    Parameters
    ----------
    table, labels, metric, **options
        As for `debias`.

    Returns
    -------
    polars.DataFrame
        ``model_a, model_b, condition``, then the columns of `debias`, of `model_a` minus `model_b` on the units of
        both, and before ``reason`` the columns of the test: ``p``, the smallest alpha at which the 1 - alpha interval
        of the corrected difference excludes 0, null without an interval, ``p_min``, the smallest that so many resamples
        could have given, ``p_holm``, corrected for the family, and ``significant`` where that is below 0.05. No rows
        where no two models were rated on the same units. `attune_bench.stats.compare.count_significant` counts.

    Raises
    ------
    MetricInputError, SourceError
        As `debias`.
    MixedSettingsError
        Where the runs differ in settings that change answers; see `attune_bench.stats.comparability`.

    Warns
    -----
    UnreliableIntervalWarning
        As `debias`.
    UserWarning
        Where a family is so large that, with so few resamples, no corrected p-value can be below 0.05.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> scores = score(load("demo"), load_runs("demo"))
    >>> name = "avg_draft_judge_score"
    >>> people = scores.values.select("model", "unit", pl.col(name).alias("rating"))
    >>> found = debias_pairs(scores, people, metric=name).row(0, named=True)
    >>> found["model_a"], found["labels"], round(found["corrected"] - found["judge"], 9)
    ('synthetic/attentive', 40, 0.0)
    """
    frame = _Frame(table, labels, metric, AnalysisOptions(**options))
    groups = frame.series.groups
    order = {group: place for place, group in enumerate(sorted_groups(table))}
    pairs = [
        (a, b)
        for places in frame.series.by_condition().values()
        for a, b in combinations(sorted(places, key=lambda place: order[groups[place]]), 2)
        if not np.isnan(frame.ratings[a] - frame.ratings[b]).all()
    ]
    check_within_conditions(table, [frame.metric], groups=[groups[place] for pair in pairs for place in pair])
    rows = []
    for a, b in pairs:
        differences = frame.scores[a] - frame.scores[b], frame.ratings[a] - frame.ratings[b]
        (model_a, condition), (model_b, _) = groups[a], groups[b]
        found = frame.row(*differences, f"{frame.name(a)} minus {model_b}")
        rows.append({"model_a": model_a, "model_b": model_b, "condition": condition, **found})
    families = [family_of_pairs(table, row["condition"]) for row in rows]
    for row, p in zip(rows, map(nan_to_none, holm_by_family([row["p"] for row in rows], families)), strict=True):
        row |= {"p_holm": p, "significant": None if p is None else p < ALPHA}
    for family in dict.fromkeys(families):
        made = [row for row, of in zip(rows, families, strict=True) if of == family and row["p"] is not None]
        frame.warn_out_of_reach(made, family)
    return build_frame(JUDGED_PAIRS, rows)


class _Frame:
    """Scores and ratings of one metric (groups, units), with what their resamples need."""

    def __init__(self, table: ScoreTable, labels: Source, metric: str | None, options: AnalysisOptions) -> None:
        held = labels if isinstance(labels, Labels) else read_labels(table, labels, metric=metric)
        self.metric = held.metric.name
        if metric is not None and metric != self.metric:
            raise MetricInputError(f"the ratings are of {self.metric}, and metric is {metric!r}")
        held.check_rated()
        self.table, self.options = table, options
        self.series = ScoreSeries(table)
        self.draws = ResampleCache(self.series, options)
        self.scores = self.series.values(self.metric)[:, 0]
        self.ratings = held.ratings

    def name(self, group: int) -> str:
        """Return what messages call a series."""
        model, condition = self.series.groups[group]
        return model if condition is None or len(self.table.conditions) == 1 else f"{model} [{condition}]"

    def row(self, scores: Floats, ratings: Floats, name: str) -> dict[str, Any]:
        """Return the columns from ``metric`` on of scores and ratings (units,); without those corrected by Holm."""
        mask = ~np.isnan(scores)
        options = self.options
        with warnings.catch_warnings(record=True) as caught:  # said below, with the name
            warnings.simplefilter("always", UnreliableIntervalWarning)
            [found] = prediction_powered(
                scores[mask], ratings[mask], self.draws.of(mask), method=options.interval, level=options.level
            )
        said = dict.fromkeys(str(one.message) for one in caught)
        notes = [*found.cautions, *(text for text in said if text != "; ".join(found.cautions))]
        if lost := int((~np.isnan(ratings[~mask])).sum()):
            notes.append(f"{plural(lost, 'rating')} without a judge's score left out")
        if notes:
            warnings.warn(f"{name}: {'; '.join(notes)}", UnreliableIntervalWarning, stacklevel=3)
        clusters, labelled = self.series.count(mask), self.series.count(mask & ~np.isnan(ratings))
        corrected = found.corrected
        low, high, reason = None, None, corrected.reason
        if not isnan(corrected.estimate):
            low, high, reason = interval_ends(corrected, labelled, self.table)
        ends = {
            f"{kind}{end}": value
            for kind, one, number in (("judge", found.judge, clusters), ("people", found.people, labelled))
            for end, value in zip(("_low", "_high"), interval_ends(one, number, self.table)[:2], strict=True)
        }
        given = low is not None
        return {
            "metric": self.metric, **ends,
            "judge": nan_to_none(found.judge.estimate), "people": nan_to_none(found.people.estimate),
            "corrected": nan_to_none(corrected.estimate), "low": low, "high": high,
            "slope": nan_to_none(found.slope), "correlation": nan_to_none(found.correlation),
            "n": found.judge.n, "labels": corrected.n, "clusters": clusters, "label_clusters": labelled,
            "equivalent_ratings": nan_to_none(found.equivalent_ratings) if given else None,
            "p": nan_to_none(found.p_value) if given else None, "p_min": nan_to_none(found.p_min) if given else None,
            "reason": reason, "note": "; ".join(notes) or None,
        }  # fmt: skip

    def warn_out_of_reach(self, rows: Sequence[Mapping[str, Any]], family: str) -> None:
        """Warn where no corrected p-value of a family, given its rows, can be below 0.05."""
        smallest = len(rows) * min((row["p_min"] for row in rows), default=0)
        if smallest < ALPHA:
            return
        by_clusters = self.options.draws_clusters(self.table)
        most = max(row["label_clusters" if by_clusters else "labels"] for row in rows)
        expanded = most if self.options.interval == "percentile-expanded" else None
        resamples = 1 + int(1 / symmetric_levels(1 - ALPHA / len(rows), expanded)[0])
        rated = plural(most, self.draws.drawn)
        limit, advice = f"{self.options.resamples} resamples are", f"use at least {resamples}"
        if self.options.resamples >= resamples:
            limit, advice = f"ratings of {rated} are", "more ratings would be needed"
        elif most < MIN_LABELS:
            # Resamples without two of them have no slope, and bound p-values however many are drawn.
            advice += f"; with ratings of {rated} these may be too few, too"
        warn_out_of_reach(limit, len(rows), family, smallest, advice, stacklevel=3)


def plan_labels(
    table: ScoreTable, labels: Source, *, width: float, metric: str | None = None, **options: Unpack[SamplingKeywords]
) -> pl.DataFrame:
    """Return for each model that a pilot rated how many ratings an interval of a width needs.

    Parameters
    ----------
    table, labels, metric, **options
        As for `debias`; the ratings are the pilot.
    width : float
        From the lower to the upper end of the interval, in the unit of the metric.

    Returns
    -------
    polars.DataFrame
        The columns `RATINGS_NEEDED`: of the pilot the ``sd`` of its ratings (n - 1), the ``correlation`` with the
        judge, the ``design_effect`` (of what the judge leaves unexplained: the variance of its mean over clusters, over
        the variance with independent units; at least 1) and its size, ``pilot``; ``n`` units with a score and the
        ``labels`` that are needed among them; ``reason`` where they cannot be computed, or no number of them is enough.

    Raises
    ------
    MetricInputError, SourceError
        As `debias`, and where the width is not above 0.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> scores, name = score(load("demo"), load_runs("demo")), "avg_draft_judge_score"
    >>> pilot = scores.values.select("model", "unit", pl.col("composite_score").alias("rating") / 100).head(30)
    >>> plan_labels(scores, pilot, width=0.08, metric=name).select("pilot", "n", "labels").rows()
    [(30, 40, 10)]
    """
    frame = _Frame(table, labels, metric, AnalysisOptions(**options))
    rows = []
    for group in np.flatnonzero(~np.isnan(frame.ratings).all(axis=1)).tolist():
        mask = ~np.isnan(frame.scores[group])
        n, both = int(mask.sum()), mask & ~np.isnan(frame.ratings[group])
        spread, correlation, design_effect = _pilot(
            frame.scores[group][both], frame.ratings[group][both], frame.draws.labels(both)
        )
        needed, reason = None, None
        if isnan(correlation) or isnan(design_effect):
            reason = "the ratings or the judge's scores of the pilot do not vary, or are too few"
        else:
            try:
                needed = labels_needed(
                    width, spread=spread, correlation=correlation, units=n, design_effect=design_effect,
                    level=frame.options.level,
                )  # fmt: skip
            except MetricInputError as error:
                if "cannot be reached" not in str(error):
                    raise
                reason = str(error)
        rows.append(
            (*frame.series.groups[group], frame.metric, float(width), nan_to_none(spread), nan_to_none(correlation),
             nan_to_none(design_effect), int(both.sum()), n, needed, reason)
        )  # fmt: skip
    return build_frame(RATINGS_NEEDED, rows)


def _pilot(scores: Floats, ratings: Floats, clusters: NDArray[np.intp]) -> tuple[float, float, float]:
    """Return the spread of ratings, their correlation with the scores, and the design effect of the residuals."""
    labels = len(ratings)
    if labels < 3 or np.ptp(scores) == 0 or np.ptp(ratings) == 0:
        return float(ratings.std(ddof=1)) if labels > 1 else nan, nan, nan
    x, y = scores - scores.mean(), ratings - ratings.mean()
    # Not numpy's corrcoef: the last digit of a matrix product depends on the processor.
    correlation = min(max(float((x * y).sum()) / (sqrt(float((x * x).sum())) * sqrt(float((y * y).sum()))), -1.0), 1.0)
    residuals = y - correlation * ratings.std() / scores.std() * x
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        error = clustered_standard_error(residuals, clusters)
    alone = float(residuals.std(ddof=1)) / sqrt(labels)
    effect = max(1.0, (error / alone) ** 2) if alone > 0 else 1.0
    return float(ratings.std(ddof=1)), correlation, nan if isnan(error) else effect
