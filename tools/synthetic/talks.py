"""Invented models that talk with invented people, drawn from a seed: episodes of EIBench, dialogues of SAGE.

What a model is worth to a person is planted: the mean gain of a round.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import cycle, islice
from random import Random
from typing import Any, NamedTuple

from attune_data.eibench.records import Episode, Scenario
from attune_data.sage import SageDialogue, emotion_state


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


def episodes(
    scenarios: Iterable[Scenario],
    models: Mapping[str, Manner] = MODELS,
    *,
    seed: int = 0,
    max_rounds: int = 8,
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
    source = Random(seed)
    return [
        _episode(source, scenario, name, manner, max_rounds) for name, manner in models.items() for scenario in known
    ]


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


_START = 40
_MAX_ROUNDS = 12


class _Story(NamedTuple):
    id: str
    topic: str
    player: str
    scene: str
    task: str
    opening: str


_STORIES = (
    _Story(
        "demo_move",
        "Home: leaving a city",
        "Rosa, 34, draughtswoman, moves back to her parents' town.",
        "The van comes on Friday. She hides that she did not want to go.",
        "Say goodbye without being told that it is for the best.",
        "Everybody is so happy for me. I have packed the same box three times.",
    ),
    _Story(
        "demo_choir",
        "Friends: left out",
        "Emre, 27, sings in a choir.",
        "The others went on a trip that he heard of by chance.",
        "Know whether he has done something wrong.",
        "They had matching shirts made. I saw the photo. That is how I know about the trip.",
    ),
    _Story(
        "demo_garden",
        "Family: a sold garden",
        "Wilma, 61, retired teacher.",
        "Her brother sold their mother's garden without a call.",
        "Be angry for once.",
        "He said he did not want to bother me with it. With my own mother's garden.",
    ),
    _Story(
        "demo_exam",
        "Work: a failed test",
        "Jun, 22, apprentice electrician.",
        "Failed the practical test by two points. The uncle paid for the course.",
        "Find words for the uncle.",
        "Two points. I could draw you the circuit now, in my sleep, for nothing.",
    ),
    _Story(
        "demo_cat",
        "Loss: an old cat",
        "Agnes, 45, bookkeeper.",
        "The vet asked her to decide, and she did, in a lunch break.",
        "Hear that it counts, although it was a cat.",
        "I went back to work after. I did the invoices. I do not know why I did the invoices.",
    ),
    _Story(
        "demo_band",
        "Friends: an old quarrel",
        "Theo, 38, once played in a band.",
        "The drummer has written after nine years.",
        "Know what he wants himself.",
        "He writes as if we had spoken last week. 'Hey you.' Nine years, and then hey you.",
    ),
)


def dialogues(models: Mapping[str, Manner] = MODELS, *, seed: int = 0) -> list[SageDialogue]:
    """Generate a dialogue of every simulated model in each of six invented scenarios.

    Parameters
    ----------
    models : mapping of str to Manner
        By name, what a simulated model says and what it is worth to the person.
    seed : int
        The same seed gives the same dialogues.

    Returns
    -------
    list of SageDialogue
        By model, then by scenario.

    Examples
    --------
    >>> dialogue = dialogues(seed=1)[0]
    >>> dialogue.id, dialogue.history[0].emotion_point
    ('demo_move/synthetic/attentive', 40)
    """
    source = Random(seed)
    return [_dialogue(source, story, name, manner) for name, manner in models.items() for story in _STORIES]


def _dialogue(source: Random, story: _Story, model: str, manner: Manner) -> SageDialogue:
    point = _START
    history: list[dict[str, Any]] = [{"role": "user", "content": story.opening, "emotion-point": point}]
    for said, answer, gain in islice(exchanges(source, manner), _MAX_ROUNDS):
        point = max(0, min(100, point + gain))
        history += [
            {"role": "assistant", "content": said},
            {"role": "user", "content": answer, "emotion-point": point, "planning": {"change": gain}},
        ]
        if point in (0, 100):
            break
    document = {
        "id": story.id,
        "model": model,
        "emo_point": point,
        "emo_state": emotion_state(point),
        "target": "eq",
        "player": story.player,
        "scene": story.scene,
        "character": "invented",
        "topic": story.topic,
        "task": story.task,
        "history": history,
        "synthetic": True,
    }
    return SageDialogue.model_validate(document)
