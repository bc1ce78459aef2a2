"""The sections of a page that any scores have, each with what it shows or why it is left out; subgroups."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import isfinite
from shlex import quote
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from attune_bench.analyses.separation import advice
from attune_bench.analyses.skills import models_are_few, skills_found
from attune_bench.report import figures, findings
from attune_bench.report.columns import (
    Column,
    Figure,
    Folded,
    Markup,
    Part,
    Section,
    Table,
    counts_units,
    drawn,
    estimate_column,
    in_words,
    interval_words,
    label,
    profiled,
    size_column,
    text_column,
    with_note,
    words_under,
)
from attune_bench.report.comparisons import MOST_QUOTED, comparison_note, comparison_tables, quotes
from attune_bench.report.elements import MOST_NUMBERED, pairs_matrix
from attune_bench.report.judges import (
    beside_finding,
    beside_note,
    beside_tables,
    is_of_judges,
    judged_note,
    judged_tables,
    judged_warnings,
)
from attune_bench.report.notes import chance_notes, missing_notes, standing_notes
from attune_bench.report.page_scores import PageScores
from attune_bench.report.privacy import conceal_rated, conceal_strata, hidden_strata, hides
from attune_bench.report.tables import (
    analysis_note,
    analysis_tables,
    board,
    calls_table,
    difference_columns,
    failure_tables,
    group_name,
    metric_of,
    only_reason,
    overlap_note,
    rank_tables,
    rows_under,
    subgroup_notes,
    under,
)
from attune_bench.scores.columns import Analysis, said_by_condition
from attune_bench.scores.table import ScoreTable, metrics_per_unit
from attune_bench.stats.compare import exchanges_of_all
from attune_bench.stats.debias import debias, debias_pairs
from attune_bench.stats.judges import beside_people
from attune_bench.stats.labels import has_judges
from attune_bench.stats.options import ALPHA, too_few
from attune_bench.stats.subgroups import overlap, strata_and_known, subgroups, unit_traits
from attune_data.issues import Html, element
from attune_data.query import Queryable
from attune_data.text import plural, pluralize
from attune_metrics.metric import PER_UNIT, Metric, MetricInputError, UnreliableIntervalWarning
from attune_metrics.stats.bootstrap import STATISTICS

if TYPE_CHECKING:
    from attune_bench.report.drawing import Cells
    from attune_bench.report.plots import Plot


def figures_of(
    table: ScoreTable,
    frame: pl.DataFrame,
    value: str,
    caption: str,
    draw: "Callable[[pl.DataFrame], Plot | Cells]",
    finding: Callable[[pl.DataFrame], str] = lambda _: "",
) -> list[Figure]:
    """Return a figure of each condition with a value; `draw` and `finding` are given its rows with one."""
    found = []
    for condition in table.conditions:
        rows = under(frame, condition).drop_nulls(value)
        if not rows.is_empty():
            found.append(Figure(draw(rows), f"{caption}{_under(table, condition)}", finding=finding(rows)))
    return found


def _under(table: ScoreTable, condition: str | None) -> str:
    if condition is None or len(table.conditions) == 1:
        return ""
    name = table.provenance.condition
    return f" {name[:1].upper()}{name[1:]} {condition}."


def drawn_section(
    page: PageScores,
    title: str,
    frame: pl.DataFrame,
    value: str,
    caption: str,
    draw: "Callable[[pl.DataFrame], Plot | Cells]",
    *,
    rows_need: str = "scores of at least one model",
    others: Sequence[Part] = (),
    finding: Callable[[pl.DataFrame], str] = lambda _: "",
) -> Section:
    """Return a section of figures, and what goes below them; or why none can be drawn.

    Parameters
    ----------
    page : PageScores
        The scores and options of the page.
    title : str
        Heading.
    frame : polars.DataFrame
        What an analysis gives, with the column ``condition``.
    value : str
        The column that is drawn.
    caption : str
        Of each figure; the condition is added where there are several.
    draw : callable
        From the rows of one condition that have a value to a chart, or to cells.
    rows_need : str
        What the scores must have for the frame to have a row.
    others : sequence
        Further parts.
    finding : callable
        From the same rows to the heading of the figure.
    """
    shown = page.hide_small_cells(frame)
    charts = figures_of(page.table, shown, value, caption, draw, finding)
    if charts:
        return Section(title, [*charts, *others])
    if frame.is_empty():
        return Section(title, left_out=f"needs {in_words(page.table, rows_need)}")
    few = hides(page.table, small_cells=page.small_cells) and not frame[value].is_null().all()
    why = too_few(page.table) if few else only_reason(frame, value)
    return Section(title, left_out=why or "no value is defined")


FEW_MODELS = 5
"""As many models have a dot plot of their profiles, and more have a heat map."""

_MOST_STRATA = 20


def lacking_units(table: ScoreTable, data: Queryable) -> str:
    """Say how many scored units the data lack; nothing where they have all."""
    lacking = len(set(table.units["unit"]).difference(data.unit_ids))
    every = plural(table.units.height, f"scored {table.provenance.unit}")
    return f"The data lack {lacking} of {every}." if lacking else ""


def subgroup_section(page: PageScores, traits: Sequence[str], *, data: Queryable | None = None) -> Section:
    """Return the section of the primary metric by traits, each stratum set against its complement.

    Parameters
    ----------
    page : PageScores
        The scores and options of the page.
    traits : sequence of str
        As for `attune_bench.stats.subgroups.by`.
    data : Collection or Tables, optional
        The units' records; by default the traits that the scores have of their units.
    """
    table, title = page.table, "Subgroups"
    metric = table.metric(table.primary)
    if metric.statistic not in STATISTICS:
        return Section(title, left_out=f"{label(metric)} is not made of {pluralize(table.provenance.unit)}")
    if why := page.chosen.lacks_weight(table, metric.name):
        return Section(title, left_out=f"{label(metric)} is {why}")
    source = unit_traits(table) if data is None else data
    scored = set(table.units["unit"])
    if scored.isdisjoint(source.unit_ids):
        none = f"none of the {plural(len(scored), table.provenance.unit)} scored is in the data"
        return Section(title, left_out=none)
    tables: list[Table] = []
    charts: list[Figure] = []
    frames: list[pl.DataFrame] = []
    left_out: list[str] = []
    given: dict[str, tuple[Mapping[str, Sequence[str]], list[str]]] = {}
    for trait in traits:
        every, known = strata_and_known(source, trait)
        strata = {name: units for name, units in every.items() if not scored.isdisjoint(units)}
        if 1 < len(strata) <= _MOST_STRATA:
            given[trait] = strata, known
        else:
            left_out.append(f"{trait}: left out, it has {plural(len(strata), 'value')}.")
    if not given:
        return Section(title, left_out=" ".join(left_out) or f"{pluralize(table.provenance.unit)} have no traits")
    hidden = hidden_strata(table, table.primary, given) if hides(table, small_cells=page.small_cells) else {}
    more, less = ("higher", "lower") if metric.higher_is_better is None else ("better", "worse")
    for trait, (of_trait, known) in given.items():
        frame = subgroups(table, of_trait, known=known, compare=True, metrics=[table.primary], **page.options)
        shown = conceal_strata(table, trait, frame, hidden)
        if shown["value"].is_null().all():
            left_out.append(f"{trait.replace('_', ' ')}: {only_reason(shown, 'value') or 'no value can be shown'}.")
            continue
        frames.append(shown)
        tables.append(_table(page, trait, shown, overlap(of_trait)))
        caption = (
            f"{label(metric)} by {trait.replace('_', ' ')}. Blue: {more} than in the other "
            f"{pluralize(table.provenance.unit)}, orange: {less}; pale: not significantly; *: Holm p below {ALPHA:g}."
        )
        charts += figures_of(
            table, shown, "value", caption, partial(figures.subgroup_cells, table, numbers=page.numbers),
            partial(_of_strata, table, trait),
        )  # fmt: skip
    if not frames:
        return Section(title, left_out=" ".join(left_out).rstrip("."))
    notes = subgroup_notes(table, pl.concat(frames), compared=True, options=page.chosen)
    if hidden:
        few = too_few(table)
        notes.append(f"Values of {few} are not shown, nor others from which they would follow by subtraction.")
    if data is not None and (lacking := lacking_units(table, data)):
        notes.append(lacking)
    numbered: Part = Folded("Subgroups with their numbers", with_note(tables, " ".join(notes)))
    if (rows := sum(len(one.rows) for one in tables)) > TABLED:
        command = element("code", "attune-bench subset SCORES --by TRAIT --compare --format csv")
        numbered = numbers_elsewhere(rows, command, "value")
    return Section(title, [*charts, numbered, *left_out])


def _of_strata(table: ScoreTable, trait: str, rows: pl.DataFrame) -> str:
    """Say how many values of strata differ significantly from the same model's value on the other units."""
    metric, others = table.metric(table.primary), f"other {pluralize(table.provenance.unit)}"
    more, less = ("better", "worse") if metric.sign > 0 else ("worse", "better")
    if metric.higher_is_better is None:
        more, less = "higher", "lower"
    known = rows.drop_nulls("difference")
    model = f"than the same model's value on the {others}"
    none = f"No model's {metric.label} differs significantly between one {trait.replace('_', ' ')} and the {others}"
    return findings.of_differences(
        known.iter_rows(named=True), "difference", ("is", "are"), f"significantly {more} {model}",
        f"significantly {less} {model}", none, "value",
    )  # fmt: skip


