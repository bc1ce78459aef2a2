"""The value that every analysis takes: scores of models on units, their metrics, settings and fingerprint.

Conventions
-----------
A unit is what has one value of a metric for a model: a conversation, a scenario, a question. Units that are not
independent, such as the conversations of one participant, share a cluster. A condition is a way in which a model was
asked; most benchmarks have none. What a metric's value is made of are its terms: one for a mean, four for a score of
pooled counts; a unit without a value is null in all of them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isinf
from operator import index
from typing import Any, ClassVar, Literal, Self, SupportsIndex, TypeVar, overload

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import from_json, to_json

from attune_bench.scores.parts import CHANCE, KEYS, REPEAT, UNIT_KEYS, Grouped, Provenance, ScoreLists, text_of
from attune_data.record import canonical
from attune_data.text import did_you_mean, plural
from attune_metrics.metric import OF_UNITS, PER_UNIT, Metric, MetricInputError


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
    relative_to: str = ""


def metric_entries(given: Mapping[str, Any], *, place: str = "metrics") -> dict[str, Metric]:
    """Return catalogue entries of plain values, as a file or a caller gives them.

    Parameters
    ----------
    given : mapping of str to Metric or mapping
        By the name of the metric: an entry, or its fields, which are all optional: ``label, short, low, high,
        higher_is_better, scale, digits, statistic, terms, coverage, depends_on, group, source, smallest_difference,
        smallest_difference_source, relative_to``.
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
        why = f"{first['input']!r:.60}: {first['msg']}"
        if key not in _Entry.model_fields:
            why = f"no such field; {did_you_mean(key, _Entry.model_fields)}"
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


class JsonColumn(Sequence[Mapping[str, Any]]):
    """JSON objects, each parsed anew when it is asked for.

    Parameters
    ----------
    stored : polars.Series
        One object each, as text or compressed by zlib; nan is ``NaN``.

    Examples
    --------
    >>> found = JsonColumn.of([{"a": 1}, {"a": 0.5}])
    >>> found[1], list(found.texts())
    ({'a': 0.5}, ['{"a":1}', '{"a":0.5}'])
    """

    def __init__(self, stored: pl.Series) -> None:
        self._stored = stored

    @classmethod
    def of(cls, objects: Iterable[Mapping[str, Any]]) -> Self:
        """Return objects kept as text."""
        texts = [to_json(one, inf_nan_mode="constants").decode() for one in objects]
        return cls(pl.Series(texts, dtype=pl.String))

    def texts(self) -> Iterator[str]:
        """Yield the text of each object."""
        # Iterating over a series would make a list of thousands at a time.
        return map(self._text, range(len(self)))

    def _text(self, place: int) -> str:
        return text_of(self._stored[place])

    def at(self, places: list[int]) -> Self:
        """Return the objects at some places, in that order."""
        return type(self)(self._stored.gather(places))

    @overload
    def __getitem__(self, place: SupportsIndex) -> Mapping[str, Any]: ...
    @overload
    def __getitem__(self, place: slice) -> Self: ...
    def __getitem__(self, place: SupportsIndex | slice) -> Mapping[str, Any] | Self:
        if isinstance(place, slice):
            return type(self)(self._stored[place])
        found: Mapping[str, Any] = from_json(self._text(index(place)))
        return found

    def __len__(self) -> int:
        return len(self._stored)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, JsonColumn):
            return NotImplemented
        if len(self) != len(other):
            return False
        return all(_equal(one, its) for one, its in zip(self.texts(), other.texts(), strict=True))

    __hash__: ClassVar[None] = None  # type: ignore[assignment]  # as of every sequence that compares its items


def _equal(first: str, second: str) -> bool:
    """Tell whether two texts are of equal objects, in which nan equals nan."""
    if first == second:
        return True
    one, its = from_json(first), from_json(second)
    return bool(one == its) or canonical(one) == canonical(its)


T = TypeVar("T", bound="ScoreTable")


