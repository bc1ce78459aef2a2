"""EIBench: how the person's state moves, round by round, in the conversations of a model."""

from collections.abc import Iterable
from math import nan
from typing import Any

import numpy as np
import polars as pl

from attune_bench.benchmarks.eibench.scoring import check_episodes, failure_of
from attune_bench.benchmarks.eibench.settings import MAX_ROUNDS
from attune_bench.stats.options import MIN_CLUSTERS, AnalysisOptions
from attune_bench.stats.remarks import OneWarning
from attune_bench.undefined import null
from attune_data.eibench.records import SCENES, Episode, Scenario
from attune_data.eibench.tables import episode_builder
from attune_metrics.stats.bootstrap import Floats, Method, bootstrap, draw_resamples

__all__ = ["AXES", "mean_states", "named_anchors", "round_limit"]

AXES = ("anger", "trust")
Path = list[list[float]]


def mean_states(
    episodes: Iterable[Episode],
    scenarios: Iterable[Scenario],
    *,
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
    interval: Method = "percentile-expanded",
) -> pl.DataFrame:
    """Compute the mean anger and trust after each round, for every model and scene.

    An episode that has ended keeps its last state, so that every round is a mean over the same scenarios and the last
    is that of the final states. Of a scenario that was played several times the mean over these counts. Episodes that
    failed, and those that do not say how the state moved, are left out.

    Parameters
    ----------
    episodes : iterable of Episode
        What `attune_data.load_episodes` gives, of any number of models.
    scenarios : iterable of Scenario
        What `attune_data.load_scenarios` gives.
    resamples : int
        How many resamples of scenarios.
    seed : int
        The same seed gives the same intervals.
    level : float
        Confidence level of the intervals.
    interval : {"percentile-expanded", "percentile", "bca"}
        Which interval; `attune_metrics.stats.bootstrap.bootstrap` defines them.

    Returns
    -------
    polars.DataFrame
        ``model, scene, axis, round, mean, low, high, n, reason``, by model, scene and axis. Round 0 is the start; the
        rounds of a scene go on to the longest episode of any model. ``low`` and ``high`` are the ends of the interval,
        null where ``reason`` says why.

    Raises
    ------
    ValueError
        As `attune_bench.benchmarks.eibench.scoring.check_episodes`, or where an option is out of range.

    Examples
    --------
    >>> from attune_data import load_scenarios
    >>> said = {"role": "aggressor", "content": "Oh.", "meta": {"anger": 70, "trust": 25}}
    >>> history = [{"role": "aggressor", "content": "Well?"}, {"role": "defender", "content": "I see."}, said]
    >>> ends = {"final_anger": 70, "final_trust": 25, "history": history}
    >>> found = mean_states([Episode(profile_id="demo_support_01", model="m", **ends)], load_scenarios("demo"))
    >>> found.select("axis", "round", "mean", "n").rows()
    [('anger', 0, 75.0, 1), ('anger', 1, 70.0, 1), ('trust', 0, 40.0, 1), ('trust', 1, 25.0, 1)]
    """
    chosen = AnalysisOptions(resamples=resamples, seed=seed, level=level, interval=interval)
    held, known = list(episodes), list(scenarios)
    check_episodes(held)
    paths = _paths(held, known)
    rows: list[tuple[Any, ...]] = []
    warning = OneWarning()
    for (model, scene), found in sorted(paths.items(), key=lambda item: (item[0][0], SCENES.index(item[0][1]))):
        rounds = max(
            len(path) for (_, other), them in paths.items() if other == scene for each in them.values() for path in each
        )
        values = np.array([_mean_path(each, rounds) for _, each in sorted(found.items())])
        # Scenarios, rounds, axes, to one series for each axis and round.
        series = values.transpose(2, 1, 0).reshape(len(AXES) * rounds, len(found))
        draws = draw_resamples(sorted(found), n_resamples=chosen.resamples, seed=chosen.seed)
        with warning.of_all():
            states = bootstrap(series, draws, method=chosen.interval, level=chosen.level)
        for place, state in enumerate(states):
            few = f"fewer than {MIN_CLUSTERS} scenarios" if state.n < MIN_CLUSTERS else None
            low, high = (None, None) if few else (null(state.low), null(state.high))
            axis, number = divmod(place, rounds)
            rows.append(
                (
                    model,
                    scene,
                    AXES[axis],
                    number,
                    null(state.estimate),
                    low,
                    high,
                    state.n,
                    few or state.reason,
                )
            )
    schema: dict[str, Any] = {
        **dict.fromkeys(("model", "scene", "axis"), pl.String),
        "round": pl.Int64,
        **dict.fromkeys(("mean", "low", "high"), pl.Float64),
        "n": pl.Int64,
        "reason": pl.String,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def round_limit(episodes: Iterable[Episode]) -> int:
    """Return the last round that any of these episodes, at least one, could have had.

    Examples
    --------
    >>> round_limit([Episode(profile_id="demo_support_01", model="m", max_rounds=10)])
    10
    """
    return max(episode.max_rounds or MAX_ROUNDS for episode in episodes)


def named_anchors(scenario: Scenario, axis: str) -> dict[str, float | None]:
    """Return start, target and worst case of an axis of a scenario; None for what the record lacks."""
    return {
        "start": getattr(scenario.initial_calibration, f"initial_{axis}"),
        "target": getattr(scenario.rub_goals, f"target_{axis}"),
        "worst": getattr(scenario.worst_case, f"worst_{axis}"),
    }


def _mean_path(paths: list[Path], rounds: int) -> Floats:
    """Return the mean over repeats of the states of a scenario (rounds, axes), the last one kept to the end."""
    states = np.array([[*path, *[path[-1]] * (rounds - len(path))] for path in paths])
    told = (~np.isnan(states)).sum(axis=0)
    mean: Floats = np.divide(np.nansum(states, axis=0), told, out=np.full(told.shape, nan), where=told > 0)
    return mean


def _paths(episodes: list[Episode], scenarios: list[Scenario]) -> dict[tuple[str, Any], dict[str, list[Path]]]:
    """Return the states, start included, of the episodes that did not fail: by model and scene, then scenario."""
    keys = ("model", "scenario_id", "repeat")
    scene_of = {scenario.id: scenario.scene for scenario in scenarios}
    good = pl.DataFrame(
        [
            (episode.model, episode.scenario_id, episode.repeat, scene_of[episode.scenario_id])
            for episode in episodes
            if episode.scenario_id in scene_of and failure_of(episode) is None
        ],
        schema={"model": pl.String, "scenario_id": pl.String, "repeat": pl.Int64, "scene": pl.String},
        orient="row",
    )
    turns = episode_builder(episodes, scenarios)("turns").join(good, on=keys, how="inner").sort(*keys, "turn_number")
    moments = [[f"{axis}_{moment}" for axis in AXES] for moment in ("before", "after")]
    found: dict[tuple[str, Any], dict[str, list[Path]]] = {}
    for (model, scenario, _), rows in turns.group_by(keys, maintain_order=True):
        path: Path = []
        for row in rows.iter_rows(named=True):
            before, after = ([nan if row[name] is None else float(row[name]) for name in names] for names in moments)
            path = path or [before]
            path.append(after)
        of_scene = found.setdefault((str(model), rows["scene"][0]), {})
        of_scene.setdefault(str(scenario), []).append(path)
    return found
