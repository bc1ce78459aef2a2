"""EQ-Bench 3: the score of a task, plus signs, games and ratings, by hand, by the published code and by its board."""

import json
from math import isnan, nan
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest

import attune_metrics as am
from attune_metrics.eqbench3 import (
    ANCHORS,
    CRITERIA,
    STYLE,
    PlusCounts,
    Rated,
    ability_scores,
    anchored_ratings,
    eqbench3_task_score,
    judged_pairs,
    pseudo_games,
    published_ratings,
    trueskill_ratings,
    win_fraction,
)

FIXTURES = Path(__file__).parents[1] / "golden" / "eqbench3"


# The score of a task.


def test_the_score_is_the_mean_of_the_criteria_that_count() -> None:
    role_play = eqbench3_task_score(
        dict(zip(CRITERIA["standard"], (12, 10, 11, 9, 10, 8), strict=True)), rubric="standard"
    )
    analysis = eqbench3_task_score(
        dict(zip(CRITERIA["analysis"], (10, 10, 10, 10, 10, 4), strict=True)), rubric="analysis"
    )
    assert (role_play, analysis) == (10, 9)
    assert 5 * (role_play + analysis) / 2 == 47.5  # as boards show it


def test_style_never_changes_the_score() -> None:
    given = dict.fromkeys(CRITERIA["standard"], 8.0)
    assert eqbench3_task_score(given | dict.fromkeys(STYLE, 20), rubric="standard") == 8
    # A criterion of the other rubric counts for a standard task alone: (6 * 8 + 15) / 7 = 9.
    other = given | {"theory_of_mind": 15}
    assert eqbench3_task_score(other, rubric="standard") == 9
    # Of these analysis counts depth_of_insight, emotional_reasoning and theory_of_mind: (8 + 8 + 15) / 3.
    assert eqbench3_task_score(other, rubric="analysis") == pytest.approx(31 / 3, abs=1e-12)


def test_a_task_without_a_number_has_no_score() -> None:
    given = cast("dict[str, float]", {"demonstrated_empathy": "twelve", "warmth": 3, "pragmatic_ei": None})
    with pytest.warns(am.UndefinedMetricWarning, match="no criterion of the standard rubric has a number"):
        assert isnan(eqbench3_task_score(given, rubric="standard"))
    with pytest.raises(am.MetricInputError, match="unknown rubric 'drafting'; expected standard or analysis"):
        eqbench3_task_score(given, rubric=cast("Any", "drafting"))
    with pytest.raises(am.MetricInputError, match="pragmatic_ei inf is not a finite number"):
        eqbench3_task_score({"pragmatic_ei": float("inf")}, rubric="standard")


# Plus signs and games.


def test_margins_of_the_worked_examples() -> None:
    # 0.5 + 13 / 30 / 2, and 0.5 + 1 / 30 / 2.
    assert win_fraction(14, 1) == pytest.approx(0.716667, abs=1e-6)
    assert win_fraction(1, 14) == pytest.approx(1 - 0.716667, abs=1e-6)
    assert pseudo_games(win_fraction(14, 1)) == 9
    assert win_fraction(1, 0) == pytest.approx(0.516667, abs=1e-6)
    assert pseudo_games(win_fraction(1, 0)) == 1
    assert (win_fraction(80, 0), win_fraction(30, 0), win_fraction(7, 7)) == (1, 1, 0.5)


GAMES = {
    20: [1, 2, 3, 3, 4, 4, 5, 6, 7, 7, 8, 8, 9, 10, 10, 11, 12, 13, 13, 14, 14, 15, 16, 16, 17, 18, 18, 19, 20, 20],
    5: [1] * 6 + [2] * 6 + [3] * 5 + [4] * 7 + [5] * 6,
}


