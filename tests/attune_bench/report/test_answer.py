"""What a page answers first: who leads, who is not told apart, how far random answers are; and the matrix of pairs."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from pages import headings, section, tables, text_of

from attune_bench import Scores
from attune_bench.report.tables import Verdicts, verdicts
from attune_bench.scores.settings import GroupSettings

HALF = [2.0] * 5 + [1.0] * 5


def scores_of(values: Mapping[str, Sequence[float | None]], about: Any = None, **metric: Any) -> Scores:
    rows = [(model, f"u{unit}", "hit", value) for model, own in values.items() for unit, value in enumerate(own)]
    frame = pl.DataFrame(rows, schema=["model", "unit", "metric", "value"], orient="row")
    return Scores.from_table(frame, metrics={"hit": {"label": "Hits", "digits": 1, **metric}}, about=about)


def answer(scores: Scores, **options: Any) -> str:
    """Return what a page says before its ranking, without intervals."""
    page = scores.report(format="html", **{"resamples": 2000, **options})
    return re.sub(r" \[[^]]*\]", "", text_of(page).partition("Ranking by")[0].partition("Contents")[2])


def with_chance(scores: Scores, expected: float) -> Scores:
    return replace(scores, units=scores.units.with_columns(pl.lit(expected).alias("chance.hit")))


def test_who_leads_who_is_not_told_apart_and_who_is_below() -> None:
    # Of 10 units each exchange of a and b changes the difference: p is 2 / 2^10, of a and c 2 / 2^5.
    said = answer(scores_of({"b": [1.0] * 10, "a": [2.0] * 10, "c": HALF}))
    assert "a leads with 2.0 in Hits; not told apart from c ; b is below." in said


@pytest.mark.slow
def test_many_models_are_counted() -> None:
    steps = {f"m{place}": [10.0 - place + unit % 2 / 10 for unit in range(20)] for place in range(6)}
    assert "m0 leads with 10.1 in Hits; all 5 others are below." in answer(scores_of(steps))
    close = steps | {"m9": [value - (unit % 7) / 100 for unit, value in enumerate(steps["m0"])]}
    some = steps | {"m0b": [10.2 if unit % 2 else 9.88 for unit in range(20)]}
    assert "; all 6 others are below." in answer(scores_of(close))
    assert "; not told apart from m0b ; 5 others are below." in answer(scores_of(some))


def test_two_others() -> None:
    assert "; both others are below." in answer(scores_of({"a": [3.0] * 12, "b": [2.0] * 12, "c": [1.0] * 12}))
    assert "; the other model is below." in answer(scores_of({"a": [3.0] * 12, "b": [2.0] * 12}))


def test_none_is_told_apart() -> None:
    rising = {"a": [float(unit) for unit in range(8)], "b": [float(7 - unit) + 0.01 for unit in range(8)]}
    assert "b has the best value, 3.5 in Hits; not told apart from the other model." in answer(scores_of(rising))


def test_too_few_units_tell_nothing_apart() -> None:
    # Of 5 units no p-value is below 2 / 2^5.
    said = answer(scores_of({"a": [2.0] * 5, "b": [1.0] * 5}))
    assert "a has the best value, 2.0 in Hits; no two models differ on enough units to be told apart." in said


def test_many_units_on_which_models_do_not_differ() -> None:
    said = answer(scores_of({"a": [1.0, 2.0] * 30, "b": [1.0, 2.0] * 30}))
    assert "a and b share the best value, 1.5 in Hits; no two models differ on enough units to be told apart." in said


def test_models_of_one_value_without_a_unit_in_common() -> None:
    said = answer(scores_of({"a": [2.0] * 10 + [None] * 10, "b": [None] * 10 + [2.0] * 10}))
    assert "a and b share the best value, 2.0 in Hits; a is not compared with b ." in said


def test_a_model_without_a_value_is_named() -> None:
    said = answer(scores_of({"a": [2.0] * 10, "b": [1.0] * 10, "c": [None] * 10}))
    assert "; the other model is below." in said
    assert "c has no value that can be shown." in said
    alone = answer(scores_of({"a": [2.0] * 10, "c": [None] * 10}))
    assert "a scores 2.0 in Hits; it is the only model with a value that can be shown." in alone


def test_models_of_one_value_share_the_lead() -> None:
    said = answer(scores_of({"a": [2.0] * 10, "b": [2.0] * 10, "c": [1.0] * 10}))
    assert "a and b share the best value, 2.0 in Hits; a is not told apart from b ; c is below." in said


def test_one_model() -> None:
    said = answer(scores_of({"a": [1.0, 2.0] * 6}))
    assert "a scores 1.5 in Hits; it is the only model here." in said
    assert "seen here" not in said
    beside_people = answer(scores_of({"a": [1.0, 2.0] * 6, "human/ann": [1.0] * 12, "baseline/prior": [0.0] * 12}))
    assert "a scores 1.5 in Hits; it is the only model here." in beside_people


def test_a_direction_that_nothing_states_is_not_stated_as_known() -> None:
    rows = [(model, f"u{unit}", "seconds", 1.0) for model in "ab" for unit in range(8)]
    table = pl.DataFrame(rows, schema=["model", "unit", "metric", "value"], orient="row")
    taken = "better higher (taken to be: the table does not say)"
    assert taken in answer(Scores.from_table(table))
    assert taken not in answer(Scores.from_table(table, metrics={"seconds": {"low": 0}}))


def test_a_metric_without_a_better_direction() -> None:
    said = answer(scores_of({"a": [1.0] * 8, "b": [2.0] * 8}, higher_is_better=None))
    assert "No model leads: neither higher nor lower values of Hits are better. They go from 1.0 to 2.0." in said
    assert "andom answers score" not in said
    with_people = scores_of({"a": [1.0] * 8, "b": [2.0] * 8, "human/ann": [9.0] * 8}, higher_is_better=None)
    said = answer(with_chance(with_people, 3.0))
    assert "They go from 1.0 to 2.0. Random answers score 3.0 on average." in said
    assert "beats" not in said


def test_where_lower_is_better() -> None:
    scores = with_chance(scores_of({"slow": [5.0] * 10, "quick": [2.0] * 9 + [3.0]}, higher_is_better=False), 4.0)
    said = answer(scores)
    assert "quick leads with 2.1 in Hits; the other model is below." in said
    assert "Random answers score 4.0 on average: quick is better by 1.9; not clearly better: slow ." in said
    assert "better lower" in said


@pytest.mark.slow
def test_random_answers_are_beaten_by_some() -> None:
    spread = {"a": [3.0, 3.5] * 6, "b": [0.0, 2.5] * 6, "c": [2.0, 2.2] * 6}
    said = answer(with_chance(scores_of(spread), 1.0))
    assert "Random answers score 1.0 on average: a is better by 2.3; not clearly better: b ." in said
    assert "and the intervals of all 3 are better than that." in answer(with_chance(scores_of(spread), -1.0))
    assert "a is worse by 5.8; no model is clearly better." in answer(with_chance(scores_of(spread), 9.0))
    # Of a, from 3 to 3.5, the interval contains 3.2.
    near = answer(with_chance(scores_of({"a": spread["a"]}), 3.2))
    assert "Random answers score 3.2 on average: a is not clearly better." in near
    assert "Random answers score 3.2 on average: a is not clearly better." in answer(
        with_chance(scores_of({"a": [-one for one in spread["a"]]}, higher_is_better=False), -3.2)
    ).replace("score -3.2", "score 3.2")
    # Without an interval nothing is clear.
    few = answer(with_chance(scores_of({"a": [3.0, 3.5]}), 1.0))
    assert "a is not clearly better." in few
    assert "What random answers score on average in Hits is not known." in answer(scores_of(spread))


def second_metric(value: Sequence[float], expected: float, **metric: Any) -> str:
    """Return what a page says of one model by a metric whose random answers are not known, and of another's."""
    rows = [("m", f"u{unit}", name, one) for name in ("main", "hit") for unit, one in enumerate(value)]
    frame = pl.DataFrame(rows, schema=["model", "unit", "metric", "value"], orient="row")
    entries: dict[str, Any] = {"main": {"digits": 1, "group": "G"}, "hit": {"digits": 1, "group": "G", **metric}}
    scores = with_chance(Scores.from_table(frame, metrics=entries, about={"primary": "main"}), expected)
    return answer(scores)


