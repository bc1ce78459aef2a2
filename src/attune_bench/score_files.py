"""Files of scores: one Parquet table that any tool opens, with the catalogue entries and the provenance in its footer.

A row is a model, condition and unit, under each choice of its variants: ``model, condition, unit, cluster``, a column
for each term, ``variant.<choice>``, ``trait.<name>``, ``chance.<metric>`` and, where the benchmark keeps more,
``detail`` as JSON text. Where models were asked several times, each repeat has a row too, which ``repeat`` names; it is
null in the rows of their means. Such a file has format 2, as a reader that does not know this would take repeats for
units; any other has format 1.
"""

import json
import os
from errno import EINVAL
from pathlib import Path
from typing import Annotated, Any

import polars as pl
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict

from attune_bench.entries import entry_fields, metric_entries
from attune_bench.score_checks import check_scores
from attune_bench.score_table import CHANCE, KEYS, UNIT_KEYS, Provenance, ScoreTable, split_repeats
from attune_bench.texts import Texts
from attune_data.export import parquet_bytes
from attune_data.io.documents import check_input, write_whole
from attune_data.issues import SourceError, shown
from attune_data.record import panics_as_errors
from attune_metrics.catalog import CATALOG
from attune_metrics.metric import MetricInputError

__all__ = ["is_score_file", "read_score_file", "write_score_file"]

_KEY = "attune-bench"
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
    write_whole(target, [parquet_bytes(frame, metadata={_KEY: json.dumps(about)})])


def is_score_file(path: str | os.PathLike[str]) -> bool:
    """Tell whether a file is one that `write_score_file` wrote."""
    target = Path(path)
    try:
        check_input(target)
        with target.open("rb") as file:
            is_parquet = file.read(4) == b"PAR1"
        with panics_as_errors():
            return is_parquet and _KEY in pl.read_parquet_metadata(target)
    except (OSError, pl.exceptions.PolarsError):
        return False


def read_score_file(path: str | os.PathLike[str]) -> ScoreTable:
    """Read what `write_score_file` wrote.

    Raises
    ------
    SourceError
        Where the file is damaged or of a later version of the library, or has a number that its column cannot have.
    """
    target = Path(path)
    try:
        with panics_as_errors():
            text = pl.read_parquet_metadata(target)[_KEY]
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
        detail = Texts(values["detail"]) if "detail" in values.columns else None
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
