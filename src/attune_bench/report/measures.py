"""What a benchmark's records say, measured: a value of each record, families of measures, and groups compared by them.

Intervals resample the people, and values that rest on few of them are hidden, as on pages of scores. Two groups are
compared as `attune_bench.stats.subgroups` compares a stratum with its complement; p-values are corrected by Holm's
method over the measures of a family.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import polars as pl
from typing_extensions import Unpack

from attune_bench.report.columns import Row
from attune_bench.report.privacy import conceal_strata, hidden_strata, hides, shown_summary
from attune_bench.scores.table import ScoreTable
from attune_bench.stats.compare import compare_all
from attune_bench.stats.options import MIN_CLUSTERS, SamplingKeywords, ScoreSeries, too_few
from attune_bench.stats.subgroups import strata_and_known, subgroups
from attune_data.collection import Collection
from attune_data.description import describe
from attune_data.text import plural, pluralize
from attune_metrics.stats.comparison import holm


class Place(NamedTuple):
    """The place of a measure in a figure of lines: its line, and its position from left to right."""

    line: str
    position: int


class PartOfFamily(NamedTuple):
    """The heading, the introduction and the axis of measures that have a section of their own."""

    title: str
    about: str
    axis: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Measures of one question, which a page shows in one section and corrects for each other.

    Attributes
    ----------
    title : str
        The heading.
    metrics : sequence of str
        The measures, from the top.
    about : str
        What a value is, in a sentence.
    axis : str
        What the axis of the figure says.
    pairs : mapping of str to (str, str)
        For a measure that is a difference within each record, the two measures that it is the first minus the second
        of. Their values are shown beside it, and it is tested against 0.
    ends : (str, str)
        What the first and the second of such two measures are called.
    parted : (PartOfFamily, PartOfFamily), optional
        Where two groups are compared, the sections of the first measures, and of the differences.
    noun : str
        What a measure of the family is called, such as ``question``.
    places : mapping of str to Place
        For measures that are drawn as lines, such as shares by turn.
    position : str
        What a position is called, such as ``turn``.
    middle : float, optional
        The value that says nothing, such as half of the comparisons, as values are stored.
    middle_words : str
        What this value means, in a sentence about the broken line of the figure.
    trait : str
        The trait that the measures are values of: a group chosen by this trait is not compared by them.
    counts : bool
        Whether a measure is 1 for a record with a property and else 0, so that a value tells how many records have it.
    """

    title: str
    metrics: Sequence[str]
    about: str
    axis: str
    pairs: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    ends: tuple[str, str] = ("", "")
    parted: "tuple[PartOfFamily, PartOfFamily] | None" = None
    noun: str = "measure"
    places: Mapping[str, Place] = field(default_factory=dict)
    position: str = "position"
    middle: float | None = None
    middle_words: str = ""
    trait: str = ""
    counts: bool = False


@dataclass(frozen=True, slots=True)
class Measures:
    """The measures of some records.

    Attributes
    ----------
    table : ScoreTable
        Scores of one model, the people themselves: a unit is a record, its cluster the person.
    families : tuple of Family
        The families of the measures, in the order of a page.
    """

    table: ScoreTable
    families: tuple[Family, ...]


OTHERS = "the others"
"""What the records are called that a group is compared with."""


