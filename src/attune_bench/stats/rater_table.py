"""Tables in which several raters rate the same items: read and checked.

A table has the columns ``item``, ``rater``, ``dimension`` and ``rating``; optional are ``dataset``, whose items are
apart, and ``cluster``, of items that belong together. A row without a rating is not rated.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from math import isinf
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from attune_bench.stats.labels import rating_number
from attune_bench.table_reader import read_table
from attune_metrics.metric import MetricInputError
from attune_metrics.stats.bootstrap import Floats

__all__ = ["RatedDimension", "RaterTable", "read_ratings"]

_NAMES = ("dataset", "cluster", "item", "rater", "dimension")
_REQUIRED = ("item", "rater", "dimension", "rating")


@dataclass(frozen=True, eq=False, slots=True)
class RatedDimension:
    """What raters gave the items of a data set on one dimension.

    Attributes
    ----------
    dataset : str or None
        None where the table has no such column.
    dimension : str
        What was rated.
    raters : tuple of str
        Who rated at least one item.
    ratings : array of float, shape (items, raters)
        In the order of the items' names; nan where a rater did not rate an item.
    labels : tuple of (str, str)
        What each item is drawn with: its cluster, or itself.
    """

    dataset: str | None
    dimension: str
    raters: tuple[str, ...]
    ratings: Floats
    labels: tuple[tuple[str, str], ...]

    def of(self, raters: tuple[str, ...]) -> Floats:
        """Return the ratings of some of the raters, in this order."""
        return self.ratings[:, [self.raters.index(rater) for rater in raters]]


@dataclass(frozen=True, eq=False, slots=True)
class RaterTable:
    """A table of ratings.

    Attributes
    ----------
    name : str
        What errors call it.
    raters : tuple of str
        All of them, sorted.
    dimensions : tuple of RatedDimension
        One for each dimension of each data set, in the order of the table.
    """

    name: str
    raters: tuple[str, ...]
    dimensions: tuple[RatedDimension, ...]


def read_ratings(source: pl.DataFrame | str | os.PathLike[str]) -> RaterTable:
    """Read a table of ratings and check it.

    Parameters
    ----------
    source : polars.DataFrame or path
        A frame, or a CSV, JSONL or Parquet file.

    Raises
    ------
    MetricInputError
        Where a column is missing, a rating is no finite number, a name is empty, a rater rates an item twice, an item
        is in two clusters, or nothing is rated; the text names the file and the line.
    SourceError
        Where the file cannot be read.

    Examples
    --------
    >>> rows = [("i1", "ann", "warmth", 3), ("i1", "bob", "warmth", 4), ("i2", "ann", "warmth", 1)]
    >>> table = read_ratings(pl.DataFrame(rows, schema=["item", "rater", "dimension", "rating"], orient="row"))
    >>> table.raters, table.dimensions[0].ratings.tolist()
    (('ann', 'bob'), [[3.0, 4.0], [1.0, nan]])
    """
    name, first_row = "the ratings", 1
    if not isinstance(source, pl.DataFrame):
        name = str(source)
        source, first_row = read_table(Path(source), names=_NAMES)
    for column in _REQUIRED:
        if column not in source.columns:
            raise MetricInputError(f"{name}: no column {column!r}; it has {', '.join(source.columns)}")
    cells: dict[tuple[str | None, str], dict[tuple[str, str], float]] = {}
    clusters: dict[tuple[str | None, str], str | None] = {}
    lines: dict[tuple[str | None, ...], int] = {}
    for line, row in enumerate(source.iter_rows(named=True), start=first_row):
        where = f"{name}, line {line}"
        rating = rating_number(row["rating"], where)
        if rating is None:
            continue
        if isinf(rating):
            raise MetricInputError(f"{where}: rating {rating} is infinite; leave it empty where nobody rated")
        dataset, cluster = (_name(row, column, where) if column in row else None for column in ("dataset", "cluster"))
        item, rater, dimension = (_name(row, column, where) for column in ("item", "rater", "dimension"))
        first = lines.setdefault((dataset, dimension, item, rater), line)
        if first != line:
            raise MetricInputError(
                f"{where}: {rater!r:.60} rated {dimension!r:.60} of item {item!r:.60} in line {first} already; give "
                "one rating, or name the data set in a column 'dataset'"
            )
        if clusters.setdefault((dataset, item), cluster) != cluster:
            raise MetricInputError(
                f"{where}: item {item!r:.60} is in cluster {cluster!r:.60}, and before in "
                f"{clusters[dataset, item]!r:.60}; an item is in one cluster"
            )
        cells.setdefault((dataset, dimension), {})[item, rater] = rating
    if not cells:
        raise MetricInputError(f"{name}: no rating; fill in the column 'rating'")
    dimensions = tuple(_dimension(*key, rated, clusters) for key, rated in cells.items())
    raters = sorted({rater for one in dimensions for rater in one.raters})
    return RaterTable(name, tuple(raters), dimensions)


def _dimension(
    dataset: str | None,
    dimension: str,
    rated: Mapping[tuple[str, str], float],
    clusters: Mapping[tuple[str | None, str], str | None],
) -> RatedDimension:
    items, raters = (sorted(set(names)) for names in zip(*rated, strict=True))
    ratings = np.array([[rated.get((item, rater), np.nan) for rater in raters] for item in items])
    of_items = [(item, clusters[dataset, item]) for item in items]
    labels = tuple(("", item) if cluster is None else (cluster, "") for item, cluster in of_items)
    return RatedDimension(dataset, dimension, tuple(raters), ratings, labels)


def _name(row: Mapping[str, Any], column: str, where: str) -> str:
    """Return a name of a row as text without blanks around it."""
    text = "" if row[column] is None else str(row[column]).strip()
    if not text:
        raise MetricInputError(f"{where}: {column} is empty; every rating names its {column}")
    return text
