"""Tidy frames of scenarios, and of episodes turn by turn: state before, change, state after."""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

from attune_data.attunebench.tables import Columns, dtypes_of, frame_of, spread, values_of
from attune_data.eibench.scenario import Episode, Scenario, State
from attune_data.frames import Frames
from attune_data.sage.dialogue import Planning, SageDialogue, SageMessage

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "EpisodeTables",
    "SageTables",
    "ScenarioTables",
    "episode_builder",
    "sage_builder",
    "scenario_builder",
    "scenario_table_schemas",
]

_AXES = ("anger", "trust")
_OF_SCENARIO = ("title", "split", "initial", "target", "worst")
Schema = dict[str, "pl.DataType"]


class ScenarioTables(Frames):
    """Scenarios as a tidy frame.

    Examples
    --------
    >>> from attune_data import load_scenarios
    >>> load_scenarios("demo").where(scene="repair").tables.scenarios.select("scenario_id", "worst_anger").row(0)
    ('demo_repair_01', 95)
    """

    names: ClassVar[tuple[str, ...]] = ("scenarios",)
    _unit = "scenario"
    _keys: ClassVar[tuple[str, ...]] = ("scenario_id",)

    @cached_property
    def scenarios(self) -> "pl.DataFrame":
        """One row a scenario: its texts, and start, target and worst case of both axes."""
        return self._build("scenarios")


class EpisodeTables(Frames):
    """Episodes as tidy frames, joined by scenario, model, simulator and configuration.

    ``split``, ``title`` and the anchors are those of the scenario, null where the episodes are not joined with it.
    """

    names: ClassVar[tuple[str, ...]] = ("episodes", "turns")
    _unit = "episode"
    _keys: ClassVar[tuple[str, ...]] = ("scenario_id", "model", "simulator", "config_hash")

    @cached_property
    def episodes(self) -> "pl.DataFrame":
        """One row an episode: scenario, model, how it ended, state at the end."""
        return self._build("episodes")

    @cached_property
    def turns(self) -> "pl.DataFrame":
        """One row an update of the state: what the model said, what changed, what the person said.

        The change is that of the state, after clipping to 0-100. The first state before is the episode's start, from
        the record, else from the scenario; null where neither tells. A reply that was not judged, as a model's last one
        in a charm scenario, has no row.
        """
        return self._build("turns")


class SageTables(Frames):
    """SAGE's dialogues as tidy frames, joined by scenario and model.

    Examples
    --------
    >>> from attune_data import Collection, SageDialogue
    >>> said = [{"role": "user", "emotion_point": 40}, {"role": "assistant"}, {"role": "user", "emotion_point": 35}]
    >>> one = SageDialogue(scenario_id="s1", model="m", emo_point=35, history=said)
    >>> Collection([one]).tables.turns.select("turn_number", "emotion_before", "emotion_delta", "emotion_after").rows()
    [(1, 40, -5, 35)]
    """

    names: ClassVar[tuple[str, ...]] = ("episodes", "turns", "scenarios")
    _unit = "episode"
    _keys: ClassVar[tuple[str, ...]] = ("scenario_id", "model")

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


@functools.cache
def scenario_table_schemas() -> dict[type[Frames], dict[str, Schema]]:
    """Return the columns of every table of scenarios, episodes and dialogues, by the class of the tables.

    Examples
    --------
    >>> list(scenario_table_schemas()[SageTables]["episodes"])
    ['scenario_id', 'model', 'topic', 'emo_point', 'emo_state', 'outcome', 'n_turns']
    """
    import polars as pl

    text, count, level = pl.String(), pl.Int64(), pl.Int8()
    scenario, episode, dialogue = dtypes_of(Scenario), dtypes_of(Episode), dtypes_of(SageDialogue)
    anchors = {name: dtype for name, dtype in scenario.items() if name.startswith(_OF_SCENARIO)}
    ends: Schema = {"outcome": text, "n_turns": count}

    def steps(axes: Iterable[str]) -> Schema:
        return {f"{axis}_{moment}": level for axis in axes for moment in ("before", "delta", "after")}

    keys = {name: episode[name] for name in EpisodeTables._keys}
    said: Schema = {"turn_number": count, "model_reply": text, "person_reply": text}
    person = ("parse", "stop_reason", "reflection")
    state = {name: dtype for name, dtype in dtypes_of(State).items() if name in person}
    about = {name: dialogue[name] for name in ("topic", "task", "target", "player", "scene", "character")}
    of_model = {name: dialogue[name] for name in ("scenario_id", "model")}
    final = {name: dialogue[name] for name in ("emo_point", "emo_state")}
    return {
        ScenarioTables: {"scenarios": scenario},
        EpisodeTables: {
            "episodes": {**keys, **episode, **anchors, **ends},
            "turns": {**keys, **said, **steps(_AXES), "parse_failed": pl.Boolean(), **state},
        },
        SageTables: {
            "episodes": {**of_model, "topic": text, **final, **ends},
            "turns": {
                **of_model,
                **said,
                **steps(["emotion"]),
                "model_think": text,
                "person_thinking": text,
                **{name: text for name in dtypes_of(Planning) if name not in ("change", "content")},
                "planning_content": text,
            },
            "scenarios": {"scenario_id": text, **about},
        },
    }


