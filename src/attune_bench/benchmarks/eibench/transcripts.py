"""An episode on a page: what was said with the person's state after it, and how the state moves under every model."""

from collections.abc import Iterator, Mapping
from itertools import chain

from attune_bench.benchmarks.eibench.scoring import failure_of
from attune_bench.benchmarks.eibench.states import AXES, named_anchors, round_limit
from attune_bench.report.columns import Figure
from attune_bench.report.state_figures import state_paths
from attune_bench.report.transcript_parts import TranscriptView, facts, folded, message, quiet
from attune_data.eibench.records import Episode, Scenario, Utterance, scenes
from attune_data.eibench.tables import episode_builder
from attune_data.issues import Html, tag

__all__ = ["VIEW"]


def _scenario(scenario: Scenario, episodes: Mapping[str, Episode]) -> Iterator[Html | Figure]:
    scene = scenes()[scenario.scene]
    yield facts(
        [
            ("title", scenario.title or ""),
            ("scene", f"{scene.title}: {scene.person}; the model is {scene.model}"),
            *((axis, f"{getattr(scene, axis)}. {_anchor_words(scenario, axis)}") for axis in AXES),
            ("goal", scenario.goal_one_liner or ""),
            ("success", "\n".join(scenario.success_criteria)),
            ("avoid", "\n".join(scenario.must_avoid)),
            ("why worst", scenario.worst_case.reason or ""),
        ]
    )
    for whom, profile in (("the person", scenario.aggressor_profile), ("the model", scenario.defender_profile)):
        if profile.system_prompt.strip():
            yield folded(f"Who {whom} is", tag("p", profile.system_prompt))
    paths = {name: _path(episode, scenario) for name, episode in episodes.items()}
    if any(state is not None for path in paths.values() for step in path for state in step):
        longest = max(len(path) for path in paths.values()) - 1
        of_axes = {
            axis: {name: [step[place] for step in path] for name, path in paths.items()}
            for place, axis in enumerate(AXES)
        }
        anchors = {axis: named_anchors(scenario, axis) for axis in AXES}
        yield Figure(
            state_paths(of_axes, anchors=anchors, last=max(longest, round_limit(episodes.values()))),
            "Anger (better lower) and trust (better higher) of the person after each round, 0 to 100, under every "
            "model. Broken lines: the start, the target and the worst case of the scenario. A line that stops before "
            "the last round is an episode that ended there.",
        )


def _anchor_words(scenario: Scenario, axis: str) -> str:
    told = [f"{name} {state:g}" for name, state in named_anchors(scenario, axis).items() if state is not None]
    return ", ".join(told).capitalize()


def _path(episode: Episode, scenario: Scenario) -> list[tuple[float | None, ...]]:
    """Return anger and trust at the start, then after each round."""
    turns = episode_builder([episode], [scenario])("turns").sort("turn_number")
    before, after = (turns.select(f"{axis}_{moment}" for axis in AXES).rows() for moment in ("before", "after"))
    return [*before[:1], *after]


def _episode(scenario: Scenario, episode: Episode) -> Iterator[Html]:
    ended = failure_of(episode) or episode.outcome or ""
    yield facts(
        [
            ("ended", ended.replace("_", " ")),
            ("error", episode.error or ""),
            ("simulator", episode.simulator or ""),
        ]
    )
    if not episode.history:
        yield quiet("The episode has no message.")
    path = _path(episode, scenario)
    before = dict(zip(AXES, path[0], strict=True)) if path else {}
    for place, line in enumerate(episode.history):
        state = {} if line.meta is None else {axis: getattr(line.meta, axis) for axis in AXES}
        # What the person opens with changes nothing.
        yield _message(line, before if place else {}, state)
        before |= {axis: value for axis, value in state.items() if value is not None}


def _message(line: Utterance, before: Mapping[str, float | None], state: Mapping[str, int | None]) -> Html:
    reasons = [("Thought", line.thinking or "")]
    if line.meta is not None:
        reasons += [("Considered", line.meta.reflection or ""), ("Stopped because", line.meta.stop_reason or "")]
    told = chain.from_iterable((tag("div", name, kind="quiet"), tag("p", text)) for name, text in reasons if text)
    is_person = line.role == "aggressor"
    moved = ", ".join(_moved(axis, before.get(axis), value) for axis, value in state.items() if value is not None)
    who = "Person" if is_person else "Model"
    return message(who, line.content, folded("Reasons", *told), person=is_person, state=moved)


def _moved(axis: str, before: float | None, after: int) -> str:
    return f"{axis} {after}" if before is None else f"{axis} {after} ({after - before:+g})"


VIEW = TranscriptView(unit=_scenario, result=_episode)
"""How a page shows a scenario and its episodes."""
