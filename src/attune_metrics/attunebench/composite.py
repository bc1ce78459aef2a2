"""Composites: how the metrics of one conversation make one score.

Scoring protocols
-----------------
The two places where AttuneBench's documentation and its released scorer differ.

Everything else is the same under every protocol. Report the name of the protocol with every number.

Conventions
-----------
Arguments are averages over the turns of a conversation, or post-conversation scores. nan in, nan out: a composite of
something undefined is undefined, without a further warning. Rounding is Python's `round` (half to even, on the binary
value).

Metrics
-------
- Composite score: ``100 (0.24 emotion_blend + 0.49 evaluation_quality + 0.27 holistic)`` [1]_.
- Equal-weight composite: ``100 mean(turn_level_average, conversation_wide_average)`` [1]_.

References
----------
.. [1] AttuneBench, arXiv:2605.21739, composite score.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from math import inf, isnan
from types import MappingProxyType
from typing import Literal

from attune_metrics.attunebench import COMPOSITE, composite_entry
from attune_metrics.metric import Metric, MetricInputError, check_number


def check_parts(low: float = 0, **values: object) -> None:
    """Raise unless every value is a number from `low` to 1, or nan."""
    for name, value in values.items():
        # Averages may pass 1 by a rounding error.
        if not (isinstance(value, float) and (low <= value <= 1 + 1e-9 or isnan(value))):
            check_number(value, name, low, 1)


def emotion_blend(f1: float, va_score: float) -> float:
    """Emotion pillar: ``0.5 F1 + 0.5 VA``, from `emotion_f1` and `emotion_va_score`.

    Parameters
    ----------
    f1, va_score : float
        0 to 1.

    Returns
    -------
    float
        0 to 1, higher is better; nan if a value is.

    Raises
    ------
    MetricInputError
        If a value is outside its range. So do all functions here.

    Examples
    --------
    >>> emotion_blend(0.5, 0.25)
    0.375
    """
    check_parts(f1=f1, va_score=va_score)
    return 0.5 * f1 + 0.5 * va_score


def binary_mean(om_accuracy: float, human_accuracy: float) -> float:
    """Mean accuracy on the two sets of questions: ``(om_accuracy + human_accuracy) / 2``.

    Parameters
    ----------
    om_accuracy, human_accuracy : float
        `binary_accuracy` on the OM and on the HP questions (observer phrasing), 0 to 1.

    Returns
    -------
    float
        0 to 1, higher is better; nan if a value is.

    Examples
    --------
    >>> binary_mean(0.75, 0.25)
    0.5
    """
    check_parts(om_accuracy=om_accuracy, human_accuracy=human_accuracy)
    return (om_accuracy + human_accuracy) / 2


def evaluation_quality(*, om_accuracy: float, human_accuracy: float, pairwise_accuracy: float) -> float:
    """Pillar of evaluation: ``0.5 binary_mean + 0.5 pairwise_accuracy``.

    Parameters
    ----------
    om_accuracy, human_accuracy : float
        As for `binary_mean`, 0 to 1.
    pairwise_accuracy : float
        0 to 1.

    Returns
    -------
    float
        0 to 1, higher is better; nan if a value is.

    Examples
    --------
    >>> evaluation_quality(om_accuracy=0.75, human_accuracy=0.25, pairwise_accuracy=1.0)
    0.75
    """
    check_parts(pairwise_accuracy=pairwise_accuracy)
    return 0.5 * binary_mean(om_accuracy, human_accuracy) + 0.5 * pairwise_accuracy


def panas01(panas_baseline_adjusted: float | None) -> float:
    """PANAS skill moved to 0-1: ``(skill + 1) / 2``; None or nan, where nothing changed, is 0.5.

    Parameters
    ----------
    panas_baseline_adjusted : float or None
        -1 to 1.

    Returns
    -------
    float
        0 to 1, higher is better.

    Examples
    --------
    >>> panas01(0.5), panas01(None)
    (0.75, 0.5)
    """
    if panas_baseline_adjusted is None:
        return 0.5
    check_parts(low=-1, panas_baseline_adjusted=panas_baseline_adjusted)
    return 0.5 if isnan(panas_baseline_adjusted) else (panas_baseline_adjusted + 1) / 2


def conversation_wide(q1: float, q2: float, q3: float, follow_up: float) -> float:
    """Mean of the four answers about the whole conversation: ``(q1 + q2 + q3 + follow_up) / 4``.

    Parameters
    ----------
    q1, q2, q3, follow_up : float
        `q1_looking_for_score`, `q2_emotion_clarity_match`, `q3_model_fit_match`, `q3_follow_up_score`, 0 to 1.

    Returns
    -------
    float
        0 to 1, higher is better; nan if a value is.

    Examples
    --------
    >>> conversation_wide(0.5, 1.0, 0.0, 0.5)
    0.5
    """
    check_parts(q1=q1, q2=q2, q3=q3, follow_up=follow_up)
    return (q1 + q2 + q3 + follow_up) / 4


def holistic(*, panas01: float, conversation_wide: float, four_branch_normalized: float) -> float:
    """Holistic pillar: ``0.4 panas01 + 0.3 conversation_wide + 0.3 four_branch_normalized``.

    Parameters
    ----------
    panas01, conversation_wide, four_branch_normalized : float
        0 to 1.

    Returns
    -------
    float
        0 to 1, higher is better; nan if a value is.

    Examples
    --------
    >>> holistic(panas01=0.5, conversation_wide=1.0, four_branch_normalized=0.0)
    0.5
    """
    check_parts(panas01=panas01, conversation_wide=conversation_wide, four_branch_normalized=four_branch_normalized)
    return 0.4 * panas01 + 0.3 * conversation_wide + 0.3 * four_branch_normalized


def composite_score(*, emotion_blend: float, evaluation_quality: float, holistic: float) -> float:
    """Agreement with the annotations, 24% by emotions, 49% by ratings of replies, 27% by the whole conversation.

    This is ``round(100 (0.24 emotion_blend + 0.49 evaluation_quality + 0.27 holistic), 2)``.

    Parameters
    ----------
    emotion_blend, evaluation_quality, holistic : float
        The three pillars, 0 to 1.

    Returns
    -------
    float
        0 to 100, higher is better; nan if a value is.

    Examples
    --------
    >>> composite_score(emotion_blend=0.25, evaluation_quality=0.75, holistic=0.5)
    56.25
    """
    check_parts(emotion_blend=emotion_blend, evaluation_quality=evaluation_quality, holistic=holistic)
    return round(100 * (0.24 * emotion_blend + 0.49 * evaluation_quality + 0.27 * holistic), 2)


def turn_level_average(*, emotion_blend: float, binary_mean: float, pairwise_accuracy: float) -> float:
    """Mean of the turn-level scores: ``(emotion_blend + binary_mean + pairwise_accuracy) / 3``.

    Parameters
    ----------
    emotion_blend, binary_mean, pairwise_accuracy : float
        0 to 1.

    Returns
    -------
    float
        0 to 1, higher is better; nan if a value is.

    Examples
    --------
    >>> turn_level_average(emotion_blend=0.25, binary_mean=0.5, pairwise_accuracy=0.75)
    0.5
    """
    check_parts(emotion_blend=emotion_blend, binary_mean=binary_mean, pairwise_accuracy=pairwise_accuracy)
    return (emotion_blend + binary_mean + pairwise_accuracy) / 3


def conversation_wide_average(*, panas01: float, conversation_wide: float, four_branch_normalized: float) -> float:
    """Mean of the post-conversation scores: ``(panas01 + conversation_wide + four_branch_normalized) / 3``.

    Parameters
    ----------
    panas01, conversation_wide, four_branch_normalized : float
        0 to 1.

    Returns
    -------
    float
        0 to 1, higher is better; nan if a value is.

    Examples
    --------
    >>> conversation_wide_average(panas01=0.5, conversation_wide=0.25, four_branch_normalized=0.75)
    0.5
    """
    check_parts(panas01=panas01, conversation_wide=conversation_wide, four_branch_normalized=four_branch_normalized)
    return (panas01 + conversation_wide + four_branch_normalized) / 3


def equal_weight_composite(*, turn_level_average: float, conversation_wide_average: float) -> float:
    """Composite of equal parts: ``round(100 (turn_level_average + conversation_wide_average) / 2, 2)``.

    Parameters
    ----------
    turn_level_average, conversation_wide_average : float
        0 to 1.

    Returns
    -------
    float
        0 to 100, higher is better; nan if a value is.

    Examples
    --------
    >>> equal_weight_composite(turn_level_average=0.5, conversation_wide_average=0.25)
    37.5
    """
    check_parts(turn_level_average=turn_level_average, conversation_wide_average=conversation_wide_average)
    return round(100 * ((turn_level_average + conversation_wide_average) / 2), 2)


_entry = partial(composite_entry, family="composite")

METRICS: tuple[Metric, ...] = (
    _entry(
        "composite_score",
        "Composite",
        "composite",
        high=100,
        digits=2,
        group=COMPOSITE,
        function=composite_score,
        nullable=True,
    ),
    _entry(
        "composite_z",
        "Composite z-score",
        low=-inf,
        high=inf,
        level="model",
        statistic="z_score",
        terms=("composite_score",),
        nullable=True,
        source="z-score of the mean composite_score among models, with the standard deviation of n - 1",
    ),
    _entry("emotion_blend", "Emotion blend", "emotion", group=COMPOSITE, function=emotion_blend),
    _entry("evaluation_quality", "Evaluation quality", "evaluation", group=COMPOSITE, function=evaluation_quality),
    _entry("holistic", "Holistic", "holistic", group=COMPOSITE, function=holistic, nullable=True),
    _entry(
        "equal_weight_composite",
        "Equal-weight composite",
        "equal",
        high=100,
        digits=2,
        group=COMPOSITE,
        function=equal_weight_composite,
        nullable=True,
    ),
    _entry("binary_mean", "Binary", function=binary_mean),
    _entry("panas01", "PANAS 0-1", function=panas01),
    _entry("conversation_wide", "Conversation-wide", function=conversation_wide),
    _entry("turn_level_average", "Turn-level average", function=turn_level_average),
    _entry("conversation_wide_average", "Conversation-wide average", function=conversation_wide_average, nullable=True),
)
"""The catalogue's entries of this module."""


