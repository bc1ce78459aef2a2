"""Writing ``scores.json``, the benchmark's own file of scores: with its official keys, details and means."""

import os
from collections.abc import Iterator, Mapping, Sequence
from errno import EINVAL
from math import fsum, inf, isinf, sqrt
from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl
from pydantic_core import from_json, to_json

from attune_bench.benchmarks.attunebench.conversation_score import (
    CELLS,
    IN_COMPOSITE,
    MEANS,
    OUTCOMES,
    POOLED,
    TASKS,
    count_scores,
)
from attune_bench.benchmarks.attunebench.detail import records_of
from attune_bench.benchmarks.attunebench.scoring import chance_by_unit
from attune_bench.scores.table import ScoreTable, coverage, infinite_value, standard_scores
from attune_data.io.documents import write_whole

OF_PROVENANCE = ("similarity", "codebook", "data", "runs")
"""What the metadata have of the provenance where it is known."""


def aggregates(scores: ScoreTable) -> list[dict[str, Any]]:
    """Return one row per model and mode, sorted by model, then mode, as ``scores.json`` has them.

    Parameters
    ----------
    scores : ScoreTable
        Scores of this benchmark.

    Returns
    -------
    list of dict
        Each value is the mean over conversations, null and nan skipped; ``<name>_n`` is the number it rests on,
        ``<name>_se`` the standard deviation (n - 1) over sqrt(n), null below two values; it ignores that participants
        repeat.
        ``coverage_<task>`` pools predictions present over questions expected; ``calls_<outcome>`` counts calls by how
        the answer was read, in the ``calls_n`` runs that say so. ``composite_z`` is the z-score of the composite
        across rows (n - 1), 0 with fewer than two rows or no spread.
    """
    covered = coverage(scores)
    clusters = dict(scores.units.select("unit", "cluster").iter_rows())
    parts = scores.values.partition_by("model", "condition", as_dict=True)
    rows = []
    for model, mode in scores.groups:
        own = parts[model, mode]
        people = set(filter(None, map(clusters.get, own["unit"])))
        row: dict[str, Any] = {
            "em_model": model,
            "mode": mode,
            "n_conversations": own.height,
            "n_participants": len(people) or None,
        }
        columns = own.select(pl.col(MEANS).cast(pl.Float64).fill_nan(None)).to_dict(as_series=False)
        for name, values in columns.items():
            known = [value for value in values if value is not None]
            if known and max(map(abs, known)) == inf:
                place = next(place for place, value in enumerate(values) if value is not None and isinf(value))
                raise infinite_value(scores, name, model, mode, own["unit"][place])
            row[name] = fmean(known) if known else None
            row[f"{name}_n"] = len(known)
            if name in IN_COMPOSITE:
                row[f"{name}_se"] = _sd(known) / sqrt(len(known)) if len(known) > 1 else None
        for name in POOLED:
            counts = own.select(f"{name}.{cell}" for cell in CELLS).drop_nulls()
            row[name] = None if counts.is_empty() else count_scores(*(int(column.sum()) for column in counts))
        for task in TASKS:
            row[f"coverage_{task}"] = covered[model, mode].get(task)
        calls = own.select(f"calls.{outcome}" for outcome in OUTCOMES).drop_nulls()
        row["calls_n"] = calls.height
        for outcome in OUTCOMES:
            row[f"calls_{outcome}"] = int(calls[f"calls.{outcome}"].sum()) if calls.height else None
        rows.append(row)
    [of] = scores.metrics["composite_z"].terms
    for row, score in zip(rows, standard_scores([row[of] for row in rows]), strict=True):
        row["composite_z"] = score
    return rows


def _sd(values: Sequence[float]) -> float:
    """Return the standard deviation (n - 1)."""
    mean = fmean(values)
    return sqrt(fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


def write_scores_json(scores: ScoreTable, path: str | os.PathLike[str]) -> None:
    """Write ``scores.json``, whole or not at all: metadata, the record of every run, aggregates.

    Raises
    ------
    MetricInputError
        Where the scores have no records of runs.
    OSError
        Where the file cannot be written.
    """
    target = Path(path).resolve()
    if target.exists() and not target.is_file():
        raise OSError(EINVAL, "is a directory" if target.is_dir() else "is not a regular file", str(path))
    held = scores.provenance
    settings = [one.model_dump() for one in held.settings]
    there = {"notes": list(held.notes), "settings": settings, "chance": chance_by_unit(scores)}
    metadata = {
        **{name: getattr(held, name) for name in ("protocol", "library_version", "synthetic")},
        "issues": list(held.issues),
        **{name: value for name, value in there.items() if value},
        **{name: value for name in OF_PROVENANCE if (value := getattr(held, name)) is not None},
        **(held.model_extra or {}).get("metadata", {}),
    }
    write_whole(target, _parts(metadata, scores))


def _parts(metadata: Mapping[str, Any], scores: ScoreTable) -> Iterator[bytes]:
    """Yield the file in parts: the records of runs are text already, and may be most of the memory."""
    yield b'{"metadata":' + to_json(metadata, inf_nan_mode="strings") + b',"conversations":['
    for place, text in enumerate(records_of(scores).texts()):
        # A text has nan as NaN, and a file from elsewhere may have Infinity: JSON has no number for them.
        own = to_json(from_json(text), inf_nan_mode="strings") if "NaN" in text or "Infinity" in text else text.encode()
        yield b"," * (place > 0) + own
    yield b'],"aggregates":' + to_json(aggregates(scores), inf_nan_mode="strings") + b"}"
