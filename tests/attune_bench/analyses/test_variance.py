"""Variance split and difficulty: by hand, and against least squares by statsmodels."""

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.regression.linear_model import OLS

from attune_bench import Scores
from attune_bench.analyses import unit_difficulty, variance_split
from attune_metrics import MetricInputError

Build = Callable[..., Scores]
METRIC = "composite_score"
TABLE = {"a": [1.0, 3.0, 5.0], "b": [2.0, 4.0, 9.0]}


def _scores(scores_of: Build, table: Any, **options: Any) -> Scores:
    cells = {
        model: {f"c{i}": {METRIC: value} for i, value in enumerate(values)} for model, values in dict(table).items()
    }
    return scores_of(cells, **options)


def test_variance_split_by_hand(scores_of: Build) -> None:
    # Mean 4. Conversations 1.5, 3.5, 7: MSC = 2 (6.25 + .25 + 9) / 2 = 15.5. Models 3 and 5: MSM = 3 (1 + 1) / 1 = 6.
    # All squares 9 + 1 + 1 + 4 + 0 + 25 = 40, so MSE = (40 - 31 - 6) / 2 = 1.5.
    rows = variance_split(_scores(scores_of, TABLE), metrics=[METRIC]).to_dicts()
    assert [row["source"] for row in rows] == ["unit", "model", "residual"]
    assert [row["variance"] for row in rows] == pytest.approx([(15.5 - 1.5) / 2, (6 - 1.5) / 3, 1.5], abs=1e-12)
    assert [row["share"] for row in rows] == pytest.approx([0.7, 0.15, 0.15], abs=1e-12)
    assert {(row["n"], row["models"], row["clusters"], row["reason"]) for row in rows} == {
        (3, 2, 3, "fewer than 5 participants")
    }


def test_only_complete_conversations_count(scores_of: Build) -> None:
    whole = variance_split(_scores(scores_of, TABLE), metrics=[METRIC])
    more = {"a": [*TABLE["a"], 8.0, None], "b": [*TABLE["b"], None, 1.0]}
    assert variance_split(_scores(scores_of, more), metrics=[METRIC]).equals(whole)


def test_negative_estimates_stay_and_have_no_share(scores_of: Build) -> None:
    # Conversations and models all have mean 2: MSC = MSM = 0, MSE = 4 / 1.
    rows = variance_split(_scores(scores_of, {"a": [1.0, 3.0], "b": [3.0, 1.0]}), metrics=[METRIC]).to_dicts()
    assert [row["variance"] for row in rows] == [-2.0, -2.0, 4.0]
    assert [row["share"] for row in rows] == [0.0, 0.0, 1.0]


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(st.integers(2, 5), st.integers(5, 12), st.integers(0, 10_000), st.sampled_from([0.0, 1e5]))
def test_variance_split_is_the_analysis_of_variance(
    scores_of: Build, models: int, conversations: int, seed: int, far: float
) -> None:
    values = np.random.default_rng(seed).normal(size=(models, conversations)).round(3)
    model, conversation = (
        np.eye(size)[of.ravel()] for size, of in zip(values.shape, np.indices(values.shape), strict=True)
    )

    def left(*columns: Any) -> float:
        return float(OLS(values.ravel(), np.hstack(columns)).fit().ssr)

    conversation = conversation[:, 1:]  # the first is what is left of all models
    # What a factor explains is what is left without it, less what is left with both.
    rest = left(model, conversation)
    residual = rest / ((models - 1) * (conversations - 1))
    between_conversations = (left(model) - rest) / (conversations - 1)
    between_models = (left(conversation, np.ones((values.size, 1))) - rest) / (models - 1)
    scores = _scores(scores_of, {f"m{m}": (row + far).tolist() for m, row in enumerate(values)})
    found = variance_split(scores, metrics=[METRIC], resamples=20)["variance"].to_list()
    expected = [(between_conversations - residual) / models, (between_models - residual) / conversations, residual]
    # statsmodels solves a system of equations, which costs digits; so does adding 100,000.
    assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.slow
