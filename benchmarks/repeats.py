"""How often the interval of the variance between repeats covers it, and the standard errors that it promises hold.

Scores of 40 units in 10 clusters of 4: normal, with a variance of 1 between clusters, of 1 between units within them,
and of 1 in one repeat of one unit; between repeats as the first column says. Then the variance of units, which is 1, by
clusters, how alike their units are (ICC), and scores, normal or lognormal: its mean estimate, how often its interval
covers it, and how often the output warns; *before* by mean squares of units, as if these were independent, with the
expanded percentile interval.
``python benchmarks/repeats.py``
"""

import argparse
from collections.abc import Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray

from attune_metrics.stats.bootstrap import Interval, Resamples, bootstrap, draw_resamples
from attune_metrics.stats.repeats import crossed_variances, repeat_variance
from attune_metrics.stats.sums import MOST_SKEWNESS, skewness_of_mean

CLUSTERS, EACH, ROWS = 10, 4, 3
Floats = NDArray[np.float64]


def main() -> None:
    """Print a line for each variance and number of repeats."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    generator = np.random.default_rng(given.seed)
    labels = np.repeat(np.arange(CLUSTERS), EACH)
    resamples = draw_resamples(labels, n_resamples=1)
    print("variance  repeats  coverage  error of 1 repeat  promised")
    for variance in (0.0, 0.05, 0.5):
        for repeats in (2, 3, 5, 10):
            covered, means, promised = 0, [], []
            for _ in range(given.simulations):
                unit = generator.normal(size=CLUSTERS)[labels] + generator.normal(size=len(labels))
                shift = np.sqrt(variance) * generator.normal(size=repeats)
                values = unit + shift[:, np.newaxis] + generator.normal(size=(repeats, len(labels)))
                found = repeat_variance(values, resamples)
                covered += found.repeat.low <= variance <= found.repeat.high
                means.append(values[0].mean())
                promised.append(found.standard_error(1) ** 2)
            error, expected = np.std(means), np.sqrt(np.mean(promised))
            share = covered / given.simulations
            print(f"{variance:8.2f}  {repeats:7d}  {share:8.1%}  {error:17.3f}  {expected:8.3f}")
    print("", *variances_of_units(given.simulations, given.seed), sep="\n")


def of_mean_squares(values: Floats, resamples: Resamples) -> Interval:
    """Return ``(MSU - MSE) / k`` of k rows, with the mean squares of units and residual."""
    centred = values - values.mean()
    terms = np.vstack([centred, (centred**2).sum(axis=0), centred.sum(axis=0) ** 2])

    def statistic(sums: Floats, n: Floats) -> Floats:
        of_rows, squares, of_units = sums[..., :ROWS], sums[..., ROWS], sums[..., ROWS + 1]
        mean = of_rows.sum(axis=-1) ** 2 / (n * ROWS)
        rows, units = (of_rows**2).sum(axis=-1) / n - mean, of_units / ROWS - mean
        residual = (squares - mean - rows - units) / ((n - 1) * (ROWS - 1))
        found: Floats = (units / (n - 1) - residual) / ROWS
        return found

    return bootstrap(terms[np.newaxis], resamples, statistic=statistic)[0]


def variances_of_units(simulations: int, seed: int) -> Iterator[str]:
    """Yield the lines of the table of the variance of units."""
    yield "clusters  ICC  scores     before  covered     now  covered  warned"
    for clusters, icc, scores in product((10, 25, 50), (0.0, 0.7), ("normal", "lognormal")):
        labels, generator = np.repeat(np.arange(clusters), EACH), np.random.default_rng([seed, clusters])
        resamples = draw_resamples(labels, n_resamples=1000)
        estimates, covered, warned = np.zeros(2), np.zeros(2), 0
        for _ in range(simulations):
            unit = np.sqrt(icc) * generator.normal(size=clusters)[labels]
            unit += np.sqrt(1 - icc) * generator.normal(size=len(labels))
            if scores == "lognormal":
                unit = np.exp(unit) / np.sqrt((np.e - 1) * np.e)
            values = unit + np.sqrt(0.5) * generator.normal(size=(ROWS, len(labels)))
            found = [of_mean_squares(values, resamples), crossed_variances(values, resamples)[0]]
            estimates += [one.estimate for one in found]
            covered += [one.low <= 1 <= one.high for one in found]
            mean = values.mean(axis=0)
            warned += int(skewness_of_mean((mean - mean.mean()) ** 2, labels)[0] > 2 * MOST_SKEWNESS)
        (before, now), (of_before, of_now) = estimates / simulations, covered / simulations
        yield (
            f"{clusters:8}  {icc:.1f}  {scores:9}  {before:6.3f}  {of_before:7.1%}  {now:6.3f}  {of_now:7.1%}  "
            f"{warned / simulations:6.1%}"
        )


if __name__ == "__main__":
    main()