def _table(page: PageScores, trait: str, frame: pl.DataFrame, overlapping: int) -> Table:
    """Return the strata of a trait, in each the models from the best of all units."""
    table = page.table
    strata = {name: place for place, name in enumerate(frame["stratum"].unique(maintain_order=True))}
    rows = [{**row, "name": group_name(table, row["model"], row["condition"])} for row in frame.iter_rows(named=True)]
    rows.sort(key=lambda row: (strata[row["stratum"]], page.numbers[row["model"], row["condition"]]))
    columns: list[Column] = [
        text_column("stratum", "stratum", is_name=True),
        text_column("model", "name", is_name=True),
        estimate_column(label(table.metrics[table.primary]), "value", metric_of(table)),
        *difference_columns(table),
        size_column(),
    ]
    title = trait.replace("_", " ")
    notes = (overlap_note(table, overlapping),) if overlapping else ()
    return Table(f"by_{trait}", f"{title[:1].upper()}{title[1:]}", columns, rows, frame, notes)


_MIN_PROFILED = 3
_MIN_POINTS = 10


def _scores(page: PageScores) -> Section:
    table = page.table
    of_board = board(table, page.summary, table.headline, page.chosen)
    notes = [*of_board.notes, *missing_notes(table, [table.primary]), *chance_notes(table, page.chance)]
    notes += standing_notes(table, with_synthetic=False)
    return Section("Scores", [_in_order(page, replace(of_board, title="", notes=tuple(notes)))])


