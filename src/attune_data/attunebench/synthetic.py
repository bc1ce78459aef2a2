"""Synthetic conversations and runs: a story, told and annotated by an invented participant, drawn from a seed.

Synthetic conversations and runs with known effects, to demonstrate and to test with.

Hand-written stories (the arcs) give the texts; a latent model gives the annotations: participants with traits and
diagnoses, emotions that move over the turns, what the original model did, what the participant wanted, and label noise.
Every effect is a parameter, so that an analysis can be checked by recovering what was planted. ``python -m
attune_data.attunebench.synthetic conversations > demo.jsonl`` and ``python -m
attune_data.attunebench.synthetic runs > demo_runs.jsonl`` write the embedded demonstration data again.
"""

import functools
import math
import random
import re
import sys
import tomllib
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from importlib.resources import files
from typing import Any

from attune_data.attunebench.codebook import load_codebook
from attune_data.attunebench.records import ConversationWideQuestions, Panas, Turn
from attune_data.attunebench.show import Conversation, Run
from attune_data.record import Mode

__all__ = [
    "PERSONAS",
    "Effects",
    "Participant",
    "SimulatedModel",
    "Writer",
    "conversations",
    "demo",
    "demo_runs",
    "draw_participant",
    "load_arcs",
    "noise",
    "random_source",
    "runs",
]


@dataclass(frozen=True, slots=True)
class Effects:
    """What is planted in synthetic conversations.

    Parameters
    ----------
    clarity : float
        Mean over participants of the probability, 0-1, that a turn is clear: the message names its feelings, and the
        tags are those the story means. In an unclear turn the message veils them, and tags are missing, replaced by
        a neighbouring emotion, or without intensity.
    clarity_loss_diagnosed : float
        How much lower the clarity of a participant with a diagnosis is, -1 to 1.
    diagnosis_rate : float
        Probability, 0-1, that a participant has a diagnosis.
    label_noise : float
        Share, 0-1, of binary answers (yes and no) and of winners that are flipped.
    label_noise_diagnosed : float
        What is added to `label_noise` for a participant with a diagnosis, -1 to 1.
    null_rate : float
        Share, 0-1, of binary answers and intensities left null.
    null_winner_rate : float
        Share, 0-1, of pairwise winners left null. Loading notes each such turn as an issue.
    na_rate : float
        Probability, 0-1, that a question which cannot apply in a turn is asked all the same and answered na.
    preference_strength : float
        Log-odds, 0 or more, of preferring the edited response over one that is worse by 1 in latent quality; the
        human's has 1, the improved one 0.5, the original -0.5 to 0.9 by how well it did.
    panas_shift : float
        How far, 0 or more, PANAS items follow the story from its first to its last turn; 1 is all the way.

    Examples
    --------
    >>> Effects(clarity_loss_diagnosed=0.5).clarity
    0.75
    """

    clarity: float = 0.75
    clarity_loss_diagnosed: float = 0.3
    diagnosis_rate: float = 0.4
    label_noise: float = 0.03
    label_noise_diagnosed: float = 0.0
    null_rate: float = 0.01
    null_winner_rate: float = 0.0
    na_rate: float = 0.4
    preference_strength: float = 3.0
    panas_shift: float = 1.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            low = -1.0 if field.name.endswith("_diagnosed") else 0.0
            high = 1e6 if field.name in {"preference_strength", "panas_shift"} else 1.0
            if not low <= value <= high:
                raise ValueError(f"{field.name} is {value!r}; expected {low:g} to {high:g}")


def random_source(*parts: object) -> random.Random:
    """Return the generator of one thing (a participant, a conversation, a run), the same on every platform.

    Each thing has a source of its own, so that a change to one leaves all others as they were.
    """
    return random.Random("/".join(map(str, parts)))  # noqa: S311  # simulation, nothing to guess


def noise(source: random.Random, width: float) -> float:
    """Draw from the triangular distribution on -width..width: only sums, hence equal on every platform."""
    return width * (source.random() + source.random() - 1)