def test_another_metric_beats_random_answers_with_its_whole_interval() -> None:
    wide = [3.0, 3.5] * 6
    assert "It beats random answers by 2.3 in hit" in second_metric(wide, 1.0)
    assert "beats random answers in no metric" in second_metric(wide, 3.2)
    assert "beats random answers in no metric" in second_metric(wide, 9.0)
    assert "It beats random answers by 5.8 in hit" in second_metric(wide, 9.0, higher_is_better=False)
    assert "beats" not in second_metric([3.0, 3.5], 1.0)


def test_random_answers_are_known_where_a_row_is_theirs() -> None:
    models = {"lab/m": [3.0, 2.0] * 5, "lab/n": [2.0, 1.5] * 5}
    others = {f"baseline/{name}": [1.0, 0.5] * 5 for name in "abcd"}
    without = answer(scores_of(models | others))
    assert "random answers, on average not known" in without
    assert "What random answers score on average in Hits is not known." in without
    said = answer(scores_of(models | others | {"baseline/chance": [0.5, 0.0] * 5}))
    assert "not known" not in said
    assert "baseline chance 0.3" in said


def test_people_and_baselines_do_not_lead() -> None:
    values = {"human/ann": [4.0] * 10, "lab/m": [3.0] * 10, "lab/n": [2.0] * 10, "baseline/prior": [1.0] * 10}
    said = answer(scores_of(values))
    assert "lab/m leads with 3.0 in Hits; the other model is below." in said
    assert "human/ann (person) scores 4.0, above the best model. baseline/prior (baseline) scores 1.0," in said
    assert "scores 1.0, below the best model." in said
    assert "seen here 2.0 to 3.0" in said
    assert "person ann 4.0 baseline prior 1.0" in said
    alone = answer(scores_of({name: own for name, own in values.items() if not name.startswith("lab")}))
    assert "human/ann (person) leads with 4.0 in Hits; the other one is below." in alone