def _in_order(page: PageScores, table: Table) -> Table:
    """Return a table of models in the order of the page: where a hidden value stands would tell of it."""
    return replace(table, rows=sorted(table.rows, key=lambda row: page.numbers[row["model"], row["condition"]]))


def _profiles(page: PageScores) -> Section:
    table, metrics = page.table, profiled(page.table)
    if len(metrics) < _MIN_PROFILED:
        return Section("Profiles", left_out=f"need three metrics of a finite range; the scores have {len(metrics)}")
    known = page.summary.filter(pl.col("metric").is_in(metrics))
    models = known.drop_nulls("value").group_by("condition").agg(pl.col("model").n_unique())["model"]
    draw: Callable[[pl.DataFrame], Plot | Cells]
    lacking: Sequence[Part] = ()
    directed = [name for name in metrics if table.metrics[name].higher_is_better is not None]
    if max(models, default=0) <= FEW_MODELS:
        lacking = _without_value(page, metrics)
        draw = partial(figures.profile_plot, table, metrics=metrics, numbers=page.numbers, chance=page.chance)
        words = interval_words(table, page.chosen, known)
        ends = "worse to its better end" if directed else "lowest to its highest value, of which neither is better"
        caption = f"Metrics of a finite range, each from its {ends}. Lines: {words}."
    else:
        draw = partial(figures.profile_cells, table, metrics=metrics, numbers=page.numbers, chance=page.chance)
        caption = (
            "Metrics of a finite range. Blue: better than the median of the models, orange: worse, by the part of "
        )
        caption = f"{caption}the range." if directed else "Metrics of a finite range, of which neither end is better."
    return drawn_section(
        page, "Profiles", known, "value", caption, draw, others=[*lacking, *_not_profiled(page, metrics)],
        finding=partial(findings.of_profiles, table),
    )  # fmt: skip