@dataclass(frozen=True, slots=True)
class Persona:
    """A person who could have written every one of `arcs`: the facts of those stories do not contradict each other."""

    arcs: tuple[str, ...]
    gender: tuple[str, ...]
    age_range: tuple[str, ...]
    country: tuple[str, ...]
    education: tuple[str, ...]
    work: tuple[tuple[str, ...], ...]
    english: tuple[str, ...] = ("Native",)


PERSONAS = (
    Persona(
        ("teen-door-slam", "waiting-for-biopsy", "nurse-night-shift"),
        ("Female",),
        ("45-54",),
        ("United Kingdom", "Ireland"),
        ("Bachelor's degree",),
        (("Healthcare",), ("Healthcare", "Education")),
    ),
    Persona(
        ("first-baby-news", "running-after-injury", "passed-over-promotion"),
        ("Male",),
        ("35-44",),
        ("United Kingdom",),
        ("Bachelor's degree", "Vocational training"),
        (("Logistics",), ("Administration", "Sales")),
    ),
    Persona(
        ("rent-increase",),
        ("Female",),
        ("25-34", "35-44"),
        ("United States",),
        ("High school", "Associate degree"),
        (("Retail",), ("Healthcare", "Retail")),
    ),
    Persona(
        ("best-friend-wedding-snub", "first-team-lead"),
        ("Female",),
        ("25-34",),
        ("United Kingdom",),
        ("Bachelor's degree",),
        (("Customer service",), ("Administration", "Humanities")),
    ),
    Persona(
        ("layoff-email",),
        ("Male",),
        ("55-64",),
        ("Ireland",),
        ("High school",),
        (("Logistics",), ("Transport", "Logistics")),
    ),
    Persona(
        ("long-distance-doubt", "failed-exam-retake"),
        ("Female",),
        ("18-24",),
        ("Canada",),
        ("Some college or university",),
        (("Biology",), ("Chemistry", "Hospitality")),
    ),
    Persona(
        ("inheritance-quarrel",),
        ("Male",),
        ("55-64",),
        ("United States",),
        ("Bachelor's degree",),
        (("Surveying",), ("Engineering", "Surveying")),
    ),
    Persona(
        ("chronic-migraine-disbelieved", "mother-moves-in"),
        ("Female",),
        ("45-54",),
        ("United Kingdom",),
        ("Master's degree", "Bachelor's degree"),
        (("Education",), ("Humanities", "Education")),
    ),
    Persona(
        ("credit-card-secret",),
        ("Male",),
        ("35-44",),
        ("United States",),
        ("High school", "Associate degree"),
        (("Construction",), ("Manufacturing",)),
    ),
    Persona(
        ("flatmate-silence", "estranged-father"),
        ("Male",),
        ("25-34",),
        ("United Kingdom", "Ireland"),
        ("Some college or university",),
        (("Hospitality",), ("Logistics", "Hospitality")),
    ),
    Persona(
        ("back-to-college-at-40",),
        ("Female",),
        ("35-44",),
        ("United States",),
        ("Some college or university",),
        (("Administration",), ("Healthcare", "Administration")),
    ),
    Persona(
        ("after-divorce-dating",),
        ("Male",),
        ("45-54",),
        ("Germany", "Netherlands", "Austria"),
        ("Master's degree", "Doctorate"),
        (("Engineering",), ("Law",)),
        ("Fluent",),
    ),
)

# How likely somebody wants a reply to do what a question asks about; 0 and 1 where people do not differ.
_WANTED = {
    "B1": 0.94, "B2": 1.0, "B3": 1.0, "B4": 0.75, "B5": 0.5, "B6": 0.08, "B7": 0.5, "B8": 1.0, "B9": 1.0,
    "B10": 0.95, "B11": 0.3, "B12": 0.4, "B13": 0.7, "B14": 0.0, "B15": 0.96, "B16": 0.95, "B17": 0.8, "B18": 0.55,
    "B19": 0.96, "B20": 0.0, "B108": 0.6, "B109": 0.75, "B206": 0.0, "B207": 0.0, "B310": 0.0, "B311": 0.0,
    "B313": 0.1, "B315": 0.08, "B316": 0.5, "B406": 0.8, "B408": 0.0, "B501": 0.5, "B502": 0.2, "B503": 0.3,
    "B504": 0.6, "B505": 0.55,
}  # fmt: skip

