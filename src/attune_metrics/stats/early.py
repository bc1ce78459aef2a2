"""A comparison while its data come in: the difference of two models at a planned look, or at any time.

At a look, the difference d of a statistic has the standard error SE of the jackknife of clusters, and ``t = d / SE``
has Student's distribution with the `attune_metrics.stats.sums.effective_freedom` of the clusters, once Hall's cubic
[1]_ takes out the skewness s of what each of n clusters adds: ``t + s (u^2 / 3 + 1 / 6) / sqrt(n) + s^2 u^3 / 27 n``
with u the t, but at most 3 and at least -3. Ends of intervals are moved back by the inverse. Of t and what the cubic
makes of it the one nearer 0 counts, and of two ends the farther one: the skewness is an estimate, and whoever rules out
less than t errs no more often than t. The p-value is at
least ``2 / 2^k`` with k clusters in which the models differ, which exchanges of the models could give at the least.
Fewer than `attune_metrics.stats.looks.MIN_CLUSTERS_OF_LOOK` clusters decide nothing.
`attune_metrics.stats.looking` has what holds over all looks.

References
----------
.. [1] Hall (1992), On the removal of skewness by transformation, J. R. Stat. Soc. B 54, 221-228.
"""

from dataclasses import dataclass
from math import copysign, inf, isnan, nan, sqrt

from attune_metrics.metric import check_level
from attune_metrics.stats.bootstrap import NO_VARIATION, mean_of_sums
from attune_metrics.stats.comparison import Pairs
from attune_metrics.stats.looking import Looking
from attune_metrics.stats.looks import MIN_CLUSTERS_OF_LOOK
from attune_metrics.stats.sums import (
    ROUNDING,
    Floats,
    Statistic,
    coefficient_of_variation,
    effective_freedom,
    jackknife_error,
)

MIN_DIFFERING = 6
"""Where the models are equal in a cluster, and differ in fewer than this, there is no interval: exchanges of the models
in so few clusters cannot give p below 0.05."""

_FAR = 3
"""Hall's cubic moves a t beyond this as far as it moves this one: it is an expansion about 0, and too steep far out."""


@dataclass(frozen=True, slots=True)
class EarlyDifference:
    """A difference at a look.

    Attributes
    ----------
    first, second, difference : float
        The statistic of both models, and the former minus the latter; nan where undefined.
    low, high : float
        The ends of the interval that holds at all looks together; nan where there is none.
    p_value, p_min : float
        Over all looks, and the smallest that so many clusters that differ give; nan where undefined.
    clusters, differing : int
        Clusters with a value of both models, and those in which the models differ.
    mde : float
        The smallest true difference that this look alone finds with 80% power; nan where none could be found.
    reason : str, optional
        Why there is no interval, or neither an interval nor a p-value.
    """

    first: float
    second: float
    difference: float
    low: float
    high: float
    p_value: float
    p_min: float
    clusters: int
    differing: int
    mde: float
    reason: str | None = None


