"""Ratings of comparisons: pseudo-values whose mean is the fit, judges apart or pooled, parts of units fitted anew."""

from collections.abc import Iterable
from itertools import combinations, permutations
from math import log10
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest

from attune_bench import Scores, score
from attune_bench.scores.pairwise import ELO, MEAN_RATING, comparison_frame, comparisons_of, on_units
from attune_bench.stats.subgroups import compare_by, subgroups
from attune_data import load_records
from attune_data.comparisons import COMPARISON, Comparison
from attune_metrics import MetricInputError
from attune_metrics.stats.bootstrap import draw_resamples
from attune_metrics.stats.pairwise_ratings import ComparisonRatings, bradley_terry_ratings

pytestmark = pytest.mark.filterwarnings("ignore:.*far from the rest", "ignore:.* too few")


def scored(votes: Iterable[Comparison], **options: Any) -> Scores:
    return score(COMPARISON.collection(list(votes)), **options)


def vote(unit: object, a: str, b: str, winner: str | None, **more: Any) -> Comparison:
    return Comparison(unit=str(unit), a=a, b=b, winner=winner, **more)


def drawn(units: int, strengths: dict[str, float], *, seed: int = 1, pairs: int = 3, **more: Any) -> list[Comparison]:
    """Return comparisons on units whose answers differ in quality: those of one unit are not independent."""
    rng = Random(seed)
    found = []
    for unit in range(units):
        quality = {model: strength + rng.gauss(0, 0.5) for model, strength in strengths.items()}
        for a, b in rng.sample([*combinations(strengths, 2)], pairs):
            chance = 1 / (1 + np.exp(quality[b] - quality[a]))
            found.append(vote(f"u{unit:03}", a, b, a if rng.random() < chance else b, **more))
    return found


def values(scores: Scores, metric: str, **where: Any) -> dict[str, float | None]:
    found = scores.summary(metrics=[metric], resamples=50).filter(**where)
    return dict(found.select("model", "value").iter_rows())


def rounded(found: dict[str, float | None]) -> dict[str, float | None]:
    return {model: None if value is None else round(value, 6) for model, value in found.items()}


def refitted(votes: list[Comparison], *, n_resamples: int) -> ComparisonRatings:
    """Return ratings that are fitted anew in every resample of the units."""
    frame = comparison_frame(votes)
    resamples = draw_resamples(frame["unit"].to_list(), n_resamples=n_resamples, seed=0)
    return bradley_terry_ratings(frame["a"].to_list(), frame["b"].to_list(), frame["outcome"].to_numpy(), resamples)


def test_three_wins_of_four_are_odds_of_three() -> None:
    scores = scored(vote(n, "ada", "bob", "bob" if n == 3 else "ada") for n in range(4))
    half = 200 * log10(3)
    assert rounded(values(scores, "rating")) == {"ada": round(1000 + half, 6), "bob": round(1000 - half, 6)}
    assert values(scores, "win_rate") == {"ada": 0.75, "bob": 0.25}
    # Ties are half a win for each: one win and two ties are odds of 2 to 1.
    tied = scored([vote(1, "ada", "bob", "ada"), vote(2, "ada", "bob", "tie"), vote(3, "bob", "ada", "tie")])
    assert rounded(values(tied, "rating"))["ada"] == round(1000 + 200 * log10(2), 6)
    assert values(tied, "win_rate")["ada"] == pytest.approx(2 / 3)


def test_every_rated_model_has_a_pseudo_value_of_every_unit_with_the_rating_as_mean() -> None:
    votes = drawn(20, {"a": 0.5, "b": 0.2, "c": -0.7})
    scores = scored(votes)
    assert scores.values["rating"].null_count() == 0
    assert scores.values.height == 3 * 20
    fit = refitted(votes, n_resamples=50)
    expected: dict[str, float | None] = {
        str(one.model): MEAN_RATING + ELO * one.strength.estimate for one in fit.models
    }
    assert rounded(values(scores, "rating")) == rounded(expected)
    shuffled = votes[:]
    Random(3).shuffle(shuffled)
    assert scored(shuffled).values.equals(scores.values)


