"""How long until a series is back: runs of bad values, falls of a state, and the share back within some places.

A conversation that ends before the series is back does not say when it would have been. Such an end is censored: it
counts as long as it is observed [1]_. Where the person leaves, the series can never come back: this is no censoring but
an end of its own, and counts against coming back [2]_.

References
----------
.. [1] Kaplan, Meier (1958), Nonparametric estimation from incomplete observations, J. Am. Stat. Assoc. 53, 457-481.
.. [2] Aalen, Johansen (1978), An empirical transition matrix for non-homogeneous Markov chains based on censored
   observations, Scand. J. Stat. 5, 141-150.
"""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from attune_metrics.metric import check_whole
from attune_metrics.stats.sums import Floats

End = Literal["back", "left", "censored"]


class Wait(NamedTuple):
    """How many places were observed after something went wrong, and how the wait ended."""

    places: int
    end: End


def waits_of_runs(bad: Sequence[bool]) -> list[Wait]:
    """Return the wait of each run of bad values, from its first value to the next good one.

    Examples
    --------
    A run of two that ends, and one that the end of the series cuts off after one more bad value:

    >>> waits_of_runs([True, True, False, True, True])
    [Wait(places=2, end='back'), Wait(places=1, end='censored')]
    """
    found: list[Wait] = []
    begun = None
    for place, one in enumerate(bad):
        if one and begun is None:
            begun = place
        elif not one and begun is not None:
            found.append(Wait(place - begun, "back"))
            begun = None
    return found if begun is None else [*found, Wait(len(bad) - 1 - begun, "censored")]


def waits_of_falls(states: Sequence[float], *, left: bool = False) -> list[Wait]:
    """Return the wait of each fall of a state, from the first worse state to one as good as before the fall.

    Parameters
    ----------
    states : sequence of float
        In order, higher is better; the first is the state at the start.
    left : bool
        Whether the person ended the series: a state that is not back then never will be.

    Returns
    -------
    list of Wait
        Falls within the wait of another fall belong to it.

    Examples
    --------
    >>> waits_of_falls([50, 40, 45, 55, 30], left=True)
    [Wait(places=2, end='back'), Wait(places=1, end='left')]
    """
    found: list[Wait] = []
    fallen: tuple[int, float] | None = None
    for place in range(1, len(states)):
        if fallen is not None and states[place] >= fallen[1]:
            found.append(Wait(place - fallen[0], "back"))
            fallen = None
        elif fallen is None and states[place] < states[place - 1]:
            fallen = place, states[place - 1]
    if fallen is None:
        return found
    watched = len(states) - 1 - fallen[0]
    return [*found, Wait(watched + 1, "left") if left else Wait(watched, "censored")]


def wait_terms(waits: Iterable[Wait], within: int) -> Floats:
    """Return what `share_back` sums of one unit: for each place back, left, and still waited for.

    Parameters
    ----------
    waits : iterable of Wait
        The waits of a unit, such as a conversation.
    within : int
        How many places count.

    Returns
    -------
    array of float, shape (3 * within,)
        Counts.

    Examples
    --------
    >>> wait_terms([Wait(1, "back"), Wait(1, "censored")], 2).tolist()
    [1.0, 0.0, 2.0, 0.0, 0.0, 0.0]
    """
    check_whole(within, "within", 1)
    terms = np.zeros((within, 3))
    for places, end in waits:
        terms[:places, 2] += 1
        if end != "censored" and 0 < places <= within:
            terms[places - 1, 0 if end == "back" else 1] += 1
    return terms.reshape(-1)


def share_back(sums: Floats, _: Floats) -> Floats:
    """Compute the share that is back within the places that the terms have: a statistic for `bootstrap`.

    With b_j back, l_j left and n_j still waited for at place j, the share is the sum of ``S_j b_j / n_j``, where
    ``S_j`` is the product of ``1 - (b_i + l_i) / n_i`` over the places before.

    Parameters
    ----------
    sums : array of float, shape (..., 3 * within)
        Sums of `wait_terms`.

    Returns
    -------
    array of float, shape (...)
        0 to 1; nan where nobody was observed so long, unless all waits had ended before.

    Examples
    --------
    Two waits: one was back after a place, one was censored after it, so that nothing is known of the second place:

    >>> terms = wait_terms([Wait(1, "back"), Wait(1, "censored")], 2)
    >>> share_back(terms[:3], terms[:0]).tolist(), share_back(terms, terms[:0]).tolist()
    (0.5, nan)
    """
    back, left, waiting = np.moveaxis(sums.reshape(*sums.shape[:-1], -1, 3), -1, 0)
    still, share = np.ones(sums.shape[:-1]), np.zeros(sums.shape[:-1])
    for place in range(back.shape[-1]):
        at, ended = waiting[..., place], back[..., place] + left[..., place]
        with np.errstate(invalid="ignore", divide="ignore"):
            share += np.where(still > 0, still * back[..., place] / at, 0)
            still *= np.where(still > 0, 1 - ended / at, 1)
    return share


def median_wait(waits: Iterable[Wait]) -> int | None:
    """Return in how many places the series is back after half of the waits; None where that was not observed.

    Examples
    --------
    >>> median_wait([Wait(2, "back"), Wait(3, "censored")])
    2
    """
    held = list(waits)
    longest = max((wait.places for wait in held), default=0)
    sums = wait_terms(held, max(longest, 1))
    for places in range(1, longest + 1):
        if float(share_back(sums[: 3 * places], sums[:0])) >= 0.5:
            return places
    return None
