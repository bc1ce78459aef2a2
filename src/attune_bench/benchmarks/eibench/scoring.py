"""Scoring EIBench: every reward computed anew from the state at the end of an episode and the scenario's anchors.

Conventions
-----------
Rewards and axis scores are -1 to 1, higher is better; published numbers are 100 times these. The unit is the scenario:
a model has one episode for each, or several with repeats. An episode *failed* if it gives a reason for having no
result, if an answer of either side was missing or unreadable, or if it has no final state.

Numbers are comparable within one simulator and one version of its instructions only: models are not compared if their
episodes differ in these or in another of the settings `EPISODE_SETTINGS`; see `attune_bench.stats.comparability`.
"""

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import nan
from typing import Any, get_args

import numpy as np
import polars as pl

from attune_bench.scores.parts import KEYS, REPEAT, Provenance
from attune_bench.scores.provenance import (
    EPISODE_SETTINGS,
    episode_settings,
    fingerprint,
    group_settings,
    is_hash_of,
    results_fingerprint,
    version_of,
)
from attune_bench.scores.table import ScoreTable, over_repeats
from attune_bench.stats.summary import summary
from attune_data.eibench.kinds import EPISODE
from attune_data.eibench.records import SCENES, Episode, Scenario
from attune_data.text import plural
from attune_metrics.catalog import CATALOG
from attune_metrics.eibench import Anchors, Axis, Rule, Treatment, score_anchors, treat_failed
from attune_metrics.metric import UnreliableIntervalWarning, nan_to_none
from attune_metrics.stats.sums import Floats

NUMBERS = ("reward", "anger_score", "trust_score", "final_anger", "final_trust")
"""What an episode has a number of."""

FAILURES = ("error", "parse_failed", "empty_reply", "empty_simulator_reply", "no_final_state")
_START = 50.0
_RULES: tuple[Rule, ...] = get_args(Rule)
_TREATMENTS: tuple[Treatment, ...] = get_args(Treatment)
_AXES: tuple[Axis, ...] = get_args(Axis)


def score(
    scenarios: Iterable[Scenario],
    episodes: Iterable[Episode],
    *,
    published: bool = False,
    progress: Callable[[int], object] | None = None,
) -> ScoreTable:
    """Score episodes against the anchors of their scenarios, under every rule and treatment of failed episodes.

    Parameters
    ----------
    scenarios : iterable of Scenario
        From `attune_data.load_scenarios`.
    episodes : iterable of Episode
        From `attune_data.load_episodes`, of any number of models. An episode is not scored if its scenario is missing
        or lacks an anchor; a note says so.
    published : bool
        Whether to score as the published evaluation does: by the rule ``evaluation`` and the treatment ``start``, with
        defaults for missing anchors, which a note counts. The start is 50 by default, the target the start, the worst
        anger the start + 25, the worst trust the start - 20 but not below 0.
    progress : callable, optional
        Called with the number of episodes scored so far.

    Returns
    -------
    ScoreTable
        Of ``reward, anger_score, trust_score, final_anger, final_trust, reward_macro``, the mean of the mean rewards of
        the scenes that were played, with the trait ``scene``. Their variants are ``rule`` (``evaluation``, as
        published: the direction of an axis is inferred from its anchors; ``directed``: anger down, trust up) and
        ``failed``, what failed episodes count: ``exclude``, nothing; ``start``, as published, the state they broke off
        in, the start where none is recorded, and a record of an error nothing; ``worst``, -1 and the worst state.

    Raises
    ------
    ValueError
        As `check_episodes`, or where no episode of a model is of one of the scenarios that can be scored.

    Examples
    --------
    >>> from attune_data import load_scenarios
    >>> demo = load_scenarios("demo")
    >>> episode = Episode(profile_id="demo_support_01", model="m", final_anger=85, final_trust=35)
    >>> scores = score(demo, [episode])
    >>> scores.values.select("model", "unit", "anger_score", "final_anger").row(0)
    ('m', 'demo_support_01', -0.5, 85.0)
    """
    given = {scenario.id: scenario for scenario in scenarios}
    known = {name: scenario for name, scenario in given.items() if published or not scenario.missing_anchors}
    held = list(episodes)
    check_episodes(held)
    scored = sorted((episode for episode in held if episode.scenario_id in known), key=lambda one: one.id)
    _check_models(held, scored, len(known), len(given) - len(known))
    played = sorted({episode.scenario_id for episode in scored})
    scenes = [scene for scene in SCENES if scene in {known[unit].scene for unit in played}]
    variants = pl.concat([_variant(scored, known, scenes, *of) for of in product(_RULES, _TREATMENTS)])
    chosen = {"rule": _RULES[0], "failed": "start" if published else _TREATMENTS[0]}
    # A scene without episodes is in no mean.
    terms = tuple(f"{term}.{scene}" for scene in scenes for term in ("reward", "n"))
    metrics = {name: CATALOG[name] for name in NUMBERS}
    metrics["reward_macro"] = replace(CATALOG["reward_macro"], terms=terms)
    if progress:
        progress(len(held))
    provenance = Provenance(
        benchmark="eibench",
        title="EIBench",
        unit="scenario",
        cluster="scenario",
        primary="reward",
        headline=tuple(metrics),
        expected=len(known),
        variant=chosen,
        synthetic=any(known[unit].synthetic for unit in played) or any(one.synthetic for one in scored),
        data=fingerprint(known[unit] for unit in played),
        runs=results_fingerprint(held, EPISODE),
        notes=(*_notes(held, given), *_notes_on_anchors(held, given, published)),
        settings=group_settings((one.model, None, episode_settings(one)) for one in scored),
        comparability_keys=dict(EPISODE_SETTINGS),
    )
    units = pl.DataFrame(
        {"unit": played, "cluster": [None] * len(played), "scene": [known[unit].scene for unit in played]},
        schema={"unit": pl.String, "cluster": pl.String, "scene": pl.Enum(SCENES)},
    )
    values = variants.filter(**chosen).drop(list(chosen))
    scores = ScoreTable(values=values, units=units, metrics=metrics, provenance=provenance, variants=variants)
    return over_repeats(scores)


