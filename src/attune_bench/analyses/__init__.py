"""Analyses of any scores, a function and a table each."""

from collections.abc import Mapping
from types import MappingProxyType

from attune_bench.analyses.models import condition_differences, metric_correlation, rank_shifts, win_rates
from attune_bench.analyses.repeats import repeat_ranks, repeat_variances, repeats_worth, unit_difficulty, variance_split
from attune_bench.scores.columns import Analysis, FrameColumn, columns, text, whole
from attune_bench.stats.rank import ratings

__all__ = [
    "ANALYSES",
    "condition_differences",
    "metric_correlation",
    "rank_shifts",
    "ratings",
    "repeat_ranks",
    "repeat_variances",
    "repeats_worth",
    "unit_difficulty",
    "variance_split",
    "win_rates",
]


ANALYSES: Mapping[str, Analysis] = MappingProxyType(
    {
        "metric_correlation": Analysis(
            function=metric_correlation,
            title="Correlation of metrics across models",
            note="rho: Spearman's, of the models' values. The models are fixed.",
            rows_need="scores of at least six models in one condition, and two metrics",
            estimate="rho",
            signed=("rho",),
            row="a condition and pair of metrics",
            columns=columns(
                "condition metric_a metric_b rho low high models clusters reason",
                metric_a=text("The first metric."),
                metric_b=text("The second metric."),
                rho=FrameColumn("Spearman's correlation of the models' values.", low=-1, high=1),
                clusters=whole("How many clusters the units of these models come from."),
            ),
        ),
        "condition_differences": Analysis(
            function=condition_differences,
            title="Differences between conditions",
            note="Difference: the condition minus the reference, on the units of both.",
            exchanged="the models",
            rows_need="scores of a model under at least two conditions",
            estimate="difference",
            signed=("difference",),
            row="a model, condition, reference and metric",
            columns=columns(
                "model condition reference metric value value_reference difference low high p p_min p_holm significant "
                "n clusters mde reason",
                reference=text("The condition that it is compared with."),
                value="The value under the condition, on the units of both.",
                value_reference="The value under the reference, on the units of both.",
                difference="The condition minus the reference.",
                low="Lower end of the interval of the difference.",
                high="Upper end of the interval of the difference.",
            ),
        ),
        "rank_shifts": Analysis(
            function=rank_shifts,
            title="Shifts of rank between conditions",
            note="Shift: places won against the reference, among the models that have both conditions.",
            rows_need="scores of at least two models under the same two conditions",
            estimate="shift",
            signed=("shift",),
            row="a metric, condition, reference and model",
            columns=columns(
                "metric reference condition model rank_reference rank shift low high models clusters reason",
                reference=text("The condition that it is compared with."),
                rank_reference=FrameColumn("Rank under the reference, of the models that have both conditions.", low=1),
                rank=FrameColumn("Rank under the condition, of the models that have both conditions.", low=1),
                shift="Places won against the reference: its rank minus the rank under the condition.",
                low="Lower end of the interval of the shift.",
                high="Upper end of the interval of the shift.",
            ),
        ),
        "win_rates": Analysis(
            function=win_rates,
            title="Win rates",
            note="Rate: the share of units on which A is better than B, ties half.",
            rows_need="scores of at least two models in one condition",
            estimate="rate",
            row="a condition, metric and ordered pair of models",
            columns=columns(
                "condition metric model_a model_b rate low high n clusters reason",
                rate=FrameColumn("Share of the units on which A is better than B, ties half.", low=0, high=1),
                n=whole("How many units both have."),
            ),
        ),
        "ratings": Analysis(
            function=ratings,
            title="Ratings",
            note="Strength: Bradley-Terry, in log odds; 0 is the mean of the group. On each unit the better of two "
            "models wins, a tie is half a win for each. Only models of one group are compared.",
            rows_need="scores of at least two models in one condition",
            estimate="strength",
            signed=("strength",),
            row="a condition, metric and model",
            columns=columns(
                "condition metric model strength low high wins ties losses group rank n clusters reason",
                strength="Bradley-Terry strength in log odds; 0 is the mean of the group.",
                wins=whole("How many comparisons the model won."),
                ties=whole("How many were ties."),
                losses=whole("How many it lost."),
                group=whole("Number of the group: only models of one group are compared, by chains of wins both ways."),
                rank=FrameColumn("Rank in the group, 1 is the best.", low=1),
                n=whole("How many units have a comparison."),
            ),
        ),
        "variance_split": Analysis(
            function=variance_split,
            title="Variance between units and between models",
            note="Method of moments on the units that every model has; models are fixed. The residual holds both error "
            "and what one unit adds for one model only: they cannot be told apart. A small variance may "
            "come out below 0.",
            estimate="variance",
            row="a condition, metric and source of variance",
            columns=columns(
                "condition metric source variance low high share share_low share_high n models clusters reason",
                source=text("`unit`, `model`, or `residual`: the rest, error included."),
                variance="The variance, in the squared unit of the metric; a small one may come out below 0.",
                share=FrameColumn("Its share of the sum of the variances.", low=0, high=1),
                share_low=FrameColumn("Lower end of the interval of the share.", low=0, high=1),
                share_high=FrameColumn("Upper end of the interval of the share.", low=0, high=1),
                n=whole("How many units every model has."),
            ),
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
            columns=columns(
                "condition metric model source variance low high n repeats clusters reason",
                source=text("`unit`, `repeat`, or `interaction`: what one unit adds in one repeat only, and error."),
                variance="The variance, in the squared unit of the metric; a small one may come out below 0.",
                n=whole("How many units have a value in every repeat."),
            ),
        ),
        "repeat_ranks": Analysis(
            function=repeat_ranks,
            title="Ranks over repeats",
            note="Best and worst: the ranks in any combination of one repeat of each model. Same: the share of "
            "combinations in which the rank is that of the means.",
            rows_need="scores of at least two models in one condition, one of them asked several times",
            row="a condition, metric and model",
            columns=columns(
                "condition metric model value rank best worst same repeats n",
                value="Mean over the repeats.",
                rank=FrameColumn("Rank of that mean, 1 is the best.", low=1),
                best=whole("Best rank in any combination of one repeat of each model.", 1),
                worst=whole("Worst rank in any combination.", 1),
                same=FrameColumn("Share of the combinations in which the rank is that of the means.", low=0, high=1),
                n=whole("How many units every model has in every repeat."),
            ),
        ),
        "repeats_worth": Analysis(
            function=repeats_worth,
            title="What repeats are worth",
            note="Standard error of a model's mean with so many repeats of each unit, and with one repeat of so many "
            "times as many units, which takes as many calls.",
            rows_need="scores of a model that was asked several times",
            by=("model",),
            heads={"error": "error by repeats", "error_of_units": "error by units"},
            row="a condition, metric, model and number of repeats",
            columns=columns(
                "condition metric model repeats error error_of_units",
                repeats=whole("How many repeats, as planned.", 1),
                error=FrameColumn("Standard error of the mean with so many repeats of each unit.", low=0),
                error_of_units=FrameColumn(
                    "Standard error of the mean with one repeat of so many times as many units.", low=0
                ),
            ),
        ),
        "unit_difficulty": Analysis(
            function=unit_difficulty,
            title="Difficulty of units",
            note="Mean and standard deviation over the models.",
            row="a condition, metric and unit",
            columns=columns(
                "condition metric unit mean sd models",
                mean="Mean over the models.",
                sd=FrameColumn("Standard deviation over the models (n - 1).", low=0),
            ),
        ),
    }
)
"""The analyses of any scores by name; a benchmark has its own beside them."""
