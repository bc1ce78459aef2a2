"""Scores: what `score` returns and `scores.json` holds, as plain rows and as polars frames."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from errno import EINVAL
from functools import cached_property
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json
from typing_extensions import TypedDict, Unpack

from attune_bench._version import __version__
from attune_bench.benchmarks.attunebench.aggregates import aggregate
from attune_bench.benchmarks.attunebench.records import (
    COUNTS,
    IDENTITY,
    ConversationScore,
    Metadata,
    PostScore,
    TurnScore,
    frame,
)
from attune_data import Issue, SourceError
from attune_data.io.files import write_whole
from attune_data.issues import issues_frame

if TYPE_CHECKING:
    import polars as pl

    from attune_bench.stats.series import Options
    from attune_data.query import Queryable

__all__ = ["Scores"]


_HINT = "is it a file that `attune-bench score` wrote?"


class _File(TypedDict):
    metadata: Metadata
    conversations: list[ConversationScore]
    aggregates: list[dict[str, Any]]


@dataclass(frozen=True)
class Scores:
    """Scores per turn, per conversation, and per model and mode.

    Attributes
    ----------
    metadata : dict
        ``protocol``, ``library_version``, ``synthetic``, ``issues``, ``codebook``.
    records : list of dict
        One per scored run, with the keys of ``scores.json``.
    aggregates : list of dict
        One per model and mode: each average's mean over conversations under its own name, ``<name>_n`` the number it
        rests on, ``<name>_se``, pooled counts, coverage, pillars, ``composite_z``.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> scores = score(load("demo"), load_runs("demo"))
    >>> scores
    <Scores of 80 runs: 2 models and modes on 40 conversations, protocol documented>
    >>> scores.aggregates[0]["em_model"], scores.aggregates[0]["n_conversations"]
    ('synthetic/attentive', 40)
    """

    metadata: Metadata
    records: Sequence[ConversationScore]
    aggregates: Sequence[Mapping[str, Any]] = field(repr=False)

    @classmethod
    def of(
        cls, records: Sequence[ConversationScore], *, protocol: str, synthetic: bool, issues: Iterable[Issue] = ()
    ) -> "Scores":
        """Aggregate the records of scored runs."""
        from attune_bench.stats.signing import codebook_hash

        metadata: Metadata = {
            "protocol": protocol,
            "library_version": __version__,
            "synthetic": synthetic,
            "issues": list(issues),
            "codebook": codebook_hash(),
        }
        return cls(metadata, records, aggregate(records))

    def __repr__(self) -> str:
        conversations = len({record["conversationId"] for record in self.records})
        return (
            f"<Scores of {len(self.records)} runs: {len(self.aggregates)} models and modes on {conversations} "
            f"conversations, protocol {self.metadata['protocol']}>"
        )

    @property
    def issues(self) -> "pl.DataFrame":
        """The runs that were not scored, one row each, as in a collection's issues."""
        return issues_frame(self.metadata.get("issues", []))

    @cached_property
    def turns(self) -> "pl.DataFrame":
        """One row per turn of a run: identity, ``turnNumber``, every turn metric; counts as ``<task>_metrics_tp``."""
        rows = (
            {**{key: record.get(key) for key in IDENTITY}, **turn}
            for record in self.records
            for turn in record["turn_scores"]
        )
        return frame(rows, (*IDENTITY, *TurnScore.__annotations__))

    @cached_property
    def conversations(self) -> "pl.DataFrame":
        """One row per run: identity, averages, composites, post-conversation metrics, counts and coverage."""
        rows = (
            {**record, "turns": len(record["turn_scores"]), **(record["post_score"] or {})} for record in self.records
        )
        own = (key for key in ConversationScore.__annotations__ if key not in (*IDENTITY, "turn_scores", "post_score"))
        return frame(rows, (*IDENTITY, "turns", *own, *PostScore.__annotations__))

    @cached_property
    def models(self) -> "pl.DataFrame":
        """One row per model and mode, in the order of `aggregates`."""
        return frame(self.aggregates, dict.fromkeys(key for row in self.aggregates for key in row))

    def summary(self, **options: "Unpack[Options]") -> "pl.DataFrame":
        """Return every aggregate with its interval; see `attune_bench.stats.comparison.summary`."""
        from attune_bench.stats.comparison import summary

        return summary(self, **options)

    def compare(self, a: str, b: str, **options: "Unpack[Options]") -> "pl.DataFrame":
        """Compare two models on the conversations of both; see `attune_bench.stats.comparison.compare`."""
        from attune_bench.stats.comparison import compare

        return compare(self, a, b, **options)

    def compare_all(self, **options: "Unpack[Options]") -> "pl.DataFrame":
        """Compare every two models of a mode; see `attune_bench.stats.comparison.compare_all`."""
        from attune_bench.stats.comparison import compare_all

        return compare_all(self, **options)

    def by(
        self, trait: str, *, data: "Queryable", compare: bool = False, **options: "Unpack[Options]"
    ) -> "pl.DataFrame":
        """Return every aggregate per stratum of a trait; see `attune_bench.stats.subgroups.by`."""
        from attune_bench.stats.subgroups import by

        return by(self, trait, data=data, compare=compare, **options)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write ``scores.json``: nan as the text ``"NaN"``, which `read` turns back; never half a file."""
        target = Path(path).resolve()
        if target.exists() and not target.is_file():
            raise OSError(EINVAL, "is a directory" if target.is_dir() else "is not a regular file", str(path))
        content = {"metadata": self.metadata, "conversations": self.records, "aggregates": self.aggregates}
        data = to_json(content, inf_nan_mode="strings")
        write_whole(target, [data])

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Scores":
        """Read a file of scores.

        Raises
        ------
        SourceError
            Where the file is not there or holds no scores.
        """
        try:
            data = Path(path).read_bytes()
        except OSError as error:
            raise SourceError(f"{path}: cannot be read: {error.strerror}") from None
        try:
            content = TypeAdapter(_File).validate_json(data)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(str(part) for part in first["loc"]) or "the file"
            raise SourceError(f"{path}: {place}: {first['msg']}; {_HINT}") from None
        rows = [_aggregate(row, f"{path}: aggregates.{i}") for i, row in enumerate(content["aggregates"])]
        return cls(content["metadata"], content["conversations"], rows)


def _aggregate(row: dict[str, Any], place: str) -> dict[str, Any]:
    """Check one row of a file's aggregates and turn the text for nan back into nan."""
    texts = ("em_model", "mode")
    expected = {**dict.fromkeys(texts, "a text"), "n_conversations": "a whole number"}
    for key, what in expected.items():
        if not isinstance(row.get(key), str if key in texts else int):
            raise SourceError(f"{place}.{key}: {row.get(key)!r:.40} is not {what}; {_HINT}")
    for key, value in row.items():
        if isinstance(value, dict) and not all(isinstance(value.get(cell), int | float) for cell in COUNTS):
            raise SourceError(f"{place}.{key}: lacks one of {', '.join(COUNTS)}; {_HINT}")
        if isinstance(value, str | list) and key not in texts and value != "NaN":
            raise SourceError(f"{place}.{key}: {value!r:.40} is not a number; {_HINT}")
    return {key: nan if value == "NaN" and key not in texts else value for key, value in row.items()}
