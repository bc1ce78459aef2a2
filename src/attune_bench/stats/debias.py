"""A judge's metric, or several judges', corrected by people who rated a part of the units.

`attune_metrics.stats.judges` defines the estimator, `attune_metrics.stats.judge_panels` that of several judges;
docs/judges.md says when to trust them.
"""

import os
import re
import warnings
from collections.abc import Mapping, Sequence
from itertools import combinations
from math import isnan
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from typing_extensions import Unpack

from attune_bench.scores.columns import FrameColumn, build_frame, columns, text, whole
from attune_bench.scores.table import ScoreTable
from attune_bench.stats.comparability import check_within_conditions
from attune_bench.stats.compare import family_of_pairs, holm_by_family
from attune_bench.stats.labels import Labels, has_judges, read_labels
from attune_bench.stats.options import (
    ALPHA,
    AnalysisOptions,
    ResampleCache,
    SamplingKeywords,
    ScoreSeries,
    interval_ends,
    sorted_groups,
    warn_out_of_reach,
)
from attune_data.text import plural, pluralize
from attune_metrics.metric import (
    MetricInputError,
    UnreliableIntervalWarning,
    nan_to_none,
)
from attune_metrics.stats.bootstrap import symmetric_levels
from attune_metrics.stats.judge_panels import prediction_powered_panel
from attune_metrics.stats.judges import MIN_LABELS, PredictionPowered, prediction_powered
from attune_metrics.stats.sums import Floats

_JUDGED = columns(
    "metric judge judge_low judge_high people people_low people_high corrected low high slope correlation n labels "
    "clusters label_clusters equivalent_ratings weight ratings_lost",
    judge="Mean of all scores that the judge gave.",
    judge_low="Lower end of its interval.",
    judge_high="Upper end of its interval.",
    people="Mean of the ratings that people gave.",
    people_low="Lower end of its interval.",
    people_high="Upper end of its interval.",
    corrected="The judge's mean, corrected by the ratings.",
    low="Lower end of the interval of the corrected value.",
    high="Upper end of the interval of the corrected value.",
    slope="By how much people's ratings rise where the judge gives one point more.",
    correlation=FrameColumn("Pearson's, of judge and people on the rated units.", low=-1, high=1),
    n="How many units the judge scored.",
    labels=whole("How many of them people rated."),
    clusters="How many clusters the scored units come from.",
    label_clusters=whole("How many clusters the rated units come from."),
    equivalent_ratings=FrameColumn("How many ratings without a judge would be as precise.", low=0),
    weight="Of several judges: by how much the rating that all predict together rises with a point of this judge.",
    ratings_lost=FrameColumn("Of several judges: by how many equivalent ratings all together are worse without it."),
)
_NOTED = columns(
    "reason note", note=text("Why not to trust the corrected value; empty where nothing speaks against it.")
)
JUDGED_MODELS = columns("model condition") | _JUDGED | _NOTED
JUDGED_PAIRS = (
    columns("model_a model_b condition")
    | _JUDGED
    | columns(
        "p p_min p_holm significant",
        p="p-value of the corrected difference: 1 minus the level of the interval that just excludes 0.",
    )
    | _NOTED
)
Source = pl.DataFrame | str | os.PathLike[str] | Labels


