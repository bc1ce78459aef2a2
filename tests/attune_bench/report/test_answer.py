"""What a page answers first: which model leads, which differ, how far random answers are; and the matrix of pairs."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from pages import headings, section, tables, text_of

from attune_bench import Scores
from attune_bench.scores.parts import GroupSettings

HALF = [2.0] * 5 + [1.0] * 5


def scores_of(values: Mapping[str, Sequence[float | None]], about: Any = None, **metric: Any) -> Scores:
    rows = [(model, f"u{unit}", "hit", value) for model, own in values.items() for unit, value in enumerate(own)]
    frame = pl.DataFrame(rows, schema=["model", "unit", "metric", "value"], orient="row")
    return Scores.from_table(frame, metrics={"hit": {"label": "Hits", "digits": 1, **metric}}, about=about)


def answer(scores: Scores, **options: Any) -> str:
    """Return the title of a page and what it says before its ranking, without intervals."""
    page = scores.report(format="html", **{"resamples": 2000, **options})
    below = text_of(page).partition("Ranking by")[0].partition("Contents")[2]
    return re.sub(r" \[[^]]*\]", "", f"{heading_of(page)}. {below}")


def heading_of(page: str) -> str:
    [found] = re.findall(r"<h1>(.*?)</h1>", page)
    return text_of(found)


def with_chance(scores: Scores, expected: float) -> Scores:
    return replace(scores, units=scores.units.with_columns(pl.lit(expected).alias("chance.hit")))


def test_which_model_leads_and_which_differ_from_it() -> None:
    # Of 10 units each exchange of a and b changes the difference: p is 2 / 2^10, of a and c 2 / 2^5.
    said = answer(scores_of({"b": [1.0] * 10, "a": [2.0] * 10, "c": HALF}))
    assert said.startswith("a has the highest Hits; c is not significantly different. ")
    assert (
        "The value of a in Hits is 2.0. Compared with a on the units that both have: b is significantly worse. " in said
    )
    assert "all others" not in said


def test_one_model_is_ahead_of_all() -> None:
    ahead = scores_of({"b": [1.0] * 10, "a": [2.0] * 10, "c": [0.0, 1.0] * 5})
    assert answer(ahead).startswith("a has the highest Hits, and all others are significantly worse. ")


@pytest.mark.slow
def test_few_models_are_named() -> None:
    steps = {f"m{place}": [10.0 - place + unit % 2 / 10 for unit in range(20)] for place in range(6)}
    near = {"m0b": [10.2 if unit % 2 else 9.88 for unit in range(20)]}
    some = answer(scores_of(steps | near))
    assert some.startswith("m0 has the highest Hits; m0b is not significantly different. ")
    assert "m1 , m2 , m3 , m4 and m5 are significantly worse." in some
    more = {"m9": [value - (unit % 7) / 100 for unit, value in enumerate(steps["m0"])]}
    assert "m9 , m1 , m2 , m3 and 2 more are significantly worse." in answer(scores_of(steps | near | more))


def test_none_is_significantly_different() -> None:
    rising = {"a": [float(unit) for unit in range(8)], "b": [float(7 - unit) + 0.01 for unit in range(8)]}
    said = answer(scores_of(rising))
    assert said.startswith("No two models differ significantly in Hits; b has the highest value. ")
    assert "Compared with" not in said
    assert "No two models have different values for enough" not in said
    with_baseline = answer(scores_of(rising | {"baseline/prior": rising["a"]}))
    assert with_baseline.startswith("No two models and baselines differ significantly in Hits; b has the highest val")
    best = answer(scores_of(rising | {"baseline/prior": [8.0, 0.0] * 4}))
    lead = "baseline/prior has the highest value, b the highest of the models."
    assert best.startswith(f"No two models and baselines differ significantly in Hits; {lead}")
    # A third is worse than both, which are not significantly different.
    third = answer(scores_of(rising | {"c": [value - 9 for value in rising["a"]]}))
    assert third.startswith("b has the highest Hits; a is not significantly different. ")


def test_too_few_units_to_compare_so_many() -> None:
    # All units differ: no p-value of 5 units is below 2 / 2^5, and none of 8 below 2 / 2^8, or 0.078 of 10 pairs.
    values = {"a": [2.0] * 8, "b": [1.0] * 8, "baseline/x": [5.0] * 8, "baseline/y": [3.0] * 8, "human/z": [4.0] * 8}
    said = answer(scores_of({name: own[:5] for name, own in values.items() if name in {"a", "b"}}))
    assert said.startswith("5 units are too few to compare 2 models in Hits; a has the highest value. ")
    said = answer(scores_of(values))
    few = "8 units are too few to compare 2 models, 1 person and 2 baselines in Hits; "
    assert said.startswith(f"{few}baseline/x has the highest value, a the highest of the models. ")
    assert "for enough units" not in said
    # Four rows have 6 pairs, of which 8 units are enough.
    four = answer(scores_of({name: own for name, own in values.items() if name != "human/z"}))
    assert four.startswith("a has the highest Hits of the models; baseline/x and baseline/y are significantly better. ")
    alone = answer(scores_of({name: own[:5] for name, own in values.items() if name != "b"}))
    assert alone.startswith("a has the value 2.0 in Hits; 5 units are too few to compare 1 model, 1 person and 2 base")


def test_many_units_on_which_models_do_not_differ() -> None:
    said = answer(scores_of({"a": [1.0, 2.0] * 30, "b": [1.0, 2.0] * 30}))
    assert "No two models differ significantly in Hits; all have the same value." in said
    assert "The value of a and b in Hits is 1.5. No two models have different values for enough units" in said


def test_models_of_one_value_without_a_unit_in_common() -> None:
    said = answer(scores_of({"a": [2.0] * 10 + [None] * 10, "b": [None] * 10 + [2.0] * 10}))
    assert said.startswith("a and b have the highest Hits. ")
    assert "Compared with" not in said


def test_models_that_were_not_compared_with_the_best_are_in_the_title() -> None:
    said = answer(scores_of({"a": [2.0] * 10 + [None] * 10, "b": [None] * 10 + [1.0] * 10, "c": [1.5] * 10}))
    assert said.startswith("a has the highest Hits; b is not compared. ")
    assert "Compared with a on the units that both have: c is significantly worse." in said
    few = answer(scores_of({"a": [2.0], "b": [1.0], "c": [1.0]}))
    assert few.startswith("a has the highest Hits; b and c are not compared. ")
    assert "Compared with" not in few


def test_a_model_without_a_value_is_named() -> None:
    said = answer(scores_of({"a": [2.0] * 10, "b": [1.0] * 10, "c": [None] * 10}))
    assert "a has the highest Hits, and b is significantly worse." in said
    assert "c has no value that can be shown." in said
    alone = answer(scores_of({"a": [2.0] * 10, "c": [None] * 10}))
    assert alone.startswith("a has the value 2.0 in Hits. ")
    assert "c has no value that can be shown." in alone
    assert "no value" not in answer(scores_of({"a": [2.0] * 10, "b": [1.0] * 10}))


def test_models_of_one_value_share_the_lead() -> None:
    said = answer(scores_of({"a": [2.0] * 10, "b": [2.0] * 10, "c": [1.0] * 10}))
    assert said.startswith("a and b have the highest Hits. ")
    assert (
        "The value of a and b in Hits is 2.0. Compared with a on the units that both have: c is significantly worse."
        in said
    )


def test_one_model() -> None:
    said = answer(scores_of({"a": [1.0, 2.0] * 6}))
    assert "a has the value 1.5 in Hits." in said
    assert "Compared with" not in said
    beside_people = answer(scores_of({"a": [1.0, 2.0] * 6, "human/ann": [1.0] * 12, "baseline/prior": [0.0] * 12}))
    worse = "human/ann (person) and baseline/prior are significantly worse. "
    assert beside_people.startswith(f"a has the value 1.5 in Hits; {worse}")


def test_a_direction_that_nothing_states_is_not_stated_as_known() -> None:
    rows = [(model, f"u{unit}", "seconds", 1.0) for model in "ab" for unit in range(8)]
    table = pl.DataFrame(rows, schema=["model", "unit", "metric", "value"], orient="row")
    taken = "better higher (assumed: the table does not say)"
    assert taken in answer(Scores.from_table(table))
    assert taken not in answer(Scores.from_table(table, metrics={"seconds": {"low": 0}}))


def test_a_metric_without_a_better_direction() -> None:
    said = answer(scores_of({"a": [1.0] * 8, "b": [2.0] * 8}, higher_is_better=None))
    assert said.startswith("No model is the best: neither higher nor lower values of Hits are better. ")
    assert "andom answers score" not in said
    with_people = scores_of({"a": [1.0] * 8, "b": [2.0] * 8, "human/ann": [9.0] * 8}, higher_is_better=None)
    said = answer(with_chance(with_people, 3.0))
    assert "better neither higher nor lower possible any number random answers, on average 3.0" in said


def test_where_lower_is_better() -> None:
    scores = with_chance(
        scores_of({"slow": [5.0] * 9 + [6.0], "quick": [2.0] * 9 + [3.0]}, higher_is_better=False), 4.0
    )
    said = answer(scores)
    assert said.startswith("quick has the lowest Hits, and slow is significantly worse. ")
    better, worse = "quick (difference -1.9) is better", "slow (difference +1.1) is worse"
    assert f"Random answers score 4.0 on average: {better}; {worse}." in said
    assert "better lower" in said


@pytest.mark.slow
def test_random_answers_are_beaten_by_some() -> None:
    spread = {"a": [3.0, 3.5] * 6, "b": [0.0, 2.5] * 6, "c": [2.0, 2.2] * 6}

    def said(values: Mapping[str, Sequence[float]], expected: float, **metric: Any) -> str:
        return answer(with_chance(scores_of(values, **metric), expected))

    some = "a (difference +2.3) and c (difference +1.1) are better; b (difference +0.3) is neither clearly better nor"
    assert f"Random answers score 1.0 on average: {some} clearly worse." in said(spread, 1.0)
    every = "a (difference +4.3), c (difference +3.1) and b (difference +2.3) are better."
    assert f"on average: {every}" in said(spread, -1.0)
    assert "and b (difference -7.8) are worse." in said(spread, 9.0)
    # Without an interval nothing is known.
    assert "Random answers score 1.0 on average. " in said({"a": [3.0, 3.5], "b": [1.0, 2.0]}, 1.0)


def test_the_finding_of_one_model_compares_it_with_the_average_of_random_answers() -> None:
    above = {"a": [3.0, 3.5] * 6}

    def said(values: Mapping[str, Sequence[float]], expected: float, **metric: Any) -> str:
        return answer(with_chance(scores_of(values, **metric), expected))

    value, average = "a has the value 3.3 in Hits", "than random answers, which score"
    assert said(above, 1.0).startswith(f"{value} and is better {average} 1.0 on average (difference +2.3). ")
    assert said(above, 1.0).count("andom answers") == 2  # also as a term of a good score
    assert said(above, 9.0).startswith(f"{value} and is worse {average} 9.0 on average (difference -5.8). ")
    fewer = said(above, 9.0, higher_is_better=False)
    assert fewer.startswith(f"{value} and is better {average} 9.0 on average (difference -5.8). ")
    # From 3 to 3.5, the interval contains 3.2.
    within = f"{value} and is neither clearly better nor clearly worse {average} 3.2 on average (difference +0.0). "
    assert said(above, 3.2).startswith(within)
    assert said({"a": [3.0, 3.5]}, 1.0).startswith(f"{value}; random answers score 1.0 on average. ")
    assert answer(scores_of(above)).startswith(f"{value}. ")
    # A difference is of each unit: its interval is narrow where a value follows what random answers score.
    scores = scores_of(above)
    expected = [above["a"][int(unit[1:])] - (0.2 if unit == "u0" else 0.1) for unit in scores.units["unit"]]
    units = scores.units.with_columns(pl.Series("chance.hit", expected))
    assert " and is better than " in answer(replace(scores, units=units))


def test_one_set_of_random_answers_has_no_verdict_where_their_average_is_known() -> None:
    values = {"a": [1.9, 2.1] * 5, "baseline/chance": [1.0] * 10, "baseline/prior": [0.0] * 10}
    assert answer(scores_of(values)).startswith(
        "a has the value 2.0 in Hits; baseline/chance and baseline/prior are significantly worse. "
    )
    known = answer(with_chance(scores_of(values), 0.5))
    assert "(difference +1.5); baseline/prior is significantly worse. " in known
    assert "baseline/chance" not in known
    # Also not of the best of several models.
    several = answer(with_chance(scores_of(values | {"b": HALF}), 0.5))
    assert "both have: baseline/prior is significantly worse." in several
    assert "baseline/chance" not in several
    assert "both have: baseline/chance and baseline/prior are signif" in answer(scores_of(values | {"b": HALF}))


def second_metric(value: Sequence[float], expected: float, **metric: Any) -> str:
    """Return what a page says of one model by a metric whose random answers are not known, and of another's."""
    rows = [("m", f"u{unit}", name, one) for name in ("main", "hit") for unit, one in enumerate(value)]
    frame = pl.DataFrame(rows, schema=["model", "unit", "metric", "value"], orient="row")
    entries: dict[str, Any] = {"main": {"digits": 1, "group": "G"}, "hit": {"digits": 1, "group": "G", **metric}}
    scores = with_chance(Scores.from_table(frame, metrics=entries, about={"primary": "main"}), expected)
    return answer(scores)