def _without_value(page: PageScores, profiled: Sequence[str]) -> list[Part]:
    """Say which models have no value of a metric that another model has a value of."""
    table = page.table
    found: dict[str, list[str]] = {}
    for name in profiled:
        own = page.summary.filter(metric=name)
        if own["value"].null_count() < own.height:
            for row in own.filter(pl.col("value").is_null()).iter_rows(named=True):
                group = group_name(table, row["model"], row["condition"])
                found.setdefault(group, []).append(table.metrics[name].label)
    said = "; ".join(f"{group}: {', '.join(labels)}" for group, labels in found.items())
    return [f"No value that can be shown of {said}."] if said else []


def _not_profiled(page: PageScores, profiled: Sequence[str]) -> list[Part]:
    """Say which metrics profiles leave out, by the reason."""
    table = page.table
    reasons: dict[str, list[str]] = {}
    for name, metric in table.metrics.items():
        if name in profiled:
            shown = page.summary.filter(metric=name)["value"].null_count() < page.summary.filter(metric=name).height
            why = "" if shown else "they have no value that can be shown"
        elif metric.statistic not in STATISTICS:
            why = f"they are not made of single {pluralize(table.provenance.unit)}"
        elif not isfinite(metric.high - metric.low):
            why = "they have no finite range"
        elif metric.own_scale:
            why = "values of two models are not on one scale"
        else:
            why = "they are parts or counts of the metrics above"
        if why:
            reasons.setdefault(why, []).append(metric.label)
    said = [f"{', '.join(labels)}: {why}." for why, labels in reasons.items()]
    return (
        [Folded(f"{plural(sum(map(len, reasons.values())), 'metric')} not in this figure", [tuple(said)])]
        if said
        else []
    )


_FEW_RANKED = 3  # models; the ranking at the top has said all of their ranks


def _ranks(page: PageScores) -> Section | None:
    table, metric = page.table, page.table.metric(page.table.primary)
    if len(table.models) <= _FEW_RANKED:
        return None
    if page.no_ranks:
        return Section("Ranks", left_out=page.no_ranks)
    if page.ranks is None:
        return Section("Ranks", left_out=too_few(table))
    tables = [] if page.ranks["rank"].is_null().all() else rank_tables(table, page.ranks)
    note = (
        f"In brackets: {interval_words(table, page.chosen, resampled=True)}. The models are a fixed list: an "
        f"interval says how far other {pluralize(drawn(table, page.chosen))}, drawn alike, would move a rank."
    )
    caption = f"Ranks by {label(metric)}, 1 is the best."
    return drawn_section(
        page, "Ranks", page.ranks, "rank", caption, lambda rows: figures.rank_plot(table, rows, metric.name),
        others=[Folded("Ranks with their numbers", with_note(tables, note))] if tables else [],
        finding=findings.of_ranks,
    )  # fmt: skip


def _comparisons(page: PageScores) -> Section:
    table, metric = page.table, page.table.metric(page.table.primary)
    if metric.statistic not in STATISTICS:
        return Section("Comparisons", left_out=f"{metric.label} depends on all models' results")
    if why := page.chosen.lacks_weight(table, metric.name):
        return Section("Comparisons", left_out=f"{metric.label} is {why}")
    if parts := comparison_parts(page, metric.name):
        return Section("Comparisons", parts)
    if page.hidden:
        return Section("Comparisons", left_out=f"models of {too_few(table)} are not compared")
    several = len(table.models) > 1
    why = f"no {table.provenance.condition} has two models" if several else "the scores have one model"
    return Section("Comparisons", left_out=why)


def _judged(page: PageScores) -> Section | None:
    table, labels, title = page.table, page.labels, "Judge and people"
    if labels is None:
        return _beside_people(page, title)
    if why := counts_units(table, page.chosen):
        return Section(title, left_out=why)
    if np.isnan(labels.ratings).all():
        return Section(title, left_out="only models that are not shown are rated")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnreliableIntervalWarning)  # the notes of rows say it, of those that are shown
        made = (analyse(table, labels, **page.options) for analyse in (debias, debias_pairs))
        models, pairs = (
            conceal_rated(table, frame, labels.metric.name, labels.ratings, small_cells=page.small_cells)
            for frame in made
        )
    warned = (*judged_warnings(table, models), *judged_warnings(table, pairs))
    tables = judged_tables(table, "models", models)
    if not pairs.is_empty():
        tables += judged_tables(table, "differences", pairs)
    note = judged_note(table, page.chosen, tested=bool(pairs["p"].count()), several=is_of_judges(table, models))
    return Section(title, [_OF_JUDGES, *([warned] if warned else []), *with_note(tables, note)])


