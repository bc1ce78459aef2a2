"""The parts of a report: tables, with columns that say how a row is shown; the words for numbers and models."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_HALF_UP, Context, Decimal
from itertools import pairwise
from math import ceil, isfinite, isinf, isnan
from typing import Any

import polars as pl

from attune_bench.scores.provenance import kind_of_group
from attune_bench.scores.table import ScoreTable
from attune_bench.stats.options import AnalysisOptions, draws_poisson, interval_method
from attune_data.issues import Html
from attune_data.text import Tone, pluralize, range_text
from attune_metrics.metric import Metric
from attune_metrics.stats.bootstrap import MOST_RESAMPLES, STATISTICS

Row = Mapping[str, Any]

PERSON = "(person)"
"""What stands behind the name of somebody who answered what models were asked."""

UNDEFINED = "-"
"""What a table shows for a value that is undefined or not known; JSON has null, CSV nothing."""

_PRECISE = Context(prec=400)  # as many digits as any float has


@dataclass(frozen=True, slots=True)
class Cell:
    """What a table shows of a row.

    Attributes
    ----------
    text : str
        The value.
    small : str
        What stands behind it, or in small print below it: its interval, what it rests on.
    value : float or str or None
        What a column is sorted by; None sorts last.
    tone : str
        How a terminal with colours shows it.
    html : Html, optional
        What a page shows in place of the text and what stands behind it.
    """

    text: str
    small: str = ""
    value: float | str | None = None
    tone: Tone = ""
    html: Html | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its heading, and the cell of a row.

    `is_name` where the text, or with `head_is_name` the heading, may be cut to fit; `is_text` where it stands left.
    """

    head: str
    cell: Callable[[Row], Cell]
    is_name: bool = False
    head_is_name: bool = False
    is_text: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a heading, as they are shown, and the frame that they come from.

    Attributes
    ----------
    key : str
        Name of the rows in JSON.
    title : str
        Heading.
    columns : sequence of Column
        The shown columns; a table without columns is for CSV and JSON only. A ``reason`` becomes a footnote.
    rows : sequence of mapping
        The shown rows.
    frame : polars.DataFrame, optional
        Every number, for CSV and JSON; None where another table of the report has them.
    notes : tuple of str
        Sentences below the table.
    caption : str
        What a paper says the rows are, a sentence; by default the heading.
    """

    key: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    frame: pl.DataFrame | None = None
    notes: tuple[str, ...] = ()
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a page.

    Attributes
    ----------
    chart : attune_bench.report.plots.Plot or attune_bench.report.drawing.Cells
        What is drawn.
    caption : str
        What it shows.
    finding : str
        What the data say, as its heading.
    """

    chart: Any
    caption: str
    finding: str = ""


@dataclass(frozen=True, slots=True)
class Folded:
    """Parts of a page that are shown where their title is chosen."""

    title: str
    parts: "Sequence[Part]"


@dataclass(frozen=True, slots=True)
class Markup:
    """A part of a page that is made already."""

    html: Html


Part = Table | Figure | Folded | Markup | str | tuple[str, ...]
"""A table, a figure, folded parts, ready markup, a paragraph, or a list of sentences."""


@dataclass(frozen=True, slots=True)
class Section:
    """A section of a page: its parts under a heading; or, without parts, why it is left out.

    One that `is_first` comes before the sections that any scores have.
    """

    title: str
    parts: Sequence[Part] = field(default_factory=tuple)
    left_out: str = ""
    is_first: bool = False


def numbered_reasons(rows: Iterable[Row]) -> dict[str, int]:
    """Return the reasons of rows with their numbers, from 1.

    Examples
    --------
    >>> numbered_reasons([{"reason": "too few"}, {"reason": None}, {"model": "a"}])
    {'too few': 1}
    """
    reasons = dict.fromkeys(row["reason"] for row in rows if row.get("reason"))
    return {reason: number for number, reason in enumerate(reasons, start=1)}


def with_note(tables: Sequence[Table], *notes: str) -> list[Table]:
    """Return tables with sentences below the last of them."""
    return [*tables[:-1], *(replace(table, notes=(*table.notes, *notes)) for table in tables[-1:])]


def number(value: float | None, metric: Metric, *, signed: bool = False) -> str:
    """Return a value as its metric is reported, scaled and rounded; ``-`` where there is none.

    A tie, in the shortest decimal form of the number, goes away from zero, as in published tables.

    Examples
    --------
    >>> reward = Metric(name="reward", label="Reward", scale=100, digits=1)
    >>> number(0.1234, reward), number(0.1225, reward), number(-0.0001, reward, signed=True), number(None, reward)
    ('12.3', '12.3', '+0.0', '-')
    """
    if value is None or isnan(value):
        return UNDEFINED
    scaled = float(value * metric.scale)
    if not isfinite(scaled):
        return str(scaled)
    rounded = Decimal(repr(scaled)).quantize(Decimal(1).scaleb(-metric.digits), ROUND_HALF_UP, _PRECISE)
    # A rounded -0.0 is 0.0.
    return f"{rounded or abs(rounded):{'+' if signed else ''}.{metric.digits}f}"


