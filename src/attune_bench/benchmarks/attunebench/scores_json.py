"""Writing ``scores.json``, the benchmark's own file of scores: with its official keys, details and means."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from errno import EINVAL
from math import fsum, inf, isnan, sqrt
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

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
from attune_bench.scores.parts import CHANCE, ScoreLists, infinite_value, standard_scores, text_of
from attune_data.io.documents import write_whole

if TYPE_CHECKING:
    import polars as pl

    from attune_bench.scores.table import ScoreTable

OF_PROVENANCE = ("similarity", "codebook", "data", "runs")
"""What the metadata have of the provenance where it is known."""


def aggregates(scores: "ScoreTable | ScoreLists") -> list[dict[str, Any]]:
    """Return one row per model and mode, sorted by model, then mode, as ``scores.json`` has them.

    Parameters
    ----------
    scores : ScoreTable or ScoreLists
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
    values, units = _columns(scores.values), _columns(scores.units)
    clusters = dict(zip(units["unit"], units["cluster"], strict=True))
    places: dict[tuple[str, str | None], list[int]] = {group: [] for group in scores.groups}
    for place, group in enumerate(zip(values["model"], values["condition"], strict=True)):
        places[group].append(place)
    rows = []
    for (model, mode), own in places.items():
        people = set(filter(None, (clusters[values["unit"][place]] for place in own)))
        row: dict[str, Any] = {
            "em_model": model,
            "mode": mode,
            "n_conversations": len(own),
            "n_participants": len(people) or None,
        }
        for name in MEANS:
            column = values[name]
            known = [value for place in own if (value := column[place]) is not None and not isnan(value)]
            if inf in known or -inf in known:
                unit = next(values["unit"][place] for place in own if column[place] in (inf, -inf))
                raise infinite_value(scores.provenance, name, model, mode, unit)
            row[name] = fmean(known) if known else None
            row[f"{name}_n"] = len(known)
            if name in IN_COMPOSITE:
                row[f"{name}_se"] = _sd(known) / sqrt(len(known)) if len(known) > 1 else None
        for name in POOLED:
            _, cells = _sums(values, own, [f"{name}.{cell}" for cell in CELLS])
            row[name] = cells and count_scores(*cells)
        for task in TASKS:
            _, counts = _sums(values, own, [f"coverage.{task}.{part}" for part in ("present", "expected")])
            row[f"coverage_{task}"] = counts[0] / counts[1] if counts and counts[1] else None
        row["calls_n"], calls = _sums(values, own, [f"calls.{outcome}" for outcome in OUTCOMES])
        for place, outcome in enumerate(OUTCOMES):
            row[f"calls_{outcome}"] = calls and calls[place]
        rows.append(row)
    [of] = scores.metrics["composite_z"].terms
    for row, score in zip(rows, standard_scores([row[of] for row in rows]), strict=True):
        row["composite_z"] = score
    return rows


def _columns(frame: "pl.DataFrame | Mapping[str, Sequence[Any]]") -> Mapping[str, Sequence[Any]]:
    return frame if isinstance(frame, Mapping) else frame.to_dict(as_series=False)


def _sums(
    values: Mapping[str, Sequence[Any]], places: Iterable[int], names: Iterable[str]
) -> tuple[int, list[int] | None]:
    """Return how many of some rows have all counts named, and the sum of each over these rows; None without any."""
    columns = [values[name] for name in names]
    rows = [row for place in places if None not in (row := [column[place] for column in columns])]
    return len(rows), [int(sum(counts)) for counts in zip(*rows, strict=True)] if rows else None


def _sd(values: Sequence[float]) -> float:
    """Return the standard deviation (n - 1)."""
    mean = fmean(values)
    return sqrt(fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


def write_scores_json(scores: "ScoreTable | ScoreLists", path: str | os.PathLike[str]) -> None:
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


def _parts(metadata: Mapping[str, Any], scores: "ScoreTable | ScoreLists") -> Iterator[bytes]:
    """Yield the file in parts: the records of runs are text already, and may be most of the memory."""
    yield b'{"metadata":' + to_json(metadata, inf_nan_mode="strings") + b',"conversations":['
    for place, record in enumerate(_records(scores)):
        yield b"," * (place > 0) + record
    yield b'],"aggregates":' + to_json(aggregates(scores), inf_nan_mode="strings") + b"}"


def _records(scores: "ScoreTable | ScoreLists") -> Iterator[bytes]:
    """Yield the record of each run as JSON."""
    if isinstance(scores, ScoreLists):
        # `RunScorer.score` wrote them, with null for nan.
        yield from (text_of(one).encode() for one in scores.detail)
        return
    # Found here, as it imports frames.
    from attune_bench.benchmarks.attunebench.detail import records_of

    for text in records_of(scores).texts():
        # A text has nan as NaN, and a file from elsewhere may have Infinity: JSON has no number for them.
        has_other = "NaN" in text or "Infinity" in text
        yield to_json(from_json(text), inf_nan_mode="strings") if has_other else text.encode()


def chance_by_unit(scores: "ScoreTable | ScoreLists") -> dict[str, dict[str, float | None]]:
    """Return the scores of random answers to each conversation, by its id and metric; empty if they are unknown."""
    columns = _columns(scores.units)
    known = {name.removeprefix(CHANCE): column for name, column in columns.items() if name.startswith(CHANCE)}
    if not known:
        return {}
    rows = zip(*known.values(), strict=True)
    return {unit: dict(zip(known, values, strict=True)) for unit, values in zip(columns["unit"], rows, strict=True)}
