"""Whether the analyses find what was planted in synthetic data, and nothing where nothing was.

    PYTHONPATH=tools python benchmarks/recovery.py [SEEDS]

Prints each figure with its bound, and exits with 1 where one does not hold. The truth of an effect, on its metric's own
scale, is its value in one set of 50,000 conversations. Each of 200 seeds then gives 200 conversations by 120
participants: at least 180 of the intervals hold the truth, and with nothing planted at most 20 p-values are below 0.05.
Takes some ten minutes on two cores.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import Pool
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from synthetic.conversations import conversations
from synthetic.participants import Effects
from synthetic.runs import SimulatedModel, runs

from attune_bench import Scores, score
from attune_bench.benchmarks.attunebench.analyses import diagnosis_groups, turn_drift
from attune_bench.stats.compare import compare
from attune_data import Conversations

SEEDS, CONVERSATIONS, PARTICIPANTS = 200, 200, 120
TRUTH = 50_000
LEAST_COVERED, MOST_REJECTED = 0.9, 0.1  # shares of the seeds

_VA, _COMPOSITE, _OM = "avg_emotion_va_score", "composite_score", "pooled_binary_om_metrics.accuracy"
_NAMES = ("diagnosis gap of emotion VA", "late-turn drift of OM accuracy", "composite of the better model")


@dataclass(frozen=True)
class World:
    """What is planted: in the conversations, and in two models."""

    effects: Effects
    first: SimulatedModel
    second: SimulatedModel

    def draw(self, seed: int) -> tuple[Conversations, Scores]:
        """Return the conversations of a seed and the scores of both models on them."""
        drawn = Conversations(conversations(CONVERSATIONS, participants=PARTICIPANTS, seed=seed, effects=self.effects))
        return drawn, score(drawn, runs(drawn, [self.first, self.second], seed=seed))


_EVEN = SimulatedModel("first", unclear_loss=0.6)
NOTHING = World(Effects(clarity_loss_diagnosed=0.0), _EVEN, replace(_EVEN, name="second"))
PLANTED = World(
    Effects(clarity_loss_diagnosed=0.3),
    replace(_EVEN, drift=-0.02, emotion=0.6, binary_om=0.6, pairwise=0.6, wide=0.55),
    replace(_EVEN, name="second"),
)


def sums(world: World, seed: int) -> NDArray[np.float64]:
    """Return sums of numerator and denominator of both sides of each effect (effects, sides, 2)."""
    drawn, scores = world.draw(seed)
    healthy = {
        conversation.id: conversation.participant_profile.demographics.diagnoses == ("None of the above",)
        for conversation in drawn
    }
    total = np.zeros((3, 2, 2))
    for record in scores.detail or ():
        total[2, int(record["em_model"] == "second")] += (record["composite_score"], 1)
        if record["em_model"] == "first":
            total[0, int(healthy[record["conversationId"]])] += (record["avg_emotion_va_score"], 1)
            turns = record["turn_scores"]
            for place, turn in enumerate(turns):
                third = 3 * place // len(turns)
                counts = turn["binary_om_metrics"]
                if third != 1:
                    right = counts["tp"] + counts["tn"]
                    total[1, int(third == 0)] += (right, right + counts["fp"] + counts["fn"])
    return total


def analyses(world: World, seed: int) -> list[tuple[float, float, float, float]]:
    """Return estimate, ends and p-value of each effect, as the library finds them."""
    drawn, scores = world.draw(seed)
    gap = diagnosis_groups(scores, data=drawn, metrics=[_VA], seed=seed).filter(group="any", model="first")
    drift = turn_drift(scores, metrics=[_OM], seed=seed).filter(model="first")
    better = compare(scores, "first", "second", metrics=[_COMPOSITE], seed=seed)
    rows: list[Mapping[str, Any]] = [
        gap.row(0, named=True),
        {**(row := drift.row(0, named=True)), "difference": row["drift"]},
        better.row(0, named=True),
    ]
    return [(row["difference"], row["low"], row["high"], row["p"]) for row in rows]


def main(seeds: int = SEEDS) -> int:
    """Generate, analyse, print; return the exit status."""
    holds: list[bool] = []
    started = perf_counter()
    with Pool() as pool:
        # Seeds of the truth are not those of the analyses.
        parts = range(seeds, seeds + TRUTH // CONVERSATIONS)
        numerator, denominator = np.moveaxis(sum(pool.imap(partial(sums, PLANTED), parts), np.zeros(1)), -1, 0)
        sides = numerator / denominator
        truth = sides[:, 0] - sides[:, 1]
        planted = _series(pool, partial(analyses, PLANTED), seeds)
        nothing = _series(pool, partial(analyses, NOTHING), seeds)
    for place, name in enumerate(_NAMES):
        estimate, low, high, p = planted[:, place].T
        covered = int(((low <= truth[place]) & (truth[place] <= high)).sum())
        rejected = int((nothing[:, place, 3] < 0.05).sum())
        print(
            f"{name}: truth {truth[place]:.4f}, mean estimate {estimate.mean():.4f} "
            f"(sd {estimate.std(ddof=1):.4f}, mean width {(high - low).mean():.4f})"
        )
        verdict = _verdict(covered >= LEAST_COVERED * seeds, holds)
        print(
            f"  interval holds the truth in {covered} of {seeds} seeds, p < 0.05 in {int((p < 0.05).sum())}: {verdict}"
        )
        verdict = _verdict(rejected <= MOST_REJECTED * seeds, holds)
        print(f"  nothing planted: p < 0.05 in {rejected} of {seeds} seeds: {verdict}")
    print(f"{perf_counter() - started:.0f} s")
    return int(not all(holds))


def _series(pool: Any, analyse: Callable[[int], Any], seeds: int) -> NDArray[np.float64]:
    """Return what an analysis finds with each seed (seeds, effects, 4)."""
    return np.array(list(pool.imap(analyse, range(seeds))), dtype=np.float64)


def _verdict(kept: bool, holds: list[bool]) -> str:
    holds.append(kept)
    return "bound holds" if kept else "bound DOES NOT HOLD"


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
