"""What a metric declares of itself; `attune_metrics.catalog` joins the entries of all modules."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import Literal

__all__ = ["Metric", "mean_over_turns"]


@dataclass(frozen=True, slots=True, kw_only=True)
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
        How the terms of units make the value of a model, a name in `attune_metrics.stats.statistics.STATISTICS`; or
        ``z_score`` among models, which does not follow from sums over units.
    terms : tuple of str
        The columns that the statistic takes; empty where it takes one column, named as the metric.
    coverage : tuple of str
        The tasks whose questions it depends on; the lowest share of them that was answered is reported with it.
    rests_on : tuple of str
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

    Raises
    ------
    ValueError
        If a smallest difference is not finite and above 0, or is given without its source, or a source without it.

    Examples
    --------
    >>> metric = Metric(name="my_f1", label="My F1", low=0, high=1)
    >>> metric.higher_is_better, metric.statistic
    (True, 'mean')
    """

    name: str
    label: str
    short: str = ""
    low: float = -inf
    high: float = inf
    higher_is_better: bool | None = True
    scale: float = 1
    digits: int = 3
    level: Literal["turn", "unit", "model"] = "unit"
    statistic: str = "mean"
    terms: tuple[str, ...] = ()
    coverage: tuple[str, ...] = ()
    rests_on: tuple[str, ...] = ()
    group: str = ""
    function: Callable[..., float] | None = None
    symmetric: bool = False
    nullable: bool = False
    family: str = ""
    source: str = ""
    smallest_difference: float | None = None
    smallest_difference_source: str = ""

    @property
    def sign(self) -> Literal[-1, 1]:
        """-1 where lower values are better, else 1: what a value is multiplied by for the greatest to be the best."""
        return -1 if self.higher_is_better is False else 1

    def __post_init__(self) -> None:
        stated = self.smallest_difference
        if stated is not None and not 0 < stated < inf:
            raise ValueError(f"{self.name}: smallest_difference {stated} is not a finite number above 0")
        if (stated is None) == bool(self.smallest_difference_source):
            raise ValueError(f"{self.name}: a smallest_difference and its source go together; give both or none")


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
