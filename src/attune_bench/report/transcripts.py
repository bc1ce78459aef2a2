"""Transcripts on a page: for each model the units with its best and its worst results, text by text.

What is shown and what is not
-----------------------------
Texts are shown only where they are asked for, only of the records that were scored, as their hashes tell, and only
where every licence allows passing them on; records that may not be shown are counted, with the reason. A transcript is
a single unit: where clusters are people, those of records that were not generated need ``small_cells`` too. What a
participant said about themself beside the conversation is not in a transcript.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from os import fsencode
from typing import Any
from urllib.parse import quote

from attune_bench.report.columns import Figure, Markup, Part, Section, number
from attune_bench.report.field_view import FIELD_VIEW
from attune_bench.report.page import asset, document, element, figure_element
from attune_bench.report.section_parts import PageScores
from attune_bench.report.standing import under
from attune_bench.report.suppression import hides
from attune_bench.report.tables import group_name, label
from attune_bench.report.transcript_folder import TranscriptFolder
from attune_bench.report.transcript_parts import TranscriptView, quiet
from attune_bench.runner.file_names import safe_name
from attune_bench.score_table import KEYS, ScoreTable, term_columns
from attune_bench.scored_records import Row, ScoredRecords
from attune_data.issues import Html, tag
from attune_data.publishing import canary, credits_of, named_licences, refusal
from attune_data.record import is_generated
from attune_data.references import resolve
from attune_data.text import plural
from attune_metrics.metric import Metric, MetricInputError
from attune_metrics.stats.bootstrap import PER_UNIT

__all__ = ["transcript_section"]

_TITLE = "Transcripts"
_EACH = 3
"""How many of the best results of a model are shown, and how many of the worst."""

_ENDS = (("best", "worst"), ("highest", "lowest"))
"""What the two ends of a list are called, where one direction is better and where neither is."""

_MOST_INLINE = 1_500_000
"""Bytes of transcripts that a page holds at most, half of the 3 MB that a page may have."""


@dataclass(frozen=True)
class _Pick:
    """A result that is shown: of which row, whether it is one of the best, its value."""

    row: Row
    why: str
    value: float


@dataclass(frozen=True)
class _Unit:
    """A unit of which results are shown: its file, its heading, what is shown, an anchor for each result."""

    file: str
    title: str
    summary: str
    content: Html
    anchors: dict[Row, str]


def transcript_section(
    page: PageScores,
    scores: ScoreTable,
    *,
    data: Sequence[Any] | None,
    results: Sequence[Any] | None,
    folder: TranscriptFolder | None = None,
) -> Section:
    """Return the section of the best and worst results of each model, or one that says why it has none.

    Parameters
    ----------
    page : PageScores
        What the page is about.
    scores : ScoreTable
        The scores as they were made, of which those of the page may be a part.
    data, results : sequence of record
        What was scored against and what was scored; data None for a benchmark without.
    folder : TranscriptFolder, optional
        Where transcripts go that are too large for the page; without it they all go on the page.

    Raises
    ------
    MetricInputError
        There are no results, these are not the records that were scored, or the benchmark does not say which result a
        score is of.
    """
    table = page.table
    if results is None:
        raise MetricInputError("transcripts need what was scored; give the results, and the data where there are any")
    records = ScoredRecords(scores, results=results, data=data, use="transcripts")
    view: TranscriptView = resolve(records.benchmark.transcripts) or FIELD_VIEW
    metric = table.metric(table.primary)
    if metric.statistic not in PER_UNIT:
        return Section(_TITLE, left_out=f"{metric.label} has no value of each {table.provenance.unit}")
    closed = {name: refusal(unit, needs_licence=True) for name, unit in records.units.items()}
    reasons = {row: _withheld(page, records, row, closed) for row in table.values.select(KEYS).iter_rows()}
    picks = [one for group in page.numbers for one in _picks(table, metric, group, reasons)]
    withheld = _withheld_words(records, reasons)
    if not picks:
        return Section(_TITLE, left_out="; ".join(withheld) or "no result has a value")
    units = _units(page, metric, records, view, picks, {row for row, why in reasons.items() if not why})
    beside = folder if folder and sum(len(unit.content.encode()) for unit in units) > _MOST_INLINE else None
    shown: list[Part] = [_intro(table, metric), Markup(_index(table, metric, units, picks, beside))]
    if withheld:
        shown.append(tuple(f"{one[0].upper()}{one[1:]}." for one in withheld))
    if beside:
        beside.files = {unit.file: _file(unit, beside) for unit in units}
        shown.append(f"The transcripts are in the folder {beside.name}, beside this page.")
    else:
        shown += [Markup(_folded(unit)) for unit in units]
    return Section(_TITLE, [*shown, *_terms(records, picks)])


def _withheld(page: PageScores, records: ScoredRecords, row: Row, closed: Mapping[str, str]) -> str:
    """Return why a result and what it was scored against are not shown; empty where they are.

    `closed` says by unit why its own texts may not be passed on.
    """
    result, unit = records.results[row], records.units.get(row[2])
    # Results that hold all there is are data, whose licence has to be known.
    if why := refusal(result, needs_licence=unit is None) or closed.get(row[2], ""):
        return why
    if hides(page.table, small_cells=page.small_cells) and not is_generated(result if unit is None else unit):
        return f"a transcript shows a single {page.table.provenance.unit} of a person (--small-cells)"
    return ""


def _withheld_words(records: ScoredRecords, reasons: Mapping[Row, str]) -> list[str]:
    """Say how many results are not shown, by reason; none is named."""
    counts = Counter(why for why in reasons.values() if why)
    made = records.made
    return [f"{plural(count, made.noun, made.plural)} not shown: {why}" for why, count in counts.items()]


def _picks(
    table: ScoreTable, metric: Metric, group: tuple[str, str | None], reasons: Mapping[Row, str]
) -> Iterator[_Pick]:
    """Yield the best and the worst results of a model, of those that may be shown; none is both."""
    model, condition = group
    rows = under(table.values, condition).filter(model=model)
    values = rows.select("unit", term_columns(metric)[0]).rows()
    sign = -metric.sign
    found = [
        (sign * value, unit)
        for unit, value in values
        if value is not None and isfinite(value) and not reasons[model, condition, unit]
    ]
    ranked = sorted(found)
    best = ranked[: min(_EACH, (len(ranked) + 1) // 2)]
    worst = sorted(ranked[len(best) :], key=lambda one: (-one[0], one[1]))[:_EACH]
    for why, picked in zip(_ENDS[metric.higher_is_better is None], (best, worst), strict=True):
        yield from (_Pick((model, condition, unit), why, sign * value) for value, unit in picked)


def _units(
    page: PageScores,
    metric: Metric,
    records: ScoredRecords,
    view: TranscriptView,
    picks: Sequence[_Pick],
    shown: Collection[Row],
) -> list[_Unit]:
    """Return the units of results that are shown, each once."""
    table, found = page.table, []
    for count, name in enumerate(dict.fromkeys(pick.row[2] for pick in picks), start=1):
        record = records.units.get(name)
        rows = [(*group, name) for group in page.numbers if (*group, name) in shown]
        together = {group_name(table, row[0], row[1]): records.results[row] for row in rows}
        parts = [*view.unit(record, together)]
        said, anchors = [], {}
        for place, pick in enumerate((one for one in picks if one.row[2] == name), start=1):
            called = group_name(table, *pick.row[:2])
            anchors[pick.row] = anchor = f"transcript-{count}-{place}"
            said.append(f"one of the {pick.why} of {called}")
            parts += [
                element(
                    "h3", f"{called}: {metric.label} {number(pick.value, metric)}, one of its {pick.why}", id=anchor
                ),
                *_scores_of(table, pick.row),
                *view.result(record, records.results[pick.row]),
            ]
        content = Html(
            "".join(figure_element(part, table.models) if isinstance(part, Figure) else part for part in parts)
        )
        found.append(_Unit(f"{count:03}-{safe_name([name], name)}.html", name, "; ".join(said), content, anchors))
    return found


def _scores_of(table: ScoreTable, row: Row) -> list[Html]:
    """Return what else is scored of a result, of the metrics of the board that have a value of each unit."""
    model, condition, unit = row
    [values] = under(table.values, condition).filter(model=model, unit=unit).to_dicts()
    metrics = [table.metric(name) for name in table.headline if name != table.primary]
    own = [(one, values[term_columns(one)[0]]) for one in metrics if one.statistic in PER_UNIT]
    lower = " (lower is better)"
    told = [
        f"{one.label} {number(value, one)}{lower if one.higher_is_better is False else ''}"
        for one, value in own
        if value is not None
    ]
    return [quiet(f"{'; '.join(told)}.")] if told else []


def _intro(table: ScoreTable, metric: Metric) -> str:
    first, last = _ENDS[metric.higher_is_better is None]
    return (
        f"For each model, up to {_EACH} {table.provenance.unit}s on which it has the {first} {label(metric)}, and up "
        f"to {_EACH} with the {last}; of equal ones the first by name. They are ends of a list, not a sample: what "
        "they have in common is no finding."
    )


def _index(
    table: ScoreTable, metric: Metric, units: Sequence[_Unit], picks: Sequence[_Pick], beside: TranscriptFolder | None
) -> Html:
    """Return what is shown of each model, with links."""
    place = {row: (unit, anchor) for unit in units for row, anchor in unit.anchors.items()}

    def item(pick: _Pick) -> Html:
        unit, anchor = place[pick.row]
        file = quote(fsencode(f"{beside.name}/{unit.file}")) if beside else ""
        link = element("a", element("bdi", unit.title), href=f"{file}#{anchor}")
        return element("li", f"{number(pick.value, metric)} ", link)

    rows = []
    for group in dict.fromkeys(pick.row[:2] for pick in picks):
        own = [pick for pick in picks if pick.row[:2] == group]
        lists = [
            element("dd", element("b", why), element("ul", *(item(pick) for pick in own if pick.why == why)))
            for why in dict.fromkeys(pick.why for pick in own)
        ]
        rows.append(element("div", element("dt", element("bdi", group_name(table, *group))), *lists))
    return element("dl", *rows, class_="picks")


def _folded(unit: _Unit) -> Html:
    """Return a unit as it is on the page itself."""
    summary = element("summary", element("bdi", unit.title), Html(" "), element("small", unit.summary))
    return element("details", summary, unit.content, class_="unit")


def _file(unit: _Unit, folder: TranscriptFolder) -> str:
    """Return a unit as a page of its own."""
    back = element("p", element("a", "Back to the report", href=quote(fsencode(f"../{folder.page}"))))
    body = [back, element("h1", unit.title), tag("p", unit.summary, kind="quiet")]
    return document(unit.title, [*body, element("div", unit.content, class_="unit")], style=asset("report.css"))


def _terms(records: ScoredRecords, picks: Sequence[_Pick]) -> list[str]:
    """Say under what the texts are passed on, whom to credit, and by what a model can be found to have seen them."""
    made = [records.results[pick.row] for pick in picks]
    given = [records.units[name] for name in dict.fromkeys(pick.row[2] for pick in picks) if name in records.units]
    kind = records.given or records.made
    found = [f"Licence of the texts: {'; '.join(stated)}." for stated in [named_licences([*given, *made])] if stated]
    if credit := credits_of([*given, *made]):
        found.append(f"Credit: {'; '.join(credit)}.")
        found += [kind.request] if kind.request else []
    return [*found, f"Not for training: {'; '.join(canary(given or made).texts)}."]
