"""SAGE: conversations of a model with a simulated person whose emotion is a number that moves every turn."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from attune_data.record import Integer, Items, Level, NullAs, SnakeCaseRecord, Text, says_generated
from attune_data.text import plural, printable

__all__ = ["FAILURE", "SUCCESS", "Planning", "SageDialogue", "SageMessage", "emotion_state"]

SUCCESS = 100
FAILURE = 10
_STATES = ((SUCCESS, "S"), (70, "A"), (40, "B"), (FAILURE, "C"))


class Planning(SnakeCaseRecord):
    """What the simulated person made of the model's last reply."""

    activity: Text = Field("", description="What the person feels and thinks.")
    target_completion: Text = Field("", alias="TargetCompletion", description="How far the person's aim is reached.")
    content: Text = Field("", description="What the reply was about.")
    analyse: Text = Field("", description="How the person took the reply.")
    change: Integer | None = Field(None, description="Change of the emotion, -10 to 10.")


class SageMessage(SnakeCaseRecord):
    """One message; only the person's have an emotion."""

    role: Literal["user", "assistant"] = Field(description="Who speaks: `user`, the person, or `assistant`, the model.")
    content: Text = Field("", description="The text.")
    think: str | None = Field(None, description="The model's reasoning.")
    thinking: str | None = Field(None, description="The person's reasoning before this message.")
    emotion_point: Level | None = Field(
        None, alias="emotion-point", description="The person's emotion after the message, 0-100."
    )
    planning: Annotated[Planning, NullAs(Planning.null())] = Field(
        Planning(), description="What the person made of the model's last reply; absent in the first message."
    )


class SageDialogue(SnakeCaseRecord):
    """One conversation of SAGE's published results.

    ``model`` is not in the published files, which are named after it: `load_sage` takes it from the name of the file,
    and a collection writes it.

    Examples
    --------
    >>> dialogue = SageDialogue(scenario_id="s1", model="m", emo_point=100, history=[])
    >>> dialogue.id, dialogue.outcome
    ('s1/m', 'success')
    """

    from_place: ClassVar[frozenset[str]] = frozenset(("model",))

    scenario_id: str = Field(min_length=1, alias="id", description="Id of the scenario, the same for every model.")
    model: str | None = Field(
        None, min_length=1, description="The model under test; published files are named after it instead."
    )
    emo_point: Level = Field(description="The emotion at the end, 0-100: the score.")
    emo_state: str | None = Field(None, description="Its band: `Emotion-S` at 100, A from 70, B from 40, C from 10, F.")
    target: Text = Field("", description="What the person wants of the conversation.")
    player: Text = Field("", description="Who the person is.")
    scene: Text = Field("", description="What has happened, and what the person hides.")
    character: Text = Field("", description="What the person is like.")
    topic: Text = Field("", description="What the conversation is about.")
    task: Text = Field("", description="What the person says they want.")
    history: Items[SageMessage] = Field(description="The messages, the person first.")

    @property
    def id(self) -> str:
        """``scenario/model``, by which a collection finds it; the scenario alone where the model is not known."""
        return self.scenario_id if self.model is None else f"{self.scenario_id}/{self.model}"

    @property
    def key(self) -> tuple[str, str | None]:
        """Scenario and model, which no two dialogues share."""
        return self.scenario_id, self.model

    @property
    def outcome(self) -> str:
        """``success`` at an emotion of 100, ``failure`` below 10, else ``neither``."""
        if self.emo_point >= SUCCESS:
            return "success"
        return "failure" if self.emo_point < FAILURE else "neither"

    @property
    def synthetic(self) -> bool:
        """Whether the record says of itself that it was generated (``synthetic``)."""
        return says_generated((self.model_extra or {}).get("synthetic"))

    def __repr__(self) -> str:
        """Return one line; `model_dump` gives every field."""
        return printable(f"<SageDialogue {self.id}: {plural(len(self.history), 'message')}, {self.emo_state}>")

    __str__ = __repr__


def emotion_state(point: int) -> str:
    """Return the name of the band that an emotion is in.

    Examples
    --------
    >>> [emotion_state(point) for point in (100, 99, 10, 9)]
    ['Emotion-S', 'Emotion-A', 'Emotion-C', 'Emotion-F']
    """
    return "Emotion-" + next((letter for lowest, letter in _STATES if point >= lowest), "F")