@dataclass(frozen=True, eq=False)
class ScoreTable(Grouped):
    """Scores of models on units.

    Two are equal where all of these attributes are: the same values, in the same order, of the same metrics and with
    the same provenance; nan equals nan, and the functions of metrics do not count. Equal scores have one hash.

    Attributes
    ----------
    values : polars.DataFrame
        A row a model, condition and unit: ``model, condition, unit``, then a column of floats for each term.
        ``condition`` is null where there is none; other columns count, such as ``coverage.<task>.present``. ``unit``
        here and in the other frames is `polars.Categorical`, made so where it was given as text: cast it to
        `polars.String` to join it with texts, to take it apart or to read it as a number.
    units : polars.DataFrame
        A row a unit: ``unit, cluster``, then its traits, and as ``chance.<metric>`` what random answers to it score on
        average, null where the metric is undefined. A unit without a cluster is a cluster of its own.
    metrics : mapping of str to Metric
        The catalogue entries of the metrics, by name, in the order of reports.
    provenance : Provenance
        Where the scores come from.
    variants : polars.DataFrame, optional
        `values` under every choice, with a column for each choice, where the terms depend on one. Where there are
        `repeats`, these too, with their column, which is null in the rows of means.
    detail : Texts, optional
        What the benchmark keeps of each row of `values` beyond this: a sequence of JSON objects.
    repeats : polars.DataFrame, optional
        Where a model was asked several times: the values of each repeat, with a column ``repeat``. `values` has their
        means, so that repeats never count as data; only analyses of repeats read these.
    """

    values: pl.DataFrame
    units: pl.DataFrame
    metrics: Mapping[str, Metric]
    provenance: Provenance
    variants: pl.DataFrame | None = field(default=None, repr=False)
    detail: JsonColumn | None = field(default=None, repr=False)
    repeats: pl.DataFrame | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        # Names of 2 million rows take 100 MB as texts and 8 as categories.
        for name in ("values", "units", "variants", "repeats"):
            frame = getattr(self, name)
            if frame is not None and frame.schema.get("unit") == pl.String:
                object.__setattr__(self, name, frame.cast({"unit": pl.Categorical}))

    def __dir__(self) -> list[str]:
        """Return the names that a notebook offers: the public ones."""
        return [name for name in super().__dir__() if not name.startswith("_") or name.startswith("__")]

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        if self is other or self.values.shape != other.values.shape:
            return self is other
        return (
            self.provenance == other.provenance
            and _entries(self.metrics) == _entries(other.metrics)
            and all(
                one is its or (one is not None and its is not None and one.equals(its))
                for one, its in (
                    (self.values, other.values),
                    (self.units, other.units),
                    (self.variants, other.variants),
                    (self.repeats, other.repeats),
                )
            )
            and self.detail == other.detail
        )

    def __hash__(self) -> int:
        # Frames have no hash; these parts are quick to hash.
        return hash((type(self), self.values.shape, *self.metrics, self.models, self.provenance))

    @cached_property
    def groups(self) -> tuple[tuple[str, str | None], ...]:
        """Every model and condition, sorted by model, then by condition."""
        return tuple(self.values.select("model", "condition").unique().sort("model", "condition").iter_rows())

    @cached_property
    def settings(self) -> Mapping[tuple[str, str | None], Mapping[str, tuple[str | int | float | None, ...]]]:
        """The settings of the runs by model and condition; one that is left out has none recorded."""
        return {(one.model, one.condition): one.settings for one in self.provenance.settings}

    @property
    def repeat_counts(self) -> tuple[int, ...]:
        """How many repeats models and units have, sorted; empty where nothing was asked twice."""
        if self.repeats is None:
            return ()
        return tuple(self.repeats.group_by(KEYS).agg(pl.col(REPEAT).n_unique())[REPEAT].unique().sort())

    @property
    def primary(self) -> str:
        """The metric that is compared where no other is asked for."""
        return self.provenance.primary or next(iter(self.metrics))

    @property
    def headline(self) -> tuple[str, ...]:
        """The metrics of the board: the primary one, and at most seven others that are made of units."""
        made_of_units = [name for name, metric in self.metrics.items() if metric.statistic in OF_UNITS]
        return self.provenance.headline or tuple(dict.fromkeys([self.primary, *made_of_units]))[:8]

    @property
    def traits(self) -> tuple[str, ...]:
        """The names of the units' traits."""
        return tuple(name for name in self.units.columns if name not in UNIT_KEYS and not name.startswith(CHANCE))

    def metric(self, name: str) -> Metric:
        """Return a metric's catalogue entry.

        Raises
        ------
        MetricInputError
            Where there is no such metric; the text has the nearest name.
        """
        if name not in self.metrics:
            raise MetricInputError(f"no metric {name!r}; {did_you_mean(name, self.metrics)}")
        return self.metrics[name]

    @property
    def choices(self) -> dict[str, tuple[str, ...]]:
        """What the terms depend on: every choice with its options, the default first."""
        if self.variants is None:
            return {}
        names = [name for name in self.variants.columns if name not in (*self.values.columns, REPEAT)]
        return {name: tuple(self.variants[name].unique(maintain_order=True)) for name in names}

    def variant(self, **chosen: str) -> Self:
        """Return the scores under other choices; choices that are not named stay.

        Parameters
        ----------
        **chosen : str
            Choice to option, as in `choices`: of EIBench ``failed="worst"``, ``rule="directed"``.

        Raises
        ------
        MetricInputError
            Where the scores have no such choice or option; the text names those they have.
        """
        if not chosen:
            return self
        for name, option in chosen.items():
            known = self.choices.get(name)
            if known is None:
                has = f"their choices are {', '.join(self.choices)}" if self.choices else "they have no variants"
                raise MetricInputError(f"these scores do not depend on {name!r}; {has}")
            if option not in known:
                raise MetricInputError(f"{name} is {option!r}; expected {', '.join(known)}")
        assert self.variants is not None  # noqa: S101 - there are choices
        variant = {**self.provenance.variant, **chosen}
        values, repeats = split_repeats(self.variants.filter(**variant).drop(self.choices))
        provenance = self.provenance.model_copy(update={"variant": variant})
        return replace(self, values=values, repeats=repeats, provenance=provenance)

    def keep(
        self, *, groups: Iterable[tuple[str, str | None]] | None = None, units: Iterable[str] | None = None
    ) -> Self:
        """Return the scores of some models and conditions, or on some units, with their variants.

        Where `units` leaves some out, the provenance has no hashes of data and runs, so that a signature hashes the
        scores themselves; `Provenance.expected` is the number kept where the scores have every unit expected, else
        None.
        """
        rows, provenance = self.values.select(*KEYS).with_row_index("row"), self.provenance
        if groups is not None:
            pairs = pl.DataFrame(list(groups), schema={"model": pl.String, "condition": pl.String}, orient="row")
            rows = rows.join(pairs, on=["model", "condition"], how="semi", nulls_equal=True)
        if units is not None:
            chosen = set(units)
            rows = rows.filter(pl.col("unit").is_in(list(chosen)))
            kept = self.units["unit"].is_in(list(chosen)).sum()
            if kept < self.units.height:
                complete = provenance.expected == self.units.height
                about = {"data": None, "runs": None, "expected": kept if complete else None}
                provenance = provenance.model_copy(update=about)
        places = rows["row"].sort().to_list()
        values = self.values[places]
        variants, repeats = (
            None if own is None else own.join(values, on=KEYS, how="semi", nulls_equal=True, maintain_order="left")
            for own in (self.variants, self.repeats)
        )
        return replace(
            self,
            values=values,
            units=self.units.filter(pl.col("unit").is_in(values["unit"].implode())),
            provenance=provenance,
            variants=variants,
            detail=None if self.detail is None else self.detail.at(places),
            repeats=repeats,
        )

    def __repr__(self) -> str:
        held = self.provenance
        parts = [plural(len(self.models), "model")]
        if any(condition is not None for condition in self.conditions):
            parts.append(plural(len(self.conditions), held.condition))
        parts += [plural(self.units.height, held.unit), plural(len(self.metrics), "metric")]
        chosen = [f"protocol {held.protocol}"] if held.protocol else []
        chosen += [f"{name} {option}" for name, option in held.variant.items()]
        return f"<{type(self).__name__} of {', '.join(parts)}{'; ' if chosen else ''}{', '.join(chosen)}>"


