"""Diagnosis groups: whether people with a diagnosis are read less well than people without.

Each group is set against the conversations of participants who reported no diagnosis; those who gave no answer are on
neither side. A participant with two diagnoses is in both groups, so that groups overlap; ``any`` holds all of them.
"""

import polars as pl
from typing_extensions import Unpack

from attune_bench.benchmarks.attunebench.terms import IN_COMPOSITE
from attune_bench.score_table import ScoreTable
from attune_bench.stats.options import AnalysisKeywords, AnalysisOptions
from attune_bench.stats.subgroups import subgroups
from attune_bench.stats.traits import strata_of
from attune_data.attunebench.profile import NO_DIAGNOSIS, UNKNOWN
from attune_data.query import Queryable

__all__ = ["ANY", "diagnosis_groups"]

ANY = "any"


def diagnosis_groups(scores: ScoreTable, *, data: Queryable, **options: Unpack[AnalysisKeywords]) -> pl.DataFrame:
    """Return each model's scores on each diagnosis group, against those on conversations without a diagnosis.

    Parameters
    ----------
    scores : ScoreTable
        The scores.
    data : Collection or Tables
        The conversations, which say who has which diagnosis.
    **options
        ``metrics``, ``resamples``, ``seed``, ``level``, ``unit``, ``interval``; see
        `attune_bench.stats.options.AnalysisOptions`. The metrics are by default the composite and those that enter it.

    Returns
    -------
    polars.DataFrame
        ``group, n, clusters, metric, model, condition, value, value_none, difference, low, high, p, p_min,
        p_holm, significant, mark, reason``. ``difference`` is ``value`` minus ``value_none``, with its interval and
        p-value as in `attune_bench.stats.subgroups.by`; ``p_holm`` is Holm's over the groups. ``mark`` is ``few`` below
        20 participants in the group, ``too few`` below 5. No row where nobody has a diagnosis; no difference where
        everybody has one.

    Raises
    ------
    MetricInputError
        Where an option is unknown or out of range, or none of the scored conversations is in the data.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> conversations = load("demo")
    >>> scores = score(conversations, load_runs("demo"))
    >>> found = diagnosis_groups(scores, data=conversations, metrics=["avg_emotion_va_score"])
    >>> found.filter(model="synthetic/attentive").select("group", "n", "mark").rows()[:2]
    [('any', 22, 'few'), ('AnxDep', 10, 'few')]
    """
    chosen: AnalysisKeywords = {**options, "metrics": AnalysisOptions(**options).names_of_means(scores, IN_COMPOSITE)}
    scored = set(scores.units["unit"])
    strata = {
        name: units for name, of in strata_of(data, "diagnosis_group").items() if (units := scored.intersection(of))
    }
    without, unknown = (strata.pop(name, set[str]()) for name in (NO_DIAGNOSIS, UNKNOWN))
    if strata:
        strata = {ANY: set().union(*strata.values()), **strata}
    # Without strata there is no complement either: these conversations are known, and nothing is asked of them.
    known = without if strata else without | unknown
    found = subgroups(scores, strata, known=known, compare=True, **chosen)
    return found.select(
        pl.col("stratum").alias("group"),
        *("n", "clusters", "metric", "model", "condition", "value"),
        (pl.col("value") - pl.col("difference")).alias("value_none"),
        "difference",
        pl.col("difference_low").alias("low"),
        pl.col("difference_high").alias("high"),
        *("p", "p_min", "p_holm", "significant", "mark", "reason"),
    )
