"""A scenario and an episode of EIBench as plain text."""

from collections.abc import Iterator

from attune_data.eibench.scenario import Episode, Scenario, Utterance
from attune_data.text import labelled, ruled, wrapped

__all__ = ["episode_transcript", "scenario_transcript"]


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
