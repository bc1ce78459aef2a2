"""Interleaved pairs: time two things in turn, A B A B ..., and report the ratio pair by pair."""

import gc
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from time import perf_counter

from figures import Figure

__all__ = ["Ratio", "compare"]

PAIRS = 7


@dataclass(frozen=True)
class Ratio:
    """Seconds of both sides (medians) and the median, lowest and highest ratio of a pair."""

    name: str
    seconds: float
    opponent_seconds: float
    ratio: float
    low: float
    high: float
    bound: float

    @property
    def figure(self) -> Figure:
        """The ratio as a figure."""
        return Figure(self.name, self.ratio, self.bound)

    def __str__(self) -> str:
        verdict = "holds" if self.ratio <= self.bound else "DOES NOT HOLD"
        return (
            f"{self.name}\n    {self.ratio:.2f}x ({self.low:.2f}-{self.high:.2f}); bound {self.bound:g}x {verdict}; "
            f"{self.seconds:.3f} s against {self.opponent_seconds:.3f} s"
        )


def compare(name: str, run: Callable[[], object], opponent: Callable[[], object], *, bound: float) -> Ratio:
    """Time `run` against `opponent` in interleaved pairs after one warm-up, the garbage collector as users have it."""
    run(), opponent()
    times = [(_timed(run), _timed(opponent)) for _ in range(PAIRS)]
    ratios = [a / b for a, b in times]
    return Ratio(
        name, median(a for a, _ in times), median(b for _, b in times), median(ratios), min(ratios), max(ratios), bound
    )


def _timed(run: Callable[[], object]) -> float:
    gc.collect()
    start = perf_counter()
    kept = run()
    seconds = perf_counter() - start
    del kept
    return seconds
