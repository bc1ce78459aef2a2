"""Synthetic conversations: a hand-written story, told and annotated by an invented participant, drawn from a seed.

The stories (arcs) give the texts; a latent model gives the annotations: emotions that move over the turns, what the
original model did, what the participant wanted, and label noise.
"""

import functools
import math
import random
import tomllib
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attune_data import Conversation, load_codebook
from synthetic.participants import PERSONAS, Effects, Participant, draw_participant, noise, random_source

ARCS = Path(__file__).with_name("arcs")


@dataclass(frozen=True, slots=True)
class ArcTurn:
    """A turn of a story."""

    user: str
    veiled: str
    original: str
    improved: str
    human: str
    emotions: dict[str, int]
    shows: list[str]
    na: list[str]


@dataclass(frozen=True, slots=True)
class Arc:
    """One hand-written story; a turn's `original`, `improved` and `human` are three replies to one message."""

    id: str
    category: str
    subtopic: str
    attitude: str
    looking_for: list[str]
    felt_off: list[str]
    slots: dict[str, list[str]]
    turns: tuple[ArcTurn, ...]


@functools.cache
def load_arcs() -> dict[str, Arc]:
    """Load the stories, by the name of their file."""
    found = [tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(ARCS.glob("*.toml"))]
    return {arc["id"]: Arc(**{**arc, "turns": tuple(ArcTurn(**turn) for turn in arc["turns"])}) for arc in found}


# What an attitude to the topic adds before the conversation, in points: to all positive items, and to some words.
_ATTITUDES = {
    "Excited/Optimistic": (0.6, ("Excited", "Enthusiastic", "Interested", "Inspired", "Active")),
    "Anxious/Worried": (-0.5, ("Nervous", "Jittery", "Scared", "Afraid", "Distressed")),
    "Sad/Discouraged": (-1.0, ("Upset", "Distressed", "Ashamed")),
    "Frustrated/Angry": (-0.5, ("Irritable", "Hostile", "Upset")),
    "Mixed/Conflicted": (-0.2, ("Nervous", "Upset", "Guilty", "Interested")),
    "Neutral": (0.0, ()),
}

# The word that somebody who does not look closely takes for another, either way.
_NEAR = {
    "Scared": "Afraid", "Nervous": "Jittery", "Distressed": "Upset", "Guilty": "Ashamed",
    "Hostile": "Irritable", "Proud": "Strong", "Excited": "Enthusiastic", "Interested": "Attentive",
    "Inspired": "Determined", "Active": "Alert",
}  # fmt: skip
_NEAR |= {near: word for word, near in _NEAR.items()}

_QUALITY = {"human": 1.0, "alternate": 0.5}
_PAIRS = (("original", "alternate"), ("original", "human"), ("alternate", "human"))