_DIAGNOSES = {
    "Anxiety disorder": 0.32,
    "Depression": 0.28,
    "ADHD": 0.2,
    "Autism spectrum disorder": 0.12,
    "PTSD": 0.08,
}

# T-scores of the raw sums 4-20, from the published tables of the four-item PROMIS short forms.
_PROMIS_T = {
    "anxiety": (
        40.3, 48.0, 51.2, 53.7, 55.8, 57.7, 59.5, 61.4, 63.4, 65.3, 67.3, 69.3, 71.2, 73.3, 75.4, 77.9, 81.6,
    ),
    "depression": (
        41.0, 49.0, 51.8, 53.9, 55.7, 57.3, 58.9, 60.5, 62.2, 63.9, 65.7, 67.5, 69.4, 71.2, 73.3, 75.7, 79.4,
    ),
    "sleep": (
        32.0, 37.5, 41.1, 43.8, 46.2, 48.4, 50.5, 52.4, 54.3, 56.1, 57.9, 59.8, 61.7, 63.8, 66.0, 68.8, 73.3,
    ),
}  # fmt: skip

_INSTRUMENT_MISSING = 0.06


@dataclass(frozen=True, slots=True)
class Participant:
    """What stays the same over one person's conversations. Traits run from 0 to 1 unless said otherwise."""

    persona: Persona
    profile: dict[str, Any]
    diagnosed: bool
    clarity: float
    negativity: float
    positivity: float
    leniency: float  # -1 (severe) to 1: how they rate a model
    wants: dict[str, bool]  # question id: should a reply do it


def draw_participant(number: int, seed: int, effects: Effects) -> Participant:
    """Draw participant `number` (from 0), whose persona follows from the number."""
    source = random_source(seed, "participant", number)
    persona = PERSONAS[number % len(PERSONAS)]
    diagnosed = source.random() < effects.diagnosis_rate
    diagnoses = _draw_diagnoses(source)
    # Drawn in either case: the rate moves who is diagnosed and nothing else.
    diagnoses = diagnoses if diagnosed else ["None of the above"]
    own_clarity = effects.clarity - effects.clarity_loss_diagnosed * diagnosed + noise(source, 0.15)
    negativity, positivity = source.random(), source.random()
    demographics = {
        "country": source.choice(persona.country),
        "education": source.choice(persona.education),
        "work_edu_background": list(source.choice(persona.work)),
        "gender": source.choice(persona.gender),
        "age_range": source.choice(persona.age_range),
        "english_proficiency": source.choice(persona.english),
        "diagnoses": diagnoses,
    }
    profile = {
        "schema_version": "2.0",
        # S for synthetic: the ids of the published participants begin with A.
        "participant_id": f"S{number + 1:05d}",
        "profile_type": "shortened",
        "demographics": demographics,
        "computed_scores": _draw_scores(source, set(diagnoses), negativity, positivity),
    }
    return Participant(
        persona=persona,
        profile=profile,
        diagnosed=diagnosed,
        clarity=round(min(max(own_clarity, 0.0), 1.0), 3),
        negativity=negativity,
        positivity=positivity,
        leniency=noise(source, 1.0),
        wants={question: source.random() < rate for question, rate in _WANTED.items()},
    )


def _draw_diagnoses(source: random.Random) -> list[str]:
    names, weights = list(_DIAGNOSES), list(_DIAGNOSES.values())
    drawn = set(source.choices(names, weights, k=2 if source.random() < 0.35 else 1))
    return [name for name in names if name in drawn]


