"""Headings of figures: what each says is true of its rows, and gone where they are changed to make it false."""

from typing import Any

import polars as pl
import pytest

from attune_bench import Scores
from attune_bench.report import findings
from attune_metrics.metric import Metric

SHARE, ERROR = Metric(name="x", label="x"), Metric(name="x", label="x", higher_is_better=False)


def test_ranks() -> None:
    rows = pl.DataFrame({"model": ["a", "b", "c"], "low": [1.0, 2.0, None], "high": [1.0, 3.0, None]})
    assert findings.of_ranks(rows) == "The interval of 1 of 2 models is a single rank"
    assert findings.of_ranks(rows[1:]) == "The interval of none of 1 model is a single rank"
    assert findings.of_ranks(rows[2:]) == "No rank has an interval"
    with_baseline = rows.with_columns(model=pl.Series(["a", "baseline/x", "human/ann"]))
    assert findings.of_ranks(with_baseline) == (
        "The interval of 1 of 1 model is a single rank (people and baselines are not counted)"
    )


def test_costs() -> None:
    rows = pl.DataFrame({"model": ["a", "b", "c"], "cost": [1.0, 2.0, None], "front": ["yes", "no", "yes"]})
    assert findings.of_costs(rows) == "Of 2 models of a known cost, no other beats a on both cost and score"
    both = rows.with_columns(front=pl.Series([True, True, None]))
    assert findings.of_costs(both) == "Of 2 models of a known cost, no other beats a and b on both cost and score"
    assert findings.of_costs(rows[1:]) == ""
    many = pl.DataFrame({"model": list("abcdef"), "cost": [1.0] * 6, "front": ["open"] * 5 + ["no"]})
    assert findings.of_costs(many) == "Of 6 models of a known cost, 5 are beaten by no other on both cost and score"


def profiles(values: dict[str, dict[str, float]], **metrics: Any) -> str:
    rows = [(model, "u", name, value) for name, of in values.items() for model, value in of.items()]
    frame = pl.DataFrame(rows, schema=["model", "unit", "metric", "value"], orient="row")
    return findings.of_profiles(Scores.from_table(frame, metrics=metrics), frame)


def test_profiles() -> None:
    values = {"one": {"a": 0.9, "b": 0.1}, "two": {"a": 0.9, "b": 0.1}, "three": {"a": 0.1, "b": 0.9}}
    assert profiles(values) == "a has the best value of 2 of 3 metrics"
    # The best error is the lowest.
    assert profiles(values, one={"higher_is_better": False}) == "b has the best value of 2 of 3 metrics"
    # A metric without a better direction counts for nobody.
    none = "no model has the best value of more than every other model"
    assert profiles(values, one={"higher_is_better": None}) == f"Of 2 metrics, {none}"
    # Nor does a tie.
    assert profiles({"one": {"a": 0.5, "b": 0.5}}) == f"Of 1 metric, {none}"
    assert profiles({"one": {"a": 0.5}}) == ""


def test_random_answers() -> None:
    rows = pl.DataFrame({"model": ["a", "b"], "low": [0.6, 0.4], "high": [0.7, 0.5]})
    assert findings.of_chance(SHARE, rows, 0.5) == (
        "The whole interval of 1 of 2 models is better than the average score of random answers"
    )
    none = "For no model is the whole interval better than the average score of random answers"
    assert findings.of_chance(SHARE, rows, 0.6) == none
    assert "1 of 2 models" in findings.of_chance(ERROR, rows, 0.55)
    assert findings.of_chance(ERROR, rows, 0.5) == none
    assert findings.of_chance(SHARE, rows, None) == ""
    with_baseline = rows.with_columns(model=pl.Series(["a", "baseline/x"]))
    assert findings.of_chance(SHARE, with_baseline, 0.5) == (
        "The whole interval of 1 of 1 model is better than the average score of random answers "
        "(baselines are not counted)"
    )
    assert findings.of_chance(SHARE, with_baseline, 0.7) == f"{none} (baselines are not counted)"


@pytest.mark.parametrize(
    ("differences", "said"),
    [
        ([(0.2, 0.01), (-0.1, 0.8)], "1 of 2 models is above"),
        ([(0.2, 0.01), (-0.1, 0.04)], "1 of 2 models is above, 1 is below"),
        ([(0.2, 0.01), (0.2, 0.01), (-0.1, 0.04)], "2 of 3 models are above, 1 is below"),
        ([(-0.2, 0.01), (0.1, None)], "1 of 2 models is below"),
        ([(0.2, 0.05), (None, None)], "Nothing"),
        ([], "Nothing"),
    ],
)
def test_differences(differences: list[tuple[float | None, float | None]], said: str) -> None:
    rows = [{"by": difference, "p_holm": p} for difference, p in differences]
    assert findings.of_differences(rows, "by", ("is", "are"), "above", "below", "Nothing") == said


def test_findings_about_models_leave_out_people_and_baselines() -> None:
    names = ["a", "baseline/x", "human/ann"]
    assert findings.models_of(pl.DataFrame({"model": names}))["model"].to_list() == ["a"]
    assert findings.models_of(pl.DataFrame({"model": names[1:]}))["model"].to_list() == names[1:]


def test_wins() -> None:
    rows = [
        {"model_a": one, "model_b": other, "rate": rate}
        for one, other, rate in (
            ("a", "b", 0.6), ("a", "c", 0.7), ("b", "a", 0.4), ("b", "c", 0.6), ("c", "a", 0.3), ("c", "b", 0.4),
        )
    ]  # fmt: skip
    assert findings.of_wins(rows) == "a wins more often than it loses against every other model"
    even = [row | {"rate": 0.5} if row["model_b"] == "b" else row for row in rows]
    assert findings.of_wins(even).startswith("No model wins")


def test_difficulty() -> None:
    rows = pl.DataFrame({"sd": [0.0, 0.4, 0.0, None], "models": [3, 3, 2, 1]})
    assert findings.of_difficulty(rows[:2], "reply", models=3, units=2) == (
        "All models have the same value on 1 of 2 replies"
    )
    # Of a unit that one model lacks, nothing is said of all models.
    assert findings.of_difficulty(rows, "reply", models=3, units=4) == (
        "All models have the same value on 1 of the 2 replies with a value of every model"
    )
    assert findings.of_difficulty(rows[1:], "reply", models=3, units=3) == (
        "Models differ on each of the 1 reply with a value of every model"
    )
    assert findings.of_difficulty(rows[2:], "reply", models=3, units=2) == ""


def test_states() -> None:
    ends = {"anger": [(60.0, 20.0), (60.0, 70.0)], "trust": [(30.0, 50.0), (30.0, 30.0)]}
    better = {"anger": -1, "trust": 1}
    assert findings.of_states(ends, better) == (
        "Anger ends lower than it began with 1 of 2 models, trust ends higher with 1 of 2"
    )
    assert findings.of_states({"anger": [(20.0, 60.0)]}, better) == (
        "Anger ends lower than it began with none of 1 model"
    )