def _beside_people(page: PageScores, title: str) -> Section | None:
    table, people = page.shown, page.table.provenance.reference
    if people is None or not has_judges(table) or people not in table.conditions:
        return None
    metrics = [name for name in table.headline if name in metrics_per_unit(table)]
    if why := counts_units(table, page.chosen) or ("" if metrics else "no metric has a value of each rating"):
        return Section(title, left_out=why)
    if page.chosen.interval == "bca":
        return Section(title, left_out="a correlation has no BCa interval")
    frame = page.hide_small_cells(beside_people(table, people, **page.options, metrics=metrics))
    finding = beside_finding(table, frame, people)
    command = element("code", f"attune-bench judge correct SCORES --people {quote(people)}")
    return Section(
        title,
        [
            *([Markup(element("h3", finding))] if finding else []),
            *with_note(beside_tables(table, frame), beside_note(table, page.chosen, people)),
            Markup(element("p", command, " corrects judges by ratings of a part.", class_="quiet")),
        ],
    )


_OF_JUDGES = (
    "What the judge says, what people say of the part that they rated, and the judge corrected by people. Every other "
    "section has the judge's scores as they are, uncorrected."
)


def _conditions(page: PageScores) -> Section | None:
    table, entry = page.table, page.analyses["condition_differences"]
    title = in_words(table, entry.title)
    if len(table.conditions) < 2:
        # A table without conditions lacks nothing.
        lacking = in_words(table, "needs scores under at least two conditions")
        return None if table.conditions == (None,) else Section(title, left_out=lacking)
    metrics = page.metrics_of("condition_differences", table.headline)
    if not metrics:
        return Section(title, left_out="no metric of the board is a mean of units")
    frame = page.analysis("condition_differences", metrics)
    parts: list[Part] = []
    for condition, reference in dict.fromkeys(frame.drop_nulls("difference").select("condition", "reference").rows()):
        pair = pl.col("condition").eq_missing(pl.lit(condition)), pl.col("reference").eq_missing(pl.lit(reference))
        rows = frame.filter(*pair).drop_nulls("difference")
        name = table.provenance.condition
        caption = f"{name[:1].upper()}{name[1:]} {condition} minus {reference}; blue: greater, orange: smaller."
        finding = findings.of_differences(
            rows.iter_rows(named=True), "difference", ("is", "are"), "significantly greater than 0",
            "significantly smaller than 0", "No difference is significant", "difference",
        )  # fmt: skip
        parts.append(Figure(figures.condition_cells(table, rows, numbers=page.numbers), caption, finding=finding))
    if not parts:
        needed = f"needs {in_words(table, entry.rows_need)}"
        return Section(title, left_out=needed if frame.is_empty() else "no difference can be shown")
    own = frame.filter(metric=table.primary)
    tables = analysis_tables(table, "condition_differences", entry, own) if own.height else []
    return Section(title, [*parts, *with_note(tables, analysis_note(table, entry, frame, page.chosen))])


def _metric_of_units(page: PageScores, name: str) -> Metric | Section:
    """Return the metric of an analysis of better units; without one, a left-out section with the reason."""
    table, title = page.table, page.analyses[name].title
    if why := counts_units(table, page.chosen):
        return Section(title, left_out=why)
    metrics = [table.metrics[one] for one in page.metrics_of(name, [table.primary])]
    fitting = [one for one in metrics if one.statistic in PER_UNIT and one.higher_is_better is not None]
    why = f"{table.metric(table.primary).label} has no value of each unit, or no better direction"
    return fitting[0] if fitting else Section(title, left_out=in_words(table, why))


def _title_of(page: PageScores, entry: Analysis, metric: Metric) -> str:
    """Return the title of an analysis, with its metric where that is not the primary one."""
    return entry.title if metric.name == page.table.primary else f"{entry.title}: {label(metric)}"