# Ends of intervals in units of the width of the interval of the fit in every resample. Pseudo-values are linear in the
# weights of units; fits in resamples are wider the fewer units there are, and the nearer a model comes to winning or
# losing every comparison. Measured over 40 data sets of all pairs, with 4,000 resamples: at most 0.040 with 45 units
# and 0.037 with 200 (3 models 0.066 and 0.036, 10 models 0.041 and 0.032); with 1,000 resamples, which alone move ends,
# 0.077 and 0.075.
@pytest.mark.parametrize("units", [45, 200])
def test_intervals_agree_with_fits_in_resamples(units: int) -> None:
    for seed in range(4):
        votes = drawn(units, {"a": 0.5, "b": 0.2, "c": 0.0, "d": -0.7}, seed=seed, pairs=6)
        frame = scored(votes).summary(metrics=["rating"], resamples=1000)
        strengths = {one.model: one.strength for one in refitted(votes, n_resamples=1000).models}
        for model, low, high in frame.select("model", "low", "high").iter_rows():
            own = strengths[model]
            ends = np.array([low, high]) - MEAN_RATING
            assert np.abs(ends / ELO - [own.low, own.high]).max() < 0.08 * (own.high - own.low), (seed, model)


def test_each_judge_has_ratings_of_its_own_unless_pooled() -> None:
    votes = [*drawn(15, {"a": 1, "b": 0, "c": -1}, judge="j"), *drawn(15, {"a": -1, "b": 0, "c": 1}, seed=2, judge="k")]
    scores = scored(votes)
    assert scores.conditions == ("j", "k")
    assert "2 judges, each with ratings of its own: j, k." in scores.provenance.notes
    assert rounded(values(scores, "rating", condition="j")) == rounded(values(scored(votes[:45]), "rating"))
    pooled = scored(votes, judges="pooled")
    assert pooled.conditions == (None,)
    assert "The verdicts of 2 judges are pooled: j, k." in pooled.provenance.notes
    assert pooled.sign() != scores.sign()
    with pytest.raises(MetricInputError, match="every comparison names its judge, or none does"):
        scored([*votes, vote("u", "a", "b", "a")])
    assert scored([*votes, *drawn(5, {"a": 1, "b": 0, "c": -1}, seed=3, judge="human")]).conditions[0] == "human"


def test_margins_weigh_wins_and_a_tie_weighs_one() -> None:
    def of(*margins: float, **options: Any) -> float | None:
        votes = [Comparison(unit=str(n), a="a", b="b", margin=margin) for n, margin in enumerate(margins)]
        return rounded(values(scored(votes, **options), "rating"))["a"]

    assert of(3, -1) == 1000
    assert of(3, -1, margins="weights") == round(1000 + 200 * log10(3), 6)
    assert of(2, 0, -2, margins="weights") == 1000
    assert of(3, 0, -1, margins="weights") == round(1000 + 200 * log10(3.5 / 1.5), 6)
    with pytest.raises(MetricInputError, match="the comparison of 'a' against 'b' on 'u' has no margin"):
        scored([vote("u", "a", "b", "a")], margins="weights")


def test_criteria_have_ratings_and_a_comparison_counts_once() -> None:
    votes = [
        *(vote(n, "a", "b", "a" if n else "b", criterion="warmth") for n in range(4)),
        *(vote(n, "a", "b", "b" if n else "a", criterion="depth") for n in range(4)),
    ]
    scores = scored(votes)
    assert [*scores.metrics] == [
        "rating", "win_rate", "rating_warmth", "win_rate_warmth", "rating_depth", "win_rate_depth"
    ]  # fmt: skip
    assert rounded(values(scores, "rating"))["a"] == 1000
    assert rounded(values(scores, "rating_warmth"))["a"] == round(1000 + 200 * log10(3), 6)
    assert rounded(values(scores, "rating_depth"))["a"] == round(1000 - 200 * log10(3), 6)
    # A verdict on the whole counts where there is one.
    whole = scored([*votes, *(vote(n, "a", "b", "b" if n == 3 else "a") for n in range(4))])
    assert rounded(values(whole, "rating"))["a"] == round(1000 + 200 * log10(3), 6)


