"""Tiers: a ranking cut where a model can be told apart from the best of those before it.

Conventions
-----------
A tier begins with its best model and goes on down the ranking, to the last model before the first that is told apart
from that best one. The rest begins the next tier. Members of a tier need not be equal: two of them may be told apart
from each other, and one may not be told apart from models of the next tier, which `tier_spans` shows. So tiers never
contradict the order of the values, and a model of whom little is known does not come to stand above better ones.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attune_metrics.errors import MetricInputError

__all__ = ["tier_spans", "tiers"]


def tiers(apart: ArrayLike) -> NDArray[np.intp]:
    """Cut a ranking into tiers.

    Parameters
    ----------
    apart : array of bool, shape (models, models)
        Whether two models are told apart, the best model first; symmetric, False on the diagonal.

    Returns
    -------
    array of int, shape (models,)
        The tier of each model, 1 for the best.

    Raises
    ------
    MetricInputError
        If the array is not such a matrix.

    Examples
    --------
    The first is told apart from the third, the second from neither.

    >>> tiers([[False, False, True], [False, False, False], [True, False, False]]).tolist()
    [1, 1, 2]
    """
    matrix = _matrix(apart)
    found = np.empty(len(matrix), dtype=np.intp)
    best, tier = 0, 1
    for place, row in enumerate(matrix):
        if row[best]:
            best, tier = place, tier + 1
        found[place] = tier
    return found


def tier_spans(apart: ArrayLike) -> NDArray[np.intp]:
    """Say for each model among which tiers the models are that it cannot be told apart from.

    Parameters
    ----------
    apart : array of bool, shape (models, models)
        As for `tiers`.

    Returns
    -------
    array of int, shape (models, 2)
        The first and the last tier with such a model; its own is between them, as it is not told apart from itself.

    Raises
    ------
    MetricInputError
        As `tiers`.

    Examples
    --------
    >>> tier_spans([[False, False, True], [False, False, False], [True, False, False]]).tolist()
    [[1, 1], [1, 2], [1, 2]]
    """
    matrix, of_model = _matrix(apart), tiers(apart)
    ends = [(of_model[~row].min(), of_model[~row].max()) for row in matrix]
    return np.array(ends, dtype=np.intp).reshape(-1, 2)


def _matrix(apart: ArrayLike) -> NDArray[np.bool_]:
    matrix = np.asarray(apart)
    if matrix.size == 0:
        return np.zeros((0, 0), dtype=np.bool_)
    if matrix.dtype != np.bool_ or matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise MetricInputError(f"apart has shape {matrix.shape} of {matrix.dtype}; expected booleans (models, models)")
    for first, second in np.argwhere(matrix != matrix.T)[:1].tolist():
        raise MetricInputError(
            f"apart[{first}, {second}] differs from apart[{second}, {first}]; is half of it missing?"
        )
    for place in np.flatnonzero(np.diagonal(matrix))[:1].tolist():
        raise MetricInputError(f"apart[{place}, {place}] is True; no model is told apart from itself")
    return matrix
