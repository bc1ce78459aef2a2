"""Comparison: what a score is worth, and whether two models can be told apart.

Conventions
-----------
Every frame is long, one row a number, in the order of model, mode and metric or of mode, metric and pair. What could
not be computed is null, and ``reason`` says why. With fewer than `FEWEST` participants there is no interval.

Corrected p-values are Holm's, over all pairs of models for one metric in one mode: that is the family. Two models are
*told apart* where the corrected p-value is below 0.05.
"""

import warnings
from collections.abc import Hashable, Iterable, Sequence
from difflib import get_close_matches
from itertools import combinations
from math import nan, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from typing_extensions import Unpack

from attune_bench.benchmarks.attunebench.records import TASKS, null
from attune_bench.stats.series import Draws, Options, ScoreSeries, Settings, by_mode, statistic_of
from attune_metrics.errors import MetricInputError, UndefinedMetricWarning
from attune_metrics.stats.arrays import Floats
from attune_metrics.stats.comparison import paired_bootstrap, paired_permutation_test
from attune_metrics.stats.multiplicity import holm
from attune_metrics.stats.power import MDE_FACTOR, minimum_detectable_effect
from attune_metrics.stats.resampling import Interval, Resamples, bootstrap, bootstrap_distribution
from attune_metrics.stats.statistics import mean_of_sums
from attune_metrics.stats.sums import Statistic

if TYPE_CHECKING:
    import polars as pl

    from attune_bench.scores import Scores

__all__ = [
    "ALPHA",
    "FEWEST",
    "compare",
    "compare_all",
    "detectable_difference",
    "ends",
    "summary",
    "told_apart",
    "warn_family",
]

FEWEST = 5
ALPHA = 0.05


def summary(scores: "Scores", **options: Unpack[Options]) -> "pl.DataFrame":
    """Return every aggregate with its interval.

    Parameters
    ----------
    scores : Scores
        What `attune_bench.score` or `Scores.read` gives.
    **options
        ``metrics``, ``resamples``, ``seed``, ``level``, ``unit``, ``interval``; see
        `attune_bench.stats.series.Settings`.

    Returns
    -------
    polars.DataFrame
        ``model, mode, metric, value, low, high, n, participants, coverage, excluded, reason``. ``n`` counts the
        conversations that have a value, by as many ``participants``; ``excluded`` the others that the model was run
        on. ``coverage`` is the share of questions that have a prediction, null where the metric asks none.

    Raises
    ------
    MetricInputError
        Where an option is unknown or out of range, or records contradict each other.

    Examples
    --------
    >>> from attune_data import load
    >>> from attune_bench import score
    >>> from attune_bench.benchmarks.attunebench.baselines import prior
    >>> conversations = load("demo")
    >>> scores = score(conversations, prior(conversations))
    >>> row = summary(scores, metrics=["avg_pairwise_accuracy"]).row(0, named=True)
    >>> row["low"] < row["value"] < row["high"], row["n"], row["participants"]
    (True, 40, 24)
    """
    settings = Settings(**options)
    series = ScoreSeries(scores)
    draws = Draws(series.clusters(settings.unit), settings)
    coverage = {(row["em_model"], row["mode"]): row for row in scores.aggregates}
    rows: dict[tuple[int, str], tuple[Any, ...]] = {}
    for metric in settings.names:
        values, statistic = series.values(metric), statistic_of(metric)
        for mask, groups in series.alike(series.scored):
            found = bootstrap(
                values[groups][:, :, mask],
                draws.of(mask),
                statistic=statistic,
                method=settings.method,
                level=settings.level,
            )
            for group, interval in zip(groups.tolist(), found, strict=True):
                participants = series.count(~np.isnan(values[group, 0]))
                low, high, reason = ends(interval, participants)
                shares = [coverage[series.groups[group]].get(f"coverage_{task}") for task in _tasks(metric)]
                covered = min((share for share in shares if share is not None), default=None)
                counts = interval.n, participants, covered, int(mask.sum()) - interval.n
                value = null(interval.estimate)
                rows[group, metric] = (*series.groups[group], metric, value, low, high, *counts, reason)
    import polars as pl

    schema = {
        **dict.fromkeys(("model", "mode", "metric"), pl.String),
        **dict.fromkeys(("value", "low", "high"), pl.Float64),
        **dict.fromkeys(("n", "participants"), pl.Int64),
        "coverage": pl.Float64,
        "excluded": pl.Int64,
        "reason": pl.String,
    }
    ordered = [rows[group, metric] for group in range(len(series.groups)) for metric in settings.names]
    return pl.DataFrame(ordered, schema=schema, orient="row")


