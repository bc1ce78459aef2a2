"""The page of the data: what the records of a source, or of a subgroup of it, say; a subgroup against the others."""

import warnings
from collections.abc import Callable
from dataclasses import replace

import polars as pl

from attune_bench.report.columns import (
    Cell,
    Column,
    Folded,
    Part,
    Row,
    Section,
    Table,
    count_column,
    estimate_column,
    expanded_words,
    number_column,
    p_column,
    size_column,
    text_column,
)
from attune_bench.report.data_figures import figure_of, intervals, ordered, unit_of
from attune_bench.report.data_findings import findings, title
from attune_bench.report.document import Document
from attune_bench.report.elements import page
from attune_bench.report.measures import OTHERS, Family, MeasuredGroup, of_side, size_of
from attune_bench.report.privacy import few_strata, hides
from attune_bench.scores.provenance import fingerprint
from attune_bench.stats.options import MIN_CLUSTERS, AnalysisOptions, too_few
from attune_bench.stats.subgroups import strata_and_known
from attune_data.description import describe
from attune_data.issues import element
from attune_data.licences import named_licences
from attune_data.record import is_generated
from attune_data.text import plural, pluralize, sanitize
from attune_metrics.metric import Metric, SkewedScoresWarning


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
    sections = [_counts(asked), *_traits(asked), *sections]
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
        about = ": nothing here is about a real person" if all(generated) else " among real data"
        top.append(element("p", f"SYNTHETIC data{about}.", class_="notice"))
    said = [element("p", text, class_="lead" if not place else "") for place, text in enumerate(findings(asked))]
    return page(heading, top, shown, answer=element("div", *said, class_="answer"))


def _section(asked: MeasuredGroup, family: Family, frame: pl.DataFrame) -> Section:
    """Return the section of a family: its figure, and folded its numbers."""
    if frame["value"].is_null().all():
        return Section(family.title, left_out=f"every value rests on {too_few(asked.table)}")
    compared = asked.others is not None and frame["difference"].is_null().all()
    if compared and not family.places:
        return Section(family.title, left_out=f"every difference rests on {too_few(asked.table)}")
    parts: list[Part] = [family.about]
    parts.append(figure_of(asked, family, frame))
    return Section(family.title, [*parts, Folded("All numbers", [measure_table(asked, family, frame)])])


def measure_table(asked: MeasuredGroup, family: Family, frame: pl.DataFrame) -> Table:
    """Return the numbers of a family of measures as a table."""
    metrics = asked.table.metrics

    def of(row: Row) -> Metric:
        return metrics[row["metric"]]

    frame = ordered(family, frame)
    rows = [{**row, "measure": sanitize(of(row).label)} for row in frame.to_dicts()]

    def unit(metric: Callable[[Row], Metric]) -> str:
        return next((f", {found}" for row in rows if (found := unit_of(metric(row)))), "")

    columns = [text_column("measure", "measure", is_name=True)]
    if asked.others is not None:
        columns += [
            estimate_column(f"{asked.name}{unit(of)}", "value", of),
            estimate_column(f"{OTHERS}{unit(of)}", "other", of, low="other_low", high="other_high"),
            estimate_column("difference", "difference", of, low="difference_low", high="difference_high", signed=True),
            p_column("p", "p"), p_column("Holm p", "p_holm"),
        ]  # fmt: skip
        whole = [len(part) for part in asked.sides.values()]
        if any(row["n"] is not None and [row["n"], row["other_n"]] != whole for row in rows):
            columns.append(Column(_SIZES, _both_sizes))
    elif family.pairs:

        def end(row: Row) -> Metric:
            return metrics[family.pairs[row["metric"]][0]]

        first, second = family.ends
        columns += [
            number_column(f"{first}{unit(end)}", "first", end), number_column(f"{second}{unit(end)}", "second", end),
            estimate_column(f"{first} minus {second}", "value", of, signed=True),
            p_column("p", "p"), p_column("Holm p", "p_holm"), size_column(),
        ]  # fmt: skip
    else:
        columns += [estimate_column(family.axis, "value", of), size_column()]
    first = "The largest difference is first. " if asked.others is not None and not family.places else ""
    has_sizes = columns[-1].head == _SIZES
    return Table(_key(family), "", columns, rows, frame, (f"{first}{_note(asked, frame, has_sizes=has_sizes)}",))


def _both_sizes(row: Row) -> Cell:
    """Return how many records of the group, and of the others, have a value."""
    cells = [size_column().cell(of_side(row, side)) for side in ("", "other")]
    return Cell(", ".join(f"{one.text} {one.small}".rstrip() for one in cells), value=row["n"])


def _key(family: Family) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in family.title.lower())


_SIZES = "n"