def test_models_without_a_finite_rating_are_named_and_a_penalty_rates_them() -> None:
    votes = [*drawn(10, {"b": 0.3, "c": -0.3}, pairs=1), *(vote(f"u{n:03}", "best", "b", "best") for n in range(10))]
    scores = scored(votes)
    assert values(scores, "rating")["best"] is None
    assert values(scores, "win_rate")["best"] == 1
    note = "rating, without a rating: best (won every comparison). attune-bench score --penalty 0.1 rates every model."
    assert note in scores.provenance.notes
    [unranked] = scored(votes).rank(resamples=50).filter(model="best")["reason"]
    assert unranked == "not rated; a note says why"
    penalised = scored(votes, penalty=0.1)
    found = values(penalised, "rating")
    assert found["best"] is not None
    assert found["b"] is not None
    assert found["best"] > found["b"]
    assert any("best (finite by the penalty alone: won every comparison)" in one for one in penalised.provenance.notes)
    assert scored(drawn(20, {"b": 0.3, "c": -0.3}, pairs=1)).provenance.notes == ()


def test_a_model_that_lost_on_few_units_is_named() -> None:
    votes = [vote(n, "best", "b", "tie" if n < 2 else "best") for n in range(20)]
    said = "rating: few units decide the ratings of b (won or tied on 2), best (lost or tied on 2)."
    assert said in scored(votes).provenance.notes
    votes[5:7] = [vote(n, "best", "b", "b") for n in (5, 6)]
    assert scored(votes).provenance.notes == ()


def test_ratings_of_few_units_are_rough() -> None:
    votes = drawn(20, {"a": 0.3, "b": 0, "c": -0.3})
    said = "rating: 19 units, and with fewer than 20 intervals of ratings are rough: in simulations, 95% intervals"
    assert [one.startswith(said) for one in scored(votes[:-3]).provenance.notes] == [True]
    assert scored(votes).provenance.notes == ()


def test_groups_of_models_that_no_comparison_joins_are_named() -> None:
    large = drawn(20, {"a": 0.3, "b": 0, "c": -0.3})
    scores = scored([*large, *drawn(20, {"x": 0.1, "y": 0}, pairs=1)])
    found = values(scores, "rating")
    assert {model for model, value in found.items() if value is None} == {"x", "y"}
    (note,) = scores.provenance.notes
    assert note.startswith("rating, without a rating: x, y (compared within group 2 of 2 only)")
    assert rounded({model: found[model] for model in "abc"}) == rounded(values(scored(large), "rating"))


def test_anchors_fix_two_ratings_keep_the_order_and_scale_intervals() -> None:
    votes = drawn(60, {"a": 1, "b": 0.4, "c": 0, "d": -0.5}, pairs=6)
    plain, fixed = scored(votes), scored(votes, anchors={"a": 1500, "d": 200})
    free, found = (one.summary(metrics=["rating"], resamples=200).sort("model") for one in (plain, fixed))
    a, *_, d = free["value"]
    assert found["value"].to_list()[::3] == pytest.approx([1500, 200])
    for column in ("value", "low", "high"):
        scaled = 200 + 1300 * (free[column] - d) / (a - d)
        assert found[column].to_list() == pytest.approx(scaled.to_list())
    assert fixed.provenance.protocol == "Bradley-Terry, ties half, anchors a 1500 and d 200"
    assert fixed.metrics["rating"].source.endswith("on the line through a 1500 and d 200")
    shifted = scored(votes, anchors={"a": 0}).summary(metrics=["rating"], resamples=200).sort("model")
    assert shifted["high"].to_list() == pytest.approx((free["high"] - a).to_list())


