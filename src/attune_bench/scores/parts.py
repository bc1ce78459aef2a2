"""The parts of scores that need no frame: where scores come from, their models and conditions, values as lists.

Importing polars takes longer than making and writing a small file of scores.
"""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import fsum, sqrt
from statistics import fmean
from typing import Any, ClassVar, Self, TypeAlias

from pydantic import BaseModel, ConfigDict

from attune_bench._version import __version__
from attune_data.issues import Issue
from attune_data.record import content_hash
from attune_metrics.metric import Metric, MetricInputError

KEYS = ("model", "condition", "unit")
"""The columns that name a row of `ScoreTable.values`."""

REPEAT = "repeat"
"""The column of `ScoreTable.repeats` that names the repeat."""

UNIT_KEYS = ("unit", "cluster")
"""The columns of `ScoreTable.units` that name a unit and its cluster."""

CHANCE = "chance."
"""How columns of `ScoreTable.units` begin that have what random answers score on average, by metric."""


ScoredRow: TypeAlias = tuple[Mapping[str, Sequence[Any]], int]
"""Where a result is scored: columns of scored results, see `attune_bench.scores.benchmark.Streaming`, and its row."""


class GroupSettings(BaseModel):
    """The settings of the runs of one model under one condition, as their files record them.

    Attributes
    ----------
    model : str
        The model.
    condition : str, optional
        The condition.
    settings : dict of str to tuple
        By the name of a setting, the values found, sorted; None where a file does not record it. A setting that does
        not apply to any of the files is left out.

    Examples
    --------
    >>> GroupSettings(model="vendor/model", settings={"temperature": (0.0,)}).settings["temperature"]
    (0.0,)
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, allow_inf_nan=False)

    model: str
    condition: str | None = None
    settings: dict[str, tuple[str | int | float | None, ...]] = {}

    def __hash__(self) -> int:
        return content_hash(self)


class Provenance(BaseModel):
    """Where scores come from, and what their parts are called.

    Attributes
    ----------
    benchmark : str, optional
        Name in the registry of benchmarks; None for a table of the user's own.
    title : str
        What pages call the benchmark.
    protocol : str, optional
        The scoring protocol, where there are several.
    similarity : str, optional
        What measured the similarity of texts beside the benchmark's own measure.
    library_version : str
        The version that scored.
    synthetic : bool
        Whether any unit or result scored is invented, which every table says.
    private : bool
        Whether clusters are people, of whom a page shows no value that rests on few.
    codebook, data, runs : str, optional
        Hashes of the codebook, of the units scored and of what was scored.
    unit, cluster, condition : str
        What a unit, a cluster and a condition are called, in the singular.
    primary : str
        The metric that is compared where no other is asked for.
    headline : tuple of str
        The metrics of the board.
    reference : str, optional
        The condition that others are set against.
    expected : int, optional
        How many units a model should have been run on, where that is known.
    variant : dict of str to str
        What was chosen of the choices that the terms depend on.
    notes : tuple of str
        Sentences that stand under every table.
    issues : tuple of Issue
        What was not scored, and why.
    settings : tuple of GroupSettings
        The settings of the runs, by model and condition; a model that is left out has none recorded.
    comparability_keys : dict of str to str
        The settings that change an answer, by name, and what messages call them. Models that differ in one are not
        compared; see `attune_bench.stats.comparability`.
    mixed : bool
        Whether such models may be compared all the same, which every output says.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="allow")

    benchmark: str | None = None
    title: str = "Scores"
    protocol: str | None = None
    similarity: str | None = None
    library_version: str = __version__
    synthetic: bool = False
    private: bool = False
    codebook: str | None = None
    data: str | None = None
    runs: str | None = None
    unit: str = "unit"
    cluster: str = "cluster"
    condition: str = "condition"
    primary: str = ""
    headline: tuple[str, ...] = ()
    reference: str | None = None
    expected: int | None = None
    variant: dict[str, str] = {}
    notes: tuple[str, ...] = ()
    issues: tuple[Issue, ...] = ()
    settings: tuple[GroupSettings, ...] = ()
    comparability_keys: dict[str, str] = {}
    mixed: bool = False

    def __hash__(self) -> int:
        return content_hash(self)


