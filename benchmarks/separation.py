"""How often the intervals of `separation` and `skills` cover the truth, and how often the planted skills are counted.

    PYTHONPATH=tools python benchmarks/separation.py [--full]

Scores of two units of each participant: unit effects and errors of variance 1, of errors 0.3 the participant's; models
as far apart as their reliability says. Reliability: how often its interval covers each of three reliabilities; then,
over all three, the intervals of the shares between models, between units and within. *uneven*: the errors of models
have standard deviations of 0.5 to 1.5, and two families of models share errors. Shares of few independent units, by
the variance between units; the variance between models is 0.05 and 0.5, of errors 1. Correlation of two skills with
the true correlation rho, of two metrics of one reliability and errors that correlate 0.4: how often the interval
covers rho, how often it is refused, and its median width with rho 0.6. Dimensions: in which share of data sets of six
metrics with a reliability of 0.8 so many skills are counted. It takes about two minutes; ``--full`` has every cell and
more data sets.
"""

import argparse
from collections.abc import Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray
from synthetic.skills import skill_scores

from attune_metrics.stats.bootstrap import Interval
from attune_metrics.stats.dimensions import shared_dimensions
from attune_metrics.stats.separation import separation
from attune_metrics.stats.skills import disattenuated

EACH, OF_PEOPLE, SHARED = 2, 0.3, 0.4
MODELS, PARTICIPANTS = (4, 11, 40), (10, 25, 50, 200)
RELIABILITIES = (0.3, 0.8, 0.95)
Floats = NDArray[np.float64]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--full", action="store_true")
    given = parser.parse_args()
    simulations = given.simulations or (2000 if given.full else 500)
    generator = np.random.default_rng(given.seed)
    for lines in (reliabilities, shares_of_few, correlations, dimensions):
        print(*lines(generator, simulations, full=given.full), "", sep="\n", flush=True)


def errors(generator: np.random.Generator, models: int, participants: int) -> Floats:
    """Return errors (models, units) of variance 1."""
    of_people = generator.normal(size=(models, participants)).repeat(EACH, axis=1)
    own = generator.normal(size=(models, participants * EACH))
    found: Floats = np.sqrt(OF_PEOPLE) * of_people + np.sqrt(1 - OF_PEOPLE) * own
    return found


def covers(interval: Interval, truth: float) -> bool:
    """Tell whether an interval covers the truth."""
    return interval.low <= truth <= interval.high


