"""Several judges together: by hand, properties, odd judges, refusals, and how often the interval is right."""

import warnings
from math import isnan, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prediction_powered import GRID, NUMBERS, PANELS, UNEVEN, Panel, panel_figures

from attune_metrics import MetricInputError
from attune_metrics.metric import UnreliableIntervalWarning
from attune_metrics.stats.bootstrap import draw_resamples
from attune_metrics.stats.judge_panels import JudgePanel, combine_judges, prediction_powered_panel
from attune_metrics.stats.judges import PredictionPowered, prediction_powered
from attune_metrics.stats.panel_planning import PlannedPanel, plan_panels
from attune_metrics.stats.power import corrected_width

GENERATOR = np.random.default_rng(7)
PEOPLE, ONE, TWO, THREE = GENERATOR.normal(size=(4, 120))
RATED = np.where(np.arange(120) % 3 == 0, PEOPLE, nan)  # 40
JUDGES = np.array([PEOPLE + 0.8 * ONE, 3 - 2 * PEOPLE + 2 * TWO, THREE])
FIVES = np.arange(120) // 5


def panel(judged: Any, rated: Any = RATED, clusters: Any = range(120), resamples: int = 200) -> JudgePanel:
    """Return the correction by several judges, without warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnreliableIntervalWarning)
        return prediction_powered_panel(judged, rated, draw_resamples(clusters, n_resamples=resamples))


def alone(judge: Any, rated: Any = RATED) -> PredictionPowered:
    """Return the correction by one judge, without warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnreliableIntervalWarning)
        return prediction_powered(judge, rated, draw_resamples(range(120), n_resamples=200))[0]


def width(found: Any) -> float:
    return float(found.corrected.high - found.corrected.low)


def test_two_judges_by_least_squares() -> None:
    # The ratings are 2 + j - k / 2 exactly: every fit finds these weights, whichever cluster is left out.
    judged = np.array([PEOPLE + ONE, 2 * (PEOPLE + ONE) + 4 - 2 * PEOPLE])
    found = combine_judges(judged, RATED, range(120))
    assert found.weights == pytest.approx((1, -0.5), abs=1e-3)
    assert found.scores == pytest.approx(PEOPLE, abs=5e-3)


def test_a_ratings_own_cluster_has_no_part_in_its_weights() -> None:
    first = combine_judges(JUDGES, RATED, FIVES).scores
    moved = np.where((FIVES == 3) & ~np.isnan(RATED), RATED + 50, RATED)
    second = combine_judges(JUDGES, moved, FIVES).scores
    own = FIVES == 3
    # Up to the constant that all units share.
    inside = (~np.isnan(RATED) & own).nonzero()[0]
    assert np.diff(second[inside]) == pytest.approx(np.diff(first[inside]), abs=1e-9)
    others = (~np.isnan(RATED) & ~own).nonzero()[0]
    assert not np.allclose(np.diff(second[others]), np.diff(first[others]), atol=0.1)


def test_one_rating_may_differ_from_all_others() -> None:
    # Without its cluster all ratings are equal, and by rounding their sum of squares is below 0.
    rated = np.full(120, nan)
    rated[:50] = [4.0] + 49 * [5.0]
    found = combine_judges(np.round(JUDGES), rated, range(120))
    assert not np.isnan(found.scores).any()
    assert np.ptp(found.scores) < 0.2


def test_unrated_units_have_the_mean_of_the_weights_of_the_rated() -> None:
    found = combine_judges(JUDGES, RATED, range(120))
    plain = np.isnan(RATED)
    fitted = np.array(found.weights) @ JUDGES
    assert np.ptp((found.scores - fitted)[plain]) == pytest.approx(0, abs=1e-9)
    assert found.scores[~plain].mean() == pytest.approx(RATED[~plain].mean())


def test_the_estimate_is_of_the_function_for_one_judge() -> None:
    found, drawn = panel(JUDGES, clusters=FIVES), draw_resamples(FIVES, n_resamples=200)
    scores = combine_judges(JUDGES, RATED, drawn.clusters).scores
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnreliableIntervalWarning)
        [again] = prediction_powered(scores, RATED, drawn, slope=1)
    assert repr(found.combined) == repr(again)
    assert found.combined.corrected.estimate == pytest.approx(found.combined.judge.estimate)