def test_each_condition_has_its_answer() -> None:
    frame = pl.concat(
        scores_of({"a": [high] * 10, "b": [low] * 10}).values.select(
            "model", "unit", pl.lit("hit").alias("metric"), pl.col("hit").alias("value"), condition=pl.lit(condition)
        )
        for condition, high, low in (("plain", 2.0, 1.0), ("terse", 1.0, 2.0))
    )
    page = text_of(Scores.from_table(frame, metrics={"hit": {"digits": 1}}).report(format="html", resamples=2000))
    assert "a leads with 2.0 in hit, condition plain; the other model is below." in page
    assert "b leads with 2.0 in hit, condition terse; the other model is below." in page


def test_runs_that_differ_have_no_leader() -> None:
    scores = scores_of({"a": [2.0] * 10, "b": [1.0] * 10})
    settings = tuple(
        GroupSettings(model=name, settings={"temperature": (at,)}) for name, at in (("a", 0.0), ("b", 1.0))
    )
    about = scores.provenance.model_copy(update={"decisive": {"temperature": "temperature"}, "settings": settings})
    said = answer(replace(scores, provenance=about).allow_mixed())
    assert "a has the best value, 2.0 in Hits, but the runs differ in what changes an answer" in said
    assert "leads" not in said


def test_bca_has_no_ranks_but_an_answer() -> None:
    values = {"a": [2.0, 2.1] * 8, "b": [1.0, 1.1] * 8}
    page = scores_of(values).report(format="html", resamples=2000, interval="bca")
    assert "a leads with" in text_of(page)
    assert [row[0] for row in tables(page, figures=True)[0][1:]] == ["Tier 1", "1", "Tier 2", "2"]


def test_the_axis_of_the_ranking_has_no_impossible_value() -> None:
    scores = scores_of({"a": [1.0, 0.5] * 6, "b": [0.0, 1.0] * 6}, low=0, high=1)
    head = tables(scores.report(format="html", resamples=50), figures=True)[0][0]
    assert re.findall(r"\d\.\d", head[2])[-1] == "1.0"
    same = tables(scores_of({"a": [1.0] * 6, "b": [1.0] * 6}, low=0, high=1).report(format="html"), figures=True)[0][0]
    assert re.findall(r"\d\.\d", same[2])[-1] == "1.0"


# Few people.


def private(scores: Scores) -> Scores:
    return replace(scores, provenance=scores.provenance.model_copy(update={"private": True}))


