"""Judges corrected by people: the table, the pairs, what of a table of ratings is refused, what is drawn, the plan."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from attune_bench import Scores
from attune_bench.stats.comparability import MixedSettingsError
from attune_bench.stats.compare import count_significant
from attune_bench.stats.debias import debias, debias_pairs
from attune_bench.stats.label_planning import plan_labels
from attune_bench.stats.labels import draw_labels, read_labels
from attune_data.issues import SourceError
from attune_metrics import MetricInputError
from attune_metrics.metric import UnreliableIntervalWarning
from attune_metrics.signature import Signature
from attune_metrics.stats.bootstrap import draw_resamples
from attune_metrics.stats.comparison import holm
from attune_metrics.stats.judges import prediction_powered, prediction_powered_difference

UNITS = [f"u{place:02}" for place in range(60)]
ABOUT: Any = {"metrics": {"warm": {"label": "Warmth", "low": 0, "high": 1}}, "about": {"unit": "draft"}}


def frame(models: tuple[str, ...] = ("a", "b"), clusters: int = 60) -> pl.DataFrame:
    """Return a judge's scores, and as a column what people would say."""
    generator = np.random.default_rng(7)
    parts = []
    for place, model in enumerate(models):
        people = generator.beta(4, 3, size=60) * 0.8
        judge = np.clip(people + 0.1 + 0.05 * place + generator.normal(scale=0.1, size=60), 0, 1)
        parts.append(
            pl.DataFrame(
                {"model": model, "unit": UNITS, "cluster": [f"p{unit % clusters:02}" for unit in range(60)]}
            ).with_columns(metric=pl.lit("warm"), value=pl.Series(judge), rating=pl.Series(people))
        )
    return pl.concat(parts)


def scores_of(table: pl.DataFrame) -> Scores:
    return Scores.from_table(table.drop("rating", strict=False), **ABOUT)


def rated(table: pl.DataFrame, number: int) -> pl.DataFrame:
    """Return the ratings of so many units of each model, drawn at random."""
    units = np.random.default_rng(11).permutation(UNITS)[:number].tolist()
    return table.filter(pl.col("unit").is_in(units)).select("model", "unit", "rating")


@pytest.mark.parametrize("clusters", [60, 20])
def test_the_table_is_that_of_the_function(clusters: int) -> None:
    table = frame(clusters=clusters)
    scores, labels = scores_of(table), rated(table, 36)
    found = debias(scores, labels, resamples=200)
    assert found["model"].to_list() == ["a", "b"]
    of_a = table.filter(model="a")
    ratings = of_a.join(labels.filter(model="a"), on="unit", how="left", maintain_order="left")["rating_right"]
    drawn = draw_resamples(of_a["cluster"], n_resamples=200)
    [direct] = prediction_powered(of_a["value"].to_numpy(), ratings.to_numpy(), drawn)
    row = found.row(0, named=True)
    ends: Any = direct.corrected.estimate, direct.corrected.low, direct.corrected.high
    assert (row["corrected"], row["low"], row["high"]) == pytest.approx(ends)
    assert (row["people"], row["people_low"]) == pytest.approx((direct.people.estimate, direct.people.low))
    assert (row["slope"], row["correlation"], row["equivalent_ratings"]) == pytest.approx(
        (direct.slope, direct.correlation, direct.equivalent_ratings)
    )
    assert (row["n"], row["labels"], row["clusters"]) == (60, 36, clusters)
    assert (row["reason"], row["note"]) == (None, None)
    [judge] = scores.summary(resamples=200).filter(model="a").iter_rows(named=True)
    ends = [judge[key] for key in ("value", "low", "high")]
    assert [row[key] for key in ("judge", "judge_low", "judge_high")] == pytest.approx(ends, abs=1e-12)
    assert scores.debias(labels, resamples=200).equals(found)


