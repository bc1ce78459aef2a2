"""The analyses of the paper that are this benchmark's own, and its defaults for those of any scores."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from attune_bench.analyses import ANALYSES as GENERAL
from attune_bench.analyses.analysis import Analysis
from attune_bench.benchmarks.attunebench.analyses.drift import DRIFTING, turn_drift
from attune_bench.benchmarks.attunebench.analyses.gaps import branch_errors, perspective_gap, phrasing_gap
from attune_bench.benchmarks.attunebench.analyses.groups import diagnosis_groups
from attune_bench.benchmarks.attunebench.analyses.judges import JUDGED, judge_agreement, judge_ranks
from attune_bench.benchmarks.attunebench.analyses.questions import question_agreement
from attune_bench.benchmarks.attunebench.terms import IN_COMPOSITE
from attune_bench.glossary import FrameColumn, columns, text, whole

__all__ = [
    "ANALYSES",
    "branch_errors",
    "diagnosis_groups",
    "judge_agreement",
    "judge_ranks",
    "perspective_gap",
    "phrasing_gap",
    "question_agreement",
    "turn_drift",
]

ANALYSES: Mapping[str, Analysis] = MappingProxyType(
    {
        "perspective_gap": Analysis(
            function=perspective_gap,
            title="Perspective gap",
            note="Gap: accuracy on what the original model did (OM) minus on what the participant wanted (HP).",
            exchanged="the models of a mode",
            metrics=("avg_binary_om_accuracy", "avg_binary_human_accuracy"),
            takes_metrics=False,
            estimate="gap",
            signed=("gap",),
            row="a model and mode",
            columns=columns(
                "model condition om hp gap low high p p_min p_holm significant n clusters mde reason",
                om=FrameColumn("Accuracy on what the original model did.", low=0, high=1),
                hp=FrameColumn("Accuracy on what the participant wanted.", low=0, high=1),
                gap="The first accuracy minus the second.",
                low="Lower end of the interval of the gap.",
                high="Upper end of the interval of the gap.",
            ),
        ),
        "phrasing_gap": Analysis(
            function=phrasing_gap,
            title="Phrasing gap",
            note="Gap: accuracy on what the participant wanted, asked as an observer minus asked as the participant.",
            exchanged="the models of a mode",
            metrics=("avg_binary_human_accuracy", "avg_binary_human_accuracy_hp"),
            takes_metrics=False,
            estimate="gap",
            signed=("gap",),
            row="a model and mode",
            columns=columns(
                "model condition observer hp_facing gap low high p p_min p_holm significant n clusters mde reason",
                observer=FrameColumn("Accuracy where the question is asked as of an observer.", low=0, high=1),
                hp_facing=FrameColumn("Accuracy where it is asked as of the participant.", low=0, high=1),
                gap="The first accuracy minus the second.",
                low="Lower end of the interval of the gap.",
                high="Upper end of the interval of the gap.",
            ),
        ),
        "turn_drift": Analysis(
            function=turn_drift,
            title="Turn drift",
            note="Means over conversations of at least three turns, by third; drift: late minus early.",
            exchanged="the models of a mode",
            metrics=DRIFTING,
            estimate="drift",
            signed=("drift",),
            row="a model, mode and metric",
            columns=columns(
                "model condition metric early middle late drift low high p p_min p_holm significant n "
                "clusters mde reason",
                early="Mean over the first third of the turns.",
                middle="Mean over the middle third.",
                late="Mean over the last third.",
                drift="Late minus early.",
                low="Lower end of the interval of the drift.",
                high="Upper end of the interval of the drift.",
                n=whole("How many conversations have a value both early and late."),
            ),
        ),
        "diagnosis_groups": Analysis(
            function=diagnosis_groups,
            title="Diagnosis groups",
            note="Difference: the group minus the conversations of participants without a diagnosis, unpaired. Groups "
            "overlap: a participant can have several diagnoses, and any holds all. Holm: p corrected for "
            "the groups. few: fewer than 20 participants. too few: fewer than 5, no interval.",
            metrics=IN_COMPOSITE,
            needs=("data",),
            rows_need="conversations of participants with a diagnosis",
            estimate="difference",
            signed=("difference",),
            by=("model",),
            heads={"value_none": "none"},
            row="a group, metric, model and mode",
            columns=columns(
                "group n clusters metric model condition value value_none difference low high p p_min p_holm "
                "significant mark reason",
                group=text("Group of diagnoses; a participant can be in several."),
                value_none="The value of participants without a diagnosis.",
                difference="The group minus the participants without a diagnosis, unpaired.",
                low="Lower end of the interval of the difference.",
                high="Upper end of the interval of the difference.",
                p=FrameColumn("p-value of the difference, by resampling participants of both sides.", low=0, high=1),
            ),
        ),
        "question_agreement": Analysis(
            function=question_agreement,
            title="Agreement by question",
            note="Agreement: the share of answers that are the participant's, a missing one being a no; coverage: the "
            "share that is not missing.",
            metrics=(
                "pooled_binary_om_metrics.accuracy",
                "pooled_binary_human_metrics.accuracy",
                "pooled_binary_om_metrics_hp.accuracy",
                "pooled_binary_human_metrics_hp.accuracy",
            ),
            takes_metrics=False,
            needs=("data", "results"),
            rows_need="binary questions that participants answered",
            estimate="agreement",
            by=("task",),
            row="a task, question, model and mode",
            columns=columns(
                "task question model condition agreement low high answers n clusters coverage reason",
                task=text("What is predicted, and as whose."),
                question=text("Question of the codebook, such as B7."),
                agreement=FrameColumn(
                    "Share of the answers that are the participant's; a missing one counts as no.", low=0, high=1
                ),
                answers=whole("How many turns the participant answered yes or no."),
                coverage=FrameColumn("Share of these turns that have a prediction.", low=0, high=1),
            ),
        ),
        "judge_agreement": Analysis(
            function=judge_agreement,
            title="Agreement of judges",
            note="Krippendorff's alpha: of ratings at interval level, of answers nominal; 1 is perfect agreement, 0 is "
            "chance. Shift: mean rating of B minus that of A, by which the mean rating moves where B takes the place "
            "of A. Judged: drafts, or answers, that two judges gave.",
            metrics=(JUDGED,),
            takes_metrics=False,
            needs=("results",),
            rows_need="runs that record what each of several judges said",
            estimate="alpha",
            signed=("shift",),
            by=("rated",),
            heads={"judge_a": "A", "judge_b": "B"},
            row="a mode, what is rated, and a pair of judges",
            columns=columns(
                "condition rated judge_a judge_b alpha low high shift judged n clusters reason",
                rated=text("A dimension of the ratings, or `binary answers`."),
                judge_a=text("The first judge; `all` where it is of more than two together."),
                judge_b=text("The second judge; empty where it is of all."),
                alpha=FrameColumn("Krippendorff's alpha: 1 is perfect agreement, 0 is chance.", high=1),
                shift="Mean rating of the second judge minus that of the first, on what both rated.",
                judged=whole("How many drafts, or answers, at least two judges gave."),
                n=whole("How many conversations these are from."),
            ),
        ),
        "judge_ranks": Analysis(
            function=judge_ranks,
            title="Ranks by judge",
            note="Draft judge score by one judge's ratings alone, or by all, as scored, and the rank that it gives. "
            "Where ranks differ between judges by more than their intervals, the order of models rests on the judge.",
            metrics=(JUDGED,),
            takes_metrics=False,
            needs=("results",),
            rows_need="runs that record what each judge said",
            estimate="rank",
            by=("judge",),
            row="a judge, model and mode",
            columns=columns(
                "judge model condition value rank low high n clusters reason",
                judge=text("The judge; `all` as scored."),
                value="Draft judge score by this judge's ratings alone.",
                low=FrameColumn("Best rank of the interval.", low=1),
                high=FrameColumn("Worst rank of the interval.", low=1),
            ),
        ),
        "branch_errors": Analysis(
            function=branch_errors,
            title="Errors by branch",
            note="MAE on the scale of 1 to 7; lower is better.",
            metrics=tuple(
                f"four_branch_{branch}_mae" for branch in ("perceiving", "facilitating", "understanding", "managing")
            ),
            takes_metrics=False,
            estimate="mae",
            row="a model, mode and branch",
            columns=columns(
                "model condition branch mae low high n clusters reason",
                branch=text("Branch of emotional intelligence."),
                mae=FrameColumn("Mean absolute error on the scale of 1 to 7; lower is better.", low=0, high=6),
            ),
        ),
        "metric_correlation": replace(GENERAL["metric_correlation"], metrics=IN_COMPOSITE),
        "condition_differences": replace(GENERAL["condition_differences"], metrics=IN_COMPOSITE),
        "win_rates": replace(GENERAL["win_rates"], metrics=("avg_pairwise_accuracy",)),
        "ratings": replace(GENERAL["ratings"], metrics=("avg_pairwise_accuracy",)),
        "variance_split": replace(GENERAL["variance_split"], metrics=IN_COMPOSITE),
    }
)
"""By name; an entry of the name of an analysis of any scores takes its place."""