def test_another_metric_beats_random_answers_with_its_whole_interval() -> None:
    wide = [3.0, 3.5] * 6
    known = "m can be compared with random answers in 1 metric; the whole interval of m is better in"
    assert f"{known} hit." in second_metric(wide, 1.0)
    assert f"{known} none." in second_metric(wide, 3.2)
    assert f"{known} none." in second_metric(wide, 9.0)
    assert f"{known} hit, lower is better." in second_metric(wide, 9.0, higher_is_better=False)
    assert "random answers in" not in second_metric([3.0, 3.5], 1.0)


def test_models_are_compared_with_drawn_random_answers_where_these_are_scored() -> None:
    values = {"a": [2.0] * 10, "b": [0.0] * 10, "c": [1.5, 0.5] * 5, "baseline/chance": [1.0] * 10}
    said = answer(scores_of(values))
    one_set = "Compared with one set of random answers, baseline/chance (1.0): "
    assert f"{one_set}a is significantly better; b is significantly worse; c is not significantly different." in said
    alike = answer(scores_of({name: own[:1] * 10 for name, own in values.items()} | {"a": [1.0] * 10}))
    assert f"{one_set}c is significantly better; b is significantly worse" in alike
    del values["baseline/chance"]
    assert "random answers" not in answer(scores_of(values))
    assert "random answers" not in answer(scores_of({"baseline/chance": [1.0] * 10}))


