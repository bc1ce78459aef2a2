"""Variance: how much of the spread of scores is between conversations, how much between models.

A score is the mean of its model, plus what its conversation adds for every model, plus the rest. Models are fixed,
conversations a sample. With one score in each cell, what a conversation adds for one model only (interaction) cannot be
told from error: both are the residual.

References
----------
.. [1] Searle, Casella, McCulloch (1992), Variance Components, chapter 4: method of moments, two-way crossed.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import Unpack

from attune_bench.benchmarks.attunebench.aggregates import IN_COMPOSITE
from attune_bench.benchmarks.attunebench.analyses._common import per_conversation
from attune_bench.benchmarks.attunebench.records import null
from attune_bench.stats.comparison import ends
from attune_bench.stats.series import Draws, Options, ScoreSeries, Settings, by_mode
from attune_metrics.stats.arrays import Floats
from attune_metrics.stats.resampling import Interval, Resamples, bootstrap

if TYPE_CHECKING:
    import polars as pl

    from attune_bench.scores import Scores

__all__ = ["SOURCES", "conversation_difficulty", "variance_split"]

SOURCES = ("conversation", "model", "residual")


def variance_split(scores: "Scores", **options: Unpack[Options]) -> "pl.DataFrame":
    """Return how the variance of each metric splits between conversations, models and the rest.

    Parameters
    ----------
    scores : Scores
        What `attune_bench.score` or `Scores.read` gives.
    **options
        ``metrics``, ``resamples``, ``seed``, ``level``, ``unit``, ``interval``; see
        `attune_bench.stats.series.Settings`. The metrics are by default the composite and those that enter it.

    Returns
    -------
    polars.DataFrame
        ``mode, metric, source, variance, low, high, share, share_low, share_high, n, models, participants, reason``.
        ``source`` is ``conversation``, ``model`` or ``residual``. Only the ``n`` conversations on which every model of
        the mode has a value count. A variance is not biased, and so can be negative where there is little; a share
        takes that as 0.

    Raises
    ------
    MetricInputError
        Where an option is unknown or out of range, a metric has no value of each conversation, or records contradict
        each other.

    Notes
    -----
    For n conversations and k models with mean squares MSC of conversations, MSM of models and MSE of the residual
    [1]_: conversation (MSC - MSE) / k, model (MSM - MSE) / n, residual MSE. As models are fixed, theirs is the sum of
    squared differences from their mean over k - 1.

    References
    ----------
    See the module.

    Examples
    --------
    >>> from attune_data import load, load_runs
    >>> from attune_bench import score
    >>> scores = score(load("demo"), load_runs("demo"))
    >>> found = variance_split(scores, metrics=["composite_score"], resamples=200)
    >>> [(row["source"], round(row["share"], 2)) for row in found.iter_rows(named=True)]
    [('conversation', 0.02), ('model', 0.85), ('residual', 0.14)]
    """
    import polars as pl

    settings = Settings(**options)
    series = ScoreSeries(scores)
    draws = Draws(series.clusters(settings.unit), settings)
    metrics = settings.names if settings.metrics is not None else IN_COMPOSITE
    rows: list[tuple[Any, ...]] = []
    for mode, groups in by_mode(series).items():
        for metric in metrics:
            values = series.values(per_conversation(metric, "variance_split"))[groups, 0]
            there = np.logical_and.reduce(~np.isnan(values), axis=0)
            sizes = int(there.sum()), len(groups), series.count(there)
            why = "one model" if len(groups) < 2 else "fewer than 2 conversations" if sizes[0] < 2 else None
            if why:
                rows += [(mode, metric, source, *[None] * 6, *sizes, why) for source in SOURCES]
                continue
            intervals = _split(values[:, there], draws.of(there), settings)
            for i, source in enumerate(SOURCES):
                cells, reasons = [], []
                for interval in (intervals[i], intervals[len(SOURCES) + i]):
                    low, high, reason = ends(interval, sizes[2])
                    cells += [null(interval.estimate), low, high]
                    reasons.append(reason)
                rows.append((mode, metric, source, *cells, *sizes, reasons[0] or reasons[1]))
    schema = {
        **dict.fromkeys(("mode", "metric", "source"), str),
        **dict.fromkeys(("variance", "low", "high", "share", "share_low", "share_high"), float),
        **dict.fromkeys(("n", "models", "participants"), int),
        "reason": str,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def _split(values: Floats, resamples: Resamples, settings: Settings) -> list[Interval]:
    """Return the intervals of each source's variance, then of each share, from values (models, conversations)."""
    models = len(values)
    # Centred, so that sums of squares lose no digits.
    centred = values - values.mean()
    terms = np.vstack([centred, (centred**2).sum(axis=0), centred.sum(axis=0) ** 2])

    def variances(sums: Floats, n: Floats) -> Floats:
        of_model, squares, of_conversation = sums[..., :models], sums[..., models], sums[..., models + 1]
        mean = of_model.sum(axis=-1) ** 2 / (n * models)
        between_models = (of_model**2).sum(axis=-1) / n - mean
        between_conversations = of_conversation / models - mean
        residual = (squares - mean - between_models - between_conversations) / ((n - 1) * (models - 1))
        conversation = (between_conversations / (n - 1) - residual) / models
        return np.stack([conversation, (between_models / (models - 1) - residual) / n, residual], axis=-1)

    # The same sums serve as many series as there are numbers to take from them.
    def statistic(sums: Floats, n: Floats) -> Floats:
        found = variances(sums[..., 0, :], n[..., 0])
        parts = np.maximum(found, 0)
        return np.concatenate([found, parts / parts.sum(axis=-1, keepdims=True)], axis=-1)

    several = np.broadcast_to(terms, (2 * len(SOURCES), *terms.shape))
    return bootstrap(several, resamples, statistic=statistic, method=settings.method, level=settings.level)


def conversation_difficulty(scores: "Scores", **options: Unpack[Options]) -> "pl.DataFrame":
    """Return how hard each conversation is, and how far the models differ on it.

    Parameters
    ----------
    scores, **options
        As for `variance_split`; nothing is drawn at random. The metric is by default ``composite_score``.

    Returns
    -------
    polars.DataFrame
        ``mode, metric, conversation_id, mean, sd, models``: mean and standard deviation (n - 1) over the models that
        have a value on the conversation; ``sd`` is null for one model. No row for a conversation without a value.

    Raises
    ------
    MetricInputError
        As `variance_split`.

    Examples
    --------
    >>> from attune_data import load, load_runs
    >>> from attune_bench import score
    >>> scores = score(load("demo"), load_runs("demo"))
    >>> hardest = conversation_difficulty(scores).sort("mean").row(0, named=True)
    >>> round(hardest["mean"], 2), round(hardest["sd"], 2), hardest["models"]
    (49.38, 7.9, 2)
    """
    import polars as pl

    settings = Settings(**options)
    series = ScoreSeries(scores)
    metrics = settings.names if settings.metrics is not None else ("composite_score",)
    rows: list[tuple[Any, ...]] = []
    for mode, groups in by_mode(series).items():
        for metric in metrics:
            values = series.values(per_conversation(metric, "conversation_difficulty"))[groups, 0]
            for unit, column in zip(series.units, values.T, strict=True):
                found = column[~np.isnan(column)]
                if len(found):
                    spread = float(found.std(ddof=1)) if len(found) > 1 else None
                    rows.append((mode, metric, unit, float(found.mean()), spread, len(found)))
    schema = {
        **dict.fromkeys(("mode", "metric", "conversation_id"), str),
        **dict.fromkeys(("mean", "sd"), float),
        "models": int,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")