@dataclass(frozen=True, slots=True)
class Protocol:
    """A named set of scoring choices.

    Attributes
    ----------
    name : str
        The name printed on reports.
    goals : {"jaccard", "f1"}
        How two sets of goals (Q1) are compared: intersection over union, or set F1.
    panas_totals : {"items", "recorded"}
        Which PANAS total counts: the sum of the ten items when all are there, or the recorded total if there is one.
    """

    name: str
    goals: Literal["jaccard", "f1"]
    panas_totals: Literal["items", "recorded"]


DOCUMENTED = Protocol("documented", goals="jaccard", panas_totals="items")
RELEASED = Protocol("released", goals="f1", panas_totals="recorded")

PROTOCOLS: Mapping[str, Protocol] = MappingProxyType({p.name: p for p in (DOCUMENTED, RELEASED)})


def get_protocol(name_or_protocol: str | Protocol) -> Protocol:
    """Return the protocol of that name; a `Protocol` is returned as it is.

    Raises
    ------
    MetricInputError
        If no protocol has that name.

    Examples
    --------
    >>> get_protocol("released").goals
    'f1'
    """
    if isinstance(name_or_protocol, Protocol):
        return name_or_protocol
    if name_or_protocol not in PROTOCOLS:
        raise MetricInputError(f"unknown protocol {name_or_protocol!r}; known: {', '.join(PROTOCOLS)}")
    return PROTOCOLS[name_or_protocol]
