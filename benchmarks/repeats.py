"""How often the interval of the variance between repeats covers it, and the standard errors that it promises hold.

Scores of 40 units in 10 clusters of 4: normal, with a variance of 1 between clusters, of 1 between units within them,
and of 1 in one repeat of one unit; between repeats as the first column says. ``python benchmarks/repeats.py``
"""

import argparse

import numpy as np

from attune_metrics.stats.repeats import repeat_variance
from attune_metrics.stats.resampling import draw_resamples

CLUSTERS, EACH = 10, 4


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


if __name__ == "__main__":
    main()