def interval(low: float | None, high: float | None, metric: Metric, *, signed: bool = False) -> str:
    """Return the two ends of an interval; nothing where there is none."""
    if low is None or high is None:
        return ""
    return f"[{number(low, metric, signed=signed)}, {number(high, metric, signed=signed)}]"


def p_value(value: float | None, *, is_bound: bool = False) -> str:
    """Return a p-value with 4 digits, never as 0, and with ``<`` where it is a bound; ``-`` where there is none.

    Examples
    --------
    >>> p_value(0.0123), p_value(3 / 10_001, is_bound=True), p_value(1e-6)
    ('0.0123', '<0.0003', '<0.0001')
    """
    if value is None or isnan(value):
        return UNDEFINED
    if is_bound and value < 1:
        return f"<{ceil(value * 10_000 - 1e-6) / 10_000:.4f}"  # rounded up: a bound stays true
    return "<0.0001" if value < 0.0001 else f"{value:.4f}"


def is_p_bound(row: Row) -> bool:
    """Tell whether the p-values of a row are as small as so many resamples can give, so that they are bounds.

    The least p-value of a test that evaluates all exchanges, a number of 2^k-ths, is exact; the test of a look draws
    none.

    Examples
    --------
    >>> is_p_bound({"p": 1 / 10_001, "p_min": 1 / 10_001}), is_p_bound({"p": 2 / 2**10, "p_min": 2 / 2**10})
    (True, False)
    """
    p, least = row.get("p"), row.get("p_min")
    return (
        row.get("look") is None
        and p is not None
        and least is not None
        and p <= least
        and least.as_integer_ratio()[1] > MOST_RESAMPLES
    )


def row_p(row: Row, key: str = "p_holm") -> str:
    """Return a p-value of a row of tests."""
    return p_value(row[key], is_bound=key in {"p", "p_holm"} and is_p_bound(row))


def percent(share: float | None) -> str:
    """Return a share in percent; 100% and 0% only where nothing, or everything, is missing."""
    if share is None or isnan(share):
        return UNDEFINED
    rounded = round(100 * share)
    return f"{min(max(rounded, 1), 99) if 0 < share < 1 else rounded}%"


def text_column(head: str, key: str, *, is_name: bool = False) -> Column:
    """Return a column of text; a name that is a person's is marked."""

    def cell(row: Row) -> Cell:
        text = UNDEFINED if row[key] is None else str(row[key])
        mark = PERSON if is_name and kind_of_group(text) == "person" else ""
        return Cell(text, mark, row[key], "best" if is_name and row.get("is_best") else "")

    return Column(head, cell, is_name, is_text=True)


def count_column(head: str, key: str) -> Column:
    """Return a column of counts."""
    return Column(head, lambda row: Cell(UNDEFINED if row[key] is None else f"{row[key]:,}", value=row[key]))


def estimate_column(
    head: str, key: str, metric: Callable[[Row], Metric], *, low: str = "low", high: str = "high", signed: bool = False
) -> Column:
    """Return a column of estimates with their intervals."""

    def cell(row: Row) -> Cell:
        of = metric(row)
        text = number(row[key], of, signed=signed)
        # Sorted by the shown digits: a page says no further digit.
        value = None if text == UNDEFINED else float(text)
        return Cell(text, interval(row.get(low), row.get(high), of, signed=signed), value)

    return Column(head, cell)


def number_column(head: str, key: str, metric: Callable[[Row], Metric], *, signed: bool = False) -> Column:
    """Return a column of numbers without intervals."""
    return estimate_column(head, key, metric, low="", high="", signed=signed)


def p_column(head: str, key: str) -> Column:
    """Return a column of p-values."""
    return Column(head, lambda row: Cell(row_p(row, key), value=None if row[key] is None else round(row[key], 4)))


def yes_column(head: str, key: str) -> Column:
    """Return a column of yes and no."""

    def cell(row: Row) -> Cell:
        tone: Tone = "" if row[key] is None else "yes" if row[key] else "no"
        return Cell(tone or UNDEFINED, value=row[key], tone=tone)

    return Column(head, cell, is_text=True)


