"""Rank correlation: how far two lists agree on the order of things.

Conventions
-----------
Equal values share the mean of their ranks. The functions named ``*_rows`` take many pairs of lists at once, a row each.

Statistics
----------
- Spearman's rho [1]_.
- Kendall's tau-b [2]_.

References
----------
.. [1] Spearman (1904), The proof and measurement of association between two things, Am. J. Psychol. 15, 72-101.
.. [2] Kendall (1945), The treatment of ties in ranking problems, Biometrika 33, 239-251.
"""

import numpy as np
from numpy.typing import ArrayLike

from attune_metrics.checks import defined
from attune_metrics.stats.arrays import Floats, average_ranks, check_array, check_same_shape, ratio

__all__ = ["kendall_tau_b", "kendall_tau_b_rows", "spearman_rho", "spearman_rho_rows"]

_UNDEFINED = "it needs values that differ on each side, and none missing"


def spearman_rho(reference: ArrayLike, predicted: ArrayLike) -> float:
    """Spearman's rank correlation: Pearson's correlation of the ranks, ties sharing their mean rank.

    Parameters
    ----------
    reference, predicted : array_like, shape (n,)
        Numbers on any scale; only their order matters.

    Returns
    -------
    float
        -1 to 1, higher is better, 0 is no association. nan, with `UndefinedMetricWarning`, if one side is constant or
        has a missing value.

    Raises
    ------
    MetricInputError
        If a value is not a number or the lengths differ.

    Examples
    --------
    >>> round(spearman_rho([1, 2, 3, 4, 5], [5, 6, 7, 8, 7]), 4)
    0.8208
    """
    rho = spearman_rho_rows(*_rows_of_one(reference, predicted))[0]
    return defined(float(rho), "spearman_rho", _UNDEFINED)


def kendall_tau_b(reference: ArrayLike, predicted: ArrayLike) -> float:
    """Kendall's tau-b: ``(concordant - discordant) / sqrt(untied in reference * untied in predicted)`` over all pairs.

    Takes and raises what `spearman_rho` does.

    Returns
    -------
    float
        -1 to 1, higher is better, 0 is no association. nan, with `UndefinedMetricWarning`, if one side is constant or
        has a missing value.

    Notes
    -----
    `pairwise_kendall_tau` is another statistic: it ranks responses by wins and breaks ties by name.

    Examples
    --------
    >>> round(kendall_tau_b([12, 2, 1, 12, 2], [1, 4, 7, 1, 0]), 4)
    -0.4714
    """
    tau = kendall_tau_b_rows(*_rows_of_one(reference, predicted))[0]
    return defined(float(tau), "kendall_tau_b", _UNDEFINED)


def spearman_rho_rows(reference: ArrayLike, predicted: ArrayLike) -> Floats:
    """Spearman's rho of each row of `reference` with the same row of `predicted`; see `spearman_rho`.

    Parameters
    ----------
    reference, predicted : array_like, shape (rows, n)

    Returns
    -------
    array, shape (rows,)
        nan, without a warning, for a row where one side is constant or has a missing value.

    Raises
    ------
    MetricInputError
        If a value is not a number or the shapes differ.

    Examples
    --------
    >>> spearman_rho_rows([[1, 2, 3], [1, 2, 3]], [[2, 4, 6], [9, 5, 1]]).tolist()
    [1.0, -1.0]
    """
    x, y = (ranks - (ranks.shape[-1] + 1) / 2 for ranks in _ranks_of_both(reference, predicted))
    return ratio((x * y).sum(axis=-1), np.sqrt((x * x).sum(axis=-1) * (y * y).sum(axis=-1)))


def kendall_tau_b_rows(reference: ArrayLike, predicted: ArrayLike) -> Floats:
    """Kendall's tau-b of each row of `reference` with the same row of `predicted`; see `kendall_tau_b`.

    Takes, returns and raises what `spearman_rho_rows` does.

    Notes
    -----
    Time grows with the square of the length of a row, memory does not.

    Examples
    --------
    >>> kendall_tau_b_rows([[1, 2, 3], [1, 2, 3]], [[2, 4, 6], [9, 5, 1]]).tolist()
    [1.0, -1.0]
    """
    x, y = _ranks_of_both(reference, predicted)
    balance, untied_x, untied_y = np.zeros((3, len(x)))
    for lag in range(1, x.shape[1]):
        up_x, up_y = (np.sign(ranks[:, lag:] - ranks[:, :-lag]) for ranks in (x, y))
        balance += (up_x * up_y).sum(axis=-1)
        untied_x += np.abs(up_x).sum(axis=-1)
        untied_y += np.abs(up_y).sum(axis=-1)
    return ratio(balance, np.sqrt(untied_x * untied_y))


def _rows_of_one(reference: ArrayLike, predicted: ArrayLike) -> tuple[Floats, Floats]:
    truth = check_array(reference, "reference", "n")
    guess = check_array(predicted, "predicted", "n")
    check_same_shape(truth, guess)
    return truth[np.newaxis], guess[np.newaxis]


def _ranks_of_both(reference: ArrayLike, predicted: ArrayLike) -> tuple[Floats, Floats]:
    truth = check_array(reference, "reference", "rows", "n")
    guess = check_array(predicted, "predicted", "rows", "n")
    check_same_shape(truth, guess)
    return average_ranks(truth), average_ranks(guess)
