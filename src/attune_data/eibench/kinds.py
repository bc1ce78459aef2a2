"""The kinds of record of EIBench, scenarios and episodes, and an episode as text."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TypeVar

from attune_data.collection import Collection, Duplicate, Kind, Messages, OtherFile, Place, first_counts
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
)
from attune_data.eibench.tables import (
    EpisodeTables,
    ScenarioTables,
    describe_episodes,
    describe_scenarios,
    episode_builder,
    scenario_builder,
)
from attune_data.repair import Findings
from attune_data.text import labelled, ruled, wrapped

__all__ = ["EPISODE", "SCENARIO", "SPLITS", "Episodes", "Scenarios", "episode_transcript", "scenario_transcript"]


def scenario_transcript(scenario: Scenario, columns: int) -> str:
    """Return a scenario as text that is safe to print, wrapped to a number of columns.

    Examples
    --------
    >>> from attune_data import load_scenarios
    >>> print(scenario_transcript(load_scenarios("demo")[0], 60).partition("  why worst")[0].rstrip())
    Scenario demo_support_01 (synthetic)
      title         After the night shift
      scene         support
      anger         75 at the start, target 35, worst 95
      trust         40 at the start, target 80, worst 10
    """
    start, target, worst = scenario.initial_calibration, scenario.rub_goals, scenario.worst_case
    facts = {
        "title": scenario.title or "",
        "scene": scenario.scene,
        "split": scenario.split or "",
        "anger": _anchors(start.initial_anger, target.target_anger, worst.worst_anger),
        "trust": _anchors(start.initial_trust, target.target_trust, worst.worst_trust),
        "why worst": worst.reason or "",
        "goal": scenario.goal_one_liner or "",
        "success": "\n".join(scenario.success_criteria),
        "avoid": "\n".join(scenario.must_avoid),
    }
    synthetic = " (synthetic)" if scenario.synthetic else ""
    told = labelled(facts.items(), columns, hanging=("success", "avoid"))
    blocks = [[*wrapped(f"Scenario {scenario.id}{synthetic}", columns), *told]]
    for heading, profile in (
        ("THE PERSON, PLAYED BY THE SIMULATOR", scenario.aggressor_profile),
        ("THE MODEL UNDER TEST", scenario.defender_profile),
    ):
        blocks += [[ruled(heading, columns)], wrapped(profile.system_prompt, columns) or ["-"]]
        if profile.opening_line:
            blocks.append(["Opens with", *(f"  {line}" for line in wrapped(profile.opening_line, columns - 2))])
    return "\n\n".join("\n".join(block) for block in blocks)


def _anchors(*anchors: int | None) -> str:
    start, target, worst = ("unknown" if anchor is None else anchor for anchor in anchors)
    return f"{start} at the start, target {target}, worst {worst}"


def episode_transcript(episode: Episode, columns: int) -> str:
    """Return an episode as text that is safe to print, wrapped to a number of columns.

    Examples
    --------
    >>> person = {"role": "aggressor", "content": "Leave me alone.", "meta": {"anger": 60, "trust": 20}}
    >>> episode = Episode(profile_id="s1", scene="repair", model="m", ended_by="max_rounds", history=[person])
    >>> print(episode_transcript(episode, 40))
    Episode s1/m
      scene         repair
      outcome       max_rounds
    <BLANKLINE>
    Person (anger 60, trust 20)
      Leave me alone.
    """
    facts = {
        "scene": episode.scene or "",
        "outcome": episode.outcome or "",
        "error": episode.error or "",
        "at the start": _state(episode.initial_anger, episode.initial_trust),
        "at the end": _state(episode.final_anger, episode.final_trust),
        "simulator": episode.simulator or "",
    }
    blocks = [[*wrapped(f"Episode {episode.id}", columns), *labelled(facts.items(), columns)]]
    blocks += ([*_message(line, columns)] for line in episode.history)
    return "\n\n".join("\n".join(block) for block in blocks)


def _message(line: Utterance, columns: int) -> Iterator[str]:
    state = "" if line.meta is None else _state(line.meta.anger, line.meta.trust)
    speaker = "Person" if line.role == "aggressor" else "Model"
    yield f"{speaker} ({state})" if state else speaker
    yield from (f"  {text}".rstrip() for text in wrapped(line.content, columns - 2) or ["-"])
    if line.thinking:
        yield from labelled([("thought", line.thinking)], columns)
    if line.meta is not None:
        reasons = [("considered", line.meta.reflection or ""), ("stopped", line.meta.stop_reason or "")]
        yield from labelled(reasons, columns)


def _state(anger: int | None, trust: int | None) -> str:
    told = {"anger": anger, "trust": trust}
    return ", ".join(f"{axis} {value}" for axis, value in told.items() if value is not None)


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
)