def test_random_answers_are_said_where_they_are_known() -> None:
    scores = scores_of({"lab/m": [3.0, 2.0] * 5, "lab/n": [2.0, 1.5] * 5})
    assert "random answers" not in answer(scores)
    assert "random answers, on average 0.5" in answer(with_chance(scores, 0.5))


def test_one_set_of_random_answers_is_set_against_their_average_where_both_are_seen() -> None:
    one_set = (
        "baseline/chance is one set of random answers; the average is over all sets, and the two differ by chance."
    )
    both = scores_of({"a": [2.0] * 10, "baseline/chance": [1.0] * 10})

    def counted(scores: Scores) -> int:
        return text_of(scores.report(format="html", resamples=50)).count(one_set)

    assert counted(with_chance(both, 1.5)) == 1
    assert counted(both) == 0
    assert counted(with_chance(scores_of({"a": [2.0] * 10, "b": [1.0] * 10}), 1.5)) == 0
    # The average is known of a metric of the board alone: the board says it.
    rows = [(model, f"u{unit}", name, 1.0) for model in ("a", "baseline/chance") for unit in range(8)
            for name in ("main", "hit")]  # fmt: skip
    frame = pl.DataFrame(rows, schema=["model", "unit", "metric", "value"], orient="row")
    assert counted(with_chance(Scores.from_table(frame, about={"primary": "main"}), 0.5)) == 1


