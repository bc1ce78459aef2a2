"""Frames of scenarios and of episodes, turn by turn; what describes a collection of them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

from attune_data.collection import Collection
from attune_data.columns import (
    Column,
    Columns,
    columns_of,
    frame_of,
    nullable,
    spread,
    step_columns,
    step_meanings,
    values_of,
)
from attune_data.description import description, grouped
from attune_data.eibench.records import OUTCOMES, SCENES, Episode, Scenario, State
from attune_data.query import Unit
from attune_data.tables import Frames

if TYPE_CHECKING:
    import polars as pl


AXES = ("anger", "trust")
_OF_SCENARIO = ("title", "split", "initial", "target", "worst")


class ScenarioTables(Frames):
    """Scenarios as a tidy frame.

    Examples
    --------
    >>> from attune_data import load_scenarios
    >>> load_scenarios("demo").where(scene="repair").tables.scenarios.select("scenario_id", "worst_anger").row(0)
    ('demo_repair_01', 95)
    """

    names: ClassVar[tuple[str, ...]] = ("scenarios",)
    unit: ClassVar[Unit] = Unit("scenario", ("scenario_id",), "scenario", own="scenario_id")

    @cached_property
    def scenarios(self) -> "pl.DataFrame":
        """One row a scenario: its texts, and start, target and worst case of both axes."""
        return self._build("scenarios")

    @classmethod
    def meanings(cls) -> Mapping[str, Mapping[str, Column]]:
        """Return the columns of the table, in order, with their types and what they mean.

        Examples
        --------
        >>> list(ScenarioTables.schemas()["scenarios"])[:4]
        ['scenario_id', 'scene', 'split', 'title']
        >>> ScenarioTables.meanings()["scenarios"]["initial_anger"].description
        'Anger at the start, 0-100.'
        """
        return {"scenarios": columns_of(Scenario)}


class EpisodeTables(Frames):
    """Episodes as tidy frames, joined by scenario, model, simulator, configuration and repeat.

    ``split``, ``title`` and the anchors come from the scenario, null where the episodes are not joined with it.
    """

    names: ClassVar[tuple[str, ...]] = ("episodes", "turns")
    unit: ClassVar[Unit] = Unit(
        "episode", ("scenario_id", "model", "simulator", "config_hash", "repeat"), "scenario", own="scenario_id"
    )
    counted: ClassVar[Mapping[str, str]] = {"turns": "turn"}

    @cached_property
    def episodes(self) -> "pl.DataFrame":
        """One row an episode: scenario, model, how it ended, state at the end."""
        return self._build("episodes")

    @cached_property
    def turns(self) -> "pl.DataFrame":
        """One row an update of the state: what the model said, what changed, what the person said.

        The change is the change of the state, after clipping to 0-100. The first state before is the start of the
        episode, from the record, else from the scenario; null where neither tells. A reply that was not judged, as the
        last one of a model in a charm scenario, has no row.
        """
        return self._build("turns")

    @classmethod
    def meanings(cls) -> Mapping[str, Mapping[str, Column]]:
        """Return the columns of every table, in order, with their types and what they mean.

        Examples
        --------
        >>> EpisodeTables.meanings()["turns"]["anger_delta"].description
        'Anger after less before, -100 to 100.'
        """
        episode = columns_of(Episode)
        # Files may have others, which loading does not refuse, as scoring computes them anew.
        episode |= {name: episode[name]._replace(low=-1, high=1) for name in ("reward", "anger_score", "trust_score")}
        keys = {name: episode[name] for name in cls.unit.keys}
        of_scenario = nullable(columns_of(Scenario)).items()
        anchors = {name: column for name, column in of_scenario if name.startswith(_OF_SCENARIO)}
        person = ("parse", "stop_reason", "reflection")
        return {
            "episodes": {
                **keys,
                **episode,
                **{name: column for name, column in anchors.items() if name not in episode},
                "outcome": Column(
                    "How the episode ended; unlike `ended_by`, it tells an empty reply from a stop of the simulator.",
                    null=True,
                    source="computed of ended_by, error and the last message",
                ),
                "n_turns": Column("Number of updates of the state.", kind=int),
            },
            "turns": {
                **keys,
                "turn_number": Column("The update of the state, from 1.", kind=int),
                "model_reply": Column("What the model said.", null=True, source="history, content"),
                "person_reply": Column("What the person said to it.", source="history, content"),
                **step_meanings(AXES),
                "parse_failed": Column(
                    "Whether the simulator's answer could not be read.", source="parse_failed", kind=bool
                ),
                **{name: column for name, column in columns_of(State).items() if name in person},
            },
        }


def scenario_table(scenarios: Sequence[Scenario], name: str) -> "pl.DataFrame":
    """Return the table of scenarios, for `ScenarioTables`."""
    return frame_of(values_of(Scenario, scenarios), ScenarioTables.schemas()[name])


def episode_builder(episodes: Sequence[Episode], scenarios: Iterable[Scenario] = ()) -> "Callable[[str], pl.DataFrame]":
    """Return the function from the name of a table to its frame, for `EpisodeTables`."""
    by_id = {scenario.id: scenario for scenario in scenarios}
    pairs = [(episode, by_id.get(episode.scenario_id)) for episode in episodes]
    return partial(_frame, pairs)


def _frame(pairs: "Pairs", name: str) -> "pl.DataFrame":
    return frame_of({"episodes": _episodes, "turns": _turns}[name](pairs), EpisodeTables.schemas()[name])


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
            for axis in AXES
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
    for axis in AXES:
        given = (getattr(place, prefix + axis, None) for place, prefix in places)
        found[axis] = next((value for value in given if value is not None), None)
    return found


def states_of(episode: Episode, scenario: Scenario | None = None) -> dict[str, list[int | None]]:
    """Return anger and trust at the start and after each update, None where that is not recorded.

    Examples
    --------
    >>> said = {"role": "aggressor", "content": "Oh.", "meta": {"anger": 70, "trust": 25}}
    >>> history = [{"role": "aggressor", "content": "Well?"}, {"role": "defender", "content": "I see."}, said]
    >>> states_of(Episode(profile_id="s1", model="m", initial_anger=80, history=history))
    {'anger': [80, 70], 'trust': [None, 25]}
    """
    start, updates = _start(episode, scenario), _updates(episode)
    return {axis: [start[axis], *(getattr(state, axis) for *_, state in updates)] for axis in AXES}


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
        **{name: [getattr(episode, name) for episode, *_ in rows] for name in EpisodeTables.unit.keys},
        "turn_number": [number for _, number, *_ in rows],
        "model_reply": [reply for _, _, reply, _, _ in rows],
        "person_reply": [said for _, _, _, said, _ in rows],
        **values_of(State, states),
        "parse_failed": [bool(state.parse_failed) for state in states],
    }
    for axis in AXES:
        columns |= step_columns(axis, [states_of(episode, scenario)[axis] for episode, scenario in pairs])
    return columns


def describe_scenarios(scenarios: Collection[Scenario]) -> dict[str, Any]:
    """Count scenarios by scene and split.

    Examples
    --------
    >>> from attune_data import load_scenarios
    >>> describe_scenarios(load_scenarios("demo"))["traits"]["scene"]["charm"]
    {'scenarios': 4}
    """
    return description(
        scenarios,
        "scenarios",
        traits={
            "scene": grouped(scenarios, lambda scenario: scenario.scene, SCENES),
            "split": grouped(scenarios, lambda scenario: scenario.split),
        },
        counts={
            "success criteria": lambda scenario: len(scenario.success_criteria),
            "things to avoid": lambda scenario: len(scenario.must_avoid),
        },
    )


def describe_episodes(episodes: Collection[Episode]) -> dict[str, Any]:
    """Count episodes by scene, model, outcome and simulator, and their messages."""
    return description(
        episodes,
        "episodes",
        of={"scenarios": lambda part: len({episode.scenario_id for episode in part})},
        traits={
            "scene": grouped(episodes, lambda episode: episode.scene, SCENES),
            "model": grouped(episodes, lambda episode: episode.model),
            "outcome": grouped(episodes, lambda episode: episode.outcome, OUTCOMES),
            "simulator": grouped(episodes, lambda episode: episode.simulator),
        },
        counts={
            "replies of the model": lambda episode: sum(line.role == "defender" for line in episode.history),
            "utterances of the person": lambda episode: sum(line.role == "aggressor" for line in episode.history),
        },
    )
