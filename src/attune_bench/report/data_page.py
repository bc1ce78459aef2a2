"""The page of the data: what the records of a source, or of a subgroup of it, say; a subgroup against the others."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Any

import polars as pl

from attune_bench.report import drawing
from attune_bench.report.columns import (
    Cell,
    Column,
    Figure,
    Folded,
    Part,
    Row,
    Section,
    Table,
    count_column,
    estimate_column,
    interval_words,
    number,
    number_column,
    p_column,
    p_value,
    size_column,
    text_column,
)
from attune_bench.report.document import Document
from attune_bench.report.drawing import MUTED, ORANGE, SKY
from attune_bench.report.elements import page
from attune_bench.report.measures import OF_OTHERS, OTHERS, Family, MeasuredGroup, Place, size_of
from attune_bench.report.plots import Axis, Line, LinePanel, LinePlot, Mark, PlotRow, RowPlot, axis_of
from attune_bench.report.privacy import hides
from attune_bench.scores.provenance import fingerprint
from attune_bench.stats.options import ALPHA, FEW, MIN_CLUSTERS, AnalysisOptions, ScoreSeries, too_few
from attune_data.description import describe
from attune_data.issues import element
from attune_data.licences import named_licences
from attune_data.record import is_generated
from attune_data.text import plural, pluralize, sanitize, width
from attune_metrics.metric import Metric, SkewedScoresWarning

_MOST_DRAWN = 12


def data_html(asked: MeasuredGroup) -> str:
    """Return the page of the data as HTML, which makes no request.

    Examples
    --------
    >>> from attune_bench.benchmarks.attunebench.measures import measures
    >>> from attune_bench.report.measures import measured_group
    >>> from attune_data import load
    >>> conversations = load("demo")
    >>> asked = measured_group(conversations, {"diagnosis": ["ADHD"]}, measures=measures(conversations), resamples=200)
    >>> "<h1>Diagnosis ADHD: 8 conversations by 6 participants</h1>" in data_html(asked)
    True
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sections = [_section(asked, family, frame) for family, frame in asked.families]
    skewed = any(issubclass(one.category, SkewedScoresWarning) for one in caught)
    sections += [_counts(asked), *_traits(asked)]
    for family in asked.measures.families if asked.measures else ():
        if not asked.shown(family):
            sections.append(Section(family.title, left_out=f"each rests on {too_few(asked.table)}"))
    sections.append(_methods(asked, skewed=skewed))
    left_out = [f"{section.title}: {section.left_out}" for section in sections if not section.parts]
    shown = [section for section in sections if section.parts]
    if left_out:
        shown.append(Section("Not on this page", [tuple(left_out)]))
    heading = title(asked)
    top = [element("h1", heading)]
    top += [] if asked.sizes() == heading else [element("p", f"{asked.sizes()}.", class_="quiet")]
    generated = [is_generated(record) for record in asked.records]
    if any(generated):
        whose = ": nothing here is about a real person" if all(generated) else " among real data"
        top.append(element("p", f"SYNTHETIC data{whose}.", class_="notice"))
    said = [element("p", text, class_="lead" if not place else "") for place, text in enumerate(findings(asked))]
    return page(heading, top, shown, answer=element("div", *said, class_="answer"))


def title(asked: MeasuredGroup) -> str:
    """Return the heading of the page: of a comparison its result, else what the records are."""
    if asked.others is None:
        return f"{asked.name}: {size_of(asked.part)}" if asked.name else size_of(asked.part)
    apart, tests = _apart(asked)
    if apart:
        return f"{asked.name} and {OTHERS} differ in {len(apart)} of {plural(tests, 'measure')}"
    if not any(_reaches(frame) for _, frame in asked.families):
        return f"{asked.name} and {OTHERS}: too few {pluralize(asked.table.provenance.cluster)} to show a difference"
    return f"{asked.name} and {OTHERS}: no significant difference"


def _apart(asked: MeasuredGroup) -> tuple[list[tuple[Family, Row]], int]:
    """Return the significant tests of the page, the smallest p first, and how many tests there are."""
    rows = [(family, row) for family, frame in asked.families if "p" in frame.columns for row in frame.to_dicts()]
    tested = [(family, row) for family, row in rows if row["p"] is not None]
    apart = [(family, row) for family, row in tested if row["p_holm"] < ALPHA]
    return sorted(apart, key=lambda one: (one[1]["p_holm"], one[1]["metric"])), len(tested)


