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
        ),
        "turn_drift": Analysis(
            function=turn_drift,
            title="Turn drift",
            note="Means over conversations of at least three turns, by third; drift: late minus early.",
            exchanged="the models of a mode",
            metrics=DRIFTING,
            estimate="drift",
            signed=("drift",),
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
        ),
        "metric_correlation": replace(GENERAL["metric_correlation"], metrics=IN_COMPOSITE),
        "condition_differences": replace(GENERAL["condition_differences"], metrics=IN_COMPOSITE),
        "win_rates": replace(GENERAL["win_rates"], metrics=("avg_pairwise_accuracy",)),
        "ratings": replace(GENERAL["ratings"], metrics=("avg_pairwise_accuracy",)),
        "variance_split": replace(GENERAL["variance_split"], metrics=IN_COMPOSITE),
    }
)
"""By name; an entry of the name of an analysis of any scores takes its place."""