def _tasks(metric: str) -> list[str]:
    """Return the tasks whose questions a metric is about, by their names in coverage."""
    key = metric.partition(".")[0]
    if key.startswith("hp_perspective"):
        return ["binary_human", "binary_human_hp"]
    hp = key.endswith("_hp")
    return [task for task in TASKS if task.removesuffix("_hp") in key and task.endswith("_hp") == hp]


def ends(interval: Interval, participants: int) -> tuple[float | None, float | None, str | None]:
    """Return the two ends of an interval, or None and the reason why there are none."""
    if interval.n == 0:
        return None, None, "no conversation has a value"
    if interval.low == interval.high == interval.estimate == 0:
        # Of two equal runs, for certain.
        return 0.0, 0.0, None
    if participants < FEWEST:
        return None, None, f"fewer than {FEWEST} participants"
    return null(interval.low), null(interval.high), interval.reason


def compare(scores: "Scores", a: str, b: str, **options: Unpack[Options]) -> "pl.DataFrame":
    """Compare two models on the conversations that both were run on, in each mode that both have.

    Parameters
    ----------
    scores : Scores
        What `attune_bench.score` or `Scores.read` gives.
    a, b : str
        Models; one compared with itself differs by 0 for certain.
    **options
        As for `summary`.

    Returns
    -------
    polars.DataFrame
        ``model_a, model_b, mode, metric, difference, low, high, p, p_holm, n, participants, detectable, reason``.
        ``difference`` is `a` minus `b`; ``p`` is that of `attune_metrics.stats.comparison.paired_permutation_test`.
        ``detectable`` is the smallest true difference that a comparison of this size finds with 80% power at an
        uncorrected 0.05.

    Raises
    ------
    MetricInputError
        As `summary`, and where a model is not there, or both have no mode in common.

    Examples
    --------
    >>> from attune_data import load
    >>> from attune_bench import score
    >>> from attune_bench.benchmarks.attunebench.baselines import chance, prior
    >>> conversations = load("demo")
    >>> scores = score(conversations, [*prior(conversations), *chance(conversations)])
    >>> found = compare(scores, "baseline/prior", "baseline/chance", metrics=["avg_binary_om_accuracy"])
    >>> found["p"].item() < 0.01, found["difference"].item() > found["detectable"].item()
    (True, True)
    """
    settings = Settings(**options)
    series = ScoreSeries(scores)
    modes: dict[str, list[str]] = {model: [] for model, _ in series.groups}
    for model, mode in series.groups:
        modes[model].append(mode)
    for model in (a, b):
        if model not in modes:
            near = get_close_matches(model, modes, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(modes) or 'none'}"
            raise MetricInputError(f"no scores of model {model!r}; {hint}")
    common = [mode for mode in by_mode(series) if mode in modes[a] and mode in modes[b]]
    if not common:
        raise MetricInputError(
            f"{a!r} and {b!r} have no mode in common: {', '.join(modes[a])} and {', '.join(modes[b])}"
        )
    return _compare(series, [(a, b, mode) for mode in common], settings)


