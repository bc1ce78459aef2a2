"""A judge corrected by people, by this library and by others: what `statistics_peers.py` simulates and asks.

The judge scores 200 units of which people would give the scores that are simulated there, Beta(3, 0.75). It is lenient
by 0.09, its errors are as alike within a cluster, and it correlates with people by 0.7. Chance chooses what people
rate: items, or whole clusters.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any, NamedTuple

JUDGED = {
    "n 30": ("alone", "items", 30),
    "n 100": ("alone", "items", 100),
    "bal 30": ("equal", "items", 30),
    "bal 15 whole": ("equal", "clusters", 15),
    "dom 30": ("dominant", "items", 30),
    "dom 12 whole": ("dominant", "clusters", 12),
}
"""Of 200 units: their kind, what chance chooses, how many of these people rate."""
SIZES = {"alone": [1] * 200, "equal": [4] * 50, "dominant": [60, *[4] * 35]}
LENIENT, CORRELATION = 0.09, 0.7


class Judged(NamedTuple):
    """A judge's scores of all units, and the ratings of those at the positions `rated`."""

    clusters: Any
    scores: Any
    rated: Any
    ratings: Any
    independent: bool


Correction = Callable[[Judged], Sequence[float]]
"""The interval of the mean of ratings of all units; ValueError where a library refuses."""


def judged_samples(cell: str, number: int) -> Iterator[Judged]:
    """Yield the simulations of a cell of `JUDGED`."""
    import numpy as np
    from scipy.special import betaincinv, ndtr

    kind, drawn, labels = JUDGED[cell]
    clusters = np.repeat(np.arange(len(SIZES[kind])), SIZES[kind])
    noise = math.sqrt(3 * 0.75 / (3.75**2 * 4.75) * (1 / CORRELATION**2 - 1))
    for seed in range(number):
        generator = np.random.default_rng([seed, *map(ord, cell)])
        levels = generator.normal(size=(2, clusters.max() + 1))[:, clusters]
        latent = math.sqrt(0.3) * levels + math.sqrt(0.7) * generator.normal(size=levels.shape)
        people = betaincinv(3, 0.75, ndtr(latent[0]))
        if drawn == "items":
            rated = np.sort(generator.permutation(len(people))[:labels])
        else:
            rated = np.flatnonzero(np.isin(clusters, generator.permutation(clusters.max() + 1)[:labels]))
        yield Judged(clusters, people + LENIENT + noise * latent[1], rated, people[rated], kind == "alone")


def all_ratings(sample: Judged) -> Any:
    """Return the rating of each unit, nan where nobody rated."""
    import numpy as np

    ratings = np.full(len(sample.scores), np.nan)
    ratings[sample.rated] = sample.ratings
    return ratings


# The calls that a user would make of each library, with its defaults.


def ours() -> Correction:
    """Return the call of this library."""
    from attune_metrics.stats.bootstrap import draw_resamples
    from attune_metrics.stats.judges import prediction_powered

    def interval(sample: Judged) -> Sequence[float]:
        [found] = prediction_powered(sample.scores, all_ratings(sample), draw_resamples(sample.clusters))
        return found.corrected.low, found.corrected.high

    return interval


def evalstats() -> Correction:
    """Return the call of evalstats."""
    es = import_module("evalstats")

    def interval(sample: Judged) -> Sequence[float]:
        found = es.judge_debias_mean_ci(sample.scores, all_ratings(sample), rng=0)
        return found.ci_low, found.ci_high

    return interval


def truescore() -> Correction:
    """Return the call of truescore."""
    ts = import_module("truescore")

    def interval(sample: Judged) -> Sequence[float]:
        clusters = None if sample.independent else sample.clusters
        found = ts.ppi_estimate(sample.scores, sample.ratings, sample.rated, clusters=clusters)
        return found.low, found.high

    return interval


def ppi_python() -> Correction:
    """Return the call of ppi-python."""
    import numpy as np

    ppi = import_module("ppi_py")

    def interval(sample: Judged) -> Sequence[float]:
        others = np.delete(sample.scores, sample.rated)
        low, high = ppi.ppi_mean_ci(sample.ratings, sample.scores[sample.rated], others, alpha=0.05)
        return float(np.ravel(low)[0]), float(np.ravel(high)[0])

    return interval