def row(episode: Episode) -> tuple[str, None, str]:
    """Return the model, no condition, and the scenario of an episode: its row in the scores."""
    return episode.model, None, episode.scenario_id


def check_episodes(episodes: Sequence[Episode]) -> None:
    """Refuse episodes that cannot be scored together.

    Raises
    ------
    ValueError
        Where two episodes have the same scenario, model and repeat, the hashes that runs record say that episodes were
        played on different texts of a scenario, or there is no episode.

    Examples
    --------
    >>> check_episodes([Episode(profile_id="s1", model="m")] * 2)
    Traceback (most recent call last):
        ...
    ValueError: two episodes of scenario 's1' and model 'm'
    """
    if not episodes:
        raise ValueError("no episodes to score")
    counts = Counter((episode.scenario_id, episode.model, episode.repeat) for episode in episodes)
    for (scenario, model, repeat), count in counts.items():
        if count > 1:
            of_repeat = f", repeat {repeat}" if repeat > 1 else ""
            raise ValueError(f"two episodes of scenario {scenario!r} and model {model!r}{of_repeat}")
    first: dict[tuple[str, int], Episode] = {}
    for episode in episodes:
        if episode.scenario_hash:
            other = first.setdefault((episode.scenario_id, version_of(episode.scenario_hash)), episode)
            if other.scenario_hash != episode.scenario_hash:
                raise ValueError(
                    f"scenario {episode.scenario_id!r} has another text in the episodes of {other.model!r} than in "
                    f"the episodes of {episode.model!r}; run both on the same data"
                )


def failure_of(episode: Episode) -> str | None:
    """Return why an episode failed, one of `FAILURES`, or None where it did not."""
    if episode.outcome in FAILURES:
        return episode.outcome
    return "no_final_state" if None in (episode.final_anger, episode.final_trust) else None


def _check_models(held: Sequence[Episode], scored: Sequence[Episode], scenarios: int, lacking: int) -> None:
    unscored = {episode.model for episode in held} - {episode.model for episode in scored}
    if unscored:
        model = min(unscored)
        count = sum(episode.model == model for episode in held)
        anchors = f"; {lacking} more lack an anchor, which the option published fills in" if lacking else ""
        raise ValueError(
            f"none of the {plural(count, 'episode')} of model {model!r} is of one of the "
            f"{plural(scenarios, 'scenario')}: check that both come from the same data set{anchors}"
        )


