"""Subgroups: any metric on a part of the conversations, and what sets the part apart from the rest.

Conventions
-----------
A stratum is the conversations with one value of a trait; a conversation with two values (two diagnoses) is in both
strata, so that strata can overlap. The complement of a stratum is all other scored conversations of the data, but for
those whose value is not known: they are in no complement.

Stratum and complement hold different conversations, often by the same participants, so nothing is paired: participants
are drawn with their conversations in both. The p-value belongs to the expanded percentile interval of that difference:
``1 - p`` is the level at which the interval ends at 0. Corrected p-values are Holm's, over the strata of the trait, for
each metric, model and mode apart.
"""

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isnan, nan, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Unpack

from attune_bench.benchmarks.attunebench.records import null
from attune_bench.stats.comparison import ALPHA, FEWEST, ends
from attune_bench.stats.series import Draws, Options, ScoreSeries, Settings, statistic_of
from attune_data.attunebench.diagnoses import UNKNOWN
from attune_data.matching import NO_ANSWER
from attune_data.text import plural
from attune_metrics.errors import MetricInputError
from attune_metrics.stats.arrays import Floats
from attune_metrics.stats.multiplicity import holm
from attune_metrics.stats.resampling import Interval, bootstrap, bootstrap_distribution, symmetric_levels
from attune_metrics.stats.sums import Statistic

if TYPE_CHECKING:
    import polars as pl

    from attune_bench.scores import Scores
    from attune_data.query import Queryable

__all__ = ["FEW", "by", "conversation_ids", "overlap", "subgroups"]

FEW = 20
_NORMAL = NormalDist()


def by(
    scores: "Scores", trait: str, *, data: "Queryable", compare: bool = False, **options: Unpack[Options]
) -> "pl.DataFrame":
    """Return every aggregate per stratum of a trait of the conversations.

    Parameters
    ----------
    scores : Scores
        What `attune_bench.score` or `Scores.read` gives.
    trait : str
        A column of the ``conversations`` table, or ``diagnosis_group``.
    data : Collection or Tables
        The conversations; ``where(...)`` before to stay within a part of them.
    compare : bool
        Whether to set each stratum against its complement.
    **options
        ``metrics``, ``resamples``, ``seed``, ``level``, ``unit``, ``interval``; see
        `attune_bench.stats.series.Settings`.

    Returns
    -------
    polars.DataFrame
        ``stratum, n, participants, metric, model, mode, value, low, high, mark, reason``. ``mark`` is ``few`` below 20
        participants, ``too few`` below 5, where there is no interval. With `compare` also ``difference,
        difference_low, difference_high, p, p_holm``, of the stratum minus its complement.

    Raises
    ------
    ValueError
        Where there is no such trait.
    MetricInputError
        Where an option is unknown or out of range, records contradict each other, or no conversation of the data was
        scored.

    Examples
    --------
    >>> from attune_data import load
    >>> from attune_bench import score
    >>> from attune_bench.benchmarks.attunebench.baselines import prior
    >>> conversations = load("demo")
    >>> scores = score(conversations, prior(conversations))
    >>> found = by(scores, "diagnosis_group", data=conversations, metrics=["avg_emotion_va_score"])
    >>> found.select("stratum", "n", "participants", "mark").rows()[0]
    ('AnxDep', 10, 6, 'few')
    """
    strata = {name: conversation_ids(part) for name, part in data.stratify(trait).items()}
    unknown = {unit for name in (NO_ANSWER, UNKNOWN) for unit in strata.get(name, ())}
    known = [unit for unit in conversation_ids(data) if unit not in unknown]
    return subgroups(scores, strata, known=known, compare=compare, **options)


def conversation_ids(data: "Queryable") -> list[str]:
    """Return the ids of the conversations of a collection or its tables."""
    return data._traits()["conversation_id"].to_list()


def overlap(strata: Mapping[str, Iterable[str]]) -> int:
    """Return how many conversations are in more than one stratum.

    Examples
    --------
    >>> overlap({"ADHD": ["c1", "c2"], "ASD": ["c2", "c3"]})
    1
    """
    counts = Counter(unit for units in strata.values() for unit in set(units))
    return sum(count > 1 for count in counts.values())


