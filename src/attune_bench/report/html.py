"""The report as a page of HTML: one file to forward, which makes no request and can be read without its script."""

import os
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl
from typing_extensions import Unpack

from attune_bench.analyses import ANALYSES
from attune_bench.report.answer import Answer, sentence, title
from attune_bench.report.columns import (
    Folded,
    Section,
    Table,
    drawn,
    expanded_words,
    has_clusters,
    interval_words,
    range_words,
    text_column,
)
from attune_bench.report.document import settings_table
from attune_bench.report.elements import page
from attune_bench.report.exchange import exchange_section
from attune_bench.report.notes import provenance_line
from attune_bench.report.page_scores import PageScores
from attune_bench.report.privacy import few_groups, hides
from attune_bench.report.ranking import ranking_element, ranking_notes, shared_axis
from attune_bench.report.sections import cost_section, general_sections, lacking_units
from attune_bench.report.transcripts import TranscriptFolder, records_to_quote, transcript_section
from attune_bench.scores.benchmark import Benchmark
from attune_bench.scores.provenance import fingerprint
from attune_bench.scores.table import ScoreTable
from attune_bench.stats.comparability import check_comparable, is_mixed
from attune_bench.stats.compare import exchanges_of_all, margins_of
from attune_bench.stats.labels import Labels, read_labels
from attune_bench.stats.options import (
    AnalysisOptions,
    Margin,
    SamplingKeywords,
    advice_on_skewed,
    shared_resamples,
    too_few,
)
from attune_bench.stats.signing import sign
from attune_data.collection import Collection
from attune_data.issues import Html, element
from attune_data.licences import named_licences
from attune_data.references import resolve
from attune_data.text import joined, plural, pluralize
from attune_metrics.metric import PSEUDO_VALUES, Metric, MetricInputError, SkewedScoresWarning, first_paragraph
from attune_metrics.stats.bootstrap import STATISTICS


def answer_element(page: PageScores, benchmark: Benchmark | None = None) -> Html:
    """Return what a page says below its title, a block a condition; `benchmark` defines the baselines."""
    table = page.table
    predictors = {} if benchmark is None else resolve(benchmark.baselines) or {}
    meanings = {name: text for name, predict in predictors.items() if (text := first_paragraph(predict))}
    answers = [Answer(page, condition) for condition in table.conditions]
    axis, blocks, before = shared_axis(answers, table.metric(table.primary)), [], set[Html]()
    for answer in answers:
        parts = []
        if len(answers) > 1:
            parts.append(element("p", sentence(f"{answer.finding()}."), class_="lead"))
        if said := answer.details():
            parts.append(element("p", sentence(" ".join(said))))
        terms = [element("div", element("dt", term), element("dd", text)) for term, text in answer.good_score()]
        good = element("dl", *terms, class_="good")
        drawn = [ranking_element(answer, axis), ranking_notes(answer, axis, meanings)] if answer.rows else []
        parts += [one for one in (good, *drawn) if one not in before]
        before.update((good, *drawn))
        blocks.append(element("div", *parts, class_="answer"))
    return Html("".join(blocks))


