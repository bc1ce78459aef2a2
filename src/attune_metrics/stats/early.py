"""A comparison while its data come in: the difference of two models at a planned look, or at any time.

At a look, the difference d of a statistic has the standard error SE of the jackknife of clusters, and ``t = d / SE``
has Student's distribution with the `attune_metrics.stats.sums.effective_freedom` of the clusters, once Hall's cubic
[5]_ takes out the skewness s of what each of n clusters adds: ``t + s (u^2 / 3 + 1 / 6) / sqrt(n) + s^2 u^3 / 27 n``
with u the t, but at most 3 and at least -3. Ends of intervals are moved back by the inverse. The p-value is at
least ``2 / 2^k`` with k clusters in which the models differ, which exchanges of the models could give at the least.
`attune_metrics.stats.looks` corrects it for planned looks.

At any time, with G clusters and ``r = g / (g + G)``, the likelihood ratio of the t-test with a normal prior of the
effect ([1]_, [2]_):

    e = sqrt(r) ((1 + t^2 / (G - 1)) / (1 + r t^2 / (G - 1)))^(G / 2)

reaches 1 / alpha, for normal differences without an effect, with a probability of at most alpha, however often one
looks. The interval of all effects with ``e < 1 / alpha`` is ``d -+ SE sqrt((G - 1) (1 - b) / (b - r))`` with
``b = (r alpha^2)^(1 / G)``. For many clusters it is the asymptotic confidence sequence of [3]_, which has the two-sided
normal mixture boundary of [4]_. g is the number with which the 95% sequence of [3]_ is narrowest at 50 clusters.
Clusters of unequal size have their degrees of freedom in place of G - 1.

References
----------
.. [1] Lai (1976), On confidence sequences, Ann. Stat. 4, 265-280.
.. [2] Lindon, Ham, Tingley, Bojinov (2022), Anytime-valid linear models and regression adjusted causal inference in
   randomized experiments, arXiv:2210.08589.
.. [3] Waudby-Smith, Arbour, Sinha, Kennedy, Ramdas (2024), Time-uniform central limit theory and asymptotic confidence
   sequences, Ann. Stat. 52, 2613-2640.
.. [4] Howard, Ramdas, McAuliffe, Sekhon (2021), Time-uniform, nonparametric, nonasymptotic confidence sequences,
   Ann. Stat. 49, 1055-1080, equation 14.
.. [5] Hall (1992), On the removal of skewness by transformation, J. R. Stat. Soc. B 54, 221-228.
"""

from dataclasses import dataclass
from functools import cache
from math import copysign, exp, inf, isnan, log, log1p, nan, sqrt
from statistics import NormalDist

from attune_metrics.metric import MetricInputError, check_level
from attune_metrics.stats.bootstrap import NO_VARIATION, mean_of_sums
from attune_metrics.stats.comparison import Pairs
from attune_metrics.stats.looks import check_look, critical_values, p_over_looks
from attune_metrics.stats.power import MDE_MIN_CLUSTERS
from attune_metrics.stats.sums import (
    ROUNDING,
    Floats,
    Statistic,
    coefficient_of_variation,
    effective_freedom,
    jackknife_error,
)

TUNED_FOR = 50
"""With so many clusters the interval at any time is narrowest, compared with other choices of g."""

MIN_DIFFERING = 6
"""Where the models are equal in a cluster, and differ in fewer than this, there is no interval: exchanges of the models
in so few clusters cannot give p below 0.05."""

_FAR = 3
"""Hall's cubic moves a t beyond this as far as it moves this one: it is an expansion about 0, and too steep far out."""

_PRIOR = TUNED_FOR / 8.211968062  # g: y = G / g is narrowest where log((1 + y) / 0.05^2) = y


def _anytime_factor(freedom: float, level: float) -> float:
    """Return how many standard errors the interval at any time reaches; infinite where nothing could be found."""
    clusters = freedom + 1
    ratio = _PRIOR / (_PRIOR + clusters)
    bound = (ratio * (1 - level) ** 2) ** (1 / clusters)
    return sqrt((clusters - 1) * (1 - bound) / (bound - ratio)) if bound > ratio else inf


