"""Analyses of any scores, a function and a table each."""

from collections.abc import Mapping
from types import MappingProxyType

from attune_bench.analyses.cost import COST, COST_FRONT, cost, cost_front
from attune_bench.analyses.models import (
    CONDITION_DIFFERENCES,
    RANK_SHIFTS,
    WIN_RATES,
    condition_differences,
    rank_shifts,
    win_rates,
)
from attune_bench.analyses.repeats import (
    REPEAT_RANKS,
    REPEAT_VARIANCES,
    REPEATS_WORTH,
    UNIT_DIFFICULTY,
    repeat_ranks,
    repeat_variances,
    repeats_worth,
    unit_difficulty,
)
from attune_bench.analyses.separation import SEPARATION, advice, separation
from attune_bench.analyses.skills import SKILLS, skills, skills_shown
from attune_bench.scores.columns import Analysis
from attune_bench.stats.rank import RATINGS, ratings

__all__ = [
    "ANALYSES",
    "condition_differences",
    "cost",
    "cost_front",
    "rank_shifts",
    "ratings",
    "repeat_ranks",
    "repeat_variances",
    "repeats_worth",
    "separation",
    "skills",
    "unit_difficulty",
    "win_rates",
]


ANALYSES: Mapping[str, Analysis] = MappingProxyType(
    {
        "separation": Analysis(
            function=separation,
            title="Separation of models",
            note="Reliability: the share of the variance between the models' means that other units would show again; "
            "below 0 where noise alone would make more, its interval from 0. Differ: the share of pairs of models that "
            "differ (Holm). Shares of the variance of one score: between models, between units, the rest. Units "
            "needed: for a reliability of 0.9. Detectable: the smallest difference that a comparison finds, as a share "
            "of the range of the means.",
            rows_need="scores of at least two models in one condition",
            estimate="reliability",
            by_metric=False,
            by_formula=True,
            finding=advice,
            row="a condition and metric",
            columns=SEPARATION,
        ),
        "skills": Analysis(
            function=skills,
            title="Correlation of metrics without noise",
            note="Corrected: the correlation of the models' means without the noise of both metrics, 1 where both "
            "order the models alike; its interval takes models and units as samples. Observed: with the noise. Within: "
            "over the units of a model.",
            rows_need="scores of at least six models in one condition, and two metrics",
            example="docs/separation.md makes a table of eight models to try it on",
            estimate="corrected",
            by_formula=True,
            finding=skills_shown,
            row="a condition and pair of metrics",
            columns=SKILLS,
        ),
        "condition_differences": Analysis(
            function=condition_differences,
            title="Differences between conditions",
            note="Difference: the condition minus the reference, on the units of both.",
            exchanged="the models",
            rows_need="scores of a model under at least two conditions",
            estimate="difference",
            row="a model, condition, reference and metric",
            columns=CONDITION_DIFFERENCES,
        ),
        "rank_shifts": Analysis(
            function=rank_shifts,
            title="Shifts of rank between conditions",
            note="Shift: places won against the reference, among the models that have both conditions.",
            rows_need="scores of at least two models under the same two conditions",
            estimate="shift",
            row="a metric, condition, reference and model",
            columns=RANK_SHIFTS,
        ),
        "win_rates": Analysis(
            function=win_rates,
            title="Win rates",
            note="Rate: the share of units on which A is better than B, ties half.",
            rows_need="scores of at least two models in one condition",
            estimate="rate",
            row="a condition, metric and ordered pair of models",
            columns=WIN_RATES,
        ),
        "ratings": Analysis(
            function=ratings,
            title="Ratings",
            note="Strength: Bradley-Terry, in log odds; 0 is the mean of the models. On each unit the better of two "
            "models wins, a tie is half a win for each. Where chains of wins do not connect all models "
            "both ways, models form groups, each with a mean and ranks of its own.",
            rows_need="scores of at least two models in one condition",
            estimate="strength",
            row="a condition, metric and model",
            columns=RATINGS,
        ),
        "repeat_variances": Analysis(
            function=repeat_variances,
            title="Variance between units and between repeats",
            note="Of each model. Interaction: what one unit adds in one repeat only, and error. The interval of "
            "repeats supposes that what they add is normally distributed. A small variance may come out below 0.",
            rows_need="scores of a model that was asked several times",
            estimate="variance",
            by=("model",),
            row="a condition, metric, model and source of variance",
            columns=REPEAT_VARIANCES,
        ),
        "repeat_ranks": Analysis(
            function=repeat_ranks,
            title="Ranks over repeats",
            note="Best and worst: the ranks in any combination of one repeat of each model. Same: the share of "
            "combinations that give the same rank as the means.",
            rows_need="scores of at least two models in one condition, one of them asked several times",
            row="a condition, metric and model",
            columns=REPEAT_RANKS,
        ),
        "repeats_worth": Analysis(
            function=repeats_worth,
            title="What repeats are worth",
            note="Standard error of a model's mean with so many repeats of each unit, and with one repeat of so many "
            "times as many units, which takes as many calls.",
            rows_need="scores of a model that was asked several times",
            by=("model",),
            row="a condition, metric, model and number of repeats",
            columns=REPEATS_WORTH,
        ),
        "unit_difficulty": Analysis(
            function=unit_difficulty,
            title="Difficulty of units",
            note="Mean and standard deviation over the models.",
            row="a condition, metric and unit",
            columns=UNIT_DIFFICULTY,
        ),
        "cost": Analysis(
            function=cost,
            title="Calls, tokens, cost and time",
            note="Sums over the results, each repeat counted; further attempts count as calls. Cost is in US dollars. "
            "A sum is empty where one result does not record the number.",
            takes_metrics=False,
            needs=("results",),
            rows_need="results that record what they cost or how long they took",
            row="a condition, model, role and kind of call",
            columns=COST,
        ),
        "cost_front": Analysis(
            function=cost_front,
            title="Score and cost",
            note="Cost: US dollars for the model's own calls of 1,000 units, without judges and probes. Front: whether "
            "no other model has a better or equal score at a lower or equal cost; open where that depends on costs "
            "that are not known. Per dollar: the score of a unit divided by its cost, also of a model below random "
            "answers. Share: the resamples in which the model is on the front of the models of a known "
            "cost.",
            needs=("results",),
            rows_need="scores of the metric, and results of a model that record their cost",
            estimate="value",
            row="a condition, metric and model",
            columns=COST_FRONT,
        ),
    }
)
"""The analyses of any scores by name; a benchmark has its own beside them."""
