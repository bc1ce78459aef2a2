"""The kinds of record of EIBench, scenarios and episodes, and how they are shown."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import TypeVar

from attune_data.collection import Collection, Duplicate, ForeignFile, Kind, Messages, Place, first_counts
from attune_data.display import Message, Part
from attune_data.eibench.records import (
    SCENES,
    Episode,
    Scenario,
    Scenes,
    Utterance,
    check_episode,
    check_scenario,
    fix_episode,
    fix_scenario,
    scenes,
)
from attune_data.eibench.tables import (
    AXES,
    EpisodeTables,
    ScenarioTables,
    describe_episodes,
    describe_scenarios,
    episode_builder,
    scenario_table,
)
from attune_data.repair import IssueCollector


def scenario_parts(scenario: Scenario) -> Iterator[Part]:
    """Yield the facts of a scenario, and the profiles of the person and the model.

    Examples
    --------
    >>> from attune_data import load_scenarios, show
    >>> print(show(load_scenarios("demo")[0], columns=60).partition("  trust")[0].rstrip())
    Scenario demo_support_01 (synthetic)
      title         After the night shift
      scene         Support: somebody who suffers and confides;
                    the model is somebody who listens and
                    comforts
      anger         sadness, pain, despair. Start 75, target 35,
                    worst 95
    """
    scene = scenes()[scenario.scene]
    yield Part(
        facts=[
            ("title", scenario.title or ""),
            ("scene", f"{scene.title}: {scene.person}; the model is {scene.model}"),
            ("split", scenario.split or ""),
            *((axis, f"{getattr(scene, axis)}. {_anchors(scenario, axis)}") for axis in AXES),
            ("why worst", scenario.worst_case.reason or ""),
            ("goal", scenario.goal_one_liner or ""),
            ("success", "\n".join(scenario.success_criteria)),
            ("avoid", "\n".join(scenario.must_avoid)),
        ],
        hanging=("success", "avoid"),
    )
    for heading, profile in (
        ("The person, played by the simulator", scenario.aggressor_profile),
        ("The model under test", scenario.defender_profile),
    ):
        opening = [Message(speaker="Opens with", text=profile.opening_line)] if profile.opening_line else []
        yield Part(heading=heading, text=profile.system_prompt or "-", messages=opening, folded=True)


def named_anchors(scenario: Scenario, axis: str) -> dict[str, int | None]:
    """Return start, target and worst case of an axis of a scenario; None for what the record lacks."""
    return {
        "start": getattr(scenario.initial_calibration, f"initial_{axis}"),
        "target": getattr(scenario.rub_goals, f"target_{axis}"),
        "worst": getattr(scenario.worst_case, f"worst_{axis}"),
    }


def _anchors(scenario: Scenario, axis: str) -> str:
    told = (f"{name} {'unknown' if state is None else state}" for name, state in named_anchors(scenario, axis).items())
    return ", ".join(told).capitalize()


def episode_parts(episode: Episode) -> Iterator[Part]:
    """Yield the facts of an episode, and its messages.

    Examples
    --------
    >>> from attune_data import show
    >>> person = {"role": "aggressor", "content": "Leave me alone.", "meta": {"anger": 60, "trust": 20}}
    >>> episode = Episode(profile_id="s1", scene="repair", model="m", ended_by="max_rounds", history=[person])
    >>> print(show(episode, columns=60))
    Episode s1/m
      scene         repair
      outcome       max_rounds
      at the end    anger unknown, trust unknown
    <BLANKLINE>
    Person (anger 60, trust 20)
      Leave me alone.
    """
    before = {"anger": episode.initial_anger, "trust": episode.initial_trust}
    final = ("unknown" if state is None else state for state in (episode.final_anger, episode.final_trust))
    yield Part(
        facts=[
            ("scene", episode.scene or ""),
            ("outcome", episode.outcome or ""),
            ("error", episode.error or ""),
            ("at the start", _state({}, before)),
            ("at the end", "anger {}, trust {}".format(*final)),
            ("simulator", episode.simulator or ""),
        ]
    )
    if not episode.history:
        yield Part(text="The episode has no message.")
    for place, line in enumerate(episode.history):
        state = {} if line.meta is None else {axis: getattr(line.meta, axis) for axis in AXES}
        # What the person opens with changes nothing.
        yield Part(messages=[_message(line, _state(before if place else {}, state))])
        before |= {axis: value for axis, value in state.items() if value is not None}


def _message(line: Utterance, state: str) -> Message:
    notes = [("thought", line.thinking or "")]
    if line.meta is not None:
        notes += [("considered", line.meta.reflection or ""), ("stopped", line.meta.stop_reason or "")]
    is_person = line.role == "aggressor"
    speaker = "Person" if is_person else "Model"
    return Message(speaker=speaker, text=line.content, is_person=is_person, state=state, notes=notes)


def _state(before: Mapping[str, int | None], after: Mapping[str, int | None]) -> str:
    """Return a state, and how far it moved where that is known."""
    told = []
    for axis, value in after.items():
        if value is not None:
            known = before.get(axis)
            told.append(f"{axis} {value}" + ("" if known is None else f" ({value - known:+d})"))
    return ", ".join(told)


SPLITS = ("test", "train")

S = TypeVar("S", Scenario, Episode)


class _OfScenes(Collection[S]):
    def _detail(self) -> str:
        """Return how many records each scene has."""
        counts = Counter(record.scene for record in self)
        known = sorted(counts, key=lambda scene: (*SCENES, scene).index(scene))
        return f" ({', '.join(f'{counts[scene]} {scene}' for scene in known)})" if counts else ""


class Scenarios(_OfScenes[Scenario]):
    """Scenarios of EIBench."""

    @property
    def kind(self) -> "Kind[Scenario, Scenarios]":
        """What the records are."""
        return SCENARIO

    @cached_property
    def tables(self) -> ScenarioTables:
        """The scenarios as a tidy frame."""
        return self._made(ScenarioTables)


class Episodes(_OfScenes[Episode]):
    """Episodes of EIBench: what models did in scenarios."""

    @property
    def kind(self) -> "Kind[Episode, Episodes]":
        """What the records are."""
        return EPISODE

    @cached_property
    def tables(self) -> EpisodeTables:
        """The episodes as tidy frames, each built once, when first asked for."""
        return self._made(EpisodeTables)

    def joined(self, scenarios: Iterable[Scenario]) -> EpisodeTables:
        """Return the episodes beside the scenarios that they are of, as tidy frames.

        Parameters
        ----------
        scenarios : iterable of Scenario
            What `load_scenarios` gives. An episode without its scenario keeps its rows.

        Raises
        ------
        TypeError
            Where these are not scenarios.
        """
        truth, found = self._beside(scenarios, Scenario, "scenarios")
        return EpisodeTables(episode_builder(self, truth), found, self._filters)


def _split(scenario: Scenario, place: Place | None) -> Scenario:
    """Fill in the split, after which a scenario's folder is named, else as the form of its id tells."""
    named = place.folder if place is not None and place.folder in SPLITS else None
    return scenario.placed(split=named or scenario.split_of_id)


