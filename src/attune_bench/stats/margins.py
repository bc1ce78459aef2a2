"""Margins: the smallest difference of interest of each metric that is compared."""

from collections.abc import Mapping, Sequence

from attune_bench.score_table import ScoreTable
from attune_bench.stats.options import Margin
from attune_data.text import meant
from attune_metrics.metric import Metric, MetricInputError
from attune_metrics.stats.equivalence import check_margin

__all__ = ["check_below_range", "margins_of"]


def margins_of(table: ScoreTable, margin: Margin | None, names: Sequence[str]) -> dict[str, float]:
    """Return the margin of each metric, in the unit of its values; nothing where none is given.

    Parameters
    ----------
    table : ScoreTable
        The scores.
    margin : float, mapping of str to float, "declared" or None
        Of all metrics, by the name of the metric, or `attune_metrics.metric.Metric.smallest_difference`.
    names : sequence of str
        The metrics that are compared.

    Raises
    ------
    MetricInputError
        Where a margin is not a finite number above 0, is as large as the range of its metric, or is lacking, or a
        metric is named that is not compared.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> scores = score(load("demo"), load_runs("demo"))
    >>> margins_of(scores, 2, ["composite_score"])
    {'composite_score': 2.0}
    """
    if margin is None:
        return {}
    if isinstance(margin, Mapping):
        given = {table.metric(name).name: value for name, value in margin.items()}
        for name in given:
            if name not in names:
                raise MetricInputError(f"margin of {name!r}, which is not compared; {meant(name, names)}")
    found = {}
    for name in names:
        metric = table.metric(name)
        if isinstance(margin, Mapping):
            value: object = given.get(name)
        else:
            value = metric.smallest_difference if margin == "declared" else margin
        if value is None:
            declares = "" if isinstance(margin, Mapping) else ", and its entry declares no smallest difference"
            raise MetricInputError(f"no margin of {name!r}{declares}; give the smallest difference that matters")
        found[name] = check_margin(value)
        check_below_range("margin", found[name], metric)
    return found


def check_below_range(what: str, size: float, metric: Metric) -> None:
    """Raise where a margin or another difference is as large as the range of its metric.

    Examples
    --------
    >>> check_below_range("margin", 2, Metric(name="points", label="Points", low=0, high=100))
    """
    if size >= metric.high - metric.low:
        raise MetricInputError(
            f"{what} {size:g} of {metric.name!r} is as large as its range, {metric.low:g} to {metric.high:g}; it is in "
            "the unit of the values as files of scores have them"
        )
