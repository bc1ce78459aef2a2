"""The Pareto front of two aims: a score that should be high, and a cost that should be low.

References
----------
.. [1] Kung, Luccio, Preparata (1975), On finding the maxima of a set of vectors, J. ACM 22(4).
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attune_metrics.metric import MetricInputError


def pareto_front(scores: ArrayLike, costs: ArrayLike) -> NDArray[np.bool_]:
    """Tell which models no other model beats on both score and cost.

    One model beats another if its score is at least as high and its cost is at most as high, and one of the two is
    strictly better. Models that are equal in both do not beat each other.

    Parameters
    ----------
    scores : array of float, shape (..., models)
        Higher is better; any finite unit.
    costs : array of float, shape (..., models)
        Lower is better; any finite unit.

    Returns
    -------
    array of bool, shape (..., models)
        True for the models of the front. Every row with a model has at least one.

    Raises
    ------
    MetricInputError
        If the shapes differ, there is no axis of models, or a number is not finite.

    Examples
    --------
    The third model scores less than the second and costs more:

    >>> pareto_front([0.5, 0.8, 0.7, 0.9], [1, 2, 3, 9]).tolist()
    [True, True, False, True]
    """
    of, at = np.asarray(scores, dtype=np.float64), np.asarray(costs, dtype=np.float64)
    if of.shape != at.shape or not of.ndim:
        raise MetricInputError(f"scores have the shape {of.shape} and costs {at.shape}; expected one cost a score")
    for name, values in (("scores", of), ("costs", at)):
        if not np.isfinite(values).all():
            raise MetricInputError(f"{name} have a value that is not finite; leave out models without a {name[:-1]}")
    # In the order of cost, and at one cost of falling score, a model is beaten by an earlier one that scores more, or
    # as much at a lower cost.
    order = np.lexsort((-of, at), axis=-1)
    score, cost = np.take_along_axis(of, order, -1), np.take_along_axis(at, order, -1)
    best = np.maximum.accumulate(score, axis=-1)
    before = np.concatenate([np.full_like(best[..., :1], -np.inf), best[..., :-1]], axis=-1)
    same = np.zeros_like(score, dtype=np.bool_)
    same[..., 1:] = (score[..., 1:] == score[..., :-1]) & (cost[..., 1:] == cost[..., :-1])
    on = score > before
    for place in range(1, on.shape[-1]):  # equal models share what the first of them is
        on[..., place] |= same[..., place] & on[..., place - 1]
    front = np.empty_like(on)
    np.put_along_axis(front, order, on, axis=-1)
    return front