def subgroups(
    scores: "Scores",
    strata: Mapping[str, Iterable[str]],
    *,
    known: Iterable[str],
    compare: bool = False,
    **options: Unpack[Options],
) -> "pl.DataFrame":
    """Return every aggregate on each of several sets of conversations; `by` takes them from a trait.

    Parameters
    ----------
    scores : Scores
        What `attune_bench.score` or `Scores.read` gives.
    strata : mapping of str to iterable of str
        Name to conversation ids; they may overlap.
    known : iterable of str
        The conversations among which complements are taken.
    compare, **options
        As for `by`.

    Returns
    -------
    polars.DataFrame
        As from `by`.

    Raises
    ------
    MetricInputError
        As `by`, and where no conversation of the strata or of `known` was scored.

    Warns
    -----
    UserWarning
        Where in a family, with so few resamples or participants, no corrected p-value can be below 0.05.

    Examples
    --------
    >>> from attune_data import load, load_runs
    >>> from attune_bench import score
    >>> scores = score(load("demo"), load_runs("demo"))
    >>> ids = [record["conversationId"] for record in scores.records]
    >>> found = subgroups(scores, {"half": ids[:40]}, known=ids, metrics=["composite_score"], resamples=200)
    >>> found.select("stratum", "model", "n").row(0)
    ('half', 'synthetic/attentive', 40)
    """
    settings = Settings(**options)
    series = ScoreSeries(scores)
    among = _mask(series, known)
    masks = {name: _mask(series, units) for name, units in strata.items()}
    if not any(mask.any() for mask in (among, *masks.values())):
        raise MetricInputError(
            f"none of the {len(series.units)} conversations scored is in the data; do both belong to one data set?"
        )
    draws = Draws(series.clusters(settings.unit), settings)
    rows: list[tuple[Any, ...]] = []
    families: dict[str, list[_Difference]] = {}
    for metric in settings.names:
        values, statistic = series.values(metric), statistic_of(metric)
        cells = [_values(series, values, series.scored & mask, draws, settings, statistic) for mask in masks.values()]
        gaps = [
            _differences(series, values, series.scored & (among | mask), mask, draws, settings, statistic)
            for mask in masks.values()
            if compare
        ]
        for group, identity in enumerate(series.groups):
            family = [of_stratum[group] for of_stratum in gaps]
            corrected = holm([gap.p for gap in family]).tolist()
            families[f"the strata of {metric}, model {identity[0]!r}, mode {identity[1]!r}"] = family
            for i, name in enumerate(masks):
                n, participants, *found, reason = cells[i][group]
                row = (name, n, participants, metric, *identity, *found)
                if compare:
                    gap = family[i]
                    why = reason or (gap.reason and f"no difference: {gap.reason}")
                    rows.append((*row, why, gap.difference, gap.low, gap.high, null(gap.p), null(corrected[i])))
                else:
                    rows.append((*row, reason))
    _warn(families, settings)
    import polars as pl

    schema: dict[str, Any] = {
        "stratum": pl.String,
        **dict.fromkeys(("n", "participants"), pl.Int64),
        **dict.fromkeys(("metric", "model", "mode"), pl.String),
        **dict.fromkeys(("value", "low", "high"), pl.Float64),
        **dict.fromkeys(("mark", "reason"), pl.String),
    }
    if compare:
        schema |= dict.fromkeys(("difference", "difference_low", "difference_high", "p", "p_holm"), pl.Float64)
    return pl.DataFrame(rows, schema=schema, orient="row")


def _mask(series: ScoreSeries, units: Iterable[str]) -> NDArray[np.bool_]:
    wanted = set(units)
    return np.array([unit in wanted for unit in series.units], dtype=np.bool_)


def _values(
    series: ScoreSeries,
    values: Floats,
    there: NDArray[np.bool_],
    draws: Draws,
    settings: Settings,
    statistic: Statistic,
) -> list[tuple[Any, ...]]:
    """Return n, participants, value, low, high, mark and reason of each group on its units `there` (groups, units)."""
    cells: dict[int, tuple[Any, ...]] = {}
    for mask, groups in series.alike(there):
        found = bootstrap(
            values[groups][:, :, mask],
            draws.of(mask),
            statistic=statistic,
            method=settings.method,
            level=settings.level,
        )
        for group, interval in zip(groups.tolist(), found, strict=True):
            participants = series.count(mask & ~np.isnan(values[group, 0]))
            low, high, reason = ends(interval, participants)
            mark = "too few" if participants < FEWEST else "few" if participants < FEW else ""
            cells[group] = (interval.n, participants, null(interval.estimate), low, high, mark, reason)
    return [cells[group] for group in range(len(series.groups))]


@dataclass(frozen=True, slots=True)
class _Difference:
    difference: float | None
    low: float | None
    high: float | None
    p: float
    reason: str | None
    least: float = nan  # the p of a difference that no resample turns
    clusters: int = 0  # of the smaller side


