"""The sections of a page that are this benchmark's own: its scenes, and how the person's state moves."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from attune_bench.benchmarks.eibench.figures import trajectories
from attune_bench.benchmarks.eibench.states import AXES, mean_states, named_anchors, round_limit
from attune_bench.report.columns import Figure, Folded, Section, Table, text_column, with_note
from attune_bench.report.section_parts import PageScores
from attune_bench.report.state_figures import state_paths
from attune_bench.report.tables import comparison_note, comparison_tables, significant_words, sorted_groups
from attune_bench.report.words import under_condition
from attune_bench.score_table import ScoreTable
from attune_bench.stats.comparison import compare_by, count_significant, exchanges_of_all
from attune_data.collection import Collection
from attune_data.eibench.records import Episode, Scenario, scenes

if TYPE_CHECKING:
    from attune_bench.report.drawing import Chart

__all__ = ["sections"]


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
    return [_scenes(page.table), _comparisons(page), _trajectories(page, data, results)]


def _scenes(scores: ScoreTable) -> Section:
    """Say what the two axes of the person's state stand for in each scene that was played."""
    played = set(scores.units["scene"]) if "scene" in scores.units.columns else set(scenes())
    rows = [
        {"scene": one.title, "person": one.person, "model": one.model, "anger": one.anger, "trust": one.trust}
        for name, one in scenes().items()
        if name in played
    ]
    columns = [
        text_column("scene", "scene", is_name=True),
        text_column("the person", "person", is_name=True),
        text_column("the model", "model", is_name=True),
        text_column("anger stands for", "anger", is_name=True),
        text_column("trust stands for", "trust", is_name=True),
    ]
    note = "The person's state has two axes, 0 to 100, which stand for other things in each scene."
    return Section("Scenes", [note, Table("scenes", "", columns, rows)])


def _comparisons(page: PageScores) -> Section:
    scores, title = page.table, "Comparisons by scene"
    if "scene" not in scores.traits or len(scores.models) < 2:
        return Section(title, left_out="need two models, and the scenes of the scenarios")
    frame = compare_by(scores, "scene", metrics=[scores.primary], **page.options)
    frame = frame.filter(pl.col("stratum") != "overall")
    counts = tuple(
        f"{count['stratum']}{under_condition(scores, count['condition'])}: {significant_words(count, frame)}."
        for count in count_significant(frame).iter_rows(named=True)
    )
    note = comparison_note(scores, page.chosen, exchanges_of_all(scores, page.chosen.resamples))
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
        episodes,
        data,
        resamples=options.resamples,
        seed=options.seed,
        level=options.level,
        interval=options.interval,
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
    each = [Figure(trajectories(states, model, last=last), model, is_small=True) for model in drawn]
    played = {episode.scenario_id for episode in episodes}
    overlaid = _overlaid(states, drawn, [scenario for scenario in data if scenario.id in played], last)
    return Section(title, [note, Figure(overlaid, caption), Folded("Each model, with intervals", [bands, *each])])


def _overlaid(states: pl.DataFrame, models: Sequence[str], scenarios: Sequence[Scenario], last: int) -> "Chart":
    """Draw the mean states of all models, a panel for each scene and axis, with the mean anchors of its scenarios."""
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