def test_what_the_metric_measures_is_said_below_the_ranking_where_it_is_known() -> None:
    described = scores_of({"a": [1.0] * 8, "b": [2.0] * 8}, source="Share of questions answered rightly")
    said = text_of(described.report(format="html", resamples=50)).partition("Ranking by")[2]
    assert "Hits: Share of questions answered rightly. " in said
    assert "Hits: " not in text_of(scores_of({"a": [1.0] * 8}).report(format="html", resamples=50))


def test_people_and_baselines_do_not_lead() -> None:
    values = {"human/ann": [4.0] * 10, "lab/m": [3.0] * 10, "lab/n": [2.0] * 10, "baseline/prior": [1.0] * 10}
    said = answer(scores_of(values))
    assert said.startswith("lab/m has the highest Hits of the models; human/ann (person) is significantly better. ")
    assert "both have: lab/n and baseline/prior are significantly worse." in said
    below = answer(scores_of(values | {"human/ann": [0.5] * 10}))
    assert below.startswith("lab/m has the highest Hits, and all others are significantly worse. ")
    alone = answer(scores_of({name: own for name, own in values.items() if not name.startswith("lab")}))
    assert alone.startswith("human/ann (person) has the highest Hits, and baseline/prior is significantly")


def in_conditions(*values: tuple[str, Mapping[str, float]], **metric: Any) -> Scores:
    frame = pl.concat(
        scores_of({model: [value] * 10 for model, value in own.items()}).values.select(
            "model", "unit", pl.lit("hit").alias("metric"), pl.col("hit").alias("value"), condition=pl.lit(condition)
        )
        for condition, own in values
    )
    return Scores.from_table(frame, metrics={"hit": {"digits": 1, **metric}})


