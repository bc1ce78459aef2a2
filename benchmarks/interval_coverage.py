"""Coverage of intervals of a mean by participants, by how unequal they are and by how alike their conversations are.

`calibration.py` simulates every design, writes the numbers to `interval_coverage.csv` and prints the tables of
docs/intervals.md and docs/decisions/0011-the-default-interval.md. Scores are Beta(3, 0.75): between 0 and 1, most near
1, of mean 0.8. Conversations of a participant correlate by a normal level behind their scores, with the intraclass
correlation (ICC) of the design. Candidates are intervals that the library does not have, tried on the same simulations.

References
----------
.. [1] Bell, McCaffrey (2002), Bias reduction in standard errors for linear regression with multi-stage samples, Survey
   Methodology 28, 169-181: CR2, CR3 and their degrees of freedom.
.. [2] Cameron, Gelbach, Miller (2008), Bootstrap-based improvements for inference with clustered errors, Rev. Econ.
   Stat. 90, 414-427; Webb (2023), Reworking wild bootstrap-based inference for clustered errors, Can. J. Econ. 56.
"""

import csv
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import product
from math import sqrt
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtr, stdtrit

from attune_data.io.documents import write_whole
from attune_metrics.metric import UnreliableIntervalWarning
from attune_metrics.stats.bootstrap import Method, bootstrap, bootstrap_distribution, draw_resamples

Floats = NDArray[np.float64]
Ends = tuple[Floats, Floats]

NUMBERS = Path(__file__).with_suffix(".csv")
SIMULATIONS, BATCH = 2_000, 100  # a batch shares its draws, as models do
MEAN = 0.8
LIBRARY: Mapping[str, Method] = {"expanded": "percentile-expanded", "percentile": "percentile", "BCa": "bca"}
CANDIDATES = ("wild", "CR2", "CR3")
_WEBB = np.array([-sqrt(1.5), -1, -sqrt(0.5), sqrt(0.5), 1, sqrt(1.5)])
_NORMAL = np.linspace(-8, 8, 100_001)
_SCORES = betaincinv(3, 0.75, ndtr(_NORMAL))


@dataclass(frozen=True)
class Design:
    """How many participants, with how many conversations each, and how alike these are.

    `sizes` is ``equal``, 4 each; ``skewed``, 1 upwards, quantiles of an exponential distribution of mean 4; or
    ``dominant``, 4 each but for one who has 30% of all.
    """

    participants: int
    sizes: str
    icc: float

    def conversations(self) -> NDArray[np.intp]:
        """Return the number of each participant's conversations."""
        sizes = np.full(self.participants, 4, dtype=np.intp)
        if self.sizes == "skewed":
            sizes[:] = np.ceil(-4 * np.log(1 - (np.arange(self.participants) + 0.5) / self.participants))
        elif self.sizes == "dominant":
            sizes[0] = round(0.3 / 0.7 * 4 * (self.participants - 1))
        return sizes

    def scores(self, generator: Generator, simulations: int) -> tuple[NDArray[np.intp], Floats]:
        """Return the cluster of each unit, and scores (simulations, units)."""
        clusters = np.repeat(np.arange(self.participants), self.conversations())
        levels = self.levels(generator, simulations)[:, clusters]
        own = generator.normal(size=(simulations, len(clusters)))
        return clusters, np.interp(sqrt(self.icc) * levels + sqrt(1 - self.icc) * own, _NORMAL, _SCORES)

    def levels(self, generator: Generator, simulations: int) -> Floats:
        """Return the level of each participant behind the scores (simulations, participants)."""
        return generator.normal(size=(simulations, self.participants))


DESIGNS = [
    Design(participants, sizes, icc)
    for participants, sizes, icc in product((5, 10, 25, 60), ("equal", "skewed", "dominant"), (0.0, 0.3, 0.7))
]


class Row(NamedTuple):
    """How many of `simulations` intervals of a method cover the mean of a design, and their mean width."""

    participants: int
    sizes: str
    icc: float
    method: str
    simulations: int
    covered: int
    width: float


def library_intervals(values: Floats, clusters: NDArray[np.intp], seed: int) -> dict[str, Ends]:
    """Return the ends of the library's intervals of each simulation."""
    resamples = draw_resamples(clusters, seed=seed)
    distribution = bootstrap_distribution(values, resamples)
    found: dict[str, Ends] = {}
    for name, method in LIBRARY.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnreliableIntervalWarning)  # how unreliable is the question
            intervals = bootstrap(values, resamples, method=method, distribution=distribution)
        found[name] = np.array([one.low for one in intervals]), np.array([one.high for one in intervals])
    return found


