"""How alike the answers of two people rank the models, corrected for noise."""

from collections.abc import Iterable
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from typing_extensions import Unpack

from attune_bench.analyses.skills import SKILLS
from attune_bench.benchmarks.attunebench.annotators import PARTICIPANT
from attune_bench.benchmarks.attunebench.truth import scored_by_truth
from attune_bench.scores.columns import build_frame, columns, text
from attune_bench.scores.provenance import kind_of_group
from attune_bench.scores.table import ScoreTable
from attune_bench.stats.options import AnalysisKeywords, begin, interval_ends
from attune_data import Conversation, Run
from attune_data.text import plural
from attune_metrics.metric import nan_to_none
from attune_metrics.stats.agreement import correlation_of_ranks
from attune_metrics.stats.skills import disattenuated
from attune_metrics.stats.sums import average_ranks

TRUTH_AGREEMENT = columns(
    "condition metric truth_a truth_b corrected low high observed rho n models clusters reason",
    truth_a=text("Whose answers are the first truth.", "A"),
    truth_b=text("Whose answers are the second truth.", "B"),
    corrected=SKILLS["corrected"]._replace(
        description="Correlation of the models' means under the two truths without the noise of both, 1 where both "
        "order the models alike; noise can bring it beyond 1."
    ),
    low=SKILLS["low"],
    high=SKILLS["high"],
    observed=SKILLS["observed"]._replace(description="Pearson's correlation of the means as they are."),
    rho=SKILLS["observed"]._replace(description="Spearman's correlation of the two rankings."),
    n="How many conversations all annotators answered in full.",
)


def truth_agreement(
    scores: ScoreTable,
    *,
    data: Iterable[Conversation],
    results: Iterable[Run],
    **options: Unpack[AnalysisKeywords],
) -> pl.DataFrame:
    """Return how alike the models are ranked under every two truths, corrected for noise.

    Parameters
    ----------
    scores, data, results, **options
        As for `truth`; the intervals are by formula.

    Returns
    -------
    polars.DataFrame
        The columns `TRUTH_AGREEMENT`, as `attune_metrics.stats.skills.disattenuated` correlates the models' scores
        under two truths, on the conversations of `truth`.

    Raises
    ------
    MetricInputError
        As `truth`.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> conversations, runs = load("demo"), load_runs("demo")
    >>> truth_agreement(score(conversations, runs), data=conversations, results=runs).height  # the demo has no people
    0
    """
    found, metrics = scored_by_truth(scores, data, results, options)
    chosen, series, _ = begin(scores, options, weighted=True)
    labels = dict(zip(series.units, series.clusters(chosen), strict=True))
    rows: list[tuple[Any, ...]] = []
    for metric in metrics:
        for condition, truths in found.truths(metric):
            of_truths = {of: found.values(metric, condition, of) for of in truths}
            for a, b in combinations(truths, 2):
                models = sorted(name for name in of_truths[a] if kind_of_group(name) == "model")
                units = sorted(next(iter(of_truths[a].values())))
                one, other = (
                    np.array([[of_truths[of][name][unit] for unit in units] for name in models]).reshape(-1, len(units))
                    for of in (a, b)
                )
                made = disattenuated(one, other, [labels[unit] for unit in units], level=chosen.level)
                clusters = series.count(np.isin(series.units, units))
                low, high, reason = interval_ends(made.corrected, clusters, scores)
                ranks = [average_ranks(-of.mean(axis=1), 1e-12) for of in (one, other)] if len(models) > 2 else None
                rho = np.nan if ranks is None else float(correlation_of_ranks(*ranks))
                estimates = [nan_to_none(of) for of in (made.observed, rho)]
                rows.append(
                    (condition, metric, a, b, nan_to_none(made.corrected.estimate), low, high, *estimates,
                     len(units), len(models), clusters, reason if units else made.corrected.reason)
                )  # fmt: skip
    return build_frame(TRUTH_AGREEMENT, rows)


def alike(_: ScoreTable, frame: pl.DataFrame) -> str:
    """Say how often other annotators rank the models like the participant, and how often not.

    Examples
    --------
    >>> from attune_bench import score
    >>> rows = {"truth_a": ["participant"] * 3, "low": [0.4, -0.2, None], "high": [1.1, 0.7, None]}
    >>> print(alike(score([], [], benchmark="attunebench"), pl.DataFrame(rows)))  # doctest: +ELLIPSIS
    With the participant's ranking go together: 1 of 2 rankings by another annotator (...); not the same: 1 of 2 (...).
    """
    known = frame.filter(truth_a=PARTICIPANT).drop_nulls("low")
    if known.is_empty():
        return "No ranking by another annotator has an interval of its correlation with the participant's ranking."
    together, apart = (known.filter(of).height for of in (pl.col("low") > 0, pl.col("high") < 1))
    return (
        f"With the participant's ranking go together: {together} of {plural(known.height, 'ranking')} by another "
        f"annotator (interval above 0); not the same: {apart} of {known.height} (interval below 1)."
    )
