"""Scores as files: read, checked that each number is one that its column can have, and written.

A row is a model, condition and unit, under each choice of its variants: ``model, condition, unit, cluster``, a column
for each term, ``variant.<choice>``, ``trait.<name>``, ``chance.<metric>`` and, where the benchmark keeps more,
``detail`` as JSON text. Where models were asked several times, each repeat has a row too, which ``repeat`` names; it is
null in the rows of their means. Such a file has format 2, as a reader that does not know this would take repeats for
units; any other has format 1.
"""

import json
import os
from collections.abc import Iterable, Iterator
from errno import EINVAL
from math import inf
from pathlib import Path
from typing import Annotated, Any, Literal

import polars as pl
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict

from attune_bench.scores.file_types import KEY
from attune_bench.scores.parts import CHANCE, KEYS, REPEAT, UNIT_KEYS, Provenance
from attune_bench.scores.table import JsonColumn, ScoreTable, entry_fields, metric_entries, split_repeats, term_columns
from attune_bench.scores.table_numbers import ROUNDING
from attune_data.export import parquet_bytes
from attune_data.io.documents import write_whole
from attune_data.issues import SourceError, shown
from attune_data.record import panics_as_errors
from attune_data.text import did_you_mean, plural
from attune_metrics.metric import OF_GROUPS, OF_UNITS, PER_UNIT, PSEUDO_VALUES, MetricInputError

_COUNTED = ("coverage.", "calls.", "failed.")
_OF_ONE = (*PER_UNIT, PSEUDO_VALUES, "z_score")
_MOST = 2**53  # beyond it a float is no count

Kind = Literal["score", "trial", "count", "mean of counts"]
Range = tuple[str, float, float, Kind]
"""A column, its least and greatest value, and what its numbers are; a trial is 0 or 1."""

_COUNTS = ("count", "mean of counts")


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
        if metric.statistic not in (*OF_UNITS, "z_score"):
            known = did_you_mean(metric.statistic, OF_UNITS)
            raise MetricInputError(f"metrics.{metric.name}.statistic: no {metric.statistic!r}; {known}")
        terms = len(metric.terms) if metric.statistic == "z_score" else len(term_columns(metric))
        expected = 1 if metric.statistic in _OF_ONE else terms if metric.statistic in OF_GROUPS else 4
        if terms != expected or (metric.statistic in OF_GROUPS and terms % 2):
            raise MetricInputError(f"metrics.{metric.name}.terms: {metric.statistic} of {plural(terms, 'term')}")
    for name in filter(None, (*table.provenance.headline, table.provenance.primary)):
        table.metric(name)
    choices, variant = table.choices, table.provenance.variant
    if variant.keys() != choices.keys():
        raise MetricInputError(f"provenance.variant: {variant}; the choices are {[*choices]}")
    for name, option in variant.items():
        if option not in choices[name]:
            raise MetricInputError(f"provenance.variant.{name}: no {option!r}; {did_you_mean(option, choices[name])}")
    if (table.provenance.expected or 0) < 0:
        raise MetricInputError(f"provenance.expected is {table.provenance.expected}; expected a count")
    _check_keys(table.units, ("unit",), "descriptions (cluster, traits, chance)")
    rows = table.values if table.variants is None else table.variants  # the values are among the variants
    of_repeats = (REPEAT,) if REPEAT in rows.columns else ()
    _check_keys(rows, (*KEYS, *choices, *of_repeats), "rows")
    for unit in rows.filter(~pl.col("unit").is_in(table.units["unit"].implode()))["unit"].head(1):
        raise MetricInputError(f"unit {unit!r} of a row is none of the units")
    # A mean of counts over repeats need not be whole.
    ranges = list(_ranges(table, "count" if table.repeats is None else "mean of counts"))
    for column, *_ in ranges:
        if column not in rows.columns:
            raise MetricInputError(f"no column {column!r}; {did_you_mean(column, rows.columns)}")
    check_numbers(rows, ranges)
    if table.repeats is not None:
        _check_keys(table.repeats, (*KEYS, REPEAT), "repeats")
        for row in (
            table.repeats.join(table.values, on=KEYS, how="anti", nulls_equal=True).head(1).iter_rows(named=True)
        ):
            raise MetricInputError(
                f"repeat {row[REPEAT]!r} of model {row['model']!r}, unit {row['unit']!r} has no mean"
            )
        check_numbers(table.repeats, _ranges(table, "count"))
    _check_coverage(rows)
    _check_means(table, rows)
    chance = ((f"{CHANCE}{name}", metric) for name, metric in table.metrics.items())
    check_numbers(
        table.units,
        ((column, metric.low, metric.high, "score") for column, metric in chance if column in table.units.columns),
    )