def candidate_intervals(values: Floats, clusters: NDArray[np.intp], generator: Generator) -> dict[str, Ends]:
    """Return the ends of the candidates of each simulation.

    ``wild`` is a bootstrap of t from the clusters' influence on the mean, times Webb's six weights: symmetric, with the
    95% quantile of |t|. ``CR2`` and ``CR3`` divide that influence by ``(1 - share of units)^0.5`` and by ``1 - share``,
    and take the t quantile of Bell and McCaffrey's (Satterthwaite's) degrees of freedom for independent units.
    """
    sizes = np.bincount(clusters)
    units, number = sizes.sum(), len(sizes)
    shares = sizes / units
    means = values.mean(axis=1)
    sums = np.add.reduceat(values, np.cumsum(sizes) - sizes, axis=1)
    influence = ((sums - means[:, np.newaxis] * sizes) / units).T
    found: dict[str, Ends] = {}

    weights = generator.choice(_WEBB, size=(1_999, number))
    moved = weights @ influence
    # The squares of w_g u_g - p_g moved, added over clusters g: the residuals about the resample's own mean.
    squares = weights**2 @ influence**2 - 2 * moved * (weights @ (shares[:, np.newaxis] * influence))
    squares += moved**2 * (shares**2).sum()
    factor = number / (number - 1)
    reach = np.quantile(np.abs(moved) / np.sqrt(factor * squares), 0.95, axis=0)
    error = reach * np.sqrt(factor * (influence**2).sum(axis=0))
    found["wild"] = means - error, means + error

    for name, exponent in (("CR2", 0.5), ("CR3", 1.0)):
        adjusted = (1 - shares) ** -exponent
        # Covariances of the adjusted residuals' sums over clusters, if units were independent.
        covariance = np.diag(adjusted**2 * sizes) - np.outer(adjusted * sizes, adjusted * sizes) / units
        freedom = np.trace(covariance) ** 2 / (covariance**2).sum()
        error = stdtrit(freedom, 0.975) * np.sqrt(((adjusted[:, np.newaxis] * influence) ** 2).sum(axis=0))
        found[name] = means - error, means + error
    return found


def simulate(design: Design) -> list[Row]:
    """Return the row of each method."""
    made = SIMULATIONS // BATCH * BATCH
    covered: dict[str, int] = {}
    width: dict[str, float] = {}
    for seed in range(SIMULATIONS // BATCH):
        key = [seed, design.participants, ("equal", "skewed", "dominant").index(design.sizes), round(10 * design.icc)]
        generator = np.random.default_rng(key)
        clusters, values = design.scores(generator, BATCH)
        found = library_intervals(values, clusters, seed) | candidate_intervals(values, clusters, generator)
        for method, (low, high) in found.items():
            covered[method] = covered.get(method, 0) + int(((low <= MEAN) & (high >= MEAN)).sum())
            width[method] = width.get(method, 0) + float((high - low).sum())
    return [
        Row(design.participants, design.sizes, design.icc, method, made, count, round(width[method] / made, 6))
        for method, count in covered.items()
    ]


def read() -> list[Row]:
    """Return the rows of the last complete run."""
    with NUMBERS.open(encoding="utf-8", newline="") as file:
        return [
            Row(int(n), sizes, float(icc), method, int(simulations), int(covered), float(width))
            for n, sizes, icc, method, simulations, covered, width in list(csv.reader(file))[1:]
        ]


def write(rows: Sequence[Row]) -> None:
    """Write the rows for `read`, whole or not at all."""
    text = StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([Row._fields, *rows])
    write_whole(NUMBERS, [text.getvalue().encode()])


def _by_design(rows: Sequence[Row]) -> Iterator[tuple[Design, dict[str, Row]]]:
    for design in DESIGNS:
        key = design.participants, design.sizes, design.icc
        yield design, {row.method: row for row in rows if row[:3] == key}


def coverage_table(rows: Sequence[Row]) -> str:
    """Return how often the library's 95% intervals cover the mean."""
    lines = [f"participants  sizes     ICC{''.join(f'{name:>12}' for name in LIBRARY)}"]
    for design, methods in _by_design(rows):
        shares = "".join(f"{methods[name].covered / methods[name].simulations:>12.1%}" for name in LIBRARY)
        lines.append(f"{design.participants:>12}  {design.sizes:<8}  {design.icc:.1f}{shares}")
    return "\n".join(lines)


def candidate_table(rows: Sequence[Row]) -> str:
    """Return how often candidates cover the mean beside the default, and their widths as multiples of its."""
    heads = "".join(f"{name:>14}" for name in CANDIDATES)
    lines = [f"participants  sizes     ICC  expanded{heads}"]
    widths: dict[str, list[float]] = {name: [] for name in CANDIDATES}
    worse = dict.fromkeys(CANDIDATES, 0)
    for design, methods in _by_design(rows):
        default = methods["expanded"]
        cells = ""
        for name in CANDIDATES:
            row = methods[name]
            widths[name].append(row.width / default.width)
            # What covers 95% is not worse than what covers more.
            worse[name] += row.covered < min(default.covered, 0.95 * row.simulations)
            cells += f"{row.covered / row.simulations:>8.1%} {widths[name][-1]:.2f}x"
        share = default.covered / default.simulations
        lines.append(f"{design.participants:>12}  {design.sizes:<8}  {design.icc:.1f}  {share:>8.1%}{cells}")
    means = "".join(f"{sum(widths[name]) / len(DESIGNS):>13.2f}x" for name in CANDIDATES)
    counts = "".join(f"{worse[name]:>14}" for name in CANDIDATES)
    return "\n".join([*lines, f"{'mean width':<37}{means}", f"{'designs covered worse':<37}{counts}"])
