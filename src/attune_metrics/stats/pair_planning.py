"""Which pairs of models to judge next, so that their order is decided with few comparisons.

Comparisons say most about two models of nearly equal strength, and the order of such two is the last one to be known.
So the pairs to judge are those that differ least beside their standard error. Of models that no chain of wins joins,
they are the last of one group and the first of the next. `attune_metrics.stats.pairwise` has the model and its
conventions.
"""

from collections.abc import Sequence
from math import inf, nan
from typing import NamedTuple

import numpy as np

from attune_metrics.metric import MetricInputError, check_level, check_number, check_whole
from attune_metrics.stats.pairwise import ComparisonFit
from attune_metrics.stats.sums import Floats


class NextPair(NamedTuple):
    """Two models that comparisons so far do not put in an order.

    Attributes
    ----------
    first, second : str or int
        The models, the stronger one so far first.
    difference, low, high : float
        The difference of their strengths with its interval; nan, minus infinity and infinity where they are of
        different groups, or one of them has no comparison.
    """

    first: str | int
    second: str | int
    difference: float
    low: float
    high: float


def next_pairs(
    fit: ComparisonFit,
    *,
    models: Sequence[str | int] | None = None,
    n: int = 10,
    level: float = 0.95,
    smallest_difference: float = 0.0,
) -> list[NextPair]:
    """Return the pairs of models to judge next, the least decided ones first; none where the order is decided.

    Two models are decided where the interval of their difference is above 0, or where it is below
    `smallest_difference`: they are as good as equal. The standard error is the larger one of that from the influence of
    clusters, which knows that comparisons of a cluster are alike, and that of independent comparisons, which knows how
    little a few say. Student's t has as many degrees of freedom as there are clusters, less 1.

    Parameters
    ----------
    fit : ComparisonFit
        The comparisons so far. With a penalty a model that only won, or only lost, is decided after enough comparisons;
        without one it never is.
    models : sequence of str or int, optional
        Only pairs with one of these, such as models that are new on a board. One without a comparison is to meet the
        model in the middle, which halves the order.
    n : int
        At most so many pairs, from 1.
    level : float
        Confidence level of each interval alone, between 0 and 1.
    smallest_difference : float
        The smallest difference of strengths that matters, from 0.

    Returns
    -------
    list of NextPair
        Judge each on some units that it has not been judged on, fit all comparisons again, and ask again. Pass over
        pairs that have been judged on all units.

    Raises
    ------
    MetricInputError
        If an option is out of range, `models` is empty, or a fit has no model to meet.

    Notes
    -----
    Each interval has its level alone, for one look: of many models, or of an order that is looked at after every few
    comparisons, more than 5% of pairs can be in the wrong order. benchmarks/pair_planning.py measures it.

    Examples
    --------
    >>> from attune_metrics.stats.pairwise import fit_comparisons
    >>> left, right = ["ada", "ada", "bob"] * 20, ["bob", "eve", "eve"] * 20
    >>> outcome = [1, 1, 1, 0, 1, 1, 1, 1, 0, 0, 1, 1] * 5  # Ada wins half against Bob, both beat Eve.
    >>> fit = fit_comparisons(left, right, outcome, clusters=range(60))
    >>> [(pair.first, pair.second) for pair in next_pairs(fit)]
    [('ada', 'bob')]
    >>> next_pairs(fit, models=["new"])[0][:2]
    ('new', 'bob')
    """
    check_whole(n, "n", 1)
    check_level(level)
    smallest = check_number(smallest_difference, "smallest_difference", 0, inf)
    chosen = None if models is None else [*models]
    order = np.lexsort((-fit.strengths, fit.groups)).tolist()
    if chosen == [] or not order:
        raise MetricInputError("models is empty" if order else "the fit has no models")
    middle = fit.labels[order[len(order) // 2]]
    pairs = [(0.0, NextPair(label, middle, nan, -inf, inf)) for label in chosen or () if label not in fit.labels]
    reach = _quantile(len(fit.clusters), level)
    for place, one in enumerate(order[:-1]):
        errors = _errors(fit, one)
        for other in order[place + 1 :]:
            pair = fit.labels[one], fit.labels[other]
            if chosen is not None and {*pair}.isdisjoint(chosen):
                continue
            difference, error = float(fit.strengths[one] - fit.strengths[other]), float(errors[other])
            low, high = difference - reach * error, difference + reach * error
            if np.isnan(error):
                if other == order[place + 1]:  # the next group
                    pairs.append((0.0, NextPair(*pair, nan, -inf, inf)))
            elif low <= 0 and not high < smallest:
                pairs.append((difference / error, NextPair(*pair, difference, low, high)))
    return [pair for _, pair in sorted(pairs, key=lambda found: found[0])[:n]]


def _errors(fit: ComparisonFit, one: int) -> Floats:
    """Return the standard error of the difference of a model from each (models,), nan where they share no scale."""
    variance = fit.covariance[one, one] + fit.covariance.diagonal() - 2 * fit.covariance[one]
    size = len(fit.clusters)
    moved = fit.influence[:, [one]] - fit.influence
    clustered = size / max(size - 1, 1) * (moved * moved).sum(axis=0)
    errors: Floats = np.sqrt(np.maximum(variance, clustered))
    return errors


def _quantile(clusters: int, level: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(clusters - 1, (1 + level) / 2)) if clusters > 1 else inf