def _win_rates(page: PageScores) -> Section:
    table, entry = page.table, page.analyses["win_rates"]
    metric = _metric_of_units(page, "win_rates")
    if isinstance(metric, Section):
        return metric
    caption = (
        f"{label(metric)}: share of {pluralize(table.provenance.unit)} on which the model of the row is better than "
        "the model of the column; ties count half."
    )
    frame = page.analysis("win_rates", [metric.name])
    draw = partial(figures.win_rate_cells, table, metric=metric.name, numbers=page.numbers)
    return drawn_section(
        page, _title_of(page, entry, metric), frame, "rate", caption, draw, rows_need=entry.rows_need,
        finding=lambda rows: findings.of_wins(rows.to_dicts()),
    )  # fmt: skip


def _ratings(page: PageScores) -> Section:
    table, entry = page.table, page.analyses["ratings"]
    metric = _metric_of_units(page, "ratings")
    if isinstance(metric, Section):
        return metric
    if page.chosen.interval == "bca":
        return Section(entry.title, left_out="a strength has no BCa interval")
    frame = page.analysis("ratings", [metric.name])
    if frame.is_empty():
        return Section(entry.title, left_out=in_words(table, f"needs {entry.rows_need}"))
    if reason := only_reason(frame, "strength"):
        return Section(entry.title, left_out=reason)
    tables = analysis_tables(table, "ratings", entry, frame)
    return Section(_title_of(page, entry, metric), with_note(tables, analysis_note(table, entry, frame, page.chosen)))


def _repeats(page: PageScores) -> Section | None:
    table = page.table
    if table.repeats is None:
        return None
    metric = _metric_of_units(page, "repeat_variances")
    if isinstance(metric, Section):
        return replace(metric, title="Repeats")
    parts: list[Part] = []
    for name in ("repeat_variances", "repeat_ranks", "repeats_worth"):
        entry, frame = page.analyses[name], page.analysis(name, [metric.name])
        if not frame.is_empty():
            own = analysis_tables(table, name, entry, frame)
            parts += with_note(own, analysis_note(table, entry, frame, page.chosen))
    needed = f"needs {in_words(table, page.analyses['repeat_variances'].rows_need)}"
    return Section("Repeats", parts) if parts else Section("Repeats", left_out=needed)


def _separation(page: PageScores) -> Section:
    metrics = _metrics_of_units(page, "separation", 1)
    if isinstance(metrics, Section):
        return metrics
    table, entry = page.table, page.analyses["separation"]
    frame = page.analysis("separation", metrics)
    caption = (
        "Reliability of a model's mean: the share of the variance between the models' means that other "
        f"{pluralize(table.provenance.unit)} would show again; {100 * page.chosen.level:g}% intervals."
    )
    if frame.filter(pl.col("reliability") < 0).height:
        caption += " Cross: below 0."
    command = element("code", "attune-bench analyze separation SCORES")
    say = partial(advice, table)
    return drawn_section(
        page, entry.title, frame, "reliability", caption, partial(figures.separation_plot, table),
        rows_need=entry.rows_need, finding=lambda rows: _first_clause(say(rows)),
        others=[
            *_further_clauses(table, frame.drop_nulls("reliability"), say),
            numbers_elsewhere(frame["reliability"].count(), command, "metric"),
        ],
    )  # fmt: skip


def _first_clause(said: str) -> str:
    """Return the heading of a figure, of a sentence of several clauses."""
    return said.partition("; ")[0].rstrip(".")


def _further_clauses(table: ScoreTable, frame: pl.DataFrame, say: Callable[[pl.DataFrame], str]) -> list[str]:
    """Return the other clauses of the sentence on each condition, as a sentence."""

    def rest(rows: pl.DataFrame) -> str:
        clauses = say(rows).partition("; ")[2].rstrip(".")
        return f"{clauses[:1].upper()}{clauses[1:]}." if clauses else ""

    said = said_by_condition(table, frame, rest)
    return [said] if said else []


def _metrics_of_units(page: PageScores, name: str, least: int) -> list[str] | Section:
    """Return the metrics of an analysis that have a value of each unit; with too few, a left-out section."""
    table, title = page.table, page.analyses[name].title
    if why := counts_units(table, page.chosen):
        return Section(title, left_out=why)
    of_units = metrics_per_unit(table)
    shared = [metric for metric in of_units if not table.metrics[metric].own_scale]
    metrics = [metric for metric in page.metrics_of(name, table.headline) if metric in shared]
    if len(metrics) >= least:
        return metrics
    return Section(title, left_out=f"needs {plural(least, 'metric')} with a value of each {table.provenance.unit}")