@dataclass(frozen=True, kw_only=True)
class MeasuredGroup:
    """A group of records, and the records that it is compared with.

    Attributes
    ----------
    records : Collection
        All records of the source.
    part : Collection
        The group.
    name : str
        What the group is called; empty for all records.
    others : Collection, optional
        The records that the group is compared with.
    measures : Measures, optional
        The measures of all records, where their benchmark has some.
    small_cells : bool
        Whether to show values that rest on few people.
    options : mapping
        ``resamples``, ``seed`` and the like; see `attune_bench.stats.options.AnalysisOptions`.
    """

    records: Collection[Any]
    part: Collection[Any]
    name: str
    others: Collection[Any] | None
    measures: Measures | None
    small_cells: bool
    options: SamplingKeywords

    @cached_property
    def sides(self) -> dict[str, Collection[Any]]:
        """The group and, where it is compared, the others, by what they are called."""
        group = {self.name or f"all {self.records.kind.plural}": self.part}
        return group if self.others is None else {**group, OTHERS: self.others}

    @cached_property
    def counts(self) -> dict[str, dict[str, Any]]:
        """What `attune_data.describe` counts of each side."""
        return {side: describe(part) for side, part in self.sides.items()}

    @property
    def people(self) -> list[int]:
        """How many clusters, such as participants, each side has."""
        assert self.measures is not None  # noqa: S101 - asked for by sections of measures only
        return [counts[pluralize(self.measures.table.provenance.cluster)] for counts in self.counts.values()]

    @cached_property
    def table(self) -> ScoreTable:
        """The measures of the group and of the others; measures that count few people are joined."""
        assert self.measures is not None  # noqa: S101 - asked for by sections of measures only
        table = self.measures.table.keep(units=[unit for part in self.sides.values() for unit in part.unit_ids])
        for family in self.measures.families:
            table = self._joined(table, family)
        return table

    def _joined(self, table: ScoreTable, family: Family) -> ScoreTable:
        """Return the scores in which measures that few people have are one measure, so that none can be counted."""
        if not (family.counts and hides(table, small_cells=self.small_cells)):
            return table
        series = ScoreSeries(table)
        sides = [series.mask(set(part.unit_ids)) for part in self.sides.values()]

        def fewest(*names: str) -> int:
            there = [series.values(name)[0, 0] > 0 for name in names]
            return min(series.count(side & sum(there).astype(bool)) for side in sides)

        order = sorted(family.metrics, key=lambda name: (fewest(name), name))
        joined: list[str] = []
        while order and fewest(*(joined or order[:1])) < MIN_CLUSTERS:
            joined.append(order.pop(0))
        joined += [name for name in order if joined and fewest(name) < MIN_CLUSTERS]
        if not joined:
            return table
        kept = {name: metric for name, metric in table.metrics.items() if name not in joined}
        values = table.values
        if len(joined) < len(family.metrics):
            name = joined[0] if len(joined) == 1 else f"{len(joined)} others"
            label = f"{len(joined)} others, each of few {pluralize(table.provenance.cluster)}"
            kept[name] = replace(table.metrics[joined[0]], name=name, label=label)
            values = values.with_columns(pl.max_horizontal(joined).alias(name))
        return replace(table, values=values, metrics=kept)

    def shown(self, family: Family) -> list[str]:
        """Return the measures of a family that the page has."""
        known = [name for name in family.metrics if name in self.table.metrics]
        if family.counts:
            known += [name for name in self.table.metrics if name.endswith(" others") and name not in known]
        return known

    def frame(self, family: Family, metrics: Sequence[str]) -> pl.DataFrame:
        """Return measures of the group and, where it is compared, of the others and their difference.

        Returns
        -------
        polars.DataFrame
            ``metric, value, low, high, n, clusters, reason``; of a difference within records also ``first, second, p,
            p_min, p_holm``. Where the group is compared also ``other, other_low, other_high, other_n, other_clusters,
            difference, difference_low, difference_high, p, p_holm``. Null is a value that is unknown or hidden.
        """
        if self.others is None:
            found = shown_summary(self.table, small_cells=self.small_cells, metrics=list(metrics), **self.options)
            found = found.select("metric", "value", "low", "high", "n", "clusters", "reason")
            if family.pairs:
                found = self._with_ends(family, found)
        else:
            found = self._compared(metrics)
        if "p" in found.columns:
            found = found.with_columns(p_holm=pl.Series(holm(found["p"].fill_null(float("nan")))).fill_nan(None))
        return self._without_flat(found)

    def _without_flat(self, found: pl.DataFrame) -> pl.DataFrame:
        """Return a frame without intervals of values that are all the same, which say nothing of other people."""
        reasons = []
        for side, name in zip(("", "other"), self.sides, strict=False):
            value, low, high, people = (pl.col(column_of(side, key)) for key in ("value", "low", "high", "clusters"))
            found = found.with_columns(pl.when(low.ne_missing(high)).then(end).name.keep() for end in (low, high))
            where = f" in {name}" if self.others is not None else ""
            said = f"no interval{where}: all {pluralize(self.table.provenance.cluster)} have the same value"
            is_bare = value.is_not_null() & low.is_null() & (people >= MIN_CLUSTERS)
            reasons.append(pl.when(is_bare).then(pl.lit(said)))
        hidden = pl.when(pl.col("value").is_null() | (pl.col("clusters") < MIN_CLUSTERS)).then("reason")
        return found.with_columns(
            reason=pl.concat_str([hidden, *reasons], separator="; ", ignore_nulls=True).replace("", None)
        )

    def _with_ends(self, family: Family, found: pl.DataFrame) -> pl.DataFrame:
        """Return differences within records with the two measures that they are of, and their p-values."""
        names = [*dict.fromkeys(end for name in found["metric"] for end in family.pairs[name])]
        ends = shown_summary(self.table, small_cells=self.small_cells, metrics=names, **self.options)
        value = dict(ends.select("metric", "value").iter_rows())
        rows = []
        for model, end in (("first", 0), ("second", 1)):
            columns = [pl.col(family.pairs[name][end]).alias(name) for name in found["metric"]]
            rows.append(self.table.values.select(pl.lit(model).alias("model"), "condition", "unit", *columns))
        metrics = {name: replace(self.table.metrics[family.pairs[name][0]], name=name) for name in found["metric"]}
        held = self.table.provenance.model_copy(update={"primary": found["metric"][0]})
        paired = replace(self.table, values=pl.concat(rows), metrics=metrics, provenance=held)
        tested = compare_all(paired, metrics=found["metric"].to_list(), **self.options).select("metric", "p", "p_min")
        joined = found.join(tested, on="metric", how="left", maintain_order="left")
        return joined.with_columns(
            pl.Series("first", [value[family.pairs[name][0]] for name in found["metric"]], pl.Float64),
            pl.Series("second", [value[family.pairs[name][1]] for name in found["metric"]], pl.Float64),
            p=pl.when(pl.col("value").is_not_null()).then("p"),
        )

    def _compared(self, metrics: Sequence[str]) -> pl.DataFrame:
        strata = dict(zip(("group", "others"), (part.unit_ids for part in self.sides.values()), strict=True))
        known = [unit for units in strata.values() for unit in units]
        frame = subgroups(self.table, strata, known=known, compare=True, metrics=list(metrics), **self.options)
        if hides(self.table, small_cells=self.small_cells):
            frame = pl.concat(
                conceal_strata(
                    self.table, "side", frame.filter(metric=name),
                    hidden_strata(self.table, name, {"side": (strata, known)}),
                )
                for name in metrics
            )  # fmt: skip
        ends = ["value", "low", "high", "n", "clusters"]
        differs = ["difference", "difference_low", "difference_high", "p"]
        mine = frame.filter(stratum="group").select("metric", *ends, *differs, "reason")
        theirs = frame.filter(stratum="others")
        theirs = theirs.select("metric", *(pl.col(name).alias(column_of("other", name)) for name in ends))
        return mine.join(theirs, on="metric", how="left", maintain_order="left")

    @cached_property
    def families(self) -> list[tuple[Family, pl.DataFrame]]:
        """The families of measures that the page has, each with its frame; a comparison has the ends of pairs too."""
        found: list[tuple[Family, pl.DataFrame]] = []
        for family in self.measures.families if self.measures else ():
            if not (names := self.shown(family)):
                continue  # `data_html` says so
            if self.others is not None and family.parted is not None:
                first, gap = (replace(family, pairs={}, **part._asdict()) for part in family.parted)
                found.append((first, self.frame(first, [family.pairs[name][0] for name in names])))
                found.append((gap, self.frame(gap, names)))
            else:
                found.append((family, self.frame(family, names)))
        return found

    def sizes(self) -> str:
        """Return how many records and people the group has, of how many; where it is compared, the others too."""
        sizes = {side: size_of(counts) for side, counts in self.counts.items()}
        if self.others is not None:
            return "; ".join(f"{side}: {size}" for side, size in sizes.items())
        [chosen] = sizes.values()
        return f"{chosen}, out of {size_of(describe(self.records))}" if self.name else chosen