def test_anchors_hold_in_a_part_and_in_a_file(tmp_path: Path) -> None:
    votes = drawn(60, {"a": 1, "b": 0.4, "c": 0, "d": -0.5}, pairs=6)
    scored(votes, anchors={"a": 1500, "d": 200}).write(tmp_path / "scores.parquet")
    part = on_units(Scores.read(tmp_path / "scores.parquet"), [f"u{unit:03}" for unit in range(40)])
    found = rounded(values(part, "rating"))
    assert (found["a"], found["d"]) == (1500, 200)


def test_anchors_that_cannot_hold_are_refused_and_judges_without_one_named() -> None:
    votes = drawn(20, {"a": 1, "b": 0, "c": -1}, judge="j")
    with pytest.raises(MetricInputError, match="anchors: no model 'e'"):
        scored(votes, anchors={"e": 1})
    with pytest.raises(MetricInputError, match="'a' is rated above 'c', and its anchor is not above the other's"):
        scored(votes, anchors={"a": 1, "c": 1})
    with pytest.raises(MetricInputError, match="anchors has 3 models; expected two, or one"):
        scored(votes, anchors=dict.fromkeys("abc", 1.0))
    others = drawn(20, {"a": 1, "b": 0, "d": -1}, judge="k")
    scores = scored([*votes, *others], anchors={"a": 1500, "c": 200})
    assert rounded(values(scores, "rating", condition="j"))["c"] == 200
    assert set(values(scores, "rating", condition="k").values()) == {None}
    assert "rating, judge k: no ratings, anchor 'c' is not among the 3 rated models." in scores.provenance.notes


def test_people_are_one_judge() -> None:
    votes = drawn(20, {"a": 0, "b": 0}, pairs=1, judge="human/1") + drawn(
        20, {"a": 0, "b": 0}, pairs=1, judge="human/2"
    )
    together = scored(votes)
    assert together.conditions == (None,)
    assert together.provenance.notes == ("People are one judge: human/1, human/2.",)
    scores = scored([*votes, *drawn(20, {"a": 1, "b": 0}, pairs=1, judge="j")])
    assert scores.conditions == ("human", "j")
    assert scores.provenance.reference == "human"
    assert rounded(values(scores, "rating", condition="human")) == rounded(values(together, "rating"))
    assert {"2 judges, each with ratings of its own: human, j.", "People are one judge: human/1, human/2."} <= {
        *scores.provenance.notes
    }


def test_many_judges_are_probably_people() -> None:
    votes = [one for judge in range(11) for one in drawn(9, {"a": 0, "b": 0}, pairs=1, judge=f"user {judge:02}")]
    hint = "attune-bench score --judges pooled takes the verdicts of many people together."
    assert hint in " ".join(scored(votes).provenance.notes)
    assert hint not in " ".join(scored(votes[:90]).provenance.notes)
    assert hint not in " ".join(scored(votes, judges="pooled").provenance.notes)


def test_one_order_only_is_said() -> None:
    one = [vote(n, *pair, "a", first="a") for n in range(2) for pair in combinations("xyz", 2)]
    said = "Each pair of models was shown in one order only"
    assert any(note.startswith(said) for note in scored(one, penalty=1.0).provenance.notes)
    both = [vote(n, *pair, "a", first="a") for n in range(2) for pair in permutations("xyz", 2)]
    assert not any(note.startswith(said) for note in scored(both, penalty=1.0).provenance.notes)
    assert not any(note.startswith(said) for note in scored(drawn(9, {"a": 0, "b": 0}, pairs=1)).provenance.notes)


