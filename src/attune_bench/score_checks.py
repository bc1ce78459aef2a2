"""What is checked of scores that come from a file: every number is one that its column can have."""

from collections.abc import Iterable, Iterator

import polars as pl

from attune_bench.score_table import CHANCE, KEYS, ScoreTable, term_columns
from attune_data.text import meant, plural
from attune_metrics.errors import MetricInputError
from attune_metrics.metric import Metric
from attune_metrics.stats.statistics import PER_UNIT, STATISTICS

__all__ = ["check_numbers", "check_scores"]

_COUNTED = ("coverage.", "calls.", "failed.")
_OF_ONE = (*PER_UNIT, "z_score")
_MOST = 2**53  # beyond it a float is no count
_ROUNDING = 1e-9

Range = tuple[str, float, float, bool]
"""A column, its least and greatest value, and whether it counts."""


def check_scores(table: ScoreTable) -> None:
    """Check that scores fit together.

    Raises
    ------
    MetricInputError
        Where two rows are of one model, condition and unit, or a row names none; a unit is described twice or not at
        all; a metric has an unknown statistic or no column; a variant is none of the choices; or a number is infinite,
        outside the range of its metric, or no count where counts are. The text has the place and the value.
    """
    for metric in table.metrics.values():
        if metric.statistic not in (*STATISTICS, "z_score"):
            known = meant(metric.statistic, STATISTICS)
            raise MetricInputError(f"metrics.{metric.name}.statistic: no {metric.statistic!r}; {known}")
        terms = len(term_columns(metric))
        expected = 1 if metric.statistic in _OF_ONE else terms if metric.statistic == "mean_of_means" else 4
        if terms != expected or (metric.statistic == "mean_of_means" and terms % 2):
            raise MetricInputError(f"metrics.{metric.name}.terms: {metric.statistic} of {plural(terms, 'term')}")
    for name in filter(None, (*table.provenance.headline, table.provenance.primary)):
        table.metric(name)
    if table.provenance.variant.keys() != table.choices.keys():
        raise MetricInputError(f"provenance.variant: {table.provenance.variant}; the choices are {[*table.choices]}")
    _check_keys(table.units, ("unit",), "units")
    rows = table.values if table.variants is None else table.variants  # the values are among the variants
    _check_keys(rows, (*KEYS, *table.choices), "rows")
    for unit in rows.filter(~pl.col("unit").is_in(table.units["unit"].implode()))["unit"].head(1):
        raise MetricInputError(f"unit {unit!r} of a row is none of the units")
    ranges = list(_ranges(table))
    for column, *_ in ranges:
        if column not in rows.columns:
            raise MetricInputError(f"no column {column!r}; {meant(column, rows.columns)}")
    check_numbers(rows, ranges)
    _check_coverage(rows)
    chance = {f"{CHANCE}{name}": metric for name, metric in table.metrics.items()}
    known = ((name, metric.low, metric.high, False) for name, metric in chance.items() if name in table.units.columns)
    check_numbers(table.units, known)


def _check_keys(rows: pl.DataFrame, keys: tuple[str, ...], what: str) -> None:
    for key in dict.fromkeys((*keys, *(name for name in ("cluster",) if name in rows.columns))):
        if rows.schema[key] not in (pl.String, pl.Null):
            raise MetricInputError(f"{key} is of type {rows.schema[key]}; expected text")
        if key not in {"condition", "cluster"} and rows[key].null_count():
            raise MetricInputError(f"{key} is empty in row {rows[key].is_null().arg_true()[0] + 1}")
    if rows.select(keys).hash_rows().n_unique() == rows.height:
        return
    for repeated in rows.filter(pl.struct(keys).is_duplicated()).select(keys).head(1).iter_rows(named=True):
        named = ", ".join(f"{key} {value!r}" for key, value in repeated.items() if value is not None)
        raise MetricInputError(f"two {what} are of {named}; leave one of them out")


def _check_coverage(rows: pl.DataFrame) -> None:
    tasks = {column.rpartition(".")[0] for column in rows.columns if column.startswith("coverage.")}
    for task in sorted(tasks):
        present, expected = f"{task}.present", f"{task}.expected"
        if not {present, expected} <= {*rows.columns}:
            raise MetricInputError(f"{task} needs the columns {present} and {expected}")
        for row in rows.filter(pl.col(present) > pl.col(expected)).head(1).iter_rows(named=True):
            of = f"model {row['model']!r}, unit {row['unit']!r}"
            raise MetricInputError(f"{present} of {of} is {row[present]:g}; expected {row[expected]:g} at most")


def _ranges(table: ScoreTable) -> Iterator[Range]:
    """Yield the range of every column of numbers."""
    for metric in table.metrics.values():
        columns = term_columns(metric)
        if metric.statistic in PER_UNIT:
            yield columns[0], metric.low, metric.high, False
        elif metric.statistic == "mean_of_means":
            yield from _sums(metric)
        else:
            counts = metric.statistic in STATISTICS
            yield from ((column, 0 if counts else -float("inf"), float("inf"), counts) for column in columns)
    yield from ((column, 0, _MOST, True) for column in table.values.columns if column.startswith(_COUNTED))


def _sums(metric: Metric) -> Iterator[Range]:
    for place, column in enumerate(metric.terms):
        yield column, -float("inf") if place % 2 == 0 else 0, float("inf"), place % 2 == 1


def check_numbers(rows: pl.DataFrame, ranges: Iterable[Range]) -> None:
    """Check that columns have numbers of their ranges, or counts; nan and null are undefined."""
    checks: list[tuple[str, str, pl.Expr]] = []
    for column, low, high, is_count in ranges:
        dtype = rows.schema[column]
        if not (dtype.is_numeric() or dtype == pl.Null):
            raise MetricInputError(f"{column} is of type {dtype}; expected numbers")
        value = pl.col(column).cast(pl.Float64)
        value = value if is_count else value.fill_nan(None)
        outside = value.is_infinite() | (value < low - _ROUNDING) | (value > high + _ROUNDING)
        if is_count:
            checks.append((column, "a count", outside | (value != value.floor()) | (value > _MOST) | value.is_nan()))
        else:
            checks.append((column, f"a number from {low:g} to {high:g}", outside))
    found = rows.select(wrong.any().alias(str(place)) for place, (_, _, wrong) in enumerate(checks))
    for (column, expected, wrong), is_wrong in zip(checks, found.row(0) if checks else (), strict=True):
        if is_wrong:
            row = rows.filter(wrong).row(0, named=True)
            of = ", ".join(f"{key} {value!r:.60}" for key, value in row.items() if isinstance(value, str))
            raise MetricInputError(f"{column} of {of} is {row[column]!r:.40}; expected {expected}")
