"""Transcripts of invented models, and verdicts of an invented judge; skill and the judge's preferences are planted."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from random import Random

from attune_data.eqbench3 import EQBench3Situation, EQBench3Transcript, EQBench3Verdict
from attune_metrics.eqbench3 import CRITERIA, STYLE

PEOPLE = {
    "51": ("Ines", "ashamed", "to be held to account"), "52": ("Mother", "torn", "room for anger at the dead"),
    "53": ("Lena", "uneasy", "to be told plainly"), "54": ("Jonas", "alone", "a real answer"),
    "55": ("Karl", "mocked", "to learn that the other suffers too"),
    "56": ("Sami", "humiliated", "to keep his dignity"),
    "201": ("Petra", "wronged", "an apology that asks for nothing"), "202": ("Leo", "left out", "the truth"),
    "203": ("Vera", "threatened", "to be seen for her years of care"),
    "204": ("Emil", "hopeful", "clarity without blame"),
    "205": ("Hanna", "passed over", "time, and respect"), "206": ("Otto", "proud", "a way to come without losing face"),
    "481": ("Ines", "ashamed", "to be held to account"), "482": ("Mother", "torn", "room for anger at the dead"),
    "483": ("Yusuf", "robbed", "an open word"), "484": ("Ada", "left long ago", "to be asked"),
    "485": ("Rosa", "ashamed", "to be asked instead of reported"), "486": ("Sami", "humiliated", "to keep his dignity"),
}  # fmt: skip
"""By situation of the demonstration who is met, what this person feels, and needs."""


_MORE = (
    "What is said is smaller than what is meant.", "A quick answer would close the door.",
    "There is an old quarrel below this one.", "Silence has been taken for agreement before.",
    "It matters who speaks first, and how.", "Kindness can be heard as distance.",
    "Nobody here wants to be the one who asks.", "It will not be settled today.",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Player:
    """An invented model: its name, its skill from 0 to 20, how warm and how wordy it is."""

    model: str
    skill: float
    warmth: float
    sentences: int


def transcripts(
    situations: Iterable[EQBench3Situation], players: Sequence[Player], *, seed: int = 0
) -> list[EQBench3Transcript]:
    """Return the transcript of each player in each situation, scored by a judge with some noise."""
    found = []
    for situation in situations:
        for player in players:
            source = Random(f"{seed}/{player.model}/{situation.id}")
            history = []
            for turn, prompt in enumerate(situation.prompts):
                history.append({"role": "user", "content": prompt})
                history.append({"role": "assistant", "content": _answer(situation, player, turn)})
            level = player.skill + source.gauss(0, 1.5)
            scores = {name: _score(level + source.gauss(0, 1)) for name in CRITERIA[situation.rubric]}
            if situation.rubric == "standard":
                scores |= {name: _score(_style(name, player) + source.gauss(0, 1.5)) for name in STYLE}
            document = {
                "scenario_id": situation.id,
                "test_model": player.model,
                "repeat": 1,
                "judge_model": "synthetic/judge",
                "status": "rubric_scored",
                "conversation_history": history,
                "rubric_scores": scores,
                "synthetic": True,
            }
            if situation.type != "analysis":
                document["debrief_response"] = _debrief(situation, player)
            found.append(EQBench3Transcript.model_validate(document))
    return found


def _score(value: float) -> float:
    return float(min(max(round(value), 0), 20))


def _style(name: str, player: Player) -> float:
    warm = name in ("warmth", "validating", "sycophantic", "compliant", "humanlike")
    return player.warmth if warm else 20 - player.warmth if name in ("challenging", "boundary_setting") else 10.0


def _answer(situation: EQBench3Situation, player: Player, turn: int) -> str:
    who, feels, needs = PEOPLE[situation.id]
    seen = f"{who} seems {feels}" if player.skill > 10 else f"{who} is difficult today"
    want = f"{who} needs {needs}" if player.skill > 13 else f"{who} wants this to be over"
    extra = " ".join(_MORE[: player.sentences])
    if situation.type == "analysis":
        return f"{seen}; {want}. The words are about something small, and the rest is in what is held back. {extra}"
    if situation.type == "drafting":
        return (
            f"# Perspective-taking\n{seen}, and {want}.\n\n# Draft brainstorming\nNo excuse, no request. {extra}\n\n"
            f"# Draft\nDear {who}, I have thought about this for long. You do not have to answer."
        )
    again = " I have not said it well so far." if turn else ""
    reply = f"You are {feels}, I think." if player.skill > 10 else "Let us be sensible."
    return (
        f"# I'm thinking & feeling\nI do not want to smooth this over.{again} {extra}\n\n"
        f"# They're thinking & feeling\n{seen}. {want}.\n\n# My response\n{reply} Stay a moment."
    )


def _debrief(situation: EQBench3Situation, player: Player) -> str:
    who, feels, needs = PEOPLE[situation.id]
    if player.skill > 13:
        return f"I was late to see that {who} was {feels}. What was needed: {needs}."
    return f"I would say the same again; {who} was hard to read."


def verdicts(
    situations: Iterable[EQBench3Situation],
    made: Iterable[EQBench3Transcript],
    players: Sequence[Player],
    *,
    first: float = 1.5,
    length: float = 2.0,
    seed: int = 0,
) -> list[EQBench3Verdict]:
    """Return a verdict in each order on each two transcripts of a situation.

    The judge gives plus signs by the difference of the skills, and some more to what it saw first (`first`) and to the
    longer answer (`length` for each 1,000 characters).
    """
    by_situation: dict[str, dict[str, EQBench3Transcript]] = {}
    for one in made:
        by_situation.setdefault(one.scenario_id, {})[one.test_model] = one
    stories = {one.id: one.story for one in situations}
    skill = {player.model: player.skill for player in players}
    found = []
    for situation, by_model in by_situation.items():
        for test, other in combinations(by_model, 2):
            lengths = [_length(by_model[model]) for model in (test, other)]
            effect = Random(f"{seed}/{situation}/{test}/{other}").gauss(0, 4)
            for test_first in (True, False):
                source = Random(f"{seed}/{situation}/{test}/{other}/{test_first}")
                lead = skill[test] - skill[other] + effect + source.gauss(0, 3)
                lead += (first if test_first else -first) + length * (lengths[0] - lengths[1]) / 1_000
                document = {
                    "scenario_id": situation,
                    "test_model": test,
                    "neighbor_model": other,
                    "repeat": 1,
                    "story": stories[situation],
                    "test_first": test_first,
                    "plus_for_test": max(0, round(8 + lead)),
                    "plus_for_other": max(0, round(8 - lead)),
                    "test_model_avg_response_length": lengths[0],
                    "neighbor_model_avg_response_length": lengths[1],
                    "synthetic": True,
                }
                found.append(EQBench3Verdict.model_validate(document))
    return found


def _length(transcript: EQBench3Transcript) -> float:
    said = [len(one.content) for one in transcript.conversation_history if one.role == "assistant"]
    return round(sum(said) / len(said), 1)