class Grouped:
    """What scores tell of their models and conditions, as lists and as frames."""

    values: Any
    provenance: Provenance

    @cached_property
    def groups(self) -> tuple[tuple[str, str | None], ...]:
        """Every model and condition, sorted by model, then by condition."""
        found = set(zip(self.values["model"], self.values["condition"], strict=True))
        return tuple(sorted(found, key=lambda one: (one[0], one[1] is not None, one[1] or "")))

    @cached_property
    def conditions(self) -> tuple[str | None, ...]:
        """Every condition, the reference first, the others sorted."""
        found = {condition for _, condition in self.groups}
        return tuple(sorted(found, key=lambda one: (one != self.provenance.reference, one is not None, one or "")))

    @property
    def models(self) -> tuple[str, ...]:
        """Every model, sorted."""
        return tuple(dict.fromkeys(model for model, _ in self.groups))

    def note(self, *sentences: str) -> Self:
        """Return the scores with more sentences under every table."""
        notes = (*self.provenance.notes, *sentences)
        provenance = self.provenance.model_copy(update={"notes": notes})
        return replace(self, provenance=provenance)  # type: ignore[type-var]  # Both kinds of scores are dataclasses.


@dataclass(frozen=True, eq=False)
class ScoreLists(Grouped):
    """Scores of results before they are a `ScoreTable`; `attune_bench.scores.table.table_of` makes it.

    Attributes
    ----------
    values : mapping of str to sequence
        The columns of `ScoreTable.values`, and as ``repeat`` the name of the repeat. A repeat has a row of its own.
    units : mapping of str to sequence
        The columns of `ScoreTable.units`.
    metrics : mapping of str to Metric
        The catalogue entries of the metrics, by name, in the order of reports.
    provenance : Provenance
        Where the scores come from.
    detail : sequence of str or bytes
        What the benchmark keeps of each row of `values` beyond this: a JSON object, as `text_of` takes it.
    """

    values: Mapping[str, Sequence[Any]]
    units: Mapping[str, Sequence[Any]]
    metrics: Mapping[str, Metric]
    provenance: Provenance
    detail: Sequence[str | bytes]

    @cached_property
    def repeats(self) -> Mapping[str, Sequence[Any]] | None:
        """The values of each repeat, where a model was asked several times."""
        asked = set(zip(*(self.values[name] for name in KEYS), strict=True))
        return self.values if len(asked) < len(self.detail) else None


def text_of(stored: str | bytes) -> str:
    """Return the text of a JSON object that is stored as text, or compressed by zlib.

    Examples
    --------
    >>> text_of('{"a":1}'), text_of(zlib.compress(b'{"a":1}'))
    ('{"a":1}', '{"a":1}')
    """
    return stored if isinstance(stored, str) else zlib.decompress(stored).decode()


def standard_scores(values: Sequence[float | None]) -> list[float | None]:
    """Return how many standard deviations (n - 1) each value is from the mean; 0 without any spread.

    Examples
    --------
    >>> standard_scores([1.0, None, 2.0, 3.0]), standard_scores([5.0])
    ([-1.0, None, 0.0, 1.0], [0.0])
    """
    known = [value for value in values if value is not None]
    # Equal values have a mean that may differ from them in the last digit, and so a spread that is not 0.
    if len(set(known)) < 2:
        return [None if value is None else 0.0 for value in values]
    mean = fmean(known)
    spread = sqrt(fsum((value - mean) ** 2 for value in known) / (len(known) - 1))
    return [None if value is None else (value - mean) / spread for value in values]


def infinite_value(
    provenance: Provenance, metric: str, model: str, condition: str | None, unit: str
) -> MetricInputError:
    """Return the error that a metric has an infinite value."""
    under = "" if condition is None else f", {provenance.condition} {condition!r}"
    return MetricInputError(
        f"{metric} of model {model!r}{under} on {provenance.unit} {unit!r} is infinite; "
        "expected a finite number, or null where it is undefined"
    )