def early_differences(
    pairs: Pairs, looking: Looking, *, statistic: Statistic = mean_of_sums, level: float = 0.95
) -> list[EarlyDifference]:
    """Compare two models, for each of `pairs`, at a look.

    Parameters
    ----------
    pairs : Pairs
        The values of both models on the same units, with the clusters of the units.
    looking : Looking
        Which look this is.
    statistic : callable
        As of `attune_metrics.stats.bootstrap.bootstrap`.
    level : float
        With which the intervals of all looks together cover the difference; between 0 and 1.

    Returns
    -------
    list of EarlyDifference
        One for each pair. Models that are equal in every cluster differ by 0 for certain, with p 1.

    Raises
    ------
    MetricInputError
        If the level is out of range.

    Examples
    --------
    >>> from attune_metrics.stats.looking import Looking
    >>> a, b = [5, 4, 3, 4, 5, 4, 3, 5, 4, 5, 3, 4], [4, 1, 1, 2, 4, 1, 1, 3, 2, 4, 1, 1]
    >>> [found] = early_differences(Pairs([a, b], [(0, 1)], range(12)), Looking(2, 4))
    >>> round(found.difference, 2), round(found.low, 2), round(found.high, 2), round(found.p_value, 3)
    (2.0, 1.23, 2.77, 0.015)
    """
    check_level(level)
    estimates = pairs.estimates(statistic)
    differences, largest = pairs.observed(statistic)
    moved = pairs.left_out(statistic) - differences
    found = []
    for place, (difference, most) in enumerate(zip(differences.tolist(), largest.tolist(), strict=True)):
        units = pairs.units[:, place]
        own, differing = moved[units > 0, place], int(pairs.differ[:, place].sum())
        both = float(estimates[pairs.first[place]]), float(estimates[pairs.second[place]])
        size, reason = len(own), None
        low = high = p = p_min = mde = nan
        if not size:
            reason = "no unit has a value"
        elif differing == 0 and difference == 0:
            low, high, p, p_min = 0.0, 0.0, 1.0, 1.0
        elif size < MIN_CLUSTERS_OF_LOOK:
            reason = f"fewer than {MIN_CLUSTERS_OF_LOOK} clusters"
        elif isnan(difference) or isnan(error := jackknife_error(own)):
            reason = "the difference is undefined without a cluster"
        elif error <= ROUNDING * most:
            reason = NO_VARIATION
            if abs(difference) > ROUNDING * most:
                p = p_min = looking.p_min(differing)
        else:
            freedom = effective_freedom(size, coefficient_of_variation(units))
            shape = _skewness((own.mean() - own) / units[units > 0], units[units > 0]), size
            t, p_min = difference / error, looking.p_min(differing)
            straight = _straightened(t, *shape)
            t = min(t, straight, key=abs) if t * straight > 0 else 0.0
            p, reach = looking.p(t, freedom, differing), looking.factor(freedom, level)
            if differing < MIN_DIFFERING:
                reason = f"the models differ in fewer than {MIN_DIFFERING} clusters"
            elif reach < inf:
                low = difference - error * max(reach, _skewed(reach, *shape))
                high = difference - error * min(-reach, _skewed(-reach, *shape))
            else:
                reason = "so few clusters decide nothing at any time"
            if p_min < 0.05 and reach < inf:
                mde = _detectable(looking, freedom) * error
        found.append(EarlyDifference(*both, difference, low, high, p, p_min, size, differing, mde, reason))
    return found


def _skewness(moved: Floats, sizes: Floats) -> float:
    """Return the skewness of what clusters add to a difference, from how far a unit of each moves it.

    Where sizes are unequal, the skewness of units times sizes would be decided by the largest cluster.
    """
    centred = moved - moved.mean()
    spread = sqrt(float((centred**2).mean()))
    of_units = float((centred**3).mean()) / spread**3 if spread > 0 else 0.0
    return of_units * float((sizes**3).mean() / (sizes**2).mean() ** 1.5)


def _straightened(t: float, skewness: float, clusters: int) -> float:
    """Return t of skewed differences as it would be without skewness."""
    near = min(max(t, -_FAR), _FAR)
    return t + (skewness * (near**2 / 3 + 1 / 6) + skewness**2 * near**3 / 27 / sqrt(clusters)) / sqrt(clusters)


def _skewed(t: float, skewness: float, clusters: int) -> float:
    """Return the t that `_straightened` makes the given one."""
    for end in (-_FAR, _FAR):
        beyond = t - _straightened(end, skewness, clusters)
        if beyond * end >= 0:
            return end + beyond
    if abs(skewness) <= ROUNDING:
        return t
    w = t / sqrt(clusters) - skewness / (6 * clusters)
    cube = 1 + skewness * w
    return sqrt(clusters) * 3 / skewness * (copysign(abs(cube) ** (1 / 3), cube) - 1)


def _detectable(looking: Looking, freedom: float) -> float:
    from scipy.special import stdtrit

    return looking.factor(freedom) + float(stdtrit(freedom, 0.8))
