"""What random answers score on average: by hand on the worked example, and against the mean of many random answers."""

import warnings
from collections.abc import Callable, Sequence
from itertools import combinations, product
from math import comb, sqrt
from statistics import fmean, stdev
from typing import Any

import numpy as np
import pytest
from slow_cases import slow_after

from attune_bench import score
from attune_bench.benchmarks.attunebench.baselines import chance
from attune_bench.benchmarks.attunebench.expected_scores import EXPECTED
from attune_bench.benchmarks.attunebench.scores_json import chance_by_unit
from attune_data import Conversation, Run, load
from attune_metrics import emotion_va_score
from attune_metrics.attunebench.emotion import VALENCE_AROUSAL
from attune_metrics.catalog import CATALOG

Json = dict[str, Any]
MakeConversation = Callable[..., Conversation]
MakeRun = Callable[..., Run]

# The worked example; its annotations are in conftest.py.
#
# Questions. Every turn with an answered question 1/2; turn 3 has no judgements, by definition 1, and 0 in the HP-facing
#   phrasing.
# Pairwise accuracy. Three of four comparisons have a winner: 3/8; 1/2; no comparison 1: mean 5/8.
# Kendall's tau. Turn 1: original-alternate, alternate-human, human-original twice; the true order is human 2, alternate
#   1, original 0 wins. By the winners of the first two, and 0, 1 or 2 of 2 wins of human over original (weights 1 2 1):
#   original, alternate: o3 a1 h0, o2 a1 h1 are o a h, -1; o1 a1 h2 is h a o, 1: -1/2. original, human: o3 h1 is o h a,
#   -1/3; o2 h2, o1 h3 are h o a, 1/3: 1/6. alternate, alternate: o2 a2 is a o h, -1/3; a2 o1 h1, a2 h2 are a h o, 1/3:
#   1/6. alternate, human: o2 a1 h1 is o a h, -1; o1 a1 h2, a1 h3 are h a o, 1: 1/2. Mean (-1/2 + 1/6 + 1/6 + 1/2)/4 =
#   1/12. Turn 2: one pair, 0. Turn 3: undefined. Mean 1/24.
# Emotions. 0 to 3 of 20 words: the expected number of hits of k words among g tags is kg/20. Hit rate (0 + 1 + 2 + 3)/4
#   /20 = .075 with tags, 1/4 without, where no word is right. F1 for g = 2: 2 (k/10)/(k + 2), (.2/3 + .4/4 + .6/5)/4;
#   g = 1: (.1/2 + .2/3 + .3/4)/4; without tags 1/4.
# Emotion VA. By all draws, as for turns of any tags: a test below.
# Branches. |6 - r| over r = 1..7: (5 + 4 + 3 + 2 + 1 + 0 + 1)/7 = 16/7; |2 - r| the same by symmetry.
# Q2, Q3: one of four options. Q3 is the third option: steps (2 + 1 + 0 + 1)/4. What felt off: nothing is predicted.
# PANAS items. |4 - r|: 12/7, ten times; |5 - r| and |3 - r|: 13/7. Skill of nervous, 4 to 5: 1, 0, 0 and four times at
#   most -1, that is -3/7; of upset, 1 to 3: 1 - |3 - r|/2: 1, 1/2, 1/2, 0, 0, -1/2, -1, that is 1/14.
EITHER: Json = {
    "avg_binary_om_accuracy": 2 / 3,
    "avg_binary_human_accuracy": 2 / 3,
    "avg_binary_om_accuracy_hp": 1 / 3,
    "avg_binary_human_accuracy_hp": 1 / 3,
    "avg_pairwise_accuracy": 5 / 8,
    "avg_pairwise_kendall_tau": 1 / 24,
    "avg_emotion_hit_rate": (0.075 + 0.075 + 0.25) / 3,
    "avg_emotion_hit_rate_tagged_only": 0.075,
    "avg_emotion_f1": ((0.2 / 3 + 0.1 + 0.12) + (0.05 + 0.2 / 3 + 0.075) + 1) / 4 / 3,
    "avg_four_branch_mae": 16 / 7,
    "four_branch_mae": 16 / 7,
    "four_branch_normalized": 1 - 16 / 42,
    "four_branch_perceiving_mae": 16 / 7,
    "four_branch_facilitating_mae": None,
    "four_branch_understanding_mae": None,
    "four_branch_managing_mae": 16 / 7,
    "q2_emotion_clarity_match": 1 / 4,
    "q3_model_fit_match": 1 / 4,
    "q3_model_fit_ordinal_distance": 1,
    "q3_follow_up_score": 0,
    "evaluation_quality": (2 / 3 + 5 / 8) / 2,
    "hp_perspective_gap": 1 / 3,
    "panas_item_mae": (120 + 26) / 7 / 12,
    "panas_item_normalized": 1 - (120 + 26) / 7 / 12 / 6,
    "panas_item_baseline_adjusted": (-3 / 7 + 1 / 14) / 2,
}
# How often ten ratings of 1 to 7 have a sum from 10 to 70: the tenfold convolution.
SUMS = np.ones(1)
for _ in range(10):
    SUMS = np.convolve(SUMS, np.full(7, 1 / 7))
