"""What the columns of the tables of dialogues mean."""

from attune_data.eibench.meanings import steps
from attune_data.meanings import Column, columns_of
from attune_data.sage.dialogue import Planning, SageDialogue

__all__ = ["dialogue_columns"]


def dialogue_columns() -> dict[str, dict[str, Column]]:
    """Return the columns of `SageTables`, by table.

    Examples
    --------
    >>> dialogue_columns()["turns"]["planning_content"].description
    'What the reply was about.'
    """
    dialogue, planning = columns_of(SageDialogue), columns_of(Planning)
    return {
        "episodes": {
            **dialogue,
            "outcome": Column("`success` at an emotion of 100, `failure` below 10, else `neither`."),
            "n_turns": Column("Number of replies of the person to the model."),
        },
        "turns": {
            **dialogue,
            **planning,
            "turn_number": Column("The reply of the person to the model, from 1."),
            "model_reply": Column("What the model said.", null=True),
            "model_think": Column("The model's reasoning.", null=True),
            "person_reply": Column("What the person said to it."),
            "person_thinking": Column("The person's reasoning.", null=True),
            "planning_content": planning["content"],
            **steps("emotion"),
        },
        "scenarios": dialogue,
    }
