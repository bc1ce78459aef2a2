"""SAGE: dialogues in which the emotion of a simulated person moves turn by turn, and the profiles of such people.

Records, rules, tables, texts.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, Strict

from attune_data.collection import Collection, Kind, Place, record_kind
from attune_data.columns import (
    Column,
    Columns,
    columns_of,
    frame_of,
    step_columns,
    step_meanings,
    values_of,
)
from attune_data.description import description, grouped
from attune_data.display import Message, Part
from attune_data.query import Unit
from attune_data.record import Integer, Items, Level, Nested, SnakeCaseRecord, Text, says_generated
from attune_data.repair import Fix, IssueCollector, check_change, fix_of, number
from attune_data.tables import Frames
from attune_data.text import plural, sanitize

if TYPE_CHECKING:
    import polars as pl

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
    planning: Nested[Planning] = Field(
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
    error: str | None = Field(
        None, description="What failed, so that the conversation has no score; absent in published files."
    )

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
        """``success`` at an emotion of 100, ``failure`` below 10, else ``neither``; ``error`` where there is one."""
        if self.error is not None:
            return "error"
        if self.emo_point >= SUCCESS:
            return "success"
        return "failure" if self.emo_point < FAILURE else "neither"

    @property
    def synthetic(self) -> bool:
        """Whether the record says of itself that it was generated (``synthetic``)."""
        return says_generated((self.model_extra or {}).get("synthetic"))

    def __repr__(self) -> str:
        """Return one line; `model_dump` gives every field."""
        return sanitize(f"<SageDialogue {self.id}: {plural(len(self.history), 'message')}, {self.emo_state}>")

    __str__ = __repr__


def emotion_state(point: int) -> str:
    """Return the name of the band that an emotion is in.

    Examples
    --------
    >>> [emotion_state(point) for point in (100, 99, 10, 9)]
    ['Emotion-S', 'Emotion-A', 'Emotion-C', 'Emotion-F']
    """
    return "Emotion-" + next((letter for lowest, letter in _STATES if point >= lowest), "F")


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
        """One row a dialogue: scenario, model, final emotion, ``success``, ``failure``, ``neither`` or ``error``."""
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
    def meanings(cls) -> Mapping[str, Mapping[str, Column]]:
        """Return the columns of every table, in order, with their types and what they mean.

        Examples
        --------
        >>> list(SageTables.schemas()["episodes"])
        ['scenario_id', 'model', 'topic', 'emo_point', 'emo_state', 'outcome', 'n_turns']
        >>> SageTables.meanings()["turns"]["planning_content"].description
        'What the reply was about.'
        """
        dialogue, planning = columns_of(SageDialogue), columns_of(Planning)
        keys = {name: dialogue[name] for name in _KEYS}
        about = ("scenario_id", "topic", "task", "target", "player", "scene", "character")
        return {
            "episodes": {
                **keys,
                **{name: dialogue[name] for name in ("topic", "emo_point", "emo_state")},
                "outcome": Column(
                    "`success` at an emotion of 100, `failure` below 10, else `neither`; `error` where it failed."
                ),
                "n_turns": Column("Number of replies of the person to the model.", kind=int),
            },
            "turns": {
                **keys,
                "turn_number": Column("The reply of the person to the model, from 1.", kind=int),
                "model_reply": Column("What the model said.", null=True, source="history, content"),
                "person_reply": Column("What the person said to it.", source="history, content"),
                **step_meanings([_AXIS]),
                "model_think": Column("The model's reasoning.", null=True, source="think"),
                "person_thinking": Column("The person's reasoning.", null=True, source="thinking"),
                **{name: column for name, column in planning.items() if name not in ("change", "content")},
                "planning_content": planning["content"],
            },
            "scenarios": {name: dialogue[name] for name in about},
        }


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


_ENDS = tuple(f"Emotion-{letter}" for letter in "SABCF")


def describe_dialogues(dialogues: Collection[SageDialogue]) -> dict[str, Any]:
    """Count dialogues by model, outcome and final state, and their messages."""
    return description(
        dialogues,
        "dialogues",
        of={"scenarios": lambda part: len({dialogue.scenario_id for dialogue in part})},
        traits={
            "model": grouped(dialogues, lambda dialogue: dialogue.model),
            "outcome": grouped(
                dialogues, lambda dialogue: dialogue.outcome, ("success", "neither", "failure", "error")
            ),
            "emo_state": grouped(dialogues, lambda dialogue: dialogue.emo_state, _ENDS),
        },
        counts={
            "replies of the model": lambda dialogue: sum(line.role == "assistant" for line in dialogue.history),
            "utterances of the person": lambda dialogue: sum(line.role == "user" for line in dialogue.history),
        },
    )


fix_dialogue: Fix = fix_of(SageDialogue, {SageMessage: {"emotion-point": number(0, 100)}})


def check_dialogue(dialogue: SageDialogue, findings: IssueCollector) -> None:
    """Report a failure, and what contradicts the final emotion, the changes or the order of the messages."""
    if dialogue.error is not None:
        message = "the record says that the conversation failed"
        findings.add("$", "failed-episode", "warning", dialogue.error, message, "kept; not scored")
    if dialogue.emo_state != emotion_state(dialogue.emo_point):
        message = f"an emotion of {dialogue.emo_point} is {emotion_state(dialogue.emo_point)}"
        findings.add("$.emo_state", "emotion-state", "warning", dialogue.emo_state, message, "kept; not scored")
    roles = [message.role for message in dialogue.history]
    if roles != [("user", "assistant")[place % 2] for place in range(len(roles))]:
        message = "expected person and model in turn, the person first"
        findings.add("$.history", "message-order", "warning", roles, message, "kept; changes are told by the person's")
    points = [(place, message) for place, message in enumerate(dialogue.history) if message.emotion_point is not None]
    if points and points[-1][1].emotion_point != dialogue.emo_point:
        message = f"the last emotion in the history is {points[-1][1].emotion_point}"
        findings.add(
            "$.emo_point", "final-state", "warning", dialogue.emo_point, message, "kept; the final one is scored"
        )
    for (_, before), (place, after) in pairwise(points):
        step = (before.emotion_point, after.planning.change, after.emotion_point)
        check_change(step, f"$.history[{place}].planning.change", findings)


def dialogue_parts(dialogue: SageDialogue) -> Iterator[Part]:
    """Yield the facts of a dialogue, the profile of the person, and the messages.

    Examples
    --------
    >>> from attune_data import show
    >>> said = [{"role": "user", "content": "I lost it.", "emotion_point": 40}]
    >>> print(show(SageDialogue(scenario_id="s1", model="m", emo_point=40, history=said), columns=40))
    Dialogue s1/m
      at the end    emotion 40, neither
    <BLANKLINE>
    Person (emotion 40)
      I lost it.
    """
    state = f", {dialogue.emo_state}" if dialogue.emo_state else ""
    yield Part(
        facts=[
            ("topic", dialogue.topic),
            ("at the end", f"emotion {dialogue.emo_point}{state}, {dialogue.outcome}"),
            ("error", dialogue.error or ""),
            ("task", dialogue.task),
            ("target", dialogue.target),
        ]
    )
    about = [("person", dialogue.player), ("character", dialogue.character), ("background", dialogue.scene)]
    yield Part(title="Who the person is", facts=about, folded=True)
    yield Part(messages=[_message(one) for one in dialogue.history])


def _message(one: SageMessage) -> Message:
    planning = one.planning
    moved = "" if planning.change is None else f" ({planning.change:+d})"
    notes = [
        ("reasoning", one.think or ""),
        ("thought", one.thinking or ""),
        ("felt", planning.activity),
        ("near the aim", planning.target_completion),
        ("reply about", planning.content),
        ("taken so", planning.analyse),
    ]
    is_person = one.role == "user"
    state = "" if one.emotion_point is None else f"emotion {one.emotion_point}{moved}"
    speaker = "Person" if is_person else "Model"
    return Message(speaker=speaker, text=one.content, is_person=is_person, state=state, notes=notes)


class Dialogues(Collection[SageDialogue]):
    """Dialogues of SAGE."""

    @property
    def kind(self) -> "Kind[SageDialogue, Dialogues]":
        """What the records are."""
        return DIALOGUE

    @cached_property
    def tables(self) -> SageTables:
        """The dialogues as tidy frames, each built once, when first asked for."""
        return self._made(SageTables)


def _model(dialogue: SageDialogue, place: Place | None) -> SageDialogue:
    """Fill in the model, after which a dialogue's file is named."""
    return dialogue.placed(model=None if place is None else place.stem.removesuffix("_result") or None)


