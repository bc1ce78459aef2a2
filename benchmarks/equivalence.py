"""How often models that differ by the margin are called the same, and with what power a planned comparison finds.

    python benchmarks/equivalence.py

Simulates scores of which the truth is known, as `interval_coverage.py` does; a few minutes on two cores. Prints the
tables of docs/intervals.md.
"""

from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import product
from math import sqrt

import interval_coverage
import numpy as np

from attune_metrics.stats.bootstrap import bootstrap_distribution, draw_resamples, symmetric_levels
from attune_metrics.stats.comparison import paired_permutation_test
from attune_metrics.stats.power import participants_needed

SIMULATIONS, BATCH = 100_000, 500  # a batch shares its draws, as models do
PLANNED, PLANNED_BATCH = 4_000, 100
RESAMPLES = 2_000
DESIGNS = [
    interval_coverage.Design(participants, sizes, icc)
    for participants, sizes, icc in product((10, 25, 60), ("equal", "dominant"), (0.0, 0.3, 0.7))
]
UNITS = 4
PLANS = [(sd / difference, icc) for sd, difference, icc in ((20, 10, 0.0), (20, 10, 0.7), (20, 5, 0.0), (20, 5, 0.7))]
CORRELATION = 0.5


@cache
def spread(icc: float) -> float:
    """Return the standard deviation of the mean difference of a participant with four conversations."""
    _, many = interval_coverage.Design(100_000, "equal", icc).scores(np.random.default_rng(1), 2)
    return float((many[0] - many[1]).reshape(-1, UNITS).mean(axis=1).std())


def called_the_same(design: interval_coverage.Design, simulations: int = SIMULATIONS) -> float:
    """Return the share with ``p_same`` of 0.05 at most where the true difference is the margin.

    That is, with a 90% interval of the difference within the margin; this is known without the p-value of each. The
    margin is four standard errors, had all participants equally many conversations.
    """
    margin = 4 * spread(design.icc) / sqrt(design.participants)
    levels = symmetric_levels(0.9, design.participants)
    same = 0
    for seed in range(simulations // BATCH):
        generator = np.random.default_rng([seed, design.participants, len(design.sizes), round(10 * design.icc)])
        clusters, scores = design.scores(generator, 2 * BATCH)
        resamples = draw_resamples(clusters, n_resamples=RESAMPLES, seed=seed)
        distribution = bootstrap_distribution(scores[:BATCH] + margin - scores[BATCH:], resamples)
        low, high = np.quantile(distribution, levels, axis=1)
        same += int(((low >= -margin) & (high <= margin)).sum())
    return same / (simulations // BATCH * BATCH)


def found_as_planned(plan: tuple[float, float], simulations: int = PLANNED) -> tuple[int, float]:
    """Return the planned number of participants, and the share of significant comparisons of so many.

    A plan is the standard deviation of a score in differences to find, and the ICC of the difference; scores are
    normal, four conversations a participant.
    """
    sd, icc = plan
    needed = int(participants_needed(1, sd=sd, correlation=CORRELATION, icc=icc, units_per_participant=UNITS))
    clusters = np.repeat(np.arange(needed), UNITS)
    scale = sd * sqrt(2 * (1 - CORRELATION))
    significant = 0
    for seed in range(simulations // PLANNED_BATCH):
        generator = np.random.default_rng([seed, needed, round(10 * icc)])
        levels = generator.normal(size=(PLANNED_BATCH, needed))[:, clusters]
        own = generator.normal(size=(PLANNED_BATCH, len(clusters)))
        differences = 1 + scale * (sqrt(icc) * levels + sqrt(1 - icc) * own)
        tests = paired_permutation_test(
            differences, np.zeros_like(differences), clusters, n_permutations=999, seed=seed
        )
        significant += sum(test.p_value < 0.05 for test in tests)
    return needed, significant / (simulations // PLANNED_BATCH * PLANNED_BATCH)


def main() -> None:
    """Simulate, print."""
    with ProcessPoolExecutor(2) as pool:
        same = pool.map(called_the_same, DESIGNS)
        planned = pool.map(found_as_planned, PLANS)
        print("participants  sizes     ICC    called the same")
        for design, share in zip(DESIGNS, same, strict=True):
            print(f"{design.participants:12}  {design.sizes:8}  {design.icc:.1f}  {share:17.2%}", flush=True)
        print("\nsd / difference  ICC    participants   power")
        for (sd, icc), (needed, share) in zip(PLANS, planned, strict=True):
            print(f"{sd:15g}  {icc:.1f}  {needed:14}  {share:6.1%}", flush=True)


if __name__ == "__main__":
    main()
