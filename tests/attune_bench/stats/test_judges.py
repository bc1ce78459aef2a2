"""Judges against experts from a table: published ratings, the table's own rules, what of a table is refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from attune_bench import Scores
from attune_bench.stats.judges import beside_people, compare_judges, read_ratings
from attune_data.issues import SourceError
from attune_metrics import MetricInputError
from attune_metrics.stats.bootstrap import draw_resamples
from attune_metrics.stats.judges import judge_reliability

EMPATHY = Path(__file__).parents[2] / "golden" / "empathy"
EXPERTS = ["expert1", "expert2", "expert3"]
WHO: Any = {"experts": ["ann", "bob"], "judges": ["model"], "resamples": 100}


def small(**changes: Any) -> pl.DataFrame:
    """Return ratings of eight items by two experts, a judge and somebody else."""
    rated = {"ann": [1, 2, 3, 4, 5, 2, 1, 4], "bob": [1, 3, 2, 5, 4, 2, 2, 3], "model": [1, 2, 3, 4, 4, 2, 1, 4]}
    rated["eve"] = [1] * 8
    rows = [(f"i{item}", rater, "warmth", one) for rater in rated for item, one in enumerate(rated[rater])]
    frame = pl.DataFrame(rows, schema=["item", "rater", "dimension", "rating"], orient="row")
    return frame.with_columns(**changes)


@pytest.mark.slow
def test_published_ratings() -> None:
    found = compare_judges(
        EMPATHY / "ratings.parquet", experts=EXPERTS, judges=["gpt", "claude", "gemini"], by="rank", resamples=100
    )
    assert (found.judges.height, found.pairs.height, found.unused) == (21 * 3, 21 * 15, ("crowd",))
    published = pl.read_csv(EMPATHY / "kappa_expected.csv")
    ours = {
        (dataset, dimension, frozenset([one, other])): kappa
        for dataset, dimension, one, other, kappa in found.pairs.select(
            "dataset", "dimension", "rater_a", "rater_b", "kappa"
        ).rows()
    }
    experts = [row for row in published.rows() if {row[2], row[3]} <= {*EXPERTS}]
    assert len(experts) == 63
    for dataset, dimension, one, other, kappa in experts:
        assert ours[dataset, dimension, frozenset([one, other])] == pytest.approx(kappa, abs=0.005 + 1e-9)
    # Of all 63 verdicts; nothing is as close without a margin.
    assert {*found.judges["verdict"]} == {"closer", "less close", "undecided"}


def test_raters_who_are_not_used_change_nothing() -> None:
    # 600 levels, and 600 items that nobody else rated.
    rows = [(f"x{item:03}", "eve", "warmth", item / 7) for item in range(600)]
    others = pl.DataFrame(rows, schema=["item", "rater", "dimension", "rating"], orient="row")
    alone, beside = (
        compare_judges(frame, **WHO) for frame in (small(), pl.concat([small(), others], how="vertical_relaxed"))
    )
    assert beside.judges.equals(alone.judges)
    assert beside.pairs.equals(alone.pairs)


def test_the_table_is_that_of_the_function() -> None:
    frame = small(cluster=pl.concat_str(pl.lit("p"), pl.col("item").str.slice(1).cast(pl.Int64) // 2))
    found = compare_judges(frame, **WHO, seed=4, level=0.9, weights="linear")
    labels = [f"p{item // 2}" for item in range(8)]
    table = frame.pivot(on="rater", index="item", values="rating").select("ann", "bob", "model").to_numpy()
    drawn = draw_resamples(labels, n_resamples=100, seed=4)
    direct = judge_reliability(table, [0, 1], drawn, level=0.9, weights="linear")
    row, judge = found.judges.row(0, named=True), direct.judges[0]
    assert (row["n"], row["clusters"]) == (8, 4)
    assert row["difference"] == pytest.approx(judge.difference.estimate, abs=1e-12)
    # Four clusters are too few for an interval, hence for a verdict.
    assert (row["low"], row["verdict"], row["reason"]) == (None, None, "fewer than 5 items, or clusters of them")
    assert row["shift"] == pytest.approx(judge.shift.estimate, abs=1e-12)
    # Between the experts: (0 + 1 - 1 + 1 - 1 + 0 + 1 - 1) / 8 = 0; there is no second judge.
    assert (row["expert_shift"], row["judge_shift"]) == (0, None)
    assert found.pairs["kappa"].to_list() == pytest.approx([pair.kappa.estimate for pair in direct.pairs], abs=1e-12)
    assert found.unused == ("eve",)


def test_the_largest_shifts_have_no_sign() -> None:
    others = small().filter(rater="model").with_columns(rating=pl.col("rating") - 2, rater=pl.lit("other"))
    found = compare_judges(pl.concat([small(), others]), **{**WHO, "judges": ["model", "other"]}).judges
    assert found["judge_shift"].to_list() == [2, 2]


def test_a_row_without_a_rating_is_not_rated(tmp_path: Path) -> None:
    rows = ["item,rater,dimension,rating", "01,ann,warmth,", "1,ann,warmth,2", "01,bob,warmth,3", "1,bob,warmth,nan"]
    path = tmp_path / "ratings.csv"
    path.write_text("\n".join(rows), encoding="utf-8")
    [one] = read_ratings(path).dimensions
    # 01 and 1 are two items.
    assert str(one.ratings.tolist()) == "[[nan, 3.0], [2.0, nan]]"
    assert (one.raters, one.dataset) == (("ann", "bob"), None)


def test_a_dimension_that_few_experts_rated() -> None:
    cold = small().filter(pl.col("rater") != "bob").with_columns(dimension=pl.lit("cold"))
    alone = small().filter(pl.col("rater") != "model").with_columns(dimension=pl.lit("alone"))
    found = compare_judges(pl.concat([small(), cold, alone]), **WHO)
    assert found.judges.select("dimension", "reason").rows() == [
        ("warmth", None),
        ("cold", "one expert rated this; at least two are needed"),
    ]
    assert {*found.pairs["dimension"]} == {"warmth"}


def test_ratings_with_decimal_commas_and_undefined_ratings_are_read() -> None:
    halves = small().with_columns(pl.col("rating") + 0.5)
    written = pl.col("rating").cast(pl.String).str.replace(".", ",", literal=True)
    missing = halves.head(1).with_columns(item=pl.lit("i99"), rating=pl.lit("n.a."))
    found = compare_judges(pl.concat([halves.with_columns(written), missing]), **WHO)
    assert found.judges.equals(compare_judges(halves, **WHO).judges)


def test_an_undefined_kappa_has_a_reason() -> None:
    constant = small().with_columns(rating=pl.when(rater="model").then("rating").otherwise(3))
    found = compare_judges(constant, **WHO)
    row = found.judges.row(0, named=True)
    assert (row["among_experts"], row["difference"], row["verdict"], row["with_experts"]) == (None, None, None, 0)
    assert row["reason"] == "a kappa is undefined: two raters have no item in common, or give all the same rating"
    assert row["shift"] == pytest.approx(-0.375, abs=1e-12)  # 21 / 8 - 3


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (lambda: small().drop("item"), "the ratings: no column 'item', or 'unit'; the table has rater, dimension"),
        (lambda: small().drop("rater"), "the ratings: no column 'rater', or 'judge'; the table has item, dimension"),
        (lambda: small(rating=pl.lit("three")), "row 1: rating 'three' of dimension 'warmth' is no number; leave it"),
        (lambda: small(rating=pl.lit("3,500")), "row 1: rating '3,500' of dimension 'warmth' has a comma: write 3500"),
        (lambda: small(rating=pl.lit(float("inf"))), "row 1: rating inf of dimension 'warmth' is infinite; leave it"),
        (lambda: small(item=pl.lit(" ")), "row 1: item is empty or NA; every row names item, dimension and rater"),
        (
            lambda: pl.concat([small(), small()]),
            "rows 1 and 33: both are item 'i0', dimension 'warmth', rater 'ann', with the values 1.0 and 1.0; leave",
        ),
        (
            lambda: small(cluster=pl.col("rater")),
            "rows 1 and 9: cluster of item 'i0' is 'ann' and 'bob'; an item is in one cluster",
        ),
        (lambda: small(rating=pl.lit(None)), "the ratings: no rating; fill in the column 'rating'"),
        (lambda: small(rater=pl.col("rater").replace("ann", "anne")), "no rater 'ann'; did you mean 'anne'?"),
    ],
)  # fmt: skip
def test_refused(frame: Callable[[], pl.DataFrame], message: str) -> None:
    with pytest.raises(MetricInputError) as refused:
        compare_judges(frame(), **WHO)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"experts": ["ann"]}, "name at least two experts, .* and one judge; the raters are ann, bob, eve, model"),
        ({"judges": []}, "name at least two experts"),
        ({"judges": ["ann"]}, "'ann' is named twice; a rater is an expert or a judge, once"),
        ({"margin": 3}, "margin 3 is of kappa"),
        ({"resamples": 0}, "n_resamples 0 is not a whole number"),
    ],
)
def test_refused_options(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(MetricInputError, match=message):
        compare_judges(small(), **{**WHO, **changes})


def test_a_continuous_scale_is_refused() -> None:
    rows = [(f"i{item}", rater, "warmth", item / 7) for rater in ("ann", "bob", "model") for item in range(501)]
    frame = pl.DataFrame(rows, schema=["item", "rater", "dimension", "rating"], orient="row")
    with pytest.raises(
        MetricInputError, match="dimension 'warmth' has 501 different ratings; kappa is of a scale with"
    ):
        compare_judges(frame, **WHO)


def test_a_file_that_is_no_table() -> None:
    with pytest.raises(SourceError, match=r"expected a name in \.csv, \.tsv, \.xlsx, \.jsonl or \.parquet"):
        read_ratings(EMPATHY / "NOTICE.md")


@pytest.mark.slow
def test_what_the_page_says_of_published_ratings() -> None:
    judges = ["gpt", "claude", "gemini"]
    found = compare_judges(EMPATHY / "ratings.parquet", experts=EXPERTS, judges=judges, margin=0.2).judges
    assert dict(found["verdict"].value_counts().rows()) == {
        "closer": 5,
        "less close": 17,
        "undecided": 23,
        "as close": 18,
    }
    verdicts = found.group_by("dataset", "verdict").len()
    assert verdicts.filter(dataset="Perceived Empathy", verdict="less close")["len"].item() == 12
    assert verdicts.filter(dataset="Lend an Ear", verdict="closer")["len"].item() == 3
    assert found.filter(pl.col("shift").abs() > pl.col("expert_shift")).height == 30
    assert found["judge_shift"].max() == pytest.approx(1.1, abs=1e-12)
    page = (EMPATHY.parents[2] / "docs" / "judges.md").read_text(encoding="utf-8")
    assert "Of 63 verdicts 5 are closer, 17 less close and 41 undecided" in page
    assert "with a margin of 0.2, 18 of the undecided are as close" in page


def test_judges_are_set_beside_people() -> None:
    truth = [1, 2, 3, 4, 5, 2, 1, 4]
    given = {
        "human": truth, "same": truth, "negative": [6 - one for one in truth], "high": [one + 1 for one in truth],
        "constant": [3] * 8, "few": truth[:3], "one": truth[:1],
    }  # fmt: skip
    rows = [(f"q{item}", "m", rater, "w", one) for rater, of in given.items() for item, one in enumerate(of)]
    columns = ["item", "model", "rater", "dimension", "rating"]
    scores = Scores.from_table(pl.DataFrame([*rows, ("q9", "m", "alone", "w", 2)], schema=columns, orient="row"))
    found = {row["judge"]: row for row in beside_people(scores, "human", resamples=200).to_dicts()}
    assert {name: (row["shift"], row["correlation"], row["n"]) for name, row in found.items()} == {
        "same": (0, 1, 8), "negative": (0.5, -1, 8), "high": (1, 1, 8), "constant": (0.25, None, 8),
        "alone": (None, None, 0), "few": (0, 1, 3), "one": (0, None, 1),
    }  # fmt: skip
    assert (found["high"]["low"], found["high"]["high"]) == (None, None)  # the same difference in each item
    assert found["negative"]["low"] < 0.5 < found["negative"]["high"]
    assert found["constant"]["reason"] == "no correlation: one of the two always gives the same rating"
    assert found["alone"]["reason"] == "no item is rated by both"
    assert found["few"]["reason"] == "fewer than 5 items"
    assert found["one"]["reason"] == (
        "no interval of the shift: fewer than 5 items; no correlation: the two have a single answer in common"
    )
    assert found["high"]["reason"] == "no variation among items"  # nor of the correlation


def test_answers_to_an_item_are_drawn_together_beside_people() -> None:
    rows = [
        (f"q{item}", model, rater, "w", item % 5 + (rater == "gpt") * (item % 3))
        for item in range(12) for model in ("a", "b", "c") for rater in ("human", "gpt")
    ]  # fmt: skip
    table = pl.DataFrame(rows, schema=["item", "model", "rater", "dimension", "rating"], orient="row")
    three, one = (
        beside_people(Scores.from_table(part), "human", resamples=500) for part in (table, table.filter(model="a"))
    )
    # Models that answer alike say nothing more than one of them.
    numbers = [name for name in three.columns if name not in ("metric", "judge", "n", "reason")]
    assert three.select(numbers).row(0) == pytest.approx(one.select(numbers).row(0))
    assert (three["n"].item(), one["n"].item()) == (36, 12)