def _variant(
    episodes: Sequence[Episode], scenarios: Mapping[str, Scenario], scenes: Sequence[str], rule: Rule, failed: Treatment
) -> pl.DataFrame:
    """Return the values of episodes, which are of these scenes, under one rule and treatment."""
    pairs = [(episode, scenarios[episode.scenario_id]) for episode in episodes]
    failures = [failure_of(episode) for episode in episodes]
    marked = np.array([failure is not None for failure in failures], dtype=np.bool_)
    no_result = np.array([failure == "error" for failure in failures], dtype=np.bool_)
    broken = marked & ~no_result if failed == "start" else marked
    numbers: dict[str, Floats] = {}
    for axis in _AXES:
        anchors = _anchors(axis, [scenario for _, scenario in pairs])
        recorded = _floats(getattr(episode, f"final_{axis}") for episode in episodes)
        recorded[no_result] = nan
        # The default of the worst anger can lie above 100.
        worst = np.minimum(anchors.worst, 100)
        final = treat_failed(recorded, broken, failed, start=anchors.initial, worst=worst)
        scores = score_anchors(anchors, final, axis=axis, rule=rule)
        # The worst state does not score -1 where the anchors are out of order.
        numbers[f"{axis}_score"] = scores if failed == "start" else treat_failed(scores, broken, failed)
        numbers[f"final_{axis}"] = final
    numbers["reward"] = (numbers["anger_score"] + numbers["trust_score"]) / 2
    rewards = [nan_to_none(value) for value in numbers["reward"].tolist()]
    columns: dict[str, list[Any]] = {
        "model": [episode.model for episode in episodes],
        "condition": [None] * len(episodes),
        "unit": [scenario.id for _, scenario in pairs],
        REPEAT: [str(episode.repeat) for episode in episodes],
        **{name: [nan_to_none(value) for value in numbers[name].tolist()] for name in NUMBERS},
    }
    for scene in scenes:
        pairs_of = list(zip(rewards, (scenario.scene == scene for _, scenario in pairs), strict=True))
        columns[f"reward.{scene}"] = [_of_scene(reward, is_of_scene, reward) for reward, is_of_scene in pairs_of]
        columns[f"n.{scene}"] = [_of_scene(reward, is_of_scene, 1.0) for reward, is_of_scene in pairs_of]
    for kind in FAILURES:
        columns[f"failed.{kind}"] = [float(failure == kind) for failure in failures]
    schema = {name: pl.String if name in (*KEYS, REPEAT) else pl.Float64 for name in columns}
    return pl.DataFrame(columns, schema=schema).with_columns(rule=pl.lit(rule), failed=pl.lit(failed))


def _of_scene(reward: float | None, is_of_scene: bool, value: float | None) -> float | None:
    """Return what an episode adds to the mean of a scene: 0 to other scenes, null if the episode does not count."""
    return None if reward is None else value if is_of_scene else 0.0


def _anchors(axis: Axis, scenarios: Sequence[Scenario]) -> Anchors:
    """Return the anchors of an axis, a missing one by the default of the published evaluation."""
    initial, target, worst = (
        _floats(getattr(getattr(scenario, part), f"{name}_{axis}") for scenario in scenarios)
        for part, name in (("initial_calibration", "initial"), ("rub_goals", "target"), ("worst_case", "worst"))
    )
    initial = _filled(initial, _START)
    lost = initial + 25 if axis == "anger" else np.maximum(initial - 20, 0)
    return Anchors(initial, _filled(target, initial), _filled(worst, lost))


def _filled(values: Floats, default: Floats | float) -> Floats:
    return np.where(np.isnan(values), default, values)


def _floats(values: Iterable[float | None]) -> Floats:
    return np.array([nan if value is None else value for value in values], dtype=np.float64)


def _notes_on_anchors(episodes: Sequence[Episode], scenarios: Mapping[str, Scenario], published: bool) -> Iterator[str]:
    """Yield what has to be said of scenarios that lack an anchor."""
    played = {episode.scenario_id for episode in episodes}
    lacking = {name: missing for name in played & scenarios.keys() if (missing := scenarios[name].missing_anchors)}
    counts = Counter(place for missing in lacking.values() for place in missing)
    named = ", ".join(f"{place} ({counts[place]})" for place in sorted(counts))
    if lacking and published:
        yield f"Missing anchors of {plural(len(lacking), 'scenario')} count as published, by default: {named}."
    elif lacking:
        count = sum(episode.scenario_id in lacking for episode in episodes)
        yield (
            f"Left out: {plural(count, 'episode')} of {plural(len(lacking), 'scenario')} without an anchor: {named}; "
            "the option published scores them by default anchors."
        )


