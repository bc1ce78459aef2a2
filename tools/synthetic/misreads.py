"""Conversations with planted serial dependence of errors, and with planted consequences of a behaviour."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Whole = NDArray[np.intp]


class Misreads(NamedTuple):
    """A value of each turn: was the turn read badly, its conversation, its number, the participant, and an outcome."""

    bad: Floats
    conversation: Whole
    turn: Whole
    participant: Whole
    outcome: Floats


def misreads(
    *,
    participants: int = 50,
    each: int = 2,
    turns: tuple[int, int] = (4, 12),
    dependence: float = 0.0,
    hard: float = 1.5,
    effect: float = 0.0,
    seed: int = 0,
) -> Misreads:
    """Return turns of conversations whose errors are a Markov chain around the level of their conversation.

    Parameters
    ----------
    participants, each : int
        How many participants, and conversations of each.
    turns : (int, int)
        The fewest and the most turns of a conversation.
    dependence : float
        Probability of a bad turn after a bad turn minus the probability after a good turn, in one conversation.
    hard : float
        Standard deviation over conversations of the log odds of a bad turn, half of the variance the participant's;
        with 0 all conversations are equally hard.
    effect : float
        What a bad turn adds to the outcome of the next turn.
    seed : int
        Of the generator.
    """
    generator = np.random.default_rng(seed)
    found: list[tuple[Floats, Floats]] = []
    labels: list[tuple[int, int]] = []
    for person in range(participants):
        of_person = generator.normal()
        for _ in range(each):
            size = int(generator.integers(turns[0], turns[1] + 1))
            logit = -0.6 + hard * (of_person + generator.normal()) / np.sqrt(2)
            level, bad = 1 / (1 + np.exp(-logit)), np.zeros(size)
            draws = generator.random(size)
            for turn in range(size):
                chance = level if turn == 0 else level + dependence * (bad[turn - 1] - level)
                bad[turn] = draws[turn] < chance
            before = np.concatenate([[0.0], bad[:-1]])
            outcome = effect * before + 0.5 * bad + generator.normal() + generator.normal(size=size)
            found.append((bad, outcome))
            labels.append((person, size))
    sizes = [size for _, size in labels]
    return Misreads(
        np.concatenate([bad for bad, _ in found]),
        np.arange(len(labels)).repeat(sizes),
        np.concatenate([np.arange(size) for size in sizes]),
        np.array([person for person, _ in labels]).repeat(sizes),
        np.concatenate([outcome for _, outcome in found]),
    )


class Falls(NamedTuple):
    """States of conversations, each with one fall, whether the person left, and the participant of each."""

    states: list[list[float]]
    left: list[bool]
    participant: Whole


def falls(
    *, participants: int = 50, each: int = 2, turns: tuple[int, int] = (4, 12), leaves: float = 0.05, seed: int = 0
) -> Falls:
    """Return states that fall once, at any reply, and are back with a chance that depends on the participant.

    Parameters
    ----------
    participants, each : int
        How many participants, and conversations of each.
    turns : (int, int)
        The fewest and the most replies of a conversation that the person does not leave.
    leaves : float
        Probability, for each reply after a fall, that the person leaves where the state is not back.
    seed : int
        Of the generator.
    """
    generator = np.random.default_rng(seed)
    states: list[list[float]] = []
    left: list[bool] = []
    for _ in range(participants):
        back = 1 / (1 + np.exp(0.8 - generator.normal()))
        for _ in range(each):
            size = int(generator.integers(turns[0], turns[1] + 1))
            fall = int(generator.integers(1, size + 1))
            path, gone, low = [50.0] * fall, False, True
            path.append(40.0)
            while low and not gone and len(path) <= size:
                low = generator.random() > back
                gone = low and generator.random() < leaves
                if not gone:
                    path.append(40.0 if low else 50.0)
            states.append(path if low else path + [50.0] * (size + 1 - len(path)))
            left.append(gone)
    return Falls(states, left, np.arange(participants).repeat(each))
