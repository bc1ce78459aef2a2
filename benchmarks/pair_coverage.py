"""How often the default 95% intervals of strengths from answers judged in pairs cover the true strengths.

    python benchmarks/pair_coverage.py [--strengths 4000] [--models 3 10 40] [--units 10 45 200]

Models answer units (scenarios); a judge compares the answers of two models to a unit twice, once in each order. Pairs
are of neighbours in strength, or all pairs. The true strengths are quantiles of a normal distribution of standard
deviation 1. Where units have effects, each model is better or worse on each unit by a normal effect of standard
deviation 0.7, which all comparisons of the unit share; clusters are units. The judge prefers the first answer by 0.3.
Strengths and position are fitted together. As effects flatten the odds, the truth is the fit to the probabilities of a
population of units. Each design is written to `pair_coverage.csv` and to the table of docs/metrics/judged-pairs.md as
soon as it is done, and a design that has as many data sets there is not simulated again: stop it, and go on with the
same command. With ``--strengths 80000`` each design has 2,000 data sets: half an hour of processor time, of which both
designs of 200 units and all pairs of 40 models take 16 minutes, and all designs of 3 and 10 models 5.
"""

import argparse
import csv
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from io import StringIO
from itertools import combinations, pairwise, product
from math import sqrt
from pathlib import Path
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, stdtrit

from attune_data.io.documents import write_whole
from attune_metrics.stats.pairwise import fit_comparisons

Floats = NDArray[np.float64]

NUMBERS = Path(__file__).with_suffix(".csv")
PAGE = Path(__file__).parents[1] / "docs/metrics/judged-pairs.md"
POSITION, EFFECT = 0.3, 0.7
MOST = 2_000  # data sets of a design


class Design(NamedTuple):
    """How many units and models, which pairs are judged on each unit, and the standard deviation of units' effects."""

    units: int
    models: int
    pairs: str
    effect: float

    def strengths(self) -> Floats:
        """Return the true strengths (models,) without effects."""
        return np.array([NormalDist().inv_cdf((place + 0.5) / self.models) for place in range(self.models)])

    def comparisons(self) -> tuple[NDArray[np.intp], NDArray[np.intp], Floats]:
        """Return both models and the position of each comparison of one unit."""
        models = range(self.models)
        judged = np.array([*(pairwise(models) if self.pairs == "neighbours" else combinations(models, 2))])
        left, right = np.concatenate([judged, judged]).T
        return left, right, np.repeat([1.0, -1.0], len(judged))

    def outcomes(self, generator: np.random.Generator) -> Floats:
        """Return 1 where the left model wins, else 0, shape (units, comparisons)."""
        left, right, position = self.comparisons()
        strengths = self.strengths() + generator.normal(0, self.effect, size=(self.units, self.models))
        odds = strengths[:, left] - strengths[:, right] + POSITION * position
        return (generator.random(odds.shape) < expit(odds)).astype(float)

    def truth(self) -> Floats:
        """Return the strengths and the coefficient of the position in a population of units."""
        left, right, position = self.comparisons()
        nodes, weights = np.polynomial.hermite_e.hermegauss(60)
        odds = self.strengths()[left] - self.strengths()[right] + POSITION * position
        chances = expit(odds[:, np.newaxis] + sqrt(2) * self.effect * nodes) @ weights / weights.sum()
        size = len(left)
        fit = fit_comparisons(
            np.tile(left, 2), np.tile(right, 2), np.repeat([1.0, 0.0], size), clusters=range(2 * size),
            weights=np.concatenate([chances, 1 - chances]), terms={"position": np.tile(position, 2)},
        )  # fmt: skip
        return np.append(fit.strengths, fit.terms["position"])


class Row(NamedTuple):
    """How many intervals of strengths, or of the position, there are and cover, and their mean width."""

    units: int
    models: int
    pairs: str
    effect: float
    kind: str
    simulations: int
    intervals: int
    covered: int
    width: float


DESIGNS = [Design(*one) for one in product((10, 45, 200), (3, 10, 40), ("neighbours", "all"), (0.0, EFFECT))]
KINDS = ("strength", "position")


