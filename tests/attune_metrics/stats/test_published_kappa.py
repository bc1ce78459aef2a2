"""Quadratic-weighted kappa of experts and crowd, against the published table of `tests/golden/empathy`."""

from pathlib import Path

import polars as pl
import pytest

from attune_metrics.stats.agreement import KappaDistances, cohen_kappa

EMPATHY = Path(__file__).parents[2] / "golden" / "empathy"
EXPERTS = ["expert1", "expert2", "expert3"]


def unlike(by: KappaDistances, pairs: pl.DataFrame) -> list[tuple[str, str, str]]:
    """Return the data set, dimension and first rater of each pair whose kappa is not the published one."""
    ratings = pl.read_parquet(EMPATHY / "ratings.parquet").pivot(
        on="rater", index=["dataset", "dimension", "item"], values="rating"
    )
    ratings = ratings.with_columns(pl.concat_list(EXPERTS).list.median().alias("experts"))
    found = []
    for dataset, dimension, one, other, published in pairs.rows():
        of_pair = ratings.filter(dataset=dataset, dimension=dimension)
        kappa = cohen_kappa(of_pair[one].to_list(), of_pair[other].to_list(), weights="quadratic", by=by)
        # Published to two decimals; the 1e-9 is for halves.
        if abs(kappa - published) > 0.005 + 1e-9:
            found.append((dataset, dimension, one))
    return found


@pytest.fixture
def published() -> pl.DataFrame:
    return pl.read_csv(EMPATHY / "kappa_expected.csv")


def test_by_rank_all_pairs_of_humans(published: pl.DataFrame) -> None:
    humans = published.filter(~pl.any_horizontal(pl.col("rater_a", "rater_b") == "llm"))
    assert humans.height == 84
    assert unlike("rank", humans) == []


def test_by_value_all_pairs_of_experts_but_one(published: pl.DataFrame) -> None:
    experts = published.filter(pl.all_horizontal(pl.col("rater_a", "rater_b").is_in(EXPERTS)))
    assert experts.height == 63
    # These two gave 1, 2, 3 and once 5: by value 3 and 5 are two apart, by rank one.
    assert unlike("value", experts) == [("Lend an Ear", "self_oriented", "expert1")]