@given(st.permutations(range(120)))
def test_the_order_of_units_does_not_matter(order: list[int]) -> None:
    first = combine_judges(JUDGES, RATED, FIVES)
    again = combine_judges(JUDGES[:, order], RATED[order], FIVES[order])
    assert again.weights == pytest.approx(first.weights, rel=1e-9)
    assert again.scores == pytest.approx(first.scores[order], rel=1e-9)


@given(st.floats(-5, 5), st.floats(0.1, 9), st.floats(-100, 100))
def test_the_scales_of_judges_do_not_matter(shift: float, factor: float, of_people: float) -> None:
    first = combine_judges(JUDGES, RATED, FIVES)
    moved = combine_judges(JUDGES * [[factor], [1], [-factor]] + shift, 2 * RATED + of_people, FIVES)
    assert moved.scores == pytest.approx(2 * first.scores + of_people, abs=1e-6)
    one, two, three = (2 * weight for weight in first.weights)
    assert moved.weights == pytest.approx((one / factor, two, -three / factor), rel=1e-6, abs=1e-9)


def test_two_judges_are_worth_more_than_one() -> None:
    rated = np.where(np.arange(120) < 60, PEOPLE, nan)
    found = panel([PEOPLE + ONE, 3 + 2 * ONE + TWO, THREE], rated, resamples=1000)
    assert found.combination.weights == pytest.approx((0.8, -0.3, 0), abs=0.15)
    assert found.combined.equivalent_ratings > 1.2 * max(
        alone(judge, rated).equivalent_ratings for judge in (PEOPLE + ONE, 3 + 2 * ONE + TWO)
    )
    # The third knows nothing: nothing is lost without it.
    assert min(found.ratings_lost[:2]) > 5 > abs(found.ratings_lost[2])


@pytest.mark.parametrize("factor", [1, -1, -0.2])
def test_a_judge_that_is_the_truth_or_its_negative(factor: float) -> None:
    found = panel([factor * PEOPLE, *JUDGES])
    assert found.combination.weights == pytest.approx((1 / factor, 0, 0, 0), abs=1e-6)
    assert found.combined.corrected.estimate == pytest.approx(PEOPLE.mean())
    assert width(found.combined) == pytest.approx(width(alone(factor * PEOPLE)), rel=1e-6)


def test_judges_that_are_alike_share_their_weight() -> None:
    two = panel([JUDGES[0], THREE]).combined
    found = panel([JUDGES[0], JUDGES[0], JUDGES[0], THREE])
    assert found.combination.weights[1:3] == pytest.approx(found.combination.weights[:2])
    assert width(found.combined) == pytest.approx(width(two), rel=0.02)


def test_a_constant_judge_has_no_weight() -> None:
    found, without = panel([JUDGES[0], [0.1 + 0.2] * 120, JUDGES[1]]), panel(JUDGES[:2])
    assert found.combination.left_out == (None, "gives all units the same score", None)
    assert isnan(found.combination.weights[1])
    assert (found.combination.weights[0], found.combination.weights[2]) == without.combination.weights
    assert repr(found.combined) == repr(without.combined)
    assert found.ratings_lost[1] == 0


def test_beside_constant_judges_a_judge_adds_what_it_adds_to_people() -> None:
    found = panel([JUDGES[0], [3] * 120])
    assert found.ratings_lost == pytest.approx((found.combined.equivalent_ratings - 40, 0))


def test_a_judge_that_varies_on_unrated_units_alone() -> None:
    found = panel([JUDGES[0], np.where(np.isnan(RATED), ONE, 3)])
    assert found.combination.weights[1] == 0
    assert found.combined.corrected.reason is None


def test_constant_judges_correct_nothing() -> None:
    found = panel([[1] * 120, [2] * 120])
    assert found.combined.corrected.reason == "every judge gives all units the same score"
    assert isnan(found.combined.corrected.estimate)


def test_people_who_always_rate_alike() -> None:
    found = panel(JUDGES, np.where(np.isnan(RATED), nan, 4))
    assert set(found.combination.weights) == {0}
    assert found.combined.corrected.estimate == 4
    assert found.combined.corrected.reason == "no variation among clusters"


def test_a_missing_score_is_the_judges_mean() -> None:
    missing = JUDGES.copy()
    missing[0, :30] = nan
    filled = missing.copy()
    filled[0, :30] = missing[0, 30:].mean()
    # The spread is of the given scores, so that weights differ by shrinkage alone.
    assert combine_judges(missing, RATED, range(120)).scores == pytest.approx(
        combine_judges(filled, RATED, range(120)).scores, abs=0.05
    )
    found = panel(missing)
    assert found.combined.judge.n == 120