def test_the_pairs_are_those_of_the_function() -> None:
    table = frame()
    scores, labels = scores_of(table), rated(table, 36)
    [row] = debias_pairs(scores, labels, resamples=200).iter_rows(named=True)
    wide = table.join(labels, on=["model", "unit"], how="left", maintain_order="left")
    judge, people = (
        [wide.filter(model=model)[column].to_numpy() for model in "ba"] for column in ("value", "rating_right")
    )
    drawn = draw_resamples(UNITS, n_resamples=200)
    [direct] = prediction_powered_difference(judge[0], judge[1], people[0], people[1], drawn)
    assert (row["model_a"], row["model_b"], row["labels"]) == ("b", "a", 36)
    assert (row["judge"], row["corrected"]) == pytest.approx((direct.judge.estimate, direct.corrected.estimate))
    assert (row["low"], row["high"]) == pytest.approx((direct.corrected.low, direct.corrected.high))
    assert scores.debias_pairs(labels, resamples=200)["corrected"].to_list() == [row["corrected"]]


def test_tests_of_pairs_are_corrected_by_holm() -> None:
    table = frame(("a", "b", "c"))
    # c is b and a little more for some, so that only the pairs with a differ for certain.
    low = pl.when(pl.col("model") == "a").then(0.15).otherwise(0.0)
    table = table.with_columns(value=pl.col("value") * 0.8 + low, rating=pl.col("rating") * 0.8 + low)
    found = debias_pairs(scores_of(table), rated(table, 40), resamples=2_000)
    assert found.columns[-6:] == ["p", "p_min", "p_holm", "significant", "reason", "note"]
    p, corrected = found["p"].to_list(), found["p_holm"].to_list()
    assert corrected == pytest.approx(holm(p).tolist())
    assert corrected != p
    assert found["significant"].to_list() == [one < 0.05 for one in corrected]
    assert {True, False} == set(found["significant"])
    for row in found.iter_rows(named=True):
        assert (row["p"] < 0.05) == (row["low"] > 0 or row["high"] < 0)
    [count] = count_significant(found).iter_rows(named=True)
    assert (count["pairs"], count["family"]) == (3, 3)


def test_a_pair_without_an_interval_is_not_in_the_family() -> None:
    table = frame(("a", "b", "c"))
    labels = pl.concat([rated(table, 36).filter(pl.col("model") != "c"), rated(table, 3).filter(model="c")])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnreliableIntervalWarning)
        found = debias_pairs(scores_of(table), labels, resamples=200)
    assert found["p"].null_count() == found["significant"].null_count() == 2
    assert found.row(0, named=True)["p_holm"] == found["p"][0]