def column_of(side: str, key: str) -> str:
    """Return the column of a group's frame that has the value, or another number, of a side.

    Examples
    --------
    >>> column_of("", "low"), column_of("other", "value"), column_of("difference", "low")
    ('low', 'other', 'difference_low')
    """
    return (side or key) if key == "value" else f"{side}_{key}".removeprefix("_")


def of_side(row: Row, side: str) -> dict[str, Any]:
    """Return the value of a side with its interval and its sizes: of the group, of the ``other``, or ``difference``."""
    return {key: row.get(column_of(side, key)) for key in ("value", "low", "high", "n", "clusters")}


def size_of(counts: Mapping[str, Any]) -> str:
    """Return how many records, and people, a collection has, from what `attune_data.describe` counts."""
    names = [name for name in counts if name != "synthetic" and isinstance(counts[name], int)]
    records, *others = [plural(counts[name], name.removesuffix("s"), name) for name in names[:2]]
    return f"{records} by {others[0]}" if others and names[1] == "participants" else records


def group_name(traits: dict[str, list[str]]) -> str:
    """Return what a group is called that was asked for by its traits.

    Examples
    --------
    >>> group_name({"diagnosis": ["ADHD"], "age_range": ["18-24", "25-34"]})
    'Diagnosis ADHD, age range 18-24 or 25-34'
    """
    said = ", ".join(f"{name.replace('_', ' ')} {' or '.join(map(str, values))}" for name, values in traits.items())
    return said[:1].upper() + said[1:]