@pytest.mark.parametrize(
    ("missing", "why"),
    [
        (np.isnan(RATED), "scored no unit that is not rated"),
        (np.isnan(RATED) & (np.arange(120) < 60), "scored rated units more often than others (p < 0.05)"),
        (~np.isnan(RATED) & (np.arange(120) < 60), "scored rated units less often than others (p < 0.05)"),
        (np.arange(120) < 40, None),
        # One rating of 40 is chance, and so are the units of a few clusters.
        (np.arange(120) == 3, None),
    ],
)
def test_a_judge_that_scored_rated_and_other_units_unlike_often_is_left_out(missing: Any, why: str | None) -> None:
    judged = JUDGES.copy()
    judged[0, missing] = nan
    found = combine_judges(judged, RATED, range(120))
    assert found.left_out == (why, None, None)
    if why:
        others = combine_judges(JUDGES[1:], RATED, range(120))
        assert found.scores.tolist() == others.scores.tolist()
        assert isnan(found.weights[0])
        assert found.weights[1:] == others.weights


def test_a_judge_that_scored_none_of_a_few_unrated_units_stays() -> None:
    for unrated, stays in ((1, True), (6, True), (7, False)):
        is_missing = np.arange(120) < unrated
        judged, rated = JUDGES.copy(), np.where(is_missing, nan, PEOPLE)
        judged[0, is_missing] = nan
        assert (combine_judges(judged, rated, range(120)).left_out[0] is None) == stays


def test_no_panel_is_planned_of_judges_that_scored_too_few_rated_units() -> None:
    prices: dict[str, Any] = {"price": 40.0, "rating_price": 1.0, "judge_prices": [0.01, 0.01]}
    given, others = np.flatnonzero(~np.isnan(RATED)), np.flatnonzero(np.isnan(RATED))
    for scored, rating in (
        (given[:2], RATED),
        (given[:5], np.where(np.arange(120) <= given[4], RATED[given[0]], RATED)),
    ):
        judged = JUDGES[:2].copy()
        judged[0, np.setdiff1d(given, scored)] = nan
        judged[0, others[:50]] = nan
        panels = plan_panels(judged, rating, range(120), **prices)
        assert {one.judges for one in panels} == {(), (1,), (0, 1)}


def test_whole_clusters_may_be_rated_or_scored_together() -> None:
    rated = np.where(FIVES < 8, PEOPLE, nan)
    judged = JUDGES.copy()
    judged[0, (FIVES > 5) & (FIVES < 15)] = nan  # 2 of 8 rated clusters and 7 of 16 others
    assert combine_judges(judged, rated, FIVES).left_out == (None, None, None)
    assert combine_judges(judged, rated, range(120)).left_out[0] is not None


def test_no_judge_is_left() -> None:
    judged = np.where(np.isnan(RATED), nan, JUDGES[:2])
    judged = np.array([judged[0], [3] * 120])
    reason = combine_judges(judged, RATED, range(120)).reason
    assert reason == "every judge gives all units the same score, or scored rated and other units unlike often"


def test_a_unit_that_no_judge_scored_is_left_out() -> None:
    judged = JUDGES.copy()
    judged[:, :6] = nan
    found, kept = panel(judged), panel(JUDGES[:, 6:], RATED[6:], range(6, 120))
    assert (found.combined.corrected.n, found.combined.judge.n) == (38, 114)
    assert found.combined.corrected.estimate == pytest.approx(kept.combined.corrected.estimate, abs=1e-12)


def test_more_judges_than_ratings() -> None:
    judged = [*JUDGES, *np.random.default_rng(1).normal(size=(9, 120))]
    few = np.where(np.arange(120) < 10, PEOPLE, nan)
    found = panel(judged, few)
    assert found.combined.corrected.reason is None
    assert "10 ratings, fewer than 30" in found.combined.cautions[0]
    assert width(found.combined) < 2 * width(alone(JUDGES[0], few))


@pytest.mark.parametrize(("rated", "reason"), [(0, "no unit"), (2, "fewer than 3 clusters")])
def test_too_few_ratings(rated: int, reason: str) -> None:
    found = panel(JUDGES, np.where(np.arange(120) < rated, PEOPLE, nan))
    assert reason in str(found.combined.corrected.reason)
    assert isnan(found.combined.corrected.estimate)
    assert all(isnan(weight) for weight in found.combination.weights)


