"""Counts of conversations and runs: by trait, of turns, of annotations and of predictions."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from attune_data.attunebench.conversation import Conversation
from attune_data.attunebench.parts import FourBranchScores, Turn
from attune_data.attunebench.run import Run
from attune_data.attunebench.run_parts import ANSWER_FIELDS, RunTurn
from attune_data.collection import Collection
from attune_data.description import description, grouped
from attune_data.matching import count_people

__all__ = ["describe_conversations", "describe_runs"]

_TRAITS = ("category", "diagnoses", "diagnosis_group", "om_model", "attitude")


def _in_turns(count: Callable[[Turn], int]) -> Callable[[Conversation], int]:
    return lambda conversation: sum(map(count, conversation.turns))


def _rated(ratings: Mapping[str, int | None]) -> int:
    return sum(rating is not None for rating in ratings.values())


def _branches(scores: FourBranchScores) -> int:
    return sum(getattr(scores, name) is not None for name in FourBranchScores.model_fields)


def _wide_answers(conversation: Conversation) -> int:
    wide = conversation.conversation_wide_questions
    return sum(map(bool, (wide.q1_looking_for, wide.q2_emotion_clarity, wide.q3_model_fit)))


_PARTS: Mapping[str, Callable[[Conversation], int]] = {
    "turns": lambda conversation: len(conversation.turns),
    "mood tags": _in_turns(lambda turn: len(turn.mood_shift_tags)),
    "binary judgements": _in_turns(lambda turn: len(turn.annotations.binary_judgements)),
    "pairwise comparisons": _in_turns(lambda turn: len(turn.annotations.pairwise_comparisons)),
    "alternate responses": _in_turns(lambda turn: bool(turn.annotations.alternate_responses.llm_improved)),
    "human responses": _in_turns(lambda turn: bool(turn.annotations.alternate_responses.human_edited)),
    "PANAS items before": lambda conversation: _rated(conversation.pre_panas.responses),
    "PANAS items after": lambda conversation: _rated(conversation.post_panas.responses),
    "Q1 to Q3 answers": _wide_answers,
    "branch ratings": lambda conversation: _branches(conversation.conversation_wide_questions.four_branch_scores),
}


def _participants(conversations: Iterable[Conversation]) -> int:
    return count_people(conversation.participant_id for conversation in conversations)


def describe_conversations(conversations: Collection[Conversation]) -> dict[str, Any]:
    """Count conversations by topic, diagnosis, original model and attitude, and their turns and annotations.

    A conversation whose participant has two diagnoses counts in both; ``without_participant`` is how many name none.

    Examples
    --------
    >>> from attune_data import load
    >>> describe_conversations(load("demo"))["counts"]["mood tags"]["conversations"]
    40
    """
    counts = description(
        conversations,
        "conversations",
        of={"participants": _participants},
        traits={trait: conversations.stratify(trait) for trait in _TRAITS},
        counts=_PARTS,
    )
    without = sum(_participants([conversation]) == 0 for conversation in conversations)
    return {**counts, "without_participant": without}


def _in_run_turns(count: Callable[[RunTurn], int]) -> Callable[[Run], int]:
    return lambda run: sum(map(count, run.turns))


_PREDICTED: Mapping[str, Callable[[Run], int]] = {
    "turns": lambda run: len(run.turns),
    "drafted responses": _in_run_turns(lambda turn: bool(turn.em_drafted_response.strip())),
    "emotion tags": _in_run_turns(lambda turn: len(turn.em_emotion_tags)),
    "binary answers": _in_run_turns(
        lambda turn: sum(answer is not None for name in ANSWER_FIELDS for answer in getattr(turn, name).values())
    ),
    "pairwise selections": _in_run_turns(
        lambda turn: sum(choice is not None for choice in turn.em_pairwise_selections.values())
    ),
    "PANAS items": lambda run: _rated(run.post_conversation.predicted_post_panas.items) if run.post_conversation else 0,
}


def describe_runs(runs: Collection[Run]) -> dict[str, Any]:
    """Count runs by evaluated model and mode, and their turns and predictions; ``incomplete`` runs stopped early.

    Examples
    --------
    >>> from attune_data import load_runs
    >>> describe_runs(load_runs("demo"))["traits"]["em_model"]["synthetic/hasty"]
    {'runs': 40, 'conversations': 40}
    """
    counts = description(
        runs,
        "runs",
        of={"conversations": lambda part: len({run.conversation_id for run in part})},
        traits={
            "em_model": grouped(runs, lambda run: run.em_model),
            "mode": grouped(runs, lambda run: run.mode),
        },
        counts=_PREDICTED,
    )
    return {**counts, "incomplete": sum(not run.complete for run in runs)}