DIALOGUE: Kind[SageDialogue, Dialogues] = Kind(
    noun="dialogue",
    plural="dialogues",
    model=SageDialogue,
    collection=Dialogues,
    loader="load_sage",
    keys=frozenset(("emo_point", "emo_state")),
    docs="sage.md",
    fix=fix_dialogue,
    check=check_dialogue,
    place=_model,
    key=lambda dialogue: dialogue.key,
    identity="scenario and model",
    prefer="*_result.jsonl",
    demo="sage/demo_dialogues.jsonl",
    columns=("id", "history"),
    tables=SageTables,
    build=lambda dialogues: partial(_frame, dialogues),
    overview={
        "scenario": lambda dialogue: dialogue.scenario_id,
        "model": lambda dialogue: dialogue.model or "",
        "outcome": lambda dialogue: dialogue.outcome,
    },
    parts=dialogue_parts,
    messages=lambda dialogue: [(message.role, message.content) for message in dialogue.history],
    describe=describe_dialogues,
    documents="attune_data.sage.loading:dialogue_documents",
)


_NEEDED = ("player", "scene", "first_talk")


class SageProfile(SnakeCaseRecord):
    """A person to be played, as SAGE's file ``simulator_profile_withfirsttalk.jsonl`` has them.

    Examples
    --------
    >>> from attune_data import load_records
    >>> from attune_data.sage import PROFILE
    >>> load_records("demo", PROFILE)[0].first_talk
    'So. They have given the plot away. My plot, more or less.'
    """

    column_names: ClassVar[Mapping[str, str]] = {"main_cha": "character", "cha_group": "traits"}

    id: str = Field(min_length=1, description="Id of the scenario, which the results of every model have.")
    player: Text = Field("", description="Who the person is: facts, habits, style of speech.")
    scene: Text = Field(
        "", description="What has happened, how the person reacts at each level of emotion, and the hidden topic."
    )
    main_cha: Text = Field("", description="What the person is like.")
    cha_group: Items[str] = Field((), description="Traits of the character.")
    topic: Text = Field("", description="What the conversation is about; the published profiles do not say it.")
    task: Text = Field("", description="The hidden topic: what the person wants of the model.")
    first_talk: Text = Field("", description="What the person says first.")
    synthetic: Annotated[bool, Strict()] = Field(False, description="Whether it is invented for demonstration.")


