"""Series: scores as arrays of models by conversations, which is what every statistic is computed from.

Conventions
-----------
The unit is the conversation; units are in the order of their ids, series in the order of model, then mode, so that the
order of the records never shows in a result. A unit without a value is nan. A conversation that names no participant
stands for a participant of its own.

A metric is the name of an aggregate, such as ``composite_score``, or a score from pooled counts, such as
``pooled_binary_om_metrics.mcc``; `METRICS` lists them. Its values are terms, whose sums over units `statistic_of` turns
into the aggregate: one term for a mean; TP, TN, FP and FN for a score from pooled counts.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from typing_extensions import TypedDict

from attune_bench.benchmarks.attunebench.aggregates import MEANS, POOLED, values_of
from attune_bench.benchmarks.attunebench.records import CELLS, COUNTS
from attune_data.matching import text_key
from attune_data.text import meant
from attune_metrics.checks import check_level, check_whole
from attune_metrics.errors import MetricInputError
from attune_metrics.stats.arrays import Floats
from attune_metrics.stats.resampling import Resamples, draw_resamples
from attune_metrics.stats.statistics import mean_of_sums
from attune_metrics.stats.sums import Statistic

if TYPE_CHECKING:
    from attune_bench.scores import Scores
    from attune_metrics.stats.resampling import Method

__all__ = [
    "METRICS",
    "Draws",
    "Options",
    "Sampling",
    "ScoreSeries",
    "Settings",
    "by_mode",
    "check_metric",
    "statistic_of",
]

Unit = Literal["participant", "conversation"]
IntervalName = Literal["percentile-expanded", "percentile", "bca"]

_PRIMARY = "default"
METRICS = (*MEANS, *(f"{pooled}.{score}" for pooled in POOLED for score in COUNTS if score not in CELLS))


def check_metric(metric: str) -> str:
    """Return the name of a metric; raise `MetricInputError` with the nearest name where there is no such metric."""
    if metric in METRICS:
        return metric
    raise MetricInputError(f"no metric {metric!r}; {meant(metric, METRICS)}")


class Sampling(TypedDict, total=False):
    """The keywords of an analysis whose metrics are given; `Settings` says what they are."""

    resamples: int
    seed: int
    level: float
    unit: Unit
    interval: IntervalName


class Options(Sampling, total=False):
    """The keywords that every other analysis of scores takes."""

    metrics: Sequence[str] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How an analysis of scores is done.

    Attributes
    ----------
    metrics : sequence of str, optional
        Names in `METRICS`; all of them where None.
    resamples : int
        How many resamples are drawn, and random exchanges made.
    seed : int
        The same seed gives the same result to the last digit.
    level : float
        Confidence level of the intervals, between 0 and 1.
    unit : {"participant", "conversation"}
        What is drawn: participants with all their conversations, or each conversation as if by a participant of its
        own.
    interval : {"percentile-expanded", "percentile", "bca"}
        Which interval; `attune_metrics.stats.resampling.bootstrap` defines them.

    Raises
    ------
    MetricInputError
        Where one of them is unknown or out of range.

    Examples
    --------
    >>> Settings(metrics=["composite_score"], unit="conversation", interval="percentile").resamples
    10000
    """

    metrics: Sequence[str] | None = None
    resamples: int = 10_000
    seed: int = 0
    level: float = 0.95
    unit: Unit = "participant"
    interval: IntervalName = "percentile-expanded"

    def __new__(cls, **options: object) -> "Settings":
        """Refuse an unknown option by its name."""
        known = [field.name for field in fields(cls)]
        for name in options:
            if name not in known:
                raise MetricInputError(f"no option {name!r}; {meant(name, known)}")
        return object.__new__(cls)

    def __post_init__(self) -> None:
        if isinstance(self.metrics, str):
            raise MetricInputError(f"metrics is the text {self.metrics!r:.60}; expected a list of names")
        if self.metrics is not None and not len(self.metrics):
            raise MetricInputError("metrics is empty; name some, or leave it out")
        for metric in self.metrics or ():
            check_metric(metric)
        for name, value, known in (("unit", self.unit, Unit), ("interval", self.interval, IntervalName)):
            if value not in get_args(known):
                raise MetricInputError(f"unknown {name} {value!r}; expected {', '.join(get_args(known))}")
        check_whole(self.resamples, "resamples", 1)
        check_whole(self.seed, "seed", 0)
        check_level(self.level)

    @property
    def names(self) -> tuple[str, ...]:
        """The metrics asked for, each once."""
        return METRICS if self.metrics is None else tuple(dict.fromkeys(self.metrics))

    @property
    def method(self) -> "Method":
        """The interval, by the name it has in `attune_metrics`."""
        return "expanded" if self.interval == "percentile-expanded" else self.interval


