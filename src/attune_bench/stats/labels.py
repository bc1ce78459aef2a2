"""People's ratings of units: read from a table and checked, and the sheet of units to rate, drawn at random.

A table has the columns ``model`` (which may be left out where the scores have one), ``condition`` (likewise), ``unit``
and ``rating``. A row without a rating is not rated, so that a sheet may be filled in part.

Where a condition is a rater, as in `attune_bench.scores.rating_tables`, a rating holds for all judges, and the ratings
may be those of one of the raters.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
import polars as pl

from attune_bench.scores.rating_tables import RATER
from attune_bench.scores.table import ScoreTable
from attune_bench.scores.table_columns import COLUMNS
from attune_bench.scores.table_files import read_table
from attune_bench.scores.table_numbers import ROUNDING, with_numbers
from attune_bench.stats.options import AnalysisOptions, ScoreSeries
from attune_data.record import canonical
from attune_data.text import did_you_mean, pluralize
from attune_metrics.metric import PER_UNIT, Metric, MetricInputError, check_whole
from attune_metrics.signature import hash_records
from attune_metrics.stats.sums import Floats

_Key = tuple[str, str | None, str]
T = TypeVar("T", bound=ScoreTable)


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
        ``condition`` where the scores have several. Where the conditions are judges, a table without the column has
        ratings that hold for all of them.
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
    for_all = has_judges(table) and "condition" not in labels.columns
    seen: dict[_Key, int] = {}
    given: dict[_Key, float] = {}
    labels = with_numbers(labels, "rating", range(first_row, first_row + labels.height), name)
    for number, row in enumerate(labels.iter_rows(named=True), start=first_row):
        where, rating = f"{name}, row {number}", row["rating"]
        if rating is None:
            continue
        _check_range(rating, judged, where)
        key = _key(table, row, where, for_all=for_all)
        model, _, unit = key
        if unit not in units:
            raise MetricInputError(f"{where}: unit {unit!r:.80} is not in the scores; {did_you_mean(unit, units)}")
        groups = [place for group, place in places.items() if group == key[:2] or (for_all and group[0] == model)]
        groups = [group for group in groups if series.scored[group, units[unit]]]
        if not groups:
            of = repr(model) if key[1] is None else f"{model!r}, {called} {key[1]!r},"
            raise MetricInputError(f"{where}: {of} has no score on unit {unit!r:.80}; is it another model's?")
        if key in seen:
            raise MetricInputError(
                f"{where}: unit {unit!r:.80} of {model!r} is rated in row {seen[key]} already; give one rating, such "
                "as the mean of the raters"
            )
        seen[key] = number
        ratings[groups, units[unit]] = given[key] = rating
    return Labels(judged, ratings, _hash(given))


def _hash(given: Mapping[_Key, float]) -> str:
    rows = ({**dict(zip(("model", "condition", "unit"), key, strict=True)), "rating": given[key]} for key in given)
    return hash_records(map(canonical, rows))


def rated_by(table: T, people: str, *, judges: Sequence[str] = (), metric: str | None = None) -> tuple[T, Labels]:
    """Return the scores by judges, and the ratings of the rater who is right, of scores whose conditions are raters.

    Parameters
    ----------
    table : ScoreTable
        Ratings by several raters, as `attune_bench.scores.rating_tables` reads them.
    people : str
        The rater who is right about what this rater rated; a random part, or all.
    judges : sequence of str
        The other raters to keep; by default all.
    metric : str, optional
        What was rated; by default the main metric.

    Raises
    ------
    MetricInputError
        If the conditions are no raters, a name is unknown, `people` is one of the judges or the only rater, or people
        rated nothing that a judge scored.

    Examples
    --------
    >>> from attune_bench import Scores
    >>> rows = [("q1", "a", "gpt", 3), ("q2", "a", "gpt", 5), ("q1", "a", "human", 2)]
    >>> table = pl.DataFrame(rows, schema=["item", "model", "rater", "rating"], orient="row")
    >>> scores, labels = rated_by(Scores.from_table(table), "human")
    >>> scores.conditions, labels.ratings.tolist()
    (('gpt',), [[2.0, nan]])
    """
    check_raters(table, [people, *judges])
    if people in judges:
        raise MetricInputError(f"{people!r} is named as people and as a judge; name other judges")
    judged = judged_metric(table, metric)
    by_judges = kept_judges(table, judges or [rater for rater in _raters(table) if rater != people])
    series, kept = ScoreSeries(table), ScoreSeries(by_judges)
    values, chosen = series.values(judged.name)[:, 0], series.mask(set(kept.units))
    ratings = np.full((len(kept.groups), len(kept.units)), np.nan)
    given: dict[_Key, float] = {}
    for place, (model, _) in enumerate(kept.groups):
        if (model, people) in series.groups:
            ratings[place] = values[series.groups.index((model, people)), chosen]
            found = zip(kept.units, ratings[place].tolist(), strict=True)
            given |= {(model, None, unit): rating for unit, rating in found if not isnan(rating)}
    if not given:
        raise MetricInputError(f"{people!r} has no rating of {judged.name} of a {table.provenance.unit} of a judge")
    return by_judges, Labels(judged, ratings, _hash(given))


def kept_judges(table: T, judges: Sequence[str]) -> T:
    """Return the scores by some judges, of scores whose conditions are raters."""
    check_raters(table, judges)
    groups = [group for group in table.groups if group[1] in judges]
    if not groups:
        raise MetricInputError("the scores have one rater; name scores of judges, and people's ratings")
    return table if len(groups) == len(table.groups) else table.keep(groups=groups)


def rated_answers(table: ScoreTable, metric: Metric, ratings: Floats | float = 0) -> dict[str, set[str]]:
    """Return of each model the units that have a score, and a rating where `ratings` (groups, units) are given."""
    series = ScoreSeries(table)
    found: dict[str, set[str]] = {}
    for group, unit in np.argwhere(~np.isnan(series.values(metric.name)[:, 0] + ratings)).tolist():
        found.setdefault(series.groups[group][0], set()).add(series.units[unit])
    return found


def has_judges(table: ScoreTable) -> bool:
    """Whether the scores are by several judges."""
    return table.provenance.condition == RATER and len(table.conditions) > 1


def _raters(table: ScoreTable) -> list[str]:
    return [rater for rater in table.conditions if rater is not None]


def check_raters(table: ScoreTable, names: Sequence[str]) -> None:
    """Raise unless the conditions are raters, and each name is one of them."""
    if table.provenance.condition != RATER:
        raise MetricInputError(
            "the scores have no raters; a table of ratings has the columns item, responder, rater, dimension, rating"
        )
    for name in names:
        if name not in table.conditions:
            raise MetricInputError(f"rater {name!r} is not in the scores; {did_you_mean(name, _raters(table))}")


def _check_columns(table: ScoreTable, labels: pl.DataFrame, name: str) -> None:
    """Raise where a column is missing that the scores need."""
    several = {"model": table.models, "condition": table.conditions}
    for column in ("unit", "rating", "model", "condition"):
        if column == "condition" and has_judges(table):
            continue  # a rating holds for all judges
        if column not in labels.columns and len(several.get(column, "ab")) > 1:
            held = f"; the scores have several: {', '.join(map(str, several[column][:4]))}" if column in several else ""
            raise MetricInputError(f"{name}: no column {column!r}{held}; it has {', '.join(labels.columns)}")


def _check_range(rating: float, metric: Metric, where: str) -> None:
    """Raise where a rating is outside the range of a metric."""
    if not metric.low - ROUNDING <= rating <= metric.high + ROUNDING:
        raise MetricInputError(
            f"{where}: rating {rating:g} is outside {metric.low:g} to {metric.high:g}, the range of {metric.name}; is "
            "it on another scale?"
        )


def _key(table: ScoreTable, row: dict[str, Any], where: str, *, for_all: bool) -> _Key:
    """Return the model, condition and unit of a row; where the scores have one of them only, it may be left out.

    A rating that holds `for_all` judges has no condition.
    """
    texts = {name: str(value).strip() for name, value in row.items() if value is not None}
    unit = texts.get("unit") or ""
    if not unit:
        raise MetricInputError(f"{where}: unit is empty, and there is a rating")
    model = texts.get("model") or (table.models[0] if len(table.models) == 1 else "")
    if model not in table.models:
        raise MetricInputError(
            f"{where}: model {model!r:.80} is not in the scores; {did_you_mean(model, table.models)}"
        )
    if for_all:
        return model, None, unit
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