@pytest.mark.parametrize("interval", ["percentile-expanded", "percentile"])
def test_too_few_resamples_for_a_family_are_told(interval: Any) -> None:
    table = frame(("a", "b", "c"))
    scores, labels = scores_of(table), rated(table, 40)
    with pytest.warns(UserWarning, match="too few for 3 tests .all pairs of models.: no Holm-corrected p") as caught:
        debias_pairs(scores, labels, resamples=50, interval=interval)
    assert str(caught[0].message).startswith("50 resamples are too few")
    enough = int(str(caught[0].message).rpartition("use at least ")[2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert 3 * debias_pairs(scores, labels, resamples=enough, interval=interval)["p_min"].min() < 0.05  # type: ignore[operator]
    with pytest.warns(UserWarning, match="too few for 3 tests"):
        debias_pairs(scores, labels, resamples=enough - 2, interval=interval)


def test_ratings_of_few_participants_are_too_few_for_a_family() -> None:
    # Eight rated of 60: none of them is in (52 / 60)^60 = 0.02% of the resamples, and a single one, which has no slope,
    # in 8 ((53 / 60)^60 - (52 / 60)^60) = 0.32%. So 15 p-values are above 15 * 2 * 0.34% = 0.101 together.
    table = frame(tuple("abcdef"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = debias_pairs(scores_of(table), rated(table, 8), resamples=10_000)
    assert found["p_min"].min() > 0.05 / 15  # type: ignore[operator]
    assert str(caught[-1].message).endswith("; with ratings of 8 clusters these may be too few, too")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        plain = debias_pairs(scores_of(table), rated(table, 8), resamples=10_000, interval="percentile")
    assert plain["p_min"].to_list() == pytest.approx([0.101 / 15] * 15, abs=0.001)
    assert str(caught[-1].message).startswith("ratings of 8 clusters are too few for 15 tests (all pairs of models)")
    assert str(caught[-1].message).endswith("; more ratings would be needed")


def test_pairs_need_common_units() -> None:
    table = frame()
    labels = pl.concat([rated(table, 40).filter(model="a").head(10), table.filter(model="b").tail(5)], how="diagonal")
    labels = labels.filter((pl.col("model") == "a") | ~pl.col("unit").is_in(labels.filter(model="a")["unit"].implode()))
    assert debias_pairs(scores_of(table), labels, resamples=50).is_empty()


def test_the_order_of_rows_does_not_matter() -> None:
    table = frame()
    labels = rated(table, 36)
    first = debias(scores_of(table), labels, resamples=50)
    again = debias(scores_of(table.sample(fraction=1, shuffle=True, seed=1)), labels.reverse(), resamples=50)
    assert first.equals(again)
    assert read_labels(scores_of(table), labels).hash == read_labels(scores_of(table), labels.reverse()).hash
    other = labels.with_columns(rating=pl.col("rating") / 2)
    assert read_labels(scores_of(table), labels).hash != read_labels(scores_of(table), other).hash


def test_what_has_no_interval_says_why() -> None:
    table = frame(("a",))
    scores = scores_of(table)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnreliableIntervalWarning)
        [few] = debias(scores, rated(table, 4), resamples=50).iter_rows(named=True)
        [one] = debias(scores, rated(table, 1), resamples=50).iter_rows(named=True)
    assert few["reason"] == "fewer than 5 clusters"
    assert few["corrected"] is not None
    assert (few["low"], few["equivalent_ratings"]) == (None, None)
    assert (one["corrected"], one["slope"], one["reason"]) == (None, None, "fewer than 2 units are rated")
    constant = scores_of(table.with_columns(value=pl.lit(0.5)))
    [same] = debias(constant, rated(table, 36), resamples=50).iter_rows(named=True)
    assert same["corrected"] is None
    assert "the slope is undefined" in same["reason"]


def test_a_warning_names_the_model() -> None:
    table = frame(("a", "b"))
    best = table.filter(model="a").sort("value").tail(12).select("model", "unit", "rating")
    with pytest.warns(UnreliableIntervalWarning, match=r"^a: 12 ratings, fewer than 30.*drawn at random") as caught:
        [row] = debias(scores_of(table), best, resamples=200).iter_rows(named=True)
    assert str(caught[0].message) == f"a: {row['note']}"


def test_unreliable_intervals_of_a_dominant_cluster_are_told() -> None:
    table = frame(("a",)).with_columns(cluster=pl.when(pl.col("unit") < "u20").then(pl.lit("p00")).otherwise("cluster"))
    with pytest.warns(UnreliableIntervalWarning, match="a: BCa intervals cover too rarely"):
        [row] = debias(scores_of(table), rated(table, 45), resamples=200, interval="bca").iter_rows(named=True)
    assert row["note"].startswith("BCa intervals")


def test_a_rating_without_a_score_is_told() -> None:
    table = frame(("a",))
    labels = rated(table, 40)
    gone = table.with_columns(value=pl.when(pl.col("unit") == labels["unit"][0]).then(None).otherwise("value"))
    with pytest.warns(UnreliableIntervalWarning, match="1 rating without a judge's score left out"):
        [row] = debias(scores_of(gone), labels, resamples=50).iter_rows(named=True)
    assert (row["n"], row["labels"]) == (59, 39)


def test_ratings_of_mixed_runs_are_not_compared(make_scores: Any) -> None:
    scores = make_scores(["a", "b"], conversations=6)
    labels = scores.values.select("model", "condition", "unit", rating=pl.lit(0.5))
    name = "avg_draft_judge_score"
    held = {"model": "a", "condition": scores.conditions[0], "settings": {"temperature": (0.0,)}}
    other = {**held, "model": "b", "settings": {"temperature": (0.7,)}}
    settings = {"settings": (held, other), "comparability_keys": {"temperature": "temperature"}}
    mixed = Scores.of(scores)
    object.__setattr__(mixed, "provenance", type(scores.provenance)(**{**scores.provenance.model_dump(), **settings}))
    with pytest.raises(MixedSettingsError):
        debias_pairs(mixed, labels, metric=name, resamples=50)


GOOD = "model,unit,rating\na,u01,0.5\nb,u01,0.25\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model,unit\na,u01\n", "no column 'rating'"),
        ("unit,rating\nu01,0.5\n", "no column 'model'; the scores have several: a, b"),
        (f"{GOOD}a,u1,0.5\n", "row 4: unit 'u1' is not in the scores; did you mean"),
        (f"{GOOD}a,,0.5\n", "row 4: unit is empty"),
        (f"{GOOD}aa,u02,0.5\n", "row 4: model 'aa' is not in the scores; did you mean 'a'"),
        (f"{GOOD},u02,0.5\n", "row 4: model '' is not in the scores"),
        (f"{GOOD}a,u01,0.75\n", "row 4: unit 'u01' of 'a' is rated in row 2 already"),
        (f"{GOOD}a,u02,good\n", "row 4: rating 'good' is no number"),
        (
            f'{GOOD}a,u02,"0,5"\n',
            "row 4: rating '0,5' has a decimal comma, and 2 values have a decimal point",
        ),
        (f"{GOOD}a,u02,5\n", "row 4: rating 5 is outside 0 to 1, the range of warm; is it on another scale?"),
        (f"{GOOD}a,u02,inf\n", "row 4: rating inf is infinite"),
        ("model,condition,unit,rating\na,calm,u01,0.5\n", "row 2: condition 'calm' of 'a' is not in the scores"),
    ],
)
def test_a_wrong_table_is_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(MetricInputError, match=message) as raised:
        debias(scores_of(frame()), path)
    assert str(path) in str(raised.value)


