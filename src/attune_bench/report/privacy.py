"""Suppression: which values about few people a page hides, and how it keeps a reader from computing them.

What it protects against: a value that rests on fewer than 5 participants is not shown, and a model that was run on
fewer is not shown either. No hidden value of a stratum can be computed by subtracting shown values: neither a stratum,
as the whole minus the other strata of its trait, nor the difference of a shown set and a smaller shown set that it
contains. The sets are the whole, the strata of all traits of a section, and the complements that can be computed from
shown differences.

What it does not protect against: adding and subtracting, with any weights, three or more sets of different traits or
overlapping strata (such as whole minus A minus B plus the overlap of A and B); sets that differ from one model,
condition or metric to the next, such as the common units of two models; several pages taken together; what a reader
already knows. Values are rounded as reports print them, which is no protection. Data of real people need a disclosure
review before a page of many overlapping traits is published.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl
from typing_extensions import Unpack

from attune_bench.scores.parts import KEYS
from attune_bench.scores.table import ScoreTable, term_columns
from attune_bench.stats.options import MIN_CLUSTERS, AnalysisKeywords, AnalysisOptions, Mask, ScoreSeries, too_few
from attune_bench.stats.subgroups import strata_and_known, subgroups, unit_traits
from attune_bench.stats.summary import summary
from attune_data.licences import canary, credits_of, named_licences, refusal
from attune_data.query import Queryable
from attune_data.record import is_generated
from attune_data.text import pluralize
from attune_metrics.stats.bootstrap import STATISTICS
from attune_metrics.stats.sums import Floats

if TYPE_CHECKING:
    from attune_bench.scores.records import Row, ScoredRecords

_FOLLOWS = "not shown, as a smaller stratum would follow"
_DIFFERENCES = ("difference", "difference_low", "difference_high", "p", "p_holm", "significant")

Traits = Mapping[str, tuple[Mapping[str, Iterable[str]], Iterable[str]]]
"""For each trait, its strata (name to units) and the units from which complements are taken."""

ShownSet = tuple[str, str, bool]
"""Trait, stratum, and whether the set is the stratum's complement (its value is the stratum's minus the difference)."""


def hides(table: ScoreTable, *, small_cells: bool) -> bool:
    """Tell whether values that rest on few clusters are hidden."""
    return table.provenance.private and not small_cells


def few_groups(table: ScoreTable, metric: str | None = None) -> list[tuple[str, str | None]]:
    """Return the models and conditions run on fewer than 5 clusters or, with `metric`, with values on fewer than 5."""
    series = ScoreSeries(table)
    present = series.scored if metric is None else ~np.isnan(series.values(metric)[:, 0])
    return [group for group, units in zip(series.groups, present, strict=True) if series.count(units) < MIN_CLUSTERS]


def without_few(table: ScoreTable, *, small_cells: bool) -> ScoreTable:
    """Return the scores without the values of a model and condition for a metric if they rest on fewer than 5 clusters.

    If they stayed, numbers that depend on several models, such as a standard score, a strength or an order, would
    reveal them.
    """
    if not hides(table, small_cells=small_cells):
        return table
    series = ScoreSeries(table)
    few: dict[str, set[tuple[str, str | None]]] = {}
    for name, metric in table.metrics.items():
        if metric.statistic not in STATISTICS:
            continue
        present = ~np.isnan(series.values(name)[:, 0])
        groups = {
            group for group, units in zip(series.groups, present, strict=True) if 0 < series.count(units) < MIN_CLUSTERS
        }
        for column in term_columns(metric) if groups else ():
            few[column] = few.get(column, set()) | groups

    def known(frame: pl.DataFrame) -> pl.DataFrame:
        rows = frame.select("model", "condition").rows()
        return frame.with_columns(
            pl.when(pl.Series([row not in groups for row in rows], dtype=pl.Boolean)).then(column).alias(column)
            for column, groups in few.items()
        )

    repeats = None if table.repeats is None else known(table.repeats)
    return replace(table, values=known(table.values), repeats=repeats) if few else table


def hide_small_cells(table: ScoreTable, frame: pl.DataFrame, *, small_cells: bool) -> pl.DataFrame:
    """Return the frame of an analysis without the numbers of rows that rest on fewer than 5 clusters."""
    if not hides(table, small_cells=small_cells) or "clusters" not in frame.columns:
        return frame
    return suppressed(frame, pl.col("clusters") < MIN_CLUSTERS, f"{too_few(table)}, not shown")


def suppressed(
    frame: pl.DataFrame, rows: pl.Expr, reason: str, *, columns: Iterable[str] | None = None
) -> pl.DataFrame:
    """Return a frame without the numbers in some rows (in all or only some columns), and with the reason."""
    chosen = [
        name
        for name, kind in frame.schema.items()
        if kind.is_numeric() or kind == pl.Boolean or name in {"verdict", "note"}
    ]
    given = pl.when(rows)
    return frame.with_columns(
        *(given.then(None).otherwise(pl.col(name)).alias(name) for name in (chosen if columns is None else columns)),
        *([given.then(pl.lit(reason)).otherwise("reason").alias("reason")] if "reason" in frame.columns else []),
    )


def conceal_rated(
    table: ScoreTable, frame: pl.DataFrame, metric: str, ratings: Floats, *, small_cells: bool
) -> pl.DataFrame:
    """Return the frame of `debias` or `debias_pairs` without the numbers of rows that reveal a value of few clusters.

    A row shows the judge's mean over the rated units. Together with the mean over all units, it also reveals the mean
    over the other units. `ratings` (series, units) is nan where people gave no rating.
    """
    if not hides(table, small_cells=small_cells):
        return frame
    series = ScoreSeries(table)
    place = {group: position for position, group in enumerate(series.groups)}
    judged, rated = ~np.isnan(series.values(metric)[:, 0]), ~np.isnan(ratings)

    def tells_of_few(row: Mapping[str, Any]) -> bool:
        models = [row[name] for name in ("model", "model_a", "model_b") if name in row]
        of_all = row["condition"] not in table.conditions  # the row of several judges together
        sides = [
            [at for group, at in place.items() if group[0] == model and (of_all or group[1] == row["condition"])]
            for model in models
        ]
        units: Mask = np.logical_and.reduce([judged[side].any(axis=0) for side in sides], axis=0)
        chosen: Mask = np.logical_and.reduce([rated[side].any(axis=0) for side in sides], axis=0)
        return any(0 < series.count(part) < MIN_CLUSTERS for part in (units & chosen, units & ~chosen))

    hidden = pl.Series([tells_of_few(row) for row in frame.iter_rows(named=True)], dtype=pl.Boolean)
    why = f"the rated {pluralize(table.provenance.unit)}, or the others, are of {too_few(table)}, not shown"
    return suppressed(frame, pl.lit(hidden), why)


def conceal_strata(
    table: ScoreTable, trait: str, frame: pl.DataFrame, hidden: Mapping[tuple[str, str | None], set[ShownSet]]
) -> pl.DataFrame:
    """Return a trait's frame from `attune_bench.stats.subgroups`, without the values that must not be shown.

    `hidden` is what `hidden_strata` gives for the metric; where it is empty, everything is shown.
    """
    if not hidden:
        return frame
    rows = frame.select("model", "condition", "stratum").rows()

    def is_hidden(*, complement: bool) -> pl.Expr:
        found = [(trait, stratum, complement) in hidden[model, condition] for model, condition, stratum in rows]
        return pl.lit(pl.Series(found, dtype=pl.Boolean))

    if differences := [name for name in _DIFFERENCES if name in frame.columns]:
        why = "difference not shown, as a smaller stratum would follow"
        frame = suppressed(frame, is_hidden(complement=True), why, columns=differences)
    frame = hide_small_cells(table, frame, small_cells=False)
    return suppressed(frame, is_hidden(complement=False) & pl.col("n").is_not_null(), _FOLLOWS)


def hidden_strata(table: ScoreTable, metric: str, traits: Traits) -> dict[tuple[str, str | None], set[ShownSet]]:
    """Return by model and condition the strata and complements to suppress for a metric.

    Parameters
    ----------
    table : ScoreTable
        The scores. It is assumed that the value over all units of a model is shown.
    metric : str
        The metric shown.
    traits : mapping
        By trait, its strata and the units among which complements are taken.
    """
    series = ScoreSeries(table)
    sets = {
        trait: ({name: series.mask(set(units)) for name, units in strata.items()}, series.mask(set(known)))
        for trait, (strata, known) in traits.items()
    }
    present = ~np.isnan(series.values(metric)[:, 0])
    return {group: _hidden(series, whole, sets) for group, whole in zip(series.groups, present, strict=True)}


def few_strata(
    table: ScoreTable, units: Iterable[str], strata: Mapping[str, Iterable[str]], known: Iterable[str]
) -> set[str]:
    """Return the strata of a trait of which the number of clusters among some units must not be shown."""
    series = ScoreSeries(table)
    whole, masks = series.mask(set(units)), {name: series.mask(set(own)) for name, own in strata.items()}
    hidden = _hidden(series, whole, {"": (masks, series.mask(set(known)))})
    return {name for _, name, complement in hidden if not complement and series.count(whole & masks[name])}


def _hidden(series: ScoreSeries, whole: Mask, sets: Mapping[str, tuple[Mapping[str, Mask], Mask]]) -> set[ShownSet]:
    """Return the strata and complements to hide if the value over the units `whole` (units,) is shown."""

    def few(units: Mask) -> bool:
        return 0 < series.count(units) < MIN_CLUSTERS

    found: dict[ShownSet, Mask] = {}
    for trait, (strata, known) in sets.items():
        for name, units in strata.items():
            found[trait, name, False] = whole & units
            # Stratum and complement together are all units with a known value of the trait. If only few units have an
            # unknown value, their mean would follow from the whole.
            known_to_all = not few(whole & ~known) and series.count(whole & units) >= MIN_CLUSTERS
            found[trait, name, True] = whole & known & ~units & known_to_all
    sizes = {key: series.count(units) for key, units in found.items()}
    by_size = sorted(found, key=lambda key: (sizes[key], key))
    shown = {key: found[key] for key in by_size if sizes[key] >= MIN_CLUSTERS}

    def revealing() -> ShownSet | None:
        """Return a shown set that, with the other sets, reveals a value of few clusters; of several, a small one."""
        wholes = [whole, *(whole & sets[trait][1] for trait in {key[0] for key in shown if key[2]})]
        for trait in sets:
            strata = [key for key in shown if key[0] == trait and not key[2]]
            in_one = np.logical_or.reduce([shown[key] for key in strata], axis=0)
            if strata and any(few(units & ~in_one) for units in wholes):
                return strata[0]
        for key, units in shown.items():
            if any(not (units & ~other).any() and few(other & ~units) for other in (*wholes, *shown.values())):
                return key
        return None

    while (key := revealing()) is not None:
        del shown[key]
        if not key[2]:
            # Without the value of its stratum, a difference is not shown either.
            shown.pop((key[0], key[1], True), None)
    return set(found) - set(shown)


def shown_summary(table: ScoreTable, *, small_cells: bool, **options: Unpack[AnalysisKeywords]) -> pl.DataFrame:
    """Return the table of `attune_bench.stats.summary.summary` without the values that must not be shown."""
    known = without_few(table, small_cells=small_cells)
    return hide_small_cells(table, summary(known, **options), small_cells=small_cells)


class Stratum(NamedTuple):
    """A stratum of a trait: its units, and one row for each metric, model and condition."""

    trait: str
    name: str
    units: Sequence[str]
    rows: pl.DataFrame


def shown_strata(
    table: ScoreTable,
    traits: Sequence[str],
    *,
    data: Queryable | None = None,
    small_cells: bool = False,
    **options: Unpack[AnalysisKeywords],
) -> Iterator[Stratum]:
    """Yield the strata of traits without values that must not be shown, assuming that values over all units are shown.

    Parameters
    ----------
    table : ScoreTable
        The scores.
    traits : sequence of str
        As for `attune_bench.stats.subgroups.by`.
    data : Collection or Tables, optional
        The records of the units; by default the traits in the scores are used.
    small_cells : bool
        Whether to show values that rest on few people, or would give such values away.
    **options
        ``metrics`` (metrics that depend on all models' results are left out), ``resamples``, ``seed``,
        ``level``, ``unit``, ``weight``, ``interval``; see `AnalysisOptions`.
    """
    source = unit_traits(table) if data is None else data
    scored = set(table.units["unit"])
    given = {}
    for trait in traits:
        strata, known = strata_and_known(source, trait)
        given[trait] = {name: units for name, units in strata.items() if not scored.isdisjoint(units)}, known
    chosen = AnalysisOptions(**options)
    made_of_units = [name for name in chosen.names(table) if table.metrics[name].statistic in STATISTICS]
    names = [name for name in made_of_units if not chosen.lacks_weight(table, name)]
    if not names:
        return
    options["metrics"] = names
    hidden = {
        metric: hidden_strata(table, metric, given) if hides(table, small_cells=small_cells) else {} for metric in names
    }
    for trait, (strata, known) in given.items():
        frame = subgroups(table, strata, known=known, **options)
        rows = pl.concat(conceal_strata(table, trait, frame.filter(metric=metric), hidden[metric]) for metric in names)
        for name, units in strata.items():
            yield Stratum(trait, name, [unit for unit in units if unit in scored], rows.filter(stratum=name))


def withheld_reasons(table: ScoreTable, records: "ScoredRecords", *, small_cells: bool) -> "dict[Row, str]":
    """Return why the texts of each result and its unit are not shown, empty where they are.

    `attune_bench.report.transcripts` has the rules.
    """
    closed = {name: refusal(unit, needs_licence=True) for name, unit in records.units.items()}
    of_a_person = f"a transcript shows a single {table.provenance.unit} of a person (--small-cells)"

    def reason(row: "Row") -> str:
        result, unit = records.results[row], records.units.get(row[2])
        is_hidden = hides(table, small_cells=small_cells) and not is_generated(unit or result)
        # Without data the results are the data, and their licence has to be known.
        refused = refusal(result, needs_licence=unit is None) or closed.get(row[2], "")
        return refused or (of_a_person if is_hidden else "")

    return {row: reason(row) for row in table.values.select(KEYS).iter_rows()}


def terms_of(records: "ScoredRecords", rows: "Sequence[Row]") -> list[str]:
    """Say under what the texts are passed on, whom to credit, and by what a model can be found to have seen them."""
    made = [records.results[row] for row in rows]
    given = [records.units[name] for name in dict.fromkeys(row[2] for row in rows) if name in records.units]
    kind = records.given or records.made
    found = [f"Licence of the texts: {'; '.join(stated)}." for stated in [named_licences([*given, *made])] if stated]
    if credit := credits_of([*given, *made]):
        found.append(f"Credit: {'; '.join(credit)}.")
        found += [kind.request] if kind.request else []
    return [*found, f"Not for training: {'; '.join(canary(given or made).texts)}."]