def test_a_hidden_value_is_in_no_sentence_no_rank_and_no_tier() -> None:
    few: list[float | None] = [9.0] * 4 + [None] * 8
    scores = scores_of({"few": few, "a": [3.0] * 12, "b": [2.0] * 12, "c": [1.0] * 12})
    assert "few has the best value" in answer(scores)
    page = private(scores).report(format="html", resamples=2000)
    said = text_of(page)
    assert "a leads with 3.0 in Hits; both others are below." in said
    assert "few has no value that can be shown." in said
    assert "seen here 1.0 to 3.0" in said
    ranking = tables(page, figures=True)[0]
    assert [row[:2] for row in ranking[1:] if len(row) == 3] == [
        ["1 [1, 1]", "a"],
        ["2 [2, 2]", "b"],
        ["3 [3, 3]", "c"],
    ]
    # Neither its place nor what it was told apart from shows.
    assert "few" not in [row[1] for row in tables(section(page, "Ranks"))[0]]
    matrix = tables(section(page, "Comparisons"), figures=True)[0]
    assert matrix[-1] == ["4 few", "?", "?", "?", ""]
    assert [row[-1] for row in matrix[1:-1]] == ["?"] * 3
    assert "9.0" not in said
    # Nor do tables of pairs; the correction is for all six pairs that were tested.
    assert not [row for row in tables(section(page, "Comparisons"))[0] if "few" in row]
    assert "over 6 pairs, with at most 2,000" in said
    assert "pairs that differ 3 of 3 (Holm p < 0.05, family of 6)" in said
    assert [row[0] for row in tables(section(page, "Scores"))[0][1:]] == ["a", "b", "c", "few"]


def test_wins_over_a_hidden_model_are_not_counted() -> None:
    scores = scores_of({"few": [9.0] * 4 + [None] * 8, "a": [3.0] * 12, "b": [2.0] * 12})
    ratings = tables(section(private(scores).report(format="html", resamples=50), "Ratings"))[0]
    # Wins, ties and losses of each against the other one, on 12 units.
    assert [(row[0], *row[2:5]) for row in ratings[1:]] == [("a", "12", "0", "0"), ("b", "0", "0", "12")]


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


def test_the_matrix_says_which_pairs_are_told_apart() -> None:
    page = scores_of({"b": [1.0] * 10, "a": [2.0] * 10, "c": HALF}).report(format="html", resamples=2000)
    [matrix] = tables(section(page, "Comparisons"), figures=True)
    assert matrix == [
        ["", "1", "2", "3"],
        ["1 a", "", "\u00b7", "+"],
        ["2 c", "\u00b7", "", "\u00b7"],
        ["3 b", "\u2212", "\u00b7", ""],
    ]
    assert 'title="b minus a: -1.0 , Holm p' in page
    assert "over 3 pairs, with at most 2,000 random exchanges" in text_of(section(page, "Comparisons"))


def test_exchanges_are_enough_for_the_family() -> None:
    values = {f"m{place}": [20.0 - place + unit % 2 / 10 for unit in range(20)] for place in range(12)}
    page = scores_of(values).report(format="html", resamples=100)
    assert "over 66 pairs, with at most 2,640 random exchanges" in text_of(page)
    assert "m0 leads with" in text_of(page)


@pytest.mark.parametrize("significant", [True, False, None])
def test_a_verdict(significant: bool | None) -> None:
    row = {"model_a": "x", "model_b": "y", "difference": -1.0, "p": 0.01, "p_min": 0.001, "significant": significant}
    row["family"] = 1
    pairs = pl.DataFrame([row])
    expected = {True: "better", False: "same", None: "unknown"}[significant]
    found = verdicts("x", ["y"], pairs, 1)
    assert getattr(found, expected) == ["y"]
    assert sum(map(len, found[:4])) == 1
    mirrored = verdicts("y", ["x"], pairs, 1)
    assert getattr(mirrored, {"better": "worse"}.get(expected, expected)) == ["x"]
    assert verdicts("x", ["y"], pl.DataFrame(), 1) == Verdicts([], [], [], ["y"], powerless=False)


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

    # 25 models have 300 pairs, 26 have 325.
    assert "All pairs, with their numbers" in page_of(25)
    drawn = section(page_of(26), "Comparisons")
    assert "All pairs" not in drawn
    assert "The numbers of all 325 pairs are what <code>attune-bench compare --metric hit --format csv" in drawn