def _differences(
    series: ScoreSeries,
    values: Floats,
    there: NDArray[np.bool_],
    stratum: NDArray[np.bool_],
    draws: Draws,
    settings: Settings,
    statistic: Statistic,
) -> list[_Difference]:
    """Return each group's difference between its units `there` (groups, units) inside and outside a stratum."""
    terms = values.shape[1] + 1
    # A side's values and its number of units; a unit adds nothing to the other side.
    one = np.ones_like(values[:, :1])
    inside = np.concatenate([np.where(stratum, values, 0), np.where(stratum, one, 0)], axis=1)
    outside = np.concatenate([np.where(stratum, 0, values), np.where(stratum, 0, one)], axis=1)
    sides = np.concatenate([inside, outside], axis=1)

    def difference(sums: Floats, _: Floats) -> Floats:
        mine, others = sums[..., :terms], sums[..., terms:]
        return statistic(mine[..., :-1], mine[..., -1]) - statistic(others[..., :-1], others[..., -1])

    found: dict[int, _Difference] = {}
    for mask, groups in series.alike(there):
        part, resamples = sides[groups][:, :, mask], draws.of(mask)
        intervals = bootstrap(part, resamples, statistic=difference, method=settings.method, level=settings.level)
        distributions = bootstrap_distribution(part, resamples, statistic=difference)
        for group, interval, distribution in zip(groups.tolist(), intervals, distributions, strict=True):
            present = ~np.isnan(values[group, 0]) & mask
            sizes = [series.count(present & side) for side in (stratum, ~stratum)]
            clusters = [len(np.unique(resamples.clusters[(present & side)[mask]])) for side in (stratum, ~stratum)]
            found[group] = _difference(interval, distribution, min(sizes), min(clusters), settings)
    return [found[group] for group in range(len(series.groups))]


def _difference(
    interval: Interval, distribution: Floats, participants: int, clusters: int, settings: Settings
) -> _Difference:
    """Return a difference with its ends and p-value; `participants` and `clusters` are those of the smaller side."""
    estimate = null(interval.estimate)
    if participants < FEWEST:
        side = "no conversation on one side" if not participants else f"fewer than {FEWEST} participants on one side"
        return _Difference(estimate, None, None, nan, side)
    if interval.reason:
        return _Difference(estimate, None, None, nan, interval.reason)
    known = distribution[~np.isnan(distribution)]
    low, high = interval.low, interval.high
    if settings.interval == "percentile-expanded":
        low, high = np.quantile(known, symmetric_levels(settings.level, clusters)).tolist()
    beyond = min(int((known <= 0).sum()), int((known >= 0).sum()))
    p, least = (_p_value((1 + count) / (1 + len(known)), clusters) for count in (beyond, 0))
    return _Difference(estimate, low, high, p, None, least, clusters)


def _widening(clusters: int) -> float:
    """Return the expansion for `clusters`: the few of the smaller side limit how well the spread is known."""
    return sqrt(clusters / (clusters - 1))


def _p_value(share: float, clusters: int) -> float:
    """Return the p-value where a share of the resamples is on the other side of 0."""
    from scipy.special import stdtr

    return 2 * float(stdtr(clusters - 1, _NORMAL.inv_cdf(min(share, 0.5)) / _widening(clusters)))


def _warn(families: Mapping[str, list[_Difference]], settings: Settings) -> None:
    """Warn of the family whose corrected p-values can be smallest the least, where that is not below 0.05."""
    worst: tuple[float, int, int, str] | None = None
    for name, family in families.items():
        tested = [gap for gap in family if not isnan(gap.p)]
        if tested:
            least = len(tested) * min(gap.least for gap in tested)
            candidate = least, len(tested), max(gap.clusters for gap in tested), name
            worst = candidate if worst is None or least > worst[0] else worst
    if worst is None or worst[0] < ALPHA:
        return
    from scipy.special import stdtrit

    least, size, clusters, name = worst
    share = _NORMAL.cdf(_widening(clusters) * float(stdtrit(clusters - 1, ALPHA / size / 2)))
    advice = f"use at least {int(1 / share)}" if share > 1e-6 else "the strata are too small, or too many"
    warnings.warn(
        f"{settings.resamples} resamples are too few for {plural(size, 'test')} ({name}) with at most {clusters} "
        f"{settings.unit}s on the smaller side: no Holm-corrected p can be below {min(least, 1):.2g}; {advice}",
        stacklevel=4,
    )