class Writer:
    """Writes one conversation: its story, told and annotated by its participant."""

    def __init__(self, participant: Participant, arc: Arc, effects: Effects, seed: int, index: int) -> None:
        self.participant = participant
        self.arc = arc
        self.effects = effects
        self.seed = seed
        self.source: random.Random = random_source(seed, "conversation", index)
        self.label_noise: float = effects.label_noise + effects.label_noise_diagnosed * participant.diagnosed
        self.binary: tuple[str, ...] = tuple(load_codebook().binary)

    def conversation(self, bounds: tuple[int, int] | None) -> Conversation:
        """Write the conversation; `bounds` are the fewest and the most turns."""
        source, arc = self.source, self.arc
        identity = uuid.UUID(int=source.getrandbits(128), version=4)
        length = source.randint(*bounds) if bounds else len(arc.turns)
        told = [turn for _, turn in zip(range(length), self._story(), strict=False)]
        turns, clear, fits = [], 0, []
        for number, (turn, slots) in enumerate(told, start=1):
            plain = source.random() < self.participant.clarity
            clear += plain
            judgements = self._judgements(turn)
            fit = _fit(judgements)
            fits.append(fit)
            turns.append(
                {
                    "turnNumber": number,
                    "userMessage": _fill(turn.user if plain else turn.veiled, slots),
                    "llmResponse": _fill(turn.original, slots),
                    "moodShiftTags": self._tags(turn.emotions, plain),
                    "annotations": {
                        "binaryJudgements": judgements,
                        "alternateResponses": {
                            "llmImproved": _fill(turn.improved, slots),
                            "humanEdited": _fill(turn.human, slots),
                        },
                        **self._preferences(turn, number, fit),
                    },
                }
            )
        # How well the model did, in the eyes of this participant: about -1 to 1.
        liking = 7 * (sum(fits) / len(fits) - 0.5) + 0.4 * self.participant.leniency
        before, after = self._panas(told[0][0].emotions, told[-1][0].emotions, liking)
        return Conversation.model_validate(
            {
                "conversationId": str(identity),
                "metadata": {
                    "model": f"synthetic-om-{'abc'[list(load_arcs()).index(arc.id) % 3]}",
                    "category": arc.category,
                    "subtopic": arc.subtopic,
                    "text": f"{arc.category}: {arc.subtopic}",
                    "synthetic": {"arc": arc.id, "clarity": self.participant.clarity, "seed": self.seed},
                },
                "participant_profile": {
                    **self.participant.profile,
                    "conversation_topic_attitude": arc.attitude,
                },
                "prePanas": before,
                "postPanas": after,
                "conversationWideQuestions": self._wide(clear / length, liking),
                "turns": turns,
            }
        )

    def _story(self) -> Iterator[tuple[ArcTurn, dict[str, str]]]:
        """Yield the arc's turns with what fills their slots, then those of its category's arcs without end."""
        arcs = list(load_arcs().values())
        start = arcs.index(self.arc)
        related = [arc for arc in arcs[start:] + arcs[:start] if arc.category == self.arc.category]
        while True:
            for arc in related:
                slots = {name: self.source.choice(choices) for name, choices in arc.slots.items()}
                yield from ((turn, slots) for turn in arc.turns)

    def _tags(self, emotions: Mapping[str, int], plain: bool) -> list[dict[str, Any]]:
        tags: dict[str, int | None] = {}
        for word, typical in emotions.items():
            slip = 1.0 if plain else self.source.random()
            if slip < 0.25 and tags:  # something is always left: the person did feel something
                continue
            replaced = slip < 0.5 and _NEAR[word] not in emotions
            rated = not 0.5 <= slip < 0.65 and self.source.random() >= self.effects.null_rate
            intensity = min(max(typical + self.source.randint(-1, 1), 1), 7)
            tags[_NEAR[word] if replaced else word] = intensity if rated else None
        return [{"emotion": word, "intensity": intensity} for word, intensity in tags.items()]

    def _judgements(self, turn: ArcTurn) -> list[dict[str, Any]]:
        source = self.source
        na = {question for question in turn.na if source.random() < self.effects.na_rate}
        asked = na | set(turn.shows)
        others = [question for question in self.binary if question not in asked and question not in turn.na]
        asked |= set(source.sample(others, max(0, source.randint(12, 18) - len(asked))))
        return [
            {
                "questionId": question,
                "observedBehavior": "na" if question in na else self._answer(question in turn.shows),
                "preferredBehavior": "na" if question in na else self._answer(self.participant.wants[question]),
            }
            for question in self.binary
            if question in asked
        ]

    def _answer(self, latent: bool) -> str | None:
        if self.source.random() < self.effects.null_rate:
            return None
        return "yes" if latent != (self.source.random() < self.label_noise) else "no"

    def _preferences(self, turn: ArcTurn, number: int, fit: float) -> dict[str, Any]:
        source = self.source
        # Nobody chooses a question that the turn gives no reason to ask.
        pointless = {
            "general",
            "PW16",
            "PW2" if len(turn.emotions) < 2 else "",
            "PW12" if "B17" in turn.na else "",
            "PW14" if number == 1 else "",
        }
        chosen = source.sample([q for q in load_codebook().pairwise if q not in pointless], 3)
        quality = {**_QUALITY, "original": min(max(3 * (fit - 0.5), -0.5), 0.9)}
        comparisons: list[dict[str, Any]] = []
        for question in ("general", *chosen):
            # Differences of Gumbel noise are logistic: the strength is in log-odds, and choices do not go in circles.
            worth = {
                label: self.effects.preference_strength * value - math.log(source.expovariate(1.0))
                for label, value in quality.items()
            }
            for pair in _PAIRS:
                a, b = source.sample(pair, 2)
                a_wins = (worth[a] > worth[b]) != (source.random() < self.label_noise)
                winner = None if source.random() < self.effects.null_winner_rate else "A" if a_wins else "B"
                comparisons.append({"questionId": question, "responseA": a, "responseB": b, "winner": winner})
        return {"pairwiseComparisons": comparisons, "selectedPairwiseQuestions": chosen}

    def _panas(
        self, first: Mapping[str, int], last: Mapping[str, int], liking: float
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        mood, raised = _ATTITUDES[self.arc.attitude]
        before, after = {}, {}
        for emotion in load_codebook().emotions.values():
            word, positive = emotion.word, emotion.affect == "positive"
            trait = 1.8 + 2.4 * self.participant.positivity if positive else 1 + 1.4 * self.participant.negativity
            resting = trait + mood * positive
            at_first = max(resting + 1.5 * (word in raised), first.get(word, 0))
            at_last = max(resting + 0.8 * (word in raised), last.get(word, 0))
            pre = _rating(at_first + noise(self.source, 0.9))
            relief = 0.3 * liking if positive else -0.3 * liking
            moved = self.effects.panas_shift * (0.8 * (at_last - at_first) + relief)
            before[word.lower()], after[word.lower()] = pre, _rating(pre + moved + noise(self.source, 0.7))
        return _panas_form(before), _panas_form(after)

    def _wide(self, clear: float, liking: float) -> dict[str, Any]:
        source, codebook = self.source, load_codebook()
        goals = set(self.arc.looking_for)
        if source.random() < 0.2:  # now and then somebody wants one thing more
            goals.add(source.choice(codebook.q1_options[:-1]))
        if clear >= 0.75:
            clarity = 0
        elif self.arc.attitude == "Mixed/Conflicted":
            clarity = 2
        else:
            clarity = 3 if source.random() < 0.25 else 1
        verdict = liking + noise(source, 0.3)
        fit = codebook.q3_options[sum(verdict < limit for limit in (0.9, 0.2, -0.6))]
        follow_up: list[str] = []
        if fit in codebook.q3_negative:
            follow_up = source.sample(self.arc.felt_off, source.randint(1, len(self.arc.felt_off)))
        return {
            "fourBranchScores": {
                branch: _rating(4 + 1.8 * liking + noise(source, 1.6)) for branch in codebook.branches
            },
            "q1_lookingFor": [option for option in codebook.q1_options if option in goals],
            "q2_emotionClarity": codebook.q2_options[clarity],
            "q3_modelFit": fit,
            "q3_followUp_whatFeltOff": follow_up,
        }


def _fill(text: str, slots: Mapping[str, str]) -> str:
    for name, choice in slots.items():
        text = text.replace("{" + name + "}", choice)
    return text.strip()


def _fit(judgements: Sequence[Mapping[str, Any]]) -> float:
    """Return the share of the asked questions in which the reply did as the participant wanted."""
    agreed = [
        judgement["observedBehavior"] == judgement["preferredBehavior"]
        for judgement in judgements
        if judgement["observedBehavior"] in {"yes", "no"} and judgement["preferredBehavior"] is not None
    ]
    return sum(agreed) / len(agreed) if agreed else 0.5


def _rating(value: float) -> int:
    return min(max(round(value), 1), 7)


def _panas_form(responses: dict[str, int]) -> dict[str, Any]:
    emotions = load_codebook().emotions
    totals = {
        affect: sum(rating for word, rating in responses.items() if emotions[word].affect == affect)
        for affect in ("positive", "negative")
    }
    return {
        "totalPositiveAffect": totals["positive"],
        "totalNegativeAffect": totals["negative"],
        "responses": responses,
    }


def conversations(
    n: int,
    *,
    participants: int | None = None,
    seed: int = 0,
    effects: Effects | None = None,
    turns: int | tuple[int, int] | None = None,
) -> list[Conversation]:
    """Generate annotated conversations.

    Parameters
    ----------
    n : int
        Number of conversations.
    participants : int, optional
        Number of participants, each with at least one conversation and at most one about each story; 0.6 `n` by
        default. Up to that many conversations a participant, a profile fits all of its stories; beyond, stories of
        others follow.
    seed : int
        The same seed and arguments give the same conversations.
    effects : Effects, optional
        What is planted; ``Effects()`` by default.
    turns : int or (int, int), optional
        Number of turns, or bounds between which it is drawn; by default the story's own, 4 to 6. Past the end of its
        story a conversation goes on with the turns of other stories of the same category, again and again: the text
        is not coherent then, which is enough to measure speed.

    Returns
    -------
    list of Conversation
        ``metadata.synthetic`` of each has its arc, its latent clarity and the seed.

    Raises
    ------
    ValueError
        Where there are too few or too many conversations for the participants, or `turns` is below 1.

    Examples
    --------
    >>> generated = conversations(10, seed=1)
    >>> len({conversation.participant_id for conversation in generated})
    6
    >>> generated[0].synthetic
    True
    """
    count = max(1, round(0.6 * n)) if participants is None else participants
    if not 1 <= count <= n <= count * len(load_arcs()):
        raise ValueError(
            f"{n} conversations by {count} participants; expected 1 to {len(load_arcs())} conversations a participant"
        )
    bounds = (turns, turns) if isinstance(turns, int) else turns
    if bounds is not None and not 1 <= bounds[0] <= bounds[1]:
        raise ValueError(f"turns is {turns!r}; expected a number from 1, or (low, high)")
    chosen = Effects() if effects is None else effects
    people = [draw_participant(number, seed, chosen) for number in range(count)]
    return [
        Writer(people[number], load_arcs()[arc], chosen, seed, index).conversation(bounds)
        for index, (number, arc) in enumerate(_assignments(n, count))
    ]


def _assignments(n: int, count: int) -> list[tuple[int, str]]:
    """Say which participant tells which story: in rounds, own stories first, no story twice."""

    def stories(number: int) -> list[str]:
        own = PERSONAS[number % len(PERSONAS)].arcs
        # Those who share a persona begin with different stories of it.
        turn = number // len(PERSONAS) % len(own)
        others = [arc for arc in load_arcs() if arc not in own]
        start = number % len(others)
        return [*own[turn:], *own[:turn], *others[start:], *others[:start]]

    told = [stories(number) for number in range(count)]
    own = [len(PERSONAS[number % len(PERSONAS)].arcs) for number in range(count)]
    ranked = sorted(
        (place >= own[number], place, number) for number in range(count) for place in range(len(told[number]))
    )
    # Everybody's first story is an own one, so the first `count` cover all participants.
    return [(number, told[number][place]) for _, place, number in ranked[:n]]
