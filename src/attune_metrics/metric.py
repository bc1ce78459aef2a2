"""Metrics: the entry that says what one is, the checks of its input, and its errors and warnings."""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from inspect import getdoc, isfunction
from math import inf, isfinite, isnan, nan
from numbers import Integral, Real
from typing import Literal


class MetricInputError(ValueError):
    """The input breaks the metric's contract; the message names the value and guesses the mistake."""


class UndefinedMetricWarning(UserWarning):
    """The metric has no value for this input and returned nan."""


class UnknownEmotionWarning(UserWarning):
    """A word was predicted that is no emotion of the benchmark nor one that the participant named: it can only lose."""


class UnreliableIntervalWarning(UserWarning):
    """The interval was computed, but of such data it covers the truth far less often than its level says."""


class SkewedScoresWarning(UnreliableIntervalWarning):
    """A few clusters far from the rest decide a number, so that its interval and its test err more often than they say.

    Parameters
    ----------
    message : str
        The warning in words.
    of : str
        What these clusters decide, such as ``means``.
    metrics : sequence of str
        The names of the metrics of these numbers.
    consequence : str
        How often intervals and tests err.
    """

    def __init__(self, message: str, *, of: str = "", metrics: Sequence[str] = (), consequence: str = "") -> None:
        super().__init__(message)
        self.of = of
        self.metrics: tuple[str, ...] = tuple(metrics)
        self.consequence = consequence


def check_number(value: object, name: str, low: float, high: float) -> float:
    """Return `value` if it is a finite number from `low` to `high`."""
    try:
        number = nan if isinstance(value, bool) or not isinstance(value, Real) else float(value)
    except OverflowError:
        raise MetricInputError(f"{name} has more digits than any float") from None
    if not isfinite(number):
        guess = "; convert text to a number first" if isinstance(value, str) else ""
        raise MetricInputError(f"{name} {value!r} is not a finite number{guess}")
    if not low <= number <= high:
        raise MetricInputError(f"{name} {value} is outside {low:g}-{high:g}{_guess_scale(number, low, high)}")
    return number


def check_positive(value: object, name: str, hint: str) -> float:
    """Return `value` if it is a finite number above 0; `hint` ends the error: what to give."""
    number = check_number(value, name, -inf, inf)
    if number <= 0:
        raise MetricInputError(f"{name} {value} is not above 0; {hint}")
    return number


def _guess_scale(number: float, low: float, high: float) -> str:
    if number < 0:
        return "; is this a difference?"
    for top in (1, 10, 100):
        if number <= top and (low, high) != (0, top):
            return f"; is this a 0-{top} scale?"
    return ""


def check_whole(value: object, name: str, low: int, high: float = inf) -> int:
    """Return `value` if it is a whole number from `low` to `high`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < low or int(value) > high:
        to = f" to {high:,}" if high < inf else ""
        # Python writes no number of more than 4,300 digits.
        text = "of hundreds of digits" if isinstance(value, int) and value.bit_length() > 1_000 else repr(value)
        raise MetricInputError(f"{name} {text:.60} is not a whole number from {low}{to}")
    return int(value)


def check_level(value: object) -> float:
    """Return the confidence level `value` if it is between 0 and 1."""
    level = check_number(value, "level", 0, 1)
    if level in {0, 1}:
        raise MetricInputError(f"level {value} is not between 0 and 1; 0.95 is usual")
    return level


def check_mapping(value: object, name: str, content: str) -> Mapping[object, object]:
    """Return `value` if it is a mapping; `content` says what of, for the message."""
    if not isinstance(value, Mapping):
        raise MetricInputError(f"{name} is {_describe(value)}; expected a mapping {content}")
    return value


def check_list(value: object, name: str, content: str) -> list[object]:
    """Return the items of `value` if it is a collection of several things, not one text or a mapping."""
    # A numpy array without an axis calls itself iterable.
    single = isinstance(value, str | bytes | Mapping) or getattr(value, "ndim", 1) == 0
    if single or not isinstance(value, Iterable):
        raise MetricInputError(f"{name} is {_describe(value)}; expected a list of {content}")
    return list(value)


def check_text(value: object, name: str) -> str | None:
    """Return `value` if it is a text or None."""
    if value is not None and not isinstance(value, str):
        raise MetricInputError(f"{name} is {_describe(value)}; expected a text or None")
    return value


def _describe(value: object) -> str:
    return "None" if value is None else f"{value!r:.60} ({type(value).__name__})"


def warn_undefined(what: str, why: str, *, stacklevel: int = 3) -> None:
    """Warn that `what` is nan; the default `stacklevel` points at the caller of the metric."""
    warnings.warn(f"undefined: {what}; {why}", UndefinedMetricWarning, stacklevel=stacklevel)


def defined(value: float, what: str, why: str) -> float:
    """Return `value`, with a warning if it is nan."""
    if isnan(value):
        warn_undefined(what, why, stacklevel=4)
    return value


def first_paragraph(function: object) -> str:
    """Return the first paragraph of a function's docstring in one line; nothing of anything else than a function."""
    return " ".join((getdoc(function) or "").partition("\n\n")[0].split()) if isfunction(function) else ""


PER_UNIT = ("mean", "share")
"""Names of the statistics for which each unit has a value of its own."""

PSEUDO_VALUES = "pseudo_values"
"""Name of the statistic of an estimate from all units together: the mean of the pseudo-values of the units."""

OF_GROUPS = ("mean_of_means", "mean_of_clipped_means")
"""Names of the statistics of two terms for each group."""

OF_UNITS = (*PER_UNIT, PSEUDO_VALUES, *OF_GROUPS, "accuracy", "precision", "recall", "f1", "mcc")
"""Names of all statistics that follow from sums over units, the keys of `attune_metrics.stats.bootstrap.STATISTICS`."""