def reliabilities(generator: np.random.Generator, simulations: int, *, full: bool) -> Iterator[str]:
    """Yield a line for each design: coverage of reliability and shares."""
    heads = " | ".join(f"reliability {one}" for one in RELIABILITIES)
    yield f"| noise | models | participants | {heads} | models | units | within |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for noise, models, participants in product(("even", "uneven"), MODELS, PARTICIPANTS if full else (10, 50)):
        units, people = participants * EACH, np.arange(participants).repeat(EACH)
        spread, family = np.ones(models), np.zeros(models)
        if noise == "uneven":
            spread, family = np.linspace(0.5, 1.5, models), 0.7 * np.where(np.arange(models) < models // 2, 1.0, -1.0)
        of_mean = (OF_PEOPLE * EACH + 1 - OF_PEOPLE) / units
        covariance = np.diag(spread**2) * of_mean + np.outer(family, family) * EACH / units
        variance = (np.trace(covariance) - covariance.sum() / models) / (models - 1)
        single = np.diag(spread**2) + np.outer(family, family)
        within = (np.trace(single) - single.sum() / models) / (models - 1)
        # What errors add to the mean of a unit over the models is an effect of the unit.
        unit = 1 + single.sum() / models**2 - within / models
        covered, shown = np.zeros((2, len(RELIABILITIES), 4))
        for place, reliability in enumerate(RELIABILITIES):
            between = reliability / (1 - reliability) * variance
            truth = reliability, *(np.array([between, unit, within]) / (between + unit + within))
            for _ in range(simulations):
                true = generator.normal(size=models)
                true -= true.mean()
                true *= np.sqrt(between / true.var(ddof=1))
                of_families = np.outer(family, generator.normal(size=participants).repeat(EACH))
                scores = true[:, np.newaxis] + generator.normal(size=units) + of_families
                found = separation(scores + spread[:, np.newaxis] * errors(generator, models, participants), people)
                intervals = (found.reliability, found.model, found.unit, found.within)
                covered[place] += [covers(*both) for both in zip(intervals, truth, strict=True)]
                shown[place] += [not np.isnan(one.low) for one in intervals]
        of_shares = covered[:, 1:].sum(axis=0) / shown[:, 1:].sum(axis=0)
        shares = " | ".join(f"{share:.1%}" for share in (*(covered / shown)[:, 0], *of_shares))
        yield f"| {noise} | {models} | {participants} | {shares} |"


def shares_of_few(generator: np.random.Generator, simulations: int, *, full: bool) -> Iterator[str]:
    """Yield a line for each design: coverage of shares of the variance with few independent units."""
    yield "| models | units | variance of units | models | units | within |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for models, units, unit in product(MODELS, (12, 25), (0.05, 0.2, 1.0, 3.0) if full else (0.05, 1.0)):
        covered, betweens = np.zeros(3), (0.05, 0.5)
        for between, _ in product(betweens, range(simulations)):
            true = generator.normal(size=(models, 1))
            true = (true - true.mean()) * np.sqrt(between / true.var(ddof=1))
            found = separation(
                true + np.sqrt(unit) * generator.normal(size=units) + generator.normal(size=(models, units)),
                range(units),
            )
            truth = np.array([between, unit, 1]) / (between + unit + 1)
            covered += [
                covers(*both) for both in zip((found.model, found.unit, found.within), truth.tolist(), strict=True)
            ]
        shares = " | ".join(f"{share:.1%}" for share in covered / simulations / len(betweens))
        yield f"| {models} | {units} | {unit} | {shares} |"


def correlations(generator: np.random.Generator, simulations: int, *, full: bool) -> Iterator[str]:
    """Yield a line for each design: coverage of the corrected correlation, refusals, and the median width."""
    rhos = (0.0, 0.6, 0.9)
    yield f"| models | participants | reliability | {' | '.join(f'rho {rho}' for rho in rhos)} | refused | width |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for models, participants, reliability in product((6, 11, 40), PARTICIPANTS if full else (10, 50), (0.5, 0.8, 0.95)):
        covered, widths = [], []
        for rho in rhos:
            found = []
            for _ in range(simulations):
                (one, other), people = skill_scores(
                    [0, 1], models=models, participants=participants, between=rho, reliability=reliability,
                    shared_noise=SHARED, seed=int(generator.integers(2**32)),
                )  # fmt: skip
                found.append(disattenuated(one, other, people).corrected)
            shown = [one for one in found if not np.isnan(one.estimate)]
            covered.append(f"{sum(covers(one, rho) for one in shown) / len(shown):.1%}" if len(shown) > 99 else "few")
            widths.append([one.high - one.low for one in found])
        refused, width = np.isnan(widths).mean(), np.nanmedian(widths[1])
        yield f"| {models} | {participants} | {reliability} | {' | '.join(covered)} | {refused:.0%} | {width:.2f} |"


def dimensions(generator: np.random.Generator, simulations: int, *, full: bool) -> Iterator[str]:
    """Yield a line for each design: how often so many dimensions are counted."""
    yield "| models | participants | skills | their correlation | 0 counted | 1 | 2 | more |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    planted = (([*range(6)], 0.0), ([0] * 6, 0.0), ([0, 0, 0, 1, 1, 1], 0.0), ([0, 0, 0, 1, 1, 1], 0.6))
    for models, participants, (skills, rho) in product((11, 40), PARTICIPANTS if full else (50,), planted):
        counted = np.zeros(4)
        repeats = max(simulations // 3, 1)
        for _ in range(repeats):
            seed = int(generator.integers(2**32))
            scores, people = skill_scores(
                skills, models=models, participants=participants, between=rho, reliability=0.8, shared_noise=SHARED,
                seed=seed,
            )  # fmt: skip
            counted[min(shared_dimensions(scores, people, draws=200, seed=seed).number, 3)] += 1
        names = {6: "unrelated", 1: "1", 2: "2"}[len(set(skills))]
        cells = " | ".join(f"{share:.0%}" for share in counted / repeats)
        yield f"| {models} | {participants} | {names} | {rho} | {cells} |"


if __name__ == "__main__":
    main()
