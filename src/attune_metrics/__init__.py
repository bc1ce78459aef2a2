"""Metrics of emotional intelligence: plain Python in, numbers out.

This module has every metric of the catalogue that is a function, `CATALOG` itself, which lists all metrics with range,
direction and source, and the errors. Functions take the reference first and the prediction second, check their input,
and return nan with `UndefinedMetricWarning` where a value is undefined.

Everything else is imported from its module:

- `attunebench`, a module for each task: `emotion`, `questions`, `preferences`, `panas`, `holistic` and `composite`.
  `eibench`, `sage`, `emobench`, `eqbench`, `eqbench3` and `spiralbench` serve those benchmarks, `curves` describes an
  emotion over a conversation, `turn_credit` divides a reward among turns in training.
- `stats`: `bootstrap` (intervals by resampling), `comparison` (two models on the same units), `equivalence` (two models
  that hardly differ), `cluster_means` (shares, and means that count each cluster once), `power` (how much data a
  difference needs), `agreement` of raters, `judges` (against people), `ranking` of models, `repeats` of an evaluation,
  `sums` (standard errors).
- `signature` writes the line to quote with a score; `testing` checks a metric of your own.

The functions named ``prepare_*``, ``count_*`` and ``score_*`` do not check their input. They serve a harness that
scores many predictions against one validated reference.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attune_metrics.attunebench.composite import (
        binary_mean,
        composite_score,
        conversation_wide,
        conversation_wide_average,
        emotion_blend,
        equal_weight_composite,
        evaluation_quality,
        holistic,
        panas01,
        turn_level_average,
    )
    from attune_metrics.attunebench.emotion import (
        emotion_f1,
        emotion_f1_intensity,
        emotion_hit_rate,
        emotion_intensity_mae,
        emotion_precision,
        emotion_recall,
        emotion_va_intensity_score,
        emotion_va_score,
    )
    from attune_metrics.attunebench.holistic import (
        four_branch_mae,
        four_branch_normalized,
        q1_looking_for_score,
        q2_emotion_clarity_match,
        q3_follow_up_score,
        q3_model_fit_match,
        q3_model_fit_ordinal_distance,
    )
    from attune_metrics.attunebench.panas import (
        panas_baseline_adjusted,
        panas_item_baseline_adjusted,
        panas_item_mae,
        panas_item_normalized,
        panas_mae,
        panas_na_baseline_adjusted,
        panas_na_mae,
        panas_na_normalized,
        panas_normalized,
        panas_pa_baseline_adjusted,
        panas_pa_mae,
        panas_pa_normalized,
    )
    from attune_metrics.attunebench.preferences import (
        draft_binary_alignment,
        draft_judge_score,
        pairwise_accuracy,
        pairwise_kendall_tau,
        response_preference_alignment,
        response_similarity,
        response_similarity_human_edited,
        response_similarity_llm_improved,
        response_similarity_original,
    )
    from attune_metrics.attunebench.questions import (
        binary_accuracy,
        binary_f1,
        binary_mcc,
        binary_precision,
        binary_recall,
        hp_perspective_alignment,
        hp_perspective_gap,
    )
    from attune_metrics.catalog import CATALOG
    from attune_metrics.curves import emotion_curve_area, largest_drop, recovery_time, turns_to_target
    from attune_metrics.eibench import anchor_reward, anchor_score
    from attune_metrics.eqbench import eqbench_score
    from attune_metrics.metric import Metric, MetricInputError, UndefinedMetricWarning, UnknownEmotionWarning
    from attune_metrics.sage import sage_failure, sage_success

__all__ = [
    "CATALOG",
    "Metric",
    "MetricInputError",
    "UndefinedMetricWarning",
    "UnknownEmotionWarning",
    "anchor_reward",
    "anchor_score",
    "binary_accuracy",
    "binary_f1",
    "binary_mcc",
    "binary_mean",
    "binary_precision",
    "binary_recall",
    "composite_score",
    "conversation_wide",
    "conversation_wide_average",
    "draft_binary_alignment",
    "draft_judge_score",
    "emotion_blend",
    "emotion_curve_area",
    "emotion_f1",
    "emotion_f1_intensity",
    "emotion_hit_rate",
    "emotion_intensity_mae",
    "emotion_precision",
    "emotion_recall",
    "emotion_va_intensity_score",
    "emotion_va_score",
    "eqbench_score",
    "equal_weight_composite",
    "evaluation_quality",
    "four_branch_mae",
    "four_branch_normalized",
    "holistic",
    "hp_perspective_alignment",
    "hp_perspective_gap",
    "largest_drop",
    "pairwise_accuracy",
    "pairwise_kendall_tau",
    "panas01",
    "panas_baseline_adjusted",
    "panas_item_baseline_adjusted",
    "panas_item_mae",
    "panas_item_normalized",
    "panas_mae",
    "panas_na_baseline_adjusted",
    "panas_na_mae",
    "panas_na_normalized",
    "panas_normalized",
    "panas_pa_baseline_adjusted",
    "panas_pa_mae",
    "panas_pa_normalized",
    "q1_looking_for_score",
    "q2_emotion_clarity_match",
    "q3_follow_up_score",
    "q3_model_fit_match",
    "q3_model_fit_ordinal_distance",
    "recovery_time",
    "response_preference_alignment",
    "response_similarity",
    "response_similarity_human_edited",
    "response_similarity_llm_improved",
    "response_similarity_original",
    "sage_failure",
    "sage_success",
    "turn_level_average",
    "turns_to_target",
]

if not TYPE_CHECKING:
    # In this order a name is found before modules that load numpy.
    _MODULES = (
        "metric",
        "attunebench.emotion",
        "attunebench.questions",
        "attunebench.preferences",
        "attunebench.panas",
        "attunebench.holistic",
        "attunebench.composite",
        "curves",
        "sage",
        "eibench",
        "eqbench",
        "catalog",
    )

    def __getattr__(name):
        if name in __all__:
            for place in _MODULES:
                module = import_module(f"attune_metrics.{place}")
                if hasattr(module, name):
                    globals()[name] = value = getattr(module, name)
                    return value
        raise AttributeError(f"module 'attune_metrics' has no attribute {name!r}")

    def __dir__():
        return __all__