@pytest.mark.parametrize(
    ("judged", "rated", "message"),
    [
        ([PEOPLE], RATED, "at least two judges"),
        (PEOPLE, RATED, "shape"),
        (JUDGES[:, 1:], RATED, "differ in units"),
        (JUDGES, np.full(120, np.inf), "inf is infinite"),
        (np.full((2, 120), np.inf), RATED, "inf is infinite"),
    ],
)
def test_wrong_input(judged: Any, rated: Any, message: str) -> None:
    with pytest.raises(MetricInputError, match=message):
        panel(judged, rated)


def test_clusters_of_another_number_are_refused() -> None:
    with pytest.raises(MetricInputError, match=r"clusters of shape \(3,\)"):
        combine_judges(JUDGES, RATED, range(3))


def test_a_panel_warns_of_its_combination() -> None:
    with pytest.warns(UnreliableIntervalWarning, match="predicted and given ratings correlate by"):
        prediction_powered_panel([ONE, TWO], RATED, draw_resamples(range(120), n_resamples=100))


# Which judges to pay.

PILOT = np.array([PEOPLE + 0.5 * ONE, PEOPLE + TWO, THREE]), np.where(np.arange(120) < 60, PEOPLE, nan), range(120)


def planned(judge_prices: Any, price: float = 100, rating_price: float = 1, **options: Any) -> list[PlannedPanel]:
    return plan_panels(*PILOT, price=price, rating_price=rating_price, judge_prices=judge_prices, **options)


def test_every_panel_that_the_price_pays() -> None:
    found = planned([0.01, 0.02, 0.4])
    # The third judge costs 48 of 100 for 120 units.
    assert {panel.judges: panel.ratings for panel in found} == {
        (): 100, (0,): 98, (1,): 97, (2,): 52, (0, 1): 96, (0, 2): 50, (1, 2): 49, (0, 1, 2): 48,
    }  # fmt: skip
    assert all(panel.spent <= 100 < panel.spent + 1 for panel in found)
    assert [panel.width for panel in found] == sorted(panel.width for panel in found)
    assert found[0].judges in {(0,), (0, 1)}
    assert [panel.correlation for panel in found if not panel.judges] == [0]


def test_the_width_is_of_the_formula() -> None:
    for panel in planned([0.1, 0.1, 0.1]):
        spread = float(np.nanstd(PILOT[1], ddof=1))
        expected = corrected_width(panel.ratings, spread=spread, correlation=panel.correlation, units=120)
        assert panel.width == pytest.approx(expected)


@pytest.mark.parametrize(("cost", "best"), [(0.01, (0,)), (0.8, ())])
def test_a_judge_has_to_be_worth_its_price(cost: float, best: tuple[int, ...]) -> None:
    assert plan_panels(PILOT[0][:1], *PILOT[1:], price=100, rating_price=1, judge_prices=[cost])[0].judges == best


def test_more_units_than_in_the_pilot() -> None:
    few, many = (next(one for one in planned([0.01] * 3, units=units) if one.judges == (0,)) for units in (120, 1000))
    assert (few.ratings, many.ratings) == (98, 90)
    assert many.width < few.width


def test_a_judge_that_is_the_truth_leaves_the_units_alone() -> None:
    found = plan_panels([PEOPLE, THREE], *PILOT[1:], price=100, rating_price=1, judge_prices=[0.1, 0.1])
    assert found[0].judges == (0,)
    assert found[0].correlation == pytest.approx(1, abs=1e-6)


def test_a_constant_judge_is_in_no_panel() -> None:
    found = plan_panels([PILOT[0][0], [3] * 120], *PILOT[1:], price=100, rating_price=1, judge_prices=[0.1, 0.1])
    assert {panel.judges for panel in found} == {(), (0,)}


def test_drawn_clusters_are_paid_for() -> None:
    # Five equal ratings in a cluster say as much as one.
    people, judge = (np.repeat(values[:24], 5) for values in (PEOPLE, PEOPLE + ONE))
    rated = np.where(np.arange(120) < 60, people, nan)
    found = plan_panels([judge], rated, FIVES, price=50, rating_price=1, judge_prices=[0.1])
    assert all(3 < panel.design_effect < 7 for panel in found)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"price": 1}, "price 1 does not pay two ratings of 1 each"),
        ({"price": 0}, "price is 0; expected a number above 0"),
        ({"rating_price": 0}, "rating_price is 0"),
        ({"judge_prices": [1, 2]}, "2 judge_prices for 3 judges"),
        ({"judge_prices": [1, 2, -1]}, "judge_prices"),
        ({"units": 1}, "units"),
    ],
)
def test_wrong_prices(options: Any, message: str) -> None:
    with pytest.raises(MetricInputError, match=message):
        planned(**{"judge_prices": [1, 1, 1], **options})