def debias(
    table: ScoreTable, labels: Source, *, metric: str | None = None, **options: Unpack[SamplingKeywords]
) -> pl.DataFrame:
    """Return a judge's metric of every model that people rated, corrected by the ratings.

    Parameters
    ----------
    table : ScoreTable
        The scores: what the judge gave.
    labels : polars.DataFrame, path or Labels
        The ratings, as `attune_bench.stats.debias.read_labels` takes them or gives them.
    metric : str, optional
        The judge's metric, which the ratings are of; by default the main one.
    **options
        ``resamples``, ``seed``, ``level``, ``unit``, ``interval``; see `AnalysisOptions`.

    Returns
    -------
    polars.DataFrame
        The columns `JUDGED_MODELS`. Models that nobody rated have no row. Where the conditions are several judges, a
        model has a row more, whose condition is such as ``all 3 judges``: corrected by their combination, see
        `attune_metrics.stats.judge_panels`; the rows of the judges then have their ``weight`` and ``ratings_lost``.

    Raises
    ------
    MetricInputError
        As `read_labels`, where nothing is rated, or an option is out of range.
    SourceError
        Where the file cannot be read.

    Warns
    -----
    UnreliableIntervalWarning
        For each row with a note: few ratings, a low correlation, or rated units unlike the others; see
        `attune_metrics.stats.judges.prediction_powered`.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> scores = score(load("demo"), load_runs("demo")).keep(groups=[("synthetic/hasty", "default")])
    >>> judged = scores.values.select("unit", pl.col("avg_draft_judge_score").alias("rating")).sort("unit")
    >>> strict = judged.with_columns(pl.col("rating") - 0.1)  # people that agree with the judge, but for 0.1
    >>> found = debias(scores, strict.head(30), metric="avg_draft_judge_score").row(0, named=True)
    >>> round(found["judge"] - found["corrected"], 3), round(found["slope"], 3), found["labels"]
    (0.1, 1.0, 30)
    """
    frame = JudgedFrame(table, labels, metric, AnalysisOptions(**options))
    rated = np.flatnonzero(~np.isnan(frame.ratings).all(axis=1)).tolist()
    rows = []
    for group in rated:
        model, condition = frame.series.groups[group]
        found = frame.row(frame.scores[group], frame.ratings[group], frame.name(model, condition))
        rows.append({"model": model, "condition": condition, **found})
    for model in table.models if has_judges(table) else ():
        own = [row for row in rows if row["model"] == model]
        places = [frame.series.groups.index((model, row["condition"])) for row in own]
        rows += frame.together({"model": model}, own, frame.scores[places], frame.ratings[places], model)
    return build_frame(JUDGED_MODELS, rows)


def debias_pairs(
    table: ScoreTable, labels: Source, *, metric: str | None = None, **options: Unpack[SamplingKeywords]
) -> pl.DataFrame:
    """Return the corrected difference of every two models of a condition that people rated on common units.

    The correction is applied to the differences of units; see
    `attune_metrics.stats.judges.prediction_powered_difference`. p-values are corrected by Holm's method,
    over the pairs of a condition that have one; intervals are not.

    Parameters
    ----------
    table, labels, metric, **options
        As for `debias`.

    Returns
    -------
    polars.DataFrame
        ``model_a, model_b, condition``, then the columns of `debias`, of `model_a` minus `model_b` on the units of
        both, and before ``reason`` the columns of the test: ``p``, the smallest alpha at which the 1 - alpha interval
        of the corrected difference excludes 0, null without an interval, ``p_min``, the smallest that so many resamples
        could have given, ``p_holm``, corrected for the family, and ``significant`` where that is below 0.05. No rows
        where no two models were rated on the same units. `attune_bench.stats.compare.count_significant` counts.

    Raises
    ------
    MetricInputError, SourceError
        As `debias`.
    MixedSettingsError
        Where the runs differ in settings that change answers; see `attune_bench.stats.comparability`.

    Warns
    -----
    UnreliableIntervalWarning
        As `debias`.
    UserWarning
        Where a family is so large that, with so few resamples, no corrected p-value can be below 0.05.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> scores = score(load("demo"), load_runs("demo"))
    >>> name = "avg_draft_judge_score"
    >>> people = scores.values.select("model", "unit", pl.col(name).alias("rating"))
    >>> found = debias_pairs(scores, people, metric=name).row(0, named=True)
    >>> found["model_a"], found["labels"], round(abs(found["corrected"] - found["judge"]), 9)
    ('synthetic/attentive', 40, 0.0)
    """
    frame = JudgedFrame(table, labels, metric, AnalysisOptions(**options))
    groups = frame.series.groups
    order = sorted_groups(table)
    if has_judges(table):  # the first model of a pair is the same for all judges
        first = list(dict.fromkeys(model for model, _ in order))
        order = sorted(order, key=lambda group: first.index(group[0]))
    pairs = [
        (a, b)
        for places in frame.series.by_condition().values()
        for a, b in combinations(sorted(places, key=lambda place: order.index(groups[place])), 2)
        if not np.isnan(frame.ratings[a] - frame.ratings[b]).all()
    ]
    check_within_conditions(table, [frame.metric], groups=[groups[place] for pair in pairs for place in pair])
    rows = []
    for a, b in pairs:
        differences = frame.scores[a] - frame.scores[b], frame.ratings[a] - frame.ratings[b]
        (model_a, condition), (model_b, _) = groups[a], groups[b]
        found = frame.row(*differences, f"{frame.name(model_a, condition)} minus {model_b}")
        rows.append({"model_a": model_a, "model_b": model_b, "condition": condition, **found})
    for models in dict.fromkeys((row["model_a"], row["model_b"]) for row in rows if has_judges(table)):
        own = [row for row in rows if (row["model_a"], row["model_b"]) == models]
        one, other = ([groups.index((model, row["condition"])) for row in own] for model in models)
        differences = frame.scores[one] - frame.scores[other], frame.ratings[one] - frame.ratings[other]
        names = dict(zip(("model_a", "model_b"), models, strict=True))
        rows += frame.together(names, own, *differences, " minus ".join(models))
    families = [family_of_pairs(table, row["condition"]) for row in rows]
    for row, p in zip(rows, map(nan_to_none, holm_by_family([row["p"] for row in rows], families)), strict=True):
        row |= {"p_holm": p, "significant": None if p is None else p < ALPHA}
    for family in dict.fromkeys(families):
        made = [row for row, of in zip(rows, families, strict=True) if of == family and row["p"] is not None]
        frame.warn_out_of_reach(made, family)
    return build_frame(JUDGED_PAIRS, rows)


