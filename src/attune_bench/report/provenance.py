"""What is said of all numbers: where they come from, how models were asked, what random answers score."""

from typing import Any

import polars as pl

from attune_bench.group_settings import kind_of_group, people_among, setting_text
from attune_bench.report.columns import PERSON, Table, number, text_column
from attune_bench.report.tables import group_name, label
from attune_bench.report.words import under_condition
from attune_bench.score_table import ScoreTable
from attune_bench.stats.comparability import common_settings, differences, in_words
from attune_data.text import listed, plural, printable

__all__ = ["chance_notes", "people_notes", "provenance_line", "settings_notes", "settings_table", "standing_notes"]


def provenance_line(table: ScoreTable) -> str:
    """Return what has to be said of all the numbers: benchmark, protocol, variant, conditions, n, version."""
    held = table.provenance
    clusters = table.units["cluster"].drop_nulls().n_unique() + table.units["cluster"].null_count()
    conditions = [condition for condition in table.conditions if condition is not None]
    size = plural(table.units.height, held.unit)
    if held.cluster != held.unit and clusters != table.units.height:
        size += f" by {plural(clusters, held.cluster)}"
    parts = [
        held.title,
        *([f"protocol {held.protocol}"] if held.protocol else []),
        *(f"{name} {option}" for name, option in held.variant.items()),
        *([f"{held.condition}{'s' if len(conditions) > 1 else ''} {', '.join(conditions)}"] if conditions else []),
        f"n = {size}",
        f"attune-bench {held.library_version}",
        *([f"{plural(len(held.issues), 'result')} not scored"] if held.issues else []),
        *(["SYNTHETIC demonstration data"] if held.synthetic else []),
    ]
    return printable(", ".join(parts))


def standing_notes(table: ScoreTable) -> list[str]:
    """Return what has to be said below every table of these scores."""
    synthetic = ["SYNTHETIC demonstration data."] if table.provenance.synthetic else []
    return [*synthetic, *table.provenance.notes, *people_notes(table), *settings_notes(table)]


def people_notes(table: ScoreTable) -> list[str]:
    """Return which rows are people's, where some are."""
    people = people_among(table.models)
    return [f"{PERSON} marks people who answered what the models were asked: {listed(people)}."] if people else []


def settings_notes(table: ScoreTable) -> list[str]:
    """Return in which settings that change an answer the runs differ, and which are the same."""
    found = differences(table)
    mark = "MIXED: the" if table.provenance.mixed else "The"
    said = f"{mark} runs differ in what changes an answer, and their numbers are not comparable"
    common, unknown = common_settings(table)
    parts = [", ".join(f"{name} {value}" for name, value in common.items())] if common else []
    parts += [f"not recorded, so perhaps not the same: {', '.join(unknown)}"] if unknown else []
    notes = [f"{said}: {in_words(found)}."] if found else []
    return notes + ([f"All runs: {'; '.join(parts)}."] if parts else [])


def settings_table(table: ScoreTable) -> Table:
    """Return with which settings every model was run, a row a model and condition."""
    held = table.provenance
    names = [
        *held.decisive,
        *dict.fromkeys(name for own in table.settings.values() for name in own if name not in held.decisive),
    ]
    rows: list[dict[str, Any]] = []
    for model, condition in table.groups:
        own = table.settings.get((model, condition), {})
        values = {name: ", ".join(map(setting_text, own[name])) if name in own else None for name in names}
        rows.append({"name": group_name(table, model, condition), "kind": kind_of_group(model), **values})
    columns = [text_column("row", "name", is_name=True), text_column("kind", "kind")]
    columns += [text_column(held.decisive.get(name, name.replace("_", " ")), name) for name in names]
    return Table("settings", "How the rows were made", columns, rows)


def chance_notes(table: ScoreTable, chance: pl.DataFrame) -> list[str]:
    """Return what random answers score on average in the metrics of the board, a sentence a condition.

    `chance` is what `attune_bench.stats.chance.chance_of_units` gives; a null value is not said.
    """
    found = chance.filter(pl.col("metric").is_in(table.headline)).drop_nulls("chance")
    notes = []
    for (condition,), rows in found.group_by("condition", maintain_order=True):
        values = {row["metric"]: row["chance"] for row in rows.iter_rows(named=True)}
        said = ", ".join(
            f"{label(table.metrics[name])} {number(values[name], table.metrics[name])}"
            for name in table.headline
            if name in values
        )
        under = under_condition(table, condition) if len(table.conditions) > 1 else ""
        notes.append(f"Random answers on these data{under} score on average: {said}.")
    return notes