class ScoreSeries:
    """Scores of every model and mode on the same conversations.

    Parameters
    ----------
    scores : Scores
        What `attune_bench.score` or `Scores.read` gives.

    Attributes
    ----------
    groups : tuple of (str, str)
        Model and mode of each series, sorted.
    units : tuple of str
        Ids of the conversations, sorted.
    participants : tuple of (str, str)
        The participant of each unit; two units share one only if the same participant held both.
    records : list of list
        The record of each group and unit, None where there is no run.
    scored : array of bool, shape (groups, units)
        Whether there is a run.

    Raises
    ------
    MetricInputError
        Where records contradict each other: two of one conversation, model and mode, or of one conversation by two
        participants.

    Examples
    --------
    >>> from attune_data import load
    >>> from attune_bench import score
    >>> from attune_bench.benchmarks.attunebench.baselines import prior
    >>> conversations = load("demo")
    >>> series = ScoreSeries(score(conversations, prior(conversations)))
    >>> series.groups, series.values("composite_score").shape
    ((('baseline/prior', 'default'),), (1, 1, 40))
    """

    def __init__(self, scores: "Scores") -> None:
        people: dict[str, str | None] = {}
        found: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
        for record in scores.records:
            unit, person = record["conversationId"], text_key(record.get("participant_id"))
            known = people.setdefault(unit, person)
            if known and person and known != person:
                raise MetricInputError(
                    f"conversation {unit!r} is by participant {known!r} in one record and by {person!r} in another; "
                    "are these scores of two data sets?"
                )
            people[unit] = known or person
            group = found.setdefault((record["em_model"], record["mode"]), {})
            if unit in group:
                model, mode = record["em_model"], record["mode"]
                raise MetricInputError(
                    f"two records of conversation {unit!r}, model {model!r}, mode {mode!r}; leave one of them out"
                )
            group[unit] = record
        self.groups = tuple(sorted(found))
        self.units = tuple(sorted(people))
        # As in `attune_data`'s samples: whose participant is unknown is somebody else than everybody else.
        self.participants = tuple((person, "") if (person := people[unit]) else ("", unit) for unit in self.units)
        self.records = [[found[group].get(unit) for unit in self.units] for group in self.groups]
        shape = len(self.groups), len(self.units)
        present = [[record is not None for record in records] for records in self.records]
        self.scored: NDArray[np.bool_] = np.array(present, dtype=np.bool_).reshape(shape)

    @cached_property
    def _values(self) -> list[list[Mapping[str, Any] | None]]:
        return [[record and values_of(record) for record in records] for records in self.records]

    def values(self, metric: str) -> Floats:
        """Return the terms of a metric, shape (groups, terms, units).

        Parameters
        ----------
        metric : str
            A name in `METRICS`.

        Raises
        ------
        MetricInputError
            Where there is no metric of this name, or a value is infinite.
        """
        key, _, score = check_metric(metric).partition(".")
        terms = np.full((len(self.groups), len(CELLS) if score else 1, len(self.units)), np.nan)
        for group, records in enumerate(self._values):
            for unit, record in enumerate(records):
                if record is not None and (value := record.get(key)) is not None:
                    terms[group, :, unit] = [value[cell] for cell in CELLS] if score else value
        for group, _, unit in np.argwhere(np.isinf(terms))[:1]:
            model, mode = self.groups[group]
            raise MetricInputError(
                f"{key} of model {model!r}, mode {mode!r} on conversation {self.units[unit]!r} is infinite; "
                "expected a finite number, or null where it is undefined"
            )
        return terms

    def clusters(self, unit: Unit) -> tuple[tuple[str, str], ...]:
        """Return the label of what each unit is drawn with: its participant, or itself."""
        return self.participants if unit == "participant" else tuple(("", name) for name in self.units)

    def count(self, present: NDArray[np.bool_]) -> int:
        """Return the number of participants of the units that are present (units,)."""
        return len({self.participants[unit] for unit in np.flatnonzero(present).tolist()})

    def alike(self, rows: NDArray[np.bool_]) -> list[tuple[NDArray[np.bool_], NDArray[np.intp]]]:
        """Return the distinct rows of a mask (rows, units), each with the positions where it stands.

        Series that hold the same units share their resamples.
        """
        masks, position = np.unique(rows, axis=0, return_inverse=True)
        return [(mask, np.flatnonzero(position.ravel() == i)) for i, mask in enumerate(masks)]