def _check_scenes(scenarios: Sequence[Scenario], files: int, findings: IssueCollector) -> None:
    """Report the scenes that a set of several files lacks: a file may be missing."""
    counts = Counter(scenario.scene for scenario in scenarios)
    missing = [scene for scene in SCENES if not counts[scene]]
    if missing and files > 1:
        message = f"no scenario of the scene {' or '.join(missing)}; is a file missing?"
        findings.add("$", "missing-scene", "warning", dict(counts), message, "read as it is")


def _result_counts(first: Episode, second: Episode) -> Duplicate:
    """Return that the first episode counts, but a result before an error."""
    if (first.error is None) == (second.error is None):
        return first_counts(first, second)
    return Duplicate(second_counts=first.error is not None, severity="note")


def _messages(episode: Episode) -> Messages:
    """Return what the simulated person and the model under test said aloud."""
    return [("user" if one.role == "aggressor" else "assistant", one.content) for one in episode.history]


SCENARIO: Kind[Scenario, Scenarios] = Kind(
    noun="scenario",
    plural="scenarios",
    model=Scenario,
    collection=Scenarios,
    loader="load_scenarios",
    keys=frozenset(("aggressor_profile", "initial_calibration", "rub_goals", "worst_case", "row")),
    docs="eibench.md",
    fix=fix_scenario,
    check=check_scenario,
    check_all=_check_scenes,
    place=_split,
    prefer="*_final.jsonl",
    demo="eibench/demo_scenarios.jsonl",
    columns=("id", "scene_tag"),
    tables=ScenarioTables,
    build=lambda scenarios: partial(scenario_table, scenarios),
    codebook_files={"scenes": Scenes},
    overview={
        "id": lambda scenario: scenario.id,
        "scene": lambda scenario: scenario.scene,
        "split": lambda scenario: scenario.split or "",
        "title": lambda scenario: scenario.title or "",
    },
    parts=scenario_parts,
    describe=describe_scenarios,
    documents="attune_data.eibench.loading:scenario_documents",
)

EPISODE: Kind[Episode, Episodes] = Kind(
    noun="episode",
    plural="episodes",
    model=Episode,
    collection=Episodes,
    loader="load_episodes",
    keys=frozenset(("profile_id",)),
    docs="eibench.md",
    demo="eibench/demo_episodes.jsonl.bz2",
    other_files=(
        ForeignFile(
            "a summary of episodes",
            frozenset(("overall", "by_scene")),
            "load_episodes reads the results.jsonl beside it",
        ),
    ),
    fix=fix_episode,
    check=check_episode,
    key=lambda episode: episode.key,
    identity="scenario, model, simulator, configuration and repeat",
    duplicate=_result_counts,
    prefer="results.jsonl",
    columns=("profile_id", "model"),
    tables=EpisodeTables,
    joined=EpisodeTables,
    build=episode_builder,
    overview={
        "scenario": lambda episode: episode.scenario_id,
        "model": lambda episode: episode.model,
        "outcome": lambda episode: episode.outcome or "",
    },
    parts=episode_parts,
    of=lambda episode: episode.scenario_id,
    messages=_messages,
    describe=describe_episodes,
    documents="attune_data.eibench.loading:episode_documents",
)
