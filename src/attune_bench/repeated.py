"""Models that were asked several times: scores as means over the repeats, and the repeats beside them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import polars as pl

from attune_bench.score_table import KEYS, REPEAT, ScoreTable
from attune_metrics.metric import Metric

__all__ = ["as_means", "means_over_repeats", "note_on_repeats", "over_repeats"]

T = TypeVar("T", bound=ScoreTable)


def means_over_repeats(rows: pl.DataFrame, by: Sequence[str] = KEYS) -> pl.DataFrame:
    """Return the means of columns over the repeats in which they have a value, in the order of the first repeats.

    Examples
    --------
    >>> rows = [("m", None, "u", "1", 3.0), ("m", None, "u", "2", 4.0), ("m", None, "v", "1", None)]
    >>> frame = pl.DataFrame(rows, schema=[*KEYS, "repeat", "points"], orient="row")
    >>> means_over_repeats(frame)["points"].to_list()
    [3.5, None]
    """
    columns = [name for name in rows.columns if name != REPEAT]
    means = rows.group_by(by, maintain_order=True).agg(pl.exclude(*by, REPEAT).mean())
    return means.select(columns)


def as_means(metrics: Mapping[str, Metric]) -> dict[str, Metric]:
    """Return the entries of metrics of means over repeats: the mean of several trials is no trial."""
    return {
        name: replace(metric, statistic="mean") if metric.statistic == "share" else metric
        for name, metric in metrics.items()
    }


def note_on_repeats(unit: str) -> str:
    """Return the sentence that stands under tables of means over repeats."""
    return f"Values are means over the repeats of each {unit}; a repeat counts nowhere as another {unit}."


def over_repeats(table: T) -> T:
    """Return scores of results that name their repeat as means over the repeats.

    Parameters
    ----------
    table : ScoreTable
        With a row a repeat in `values`, and in `variants` where there are any: a column ``repeat`` has its number as
        text. Where nothing was asked twice, the scores are those of models that were asked once.

    Returns
    -------
    ScoreTable
        Without `detail` where there are several repeats, as no value is one result's.
    """
    variants = table.variants
    if table.values.select(KEYS).is_unique().all():
        once = None if variants is None else variants.drop(REPEAT)
        return replace(table, values=table.values.drop(REPEAT), variants=once)
    if variants is not None:
        means = means_over_repeats(variants, [*KEYS, *table.choices])
        variants = pl.concat([means, variants], how="diagonal").select(variants.columns)
    joined = replace(
        table,
        values=means_over_repeats(table.values),
        variants=variants,
        repeats=table.values,
        detail=None,
        metrics=as_means(table.metrics),
    )
    return joined.note(note_on_repeats(table.provenance.unit))
