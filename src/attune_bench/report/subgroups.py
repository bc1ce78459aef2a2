"""The section of subgroups: the primary metric in each stratum of traits, and how it differs from the rest."""

from collections.abc import Mapping, Sequence
from functools import partial

import polars as pl
from typing_extensions import Unpack

from attune_bench.report.columns import (
    Column,
    Figure,
    Folded,
    Part,
    Section,
    Table,
    estimate_column,
    size_column,
    text_column,
    with_note,
)
from attune_bench.report.heatmaps import Numbers, subgroup_cells
from attune_bench.report.section_parts import figures_of
from attune_bench.report.suppression import conceal_strata, hidden_strata, hides
from attune_bench.report.tables import (
    difference_columns,
    group_name,
    label,
    metric_of,
    overlap_note,
    sorted_groups,
    subgroup_notes,
)
from attune_bench.score_table import ScoreTable
from attune_bench.stats.intervals import too_few
from attune_bench.stats.options import ALPHA, AnalysisOptions, SamplingKeywords
from attune_bench.stats.subgroups import overlap, subgroups
from attune_bench.stats.traits import strata_and_known, unit_traits
from attune_data.query import Queryable
from attune_data.text import plural
from attune_metrics.stats.bootstrap import STATISTICS

__all__ = ["lacking_units", "subgroup_section"]

_MOST_STRATA = 20

Strata = Mapping[str, Sequence[str]]


def lacking_units(table: ScoreTable, data: Queryable) -> str:
    """Say how many scored units the data lack; nothing where they have all."""
    lacking = len(set(table.units["unit"]).difference(data.unit_ids))
    return (
        f"The data lack {lacking} of {plural(table.units.height, f'scored {table.provenance.unit}')}."
        if lacking
        else ""
    )


def subgroup_section(
    table: ScoreTable,
    traits: Sequence[str],
    *,
    data: Queryable | None = None,
    title: str = "Subgroups",
    small_cells: bool = False,
    numbers: Numbers | None = None,
    **options: Unpack[SamplingKeywords],
) -> Section:
    """Return the section of the primary metric by traits, each stratum set against its complement.

    Parameters
    ----------
    table : ScoreTable
        The scores.
    traits : sequence of str
        As for `attune_bench.stats.subgroups.by`.
    data : Collection or Tables, optional
        The units' records; by default the traits that the scores have of their units.
    title : str
        Heading.
    small_cells : bool
        Whether to show values that rest on few people, or would give such values away.
    numbers : mapping, optional
        As for `attune_bench.report.drawing.numbered`.
    **options
        ``resamples``, ``seed``, ``level``, ``unit``, ``weight``, ``interval``; see
        `attune_bench.stats.options.AnalysisOptions`.
    """
    if table.metric(table.primary).statistic not in STATISTICS:
        return Section(title, left_out=f"{label(table.metrics[table.primary])} is not made of {table.provenance.unit}s")
    if why := AnalysisOptions(**options).lacks_weight(table, table.primary):
        return Section(title, left_out=f"{label(table.metrics[table.primary])} is {why}")
    source = unit_traits(table) if data is None else data
    scored = set(table.units["unit"])
    if scored.isdisjoint(source.unit_ids):
        return Section(
            title, left_out=f"none of the {plural(len(scored), table.provenance.unit)} scored is in the data"
        )
    parts: list[Part] = []
    tables: list[Table] = []
    figures: list[Figure] = []
    frames: list[pl.DataFrame] = []
    given: dict[str, tuple[Strata, list[str]]] = {}
    for trait in traits:
        every, known = strata_and_known(source, trait)
        strata = {name: units for name, units in every.items() if not scored.isdisjoint(units)}
        if not 1 < len(strata) <= _MOST_STRATA:
            parts.append(f"{trait}: left out, it has {plural(len(strata), 'value')}.")
            continue
        given[trait] = strata, known
    if not given:
        return Section(title, left_out=" ".join(map(str, parts)) or f"{table.provenance.unit}s have no traits")
    hidden = hidden_strata(table, table.primary, given) if hides(table, small_cells=small_cells) else {}
    for trait, (of_trait, known) in given.items():
        frame = subgroups(table, of_trait, known=known, compare=True, metrics=[table.primary], **options)
        shown = conceal_strata(table, trait, frame, hidden)
        frames.append(shown)
        tables.append(_table(table, trait, shown, overlap(of_trait), numbers))
        metric = table.metrics[table.primary]
        more, less = ("higher", "lower") if metric.higher_is_better is None else ("better", "worse")
        caption = (
            f"{label(metric)} by {trait.replace('_', ' ')}. Blue: {more} than in the other {table.provenance.unit}s, "
            f"orange: {less}; *: Holm p below {ALPHA:g}."
        )
        figures += figures_of(table, shown, "value", caption, partial(subgroup_cells, table, numbers=numbers))
    notes = subgroup_notes(table, pl.concat(frames), compared=True, options=AnalysisOptions(**options))
    if hidden:
        few = too_few(table)
        notes.append(f"Values of {few} are not shown, nor others from which they would follow by subtraction.")
    if data is not None and (lacking := lacking_units(table, data)):
        notes.append(lacking)
    return Section(
        title, [*figures, Folded("Subgroups with their numbers", with_note(tables, " ".join(notes))), *parts]
    )


def _table(table: ScoreTable, trait: str, frame: pl.DataFrame, overlapping: int, numbers: Numbers | None) -> Table:
    """Return the strata of a trait, in each the models from the best of all units."""
    order = numbers or {group: place for place, group in enumerate(sorted_groups(table))}
    strata = {name: place for place, name in enumerate(frame["stratum"].unique(maintain_order=True))}
    rows = [{**row, "name": group_name(table, row["model"], row["condition"])} for row in frame.iter_rows(named=True)]
    rows.sort(key=lambda row: (strata[row["stratum"]], order[row["model"], row["condition"]]))
    columns: list[Column] = [
        text_column("stratum", "stratum", is_name=True),
        text_column("model", "name", is_name=True),
        estimate_column(label(table.metrics[table.primary]), "value", metric_of(table)),
        *difference_columns(table),
        size_column(),
    ]
    title = trait.replace("_", " ")
    notes = (overlap_note(table, overlapping),) if overlapping else ()
    return Table(f"by_{trait}", f"{title[:1].upper()}{title[1:]}", columns, rows, frame, notes)
