"""Skills: how alike every two metrics order the models without their noise, and how many skills the metrics share."""

from itertools import combinations
from math import atanh, sqrt, tanh
from statistics import NormalDist
from typing import Any

import numpy as np
import polars as pl
from typing_extensions import Unpack

from attune_bench.scores.columns import FrameColumn, build_frame, columns, said_by_condition, text, whole
from attune_bench.scores.provenance import kind_of_group
from attune_bench.scores.table import ScoreTable, metrics_per_unit
from attune_bench.stats.comparability import check_within_conditions
from attune_bench.stats.options import AnalysisKeywords, Mask, begin, interval_ends
from attune_bench.stats.summary import per_unit
from attune_data.text import plural
from attune_metrics.metric import nan_to_none
from attune_metrics.stats.dimensions import MIN_MODELS, shared_dimensions
from attune_metrics.stats.separation import Separation, separation
from attune_metrics.stats.skills import correlation_of
from attune_metrics.stats.sums import Floats, complete_units

_EXAMPLE = 0.6  # the correlation for which `skills_shown` says how wide an interval of so many models is

_CORRELATION = FrameColumn("", low=-1, high=1, shown="plain", signed=True)
SKILLS = columns(
    "condition metric_a metric_b corrected low high observed within within_low within_high dimensions n models "
    "clusters reason",
    metric_a=text("The first metric.", "A"),
    metric_b=text("The second metric.", "B"),
    corrected=FrameColumn(
        "Correlation of the models' means without the noise of both metrics, 1 where both order the models alike; "
        "noise can bring it beyond 1.",
        shown="plain",
        signed=True,
    ),
    low="Lower end of the interval of the corrected correlation.",
    high="Upper end of the interval of the corrected correlation.",
    observed=_CORRELATION._replace(description="Pearson's correlation of the models' means as they are."),
    within=_CORRELATION._replace(description="Correlation over the units of a model, all models together."),
    within_low=_CORRELATION._replace(description="Lower end of the interval of that correlation.", shown="files"),
    within_high=_CORRELATION._replace(description="Upper end of the interval of that correlation.", shown="files"),
    dimensions=whole("How many skills the metrics share, at least; the same in each row.")._replace(shown="files"),
    n="How many units every model has in both metrics.",
)


def skills(scores: ScoreTable, **options: Unpack[AnalysisKeywords]) -> pl.DataFrame:
    """Return how alike every two metrics order the models of a condition, corrected for the noise of both.

    Baselines and people, see `attune_bench.scores.provenance.kind_of_group`, are no models and left out. Metrics of
    which lower values are better count negatively: 1 is the same order, the better model first. A metric that says
    neither counts as it is.

    Parameters
    ----------
    scores : ScoreTable
        The scores.
    **options
        ``metrics``, ``level``, ``unit``, ``resamples`` and ``seed``; see
        `attune_bench.stats.options.AnalysisOptions`. By default the metrics of the board that have a value of each
        unit. The intervals are by formula, whatever ``interval`` says; ``resamples``, at most 2000, and ``seed`` are of
        the draws of `attune_metrics.stats.dimensions.shared_dimensions`.

    Returns
    -------
    polars.DataFrame
        The columns `SKILLS`: each pair once, as `attune_metrics.stats.skills.disattenuated` correlates them.
        ``dimensions`` counts the skills of all metrics that tell the models apart; null with fewer than two of them.

    Raises
    ------
    MetricInputError
        Where an option is unknown or out of range, or a metric has no value of each unit.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> scores = score(load("demo"), load_runs("demo"))
    >>> found = skills(scores, metrics=["avg_emotion_f1", "avg_emotion_va_score"])
    >>> found.select("metric_a", "metric_b", "corrected", "models", "reason").row(0)
    ('avg_emotion_f1', 'avg_emotion_va_score', None, 2, 'fewer than 6 models')
    """
    chosen, series, _ = begin(scores, options)
    metrics = chosen.names(scores, [name for name in scores.headline if name in metrics_per_unit(scores)])
    check_within_conditions(scores, metrics)
    every = {metric: series.values(per_unit(scores, metric, "skills"))[:, 0] for metric in metrics}
    labels = series.clusters(chosen)
    rows: list[tuple[Any, ...]] = []
    for condition, present in series.by_condition().items():
        groups = [group for group in present if kind_of_group(series.groups[group][0]) == "model"]
        values = {
            metric: (-1 if scores.metrics[metric].higher_is_better is False else 1) * every[metric][groups]
            for metric in metrics
        }
        dimensions = _dimensions(list(values.values()), labels, min(chosen.resamples, 2000), chosen.seed)
        separations: dict[tuple[str, bytes, bytes], Separation] = {}
        for a, b in combinations(metrics, 2):
            known = ~(np.isnan(values[a]).all(axis=1) | np.isnan(values[b]).all(axis=1))
            one, other = values[a][known], values[b][known]
            complete: Mask = ~np.logical_or.reduce(np.isnan(one + other), axis=0)
            clusters = series.count(complete)
            both, index = complete_units(np.stack([one, other]), labels)
            parts = []
            for metric, own in zip((a, b), both, strict=True):
                # In most pairs a metric has the same models and units.
                key = metric, known.tobytes(), complete.tobytes()
                if key not in separations:
                    separations[key] = separation(own, index, level=chosen.level)
                parts.append(separations[key])
            found = correlation_of(both, index, parts, chosen.level)
            low, high, reason = interval_ends(found.corrected, clusters, scores)
            within = nan_to_none(found.within.estimate), *interval_ends(found.within, clusters, scores)[:2]
            estimates = nan_to_none(found.corrected.estimate), low, high, nan_to_none(found.observed), *within
            sizes = found.corrected.n, len(one), clusters
            why = reason if found.corrected.n else found.corrected.reason
            rows.append((condition, a, b, *estimates, dimensions, *sizes, why))
    return build_frame(SKILLS, rows)


