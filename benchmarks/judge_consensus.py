"""How well levels, means and judges' errors are recovered from judges alone, and where that fails.

    python benchmarks/judge_consensus.py

Simulates units of one model with levels 1 to 3 or 1 to 5, and judges whose impression is the level, shifted and with
logistic noise, as the model of `attune_metrics.stats.dawid_skene` has it: `JUDGES` has the shift and the standard
deviation of each, and the shifts are moved so that the average judge is not lenient. Further lines break the model.
Prints the tables of docs/judges.md, in ten minutes on one core; with crowd-kit installed, also the errors of the free
matrices of Dawid and Skene.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from math import pi, sqrt

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attune_metrics.stats.cluster_means import mean_of_clusters_interval
from attune_metrics.stats.dawid_skene import Consensus, ordinal_consensus

SIMULATIONS, REFITTED, REFITS = 200, 60, 20
JUDGES = [(0.3, 0.45), (0.0, 0.6), (-0.3, 0.8), (0.2, 0.55), (-0.2, 0.7), (0.1, 0.9)]
SHARES = {3: (0.2, 0.4, 0.4), 5: (0.1, 0.2, 0.3, 0.2, 0.2)}
Ratings = NDArray[np.float64]
Distort = Callable[[Ratings, Ratings, Generator], Ratings]


@dataclass(frozen=True)
class Result:
    """What one simulation finds: true levels, ratings, and the consensus."""

    levels: Ratings
    ratings: Ratings
    found: Consensus


def rate(
    judges: int, units: int, size: int, generator: Generator, distort: Distort | None = None
) -> tuple[Ratings, Ratings]:
    """Return true levels (units,) and ratings (units, judges)."""
    shift, spread = np.array(JUDGES[:judges]).T
    levels = generator.choice(np.arange(1.0, size + 1), size=units, p=SHARES[size])
    noise = generator.logistic(size=(units, judges)) * spread * sqrt(3) / pi
    seen = levels[:, np.newaxis] + shift - shift.mean() + noise
    if distort is not None:
        seen = distort(seen, levels, generator)
    return levels, np.clip(np.rint(seen), 1, size)


def simulated(
    judges: int, units: int, size: int, times: int = SIMULATIONS, distort: Distort | None = None
) -> Iterator[Result]:
    """Yield what each simulation finds."""
    for seed in range(times):
        generator = np.random.default_rng([judges, units, size, seed])
        levels, ratings = rate(judges, units, size, generator, distort)
        yield Result(levels, ratings, ordinal_consensus(ratings, range(units)))


def true_mean(size: int) -> float:
    """Return the mean level of all units that there could be."""
    return float(np.arange(1, size + 1) @ SHARES[size])


def line(results: list[Result], size: int) -> str:
    """Return bias, coverage and width of the mean and of the plain mean, and errors of judges and units."""
    true, known = true_mean(size), [one for one in results if one.found.reason is None]
    means = [one.found.means[0] for one in known]
    plain = [
        mean_of_clusters_interval(one.ratings.mean(axis=1)[np.newaxis], range(len(one.levels)), low=1, high=size)[0]
        for one in known
    ]
    accuracy, leniency = [], []
    for one in known:
        errors = one.ratings - one.levels[:, np.newaxis]
        accuracy += [judge.accuracy - (errors[:, place] == 0).mean() for place, judge in enumerate(one.found.judges)]
        leniency += [judge.leniency - errors[:, place].mean() for place, judge in enumerate(one.found.judges)]
    units = sqrt(np.mean([((one.found.unit_levels - one.levels) ** 2).mean() for one in known]))
    rounded = sqrt(np.mean([((one.ratings.mean(axis=1) - one.levels) ** 2).mean() for one in known]))
    cells = []
    for given in (means, plain):
        cover = np.mean([one.low <= true <= one.high for one in given])
        cells.append(f"{np.mean([one.estimate for one in given]) - true:+6.3f} {cover:7.1%}")
    width = np.mean([one.high - one.low for one in means])
    of_judges = f"{sqrt(np.nanmean(np.square(accuracy))):8.2f} {sqrt(np.nanmean(np.square(leniency))):9.2f}"
    refused = 1 - len(known) / len(results)
    return f"{cells[0]} {width:6.2f}   {cells[1]}   {of_judges}   {units:5.2f} {rounded:6.2f}   {refused:7.1%}"


HEAD = "bias coverage  width     bias coverage   accuracy  leniency   units  plain   refused"


def shared(seen: Ratings, _: Ratings, generator: Generator) -> Ratings:
    """Add one error to the first two judges, with half of the variance of the judges' own."""
    return seen + generator.normal(size=(len(seen), 1)) * np.where(np.arange(seen.shape[1]) < 2, 0.6, 0)


