"""The kinds of record of EIBench: scenarios with a simulated person, and episodes played in them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TypeVar

from attune_data.collection import Collection
from attune_data.eibench.description import describe_episodes, describe_scenarios
from attune_data.eibench.rules import check_episode, check_scenario, fix_episode, fix_scenario
from attune_data.eibench.scenario import SCENES, Episode, Scenario
from attune_data.eibench.scenes import Scenes
from attune_data.eibench.tables import EpisodeTables, ScenarioTables, episode_builder, scenario_builder
from attune_data.eibench.transcript import episode_transcript, scenario_transcript
from attune_data.fixes import Findings
from attune_data.kind import Duplicate, Kind, Messages, OtherFile, Place, first_counts

__all__ = ["EPISODE", "SCENARIO", "SPLITS", "Episodes", "Scenarios"]

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
            What `load_scenarios` gives. An episode whose scenario is missing keeps its rows, without it.

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


def _check_scenes(scenarios: Sequence[Scenario], files: int, findings: Findings) -> None:
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
    build=scenario_builder,
    codebook_files={"scenes": Scenes},
    overview={
        "id": lambda scenario: scenario.id,
        "scene": lambda scenario: scenario.scene,
        "split": lambda scenario: scenario.split or "",
        "title": lambda scenario: scenario.title or "",
    },
    transcript=scenario_transcript,
    describe=describe_scenarios,
    documents="attune_data.eibench.strategies:scenario_documents",
)

EPISODE: Kind[Episode, Episodes] = Kind(
    noun="episode",
    plural="episodes",
    model=Episode,
    collection=Episodes,
    loader="load_episodes",
    keys=frozenset(("profile_id",)),
    docs="eibench.md",
    demo="eibench/demo_episodes.jsonl",
    other_files=(
        OtherFile(
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
    transcript=episode_transcript,
    of=lambda episode: episode.scenario_id,
    messages=_messages,
    describe=describe_episodes,
    documents="attune_data.eibench.strategies:episode_documents",
    synthetic="attune_data.eibench.synthetic:episodes",
)
