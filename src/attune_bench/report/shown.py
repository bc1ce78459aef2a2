"""Metrics, also in the strata of traits, without what must not be shown of few people: for what leaves the library."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import polars as pl
from typing_extensions import Unpack

from attune_bench.report.suppression import conceal, conceal_strata, hidden_strata, hides, without_few
from attune_bench.score_table import ScoreTable
from attune_bench.stats.options import AnalysisKeywords, AnalysisOptions
from attune_bench.stats.subgroups import subgroups
from attune_bench.stats.summary import summary
from attune_bench.stats.traits import strata_and_known, unit_traits
from attune_data.query import Queryable
from attune_metrics.stats.bootstrap import STATISTICS

__all__ = ["Stratum", "shown_strata", "shown_summary"]


def shown_summary(table: ScoreTable, *, small_cells: bool, **options: Unpack[AnalysisKeywords]) -> pl.DataFrame:
    """Return what `attune_bench.stats.summary.summary` gives, without what must not be shown."""
    known = without_few(table, small_cells=small_cells)
    return conceal(table, summary(known, **options), small_cells=small_cells)


class Stratum(NamedTuple):
    """A stratum of a trait: its units, and a row a metric, model and condition."""

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
    """Yield the strata of traits; the values of all units are taken to be shown too.

    Parameters
    ----------
    table : ScoreTable
        The scores.
    traits : sequence of str
        As for `attune_bench.stats.subgroups.by`.
    data : Collection or Tables, optional
        The units' records; by default the traits that the scores have of their units.
    small_cells : bool
        Whether to show values that rest on few people, or would give such values away.
    **options
        ``metrics``, of which those that depend on all models' results are left out, ``resamples``, ``seed``,
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
