"""How long a page of a benchmark's scores takes, against scoring the same results.

    PYTHONPATH=tools python benchmarks/page_times.py

Prints each figure with its bound, and exits with 1 where one does not hold. Times are of the processor, for 9
models the median of five interleaved pairs after one warm-up; pages have the default of 10,000 resamples.
"""

import gc
import sys
from collections.abc import Callable
from statistics import median
from time import process_time
from typing import NamedTuple

from figures import Figure, report
from synthetic.many_models import attunebench

from attune_bench import score


class Size(NamedTuple):
    """How many models a page has, how many pairs are timed, and the bounds of time and of its ratio to scoring."""

    models: int
    pairs: int
    most_seconds: float
    most_times: float


SIZES = (Size(9, 5, 5, 5), Size(40, 1, 12, 8))
"""In this order: the page of few models is the warm-up of the other."""


def figures() -> list[Figure]:
    """Measure."""
    return [figure for size in SIZES for figure in page_figures(size)]


def page_figures(size: Size) -> list[Figure]:
    """Measure the page of AttuneBench for so many models, on 60 conversations each."""
    records = attunebench(size.models)
    scores = score(*records.values())

    def page() -> object:
        return scores.report(format="html", **records)

    def scoring() -> object:
        return score(*records.values())

    if size.pairs > 1:
        page(), scoring()
    times = [(seconds(page), seconds(scoring)) for _ in range(size.pairs)]
    taken, of_scoring = (median(both[side] for both in times) for side in (0, 1))
    detail = f"{taken:.3g} s against {of_scoring:.3g} s"
    ratio = median(a / b for a, b in times)
    name = f"AttuneBench page of {size.models} models"
    return [
        Figure(f"{name}: processor time", taken, size.most_seconds, "s"),
        Figure(f"{name}, against `score` of its results", ratio, size.most_times, detail=detail),
    ]


def seconds(run: Callable[[], object]) -> float:
    """Return the seconds of the processor that a call takes."""
    gc.collect()
    start = process_time()
    run()
    return process_time() - start


if __name__ == "__main__":
    sys.exit(report(figures()))