def _anytime_p(t: float, freedom: float) -> float:
    """Return 1 / e, at most 1."""
    ratio, square = _PRIOR / (_PRIOR + freedom + 1), t * t / freedom
    return min(1.0, exp(-(log(ratio) + (freedom + 1) * (log1p(square) - log1p(ratio * square))) / 2))


@dataclass(frozen=True, slots=True)
class Looking:
    """When a comparison is made: at one of several planned looks, or at any time.

    Attributes
    ----------
    look, looks : int, optional
        The number of the look, from 1, and how many are planned, at most 20; None at any time.

    Raises
    ------
    MetricInputError
        If one of them is out of its range, or given alone.

    Examples
    --------
    >>> str(Looking(2, 4)), str(Looking())
    ('2 of 4', 'any')
    """

    look: int | None = None
    looks: int | None = None

    def __post_init__(self) -> None:
        if (self.look is None) != (self.looks is None):
            raise MetricInputError("give both the number of planned looks and which look this is, or neither")
        if self.look is not None:
            check_look(self.look, self.looks)

    def __str__(self) -> str:
        return "any" if self.look is None else f"{self.look} of {self.looks}"

    def factor(self, freedom: float, level: float = 0.95) -> float:
        """Return how many standard errors the interval reaches to either side, with degrees of freedom above 0.

        Infinite at any time with so few clusters that no difference could be found.

        Examples
        --------
        >>> [round(Looking().factor(clusters - 1), 2) for clusters in (5, 10, 25, 50, 200)]
        [inf, 6.13, 3.41, 3.17, 3.16]
        """
        if self.look is None or self.looks is None:
            return _anytime_factor(freedom, level)
        from scipy.special import stdtrit

        nominal = NormalDist().cdf(-float(critical_values(self.looks, level=level)[self.look - 1]))
        return -float(stdtrit(freedom, nominal))

    def p(self, t: float, freedom: float, differing: int) -> float:
        """Return the p-value over all looks of t, with a number of clusters in which the models differ.

        Examples
        --------
        >>> round(Looking().p(Looking().factor(24), 24, 25), 6), round(Looking(4, 4).p(2.2, 24, 25), 4)
        (0.05, 0.0436)
        """
        least = self.p_min(differing)
        if self.look is None or self.looks is None:
            return max(least, _anytime_p(t, freedom))
        from scipy.special import stdtr

        return max(least, p_over_looks(min(1.0, 2 * float(stdtr(freedom, -abs(t)))), self.look, self.looks))

    def p_min(self, differing: int) -> float:
        """Return the smallest p-value over all looks that is given with so many clusters that differ."""
        return _p_min(differing, self.look, self.looks)


@cache
def _p_min(differing: int, look: int | None, looks: int | None) -> float:
    alone = min(1.0, 2.0 ** (1 - differing))
    return alone if look is None or looks is None else p_over_looks(alone, look, looks)


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
        Why there is no interval.
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
    >>> a, b = [5, 4, 3, 4, 5, 4, 3, 5], [4, 1, 1, 2, 4, 1, 1, 3]
    >>> [found] = early_differences(Pairs([a, b], [(0, 1)], range(8)), Looking(2, 4))
    >>> found.difference, round(found.low, 2), round(found.high, 2), round(found.p_value, 3)
    (2.0, 0.89, 3.11, 0.071)
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
        elif isnan(difference) or isnan(error := jackknife_error(own)):
            reason = "all values are in one cluster" if size == 1 else "the difference is undefined without a cluster"
        elif error <= ROUNDING * most:
            reason = NO_VARIATION
            if abs(difference) > ROUNDING * most:
                p = p_min = looking.p_min(differing)
        else:
            freedom = effective_freedom(size, coefficient_of_variation(units))
            shape = _skewness((own.mean() - own) / units[units > 0], units[units > 0]), size
            t, p_min = _straightened(difference / error, *shape), looking.p_min(differing)
            p, reach = looking.p(t, freedom, differing), looking.factor(freedom, level)
            if differing < min(MIN_DIFFERING, size):
                reason = f"the models differ in fewer than {MIN_DIFFERING} clusters"
            elif reach < inf:
                low, high = (difference - error * _skewed(side * reach, *shape) for side in (1, -1))
            else:
                reason = "so few clusters decide nothing at any time"
            if size >= MDE_MIN_CLUSTERS and p_min < 0.05 and reach < inf:
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
