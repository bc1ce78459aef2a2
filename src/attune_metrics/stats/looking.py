"""When two models are compared while the data come in: at one of several planned looks, or at any time.

`attune_metrics.stats.looks` has the bounds of planned looks.

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
"""

from dataclasses import dataclass
from functools import cache
from math import erfc, exp, inf, log, log1p, sqrt

from attune_metrics.metric import MetricInputError
from attune_metrics.stats.looks import check_look, critical_values, p_over_looks

TUNED_FOR = 50
"""With so many clusters the interval at any time is narrowest, compared with other choices of g."""

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

        # NormalDist().cdf has few digits this far out, and none at the first of 20 looks.
        nominal = erfc(float(critical_values(self.looks, level=level)[self.look - 1]) / sqrt(2)) / 2
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
