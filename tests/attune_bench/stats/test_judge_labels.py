"""Several judges corrected by people: a table of ratings, the ratings of one rater, tables, and what is refused."""

import re
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from commands import Call, strict_json

from attune_bench import Scores
from attune_bench.report.judges import judged_note, panels_note
from attune_bench.report.privacy import conceal_rated
from attune_bench.stats.label_planning import plan_judges
from attune_bench.stats.labels import Labels, rated_by
from attune_bench.stats.options import AnalysisOptions
from attune_metrics import MetricInputError
from attune_metrics.metric import UnreliableIntervalWarning
from attune_metrics.stats.bootstrap import draw_resamples
from attune_metrics.stats.judge_panels import prediction_powered_panel
from attune_metrics.stats.judges import prediction_powered

QUICK: Any = {"resamples": 300}
COLUMNS = ("item", "responder", "rater", "dimension", "rating")


def table(rated: int = 40, models: tuple[str, ...] = ("alpha", "beta"), items: int = 90) -> pl.DataFrame:
    """Return ratings by a human of the first items, and by three judges of all; *constant* always says 3."""
    generator, rows = np.random.default_rng(3), []
    for item in range(items):
        for place, model in enumerate(models):
            human, one, two = generator.normal(3 - place, 1), *generator.normal(size=2)
            raters = {"claude": human + one, "constant": 3.0, "gpt": 8 - human + one + 0.5 * two}
            raters |= {"human": human} if item < rated else {}
            rows += [(f"i{item:02}", model, rater, "warmth", value) for rater, value in raters.items()]
    return pl.DataFrame(rows, schema=list(COLUMNS), orient="row")


def judged(frame: pl.DataFrame, judges: tuple[str, ...] = ("claude", "gpt")) -> tuple[Scores, Labels]:
    return Scores.from_table(frame).rated_by("human", judges=judges)


def corrected(scores: Scores, labels: Any, *, pairs: bool = False) -> pl.DataFrame:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnreliableIntervalWarning)
        return (scores.debias_pairs if pairs else scores.debias)(labels, **QUICK)


def arrays(frame: pl.DataFrame, model: str) -> tuple[Any, Any]:
    wide = frame.filter(pl.col("responder") == model).pivot("rater", index="item", values="rating").sort("item")
    return wide.select("claude", "gpt").to_numpy().T, wide["human"].to_numpy()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::attune_metrics.metric.UnreliableIntervalWarning")
def test_the_numbers_are_those_of_the_function() -> None:
    frame = table()
    found = corrected(*judged(frame))
    assert found.select("model", "condition").rows() == [
        ("alpha", "claude"), ("alpha", "gpt"), ("beta", "claude"), ("beta", "gpt"),
        ("alpha", "all 2 judges"), ("beta", "all 2 judges"),
    ]  # fmt: skip
    drawn = draw_resamples(range(90), n_resamples=300)
    for model in ("alpha", "beta"):
        panel = prediction_powered_panel(*arrays(frame, model), drawn)
        rows = found.filter(model=model)
        names = ["corrected", "low", "high", "equivalent_ratings", "correlation"]
        judges, people = arrays(frame, model)
        alone = prediction_powered(judges, np.tile(people, (2, 1)), drawn)
        for row, one in zip(rows.to_dicts(), (*alone, panel.combined), strict=True):
            expected = (one.corrected.estimate, one.corrected.low, one.corrected.high)
            assert [row[name] for name in names] == pytest.approx([*expected, one.equivalent_ratings, one.correlation])
        assert rows["weight"].to_list() == [*panel.combination.weights, None]
        assert rows["ratings_lost"].to_list() == [*panel.ratings_lost, None]
        # The combination has no mean of its own.
        assert rows["judge"].null_count() == 1