def test_comparisons_without_a_verdict_are_counted_and_faults_refused() -> None:
    votes = drawn(9, {"a": 0, "b": 0}, pairs=1)
    scores = scored([*votes, vote("v", "a", "b", None)])
    assert "Left out: 1 comparison without a verdict." in scores.provenance.notes
    assert "v" not in set(scores.units["unit"])
    with pytest.raises(MetricInputError, match="winner is 'c'; expected 'a', 'b', a, b or tie"):
        scored([*votes, vote("v", "a", "b", "c")])
    with pytest.raises(MetricInputError, match="none of 1 comparison has a verdict"):
        scored([vote("v", "a", "b", None)])
    with pytest.raises(MetricInputError, match="cluster of unit 'u' is 's' and 't'; a unit is in one cluster"):
        scored([vote("u", "a", "b", "a", cluster="s"), vote("u", "b", "c", "a", cluster="t")])


# Parts of the units.


@pytest.fixture(scope="module")
def demo() -> Scores:
    return score(load_records("demo", COMPARISON))


def test_the_comparisons_come_back_from_a_file(demo: Scores, tmp_path: Path) -> None:
    demo.write(tmp_path / "scores.parquet")
    again = Scores.read(tmp_path / "scores.parquet")
    assert again == demo
    given = load_records("demo", COMPARISON)
    found = comparisons_of(again).select("unit", "a", "b", "outcome", "margin", "shown", "judge", "length_a").rows()
    expected = [(one.unit, one.a, one.b, one.outcome, one.margin, one.shown, one.judge, one.length_a) for one in given]
    assert sorted(found) == sorted(expected)


def test_a_part_of_the_units_is_fitted_anew(demo: Scores) -> None:
    units = demo.units["unit"].to_list()[:15]
    part = score(COMPARISON.collection([one for one in load_records("demo", COMPARISON) if one.unit in units]))
    assert on_units(demo, units).values.equals(part.values)
    options: dict[str, Any] = {"metrics": ["rating"], "resamples": 50}
    found = subgroups(demo, {"half": units}, known=demo.units["unit"], **options)
    expected = part.summary(**options)
    keys = ["model", "condition"]
    columns = [*keys, "value", "low", "high", "n"]
    assert found.select(columns).sort(keys).equals(expected.select(columns).sort(keys))
    averaged = demo.keep(units=units).summary(**options)
    assert not averaged["value"].equals(expected["value"])


def test_subgroups_are_fitted_anew_by_trait_and_compared_as_such(demo: Scores) -> None:
    units = demo.units.with_columns(topic=pl.when(pl.int_range(pl.len()) < 15).then(pl.lit("x")).otherwise(pl.lit("y")))
    votes = [
        one.model_copy(update={"topic": dict(units.select("unit", "topic").iter_rows())[one.unit]})
        for one in load_records("demo", COMPARISON)
        if one.judge == "synthetic/judge-one"
    ]
    votes = [Comparison.model_validate(one.model_dump()) for one in votes]
    scores = scored(votes)
    assert scores.traits == ("topic",)
    part = scored([one for one in votes if (one.model_extra or {})["topic"] == "x"])
    by = scores.by("topic", metrics=["rating"], resamples=50, compare=True).filter(stratum="x")
    assert dict(by.select("model", "value").iter_rows()) == values(part, "rating")
    assert by["difference"].null_count() == by.height
    assert set(by["reason"]) == {"no difference: the ratings of two sets of units are fitted apart"}
    expected = part.compare_all(metrics=["rating"], resamples=50)
    found = compare_by(scores, "topic", metrics=["rating"], resamples=50).filter(stratum="x")
    assert sorted(map(abs, found["difference"])) == sorted(map(abs, expected["difference"]))


def test_ratings_are_no_values_of_units(demo: Scores) -> None:
    assert set(demo.to_polars()["metric"]) == {"win_rate"}
    with pytest.raises(MetricInputError, match="ratings needs a value of each prompt, 'rating' has none"):
        demo.ratings()
    clustered = scored(drawn(9, {"a": 0, "b": 0}, pairs=1, cluster="s"))
    with pytest.raises(MetricInputError, match="rating has no mean over clusters: fitted to all prompts together"):
        clustered.rank(weight="cluster")