def _draw_scores(
    source: random.Random, diagnoses: set[str], negativity: float, positivity: float
) -> dict[str, int | float]:
    """Draw the screening instruments, high where a diagnosis says so; a few are missing."""

    def level(*, raised: bool, base: float) -> float:
        return min(max(0.5 * base + 0.45 * raised + noise(source, 0.15), 0.0), 1.0)

    anxiety = level(raised=bool(diagnoses & {"Anxiety disorder", "PTSD"}), base=negativity)
    depression = level(raised="Depression" in diagnoses, base=negativity)
    sleep = level(raised=depression > 0.6, base=negativity)
    attention = level(raised="ADHD" in diagnoses, base=0.5)
    autistic = level(raised="Autism spectrum disorder" in diagnoses, base=0.4)
    scores: dict[str, int | float] = {}

    def answered() -> bool:
        return source.random() >= _INSTRUMENT_MISSING

    if answered():
        scores["who_5"] = round(25 * (0.55 * (1 - depression) + 0.4 * positivity))
    if answered():
        scores["asrs_6"] = round(6 * attention)
    if answered():
        scores["aq_10"] = round(10 * autistic)
    for name, value in (("anxiety", anxiety), ("depression", depression), ("sleep", sleep)):
        if answered():
            raw = 4 + round(16 * value)
            scores[f"promis_{name}"] = raw
            scores[f"promis_{name}_t"] = _PROMIS_T[name][raw - 4]
    if answered():
        traits = (
            ("extraversion", source.random()),
            ("agreeableness", 0.3 + 0.7 * source.random()),
            ("conscientiousness", source.random() * (1 - 0.5 * attention) + 0.25),
            ("stability", 1 - negativity),
            ("openness", 0.3 + 0.7 * source.random()),
        )
        scores |= {f"tipi_{name}": 2 + round(12 * min(value, 1.0)) for name, value in traits}
    return scores


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
    folder = files("attune_data.attunebench") / "arcs"
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".toml"))
    found = [tomllib.loads((folder / name).read_text(encoding="utf-8")) for name in names]
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


# What a model without skill drafts and complains of: fits any conversation, and none.
_STOCK_SENTENCES = (
    "Thank you for reaching out about your situation.",
    "Every challenge presents valuable opportunities for growth.",
    "Consider reviewing available resources regarding these matters.",
    "Communication remains essential throughout such processes.",
    "Many individuals encounter comparable circumstances.",
    "Please let us know whether further assistance is required.",
)
_STOCK_COMPLAINTS = ("Replies were generic", "Advice arrived too early", "Tone seemed impersonal")

_JUDGED = ("overall_score", "emotional_appropriateness", "helpfulness", "tone_match")
_RATINGS = (1, 2, 3, 4, 5, 6, 7)


@dataclass(frozen=True, slots=True)
class SimulatedModel:
    """An evaluated model that gives the participant's own answer with a known probability, else guesses.

    A skill is that probability: 0 is chance (every option equally likely), 1 perfect. It is kept within 0-1 after
    all losses and shifts, which are in the same unit.

    Parameters
    ----------
    name : str
        ``em_model`` of its runs.
    emotion, binary_om, binary_human, pairwise, response, panas, wide : float
        Skill, 0-1, at the emotion tags; the questions about what the original model did; those about what the
        participant wanted; the pairwise choices; the draft (the share of its sentences taken from what the
        participant wrote, and how well judges rate it); the PANAS; Q1-Q3 with the follow-up, and the four branches.
    unclear_loss : float
        Skill lost on a participant of clarity 0, in proportion less on clearer ones; not at `binary_om`, which asks
        about the model's visible behaviour.
    diagnosed_om_shift : float
        Change of `binary_om` for participants with a diagnosis.
    drift : float
        Change of the skills at turn tasks for each turn after the first.
    position_bias : float
        Probability mass toward A, -1 to 1: this share of pairwise choices is A (B if negative) whatever is shown as A.
    missing : float
        Probability, 0-1, that an answer is left out: a binary, pairwise or PANAS item, a branch, Q1, Q2, or Q3.
    hp_shift : float
        Change of the binary skills under the HP-facing phrasing.

    Examples
    --------
    >>> SimulatedModel("careful", emotion=0.9).wide
    0.5
    """

    name: str
    emotion: float = 0.5
    binary_om: float = 0.5
    binary_human: float = 0.5
    pairwise: float = 0.5
    response: float = 0.5
    panas: float = 0.5
    wide: float = 0.5
    unclear_loss: float = 0.0
    diagnosed_om_shift: float = 0.0
    drift: float = 0.0
    position_bias: float = 0.0
    missing: float = 0.0
    hp_shift: float = 0.0

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("name is empty; a run needs an em_model")
        for field in fields(self)[1:]:
            value = getattr(self, field.name)
            low = -1.0 if field.name.endswith(("loss", "shift", "drift", "bias")) else 0.0
            if not low <= value <= 1:
                raise ValueError(f"{field.name} is {value!r}; expected {low:g} to 1")


