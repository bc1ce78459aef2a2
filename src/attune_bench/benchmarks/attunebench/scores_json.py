"""``scores.json``, the benchmark's own file of scores: read and written with its official keys."""

import os
from collections.abc import Iterator, Mapping
from errno import EINVAL
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json, to_json
from typing_extensions import TypedDict

from attune_bench.benchmarks.attunebench.aggregates import aggregates
from attune_bench.benchmarks.attunebench.conversation_score import ConversationScore
from attune_bench.benchmarks.attunebench.detail import records_of, turn_frame
from attune_bench.benchmarks.attunebench.records import TURN_KEYS, Metadata
from attune_bench.benchmarks.attunebench.table import METRICS, chance_by_unit, provenance_of, scores_of
from attune_bench.benchmarks.attunebench.terms import IDENTITY
from attune_bench.score_checks import Range, check_numbers, check_scores
from attune_bench.score_table import KEYS
from attune_bench.scores import Scores
from attune_data.io.documents import read_input, write_whole
from attune_data.issues import SourceError, shown
from attune_metrics.metric import MetricInputError

__all__ = ["check_detail", "read_scores_json", "write_scores_json"]


class _File(TypedDict):
    metadata: Metadata
    conversations: list[ConversationScore]
    aggregates: list[dict[str, Any]]


_FILE = TypeAdapter(_File)
_RECORDS = TypeAdapter(tuple[ConversationScore, ...])
_OF_PROVENANCE = ("similarity", "codebook", "data", "runs")


def write_scores_json(scores: Scores, path: str | os.PathLike[str]) -> None:
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
    chance = chance_by_unit(scores)
    metadata = {
        "protocol": held.protocol,
        "library_version": held.library_version,
        "synthetic": held.synthetic,
        "issues": list(held.issues),
        **({"notes": list(held.notes)} if held.notes else {}),
        **({"settings": [one.model_dump() for one in held.settings]} if held.settings else {}),
        **({"chance": chance} if chance else {}),
        **{name: value for name in _OF_PROVENANCE if (value := getattr(held, name)) is not None},
        **(held.model_extra or {}).get("metadata", {}),
    }
    write_whole(target, _parts(metadata, scores))


def _parts(metadata: Mapping[str, Any], scores: Scores) -> Iterator[bytes]:
    """Yield the file in parts: the records of runs are text already, and may be most of the memory."""
    yield b'{"metadata":' + to_json(metadata, inf_nan_mode="strings") + b',"conversations":['
    for place, text in enumerate(records_of(scores).texts()):
        # A text has nan as NaN, and a file from elsewhere may have Infinity: JSON has no number for them.
        own = to_json(from_json(text), inf_nan_mode="strings") if "NaN" in text or "Infinity" in text else text.encode()
        yield b"," * (place > 0) + own
    yield b'],"aggregates":' + to_json(aggregates(scores), inf_nan_mode="strings") + b"}"


def read_scores_json(path: str | os.PathLike[str]) -> Scores:
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


def check_detail(scores: Scores) -> None:
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


def _check_turns(scores: Scores) -> None:
    turns = turn_frame(scores)
    keys = [*IDENTITY, "turnNumber"]
    for repeated in turns.filter(pl.struct(keys).is_duplicated()).select(keys).head(1).iter_rows():
        raise MetricInputError(f"two turns are {', '.join(map(str, repeated))}; leave one of them out")
    ranges: Iterator[Range] = (
        (key, METRICS[name].low, METRICS[name].high, "score") for name, key in TURN_KEYS.items() if key in turns.columns
    )
    check_numbers(turns, ranges)
