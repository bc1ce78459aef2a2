"""Does turn credit help? GRPO with and without centred turn credit, at equal rollouts, on a person who follows rules.

    python benchmarks/turn_credit.py [FIGURE]

Prints, for each kind of person and each learning rate, the mean reward of both over 20 seeds and the paired interval of
their difference; writes the learning curves to FIGURE (.json or .html need altair, .svg or .png vl-convert-python too).

The person has an anger and a trust that each reply moves by a known table, plus noise of one point. Doing the same
twice in a row is worth half, three times nothing. A promise does nothing to the plain person. The disappointed person
likes it at once and resents it one turn later, which credit for a turn's own change cannot see.

The policy is a table of logits: one row for each band of anger, last reply and whether that was a repetition. Every
step rolls out each of 16 scenarios 8 times and updates once, on policy, so that the ratio of GRPO is 1 and its clipping
idle. Both arms see the same scenarios, and draw the same random numbers, at every step. Credit lengthens the gradient
too, so that a gain at one learning rate alone could be one of step size: hence several.
"""

import sys
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attune_metrics.eibench import Anchors, score_anchors
from attune_metrics.stats.bootstrap import Interval, bootstrap, draw_resamples
from attune_metrics.stats.comparison import paired_bootstrap, paired_permutation_test
from attune_metrics.turn_credit import process_rewards, trace_advantages, turn_advantages

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

SEEDS, STEPS, LAST = 20, 120, 20
SCENARIOS, ROLLOUTS, TURNS = 16, 8, 8
RATES = (3.0, 10.0, 30.0, 100.0)
ALPHAS = {"trace advantage only": 0.0, "with centred turn credit": 15.0}

REPLIES = ("listen", "validate", "ask", "advise", "dismiss", "promise")
BANDS = (30, 60)  # the table's rows: anger up to 30, up to 60, above
# Change of anger and of trust by band of anger and reply.
ANGER = np.array([[0, 0, 0, -4, 4, 0], [-1, -3, -1, -1, 5, 0], [-2, -4, 1, 4, 7, 0]])
TRUST = np.array([[0, 1, 4, 4, -5, 0], [1, 3, 3, 1, -5, 0], [1, 3, 0, -3, -6, 0]])
TARGETS, WORST = (25, 65), (95, 0)  # of anger and trust


@dataclass(frozen=True)
class Person:
    """What a promise does at once to anger (and the opposite to trust), and what it does a turn later."""

    promise: int
    disappointment: int


PERSONS = {"plain": Person(0, 0), "disappointed": Person(-6, 9)}


@dataclass(frozen=True)
class Batch:
    """Rows of the policy and replies (traces, turns), and states (traces, turns + 1)."""

    rows: Whole
    replies: Whole
    anger: Whole
    trust: Whole


def main(figure: str | None = None) -> int:
    """Train, compare, print, draw; return the exit status."""
    resamples = draw_resamples(range(SEEDS), seed=1)
    curves = []
    for name, person in PERSONS.items():
        for rate in RATES:
            plain, credited = (
                np.array([train(person, alpha, rate, seed) for seed in range(SEEDS)]) for alpha in ALPHAS.values()
            )
            print(f"{name} person, learning rate {rate:g}, start {plain[:, 0].mean():+.3f}")
            for what, part in (("all steps", slice(None)), (f"last {LAST} steps", slice(-LAST, None))):
                a, b = credited[:, part].mean(axis=1), plain[:, part].mean(axis=1)
                [gain] = paired_bootstrap(a, b, resamples)
                [test] = paired_permutation_test(a, b, range(SEEDS))
                print(f"    {what}: {b.mean():+.3f} without, {a.mean():+.3f} with credit; difference "
                      f"{gain.estimate:+.3f} ({gain.low:+.3f} to {gain.high:+.3f}), p {test.p_value:.4f}, "
                      f"better in {(a > b).sum()} of {SEEDS} seeds")  # fmt: skip
            for arm, rewards in zip(ALPHAS, (plain, credited), strict=True):
                curves += _points(name, rate, arm, bootstrap(rewards.T, resamples))
    return _draw(curves, figure) if figure else 0