def runs(
    conversations: Iterable[Conversation],
    models: Iterable[SimulatedModel],
    seed: int = 0,
    *,
    mode: Mode = "default",
) -> list[Run]:
    """Simulate the runs of evaluated models.

    Parameters
    ----------
    conversations : iterable of Conversation
        Annotated conversations, synthetic or not. How clear a participant is, is taken from ``metadata.synthetic``,
        else from their answer to Q2.
    models : iterable of SimulatedModel
        The models, of different names.
    seed : int
        A run depends on the seed, its conversation, its model and the mode only, whatever else is simulated.
    mode : {"default", "verbose", "omniscient", "verbose_omniscient"}
        Written into the runs; it does not change the answers' quality.

    Returns
    -------
    list of Run
        One run for each model and conversation, models in the given order. Each carries the extra key ``synthetic``.

    Raises
    ------
    ValueError
        Where two models have one name.

    Examples
    --------
    >>> from attune_data import load
    >>> simulated = runs(load("demo"), [SimulatedModel("guesser", emotion=0.0), SimulatedModel("reader")], seed=1)
    >>> len(simulated), simulated[0].em_model
    (80, 'guesser')
    """
    truths, chosen = list(conversations), list(models)
    names = [model.name for model in chosen]
    if len(set(names)) != len(names):
        raise ValueError(f"two models have the same name among {', '.join(names)}")
    return [_Simulation(model, conversation, seed, mode).run() for model in chosen for conversation in truths]