def _note(asked: MeasuredGroup, frame: pl.DataFrame | None = None, *, has_sizes: bool = True) -> str:
    """Return the sentences below a table of measures, or without a frame below several."""
    held = asked.table.provenance
    units, clusters = pluralize(held.unit), pluralize(held.cluster)
    said, sides = f"In brackets: {intervals(asked)}.", ""
    tests = "tests of each table" if frame is None else ""
    if frame is not None and "p" in frame.columns:
        tests = f"{plural(frame['p'].count(), 'test')} of this table"
    if asked.others is not None:
        said += (
            f" Difference: {asked.name} minus {OTHERS}, unpaired, and rounded after the subtraction. p: by the "
            f"bootstrap, in which the {clusters} of both sides are drawn: 1 - p is the level at which the interval of "
            f"the difference ends at 0. Holm p: p corrected for the {tests}; intervals are not corrected."
        )
        sides = f": of the group, then of {OTHERS}"
    elif tests:
        said += f" p: by exchanging the two within each {held.cluster}. Holm p: p corrected for the {tests}; intervals"
        said += " are not corrected."
    if has_sizes:
        said += f" n: {units} with a value, and in brackets their {clusters} where these are fewer{sides}."
    return said


def _counts(asked: MeasuredGroup) -> Section:
    """Return how many records, people and parts of records there are, in the group and in the others."""
    sides = asked.counts
    described = next(iter(sides.values()))
    names = [name for name in described if name != "synthetic" and isinstance(described[name], int)][:2]
    rows: list[Row] = [{"what": name, **{side: one[name] for side, one in sides.items()}} for name in names]
    rows += [
        {"what": part, **{side: one["counts"][part]["total"] for side, one in sides.items()}}
        for part in described["counts"]
    ]
    columns = [text_column("number of", "what"), *(count_column(side, side) for side in sides)]
    tables: list[Part] = [Table("counts", "", columns, rows)]
    if asked.measures is not None and (diagnoses := _people_by(asked, "diagnoses")):
        note = f"{pluralize(asked.table.provenance.cluster)} with the diagnosis; a person can have several."
        if not asked.small_cells:
            note += f" {_FEW}: a number below {MIN_CLUSTERS}, or one from which such a number would follow."
        columns = [text_column("diagnosis", "what", is_name=True), *(_few_column(side) for side in sides)]
        tables.append(Table("diagnoses", "", columns, diagnoses, notes=(note[:1].upper() + note[1:],)))
    return Section("Counts", tables)


_FEW = "few"


def _few_column(side: str) -> Column:
    return Column(side, lambda row: Cell(_FEW if row[side] is None else f"{row[side]:,}", value=row[side]))


def _people_by(asked: MeasuredGroup, trait: str) -> list[Row]:
    """Return the people by the values of a trait on each side; None is a number that is hidden, on all sides."""
    hidden: set[str] = set()
    strata, known = strata_and_known(asked.records, trait)
    if hides(asked.table, small_cells=asked.small_cells):
        hidden.update(*(few_strata(asked.table, part.unit_ids, strata, known) for part in asked.sides.values()))
    rows: list[Row] = []
    for value in strata:
        people = [one["traits"][trait].get(value, {}).get("participants", 0) for one in asked.counts.values()]
        if any(people):
            shown = [None] * len(people) if value in hidden else people
            rows.append({"what": sanitize(value), **dict(zip(asked.sides, shown, strict=True))})
    return rows


def _traits(asked: MeasuredGroup) -> list[Section]:
    """Return the counts of traits, where records are not of people, of whom counts can tell."""
    traits = next(iter(asked.counts.values()))["traits"]
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
        drawing = (
            f"A value is a mean over {pluralize(unit)}: a {cluster} with two counts twice. {intervals(asked)}: "
            f"{pluralize(cluster)} are drawn, each with all their {pluralize(unit)}, {chosen.resamples:,} times, seed "
            f"{chosen.seed}."
        )
        if chosen.interval == "percentile-expanded":
            drawing += f" {expanded_words(pluralize(cluster))}"
        said.append(drawing)
        if asked.others is not None:
            said.append(
                f"{OTHERS[:1].upper()}{OTHERS[1:]} are all {pluralize(unit)} that are not in the group and have a "
                "known value of the traits that it was chosen by; they are no control group. Groups differ in more "
                "than these traits: a difference is observed, not caused."
            )
        if hides(asked.table, small_cells=asked.small_cells):
            said.append(
                f"Values that rest on fewer than {MIN_CLUSTERS} {pluralize(cluster)}, and values from which such a "
                "value would follow, are not shown; what few of them have is counted together. Privacy: what one page "
                "hides can follow from two pages of groups that overlap. Pass on one page only."
            )
        if skewed:
            said.append(
                f"Warning: some means and differences depend on a few {pluralize(unit)} with values far from the rest. "
                f"With so few {pluralize(cluster)}, intervals of such values miss the true value more often than their "
                "level says, and tests err more often."
            )
    licences = named_licences(asked.part)
    stated = f"Licence: {'; '.join(licences)}." if licences else f"The {kind.plural} state no licence."
    shared = f"Fingerprint, equal for equal data: {fingerprint(asked.records)}."
    said.append(f"Made from {size_of(describe(asked.records))}. {stated} {shared}")
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
