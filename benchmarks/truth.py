"""How often the intervals of `internal_consistency`, `truth` and `truth_agreement` cover what was planted.

    PYTHONPATH=tools python benchmarks/truth.py [--simulations 200]

Consistency: forms of ten items, two of each person; alpha and omega of loadings that are alike or not. Ceiling: the
distance of models to the best of one or three annotators who agree with the participant on 75% of the questions; the
interval is the default of `analyze`. Agreement of rankings: the correlation of models' scores under the truths of the
participant and of an annotator, on 60 questions of each of two conversations of each participant.
"""

import argparse
from collections.abc import Iterator
from itertools import product

import numpy as np
from synthetic.annotators import answers, forms

from attune_metrics.stats.bootstrap import bootstrap, draw_resamples
from attune_metrics.stats.consistency import internal_consistency
from attune_metrics.stats.skills import disattenuated

PARTICIPANTS, MODELS = (10, 25, 50, 200), (4, 11, 40)
AGREEMENT = 0.75


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    generator = np.random.default_rng(given.seed)
    for lines in (consistency, ceiling, agreement):
        print(*lines(generator, given.simulations), "", sep="\n", flush=True)


def consistency(generator: np.random.Generator, simulations: int) -> Iterator[str]:
    """Yield a line for each design: mean and coverage of alpha and omega."""
    yield "| loadings | persons | alpha | mean | covered | omega | mean | covered |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for (name, loadings), persons in product(
        (("0.4 to 0.8", np.linspace(0.4, 0.8, 10)), ("all 0.6", np.full(10, 0.6)), ("all 0.3", np.full(10, 0.3))),
        PARTICIPANTS,
    ):
        common, rest = loadings.sum() ** 2, (1 - loadings**2).sum()
        truth = np.array([10 / 9 * (1 - 10 / (common + rest)), common / (common + rest)])
        found = []
        for _ in range(simulations):
            made = internal_consistency(*forms(generator, loadings, persons=persons))
            found.append([(one.estimate, one.low, one.high) for one in (made.alpha, made.omega)])
        estimates, low, high = np.moveaxis(np.array(found), -1, 0)
        covered = np.where(np.isnan(low).all(axis=0), np.nan, ((low <= truth) & (truth <= high)).mean(axis=0))
        cells = " | ".join(
            f"{t:.3f} | {m:.3f} | {'refused' if np.isnan(c) else f'{c:.1%}'}"
            for t, m, c in zip(truth, estimates.mean(0), covered, strict=True)
        )
        yield f"| {name} | {persons} | {cells} |"


def ceiling(generator: np.random.Generator, simulations: int) -> Iterator[str]:
    """Yield a line for each design: coverage and bias of the distance to the ceiling, and models marked in error."""
    yield "| annotators | participants | bias | covered | marked above |"
    yield "| --- | --- | --- | --- | --- |"
    for annotators, participants in product((1, 3), PARTICIPANTS):
        covered, moved, marked = [], [], []
        for place in range(simulations):
            made = answers(generator, models=11, participants=participants, annotators=annotators, agreement=AGREEMENT)
            best = made.others[made.others.mean(axis=1).argmax()]
            draws = draw_resamples(made.clusters, n_resamples=1000, seed=place)
            truth = made.expected - AGREEMENT
            for one, true in zip(bootstrap(made.participant - best, draws), truth, strict=True):
                covered.append(one.low <= true <= one.high)
                moved.append(one.estimate - true)
            # As good as the annotator: whose answers are right as often, and independent.
            as_good = answers(generator, models=4, participants=participants, annotators=2, agreement=AGREEMENT).others
            [level] = bootstrap(as_good[1:] - as_good[0], draws)
            marked.append(level.low > 0)
        shares = f"{np.mean(covered):.1%} | {np.mean(marked):.1%}"
        yield f"| {annotators} | {participants} | {np.mean(moved):+.4f} | {shares} |"


def agreement(generator: np.random.Generator, simulations: int) -> Iterator[str]:
    """Yield a line for each design: coverage of the corrected correlation of two rankings, and refusals."""
    rhos = (0.3, 0.6, 0.9)
    yield f"| models | participants | {' | '.join(f'rho {rho}' for rho in rhos)} | refused |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for models, participants in product(MODELS, PARTICIPANTS):
        cells, refused = [], []
        for rho in rhos:
            found = []
            for _ in range(simulations if models * participants < 4000 else simulations // 2):
                made = answers(generator, models=models, participants=participants, between=rho, agreement=AGREEMENT)
                found.append(disattenuated(made.participant, made.annotator, made.clusters).corrected)
            shown = [one for one in found if not np.isnan(one.low)]
            refused.append(1 - len(shown) / len(found))
            cells.append(f"{np.mean([one.low <= rho <= one.high for one in shown]):.1%}" if len(shown) > 49 else "few")
        yield f"| {models} | {participants} | {' | '.join(cells)} | {np.mean(refused):.0%} |"


if __name__ == "__main__":
    main()