@pytest.mark.filterwarnings("ignore::attune_metrics.metric.UnreliableIntervalWarning")
def test_differences_are_of_differences() -> None:
    frame = table()
    found = corrected(*judged(frame), pairs=True)
    assert found["condition"].to_list() == ["claude", "gpt", "all 2 judges"]
    assert found.n_unique(["model_a", "model_b"]) == 1
    (judges_a, rated_a), (judges_b, rated_b) = (arrays(frame, found[name][0]) for name in ("model_a", "model_b"))
    panel = prediction_powered_panel(judges_a - judges_b, rated_a - rated_b, draw_resamples(range(90), n_resamples=300))
    [row] = found.filter(condition="all 2 judges").to_dicts()
    assert row["corrected"] == pytest.approx(panel.combined.corrected.estimate)
    assert (row["p"], row["p_holm"]) == pytest.approx((panel.combined.p_value,) * 2)
    assert found["weight"].to_list()[:2] == list(panel.combination.weights)


def test_a_table_of_labels_holds_for_all_judges() -> None:
    frame = table()
    scores, labels = judged(frame)
    sheet = frame.filter(rater="human").select(model="responder", unit="item", rating="rating")
    again = corrected(scores, sheet)
    assert again.equals(corrected(scores, labels))


def test_ratings_of_a_judge_are_of_this_judge() -> None:
    scores, _ = judged(table(models=("alpha",)))
    sheet = pl.DataFrame({"unit": [f"i{i:02}" for i in range(35)], "rating": [i % 5 for i in range(35)]})
    by_judge = pl.concat([sheet.with_columns(rater=pl.lit(one)) for one in ("claude", "gpt")])
    same = corrected(scores, by_judge)
    assert same["condition"].to_list() == ["claude", "gpt", "all 2 judges"]
    # Of ratings that differ between judges there is no combination.
    other = by_judge.with_columns(pl.col("rating") + (pl.col("rater") == "gpt"))
    assert corrected(scores, other)["condition"].to_list() == ["claude", "gpt"]


def test_a_constant_judge_is_named_and_left_out() -> None:
    scores, labels = judged(table(models=("alpha",)), ())
    found = corrected(scores, labels)
    assert "constant gives all items the same score, and is left out" in found["note"][-1]
    assert found["weight"].is_null().to_list() == [False, True, False, True]
    assert found["reason"].to_list()[1] == "the judge scores all rated units the same, so that the slope is undefined"
    assert found["corrected"].is_null().to_list() == [False, True, False, False]


def test_a_judge_that_scored_few_rated_items_is_planned_beside_others_alone() -> None:
    few = (pl.col("rater") != "gpt") | (pl.col("item") < "i02") | (pl.col("item") > "i39")
    scores, labels = judged(table(models=("alpha",)).filter(few))
    prices: Any = {"price": 40, "rating_price": 1, "judge_prices": {"gpt": 0.01, "claude": 0.01}}
    with pytest.warns(
        UserWarning, match="gpt: scores of rated items of fewer than 3 clusters, or with one rating, in "
    ):
        found = plan_judges(scores, labels, **prices)
    assert {*found["judges"]} == {"", "claude", "gpt, claude"}


def test_a_judge_is_left_out_in_the_words_of_the_table() -> None:
    frame = table(models=("alpha",))
    scores = Scores.from_table(frame, about={"unit": "community"})
    found = corrected(*scores.rated_by("human", judges=("claude", "constant")))
    assert "constant gives all communities the same score, and is left out" in found["note"][-1]


def test_missing_scores_are_counted() -> None:
    frame = table(models=("alpha",)).filter(~((pl.col("rater") == "gpt") & pl.col("item").str.ends_with("0")))
    found = corrected(*judged(frame))
    assert "gpt has no score of 9 items; each counts as the mean of this judge" in found["note"][-1]
    assert "left out" not in found["note"][-1]
    assert found["n"].to_list() == [90, 81, 90]


