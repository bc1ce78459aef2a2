"""Ratings by several raters: what is read as scores and by `judge agree`, what is left out, what is refused."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from attune_bench import Scores
from attune_bench.stats.judges import read_ratings
from attune_metrics import MetricInputError

COLUMNS = ("item", "responder", "rater", "dimension", "rating")
LONG = {"item": "unit", "responder": "model", "rater": "condition", "dimension": "metric", "rating": "value"}
RATERS = {"ann": 0, "gpt": 1, "claude": 2}
SCALE = {"warmth": {"low": 1, "high": 5}, "safety": {"low": 1, "high": 5}}


def ratings(raters: dict[str, int] = RATERS, items: int = 6) -> pl.DataFrame:
    """Return ratings of two responders on two dimensions, 1 to 5; a rater's shift is added to ann's ratings."""
    rows = [
        (f"i{item}", responder, rater, dimension, 1 + (item + len(responder + dimension)) % 3 + shift)
        for item in range(items)
        for responder in ("therapist", "model")
        for rater, shift in raters.items()
        for dimension in SCALE
    ]
    return pl.DataFrame(rows, schema=[*COLUMNS], orient="row", schema_overrides={"rating": pl.Float64})


def without(table: pl.DataFrame, rater: str, value: float) -> pl.DataFrame:
    """Return the table with another value in the first row of a rater."""
    first = pl.int_range(pl.len()) == (table["rater"] == rater).arg_true()[0]
    return table.with_columns(rating=pl.when(first).then(value).otherwise("rating"))


# What is read.


def test_the_rater_whose_name_has_only_words_for_people_is_the_reference() -> None:
    read = Scores.from_table(ratings({"claude": 1, "gpt": 2, "people": 0}))
    assert read.conditions == ("people", "claude", "gpt")
    assert Scores.from_table(ratings({"human 1": 1, "human 2": 2})).provenance.reference is None
    for judge in ("spokesperson", "mixture-of-experts", "gpt-expert-prompt", "human-aligned-judge", "7"):
        assert Scores.from_table(ratings({judge: 1, "gpt": 2})).provenance.reference is None
        assert Scores.from_table(ratings({judge: 1, "Human_Experts 2": 2})).provenance.reference == "Human_Experts 2"
    assert Scores.from_table(ratings(), about={"reference": "gpt"}).conditions == ("gpt", "ann", "claude")
    with pytest.raises(MetricInputError, match="reference: no condition 'gtp'; did you mean 'gpt'"):
        Scores.from_table(ratings(), about={"reference": "gtp"})


def test_a_rater_is_a_condition() -> None:
    read = Scores.from_table(ratings(), metrics=SCALE)
    assert (read.provenance.condition, read.provenance.unit, read.provenance.cluster) == ("rater", "item", "item")
    assert read.groups == tuple((model, rater) for model in ("model", "therapist") for rater in sorted(RATERS))
    long = Scores.from_table(ratings().rename(LONG), metrics=SCALE, about={"unit": "item", "condition": "rater"})
    assert read.values.equals(long.values)
    assert read.provenance.notes == ("Ratings by 3 raters: models are compared within a rater.",)


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_the_names_of_columns_and_the_format_do_not_matter(ending: str, tmp_path: Path) -> None:
    expected = Scores.from_table(ratings())
    others = {"item": "unit", "responder": "model", "rater": "judge", "dimension": "metric", "rating": "value"}
    for columns in ({}, others, {"rater": "judge"}, {"responder": "model", "rating": "value"}, {"rating": "score"}):
        path = tmp_path / f"ratings{ending}"
        table = ratings().rename(columns)
        writers: dict[str, Any] = {".csv": table.write_csv, ".jsonl": table.write_ndjson}
        writers.get(ending, table.write_parquet)(path)
        read = Scores.read(path)
        assert read.values.equals(expected.values)
        assert read.provenance.condition == "rater"
        [one, _] = read_ratings(path).dimensions
        assert (one.raters, one.ratings.shape) == (("ann", "claude", "gpt"), (12, 3))


def test_a_column_of_another_name_is_mapped_to_the_rater(tmp_path: Path) -> None:
    ratings().rename({"rater": "who", "item": "ConvID"}).write_csv(tmp_path / "ratings.csv")
    read = Scores.read(tmp_path / "ratings.csv", columns={"rater": "who", "unit": "ConvID"})
    assert read.values.equals(Scores.from_table(ratings()).values)
    (tmp_path / "ratings.toml").write_text('columns = {rater = "who", unit = "ConvID"}', encoding="utf-8")
    assert Scores.read(tmp_path / "ratings.csv").values.equals(read.values)
    assert read_ratings(tmp_path / "ratings.csv").raters == ("ann", "claude", "gpt")


def test_a_value_of_another_name_keeps_the_dimensions() -> None:
    table = ratings().rename({"rating": "stars"})
    assert Scores.from_table(table, columns={"value": "stars"}).values.equals(Scores.from_table(ratings()).values)


def test_a_column_for_each_dimension_or_responder_is_read() -> None:
    wide = ratings().pivot(on="dimension", index=["item", "responder", "rater"], values="rating")
    assert Scores.from_table(wide).values.equals(Scores.from_table(ratings()).values)
    one = ratings().filter(dimension="warmth").with_columns(pl.col("responder").replace("model", "large"))
    of_models = one.pivot(on="responder", index=["item", "rater"], values="rating")
    read = Scores.from_table(of_models)
    keys = ["model", "condition", "unit"]
    expected = Scores.from_table(one).values.rename({"warmth": "value"}).sort(keys)
    assert read.values.sort(keys).equals(expected)


def test_the_responses_to_an_item_are_drawn_together() -> None:
    [one, _] = read_ratings(ratings()).dimensions
    assert one.labels == tuple(("", f"i{item}") for item in range(6) for _ in range(2))
    # Sorted by responder within the item: 1 + (0 + 5 + 6) % 3 = 3 of the model, 1 + (0 + 9 + 6) % 3 = 1.
    assert one.ratings[:2].tolist() == [[3, 5, 4], [1, 3, 2]]
    alone = read_ratings(ratings().filter(responder="model").drop("responder")).dimensions[0]
    assert alone.ratings.tolist() == one.ratings[::2].tolist()


def test_what_differs_between_ratings_is_left_out_and_said() -> None:
    table = ratings().with_columns(seconds=pl.int_range(pl.len()), topic=pl.lit("work"))
    read = Scores.from_table(table)
    assert read.traits == ("topic",)
    assert "Columns left out, as they differ between the ratings of an item: seconds." in read.provenance.notes


def test_ratings_are_read_again_as_they_were_written(tmp_path: Path) -> None:
    read = Scores.from_table(without(ratings(), "ann", 0), metrics=SCALE)
    read.to_csv(tmp_path / "again.csv")
    read.write(tmp_path / "again.parquet")
    assert Scores.read(tmp_path / "again.csv").provenance.condition == "rater"
    assert Scores.read(tmp_path / "again.parquet").issues.equals(read.issues)


@pytest.mark.slow
def test_350000_ratings_are_read_in_seconds(tmp_path: Path) -> None:
    path = tmp_path / "ratings.parquet"
    ratings(dict.fromkeys(map(str, range(50)), 0), items=1750).write_parquet(path)
    start = time.monotonic()
    assert Scores.read(path).values.height == 175_000
    assert len(read_ratings(path).dimensions) == 2
    assert time.monotonic() - start < 10


# What is no table of ratings.


def test_a_judge_of_each_item_is_a_trait_and_a_judge_of_numbers_a_metric() -> None:
    table = ratings({"ann": 0}).drop("rater").rename({"item": "unit", "responder": "model"})
    table = table.rename({"dimension": "metric", "rating": "value"})
    turns = Scores.from_table(table.with_columns(judge=pl.concat_str(pl.lit("j"), pl.col("unit").str.slice(1))))
    assert (turns.conditions, turns.traits) == ((None,), ("judge",))
    assert Scores.from_table(table.with_columns(judge=pl.lit("gpt"))).conditions == ("gpt",)
    wide = pl.DataFrame({"model": ["a", "b"], "unit": ["q", "q"], "judge": [3, 4], "human": [2, 5]})
    assert [*Scores.from_table(wide).metrics] == ["judge", "human"]


# Ratings outside of the scale.


@pytest.mark.parametrize("value", [0.0, 9.0])
def test_a_rating_outside_of_its_scale_is_left_out_and_named(value: float, tmp_path: Path) -> None:
    table = without(ratings({"ann": 0, "gpt": 1}), "gpt", value)
    table.write_csv(tmp_path / "ratings.csv")
    scale = "".join(f"metrics.{name} = {{low = 1, high = 5}}\n" for name in SCALE)
    (tmp_path / "ratings.toml").write_text(scale, encoding="utf-8")
    read = Scores.read(tmp_path / "ratings.csv")
    cell = {"unit": "i0", "model": "therapist", "condition": "gpt"}
    assert read.values.filter(**cell)["warmth"].item() is None
    # gpt's ratings of the therapist are 2, 3 and 4, each twice; without the first: (2 + 3 + 3 + 4 + 4) / 5.
    [row] = read.summary(metrics=["warmth"], resamples=20).filter(model="therapist", condition="gpt").to_dicts()
    assert (row["value"], row["n"]) == (3.2, 5)
    [issue] = read.issues.to_dicts()
    assert (issue["rule"], issue["severity"], issue["consequence"]) == ("outside-scale", "warning", "left out")
    assert issue["file"].endswith(":4")
    assert issue["message"] == f"{value:g} of 'warmth' by 'gpt' is outside 1 to 5"
    said = (
        f"{tmp_path / 'ratings.csv'} (with ratings.toml): 1 rating of 48 left out, outside of the scale: row 4 "
        f"({value:g} of 'warmth' by 'gpt' is outside 1 to 5)."
    )
    assert said in read.provenance.notes
    assert said in json.loads(read.report(format="json"))["metadata"]["notes"]
    rated = read_ratings(tmp_path / "ratings.csv")
    assert str(rated.dimensions[0].ratings[1].tolist()) == "[1.0, nan]"
    assert rated.notes == (said.replace(" (with ratings.toml)", ""),)
    (tmp_path / "ratings.toml").write_text("", encoding="utf-8")
    assert "left out" not in str(Scores.read(tmp_path / "ratings.csv").provenance.notes)


def test_places_beyond_the_third_are_counted() -> None:
    table = ratings().with_columns(rating=pl.when(item="i0", dimension="warmth").then(7).otherwise("rating"))
    read = Scores.from_table(table, metrics=SCALE)
    [said] = [note for note in read.provenance.notes if "left out" in note]
    assert said.startswith("the table: 6 ratings of 72 left out, outside of the scale: row 1 (7 of 'warmth' by 'ann'")
    assert said.endswith("and 3 more.")
    assert read.issues.height == 6


# What is refused, and what need not be.


def test_one_rater_and_missing_cells_are_read() -> None:
    alone = Scores.from_table(ratings({"ann": 0}))
    assert alone.conditions == ("ann",)
    assert alone.compare_all(metrics=["warmth"], resamples=100).height == 1
    some = Scores.from_table(ratings().filter((pl.col("rater") != "ann") | (pl.col("item") == "i0")))
    counts = {row["condition"]: row["n"] for row in some.summary(metrics=["warmth"], resamples=20).to_dicts()}
    assert counts == {"ann": 1, "gpt": 6, "claude": 6}


def test_of_two_raters_one_may_be_constant() -> None:
    table = ratings({"ann": 0, "gpt": 1}).with_columns(rating=pl.when(rater="gpt").then(3.0).otherwise("rating"))
    found = Scores.from_table(table).compare_all(metrics=["warmth"], resamples=100)
    assert found.filter(condition="gpt")["difference"].to_list() == [0]
    assert found.filter(condition="ann").height == 1


def test_a_row_without_rater_and_rating_is_not_rated() -> None:
    unrated = ratings().head(1).with_columns(rater=pl.lit(""), rating=pl.lit(None, pl.Float64))
    table = pl.concat([ratings(), unrated])
    assert Scores.from_table(table).values.equals(Scores.from_table(ratings()).values)
    assert read_ratings(table).raters == ("ann", "claude", "gpt")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            lambda: ratings().drop("responder"),
            "the table: no column 'responder', or 'model', which says who is rated; attune-bench judge agree compares "
            "raters without it; the table has item, rater, dimension, rating",
        ),
        (
            lambda: pl.concat([ratings(), ratings().head(1)]),
            "the table, rows 1 and 73: both are responder 'therapist', item 'i0', dimension 'warmth', rater 'ann', "
            "with the values 1.0 and 1.0; leave one out, or number them in a column repeat",
        ),
        (
            lambda: ratings().with_columns(rater=pl.col("rater").replace("ann", " ")),
            "the table, row 1: rater is empty or NA; every row names responder, item, dimension and rater",
        ),
        (
            lambda: ratings().with_columns(rating=pl.lit("good")),
            "the table, row 1: rating 'good' of dimension 'warmth' is no number",
        ),
        (
            lambda: ratings().with_columns(condition=pl.lit("plain")),
            "the table: the columns 'rater' and 'condition'; a rater is the condition of a rating",
        ),
        (
            lambda: ratings().with_columns(rating=pl.when(rater="gpt").then(80.0).otherwise("rating")),
            "row 3: 80 of 'warmth' by 'gpt' is outside 1 to 5, as are 12 of 12 ratings by this rater; is it on another",
        ),
    ],
)  # fmt: skip
def test_refused(table: Callable[[], pl.DataFrame], message: str) -> None:
    with pytest.raises(MetricInputError) as refused:
        Scores.from_table(table(), metrics=SCALE)
    assert message in str(refused.value)


def test_a_rater_that_has_the_name_of_a_column_is_read() -> None:
    names: Any = {"ann": "model", "gpt": "unit", "claude": "cluster"}
    renamed = ratings().with_columns(pl.col("rater").replace(names))
    assert {*Scores.from_table(renamed).conditions} == {"model", "unit", "cluster"}
    assert read_ratings(renamed).dimensions[0].raters == ("cluster", "model", "unit")