def test_intervals_hold_a_plain_case(scores_of: Build) -> None:
    # Conversation effects of variance 4, models 0 and 1 (variance .5), error of variance 1.
    generator = np.random.default_rng(1)
    effects = 2 * generator.normal(size=300)
    table = {name: (mean + effects + generator.normal(size=300)).tolist() for name, mean in (("a", 0.0), ("b", 1.0))}
    found = variance_split(_scores(scores_of, table), metrics=[METRIC], resamples=2000, level=0.99)
    for row, truth in zip(found.iter_rows(named=True), (4, 0.5, 1), strict=True):
        assert row["low"] < truth < row["high"], row
        assert row["share_low"] < truth / 5.5 < row["share_high"], row
        assert row["reason"] is None


def test_intervals_draw_participants(scores_of: Build) -> None:
    # 40 conversations of each of 5 participants, who are what differs: an interval over conversations is far too short.
    generator = np.random.default_rng(2)
    effects = np.repeat(generator.normal(size=5), 40)
    table = {name: (effects + 0.1 * generator.normal(size=200)).tolist() for name in "ab"}
    scores = _scores(scores_of, table, people={f"c{i}": f"P{i // 40}" for i in range(200)})
    wide, narrow = (
        variance_split(scores, metrics=[METRIC], resamples=500, unit=unit).row(0, named=True)
        for unit in ("participant", "conversation")
    )
    assert wide["high"] - wide["low"] > 3 * (narrow["high"] - narrow["low"])


@pytest.mark.parametrize(
    ("table", "reason"),
    [({"a": [1.0, 2.0]}, "one model"), ({"a": [1.0], "b": [2.0]}, "fewer than 2 conversations")],
)
def test_what_cannot_be_split(scores_of: Build, table: Any, reason: str) -> None:
    rows = variance_split(_scores(scores_of, table), metrics=[METRIC]).to_dicts()
    assert {(row["variance"], row["share"], row["reason"]) for row in rows} == {(None, None, reason)}


def test_difficulty_by_hand(scores_of: Build) -> None:
    table = {"a": [1.0, 3.0, 5.0], "b": [3.0, None, None], "c": [5.0, 4.0, None]}
    rows = unit_difficulty(_scores(scores_of, table)).rows()
    assert rows == [
        ("default", METRIC, "c0", 3.0, 2.0, 3),
        ("default", METRIC, "c1", 3.5, pytest.approx(0.5**0.5, abs=1e-12), 2),
        ("default", METRIC, "c2", 5.0, None, 1),
    ]


@pytest.mark.parametrize("analysis", [variance_split, unit_difficulty])
def test_pooled_scores_have_no_value_of_a_conversation(scores_of: Build, analysis: Callable[..., Any]) -> None:
    with pytest.raises(MetricInputError, match=f"{analysis.__name__} needs a value of each conversation"):
        analysis(_scores(scores_of, TABLE), metrics=["pooled_binary_om_metrics.mcc"])


@pytest.mark.slow
def test_bca_of_the_residual_is_scipys(scores_of: Build) -> None:
    # The residual of two models is half the variance (n - 1) of their differences.
    values = np.random.default_rng(3).normal([[0], [2]], size=(2, 30))
    rows = variance_split(_scores(scores_of, zip("ab", values, strict=True)), metrics=[METRIC], interval="bca")
    assert rows["reason"].to_list() == [None] * 3
    assert (rows["low"] < rows["variance"]).all()
    assert (rows["share_low"] < rows["share_high"]).all()
    gaps = values[0] - values[1]
    theirs = stats.bootstrap(
        (gaps,), lambda x, axis: x.var(ddof=1, axis=axis) / 2, method="BCa", n_resamples=20_000, rng=1
    ).confidence_interval
    # Monte Carlo error; the plain percentile interval is lower by 0.15 and 0.5.
    assert rows.row(2, named=True)["low"] == pytest.approx(theirs.low, abs=0.03)
    assert rows.row(2, named=True)["high"] == pytest.approx(theirs.high, abs=0.05)


def test_difficulty_beyond_the_largest_float_is_null() -> None:
    rows = [("a", "q", "m", 1.5e308), ("b", "q", "m", 1.5e308), ("a", "r", "m", 1.0), ("b", "r", "m", 3.0)]
    frame = pl.DataFrame(rows, schema=["model", "unit", "metric", "value"], orient="row")
    found = unit_difficulty(Scores.from_table(frame)).sort("unit")
    assert found["mean"].to_list() == [None, 2.0]
    assert found["sd"].to_list() == [None, pytest.approx(2**0.5, abs=1e-12)]
