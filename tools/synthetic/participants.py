"""Invented participants, with known effects on what they annotate, drawn from a seed.

A participant has traits, diagnoses and a clarity of feeling; every effect is a parameter of `Effects`.
"""

import random
from dataclasses import dataclass, fields
from typing import Any


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
    return random.Random("/".join(map(str, parts)))


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
