"""Notes on scores: the sentences beside the numbers of a report."""

from collections.abc import Collection, Iterable

import polars as pl

from attune_bench.report.columns import PERSON, label, number, under_condition, words_under
from attune_bench.scores.provenance import CHANCE_BASELINE, people_among
from attune_bench.scores.table import ScoreTable, note_on_repeats
from attune_bench.stats.comparability import common_settings, differences, in_words
from attune_data.text import listed, plural, pluralize, sanitize
from attune_metrics.metric import PER_UNIT


def provenance_line(table: ScoreTable, *, with_synthetic: bool = True) -> str:
    """Return the line about all numbers: benchmark, protocol, variant, conditions, n, version."""
    held = table.provenance
    conditions = [condition for condition in table.conditions if condition is not None]
    asked = held.condition if len(conditions) == 1 else pluralize(held.condition)
    parts = [
        held.title,
        *([f"protocol {held.protocol}"] if held.protocol else []),
        *(f"{name} {option}" for name, option in held.variant.items()),
        *([f"{asked} {', '.join(conditions)}"] if conditions else []),
        f"n = {size_words(table)}",
        f"attune-bench {held.library_version}",
        *([f"{plural(len(held.issues), 'result')} not scored"] if held.issues else []),
        *(["SYNTHETIC demonstration data"] if held.synthetic and with_synthetic else []),
    ]
    return sanitize(", ".join(parts))


def size_words(table: ScoreTable) -> str:
    """Return how many units the scores are of, and of how many clusters where some share one."""
    held = table.provenance
    clusters = table.units["cluster"].drop_nulls().n_unique() + table.units["cluster"].null_count()
    size = plural(table.units.height, held.unit)
    shared = held.cluster != held.unit and clusters != table.units.height
    return f"{size} by {plural(clusters, held.cluster)}" if shared else size


def standing_notes(table: ScoreTable, *, with_synthetic: bool = True) -> list[str]:
    """Return the notes that belong below every table of these scores."""
    synthetic = ["SYNTHETIC demonstration data."] if table.provenance.synthetic and with_synthetic else []
    people = people_among(table.models)
    asked = [f"{PERSON} marks people who answered what the models were asked: {listed(people)}."] if people else []
    return [*synthetic, *table.provenance.notes, *asked, *settings_notes(table)]


def reading_notes(table: ScoreTable) -> list[str]:
    """Return the notes that say how a table of results was read; a benchmark's own results have none."""
    held = table.provenance
    if held.benchmark is not None:
        return []
    return [note for note in held.notes if note != note_on_repeats(held.unit)]


def missing_notes(table: ScoreTable, metrics: Iterable[str], models: Collection[str] = ()) -> list[str]:
    """Return how many values of each metric are missing, as models then have values on different units.

    With `models`, the values of these alone count.
    """
    unit, notes = table.provenance.unit, []
    groups = [group for group in table.groups if not models or group[0] in models]
    pairs = f"; two models are compared on the {pluralize(unit)} that both have" if len(table.models) > 1 else ""
    rows = table.values.filter(pl.col("model").is_in([model for model, _ in groups]))
    for metric in map(table.metric, metrics):
        if metric.statistic in PER_UNIT:
            every = len(groups) * table.units.height
            missing = every - rows[metric.name].count()
            verb = "is" if missing == 1 else "are"
            named = f" of {metric.label}" if metric.label != "value" else ""
            said = f"{missing:,} of {every:,} values{named} {verb} missing{pairs}."
            notes += [said] if missing else []
    return notes


def unequal_units_notes(table: ScoreTable, ranks: pl.DataFrame) -> list[str]:
    """Return where models are ranked by different units, and their order by the units that all of them have.

    `ranks` is what `attune_bench.stats.rank.rank` gives of the scores.
    """
    units, notes = pluralize(table.provenance.unit), []
    for (condition, name), rows in ranks.drop_nulls("rank").group_by("condition", "metric", maintain_order=True):
        metric, models = table.metric(str(name)), rows["model"].to_list()
        here = pl.col("condition").eq_missing(pl.lit(condition)) & pl.col("model").is_in(models)
        if metric.statistic not in PER_UNIT:
            continue
        known = table.values.filter(here).drop_nulls(metric.name)
        of_all = known.group_by("unit").len().filter(len=len(models))
        if known.height == of_all.height * len(models):
            continue
        counts = rows.sort("n", maintain_order=True).select("n", "model").rows()
        (least, first), (most, last) = counts[0], counts[-1]
        said = f"each model is ranked by all of its own {units}: {first} by {least:,}, {last} by {most:,}"
        means = known.join(of_all, on="unit", how="semi").group_by("model").agg(pl.col(metric.name).mean())
        order = means.sort(pl.col(metric.name) * -metric.sign, "model")["model"].to_list()
        common = f"on the {of_all.height:,} {units} that all have" if order else f"no {table.provenance.unit} is of all"
        named = "" if not order else ", the order is the same" if order == models else f", the order is {listed(order)}"
        notes.append(f"{label(metric)}{words_under(table, condition)}: {said}; {common}{named}.")
    return notes


def settings_notes(table: ScoreTable) -> list[str]:
    """Return in which settings that change an answer the runs differ, and which are the same."""
    found = differences(table)
    mark = "MIXED: the" if table.provenance.mixed else "The"
    said = f"{mark} runs differ in settings that change answers, and their numbers are not comparable"
    common, unknown = common_settings(table)
    parts = [", ".join(f"{name} {value}" for name, value in common.items())] if common else []
    parts += [f"not recorded, so perhaps not the same: {', '.join(unknown)}"] if unknown else []
    notes = [f"{said}: {in_words(found)}."] if found else []
    return notes + ([f"All runs: {'; '.join(parts)}."] if parts else [])


ONE_SET = f"{CHANCE_BASELINE} is one set of random answers; the average is over all sets, and the two differ by chance."
"""How a row of random answers differs from the average score of random answers."""


def chance_notes(table: ScoreTable, chance: pl.DataFrame) -> list[str]:
    """Return the average score of random answers in the metrics of the board, one sentence for each condition.

    `chance` is what `attune_bench.stats.summary.chance_of_units` gives; a null value is not said.
    """
    found = chance.filter(pl.col("metric").is_in(table.headline)).drop_nulls("chance")
    notes = []
    for (condition,), rows in found.group_by("condition", maintain_order=True):
        values = {row["metric"]: row["chance"] for row in rows.iter_rows(named=True)}
        shown = [table.metrics[name] for name in table.headline if name in values]
        said = ", ".join(f"{label(metric)} {number(values[metric.name], metric)}" for metric in shown)
        under = under_condition(table, condition) if len(table.conditions) > 1 else ""
        notes.append(f"Random answers on these data{under} score on average: {said}.")
    is_said_above = not found.filter(metric=table.primary).is_empty()
    if is_said_above:
        unit = table.provenance.unit
        notes.append(
            f"A difference from random answers is the mean over {pluralize(unit)} of the value minus the average score "
            f"of random answers to the same {unit}; better or worse means that its interval leaves out 0."
        )
    return [*notes, *([ONE_SET] if notes and CHANCE_BASELINE in table.models and not is_said_above else [])]