def _reaches(frame: pl.DataFrame) -> bool:
    """Tell whether any test of a family could have been significant after Holm's correction."""
    return "p" in frame.columns and _least(frame) < ALPHA


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
    series = ScoreSeries(asked.table)
    few = min(series.count(series.mask(set(units))) for units in (asked.own, asked.others) if units)
    if few < FEW:
        group = "smaller group" if asked.others is not None else "group"
        said.append(
            f"The {group} has only {plural(few, asked.table.provenance.cluster)}: intervals of skewed values contain "
            "the true value less often than their level says, and only large differences can be significant."
        )
    return said


_NAMED = 3


def _difference_findings(asked: MeasuredGroup) -> list[str]:
    apart, tests = _apart(asked)
    if not tests:
        return ["No difference could be tested."]
    found = []
    for family, row in apart[:_NAMED]:
        metric = asked.table.metrics[row["metric"]]
        values = f"{_value(row['value'], metric)} against {_value(row['other'], metric)}"
        found.append(f"{family.title}, {_quoted(metric.label)}: {values}, Holm p {p_value(row['p_holm'])}.")
    if len(apart) > _NAMED:
        found.append(f"{len(apart) - _NAMED} more differ.")
    if not apart:
        found.append(f"None of {plural(tests, 'difference')} is significant after Holm's correction.")
    if unreached := sum(frame["p"].count() for _, frame in asked.families if not _reaches(frame)):
        people = pluralize(asked.table.provenance.cluster)
        found.append(
            f"{plural(unreached, 'difference')} could not be significant, however large: their sections have too many "
            f"tests for so few {people}."
        )
    sections = sum(frame["p"].count() > 0 for _, frame in asked.families)
    found.append(f"p-values are corrected within each of {plural(sections, 'section')}, not over all of them.")
    return found


def _value(value: float, metric: Metric) -> str:
    return f"{number(value, metric)}{'%' if metric.scale == _PERCENT else ''}"


_PERCENT = 100


def _quoted(label: str) -> str:
    return f'"{label}"' if label.endswith("?") else label


def _pair_finding(asked: MeasuredGroup, family: Family, frame: pl.DataFrame) -> str:
    both = " and ".join(family.ends)
    both = f"{both[:1].upper()}{both[1:]}"
    tested = frame.drop_nulls("p")
    apart = tested.filter(pl.col("p_holm") < ALPHA)
    counted = f"{len(apart)} of {plural(len(tested), family.noun)}"
    if apart.is_empty():
        none = f"{both} do not differ significantly in any {family.noun} of {len(tested)}"
        if not _reaches(frame):
            none += f", and could not: the smallest possible Holm p is {p_value(_least(frame))}"
        return f"{none}."
    widest = max(apart.to_dicts(), key=lambda row: abs(row["value"]))
    metric, end = asked.table.metrics[widest["metric"]], asked.table.metrics[family.pairs[widest["metric"]][0]]
    first, second = family.ends
    values = f"{first} {_value(widest['first'], end)}, {second} {_value(widest['second'], end)}"
    return f"{both} differ significantly in {counted}; most in {_quoted(metric.label)}: {values}."


def _section(asked: MeasuredGroup, family: Family, frame: pl.DataFrame) -> Section:
    """Return the section of a family: its figure, and folded its numbers."""
    if frame["value"].is_null().all():
        return Section(family.title, left_out=f"every value rests on {too_few(asked.table)}")
    parts: list[Part] = [family.about]
    if family.places:
        parts.append(_line_figure(asked, family, frame))
    elif asked.others is not None:
        parts.append(_difference_figure(asked, frame))
    elif family.pairs:
        parts.append(_pair_figure(asked, family, frame))
    else:
        parts.append(_value_figure(asked, family, frame))
    return Section(family.title, [*parts, Folded("All numbers", [measure_table(asked, family, frame)])])