def test_each_condition_has_its_finding() -> None:
    page = in_conditions(("plain", {"a": 2.0, "b": 1.0}), ("terse", {"a": 1.0, "b": 2.0})).report(
        format="html", resamples=2000
    )
    assert heading_of(page) == "Which model has the highest hit depends on the condition: a in plain; b in terse"
    said = text_of(page)
    assert "a has the highest hit, condition plain, and b is significantly worse. The value of a in hit is 2.0" in said
    assert "b has the highest hit, condition terse, and a is significantly worse. The value of b in hit is 2.0" in said


def test_a_title_of_several_conditions() -> None:
    def title(*values: tuple[str, Mapping[str, float]], **metric: Any) -> str:
        return heading_of(in_conditions(*values, **metric).report(format="html", resamples=2000))

    ahead, level = {"a": 2.0, "b": 1.0}, {"a": 1.0, "b": 1.0}
    every = "a has the highest hit in every condition, and is significantly better than all others in"
    assert title(("plain", ahead), ("terse", ahead)) == f"{every} 2 of 2 conditions"
    but = every.replace("condition,", "condition but terse (all are equal there),")
    assert title(("plain", ahead), ("terse", level)) == f"{but} 1 of 2 conditions"
    none = every.replace(", and is significantly better than all others in", ", but is significantly better than all")
    tied = {"a": 3.0, "b": 3.0, "c": 1.0}
    assert title(("plain", tied), ("terse", {**tied, "b": 1.0, "c": 3.0})) == f"{none} others in no condition"
    assert title(("plain", tied), ("terse", tied)) == "a and b have the highest hit in every condition"
    same = dict.fromkeys(tied, 2.0)
    assert title(("plain", same), ("terse", same)) == "All have the same hit in every condition"
    beaten = title(("plain", {**ahead, "baseline/x": 3.0}), ("terse", ahead))
    assert beaten.startswith("a has the highest hit of the models in every condition, and is significantly better")
    assert title(("plain", ahead), ("terse", ahead), higher_is_better=None).startswith("No model is the best:")
    assert title(("plain", ahead), ("terse", ahead), higher_is_better=False).startswith("b has the lowest hit in every")


def test_runs_that_differ_have_no_leader() -> None:
    scores = scores_of({"a": [2.0] * 10, "b": [1.0] * 10})
    settings = tuple(
        GroupSettings(model=name, settings={"temperature": (at,)}) for name, at in (("a", 0.0), ("b", 1.0))
    )
    about = scores.provenance.model_copy(
        update={"comparability_keys": {"temperature": "temperature"}, "settings": settings}
    )
    said = answer(replace(scores, provenance=about).allow_mixed())
    assert said.startswith("No model can be said to lead in Hits: the runs differ in settings that change answers. ")
    assert "significantly" not in said


def test_bca_has_no_ranks_but_an_answer() -> None:
    values = {"a": [2.0, 2.1] * 8, "b": [1.0, 1.1] * 8}
    page = scores_of(values).report(format="html", resamples=2000, interval="bca")
    assert heading_of(page) == "a has the highest Hits, and b is significantly worse"
    assert [row[:2] for row in tables(page, figures=True)[0][1:]] == [["1", "1"], ["2", "2"]]


def head_of(scores: Scores) -> tuple[list[str], str]:
    """Return the numbers along the axis of a ranking, and what is said below the ranking."""
    page = scores.report(format="html", resamples=50)
    axis = tables(page, figures=True)[0][0][-1]
    return re.findall(r"-?\d+\.\d+|\b\d+", axis), text_of(page).partition("Ranking by")[2].partition(" Scores ")[0]


