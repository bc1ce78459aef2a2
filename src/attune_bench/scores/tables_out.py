"""Scores as anybody's table: a row for each model, condition, unit and metric, and a TOML file that describes these.

`attune_bench.scores.tables_in` reads both files as scores again.
"""

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from attune_bench.scores.parts import KEYS, REPEAT
from attune_bench.scores.table import ScoreTable, entry_fields, metrics_per_unit
from attune_bench.scores.table_files import ROW
from attune_data.export import to_csv
from attune_data.io.documents import write_whole
from attune_metrics.metric import MetricInputError

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_OF_A_VALUE = ("metric", "value")


def long_table(table: ScoreTable, metrics: Sequence[str] | None = None) -> pl.DataFrame:
    """Return every unit's values: one row for each model, condition, unit, metric, and repeat if there are several.

    Parameters
    ----------
    table : ScoreTable
        The scores.
    metrics : sequence of str, optional
        The metrics to include, of those that have one value for each unit; by default all of these.

    Returns
    -------
    polars.DataFrame
        ``model, condition, unit, cluster``, the traits of units, ``repeat`` where models were asked several times, and
        ``metric, value``. ``value`` is null where the metric is undefined. Metrics of pooled counts, which have no
        value for a unit, are left out.

    Raises
    ------
    MetricInputError
        Where no metric has a value for each unit, or a trait has the name of another column.
    """
    of_units = [name for name in metrics_per_unit(table) if metrics is None or name in metrics]
    if not of_units:
        raise MetricInputError("none of the metrics has one value for each unit, so there is no table of units")
    repeated = table.repeats is not None
    rows = table.values if table.repeats is None else table.repeats
    keys = [*KEYS, "cluster", *table.traits, *([REPEAT] if repeated else [])]
    for name in table.traits:
        if keys.count(name) > 1 or name in (REPEAT, *_OF_A_VALUE):
            raise MetricInputError(f"{name!r} is a column of tables of scores; give the trait another name")
    units = table.units.select("unit", "cluster", *table.traits)
    joined = rows.join(units, on="unit", how="left", maintain_order="left").cast({"unit": pl.String})
    # A metric may be called value.
    long = joined.unpivot(of_units, index=keys, variable_name="metric", value_name=ROW).rename({ROW: "value"})
    return long.with_columns(pl.col("value").fill_nan(None))


def description_toml(table: ScoreTable, long: pl.DataFrame) -> str:
    """Return the text of the TOML file that describes a long table: its units, and each metric's range and direction.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> scores = score(load("demo"), load_runs("demo"))
    >>> print(description_toml(scores, long_table(scores)).partition("[")[0].strip())
    title = "AttuneBench"
    unit = "conversation"
    condition = "mode"
    cluster = "participant"
    primary = "composite_score"
    private = true
    synthetic = true
    """
    held = table.provenance
    metrics = long["metric"].unique(maintain_order=True).to_list()
    about: dict[str, Any] = {"title": held.title, "unit": held.unit, "condition": held.condition}
    if held.cluster != held.unit:
        about["cluster"] = held.cluster
    about["primary"] = table.primary if table.primary in metrics else metrics[0]
    about |= {name: True for name in ("private", "synthetic") if getattr(held, name)}
    lines = [*_pairs(about)]
    for name in metrics:
        fields = {key: value for key, value in entry_fields(table.metrics[name]).items() if key not in _OF_BENCHMARKS}
        lines += ["", f"[metrics.{_key(name)}]", *_pairs(fields)]
    return "\n".join(lines) + "\n"


# Fields of an entry for which a table with one value in each row has no columns.
_OF_BENCHMARKS = ("terms", "coverage")


def _pairs(values: Mapping[str, Any]) -> list[str]:
    # TOML has no null.
    return [f"{_key(name)} = {_literal('neither' if value is None else value)}" for name, value in values.items()]


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _literal(name)


def _literal(value: Any) -> str:
    """Return a value as TOML, which writes texts, numbers and lists as JSON does but must escape one more character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def write_long_table(table: ScoreTable, path: str | os.PathLike[str]) -> None:
    """Write the table of `long_table` as CSV, and beside it the TOML file of the same name.

    Raises
    ------
    ValueError
        Where the name does not end in ``.csv``.
    MetricInputError
        As `long_table`.
    OSError
        Where a file cannot be written.
    """
    target = Path(path)
    if target.suffix.lower() != ".csv":
        raise ValueError(f"to_csv writes one table: {target.name!r} has to end in .csv")
    long = long_table(table)
    # The description is written first, so that nobody finds a table without it.
    write_whole(target.with_suffix(".toml"), [description_toml(table, long).encode()])
    write_whole(target, [to_csv(long).encode()])
