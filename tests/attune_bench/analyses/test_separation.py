"""Separation and skills of scores: what is counted, the order, the sentences, true and false."""

import re
from typing import Any

import numpy as np
import polars as pl
import pytest
from pages import section, text_of
from polars.testing import assert_frame_equal
from synthetic.skills import Floats, skill_scores

from attune_bench import Scores
from attune_bench.analyses.separation import advice, separation
from attune_bench.analyses.skills import skills, skills_shown
from attune_metrics.stats.separation import separation as separation_of
from attune_metrics.stats.skills import disattenuated

QUICK: dict[str, Any] = {"resamples": 200}


def table(values: Floats, people: Any, *names: str, models: list[str] | None = None, **entries: Any) -> Scores:
    """Return scores of values (metrics, models, units) with a condition."""
    rows = [
        (models[m] if models else f"model-{m:02}", f"u{u:03}", f"p{people[u]}", name, "plain", value)
        for name, of_metric in zip(names, values.tolist(), strict=True)
        for m, of_model in enumerate(of_metric)
        for u, value in enumerate(of_model)
    ]
    columns = ["model", "unit", "cluster", "metric", "condition", "value"]
    return Scores.from_table(pl.DataFrame(rows, schema=columns, orient="row"), metrics=entries)


CLEAR, PEOPLE = skill_scores([0], models=8, reliability=0.97, seed=1)
NOISE, _ = skill_scores([0], models=8, reliability=0.01, seed=2)
BOTH = table(np.concatenate([NOISE, CLEAR]), PEOPLE, "noise", "clear")


def test_the_most_reliable_metric_comes_first() -> None:
    found = separation(BOTH, **QUICK)
    assert found["metric"].to_list() == ["clear", "noise"]
    clear, noise = found.to_dicts()
    expected = separation_of(CLEAR[0], PEOPLE)
    assert clear["reliability"] == pytest.approx(expected.reliability.estimate, abs=1e-12)
    assert (clear["low"], clear["high"]) == pytest.approx((expected.reliability.low, expected.reliability.high))
    shares = [clear[f"{name}_share"] for name in ("models", "units", "within")]
    assert sum(shares) == pytest.approx(1, abs=1e-12)
    assert clear["units_needed"] < 100
    assert noise["units_needed"] is None or noise["units_needed"] > 1000
    assert (clear["n"], clear["models"], clear["clusters"], clear["pairs"]) == (100, 8, 50, 28)
    compared = BOTH.compare_all(metrics=["clear"], **QUICK)["significant"]
    assert clear["differ"] == compared.mean()
    assert noise["differ"] == 0
    assert clear["detectable"] < noise["detectable"]


def test_people_and_baselines_are_no_models() -> None:
    names = [*(f"model-{m:02}" for m in range(8)), "human/ann", "baseline/chance"]
    far = np.concatenate([CLEAR, CLEAR[:, :2] + 100], axis=1)
    more = table(far, PEOPLE, "clear", models=names)
    assert separation(more, **QUICK).equals(separation(table(CLEAR, PEOPLE, "clear"), **QUICK))


def test_advice_is_true_and_false() -> None:
    said = advice(BOTH, separation(BOTH, **QUICK))
    assert said.startswith("clear orders these models most reliably (0.9")
    assert "1 of 2 metrics reaches a reliability of 0.9" in said
    assert said.endswith("; noise does not tell them apart, as the reliability may be 0.")
    found = separation(BOTH, **QUICK).with_columns(differ=pl.lit(0.5))
    assert "apart" not in advice(BOTH, found), "a metric by which pairs differ tells them apart"
    alone = table(CLEAR, PEOPLE, "clear")
    assert "apart" not in advice(alone, separation(alone, **QUICK))
    lost = table(NOISE, PEOPLE, "noise")
    said = advice(lost, separation(lost, **QUICK))
    assert said == "None of 1 metric tells these models apart: each reliability may be 0."
    nearly = separation(BOTH, **QUICK).with_columns(reliability=pl.lit(0.8999), low=pl.lit(0.7))
    assert "(0.89); 0 of 2 metrics reach a reliability of 0.9" in advice(BOTH, nearly)
    unsure = nearly.with_columns(low=pl.Series([None, 0.7]))
    assert "noise orders these models most reliably (0.89)" in advice(BOTH, unsure)
    assert "; the reliability of clear has no interval, and is not counted" in advice(BOTH, unsure)
    few = table(CLEAR[:, :, :6], PEOPLE[:6], "clear")
    found = separation(few, **QUICK)
    assert found["reason"].to_list() == ["fewer than 5 clusters"]
    assert advice(few, found).startswith("No metric has an interval")


def test_why_nothing_is_known_is_the_cause() -> None:
    apart = [(f"m{m}", f"u{m}-{unit}", name, m + unit) for m in range(6) for unit in range(9) for name in ("a", "b")]
    scores = Scores.from_table(pl.DataFrame(apart, schema=["model", "unit", "metric", "value"], orient="row"))
    for analysis in (separation, skills):
        assert set(analysis(scores, **QUICK)["reason"]) == {"no unit has a value of every model"}
    lone = table(np.concatenate([CLEAR, CLEAR])[..., :3], ["p"] * 3, "clear", "same")
    assert skills(lone, **QUICK)["reason"].to_list() == ["fewer than 5 clusters"]
    flat = table(np.concatenate([CLEAR, CLEAR * 0]), PEOPLE, "clear", "flat")
    assert skills(flat, **QUICK)["reason"].to_list() == ["in one of the two, all models have the same values"]
    both = table(np.concatenate([CLEAR * 0, CLEAR * 0]), PEOPLE, "flat", "even")
    assert skills(both, **QUICK)["reason"].to_list() == ["all models have the same values"]