def _notes(episodes: Sequence[Episode], scenarios: Mapping[str, Scenario]) -> tuple[str, ...]:
    """Return what has to be said below every table of these scores."""
    notes = ["Numbers are comparable within one simulator and one version of its instructions only."]
    if elsewhere := sum(episode.scenario_id not in scenarios for episode in episodes):
        notes.append(f"Left out: {plural(elsewhere, 'episode')} of scenarios that are not in the data.")
    other_text = sum(
        not is_hash_of(episode.scenario_hash, [scenarios[episode.scenario_id]])
        for episode in episodes
        if episode.scenario_hash is not None and episode.scenario_id in scenarios
    )
    if other_text:
        played = plural(other_text, "episode")
        notes.append(f"Caution: {played} played on another text of the scenario than the data's.")
    return tuple(notes)


def model_summary(scores: ScoreTable) -> dict[str, Any]:
    """Summarise the scores of one model, in the shape of EIBench's ``summary.json``.

    Parameters
    ----------
    scores : ScoreTable
        What `attune_bench.benchmarks.eibench.scoring.score` gives of one model.

    Returns
    -------
    dict
        ``model``; ``synthetic``, whether any of what was scored is invented; ``n``, the episodes that count;
        ``overall``, over all episodes, and ``by_scene``, each with ``n, failed, reward, low, high, anger_score,
        trust_score, final_anger, final_trust, reason``. ``low`` and ``high`` are the 95% interval (expanded percentile)
        of the reward, else null with the ``reason``. ``overall.macro`` is the mean of the scenes' rewards, null where a
        scene has none. ``failed`` counts failed episodes by kind, and ``reward_if_failed`` is the overall reward under
        each treatment of them. ``scenarios`` counts those given, ``coverage`` is the share of them with an episode that
        counts. ``warnings`` says which intervals are unreliable, and why.

    Raises
    ------
    ValueError
        Where the scores are of several models.

    Examples
    --------
    >>> from attune_bench.benchmarks.eibench.scoring import score
    >>> from attune_data import Episode, load_scenarios
    >>> ends = {"final_anger": 85, "final_trust": 20}
    >>> scores = score(load_scenarios("demo"), [Episode(profile_id="demo_support_01", model="m", **ends)])
    >>> found = model_summary(scores)
    >>> found["n"], found["overall"]["anger_score"], found["coverage"], found["overall"]["reason"]
    (1, -0.5, 0.0625, 'fewer than 5 scenarios')
    """
    if len(scores.models) != 1:
        raise ValueError(f"these are scores of {len(scores.models)} models ({', '.join(scores.models)}); keep one")
    of_scene = {scene: scores.units.filter(pl.col("scene") == scene)["unit"].to_list() for scene in SCENES}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UnreliableIntervalWarning)
        overall = _block(scores)
        by_scene = {scene: _block(scores.keep(units=units)) for scene, units in of_scene.items() if units}
    macro = summary(scores, metrics=["reward_macro"], resamples=1)["value"].item()
    failed = {kind: int(scores.values[f"failed.{kind}"].sum()) for kind in FAILURES}
    under = {name: scores.variant(failed=name) for name in scores.choices["failed"]}
    rewards = {name: summary(one, metrics=["reward"], resamples=1)["value"].item() for name, one in under.items()}
    expected = scores.provenance.expected or 0
    return {
        "model": scores.models[0],
        "synthetic": scores.provenance.synthetic,
        "n": overall["n"],
        "overall": {**overall, "macro": macro},
        "by_scene": by_scene,
        "failed": failed,
        "reward_if_failed": rewards,
        "scenarios": expected,
        "coverage": overall["n"] / expected if expected else None,
        "warnings": [*dict.fromkeys(str(warning.message) for warning in caught)],
    }


def _block(scores: ScoreTable) -> dict[str, Any]:
    reward = summary(scores, metrics=["reward"]).row(0, named=True)
    means = summary(scores, metrics=NUMBERS[1:], resamples=1)
    failed = sum(int(scores.values[f"failed.{kind}"].sum()) for kind in FAILURES)
    return {
        "n": reward["n"],
        "failed": failed,
        "reward": reward["value"],
        "low": reward["low"],
        "high": reward["high"],
        **dict(means.select("metric", "value").iter_rows()),
        "reason": reward["reason"],
    }
