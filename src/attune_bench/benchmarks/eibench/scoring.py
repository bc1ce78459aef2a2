"""Scoring EIBench: every reward computed anew from the state at the end of an episode and the scenario's anchors.

Conventions
-----------
Rewards and axis scores are -1 to 1, higher is better; published numbers are 100 times these. The unit is the scenario,
of which a model has one episode. An episode *failed* where it says why there is no result, where an answer of either
side could not be had or read, and where it has no state at its end.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from math import nan
from typing import TYPE_CHECKING, Any

import numpy as np

from attune_bench.benchmarks.attunebench.records import null
from attune_bench.by_scenario import scenario_ends
from attune_bench.stats.signing import fingerprint
from attune_data import Episode, Scenario
from attune_data.eibench.scenario import SCENES
from attune_data.text import plural
from attune_metrics.eibench import Anchors, scene_means, score_anchors, treat_failed
from attune_metrics.stats.arrays import Floats
from attune_metrics.stats.resampling import bootstrap, draw_resamples

if TYPE_CHECKING:
    import polars as pl

    from attune_metrics.eibench import Axis, Rule, Treatment

__all__ = ["FAILURES", "NUMBERS", "episode_summary", "one_series", "score_episodes"]

FAILURES = ("error", "parse_failed", "empty_reply", "empty_simulator_reply", "no_final_state")
NUMBERS = ("reward", "anger_score", "trust_score", "final_anger", "final_trust")
_AXES: tuple["Axis", ...] = ("anger", "trust")
_TREATMENTS: tuple["Treatment", ...] = ("exclude", "start", "worst")


def one_series(episodes: Sequence[Episode]) -> Episode:
    """Return the first of the episodes of one model under one configuration: simulator, instructions, rounds and all.

    Raises
    ------
    ValueError
        Where they are of several, whose numbers are not to be averaged, or there is none.
    """
    for what, name in (
        ("model", "model"),
        ("simulator", "simulator"),
        ("prompt version", "prompt_version"),
        ("configuration", "config_hash"),
        ("round limit", "max_rounds"),
    ):
        found = sorted({str(getattr(episode, name) or "none named") for episode in episodes})
        if len(found) > 1:
            raise ValueError(f"these are episodes of {len(found)} {what}s ({', '.join(found)}); score each apart")
    if not episodes:
        raise ValueError("there are no episodes")
    return episodes[0]


def score_episodes(
    episodes: Iterable[Episode],
    scenarios: Iterable[Scenario],
    *,
    rule: "Rule" = "evaluation",
    failed: "Treatment" = "exclude",
) -> "pl.DataFrame":
    """Score episodes against the anchors of their scenarios.

    Parameters
    ----------
    episodes : iterable of Episode
        What `attune_data.load_episodes` gives. One whose scenario is not there has no row.
    scenarios : iterable of Scenario
        What `attune_data.load_scenarios` gives.
    rule : {"evaluation", "directed"}
        As for `attune_metrics.anchor_score`.
    failed : {"exclude", "start", "worst"}
        What failed episodes count. `exclude`: nothing. `start`, the published treatment: the state they broke off in,
        the start where none is recorded; a record of an error is left out. `worst`: -1, and the worst state.

    Returns
    -------
    polars.DataFrame
        A row an episode, in the order of the scenarios' ids: ``scenario_id, scene, model, outcome, failure, reward,
        anger_score, trust_score, final_anger, final_trust``. ``failure`` is one of `FAILURES`, or null. The numbers of
        an episode that does not count are null.

    Raises
    ------
    MetricInputError
        Where the rule or treatment is unknown.

    Examples
    --------
    >>> from attune_data import load_scenarios
    >>> demo = load_scenarios("demo")
    >>> ends = {"ended_by": "max_rounds", "final_anger": 85, "final_trust": 35}
    >>> episode = Episode(profile_id="demo_support_01", model="m", **ends)
    >>> score_episodes([episode], demo).select("scene", "anger_score", "final_anger").row(0)
    ('support', -0.5, 85.0)
    """
    import polars as pl

    by_id = {scenario.id: scenario for scenario in scenarios}
    held = sorted((episode for episode in episodes if episode.scenario_id in by_id), key=lambda one: one.id)
    pairs = [(episode, by_id[episode.scenario_id]) for episode in held]
    failures = [_failure(episode) for episode in held]
    marked = np.array([failure is not None for failure in failures], dtype=np.bool_)
    no_result = np.array([failure == "error" for failure in failures], dtype=np.bool_)
    broken = marked & ~no_result if failed == "start" else marked
    columns: dict[str, Floats] = {}
    for axis in _AXES:
        anchors = _anchors(axis, [scenario for _, scenario in pairs])
        recorded = _floats(getattr(episode, f"final_{axis}") for episode in held)
        recorded[no_result] = nan
        final = treat_failed(recorded, broken, failed, start=anchors.initial, worst=anchors.worst)
        scores = score_anchors(anchors, final, axis=axis, rule=rule)
        # The worst state does not score -1 where the anchors are out of order.
        columns[f"{axis}_score"] = scores if failed == "start" else treat_failed(scores, broken, failed)
        columns[f"final_{axis}"] = final
    columns["reward"] = (columns["anger_score"] + columns["trust_score"]) / 2
    return pl.DataFrame(
        {
            "scenario_id": [scenario.id for _, scenario in pairs],
            "scene": [scenario.scene for _, scenario in pairs],
            "model": [episode.model for episode in held],
            "outcome": [episode.outcome for episode in held],
            "failure": failures,
            **{name: [null(value) for value in columns[name].tolist()] for name in NUMBERS},
        },
        schema={
            **dict.fromkeys(("scenario_id", "scene", "model", "outcome", "failure"), pl.String),
            **dict.fromkeys(NUMBERS, pl.Float64),
        },
    )


def _failure(episode: Episode) -> str | None:
    if episode.outcome in FAILURES:
        return episode.outcome
    return "no_final_state" if None in (episode.final_anger, episode.final_trust) else None


def _anchors(axis: "Axis", scenarios: Sequence[Scenario]) -> Anchors:
    return Anchors(
        _floats(getattr(scenario.initial_calibration, f"initial_{axis}") for scenario in scenarios),
        _floats(getattr(scenario.rub_goals, f"target_{axis}") for scenario in scenarios),
        _floats(getattr(scenario.worst_case, f"worst_{axis}") for scenario in scenarios),
    )


def _floats(values: Iterable[float | None]) -> Floats:
    return np.array([nan if value is None else value for value in values], dtype=np.float64)


def episode_summary(
    episodes: Sequence[Episode],
    scenarios: Sequence[Scenario],
    *,
    rule: "Rule" = "evaluation",
    failed: "Treatment" = "exclude",
    resamples: int = 10_000,
    seed: int = 0,
) -> dict[str, Any]:
    """Summarise the episodes of one model, in the shape of EIBench's ``summary.json``.

    Parameters
    ----------
    episodes, scenarios, rule, failed
        As for `score_episodes`.
    resamples : int
        How many resamples of scenarios.
    seed : int
        The same seed gives the same intervals.

    Returns
    -------
    dict
        ``model``; ``n``, the episodes that count; ``overall``, over all episodes, and ``by_scene``, each with ``n,
        failed, reward, low, high, anger_score, trust_score, final_anger, final_trust, reason``. ``low`` and ``high``
        are the 95% interval (expanded percentile) of the reward, else null with the ``reason``. ``overall.macro`` is
        the mean of the scenes' rewards, null where a scene has none. ``failed`` counts failed episodes by kind, and
        ``reward_if_failed`` is the overall reward under each treatment of them. ``scenarios`` counts those given,
        ``coverage`` is the share of them with an episode that counts, ``without_scenario`` counts episodes of others,
        ``other_text`` those that were played on another text of their scenario, where they record which.

    Raises
    ------
    ValueError
        Where the episodes are not of one series, as `one_series` tells, none is of one of the scenarios, or an option
        is unknown or out of range.

    Examples
    --------
    >>> from attune_data import load_scenarios
    >>> demo = load_scenarios("demo")
    >>> ends = {"ended_by": "max_rounds", "final_anger": 85, "final_trust": 20}
    >>> found = episode_summary([Episode(profile_id="demo_support_01", model="m", **ends)], demo)
    >>> found["n"], found["overall"]["anger_score"], found["coverage"], found["overall"]["reason"]
    (1, -0.5, 0.0625, 'fewer than 5 scenarios')
    """
    model = one_series(episodes).model
    frame = score_episodes(episodes, scenarios, rule=rule, failed=failed)
    if not frame.height:
        raise ValueError(
            f"none of the {plural(len(episodes), 'episode')} is of one of the {plural(len(scenarios), 'scenario')}: "
            "check that both come from the same data set"
        )
    parts = frame.partition_by("scene", as_dict=True)
    overall = _block(frame, resamples, seed)
    by_scene = {scene: _block(parts[scene,], resamples, seed) for scene in SCENES if (scene,) in parts}
    failures = Counter(frame["failure"])
    others = {treatment: score_episodes(episodes, scenarios, rule=rule, failed=treatment) for treatment in _TREATMENTS}
    return {
        "model": model,
        "n": overall["n"],
        "overall": {**overall, "macro": null(scene_means(frame["scene"].to_list(), _column(frame, "reward")).macro)},
        "by_scene": by_scene,
        "failed": {kind: failures[kind] for kind in FAILURES},
        "reward_if_failed": {treatment: _mean(other, "reward") for treatment, other in others.items()},
        "scenarios": len(scenarios),
        "coverage": overall["n"] / len(scenarios),
        "without_scenario": len(episodes) - frame.height,
        "other_text": _other_text(episodes, scenarios),
    }


def _other_text(episodes: Iterable[Episode], scenarios: Iterable[Scenario]) -> int:
    by_id = {scenario.id: scenario for scenario in scenarios}
    return sum(
        episode.scenario_hash != fingerprint([by_id[episode.scenario_id]])
        for episode in episodes
        if episode.scenario_hash is not None and episode.scenario_id in by_id
    )


def _block(frame: "pl.DataFrame", resamples: int, seed: int) -> dict[str, Any]:
    draws = draw_resamples(frame["scenario_id"].to_list(), n_resamples=resamples, seed=seed)
    [interval] = bootstrap(_column(frame, "reward"), draws)
    low, high, reason = scenario_ends(interval)
    means = {name: _mean(frame, name) for name in NUMBERS}
    return {
        "n": interval.n,
        "failed": frame["failure"].count(),
        "reward": means.pop("reward"),
        "low": low,
        "high": high,
        **means,
        "reason": reason,
    }


def _column(frame: "pl.DataFrame", name: str) -> Floats:
    return _floats(frame[name])


def _mean(frame: "pl.DataFrame", name: str) -> float | None:
    return null(scene_means(frame["scene"].to_list(), _column(frame, name)).overall)
