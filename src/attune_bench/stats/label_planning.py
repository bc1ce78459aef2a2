"""How many ratings an interval needs, and which judges a price should pay, from a pilot that people rated.

`attune_metrics.stats.power.labels_needed` and `attune_metrics.stats.panel_planning` have the formulas.
"""

import warnings
from collections.abc import Mapping
from math import isnan, nan, sqrt
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from typing_extensions import Unpack

from attune_bench.scores.columns import FrameColumn, build_frame, columns, text, whole
from attune_bench.scores.table import ScoreTable
from attune_bench.stats.debias import JudgedFrame, Source
from attune_bench.stats.labels import check_raters
from attune_bench.stats.options import AnalysisOptions, SamplingKeywords
from attune_data.text import joined, pluralize
from attune_metrics.metric import MetricInputError, UndefinedMetricWarning, nan_to_none
from attune_metrics.stats.judge_panels import MIN_CLUSTERS_RATED
from attune_metrics.stats.panel_planning import plan_panels
from attune_metrics.stats.power import labels_needed
from attune_metrics.stats.sums import Floats, clustered_standard_error

RATINGS_NEEDED = columns(
    "model condition metric width sd correlation design_effect pilot n labels reason",
    width=FrameColumn("Width of the interval that is wanted, from end to end.", low=0),
    sd=FrameColumn("Standard deviation of people's ratings (n - 1).", low=0),
    correlation=FrameColumn("Of judge and people.", low=-1, high=1),
    design_effect=FrameColumn(
        "By how much clusters raise the variance of the mean of what the judge leaves unexplained.", low=1
    ),
    pilot=whole("How many ratings the pilot has."),
    n="How many units the judge scored.",
    labels=whole("How many ratings are needed."),
)
PANELS = columns(
    "model metric judges ratings spent correlation design_effect width alone n",
    judges=text("The judges of the panel, with commas; empty for people alone."),
    ratings=whole("How many units people rate."),
    spent=FrameColumn("What the scores and the ratings cost.", low=0, shown="plain"),
    correlation=FrameColumn("Of people and of what the judges predict without their ratings.", low=0, high=1),
    design_effect=FrameColumn("By how much clusters raise the variance of what the judges leave unexplained.", low=1),
    width=FrameColumn("Expected width of the interval, from end to end.", low=0),
    alone=FrameColumn("Expected width for people alone, at the same price.", low=0),
    n=whole("How many units the judges score."),
)


def plan_labels(
    table: ScoreTable, labels: Source, *, width: float, metric: str | None = None, **options: Unpack[SamplingKeywords]
) -> pl.DataFrame:
    """Return for each model that a pilot rated how many ratings an interval of a width needs.

    Parameters
    ----------
    table, labels, metric, **options
        As for `attune_bench.stats.debias.debias`; the ratings are the pilot.
    width : float
        From the lower to the upper end of the interval, in the unit of the metric.

    Returns
    -------
    polars.DataFrame
        The columns `RATINGS_NEEDED`: of the pilot the ``sd`` of its ratings (n - 1), the ``correlation`` with the
        judge, the ``design_effect`` (of what the judge leaves unexplained: the variance of its mean over clusters, over
        the variance with independent units; at least 1) and its size, ``pilot``; ``n`` units with a score and the
        ``labels`` that are needed among them; ``reason`` where they cannot be computed, or no number of them is enough.

    Raises
    ------
    MetricInputError, SourceError
        As `attune_bench.stats.debias.debias`, and where the width is not above 0.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> scores, name = score(load("demo"), load_runs("demo")), "avg_draft_judge_score"
    >>> pilot = scores.values.select("model", "unit", pl.col("composite_score").alias("rating") / 100).head(30)
    >>> plan_labels(scores, pilot, width=0.08, metric=name).select("pilot", "n", "labels").rows()
    [(30, 40, 10)]
    """
    frame = JudgedFrame(table, labels, metric, AnalysisOptions(**options))
    rows = []
    for group in np.flatnonzero(~np.isnan(frame.ratings).all(axis=1)).tolist():
        mask = ~np.isnan(frame.scores[group])
        n, both = int(mask.sum()), mask & ~np.isnan(frame.ratings[group])
        spread, correlation, design_effect = _pilot(
            frame.scores[group][both], frame.ratings[group][both], frame.draws.labels(both)
        )
        needed, reason = None, None
        if isnan(correlation) or isnan(design_effect):
            reason = "the ratings or the judge's scores of the pilot do not vary, or are too few"
        else:
            try:
                needed = labels_needed(
                    width, spread=spread, correlation=correlation, units=n, design_effect=design_effect,
                    level=frame.options.level,
                )  # fmt: skip
            except MetricInputError as error:
                if "cannot be reached" not in str(error):
                    raise
                reason = str(error)
        rows.append(
            (*frame.series.groups[group], frame.metric, float(width), nan_to_none(spread), nan_to_none(correlation),
             nan_to_none(design_effect), int(both.sum()), n, needed, reason)
        )  # fmt: skip
    return build_frame(RATINGS_NEEDED, rows)