def test_a_sheet_of_a_spreadsheet_with_decimal_commas_is_read_as_with_points(tmp_path: Path) -> None:
    sheet = rated(frame(), 36)
    path = tmp_path / "labels.csv"
    commas = sheet.with_columns(pl.col("rating").cast(pl.String).str.replace(".", ",", literal=True))
    path.write_bytes(b"sep=;\r\n" + commas.write_csv(separator=";", line_terminator="\r\n").encode())
    assert read_labels(scores_of(frame()), path).hash == read_labels(scores_of(frame()), sheet).hash


def test_wrong_use() -> None:
    table = frame()
    scores, labels = scores_of(table), rated(table, 36)
    with pytest.raises(MetricInputError, match="the labels have no rating"):
        debias(scores, labels.with_columns(rating=None))
    with pytest.raises(MetricInputError, match="no metric 'warmth'; did you mean 'warm'"):
        debias(scores, labels, metric="warmth")
    with pytest.raises(SourceError):
        debias(scores, "nowhere.csv")
    part = scores_of(table.filter((pl.col("model") == "a") | (pl.col("unit") != "u05")))
    with pytest.raises(MetricInputError, match="has no score on unit 'u05'"):
        debias(part, pl.DataFrame({"model": ["b"], "unit": ["u05"], "rating": [0.5]}))


def test_a_metric_without_values_of_units_is_refused(make_scores: Any) -> None:
    scores = make_scores(["a"])
    pooled = next(name for name, metric in scores.metrics.items() if metric.statistic == "accuracy")
    with pytest.raises(MetricInputError, match="has no value of each conversation that people could rate"):
        draw_labels(scores, 1, metric=pooled)


