"""People's ratings of units: read from a table and checked, and the sheet of units to rate, drawn at random.

A table has the columns ``model`` (which may be left out where the scores have one), ``condition`` (likewise), ``unit``
and ``rating``. A row without a rating is not rated, so that a sheet may be filled in part.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl

from attune_bench.score_table import ScoreTable
from attune_bench.stats.options import AnalysisOptions
from attune_bench.stats.series import ScoreSeries
from attune_bench.table_reader import read_table
from attune_data.record import canonical
from attune_data.text import meant
from attune_metrics.metric import Metric, MetricInputError, check_whole
from attune_metrics.signature import hash_records
from attune_metrics.stats.bootstrap import PER_UNIT, Floats

__all__ = ["Labels", "draw_labels", "judged_metric", "rating_number", "read_labels"]

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
        In the order of `attune_bench.stats.series.ScoreSeries`, nan where nobody rated.
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
        A frame, or a CSV, JSONL or Parquet file, with the columns ``unit`` and ``rating``, and ``model`` and
        ``condition`` where the scores have several.
    metric : str, optional
        What was rated; by default the main metric.

    Raises
    ------
    MetricInputError
        Where a column is missing, a rating is no number or outside the range of the metric, a row names a model, a
        condition or a unit that the scores do not have, or rates a unit again; the text names the file and the line.
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
        labels, first_row = read_table(Path(labels))
    called = table.provenance.condition
    if "condition" not in labels.columns and called in labels.columns:
        labels = labels.rename({called: "condition"})
    _check_columns(table, labels, name)
    series = ScoreSeries(table)
    places = {group: place for place, group in enumerate(series.groups)}
    units = {unit: place for place, unit in enumerate(series.units)}
    ratings = np.full((len(places), len(units)), np.nan)
    seen: dict[_Key, int] = {}
    for line, row in enumerate(labels.iter_rows(named=True), start=first_row):
        where = f"{name}, line {line}"
        rating = _rating(row["rating"], judged, where)
        if rating is None:
            continue
        key = _key(table, row, where)
        model, condition, unit = key
        if unit not in units:
            raise MetricInputError(f"{where}: unit {unit!r:.80} is not in the scores; {meant(unit, units)}")
        group = places[model, condition]
        if not series.scored[group, units[unit]]:
            raise MetricInputError(f"{where}: {model!r} has no score on unit {unit!r:.80}; is it another model's?")
        if key in seen:
            raise MetricInputError(
                f"{where}: unit {unit!r:.80} of {model!r} is rated in line {seen[key]} already; give one rating, such "
                "as the mean of the raters"
            )
        seen[key] = line
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


def rating_number(value: object, where: str) -> float | None:
    """Return a rating as a number, None where there is none; `where` begins an error."""
    text = "" if value is None else str(value).strip()
    if not text or text.lower() == "nan":
        return None
    try:
        return float(text)
    except ValueError:
        comma = "; is it written with a comma?" if text.replace(",", "", 1).replace(".", "", 1).isdigit() else ""
        raise MetricInputError(f"{where}: rating {text!r:.60} is not a number{comma}") from None


def _rating(value: object, metric: Metric, where: str) -> float | None:
    """Return a rating in the range of a metric, None where there is none."""
    number = rating_number(value, where)
    if number is not None and not metric.low - _ROUNDING <= number <= metric.high + _ROUNDING:
        raise MetricInputError(
            f"{where}: rating {number:g} is outside {metric.low:g} to {metric.high:g}, the range of {metric.name}; is "
            "it on another scale?"
        )
    return number


def _key(table: ScoreTable, row: dict[str, Any], where: str) -> _Key:
    """Return the model, condition and unit of a row; where the scores have one of them only, it may be left out."""
    texts = {name: str(value).strip() for name, value in row.items() if value is not None}
    unit = texts.get("unit") or ""
    if not unit:
        raise MetricInputError(f"{where}: unit is empty, and there is a rating")
    model = texts.get("model") or (table.models[0] if len(table.models) == 1 else "")
    if model not in table.models:
        raise MetricInputError(f"{where}: model {model!r:.80} is not in the scores; {meant(model, table.models)}")
    condition = texts.get("condition") or (table.conditions[0] if len(table.conditions) == 1 else None)
    if (model, condition) not in table.groups:
        known = [str(one) for _, one in table.groups if _ == model]
        called = table.provenance.condition
        raise MetricInputError(
            f"{where}: {called} {condition!r:.80} of {model!r} is not in the scores; {meant(str(condition), known)}"
        )
    return model, condition, unit


def draw_labels(
    table: ScoreTable, n: int, *, metric: str | None = None, seed: int = 0, by: str = "unit"
) -> pl.DataFrame:
    """Draw units for people to rate, and return the sheet to fill in.

    Parameters
    ----------
    table : ScoreTable
        The scores, of which units with a value of the metric are drawn.
    n : int
        How many units; of each every model and condition is rated, so that models can be compared.
    metric : str, optional
        What is to be rated; by default the main metric.
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
        raise MetricInputError(f"n is {n}, and {len(able)} {table.provenance.unit}s have a value of {judged.name}")
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
    rows = [(*series.groups[group], series.units[unit], None) for unit in drawn for group in _groups(present, unit)]
    schema = {"model": pl.String, "condition": pl.String, "unit": pl.String, "rating": pl.Float64}
    sheet = pl.DataFrame(rows, schema=schema, orient="row")
    return sheet.drop("condition") if table.conditions == (None,) else sheet


def _groups(present: Any, unit: int) -> Sequence[int]:
    found: list[int] = np.flatnonzero(present[:, unit]).tolist()
    return found