def _skills(page: PageScores) -> Section:
    metrics = _metrics_of_units(page, "skills", 2)
    if isinstance(metrics, Section):
        return metrics
    table, entry = page.table, page.analyses["skills"]
    frame = page.analysis("skills", metrics)
    caption = (
        f"Below the diagonal: without the noise of both metrics, with its {100 * page.chosen.level:g}% interval by "
        "formula. Above: observed. 1: the same order of the models."
    )
    lacking = frame.drop_nulls("observed").filter(pl.col("corrected").is_null())
    if lacking.height:
        reasons = "; ".join(lacking["reason"].unique(maintain_order=True))
        caption += f" {plural(lacking.height, 'pair')} without a number below: {reasons}."
    known = frame.drop_nulls("low")
    return drawn_section(
        page, entry.title, frame, "observed", caption, partial(figures.skill_cells, table), rows_need=entry.rows_need,
        finding=lambda rows: _first_clause(skills_found(rows)),
        others=[] if known.is_empty() else [*_further_clauses(table, frame, skills_found), models_are_few(known)],
    )  # fmt: skip


def _subgroups(page: PageScores) -> Section | None:
    if page.table.traits:
        return subgroup_section(page, page.table.traits)
    # Traits of a benchmark's units are a matter of its own sections, which have its data.
    own = page.table.provenance.benchmark is not None
    return None if own else Section("Subgroups", left_out="the table has no column of traits")


def _difficulty(page: PageScores) -> Section:
    table, entry = page.table, page.analyses["unit_difficulty"]
    title, metric = in_words(table, entry.title), table.metric(table.primary)
    if metric.higher_is_better is None:
        title = f"Mean of each {table.provenance.unit}"
    if why := metric.own_scale or counts_units(table, page.chosen):
        return Section(title, left_out=why)
    if hides(table, small_cells=page.small_cells):
        return Section(title, left_out=f"shows single {pluralize(table.provenance.unit)} (--small-cells)")
    if metric.statistic not in PER_UNIT:
        return Section(title, left_out=f"{metric.label} has no value of each {table.provenance.unit}")
    if len(table.models) < 2:
        return Section(title, left_out="needs two models")
    frame = page.analysis("unit_difficulty", [metric.name])
    if frame.select("mean", "sd").unique().height < _MIN_POINTS:
        return Section(title, left_out=f"too few different values of {metric.label}")
    caption = f"A point is a {table.provenance.unit}: the mean of the models on it, and how far they differ."
    return drawn_section(
        page, title, frame, "sd", caption, lambda rows: figures.difficulty_plot(table, rows, metric.name),
        finding=lambda rows: _of_units(table, metric, rows),
    )  # fmt: skip


def _of_units(table: ScoreTable, metric: Metric, rows: pl.DataFrame) -> str:
    under = pl.col("condition").eq_missing(pl.lit(rows["condition"][0]))
    known = table.values.filter(under).drop_nulls(metric.name)
    models, units = (known[column].n_unique() for column in ("model", "unit"))
    return findings.of_difficulty(rows, table.provenance.unit, models=models, units=units)


def _failed(page: PageScores) -> Section | None:
    table = page.table
    tables = [_in_order(page, one) for one in failure_tables(table)]
    if hides(table, small_cells=page.small_cells):
        # Two treatments of the few that failed differ by these few.
        tables = [one for one in tables if one.key == "failed"]
    title = f"Failed {pluralize(table.provenance.unit)}{' and choices of scoring' if table.choices else ''}"
    counts = table.values.select("^failed\\..*$")
    # A result that does not say whether it failed may have.
    known = counts.width and not any(counts.null_count().row(0))
    parts: list[Part] = [*tables]
    if known and not any(one.key == "failed" for one in tables):
        parts.insert(0, f"No {table.provenance.unit} failed.")
    return Section(title, parts) if parts else None


def _calls(page: PageScores) -> Section | None:
    tables: list[Table] = [_in_order(page, replace(one, title="")) for one in calls_table(page.table)]
    return Section("Calls", tables) if tables else None


