"""Every metric with range, direction and source, under the name it has in ``scores.json`` or ``results.jsonl``.

Tests, documentation and report labels are made from here. Breakdowns (`panas_item_errors`, `four_branch_per_branch`)
and building blocks (`token_jaccard`, `emotion_similarity`) are no metrics and are not listed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from math import inf
from types import MappingProxyType
from typing import Literal

from attune_metrics import curves, eibench
from attune_metrics.attunebench import binary, composite, emotion, holistic, pairwise, panas, response

__all__ = ["CATALOG", "Family", "Metric"]

Family = Literal["emotion", "binary", "pairwise", "response", "panas", "holistic", "composite", "trajectory"]
_TURN = "AttuneBench (arXiv:2605.21739), turn metrics"
_POST = "AttuneBench (arXiv:2605.21739), post-conversation metrics"
_SCORE = "AttuneBench (arXiv:2605.21739), conversation score"
_EPISODE = "EIBench (arXiv:2606.15532), released evaluation"
_CURVE = "Defined in attune_metrics.eibench"


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """What there is to know of a metric without running it.

    Attributes
    ----------
    name : str
        Its key in result files; a part of a ``*_metrics`` object is named ``binary_om_f1`` and so on.
    label : str
        For reports.
    short : str
        For narrow columns; the label where it is empty.
    low, high : float
        Range, infinite where unbounded.
    higher_is_better : bool or None
        None where neither direction is better.
    scale : float
        What reports multiply a value by; files hold the value as it is.
    digits : int
        Digits after the point that reports show, after scaling.
    statistic : str
        How the terms of units make the value of a model, a name in `attune_metrics.stats.statistics.STATISTICS`.
    terms : tuple of str
        The columns that the statistic takes; the metric's own name where there are none.
    coverage : tuple of str
        The tasks whose questions it is about; the lowest share of them that was answered stands beside it.
    group : str
        The heading under which reports list it; reports leave out a metric without one.
    function : callable, optional
        The checked function.
    symmetric : bool
        Whether reference and prediction can change places.
    nullable : bool
        Whether it can be undefined (nan; null in files).
    family : str
        The module that defines it.
    source : str
        Citation of the definition.
    """

    name: str
    label: str
    short: str = ""
    low: float = -inf
    high: float = inf
    higher_is_better: bool | None = True
    scale: float = 1
    digits: int = 3
    statistic: str = "mean"
    terms: tuple[str, ...] = ()
    coverage: tuple[str, ...] = ()
    group: str = ""
    function: Callable[..., float] | None = None
    symmetric: bool = False
    nullable: bool = False
    family: str = ""
    source: str = ""


def _score(
    family: Family, source: str, name: str, label: str, function: Callable[..., float], low: float = 0, high: float = 1,
    *, better: bool | None = True, symmetric: bool = False, nullable: bool = False,
) -> Metric:  # fmt: skip
    return Metric(
        name=name, label=label, function=function, low=low, high=high, higher_is_better=better, symmetric=symmetric,
        nullable=nullable, family=family, source=source,
    )  # fmt: skip


_emotion = partial(_score, "emotion", _TURN)
_pairwise = partial(_score, "pairwise", _TURN)
_response = partial(_score, "response", _TURN)
_panas = partial(_score, "panas", _POST, nullable=True)
_holistic = partial(_score, "holistic", _POST)
_composite = partial(_score, "composite", _SCORE)
_episode = partial(_score, "trajectory", _EPISODE)
_curve = partial(_score, "trajectory", _CURVE)


def _binary(target: str, label: str, suffix: str, accuracy: Callable[..., float]) -> list[Metric]:
    add = partial(_score, "binary", _TURN)
    return [
        add(f"binary_{target}_accuracy{suffix}", f"{label} accuracy", accuracy),
        add(f"binary_{target}_precision{suffix}", f"{label} precision", binary.binary_precision),
        add(f"binary_{target}_recall{suffix}", f"{label} recall", binary.binary_recall),
        add(f"binary_{target}_f1{suffix}", f"{label} F1", binary.binary_f1),
        add(f"binary_{target}_mcc{suffix}", f"{label} MCC", binary.binary_mcc, -1),
    ]


_accuracy_hp = partial(binary.binary_accuracy, without_judgements=0.0)

_METRICS = [
    _emotion("emotion_hit_rate", "Emotion hit rate", emotion.emotion_hit_rate),
    _emotion("emotion_precision", "Emotion precision", emotion.emotion_precision),
    _emotion("emotion_recall", "Emotion recall", emotion.emotion_recall),
    _emotion("emotion_f1", "Emotion F1", emotion.emotion_f1, symmetric=True),
    _emotion("emotion_f1_intensity", "Emotion F1 with intensity", emotion.emotion_f1_intensity, symmetric=True),
    _emotion("emotion_intensity_mae", "Emotion intensity MAE", emotion.emotion_intensity_mae, high=6, better=False,
             symmetric=True, nullable=True),
    _emotion("emotion_va_score", "Emotion VA", emotion.emotion_va_score, symmetric=True),
    _emotion("emotion_va_intensity_score", "Emotion VA with intensity", emotion.emotion_va_intensity_score,
             symmetric=True),
    *_binary("om", "OM", "", binary.binary_accuracy),
    *_binary("human", "HP", "", binary.binary_accuracy),
    *_binary("om", "OM (HP-facing)", "_hp", _accuracy_hp),
    *_binary("human", "HP (HP-facing)", "_hp", _accuracy_hp),
    _pairwise("pairwise_accuracy", "Pairwise accuracy", pairwise.pairwise_accuracy),
    _pairwise("pairwise_kendall_tau", "Pairwise Kendall tau", pairwise.pairwise_kendall_tau, -1, nullable=True),
    _response("response_similarity", "Response similarity", response.response_similarity),
    _response("response_similarity_original", "Similarity to original", response.response_similarity_original),
    _response("response_similarity_llm_improved", "Similarity to improved", response.response_similarity_llm_improved),
    _response("response_similarity_human_edited", "Similarity to edited", response.response_similarity_human_edited),
    _response("response_preference_alignment", "Preference alignment", response.response_preference_alignment),
    _response("draft_judge_score", "Draft judge score", response.draft_judge_score, nullable=True),
    _response("draft_binary_alignment", "Draft binary alignment", response.draft_binary_alignment, nullable=True),
    _panas("panas_mae", "PANAS MAE", panas.panas_mae, high=60, better=False, symmetric=True),
    _panas("panas_normalized", "PANAS normalized", panas.panas_normalized, symmetric=True),
    _panas("panas_pa_mae", "Positive affect error", panas.panas_pa_mae, high=60, better=False, symmetric=True),
    _panas("panas_na_mae", "Negative affect error", panas.panas_na_mae, high=60, better=False, symmetric=True),
    _panas("panas_pa_normalized", "Positive affect normalized", panas.panas_pa_normalized, symmetric=True),
    _panas("panas_na_normalized", "Negative affect normalized", panas.panas_na_normalized, symmetric=True),
    _panas("panas_baseline_adjusted", "PANAS baseline-adjusted", panas.panas_baseline_adjusted, -1),
    _panas("panas_pa_baseline_adjusted", "Positive affect baseline-adjusted", panas.panas_pa_baseline_adjusted, -1),
    _panas("panas_na_baseline_adjusted", "Negative affect baseline-adjusted", panas.panas_na_baseline_adjusted, -1),
    _panas("panas_item_mae", "PANAS item MAE", panas.panas_item_mae, high=6, better=False, symmetric=True),
    _panas("panas_item_normalized", "PANAS items normalized", panas.panas_item_normalized, symmetric=True),
    _panas("panas_item_baseline_adjusted", "PANAS items baseline-adjusted", panas.panas_item_baseline_adjusted, -1),
    _holistic("q1_looking_for_score", "Q1 looking for", holistic.q1_looking_for_score, symmetric=True),
    _holistic("q2_emotion_clarity_match", "Q2 emotion clarity", holistic.q2_emotion_clarity_match, symmetric=True),
    _holistic("q3_model_fit_match", "Q3 model fit", holistic.q3_model_fit_match, symmetric=True),
    _holistic("q3_model_fit_ordinal_distance", "Q3 ordinal distance", holistic.q3_model_fit_ordinal_distance, high=3,
              better=False, symmetric=True),
    _holistic("q3_follow_up_score", "Q3 what felt off", holistic.q3_follow_up_score, symmetric=True),
    _holistic("four_branch_mae", "Four-branch MAE", holistic.four_branch_mae, high=6, better=False),
    _holistic("four_branch_normalized", "Four-branch normalized", holistic.four_branch_normalized),
    _composite("emotion_blend", "Emotion blend", composite.emotion_blend),
    _composite("binary_mean", "Binary", composite.binary_mean),
    _composite("evaluation_quality", "Evaluation quality", composite.evaluation_quality),
    _composite("panas01", "PANAS 0-1", composite.panas01),
    _composite("conversation_wide", "Conversation-wide", composite.conversation_wide),
    _composite("holistic", "Holistic", composite.holistic, nullable=True),
    _composite("composite_score", "Composite", composite.composite_score, high=100, nullable=True),
    _composite("turn_level_average", "Turn-level average", composite.turn_level_average),
    _composite("conversation_wide_average", "Conversation-wide average", composite.conversation_wide_average,
               nullable=True),
    _composite("equal_weight_composite", "Equal-weight composite", composite.equal_weight_composite, high=100,
               nullable=True),
    _composite("hp_perspective_gap", "Phrasing gap", composite.hp_perspective_gap, -1, better=None, nullable=True),
    _composite("hp_perspective_alignment", "Phrasing alignment", composite.hp_perspective_alignment, high=inf,
               better=None, nullable=True),
    _composite("hp_perspective_gap_mcc", "Phrasing gap (MCC)", composite.hp_perspective_gap, -2, 2, better=None,
               nullable=True),
    _composite("hp_perspective_alignment_mcc", "Phrasing alignment (MCC)", composite.hp_perspective_alignment, -inf,
               inf, better=None, nullable=True),
    _episode("anger_score", "Anger score", partial(eibench.anchor_score, axis="anger"), -1),
    _episode("trust_score", "Trust score", partial(eibench.anchor_score, axis="trust"), -1),
    _episode("reward", "Reward", eibench.anchor_reward, -1),
    _curve("emotion_curve_area", "Area under the emotion curve", curves.emotion_curve_area, high=100,
           nullable=True),
    _curve("largest_drop", "Largest drop", curves.largest_drop, high=100, better=False),
    _curve("recovery_time", "Recovery time", curves.recovery_time, 1, inf, better=False, nullable=True),
    _curve("turns_to_target", "Turns to target", curves.turns_to_target, high=inf, better=False),
]  # fmt: skip

CATALOG: Mapping[str, Metric] = MappingProxyType({metric.name: metric for metric in _METRICS})