@pytest.mark.parametrize("rated", [np.full(120, nan), np.full(120, 3.0), np.where(np.arange(120) < 2, PEOPLE, nan)])
def test_a_pilot_without_information(rated: Any) -> None:
    with pytest.raises(MetricInputError, match="ratings of the pilot are equal, or of fewer than 3 clusters"):
        plan_panels(PILOT[0], rated, range(120), price=100, rating_price=1, judge_prices=[1, 1, 1])


# How often the interval is right: the benchmark prints all lines with 400 simulations each.


@pytest.mark.slow
@pytest.mark.parametrize(
    "panel",
    [
        *(Panel(kind, 4) for kind in ("independent", "alike", "equal", "truth", "negative", "constant", "missing")),
        Panel("useless", 6),
        Panel("alike", 6, 100),
        Panel("independent", 6, 30, "fives"),
        Panel("independent", 6, 30, "dominant"),
    ],
    ids=str,
)
def test_intervals_cover_and_are_no_wider_than_the_best_judges(panel: Panel) -> None:
    found = panel_figures(panel, simulations=200, resamples=300)
    assert 0.9 <= found.together <= 0.99
    assert found.width <= 1.06
    assert found.of_people <= 1.06


def test_the_page_has_every_line_of_the_benchmark() -> None:
    page = (Path(__file__).parents[3] / "docs" / "judges.md").read_text(encoding="utf-8")
    head = "judges        k clusters  number    best     all       best  people  worth\n"
    lines = [part.split("\n```")[0].splitlines() for part in page.split(head)[1:]]
    panels = [[line[: len(str(PANELS[0]))] for line in table] for table in lines]
    assert panels == [[str(panel) for panel in own] for own in (PANELS, UNEVEN)]
    cells, uneven = ([line[len(str(PANELS[0])) :].split() for line in table] for table in lines)
    left_out = [float(line[1].rstrip("%")) for line in uneven]
    assert f"left out, and intervals cover {min(left_out)} to {max(left_out)}%" in page
    covered = [float(line[1].rstrip("%")) for line in cells]
    widest = max(float(line[2]) for line in cells)
    assert f"Intervals by all judges cover {min(covered)} to {max(covered)}%." in page
    assert f"They are at most {widest:.2f} times as wide as the best judge's" in page
    assert widest <= 1.05


def test_the_page_has_every_number_of_ratings() -> None:
    page = (Path(__file__).parents[3] / "docs" / "judges.md").read_text(encoding="utf-8")
    head = f"judges     k cluster{''.join(f'{number:>7}' for number in NUMBERS * 2)}"
    _, _, rows = page.partition(head)[2].partition("\n")
    lines = rows.split("\n```")[0].splitlines()
    assert [line[:20] for line in lines] == [f"{kind:<10}{judges:>2} {sizes:<7}" for kind, judges, sizes in GRID]
    cells = [[float(cell.rstrip("%")) for cell in line[20:].split()] for line in lines]
    covered, shortest, width, of_people = (
        [cell for row in cells for cell in row[4 * part : 4 * part + 4]] for part in range(4)
    )
    assert f"Intervals by all judges cover {min(covered)} to {max(covered)}% of the truths." in page
    assert sum(cell < 93 for cell in covered) == 2
    assert max(covered) < 97
    assert (
        f"{max(width):.2f} times as wide as the best judge's, and {max(of_people):.2f} times as wide as people" in page
    )
    assert f"it covers as little as {min(shortest)}%" in page
    assert max(width) <= 1.05
    assert max(of_people) <= 1.05


@pytest.mark.slow
def test_with_20_ratings_intervals_cover_and_are_no_wider_than_the_best_judges() -> None:
    for kind, sizes in (("useless", "fives"), ("one knows", "fives"), ("equal", "alone")):
        found = panel_figures(Panel(kind, 4, 20, sizes), simulations=200, resamples=300)
        assert 0.9 <= found.together <= 0.99
        assert found.width <= 1.06
        assert found.of_people <= 1.06


@pytest.mark.slow
@pytest.mark.parametrize("panel", UNEVEN, ids=str)
def test_intervals_cover_where_a_judge_scored_rated_drafts_first(panel: Panel) -> None:
    assert 0.91 <= panel_figures(panel, simulations=200, resamples=300).together <= 0.99