def test_a_judge_that_scored_rated_items_alone_is_left_out() -> None:
    frame, is_gpt = table(models=("alpha",)), pl.col("rater") == "gpt"
    for given, why in (
        (frame.filter(~(is_gpt & (pl.col("item") < "i10"))), "scored rated items less often than others (p < 0.05)"),
        (frame.filter(~(is_gpt & (pl.col("item") >= "i70"))), "scored rated items more often than others (p < 0.05)"),
        (frame.filter(~(is_gpt & (pl.col("item") >= "i40"))), "scored no item that is not rated"),
    ):
        found = corrected(*judged(given))
        assert f"gpt {why}, and is left out" in found["note"][-1]
        assert "as the mean of this judge" not in found["note"][-1]
        assert found["weight"].is_null().to_list() == [False, True, True]
        assert found["ratings_lost"][1] == 0


def test_no_judge_scored_a_rated_unit() -> None:
    frame = table(models=("alpha",)).filter((pl.col("rater") == "human") | (pl.col("item") >= "i10"))
    found = corrected(*judged(frame))
    assert found["labels"].to_list() == [30, 30, 30]


def test_one_judge_is_as_ever() -> None:
    found = corrected(*judged(table(), ("gpt",)))
    assert found["condition"].to_list() == ["gpt", "gpt"]
    assert found["weight"].null_count() == 2


def test_one_rater() -> None:
    frame = table(models=("alpha",)).filter(rater="human")
    with pytest.raises(MetricInputError, match="the scores have one rater"):
        rated_by(Scores.from_table(frame), "human")


@pytest.mark.parametrize(
    ("people", "options", "message"),
    [
        ("humann", {}, "rater 'humann' is not in the scores; did you mean 'human'"),
        ("human", {"judges": ("gtp",)}, "rater 'gtp' is not in the scores; did you mean 'gpt'"),
        ("human", {"judges": ("human",)}, "'human' is named as people and as a judge"),
        ("human", {"metric": "safety"}, "safety"),
    ],
)
def test_wrong_names(people: str, options: Any, message: str) -> None:
    with pytest.raises(MetricInputError, match=message):
        rated_by(Scores.from_table(table()), people, **options)


def test_scores_without_raters() -> None:
    frame = pl.DataFrame({"model": ["a"], "unit": ["u"], "metric": ["m"], "value": [1.0]})
    with pytest.raises(MetricInputError, match="the scores have no raters; a table of ratings has the columns"):
        rated_by(Scores.from_table(frame), "human")


def test_people_who_rated_nothing() -> None:
    frame = table(models=("alpha", "beta")).filter((pl.col("responder") == "alpha") ^ (pl.col("rater") == "human"))
    with pytest.raises(MetricInputError, match="'human' has no rating of warmth of a"):
        rated_by(Scores.from_table(frame), "human")


def test_the_note_says_what_several_judges_are() -> None:
    scores, _ = judged(table())
    several, one = (judged_note(scores, AnalysisOptions(), tested=False, several=several) for several in (True, False))
    assert "fitted to the ratings of other items. weight: by how much this prediction rises" in several
    assert "adds: by how many equivalent ratings all judges are worse without this one" in several
    assert ("all judges" in one, "slope" in several, "slope" in one) == (False, False, True)


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    path = tmp_path / "ratings.csv"
    table().write_csv(path)
    return path