def by_mode(series: ScoreSeries) -> dict[str, list[int]]:
    """Return the groups of each mode, the primary mode first."""
    modes = sorted({mode for _, mode in series.groups}, key=lambda mode: (mode != _PRIMARY, mode))
    return {mode: [place for place, group in enumerate(series.groups) if group[1] == mode] for mode in modes}


class Draws:
    """Resamples of parts of the units, each drawn once.

    Parameters
    ----------
    labels : sequence
        The cluster of each unit.
    settings : Settings
        Gives the number of resamples and the seed.
    """

    def __init__(self, labels: Sequence[tuple[str, str]], settings: Settings) -> None:
        self._labels = labels
        self._settings = settings
        self._drawn: dict[bytes, Resamples] = {}

    def labels(self, mask: NDArray[np.bool_]) -> list[tuple[str, str]]:
        """Return the clusters of the units of a mask."""
        return [self._labels[unit] for unit in np.flatnonzero(mask).tolist()]

    def of(self, mask: NDArray[np.bool_]) -> Resamples:
        """Return the resamples of the units of a mask (units,)."""
        key = mask.tobytes()
        if key not in self._drawn:
            self._drawn[key] = draw_resamples(
                self.labels(mask), n_resamples=self._settings.resamples, seed=self._settings.seed
            )
        return self._drawn[key]


def statistic_of(metric: str) -> Statistic:
    """Return the function from weighted sums of a metric's terms, and numbers of units, to its aggregate.

    Examples
    --------
    Of 4 conversations, TP 3, TN 2, FP 1 and FN 2 in sum:

    >>> import numpy as np
    >>> statistic_of("pooled_binary_om_metrics.accuracy")(np.array([3.0, 2, 1, 2]), np.array(4.0))
    array(0.625)
    """
    _, _, score = check_metric(metric).partition(".")
    return _POOLED_SCORES[score] if score else mean_of_sums


class _Counts(NamedTuple):
    tp: Floats
    tn: Floats
    fp: Floats
    fn: Floats


def _of_counts(formula: Callable[[_Counts], tuple[Floats, Floats]]) -> Statistic:
    """Return the statistic of a ratio of counts: 0 where its denominator is, as `BinaryCounts` defines it."""

    def statistic(sums: Floats, n: Floats) -> Floats:
        numerator, denominator = formula(_Counts(*np.moveaxis(sums, -1, 0)))
        ratio = np.divide(numerator, denominator, out=np.zeros_like(n), where=denominator > 0)
        return np.where(n > 0, ratio, np.nan)

    return statistic


_POOLED_SCORES: Mapping[str, Statistic] = {
    "accuracy": _of_counts(lambda c: (c.tp + c.tn, c.tp + c.tn + c.fp + c.fn)),
    "precision": _of_counts(lambda c: (c.tp, c.tp + c.fp)),
    "recall": _of_counts(lambda c: (c.tp, c.tp + c.fn)),
    "f1": _of_counts(lambda c: (2 * c.tp, 2 * c.tp + c.fp + c.fn)),
    "mcc": _of_counts(
        lambda c: (c.tp * c.tn - c.fp * c.fn, np.sqrt((c.tp + c.fp) * (c.tp + c.fn) * (c.tn + c.fp) * (c.tn + c.fn)))
    ),
}
