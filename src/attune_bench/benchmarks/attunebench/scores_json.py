"""``scores.json``, the benchmark's own file of scores: read and written with its official keys, details and means."""

import os
from collections.abc import Iterator, Mapping, Sequence
from errno import EINVAL
from math import fsum, sqrt
from pathlib import Path
from statistics import fmean
from typing import Any, NotRequired

import numpy as np
import polars as pl
from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config
from pydantic_core import from_json, to_json
from typing_extensions import TypedDict

from attune_bench.benchmarks.attunebench.conversation_score import (
    CELLS,
    IDENTITY,
    IN_COMPOSITE,
    MEANS,
    OUTCOMES,
    POOLED,
    TASKS,
    ConversationScore,
    count_scores,
)
from attune_bench.benchmarks.attunebench.detail import TURN_KEYS, records_of, turn_frame
from attune_bench.benchmarks.attunebench.scoring import METRICS, chance_by_unit, provenance_of, scores_of
from attune_bench.scores.files import Range, check_numbers, check_scores
from attune_bench.scores.provenance import GroupSettings
from attune_bench.scores.table import KEYS, ScoreTable
from attune_bench.stats.options import ScoreSeries, points
from attune_bench.stats.summary import coverage, z_scores
from attune_data import Issue
from attune_data.io.documents import read_input, write_whole
from attune_data.issues import SourceError, shown
from attune_metrics.metric import MetricInputError


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
    series = ScoreSeries(scores)
    covered = coverage(scores)
    means = {name: (points(series, name), series.values(name)[:, 0]) for name in MEANS}
    z = z_scores(series, scores.metrics["composite_z"])
    frame = scores.values
    rows = []
    for place, (model, mode) in enumerate(series.groups):
        scored = series.scored[place]
        people = {label for label, there in zip(series.labels, scored, strict=True) if there and label[0]}
        row: dict[str, Any] = {
            "em_model": model,
            "mode": mode,
            "n_conversations": int(scored.sum()),
            "n_participants": len(people) or None,
        }
        for name, (values, units) in means.items():
            known = units[place][~np.isnan(units[place])].tolist()
            row[name] = values[place]
            row[f"{name}_n"] = len(known)
            if name in IN_COMPOSITE:
                row[f"{name}_se"] = _sd(known) / sqrt(len(known)) if len(known) > 1 else None
        own = frame.filter(pl.col("model") == model, pl.col("condition") == mode)
        for name in POOLED:
            counts = own.select(f"{name}.{cell}" for cell in CELLS).drop_nulls()
            row[name] = None if counts.is_empty() else count_scores(*(int(column.sum()) for column in counts))
        for task in TASKS:
            row[f"coverage_{task}"] = covered[model, mode].get(task)
        calls = own.select(f"calls.{outcome}" for outcome in OUTCOMES).drop_nulls()
        row["calls_n"] = calls.height
        for outcome in OUTCOMES:
            row[f"calls_{outcome}"] = int(calls[f"calls.{outcome}"].sum()) if calls.height else None
        row["composite_z"] = z[place]
        rows.append(row)
    return rows


def _sd(values: Sequence[float]) -> float:
    """Return the standard deviation (n - 1)."""
    mean = fmean(values)
    return sqrt(fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


@with_config(ConfigDict(extra="allow"))
class Metadata(TypedDict):
    """How the scores were made: protocol, library version, whether the data are synthetic, what was not scored.

    ``notes`` are sentences printed below every table, ``settings`` the settings of the runs by model and mode,
    ``chance`` the average score of random answers to each conversation, by conversation and metric; an empty key is
    left out.
    ``codebook``, ``data`` and ``runs`` are hashes of the bundled codebook, of the conversations and of the runs, which
    signatures carry; ``similarity`` is what measured similarity beside token overlap.
    """

    protocol: str
    library_version: NotRequired[str]
    synthetic: NotRequired[bool]
    issues: NotRequired[list[Issue]]
    notes: NotRequired[list[str]]
    settings: NotRequired[list[GroupSettings]]
    chance: NotRequired[dict[str, dict[str, float | None]]]
    similarity: NotRequired[str]
    codebook: NotRequired[str]
    data: NotRequired[str]
    runs: NotRequired[str]


class _File(TypedDict):
    metadata: Metadata
    conversations: list[ConversationScore]
    aggregates: list[dict[str, Any]]


_FILE = TypeAdapter(_File)
_RECORDS = TypeAdapter(tuple[ConversationScore, ...])
_OF_PROVENANCE = ("similarity", "codebook", "data", "runs")


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
        **{name: value for name in _OF_PROVENANCE if (value := getattr(held, name)) is not None},
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


def read_scores_json(path: str | os.PathLike[str]) -> ScoreTable:
    """Read ``scores.json``; the aggregates follow from the records of the runs and are not taken from the file.

    Keys that this version does not know are kept, and written again.

    Raises
    ------
    SourceError
        Where the file is not there or holds no scores.
    """
    try:
        content = _FILE.validate_json(read_input(path))
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error.strerror}") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the file"
        why = f"{first['msg']}, not {shown(first['input'])}"
        raise SourceError(f"{path}: {place}: {why}; is it a file that `attune-bench score` wrote?") from None
    metadata: Mapping[str, Any] = content["metadata"]
    known = {name: metadata[name] for name in ("protocol", "synthetic", *_OF_PROVENANCE) if name in metadata}
    known["library_version"] = metadata.get("library_version", "(version not recorded)")
    if beyond := {name: value for name, value in metadata.items() if name not in Metadata.__annotations__}:
        known["metadata"] = beyond
    try:
        listed = {name: tuple(metadata.get(name, ())) for name in ("issues", "notes", "settings")}
        held = provenance_of(**known, **listed)
        scores = scores_of(content["conversations"], held, metadata.get("chance"))
        check_scores(scores)
        _check_turns(scores)
        return scores
    except MetricInputError as error:
        raise SourceError(f"{path}: {error}") from None


def check_detail(scores: ScoreTable) -> None:
    """Check that scores have the record of each row, as ``scores.json`` has it.

    Raises
    ------
    MetricInputError
        Where a record lacks a key, has a value that it cannot have, or is of another row.
    """
    records = records_of(scores)
    try:
        _RECORDS.validate_python(records)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise MetricInputError(f"detail.{place}: {first['msg']}, not {shown(first['input'])}") from None
    for row, record in zip(scores.values.select(KEYS).iter_rows(), records, strict=True):
        if row != (record["em_model"], record["mode"], record["conversationId"]):
            raise MetricInputError(f"detail of {', '.join(map(repr, row))} is the record of another run")
    _check_turns(scores)


def _check_turns(scores: ScoreTable) -> None:
    turns = turn_frame(scores)
    keys = [*IDENTITY, "turnNumber"]
    for repeated in turns.filter(pl.struct(keys).is_duplicated()).select(keys).head(1).iter_rows():
        raise MetricInputError(f"two turns are {', '.join(map(str, repeated))}; leave one of them out")
    ranges: Iterator[Range] = (
        (key, METRICS[name].low, METRICS[name].high, "score") for name, key in TURN_KEYS.items() if key in turns.columns
    )
    check_numbers(turns, ranges)