def size_column(head: str = "n") -> Column:
    """Return a column of the number of units, with the number of clusters where it differs, and the mark of few."""

    def cell(row: Row) -> Cell:
        if row["n"] is None:
            return Cell(UNDEFINED)
        clusters = f"({row['clusters']})" if row["clusters"] != row["n"] else ""
        return Cell(str(row["n"]), " ".join(filter(None, (clusters, row.get("mark") or ""))), row["n"])

    return Column(head, cell)


INTERVALS: Mapping[str, str] = {"percentile-expanded": "expanded percentile", "percentile": "percentile", "bca": "BCa"}
"""What reports call the intervals."""

RANDOM_ANSWERS = "random answers on these data"
"""What reports call the mark at what random answers score on average."""


def range_words(metric: Metric) -> str:
    """Return the range of a metric as reports show its values; empty where it is unbounded.

    Examples
    --------
    >>> range_words(Metric(name="share", label="Share", low=0, high=1, scale=100))
    '0 to 100'
    """
    return range_text(*(None if isinf(end) else end * metric.scale for end in (metric.low, metric.high)))


def has_clusters(table: ScoreTable) -> bool:
    """Tell whether some units share a cluster, rather than each being alone."""
    held = table.provenance
    return held.cluster != held.unit and table.units["cluster"].null_count() < table.units.height


def drawn(table: ScoreTable, options: AnalysisOptions) -> str:
    """Return the resampling unit, in the singular: the scores' word for a cluster, or for a unit."""
    held = table.provenance
    return held.cluster if options.draws_clusters(table) and has_clusters(table) else held.unit


def weight_words(table: ScoreTable, options: AnalysisOptions) -> str:
    """Return what a mean is of, where each cluster counts once; nothing where each unit does.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> weight_words(score(load("demo"), load_runs("demo")), AnalysisOptions(weight="participant"))
    "values are means of participants' means: each participant counts once"
    """
    if not options.weighs_clusters(table):
        return ""
    name = drawn(table, options)
    several = pluralize(name)
    return f"values are means of {several}'{'' if several.endswith('s') else 's'} means: each {name} counts once"


def counts_units(table: ScoreTable, options: AnalysisOptions) -> str:
    """Return why an analysis of single units is left out where each cluster counts once; nothing where it is not."""
    return f"counts each {table.provenance.unit} once (--weight unit)" if options.weighs_clusters(table) else ""


def interval_words(
    table: ScoreTable, options: AnalysisOptions, frame: pl.DataFrame | None = None, *, resampled: bool = False
) -> str:
    """Return what the intervals of an analysis are, and what a value is where each cluster counts once.

    With `resampled`, intervals are resampled even then. `frame` has the values of an analysis in which shares have
    intervals of their own, in columns ``metric, low, n, clusters``, as from `attune_bench.stats.summary.summary`.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> interval_words(score(load("demo"), load_runs("demo")), AnalysisOptions(level=0.9))
    '90% intervals by resampling participants (expanded percentile: wider for few participants)'
    """
    said, weight = f"{100 * options.level:g}% intervals by", weight_words(table, options)
    if weight and not resampled:
        said += f" Student's t over {pluralize(drawn(table, options))} (on the logit scale in a finite range); {weight}"
    else:
        units, kind = pluralize(drawn(table, options)), INTERVALS[options.interval]
        kind += f": wider for few {units}" if options.interval == "percentile-expanded" else ""
        kind += ", Poisson draws" if draws_poisson(table, options) else ""
        said = "; ".join(filter(None, (f"{said} resampling {units} ({kind})", weight)))
    return said if frame is None else ". ".join([said, *_share_words(table, options, frame)])


def expanded_words(units: str) -> str:
    """Return what an expanded percentile interval is; `units` are drawn."""
    return (
        "An expanded percentile interval lies between two quantiles of the resampled values. Both are further out than "
        f"the quantiles of a percentile interval, which is too narrow with few {units} (Hesterberg, 2015)."
    )


def _share_words(table: ScoreTable, options: AnalysisOptions, frame: pl.DataFrame) -> list[str]:
    """Return what the intervals of shares are, where these are of their own."""
    held = table.provenance
    sizes = frame.drop_nulls("low").select("metric", "n", "clusters").unique().rows()
    methods = {
        interval_method(table.metrics[name], options, table, n=n, clusters=clusters)
        for name, n, clusters in sizes
        if table.metrics[name].statistic == "share"
    }
    wilson, said = "wilson" in methods, []
    if wilson:
        alone = f" of {pluralize(held.unit)} of as many {pluralize(held.cluster)}" if len(methods) > 1 else ""
        said.append(f"Shares{alone} have Wilson intervals")
    if "logit-t" in methods:
        said.append(f"Those of {'other ' if wilson else ''}shares are by Student's t on the logit scale")
    return said


