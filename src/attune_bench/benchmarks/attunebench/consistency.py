"""Internal consistency of the participants' PANAS forms, before and after the conversation."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl
from typing_extensions import Unpack

from attune_bench.benchmarks.attunebench.run_analyses import scored_conversations
from attune_bench.scores.columns import FrameColumn, build_frame, columns, text
from attune_bench.scores.table import ScoreTable
from attune_bench.stats.options import Mask, SamplingKeywords, begin, interval_ends
from attune_data import Conversation
from attune_metrics.attunebench.emotion import NEGATIVE_AFFECT, POSITIVE_AFFECT
from attune_metrics.attunebench.panas import Panas, prepare_panas
from attune_metrics.metric import nan_to_none
from attune_metrics.stats.consistency import internal_consistency

_AFFECTS = {"positive": POSITIVE_AFFECT, "negative": NEGATIVE_AFFECT}
_VALUE = FrameColumn("", high=1, shown="plain")

PANAS_CONSISTENCY = columns(
    "form affect alpha low high omega omega_low omega_high n clusters reason",
    form=text("When the form was filled: before or after the conversation."),
    affect=text("The ten items that are summed: positive or negative affect."),
    alpha=_VALUE._replace(description="Cronbach's alpha; below 0 where the items disagree more than unrelated items."),
    low=_VALUE._replace(description="Lower end of the interval of alpha."),
    high=_VALUE._replace(description="Upper end of the interval of alpha."),
    omega=_VALUE._replace(description="McDonald's omega with one factor.", low=0),
    omega_low=_VALUE._replace(description="Lower end of the interval of omega."),
    omega_high=_VALUE._replace(description="Upper end of the interval of omega."),
    n="How many forms have all ten items.",
)


def panas_consistency(
    scores: ScoreTable, *, data: Iterable[Conversation], **options: Unpack[SamplingKeywords]
) -> pl.DataFrame:
    """Return how far the ten items of each affect of the PANAS measure one thing, before and after the conversation.

    Models have no part in it: the forms are the participants'. A total of items that do not go together is a noisy
    reference, which no model can predict well.

    Parameters
    ----------
    scores : ScoreTable
        The scores, which say which conversations count.
    data : iterable of Conversation
        The conversations that were scored.
    **options
        ``level``, ``unit``; see `attune_bench.stats.options.AnalysisOptions`. The intervals are by formula, whatever
        ``interval``, ``resamples`` and ``seed`` say.

    Returns
    -------
    polars.DataFrame
        The columns `PANAS_CONSISTENCY`, by `attune_metrics.stats.consistency.internal_consistency`. A form with an item
        missing does not count; ratings are clamped to 1-7, as in scoring.

    Raises
    ------
    MetricInputError
        Where an option is unknown or out of range, or a conversation that was scored is not in the data.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> conversations = load("demo")
    >>> found = panas_consistency(score(conversations, load_runs("demo")), data=conversations)
    >>> found.select("form", "affect", pl.col("alpha", "omega").round(2), "n", "clusters").row(0)
    ('before', 'positive', 0.96, 0.96, 40, 24)
    """
    chosen, series, _ = begin(scores, options)
    known = scored_conversations(scores, data)
    labels = series.clusters(chosen)
    rows: list[dict[str, Any]] = []
    for form, field in (("before", "pre_panas"), ("after", "post_panas")) if series.units else ():
        filled = [prepare_panas(Panas(getattr(one, field).responses)).items for one in known.values()]
        for affect, words in _AFFECTS.items():
            items = np.array([[one.get(word, np.nan) for word in words] for one in filled], dtype=np.float64)
            found = internal_consistency(items, labels, level=chosen.level)
            complete: Mask = ~np.logical_or.reduce(np.isnan(items), axis=1)
            clusters = series.count(complete)
            row: dict[str, Any] = {"form": form, "affect": affect, "n": found.alpha.n, "clusters": clusters}
            for name, part, prefix in (("alpha", found.alpha, ""), ("omega", found.omega, "omega_")):
                low, high, reason = interval_ends(part, clusters, scores)
                row |= {name: nan_to_none(part.estimate), f"{prefix}low": low, f"{prefix}high": high, "reason": reason}
            rows.append(row)
    return build_frame(PANAS_CONSISTENCY, [{name: row[name] for name in PANAS_CONSISTENCY} for row in rows])