def compare_all(scores: "Scores", **options: Unpack[Options]) -> "pl.DataFrame":
    """Compare every two models of a mode.

    Parameters
    ----------
    scores, **options
        As for `summary`.

    Returns
    -------
    polars.DataFrame
        As from `compare`; `told_apart` counts. Each pair once, with ``model_a`` before ``model_b`` in the alphabet.

    Raises
    ------
    MetricInputError
        As `summary`.

    Warns
    -----
    UserWarning
        Where a family is so large that, with so few resamples, no corrected p-value can be below 0.05.

    Examples
    --------
    >>> from attune_data import load, load_runs
    >>> from attune_bench import score
    >>> scores = score(load("demo"), load_runs("demo"))
    >>> found = compare_all(scores, metrics=["composite_score"], resamples=200).row(0, named=True)
    >>> found["model_a"], found["model_b"], round(found["difference"], 2), found["p_holm"] < 0.05
    ('synthetic/attentive', 'synthetic/hasty', 17.17, True)
    """
    settings = Settings(**options)
    series = ScoreSeries(scores)
    pairs = [
        (series.groups[one][0], series.groups[other][0], mode)
        for mode, groups in by_mode(series).items()
        for one, other in combinations(groups, 2)
    ]
    return _compare(series, pairs, settings)


class _Compared(NamedTuple):
    """A row of the frame of comparisons."""

    model_a: str
    model_b: str
    mode: str
    metric: str
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    p_holm: float | None
    n: int
    participants: int
    detectable: float | None
    reason: str | None


def _compare(series: ScoreSeries, pairs: Sequence[tuple[str, str, str]], settings: Settings) -> "pl.DataFrame":
    """Compare pairs (model, model, mode), which are in the order of their modes."""
    draws = Draws(series.clusters(settings.unit), settings)
    first = np.array([series.groups.index((a, mode)) for a, _, mode in pairs], dtype=np.intp)
    second = np.array([series.groups.index((b, mode)) for _, b, mode in pairs], dtype=np.intp)
    alike = series.alike(series.scored[first] & series.scored[second])
    rows: dict[str, dict[str, list[_Compared]]] = {mode: {} for _, _, mode in pairs}
    sampled = set()  # modes in which not all exchanges were evaluated
    for metric in settings.names:
        values, statistic = series.values(metric), statistic_of(metric)
        found: dict[int, _Compared] = {}
        for mask, places in alike:
            one, other = values[first[places]][:, :, mask], values[second[places]][:, :, mask]
            resamples, labels = draws.of(mask), draws.labels(mask)
            intervals = paired_bootstrap(
                one, other, resamples, statistic=statistic, method=settings.method, level=settings.level
            )
            exchanges = paired_permutation_test(
                one, other, labels, statistic=statistic, n_permutations=settings.resamples, seed=settings.seed
            )
            reach = _detectable(one, other, resamples, labels, statistic)
            for place, interval, test, detectable in zip(places.tolist(), intervals, exchanges, reach, strict=True):
                both = ~np.isnan(values[first[place], 0] + values[second[place], 0])
                participants = series.count(both)
                low, high, reason = ends(interval, participants)
                model_a, model_b, mode = pairs[place]
                if test.exchanges and not test.exact:
                    sampled.add(mode)
                found[place] = _Compared(
                    model_a,
                    model_b,
                    mode,
                    metric,
                    difference=null(test.difference),
                    low=low,
                    high=high,
                    p=null(test.p_value),
                    p_holm=None,
                    n=interval.n,
                    participants=participants,
                    detectable=detectable,
                    reason=reason,
                )
        for mode, of_mode in rows.items():
            family = [place for place, pair in enumerate(pairs) if pair[2] == mode]
            corrected = holm([nan if (p := found[place].p) is None else p for place in family])
            of_mode[metric] = [
                found[place]._replace(p_holm=null(p)) for place, p in zip(family, corrected.tolist(), strict=True)
            ]
    for mode in sorted(sampled):
        tests = max(sum(row.p is not None for row in family) for family in rows[mode].values())
        warn_family(tests, settings, f"mode {mode!r}")
    import polars as pl

    schema = {
        **dict.fromkeys(("model_a", "model_b", "mode", "metric"), pl.String),
        **dict.fromkeys(("difference", "low", "high", "p", "p_holm"), pl.Float64),
        **dict.fromkeys(("n", "participants"), pl.Int64),
        "detectable": pl.Float64,
        "reason": pl.String,
    }
    ordered = [row for of_mode in rows.values() for family in of_mode.values() for row in family]
    return pl.DataFrame(ordered, schema=schema, orient="row")