def test_the_axis_has_round_numbers_and_says_where_it_is_broken() -> None:
    # Values of half of the range: the whole range.
    whole = head_of(scores_of({"a": [1.0, 0.5] * 6, "b": [0.0, 0.4] * 6}, low=0, high=1))
    assert whole[0] == ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]
    assert "possible range" not in whole[1]
    close = head_of(scores_of({"a": [0.62] * 12, "b": [0.61] * 12}, low=0, high=1))
    assert (close[0][0], close[0][-1]) == ("0.610", "0.620")
    assert "The axis shows a part of the possible range: 0.61 to 0.62." in close[1]
    same = head_of(scores_of({"a": [1.0] * 6, "b": [1.0] * 6}, low=0, high=1))
    assert same[0][-1] == "1.0"
    assert "shows a part of the possible range: 0.8 to 1." in same[1]
    unbounded = head_of(scores_of({"a": [12.0] * 12, "b": [7.0] * 12}))
    assert unbounded[0][:2] == ["7", "8"]
    assert "possible range" not in unbounded[1]


def test_the_page_says_how_a_rank_differs_from_a_tier() -> None:
    tiers = scores_of({"b": [1.0] * 10, "a": [2.0] * 10, "c": HALF})
    page = tiers.report(format="html", resamples=2000)
    assert [row[:3:2] for row in tables(page, figures=True)[0][1:]] == [
        ["1", "a"],
        ["1 1\u20132", "c"],
        ["2 1\u20132", "b"],
    ]
    assert "A rank orders models by value alone" in text_of(page)
    assert "The bands of a row reach from the first to the last tier with a model that does not differ" in text_of(page)
    apart = scores_of({"b": [1.0] * 10, "a": [2.0] * 10}).report(format="html", resamples=2000)
    assert "bands of a row" not in text_of(apart)
    alone = text_of(scores_of({"a": [1.0, 2.0] * 6}).report(format="html", resamples=50))
    assert "A rank orders" not in alone
    assert "A tier (the band" not in alone
    first = "The first model that is significantly worse than this best model begins the next tier (paired test, "
    assert f"A tier (the band at the left) begins with its best model. {first}" in text_of(apart)


def test_overlapping_bars_of_models_that_differ_are_explained() -> None:
    said = "Two models can differ significantly although their intervals overlap: pairs are tested on the units that "

    def page(other: Sequence[float]) -> str:
        own = [float(unit) for unit in range(12)]
        return text_of(scores_of({"a": own, "b": other}).report(format="html", resamples=500))

    assert said in page([unit - 1.0 for unit in range(12)])
    # They overlap and do not differ; they differ and do not overlap.
    assert "significantly although" not in page([float(11 - unit) for unit in range(12)])
    assert "significantly although" not in page([unit - 50.0 for unit in range(12)])


def test_a_metric_without_a_name_is_not_named() -> None:
    values = {"a": [2.0] * 10, "b": [1.0, 1.5] * 5}
    named, unnamed = (scores_of(values, label=label) for label in ("Hits", "value"))
    assert "The value of a in Hits is 2.0." in answer(named)
    assert "The mean of a is 2.0." in answer(unnamed)
    assert "in value" not in answer(unnamed)
    alone = answer(scores_of({"a": [1.0, 2.0] * 6}, label="value"))
    assert alone.startswith("a has the mean 1.5. ")


def test_equal_values_are_why_a_bar_is_missing() -> None:
    page = text_of(scores_of({"a": [2.0] * 10, "b": HALF}).report(format="html", resamples=50))
    assert "2.0 all units have the same value" in page


def test_bars_are_explained_where_there_are_some() -> None:
    def said(units: int) -> str:
        return text_of(
            scores_of({"a": [2.0, 1.0] * units, "b": [1.0, 0.0] * units}).report(format="html", resamples=50)
        )

    assert "Bars: 95% intervals" in said(6)
    assert "Bars:" not in said(2)


def test_baselines_are_lines_across_the_ranking() -> None:
    with_baseline = scores_of({"a": [2.0, 1.0] * 6, "baseline/prior": [1.0, 0.0] * 6}).report(
        format="html", resamples=50
    )
    assert with_baseline.count('class="baseline"') == 2
    assert "Hollow marks and dotted lines: baselines." in text_of(with_baseline)
    models = scores_of({"a": [2.0, 1.0] * 6, "b": [1.0, 0.0] * 6}).report(format="html", resamples=50)
    assert 'class="baseline"' not in models
    assert "Hollow marks" not in models