@shared_resamples()
def html_report(
    scores: ScoreTable,
    *,
    benchmark: Benchmark | None = None,
    data: Collection[Any] | None = None,
    results: Sequence[Any] | None = None,
    small_cells: bool = False,
    margin: Margin | None = None,
    labels: pl.DataFrame | str | os.PathLike[str] | None = None,
    label_metric: str | None = None,
    transcripts: bool | TranscriptFolder = False,
    progress: Callable[[str], object] = lambda _: None,
    **options: Unpack[SamplingKeywords],
) -> str:
    """Return a report of scores as a page of HTML.

    Parameters
    ----------
    scores : ScoreTable
        The scores, of a benchmark or of anybody's table.
    benchmark : Benchmark, optional
        The benchmark of the scores, for sections, options and limits of its own.
    data : Collection, optional
        The reference that was scored against, for the sections of a benchmark that need it.
    results : sequence of record, optional
        What was scored, for the sections of a benchmark that need it.
    small_cells : bool
        Where clusters are people: whether to show values that rest on fewer than 5 of them or would give such values
        away, models run on fewer than 5, and single units. See `attune_bench.report.privacy`.
    margin : float, mapping of str to float or "declared", optional
        The smallest difference of interest of the main metric; with it, the page also says which models are practically
        the same.
    labels : polars.DataFrame or path, optional
        People's ratings, as `attune_bench.stats.labels.read_labels` takes them; with them, the page has a section of
        the judge corrected by people.
    label_metric : str, optional
        The judge's metric, which the ratings are of; by default the main one.
    transcripts : bool or TranscriptFolder
        Whether to show, for each model, the units with its best and its worst results as texts, of the records in
        `data` and `results` whose licence allows it; of people's own, where they were not generated, only with
        `small_cells` too. With a folder beside the page, those that are too large for the page go there.
        See `attune_bench.report.transcripts`.
    progress : callable
        Called with the name of each phase when it begins: statistics, transcripts, figures.
    **options
        ``resamples``, ``seed``, ``level``, ``unit``, ``weight``, ``interval``; see
        `attune_bench.stats.options.AnalysisOptions`.

    Returns
    -------
    str
        A page that makes no request. What it leaves out is named at its end.

    Raises
    ------
    MetricInputError
        Where an option is unknown or out of range, the labels are not as `read_labels` wants them or have no rating, or
        there is a `label_metric` without labels, or transcripts are asked for without the records that were scored.
    SourceError
        Where the file of labels cannot be read.
    MixedSettingsError
        Where the runs differ in settings that change answers; see `attune_bench.stats.comparability`.
    ValueError
        Where the scores are empty, or every model was run on fewer than 5 participants and `small_cells` is not set.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> page = html_report(score(load("demo"), load_runs("demo")), resamples=200)
    >>> page.startswith("<!DOCTYPE html>"), page.count("<svg") > 2
    (True, True)
    """
    if scores.values.is_empty():
        raise ValueError("no scores to report: the table has no row")
    held = _labels_of(scores, labels, label_metric)
    few = few_groups(scores) if hides(scores, small_cells=small_cells) else []
    table = scores.keep(groups=[group for group in scores.groups if group not in few]) if few else scores
    why = f"run on {too_few(scores)}"
    if table.values.is_empty():
        hint = "show them with small_cells=True (--small-cells)"
        raise ValueError(f"every model was {why}, whose values are not shown; {hint}")
    check_comparable(table)
    own = resolve(benchmark.analyses) if benchmark else {}
    asked = PageScores(
        table=table, analyses={**ANALYSES, **own}, small_cells=small_cells, options=options,
        margin=margins_of(table, margin, [table.primary]).get(table.primary),
        labels=None if held is None else held.of_part(scores, table),
    )  # fmt: skip
    progress("statistics")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        answer = answer_element(asked, benchmark)
        sections = general_sections(asked)
        if benchmark and benchmark.row and results is not None and (costs := cost_section(asked, results)):
            sections.append(costs)
        if benchmark and benchmark.sections:
            sections += resolve(benchmark.sections)(asked, data=data, results=results)
            sections.sort(key=lambda section: not section.is_first)
    records = records_to_quote(scores, benchmark, data, results, is_asked=transcripts is not False)
    if records and (exchange := exchange_section(asked, records, transcripts=transcripts is not False)):
        sections.insert(0, exchange)
    if records and transcripts is not False:
        progress("transcripts")
        sections.append(transcript_section(asked, records, None if transcripts is True else transcripts))
    messages = [warning.message for warning in caught]
    warned = _warnings(asked, messages)
    sections += [_methods(asked, benchmark, data, warned), _limits(asked, benchmark)]
    sections += [] if data is None else [_data(table, data)]
    left_out = [f"{model if under is None else f'{model} [{under}]'}: {why} (--small-cells)" for model, under in few]
    left_out += [f"{section.title}: {section.left_out}" for section in sections if not section.parts]
    if others := [name for name in table.metrics if name not in table.headline]:
        named = ", ".join([*others[:12], *(["..."] if len(others) > 12 else [])])
        left_out.append(f"{plural(len(others), 'metric')} not on the board; the report as JSON has them: {named}")
    shown = [section for section in sections if section.parts]
    items = Html("; ").join(element("span", one) for one in left_out)
    end = [element("p", "Not in this report: ", Html(items), ".", class_="quiet", id="not-in-this-report")]
    name = table.provenance.title
    name = name if name.lower().endswith("scores") else f"{name} scores"
    about = provenance_line(table, with_synthetic=False)
    top = [element("h1", sentence(title(asked))), element("p", about, class_="quiet")]
    notices = _notices(asked, f"Models {why} are not shown; the end of the page names them." if few else "", messages)
    top += [element("p", notice, class_="notice") for notice in notices]
    progress("figures")
    return page(name, top, shown, answer=answer, end=end if left_out else [], models=table.models)


