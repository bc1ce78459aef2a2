"""Which judges, and how many ratings by people, give the shortest interval for a price.

A study has N units. A panel of judges scores all of them, people rate a random part, and the mean is corrected by
`attune_metrics.stats.judge_panels`. What the judges leave of the price pays for ratings:

    n = (price - N x price of a unit's scores by the panel) / price of a rating

The expected width of the interval is that of `attune_metrics.stats.power.corrected_width`, with the correlation of the
panel and people. A pilot gives it: units with scores by all judges, and people's ratings of a part. The panel is fitted
to the pilot by cross-fitting, so that its r^2, ``1 - var(h - f) / var(h)``, is of ratings that it was not fitted to:
many judges do not look good only because they are many. r^2 is of a panel fitted to as few ratings as the pilot has;
with more ratings a panel is better than that. No judge at all, people alone, is one of the choices.

The best of many panels is partly best by chance: its width is expected too short, most in a small pilot.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import fsum, inf, isnan, sqrt
from warnings import catch_warnings, simplefilter

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attune_metrics.metric import MetricInputError, UndefinedMetricWarning, check_level, check_number, check_whole
from attune_metrics.stats.judge_panels import combine_judges
from attune_metrics.stats.power import corrected_width
from attune_metrics.stats.sums import Floats, as_floats, check_array, clustered_standard_error

MOST_JUDGES = 3
"""The judges of the largest panel."""


@dataclass(frozen=True, slots=True)
class PlannedPanel:
    """A panel, and the interval that a price pays for.

    Attributes
    ----------
    judges : tuple of int
        Rows of the scores; empty for people alone.
    ratings : int
        How many units people rate, at most all.
    spent : float
        What scores and ratings cost.
    correlation : float
        Of people and of what the panel predicts without their ratings, from the pilot, 0 to 1.
    design_effect : float
        By how much clusters raise the variance of the mean of what the panel leaves unexplained; at least 1.
    width : float
        Expected, from end to end of the interval, in the unit of the ratings.
    """

    judges: tuple[int, ...]
    ratings: int
    spent: float
    correlation: float
    design_effect: float
    width: float


def plan_panels(
    judged: ArrayLike,
    rated: ArrayLike,
    clusters: ArrayLike,
    *,
    price: float,
    rating_price: float,
    judge_prices: Sequence[float],
    units: int | None = None,
    level: float = 0.95,
) -> list[PlannedPanel]:
    """Return people alone and every panel of up to three judges that the price pays for, the shortest interval first.

    Parameters
    ----------
    judged : array of float, shape (judges, units)
        The pilot's scores, nan where there is none.
    rated : array of float, shape (units,)
        The pilot's ratings by people, nan where nobody rated.
    clusters : array of int, shape (units,)
        The number of each unit's cluster.
    price : float
        What the study may cost, above 0.
    rating_price : float
        What a person's rating of a unit costs, above 0.
    judge_prices : sequence of float
        What each judge's score of a unit costs, at least 0.
    units : int, optional
        N, the units of the study; by default those of the pilot that a judge scored.
    level : float
        Of the interval, between 0 and 1.

    Returns
    -------
    list of PlannedPanel
        With equal widths, the cheaper first. Left out are panels that leave fewer than two ratings, panels with a judge
        that gives all rated units the same score, and panels whose judges scored rated units of fewer than three
        clusters or with one rating.

    Raises
    ------
    MetricInputError
        If shapes differ, a number is out of range, the pilot has ratings in fewer than three clusters or all ratings
        are equal, or the price does not pay two ratings.

    Examples
    --------
    A good judge is worth its price where a score costs a hundredth of a rating, but not at half of it:

    >>> generator = np.random.default_rng(1)
    >>> people = generator.normal(size=200)
    >>> good, useless = people + 0.5 * generator.normal(size=200), generator.normal(size=200)
    >>> pilot = [good, useless], np.where(np.arange(200) < 60, people, np.nan), range(200)
    >>> prices = {"price": 100.0, "rating_price": 1.0}
    >>> [panel.judges for panel in plan_panels(*pilot, judge_prices=[0.01, 0.01], **prices)]
    [(0,), (0, 1), (), (1,)]
    >>> plan_panels(*pilot, judge_prices=[0.45, 0.01], **prices)[0].judges
    ()
    """
    scores, ratings = check_array(judged, "judged", "judges", "units"), as_floats(rated, "rated")
    costs = [check_number(cost, "judge_prices", 0, inf) for cost in judge_prices]
    if len(costs) != len(scores):
        raise MetricInputError(f"{len(costs)} judge_prices for {len(scores)} judges; give each judge a price")
    total, each = check_number(price, "price", 0, inf), check_number(rating_price, "rating_price", 0, inf)
    for value, name in ((total, "price"), (each, "rating_price")):
        if value == 0:
            raise MetricInputError(f"{name} is 0; expected a number above 0")
    index = np.asarray(clusters, dtype=np.intp)
    check_level(level)
    scored = np.logical_or.reduce(~np.isnan(scores), axis=0)
    ratings = np.where(scored, ratings, np.nan)
    n = int(scored.sum()) if units is None else check_whole(units, "units", 2)
    if total < 2 * each:
        raise MetricInputError(
            f"price {price:g} does not pay two ratings of {rating_price:g} each; it has to be higher"
        )
    given = ~np.isnan(ratings)
    scores, ratings, index = scores[:, given], ratings[given], index[given]
    if len(np.unique(index)) < 3 or np.ptp(ratings) == 0:
        raise MetricInputError("the ratings of the pilot are equal, or of fewer than 3 clusters; rate more units")
    spread = float(ratings.std(ddof=1))
    everyone = range(len(scores))
    found = []
    for size in range(min(MOST_JUDGES, len(scores)) + 1):
        for judges in combinations(everyone, size):
            of_scores = n * fsum(costs[judge] for judge in judges)
            # What floating point takes from a price that pays a whole number of ratings.
            affordable = min(n, int((total - of_scores) / each * (1 + 1e-12)))
            if affordable < 2:
                continue
            left = ratings - float(ratings.mean())
            if judges:
                combined = combine_judges(scores[list(judges)], ratings, index)
                scored_ratings = ratings[~np.isnan(combined.scores)]
                if combined.reason or any(combined.left_out) or np.ptp(scored_ratings) == 0:
                    continue
                left = ratings - combined.scores
            correlation, effect = _pilot(left, ratings, index)
            width = corrected_width(
                affordable, spread=spread, correlation=correlation, units=n, design_effect=effect, level=level
            )
            found.append(PlannedPanel(judges, affordable, of_scores + affordable * each, correlation, effect, width))
    return sorted(found, key=lambda panel: (panel.width, panel.spent, panel.judges))


def _pilot(left: Floats, ratings: Floats, clusters: NDArray[np.intp]) -> tuple[float, float]:
    """Return the correlation that leaves so much of the ratings unexplained, and the design effect of what is left."""
    rated = ~np.isnan(left)
    residuals, labels = left[rated], clusters[rated]
    spread = float(residuals.std(ddof=1))
    share = (spread / float(ratings[rated].std(ddof=1))) ** 2
    with catch_warnings():
        simplefilter("ignore", UndefinedMetricWarning)
        error = clustered_standard_error(residuals, labels)
    alone = spread / sqrt(len(residuals))
    effect = max(1.0, (error / alone) ** 2) if alone > 0 and not isnan(error) else 1.0
    return sqrt(max(0.0, 1 - share)), effect