@pytest.mark.parametrize("bins", GAMES)
def test_games_by_difference_are_the_table_of_floats(bins: int) -> None:
    assert [pseudo_games(win_fraction(d, 0), bins) for d in range(1, 31)] == GAMES[bins]
    assert [-pseudo_games(win_fraction(0, d), bins) for d in range(1, 31)] == GAMES[bins]
    assert pseudo_games(win_fraction(40, 0), bins) == bins
    assert pseudo_games(0.5, bins) == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: win_fraction(-1, 0), "first -1 is not a whole number from 0"),
        (lambda: win_fraction(0, cast("int", 2.5)), "second 2.5 is not a whole number from 0"),
        (lambda: pseudo_games(1.5), "fraction 1.5 is outside 0-1"),
        (lambda: pseudo_games(nan), "fraction nan is not a finite number"),
        (lambda: pseudo_games(0.7, 0), "bins 0 is not a whole number from 1"),
        (lambda: judged_pairs([PlusCounts("a", "a", "9", "1", 1, 0)]), "'a' is compared with itself in scenario '9'"),
        (
            lambda: judged_pairs([PlusCounts("b", "a", "9", "1", None, None)]),
            "'b' and 'a', scenario '9': neither pluses nor fractions",
        ),
        (lambda: judged_pairs([PlusCounts("b", "a", "9", "1", None, None, 1.2)]), "fraction 1.2"),
        (lambda: published_ratings([], window=0), "window 0 is not a whole number from 1"),
    ],
)
def test_input_out_of_range_is_refused(call: Any, message: str) -> None:
    with pytest.raises(am.MetricInputError, match=message):
        call()


@pytest.mark.parametrize(
    ("comparisons", "expected"),
    [
        ([("a", None, 0.8), ("b", None, 0.4)], (0.8 + 0.6) / 2),
        ([("a", (3, 0), 0.8), ("b", None, 0.4)], (0.8 + 0.6) / 2),  # with one missing the plus signs do not count
        ([("b", None, 0.4)], 0.6),
        ([("a", None, None), ("b", None, 0.4)], 0.6),
        ([("b", None, 0.4), ("b", None, 0.2)], 0.6),  # the first alone, as the published code has it
        ([("a", None, 0.9), ("a", None, 0.6), ("b", None, 0.4)], 0.7),
        ([("a", (3, 0), 0.9), ("b", (0, 3), 0.6)], 0.6),  # d = 6
    ],
)
def test_without_plus_signs_fractions_are_averaged(comparisons: list[Any], expected: float) -> None:
    given = [
        PlusCounts(test, "b" if test == "a" else "a", "9", "1", pluses and pluses[0], pluses and pluses[1], fraction)
        for test, pluses, fraction in comparisons
    ]
    [pair] = judged_pairs(given)
    assert pair.first == "a"
    assert pair.fraction == pytest.approx(expected)


# Ratings.

# Forward and reverse: test and other model, scenario, plus signs for each.
WORKED = [
    PlusCounts(test, other, scenario, "1", plus_test, plus_other)
    for test, other, scenario, plus_test, plus_other in (
        ("m1", "m2", "1", 14, 1), ("m1", "m2", "1", 9, 4), ("m2", "m3", "2", 3, 10), ("m2", "m3", "2", 8, 6),
        ("m1", "m3", "401", 1, 0), ("m1", "m3", "401", 0, 1), ("m3", "m1", "3", 20, 2), ("m2", "m3", "404", 1, 0),
        ("m2", "m3", "404", 1, 0),
    )
]  # fmt: skip


def close(ratings: dict[str, Rated], expected: dict[str, tuple[float, float]]) -> bool:
    return all(ratings[model] == pytest.approx(one, abs=1e-4) for model, one in expected.items())


def test_ratings_of_the_worked_example() -> None:
    pairs = judged_pairs(WORKED)
    expected = {"m1": (1231.6245, 37.1756), "m2": (1210.1973, 44.8503), "m3": (1317.7755, 34.3920)}
    assert close(trueskill_ratings(pairs), expected)
    expected = {"m1": (1218.1246, 52.6342), "m2": (1194.3268, 62.6834), "m3": (1286.6335, 50.1977)}
    assert close(trueskill_ratings(pairs, bins=5), expected)
    last_first = trueskill_ratings(pairs[2:] + pairs[:2])
    assert {model: one.mu for model, one in last_first.items()} == pytest.approx(
        {"m1": 1279.4195, "m2": 1117.3717, "m3": 1294.5974}, abs=1e-4
    )


def test_a_drawn_game_of_equals_raises_sigma_as_published() -> None:
    [one, other] = trueskill_ratings(judged_pairs([PlusCounts("a", "b", "9", "1", 0, 0)])).values()
    assert one == other == pytest.approx((1200, 134.223), abs=1e-3)


