"""Phrasing: the same questions asked as an observer, and asked as the participant (HP-facing).

Conventions
-----------
Both functions compare one score of the two phrasings: the mean HP accuracy of a conversation, or the MCC of its pooled
counts. nan in, nan out, without a further warning.

Metrics
-------
- Gap: the difference of the two scores [1]_.
- Alignment: their ratio [1]_.

References
----------
.. [1] AttuneBench, arXiv:2605.21739, composite score.
"""

from functools import partial
from math import inf

from attune_metrics.attunebench._entries import TURN_BY_TURN, composite_entry
from attune_metrics.attunebench.composite import check_parts
from attune_metrics.metric import Metric

__all__ = ["METRICS", "hp_perspective_alignment", "hp_perspective_gap"]


def hp_perspective_gap(*, observer: float, hp: float) -> float:
    """Phrasing gap: ``observer - hp``, how much better the model is when not addressed as the participant.

    Parameters
    ----------
    observer, hp : float
        The same score (mean HP accuracy, or pooled MCC) on the two phrasings of the questions, -1 to 1.

    Returns
    -------
    float
        -1 to 1 for accuracy, -2 to 2 for MCC; 0 is no gap, neither direction is better; nan if a value is.

    Examples
    --------
    >>> hp_perspective_gap(observer=0.75, hp=0.5)
    0.25
    """
    check_parts(low=-1, observer=observer, hp=hp)
    return observer - hp


def hp_perspective_alignment(*, observer: float, hp: float) -> float:
    """Phrasing alignment: ``hp / observer``; 0 if `observer` is not positive.

    Parameters
    ----------
    observer, hp : float
        The same score (mean HP accuracy, or pooled MCC) on the two phrasings of the questions, -1 to 1.

    Returns
    -------
    float
        1 is no difference, neither direction is better; unbounded. 0 if `observer` is 0 or less, otherwise nan if a
        value is nan.

    Examples
    --------
    >>> hp_perspective_alignment(observer=0.5, hp=0.25)
    0.5
    """
    check_parts(low=-1, observer=observer, hp=hp)
    return 0.0 if observer <= 0 else hp / observer


_entry = partial(
    composite_entry,
    higher_is_better=None,
    coverage=("binary_human", "binary_human_hp"),
    nullable=True,
    family="phrasing",
)

METRICS: tuple[Metric, ...] = (
    _entry(
        name="hp_perspective_gap",
        label="Phrasing gap",
        short="phrasing",
        low=-1,
        group=TURN_BY_TURN,
        function=hp_perspective_gap,
    ),
    _entry(name="hp_perspective_alignment", label="Phrasing alignment", high=inf, function=hp_perspective_alignment),
    _entry(name="hp_perspective_gap_mcc", label="Phrasing gap (MCC)", low=-2, high=2, function=hp_perspective_gap),
    _entry(
        name="hp_perspective_alignment_mcc",
        label="Phrasing alignment (MCC)",
        low=-inf,
        high=inf,
        function=hp_perspective_alignment,
    ),
)
"""The catalogue's entries of this module."""
