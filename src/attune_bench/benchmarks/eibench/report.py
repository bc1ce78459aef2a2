"""EIBench on a page: how the person's state moves, round by round, and recovers; the conversations as texts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import nan
from typing import Any

import numpy as np
import polars as pl

from attune_bench.analyses.recovery import StatePath, recovery_entry
from attune_bench.benchmarks.eibench.scoring import check_episodes, failure_of, row
from attune_bench.benchmarks.eibench.task import MAX_ROUNDS
from attune_bench.report.columns import Figure, Folded, Section, Table, text_column, under_condition, with_note
from attune_bench.report.comparisons import comparison_note, comparison_tables
from attune_bench.report.drawing import ORANGE, SKY
from attune_bench.report.findings import of_states
from attune_bench.report.page_scores import PageScores
from attune_bench.report.plots import Line, LinePanel, LinePlot
from attune_bench.report.recovery import recovery_section
from attune_bench.report.sections import FEW_MODELS, TABLED, numbers_elsewhere
from attune_bench.report.tables import significant_words
from attune_bench.report.transcripts import state_paths
from attune_bench.scores.columns import Analysis
from attune_bench.scores.table import ScoreTable
from attune_bench.stats.compare import count_significant, exchanges_of_all
from attune_bench.stats.options import ALPHA, MIN_CLUSTERS, AnalysisOptions, sorted_groups, warn_once
from attune_bench.stats.subgroups import compare_by
from attune_data.collection import Collection
from attune_data.display import parts_html
from attune_data.eibench.kinds import named_anchors, scenario_parts
from attune_data.eibench.records import SCENES, Episode, Scenario, scenes
from attune_data.eibench.tables import AXES, episode_builder, states_of
from attune_data.issues import Html, element
from attune_data.text import plural, sanitize
from attune_metrics.metric import nan_to_none
from attune_metrics.stats.bootstrap import Method, bootstrap, draw_resamples
from attune_metrics.stats.sums import Floats

_BETTER = {"anger": -1, "trust": 1}


def _axis_paths(*, data: Iterable[Scenario], results: Iterable[Episode]) -> Iterator[StatePath]:
    """Yield the states of each episode that did not fail; the person left where the simulator ended it."""
    scenarios = {one.id: one for one in data}
    for episode in results:
        if failure_of(episode) is None:
            for axis, states in states_of(episode, scenarios.get(episode.scenario_id)).items():
                better = [None if state is None else _BETTER[axis] * state for state in states]
                yield StatePath(row(episode), axis, better, episode.outcome == "simulator_stop")


ANALYSES: Mapping[str, Analysis] = {"state_recovery": recovery_entry(_axis_paths, ("data", "results"))}

Path = list[tuple[float | None, ...]]
"""Anger and trust at the start, then after each round."""


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

    An episode that has ended keeps its last state: every round is a mean over the same scenarios, and the last round is
    the mean of the final states. A scenario that was played several times counts once, as the mean over its episodes.
    Failed episodes and episodes without recorded states are left out.

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
    warned: set[type[Warning]] = set()
    for (model, scene), found in sorted(paths.items(), key=lambda item: (item[0][0], SCENES.index(item[0][1]))):
        of_scene = [them.values() for (_, other), them in paths.items() if other == scene]
        rounds = max(len(path) for scenarios_of in of_scene for each in scenarios_of for path in each)
        values = np.array([_mean_path(each, rounds) for _, each in sorted(found.items())])
        # Scenarios, rounds, axes, to one series for each axis and round.
        series = values.transpose(2, 1, 0).reshape(len(AXES) * rounds, len(found))
        draws = draw_resamples(sorted(found), n_resamples=chosen.resamples, seed=chosen.seed)
        with warn_once(warned):
            states = bootstrap(series, draws, method=chosen.interval, level=chosen.level)
        for place, state in enumerate(states):
            few = f"fewer than {MIN_CLUSTERS} scenarios" if state.n < MIN_CLUSTERS else None
            low, high = (None, None) if few else (nan_to_none(state.low), nan_to_none(state.high))
            axis, number = divmod(place, rounds)
            numbers = (nan_to_none(state.estimate), low, high, state.n)
            rows.append((model, scene, AXES[axis], number, *numbers, few or state.reason))
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


def _mean_path(paths: list[Path], rounds: int) -> Floats:
    """Return the mean over repeats of the states of a scenario (rounds, axes), the last one kept to the end."""
    states = np.array([[*path, *[path[-1]] * (rounds - len(path))] for path in paths], dtype=float)
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
    found: dict[tuple[str, Any], dict[str, list[Path]]] = {}
    for (model, scenario, _), rows in turns.group_by(keys, maintain_order=True):
        of_scene = found.setdefault((str(model), rows["scene"][0]), {})
        of_scene.setdefault(str(scenario), []).append(_path(rows))
    return found


_LOOKS = {"anger": (ORANGE, "circle"), "trust": (SKY, "square")}


def trajectories(states: pl.DataFrame, model: str, *, last: int, is_detailed: bool = True) -> LinePlot:
    """Return the mean anger and trust after each round in the conversations of one model, a panel for each scene.

    A shaded band is the interval of the mean.

    Parameters
    ----------
    states : polars.DataFrame
        What `attune_bench.benchmarks.eibench.report.mean_states` gives.
    model : str
        One of its models.
    last : int
        The round that the panels go to: the last that a conversation may have.
    is_detailed : bool
        Whether each round has a mark, and the pointer reads its numbers.

    Raises
    ------
    ValueError
        Where the frame has no state of the model.

    Examples
    --------
    >>> from attune_bench.benchmarks.eibench.report import mean_states
    >>> from attune_data import Episode, load_scenarios
    >>> said = {"role": "aggressor", "content": "Oh.", "meta": {"anger": 70, "trust": 25}}
    >>> history = [{"role": "aggressor", "content": "Well?"}, {"role": "defender", "content": "I see."}, said]
    >>> ends = {"final_anger": 70, "final_trust": 25, "history": history}
    >>> states = mean_states([Episode(profile_id="demo_support_01", model="m", **ends)], load_scenarios("demo"))
    >>> [[line.name for line in panel.lines] for panel in trajectories(states, "m", last=8).panels]
    [['anger', 'trust']]
    """
    own = states.filter(model=model)
    if not own["mean"].count():
        raise ValueError(f"nothing to draw: no state of model {sanitize(model)!r}")
    panels = []
    for scene in own["scene"].unique(maintain_order=True):
        lines = []
        for axis, (colour, shape) in _LOOKS.items():
            rows = own.filter(scene=scene, axis=axis).sort("round").to_dicts()
            lines.append(Line(
                name=axis, states=[row["mean"] for row in rows], colour=colour, shape=shape if is_detailed else "",
                band=[None if row["low"] is None else (row["low"], row["high"]) for row in rows],
                texts=[_said(row) if is_detailed and row["mean"] is not None else "" for row in rows],
            ))  # fmt: skip
        panels.append(LinePanel(title=scenes()[scene].title, lines=[line for line in lines if line.known]))
    return LinePlot(panels=panels, last=last, height=110)


def _said(row: Mapping[str, Any]) -> str:
    ends = "" if row["low"] is None else f" [{row['low']:.1f}, {row['high']:.1f}]"
    return f"round {row['round']}: mean {row['axis']} {row['mean']:.1f}{ends}, n = {plural(row['n'], 'scenario')}"


def sections(
    page: PageScores, *, data: Collection[Scenario] | None = None, results: Sequence[Episode] | None = None
) -> list[Section]:
    """Return this benchmark's own sections of a page.

    Parameters
    ----------
    page : PageScores
        Scores of this benchmark, and how they are analysed.
    data : Collection of Scenario, optional
        The scenarios that were played: for trajectories, with `results`.
    results : sequence of Episode, optional
        The episodes that were scored.
    """
    return [_trajectories(page, data, results), _recovery(page, data, results), _scenes(page.table), _comparisons(page)]


def _recovery(page: PageScores, data: Collection[Scenario] | None, results: Sequence[Episode] | None) -> Section:
    entry = ANALYSES["state_recovery"]
    if data is None or results is None:
        return Section(entry.title, left_out="needs the scenarios and the episodes (--data, --results)")
    return recovery_section(page, entry.function(page.shown, data=data, results=results, **page.options))


def _scenes(scores: ScoreTable) -> Section:
    """Say what the two axes of the person's state stand for in each scene that was played."""
    played = set(scores.units["scene"]) if "scene" in scores.units.columns else set(scenes())
    heads = {
        "title": "scene", "person": "the person", "model": "the model", "anger": "anger stands for",
        "trust": "trust stands for",
    }  # fmt: skip
    rows = [{key: getattr(one, key) for key in heads} for name, one in scenes().items() if name in played]
    columns = [text_column(head, key, is_name=True) for key, head in heads.items()]
    note = "The person's state has two axes, 0 to 100, which stand for other things in each scene."
    return Section("Scenes", [note, Table("scenes", "", columns, rows)])


