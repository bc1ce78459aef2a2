"""Tidy frames of SAGE's dialogues, turn by turn: emotion before, change, emotion after."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, ClassVar

from attune_data.columns import Columns, dtypes_of, frame_of, values_of
from attune_data.frames import Frames, Schema
from attune_data.meanings import Column
from attune_data.sage.dialogue import Planning, SageDialogue, SageMessage
from attune_data.sage.meanings import dialogue_columns
from attune_data.states import step_columns, step_dtypes
from attune_data.traits import Unit

if TYPE_CHECKING:
    import polars as pl

__all__ = ["SageTables", "dialogue_builder"]

_AXIS = "emotion"
_KEYS = ("scenario_id", "model")


class SageTables(Frames):
    """SAGE's dialogues as tidy frames, joined by scenario and model.

    Examples
    --------
    >>> from attune_data import Dialogues, SageDialogue
    >>> said = [{"role": "user", "emotion_point": 40}, {"role": "assistant"}, {"role": "user", "emotion_point": 35}]
    >>> one = SageDialogue(scenario_id="s1", model="m", emo_point=35, history=said)
    >>> Dialogues([one]).tables.turns.select("turn_number", "emotion_before", "emotion_delta", "emotion_after").rows()
    [(1, 40, -5, 35)]
    """

    names: ClassVar[tuple[str, ...]] = ("episodes", "turns", "scenarios")
    unit: ClassVar[Unit] = Unit("episode", _KEYS, "scenario", own="scenario_id")
    counted: ClassVar[Mapping[str, str]] = {"turns": "turn"}

    @cached_property
    def episodes(self) -> "pl.DataFrame":
        """One row a dialogue: scenario, model, final emotion, ``success``, ``failure`` or ``neither``."""
        return self._build("episodes")

    @cached_property
    def turns(self) -> "pl.DataFrame":
        """One row a reply of the person to the model: what was said, how the emotion changed, and why."""
        return self._build("turns")

    @cached_property
    def scenarios(self) -> "pl.DataFrame":
        """One row a scenario, as the first dialogue tells it: who the person is, what happened, what they want."""
        return self._build("scenarios")

    @classmethod
    def schemas(cls) -> Mapping[str, Schema]:
        """Return the columns of every table and their dtypes.

        Examples
        --------
        >>> list(SageTables.schemas()["episodes"])
        ['scenario_id', 'model', 'topic', 'emo_point', 'emo_state', 'outcome', 'n_turns']
        """
        return _schemas()

    @classmethod
    def meanings(cls) -> Mapping[str, Mapping[str, Column]]:
        """Return what every column of every table means."""
        return dialogue_columns()


@cache
def _schemas() -> dict[str, Schema]:
    import polars as pl

    dialogue, planning = dtypes_of(SageDialogue), dtypes_of(Planning)
    text, count = pl.String(), pl.Int64()
    keys = {name: dialogue[name] for name in _KEYS}
    about = ("topic", "task", "target", "player", "scene", "character")
    return {
        "episodes": {
            **keys,
            **{name: dialogue[name] for name in ("topic", "emo_point", "emo_state")},
            "outcome": text,
            "n_turns": count,
        },
        "turns": {
            **keys,
            "turn_number": count,
            "model_reply": text,
            "person_reply": text,
            **step_dtypes([_AXIS]),
            "model_think": text,
            "person_thinking": text,
            **{name: dtype for name, dtype in planning.items() if name not in ("change", "content")},
            "planning_content": text,
        },
        "scenarios": {"scenario_id": text, **{name: dialogue[name] for name in about}},
    }


def dialogue_builder(dialogues: Sequence[SageDialogue]) -> "Callable[[str], pl.DataFrame]":
    """Return the function from the name of a table to its frame, for `SageTables`."""
    return partial(_frame, dialogues)


def _frame(dialogues: Sequence[SageDialogue], name: str) -> "pl.DataFrame":
    columns = {"episodes": _dialogues, "turns": _replies, "scenarios": _told}[name](dialogues)
    return frame_of(columns, SageTables.schemas()[name])


def _dialogues(dialogues: Sequence[SageDialogue]) -> Columns:
    return {
        **values_of(SageDialogue, dialogues),
        "outcome": [dialogue.outcome for dialogue in dialogues],
        "n_turns": [len(_answers(dialogue)) for dialogue in dialogues],
    }


def _answers(dialogue: SageDialogue) -> list[tuple[SageMessage | None, SageMessage]]:
    """Return the model's message, and the person's that answers it, in order."""
    found: list[tuple[SageMessage | None, SageMessage]] = []
    reply: SageMessage | None = None
    for place, message in enumerate(dialogue.history):
        if message.role == "assistant":
            reply = message
        elif place:
            found.append((reply, message))
            reply = None
    return found


def _replies(dialogues: Sequence[SageDialogue]) -> Columns:
    rows = [
        (dialogue, number, *both) for dialogue in dialogues for number, both in enumerate(_answers(dialogue), start=1)
    ]
    planning = values_of(Planning, [answer.planning for *_, answer in rows])
    starts = (dialogue.history[0].emotion_point if dialogue.history else None for dialogue in dialogues)
    paths = [
        [start, *(answer.emotion_point for _, answer in _answers(dialogue))]
        for start, dialogue in zip(starts, dialogues, strict=True)
    ]
    return {
        **{name: planning[name] for name in planning if name not in ("change", "content")},
        "scenario_id": [dialogue.scenario_id for dialogue, *_ in rows],
        "model": [dialogue.model for dialogue, *_ in rows],
        "turn_number": [number for _, number, *_ in rows],
        "model_reply": [reply and reply.content for _, _, reply, _ in rows],
        "model_think": [reply and reply.think for _, _, reply, _ in rows],
        "person_reply": [answer.content for *_, answer in rows],
        "person_thinking": [answer.thinking for *_, answer in rows],
        "planning_content": planning["content"],
        **step_columns(_AXIS, paths),
    }


def _told(dialogues: Sequence[SageDialogue]) -> Columns:
    first: dict[str, SageDialogue] = {}
    for dialogue in dialogues:
        first.setdefault(dialogue.scenario_id, dialogue)
    return values_of(SageDialogue, list(first.values()))
