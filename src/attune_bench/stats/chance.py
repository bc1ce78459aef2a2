"""What random answers score on average on the units that models were scored on."""

from statistics import fmean

import polars as pl

from attune_bench.score_table import CHANCE, ScoreTable

__all__ = ["chance_of_units", "chance_under"]


def chance_of_units(table: ScoreTable) -> pl.DataFrame:
    """Return what random answers score on average, by condition and metric, where the units say it.

    Parameters
    ----------
    table : ScoreTable
        The scores. `Scores.units` has a column ``chance.<metric>`` for each metric with a known expected value.

    Returns
    -------
    polars.DataFrame
        ``condition, metric, chance, n, clusters``: the mean over the ``n`` units of the condition for which the metric
        is defined, in so many ``clusters``. Empty where the units do not say it.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> scores = score(load("demo"), load_runs("demo"))
    >>> chance_of_units(scores).row(by_predicate=pl.col("metric") == "avg_pairwise_accuracy")
    ('default', 'avg_pairwise_accuracy', 0.5, 40, 24)
    """
    columns = {name: column for name in table.metrics if (column := f"{CHANCE}{name}") in table.units.columns}
    of_condition = table.values.select("condition", "unit").unique().join(table.units, on="unit").sort("unit")
    rows = []
    for condition in table.conditions:
        units = of_condition.filter(pl.col("condition").eq_missing(pl.lit(condition)))
        for name, column in columns.items():
            known = units.drop_nulls(column)
            if known.height:
                clusters = known["cluster"].drop_nulls().n_unique() + known["cluster"].null_count()
                rows.append((condition, name, fmean(known[column]), known.height, clusters))
    schema = {"condition": pl.String, "metric": pl.String, "chance": pl.Float64, "n": pl.Int64, "clusters": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def chance_under(table: ScoreTable, condition: str | None) -> dict[str, float]:
    """Return what random answers score on average under one condition, by metric; empty where the units do not say it.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> chance_under(score(load("demo"), load_runs("demo")), "default")["avg_pairwise_accuracy"]
    0.5
    """
    found = chance_of_units(table).filter(pl.col("condition").eq_missing(pl.lit(condition)))
    return dict(found.select("metric", "chance").rows())
