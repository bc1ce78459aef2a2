"""Figures of scores: a function each, from `attune_bench.Scores` to an altair chart that can be changed further.

Each does the analysis that it draws, with the options of that analysis: ``resamples``, ``seed``, ``level``, ``unit``,
``weight`` and ``interval``, as `attune_bench.stats.options.AnalysisOptions` says. A figure shows one condition; where
the scores have several, ``condition`` names it. `save` writes a figure to a file.

Examples
--------
>>> from attune_bench import figures, score
>>> from attune_data import load, load_runs
>>> given = score(load("demo"), load_runs("demo"))
>>> type(figures.ranks(given, "avg_emotion_f1", resamples=200)).__name__
'LayerChart'
"""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import polars as pl
from typing_extensions import Unpack

from attune_bench import analyses
from attune_bench.report import figures as drawn
from attune_bench.report.drawing import altair, save
from attune_bench.scores.table import ScoreTable
from attune_bench.stats.options import AnalysisKeywords, SamplingKeywords
from attune_bench.stats.rank import rank
from attune_bench.stats.summary import summary

if TYPE_CHECKING:
    from attune_bench.report.drawing import Chart

__all__ = [
    "condition_differences",
    "metric_correlation",
    "profile",
    "ranks",
    "save",
    "scores",
    "unit_difficulty",
    "win_rates",
]


def scores(
    scores: ScoreTable,
    metric: str | None = None,
    *,
    condition: str | None = None,
    levels: Mapping[str, float] | None = None,
    **options: Unpack[SamplingKeywords],
) -> "Chart":
    """Draw a metric of every model with its interval, the best on top, and what random answers score where it is known.

    Parameters
    ----------
    scores : Scores
        The scores.
    metric : str, optional
        One of their metrics; by default the primary one.
    condition : str, optional
        One of their conditions; needed where they have several.
    levels : mapping of str to float, optional
        Name to value of further lines across all models, such as what people score.
    **options
        As for `attune_bench.Scores.summary`.

    Returns
    -------
    altair.LayerChart

    Raises
    ------
    TypeError
        Where `scores` are not Scores.
    MetricInputError
        Where they have no such metric, or an option is unknown or out of range.
    ValueError
        Where there is nothing to draw, or no such condition.
    ImportError
        Where the extra ``plots`` is not installed.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> given = score(load("demo"), load_runs("demo"))
    >>> type(given.plot("avg_pairwise_accuracy", levels={"people": 0.722}, resamples=200)).__name__
    'LayerChart'
    """
    name = _metric(scores, metric)
    found = summary(scores, metrics=[name], **options)
    return drawn.scores(scores, found, name, condition=condition, levels=levels)


def ranks(
    scores: ScoreTable,
    metric: str | None = None,
    *,
    condition: str | None = None,
    **options: Unpack[SamplingKeywords],
) -> "Chart":
    """Draw the rank of every model with its interval, the best on top.

    Parameters, results and errors are those of `scores`.
    """
    name = _metric(scores, metric)
    return drawn.ranks(scores, rank(scores, metrics=[name], **options), name, condition=condition)


def profile(
    scores: ScoreTable,
    model: str,
    *,
    metrics: Sequence[str] | None = None,
    condition: str | None = None,
    **options: Unpack[SamplingKeywords],
) -> "Chart":
    """Draw the metrics from 0 to 1 of one model, with the other models as ticks and random answers as crosses.

    Parameters, results and errors are those of `scores`, and `model`, one of the models, and `metrics`, from the top;
    by default all whose range is 0 to 1.
    """
    _check(scores)
    chosen = drawn.profiled(scores, one_axis=True) if metrics is None else metrics
    if metrics is None and not chosen:
        raise ValueError("no metric is said to reach from 0 to 1, which a profile draws; give metrics=...")
    found = summary(scores, metrics=chosen, **options)
    return drawn.profile(scores, found, model, metrics=chosen, condition=condition)


def unit_difficulty(scores: ScoreTable, metric: str | None = None, *, condition: str | None = None) -> "Chart":
    """Draw, a point for each unit, the mean of the models on it and how far they differ; units are not named.

    Parameters, results and errors are those of `scores`; nothing is drawn at random.
    """
    name = _metric(scores, metric)
    return drawn.unit_difficulty(scores, analyses.unit_difficulty(scores, metrics=[name]), name, condition=condition)


def win_rates(
    scores: ScoreTable,
    metric: str | None = None,
    *,
    condition: str | None = None,
    **options: Unpack[SamplingKeywords],
) -> "Chart":
    """Draw on which share of units the model of a row does better than that of a column.

    Parameters, results and errors are those of `scores`.
    """
    name = _metric(scores, metric)
    return drawn.win_rates(scores, analyses.win_rates(scores, metrics=[name], **options), name, condition=condition)


def metric_correlation(
    scores: ScoreTable, *, condition: str | None = None, **options: Unpack[AnalysisKeywords]
) -> "Chart":
    """Draw Spearman's correlation of metrics across models, of which there must be six.

    Parameters, results and errors are those of `scores`, but ``metrics``, by default those of the board.
    """
    _check(scores)
    return drawn.metric_correlation(scores, analyses.metric_correlation(scores, **options), condition=condition)


def condition_differences(
    scores: ScoreTable,
    *,
    condition: str | None = None,
    reference: str | None = None,
    **options: Unpack[AnalysisKeywords],
) -> "Chart":
    """Draw how far each metric of each model differs between two conditions.

    Parameters, results and errors are those of `scores`, but ``metrics``, by default those of the board, and
    `reference`, the condition that the other is set against, the models' reference condition or their first; needed
    where models have several.
    """
    _check(scores)
    found = analyses.condition_differences(scores, **options)
    return drawn.condition_differences(scores, found, condition=condition, reference=reference)


def _metric(scores: ScoreTable, metric: str | None) -> str:
    """Return the metric that is drawn, of what has to be scores."""
    _check(scores)
    return scores.primary if metric is None else scores.metric(metric).name


def _check(scores: object) -> None:
    """Raise a TypeError unless these are scores; before anything is computed, an ImportError without the extra."""
    if not isinstance(scores, ScoreTable):
        made = "score(data, results) makes Scores"
        if isinstance(scores, pl.DataFrame):
            made = "Scores.from_table(frame) makes Scores of a table of results; figures do each analysis themselves"
        elif isinstance(scores, str | os.PathLike):
            made = "Scores.read(path) reads Scores"
        raise TypeError(f"figures draw Scores, not {type(scores).__name__}: {made}")
    altair()
