"""What reports say is made false, and then it is not said."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from pages import section, text_of

from attune_bench import Scores
from attune_bench.leaderboard.boards import Entry, leaderboard_content, make_boards
from attune_bench.report.columns import profiled
from attune_bench.report.comparisons import comparison_tables
from attune_bench.report.figures import profile_cells, subgroup_cells
from attune_bench.report.notes import settings_notes
from attune_bench.report.tables import board, subgroup_notes
from attune_bench.scores.parts import GroupSettings
from attune_bench.stats.options import AnalysisOptions
from attune_bench.stats.subgroups import subgroups

FEW: dict[str, Any] = {"resamples": 200}


def scores_of(
    values: Mapping[str, Sequence[float | None]], *, people: Sequence[str] | None = None, **metric: Any
) -> Scores:
    rows = [
        {"model": model, "unit": f"u{place:02}", "metric": "hit", "value": value}
        | ({} if people is None else {"cluster": people[place]})
        for model, own in values.items()
        for place, value in enumerate(own)
    ]
    return Scores.from_table(pl.DataFrame(rows), metrics={"hit": metric})


def notes_of(scores: Scores) -> str:
    names = [scores.primary]
    return " ".join(board(scores, scores.summary(metrics=names, **FEW), names, AnalysisOptions(**FEW)).notes)


def test_shares_have_wilson_intervals_where_no_two_units_share_a_cluster() -> None:
    share: dict[str, Any] = {"statistic": "share", "low": 0, "high": 1}
    hits = {"a": [0.0, 1.0] * 6, "b": [1.0] * 12}
    assert "Shares have Wilson intervals." in notes_of(scores_of(hits, **share))
    own = [f"p{place}" for place in range(12)]
    assert "Shares have Wilson intervals." in notes_of(scores_of(hits, people=own, **share))
    two_each = [f"p{place // 2}" for place in range(12)]
    of_clusters = notes_of(scores_of({"a": [0.0, 1.0, 1.0, 1.0] * 3}, people=two_each, **share))
    assert "Wilson" not in of_clusters
    assert "logit" in of_clusters
    assert "logit" not in notes_of(scores_of(hits, people=own, **share))
    # One model has one unit of each, and one two.
    of_some: dict[str, list[float | None]] = {"a": [0.0, None] * 6, "b": [1.0, 0.0, 1.0, 1.0] * 3}
    said = notes_of(scores_of(of_some, people=two_each, **share))
    assert "Shares have Wilson" not in said
    assert "Wilson" in said
    assert "logit" in said
    # Too few units for an interval, and no share.
    assert "Wilson" not in notes_of(scores_of({"a": [0.0, 1.0, 1.0]}, **share))
    assert "Wilson" not in notes_of(scores_of(hits))


SHARE: dict[str, Any] = {"statistic": "share", "low": 0, "high": 1}
TWO_EACH = [f"p{place // 2:02}" for place in range(24)]
SOME = [0.0, 1.0, 1.0, 1.0] * 6


@pytest.mark.parametrize(
    ("people", "metric", "options", "said"),
    [
        (TWO_EACH, SHARE, {}, "logit"),
        (None, SHARE, {}, "Wilson"),
        (TWO_EACH, SHARE, {"interval": "percentile"}, ""),
        (None, SHARE, {"interval": "percentile"}, "Wilson"),
        (TWO_EACH, {}, {}, ""),
    ],
)
def test_all_notes_name_the_intervals_of_shares(
    people: Sequence[str] | None, metric: Mapping[str, Any], options: dict[str, Any], said: str
) -> None:
    scores = scores_of({"a": SOME, "b": SOME[::-1]}, people=people, **metric)
    options = {**FEW, **options}
    chosen = AnalysisOptions(**options)
    names = list(scores.units["unit"])
    strata = subgroups(scores, {"half": names[:12], "rest": names[12:]}, known=names, compare=True, **options)
    [ranking] = re.findall(r"Bars: .*?</p>", scores.report(format="html", **options))
    boards = make_boards([Entry("t", scores, {})], small_cells=True)
    [content] = leaderboard_content(boards, small_cells=True, **options)["boards"]
    of_groups = " ".join(subgroup_notes(scores, strata, compared=True, options=chosen))
    for note in (of_groups, ranking, content["intervals"]):
        assert [word for word in ("Wilson", "logit") if word in note] == ([said] if said else [])
    assert ("unpaired, by resampling" in of_groups) == bool(metric)


def title_of(scores: Scores) -> str:
    return comparison_tables(scores, scores.compare_all(**FEW))[0].title


@pytest.mark.filterwarnings("ignore:.*too few for")
def test_how_many_pairs_differ_is_counted_where_some_could() -> None:
    # Of k units that differ p is at least 2 / 2^k.
    assert "1 of 1 pairs differ" in title_of(scores_of({"a": [2.0] * 6, "b": [1.0] * 6}))
    assert "0 of 1 pairs differ" in title_of(scores_of({"a": [2.0, 0.0] * 3, "b": [1.0] * 6}))
    four = title_of(scores_of({"a": [2.0] * 4, "b": [1.0] * 4}))
    assert "differ 0 of" not in four
    assert "4 units cannot show a difference (least possible Holm p 0.12" in four
    # Six differ, and of three pairs the smallest p is corrected to 3 x 2 / 64.
    three = title_of(scores_of({"a": [3.0] * 6, "b": [2.0] * 6, "c": [1.0] * 6}))
    assert "6 units cannot show a difference" in three
    # Of eight units three pairs could differ, 3 x 2 / 256; these differ in four.
    ties = title_of(scores_of({"a": [3.0] * 4 + [1.0] * 4, "b": [2.0] * 4 + [1.0] * 4, "c": [1.0] * 8}))
    assert "no pair of 3 could differ" in ties
    assert "cannot show" not in ties
    apart = title_of(scores_of({"a": [2.0] * 6 + [None] * 6, "b": [None] * 6 + [1.0] * 6}))
    assert "no pair of 1 can be tested" in apart
    assert "could" not in apart


@pytest.mark.filterwarnings("ignore:.*too few for")
def test_models_that_are_equal_everywhere_are_said_to_be_equal() -> None:
    same = {"a": [2.0, 1.0] * 6, "b": [2.0, 1.0] * 6}
    assert title_of(scores_of(same)).endswith(": no pair of 1 differs: the two are equal in every unit")
    # Equal on average, and in all units but two.
    swapped = title_of(scores_of(same | {"b": [1.0, 2.0, *same["b"][2:]]}))
    assert "equal in every" not in swapped
    assert "no pair of 1 could differ (least possible Holm p" in swapped
    other = title_of(scores_of(same | {"c": [one + 1 for one in same["a"]]}))
    assert "equal in every" not in other
    assert "2 of 3 pairs differ" in other


@pytest.mark.parametrize("higher", [True, False, None])
def test_the_best_value_is_marked_where_a_direction_is_better(higher: bool | None) -> None:
    scores = scores_of({"a": [2.0] * 3, "b": [1.0] * 3, "c": [2.0] * 3}, higher_is_better=higher)
    found = board(scores, scores.summary(**FEW), ["hit"], AnalysisOptions(**FEW))
    marked = {row["model"] for row in found.rows if row["is_best"]}
    assert marked == {True: {"a", "c"}, False: {"b"}, None: set()}[higher]


@pytest.mark.parametrize(("higher", "signs"), [(True, [1, 0, -1]), (False, [-1, 0, 1]), (None, [None] * 3)])
@pytest.mark.parametrize(("low", "high", "scale"), [(0.0, 1.0, 1.0), (0.0, 1.0, 100.0), (-5.0, 5.0, 1.0)])
def test_colours_of_profiles_follow_direction_and_range(
    higher: bool | None, signs: list[int | None], low: float, high: float, scale: float
) -> None:
    values = {name: [low + part * (high - low)] * 6 for name, part in (("a", 0.9), ("b", 0.5), ("c", 0.1))}
    scores = scores_of(values, low=low, high=high, scale=scale, higher_is_better=higher)
    assert profiled(scores) == ("hit",)
    cells = profile_cells(scores, scores.summary(**FEW))
    shares = {row["model"]: row["share"] for row in cells.rows}
    for model, sign in zip("abc", signs, strict=True):
        assert shares[model] == (None if sign is None else pytest.approx(sign * 0.4, abs=1e-12))


def test_an_unbounded_metric_is_in_no_profile() -> None:
    assert profiled(scores_of({"a": [1.0] * 3}, low=0)) == ()


@pytest.mark.parametrize("higher", [True, False, None])
def test_a_subgroup_is_called_better_where_a_direction_is(higher: bool | None) -> None:
    rows = [
        {"model": "m", "unit": f"u{place:02}", "metric": "hit", "value": float(place), "kind": "xy"[place % 2]}
        for place in range(24)
    ]
    scores = Scores.from_table(pl.DataFrame(rows), metrics={"hit": {"higher_is_better": higher}})
    text = text_of(section(scores.report(format="html", resamples=100), "Subgroups"))
    assert ("better than in the other" in text) == (higher is not None)
    strata = {"x": [f"u{place:02}" for place in range(12, 24)]}
    frame = subgroups(scores, strata, known=list(scores.units["unit"]), compare=True, **FEW)
    [cell] = subgroup_cells(scores, frame).rows
    assert (cell["better"] > 0) == (higher is not False)
    # The colour is strong only where the difference is significant.
    full, pale = (subgroup_cells(scores, frame.with_columns(p_holm=pl.lit(p))).rows[0]["better"] for p in (0.01, 0.06))
    assert full == (-1 if higher is False else 1) * cell["difference"]
    assert 0 < pale / full < 0.5


@pytest.mark.parametrize("apart", [0, 100])
def test_a_subgroup_is_set_against_the_same_model_on_the_other_units(apart: int) -> None:
    rows = [
        {
            "model": "m",
            "unit": f"u{place:02}",
            "metric": "hit",
            "value": place + apart * (place % 2) * 1.0,
            "kind": kind,
        }
        for place, kind in enumerate("xy" * 12)
    ]
    text = text_of(section(Scores.from_table(pl.DataFrame(rows)).report(format="html", resamples=400), "Subgroups"))
    none = "No model's hit differs significantly between one kind and the other units"
    other = "than the same model's value on the other units"
    some = f"1 of 2 values is significantly better {other}, 1 is significantly worse {other}"
    assert (none in text, some in text) == (not apart, bool(apart))


@pytest.mark.parametrize(("values", "complete"), [([1.0] * 6, True), ([1.0] * 5 + [None], False)])
def test_the_page_says_that_no_answer_is_missing(values: list[float | None], complete: bool) -> None:
    scores = scores_of({"a": values, "b": [2.0] * 6})
    held = scores.provenance.model_copy(update={"expected": 6})
    text = text_of(section(replace(scores, provenance=held).report(format="html", resamples=50), "Scores"))
    assert ("No answer that counts is missing" in text) is complete
    assert ("least coverage" in text) is not complete


def test_no_unit_failed_is_said_where_every_result_says_so() -> None:
    scores = scores_of({"a": [1.0] * 6, "b": [2.0] * 6})

    def said(*counts: int | None) -> bool:
        failed = pl.Series("failed.error", counts, pl.Int64)
        page = replace(scores, values=scores.values.with_columns(failed)).report(format="html", resamples=50)
        return "No unit failed." in text_of(page)

    assert said(*[0] * 12)
    assert not said(*[0] * 11, 1)
    assert not said(*[0] * 11, None)


@pytest.mark.parametrize(("temperatures", "said"), [
    (((0.0,), (0.0,)), True), (((0.0,), (0.5,)), False), (((0.0, 0.5), (0.0,)), False), (((None,), (0.0,)), False),
])  # fmt: skip
def test_what_is_said_of_all_runs_is_true_of_all(temperatures: Sequence[Any], said: bool) -> None:
    scores = scores_of({"a": [1.0] * 6, "b": [2.0] * 6})
    settings = tuple(
        GroupSettings(model=name, settings={"temperature": own}) for name, own in zip("ab", temperatures, strict=True)
    )
    about = scores.provenance.model_copy(
        update={"comparability_keys": {"temperature": "temperature"}, "settings": settings}
    )
    notes = settings_notes(replace(scores, provenance=about))
    assert any("All runs: temperature" in note for note in notes) == said


def test_methods_name_the_intervals_of_shares_and_of_means_over_people() -> None:
    def methods(people: Sequence[str] | None, **metric: Any) -> str:
        options = metric.pop("options", {})
        scores = scores_of({"a": SOME}, people=people, **metric)
        return text_of(section(scores.report(format="html", resamples=50, **options), "Methods"))

    assert "In brackets: 95% intervals by resampling units" in methods(None)
    assert "Wilson" not in methods(None)
    assert "Shares have Wilson intervals." in methods(None, **SHARE)
    weighted = methods(TWO_EACH, options={"weight": "cluster"})
    assert "by Student's t over clusters" in weighted
    assert "Others: 95% intervals by resampling clusters" in weighted
    assert "Others:" not in methods(TWO_EACH)
