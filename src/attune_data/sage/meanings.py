"""What the columns of the tables of dialogues mean."""

from attune_data.meanings import Column, columns_of
from attune_data.sage.dialogue import Planning, SageDialogue
from attune_data.states import step_meanings

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
            "model_reply": Column("What the model said.", null=True, source="history, content"),
            "model_think": Column("The model's reasoning.", null=True, source="think"),
            "person_reply": Column("What the person said to it.", source="history, content"),
            "person_thinking": Column("The person's reasoning.", null=True, source="thinking"),
            "planning_content": planning["content"],
            **step_meanings(["emotion"]),
        },
        "scenarios": dialogue,
    }