TOTALS = np.arange(10, 71)


def total_metrics(affect: str, before: int, after: int) -> Json:
    """Return the metrics of one affect, whose total is the sum of ten random ratings."""
    error = np.abs(after - TOTALS)
    mae, skill = float(SUMS @ error), float(SUMS @ np.maximum(-1, 1 - error / abs(after - before)))
    normalized = {f"panas_{affect}_normalized": 1 - mae / 60}
    return {f"panas_{affect}_mae": mae, **normalized, f"panas_{affect}_baseline_adjusted": skill}


# PA after the conversation is the sum of its ten items, 40, or the recorded 50. Of Q1's seven options two were chosen,
# i of them drawn, and j of the other five: Jaccard i/(2 + j), whose mean over i is 1/(2 + j); F1 2i/(2 + i + j).
BY_PROTOCOL: dict[str, tuple[int, float]] = {
    "documented": (40, sum(comb(5, j) / (2 + j) for j in range(6)) / 32),
    "released": (
        50,
        sum(comb(2, i) * comb(5, j) * 2 * i / (2 + i + j) for i, j in product(range(3), range(6))) / 128,
    ),
}


def va_of_all_draws(tagged: Sequence[str]) -> float:
    """Return the mean VA score of every draw of 0 to 3 of the words, each number as often."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fmean(
            fmean(emotion_va_score(tagged, drawn) for drawn in combinations(VALENCE_AROUSAL, number))
            for number in range(4)
        )


@pytest.mark.parametrize("protocol", BY_PROTOCOL)
def test_the_worked_example(make_conversation: MakeConversation, make_run: MakeRun, protocol: str) -> None:
    [found] = chance_by_unit(score([make_conversation()], [make_run()], protocol=protocol)).values()
    positive, goals = BY_PROTOCOL[protocol]
    totals = total_metrics("pa", 30, positive) | total_metrics("na", 25, 30)
    both = {
        f"panas_{of}": fmean((totals[f"panas_pa_{of}"], totals[f"panas_na_{of}"]))
        for of in ("mae", "normalized", "baseline_adjusted")
    }
    # Weighted sums: 0.4, 0.3 and 0.3 of three parts, and their mean.
    parts = (both["panas_baseline_adjusted"] + 1) / 2, (goals + 1 / 4 + 1 / 4 + 0) / 4, 1 - 16 / 42
    holistic, wide, quality = 0.4 * parts[0] + 0.3 * parts[1] + 0.3 * parts[2], fmean(parts), (2 / 3 + 5 / 8) / 2
    va = fmean(map(va_of_all_draws, (["Upset", "Nervous"], ["Proud"], [])))
    blend = (EITHER["avg_emotion_f1"] + va) / 2
    turns = fmean((blend, 2 / 3, 5 / 8))
    sums = {
        "avg_emotion_va_score": va,
        "emotion_blend": blend,
        "holistic": holistic,
        "turn_level_average": turns,
        "conversation_wide_average": wide,
        # Both composites are rounded to two decimals.
        "composite_score": round(24 * blend + 49 * quality + 27 * holistic, 2),
        "equal_weight_composite": round(50 * (turns + wide), 2),
    }
    expected = {**EITHER, **totals, **both, **sums, "q1_looking_for_score": goals}
    assert found.keys() == expected.keys() == {*EXPECTED}
    assert found == {
        name: value if value is None else pytest.approx(value, abs=1e-12) for name, value in expected.items()
    }


def test_a_conversation_without_any_annotation(make_conversation: MakeConversation, make_run: MakeRun) -> None:
    bare = make_conversation(
        turns=[{"turnNumber": 1, "annotations": None}], prePanas={}, postPanas={}, conversationWideQuestions={}
    )
    [found] = chance_by_unit(score([bare], [make_run()])).values()
    # By definition an empty turn scores 1 where nothing is asked. The HP-facing questions are not asked at all.
    ones = ("avg_binary_om_accuracy", "avg_binary_human_accuracy", "avg_pairwise_accuracy", "four_branch_normalized")
    assert [found[name] for name in ones] == [1, 1, 1, 1]
    undefined = ("avg_binary_om_accuracy_hp", "avg_pairwise_kendall_tau", "panas_item_mae", "four_branch_managing_mae")
    assert [found[name] for name in undefined] == [None] * 4
    # A total that is missing is taken as 40, which the sum of ten ratings misses by so much.
    assert found["panas_mae"] == pytest.approx(float(SUMS @ np.abs(40 - TOTALS)), abs=1e-12)


@pytest.mark.parametrize("tagged", [["upset"] * 5, ["upset", "proud", "scared", "unheard"], ["unheard"]])
def test_tags_that_repeat_or_are_no_words_of_the_codebook(
    make_conversation: MakeConversation, make_run: MakeRun, tagged: list[str]
) -> None:
    turn = {"turnNumber": 1, "moodShiftTags": [{"emotion": word, "intensity": None} for word in tagged]}
    [found] = chance_by_unit(score([make_conversation(turns=[turn])], [make_run()])).values()
    assert found["avg_emotion_va_score"] == pytest.approx(va_of_all_draws(tagged), abs=1e-12)


def test_no_value_of_kendalls_tau_where_random_answers_may_leave_it_undefined(
    make_conversation: MakeConversation, make_run: MakeRun
) -> None:
    # Two labels, but each beside an open one: A and B may both name none.
    pairs = [
        {"questionId": "general", "responseA": label, "responseB": None, "winner": "A"}
        for label in ("human", "original")
    ]
    turn = {"turnNumber": 1, "annotations": {"pairwiseComparisons": pairs}}
    scores = score([make_conversation(turns=[turn])], [make_run()])
    [found] = chance_by_unit(scores).values()
    assert found["avg_pairwise_accuracy"] == 0.5
    assert "avg_pairwise_kendall_tau" not in found
    assert "chance.avg_pairwise_kendall_tau" not in scores.units.columns
    # A mean over units without one of them would be of other data: the column goes for all.
    both = score(
        [make_conversation(turns=[turn]), make_conversation(conversationId="c2")],
        [make_run(), make_run(conversationId="c2")],
    )
    assert "chance.avg_pairwise_kendall_tau" not in both.units.columns


def test_they_are_means_over_units() -> None:
    assert {CATALOG[name].statistic for name in EXPECTED} == {"mean"}


@pytest.mark.parametrize("protocol", slow_after(1, BY_PROTOCOL))
def test_random_answers_score_it_on_average(make_conversation: MakeConversation, protocol: str) -> None:
    # 4 seeds times 40 conversations, and 150 times the worked example, which is odd in many ways. 37 means and two
    # protocols: beyond 4.5 standard errors lies one in 150,000, and many move together.
    demo = load("demo")
    drawn = [score(demo, chance(demo, seed=seed), protocol=protocol) for seed in range(4)]
    copies = [make_conversation(conversationId=f"c{place}") for place in range(150)]
    for scored in (drawn, [score(copies, chance(copies, seed=1), protocol=protocol)]):
        rows = [
            (row, known[row["unit"]])
            for scores in scored
            for known in [chance_by_unit(scores)]
            for row in scores.values.to_dicts()
        ]
        for name in EXPECTED:
            off = [row[name] - known[name] for row, known in rows if row[name] is not None]
            assert len(off) == sum(known[name] is not None for _, known in rows), name
            if off:
                assert abs(fmean(off)) <= 4.5 * _error(off) + 1e-12, name


def _error(values: Sequence[float]) -> float:
    """Return the standard error of the mean."""
    return stdev(values) / sqrt(len(values))