# Few people.


def private(scores: Scores) -> Scores:
    return replace(scores, provenance=scores.provenance.model_copy(update={"private": True}))


def test_a_hidden_value_is_in_no_sentence_no_rank_and_no_tier() -> None:
    few: list[float | None] = [9.0] * 4 + [None] * 8
    scores = scores_of({"few": few, "a": [3.0] * 12, "b": [2.0] * 12, "c": [1.0] * 12})
    assert answer(scores).startswith("few has the highest Hits; a , b and c are not significantly different. ")
    page = private(scores).report(format="html", resamples=2000)
    said = text_of(page)
    assert said.startswith("a has the highest Hits, and all others are significantly worse")
    assert "few has no value that can be shown." in said
    ranking = tables(page, figures=True)[0]
    assert [row[1:3] for row in ranking[1:]] == [["1 [1, 1]", "a"], ["2 [2, 2]", "b"], ["3 [3, 3]", "c"]]
    # Neither its place nor its comparisons show.
    assert "few" not in [row[1] for row in tables(section(page, "Ranks"))[0]]
    matrix = tables(section(page, "Comparisons"), figures=True)[0]
    assert matrix[-1] == ["4 few", "?", "?", "?", ""]
    assert [row[-1] for row in matrix[1:-1]] == ["?"] * 3
    assert "9.0" not in said
    # Nor do tables of pairs; the correction is for all six pairs that were tested.
    assert not [row for row in tables(section(page, "Comparisons"))[0] if "few" in row]
    assert "over 6 pairs, with at most 2,000" in said
    assert "3 of 3 pairs differ (Holm p < 0.05, family of 6)" in said
    assert [row[0] for row in tables(section(page, "Scores"))[0][1:]] == ["a", "b", "c", "few"]


def test_wins_over_a_hidden_model_are_not_counted() -> None:
    scores = scores_of({"few": [9.0] * 4 + [None] * 8, "a": [3.0] * 12, "b": [2.0] * 12})
    ratings = tables(section(private(scores).report(format="html", resamples=50), "Ratings"))[0]
    # Wins, ties and losses of each against the other one, on 12 units.
    _, *rows = [dict(zip(ratings[0], row, strict=True)) for row in ratings]
    assert [(row["model"], row["wins"], row["ties"], row["losses"]) for row in rows] == [
        ("a", "12", "0", "0"),
        ("b", "0", "0", "12"),
    ]


def test_counts_of_calls_do_not_tell_where_a_hidden_model_stands() -> None:
    scores = scores_of({"few": [9.0] * 4 + [None] * 8, "a": [3.0] * 12, "b": [2.0] * 12})
    counted = pl.lit(1).alias("calls.parsed"), pl.lit(1).alias("failed.error")
    page = private(replace(scores, values=scores.values.with_columns(*counted))).report(format="html", resamples=50)
    for title in ("Calls", "Failed units"):
        assert [row[0] for row in tables(section(page, title))[0][1:]] == ["a", "b", "few"]


def test_models_that_must_not_be_shown_are_why_there_is_no_comparison() -> None:
    scores = private(scores_of({"few": [9.0] * 4 + [None] * 8, "a": [3.0] * 12}))
    said = text_of(scores.report(format="html", resamples=50))
    assert "Comparisons: models of fewer than 5 units are not compared" in said


# The matrix.


def test_the_matrix_says_which_pairs_differ() -> None:
    page = scores_of({"b": [1.0] * 10, "a": [2.0] * 10, "c": HALF}).report(format="html", resamples=2000)
    [matrix] = tables(section(page, "Comparisons"), figures=True)
    assert matrix == [
        ["", "1", "2", "3"],
        ["1 a", "", "\u00b7", "+"],
        ["2 c", "\u00b7", "", "\u00b7"],
        ["3 b", "\u2212", "\u00b7", ""],
    ]
    assert 'title="b minus a: -1.0 , Holm p' in page
    # Names of one beginning differ where they are cut.
    long = [f"a-provider/with-a-long-name-of-a-model-{size}-thinking-2026" for size in ("big", "small")]
    of_long = scores_of({long[0]: [2.0] * 10, long[1]: [1.0] * 10}).report(format="html", resamples=200)
    [matrix, rates] = (tables(section(of_long, name), figures=True)[0] for name in ("Comparisons", "Win rates"))
    assert [row[0] for row in matrix[1:]] == [
        "1 with-a-long-name...g-thinking-2026",
        "2 with-a-long-name...l-thinking-2026",
    ]
    assert rates[0] == ["", "...big-thinking-2026 1", "...small-thinking-2026 2"]
    assert "over 3 pairs, with at most 2,000 random exchanges" in text_of(section(page, "Comparisons"))


