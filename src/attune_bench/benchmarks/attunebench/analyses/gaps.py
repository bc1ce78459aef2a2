"""Gaps within a model: what is done against what is wanted, one phrasing against the other, errors by branch."""

from typing import Any

import numpy as np
import polars as pl
from typing_extensions import Unpack

from attune_bench.score_table import ScoreTable
from attune_bench.stats.options import AnalysisOptions, SamplingKeywords
from attune_bench.stats.paired import TESTED, paired, tested
from attune_bench.stats.series import Draws, ScoreSeries
from attune_bench.stats.summary import summary
from attune_metrics.attunebench.holistic import BRANCHES

__all__ = ["branch_errors", "perspective_gap", "phrasing_gap"]


def perspective_gap(scores: ScoreTable, **options: Unpack[SamplingKeywords]) -> pl.DataFrame:
    """Return how much better each model tells what the original model did (OM) than what the participant wanted (HP).

    Parameters
    ----------
    scores : ScoreTable
        The scores.
    **options
        ``resamples``, ``seed``, ``level``, ``unit``, ``interval``; see
        `attune_bench.stats.options.AnalysisOptions`.

    Returns
    -------
    polars.DataFrame
        ``model, condition, om, hp, gap, low, high, p, p_min, p_holm, significant, n, clusters, mde,
        reason``. ``om`` and ``hp`` are
        ``avg_binary_om_accuracy`` and ``avg_binary_human_accuracy``, ``gap`` is `om` minus `hp`; ``p`` is that of
        `attune_metrics.stats.comparison.paired_permutation_test`, ``p_holm`` Holm's over the models of a mode.

    Raises
    ------
    MetricInputError
        Where an option is unknown or out of range, or records contradict each other.

    Warns
    -----
    UserWarning
        Where a family is so large that, with so few clusters that differ, no corrected p-value can be below 0.05.

    Examples
    --------
    >>> from attune_data import load, load_runs
    >>> from attune_bench import score
    >>> found = perspective_gap(score(load("demo"), load_runs("demo")))
    >>> [(row["model"], round(row["gap"], 2)) for row in found.iter_rows(named=True)]
    [('synthetic/attentive', 0.09), ('synthetic/hasty', 0.06)]
    """
    return _gap(
        scores, ("om", "avg_binary_om_accuracy"), ("hp", "avg_binary_human_accuracy"), AnalysisOptions(**options)
    )


def phrasing_gap(scores: ScoreTable, **options: Unpack[SamplingKeywords]) -> pl.DataFrame:
    """Return how much better each model tells what the participant wanted as an observer than as that participant.

    Parameters
    ----------
    scores, **options
        As for `perspective_gap`.

    Returns
    -------
    polars.DataFrame
        ``model, condition, observer, hp_facing, gap, low, high, p, p_min, p_holm, significant, n, clusters, mde,
        reason``: the two are ``avg_binary_human_accuracy`` and ``avg_binary_human_accuracy_hp``, ``gap`` is
        ``hp_perspective_gap``, the first minus the second. A model that was not asked the HP-facing questions has null.

    Raises
    ------
    MetricInputError
        As `perspective_gap`.

    Examples
    --------
    >>> from attune_data import load, load_runs
    >>> from attune_bench import score
    >>> scores = score(load("demo"), load_runs("demo"))
    >>> found = phrasing_gap(scores, resamples=200)
    >>> [(row["model"], round(row["gap"], 3)) for row in found.iter_rows(named=True)]
    [('synthetic/attentive', 0.001), ('synthetic/hasty', 0.007)]
    """
    first, second = ("observer", "avg_binary_human_accuracy"), ("hp_facing", "avg_binary_human_accuracy_hp")
    return _gap(scores, first, second, AnalysisOptions(**options))


def _gap(scores: ScoreTable, first: tuple[str, str], second: tuple[str, str], options: AnalysisOptions) -> pl.DataFrame:
    """Compare two metrics of the same models; each is a column's name and the metric."""
    series = ScoreSeries(scores)
    draws = Draws(series, options, weighted=True)
    both = np.concatenate([series.values(first[1]), series.values(second[1])])
    groups = len(series.groups)
    families = [f"the models of mode {mode!r}" for _, mode in series.groups]
    found = paired(series, both, [(one, groups + one) for one in range(groups)], families, draws, options)
    columns = tested(found, families, draws)
    draws.skewed.warn_of_differences()
    schema: dict[str, Any] = {
        **dict.fromkeys(("model", "condition"), str),
        **dict.fromkeys((first[0], second[0], "gap"), float),
        **TESTED,
    }
    rows = [(*group, *pair[:3], *own) for group, pair, own in zip(series.groups, found, columns, strict=True)]
    return pl.DataFrame(rows, schema=schema, orient="row")


def branch_errors(scores: ScoreTable, **options: Unpack[SamplingKeywords]) -> pl.DataFrame:
    """Return each model's mean absolute error at each of the four branches, on their scale of 1 to 7.

    Parameters
    ----------
    scores, **options
        As for `perspective_gap`.

    Returns
    -------
    polars.DataFrame
        ``model, condition, branch, mae, low, high, n, clusters, reason``; lower is better. A missing prediction counts
        as 4, as in scoring.

    Raises
    ------
    MetricInputError
        As `perspective_gap`.

    Examples
    --------
    >>> from attune_data import load, load_runs
    >>> from attune_bench import score
    >>> scores = score(load("demo"), load_runs("demo"))
    >>> found = branch_errors(scores, resamples=200).filter(model="synthetic/hasty")
    >>> [(row["branch"], round(row["mae"], 2)) for row in found.iter_rows(named=True)][:2]
    [('perceiving', 2.08), ('facilitating', 1.5)]
    """
    names = {f"four_branch_{branch}_mae": branch for branch in BRANCHES}
    return summary(scores, **options, metrics=list(names)).select(
        "model",
        "condition",
        pl.col("metric").replace_strict(names, return_dtype=pl.String).alias("branch"),
        pl.col("value").alias("mae"),
        *("low", "high", "n", "clusters", "reason"),
    )