def _comparisons(page: PageScores) -> Section:
    scores, title = page.table, "Comparisons by scene"
    if "scene" not in scores.traits or len(scores.models) < 2:
        return Section(title, left_out="need two models, and the scenes of the scenarios")
    frame = compare_by(scores, "scene", metrics=[scores.primary], **page.options)
    frame = frame.filter(pl.col("stratum") != "overall")
    counted = count_significant(frame)
    counts = tuple(
        f"{count['stratum']}{under_condition(scores, count['condition'])}: {significant_words(scores, count, frame)}."
        for count in counted.iter_rows(named=True)
    )
    none_can_differ = counted.filter(pl.col("p_holm_min") < ALPHA).is_empty()
    if frame.height > TABLED or (none_can_differ and len(scores.models) > FEW_MODELS):
        command = element("code", f"attune-bench compare SCORES --by scene --metric {scores.primary} --format csv")
        return Section(title, [counts, numbers_elsewhere(frame.height, command)])
    note = comparison_note(scores, frame, page.chosen, exchanges_of_all(scores, page.chosen.resamples))
    tables = with_note(comparison_tables(scores, frame), note)
    return Section(title, [counts, Folded("All pairs, with their numbers", tables)])


def _trajectories(page: PageScores, data: Collection[Scenario] | None, results: Sequence[Episode] | None) -> Section:
    scores, options, title = page.table, page.chosen, "Trajectories"
    if data is None or results is None:
        return Section(title, left_out="need the scenarios and the episodes (--data, --results)")
    scored = set(scores.models)
    episodes = [episode for episode in results if episode.model in scored]
    if not episodes:
        return Section(title, left_out="the episodes are not those that were scored")
    states = mean_states(
        episodes, data, resamples=options.resamples, seed=options.seed, level=options.level, interval=options.interval
    )
    last = max([round_limit(episodes), *states["round"]])
    drawn = [model for model, _ in sorted_groups(scores) if states.filter(model=model)["mean"].count()]
    if not drawn:
        return Section(title, left_out="no episode that did not fail says how the state moved")
    note = (
        "Mean anger (better lower) and trust (better higher) of the person after each round, 0 to 100; round 0 is the "
        "start. An episode that has ended keeps its last state; a line stops where every episode of its scene has "
        "ended. Failed episodes are left out."
    )
    which = "Every model" if len(drawn) == len(scores.models) else "The models whose episodes say how the state moved"
    caption = f"{which}, by scene. Broken lines: the mean start, target and worst case of the scene's scenarios."
    bands = f"Bands are {100 * options.level:g}% intervals, where a scene has 5 scenarios or more."
    is_detailed = len(drawn) <= FEW_MODELS
    each = [
        Figure(trajectories(states, model, last=last, is_detailed=is_detailed), f"{model}, by scene.", finding=model)
        for model in drawn
    ]
    played = {episode.scenario_id for episode in episodes}
    overlaid = _overlaid(states, drawn, [scenario for scenario in data if scenario.id in played], last)
    folded = Folded("Each model, with intervals", [bands, *each])
    return Section(title, [note, Figure(overlaid, caption, finding=_finding(states, drawn)), folded], is_first=True)


