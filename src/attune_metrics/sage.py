"""SAGE: how a simulated person feels at the end of a conversation, and what its board reports of a model.

Conventions
-----------
A simulated person has one emotion value from 0 to 100, which each reply moves. A conversation counts with its last
value: a success ended at 100, a failure below 10 [1]_.

References
----------
.. [1] SAGE, arXiv:2505.02847, and its published results.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import partial
from math import fsum, inf, nan

from attune_metrics.metric import Metric, check_list, check_number, warn_undefined
from attune_metrics.stats.bootstrap import Interval
from attune_metrics.stats.cluster_means import wilson_interval


@dataclass(frozen=True, slots=True)
class SageScores:
    """Summary of a model's conversations.

    Attributes
    ----------
    n : int
        Conversations.
    score : float
        Mean final emotion value, 0 to 100.
    successes, failures : int
        Conversations that ended at 100, and below 10.
    success, failure : Interval
        Their shares of all, with Wilson intervals.
    """

    n: int
    score: float
    successes: int
    failures: int
    success: Interval
    failure: Interval


def sage_success(final: float) -> float:
    """Whether a conversation ended as a success: 1 if ``final >= 100``, else 0.

    Parameters
    ----------
    final : float
        Final emotion value, 0 to 100.

    Returns
    -------
    float
        0 or 1, higher is better; the mean over conversations is the share of successes.

    Raises
    ------
    MetricInputError
        If the value is not a number from 0 to 100.

    Examples
    --------
    >>> sage_success(100), sage_success(99)
    (1.0, 0.0)
    """
    return float(check_number(final, "final", 0, 100) >= 100)


def sage_failure(final: float) -> float:
    """Whether a conversation ended as a failure: 1 if ``final < 10``, else 0.

    Takes and raises what `sage_success` does.

    Returns
    -------
    float
        0 or 1, lower is better; the mean over conversations is the share of failures.

    Examples
    --------
    >>> sage_failure(9), sage_failure(10)
    (1.0, 0.0)
    """
    return float(check_number(final, "final", 0, 100) < 10)


def sage_scores(finals: Iterable[float], *, level: float = 0.95) -> SageScores:
    """Summarise final emotion values as SAGE does, with intervals of both shares.

    Parameters
    ----------
    finals : iterable of float
        Final value of each conversation, 0 to 100.
    level : float
        Confidence level, between 0 and 1.

    Returns
    -------
    SageScores
        Without rounding; `round_half_up` gives the board's digits. Without conversations the score is nan, with
        `UndefinedMetricWarning`, and the shares have no interval.

    Raises
    ------
    MetricInputError
        If a value is not a number from 0 to 100 or the level is out of range.

    Examples
    --------
    >>> scores = sage_scores([100, 55, 5, 100])
    >>> scores.score, scores.successes, scores.failures, round(scores.success.low, 4)
    (65.0, 2, 1, 0.15)
    """
    values = [check_number(value, "final", 0, 100) for value in check_list(finals, "finals", "final values")]
    n, successes, failures = len(values), int(sum(map(sage_success, values))), int(sum(map(sage_failure, values)))
    success, failure = (wilson_interval(count, n, level=level) for count in (successes, failures))
    if not values:
        warn_undefined("sage_scores", "there are no conversations")
    return SageScores(n, fsum(values) / n if values else nan, successes, failures, success, failure)


def round_half_up(value: float) -> float:
    """Round to one decimal as SAGE's board does: ``28.95`` is shown as ``29.0``.

    A tie is seen in the shortest decimal form of the number and goes away from zero; `round` would see that the float
    28.95 lies below its tie.

    Parameters
    ----------
    value : float
        A finite number.

    Returns
    -------
    float
        The rounded number.

    Raises
    ------
    MetricInputError
        If the number is not finite.

    Examples
    --------
    >>> round_half_up(28.95), round(28.95, 1)
    (29.0, 28.9)
    """
    exact = Decimal(repr(check_number(value, "value", -inf, inf)))
    return float(exact.quantize(Decimal("0.1"), ROUND_HALF_UP, Context(prec=400)))  # as many digits as any float has


_entry = partial(Metric, low=0, high=1, family="sage", source="SAGE (arXiv:2505.02847), published results")

METRICS: tuple[Metric, ...] = (
    _entry(
        "emo_point",
        "Score",
        high=100,
        digits=1,
        source="Final emotion value of a conversation, as SAGE (arXiv:2505.02847) publishes it",
    ),
    _entry("success", "Success", scale=100, digits=1, statistic="share", function=sage_success),
    _entry("failure", "Failure", higher_is_better=False, scale=100, digits=1, statistic="share", function=sage_failure),
)
"""The catalogue's entries of this module."""