SKILLED, SKILLED_PEOPLE = skill_scores([0, 0, 1, 1], models=40, seed=5)
FOUR = table(SKILLED, SKILLED_PEOPLE, "a", "b", "c", "d")


def test_two_planted_skills_are_found() -> None:
    found = skills(FOUR, **QUICK)
    assert set(found["dimensions"]) == {2}
    rows = {(row["metric_a"], row["metric_b"]): row for row in found.to_dicts()}
    assert min(rows[pair]["low"] for pair in (("a", "b"), ("c", "d"))) > 0.85
    assert all(rows[pair]["high"] < 1 for pair in (("a", "c"), ("a", "d"), ("b", "c"), ("b", "d")))
    expected = disattenuated(SKILLED[0], SKILLED[2], SKILLED_PEOPLE)
    row = rows["a", "c"]
    assert (row["corrected"], row["observed"], row["within"], row["within_low"]) == pytest.approx(
        (expected.corrected.estimate, expected.observed, expected.within.estimate, expected.within.low), abs=1e-12
    )
    said = skills_shown(FOUR, found)
    assert "; the metrics share at least 2 skills. " in said
    correlated = sum(one["low"] > 0 or one["high"] < 0 for one in rows.values())
    assert said.startswith(f"{correlated} of 6 pairs of metrics are correlated (interval without 0); ")
    apart = sum(one["high"] < 1 for one in rows.values())
    assert f"; one skill is ruled out for {apart} (interval within -1 and 1)" in said
    opposite = found.with_columns(corrected=pl.lit(-1.003), low=pl.lit(-1.01), high=pl.lit(-0.99))
    said = skills_shown(FOUR, opposite)
    assert "one skill is ruled out for 0 (interval within -1 and 1); 6 are beyond -1 or 1, as noise allows" in said
    assert "With 40 models, a true correlation of 0.6 has, without any noise, a 95% interval from 0.35 to 0.77." in said


def test_one_planted_skill_is_found() -> None:
    values, people = skill_scores([0, 0, 0], models=11, seed=6)
    one = table(values, people, "a", "b", "c")
    found = skills(one, **QUICK)
    assert set(found["dimensions"]) == {1}
    assert (found["high"] >= 1).all()
    said = skills_shown(one, found)
    assert "; one skill is ruled out for 0" in said
    assert "at least 1 skill." in said
    beyond = found.filter(pl.col("corrected") > 1).height
    assert (f"; {beyond} {'is' if beyond == 1 else 'are'} beyond -1 or 1, as noise allows" in said) == bool(beyond)


def test_a_page_has_short_headings_and_the_intervals_of_correlations() -> None:
    values, people = skill_scores([0, 0, 0], models=11, seed=6)
    noise, _ = skill_scores([0], models=11, reliability=0.01, seed=2)
    four = table(np.concatenate([values, noise]), people, "a", "b", "c", "noise")
    page = four.report(format="html", resamples=200)
    found = separation(four, **QUICK)
    first, _, rest = advice(four, found).partition("; ")
    drawn = section(page, "Separation of models")
    assert re.findall("<h3>(.*?)</h3>", drawn) == [first]
    assert f"{rest[:1].upper()}{rest[1:]}" in text_of(drawn)
    assert "noise does not tell them apart" in rest
    drawn = section(page, "Correlation of metrics without noise")
    pairs = skills(four, **QUICK)
    first, _, rest = skills_shown(four, pairs).partition("; ")
    assert re.findall("<h3>(.*?)</h3>", drawn) == [first]
    assert f"{rest[:1].upper()}{rest[1:]}" in " ".join(text_of(drawn).split())
    for row in pairs.drop_nulls("low").iter_rows(named=True):
        cell = f"{row['corrected']:.2f} <small>[{row['low']:.2f}, {row['high']:.2f}]</small>"
        assert cell in drawn
    assert drawn.count("<small>[") == pairs["low"].count() == 3


def test_metrics_without_a_common_skill() -> None:
    values, people = skill_scores([0, 1, 2], models=40, seed=9)
    none = table(values, people, "a", "b", "c")
    found = skills(none, **QUICK)
    assert set(found["dimensions"]) == {0}
    assert "; no shared skill is shown." in skills_shown(none, found)


def test_lower_is_better_counts_negatively() -> None:
    signs = np.array([1, -1, 1, 1])[:, np.newaxis, np.newaxis]
    turned = table(SKILLED * signs, SKILLED_PEOPLE, *"abcd", b={"higher_is_better": False})
    names = [*"abcd"]
    assert_frame_equal(skills(turned, metrics=names, **QUICK), skills(FOUR, metrics=names, **QUICK))


def test_too_few_models_and_metrics_of_noise() -> None:
    few = table(SKILLED[:, :5], SKILLED_PEOPLE, *"abcd")
    found = skills(few, **QUICK)
    assert set(found["reason"]) == {"fewer than 6 models"}
    assert found["corrected"].null_count() == 6
    assert found["dimensions"].null_count() == 6
    assert skills_shown(few, found) == ""
    [row] = skills(BOTH, **QUICK).to_dicts()
    assert row["reason"] == "one of the two has a reliability below 0.3"
    assert row["dimensions"] is None
    assert row["observed"] is not None
