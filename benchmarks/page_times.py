"""How long a page of a benchmark's scores takes, against scoring the same results.

    PYTHONPATH=tools python benchmarks/page_times.py

Prints each figure with its bound, and exits with 1 where one does not hold. Times are of the processor, the median of
five interleaved pairs after one warm-up; pages have the default of 10,000 resamples.
"""

import gc
import sys
from collections.abc import Callable
from statistics import median
from time import process_time

from figures import Figure, report
from synthetic.many_models import attunebench

from attune_bench import score

PAIRS = 5
MOST_SECONDS = {9: 5, 40: 30}
"""The most seconds of the processor for a page, by the number of models."""
MOST_TIMES = {9: 4, 40: 4}
"""The most that a page may take of the time of scoring, by the number of models."""


def figures() -> list[Figure]:
    """Measure."""
    return [figure for models in MOST_SECONDS for figure in page_figures(models)]


def page_figures(models: int) -> list[Figure]:
    """Measure the page of AttuneBench for so many models, 60 conversations each."""
    records = attunebench(models)
    scores = score(*records.values())

    def page() -> str:
        return scores.report(format="html", **records)

    def scoring() -> object:
        return score(*records.values())

    page(), scoring()
    times = [(seconds(page), seconds(scoring)) for _ in range(PAIRS)]
    taken, of_scoring = (median(both[side] for both in times) for side in (0, 1))
    detail = f"{taken:.3g} s against {of_scoring:.3g} s"
    ratio = median(a / b for a, b in times)
    name = f"AttuneBench page of {models} models"
    return [
        Figure(f"{name}: processor time", taken, MOST_SECONDS[models], "s"),
        Figure(f"{name}, against `score` of its results", ratio, MOST_TIMES[models], detail=detail),
    ]


def seconds(run: Callable[[], object]) -> float:
    """Return the seconds of the processor that a call takes."""
    gc.collect()
    start = process_time()
    run()
    return process_time() - start


if __name__ == "__main__":
    sys.exit(report(figures()))