def measure_table(asked: MeasuredGroup, family: Family, frame: pl.DataFrame) -> Table:
    """Return the numbers of a family of measures as a table."""
    metrics = asked.table.metrics

    def of(row: Row) -> Metric:
        return metrics[row["metric"]]

    rows = [{**row, "measure": sanitize(of(row).label)} for row in frame.to_dicts()]
    unit = ", %" if any(of(row).scale == _PERCENT for row in rows) else ""
    columns = [text_column("measure", "measure", is_name=True)]
    if asked.others is not None:
        columns += [
            estimate_column(f"{asked.name}{unit}", "value", of),
            estimate_column(f"{OTHERS}{unit}", "other", of, low="other_low", high="other_high"),
            estimate_column("difference", "difference", of, low="difference_low", high="difference_high", signed=True),
            p_column("Holm p", "p_holm"),
        ]  # fmt: skip
        whole = len(asked.own), len(asked.others)
        if any(row["n"] is not None and (row["n"], row["other_n"]) != whole for row in rows):
            columns.append(Column("n", _both_sizes))
    elif family.pairs:

        def end(row: Row) -> Metric:
            return metrics[family.pairs[row["metric"]][0]]

        first, second = family.ends
        columns += [
            number_column(f"{first}{unit}", "first", end), number_column(f"{second}{unit}", "second", end),
            estimate_column(f"{first} minus {second}", "value", of, signed=True),
            p_column("Holm p", "p_holm"), size_column(),
        ]  # fmt: skip
    else:
        columns += [estimate_column(family.axis, "value", of), size_column()]
    return Table(_key(family), "", columns, rows, frame, (_note(asked, frame),))


def _both_sizes(row: Row) -> Cell:
    """Return how many records of the group, and of the others, have a value."""
    own, others = (size_column().cell({"n": row[n], "clusters": row[of]}) for n, of in _SIZES)
    return Cell(f"{own.text} {own.small}, {others.text} {others.small}".replace(" ,", ",").rstrip(), value=row["n"])


_SIZES = (("n", "clusters"), ("other_n", "other_clusters"))


def _key(family: Family) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in family.title.lower())


def _note(asked: MeasuredGroup, frame: pl.DataFrame | None = None) -> str:
    """Return the sentences below a table of measures, or without a frame below several."""
    held = asked.table.provenance
    units, clusters = pluralize(held.unit), pluralize(held.cluster)
    said = f"In brackets: {_intervals(asked)}."
    tests = "tests of each table" if frame is None else ""
    if frame is not None and "p" in frame.columns:
        tests = f"{plural(frame['p'].count(), 'test')} of this table"
    if asked.others is not None:
        said += (
            f" Difference: {asked.name} minus {OTHERS}, unpaired. Holm p: by resampling the {clusters} of both, "
            f"corrected for the {tests}. n: {units} ({clusters}) of the group and of {OTHERS}; without a column, all."
        )
        return said
    if tests:
        said += f" Holm p: by exchanging the two within each {held.cluster}, corrected for the {tests}."
    return f"{said} n: {units} ({clusters})."


# Figures.


_STEP = 46
"""How high the row of a sentence is, in pixels: there is room for three lines."""
_GROUP, _REST = ("circle", SKY), ("square", ORANGE)


_LONG = 34  # columns of a name that fits one line


def _row_plot(
    asked: MeasuredGroup,
    rows: Sequence[tuple[Row, list[Mark]]],
    axis: Axis,
    lines: Mapping[str, float],
    key: Sequence[tuple[Mark, str]] = (),
) -> RowPlot:
    """Return a figure with a row for each measure."""
    labels = [asked.table.metrics[row["metric"]].label for row, _ in rows]
    sentences = any(width(label) > _LONG for label in labels)
    found = [PlotRow(name=label, marks=[marks]) for label, (_, marks) in zip(labels, rows, strict=True)]
    return RowPlot(rows=found, axes=[axis], lines=lines, key=key, step=_STEP if sentences else 24, sentences=sentences)


def _estimates(asked: MeasuredGroup, frame: pl.DataFrame, title: str, middle: float | None, said: str) -> RowPlot:
    """Return a figure of values with their intervals; `said` is the text before the numbers of a mark."""
    known = frame.to_dicts()
    metric = asked.table.metrics[known[0]["metric"]]
    if said:
        metric = replace(metric, low=-inf, high=inf)
    ends = [row[end] for row in known for end in ("value", "low", "high")]
    axis = axis_of([*ends, *([] if middle is None else [middle])], metric, title)
    rows = []
    for row in known:
        of = asked.table.metrics[row["metric"]]
        text = f"{of.label}: {said}{drawing.shown(row, 'value', metric, signed=bool(said))}{row.get('beside', '')}"
        [own] = drawing.scaled([row], metric, "value", "low", "high")
        rows.append((row, [Mark(at=own["value"], low=own["low"], high=own["high"], text=text)]))
    return _row_plot(asked, rows, axis, {} if middle is None else {"": middle * metric.scale})


def _intervals(asked: MeasuredGroup) -> str:
    return interval_words(asked.table, AnalysisOptions(**asked.options))


def _bars(asked: MeasuredGroup) -> str:
    return f"Lines through the points are {_intervals(asked)}."