def _notices(asked: PageScores, hidden: str, caught: Sequence[Warning | str]) -> list[str]:
    """Return what a reader must know before the title: `hidden` says which models are not shown, if some are not."""
    table = asked.table
    doubtful = any(
        isinstance(one, SkewedScoresWarning) and one.of == "differences" and table.primary in one.metrics
        for one in caught
    )
    people = ": no score here is of a real person" if table.provenance.private else ""
    return [
        *([f"SYNTHETIC demonstration data{people}."] if table.provenance.synthetic else []),
        *(["MIXED: the runs differ in settings that change answers."] if is_mixed(table) else []),
        *([hidden] if hidden else []),
        *(
            [
                f"The title rests on tests of differences that a few {pluralize(drawn(table, asked.chosen))} decide: "
                "the warning in Methods says how far to trust the tests."
            ]
            if doubtful and "significant" in title(asked)
            else []
        ),
    ]


def _labels_of(
    scores: ScoreTable, labels: pl.DataFrame | str | os.PathLike[str] | None, metric: str | None
) -> Labels | None:
    """Return the ratings, None where there are none; raise unless they can be used."""
    if labels is None:
        if metric is not None:
            raise MetricInputError(f"label_metric is {metric!r}, and there are no labels")
        return None
    held = read_labels(scores, labels, metric=metric)
    held.check_rated()
    return held


def _methods(
    asked: PageScores, benchmark: Benchmark | None, data: Collection[Any] | None, warned: Sequence[str]
) -> Section:
    """Return how the scores, intervals and comparisons were made, and the signature."""
    table, chosen, held = asked.table, asked.chosen, asked.table.provenance
    units, person = pluralize(held.unit), drawn(table, chosen)
    protocol = f" by the protocol {held.protocol}," if held.protocol else ""
    scoring = (
        f"The values come from a table of results by model, {held.unit} and metric; none was scored here."
        if held.benchmark is None
        else f"{held.title}, scored{protocol} with attune-bench {held.library_version}, {held.unit} by {held.unit}."
    )
    meant = [one.help.partition(";")[0] for one in (benchmark.options if benchmark else ()) if one.name == "protocol"]
    if held.protocol and meant:
        scoring += f" Protocol: {meant[0][:1].lower()}{meant[0][1:]}."
    said = {choice.name: f" ({choice.help})" for choice in (benchmark.choices if benchmark else ())}
    choices = [f"{name[:1].upper()}{name[1:]}: {one}{said.get(name, '')}." for name, one in held.variant.items()]
    each = f", each with all of its {units}" if person != held.unit else ""
    others = f" Others: {100 * chosen.level:g}% intervals by resampling {pluralize(person)}."
    others = others if chosen.weighs_clusters(table) else ""
    intervals = (
        f"In brackets: {interval_words(table, chosen, asked.summary)}.{others} {chosen.resamples:,} resamples, seed "
        f"{chosen.seed}: {pluralize(person)} are drawn{each}. With {too_few(table)}, or where nothing varies, a number "
        "has no interval."
    )
    if chosen.interval == "percentile-expanded":
        intervals += f" {expanded_words(pluralize(person))}"
    if not has_clusters(table):
        intervals += f" Every {held.unit} is taken to be independent of the others."
    under = "" if table.conditions == (None,) else f" in one {held.condition}"
    comparing = (
        f"Two models are compared on the {units} that both were run on, by exchanging the two within each {person}. "
        f"p-values are corrected by Holm's method, over all pairs of models of one metric{under}, or over the strata "
        "of one trait for each model; metrics are not pooled."
    )
    settings = [Folded("How the rows were made", [settings_table(table)])] if held.comparability_keys else []
    signed = element("code", _signature(asked, data))
    return Section(
        "Methods",
        [
            scoring, *choices, intervals, comparing, _metrics(table, chosen), *settings, *warned,
            Html(f"Signature (every setting, hashes of data, runs, settings), to be quoted with the numbers: {signed}"),
        ],
    )  # fmt: skip


