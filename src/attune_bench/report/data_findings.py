"""What a page of the data says first: its title and its sentences."""

import polars as pl

from attune_bench.report.columns import Row, interval, number, p_value, row_p
from attune_bench.report.data_figures import POINTS, quoted, unit_of
from attune_bench.report.measures import OTHERS, Family, MeasuredGroup, size_of
from attune_bench.stats.options import ALPHA, FEW, MIN_CLUSTERS, AnalysisOptions
from attune_data.text import plural, pluralize
from attune_metrics.metric import Metric

_NAMED = 3


def title(asked: MeasuredGroup) -> str:
    """Return the heading of the page: of a comparison its result, else what the records are."""
    if asked.others is None:
        [size] = map(size_of, asked.counts.values())
        return f"{asked.name}: {size}" if asked.name else size
    apart, tests = _apart(asked)
    if apart:
        return f"{asked.name} and {OTHERS} differ in {len(apart)} of {plural(tests, 'measure')}"
    none = "no significant difference" if tests else "no difference could be tested"
    own, others = asked.people
    clusters = pluralize(asked.table.provenance.cluster)
    return f"{asked.name} and {OTHERS}: {none} ({own} against {others} {clusters})"


def _apart(asked: MeasuredGroup) -> tuple[list[tuple[Family, Row]], int]:
    """Return the significant tests of the page, the smallest p first, and how many tests there are."""
    tested = [(family, row) for family, row in _rows(asked) if row.get("p") is not None]
    apart = [(family, row) for family, row in tested if row["p_holm"] < ALPHA]
    return sorted(apart, key=lambda one: (one[1]["p_holm"], one[1]["metric"])), len(tested)


def _rows(asked: MeasuredGroup) -> list[tuple[Family, Row]]:
    return [(family, row) for family, frame in asked.families for row in frame.to_dicts()]


def _least(frame: pl.DataFrame) -> float:
    """Return the smallest p that Holm's correction could have given in a family, 1 without a test."""
    tested = frame.drop_nulls("p")["p_min"].drop_nulls().to_list()
    return float(min([1.0, *(p * len(tested) for p in tested)]))


def findings(asked: MeasuredGroup) -> list[str]:
    """Return the sentences that the page begins with.

    Examples
    --------
    >>> from attune_bench.benchmarks.attunebench.measures import measures
    >>> from attune_bench.report.measures import measured_group
    >>> from attune_data import load
    >>> conversations = load("demo")
    >>> found = findings(measured_group(conversations, {}, measures=measures(conversations), resamples=2000))
    >>> found[0].partition(" of ")[0]
    'Wanted and observed differ significantly in 18'
    """
    if asked.measures is None:
        return []
    said = _difference_findings(asked) if asked.others is not None else [
        _pair_finding(asked, family, frame)
        for family, frame in asked.families
        if family.pairs and frame["p"].count()
    ]  # fmt: skip
    if (few := min(asked.people)) < FEW:
        people = plural(few, asked.table.provenance.cluster)
        has = f"The group has only {people}."
        if asked.others is not None:
            has = f"The smaller group has only {people}: only large differences can be significant."
        level = AnalysisOptions(**asked.options).level
        said.append(
            f"{has} Where a few have values far from the rest, intervals contain the true value less often than "
            f"{100 * level:g}% of the time."
        )
    return said


def _difference_findings(asked: MeasuredGroup) -> list[str]:
    apart, tests = _apart(asked)
    if not tests:
        return ["No difference could be tested."]
    found = [_with_p(asked, family, row) for family, row in apart[:_NAMED]]
    if len(apart) > _NAMED:
        found.append(f"{len(apart) - _NAMED} more differ.")
    if not apart:
        none = f"None of {plural(tests, 'tested difference')} is significant"
        found.append(f"{none}; this does not show that the groups are alike.")
        found.append(
            "The largest differences of the page, in percentage points or in hundredths of a scale, "
            f"{asked.name} against {OTHERS}:"
        )
        found += [_with_p(asked, family, row) for family, row in _largest(asked)]
    level = 100 * AnalysisOptions(**asked.options).level
    found.append(
        f"In brackets: {level:g}% intervals, each of one difference alone. Holm p: corrected for the other tests of "
        "the section, not for other sections."
    )
    return found


def _with_p(asked: MeasuredGroup, family: Family, row: Row) -> str:
    tested = "not tested" if row["p_holm"] is None else f"Holm p {row_p(row)}"
    people = f"n = {row['clusters']} and {row['other_clusters']} {pluralize(asked.table.provenance.cluster)}"
    return f"{_both_values(asked, family, row)}, {tested}, {people}."


def _largest(asked: MeasuredGroup) -> list[tuple[Family, Row]]:
    """Return the measures with the largest differences, as parts of the scale: percentage points of shares."""

    def size(one: tuple[Family, Row]) -> float:
        metric = asked.table.metrics[one[1]["metric"]]
        # A measure below 0 is itself a difference, on a scale from 0 to its highest value.
        return abs(float(one[1]["difference"])) / (metric.high - max(metric.low, 0))

    known = [
        (family, row)
        for family, row in _rows(asked)
        if row["difference"] is not None and min(row["clusters"], row["other_clusters"]) >= MIN_CLUSTERS
    ]
    return sorted(known, key=size, reverse=True)[:_NAMED]


def _both_values(asked: MeasuredGroup, family: Family, row: Row) -> str:
    """Return the values of the group and of the others, and their difference with its interval."""
    metric = asked.table.metrics[row["metric"]]
    values = f"{_value(row['value'], metric)} against {_value(row['other'], metric)}"
    span = interval(row["difference_low"], row["difference_high"], metric, signed=True)
    difference = f"{number(row['difference'], metric, signed=True)} {span}".rstrip()
    return f"{family.title}, {quoted(metric.label)}: {values}, difference {difference}"


def _value(value: float, metric: Metric) -> str:
    """Return a value with its unit; a difference within records has a sign."""
    unit = unit_of(metric)
    return f"{number(value, metric, signed=metric.low < 0)}{' ' if unit == POINTS else ''}{unit}"


def _pair_finding(asked: MeasuredGroup, family: Family, frame: pl.DataFrame) -> str:
    both = " and ".join(family.ends)
    both = f"{both[:1].upper()}{both[1:]}"
    tested = frame.drop_nulls("p")
    apart = tested.filter(pl.col("p_holm") < ALPHA)
    counted = f"{len(apart)} of {plural(len(tested), family.noun)}"
    if apart.is_empty():
        none = f"{both} do not differ significantly in any {family.noun} of {len(tested)}"
        if (least := _least(frame)) >= ALPHA:
            none += f", and could not: the smallest possible Holm p is {p_value(least)}"
        return f"{none}."
    widest = max(apart.to_dicts(), key=lambda row: abs(row["value"]))
    metric, end = asked.table.metrics[widest["metric"]], asked.table.metrics[family.pairs[widest["metric"]][0]]
    first, second = family.ends
    values = f"{first} {_value(widest['first'], end)}, {second} {_value(widest['second'], end)}"
    return f"{both} differ significantly in {counted}; most in {quoted(metric.label)}: {values}."