def general_sections(page: PageScores) -> list[Section]:
    """Return the sections that any scores have, in their order."""
    found = [
        _scores(page), _profiles(page), _ranks(page), _comparisons(page), _judged(page), _conditions(page),
        _win_rates(page), _ratings(page), _repeats(page), _separation(page), _skills(page), _subgroups(page),
        _difficulty(page), _failed(page), _calls(page),
    ]  # fmt: skip
    return [section for section in found if section is not None]


def cost_section(page: PageScores, results: Sequence[Any]) -> Section | None:
    """Return the section of what results cost; None where they record neither calls, nor costs, nor time."""
    table = page.table
    try:
        taken = page.analysis("cost", [], results=results)
    except MetricInputError:
        # The error names a unit, which a page of people's conversations must not.
        return Section("Cost", left_out="the results are not those that were scored")
    if taken.is_empty():
        return None
    entry, metric = page.analyses["cost_front"], _metric_of_units(page, "cost_front")
    parts: list[Part] = []
    if isinstance(metric, Metric):
        frame = page.analysis("cost_front", [metric.name], results=results)
        caption = (
            f"US dollars for the model's own calls of 1,000 {pluralize(table.provenance.unit)}, and {label(metric)}. "
            "Filled: no other model is as good at the same cost or less."
        )
        draw = partial(figures.cost_plot, table, metric=metric.name)
        parts += figures_of(table, frame, "cost", caption, draw, findings.of_costs)
        if not frame.is_empty():
            own = analysis_tables(table, "cost_front", entry, frame)
            parts += with_note(own, analysis_note(table, entry, frame, page.chosen))
    entry = page.analyses["cost"]
    return Section(
        "Cost", [*parts, *with_note(analysis_tables(table, "cost", entry, taken), in_words(table, entry.note))]
    )


TABLED = 150
"""As many rows are listed with their numbers; more of them would fill most of the page."""


def numbers_elsewhere(rows: int, command: Html, noun: str = "pair") -> Markup:
    """Say which command prints the numbers that a page leaves out.

    Examples
    --------
    >>> numbers_elsewhere(780, element("code", "attune-bench compare")).html
    '<p class="quiet">The numbers of all 780 pairs are what <code>attune-bench compare</code> prints.</p>'
    """
    said = f"The numbers of {f'all {plural(rows, noun)}' if rows > 1 else f'the {noun}'} are what "
    return Markup(element("p", said, command, " prints.", class_="quiet"))


def comparison_parts(page: PageScores, name: str) -> list[Part]:
    """Return the comparisons of every two models of a metric, as matrices and, folded, as tables; none of one model."""
    table, is_primary = page.table, name == page.table.primary
    frame = page.pairs if is_primary else page.compared(name)
    if frame.is_empty():
        return []
    matrices = [part for condition in table.conditions for part in _of_condition(page, name, frame, condition)]
    quoted: list[Part] = [f"To quote: {said}" for said in quotes(table, frame, page.chosen)]
    if frame.height > TABLED:
        command = element("code", f"attune-bench compare SCORES --metric {name} --format csv")
        return [*matrices, *quoted, numbers_elsewhere(frame.height, command)]
    exchanges = exchanges_of_all(table, page.chosen.resamples)
    note = comparison_note(table, frame, page.chosen, exchanges)
    numbers = with_note(comparison_tables(table, frame), note)
    folded = frame.height > MOST_QUOTED
    return [*matrices, *quoted, *([Folded("All pairs, with their numbers", numbers)] if folded else numbers)]


def _of_condition(page: PageScores, name: str, frame: pl.DataFrame, condition: str | None) -> list[Markup]:
    """Return the matrix of a metric under one condition, and how it is read."""
    table, metric = page.table, page.table.metric(name)
    models = [(page.numbers[row["model"], condition], row["model"]) for row in rows_under(page.ranking, condition)]
    pairs = rows_under(frame, condition)
    if not pairs:
        return []
    caption = f"Which models differ significantly by {label(metric)}{words_under(table, condition)}"
    exchanges = exchanges_of_all(table, page.chosen.resamples)
    matrix = pairs_matrix(
        models, pairs, metric, caption, family=pairs[0]["family"], exchanges=exchanges,
        numbers=len(models) <= MOST_NUMBERED,
    )  # fmt: skip
    return [Markup(element("h3", caption)), Markup(matrix)]