def train(person: Person, alpha: float, rate: float, seed: int) -> Floats:
    """Return the mean reward of the rollouts of each step."""
    scenarios, chance = (np.random.default_rng([seed, stream]) for stream in (0, 1))
    logits = np.zeros(((len(BANDS) + 1) * (len(REPLIES) + 1) * 2, len(REPLIES)))
    groups = np.repeat(np.arange(SCENARIOS), ROLLOUTS)
    traces = np.repeat(np.arange(len(groups)), TURNS)
    rewards = np.empty((STEPS, len(groups)))
    for step in range(STEPS):
        anger = np.repeat(scenarios.integers(12, 18, SCENARIOS) * 5, ROLLOUTS)
        trust = np.repeat(scenarios.integers(3, 9, SCENARIOS) * 5, ROLLOUTS)
        policy = np.exp(logits - logits.max(axis=1, keepdims=True))
        policy /= policy.sum(axis=1, keepdims=True)
        batch = roll_out(policy, person, anger, trust, chance)
        rewards[step] = score(batch)
        whole = trace_advantages(rewards[step], groups)
        own = process_rewards(np.diff(batch.anger).ravel(), np.diff(batch.trust).ravel())
        advantages = turn_advantages(whole, own, traces, alpha=alpha)
        # Gradient of the mean over turns of advantage * log policy.
        slope = -policy[batch.rows.ravel()]
        slope[np.arange(len(slope)), batch.replies.ravel()] += 1
        np.add.at(logits, batch.rows.ravel(), rate / len(slope) * advantages[:, np.newaxis] * slope)
    mean: Floats = rewards.mean(axis=1)
    return mean


def score(batch: Batch) -> Floats:
    """Score each trace against its start, the targets and the worst cases."""
    anger = Anchors(batch.anger[:, 0], TARGETS[0], WORST[0])
    trust = Anchors(batch.trust[:, 0], TARGETS[1], WORST[1])
    return (
        score_anchors(anger, batch.anger[:, -1], axis="anger", rule="directed")
        + score_anchors(trust, batch.trust[:, -1], axis="trust", rule="directed")
    ) / 2


def roll_out(policy: Floats, person: Person, anger: Whole, trust: Whole, chance: np.random.Generator) -> Batch:
    """Play every trace to its end."""
    promise = REPLIES.index("promise")
    size, none = len(anger), len(REPLIES)
    last, repeats = np.full(size, none), np.zeros(size, dtype=np.int64)
    rows, replies = np.empty((2, size, TURNS), dtype=np.int64)
    angers, trusts = [anger], [trust]
    chosen = policy.cumsum(axis=1)
    for turn in range(TURNS):
        band = np.searchsorted(BANDS, angers[-1])
        rows[:, turn] = row = (band * (none + 1) + last) * 2 + np.minimum(repeats, 1)
        reply = np.minimum((chance.random((size, 1)) > chosen[row]).sum(axis=1), none - 1)
        replies[:, turn] = reply
        moves = np.stack([ANGER[band, reply], TRUST[band, reply]])
        moves += np.where(reply == promise, person.promise, 0) * np.array([[1], [-1]])
        repeats = np.where(reply == last, repeats + 1, 0)
        good = moves * np.array([[-1], [1]]) > 0
        moves = np.where(good, np.sign(moves) * (np.abs(moves) >> np.minimum(repeats, 1)) * (repeats < 2), moves)
        moves += np.where(last == promise, person.disappointment, 0) * np.array([[1], [-1]])
        moves = np.clip(moves + chance.integers(-1, 2, moves.shape), -10, 10)
        angers.append(np.clip(angers[-1] + moves[0], 0, 100))
        trusts.append(np.clip(trusts[-1] + moves[1], 0, 100))
        last = reply
    return Batch(rows, replies, np.stack(angers, axis=1), np.stack(trusts, axis=1))


def _points(person: str, rate: float, arm: str, intervals: list[Interval]) -> list[dict[str, Any]]:
    return [
        {"person": person, "rate": rate, "arm": arm, "step": step, "reward": one.estimate, "low": one.low,
         "high": one.high}
        for step, one in enumerate(intervals)
    ]  # fmt: skip


def _draw(curves: list[dict[str, Any]], path: str) -> int:
    """Write the learning curves with their 95% intervals over seeds."""
    if find_spec("altair") is None:
        print("no figure: altair is not installed", file=sys.stderr)
        return 1
    altair = import_module("altair")
    base = altair.Chart(altair.Data(values=curves)).encode(
        x=altair.X("step:Q", title="Step (128 rollouts each)"),
        color=altair.Color("arm:N", title=None, legend=altair.Legend(orient="top")),
    )
    line = base.mark_line().encode(y=altair.Y("reward:Q", title="Mean reward"))
    band = base.mark_area(opacity=0.25).encode(y=altair.Y("low:Q", title="Mean reward"), y2="high:Q")
    panels = altair.layer(band, line).properties(width=200, height=150)
    chart = panels.facet(
        row=altair.Row("person:N", title="Person"), column=altair.Column("rate:Q", title="Learning rate")
    )
    chart.save(path)
    print(f"learning curves in {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
