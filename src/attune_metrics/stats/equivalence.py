"""Two models that are practically the same: whether their difference is smaller than one that matters.

A test of no difference cannot show this: that two models do not differ significantly may only mean that the data are
few. Two one-sided tests can [1]_: that the difference is above -margin, and that it is below +margin. Both reject at
alpha where the 1 - 2 alpha interval of the difference lies within +-margin [2]_. The margin is the smallest difference
of interest, chosen before the data are seen and for reasons outside of them.

References
----------
.. [1] Schuirmann (1987), A comparison of the two one-sided tests procedure and the power approach for assessing the
   equivalence of average bioavailability, J. Pharmacokinet. Biopharm. 15, 657-680.
.. [2] Lakens (2017), Equivalence tests: A practical primer for t tests, correlations, and meta-analyses, Soc. Psychol.
   Personal. Sci. 8, 355-362.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from typing import Literal

from numpy.typing import ArrayLike

from attune_metrics.metric import MetricInputError, check_number, check_positive
from attune_metrics.stats.bootstrap import Method, Resamples, mean_of_sums
from attune_metrics.stats.comparison import (
    Pairs,
    PermutationTest,
    bootstrap_of_pairs,
    distribution_of_pairs,
    in_turn,
    permutation_test_of_pairs,
)
from attune_metrics.stats.power import p_of_ends
from attune_metrics.stats.sums import Floats, Statistic

Verdict = Literal["different", "practically the same", "undecided"]


@dataclass(frozen=True, slots=True)
class Equivalence:
    """A difference, whether it is within a margin and whether it is there at all.

    Attributes
    ----------
    difference, low, high : float
        The difference with the ends of its 1 - 2 alpha interval, in the unit of the values; nan where undefined.
    margin, alpha : float
        The smallest difference of interest, in the unit of the values, and the level of each test.
    p_same : float
        The smallest alpha at which the 1 - 2 alpha interval lies within +-margin, 0 to 1; nan without an interval.
    p_different : float
        Two-sided p-value of `attune_metrics.stats.comparison.paired_permutation_test`; nan without a test.
    verdict : {"different", "practically the same", "undecided"}
        As `verdict` says.
    n, clusters : int
        Units that both sides have, and clusters with such a unit.
    reason : str or None
        Why there is no interval.
    """

    difference: float
    low: float
    high: float
    margin: float
    alpha: float
    p_same: float
    p_different: float
    verdict: Verdict
    n: int
    clusters: int
    reason: str | None = None


def verdict(p_same: float, p_different: float, *, alpha: float = 0.05) -> Verdict:
    """Say what both tests together show.

    ``practically the same`` where ``p_same <= alpha``, otherwise ``different`` where ``p_different < alpha``, otherwise
    ``undecided``. A difference can be certain and yet too small to matter: it is then ``practically the same``, since
    the question is whether the models differ by as much as the margin, and the tests have answered it.

    Parameters
    ----------
    p_same, p_different : float
        0 to 1, corrected for the size of their family or not; nan is a test that could not be made, and shows nothing.
    alpha : float
        Level of both tests, above 0 and below 0.5.

    Returns
    -------
    {"different", "practically the same", "undecided"}

    Raises
    ------
    MetricInputError
        If alpha is out of range.

    Examples
    --------
    >>> verdict(0.01, 0.4), verdict(0.3, 0.01), verdict(0.3, 0.4), verdict(0.01, 0.01)
    ('practically the same', 'different', 'undecided', 'practically the same')
    """
    _check_alpha(alpha)
    if p_same <= alpha:
        return "practically the same"
    return "different" if p_different < alpha else "undecided"


def check_margin(value: object) -> float:
    """Return the margin `value`, a finite number above 0.

    Raises
    ------
    MetricInputError
        If it is not.

    Examples
    --------
    >>> check_margin(2)
    2.0
    """
    return check_positive(value, "margin", "give the smallest difference that matters, in the unit of the values")


def _check_alpha(value: object) -> float:
    alpha = check_number(value, "alpha", 0, 1)
    if not 0 < alpha < 0.5:
        raise MetricInputError(f"alpha {value} is not above 0 and below 0.5; 0.05 is usual")
    return alpha


def equivalence(
    a: ArrayLike,
    b: ArrayLike,
    resamples: Resamples,
    *,
    margin: float,
    alpha: float = 0.05,
    statistic: Statistic = mean_of_sums,
    method: Method = "percentile-expanded",
    n_permutations: int = 9_999,
    seed: int = 0,
) -> list[Equivalence]:
    """Test for each pair of series whether `a` and `b` are practically the same, and whether they differ.

    ``p_same`` is the larger of two one-sided p-values [1]_, [2]_: of that alpha at which the lower end of the 1 - 2
    alpha interval of `paired_bootstrap` reaches -margin, and of that at which the upper end reaches +margin. Each is
    read off the bootstrap distribution by the levels that the method gives its ends
    (`attune_metrics.stats.power`). It is never below the alpha of the level 1 / (1 + resamples), as more
    resamples could have reached the margin.

    Parameters
    ----------
    a, b, resamples, statistic, method
        As for `attune_metrics.stats.comparison.paired_bootstrap`.
    margin : float
        The smallest difference of interest, in the unit of the values: finite and above 0.
    alpha : float
        Level of each test, above 0 and below 0.5.
    n_permutations, seed
        Of `attune_metrics.stats.comparison.paired_permutation_test`.

    Returns
    -------
    list of Equivalence
        One for each pair of series. Sides that are equal in every cluster are practically the same for certain:
        ``p_same`` 0, ``p_different`` 1. Without an interval ``p_same`` is nan, and ``reason`` says why.

    Raises
    ------
    MetricInputError
        As `paired_bootstrap` and `paired_permutation_test`, and if the margin or alpha is out of range.

    Notes
    -----
    How often models that differ by exactly the margin are called the same at 0.05, simulated with the default interval
    (100,000 data sets each, standard error 0.1 points or less; docs/intervals.md): with 25 clusters and more of equal
    size in 5.0 to 5.2% with 2,000 resamples and in 5.0 to 5.1% with 10,000; with 10 in 5.0 to 5.3%; where one cluster
    has 30% of the units in 5.2 to 6.0%. Where few far differences decide a mean, they err in up to 20%:
    `attune_metrics.stats.sums.skewness_of_mean` tells.

    Examples
    --------
    >>> from attune_metrics.stats.bootstrap import draw_resamples
    >>> a, b = [3, 5, 2, 4, 4, 1, 5, 3], [3, 5, 1, 4, 4, 2, 5, 3]
    >>> resamples = draw_resamples(range(8), seed=1)
    >>> for margin in (1, 0.2):
    ...     [found] = equivalence(a, b, resamples, margin=margin)
    ...     print(found.difference, round(found.p_same, 3), found.p_different, found.verdict)
    0.0 0.005 1.0 practically the same
    0.0 0.174 1.0 undecided
    """
    pairs = in_turn(a, b, resamples.clusters)
    tests = permutation_test_of_pairs(pairs, statistic=statistic, n_permutations=n_permutations, seed=seed)
    return equivalence_of_pairs(pairs, resamples, tests, margin=margin, alpha=alpha, statistic=statistic, method=method)


def equivalence_of_pairs(
    pairs: Pairs,
    resamples: Resamples,
    tests: Sequence[PermutationTest],
    *,
    margin: float,
    alpha: float = 0.05,
    statistic: Statistic = mean_of_sums,
    method: Method = "percentile-expanded",
    distribution: Floats | None = None,
) -> list[Equivalence]:
    """Compute `equivalence` of pairs of series from their permutation tests.

    Parameters
    ----------
    pairs : Pairs
        The pairs.
    tests : sequence of PermutationTest
        From `attune_metrics.stats.comparison.permutation_test_of_pairs`, one for each pair.
    resamples, margin, alpha, statistic, method
        As for `equivalence`.
    distribution : array of float, shape (pairs, resamples), optional
        What `distribution_of_pairs` gives, where it is known already.

    Returns
    -------
    list of Equivalence
        One for each pair, as from `equivalence`.

    Raises
    ------
    MetricInputError
        As `equivalence`.

    Examples
    --------
    >>> from attune_metrics.stats.bootstrap import draw_resamples
    >>> pairs = Pairs([[3, 5, 2, 4], [3, 5, 2, 4], [1, 5, 0, 2]], [(0, 1), (0, 2)], range(4))
    >>> tests = permutation_test_of_pairs(pairs)
    >>> found = equivalence_of_pairs(pairs, draw_resamples(range(4)), tests, margin=1)
    >>> [(one.p_same, one.verdict) for one in found][0]
    (0.0, 'practically the same')
    >>> round(found[1].p_same, 2), found[1].verdict
    (0.87, 'undecided')
    """
    margin, alpha = check_margin(margin), _check_alpha(alpha)
    if distribution is None:
        distribution = distribution_of_pairs(pairs, resamples, statistic=statistic)
    intervals = bootstrap_of_pairs(
        pairs, resamples, statistic=statistic, method=method, level=1 - 2 * alpha, distribution=distribution
    )
    left_out = pairs.left_out(statistic) if method == "bca" else None
    _, sizes = pairs.observed(statistic)
    found = []
    for place, (interval, test, largest) in enumerate(zip(intervals, tests, sizes.tolist(), strict=True)):
        p_same = nan
        if interval.reason is None and not test.differing:
            p_same = 0.0
        elif interval.reason is None:
            without = None if left_out is None else left_out[pairs.units[:, place] > 0, place]
            ends = p_of_ends(distribution[place], -margin, margin, interval, method, without, largest=largest)
            p_same = max(ends)
        found.append(
            Equivalence(
                interval.estimate, interval.low, interval.high, margin, alpha, p_same, test.p_value,
                verdict(p_same, test.p_value, alpha=alpha), interval.n, interval.clusters, interval.reason,
            )
        )  # fmt: skip
    return found