def _finding(states: pl.DataFrame, models: Sequence[str]) -> str:
    """Say with how many models the state ends better: means over the scenarios of all scenes."""
    ends: dict[str, list[tuple[float, float]]] = {axis: [] for axis in AXES}
    known = states.drop_nulls("mean")
    for axis in AXES:
        for model in models:
            own = known.filter(model=model, axis=axis)
            if not own.is_empty():
                of_scenes = own.group_by("scene", maintain_order=True).agg(
                    pl.col("mean").first().alias("begin"), pl.col("mean", "n").last()
                )
                weights = of_scenes["n"].to_numpy()
                begin, end = (np.average(of_scenes[moment].to_numpy(), weights=weights) for moment in ("begin", "mean"))
                ends[axis].append((float(begin), float(end)))
    return of_states({axis: found for axis, found in ends.items() if found}, {"anger": -1, "trust": 1})


def _overlaid(states: pl.DataFrame, models: Sequence[str], scenarios: Sequence[Scenario], last: int) -> LinePlot:
    """Return the mean states of all models, a panel for each scene and axis, with the mean anchors of its scenarios."""
    paths, anchors = {}, {}
    for scene in scenes():
        of_scene = [scenario for scenario in scenarios if scenario.scene == scene]
        for axis in AXES if of_scene else ():
            panel = f"{scenes()[scene].title}: {axis}"
            rows = states.filter(scene=scene, axis=axis).sort("round")
            paths[panel] = {model: rows.filter(model=model)["mean"].to_list() for model in models}
            ends = pl.DataFrame([named_anchors(one, axis) for one in of_scene], infer_schema_length=None)
            anchors[panel] = ends.mean().row(0, named=True)
    return state_paths(paths, anchors=anchors, last=last)


def transcript(scenario: Scenario, episodes: Mapping[str, Episode]) -> Iterator[Html | Figure]:
    """Yield what a page shows once of a scenario: who takes part, and the states under every model."""
    yield from parts_html(scenario_parts(scenario))
    paths = {
        name: _path(episode_builder([episode], [scenario])("turns").sort("turn_number"))
        for name, episode in episodes.items()
    }
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


def _path(turns: pl.DataFrame) -> Path:
    """Return anger and trust at the start, then after each round, of the turns of an episode."""
    before, after = (turns.select(f"{axis}_{moment}" for axis in AXES).rows() for moment in ("before", "after"))
    return [*before[:1], *after]
