"""Credit of turns on the tokens of conversations, for trainers of any library."""

from collections.abc import Sequence

import numpy as np

from attune_metrics.metric import MetricInputError
from attune_metrics.stats.sums import Floats
from attune_metrics.turn_credit import turn_advantages


def token_advantages(
    advantages: Sequence[float],
    rewards: Sequence[Sequence[float]],
    turns: Sequence[Sequence[int]],
    length: int,
    *,
    alpha: float = 15.0,
    centered: bool = True,
) -> Floats:
    """Spread the advantages of turns over the tokens of rollouts.

    Parameters
    ----------
    advantages : sequence of float, shape (rollouts,)
        From `attune_metrics.turn_credit.trace_advantages`.
    rewards : sequence of sequence of float
        Of each rollout, the process reward of each turn.
    turns : sequence of sequence of int
        Of each rollout, the turn of each token, from 0; -1 for a token that the model did not say.
    length : int
        How many tokens a row has, with padding.
    alpha, centered
        As for `attune_metrics.turn_credit.turn_advantages`.

    Returns
    -------
    array of float, shape (rollouts, length)
        0 for tokens of nobody's turn and padding.

    Raises
    ------
    MetricInputError
        If a token is of a turn without a reward, or the parts do not fit.
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
