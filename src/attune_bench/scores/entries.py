"""Catalogue entries of metrics as plain values, as files and callers give them."""

from collections.abc import Mapping
from math import isinf
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from attune_data.text import did_you_mean
from attune_metrics.metric import Metric, MetricInputError


class _Entry(BaseModel):
    """The fields of `attune_metrics.catalog.Metric` that a file can give."""

    model_config: ClassVar[ConfigDict] = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)

    label: str = Field("", pattern=r"\S")
    short: str = ""
    low: float = 0
    high: float = 0
    higher_is_better: bool | Literal["neither"] | None = True  # TOML has no null
    scale: float = Field(1, gt=0)
    digits: int = Field(3, ge=0, le=15)
    statistic: str = "mean"
    terms: list[str] = []
    coverage: list[str] = []
    depends_on: list[str] = []
    group: str = ""
    source: str = ""
    smallest_difference: float | None = None
    smallest_difference_source: str = ""


def metric_entries(given: Mapping[str, Any], *, place: str = "metrics") -> dict[str, Metric]:
    """Return catalogue entries of plain values, as a file or a caller gives them.

    Parameters
    ----------
    given : mapping of str to Metric or mapping
        By the name of the metric: an entry, or its fields, which are all optional: ``label, short, low, high,
        higher_is_better, scale, digits, statistic, terms, coverage, depends_on, group, source, smallest_difference,
        smallest_difference_source``.
    place : str
        Where they stand, for errors.

    Returns
    -------
    dict of str to Metric
        A metric without a range is unbounded; without a label it is called by its name.

    Raises
    ------
    MetricInputError
        Where a field is unknown, of another type or out of range, or the metric's own range is empty.

    Examples
    --------
    >>> metric_entries({"wer": {"label": "Word error rate", "low": 0, "higher_is_better": False}})["wer"].high
    inf
    """
    return {
        name: entry if isinstance(entry, Metric) else _metric(name, entry, f"{place}.{name}")
        for name, entry in given.items()
    }


def _metric(name: str, entry: Any, place: str) -> Metric:
    if not isinstance(entry, Mapping):
        raise MetricInputError(f"{place}: {entry!r:.60} is no table with label, low, high, higher_is_better")
    try:
        checked = _Entry.model_validate(dict(entry))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = str(first["loc"][0])
        known = key in _Entry.model_fields
        why = (
            f"{first['input']!r:.60}: {first['msg']}"
            if known
            else f"no such field; {did_you_mean(key, _Entry.model_fields)}"
        )
        raise MetricInputError(f"{place}.{key}: {why}") from None
    fields: dict[str, Any] = {"name": name, "label": name}
    for key in checked.model_fields_set:
        value = getattr(checked, key)
        fields[key] = tuple(value) if isinstance(value, list) else None if value == "neither" else value
    try:
        metric = Metric(**fields)
    except ValueError as error:
        raise MetricInputError(f"{place}: {error}") from None
    if not metric.low < metric.high:
        raise MetricInputError(f"{place}: the range from {metric.low:g} to {metric.high:g} is empty")
    return metric


def entry_fields(metric: Metric) -> dict[str, Any]:
    """Return the fields of an entry that a file can give, without those at their default.

    Examples
    --------
    >>> entry_fields(Metric(name="wer", label="Word error rate", low=0, higher_is_better=False))
    {'label': 'Word error rate', 'low': 0, 'higher_is_better': False}
    """
    default = Metric(name="", label="")
    fields = {name: getattr(metric, name) for name in _Entry.model_fields}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in fields.items()
        if value != getattr(default, name) and not (isinstance(value, float) and isinf(value))
    }
