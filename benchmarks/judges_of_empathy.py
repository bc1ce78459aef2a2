"""A judge corrected by 30 ratings of experts, against the ratings of all items by experts: on published ratings.

    python benchmarks/judges_of_empathy.py

Reads tests/golden/empathy. An expert rating is the mean of three experts; chance draws 30 of the 50 items of a
dimension, the judge scores all 50. Prints the two tables of docs/judges.md: one draw, for one judge, and how far
off judge, experts and corrected judge are over many draws. Half a minute on one core. Coverage and width
are of the draws in which there is an interval.
"""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from attune_metrics.metric import UnreliableIntervalWarning
from attune_metrics.stats.bootstrap import draw_resamples
from attune_metrics.stats.judges import PredictionPowered, prediction_powered

RATINGS = Path(__file__).parents[1] / "tests" / "golden" / "empathy" / "ratings.parquet"
EXPERTS, JUDGES = ("expert1", "expert2", "expert3"), ("gpt", "claude", "gemini")
LABELS, DRAWS = 30, 100


class Rated(NamedTuple):
    """The ratings of a dimension: of every item by a judge, and the mean of the experts'."""

    dataset: str
    dimension: str
    judge: str
    scores: NDArray[np.float64]
    experts: NDArray[np.float64]


def rated() -> Iterator[Rated]:
    """Yield the ratings of each judge on each dimension."""
    table = pl.read_parquet(RATINGS).sort("item")
    table = table.pivot(on="rater", index=["dataset", "dimension", "item"], values="rating")
    for (dataset, dimension), rows in table.group_by("dataset", "dimension", maintain_order=True):
        experts = rows.select(pl.mean_horizontal(EXPERTS)).to_series().to_numpy()
        for judge in JUDGES:
            yield Rated(str(dataset), str(dimension), judge, rows[judge].to_numpy(), experts)


def corrected(one: Rated, seed: int) -> PredictionPowered:
    """Return the judge corrected by the experts' ratings of items that chance draws."""
    items = len(one.experts)
    drawn = np.random.default_rng(seed).permutation(items)[:LABELS]
    labels = np.full(items, np.nan)
    labels[drawn] = one.experts[drawn]
    resamples = draw_resamples(range(items), n_resamples=1_000, seed=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnreliableIntervalWarning)
        [found] = prediction_powered(one.scores, labels, resamples)
    return found


def one_draw(dataset: str, judge: str) -> Iterator[str]:
    """Yield the lines of the first table."""
    yield "dimension                    all experts  judge  30 experts           corrected                r"
    for one in rated():
        if (one.dataset, one.judge) == (dataset, judge):
            found = corrected(one, 0)
            people, both = found.people, found.corrected
            yield (
                f"{one.dimension:27}  {one.experts.mean():11.2f}  {one.scores.mean():5.2f}  "
                f"{people.estimate:4.2f} [{people.low:4.2f}, {people.high:4.2f}]  "
                f"{both.estimate:4.2f} [{both.low:4.2f}, {both.high:4.2f}]  {found.correlation:5.2f}"
            )


def many_draws() -> Iterator[str]:
    """Yield the lines of the second table."""
    yield "r of judge and experts  dimensions   judge  30 experts  corrected  covered  width"
    rows = []
    for one in rated():
        truth = one.experts.mean()
        r = float(np.corrcoef(one.scores, one.experts)[0, 1])
        for seed in range(DRAWS):
            found = corrected(one, seed)
            people, both = found.people, found.corrected
            off = [abs(value - truth) for value in (found.judge.estimate, people.estimate, both.estimate)]
            width = (both.high - both.low) / (people.high - people.low)
            covered = np.nan if both.reason else float(both.low <= truth <= both.high)
            rows.append([r, *off, covered, width])
    table = np.array(rows, dtype=float)
    for low, high, words in ((-1, 0.5, "below 0.5"), (0.5, 0.7, "0.5 to 0.7"), (0.7, 1, "above 0.7"), (-1, 1, "all")):
        part = table[(table[:, 0] >= low) & (table[:, 0] < high)]
        of_judge, of_experts, of_both, share, width = np.nanmean(part[:, 1:], axis=0)
        means = f"{of_judge:6.2f}  {of_experts:10.3f}  {of_both:9.3f}"
        yield f"{words:22}  {len(part) // DRAWS:10}  {means}  {share:7.1%}  {width:5.2f}"


def main() -> None:
    """Print the tables."""
    for line in one_draw("Lend an Ear", "gpt"):
        print(line)
    print()
    for line in many_draws():
        print(line)


if __name__ == "__main__":
    main()