@dataclass(frozen=True, slots=True)
class Metric:
    """What can be known of a metric without running it.

    Attributes
    ----------
    name : str
        Its key in result files.
    label : str
        For reports.
    short : str
        For narrow columns; the label where it is empty.
    low, high : float
        Range, infinite where unbounded.
    higher_is_better : bool or None
        None where neither direction is better.
    scale : float
        What reports multiply a value by; files keep the value as it is.
    digits : int
        Digits after the point that reports show, after scaling.
    level : {"turn", "unit", "model"}
        What has one value of it: a turn; a unit, that is what scores have a row for (a conversation, an episode, a
        question); or only a model with all its units.
    statistic : str
        How the terms of units make the value of a model, a name in `attune_metrics.stats.bootstrap.STATISTICS`; or
        ``z_score`` among models, which does not follow from sums over units.
    terms : tuple of str
        The columns that the statistic takes; empty where it takes one column, named as the metric.
    coverage : tuple of str
        The tasks with questions that the metric depends on; reports show the lowest share of answered questions.
    depends_on : tuple of str
        Settings of a run that change this metric and leave others alone, such as ``judges``.
    group : str
        The heading under which reports list it; reports leave out a metric without one.
    function : callable, optional
        The checked function; None where no function of one reference and one prediction gives the value, and
        `source` says where it comes from.
    symmetric : bool
        Whether reference and prediction can change places.
    nullable : bool
        Whether it can be undefined (nan; null in files).
    family : str
        The module that declares it.
    source : str
        Citation of the definition.
    smallest_difference : float or None
        The smallest difference between two models that matters, above 0, in the unit of the values; None where no
        source states one.
    smallest_difference_source : str
        Citation of that; empty where there is none.
    relative_to : str
        What each model is measured against where that differs from model to model, such as ``its neighbours on the
        board``: a value then says nothing of other models, so that the metric neither ranks nor compares models. Empty
        where all models are measured on one scale.

    Raises
    ------
    ValueError
        If a smallest difference is not finite and above 0, or is given without its source, or a source without it; if a
        metric that is relative has a better direction.

    Examples
    --------
    >>> metric = Metric(name="my_f1", label="My F1", low=0, high=1)
    >>> metric.higher_is_better, metric.statistic
    (True, 'mean')
    """

    name: str
    label: str
    short: str = ""
    _: KW_ONLY
    low: float = -inf
    high: float = inf
    higher_is_better: bool | None = True
    scale: float = 1
    digits: int = 3
    level: Literal["turn", "unit", "model"] = "unit"
    statistic: str = "mean"
    terms: tuple[str, ...] = ()
    coverage: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    group: str = ""
    function: Callable[..., float] | None = None
    symmetric: bool = False
    nullable: bool = False
    family: str = ""
    source: str = ""
    smallest_difference: float | None = None
    smallest_difference_source: str = ""
    relative_to: str = ""

    @property
    def sign(self) -> Literal[-1, 1]:
        """-1 where lower values are better, else 1: what a value is multiplied by for the greatest to be the best."""
        return -1 if self.higher_is_better is False else 1

    @property
    def own_scale(self) -> str:
        """Why values of two models are not on one scale, as a clause; empty where they are."""
        if not self.relative_to:
            return ""
        return f"{self.label} is relative to {self.relative_to}, so that values of two models are not on one scale"

    @property
    def meaning(self) -> str:
        """What the metric measures: the first paragraph of the docstring of `function`, without one `source`."""
        return (first_paragraph(self.function) or self.source).replace("`", "").rstrip(".")

    def __post_init__(self) -> None:
        stated = self.smallest_difference
        if stated is not None and not 0 < stated < inf:
            raise ValueError(f"{self.name}: smallest_difference {stated} is not a finite number above 0")
        if (stated is None) == bool(self.smallest_difference_source):
            raise ValueError(f"{self.name}: a smallest_difference and its source go together; give both or none")
        if self.relative_to and self.higher_is_better is not None:
            raise ValueError(f"{self.name}: relative_to {self.relative_to!r} needs higher_is_better = neither")


def mean_over_turns(
    metric: Metric,
    *,
    name: str | None = None,
    label: str | None = None,
    short: str = "",
    group: str = "",
    over: str = "the turns that have a value",
) -> Metric:
    """Return the entry of the mean of a turn metric over the turns of a unit.

    Parameters
    ----------
    metric : Metric
        The entry of the turn metric; the mean has its range, direction, scale, digits, coverage and settings.
    name, label : str, optional
        Of the mean; ``avg_`` and the metric's name, and the metric's label, where None.
    short, group : str
        Of the mean, for reports.
    over : str
        Which turns the mean is over, for `Metric.source`.

    Returns
    -------
    Metric
        An entry without a function, undefined where no turn has a value.

    Examples
    --------
    >>> mean = mean_over_turns(Metric(name="emotion_f1", label="Emotion F1", level="turn", high=1))
    >>> mean.name, mean.label, mean.level, mean.high
    ('avg_emotion_f1', 'Emotion F1', 'unit', 1)
    """
    return replace(
        metric,
        name=name or f"avg_{metric.name}",
        label=label or metric.label,
        short=short,
        level="unit",
        group=group,
        function=None,
        symmetric=False,
        nullable=True,
        source=f"Mean of {metric.name} over {over}; {metric.source}",
    )


def nan_to_none(value: float | None) -> float | None:
    """Return the value, None for nan.

    Examples
    --------
    >>> nan_to_none(0.5), nan_to_none(float("nan"))
    (0.5, None)
    """
    return None if value is None or isnan(value) else value
