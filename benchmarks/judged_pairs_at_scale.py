"""Ratings of 79 models by 200,000 judged pairs, with 1,000 resamples: of 45 scenarios, and of pairs one by one.

    python benchmarks/judged_pairs_at_scale.py

Without terms; with the position; and with the position and a length that differs in every comparison, so that nothing
can be counted together. Each measurement is a process of its own: CPU seconds, which on a quiet machine are at least
the seconds that pass, and the most memory that the process has had (VmHWM). Prints each figure with its bound, and
exits with 1 where one does not hold.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from time import process_time

import numpy as np
from figures import Figure, report

from attune_metrics.stats.bootstrap import draw_resamples
from attune_metrics.stats.pairwise_ratings import bradley_terry_ratings

MODELS, COMPARISONS, RESAMPLES = 79, 200_000, 1_000
CASES = {
    "of 45 scenarios": (45, ()),
    "one by one": (COMPARISONS, ()),
    "with position": (45, ("position",)),
    "with position and length": (45, ("position", "length")),
}
MOST_SECONDS = {0: 60, 1: 300, 2: 300}  # by number of terms
MOST_BYTES = 1e9


def figures() -> list[Figure]:
    """Measure."""
    found = []
    for case, (_, terms) in CASES.items():
        done = subprocess.run([sys.executable, __file__, case], stdout=subprocess.PIPE, text=True, check=True)
        seconds, peak = json.loads(done.stdout)
        name = f"{COMPARISONS:,} judged pairs {case}"
        found += [
            Figure(f"{name}: processor time", seconds, MOST_SECONDS[len(terms)], "s"),
            Figure(f"{name}: memory", peak / 1e6, MOST_BYTES / 1e6, "MB"),
        ]
    return found


def _measure(case: str) -> None:
    """Print the CPU seconds of a case and the most bytes of its process."""
    clusters, names = CASES[case]
    generator = np.random.default_rng(1)
    left = generator.integers(MODELS, size=COMPARISONS)
    right = (left + generator.integers(1, MODELS, size=COMPARISONS)) % MODELS
    values = {"position": generator.choice([-1.0, 1.0], size=COMPARISONS), "length": generator.normal(size=COMPARISONS)}
    strengths = np.sort(generator.normal(size=MODELS))
    odds = strengths[left] - strengths[right] + 0.3 * values["position"] + 0.2 * values["length"]
    outcome = (odds + generator.logistic(size=COMPARISONS) > 0).astype(float)
    labels = np.array([f"model {place:02}" for place in range(MODELS)])
    resamples = draw_resamples(np.arange(COMPARISONS) % clusters, n_resamples=RESAMPLES)
    terms = {name: values[name] for name in names}
    start = process_time()
    bradley_terry_ratings(labels[left], labels[right], outcome, resamples, terms=terms)
    seconds = process_time() - start
    [peak] = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="utf-8"))
    print(json.dumps((seconds, int(peak) * 1024)))


if __name__ == "__main__":
    if len(sys.argv) == 2 and sys.argv[1] in CASES:
        _measure(sys.argv[1])
    else:
        sys.exit(report(figures()))