def intervals(design: Design, outcomes: Floats) -> Floats:
    """Return the ends (2, parameters) of strengths, then of the position; nan without an interval."""
    left, right, position = (np.tile(one, design.units) for one in design.comparisons())
    units = np.repeat(np.arange(design.units), outcomes.shape[1])
    fit = fit_comparisons(left, right, outcomes.ravel(), clusters=units, terms={"position": position})
    influence = np.column_stack([fit.influence, fit.term_influence["position"]])
    error = np.sqrt(design.units / (design.units - 1) * (influence**2).sum(axis=0))
    reach = stdtrit(design.units - 1, 0.975) * error
    middle = np.append(fit.strengths, fit.terms["position"])
    return np.array([middle - reach, middle + reach])


def data_sets(design: Design, strengths: int) -> int:
    """Return how many data sets have about so many `strengths`."""
    return min(MOST, strengths // design.models)


def simulate(design: Design, strengths: int) -> list[Row]:
    """Return the row of the strengths and that of the position, of data sets with about so many `strengths`."""
    truth = design.truth()
    simulations = data_sets(design, strengths)
    ends = np.empty((simulations, 2, len(truth)))
    for seed in range(simulations):
        key = [seed, design.units, design.models, len(design.pairs), int(10 * design.effect)]
        ends[seed] = intervals(design, design.outcomes(np.random.default_rng(key)))
    rows = []
    for kind, chosen in zip(KINDS, (slice(None, -1), slice(-1, None)), strict=True):
        low, high = ends[:, 0, chosen], ends[:, 1, chosen]
        known = ~np.isnan(low)
        covered = int(((low <= truth[chosen]) & (truth[chosen] <= high)).sum())
        rows.append(
            Row(*design, kind, simulations, int(known.sum()), covered, round(float((high - low)[known].mean()), 6))
        )
    return rows


def read() -> list[Row]:
    """Return the rows of the last run."""
    with NUMBERS.open(encoding="utf-8", newline="") as file:
        return [
            Row(int(units), int(models), pairs, float(effect), kind, int(sets), int(n), int(covered), float(width))
            for units, models, pairs, effect, kind, sets, n, covered, width in list(csv.reader(file))[1:]
        ]


def write(rows: Sequence[Row]) -> None:
    """Write the rows for `read`, whole or not at all, and their table into the page."""
    page = PAGE.read_text(encoding="utf-8").replace(table(read()), table(rows))
    text = StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([Row._fields, *rows])
    write_whole(NUMBERS, [text.getvalue().encode()])
    write_whole(PAGE, [page.encode()])


def table(rows: Sequence[Row]) -> str:
    """Return how often the intervals of each design cover, and how many strengths have none."""
    lines = ["units  models  pairs       effect  data sets  strengths  position  no strength"]
    for design in dict.fromkeys(Design(*row[:4]) for row in rows):
        strengths, position = (row for row in rows if row[:4] == design)
        shares = [f"{row.covered / row.intervals:.1%}" for row in (strengths, position)]
        named = f"{design.units:>5}  {design.models:>6}  {design.pairs:<10}  {design.effect:>6.1f}"
        without = 1 - strengths.intervals / (strengths.simulations * design.models)
        lines.append(f"{named}  {strengths.simulations:>9}  {shares[0]:>9}  {shares[1]:>8}  {without:>11.1%}")
    return "\n".join(lines)


def main() -> None:
    """Simulate, write, print."""
    parser = argparse.ArgumentParser(description="Simulate intervals of strengths.")
    parser.add_argument("--strengths", type=int, default=4_000)
    parser.add_argument("--models", type=int, nargs="*", default=[3, 10, 40])
    parser.add_argument("--units", type=int, nargs="*", default=[10, 45, 200])
    parser.add_argument("--workers", type=int, default=2)
    chosen = parser.parse_args()
    rows = {row[:5]: row for row in read()}
    done = {Design(*row[:4]): row.simulations for row in rows.values()}
    designs = [
        design
        for design in DESIGNS
        if design.models in chosen.models
        and design.units in chosen.units
        and done.get(design, 0) < data_sets(design, chosen.strengths)
    ]
    with ProcessPoolExecutor(chosen.workers) as pool:
        for found in pool.map(partial(simulate, strengths=chosen.strengths), designs):
            rows |= {row[:5]: row for row in found}
            write(sorted(rows.values(), key=lambda row: DESIGNS.index(Design(*row[:4]))))
            print(table(found).splitlines()[1], flush=True)
    print(table([*rows.values()]))


if __name__ == "__main__":
    main()
