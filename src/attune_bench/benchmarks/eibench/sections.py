"""The sections of a page that are this benchmark's own: its scenes, and how the person's state moves."""

from collections.abc import Sequence

import polars as pl

from attune_bench.benchmarks.eibench.figures import trajectories
from attune_bench.benchmarks.eibench.states import mean_states
from attune_bench.report.columns import Figure, Folded, Part, Section, Table, text_column, with_note
from attune_bench.report.section_parts import PageScores
from attune_bench.report.tables import comparison_note, comparison_tables, significant_words, sorted_groups
from attune_bench.report.words import under_condition
from attune_bench.score_table import ScoreTable
from attune_bench.stats.comparison import compare_by, count_significant
from attune_data.collection import Collection
from attune_data.eibench.scenario import Episode, Scenario
from attune_data.eibench.scenes import scenes

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
        f"{count['stratum']}{under_condition(scores, count['condition'])}: {significant_words(count)}."
        for count in count_significant(frame).iter_rows(named=True)
    )
    tables = with_note(comparison_tables(scores, frame), comparison_note(scores, page.chosen))
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
    found: list[Part] = [
        Figure(trajectories(states, model), model, is_small=True)
        for model, _ in sorted_groups(scores)
        if not states.filter(model=model)["mean"].is_null().all()
    ]
    if not found:
        return Section(title, left_out="no episode that did not fail says how the state moved")
    note = (
        "Mean anger (better lower) and trust (better higher) of the person after each round, 0 to 100; round 0 is the "
        f"start. Bands are {100 * options.level:g}% intervals, where a scene has 5 scenarios or more. An episode that "
        "has ended keeps its last state. Failed episodes are left out."
    )
    return Section(title, [note, *found])
