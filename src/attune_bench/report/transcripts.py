"""Transcripts on a page: for each model the units with its best and its worst results, text by text.

Shown and withheld texts
------------------------
A page shows texts on request only, only of the records that were scored (their hashes agree), and only where every
licence allows passing them on; the page counts the other records, with the reason. A transcript shows a single unit:
where clusters are people, records that were not generated need ``small_cells`` too. A transcript never has what a
participant said about themself outside the conversation.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from os import fsencode
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from attune_bench.report.columns import Figure, Markup, Section, label, number
from attune_bench.report.columns import Part as PagePart
from attune_bench.report.drawing import MUTED
from attune_bench.report.elements import asset, document, figure_element
from attune_bench.report.plots import Line, LinePanel, LinePlot, looks
from attune_bench.report.privacy import terms_of, withheld_reasons
from attune_bench.report.tables import group_name, under
from attune_bench.runner.calls import safe_name
from attune_bench.scores.benchmark import Benchmark
from attune_bench.scores.records import Row, ScoredRecords
from attune_bench.scores.table import ScoreTable, term_columns
from attune_data.collection import Kind
from attune_data.display import Part, fields_parts, parts_html
from attune_data.io.documents import whole_folder
from attune_data.issues import Html, element
from attune_data.record import is_generated
from attune_data.references import resolve
from attune_data.text import plural, pluralize
from attune_metrics.metric import PER_UNIT, Metric, MetricInputError

if TYPE_CHECKING:
    from attune_bench.report.page_scores import PageScores

_NAME = re.compile(r"\d{3,}-.*\.html", re.DOTALL)


@dataclass
class TranscriptFolder:
    """A folder beside a page.

    Attributes
    ----------
    name : str
        Its name.
    page : str
        The name of the page.
    files : dict of str to str
        Once the page is made, what goes into the folder, by name; empty where the page holds everything.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as beside:
    ...     folder = TranscriptFolder(name="page-transcripts", page="page.html", files={"001-c1.html": ""})
    ...     folder.write(Path(beside))
    ...     [path.name for path in Path(beside, "page-transcripts").iterdir()]
    ['001-c1.html']
    """

    name: str
    page: str
    files: dict[str, str] = field(default_factory=dict)

    def check(self, parent: Path) -> None:
        """Refuse to write where something is that is no transcript.

        Raises
        ------
        FileExistsError
            Where a file has the name, or a folder that holds anything else than transcripts.
        """
        target = parent / self.name
        if target.is_symlink() or (target.exists() and not target.is_dir()):
            raise FileExistsError(f"{target} is in the way of the transcripts; move it")
        if target.is_dir():
            others = sorted(one.name for one in target.iterdir() if not (_NAME.fullmatch(one.name) and one.is_file()))
            if others:
                raise FileExistsError(f"{target} has {others[0]}, which is no transcript; move it")

    def write(self, parent: Path) -> None:
        """Write the files into the folder, in the place of earlier transcripts; all of them or none.

        Parameters
        ----------
        parent : path
            The folder that the page is in.

        Raises
        ------
        FileExistsError
            As `check`.
        OSError
            Where the folder cannot be written.
        """
        self.check(parent)
        with whole_folder(parent / self.name, replace=True) as made:
            for name, text in self.files.items():
                (made / name).write_bytes(text.encode())


_TITLE = "Transcripts"
_EACH = 3
"""How many of the best results of a model are shown, and how many of the worst."""

_ENDS = (("best", "worst"), ("highest", "lowest"))
"""What the two ends of a list are called, where one direction is better and where neither is."""

_MOST_INLINE = 1_500_000
"""Bytes of transcripts that a page holds at most, half of the 3 MB that a page may have."""


@dataclass(frozen=True)
class _Pick:
    """A result to show: its row, whether it is one of the best, its value."""

    row: Row
    why: str
    value: float


@dataclass(frozen=True)
class _Unit:
    """A unit with results to show: its file, heading and content, and an anchor for each result."""

    file: str
    title: str
    summary: str
    content: Html
    anchors: dict[Row, str]


def records_to_quote(
    scores: ScoreTable,
    benchmark: Benchmark | None,
    data: Sequence[Any] | None,
    results: Sequence[Any] | None,
    *,
    is_asked: bool,
) -> ScoredRecords | None:
    """Return the records to quote from; None where transcripts are not asked for and no generated records are given.

    Raises
    ------
    MetricInputError
        Transcripts are asked for, and there are no results, these are not the records that were scored, or the
        benchmark does not say which result a score is of.
    """
    if is_asked and results is None:
        raise MetricInputError("transcripts need what was scored; give the results, and the data where there are any")
    if results is None or not (is_asked or any(map(is_generated, data or ()))):
        return None
    try:
        return ScoredRecords(scores, benchmark=benchmark, results=results, data=data, use="transcripts")
    except MetricInputError:
        if is_asked:
            raise
        return None


def transcript_section(page: "PageScores", records: ScoredRecords, folder: TranscriptFolder | None = None) -> Section:
    """Return the section of the best and worst results of each model, or one that says why it has none.

    Parameters
    ----------
    page : PageScores
        The scores and options of the page.
    records : ScoredRecords
        What was scored.
    folder : TranscriptFolder, optional
        Where transcripts go that are too large for the page; without it they all go on the page.
    """
    table = page.table
    of_units = [one for one in (table.primary, *table.headline) if table.metric(one).statistic in PER_UNIT]
    if not of_units:
        label_of = table.metric(table.primary).label
        return Section(_TITLE, left_out=f"{label_of} has no value of each {table.provenance.unit}")
    metric = table.metric(of_units[0])
    reasons = withheld_reasons(table, records, small_cells=page.small_cells)
    picks = [one for group in page.numbers for one in _picks(table, metric, group, reasons)]
    counts, made = Counter(filter(None, reasons.values())), records.made
    suppressed = [f"{plural(count, made.noun, made.plural)} not shown: {why}" for why, count in counts.items()]
    if not picks:
        return Section(_TITLE, left_out="; ".join(suppressed) or "no result has a value")
    units = _units(page, metric, records, picks, {row for row, why in reasons.items() if not why})
    beside = folder if folder and sum(len(unit.content.encode()) for unit in units) > _MOST_INLINE else None
    shown: list[PagePart] = [_intro(table, metric), Markup(_index(table, metric, units, picks, beside))]
    if suppressed:
        shown.append(tuple(f"{one[0].upper()}{one[1:]}." for one in suppressed))
    if beside:
        beside.files = {unit.file: _file(unit, beside) for unit in units}
        shown.append(f"The transcripts are in the folder {beside.name}, beside this page.")
    else:
        shown += [Markup(_folded(unit)) for unit in units]
    return Section(_TITLE, [*shown, *terms_of(records, [pick.row for pick in picks])])


def _picks(
    table: ScoreTable, metric: Metric, group: tuple[str, str | None], reasons: Mapping[Row, str]
) -> Iterator[_Pick]:
    """Yield the best and the worst results of a model, of those that may be shown; none is both."""
    model, condition = group
    rows = under(table.values, condition).filter(model=model)
    values = rows.select("unit", term_columns(metric)[0]).rows()
    sign = -metric.sign
    ranked = sorted(
        (sign * value, unit)
        for unit, value in values
        if value is not None and isfinite(value) and not reasons[model, condition, unit]
    )
    best = ranked[: min(_EACH, (len(ranked) + 1) // 2)]
    worst = sorted(ranked[len(best) :], key=lambda one: (-one[0], one[1]))[:_EACH]
    for why, picked in zip(_ENDS[metric.higher_is_better is None], (best, worst), strict=True):
        yield from (_Pick((model, condition, unit), why, sign * value) for value, unit in picked)


def _units(
    page: "PageScores", metric: Metric, records: ScoredRecords, picks: Sequence[_Pick], shown: Collection[Row]
) -> list[_Unit]:
    """Return the units of results that are shown, each once."""
    table, found = page.table, []
    for count, name in enumerate(dict.fromkeys(pick.row[2] for pick in picks), start=1):
        record = records.units.get(name)
        rows = [(*group, name) for group in page.numbers if (*group, name) in shown]
        together = {group_name(table, row[0], row[1]): records.results[row] for row in rows}
        parts = [*_once(records, record, together)]
        said, anchors = [], {}
        for place, pick in enumerate((one for one in picks if one.row[2] == name), start=1):
            called = group_name(table, *pick.row[:2])
            anchors[pick.row] = anchor = f"transcript-{count}-{place}"
            said.append(f"one of the {pick.why} of {called}")
            heading = f"{called}: {metric.label} {number(pick.value, metric)}, one of its {pick.why}"
            parts += [element("h3", heading, id=anchor), *_scores_of(table, pick.row)]
            parts += _result(records, record, records.results[pick.row])
        shown_parts = (figure_element(part) if isinstance(part, Figure) else part for part in parts)
        content = element("div", *shown_parts, class_="attune")
        found.append(_Unit(f"{count:03}-{safe_name([name], name)}.html", name, "; ".join(said), content, anchors))
    return found


def _once(records: ScoredRecords, record: Any, results: Mapping[str, Any]) -> Iterable[Html | Figure]:
    """Return what a unit shows once: the transcript of its benchmark, else its record."""
    if own := resolve(records.benchmark.transcripts):
        found: Iterable[Html | Figure] = own(record, results)
        return found
    return [] if records.given is None else parts_html(_parts(records.given, record))


def _result(records: ScoredRecords, record: Any, result: Any) -> list[Html]:
    """Return a result, beside the record that it was scored against where the kind of that record does so."""
    given = records.given
    if given is not None and given.beside is not None:
        return parts_html(given.beside(record, [result]), given.reference)
    return parts_html(_parts(records.made, result))


def _parts(kind: Kind[Any, Any], record: Any) -> Iterable[Part]:
    """Return the parts of a record; nobody said what the keys are that its class does not name."""
    return fields_parts(record, extra=False) if kind.parts is fields_parts else kind.parts(record)


def _scores_of(table: ScoreTable, row: Row) -> list[Html]:
    """Return what else is scored of a result, of the metrics of the board that have a value of each unit."""
    model, condition, unit = row
    [values] = under(table.values, condition).filter(model=model, unit=unit).to_dicts()
    metrics = [table.metric(name) for name in table.headline if name != table.primary]
    own = [(one, values[term_columns(one)[0]]) for one in metrics if one.statistic in PER_UNIT]
    lower = " (lower is better)"
    values_of_others = [
        f"{one.label} {number(value, one)}{lower if one.higher_is_better is False else ''}"
        for one, value in own
        if value is not None
    ]
    return [element("p", f"{'; '.join(values_of_others)}.", class_="quiet")] if values_of_others else []


def _intro(table: ScoreTable, metric: Metric) -> str:
    first, last = _ENDS[metric.higher_is_better is None]
    return (
        f"For each model, up to {_EACH} {pluralize(table.provenance.unit)} on which it has the {first} "
        f"{label(metric)}, and up to {_EACH} with the {last}; of equal ones the first by name. They are ends of a "
        "list, not a sample: what they have in common is no finding."
    )


def _index(
    table: ScoreTable, metric: Metric, units: Sequence[_Unit], picks: Sequence[_Pick], beside: TranscriptFolder | None
) -> Html:
    """Return the index: the results shown for each model, as links."""
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
    body = [back, element("h1", unit.title), element("p", unit.summary, class_="quiet")]
    return document(unit.title, [*body, element("div", unit.content, class_="unit")], style=asset("report.css"))


def state_paths(
    paths: Mapping[str, Mapping[str, Sequence[float | None]]],
    *,
    anchors: Mapping[str, Mapping[str, float | None]],
    last: int,
) -> LinePlot:
    """Return the states of a person round by round, a panel for each axis, with a line for each model.

    A line ends with its dialogue; the panel goes on to the last round that a dialogue may have.

    Parameters
    ----------
    paths : mapping
        By axis, which titles its panel, and model the states, 0 to 100: at the start, then after each round; None where
        none is known.
    anchors : mapping
        By axis the named states, 0 to 100, to draw as broken lines.
    last : int
        The last round that a dialogue may have.

    Returns
    -------
    LinePlot

    Raises
    ------
    ValueError
        Where no state is known.

    Examples
    --------
    >>> plot = state_paths({"anger": {"m": [60, 50]}}, anchors={"anger": {"target": 20, "worst": None}}, last=8)
    >>> plot.panels[0].levels
    {'target': 20}
    """
    known = {axis: {name: path for name, path in of_axis.items() if any(s is not None for s in path)}
             for axis, of_axis in paths.items()}  # fmt: skip
    order = list(dict.fromkeys(name for of_axis in known.values() for name in of_axis))
    if not order:
        raise ValueError("nothing to draw: no state is known")
    look = dict(zip(order, looks(len(order)), strict=True))

    def line(name: str, path: Sequence[float | None]) -> Line:
        colour, shape = look[name] if name in named else (MUTED, "circle")
        texts = ["" if state is None else f"{name}, round {place}: {state:.4g}"
                 for place, state in enumerate(path)]  # fmt: skip
        return Line(name=name, states=path, texts=texts if name in named else (), colour=colour, shape=shape,
                    is_named=name in named)  # fmt: skip

    panels = []
    for axis, of_axis in known.items():
        named = _outermost(of_axis, len(order))
        levels = {name: state for name, state in anchors.get(axis, {}).items() if state is not None}
        lines = [line(name, path) for name, path in of_axis.items()]
        panels.append(LinePanel(title=axis, lines=lines, levels=levels))
    return LinePlot(panels=panels, last=last)


_MOST_LINES = 9  # with a name each


def _outermost(paths: Mapping[str, Sequence[float | None]], models: int) -> set[str]:
    """Return the models with a name at their line: all, or of many the three highest and three lowest at the end."""
    ends = {name: [state for state in path if state is not None][-1] for name, path in paths.items()}
    order = sorted(ends, key=ends.__getitem__)
    return set(order) if models <= _MOST_LINES else {*order[:3], *order[-3:]}
