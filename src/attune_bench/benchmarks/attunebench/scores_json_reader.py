"""Reading ``scores.json``, and checking the records of runs that scores have."""

import os
from collections.abc import Iterator, Mapping
from typing import Any, NotRequired

import polars as pl
from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict

from attune_bench.benchmarks.attunebench.conversation_score import IDENTITY, ConversationScore
from attune_bench.benchmarks.attunebench.detail import TURN_KEYS, records_of, turn_frame
from attune_bench.benchmarks.attunebench.scores_json import OF_PROVENANCE
from attune_bench.benchmarks.attunebench.scoring import METRICS, provenance_of, scores_of
from attune_bench.scores.files import Range, check_numbers, check_scores
from attune_bench.scores.parts import KEYS, GroupSettings
from attune_bench.scores.table import ScoreTable
from attune_data import Issue
from attune_data.io.documents import read_input
from attune_data.issues import SourceError, shown
from attune_metrics.metric import MetricInputError


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
    known = {name: metadata[name] for name in ("protocol", "synthetic", *OF_PROVENANCE) if name in metadata}
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
