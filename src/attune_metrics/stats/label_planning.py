"""How many units people have to rate, where a judge scores all of them.

References
----------
.. [1] Cochran (1977), Sampling Techniques, 3rd ed., section 12.7: regression estimators in double sampling.
.. [2] Kish (1965), Survey Sampling, section 8.2: the design effect.
"""

from bisect import bisect_left
from math import inf, sqrt

from attune_metrics.checks import check_level, check_number, check_whole
from attune_metrics.errors import MetricInputError

__all__ = ["labels_needed"]


def labels_needed(
    width: float,
    *,
    spread: float,
    correlation: float,
    units: int,
    design_effect: float = 1.0,
    level: float = 0.95,
) -> int:
    """Compute how many units people have to rate for an interval of a width, from a pilot or a guess [1]_.

    Write a rating as its regression on the judge, ``h = a + b j + e``. The corrected mean of n ratings among N units is
    then ``a + b (mean of j over all) + (mean of e over the rated)``: the judge's part varies with all N units, the rest
    with the n rated ones. As ``var(b j) = r^2 var(h)`` and ``var(e) = (1 - r^2) var(h)`` its variance is ::

        var(h) (1 - r^2) / n + r^2 var(h) / N

    times the design effect. The corrected mean is that of `attune_metrics.stats.prediction_powered`. The width is twice
    the quantile of Student's t with n - 1 degrees of freedom times the root. That b is estimated is left out: with n
    ratings it adds about one part in n to the variance.

    Parameters
    ----------
    width : float
        From the lower to the upper end, in the unit of the ratings; above 0.
    spread : float
        Standard deviation of the ratings, above 0.
    correlation : float
        Of scores and ratings, -1 to 1; 0 where there is no judge.
    units : int
        N, the units that the judge scored, at least 2.
    design_effect : float
        How many times the variance of independent units that of clustered ones is; 1 without clusters. Of m units in
        each cluster with the intraclass correlation c it is ``1 + (m - 1) c`` [2]_.
    level : float
        Confidence level, between 0 and 1.

    Returns
    -------
    int
        The smallest n from 2 to N; fewer is cheaper. Below 30, rate 30 all the same: fewer make an interval unreliable.

    Raises
    ------
    MetricInputError
        If a number is out of range, or not even ratings of all units would give so narrow an interval; the text says
        how narrow that would be.

    Examples
    --------
    >>> labels_needed(0.1, spread=0.2, correlation=0.8, units=500)
    27
    >>> labels_needed(0.1, spread=0.2, correlation=0, units=500)
    64
    """
    for value, name in ((width, "width"), (spread, "spread"), (design_effect, "design_effect")):
        if check_number(value, name, 0, inf) == 0:
            raise MetricInputError(f"{name} is 0; expected a number above 0")
    shared = check_number(correlation, "correlation", -1, 1) ** 2
    most = check_whole(units, "units", 2)
    tail = (1 + check_level(level)) / 2

    def reached(labels: int) -> float:
        from scipy.special import stdtrit

        variance = design_effect * spread**2 * ((1 - shared) / labels + shared / most)
        return 2 * float(stdtrit(labels - 1, tail)) * sqrt(variance)

    if (least := reached(most)) > width:
        raise MetricInputError(
            f"width {width:g} cannot be reached: with ratings of all {most:,} units the interval is {least:.3g} wide; "
            "more units, or a wider interval, are needed"
        )
    # The width falls with every label.
    return 2 + bisect_left(range(2, most), True, key=lambda labels: reached(labels) <= width)