def test_both_orders_of_a_comparison_are_one_pair_whichever_comes_first() -> None:
    assert judged_pairs([*WORKED[1::-1], *WORKED[2:]]) == judged_pairs(WORKED)
    swapped = [
        one._replace(test=one.other, other=one.test, plus_test=one.plus_other, plus_other=one.plus_test)
        for one in WORKED
    ]
    assert judged_pairs(swapped) == judged_pairs(WORKED)
    assert len(judged_pairs(WORKED)) == 5


def test_renamed_models_keep_their_ratings() -> None:
    names = {"m1": "z", "m2": "a", "m3": "k"}
    renamed = [one._replace(test=names[one.test], other=names[one.other]) for one in WORKED]
    ratings = trueskill_ratings(judged_pairs(renamed))
    for model, one in trueskill_ratings(judged_pairs(WORKED)).items():
        assert ratings[names[model]] == pytest.approx(one, abs=1e-9)


def test_ratings_move_onto_the_line_of_the_anchors() -> None:
    raw = {"o3": 1561.3, "meta-llama/llama-3.2-1b-instruct": 991.8, "mine": 1300.0}
    normalised = anchored_ratings(raw)
    assert normalised == pytest.approx(
        {"o3": 1500, "meta-llama/llama-3.2-1b-instruct": 200, "mine": 903.5294}, abs=1e-4
    )
    assert (normalised["o3"] - normalised["mine"]) / (1561.3 - 1300) == pytest.approx(2.282704, abs=1e-6)
    assert anchored_ratings({"o3": 1300.0, "mine": 1200.0}) == {"o3": 1300.0, "mine": 1200.0}
    # Equal anchors: a scale of 1, as published.
    assert anchored_ratings(dict.fromkeys((*ANCHORS, "mine"), 1200.0)) == dict.fromkeys((*ANCHORS, "mine"), 1500.0)


def drawn_comparisons() -> list[PlusCounts]:
    """Return 1136 comparisons of 20 models, some in one order only, some tied between equals."""
    draw = Random(7).random
    found = []
    for _ in range(600):
        test = int(draw() * 20)
        other = (test + 1 + int(draw() * 19)) % 20
        scenario = str(1 + int(draw() * 30)) if draw() < 0.6 else str(401 + int(draw() * 19))
        iteration, lead = str(1 + int(draw() * 2)), (test - other) * 0.4
        for order in (0, 1):
            if order and draw() < 0.1:
                continue
            pluses = max(0, int(draw() * 14 + lead)), max(0, int(draw() * 14 - lead))
            counts = (int(pluses[0] > pluses[1]), int(pluses[1] > pluses[0])) if int(scenario) >= 400 else pluses
            found.append(PlusCounts(f"m{test:02d}", f"m{other:02d}", scenario, iteration, *counts))
    return found


def test_ratings_equal_the_published_code() -> None:
    comparisons = drawn_comparisons()
    assert len(comparisons) == 1136
    ratings = published_ratings(comparisons, anchors={"m19": 1500, "m00": 200})
    expected = json.loads((FIXTURES / "ratings.json").read_text())  # with two digits
    assert {model: one._asdict() for model, one in ratings.items()} == {
        model: pytest.approx(one, abs=0.0101) for model, one in expected.items()
    }
    assert next(iter(ratings)) == "m19"
    # With every pair, not only those within 16 ranks, ratings are others.
    assert published_ratings(comparisons, window=19)["m19"] != published_ratings(comparisons)["m19"]


# The board of 2025.


def test_ratings_and_abilities_of_the_board_follow_from_its_other_numbers() -> None:
    board = json.loads((FIXTURES / "board.json").read_text())
    assert len(board) == 32
    normalised = anchored_ratings({model: one["elo_raw"] for model, one in board.items()})
    # Raw ratings are printed with one digit, and the scale is 2.28.
    assert max(abs(normalised[model] - one["elo_norm"]) for model, one in board.items()) < 0.22
    off = [
        abs(value - one["abilities"][ability])
        for one in board.values()
        for ability, value in ability_scores(one["criteria"]).items()
    ]
    assert len(off) == 352
    assert max(off) < 0.005 + 1e-9


def test_an_ability_without_its_criterion_has_no_number() -> None:
    assert isnan(ability_scores({"warmth": 3.0})["warm"])