class _Simulation:
    """One model reading one conversation."""

    def __init__(self, model: SimulatedModel, conversation: Conversation, seed: int, mode: Mode) -> None:
        self.model = model
        self.conversation = conversation
        self.mode = mode
        self.source = random_source(seed, conversation.id, model.name, mode)
        self.unclear = model.unclear_loss * (1 - _clarity(conversation))
        self.words = [emotion.word for emotion in load_codebook().emotions.values()]
        diagnoses = conversation.participant_profile.demographics.diagnoses
        diagnosed = any(name.strip().lower() != "none of the above" for name in diagnoses)
        self.om_shift = model.diagnosed_om_shift * diagnosed

    def run(self) -> Run:
        return Run.model_validate(
            {
                "conversationId": self.conversation.id,
                "source_file": f"conversation_{self.conversation.id}.json",
                "em_model": self.model.name,
                # Runs must not depend on when they were made.
                "run_timestamp": "2026-01-01T00:00:00Z",
                "mode": self.mode,
                "api_cost": None,
                "duration_seconds": None,
                "synthetic": True,
                "turns": [self._turn(turn, place) for place, turn in enumerate(self.conversation.turns)],
                "post_conversation": self._post(),
            }
        )

    def _turn(self, turn: Turn, place: int) -> dict[str, Any]:
        model = self.model
        drift = model.drift * place
        om, human = model.binary_om + self.om_shift + drift, model.binary_human - self.unclear + drift
        response = model.response - self.unclear + drift
        annotations = turn.annotations
        # A question that does not apply (na, and neither yes nor no) is not asked of a model.
        asked = [
            judgement
            for judgement in annotations.binary_judgements
            if (answers := {judgement.observed_behavior, judgement.preferred_behavior}) & {"yes", "no"}
            or "na" not in answers
        ]
        did = {j.question_id: j.observed_behavior or j.llm_value for j in asked}
        wanted = {j.question_id: j.preferred_behavior or j.observed_behavior for j in asked}
        comparisons = annotations.pairwise_comparisons
        best = annotations.alternate_responses.human_edited or annotations.alternate_responses.llm_improved
        reasoning = "Simulated: answered by a known probability of being right."
        explained = self.mode.startswith("verbose")
        return {
            "turnNumber": turn.turn_number,
            "em_emotion_tags": self._tags(turn, model.emotion - self.unclear + drift),
            "em_drafted_response": self._draft(best or turn.llm_response, response),
            **(dict.fromkeys(("response_reasoning", "emotion_reasoning"), reasoning) if explained else {}),
            "em_binary_om_assessment": self._binary(did, om),
            "em_binary_human_prediction": self._binary(wanted, human),
            "em_binary_om_assessment_hp": self._binary(did, om + model.hp_shift),
            "em_binary_human_prediction_hp": self._binary(wanted, human + model.hp_shift),
            "em_pairwise_selections": self._pairwise(
                [comparison.winner for comparison in comparisons], model.pairwise - self.unclear + drift
            ),
            "pairwise_assignment": {
                str(index): {"A": comparison.response_a, "B": comparison.response_b}
                for index, comparison in enumerate(comparisons)
            },
            "em_draft_judge_scores": {name: self._known(7, response, _RATINGS) for name in _JUDGED},
            "em_draft_binary_assessment": self._binary(wanted, response),
        }

    def _known(self, truth: Any, skill: float, options: Sequence[Any]) -> Any:
        """Give the truth with the probability `skill`, else any option; where there is no truth, any option."""
        return truth if truth is not None and self.source.random() < skill else self.source.choice(options)

    def _left_out(self) -> bool:
        return self.source.random() < self.model.missing

    def _tags(self, turn: Turn, skill: float) -> list[dict[str, Any]]:
        truth = turn.mood_shift_tags
        count = len(truth) if self.source.random() < skill else self.source.randint(0, 3)
        tags: dict[str, int] = {}
        for place in range(count):
            tag = truth[place] if place < len(truth) else None
            word = self._known(tag and tag.emotion, skill, self.words)
            tags[word] = self._known(tag and tag.intensity, skill, _RATINGS)
        return [{"emotion": word, "intensity": intensity} for word, intensity in tags.items()]

    def _draft(self, text: str, skill: float) -> str:
        sentences = re.split(r"(?<=[.!?])\s+", text.strip())
        return " ".join(self._known(sentence or None, skill, _STOCK_SENTENCES) for sentence in sentences)

    def _binary(self, truth: Mapping[str, str | None], skill: float) -> dict[str, str]:
        known, guess = self._known, ("yes", "no")
        return {
            question: known(None if answer == "na" else answer, skill, guess)
            for question, answer in truth.items()
            if not self._left_out()
        }

    def _pairwise(self, winners: Sequence[str | None], skill: float) -> dict[str, str]:
        bias = self.model.position_bias
        favourite = "A" if bias > 0 else "B"
        return {
            str(index): favourite if self.source.random() < abs(bias) else self._known(winner, skill, ("A", "B"))
            for index, winner in enumerate(winners)
            if not self._left_out()
        }

    def _post(self) -> dict[str, Any]:
        shown = self.conversation.pre_panas
        return {
            "panas_strategy": "absolute",
            "pre_panas_shown": {
                "totalPositiveAffect": shown.total_positive_affect,
                "totalNegativeAffect": shown.total_negative_affect,
            },
            "predicted_post_panas": self._panas(self.conversation.post_panas),
            "predicted_conversation_wide": self._wide(self.conversation.conversation_wide_questions),
        }

    def _panas(self, truth: Panas) -> dict[str, Any]:
        skill = self.model.panas - self.unclear
        rated = {word.lower(): rating for word, rating in truth.responses.items()}
        items = {word: self._known(rated.get(word.lower()), skill, _RATINGS) for word in self.words}
        affects = load_codebook().emotions
        totals = {
            affect: sum(rating for word, rating in items.items() if affects[word.lower()].affect == affect)
            for affect in ("positive", "negative")
        }
        return {
            "totalPositiveAffect": totals["positive"],
            "totalNegativeAffect": totals["negative"],
            "items": {word: rating for word, rating in items.items() if not self._left_out()},
        }

    def _wide(self, truth: ConversationWideQuestions) -> dict[str, Any]:
        skill, source, codebook = self.model.wide - self.unclear, self.source, load_codebook()
        branches = truth.four_branch_scores
        answers: dict[str, Any] = {
            "fourBranchScores": {
                branch: self._known(getattr(branches, branch), skill, _RATINGS)
                for branch in codebook.branches
                if not self._left_out()
            }
        }
        if not self._left_out():
            goals = list(truth.q1_looking_for) or None
            guess = source.sample(codebook.q1_options, source.randint(1, 2))
            answers["q1_lookingFor"] = self._known(goals, skill, [guess])
        if not self._left_out():
            answers["q2_emotionClarity"] = self._known(truth.q2_emotion_clarity, skill, codebook.q2_options)
        if not self._left_out():
            fit = self._known(truth.q3_model_fit, skill, codebook.q3_options)
            answers["q3_modelFit"] = fit
            if fit in codebook.q3_negative:
                felt_off = list(truth.q3_follow_up_what_felt_off) or None
                guess = source.sample(_STOCK_COMPLAINTS, source.randint(1, 2))
                answers["q3_followUp_whatFeltOff"] = self._known(felt_off, skill, [guess])
        return answers


