"""How far the estimates of what follows a misread are from the truth, and how often their intervals cover it.

Serial dependence: conversations that are equally hard, or not, with a planted difference between the probability of a
bad turn after a bad one and after a good one. Beside the bias of the estimate are those of the difference over all
conversations together and of the correlation within conversations. Association: a bad turn changes the outcome of the
next turn by a planted amount, and goes with an outcome of its own turn that is 0.5 higher; where errors depend on the
errors before, the truth has both ways, as a bad turn makes a bad next turn likelier. Recovery: states fall once, some
people leave, and conversations end before the state is back; the share is of those who are back within three replies.
``PYTHONPATH=tools python benchmarks/after_misread.py`` takes about a minute; ``--full`` has every cell and more
data sets.
"""

import argparse
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from synthetic.misreads import Misreads, falls, misreads

from attune_metrics.stats.association import lagged_association
from attune_metrics.stats.bootstrap import Interval, bootstrap, draw_resamples
from attune_metrics.stats.recovery_times import share_back, wait_terms, waits_of_falls
from attune_metrics.stats.serial import serial_dependence

PARTICIPANTS = (10, 25, 50, 200)
SHAPES: tuple[dict[str, Any], ...] = ({"each": 1, "turns": (3, 8)}, {"each": 2, "turns": (4, 12)})
WITHIN, OF_OWN_TURN = 3, 0.5


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--full", action="store_true")
    given = parser.parse_args()
    simulations = given.simulations or (400 if given.full else 200)
    people = PARTICIPANTS if given.full else (10, 50)
    for lines in (dependences, associations, recoveries):
        print(*lines(people, simulations, given.seed), "", sep="\n", flush=True)


def summarised(found: list[Interval], truth: float) -> str:
    """Return the bias, the share of intervals that cover the truth, and the share that is refused."""
    bias = np.nanmean([one.estimate for one in found]) - truth
    shown = [one for one in found if not np.isnan(one.low)]
    covered = f"{np.mean([one.low <= truth <= one.high for one in shown]):.1%}" if len(shown) > 99 else "few"
    return f"{bias:+.3f} | {covered} | {1 - len(shown) / len(found):.0%}"


def within_correlation(given: Misreads) -> float:
    """Return the slope of a turn on the turn before in the deviations from the means of conversations."""
    size = np.bincount(given.conversation)
    own = given.bad - (np.bincount(given.conversation, weights=given.bad) / size)[given.conversation]
    both = given.conversation[1:] == given.conversation[:-1]
    before, after = own[:-1][both], own[1:][both]
    return float(before @ after / max(before @ before, 1e-9))


def dependences(people: tuple[int, ...], simulations: int, seed: int) -> Iterator[str]:
    """Yield a line for each design of serial dependence."""
    yield (
        "| participants | conversations each | turns | equally hard | dependence | together | within, naive | bias | "
        "covered | refused |"
    )
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for participants, shape, hard, dependence in product(people, SHAPES, (0.0, 1.5), (0.0, 0.3)):
        found, together, within = [], [], []
        for place in range(simulations):
            given = misreads(participants=participants, dependence=dependence, hard=hard, seed=seed + place, **shape)
            one = serial_dependence(given.bad, given.conversation, given.turn, given.participant)
            found.append(one.effect)
            together.append(one.uncontrolled)
            within.append(within_correlation(given))
        naive = " | ".join(f"{np.nanmean(one) - dependence:+.2f}" for one in (together, within))
        about = f"{participants} | {shape['each']} | {_span(shape)} | {'no' if hard else 'yes'} | {dependence}"
        yield f"| {about} | {naive} | {summarised(found, dependence)} |"


def associations(people: tuple[int, ...], simulations: int, seed: int) -> Iterator[str]:
    """Yield a line for each design of the association with the next turn."""
    yield "| participants | conversations each | turns | dependence | association | bias | covered | refused |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for participants, shape, (dependence, effect) in product(people, SHAPES, ((0.0, 0.0), (0.0, 0.4), (0.3, 0.4))):
        found = []
        for place in range(simulations):
            given = misreads(
                participants=participants, dependence=dependence, effect=effect, seed=seed + place, **shape
            )
            one = lagged_association(given.bad, given.outcome, given.conversation, given.turn, given.participant)
            found.append(one.effect)
        about = f"{participants} | {shape['each']} | {_span(shape)} | {dependence} | {effect}"
        yield f"| {about} | {summarised(found, effect + OF_OWN_TURN * dependence)} |"


def recoveries(people: tuple[int, ...], simulations: int, seed: int) -> Iterator[str]:
    """Yield a line for each design of the share that is back within three replies."""
    yield "| participants | conversations each | turns | back in three | bias | covered | refused |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for participants, shape in product(people, SHAPES):
        endless = falls(participants=20_000, each=1, turns=(40, 40), seed=seed + 1)
        truth = float(share_back(_terms(endless.states, endless.left).sum(axis=1), np.zeros(0)))
        found = []
        for place in range(simulations):
            given = falls(participants=participants, seed=seed + place, **shape)
            draws = draw_resamples(given.participant, n_resamples=1000, seed=place)
            [one] = bootstrap(_terms(given.states, given.left)[np.newaxis], draws, statistic=share_back)
            found.append(one)
        yield f"| {participants} | {shape['each']} | {_span(shape)} | {truth:.2f} | {summarised(found, truth)} |"


def _terms(states: list[list[float]], left: list[bool]) -> Any:
    """Return the terms of conversations (terms, conversations)."""
    return np.stack(
        [wait_terms(waits_of_falls(path, left=gone), WITHIN) for path, gone in zip(states, left, strict=True)]
    ).T


def _span(shape: dict[str, Any]) -> str:
    return "{} to {}".format(*shape["turns"])


if __name__ == "__main__":
    main()
