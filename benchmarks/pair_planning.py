"""How many calls place a new model on a board: by fixed stages, as EQ-Bench 3 has them, or by `next_pairs`.

    python benchmarks/pair_planning.py [--simulations 200]

A board has 24 models, each judged against those within three ranks on all of 45 scenarios, in both orders. A new model
comes. Strengths are normal of standard deviation 1.2; each model is better or worse on each scenario by a normal effect
of standard deviation 0.5. A call is one comparison in one order; both orders are judged. Both ways use the same fit,
with a penalty of 0.1 and the scenarios as clusters.

- Stages: ten models evenly spaced on one scenario; then those within three ranks on 4, 8, 16 and 24 scenarios (half of
  that at two ranks, a quarter at three), then on all; each stage after the first again until the rank stays, at most
  four times.
- Planned: the two least decided pairs of the new model, 4 scenarios each, until all are decided or judged on all
  scenarios.

Prints the table of docs/metrics/judged-pairs.md: how many ranks a model is from the true one after so many calls. Ten
minutes on two quiet cores.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from statistics import mean
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from attune_metrics.stats.pair_planning import next_pairs
from attune_metrics.stats.pairwise import ComparisonFit, fit_comparisons

BOARD, SCENARIOS, NEW, PENALTY = 24, 45, 24, 0.1
CAPS = (4, 8, 16, 24, SCENARIOS)
BUDGETS = (20, 60, 120, 240, 360, 540)


class Placed(NamedTuple):
    """How many calls a model took, and how many ranks it is from where it belongs."""

    calls: int
    ranks_off: int


class Board:
    """Models, the new one last, and all comparisons so far."""

    def __init__(self, seed: int) -> None:
        self.generator = np.random.default_rng(seed)
        self.strengths = self.generator.normal(0, 1.2, BOARD + 1)
        self.effects = self.generator.normal(0, 0.5, (BOARD + 1, SCENARIOS))
        self.judged: dict[tuple[int, int], list[int]] = {}
        self.rows: list[NDArray[np.intp]] = []
        self.fit = cache(self._fitted)
        self.calls = 0
        ladder = np.argsort(-self.strengths[:BOARD]).tolist()
        for place, model in enumerate(ladder):
            for other in ladder[place + 1 : place + 4]:
                self.judge(model, other, SCENARIOS)
        self.calls = 0

    def judge(self, model: int, other: int, scenarios: int) -> bool:
        """Judge a pair in both orders until it has been judged on so many scenarios; return whether it had fewer."""
        pair = min(model, other), max(model, other)
        done = self.judged.setdefault(pair, [])
        unseen = np.setdiff1d(np.arange(SCENARIOS), done)
        chosen = self.generator.permutation(unseen)[: max(0, scenarios - len(done))]
        one, two = (self.strengths[side] + self.effects[side, chosen] for side in pair)
        won = self.generator.random((2, len(chosen))) < expit(one - two)
        left, right = (np.full(2 * len(chosen), side) for side in pair)
        self.rows.append(np.array([left, right, won.ravel(), np.tile(chosen, 2)]).astype(np.intp))
        self.calls += 2 * len(chosen)
        self.fit.cache_clear()
        done += chosen.tolist()
        return len(chosen) > 0

    def _fitted(self) -> ComparisonFit:
        left, right, outcome, scenario = np.concatenate(self.rows, axis=1)
        return fit_comparisons(left, right, outcome, clusters=scenario, penalty=PENALTY)

    def ladder(self) -> list[int]:
        """Return the models, the strongest first."""
        fit = self.fit()
        return [int(fit.labels[place]) for place in np.argsort(-fit.strengths)]

    def placed(self) -> Placed:
        """Return what the new model took, and where it stands."""
        right = int((self.strengths > self.strengths[NEW]).sum())
        return Placed(self.calls, abs(self.ladder().index(NEW) - right))


def by_stages(board: Board) -> Iterator[None]:
    """Judge by the stages, a pause after each."""
    ladder = [model for model in board.ladder() if model != NEW]
    for place in np.linspace(0, BOARD - 1, 10).round().astype(int):
        board.judge(NEW, ladder[place], 1)
    yield
    for cap in CAPS:
        for _ in range(4):
            ladder = board.ladder()
            place = ladder.index(NEW)
            for other in range(max(0, place - 3), min(BOARD, place + 3) + 1):
                distance = abs(other - place)
                share = cap if cap == SCENARIOS else max(1, cap // (1, 1, 2, 4)[distance])
                if distance:
                    board.judge(NEW, ladder[other], share)
            if board.ladder().index(NEW) == place:
                break
        yield


def by_plan(board: Board, level: float, smallest: float) -> Iterator[None]:
    """Judge the two least decided pairs that are not judged on all scenarios, a pause after each round."""
    more = True
    while more:
        judged = 0
        for pair in next_pairs(board.fit(), models=[NEW], n=BOARD, level=level, smallest_difference=smallest):
            one, other = sorted((int(pair.first), int(pair.second)))
            judged += board.judge(one, other, len(board.judged.get((one, other), ())) + 4)
            if judged == 2:
                break
        more = judged > 0
        yield


WAYS: dict[str, Callable[[Board], Iterator[None]]] = {
    "stages": by_stages,
    "planned at 95%": partial(by_plan, level=0.95, smallest=0),
    "planned at 99%": partial(by_plan, level=0.99, smallest=0),
    "99%, 0.4 matters": partial(by_plan, level=0.99, smallest=0.4),
}


def simulate(way: Callable[[Board], Iterator[None]], seed: int) -> list[Placed]:
    """Place one model; return where it stands after each pause."""
    board = Board(seed)
    return [board.placed() for _ in way(board)]


def within(found: Sequence[Placed], calls: int) -> Placed:
    """Return where a model stands after at most so many calls."""
    return [one for one in found if one.calls <= calls][-1]


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description="Simulate how a new model is placed on a board.")
    parser.add_argument("--simulations", type=int, default=200)
    simulations = parser.parse_args().simulations
    heads = "".join(f"{calls:>6}" for calls in BUDGETS)
    print(f"{'ranks off after calls':<22}{heads}  at the end  calls  right rank")
    with ProcessPoolExecutor(2) as pool:
        for name, way in WAYS.items():
            found = [*pool.map(partial(simulate, way), range(simulations), chunksize=5)]
            off = "".join(f"{mean(within(one, calls).ranks_off for one in found):>6.2f}" for calls in BUDGETS)
            ends = [one[-1] for one in found]
            calls, last = mean(one.calls for one in ends), mean(one.ranks_off for one in ends)
            right = mean(one.ranks_off == 0 for one in ends)
            print(f"{name:<22}{off}  {last:>10.2f}  {calls:>5.0f}  {right:>10.0%}", flush=True)


if __name__ == "__main__":
    main()
