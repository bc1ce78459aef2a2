"""Synthetic episodes of EIBench: invented models in the demonstration scenarios, drawn from a seed; strategies.

Synthetic episodes: invented models in the demonstration scenarios, drawn from a seed.

``python -m attune_data.eibench.demo > demo_episodes.jsonl`` writes the embedded demonstration data again.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from itertools import cycle, islice
from random import Random
from typing import Any, NamedTuple

from hypothesis import strategies as st

from attune_data.eibench.records import SCENES, Calibration, Episode, Profile, Scenario, State, Targets, WorstCase
from attune_data.testing import Json, filled, from_model, texts

__all__ = [
    "MODELS",
    "Exchange",
    "Manner",
    "demo_episodes",
    "episode_documents",
    "episodes",
    "exchanges",
    "scenario_documents",
]


class Manner(NamedTuple):
    """What a simulated model says, and the mean gain of a round for the person, in points of their state."""

    lines: tuple[str, ...]
    gain: int


MODELS: Mapping[str, Manner] = {
    "synthetic/attentive": Manner(
        (
            "I hear you. What part of it stays with you the most?",
            "That would hurt me too. You had every reason to expect something else.",
            "You do not have to sort it out tonight. Tell me as much as you like.",
            "So it is not the thing itself, it is that nobody asked you. Is that right?",
            "I got that wrong just now, sorry. Say it again and I will listen properly.",
            "It sounds as if you have been alone with this for a while.",
            "What would you want somebody to say to you now?",
            "Thank you for telling me. I can see why you waited.",
        ),
        5,
    ),
    "synthetic/hasty": Manner(
        (
            "Try to look at it from the other side.",
            "Here are three steps that will help you to feel better.",
            "I am sure it was not meant like that.",
            "You should get some sleep and think about it tomorrow.",
            "Everybody goes through this. It passes.",
            "Have you thought of making a list?",
            "Stay positive, every setback is a chance.",
            "Perhaps you expect too much.",
        ),
        -1,
    ),
}
"""The simulated models by name; the first is clearly the better one."""

_BETTER = (
    "Yes. That is it.",
    "Nobody has asked me that yet.",
    "All right. I can say it to you.",
    "Hm. That helps a little.",
    "You listen. I had not expected that.",
    "I think I am less angry than I was.",
    "It is good to hear that aloud.",
)
_SAME = ("Maybe.", "I do not know.", "It is not so simple.", "If you say so.", "Go on.")
_WORSE = (
    "You are not listening.",
    "I did not ask for advice.",
    "That is what they all say.",
    "Forget it.",
    "It is my fault now, is it?",
)
_LARGEST = 10
_NOISE = 4


class Exchange(NamedTuple):
    """What the model says, what the person answers, and by how much their state is better, -10 to 10."""

    said: str
    answer: str
    gain: int


def exchanges(source: Random, manner: Manner) -> Iterator[Exchange]:
    """Yield exchanges without end, drawn at random; no line comes again before the others of its sort.

    Examples
    --------
    >>> next(exchanges(Random(1), MODELS["synthetic/hasty"]))
    Exchange(said='I am sure it was not meant like that.', answer='I did not ask for advice.', gain=-5)
    """
    lines, *answers = (cycle(source.sample(sort, len(sort))) for sort in (manner.lines, _BETTER, _SAME, _WORSE))
    better, same, worse = answers
    for said in lines:
        gain = max(-_LARGEST, min(_LARGEST, manner.gain + source.randint(-_NOISE, _NOISE)))
        yield Exchange(said, next(better if gain > 1 else worse if gain < -1 else same), gain)


_MAX_ROUNDS = 8
_SEED = 11


def episodes(
    scenarios: Iterable[Scenario],
    models: Mapping[str, Manner] = MODELS,
    *,
    seed: int = 0,
    max_rounds: int = _MAX_ROUNDS,
) -> list[Episode]:
    """Generate an episode of every simulated model in every scenario.

    Parameters
    ----------
    scenarios : iterable of Scenario
        Where the simulated person begins, and at which state they stop.
    models : mapping of str to Manner
        By name, what a simulated model says and what it is worth to the person.
    seed : int
        The same seed gives the same episodes.
    max_rounds : int
        How often the person answers at most.

    Returns
    -------
    list of Episode
        By model, then in the order of the scenarios.

    Examples
    --------
    >>> from attune_data import load_scenarios
    >>> [episode] = episodes(load_scenarios("demo")[:1], {"m": MODELS["synthetic/attentive"]}, seed=1)
    >>> episode.outcome, episode.final_anger < 75
    ('max_rounds', True)
    """
    known = list(scenarios)
    source = Random(seed)  # noqa: S311  # invented data, nothing to guess
    return [
        _episode(source, scenario, name, manner, max_rounds) for name, manner in models.items() for scenario in known
    ]


def demo_episodes() -> list[Episode]:
    """Generate the embedded demonstration episodes: two simulated models in each of the demonstration scenarios.

    Examples
    --------
    >>> from attune_data import load_episodes
    >>> demo_episodes()[0] == load_episodes("demo")[0]
    True
    """
    lines = (files("attune_data.eibench") / "demo_scenarios.jsonl").read_bytes().splitlines()
    scenarios = [Scenario.model_validate_json(line, by_alias=True, by_name=False) for line in lines]
    return episodes(scenarios, seed=_SEED)


def _episode(source: Random, scenario: Scenario, model: str, manner: Manner, max_rounds: int) -> Episode:
    first_anger, target_anger, _ = scenario.anchors("anger")
    first_trust, target_trust, _ = scenario.anchors("trust")
    anger, trust = first_anger, first_trust
    opening = scenario.aggressor_profile.opening_line
    history: list[dict[str, Any]] = []
    # Where the model speaks first, no line of the person has the state at the start.
    if opening is not None:
        history.append({"role": "aggressor", "content": opening, "meta": {"anger": anger, "trust": trust}})
    reached = False
    for said, answer, gain in islice(exchanges(source, manner), max_rounds):
        before = anger, trust
        anger, trust = (max(0, min(100, level)) for level in (anger - gain, trust + gain))
        reached = anger <= target_anger and trust >= target_trust
        state = {"anger": anger, "trust": trust, "anger_delta": anger - before[0], "trust_delta": trust - before[1]}
        stop = {"stop_reason": "the goal is reached"} if reached else {}
        history += [
            {"role": "defender", "content": said},
            {"role": "aggressor", "content": answer, "meta": {**state, **stop}},
        ]
        if reached:
            break
    document = {
        "model": model,
        "profile_id": scenario.id,
        "scene_tag": scenario.scene,
        "ended_by": "simulator_stop" if reached else "max_rounds",
        "n_rounds": len(history) // 2,
        "final_anger": anger,
        "final_trust": trust,
        "history": history,
        "simulator": "synthetic/person",
        "max_rounds": max_rounds,
        "initial_anger": first_anger,
        "initial_trust": first_trust,
        "synthetic": True,
    }
    return Episode.model_validate(document)


_LEVELS = st.integers(0, 100)


@st.composite
def scenario_documents(draw: st.DrawFn) -> Json:
    """Draw a scenario whose anchors are in order."""
    anchors = st.lists(_LEVELS, min_size=3, max_size=3, unique=True).map(sorted)
    target_anger, start_anger, worst_anger = draw(anchors)
    worst_trust, start_trust, target_trust = draw(anchors)
    profile = from_model(Profile, {"system_prompt": filled, "opening_line": filled})
    start = {"initial_anger": st.just(start_anger), "initial_trust": st.just(start_trust)}
    target = {"target_anger": st.just(target_anger), "target_trust": st.just(target_trust)}
    worst = {"worst_anger": st.just(worst_anger), "worst_trust": st.just(worst_trust)}
    fields = {
        "scenario_id": filled,
        "split": st.none() | st.sampled_from(["test", "train"]),
        "aggressor_profile": profile,
        "defender_profile": profile,
        "initial_calibration": from_model(Calibration, start),
        "rub_goals": from_model(Targets, target),
        "worst_case": from_model(WorstCase, worst),
    }
    return draw(from_model(Scenario, fields))


@st.composite
def episode_documents(draw: st.DrawFn) -> Json:
    """Draw an episode that ended without a failure, of up to three rounds."""
    scene = draw(st.sampled_from(SCENES))
    states = {axis: draw(_LEVELS) for axis in ("anger", "trust")}
    initial = dict(states)
    history: list[Json] = [_person(draw, states, {})]
    for _ in range(draw(st.integers(0, 3))):
        deltas = {axis: draw(st.integers(-10, 10)) for axis in states}
        states = {axis: min(max(value + deltas[axis], 0), 100) for axis, value in states.items()}
        history += [
            {"role": "defender", "content": draw(filled)},
            _person(draw, states, {f"{axis}_delta": delta for axis, delta in deltas.items()}),
        ]
    ended_by = draw(st.sampled_from(["max_rounds", "simulator_stop"]))
    if ended_by == "simulator_stop":
        history[-1]["meta"]["stop_reason"] = draw(texts)
    fields = {
        "scenario_id": filled,
        "model": filled,
        "scene": st.just(scene),
        "ended_by": st.just(ended_by),
        "error": st.none(),
        "history": st.just(history),
        **{f"final_{axis}": st.just(value) for axis, value in states.items()},
        **{f"initial_{axis}": st.none() | st.just(value) for axis, value in initial.items()},
    }
    return draw(from_model(Episode, fields))


def _person(draw: st.DrawFn, states: dict[str, int], deltas: dict[str, int]) -> Json:
    """Draw what the person says, with the state after it."""
    known = {**states, **deltas}
    unknown = {name: None for name in ("anger_delta", "trust_delta") if name not in known}
    fields = {name: st.just(value) for name, value in {**known, **unknown}.items()}
    return {"role": "aggressor", "content": draw(filled), "meta": draw(from_model(State, fields))}


if __name__ == "__main__":
    sys.stdout.buffer.writelines(episode.to_line() + b"\n" for episode in demo_episodes())