def test_one_model_may_be_left_out_and_empty_ratings_are_none(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("unit,rating\nu01,\nu02, 0.5\nu03,nan\n", encoding="utf-8")
    found = read_labels(scores_of(frame(("a",))), path).ratings
    assert np.flatnonzero(~np.isnan(found[0])).tolist() == [2]


def test_draw() -> None:
    table = frame(clusters=20)
    scores = scores_of(table)
    sheet = draw_labels(scores, 10, seed=3)
    assert sheet.columns == ["model", "unit", "rating"]
    assert sheet["rating"].null_count() == sheet.height == 20
    assert sheet["unit"].n_unique() == 10
    assert draw_labels(scores_of(table.sample(fraction=1, shuffle=True, seed=1)), 10, seed=3).equals(sheet)
    assert not draw_labels(scores, 10, seed=4).equals(sheet)
    # The rows are in the order of the draw: the first of a larger draw are a smaller one.
    assert draw_labels(scores, 30, seed=3).head(20).equals(sheet)
    whole = draw_labels(scores, 10, seed=3, by="cluster")
    drawn = {unit: f"p{int(unit[1:]) % 20:02}" for unit in whole["unit"]}
    assert len(drawn) == 12
    assert len(set(drawn.values())) == 4


def test_every_unit_is_drawn_as_often() -> None:
    scores = scores_of(frame(("a",)))
    counts = pl.concat([draw_labels(scores, 15, seed=seed) for seed in range(200)])["unit"].value_counts()["count"]
    assert len(counts) == 60
    assert counts.min() > 25  # type: ignore[operator]
    assert counts.max() < 80  # type: ignore[operator]


@pytest.mark.parametrize(("n", "options"), [(0, {}), (61, {}), (5, {"seed": -1}), (5, {"by": "people"})])
def test_draw_refuses(n: int, options: Any) -> None:
    with pytest.raises(MetricInputError):
        draw_labels(scores_of(frame()), n, **options)


def test_a_filled_sheet_is_read() -> None:
    table = frame()
    sheet = (
        draw_labels(scores_of(table), 40)
        .drop("rating")
        .join(table.select("model", "unit", "rating"), on=["model", "unit"])
    )
    found = debias(scores_of(table), sheet, resamples=50)
    assert found["labels"].to_list() == [40, 40]


def test_plan() -> None:
    table = frame(clusters=20)
    scores, labels = scores_of(table), rated(table, 20)
    wide, narrow = (plan_labels(scores, labels, width=width).row(0, named=True) for width in (0.2, 0.05))
    assert wide["reason"] is None
    assert (wide["pilot"], wide["n"]) == (20, 60)
    assert wide["design_effect"] >= 1
    assert 0 < wide["correlation"] < 1
    assert wide["sd"] == pytest.approx(labels.filter(model="a")["rating"].std())
    assert 2 < wide["labels"] < 60
    assert (narrow["labels"], narrow["reason"][:27]) == (None, "width 0.05 cannot be reache")
    [few] = plan_labels(scores, labels.head(2), width=0.2).iter_rows(named=True)
    assert few["labels"] is None
    with pytest.raises(MetricInputError, match="width is 0"):
        plan_labels(scores, labels, width=0)


def test_the_signature_has_the_labels() -> None:
    scores = scores_of(frame())
    held = read_labels(scores, rated(frame(), 10))
    assert Signature.parse(scores.sign(labels=held.hash)).labels == held.hash
    assert "labels" not in scores.sign()


def test_no_answer_is_drawn_from_means_over_repeats() -> None:
    rows = [("m", f"u{unit}", "judge", repeat, 0.5) for unit in range(12) for repeat in ("1", "2")]
    frame = pl.DataFrame(rows, schema=["model", "unit", "metric", "repeat", "value"], orient="row")
    with pytest.raises(MetricInputError, match="people rate one answer"):
        draw_labels(Scores.from_table(frame), 4)
