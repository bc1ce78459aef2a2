"""Scores as flat tables that any tool opens: the summary, subgroups, the score of every unit, what the metrics are."""

from collections.abc import Sequence

import polars as pl
from typing_extensions import Unpack

from attune_bench.group_settings import kind_of_group
from attune_bench.long_table import long_table
from attune_bench.report.shown import shown_strata, shown_summary
from attune_bench.report.suppression import hides
from attune_bench.score_table import ScoreTable
from attune_bench.stats.options import AnalysisKeywords
from attune_bench.stats.summary import metrics_per_unit
from attune_data.query import Queryable

__all__ = ["flat_tables"]


def flat_tables(
    table: ScoreTable,
    *,
    by: Sequence[str] = (),
    data: Queryable | None = None,
    small_cells: bool = False,
    **options: Unpack[AnalysisKeywords],
) -> dict[str, pl.DataFrame]:
    """Return scores as tables without nested columns.

    Parameters
    ----------
    table, by, data, small_cells, **options
        As for `attune_bench.adapters.eee.eee_records`.

    Returns
    -------
    dict of str to polars.DataFrame
        ``summary``, as of `attune_bench.stats.summary.summary`; with `by` also ``subgroups``, whose first columns are
        trait and stratum; ``scores``, where a metric has one value for each unit, as of
        `attune_bench.long_table.long_table`, which `attune_bench.Scores.from_table` reads: where clusters are people,
        only with `small_cells`; ``models``, a row a model with its ``kind``: ``model``, ``person`` or ``baseline``,
        and whether any of what was scored is invented, ``synthetic``; ``metrics``, a row a metric.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> scores = score(load("demo"), load_runs("demo"))
    >>> tables = flat_tables(scores, small_cells=True, metrics=["composite_score"], resamples=200)
    >>> {name: frame.height for name, frame in tables.items()}
    {'summary': 2, 'scores': 80, 'models': 2, 'metrics': 1}
    """
    found = {"summary": shown_summary(table, small_cells=small_cells, **options)}
    names = found["summary"]["metric"].unique(maintain_order=True).to_list()
    if by:
        parts = shown_strata(table, by, data=data, small_cells=small_cells, **options)
        found["subgroups"] = pl.concat(part.rows.select(pl.lit(part.trait).alias("trait"), pl.all()) for part in parts)
    if not hides(table, small_cells=small_cells) and any(name in names for name in metrics_per_unit(table)):
        found["scores"] = long_table(table, names)
    found["models"] = pl.DataFrame(
        {"model": table.models, "kind": [kind_of_group(model) for model in table.models]},
        schema={"model": pl.String, "kind": pl.String},
    ).with_columns(synthetic=pl.lit(table.provenance.synthetic))
    metrics = [table.metrics[name] for name in names]
    found["metrics"] = pl.DataFrame(
        {
            "metric": names,
            "label": [one.label for one in metrics],
            "low": [float(one.low) for one in metrics],
            "high": [float(one.high) for one in metrics],
            "higher_is_better": [one.higher_is_better for one in metrics],
            "statistic": [one.statistic for one in metrics],
            "source": [one.source for one in metrics],
        }
    )
    return found
