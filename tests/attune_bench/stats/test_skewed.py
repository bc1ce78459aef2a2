"""The warning that a mean depends on a few far clusters: where it comes, what it says, that it goes with its cause."""

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from attune_bench import Scores
from attune_bench.analyses import repeat_variances, separation
from attune_bench.stats.options import DIFFERENCES, MARGINS, MEANS, VARIANCES
from attune_bench.stats.subgroups import compare_by, subgroups
from attune_metrics.metric import UnreliableIntervalWarning
from attune_metrics.stats.sums import MOST_SKEWNESS, skewness_of_mean

PEOPLE = 20
EVEN = np.tile([1.0, 2.0, 3.0, 4.0], PEOPLE // 4)
FAR = np.where(np.arange(PEOPLE) < 2, 40.0, EVEN)  # two of twenty decide
OPTIONS: Any = {"resamples": 50}


def table(**models: np.ndarray) -> Scores:
    """Return scores of models on one unit of each person."""
    rows = [
        (model, f"u{place:02}", f"p{place:02}", "points", value)
        for model, values in models.items()
        for place, value in enumerate(values.tolist())
    ]
    return Scores.from_table(pl.DataFrame(rows, schema=["model", "unit", "cluster", "metric", "value"], orient="row"))


def warned(analysis: Callable[[], object]) -> list[str]:
    """Return what an analysis says of intervals."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        analysis()
    return [str(one.message) for one in caught if issubclass(one.category, UnreliableIntervalWarning)]


def test_a_summary_says_it_once_and_how_many_means_are_skewed() -> None:
    scores = table(a=FAR, b=EVEN, c=FAR + 1)
    [skewness] = skewness_of_mean(FAR, range(PEOPLE))
    assert skewness > MOST_SKEWNESS > abs(skewness_of_mean(EVEN, range(PEOPLE))[0])
    cause = f"2 of 3 means depend on a few clusters far from the rest (skewness up to {skewness:.2f}, above 0.2)"
    advice = "Use more clusters, or read these intervals as too narrow"
    assert warned(lambda: scores.summary(**OPTIONS)) == [f"points: {cause}. {MEANS}. {advice}"]
    assert warned(lambda: table(a=EVEN, b=EVEN[::-1]).summary(**OPTIONS)) == []
    # Far scores below the others are as bad.
    assert len(warned(lambda: table(a=-FAR).summary(**OPTIONS))) == 1


def test_it_counts_every_mean_and_names_every_metric() -> None:
    # Each model lacks another unit, so that all have resamples of their own; those of a alone are even.
    rows = [
        (model, f"u{place:02}", metric, value)
        for number, model in enumerate("abcde")
        for metric, values in {"secs": FAR, "words": EVEN, "cost": 2 * FAR}.items()
        for place, value in enumerate((EVEN if model == "a" else values).tolist())
        if place != number + 5
    ]
    scores = Scores.from_table(pl.DataFrame(rows, schema=["model", "unit", "metric", "value"], orient="row"))
    chosen: Any = {**OPTIONS, "metrics": ["secs", "words", "cost"]}
    [said] = warned(lambda: scores.summary(**chosen))
    assert said.startswith("secs, cost: 8 of 10 means depend on a few units far from the rest (")
    [said] = warned(lambda: scores.compare_all(**chosen))
    assert said.startswith("secs, cost: 8 of 20 differences between models depend on a few units far from the rest (")


def test_a_mean_of_zeros_and_ones_is_advised_to_be_a_share_and_then_not_warned_of() -> None:
    hits = (np.arange(PEOPLE) < 2).astype(float)
    advice = 'all values of points are 0 or 1: statistic = "share" in a description'
    [said] = warned(lambda: table(a=hits).summary(**OPTIONS))
    assert advice in said
    assert advice not in warned(lambda: table(a=hits, b=FAR).summary(**OPTIONS))[0]
    rows = table(a=hits).values.drop("condition").rename({"points": "value"}).with_columns(metric=pl.lit("points"))
    share = {"points": {"low": 0, "high": 1, "statistic": "share"}}
    assert warned(lambda: Scores.from_table(rows, metrics=share).summary(**OPTIONS)) == []
    # A description as a share does not change means over repeats.
    twice = pl.concat([rows.with_columns(repeat=pl.lit(one)) for one in "12"])
    [said] = warned(lambda: Scores.from_table(twice, metrics=share).summary(**OPTIONS))
    assert advice not in said


def test_more_people_of_the_same_kind_are_no_longer_few() -> None:
    assert warned(lambda: table(a=np.tile(FAR, 2)).summary(**OPTIONS))
    assert abs(skewness_of_mean(np.tile(FAR, 12), range(240))[0]) < MOST_SKEWNESS
    assert warned(lambda: table(a=np.tile(FAR, 12)).summary(**OPTIONS)) == []


def test_without_an_interval_there_is_nothing_to_warn_of() -> None:
    assert warned(lambda: table(a=FAR[:4]).summary(**OPTIONS)) == []
    assert warned(lambda: table(a=FAR[:4], b=EVEN[:4]).compare("a", "b", **OPTIONS)) == []


def test_a_comparison_says_it_of_differences_not_of_scores() -> None:
    same = table(a=FAR, b=FAR + EVEN)
    assert warned(lambda: same.compare("a", "b", **OPTIONS)) == []
    differ = table(a=FAR, b=EVEN, c=EVEN[::-1])
    [said] = warned(lambda: differ.compare_all(margin=1.0, **OPTIONS))
    # Of a and b, and of a and c.
    counted = "points: 2 of 3 differences between models depend on a few clusters far from the rest (skewness up to "
    advice = "Use more clusters, or read these intervals as too narrow and these p-values as too small"
    assert said.startswith(counted)
    assert said.endswith(f"). {DIFFERENCES}{MARGINS}. {advice}")
    # Without a margin nothing is said of margins.
    for analysis in (differ.compare_all, lambda **options: differ.compare("a", "b", **options)):
        [said] = warned(lambda analysis=analysis: analysis(**OPTIONS))  # type: ignore[misc]
        assert said.endswith(f"). {DIFFERENCES}. {advice}")
        [said] = warned(lambda analysis=analysis: analysis(margin=1.0, **OPTIONS))  # type: ignore[misc]
        assert said.endswith(f"). {DIFFERENCES}{MARGINS}. {advice}")


def test_it_names_metrics_by_their_labels() -> None:
    rows = table(a=FAR, b=EVEN).values.drop("condition").rename({"points": "value"})
    named = Scores.from_table(rows.with_columns(metric=pl.lit("points")), metrics={"points": {"label": "Points won"}})
    for analysis in (named.summary, named.compare_all):
        [said] = warned(lambda analysis=analysis: analysis(**OPTIONS))  # type: ignore[misc]
        assert said.startswith("Points won: 1 of ")


def test_it_counts_participants_once_where_the_mean_does() -> None:
    scores = table(a=FAR, b=EVEN)
    for analysis in (scores.summary, scores.compare_all):
        assert len(warned(lambda analysis=analysis: analysis(weight="cluster", **OPTIONS))) == 1  # type: ignore[misc]
    # Of one person who talked much the units are many, and the person one.
    units = [f"u{place:02}" for place in range(2 * PEOPLE)]
    rows = {
        "model": "a", "unit": units, "cluster": ["p0"] * PEOPLE + units[PEOPLE:], "metric": "points",
        "value": np.r_[np.full(PEOPLE, 40.0), EVEN],
    }  # fmt: skip
    talked = Scores.from_table(pl.DataFrame(rows))
    assert warned(lambda: talked.summary(weight="cluster", **OPTIONS))


def test_subgroups_say_it_of_theirs() -> None:
    scores = table(a=np.r_[FAR, EVEN])
    units = scores.units["unit"].sort().to_list()
    of_half = {"far": units[:PEOPLE], "even": units[PEOPLE:]}
    assert len(warned(lambda: subgroups(scores, of_half, known=units, **OPTIONS))) == 1
    assert warned(lambda: subgroups(scores, {"even": units[PEOPLE:]}, known=units, **OPTIONS)) == []
    # Fewer are marked, and the note below the table says what that means.
    few = subgroups(scores, {"far": units[: PEOPLE - 1]}, known=units, **OPTIONS)
    assert few["mark"].to_list() == ["few"]
    assert warned(lambda: subgroups(scores, {"far": units[: PEOPLE - 1]}, known=units, **OPTIONS)) == []


def test_a_comparison_by_strata_says_it_of_no_stratum_of_few() -> None:
    def warned_of(size: int) -> list[str]:
        # The differences of one stratum are those of the other below 0: all together are even.
        values = {"a": np.r_[FAR[:size], -FAR[:size]], "b": np.zeros(2 * size)}
        rows = [
            (model, f"u{place:02}", "points", value, "high" if place < size else "low")
            for model, own in values.items()
            for place, value in enumerate(own.tolist())
        ]
        schema = ["model", "unit", "metric", "value", "half"]
        scores = Scores.from_table(pl.DataFrame(rows, schema=schema, orient="row"))
        return warned(lambda: compare_by(scores, "half", **OPTIONS))

    [said] = warned_of(PEOPLE)
    # Of three differences: on all units, and in each stratum.
    assert said.startswith("points: 2 of 3 differences between models depend on a few units far from the rest (")
    assert ", above 0.2; those of fewer than 20 units in a subgroup are not counted). In " in said
    assert warned_of(PEOPLE - 1) == []
    # Without subgroups every difference with an interval is counted.
    assert "are not counted" not in warned(lambda: table(a=FAR, b=EVEN).compare_all(**OPTIONS))[0]


def test_the_variance_of_units_says_it_of_variances() -> None:
    def said_of(values: np.ndarray) -> list[str]:
        rows = [
            ("a", f"u{place}", "points", str(repeat), value + repeat)
            for place, value in enumerate(values.tolist())
            for repeat in range(2)
        ]
        frame = pl.DataFrame(rows, schema=["model", "unit", "metric", "repeat", "value"], orient="row")
        return warned(lambda: repeat_variances(Scores.from_table(frame), **OPTIONS))

    [said] = said_of(FAR)
    assert said.startswith("points: 1 of 1 variance depends on a few ")
    assert (
        f" far from the rest (skewness up to {said.split('up to ')[1][:4]}, above 0.4). {VARIANCES}. Use more" in said
    )
    assert said_of(EVEN) == []


def test_shares_of_the_variance_have_no_interval_where_few_units_decide_it() -> None:
    far, even = (separation(scores, **OPTIONS) for scores in (table(a=FAR, b=FAR + EVEN), table(a=EVEN, b=EVEN / 3)))
    ends = [f"{part}_share_{end}" for part in ("models", "units", "within") for end in ("low", "high")]
    assert far.select(ends).row(0) == (None,) * 6
    assert None not in even.select(ends).row(0)
    assert None not in far.select("low", "high", "units_share").row(0)


def test_the_page_of_a_report_says_it() -> None:
    page = re.sub(r"<[^>]+>", "", table(a=FAR, b=EVEN).report(format="html", **OPTIONS))
    numbers = "some means of points and some differences of points depend on a few clusters far from the rest"
    advice = "Use more clusters, or read these intervals as too narrow and these p-values as too small."
    assert page.count(f"Warning: {numbers}. {MEANS}. {DIFFERENCES}. {advice}") == 1
    even = re.sub(r"<[^>]+>", "", table(a=EVEN, b=EVEN[::-1]).report(format="html", **OPTIONS))
    assert "far from the rest" not in even


def test_another_kind_of_warning_does_not_hide_it() -> None:
    values = {"a": FAR, "b": EVEN}
    rows = [
        (model, f"u{place:02}", "one" if place < 8 else f"p{place:02}", "points", value)
        for model, own in values.items()
        for place, value in enumerate(own.tolist())
    ]
    schema = ["model", "unit", "cluster", "metric", "value"]
    dominant = Scores.from_table(pl.DataFrame(rows, schema=schema, orient="row"))
    said = warned(lambda: dominant.summary(interval="bca", **OPTIONS))
    assert ["far from the rest" in one for one in said].count(True) == 1
    assert ["here one has 40%" in one for one in said].count(True) == 1


def test_nothing_is_said_where_no_interval_is_shown() -> None:
    assert warned(lambda: table(a=FAR).summary(resamples=1)) == []