@pytest.mark.slow
def test_the_command(call: Call, ratings: Path) -> None:
    options = ("--people", "human", "--judge", "claude", "gpt", "--resamples", 300)
    status, out, _ = call("judge", "correct", ratings, *options)
    assert status == 0
    lines = [line.split()[:2] for line in out.splitlines() if line.startswith("alpha  ")]
    assert ["alpha", "people"] in lines
    assert ["alpha", "all"] in lines
    status, out, _ = call("judge", "correct", ratings, *options, "--format", "json")
    found = strict_json(out)
    expected = corrected(*judged(table()))
    assert [row["corrected"] for row in found["models"]] == pytest.approx(expected["corrected"].to_list(), abs=1e-6)
    assert "mode:claude%2Cgpt" in found["metadata"]["signature"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "name people's ratings by --labels, or in a table of ratings the rater who is right by --people"),
        (("--people", "human", "--labels", "labels.csv"), "name people's ratings by --labels, or"),
        (("--people", "humman"), "did you mean 'human'"),
        (("--people", "human", "--judge", "human"), "named as people and as a judge"),
    ],
)
def test_mistakes(call: Call, ratings: Path, arguments: tuple[str, ...], message: str) -> None:
    status, out, err = call("judge", "correct", ratings, *arguments)
    assert (status, out) == (2, "")
    assert message in err


@pytest.mark.slow
def test_a_page_has_all_judges(call: Call, ratings: Path, tmp_path: Path) -> None:
    frame = table()
    labels = tmp_path / "labels.csv"
    frame.filter(rater="human").select(model="responder", unit="item", rating="rating").write_csv(labels)
    frame.filter(pl.col("rater").is_in(["claude", "gpt"])).write_csv(ratings)
    page = tmp_path / "page.html"
    status, _, err = call("report", ratings, "--labels", labels, "--html", page, "--resamples", 300)
    assert status == 0, err
    html = page.read_text(encoding="utf-8")
    assert "all 2 judges" in html
    assert "fitted to the ratings of other items" in html


def test_what_is_of_few_people_is_hidden_of_all_judges_too() -> None:
    scores, labels = judged(table(rated=4))
    private = replace(scores, provenance=scores.provenance.model_copy(update={"private": True}))
    for pairs in (False, True):
        found = conceal_rated(
            private, corrected(scores, labels, pairs=pairs), "warmth", labels.ratings, small_cells=False
        )
        assert found["people"].null_count() == found.height
        assert set(found["reason"]) == {"the rated items, or the others, are of fewer than 5 items, not shown"}
    scores, labels = judged(table())
    assert (
        conceal_rated(private, corrected(scores, labels), "warmth", labels.ratings, small_cells=False)[
            "people"
        ].null_count()
        == 0
    )


# Which judges to pay.

PRICES = ("--price", 100, "--rating-price", 2, "--judge-price")


def test_the_plan_says_whether_judges_are_worth_their_price() -> None:
    scores, labels = judged(table(models=("alpha",)))
    said = {}
    for cost in (0.01, 0.9, 1.2):
        found = plan_judges(scores, labels, price=100, rating_price=2, judge_prices={"claude": cost, "gpt": cost})
        said[cost] = panels_note(scores, found, 0.95)[0]
        if cost == 0.01:
            # gpt has the error of claude with the sign of the opposite: only both together are worth much.
            assert found["judges"].to_list() == ["claude, gpt", "gpt", "claude", ""]
            assert found["alone"].to_list() == [found["width"][-1]] * 4
    assert re.fullmatch(
        r"alpha: claude, gpt and 49 ratings give the shortest interval, .* wide; people alone, at this price, one .* "
        r"wide\.",
        said[0.01],
    )
    assert re.fullmatch(
        r"alpha: no panel of judges is worth its price: people alone give the shortest interval, .* wide\.", said[0.9]
    )
    assert said[1.2].startswith(
        "alpha: no judge is left that can be paid beside two ratings; people alone give an interval "
    )


def test_a_plan_names_the_model_and_the_judge() -> None:
    scores, labels = judged(table())
    with pytest.raises(MetricInputError, match="rater 'gtp' is not in the scores; did you mean 'gpt'"):
        plan_judges(scores, labels, price=100, rating_price=2, judge_prices={"gtp": 1})
    with pytest.raises(MetricInputError, match="alpha: price 3 does not pay two ratings of 2 each"):
        plan_judges(scores, labels, price=3, rating_price=2, judge_prices={"gpt": 1})