def _clarity(conversation: Conversation) -> float:
    """Return how clear a participant's feelings are, 0-1: the latent value, else what they said themself."""
    latent = (conversation.metadata.model_extra or {}).get("synthetic")
    if isinstance(latent, Mapping) and "clarity" in latent:
        return float(latent["clarity"])
    said = conversation.conversation_wide_questions.q2_emotion_clarity
    return 1.0 if said is None or said.strip().lower().startswith("clear") else 0.5


_DEMO_SEED = 3

_DEMO_MODELS = (
    SimulatedModel(
        "synthetic/attentive",
        emotion=0.65,
        binary_om=0.75,
        binary_human=0.65,
        pairwise=0.6,
        response=0.6,
        panas=0.55,
        wide=0.6,
        unclear_loss=0.2,
    ),
    SimulatedModel(
        "synthetic/hasty",
        emotion=0.35,
        binary_om=0.45,
        binary_human=0.35,
        pairwise=0.35,
        response=0.25,
        panas=0.25,
        wide=0.25,
        unclear_loss=0.2,
        position_bias=0.3,
        missing=0.05,
    ),
)


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


def demo() -> list[Conversation]:
    """Generate the embedded demonstration conversations: 40 by 24 participants.

    Each of the 20 stories appears twice, told by two people.

    Examples
    --------
    >>> from attune_data import load
    >>> demo()[0] == load("demo")[0]
    True
    """
    return conversations(40, participants=24, seed=_DEMO_SEED)


def demo_runs() -> list[Run]:
    """Generate the embedded demonstration runs: two simulated models on each conversation of `demo`.

    ``synthetic/attentive`` is clearly the better one; ``synthetic/hasty`` leaves some answers out and prefers A in
    pairwise choices, whatever is shown as A.

    Examples
    --------
    >>> from attune_data import load_runs
    >>> demo_runs()[0] == load_runs("demo")[0]
    True
    """
    return runs(demo(), _DEMO_MODELS, seed=_DEMO_SEED)


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


def _main(arguments: Sequence[str]) -> int:
    records: Iterable[Conversation | Run]
    match arguments:
        case ["conversations"]:
            records = demo()
        case ["runs"]:
            records = demo_runs()
        case _:
            sys.stderr.write("usage: python -m attune_data.attunebench.synthetic conversations|runs\n")
            return 2
    for record in records:
        sys.stdout.buffer.write(record.to_json() + b"\n")
    return 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
