"""Runs of simulated models on conversations: each answer is right with a known probability, else a guess."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from attune_data import Conversation, Run, load_codebook
from attune_data.attunebench.records import ConversationWideQuestions, Panas, Turn
from attune_data.record import Mode
from synthetic.participants import random_source

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