def _check_keys(rows: pl.DataFrame, keys: tuple[str, ...], what: str) -> None:
    for key in dict.fromkeys((*keys, *(name for name in ("cluster",) if name in rows.columns))):
        if rows.schema[key] not in (pl.Categorical if key == "unit" else pl.String, pl.Null):
            raise MetricInputError(f"{key} is of type {rows.schema[key]}; expected text")
        if key not in {"condition", "cluster", REPEAT} and rows[key].null_count():
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
        wrong = (pl.col(present) > pl.col(expected)) | (pl.col(present).is_null() != pl.col(expected).is_null())
        for row in rows.filter(wrong).head(1).iter_rows(named=True):
            of = f"model {row['model']!r}, unit {row['unit']!r}"
            if row[present] is None or row[expected] is None:
                raise MetricInputError(f"{present} of {of} is {row[present]}; {expected} is {row[expected]}")
            raise MetricInputError(f"{present} of {of} is {row[present]:g}; expected {row[expected]:g} at most")


def _check_means(table: ScoreTable, rows: pl.DataFrame) -> None:
    """Check that the sums of a mean of means fit their numbers of units."""
    for metric in table.metrics.values():
        if metric.statistic != "mean_of_means":
            continue
        for total, count in zip(metric.terms[::2], metric.terms[1::2], strict=True):
            units, value = pl.col(count).cast(pl.Float64), pl.col(total).cast(pl.Float64).fill_nan(None)
            room = ROUNDING * units.clip(1)
            # An infinite bound times 0 units would be nan.
            wrong = pl.lit(metric.low > -inf) & (value < metric.low * units - room)
            wrong |= pl.lit(metric.high < inf) & (value > metric.high * units + room)
            wrong |= value.is_null() != units.is_null()
            for row in rows.filter(wrong).head(1).iter_rows(named=True):
                of = f"model {row['model']!r}, unit {row['unit']!r}"
                of_units = f"{row[count]} of {count}, each from {metric.low:g} to {metric.high:g}"
                raise MetricInputError(f"{total} of {of} is {row[total]}; expected the sum over {of_units}")


def _ranges(table: ScoreTable, count: Kind) -> Iterator[Range]:
    """Yield the range of every column of numbers; `count` is what a number of things is."""
    for metric in table.metrics.values():
        columns = term_columns(metric)
        if metric.statistic in (*PER_UNIT, PSEUDO_VALUES):
            yield columns[0], metric.low, metric.high, "trial" if metric.statistic == "share" else "score"
        elif metric.statistic in OF_GROUPS:
            of_weights: Kind = count if metric.statistic == "mean_of_means" else "score"
            for place, column in enumerate(columns):
                yield (column, 0, inf, of_weights) if place % 2 else (column, -inf, inf, "score")
        else:
            for column in columns:
                yield (column, 0, inf, count) if metric.statistic in OF_UNITS else (column, -inf, inf, "score")
    yield from ((column, 0, _MOST, count) for column in table.values.columns if column.startswith(_COUNTED))


def check_numbers(rows: pl.DataFrame, ranges: Iterable[Range]) -> None:
    """Check that columns have numbers of their ranges; null is undefined, and nan is where nothing is counted."""
    checks: list[tuple[str, str, pl.Expr]] = []
    schema = rows.schema  # made anew each time
    for column, low, high, kind in ranges:
        dtype = schema[column]
        if not (dtype.is_numeric() or dtype == pl.Null):
            raise MetricInputError(f"{column} is of type {dtype}; expected numbers")
        value = pl.col(column).cast(pl.Float64)
        value = value if kind in _COUNTS else value.fill_nan(None)
        outside = value.is_infinite() | (value < low - ROUNDING) | (value > high + ROUNDING)
        if kind in _COUNTS:
            wrong = outside | (value > _MOST) | value.is_nan()
            if kind == "count":
                wrong |= value != value.floor()
            checks.append((column, f"a {kind}", wrong))
        elif kind == "trial":
            checks.append((column, "0 or 1", ~value.is_in([0.0, 1.0])))
        else:
            checks.append((column, f"a number from {low:g} to {high:g}", outside))
    found = rows.select(wrong.any().alias(str(place)) for place, (_, _, wrong) in enumerate(checks))
    for (column, expected, wrong), is_wrong in zip(checks, found.row(0) if checks else (), strict=True):
        if is_wrong:
            row = rows.filter(wrong).row(0, named=True)
            of = ", ".join(f"{key} {value!r:.60}" for key, value in row.items() if isinstance(value, str))
            raise MetricInputError(f"{column} of {of} is {row[column]!r:.40}; expected {expected}")


_FORMAT, _WITH_REPEATS = 1, 2


class _Format(TypedDict):
    format: Annotated[int, Field(strict=True)]


@with_config(ConfigDict(allow_inf_nan=False))
class _About(_Format):
    provenance: Provenance
    metrics: dict[str, dict[str, Any]]
    choices: list[str]
    traits: list[str]


