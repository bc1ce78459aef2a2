"""Where the models stand by the primary metric: value, rank, tier and verdict, from analyses that a page has made."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from attune_bench.group_settings import kind_of_group
from attune_bench.report.columns import Row
from attune_bench.report.tables import sorted_groups
from attune_bench.score_table import ScoreTable
from attune_bench.stats.options import ALPHA, AnalysisOptions
from attune_bench.stats.tiers import in_tiers

__all__ = ["TIERS", "Verdicts", "called", "numbers", "rows_under", "standing", "verdicts"]

TIERS = (
    "A tier begins with its best model and goes on to the last before the first that is told apart from that one by "
    "the paired test, Holm-corrected over all pairs; members of a tier need not be equal, and a model may not be told "
    "apart from models of the next tier, which is shown beside it."
)
"""What tiers are, in one sentence, for pages and for whoever reads ``board.json``."""

Group = tuple[str, str | None]


def numbers(table: ScoreTable, options: AnalysisOptions, hidden: Sequence[Group] = ()) -> dict[Group, int]:
    """Return by model and condition its number on the page: its place from the best; those that are hidden last."""
    order = sorted_groups(table, options)
    last = sorted((group for group in order if group in hidden), key=str)
    return {group: place for place, group in enumerate([*(one for one in order if one not in hidden), *last], start=1)}


def standing(
    table: ScoreTable, summary: pl.DataFrame, pairs: pl.DataFrame, ranks: pl.DataFrame | None, order: Sequence[Group]
) -> pl.DataFrame:
    """Return every model under every condition with its value, rank and tier, the best of each condition first.

    Parameters
    ----------
    table : ScoreTable
        The scores.
    summary, pairs : polars.DataFrame
        Of the primary metric, without what must not be shown: as from `attune_bench.stats.summary.summary` and
        `attune_bench.stats.comparison.compare_all`.
    ranks : polars.DataFrame, optional
        As from `attune_bench.stats.ranking.rank`; without them ranks have no interval.
    order : sequence of (str, str or None)
        The models and conditions from the best.

    Returns
    -------
    polars.DataFrame
        The columns of `summary`, then ``rank, rank_low, rank_high, tier, tier_first, tier_last``; without a rank and a
        tier where a model has no value, or no direction of the metric is better, and without a tier where no two models
        can be compared.
    """
    place = pl.DataFrame(
        [(model, condition, position) for position, (model, condition) in enumerate(order)],
        schema={"model": pl.String, "condition": pl.String, "place": pl.Int64},
        orient="row",
    )
    keys = ["model", "condition"]
    rows = summary.join(place, on=keys, nulls_equal=True).sort("place").drop("place")
    higher = table.metric(table.primary).higher_is_better
    if higher is None:
        found = rows.with_columns(pl.lit(None, pl.Float64).alias("rank"))
    else:
        found = rows.with_columns(
            pl.col("value").rank("average", descending=higher).over("condition").cast(pl.Float64).alias("rank")
        )
    ends = ("rank_low", "rank_high")
    if ranks is None:
        found = found.with_columns(pl.lit(None, pl.Float64).alias(name) for name in ends)
    else:
        of_ranks = ranks.select(*keys, pl.col("low").alias(ends[0]), pl.col("high").alias(ends[1]))
        found = found.join(of_ranks, on=keys, how="left", nulls_equal=True, maintain_order="left")
    if pairs.is_empty() or higher is None:
        return found.with_columns(pl.lit(None, pl.Int64).alias(f"tier{end}") for end in ("", "_first", "_last"))
    return in_tiers(table, found, pairs)


class Verdicts(NamedTuple):
    """What the paired test says of a model, the leader, against each other one.

    Attributes
    ----------
    worse, better, same, unknown : list of str
        The models that are told apart from it as worse, or as better on the units of both; that are not told apart from
        it; and for which there is no comparison, or none that may be shown.
    powerless : bool
        Whether no comparison could have told two models apart, whatever the difference.
    """

    worse: list[str]
    better: list[str]
    same: list[str]
    unknown: list[str]
    powerless: bool


def verdicts(leader: str, others: Sequence[str], pairs: pl.DataFrame, sign: int) -> Verdicts:
    """Return the verdicts of one model against others.

    Parameters
    ----------
    leader : str
        The model.
    others : sequence of str
        The others, in the order in which they are named.
    pairs : polars.DataFrame
        The comparisons of one condition, with the size of their ``family``.
    sign : int
        1 where higher values are better, -1 where lower ones are.

    Examples
    --------
    >>> rows = {"model_a": ["a", "a"], "model_b": ["b", "c"], "difference": [2.0, 1.0], "p": [0.01, 0.2],
    ...         "p_min": [0.001, 0.001], "significant": [True, False], "family": [2, 2]}
    >>> found = verdicts("a", ["b", "c", "d"], pl.DataFrame(rows), 1)
    >>> found.worse, found.same, found.unknown, found.powerless
    (['b'], ['c'], ['d'], False)
    """
    known: dict[str, Row] = {}
    for row in pairs.iter_rows(named=True):
        for one, other, side in ((row["model_a"], row["model_b"], 1), (row["model_b"], row["model_a"], -1)):
            if one == leader:
                known[other] = {**row, "side": side}
    found: Mapping[str, list[str]] = {name: [] for name in ("worse", "better", "same", "unknown")}
    for other in others:
        found[_verdict(known.get(other), sign)].append(other)
    if pairs.is_empty():
        return Verdicts(**found, powerless=False)
    family, smallest = pairs["family"][0], pairs["p_min"].min()
    return Verdicts(**found, powerless=isinstance(smallest, float) and smallest * family >= ALPHA)


def _verdict(row: Row | None, sign: int) -> str:
    if row is None or row["significant"] is None:
        return "unknown"
    if not row["significant"]:
        return "same"
    return "worse" if sign * row["side"] * row["difference"] > 0 else "better"


def called(model: str) -> str:
    """Return a name with what it is of, where that is no model."""
    kind = kind_of_group(model)
    return model if kind == "model" else f"{model} ({kind})"


def under(frame: pl.DataFrame, condition: str | None) -> pl.DataFrame:
    """Return the part of a frame of one condition."""
    return frame.filter(pl.col("condition").eq_missing(pl.lit(condition)))


def rows_under(frame: pl.DataFrame, condition: str | None) -> list[dict[str, Any]]:
    """Return the rows of one condition."""
    return under(frame, condition).to_dicts()