def lenient_to_the_weakest(seen: Ratings, levels: Ratings, _: Generator) -> Ratings:
    """Lift what every judge sees of the two lowest levels."""
    lifted: Ratings = seen + np.select([levels == 1, levels == 2], [1.2, 0.6])[:, np.newaxis]
    return lifted


def half(seen: Ratings, levels: Ratings, _: Generator) -> Ratings:
    """Let the first judge see half the differences of levels from 3."""
    return seen - np.where(np.arange(seen.shape[1]) < 1, (levels[:, np.newaxis] - 3) / 2, 0)


def main() -> None:
    """Print the tables."""
    print(f"{SIMULATIONS} simulations for each line, standard error 1.5% at 95%\n")
    print("                        consensus              plain mean     error of judges'    error of")
    print(f"levels judges units     {HEAD}")
    for size in (3, 5):
        for judges in (3, 4, 6):
            for units in (50, 200):
                results = [*simulated(judges, units, size)]
                print(f"{size:6} {judges:6} {units:5}   {line(results, size)}", flush=True)
    print("\n5 levels, 200 units, and a model that does not hold; seen: how often the test names the two, or others")
    print(f"judges                            {HEAD}   seen  others")
    for name, judges, distort in (
        ("3, two share errors", 3, shared), ("4, two share errors", 4, shared), ("6, two share errors", 6, shared),
        ("6, independent", 6, None), ("4, one sees half the differences", 4, half),
        ("6, all lenient to the weakest", 6, lenient_to_the_weakest),
    ):  # fmt: skip
        results = [*simulated(judges, 200, 5, SIMULATIONS // 2, distort)]
        largest = [max(one.found.pairs, key=lambda pair: pair.excess, default=None) for one in results]
        named = [(pair.one, pair.other) for pair in largest if pair is not None and pair.p_holm < 0.05]
        seen = sum(pair == (0, 1) for pair in named) / len(results)
        others = sum(pair != (0, 1) for pair in named) / len(results)
        print(f"{name:32}  {line(results, 5)}   {seen:4.0%}  {others:6.0%}", flush=True)
    refits()
    if find_spec("crowdkit") is not None:
        peer()


def refits() -> None:
    """Compare the one-step interval with the normal interval of refits to resampled units."""
    print(f"\n5 levels, 3 judges, 50 units, {REFITTED} simulations of {REFITS} refits")
    covers, widths = [], []
    for seed, one in enumerate(simulated(3, 50, 5, REFITTED)):
        generator = np.random.default_rng(seed)
        again = []
        for _ in range(REFITS):
            drawn = one.ratings[generator.integers(0, 50, size=50)]
            again.append(ordinal_consensus(drawn, range(50)).means[0].estimate)
        mean, reach = one.found.means[0], 2.01 * float(np.nanstd(again, ddof=1))
        true = true_mean(5)
        covers.append((mean.low <= true <= mean.high, abs(mean.estimate - true) <= reach))
        widths.append((mean.high - mean.low, 2 * reach))
    for place, name in enumerate(("one step", "refits")):
        print(f"{name:9} coverage {np.mean(covers, axis=0)[place]:6.1%}, width {np.mean(widths, axis=0)[place]:.2f}")


def peer() -> None:
    """Print the error of the mean and of units by crowd-kit's Dawid-Skene with free matrices."""
    import pandas
    from crowdkit.aggregation import DawidSkene  # type: ignore[import-not-found, unused-ignore]

    print("\nroot mean square error, 50 simulations of 3 judges: of the mean, of units")
    for size, units in ((2, 200), (3, 50), (5, 50), (5, 200)):
        errors = []
        for one in simulated(3, units, max(size, 3), 50):
            levels, ratings, found = one.levels, one.ratings, one.found
            if size == 2:
                levels, ratings = np.minimum(levels, 2), np.minimum(ratings, 2)
                found = ordinal_consensus(ratings, range(units))
            rows = [(unit, judge, value) for (unit, judge), value in np.ndenumerate(ratings)]
            answers = pandas.DataFrame(rows, columns=["task", "worker", "label"])
            chances = DawidSkene(n_iter=1000, tol=1e-8).fit_predict_proba(answers).sort_index()
            by_units = chances.to_numpy() @ chances.columns.to_numpy()
            own = found.means[0].estimate - levels.mean(), found.unit_levels - levels
            free = by_units.mean() - levels.mean(), by_units - levels
            errors.append([np.mean(np.square(one)) for one in (*own, *free)])
        ours, units_ours, theirs, units_theirs = np.sqrt(np.nanmean(errors, axis=0))
        print(
            f"{size} levels, {units:3} units: ordinal {ours:.3f} {units_ours:.2f}; "
            f"free matrices (crowd-kit) {theirs:.3f} {units_theirs:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