def _value_figure(asked: MeasuredGroup, family: Family, frame: pl.DataFrame) -> Figure:
    chance = "" if family.middle is None else " The broken line is no preference."
    plot = _estimates(asked, frame.drop_nulls("value"), family.axis, family.middle, "")
    return Figure(plot, f"{_bars(asked)}{chance}")


def _difference_figure(asked: MeasuredGroup, frame: pl.DataFrame) -> Figure:
    ordered = frame.drop_nulls("difference").sort(pl.col("difference").abs(), descending=True, maintain_order=True)
    first = f"The {_MOST_DRAWN} largest differences. " if ordered.height > _MOST_DRAWN else ""
    found = ordered.head(_MOST_DRAWN)
    tested = [f", Holm p {p_value(p)}" for p in found["p_holm"]]
    found = found.with_columns(
        pl.Series("beside", tested, pl.String), value="difference", low="difference_low", high="difference_high"
    )
    metric = asked.table.metrics[found["metric"][0]]
    title = "difference, percentage points" if metric.scale == _PERCENT else "difference"
    plot = _estimates(asked, found, title, 0.0, "difference ")
    return Figure(plot, f"{first}{asked.name} minus {OTHERS}. {_bars(asked)}")


def _pair_figure(asked: MeasuredGroup, family: Family, frame: pl.DataFrame) -> Figure:
    ordered = frame.drop_nulls(["first", "second"]).sort(pl.col("value").abs(), descending=True, maintain_order=True)
    first, second = family.ends
    known = ordered.head(_MOST_DRAWN).to_dicts()
    end = asked.table.metrics[family.pairs[known[0]["metric"]][0]]
    axis = axis_of([row[key] for row in known for key in ("first", "second")], end, family.axis)
    looks: Mapping[str, Any] = {
        "second": {"shape": "circle", "colour": SKY, "is_hollow": True},
        "first": {"shape": "diamond", "colour": ORANGE},
    }
    rows = []
    for row in known:
        metric = asked.table.metrics[row["metric"]]
        text = (
            f"{metric.label}: {first} {number(row['first'], end)}, {second} {number(row['second'], end)}; "
            f"difference {drawing.shown(row, 'value', metric, signed=True)}, Holm p {p_value(row['p_holm'])}"
        )
        at = {key: row[key] * end.scale for key in looks}
        joined = Mark(at=None, low=min(at.values()), high=max(at.values()), text=text, colour=MUTED)
        rows.append((row, [joined, *(Mark(at=at[key], text=text, **look) for key, look in looks.items())]))
    key = [(Mark(at=0, text="", **look), {"first": first, "second": second}[name]) for name, look in looks.items()]
    widest = f"The {_MOST_DRAWN} widest gaps. " if ordered.height > _MOST_DRAWN else ""
    caption = f"{widest}Intervals and tests of the differences are in the table."
    return Figure(_row_plot(asked, rows, axis, {}, key), caption)


def _line_figure(asked: MeasuredGroup, family: Family, frame: pl.DataFrame) -> Figure:
    """Return measures as lines over positions; where two groups are compared, a panel for each line."""
    sides = {asked.name or "all": {key: key for key in OF_OTHERS}}
    if asked.others is not None:
        sides[OTHERS] = OF_OTHERS
    positions = sorted({place.position for place in family.places.values()})
    rows = {family.places[row["metric"]]: row for row in frame.to_dicts() if row["metric"] in family.places}

    def line(name: str, side: str, called: str, look: tuple[str, str]) -> Line:
        states: list[float | None] = []
        texts: list[str] = []
        band: list[tuple[float, float] | None] = []
        for position in positions:
            row = rows.get(Place(name, position), {})
            own = {key: row.get(column) for key, column in sides[side].items()}
            if own["value"] is None:
                states.append(None)
                texts.append("")
                band.append(None)
                continue
            metric = asked.table.metrics[row["metric"]]
            texts.append(
                f"{metric.label}, {side}: {drawing.shown(own, 'value', metric)}, {drawing.sizes(asked.table, own)}"
            )
            [scaled] = drawing.scaled([own], metric, "value", "low", "high")
            states.append(scaled["value"])
            band.append(None if scaled["low"] is None else (scaled["low"], scaled["high"]))
        return Line(name=called, states=states, texts=texts, band=band, shape=look[0], colour=look[1])

    names = list(dict.fromkeys(place.line for place in family.places.values()))
    looks = (_GROUP, _REST, ("diamond", MUTED))
    if asked.others is None:
        lines = [line(name, asked.name or "all", name, look) for name, look in zip(names, looks, strict=False)]
        panels = [LinePanel(title=family.axis, lines=lines)]
    else:
        panels = [
            LinePanel(
                title=f"{name}: {family.axis}",
                lines=[line(name, side, side, look) for side, look in zip(sides, looks, strict=False)],
            )
            for name in names
        ]
    plot = LinePlot(panels=panels, first=positions[0], last=positions[-1], height=200)
    words = f"By {family.position}, from {positions[0]}. Bands are {_intervals(asked)}."
    return Figure(plot, words)