_FORMAT_OF, _ABOUT = TypeAdapter(_Format), TypeAdapter(_About)


def write_score_file(table: ScoreTable, path: str | os.PathLike[str]) -> None:
    """Write scores to one Parquet file, whole or not at all.

    Parameters
    ----------
    table : ScoreTable
        The scores, written under every choice of their variants.
    path : str or path-like
        Ending in ``.parquet``.

    Raises
    ------
    ValueError
        Where the name ends otherwise.
    OSError
        Where the file cannot be written.
    """
    target = Path(path).resolve()
    if target.suffix.lower() != ".parquet":
        raise ValueError(f"{target.name!r} does not end in .parquet, the format of these scores")
    if target.exists() and not target.is_file():
        raise OSError(EINVAL, "is a directory" if target.is_dir() else "is not a regular file", str(path))
    rows = table.values if table.variants is None else table.variants
    choices, traits = list(table.choices), list(table.traits)
    units = table.units.rename({name: f"trait.{name}" for name in traits})
    frame = rows.rename({name: f"variant.{name}" for name in choices})
    if table.repeats is not None and table.variants is None:
        frame = pl.concat([frame, table.repeats], how="diagonal")
    frame = frame.join(units, on="unit", how="left", maintain_order="left")
    if table.detail is not None:
        of_row = table.values.select(*KEYS, pl.Series("detail", list(table.detail.texts()), pl.String))
        frame = frame.join(of_row, on=KEYS, how="left", nulls_equal=True, maintain_order="left")
    about = {
        "format": _FORMAT if table.repeats is None else _WITH_REPEATS,
        "provenance": table.provenance.model_dump(mode="json"),
        "metrics": {name: entry_fields(metric) for name, metric in table.metrics.items()},
        "choices": choices,
        "traits": traits,
    }
    write_whole(target, [parquet_bytes(frame.cast({"unit": pl.String}), metadata={KEY: json.dumps(about)})])


def read_score_file(path: str | os.PathLike[str]) -> ScoreTable:
    """Read what `write_score_file` wrote.

    Raises
    ------
    SourceError
        Where the file is damaged or of a later version of the library, or has a number that its column cannot have.
    """
    # Found here, as commands that only write scores need not all metrics of the library.
    from attune_metrics.catalog import CATALOG

    target = Path(path)
    try:
        with panics_as_errors():
            text = pl.read_parquet_metadata(target)[KEY]
        if (found := _FORMAT_OF.validate_json(text)["format"]) not in (_FORMAT, _WITH_REPEATS):
            raise SourceError(f"{path} has format {found}, of a later version of attune-bench; update it")
        about = _ABOUT.validate_json(text)
        with panics_as_errors():
            frame = pl.read_parquet(target)
        choices, traits, provenance = about["choices"], about["traits"], about["provenance"]
        metrics = metric_entries(about["metrics"], place="metrics")
        # The catalogue's own entry knows the function too.
        metrics |= {
            name: CATALOG[name]
            for name, given in about["metrics"].items()
            if name in CATALOG and entry_fields(CATALOG[name]) == given
        }
        named = {f"variant.{name}": name for name in choices} | {f"trait.{name}": name for name in traits}
        own = {f"trait.{name}" for name in traits}
        for name in sorted(own - {*frame.columns}):
            raise MetricInputError(f"no column {name!r}")
        of_units = [name for name in frame.columns if name in own or name.startswith(CHANCE)]
        units = frame.select(*UNIT_KEYS, *of_units).unique().sort("unit")
        beside = {"cluster", *of_units}
        rows = frame.select(name for name in frame.columns if name not in beside).rename(named, strict=False)
        values, repeats = split_repeats(rows.filter(**provenance.variant).drop(choices) if choices else rows)
        detail = JsonColumn(values["detail"]) if "detail" in values.columns else None
        read = ScoreTable(
            values=values.select(*KEYS, pl.exclude(*KEYS, "detail")),
            units=units.rename(named, strict=False),
            metrics=metrics,
            provenance=provenance,
            variants=rows.drop("detail", strict=False) if choices else None,
            detail=detail,
            repeats=None if repeats is None else repeats.drop("detail", strict=False),
        )
        check_scores(read)
        return read
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error.strerror or error}") from None
    except (pl.exceptions.PolarsError, MetricInputError, KeyError, ValueError, TypeError) as error:
        if isinstance(error, SourceError):
            raise
        why = _first(error) if isinstance(error, ValidationError) else str(error).splitlines()[0]
        raise SourceError(f"{path} contains damaged scores ({why:.200}); write them again") from None


def _first(error: ValidationError) -> str:
    """Return the place, the fault and the value of the first fault."""
    first = error.errors(include_url=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}, not {shown(first['input'])}"