def _check_profile(profile: SageProfile, findings: IssueCollector) -> None:
    """Report what a simulator lacks."""
    for name in _NEEDED:
        if not getattr(profile, name).strip():
            hint = "; simulator_profile_withfirsttalk.jsonl has it" if name == "first_talk" else ""
            message = f"a profile needs this text to be played{hint}"
            findings.add(f"$.{name}", "missing-text", "warning", getattr(profile, name), message, "kept; not played")
    if profile.scene.strip() and profile.task.strip() not in profile.scene:
        message = "expected it in the scene, from which alone the simulator learns the hidden topic"
        findings.add("$.task", "missing-text", "warning", profile.task, message, "kept; played without it")


def missing_text(profile: SageProfile) -> str:
    """Return why a profile cannot be played; an empty text where it can.

    Examples
    --------
    >>> missing_text(SageProfile(id="p1", player="Ida, 40", scene="A lost key."))
    "profile 'p1' has no first_talk to be played from"
    """
    missing = [name for name in _NEEDED if not getattr(profile, name).strip()]
    return f"profile {profile.id!r} has no {' and no '.join(missing)} to be played from" if missing else ""


PROFILE = record_kind(
    SageProfile,
    noun="profile",
    plural="profiles",
    keys=frozenset(("main_cha", "cha_group", "first_talk")),
    docs="sage.md",
    check=_check_profile,
    prefer="*_withfirsttalk.jsonl",
    demo="sage/demo_profiles.jsonl",
    overview={
        "id": lambda profile: profile.id,
        "character": lambda profile: profile.main_cha,
        "task": lambda profile: profile.task,
    },
)
