"""What the columns of the tables of conversations and of runs mean."""

from attune_data.attunebench.conversation import Conversation
from attune_data.attunebench.parts import (
    BinaryJudgement,
    ConversationWideQuestions,
    MoodShiftTag,
    PairwiseComparison,
    Turn,
)
from attune_data.attunebench.run import Run
from attune_data.attunebench.run_parts import ANSWER_FIELDS, PostConversation, RunTurn
from attune_data.attunebench.traits import group_meanings, score_meanings
from attune_data.meanings import Column, columns_of, nullable

__all__ = ["conversation_columns", "run_columns"]

_CONVERSATION = {"conversation_id": Column("The conversation.")}
_IN_TURN = {**_CONVERSATION, "turn_number": Column("The turn in it, from 1.")}


def conversation_columns() -> dict[str, dict[str, Column]]:
    """Return the columns of `Tables`, by table.

    Examples
    --------
    >>> conversation_columns()["pairwise"]["position"].description
    "Position in the turn, from 0; the key of a run's selections."
    """
    conversation = columns_of(Conversation)
    return {
        "conversations": {
            **conversation,
            **score_meanings(conversation),
            "diagnosis_groups": Column(
                "Groups of the diagnoses; `none` and `unknown` are groups too.",
                source="computed of diagnoses with codebook/diagnoses.toml",
            ),
            **group_meanings(),
            "n_turns": Column("Number of turns."),
        },
        "turns": {**_CONVERSATION, **columns_of(Turn)},
        "mood_tags": {**_IN_TURN, **columns_of(MoodShiftTag)},
        "binary": {**_IN_TURN, **columns_of(BinaryJudgement)},
        "pairwise": {
            **_IN_TURN,
            "position": Column("Position in the turn, from 0; the key of a run's selections."),
            **columns_of(PairwiseComparison),
        },
        "panas": {
            **_CONVERSATION,
            "moment": Column("Before or after the conversation."),
            "item": Column("PANAS word."),
            "rating": Column("Rating, 1-7.", null=True, low=1, high=7, source="prePanas, postPanas"),
        },
        "conversation_wide": {**_CONVERSATION, **columns_of(ConversationWideQuestions)},
    }


# The columns of annotations that have a value in rows of predictions alone, too.
_ALWAYS = {
    "conversations": ("diagnosis_groups",),
    "turns": ("turn_number",),
    "mood_tags": ("turn_number", "emotion"),
    "binary": ("turn_number", "question_id"),
    "pairwise": ("turn_number",),
    "panas": ("moment", "item"),
    "conversation_wide": (),
}


def run_columns() -> dict[str, dict[str, Column]]:
    """Return the columns of `RunTables`, by table.

    Examples
    --------
    >>> run_columns()["mood_tags"]["em_intensity"].description
    'Predicted intensity, 1-7.'
    """
    run, post = columns_of(Run), columns_of(PostConversation)
    always = {
        **{name: run[name] for name in ("conversation_id", "em_model", "mode", "repeat")},
        "annotated": Column("Whether the participant annotated this."),
        "predicted": Column("Whether the model predicted this."),
    }
    predicted: dict[str, dict[str, Column]] = {
        "conversations": {
            **run,
            "em_panas_strategy": post["panas_strategy"],
            **{f"em_post_{name}": post[name] for name in ("total_positive_affect", "total_negative_affect")},
        },
        "turns": {
            name if name.startswith("em_") else f"em_{name}": _rated(column) if name.startswith("draft_") else column
            for name, column in columns_of(RunTurn).items()
        },
        "mood_tags": {"em_intensity": Column("Predicted intensity, 1-7.", low=1, high=7, source="em_emotion_tags")},
        "binary": {name: _one_answer(name) for name in ANSWER_FIELDS},
        "pairwise": {"em_winner": Column("Predicted choice.", source="em_pairwise_selections")},
        "panas": {"em_rating": Column("Predicted rating, 1-7.", low=1, high=7, source="predicted_post_panas.items")},
        "conversation_wide": {
            f"em_{name}": column._replace(description=f"Predicted. {column.description}")
            for name, column in post.items()
        },
    }
    return {
        table: {
            **nullable({**columns, **predicted[table]}),
            **{name: columns[name] for name in _ALWAYS[table]},
            **always,
        }
        for table, columns in conversation_columns().items()
    }


def _rated(column: Column) -> Column:
    """Return the column of a mean of ratings, which a run file may have beyond the range of ratings."""
    return column._replace(low=1, high=7)


def _one_answer(name: str) -> Column:
    """Return the column of one answer of a field that has them by question."""
    field = RunTurn.model_fields[name]
    text = (field.description or "").removeprefix("By question: ")
    return Column(text[:1].upper() + text[1:], source=field.alias or name)
