"""Comparison: differences, p-values and families by hand, and against scipy and statsmodels."""

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from attune_bench import Scores
from attune_bench.stats.compare import all_pairs_tested, check_shared_units, count_significant
from attune_bench.stats.planning import plan
from attune_bench.stats.subgroups import compare_by
from attune_metrics.attunebench.questions import BinaryCounts
from attune_metrics.metric import MetricInputError, UnreliableIntervalWarning

Build = Callable[..., Scores]
Json = dict[str, Any]

M = ["composite_score"]
EQUAL = "the two are equal in every participant"
COLUMNS = (
    "model_a model_b condition metric difference low high p p_min p_holm significant n clusters mde reason".split()
)


# By hand.


def test_a_comparison_by_hand(build: Build) -> None:
    # Differences 1, 2, 2. Of 8 exchanges this one and its opposite are as large: p = 2/8.
    frame = build({"a": [2, 4, 5], "b": [1, 2, 3]}).compare("a", "b", metrics=M)
    assert frame.columns == COLUMNS
    row = frame.row(0, named=True)
    assert row["difference"] == pytest.approx(5 / 3, abs=1e-12)
    assert (row["p"], row["p_holm"], row["significant"], row["n"], row["clusters"]) == (0.25, 0.25, False, 3, 3)
    assert (row["p_min"], row["mde"], row["reason"]) == (0.25, None, "fewer than 5 participants")
    assert (row["low"], row["high"]) == (None, None)


def test_minimum_detectable_effect_by_hand(build: Build) -> None:
    # Differences 1, 2, 2, 3, 1, 2, 2, 3 of 8 conversations: mean 2, squares about it sum to 4. p-values of 256
    # exchanges are multiples of 2/256; the largest below 0.05 is 12/256.
    a, b = [2, 4, 5, 4, 3, 2, 3, 8], [1, 2, 3, 1, 2, 0, 1, 5]
    row = build({"a": a, "b": b}).compare("a", "b", metrics=M).row(0, named=True)
    factor = float(stats.t.ppf(1 - 6 / 256, 7) + stats.t.ppf(0.8, 7))
    assert row["mde"] == pytest.approx(factor * (4 / 7 / 8) ** 0.5, abs=1e-12)
    assert (row["p"], row["p_min"], row["reason"]) == (2 / 256, 2 / 256, None)
    # Two conversations less have an interval and a test, but no detectable effect.
    row = build({"a": a[:6], "b": b[:6]}).compare("a", "b", metrics=M).row(0, named=True)
    assert row["low"] < row["difference"] < row["high"]
    assert (row["p_min"], row["mde"]) == (2 / 64, None)
    assert row["reason"] == "no minimum detectable effect with fewer than 7 participants"