def _detectable(
    one: Floats, other: Floats, resamples: Resamples, labels: Sequence[tuple[str, str]], statistic: Statistic
) -> list[float | None]:
    """Return the minimum detectable difference of each pair of series."""
    if statistic is mean_of_sums:
        return [detectable_difference(a[0], b[0], labels) for a, b in zip(one, other, strict=True)]
    # Scores of pooled counts have no units whose variance could be taken; their standard error is the bootstrap's.
    terms = one.shape[1]
    distribution = bootstrap_distribution(
        np.concatenate([one, other], axis=1),
        resamples,
        statistic=lambda sums, n: statistic(sums[..., :terms], n) - statistic(sums[..., terms:], n),
    )
    reach: list[float | None] = []
    for both, row in zip(~np.isnan(one[:, 0] + other[:, 0]), distribution, strict=True):
        known, clusters = row[~np.isnan(row)], len(np.unique(resamples.clusters[both]))
        # Resamples of few clusters vary too little, by the factor that a variance over n - 1 has.
        error = float(np.std(known)) * sqrt(clusters / (clusters - 1)) if len(known) and clusters > 1 else 0.0
        reach.append(MDE_FACTOR * error if error > 0 else None)
    return reach


def detectable_difference(one: ArrayLike, other: ArrayLike, labels: Iterable[Hashable]) -> float | None:
    """Return the minimum detectable difference of means, or None where it is undefined."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        return null(minimum_detectable_effect(one, other, labels))


def warn_family(size: int, settings: Settings, family: str) -> None:
    """Warn where even the smallest p-value that random exchanges can give is not below 0.05 once corrected."""
    least = size / (settings.resamples + 1)
    if least >= ALPHA:
        warnings.warn(
            f"{settings.resamples} resamples are too few for {size} tests ({family}): no Holm-corrected p can be below "
            f"{least:.2g}; use at least {int(size / ALPHA)}",
            stacklevel=4,
        )


def told_apart(comparisons: "pl.DataFrame") -> "pl.DataFrame":
    """Count the pairs that are told apart, by two rules.

    Parameters
    ----------
    comparisons : polars.DataFrame
        What `compare_all` gives.

    Returns
    -------
    polars.DataFrame
        ``mode, metric, pairs, family, told_apart, interval_excludes_0``, a row per mode and metric: all pairs, those
        with a p-value (the family of the correction), those whose corrected p-value is below 0.05, and those whose
        interval, uncorrected, excludes 0.

    Examples
    --------
    >>> import polars as pl
    >>> rows = {"mode": ["m", "m"], "metric": ["x", "x"], "p": [0.01, None], "p_holm": [0.01, None], "low": [1.0, None],
    ...         "high": [2.0, None]}
    >>> told_apart(pl.DataFrame(rows)).row(0)
    ('m', 'x', 2, 1, 1, 1)
    """
    import polars as pl

    excludes = (pl.col("low") > 0) | (pl.col("high") < 0)
    return comparisons.group_by("mode", "metric", maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("pairs"),
        pl.col("p").count().cast(pl.Int64).alias("family"),
        (pl.col("p_holm") < ALPHA).sum().cast(pl.Int64).alias("told_apart"),
        excludes.sum().cast(pl.Int64).alias("interval_excludes_0"),
    )
