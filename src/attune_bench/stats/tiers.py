"""Tiers of models that are ranked and compared already: the ranking, cut where the paired test tells models apart.

`attune_metrics.stats.ranking` defines them. Two models are told apart where their Holm-corrected p-value, over all
pairs of one condition, is below 0.05, as in `attune_bench.stats.compare`; two that cannot be compared are not. Nor are
two of whom the better on the units that both have is ranked below the other: the ranking is by all units of each model,
and no tier may say that the better one is worse.
"""

import warnings
from collections.abc import Sequence

import numpy as np
import polars as pl

from attune_bench.scores.table import ScoreTable
from attune_data.text import listed
from attune_metrics.stats.ranking import tier_spans
from attune_metrics.stats.ranking import tiers as tiers_of

_MOST_NAMED = 3


def in_tiers(table: ScoreTable, ranks: pl.DataFrame, pairs: pl.DataFrame) -> pl.DataFrame:
    """Return ranked models in their tiers, where they are ranked and compared already.

    Parameters
    ----------
    table : ScoreTable
        The scores.
    ranks : polars.DataFrame
        A row a model and condition, of each condition the best first, with the columns ``condition, model, rank``; a
        model without a rank is in no tier.
    pairs : polars.DataFrame
        Of the primary metric, as from `attune_bench.stats.compare.compare_all`.

    Returns
    -------
    polars.DataFrame
        `ranks`, then ``tier, tier_first, tier_last``, as in `Tiers.models`.

    Warns
    -----
    UserWarning
        As `attune_bench.stats.rank.tiers`.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_bench.stats.compare import compare_all
    >>> from attune_bench.stats.rank import rank
    >>> from attune_data import load, load_runs
    >>> scores = score(load("demo"), load_runs("demo"))
    >>> ranks = rank(scores, resamples=200).select("condition", "model", "rank")
    >>> pairs = compare_all(scores, metrics=[scores.primary], resamples=200)
    >>> in_tiers(scores, ranks, pairs)["tier"].to_list()
    [1, 2]
    """
    sign = table.metric(table.primary).sign
    parts, against, without = [], [], []
    for condition in table.conditions:
        here = pl.col("condition").eq_missing(pl.lit(condition))
        models = ranks.filter(here, pl.col("rank").is_not_null())["model"].to_list()
        place = {model: position for position, model in enumerate(models)}
        apart = np.zeros((len(models), len(models)), dtype=np.bool_)
        compared = pairs.filter(here, pl.col("model_a", "model_b").is_in(models))
        told = compared.filter("significant").select("model_a", "model_b", "difference")
        for one, other, difference in told.iter_rows():
            better, worse = (one, other) if sign * difference > 0 else (other, one)
            if place[better] < place[worse]:
                apart[place[better], place[worse]] = apart[place[worse], place[better]] = True
            else:
                against.append(f"{better} below {worse}")
        without += [f"{a} and {b}" for a, b in compared.filter(n=0).select("model_a", "model_b").iter_rows()]
        spans = tier_spans(apart)
        frame = {
            "condition": [condition] * len(models),
            "model": models,
            "tier": tiers_of(apart),
            "tier_first": spans[:, 0],
            "tier_last": spans[:, 1],
        }
        schema = {"condition": pl.String, "model": pl.String} | dict.fromkeys(
            ("tier", "tier_first", "tier_last"), pl.Int64
        )
        parts.append(pl.DataFrame(frame, schema=schema))
    _warn(against, without, table.provenance.unit)
    keys = ["condition", "model"]
    return ranks.join(pl.concat(parts), on=keys, how="left", nulls_equal=True, maintain_order="left")


def _warn(against: Sequence[str], without: Sequence[str], unit: str) -> None:
    """Warn of pairs of models whose ranks say nothing of which is better, as the models were ranked by other units."""
    if against:
        warnings.warn(
            f"ranked below a model that is worse on the {unit}s that both have: {listed(against, _MOST_NAMED)}; each "
            "model is ranked by all of its own, and no tier parts such two",
            stacklevel=4,
        )
    if without:
        warnings.warn(
            f"no {unit} in common: {listed(without, _MOST_NAMED)}; the ranks of such two do not say which is better",
            stacklevel=4,
        )
