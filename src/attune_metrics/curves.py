"""The shape of an emotion curve: its mean level, its largest drop, how fast it recovers and reaches a target.

Conventions
-----------
A curve is the state of a simulated person before the first reply and after each judged reply, 0 to 100, higher is
better (for anger, give ``100 - anger``); turns are its steps.
"""

from collections.abc import Sequence
from functools import partial
from itertools import accumulate
from math import fsum, inf, nan

from attune_metrics.metric import Metric, MetricInputError, check_list, check_number, warn_undefined


def _check_curve(curve: object) -> list[float]:
    values = [check_number(value, "state", 0, 100) for value in check_list(curve, "curve", "states")]
    if not values:
        raise MetricInputError("curve is empty; it starts with the state before the first reply")
    return values


def emotion_curve_area(curve: Sequence[float]) -> float:
    """Area under the curve, divided by its turns: ``sum (curve[t] + curve[t + 1]) / 2 / turns``.

    The curve is joined by straight lines, so this is its mean level; curves of unequal length compare.

    Parameters
    ----------
    curve : sequence of float
        State before the first reply and after each, 0 to 100, higher is better.

    Returns
    -------
    float
        0 to 100, higher is better; nan, with `UndefinedMetricWarning`, without a turn.

    Raises
    ------
    MetricInputError
        If the curve is empty or a state is not a number from 0 to 100.

    Examples
    --------
    >>> emotion_curve_area([40, 50, 80])
    55.0
    """
    values = _check_curve(curve)
    if len(values) == 1:
        warn_undefined("emotion_curve_area", "the curve has no turn")
        return nan
    return (fsum(values) - (values[0] + values[-1]) / 2) / (len(values) - 1)


def largest_drop(curve: Sequence[float]) -> float:
    """Deepest fall from a state to a later one: ``max over s <= t of curve[s] - curve[t]``.

    It may take several turns, with smaller rises between (the maximum drawdown). Takes and raises what
    `emotion_curve_area` does.

    Returns
    -------
    float
        0 to 100, lower is better; 0 for a curve that never falls.

    Examples
    --------
    >>> largest_drop([40, 50, 45, 48, 41, 60])
    9.0
    """
    values = _check_curve(curve)
    return values[_peak(values)] - values[_trough(values)]


def recovery_time(curve: Sequence[float]) -> float:
    """Count the turns from the bottom of the largest drop back: ``min r with curve[bottom + r] >= peak``.

    `peak` is the state that `largest_drop` counts from; of equal drops the first one counts. Takes and raises what
    `emotion_curve_area` does.

    Returns
    -------
    float
        From 1 turn, unbounded, lower is better; inf if the curve does not come back; nan, with
        `UndefinedMetricWarning`, if it never falls. Scores have no infinite value: their mean is over the curves that
        come back, and says nothing of the others. The median of all curves needs no such choice.

    Examples
    --------
    >>> recovery_time([40, 50, 45, 48, 41, 45, 55]), recovery_time([40, 30, 35])
    (2.0, inf)
    """
    values = _check_curve(curve)
    peak, bottom = values[_peak(values)], _trough(values)
    if peak == values[bottom]:
        warn_undefined("recovery_time", "the curve never falls")
        return nan
    return _first(values[bottom:], peak)


def turns_to_target(curve: Sequence[float], *, target: float) -> float:
    """Count the turns until the target is first reached: ``min t with curve[t] >= target``.

    Parameters
    ----------
    curve : sequence of float
        As for `emotion_curve_area`.
    target : float
        State that counts as success, 0 to 100.

    Returns
    -------
    float
        From 0 to unbounded, lower is better; inf if it is never reached. Scores have no infinite value: their mean is
        over the curves that reach the target, and says nothing of the others. The median of all needs no such choice.

    Raises
    ------
    MetricInputError
        As `emotion_curve_area`, and if the target is not a number from 0 to 100.

    Examples
    --------
    >>> turns_to_target([40, 50, 71, 65], target=70), turns_to_target([40, 50], target=70)
    (2.0, inf)
    """
    return _first(_check_curve(curve), check_number(target, "target", 0, 100))


def _trough(values: list[float]) -> int:
    """Return where the largest drop ends, the first of equal ones."""
    drops = [high - value for high, value in zip(accumulate(values, max), values, strict=True)]
    return drops.index(max(drops))


def _peak(values: list[float]) -> int:
    """Return where the largest drop starts."""
    before = values[: _trough(values) + 1]
    return before.index(max(before))


def _first(values: list[float], level: float) -> float:
    return next((float(turn) for turn, value in enumerate(values) if value >= level), inf)


_entry = partial(Metric, low=0, digits=1, family="curves", source="Defined in attune_metrics.curves")

METRICS: tuple[Metric, ...] = (
    _entry("emotion_curve_area", "Area under the emotion curve", high=100, function=emotion_curve_area, nullable=True),
    _entry("largest_drop", "Largest drop", high=100, higher_is_better=False, function=largest_drop),
    _entry("recovery_time", "Recovery time", low=1, higher_is_better=False, function=recovery_time, nullable=True),
    _entry("turns_to_target", "Turns to target", higher_is_better=False, function=turns_to_target),
)
"""The catalogue's entries of this module."""