def random_words(exchanges: int, options: AnalysisOptions) -> str:
    """Return how many random exchanges were made, where they are not as many as the resamples; else nothing.

    Examples
    --------
    >>> random_words(120, AnalysisOptions(resamples=20)), random_words(500, AnalysisOptions(resamples=500))
    (', at most 120 times at random', '')
    """
    return f", at most {exchanges:,} times at random" if exchanges != options.resamples else ""


def in_words(table: ScoreTable, text: str) -> str:
    """Return a text of ours with the scores' words for unit, cluster and condition.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> in_words(score(load("demo"), load_runs("demo")), "Units within clusters, by condition")
    'Conversations within participants, by mode'
    """
    held = table.provenance
    words = {
        "unit": held.unit,
        "cluster": held.cluster if has_clusters(table) else held.unit,
        "condition": held.condition,
    }

    def word(found: re.Match[str]) -> str:
        own = words[found[1].lower()]
        own = pluralize(own) if found[2] else own
        return f"{own[:1].upper()}{own[1:]}" if found[1][0].isupper() else own

    return re.sub(r"\b(unit|cluster|condition)(s?)\b", word, text, flags=re.IGNORECASE)


def under_condition(table: ScoreTable, condition: str | None) -> str:
    """Return the end of a title that names the condition, empty without one."""
    return "" if condition is None else f", {table.provenance.condition} {condition}"


def words_under(table: ScoreTable, condition: str | None) -> str:
    """Return the end of a title that names the condition, empty where the scores have one alone."""
    return under_condition(table, condition) if len(table.conditions) > 1 else ""


def label(metric: Metric) -> str:
    """Return a metric's label, with its direction where lower values are better."""
    return f"{metric.label}{', lower is better' if metric.higher_is_better is False else ''}"


def profiled(table: ScoreTable, *, one_axis: bool = False) -> tuple[str, ...]:
    """Return the metrics with a finite range that reports list: a value is a part of the range.

    With `one_axis`, only those from 0 to 1: one axis can show them.

    Examples
    --------
    >>> from attune_bench import Scores
    >>> rows = {"model": ["m"] * 2, "unit": ["u"] * 2, "metric": ["hit", "error"], "value": [1.0, 3.0]}
    >>> profiled(Scores.from_table(pl.DataFrame(rows), metrics={"hit": {"low": 0, "high": 1}, "error": {"low": 0}}))
    ('hit',)
    """
    grouped = any(metric.group for metric in table.metrics.values())
    return tuple(
        name
        for name, metric in table.metrics.items()
        if isfinite(metric.high - metric.low)
        and metric.statistic in STATISTICS
        and not metric.own_scale
        and (metric.group or not grouped)
        and (not one_axis or (metric.low, metric.high, metric.scale) == (0, 1, 1))
    )


def swapped(row: Row) -> dict[str, Any]:
    """Return the comparison of two models as the comparison of the second with the first.

    Examples
    --------
    >>> swapped({"model_a": "a", "model_b": "b", "difference": 0.5, "low": 0.25, "high": 1.0, "n": 8})
    {'model_a': 'b', 'model_b': 'a', 'difference': -0.5, 'low': -1.0, 'high': -0.25, 'n': 8}
    """
    numbers = {"difference": "difference", "low": "high", "high": "low"}
    negated = {name: None if row[other] is None else -row[other] for name, other in numbers.items()}
    return {**row, "model_a": row["model_b"], "model_b": row["model_a"], **negated}


OVERLAP = (
    "Two models can differ significantly although their intervals overlap: pairs are tested on the {} that both have."
)
"""What a reader of overlapping intervals must know; with the plural of the unit."""


def any_overlap(rows: Iterable[tuple[float | None, float | None]]) -> bool:
    """Tell whether two intervals of several, (low, high), have a value in common.

    Examples
    --------
    >>> any_overlap([(0.1, 0.3), (0.5, 0.7), (None, None)]), any_overlap([(0.4, 0.6), (0.1, 0.4)])
    (False, True)
    """
    known = sorted((low, high) for low, high in rows if low is not None and high is not None)
    return any(high >= low for (_, high), (low, _) in pairwise(known))


def signs_of(pairs: Sequence[Mapping[str, Any]], metric: Metric) -> dict[tuple[str, str], int | None]:
    """Return by two models whether the first is significantly better (1), worse (-1) or neither (0), None untested."""
    found: dict[tuple[str, str], int | None] = {}
    for row in pairs:
        sign = row["significant"] and (metric.sign if row["difference"] > 0 else -metric.sign)
        found[row["model_a"], row["model_b"]] = sign if sign is None else int(sign)
        found[row["model_b"], row["model_a"]] = sign if sign is None else -int(sign)
    return found
