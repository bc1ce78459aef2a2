"""How well `contamination` finds messages that a model recites, and how often its intervals cover the planted share.

Models recite a planted share of the messages of 10 to 200 participants, of 5 to 15 messages each; two messages of one
participant correlate 0.2 in being recited. All other messages are continued in words that know nothing of them. Bias:
the mean of the estimates less the planted share. Covered: how often the 95% interval holds the planted share, of the
data sets with an interval. Found: how often the exchange test against the shuffled control, and against the
paraphrased, has p < 0.05.
``PYTHONPATH=tools python benchmarks/contamination.py`` takes about five minutes; ``--slips`` replaces a share of
the recited words.
"""

import argparse
from collections.abc import Iterator
from itertools import product
from random import Random
from statistics import fmean

import numpy as np
from synthetic.recitation import recited_halves

from attune_metrics.attunebench.continuation import is_reproduced
from attune_metrics.stats.cluster_means import share_of_clusters_interval
from attune_metrics.stats.comparison import paired_permutation_test

PARTICIPANTS, PLANTED = (10, 25, 50, 200), (0.0, 0.05, 0.3)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--slips", type=float, default=0.0)
    given = parser.parse_args()
    for line in lines(given.simulations, given.seed, slips=given.slips):
        print(line, flush=True)


def lines(simulations: int, seed: int, *, slips: float) -> Iterator[str]:
    """Yield the lines of the table."""
    yield "| planted | participants | bias | covered | none | found, shuffled | found, paraphrased |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for planted, participants in product(PLANTED, PARTICIPANTS):
        of_cell = f"{seed} {planted} {participants}"
        found = [
            one_run(planted, participants, Random(f"{of_cell} {place}"), slips=slips) for place in range(simulations)
        ]
        estimates, covered, shuffled, paraphrased = zip(*found, strict=True)
        known = [one for one in covered if one is not None]
        yield (
            f"| {planted:.0%} | {participants} | {100 * (fmean(estimates) - planted):+.2f} points | "
            f"{fmean(known):.1%} | {1 - len(known) / simulations:.1%} | {fmean(shuffled):.1%} | "
            f"{fmean(paraphrased):.1%} |"
        )


def one_run(
    planted: float, participants: int, random: Random, *, slips: float = 0.0
) -> tuple[float, bool | None, bool, bool]:
    """Return the estimate, whether its interval covers, and whether the two tests find something."""
    halves = recited_halves(participants, planted, random, slips=slips)
    people = [one.person for one in halves]
    hits = np.array([[float(is_reproduced(end, said)) for end, said in one.pairs] for one in halves])
    [interval] = share_of_clusters_interval(hits[:, 0], people)
    covers = None if np.isnan(interval.low) else interval.low <= planted <= interval.high
    tests = paired_permutation_test(np.array([hits[:, 0]] * 2), hits[:, 1:].T, people, n_permutations=999)
    found = [bool(test.p_value < 0.05) for test in tests]
    return interval.estimate, covers, found[0], found[1]


if __name__ == "__main__":
    main()