class JudgedFrame:
    """Scores and ratings of one metric (groups, units), with what their resamples need."""

    def __init__(self, table: ScoreTable, labels: Source, metric: str | None, options: AnalysisOptions) -> None:
        held = labels if isinstance(labels, Labels) else read_labels(table, labels, metric=metric)
        self.metric: str = held.metric.name
        if metric is not None and metric != self.metric:
            raise MetricInputError(f"the ratings are of {self.metric}, and metric is {metric!r}")
        held.check_rated()
        self.table: ScoreTable = table
        self.options: AnalysisOptions = options
        self.series: ScoreSeries = ScoreSeries(table)
        self.draws: ResampleCache = ResampleCache(self.series, options)
        self.scores: Floats = self.series.values(self.metric)[:, 0]
        self.ratings: Floats = held.ratings

    def name(self, model: str, condition: str | None) -> str:
        """Return what messages call a series."""
        return model if condition is None or len(self.table.conditions) == 1 else f"{model} [{condition}]"

    def row(self, scores: Floats, ratings: Floats, name: str) -> dict[str, Any]:
        """Return the columns from ``metric`` on of scores and ratings (units,); without those corrected by Holm."""
        mask = ~np.isnan(scores)
        options = self.options
        with warnings.catch_warnings(record=True) as caught:  # said below, with the name
            warnings.simplefilter("always", UnreliableIntervalWarning)
            [found] = prediction_powered(
                scores[mask], ratings[mask], self.draws.of(mask), method=options.interval, level=options.level
            )
        return self._row(found, mask, ratings, name, [str(one.message) for one in caught])

    def together(
        self, names: dict[str, str], own: list[dict[str, Any]], scores: Floats, ratings: Floats, name: str
    ) -> list[dict[str, Any]]:
        """Return the row of a model, or a pair, corrected by several judges, whose rows get what each judge adds.

        Scores and ratings are of shape (judges, units). There is no row for one judge, nor where the ratings of a unit
        differ between judges.
        """
        rated = np.fmax.reduce(ratings, axis=0, initial=np.nan)
        if len(own) < 2 or not np.array_equal(rated, np.fmin.reduce(ratings, axis=0, initial=np.nan), equal_nan=True):
            return []
        mask: NDArray[np.bool_] = np.logical_or.reduce(~np.isnan(scores), axis=0)
        condition = f"all {len(own)} judges"
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UnreliableIntervalWarning)
            found = prediction_powered_panel(
                scores[:, mask], rated[mask], self.draws.of(mask), method=self.options.interval,
                level=self.options.level,
            )  # fmt: skip
        said = [str(one.message) for one in caught]
        combination, unit = found.combination, self.table.provenance.unit
        if combination.reason is None:
            mask[mask] = ~np.isnan(combination.scores)
            for judge, given, why in zip(own, scores, combination.left_out, strict=True):
                absent = int(np.isnan(given[mask]).sum())
                if why:
                    own_words = re.sub(r"\bunits?\b", lambda word: pluralize(unit) if word[0] == "units" else unit, why)
                    said.append(f"{judge['condition']} {own_words}, and is left out")
                elif absent:
                    units = plural(absent, unit)
                    said.append(f"{judge['condition']} has no score of {units}; each counts as the mean of this judge")
        for judge, weight, lost in zip(own, combination.weights, found.ratings_lost, strict=True):
            judge |= {"weight": nan_to_none(weight), "ratings_lost": nan_to_none(lost)}
        row = self._row(found.combined, mask, rated, self.name(name, condition), said)
        # The combination is of ratings already: its mean is no judge's.
        return [{**names, "condition": condition, **row, "judge": None, "judge_low": None, "judge_high": None}]

    def _row(
        self, found: PredictionPowered, mask: NDArray[np.bool_], ratings: Floats, name: str, said: Sequence[str]
    ) -> dict[str, Any]:
        notes = [*found.cautions, *(one for one in dict.fromkeys(said) if one != "; ".join(found.cautions))]
        if lost := int((~np.isnan(ratings[~mask])).sum()):
            notes.append(f"{plural(lost, 'rating')} without a judge's score left out")
        if notes:
            warnings.warn(f"{name}: {'; '.join(notes)}", UnreliableIntervalWarning, stacklevel=4)
        clusters, labelled = self.series.count(mask), self.series.count(mask & ~np.isnan(ratings))
        corrected = found.corrected
        low, high, reason = None, None, corrected.reason
        if not isnan(corrected.estimate):
            low, high, reason = interval_ends(corrected, labelled, self.table)
        ends = {
            f"{kind}{end}": value
            for kind, one, number in (("judge", found.judge, clusters), ("people", found.people, labelled))
            for end, value in zip(("_low", "_high"), interval_ends(one, number, self.table)[:2], strict=True)
        }
        given = low is not None
        return {
            "metric": self.metric, **ends,
            "judge": nan_to_none(found.judge.estimate), "people": nan_to_none(found.people.estimate),
            "corrected": nan_to_none(corrected.estimate), "low": low, "high": high,
            "slope": nan_to_none(found.slope), "correlation": nan_to_none(found.correlation),
            "n": found.judge.n, "labels": corrected.n, "clusters": clusters, "label_clusters": labelled,
            "equivalent_ratings": nan_to_none(found.equivalent_ratings) if given else None,
            "weight": None, "ratings_lost": None,
            "p": nan_to_none(found.p_value) if given else None, "p_min": nan_to_none(found.p_min) if given else None,
            "reason": reason, "note": "; ".join(notes) or None,
        }  # fmt: skip

    def warn_out_of_reach(self, rows: Sequence[Mapping[str, Any]], family: str) -> None:
        """Warn where no corrected p-value of a family, given its rows, can be below 0.05."""
        smallest = len(rows) * min((row["p_min"] for row in rows), default=0)
        if smallest < ALPHA:
            return
        by_clusters = self.options.draws_clusters(self.table)
        most = max(row["label_clusters" if by_clusters else "labels"] for row in rows)
        expanded = most if self.options.interval == "percentile-expanded" else None
        resamples = 1 + int(1 / symmetric_levels(1 - ALPHA / len(rows), expanded)[0])
        rated = plural(most, self.draws.drawn)
        limit, advice = f"{self.options.resamples} resamples are", f"use at least {resamples}"
        if self.options.resamples >= resamples:
            limit, advice = f"ratings of {rated} are", "more ratings would be needed"
        elif most < MIN_LABELS:
            # Resamples without two of them have no slope, and bound p-values however many are drawn.
            advice += f"; with ratings of {rated} these may be too few, too"
        warn_out_of_reach(limit, len(rows), family, smallest, advice, stacklevel=3)
