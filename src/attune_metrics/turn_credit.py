"""Turn credit: how much each turn of a conversation is reinforced in training.

Conventions
-----------
GRPO samples several traces (conversations) of one prompt, its group, and compares their rewards: every turn of a trace
gets the same advantage. CTC-GRPO [1]_ adds what the turn itself changed, centred within its trace, so that credit moves
between turns and the trace's mean stays. Groups and traces may be of any size. Drop padding and empty responses first.

References
----------
.. [1] EIBench, arXiv:2606.15532, and its released training.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attune_metrics.metric import MetricInputError, check_number
from attune_metrics.stats.sums import Floats, check_array

_EPSILON = 1e-6  # of the definition: added to the floor, it changes the sixth digit


def process_rewards(anger_changes: ArrayLike, trust_changes: ArrayLike) -> Floats:
    """Reward each turn for what it changed: ``(trust change - anger change) / 200``.

    Parameters
    ----------
    anger_changes, trust_changes : array of float, shape (turns,)
        State after the turn minus state before, that is after clamping to 0-100; 0 where the turn could not be judged.

    Returns
    -------
    array of float, shape (turns,)
        -0.1 to 0.1 for changes of up to 10, higher is better.

    Raises
    ------
    MetricInputError
        If a change is not a number from -100 to 100 or the two differ in length.

    Examples
    --------
    >>> process_rewards([-2, 3, 0], [1, -4, 0])
    array([ 0.015, -0.035,  0.   ])
    """
    anger = _check_finite(anger_changes, "anger_changes", "turns", most=100)
    trust = _check_finite(trust_changes, "trust_changes", "turns", most=100)
    if len(anger) != len(trust):
        raise MetricInputError(f"{len(anger)} changes of anger, {len(trust)} of trust")
    rewards: Floats = (trust - anger) / 200
    return rewards


def trace_advantages(rewards: ArrayLike, groups: ArrayLike, *, sigma_floor: float = 0.1) -> Floats:
    """Compare each trace with the others of its prompt: ``(reward - mean) / (max(std, sigma_floor) + 1e-6)``.

    Mean and standard deviation (of n - 1) are taken over the group. The floor keeps small differences of rewards from
    becoming large advantages. For a trace alone in its group, the mean is 0 and the standard deviation 1.

    Parameters
    ----------
    rewards : array of float, shape (traces,)
        One for each trace.
    groups : array of int or str, shape (traces,)
        The prompt of each trace, in any order.
    sigma_floor : float
        From 0, which sets none.

    Returns
    -------
    array of float, shape (traces,)
        Unbounded, higher is better; each group of two and more has mean 0.

    Raises
    ------
    MetricInputError
        If a reward is not a finite number, groups and rewards differ in number, or the floor is negative.

    Examples
    --------
    >>> trace_advantages([0.10, 0.14, 0.12, 0.12], [7, 7, 7, 7]).round(4) + 0.0
    array([-0.2,  0.2,  0. ,  0. ])
    """
    values = _check_finite(rewards, "rewards", "traces")
    labels = np.asarray(groups)
    if labels.shape != values.shape or (labels.dtype.kind not in "iuUS" and labels.size):
        raise MetricInputError(
            f"groups are {labels.dtype} of shape {labels.shape}; expected int or str of shape {values.shape}"
        )
    floor = check_number(sigma_floor, "sigma_floor", 0, np.inf)
    names, group = np.unique(labels, return_inverse=True)
    size = np.bincount(group, minlength=len(names))
    alone = size == 1
    mean = np.where(alone, 0.0, np.bincount(group, values) / size)
    centred = values - mean[group]
    std = np.where(alone, 1.0, np.sqrt(np.bincount(group, centred**2) / np.maximum(size - 1, 1)))
    advantages: Floats = centred / (np.maximum(std, floor) + _EPSILON)[group]
    return advantages


def turn_advantages(
    advantages: ArrayLike, rewards: ArrayLike, traces: ArrayLike, *, alpha: float = 15.0, centered: bool = True
) -> Floats:
    """Give each turn its trace's advantage and its own credit: ``advantage + alpha * (reward - mean over the trace)``.

    Parameters
    ----------
    advantages : array of float, shape (traces,)
        From `trace_advantages`.
    rewards : array of float, shape (turns,)
        From `process_rewards`.
    traces : array of int, shape (turns,)
        The trace of each turn, as its place in `advantages`; turns in any order.
    alpha : float
        Weight of the credit, from 0. The default fits rewards of -0.1 to 0.1.
    centered : bool
        Whether the mean is subtracted; without, traces that got better all along gain as a whole.

    Returns
    -------
    array of float, shape (turns,)
        Unbounded, higher is better; with centring the mean over a trace's turns is its advantage. A trace of one turn
        gets no credit, centred or not.

    Raises
    ------
    MetricInputError
        If a number is not finite, `traces` does not fit, or `alpha` is negative.

    Examples
    --------
    >>> turn_advantages([-0.2, 0.2], [0.1, 0.015, -0.035, 0], [0, 1, 1, 1]).round(3)
    array([-0.2  ,  0.525, -0.225,  0.3  ])
    """
    whole = _check_finite(advantages, "advantages", "traces")
    values = _check_finite(rewards, "rewards", "turns")
    trace = np.asarray(traces, dtype=None if np.size(traces) else np.intp)
    if trace.shape != values.shape or trace.dtype.kind not in "iu":
        raise MetricInputError(f"traces are {trace.dtype} of shape {trace.shape}; expected int of shape {values.shape}")
    if trace.size and not (trace.min() >= 0 and trace.max() < len(whole)):
        wrong = trace[(trace < 0) | (trace >= len(whole))][0]
        raise MetricInputError(f"trace {wrong} of {len(whole)}; traces count from 0")
    weight = check_number(alpha, "alpha", 0, np.inf)
    turns = np.bincount(trace, minlength=len(whole))
    if centered:
        credit = values - (np.bincount(trace, values, minlength=len(whole)) / np.maximum(turns, 1))[trace]
    else:
        credit = values * (turns > 1)[trace]
    result: Floats = whole[trace] + weight * credit
    return result


def token_advantages(
    advantages: Sequence[float],
    rewards: Sequence[Sequence[float]],
    turns: Sequence[Sequence[int]],
    length: int,
    *,
    alpha: float = 15.0,
    centered: bool = True,
) -> Floats:
    """Give each token of rollouts the advantage of its turn.

    Parameters
    ----------
    advantages : sequence of float, shape (rollouts,)
        From `trace_advantages`.
    rewards : sequence of sequence of float
        The process reward of each turn of each rollout.
    turns : sequence of sequence of int
        The turn of each token of each rollout, from 0; -1 for a token that the model did not say.
    length : int
        Tokens in a row, padding included.
    alpha, centered
        As for `turn_advantages`.

    Returns
    -------
    array of float, shape (rollouts, length)
        0 for tokens that the model did not say and for padding.

    Raises
    ------
    MetricInputError
        If a token is of a turn without a reward, or the parts do not fit.

    Examples
    --------
    The model says two tokens in its first turn and one in its second; between them stands a token of the person:

    >>> token_advantages([0.2], [[0.1, -0.1]], [[0, 0, -1, 1]], 5)
    array([[ 1.7,  1.7,  0. , -1.3,  0. ]])
    """
    places = [place for place, own in enumerate(rewards) for _ in own]
    flat = turn_advantages(advantages, [one for own in rewards for one in own], places, alpha=alpha, centered=centered)
    found = np.zeros((len(rewards), length))
    start = 0
    for row, (own, of_tokens) in enumerate(zip(rewards, turns, strict=True)):
        turn = np.asarray(of_tokens, dtype=np.intp)
        if turn.size and turn.max() >= len(own):
            raise MetricInputError(f"rollout {row} has a token of turn {turn.max()}, but rewards of {len(own)} turns")
        said = np.flatnonzero(turn >= 0)
        found[row, said] = flat[start + turn[said]]
        start += len(own)
    return found


def _check_finite(value: ArrayLike, name: str, shape: str, most: float = np.inf) -> Floats:
    array = check_array(value, name, shape)
    bad: NDArray[np.bool_] = ~(np.isfinite(array) & (np.abs(array) <= most))
    if bad.any():
        place = int(bad.argmax())
        reach = "" if most == np.inf else f" from {-most:g} to {most:g}"
        raise MetricInputError(f"{name}[{place}] is {array[place]}; expected a finite number{reach}")
    return array