def scenario_builder(scenarios: Sequence[Scenario]) -> "Callable[[str], pl.DataFrame]":
    """Return the function from the name of a table to its frame, for `ScenarioTables`."""
    return partial(_frame, ScenarioTables, {"scenarios": partial(values_of, Scenario)}, scenarios)


def episode_builder(episodes: Sequence[Episode], scenarios: Iterable[Scenario] = ()) -> "Callable[[str], pl.DataFrame]":
    """Return the function from the name of a table to its frame, for `EpisodeTables`."""
    by_id = {scenario.id: scenario for scenario in scenarios}
    pairs = [(episode, by_id.get(episode.scenario_id)) for episode in episodes]
    return partial(_frame, EpisodeTables, {"episodes": _episodes, "turns": _turns}, pairs)


Pairs = Sequence[tuple[Episode, Scenario | None]]


def _episodes(pairs: Pairs) -> Columns:
    own = values_of(Episode, [episode for episode, _ in pairs])
    scenarios = [scenario for _, scenario in pairs]
    found = values_of(Scenario, [scenario for scenario in scenarios if scenario is not None])
    wanted = [name for name in found if name.startswith(_OF_SCENARIO)]
    return {
        **{name: spread(found[name], scenarios) for name in wanted},
        **own,
        **{
            f"initial_{axis}": [start[axis] for start in (_start(episode, scenario) for episode, scenario in pairs)]
            for axis in _AXES
        },
        "outcome": [episode.outcome for episode, _ in pairs],
        "n_turns": [len(_updates(episode)) for episode, _ in pairs],
    }


def _start(episode: Episode, scenario: Scenario | None) -> dict[str, int | None]:
    """Return the state at the start: as the record says, else its first message, else the scenario."""
    opening = episode.history[0].meta if episode.history and episode.history[0].role == "aggressor" else None
    begin = scenario.initial_calibration if scenario is not None else None
    places = ((episode, "initial_"), (opening, ""), (begin, "initial_"))
    found: dict[str, int | None] = {}
    for axis in _AXES:
        given = (getattr(place, prefix + axis, None) for place, prefix in places)
        found[axis] = next((value for value in given if value is not None), None)
    return found


def _updates(episode: Episode) -> list[tuple[str | None, str, State]]:
    """Return the model's reply, the person's reply and the state after it, of every update of the state in order."""
    found: list[tuple[str | None, str, State]] = []
    reply: str | None = None
    for place, line in enumerate(episode.history):
        if line.role == "defender":
            reply = line.content
        elif place:  # What the person opens with is no answer.
            found.append((reply, line.content, line.meta or State()))
            reply = None
    if episode.outcome == "empty_simulator_reply" and reply is not None:
        # The state had moved, and the empty reply is not in the history.
        found.append((reply, "", State(anger=episode.final_anger, trust=episode.final_trust)))
    return found


def _turns(pairs: Pairs) -> Columns:
    rows = [
        (episode, number, *update) for episode, _ in pairs for number, update in enumerate(_updates(episode), start=1)
    ]
    states = [state for *_, state in rows]
    columns: Columns = {
        **{name: [getattr(episode, name) for episode, *_ in rows] for name in EpisodeTables._keys},
        "turn_number": [number for _, number, *_ in rows],
        "model_reply": [reply for _, _, reply, _, _ in rows],
        "person_reply": [said for _, _, _, said, _ in rows],
        **values_of(State, states),
        "parse_failed": [bool(state.parse_failed) for state in states],
    }
    for axis in _AXES:
        paths = [
            [_start(episode, scenario)[axis], *(getattr(state, axis) for *_, state in _updates(episode))]
            for episode, scenario in pairs
        ]
        columns |= _steps(axis, paths)
    return columns


def _steps(axis: str, paths: Iterable[Sequence[int | None]]) -> Columns:
    """Return before, change and after of every step of every path of states."""
    steps = [step for path in paths for step in pairwise(path)]
    return {
        f"{axis}_before": [before for before, _ in steps],
        f"{axis}_delta": [None if before is None or after is None else after - before for before, after in steps],
        f"{axis}_after": [after for _, after in steps],
    }


def sage_builder(dialogues: Sequence[SageDialogue]) -> "Callable[[str], pl.DataFrame]":
    """Return the function from the name of a table to its frame, for `SageTables`."""
    return partial(_frame, SageTables, {"episodes": _dialogues, "turns": _replies, "scenarios": _told}, dialogues)


def _frame(
    kind: type[Frames], columns: Mapping[str, Callable[..., Columns]], given: object, name: str
) -> "pl.DataFrame":
    return frame_of(columns[name](given), scenario_table_schemas()[kind][name])


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
        **_steps("emotion", paths),
    }


def _told(dialogues: Sequence[SageDialogue]) -> Columns:
    first: dict[str, SageDialogue] = {}
    for dialogue in dialogues:
        first.setdefault(dialogue.scenario_id, dialogue)
    return values_of(SageDialogue, list(first.values()))