def _entries(metrics: Mapping[str, Metric]) -> list[tuple[str, Metric]]:
    """Return the entries of metrics in order, without their functions: a copy of a partial function is another."""
    return [(name, replace(metric, function=None)) for name, metric in metrics.items()]


def split_repeats(rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    """Return the rows of means and the rows of single repeats; None for the latter where no row has a repeat."""
    if REPEAT not in rows.columns:
        return rows, None
    repeats = rows.filter(pl.col(REPEAT).is_not_null()).select(*KEYS, REPEAT, pl.exclude(*KEYS, REPEAT))
    return rows.filter(pl.col(REPEAT).is_null()).drop(REPEAT), repeats


def means_over_repeats(rows: pl.DataFrame, by: Sequence[str] = KEYS) -> pl.DataFrame:
    """Return each column's mean over the repeats with a value; rows are in the order in which their keys first occur.

    Examples
    --------
    >>> rows = [("m", None, "u", "1", 3.0), ("m", None, "u", "2", 4.0), ("m", None, "v", "1", None)]
    >>> frame = pl.DataFrame(rows, schema=[*KEYS, "repeat", "points"], orient="row")
    >>> means_over_repeats(frame)["points"].to_list()
    [3.5, None]
    """
    columns = [name for name in rows.columns if name != REPEAT]
    means = rows.group_by(by, maintain_order=True).agg(pl.exclude(*by, REPEAT).mean())
    return means.select(columns)


def as_means(metrics: Mapping[str, Metric]) -> dict[str, Metric]:
    """Return entries for metrics averaged over repeats: a share becomes a mean, as a mean of trials is no trial."""
    return {
        name: replace(metric, statistic="mean") if metric.statistic == "share" else metric
        for name, metric in metrics.items()
    }


def note_on_repeats(unit: str) -> str:
    """Return the sentence that stands under tables of means over repeats."""
    return f"Values are means over the repeats of each {unit}; a repeat counts nowhere as another {unit}."


def over_repeats(table: T) -> T:
    """Return the scores averaged over repeats, from scores in which every row names its repeat.

    Parameters
    ----------
    table : ScoreTable
        Scores with one row for each repeat in `values`, and in `variants` if there are any; a column ``repeat`` has the
        number of the repeat as text. If nothing was asked twice, the scores returned have no repeats.

    Returns
    -------
    ScoreTable
        Without `detail` if there are several repeats, because a value then comes from several results.
    """
    variants = table.variants
    if table.values.select(KEYS).is_unique().all():
        once = None if variants is None else variants.drop(REPEAT)
        return replace(table, values=table.values.drop(REPEAT), variants=once)
    if variants is not None:
        means = means_over_repeats(variants, [*KEYS, *table.choices])
        variants = pl.concat([means, variants], how="diagonal").select(variants.columns)
    joined = replace(
        table,
        values=means_over_repeats(table.values),
        variants=variants,
        repeats=table.values,
        detail=None,
        metrics=as_means(table.metrics),
    )
    return joined.note(note_on_repeats(table.provenance.unit))


def table_of(scores: ScoreLists) -> ScoreTable:
    """Return scores as frames, averaged over repeats."""
    texts = dict.fromkeys((*KEYS, REPEAT), pl.String)
    of_units = {name: pl.Float64 if name.startswith(CHANCE) else pl.String for name in scores.units}
    table = ScoreTable(
        values=pl.DataFrame(
            scores.values, schema={name: texts.get(name, pl.Float64) for name in scores.values}, strict=False
        ),
        units=pl.DataFrame(scores.units, schema=of_units),
        metrics=scores.metrics,
        provenance=scores.provenance,
        detail=JsonColumn(pl.Series(scores.detail, dtype=None if scores.detail else pl.String)),
    )
    return over_repeats(table)


def coverage(table: ScoreTable) -> dict[tuple[str, str | None], dict[str, float]]:
    """Return by model and condition, and task, the share of its questions that have a prediction."""
    columns = [name for name in table.values.columns if name.startswith("coverage.")]
    sums = table.values.group_by("model", "condition").agg(pl.col(columns).sum())
    tasks = dict.fromkeys(name.split(".")[1] for name in columns)
    return {
        (row["model"], row["condition"]): {
            task: row[f"coverage.{task}.present"] / expected
            for task in tasks
            if (expected := row[f"coverage.{task}.expected"])
        }
        for row in sums.iter_rows(named=True)
    }


def term_columns(metric: Metric) -> tuple[str, ...]:
    """Return the columns of a metric's terms.

    Examples
    --------
    >>> term_columns(Metric(name="accuracy", label="Accuracy"))
    ('accuracy',)
    """
    return metric.terms or (metric.name,)


def metrics_per_unit(table: ScoreTable) -> list[str]:
    """Return the metrics that have one value for each unit."""
    return [name for name, metric in table.metrics.items() if metric.statistic in PER_UNIT]
