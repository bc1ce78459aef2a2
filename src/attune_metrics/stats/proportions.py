"""Shares of trials that are independent and count one each: dialogues that succeed, answers that parse.

References
----------
.. [1] Wilson (1927), Probable inference, the law of succession, and statistical inference, J. Am. Stat. Assoc. 22,
   209-212.
.. [2] Clopper, Pearson (1934), The use of confidence or fiducial limits, Biometrika 26, 404-413.
.. [3] McNemar (1947), Note on the sampling error of the difference between correlated proportions, Psychometrika 12,
   153-157.
"""

from dataclasses import dataclass
from math import erfc, nan, sqrt
from statistics import NormalDist

from attune_metrics.checks import check_level, check_whole, warn_undefined
from attune_metrics.errors import MetricInputError
from attune_metrics.stats.resampling import Interval

__all__ = ["McNemarTest", "clopper_pearson_interval", "mcnemar_test", "wilson_interval"]


def wilson_interval(successes: int, trials: int, *, level: float = 0.95) -> Interval:
    """Score interval of a proportion [1]_: ``(p + z^2 / 2n -+ z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n)``.

    Parameters
    ----------
    successes, trials : int
        How many of how many.
    level : float
        Confidence level, between 0 and 1.

    Returns
    -------
    Interval
        Ends 0 to 1; nan, with the reason, without trials.

    Raises
    ------
    MetricInputError
        If there are more successes than trials, a number is negative or not whole, or the level is out of range.

    Examples
    --------
    >>> interval = wilson_interval(8, 10)
    >>> interval.estimate, round(interval.low, 4), round(interval.high, 4)
    (0.8, 0.4902, 0.9433)
    """
    _check(successes, trials)
    z = NormalDist().inv_cdf((1 + check_level(level)) / 2)
    if not trials:
        return _no_trials(level, "wilson")
    # Exact at 0 and 1, where centre and margin would cancel but for rounding.
    share = successes / trials
    centre = share + z * z / (2 * trials)
    margin = z * sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    low = (centre - margin) / (1 + z * z / trials) if successes else 0.0
    high = (centre + margin) / (1 + z * z / trials) if successes < trials else 1.0
    return Interval(share, low, high, level, "wilson", trials, trials)


def clopper_pearson_interval(successes: int, trials: int, *, level: float = 0.95) -> Interval:
    """Exact interval of a proportion [2]_, from quantiles of the beta distribution.

    ``low = B(tail; k, n - k + 1)`` and ``high = B(1 - tail; k + 1, n - k)`` with ``tail = (1 - level) / 2``; it
    covers at least `level`, and mostly more.

    Takes and raises what `wilson_interval` does.

    Returns
    -------
    Interval
        Ends 0 to 1; nan, with the reason, without trials.

    Examples
    --------
    >>> interval = clopper_pearson_interval(0, 10)
    >>> interval.low, round(interval.high, 4)
    (0.0, 0.3085)
    """
    from scipy.special import betaincinv

    _check(successes, trials)
    tail = (1 - check_level(level)) / 2
    if not trials:
        return _no_trials(level, "clopper-pearson")
    low = float(betaincinv(successes, trials - successes + 1, tail)) if successes else 0.0
    high = float(betaincinv(successes + 1, trials - successes, 1 - tail)) if successes < trials else 1.0
    return Interval(successes / trials, low, high, level, "clopper-pearson", trials, trials)


def _check(successes: object, trials: object) -> None:
    if check_whole(successes, "successes", 0) > check_whole(trials, "trials", 0):
        raise MetricInputError(f"{successes} successes in {trials} trials; is the order successes, trials?")


def _no_trials(level: float, method: str) -> Interval:
    return Interval(nan, nan, nan, level, method, 0, 0, "no trials")


@dataclass(frozen=True, slots=True)
class McNemarTest:
    """McNemar's chi-square with one degree of freedom and its p-value."""

    chi_square: float
    p_value: float


def mcnemar_test(only_a: int, only_b: int) -> McNemarTest:
    """Test whether two models succeed equally often on the same trials [3]_.

    ``chi2 = (only_a - only_b)^2 / (only_a + only_b)``, without continuity correction.

    Parameters
    ----------
    only_a, only_b : int
        Trials in which only the one or only the other succeeded; those where both or neither did do not matter.

    Returns
    -------
    McNemarTest
        ``chi_square`` from 0, ``p_value`` 0 to 1, two-sided; nan, with a warning, if the models never differ.

    Raises
    ------
    MetricInputError
        If a number is negative or not a whole number.

    Examples
    --------
    >>> test = mcnemar_test(121, 59)
    >>> round(test.chi_square, 4), f"{test.p_value:.1e}"
    (21.3556, '3.8e-06')
    """
    differ = check_whole(only_a, "only_a", 0) + check_whole(only_b, "only_b", 0)
    if not differ:
        warn_undefined("mcnemar_test", "the models never differ")
        return McNemarTest(nan, nan)
    chi_square = (only_a - only_b) ** 2 / differ
    return McNemarTest(chi_square, erfc(sqrt(chi_square / 2)))