def _signature(asked: PageScores, data: Collection[Any] | None) -> str:
    table, labels = asked.table, asked.labels
    metrics = [name for name in table.headline if table.metric(name).statistic in STATISTICS]
    if labels is not None:
        metrics = list(dict.fromkeys([*metrics, labels.metric.name]))
    return sign(
        table, question=None if data is None else f"subgroups of data {fingerprint(data)}", metrics=metrics,
        margin=None if asked.margin is None else {table.primary: asked.margin},
        labels=None if labels is None else labels.hash,
        exchanges=exchanges_of_all(table, asked.chosen.resamples), **asked.options,
    )  # fmt: skip


def _warnings(page: PageScores, caught: Sequence[Warning | str]) -> list[str]:
    """Return a paragraph for each warning; all warnings of skewed scores together are one paragraph."""
    table = page.table
    skewed: dict[tuple[str, str], dict[str, None]] = {}
    others: dict[str, None] = {}
    for warning in caught:
        if isinstance(warning, SkewedScoresWarning) and warning.consequence:
            labels = [table.metrics[name].label if name in table.metrics else name for name in warning.metrics]
            skewed.setdefault((warning.of, warning.consequence), {}).update(dict.fromkeys(labels))
        else:
            others[f"Warning: {str(warning).rstrip('.')}."] = None
    if not skewed:
        return [*others]
    person = drawn(table, page.chosen)
    numbers = joined([f"some {of} of {', '.join(labels)}" for (of, _), labels in skewed.items()])
    consequences = dict.fromkeys(consequence for _, consequence in skewed)
    advice = advice_on_skewed(person, tested=any(of == "differences" for of, _ in skewed))
    depend = f"Warning: {numbers} depend on a few {pluralize(person)} far from the rest"
    return [*others, f"{'. '.join([depend, *consequences, advice])}."]


def _metrics(table: ScoreTable, options: AnalysisOptions) -> Table:
    """Return how the metrics of the board are understood."""
    better = {True: "higher", False: "lower", None: "neither"}
    rows = [
        {
            "metric": metric.label,
            "range": range_words(metric) or "unbounded",
            "better": better[metric.higher_is_better],
            "value of a model": _statistic(table, metric, options),
            "source": metric.source,
        }
        for metric in map(table.metric, table.headline)
    ]
    shown = [name for name in rows[0] if name != "source" or any(row["source"] for row in rows)]
    columns = [text_column(name, name, is_name=name in {"metric", "source"}) for name in shown]
    return Table("metrics", "Metrics", columns, rows)


def _statistic(table: ScoreTable, metric: Metric, options: AnalysisOptions) -> str:
    units = pluralize(table.provenance.unit)
    if options.weighs_clusters(table):
        of_clusters = f"mean over {pluralize(drawn(table, options))} of their means"
        return options.lacks_weight(table, metric.name) or of_clusters
    pooled = f"{metric.statistic} of counts pooled over {units}"
    return {
        "mean": f"mean over {units}",
        "share": f"share of {units}",
        "mean_of_means": f"mean of the means over groups of {units}",
        "mean_of_clipped_means": f"weighted mean of parts, each a mean over {units} that is clipped to 0 to 1",
        "z_score": "standard score among the models",
        PSEUDO_VALUES: f"fitted to all {units} together",
    }.get(metric.statistic, pooled if metric.statistic in STATISTICS else metric.statistic)


def _limits(asked: PageScores, benchmark: Benchmark | None) -> Section:
    table = asked.table
    unit, person = table.provenance.unit, drawn(table, asked.chosen)
    said = [
        *(benchmark.limits if benchmark else ()),
        f"A score says how a model did on these {pluralize(unit)} by the definition of its metric, not how it does "
        "elsewhere.",
        f"An interval says how far a score would move with other {pluralize(person)}, drawn alike. It says nothing of "
        "other topics, languages or populations, nor of a model that answers otherwise when asked again.",
    ]
    if any(metric.coverage for metric in table.metrics.values()):
        said.append(
            "A prediction that is missing counts as the benchmark defines it; a score with little coverage can mislead."
        )
    said.append(
        "Differences between subgroups are observed, not caused: groups differ in more than the trait that names them."
    )
    return Section("Limits", [tuple(said)])


def _data(table: ScoreTable, data: Collection[Any]) -> Section:
    unit, licences = table.provenance.unit, named_licences(data)
    said = (
        f"Licence of the {pluralize(unit)}: {'; '.join(licences)}."
        if licences
        else f"The {pluralize(unit)} state no licence."
    )
    return Section("Data", [" ".join(filter(None, (said, lacking_units(table, data))))])
