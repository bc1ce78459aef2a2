"""Bootstrap intervals of 11 models in 12 metrics over 200 conversations, against ``scipy.stats.bootstrap`` per series.

    python benchmarks/resampling.py

Prints each figure with its bound, and exits with 1 where one does not hold. Both sides take 10,000 resamples; they draw
different ones, so their ends may differ by Monte Carlo error, which the second bound allows for.
"""

import os
import subprocess
import sys
from math import sqrt

import numpy as np
import scipy.stats
from figures import Figure, report
from numpy.typing import NDArray
from pairs import compare

from attune_metrics.stats.bootstrap import bootstrap, draw_resamples
from attune_metrics.stats.comparison import paired_bootstrap, paired_permutation_test

MODELS, METRICS, UNITS, RESAMPLES = 11, 12, 200, 10_000
# Standard error of the 2.5% quantile of 10,000 normal draws, in standard deviations; five of them, for two such ends of
# 132 series, in widths of the interval.
_ERROR = sqrt(0.025 * 0.975 / RESAMPLES) / scipy.stats.norm.pdf(scipy.stats.norm.ppf(0.025))
MOST_APART = 5 * sqrt(2) * _ERROR / (2 * 1.96)


def figures() -> list[Figure]:
    """Measure, and compare the intervals."""
    values = np.random.default_rng(1).beta(4, 2, size=(MODELS * METRICS, UNITS))
    plain = compare(
        f"{len(values)} intervals of {RESAMPLES:,} resamples, against `scipy.stats.bootstrap` for each",
        lambda: _ours(values, 1),
        lambda: _scipy(values, 1),
        bound=1 / 20,
    )
    ours, theirs = _ours(values, 1), _scipy(values, 2)
    apart = float((np.abs(ours - theirs) / np.ptp(theirs, axis=1, keepdims=True)).max())
    resamples = draw_resamples(range(UNITS))
    first, second = np.triu_indices(MODELS, 1)
    models = values.reshape(MODELS, METRICS, UNITS)
    a, b = (models[side].reshape(-1, UNITS) for side in (first, second))
    paired = compare(
        f"{len(a)} paired intervals (all pairs of models), against {len(values)} plain ones of scipy",
        lambda: paired_bootstrap(a, b, resamples),
        lambda: _scipy(values, 1),
        bound=1,
    )
    tests = compare(
        f"{len(a)} paired permutation tests, against {METRICS} of scipy",
        lambda: paired_permutation_test(a, b, range(UNITS)),
        lambda: [_scipy_test(one, other) for one, other in zip(a[:METRICS], b[:METRICS], strict=True)],
        bound=1,
    )
    distance = Figure("largest distance of two ends of these intervals", apart, MOST_APART, "of the width")
    return [plain, distance, paired, tests]


def _ours(values: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    resamples = draw_resamples(range(UNITS), n_resamples=RESAMPLES, seed=seed)
    return np.array([(found.low, found.high) for found in bootstrap(values, resamples, method="percentile")])


def _scipy(values: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    ends = [
        scipy.stats.bootstrap(
            (series,), np.mean, n_resamples=RESAMPLES, method="percentile", rng=np.random.default_rng([seed, place])
        ).confidence_interval
        for place, series in enumerate(values)
    ]
    return np.array([(end.low, end.high) for end in ends])


def _scipy_test(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    result = scipy.stats.permutation_test(
        (a, b), lambda x, y, axis: (x - y).mean(axis), permutation_type="samples", vectorized=True,
        n_resamples=9_999, rng=np.random.default_rng(1),
    )  # fmt: skip
    return float(result.pvalue)


if __name__ == "__main__":
    # One thread on both sides; scipy's means have no use for a second one, and on a busy machine it only waits.
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":
        alone = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        sys.exit(subprocess.run([sys.executable, *sys.argv], env=alone, check=False).returncode)
    sys.exit(report(figures()))
