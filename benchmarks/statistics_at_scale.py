"""Summary, ranks and all pairs of 20 models on up to 100,000 units in half as many clusters, with 10,000 resamples.

    python benchmarks/statistics_at_scale.py

Each measurement is a process of its own, from its scores on: CPU seconds, which on a quiet machine are at least the
seconds that pass, and the most memory that the process has had (VmHWM), its scores included. The opponent is numpy
alone on the sums of the largest size: 10,000 times 50,000 Poisson counts, block by block, and their product with the
sums of 20 models, which is a bootstrap of 20 means without any pair, test or quantile. Prints each figure with its
bound, and exits with 1 where one does not hold.

With 25,000 units, 12,500 clusters are drawn multinomially; the larger sizes have Poisson draws.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from time import process_time

import numpy as np
import polars as pl
from figures import Figure, report
from numpy.typing import NDArray

from attune_bench import Scores

MODELS, RESAMPLES = 20, 10_000
SIZES = (25_000, 50_000, 100_000)
ANALYSES = ("summary", "rank", "compare_all")
MOST_SECONDS, MOST_BYTES = 120, 2e9
MOST_GROWTH = 5  # of four times the units
MOST_RATIO = {"summary": 1.0, "rank": 1.0, "compare_all": 2.0}  # to the opponent's CPU seconds


def figures() -> list[Figure]:
    """Measure."""
    opponent, _ = _measured("numpy", SIZES[-1])
    found = []
    for analysis in ANALYSES:
        of_sizes = {units: _measured(analysis, units) for units in SIZES}
        for units, (seconds, peak) in of_sizes.items():
            print(f"{analysis}, {units} units: {seconds:.1f} s, {peak / 1e6:.0f} MB", file=sys.stderr)
        (least, _), (most, peak) = of_sizes[SIZES[0]], of_sizes[SIZES[-1]]
        name = f"{analysis} of {SIZES[-1]:,} units"
        found += [
            Figure(f"{name}: processor time", most, MOST_SECONDS, "s"),
            Figure(f"{name}: memory", peak / 1e6, MOST_BYTES / 1e6, "MB"),
            Figure(f"{name}, against {SIZES[0]:,}", most / least, MOST_GROWTH),
            Figure(f"{name}, against numpy alone", most / opponent, MOST_RATIO[analysis]),
        ]
    return found


def _measured(analysis: str, units: int) -> tuple[float, int]:
    """Return the CPU seconds of an analysis and the most bytes of its process."""
    done = subprocess.run(
        [sys.executable, __file__, analysis, str(units)], stdout=subprocess.PIPE, text=True, check=True
    )
    seconds, peak = json.loads(done.stdout)
    return seconds, peak


def _measure(analysis: str, units: int) -> None:
    """Print what `_measured` reads."""
    if analysis == "numpy":
        sums = np.random.default_rng(1).random((units // 2, MODELS))
        start = process_time()
        _plain(sums)
    else:
        scores = _scores(units)
        start = process_time()
        getattr(scores, analysis)(metrics=["score"], resamples=RESAMPLES)
    seconds = process_time() - start
    [peak] = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="utf-8"))
    print(json.dumps((seconds, int(peak) * 1024)))


def _plain(sums: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    generator = np.random.default_rng(2)
    step = 200
    return [generator.poisson(1.0, size=(step, len(sums))).astype(float) @ sums for _ in range(RESAMPLES // step)]


def _scores(units: int) -> Scores:
    """Return scores of models that are 0.01 apart, on units of which two share a cluster."""
    generator = np.random.default_rng(1)
    shared = 0.1 * generator.normal(size=units // 2).repeat(2)
    names = pl.DataFrame(
        {
            "unit": [f"u{unit:06}" for unit in range(units)],
            "cluster": [f"p{unit // 2:06}" for unit in range(units)],
            "metric": "score",
        }
    )
    return Scores.from_table(
        pl.concat(
            names.with_columns(
                model=pl.lit(f"m{model:02}"),
                value=pl.Series(np.clip(0.5 + 0.01 * model + shared + 0.2 * generator.normal(size=units), 0, 1)),
            )
            for model in range(MODELS)
        )
    )


if __name__ == "__main__":
    if sys.argv[1:] not in ([], ["--json"]):
        _measure(sys.argv[1], int(sys.argv[2]))
    else:
        sys.exit(report(figures()))