@pytest.mark.slow
def test_the_command_plans(call: Call, ratings: Path) -> None:
    status, out, err = call("judge", "plan", ratings, "--people", "human", *PRICES, "claude=0.01", "gpt=0.01")
    assert (status, err) == (0, "")
    assert "people alone" in out
    assert "claude, gpt and 49 ratings give the shortest interval" in " ".join(out.split())
    out = call("judge", "plan", ratings, "--people", "human", *PRICES, "gpt=0.01", "--format", "json")[1]
    assert {row["judges"] for row in strict_json(out)["panels"]} == {"", "gpt"}


@pytest.mark.slow
def test_a_pilot_of_several_judges_has_a_row_for_each(call: Call, ratings: Path, tmp_path: Path) -> None:
    command = ("judge", "plan", ratings, "--width", 0.8)
    by_rater = strict_json(call(*command, "--people", "human", "--format", "json")[1])["plan"]
    assert [(row["model"], row["rater"]) for row in by_rater] == [
        (model, rater) for model in ("alpha", "beta") for rater in ("claude", "constant", "gpt")
    ]
    assert "model  rater " in call(*command, "--people", "human")[1]
    # The same ratings, of a table of their own; one of them of an item that the judge did not score.
    sheet, judges = tmp_path / "labels.csv", tmp_path / "judges.csv"
    frame = pl.read_csv(ratings)
    human = frame.filter(rater="human").select("item", "responder", "rating")
    human.rename({"item": "unit", "responder": "model"}).write_csv(sheet)
    frame.filter(pl.col("rater") != "human").write_csv(judges)
    by_labels = strict_json(call("judge", "plan", judges, *command[3:], "--labels", sheet, "--format", "json")[1])
    assert by_labels["plan"] == by_rater
    frame.filter(pl.col("rater") == "gpt", pl.col("item") > "i03").vstack(frame.filter(rater="claude")).write_csv(
        judges
    )
    out = call("judge", "plan", judges, "--labels", sheet, *PRICES, "gpt=0.01")[1]
    assert "alpha and beta, each: 4 of 40 rated items left out, without a score by the judges." in out
    human.with_columns(rater=pl.lit("gpt")).rename({"item": "unit", "responder": "model"}).write_csv(sheet)
    err = call("judge", "plan", judges, *command[3:], "--labels", sheet)[2]
    assert "row 2: 'alpha', rater 'gpt', has no score on unit 'i00'; is it another model's?" in err
    frame.filter((pl.col("rater") != "gpt") | (pl.col("responder") == "alpha") | (pl.col("item") > "i09")).write_csv(
        judges
    )
    out = call("judge", "plan", judges, "--people", "human", *PRICES, "gpt=0.01")[1]
    assert "beta: 10 of 40 rated items left out, without a score by the judges." in out
    assert "alpha and beta" not in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--people", "human", *PRICES, "gpt=cheap"), "'gpt=cheap': expected NAME=PRICE, such as gpt=0.01"),
        (("--people", "human", *PRICES, "gtp=1"), "did you mean 'gpt'"),
        (
            ("--people", "human", "--price", 100),
            "--price needs a pilot, which is SCORES and --labels or --people; ",
        ),
        (("--people", "human", *PRICES, "gpt=1", "--width", 1), "--width and --price exclude each other"),
        (("--people", "human", "--width", 1, "--judge-price", "gpt=1"), "--rating-price and --judge-price are for"),
        (("--people", "human", "--width", 1, "--sd", 1), "--people"),
        ((), "how wide? Give --width, or --price for the shortest interval that a price pays"),
    ],
)
def test_mistakes_in_a_plan(call: Call, ratings: Path, arguments: tuple[Any, ...], message: str) -> None:
    status, out, err = call("judge", "plan", ratings, *arguments)
    assert (status, out) == (2, "")
    assert message in " ".join(err.split())