def test_exchanges_are_enough_for_the_family() -> None:
    values = {f"m{place}": [20.0 - place + unit % 2 / 10 for unit in range(20)] for place in range(12)}
    page = scores_of(values).report(format="html", resamples=100)
    assert "over 66 pairs, with at most 2,640 random exchanges" in text_of(page)
    assert heading_of(page) == "m0 has the highest Hits, and all others are significantly worse"


# The contents.


def test_the_contents_lead_to_every_section() -> None:
    page = scores_of({"a": [2.0] * 10, "b": [1.0] * 10}).report(format="html", resamples=50)
    links = page.partition("<nav")[2].partition("</nav>")[0]
    for heading in headings(page):
        address = heading.lower().replace(" ", "-")
        assert f'<a href="#{address}">{heading}</a>' in links
        assert f'<section id="{address}">' in page


@pytest.mark.slow
def test_the_numbers_of_very_many_pairs_are_those_of_a_command() -> None:
    def page_of(models: int) -> str:
        values = {f"m{place:02}": [float(unit * place % 7) for unit in range(8)] for place in range(models)}
        return scores_of(values).report(format="html", resamples=20)

    # 17 models have 136 pairs, 18 have 153.
    assert "All pairs, with their numbers" in page_of(17)
    drawn = section(page_of(18), "Comparisons")
    assert "All pairs" not in drawn
    assert "The numbers of all 153 pairs are what <code>attune-bench compare SCORES --metric hit --format csv" in drawn


def text_answer(scores: Scores) -> str:
    """Return what the report as text says before its tables."""
    return re.sub(r" \[[^]]*\]", "", " ".join(scores.report(resamples=2000).partition("\n\n")[0].split()))


def test_the_report_as_text_begins_with_the_sentences_of_the_page() -> None:
    scores = scores_of({"b": [1.0] * 10, "baseline/x": HALF, "a": [2.0] * 10})
    said = text_answer(scores)
    assert said == (
        "a has the highest Hits; baseline/x is not significantly different. The value of a in Hits is 2.0. Compared "
        "with a on the units that both have: b is significantly worse."
    )
    assert all(part in answer(scores) for part in said.partition(". "))


def with_prior(prior: Sequence[float], low: Sequence[float], rates: Sequence[float]) -> str:
    """Return what is said of a prior, and two models, with the values of a second metric by row."""
    rows = [
        (model, f"u{unit}", metric, value)
        for model, own, rate in zip(("baseline/prior", "b", "a"), (prior, low, [2.0] * 10), rates, strict=True)
        for unit, one in enumerate(own)
        for metric, value in (("hit", one), ("rate", rate))
    ]
    frame = pl.DataFrame(rows, schema=["model", "unit", "metric", "value"], orient="row")
    said = text_answer(Scores.from_table(frame, metrics={"hit": {"label": "Hits", "digits": 1}, "rate": {}}))
    return said.partition("baseline/prior gives the most frequent answers and reads no unit. ")[2]


def test_why_the_most_frequent_answers_beat_a_model_is_said_where_they_do() -> None:
    assert with_prior([1.9] * 10, [1.0] * 10, [0.5, 0.25, 0.75]) == (
        "Its value is higher than the values of b (significantly); baseline/prior is better than b in rate "
        "(0.500 against 0.250)."
    )
    # In another metric it may be worse, and a difference need not be significant.
    assert with_prior([1.9] * 10, [1.0] * 10, [0.25, 0.5, 0.75]).endswith("than the values of b (significantly).")
    assert "the values of b (not significantly)" in with_prior([1.9] * 10, [1.95, 1.8] * 5, [0.5, 0.25, 0.75])
    both = with_prior([2.1] * 10, [1.0] * 10, [0.5, 0.25, 0.75])
    assert both == "Its value is higher than the values of a (significantly) and b (significantly)."
    assert with_prior([0.5] * 10, [1.0] * 10, [0.5, 0.25, 0.75]) == ""
