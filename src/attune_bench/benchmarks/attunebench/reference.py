"""The ground truth of a conversation in the form the metrics score against, prepared once for all its runs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from attune_data import Conversation, RunTurn, Turn
from attune_data.attunebench.records import ConversationWideQuestions, FourBranchScores, PredictedPanas
from attune_data.attunebench.records import Panas as PanasRecord
from attune_metrics.attunebench.composite import Protocol
from attune_metrics.attunebench.emotion import PreparedTags, prepare_tags
from attune_metrics.attunebench.holistic import BRANCHES
from attune_metrics.attunebench.panas import Panas, PreparedPanas, prepare_panas
from attune_metrics.attunebench.preferences import (
    Comparison,
    PreparedComparisons,
    PreparedResponses,
    prepare_comparisons,
    prepare_responses,
)
from attune_metrics.attunebench.questions import (
    CheckedAnswers,
    PreparedAnswers,
    hp_reference,
    om_reference,
    prepare_answers,
)

__all__ = ["BINARY_TASKS", "Truth", "TurnTruth", "branch_ratings", "counts_key", "panas_form", "prepare_truth"]


@dataclass(frozen=True, slots=True)
class TurnTruth:
    """One turn's annotations, prepared."""

    tags: PreparedTags
    observed: PreparedAnswers
    preferred: PreparedAnswers
    comparisons: PreparedComparisons
    responses: PreparedResponses


BINARY_TASKS: Mapping[str, Callable[[TurnTruth, RunTurn], tuple[PreparedAnswers, CheckedAnswers]]] = MappingProxyType(
    {
        "binary_om": lambda truth, turn: (truth.observed, turn.em_binary_om_assessment),
        "binary_human": lambda truth, turn: (truth.preferred, turn.em_binary_human_prediction),
        "binary_om_hp": lambda truth, turn: (truth.observed, turn.em_binary_om_assessment_hp),
        "binary_human_hp": lambda truth, turn: (truth.preferred, turn.em_binary_human_prediction_hp),
    }
)
"""The binary tasks by name: the reference and the prediction of a turn. ``_hp`` marks the HP-facing phrasing."""


def counts_key(task: str) -> str:
    """Return the key that the counts of a binary task have in ``scores.json``.

    Examples
    --------
    >>> counts_key("binary_om"), counts_key("binary_om_hp")
    ('binary_om_metrics', 'binary_om_metrics_hp')
    """
    name = task.removesuffix("_hp")
    return f"{name}_metrics{task.removeprefix(name)}"


@dataclass(frozen=True, slots=True)
class Truth:
    """One conversation's annotations, prepared; `turns` by number, in order of number."""

    participant_id: str | None
    wide: ConversationWideQuestions
    turns: dict[int, TurnTruth]
    pre_panas: PreparedPanas
    post_panas: PreparedPanas
    branches: dict[str, int | None]


def prepare_truth(conversation: Conversation, protocol: Protocol) -> Truth:
    """Prepare a conversation; of turns with one number, and of judgements on one question, the last counts."""
    turns = {turn.turn_number: turn for turn in conversation.turns}
    return Truth(
        conversation.participant_id,
        conversation.conversation_wide_questions,
        {number: _prepare_turn(turns[number]) for number in sorted(turns)},
        prepare_panas(panas_form(conversation.pre_panas), protocol=protocol),
        prepare_panas(panas_form(conversation.post_panas), protocol=protocol),
        branch_ratings(conversation.conversation_wide_questions.four_branch_scores),
    )


def _prepare_turn(turn: Turn) -> TurnTruth:
    annotations = turn.annotations
    judgements = {judgement.question_id: judgement for judgement in annotations.binary_judgements}.items()
    comparisons = prepare_comparisons(
        [Comparison(c.response_a, c.response_b, c.winner) for c in annotations.pairwise_comparisons]
    )
    return TurnTruth(
        prepare_tags((tag.emotion, tag.intensity) for tag in turn.mood_shift_tags),
        prepare_answers({q: om_reference(j.observed_behavior, j.llm_value) for q, j in judgements}),
        prepare_answers({q: hp_reference(j.preferred_behavior, j.observed_behavior) for q, j in judgements}),
        comparisons,
        prepare_responses(turn.responses, comparisons.wins),
    )


def panas_form(panas: PanasRecord | PredictedPanas) -> Panas:
    """Return a PANAS record as the metrics' form."""
    items = panas.responses if isinstance(panas, PanasRecord) else panas.items
    return Panas(items, panas.total_positive_affect, panas.total_negative_affect)


def branch_ratings(scores: FourBranchScores) -> dict[str, int | None]:
    """Return the four ratings by the name of their branch."""
    return {branch: getattr(scores, branch) for branch in BRANCHES}