# Sections without measures.


def _counts(asked: MeasuredGroup) -> Section:
    counts = describe(asked.part)["counts"]
    if not counts:
        return Section("Counts", left_out=f"{asked.records.kind.plural} have no parts that are counted")
    rows = [{"part": name, "total": one["total"], "median": one["median"]} for name, one in counts.items()]
    each = f"median of a {asked.records.kind.noun}"
    columns = [
        text_column("part", "part"),
        count_column("total", "total"),
        Column(each, lambda row: Cell(f"{row['median']:g}", value=row["median"])),
    ]
    return Section("Counts", [Table("counts", "", columns, rows)])


def _traits(asked: MeasuredGroup) -> list[Section]:
    """Return the counts of traits, where records are not of people, of whom counts can tell."""
    traits = describe(asked.part)["traits"]
    if asked.measures is not None or not traits:
        return []
    tables: list[Part] = []
    for trait, values in traits.items():
        names = list(next(iter(values.values()), {}))
        columns = [text_column(trait.replace("_", " "), "name", is_name=True)]
        columns += [count_column(name, name) for name in names]
        tables.append(Table(trait, "", columns, [{"name": name, **own} for name, own in values.items()]))
    return [Section("Traits", tables)]


def _methods(asked: MeasuredGroup, *, skewed: bool) -> Section:
    said: list[Part] = []
    kind = asked.records.kind
    if asked.measures is not None:
        held, chosen = asked.table.provenance, AnalysisOptions(**asked.options)
        unit, cluster = held.unit, held.cluster
        said.append(
            f"A value is a mean over {pluralize(unit)}. {_intervals(asked)}: {pluralize(cluster)} are drawn, each with "
            f"all their {pluralize(unit)}, {chosen.resamples:,} times, seed {chosen.seed}."
        )
        if asked.others is not None:
            said.append(
                f"{OTHERS[:1].upper()}{OTHERS[1:]} are all {pluralize(unit)} that are not in the group and have a "
                "known value of the traits that it was chosen by. Groups differ in more than these traits: a "
                "difference is observed, not caused."
            )
        if hides(asked.table, small_cells=asked.small_cells):
            said.append(
                f"Values that rest on fewer than {MIN_CLUSTERS} {pluralize(cluster)}, and values from which such a "
                "value would follow, are not shown; what few of them have is counted together. Several pages taken "
                "together can tell more than one."
            )
        if skewed:
            said.append(
                "Warning: few far values decide some of the means and differences. With so few people, intervals of "
                "such values miss the true value more often than their level says, and tests err more often."
            )
    licences = named_licences(asked.part)
    stated = f"Licence: {'; '.join(licences)}." if licences else f"The {kind.plural} state no licence."
    said.append(f"Made from {size_of(asked.records)}, data {fingerprint(asked.records)}. {stated}")
    return Section("Methods", said)


def data_document(asked: MeasuredGroup) -> Document:
    """Return the comparison of a group with the others as tables for a terminal.

    Examples
    --------
    >>> from attune_bench.benchmarks.attunebench.measures import measures
    >>> from attune_bench.report.measures import measured_group
    >>> from attune_data import load
    >>> conversations = load("demo")
    >>> known = measures(conversations)
    >>> asked = measured_group(conversations, {"diagnosis": ["ADHD"]}, measures=known, compare=True, resamples=200)
    >>> data_document(asked).head.partition(". ")[0]
    'Diagnosis ADHD: 8 conversations by 6 participants; the others: 32 conversations by 18 participants'
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        families = asked.families
    tables = [replace(measure_table(asked, family, frame), title=family.title, notes=()) for family, frame in families]
    generated = any(map(is_generated, asked.part))
    return Document(
        tables=tables,
        head=f"{asked.sizes()}. {title(asked)}.",
        notes=[_note(asked), *(["SYNTHETIC data."] if generated else [])],
        metadata={"group": asked.name, "others": OTHERS, "synthetic": generated},
    )