def _pilot(scores: Floats, ratings: Floats, clusters: NDArray[np.intp]) -> tuple[float, float, float]:
    """Return the spread of ratings, their correlation with the scores, and the design effect of the residuals."""
    labels = len(ratings)
    if labels < 3 or np.ptp(scores) == 0 or np.ptp(ratings) == 0:
        return float(ratings.std(ddof=1)) if labels > 1 else nan, nan, nan
    x, y = scores - scores.mean(), ratings - ratings.mean()
    # Not numpy's corrcoef: the last digit of a matrix product depends on the processor.
    correlation = min(max(float((x * y).sum()) / (sqrt(float((x * x).sum())) * sqrt(float((y * y).sum()))), -1.0), 1.0)
    residuals = y - correlation * ratings.std() / scores.std() * x
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        error = clustered_standard_error(residuals, clusters)
    alone = float(residuals.std(ddof=1)) / sqrt(labels)
    effect = max(1.0, (error / alone) ** 2) if alone > 0 else 1.0
    return float(ratings.std(ddof=1)), correlation, nan if isnan(error) else effect


def plan_judges(
    table: ScoreTable,
    labels: Source,
    *,
    price: float,
    rating_price: float,
    judge_prices: Mapping[str, float],
    scored: int | None = None,
    metric: str | None = None,
    **options: Unpack[SamplingKeywords],
) -> pl.DataFrame:
    """Return for each model which panels of judges give the shortest interval for a price.

    Parameters
    ----------
    table, labels, metric, **options
        As for `attune_bench.stats.debias.debias`; scores by judges (`attune_bench.stats.labels.rated_by`), and the
        ratings are the pilot.
    price : float
        What the scores and the ratings of one model may cost.
    rating_price : float
        What a rating of a unit by people costs.
    judge_prices : mapping of str to float
        What a judge's score of a unit costs; other judges are not used.
    scored : int, optional
        How many units the study has; by default those that a judge scored.

    Returns
    -------
    polars.DataFrame
        The columns `PANELS`: of each model people alone and every panel of up to three judges that the price pays for,
        the shortest interval first. `attune_metrics.stats.panel_planning` has the formulas.

    Raises
    ------
    MetricInputError, SourceError
        As `attune_bench.stats.debias.debias` and `attune_metrics.stats.panel_planning.plan_panels`, and where a judge
        is not in the scores.

    Warns
    -----
    UserWarning
        Where a judge gave all rated units the same score, so that no panel has it, or scored rated units of fewer than
        three clusters or with one rating, so that no panel has it alone.

    Examples
    --------
    >>> from attune_bench import Scores
    >>> from attune_bench.stats.labels import rated_by
    >>> rows = [(f"q{i}", "a", rater, i * 3 % 7) for i in range(60) for rater in ("gpt", "human")]
    >>> ratings = pl.DataFrame(rows, schema=["item", "model", "rater", "rating"], orient="row")
    >>> scores, labels = rated_by(Scores.from_table(ratings), "human")
    >>> found = plan_judges(scores, labels, price=40, rating_price=1, judge_prices={"gpt": 0.1})
    >>> found.select("judges", "ratings").rows()
    [('gpt', 34), ('', 40)]
    """
    check_raters(table, list(judge_prices))
    frame = JudgedFrame(table, labels, metric, AnalysisOptions(**options))
    everything = np.ones(len(frame.series.units), dtype=np.bool_)
    rows: list[dict[str, Any]] = []
    for model in table.models:
        places = {
            judge: frame.series.groups.index((model, judge))
            for judge in judge_prices
            if (model, judge) in frame.series.groups
        }
        ratings = np.fmax.reduce(frame.ratings[[*places.values()]], axis=0, initial=np.nan)
        if not places or np.isnan(ratings).all():
            continue
        try:
            found = plan_panels(
                frame.scores[[*places.values()]], ratings, frame.draws.labels(everything), price=price, units=scored,
                rating_price=rating_price, judge_prices=[judge_prices[judge] for judge in places],
                level=frame.options.level,
            )  # fmt: skip
        except MetricInputError as error:
            raise MetricInputError(f"{model}: {error}") from None
        names = [*places]
        units, why = pluralize(table.provenance.unit), {}
        for name, place in places.items():
            both = ~np.isnan(frame.scores[place] + ratings)
            if len(np.unique(frame.scores[place, both])) < 2:
                why[name] = f"fewer than two different scores of the rated {units}, in no panel"
            elif frame.series.count(both) < MIN_CLUSTERS_RATED or len(np.unique(ratings[both])) < 2:
                of = f"of fewer than {MIN_CLUSTERS_RATED} clusters, or with one rating"
                why[name] = f"scores of rated {units} {of}, in no panel without another judge"
        for said in dict.fromkeys(why.values()):
            same = joined([name for name, own in why.items() if own == said])
            warnings.warn(f"{model}: {same}: {said}", stacklevel=2)
        n = scored or int(np.logical_or.reduce(~np.isnan(frame.scores[[*places.values()]]), axis=0).sum())
        [alone] = [panel.width for panel in found if not panel.judges]
        for panel in found:
            judges = ", ".join(names[judge] for judge in panel.judges)
            given = {
                name: getattr(panel, name) for name in ("ratings", "spent", "correlation", "design_effect", "width")
            }
            rows.append({"model": model, "metric": frame.metric, "judges": judges, **given, "alone": alone, "n": n})
    return build_frame(PANELS, rows)