@pytest.mark.parametrize(
    ("differ", "resamples", "p_min", "reason"),
    [
        (1, 2_000, 1.0, "only 1 participant that differs"),
        (3, 2_000, 2 / 8, "only 3 participants that differ"),
        (5, 2_000, 2 / 32, "only 5 participants that differ"),
        (6, 2_000, 2 / 64, None),
        (20, 19, 1 / 41, None),  # at least 40 random exchanges
        (20, 50, 1 / 51, None),
    ],
)
def test_no_effect_is_detectable_where_nothing_could_be_significant(
    build: Build, differ: int, resamples: int, p_min: float, reason: str | None
) -> None:
    a = [float(i % 3 + 1) if i < differ else 0.0 for i in range(24)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame = build({"a": a, "b": [0.0] * 24}).compare("a", "b", metrics=M, resamples=resamples)
    row = frame.row(0, named=True)
    assert row["p_min"] == p_min
    assert (row["mde"] is None) == (reason is not None)
    assert row["reason"] == (reason and f"no minimum detectable effect with {reason}")


def test_the_family_is_the_pairs_of_a_metric(build: Build) -> None:
    # a is above b and c in all of six conversations: p = 2/64 each. b - c is +1 and -1 three times: p = 1.
    # Holm: 3 x 2/64, 2 x 2/64 but not below the former, 1.
    scores = build({"a": [9] * 6, "b": [1, 0, 1, 0, 1, 0], "c": [0, 1, 0, 1, 0, 1]})
    frame = scores.compare_all(metrics=M)
    assert frame.select("model_a", "model_b").rows() == [("a", "b"), ("a", "c"), ("b", "c")]
    assert frame["p"].to_list() == [2 / 64, 2 / 64, 1.0]
    assert frame["p_holm"].to_list() == [6 / 64, 6 / 64, 1.0]
    assert frame["significant"].to_list() == [False] * 3
    # Both differences from a are between 8 and 9 for certain; that of b and c is not different from 0.
    assert count_significant(frame).rows() == [("default", "composite_score", 3, 3, 0, 2, 6 / 64)]


def test_a_difference_is_significant_below_005_after_correction(build: Build) -> None:
    # Two models on 7 conversations: p = 2/128 alone. A third, of which nothing differs from the second: a family of
    # three, p = 3 x 2/128 = 0.046875 for the first two pairs.
    a, b = [9.0] * 7, [1.0, 0, 1, 0, 1, 0, 1]
    frame = build({"a": a, "b": b, "c": b}).compare_all(metrics=M)
    assert frame["p_holm"].to_list() == [6 / 128, 6 / 128, 1.0]
    assert frame["significant"].to_list() == [True, True, False]
    assert count_significant(frame).rows() == [("default", "composite_score", 3, 3, 2, 2, 6 / 128)]
    # A fourth makes six pairs: nothing is significant any more.
    frame = build({"a": a, "b": b, "c": b, "d": [0.0, 1, 0, 1, 0, 1, 0]}).compare_all(metrics=M)
    assert frame["significant"].to_list() == [False] * 6


def test_only_conversations_of_both_count(build: Build) -> None:
    frame = build({"a": [1, 2, None, 4, 5, 6, 7], "b": [0, 1, 1, 3, 4, 5]}).compare("a", "b", metrics=M)
    row = frame.row(0, named=True)
    assert (row["difference"], row["n"], row["clusters"]) == (1.0, 5, 5)
    assert row["reason"] == "all participants have the same difference"
    assert row["mde"] is None


def test_compare_gives_the_row_of_compare_all(build: Build) -> None:
    rng = np.random.default_rng(4)
    scores = build({name: list(rng.normal(size=9)) for name in "abc"})
    every = scores.compare_all(metrics=M).filter(model_a="a", model_b="c")
    family = ["p_holm", "significant"]
    assert scores.compare("a", "c", metrics=M).drop(family).equals(every.drop(family))


# Against other tools.


@pytest.mark.parametrize("options", [{}, {"weight": "cluster"}])
def test_tests_without_intervals_are_as_in_compare_all(build: Build, options: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    values = {f"m{place}": [*rng.normal(60 + 3 * place, 5, 20), None] for place in range(4)}
    scores = build(values, people=[unit // 2 for unit in range(21)])
    options = {"resamples": 200, **options}
    whole = scores.compare_all(metrics=["composite_score"], **options)
    tested = all_pairs_tested(scores, "composite_score", **options)
    intervals = ["low", "high", "mde"]
    assert 0 < whole["significant"].sum() < whole.height
    assert whole[intervals].null_count().row(0) == (0, 0, 0)
    assert tested.drop(intervals).equals(whole.drop(intervals))
    assert tested[intervals].null_count().row(0) == (whole.height,) * 3


def test_permutation_p_equals_scipys_for_a_mean(build: Build) -> None:
    rng = np.random.default_rng(5)
    a, b = rng.normal(0.5, 1, size=10), rng.normal(size=10)
    theirs = stats.permutation_test(
        (a, b), lambda x, y, axis: np.mean(x - y, axis=axis), permutation_type="samples", n_resamples=1024,
        vectorized=True,
    ).pvalue  # fmt: skip
    ours = build({"a": list(a), "b": list(b)}).compare("a", "b", metrics=M)["p"].item()
    assert ours == pytest.approx(theirs, abs=1e-12)


def test_permutation_p_of_a_pooled_score_equals_all_exchanges(scores_of: Build) -> None:
    rng = np.random.default_rng(6)
    counts = rng.integers(1, 9, size=(2, 8, 4)).tolist()

    def pooled(cells: Sequence[Sequence[int]]) -> float:
        return BinaryCounts(*(sum(column) for column in zip(*cells, strict=True))).mcc

    unused = dict.fromkeys(("accuracy", "precision", "recall", "f1", "mcc"), 0.5)
    cells_of = [[dict(zip(("tp", "tn", "fp", "fn"), cells, strict=True)) | unused for cells in rows] for rows in counts]
    scores = scores_of(
        {
            model: {f"c{i}": {"pooled_binary_om_metrics": cells} for i, cells in enumerate(rows)}
            for model, rows in zip("ab", cells_of, strict=True)
        }
    )
    row = scores.compare("a", "b", metrics=["pooled_binary_om_metrics.mcc"]).row(0, named=True)
    observed = pooled(counts[0]) - pooled(counts[1])
    differences = []
    for swaps in product((0, 1), repeat=8):
        one = [counts[swap][i] for i, swap in enumerate(swaps)]
        other = [counts[1 - swap][i] for i, swap in enumerate(swaps)]
        differences.append(pooled(one) - pooled(other))
    assert row["difference"] == pytest.approx(observed, abs=1e-12)
    assert row["p"] == sum(abs(d) >= abs(observed) - 1e-12 for d in differences) / 256
    assert row["low"] < row["difference"] < row["high"]
    # The minimum detectable effect comes from the bootstrap's standard error, so in proportion to the interval.
    assert 0 < row["mde"] < 3 * (row["high"] - row["low"])


@pytest.mark.slow
def test_holm_equals_statsmodels(build: Build) -> None:
    rng = np.random.default_rng(7)
    scores = build({name: list(rng.normal(shift, 1, size=9)) for shift, name in enumerate("abcd")})
    frame = scores.compare_all(metrics=M)
    rejected, expected, *_ = multipletests(frame["p"].to_list(), method="holm")
    assert frame["p_holm"].to_list() == pytest.approx(expected.tolist(), abs=1e-12)
    assert frame["significant"].to_list() == rejected.tolist()


def test_what_pooled_accuracy_detects_is_what_its_mean_does(scores_of: Build) -> None:
    # With equally many judgements in each conversation both are the same mean, so only Monte Carlo error differs. For
    # eight participants the correction is sqrt(8 / 7), of 7%.
    rng = np.random.default_rng(9)
    table: dict[str, dict[str, Json]] = {"a": {}, "b": {}}
    for conversations in table.values():
        for i, right in enumerate(rng.integers(0, 11, size=8).tolist()):
            counts = dict.fromkeys(("precision", "recall", "f1", "mcc"), 0.5) | {"accuracy": right / 10}
            cells = {"tp": right, "tn": 0, "fp": 10 - right, "fn": 0}
            changes = {"pooled_binary_om_metrics": cells | counts, "avg_binary_om_accuracy": right / 10}
            conversations[f"c{i}"] = changes
    mean, pooled = scores_of(table).compare(
        "a", "b", metrics=["avg_binary_om_accuracy", "pooled_binary_om_metrics.accuracy"], resamples=40_000
    )["mde"]
    assert pooled == pytest.approx(mean, rel=0.02)


# What must hold of any scores.

VALUES = st.lists(st.one_of(st.none(), st.floats(-100, 100).map(lambda x: round(x, 3))), min_size=1, max_size=8)


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(a=VALUES, b=VALUES, seed=st.integers(0, 99))
def test_order_never_shows_and_a_seed_gives_the_same_again(
    build: Build,
    reordered: Callable[[Scores, Sequence[int]], Scores],
    a: list[float | None],
    b: list[float | None],
    seed: int,
) -> None:
    scores = build({"a": a, "b": b})
    other = reordered(scores, np.random.default_rng(seed).permutation(scores.values.height).tolist())
    options: Any = {"metrics": M, "resamples": 50, "seed": seed}
    assert scores.summary(**options).equals(other.summary(**options))
    assert scores.compare_all(**options).equals(other.compare_all(**options))
    assert scores.rank(**options).equals(other.rank(**options))


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(values=st.lists(st.floats(-100, 100), min_size=2, max_size=8))
def test_a_run_against_itself(build: Build, values: list[float]) -> None:
    row = build({"a": values}).compare("a", "a", metrics=M, resamples=50).row(0, named=True)
    assert (row["difference"], row["low"], row["high"], row["p"], row["p_holm"]) == (0.0, 0.0, 0.0, 1.0, 1.0)
    assert (row["significant"], row["reason"]) == (False, EQUAL)


@pytest.mark.parametrize("people", ["P", "PPP", "PQ"])
def test_a_model_against_itself_differs_by_0_for_certain(build: Build, people: str) -> None:
    # By one participant with one conversation or several, and by two.
    scores = build({"a": [float(i) for i in range(len(people))]}, people=people)
    row = scores.compare("a", "a", metrics=M).row(0, named=True)
    assert (row["difference"], row["low"], row["high"], row["p"], row["reason"]) == (0, 0, 0, 1, EQUAL)


@pytest.mark.parametrize(
    ("models", "reason"),
    [
        ({"a": [1.0], "b": [2.0]}, "fewer than 5 participants"),
        ({"a": [1.0] * 6, "b": [2.0] * 6}, "all participants have the same difference"),
        ({"a": [None] * 6, "b": [2.0] * 6}, "no conversation has a value"),
    ],
)
def test_odd_scores_give_a_reason(build: Build, models: Mapping[str, list[float | None]], reason: str) -> None:
    scores = build(models)
    row = scores.compare("a", "b", metrics=M).row(0, named=True)
    assert (row["low"], row["high"], row["reason"]) == (None, None, reason)
    assert scores.summary(metrics=M)["reason"][0] == reason.replace("difference", "value")


def test_one_participant(build: Build) -> None:
    scores = build({model: [float(i * len(model)) for i in range(6)] for model in ("a", "bb")}, people=["P"] * 6)
    row = scores.compare("a", "bb", metrics=M).row(0, named=True)
    assert (row["difference"], row["low"], row["p"], row["mde"], row["significant"]) == (-2.5, None, None, None, None)
    assert (row["n"], row["clusters"], row["reason"]) == (6, 1, "fewer than 5 participants")


def test_the_reference_condition_comes_first(make_scores: Build) -> None:
    scores = make_scores(["a", "b", "c"], ["concise", "default", "verbose"])
    conditions = ["default", "concise", "verbose"]
    assert scores.compare_all(metrics=M)["condition"].unique(maintain_order=True).to_list() == conditions
    assert scores.compare("a", "b", metrics=M)["condition"].to_list() == conditions


def test_no_scores_and_one_model(build: Build) -> None:
    for scores in (build({}), build({"a": [1, 2]})):
        frame = scores.compare_all(metrics=M)
        assert (frame.height, frame.columns) == (0, COLUMNS)
        assert count_significant(frame).height == 0


def test_mistakes_are_named(build: Build, scores_of: Build) -> None:
    scores = build({"vendor/a": [1, 2], "vendor/b": [1, 2]})
    with pytest.raises(MetricInputError, match="no scores of model 'vendor/aa'; did you mean 'vendor/"):
        scores.compare("vendor/aa", "vendor/b")
    with pytest.raises(MetricInputError, match="no scores of model 'z'; expected one of vendor/a, vendor/b"):
        scores.compare("vendor/a", "z")
    apart = scores_of({"a": {"c1": {}}, "b": {"c1": {}}}, modes={"a": ("a", "x"), "b": ("b", "y")})
    with pytest.raises(MetricInputError, match="'a' and 'b' have no mode in common: x and y"):
        apart.compare("a", "b")
    with pytest.raises(MetricInputError, match="composite_z depends on all models' results; it has no value of each"):
        scores.compare("vendor/a", "vendor/b", metrics=["composite_z"])


def test_exchanges_grow_with_the_largest_family(build: Build) -> None:
    # All exchanges of 12 conversations are evaluated; of 13 as many as resamples, and at least 40 for each of 3 pairs.
    rng = np.random.default_rng(8)
    exact, sampled = (build({name: list(rng.normal(size=size)) for name in "abc"}) for size in (12, 13))
    assert sampled.compare_all(metrics=M, resamples=59)["p_min"].to_list() == [1 / 121] * 3
    assert sampled.compare_all(metrics=M, resamples=200)["p_min"].to_list() == [1 / 201] * 3
    assert exact.compare_all(metrics=M, resamples=59)["p_min"].to_list() == [2 / 2**12] * 3
    assert sampled.compare("a", "b", metrics=M, resamples=30)["p_min"].to_list() == [1 / 41]


def test_a_family_that_could_not_reach_significance_warns(build: Build) -> None:
    # Six conversations: p is at least 2/64, which for three pairs is corrected to 6/64; a seventh halves it.
    rng = np.random.default_rng(8)
    six, seven = (build({name: list(rng.normal(size=size)) for name in "abc"}) for size in (6, 7))
    message = (
        "6 participants with a difference are too few for 3 tests (all pairs of models, mode 'default'): "
        "no Holm-corrected p can be below 0.0938; 1 more would be needed"
    )
    with pytest.warns(UserWarning, match=re.escape(message)) as caught:
        frame = six.compare_all(metrics=M)
    assert sum("too few for" in str(one.message) for one in caught) == 1
    assert frame["p_min"].to_list() == [2 / 64] * 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".* far from the rest")  # normal scores of few can be skewed
        seven.compare_all(metrics=M)
    one = build({"a": [1.0, 2, 3], "b": [1.0, 2, 4]})
    with pytest.warns(UserWarning, match=r"^1 participant with a difference is too few for 1 test .* 5 more would"):
        one.compare_all(metrics=M)


@pytest.mark.slow
def test_more_resamples_are_not_advised_where_they_do_not_help(build: Build) -> None:
    # 210 pairs of 21 models on 13 conversations: 210 x 2 / 2^13 = 0.0513, however many resamples; with 14 half of that.
    rng = np.random.default_rng(8)
    names = [f"m{number:02}" for number in range(21)]
    few, enough = (build({name: list(rng.normal(size=size)) for name in names}) for size in (13, 14))
    limit = "13 participants with a difference are too few for 210 tests (all pairs of models, mode 'default'): "
    advice = "no Holm-corrected p can be below 0.0513; 1 more would be needed; more resamples do not help"
    with pytest.warns(UserWarning, match=re.escape(limit + advice) + "$"):
        assert few.compare_all(metrics=M, resamples=50)["p_holm"].min() > 0.05  # type: ignore[operator]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".* far from the rest")  # normal scores of few can be skewed
        enough.compare_all(metrics=M, resamples=50)


def test_bca_of_a_dominant_participant_warns_once_an_analysis(build: Build) -> None:
    # 4 of 11 conversations are of one participant; of those that b has, 4 of 9.
    rng = np.random.default_rng(3)
    scores = build(
        {"a": list(rng.normal(size=11)), "b": [*rng.normal(size=9), None, None]}, people=[0, 0, 0, 0, *range(1, 8)]
    )
    options: Any = {"metrics": M, "resamples": 200}
    analyses: list[Callable[..., pl.DataFrame]] = [scores.summary, scores.compare_all]
    for analysis in analyses:
        with pytest.warns(UnreliableIntervalWarning, match="more than 20% of the units") as caught:
            analysis(interval="bca", **options)
        # The scores of a are skewed by chance, which is another warning.
        assert sum("more than 20% of the units" in str(one.message) for one in caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".* far from the rest")  # normal scores of few can be skewed
        scores.summary(interval="percentile", **options)
        build({"a": list(rng.normal(size=11))}).summary(interval="bca", **options)


def test_equal_models_are_no_family_to_warn_of(build: Build) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frame = build({"a": [1.0, 2, 3], "b": [1.0, 2, 3]}).compare_all(metrics=M)
    assert frame.select("p", "p_min", "significant", "reason").row(0) == (1.0, 1.0, False, EQUAL)


# Within strata.


@pytest.fixture(scope="module")
def table() -> Scores:
    """Return scores of three models on 12 easy and 12 hard questions; c was asked the easy ones only."""
    rng = np.random.default_rng(10)
    rows = [
        (model, f"q{unit:02}", "hit", float(rng.normal(place, 1)), "easy" if unit < 12 else "hard")
        for place, model in enumerate("abc")
        for unit in range(24)
        if model != "c" or unit < 12
    ]
    return Scores.from_table(pl.DataFrame(rows, schema=["model", "unit", "metric", "value", "level"], orient="row"))


@pytest.mark.slow
def test_each_stratum_is_a_family_of_its_own(table: Scores) -> None:
    frame = compare_by(table, "level", resamples=200)
    assert frame.columns == ["stratum", *COLUMNS]
    assert frame.filter(stratum="overall").drop("stratum").equals(table.compare_all(resamples=200))
    for level in ("easy", "hard"):
        part = table.keep(units=table.units.filter(level=level)["unit"])
        rows = frame.filter(stratum=level)
        assert rows.drop("stratum").equals(part.compare_all(resamples=200))
        assert rows["p_holm"].to_list() == pytest.approx(
            multipletests(rows["p"].to_list(), method="holm")[1].tolist(), abs=1e-12
        )
    assert count_significant(frame).select("stratum", "pairs", "family").rows() == [
        ("overall", 3, 3), ("easy", 3, 3), ("hard", 1, 1),
    ]  # fmt: skip


def test_two_models_within_strata(table: Scores) -> None:
    frame = compare_by(table, "level", models=("a", "b"), resamples=200)
    assert frame.select("stratum", "model_a", "model_b", "n").rows() == [
        ("overall", "a", "b", 24), ("easy", "a", "b", 12), ("hard", "a", "b", 12),
    ]  # fmt: skip
    assert frame["p"].to_list() == frame["p_holm"].to_list()
    every = compare_by(table, "level", resamples=200).filter(model_a="b", model_b="a")
    assert frame["difference"].to_list() == [-value for value in every["difference"]]


def test_a_stratum_in_which_a_model_was_not_run_has_no_row_of_it(table: Scores) -> None:
    frame = compare_by(table, "level", models=("a", "c"), resamples=50)
    assert frame["stratum"].to_list() == ["overall", "easy"]
    with pytest.raises(MetricInputError, match="no scores of model 'd'; expected one of a, b, c"):
        compare_by(table, "level", models=("a", "d"))


def test_a_trait_that_the_units_lack(table: Scores) -> None:
    with pytest.raises(ValueError, match="no trait 'levle'; did you mean 'level'"):
        compare_by(table, "levle")


# Models without a unit in common.


def of_units(**models: str) -> Scores:
    """Return scores of models on units that are letters."""
    rows = [(model, unit, "hit", float(unit in "ace")) for model, units in models.items() for unit in units]
    return Scores.from_table(pl.DataFrame(rows, schema=["model", "unit", "metric", "value"], orient="row"))


def test_models_without_a_unit_in_common_are_not_compared() -> None:
    apart = of_units(m="abc", o="def", p="ghi")
    message = r"no two models have a unit in common \('m' has 'a', 'o' has 'd'\); give a unit the same name"
    with pytest.raises(MetricInputError, match=message):
        apart.compare("m", "o")
    with pytest.raises(MetricInputError, match=r"\('m' has 'a', 'o' has 'd', 'p' has 'g'\); give a unit"):
        check_shared_units(apart)
    with pytest.raises(MetricInputError, match=message):
        check_shared_units(apart, ("m", "o"))
    for models in (None, ("m", "o")):
        with pytest.raises(MetricInputError, match="no two models have a unit in common"):
            plan(apart, models=models, difference=0.1)
    assert apart.compare_all()["n"].to_list() == [0, 0, 0]  # As pages show them.
    some = of_units(m="abc", o="def", p="cd")
    check_shared_units(some)
    check_shared_units(some, ("m", "p"))
    with pytest.raises(MetricInputError, match=message):
        check_shared_units(some, ("m", "o"))
    check_shared_units(of_units(m="abc"))
    assert apart.compare("m", "m")["n"].to_list() == [3]