def others_of(records: Collection[Any], part: Collection[Any], traits: Sequence[str]) -> Collection[Any]:
    """Return the records that are not in a part, and have a known value of each of the traits.

    Examples
    --------
    >>> from attune_data import load
    >>> conversations = load("demo")
    >>> len(others_of(conversations, conversations.where(diagnosis="ADHD"), ["diagnosis"]))
    32
    """
    known = set(records.unit_ids).difference(part.unit_ids)
    known.intersection_update(*(strata_and_known(records, trait)[1] for trait in traits))
    return records[[unit in known for unit in records.unit_ids]]


def measured_group(
    records: Collection[Any],
    traits: dict[str, list[str]],
    *,
    measures: Measures | None = None,
    compare: bool = False,
    small_cells: bool = False,
    **options: Unpack[SamplingKeywords],
) -> MeasuredGroup:
    """Return what a page of the data is made of.

    Parameters
    ----------
    records : Collection
        All records of a source.
    traits : dict of str to list of str
        The values of the group by trait, as for ``where``; empty for all records.
    measures : Measures, optional
        The measures of the records.
    compare : bool
        Whether to compare the group with the others: all records that are not in it and have a known value of each
        trait.
    small_cells : bool
        Whether to show values that rest on fewer than 5 people.
    **options
        ``resamples``, ``seed``, ``level`` and the like; see `attune_bench.stats.options.AnalysisOptions`.

    Raises
    ------
    ValueError
        Where the group, or what it is compared with, is of fewer than 5 people and `small_cells` is not set; or there
        is nothing to compare.
    """
    part = records.where(**traits) if traits else records
    others = None
    if compare:
        if measures is None:
            raise ValueError(f"{records.kind.plural} have no measures to compare; leave out --compare (compare=)")
        if not traits:
            raise ValueError("a comparison needs a group: choose one by a trait (--where)")
        others = others_of(records, part, list(traits))
        if not len(others):
            raise ValueError(f"every {records.kind.noun} with a known value is in the group; nothing to compare with")
    if measures is not None:
        measures = replace(measures, families=tuple(one for one in measures.families if one.trait not in traits))
    made = MeasuredGroup(
        records=records, part=part, name=group_name(traits), others=others, measures=measures,
        small_cells=small_cells, options=options,
    )  # fmt: skip
    if measures is not None and hides(measures.table, small_cells=small_cells):
        for side, people in zip(made.sides, made.people, strict=True):
            if people < MIN_CLUSTERS:
                hint = "show them with small_cells=True (--small-cells)"
                raise ValueError(f"{side}: {too_few(measures.table)}, whose values are not shown; {hint}")
    return made