def _dimensions(values: list[Floats], labels: Any, draws: int, seed: int) -> int | None:
    """Return how many skills the metrics share that tell the models apart, or None where that is unknown."""
    if not values or len(values[0]) < MIN_MODELS:
        return None
    apart = [one for one in values if separation(one, labels).reliability.low > 0]
    if len(apart) < 2:
        return None
    complete: Mask = ~np.logical_or.reduce(np.isnan(np.concatenate(apart)), axis=0)
    if len({label for label, kept in zip(labels, complete.tolist(), strict=True) if kept}) < 2:
        return None
    return shared_dimensions(np.stack(apart), labels, draws=draws, seed=seed).number


def skills_shown(scores: ScoreTable, frame: pl.DataFrame) -> str:
    """Say what these data show of the skills, and how little so few models can show.

    Examples
    --------
    >>> from attune_bench import Scores
    >>> frame = pl.DataFrame({"model": ["m"], "unit": ["u"], "metric": ["hit"], "value": [1.0]})
    >>> pairs = pl.DataFrame({"condition": [None] * 2, "corrected": [0.9, 0.1], "low": [0.6, -0.5], "high": [1.0, 0.7],
    ...                       "dimensions": [1, 1], "models": [11, 11]})
    >>> for sentence in skills_shown(Scores.from_table(frame), pairs).split(". "):
    ...     print(sentence)  # doctest: +ELLIPSIS
    1 of 2 pairs of metrics is correlated (interval without 0); one skill is ruled out for 1 (interval within -1 ...
    With 11 models, a true correlation of 0.6 has, without any noise, a 95% interval from 0.00 to 0.88.
    """

    def say(rows: pl.DataFrame) -> str:
        found = skills_found(rows)
        return f"{found}. {models_are_few(rows)}" if found else ""

    return said_by_condition(scores, frame, say)


def skills_found(rows: pl.DataFrame) -> str:
    """Say of one condition how many pairs are correlated or not one skill; nothing where no pair has an interval."""
    known = rows.drop_nulls("low")
    if known.is_empty():
        return ""
    correlated = known.filter((pl.col("low") > 0) | (pl.col("high") < 0)).height
    apart = known.filter((pl.col("high") < 1) & (pl.col("low") > -1)).height
    found = (
        f"{correlated} of {plural(known.height, 'pair')} of metrics {_is(correlated)} correlated (interval without 0); "
        f"one skill is ruled out for {apart} (interval within -1 and 1)"
    )
    if beyond := known.filter(pl.col("corrected").abs() > 1).height:
        found += f"; {beyond} {_is(beyond)} beyond -1 or 1, as noise allows"
    if (number := rows["dimensions"][0]) is not None:
        shared = f"the metrics share at least {plural(number, 'skill')}" if number else "no shared skill is shown"
        found += f"; {shared}"
    return found


def _is(number: int) -> str:
    return "is" if number == 1 else "are"


def models_are_few(rows: pl.DataFrame) -> str:
    """Say how wide an interval so many models make even without noise."""
    models = min(rows.drop_nulls("low")["models"].to_list())
    reach = NormalDist().inv_cdf(0.975) / sqrt(models - 3)
    low, high = (tanh(atanh(_EXAMPLE) + side * reach) for side in (-1, 1))
    return (
        f"With {plural(models, 'model')}, a true correlation of {_EXAMPLE} has, without any noise, a 95% interval from "
        f"{low:.2f} to {high:.2f}."
    )
