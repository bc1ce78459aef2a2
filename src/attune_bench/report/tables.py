"""The tables of any scores: board, metrics, comparisons, ranks, failed units, variants, calls, plans."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import polars as pl

from attune_bench.report.columns import (
    UNDEFINED,
    Cell,
    Column,
    Row,
    Table,
    count_column,
    drawn,
    estimate_column,
    has_clusters,
    in_words,
    interval_words,
    label,
    number,
    number_column,
    p_column,
    p_value,
    percent,
    random_words,
    size_column,
    text_column,
    under_condition,
    yes_column,
)
from attune_bench.scores.columns import Analysis, Columns, undeclared
from attune_bench.scores.provenance import kind_of_group
from attune_bench.scores.table import ScoreTable, coverage
from attune_bench.stats.compare import EQUAL, enough_exchanges
from attune_bench.stats.options import ALPHA, FEW, MIN_CLUSTERS, AnalysisOptions, ScoreSeries, points, sorted_groups
from attune_bench.stats.planning import EXPECTED, PLAN
from attune_bench.stats.rank import RANKS, in_tiers
from attune_bench.stats.subgroups import COMPARED, SUBGROUPS
from attune_bench.stats.summary import DISTRIBUTION, z_scores
from attune_data.text import listed, plural, pluralize, width
from attune_metrics.metric import Metric
from attune_metrics.stats.bootstrap import STATISTICS
from attune_metrics.stats.looks import MIN_CLUSTERS_OF_LOOK

_MOST_COLUMNS = 5
_WIDEST_HEAD = 40
_COUNTED = ("failed", "calls")


def group_name(table: ScoreTable, model: str, condition: str | None) -> str:
    """Return what a row calls a model: with its condition where there are several."""
    return f"{model} [{condition}]" if condition is not None and len(table.conditions) > 1 else model


def metric_of(table: ScoreTable) -> Callable[[Row], Metric]:
    """Return the function from a row to the metric that it is of."""
    return lambda row: table.metrics[row["metric"]]


def with_frame(key: str, frame: pl.DataFrame, tables: Iterable[Table]) -> list[Table]:
    """Return tables, the first with the frame of all their numbers; without any, a table that shows nothing has it."""
    first, *others = [*tables] or [Table(key, "", (), ())]
    return [replace(first, frame=frame), *others]


def _tables_of(
    key: str,
    frame: pl.DataFrame,
    groups: Iterable[tuple[tuple[Any, ...], pl.DataFrame]],
    columns: Sequence[Column],
    title: Callable[..., str],
) -> list[Table]:
    """Return a table for each group, with a title made of its values and rows; all numbers go with the first."""
    tables = (Table(key, title(*values, rows), columns, rows.to_dicts()) for values, rows in groups)
    return with_frame(key, frame, tables)


def board(table: ScoreTable, summary: pl.DataFrame, metrics: Sequence[str], options: AnalysisOptions) -> Table:
    """Return the board: a row a model, the best first, with the interval of every metric named.

    Parameters
    ----------
    table : ScoreTable
        The scores.
    summary : polars.DataFrame
        What `attune_bench.stats.summary.summary` gives of these metrics.
    metrics : sequence of str
        From the left.
    options : AnalysisOptions
        The options of the summary.
    """
    found = {(row["model"], row["condition"], row["metric"]): row for row in summary.iter_rows(named=True)}
    rows: list[dict[str, Any]] = []
    best, directed = None, table.metric(table.primary).higher_is_better is not None
    for model, condition in sorted_groups(table, options):
        own = [found[model, condition, name] for name in metrics]
        value = found.get((model, condition, table.primary), own[0])["value"]
        best = best if rows else value
        shares = [row["coverage"] for row in own if row["coverage"] is not None]
        rows.append(
            {
                "name": group_name(table, model, condition),
                "model": model,
                "condition": condition,
                "metrics": dict(zip(metrics, own, strict=True)),
                "n": own[0]["n"],
                "clusters": own[0]["clusters"],
                "coverage": min(shares, default=None),
                "reason": _reasons(table, own),
                "is_best": directed and value is not None and value == best,
            }
        )
    columns = [text_column("model", "name", is_name=True), *(_board_column(table.metrics[name]) for name in metrics)]
    columns.append(size_column())
    covered = {row["coverage"] for row in rows}
    if not covered <= {None, 1}:
        columns.append(Column("least coverage", _least_coverage))
    held = table.provenance
    size = f"{pluralize(held.unit)} ({pluralize(held.cluster)})" if has_clusters(table) else pluralize(held.unit)
    note = f"In brackets: {interval_words(table, options, summary)}. n: {size} with a value."
    complete = "No answer that counts is missing (coverage 100%)." if covered == {1} else ""
    bounded = f", with {100 * options.level:g}% intervals" if summary["low"].count() else ""
    caption = f"{listed([label(table.metrics[name]) for name in metrics])} of each model{bounded}."
    return Table("summary", "Models", columns, rows, summary, tuple(filter(None, (note, complete))), caption)


def _reasons(table: ScoreTable, own: Sequence[Row]) -> str | None:
    """Return why metrics have no interval: the first reason, then the other reasons with their metrics."""
    first = own[0]["reason"]
    others = [row for row in own if row["reason"] not in (None, first)]
    said = [f"{table.metrics[row['metric']].label}: {row['reason']}" for row in others]
    return "; ".join(filter(None, (first, *said))) or None


def _board_column(metric: Metric) -> Column:
    inner = estimate_column(label(metric), "value", lambda _: metric)
    return Column(inner.head, lambda row: inner.cell(row["metrics"][metric.name]))


def _least_coverage(row: Row) -> Cell:
    text = percent(row["coverage"])
    # Sorted by the number shown.
    return Cell(text, value=None if row["coverage"] is None else float(text.rstrip("%")) / 100)


def model_frame(table: ScoreTable, options: AnalysisOptions | None = None) -> pl.DataFrame:
    """Return every metric as a column, a row a model and condition; `options` say what counts once.

    Beside them ``<metric>_n``, ``coverage_<task>``, and what results count, ``failed_<kind>`` and ``calls_<outcome>``,
    null where no result says it.
    """
    series, covered = ScoreSeries(table), coverage(table)
    found: dict[str, Sequence[Any]] = {
        "n": series.scored.sum(axis=1).tolist(),
        "clusters": [series.count(units) for units in series.scored],
    }
    schema: dict[str, Any] = {"n": pl.Int64, "clusters": pl.Int64}
    for name, metric in table.metrics.items():
        made_of_units = metric.statistic in STATISTICS
        if made_of_units:
            values = points(series, name, options)
        elif options is not None and options.weighs_clusters(table):
            values = [None] * len(series.groups)  # it depends on values in which each unit counts
        else:
            values = z_scores(series, metric)
        counted = ~np.isnan(series.values(name if made_of_units else metric.terms[0])[:, 0])
        found |= {name: values, f"{name}_n": counted.sum(axis=1).tolist()}
        schema |= {name: pl.Float64, f"{name}_n": pl.Int64}
    for task in dict.fromkeys(task for of_group in covered.values() for task in of_group):
        found[f"coverage_{task}"] = [covered[group].get(task) for group in series.groups]
        schema[f"coverage_{task}"] = pl.Float64
    counts = pl.col(f"^({'|'.join(_COUNTED)})\\..*$")
    sums = table.values.group_by("model", "condition").agg(pl.when(counts.count() > 0).then(counts.sum()))
    sums = sums.with_columns(counts.cast(pl.Int64)).rename(lambda name: name.replace(".", "_"))
    groups = pl.DataFrame(series.groups, schema={"model": pl.String, "condition": pl.String}, orient="row")
    frame = groups.hstack(pl.DataFrame(found, schema=schema))
    return frame.join(sums, on=["model", "condition"], nulls_equal=True, maintain_order="left")


def metric_tables(table: ScoreTable, frame: pl.DataFrame, options: AnalysisOptions | None = None) -> list[Table]:
    """Return every metric that has a group: models as columns where they are few and of short names, else as rows.

    `frame` is what `model_frame` gives of the same options.
    """
    groups: dict[str, list[Metric]] = {}
    for metric in table.metrics.values():
        if metric.group:
            groups.setdefault(metric.group, []).append(metric)
    rows_of = {(row["model"], row["condition"]): row for row in frame.iter_rows(named=True)}
    models = {group_name(table, *group): rows_of[group] for group in sorted_groups(table, options)}
    tables = []
    for title, metrics in groups.items():
        if len(models) <= _MOST_COLUMNS and all(width(name) <= _WIDEST_HEAD for name in models):
            columns = [text_column("metric", "name")]
            columns += [_model_column(name, of_model) for name, of_model in models.items()]
            rows: list[dict[str, Any]] = [{"name": label(metric), "metric": metric} for metric in metrics]
        else:
            columns = [text_column("model", "name", is_name=True), count_column("n", "n")]
            columns += [Column(one.short or one.label, partial(_point, metric=one)) for one in metrics]
            rows = [{**row, "name": name} for name, row in models.items()]
        tables.append(Table(f"metrics {title}", title, columns, rows))
    return tables


def _model_column(name: str, of_model: Row) -> Column:
    return Column(name, lambda row: _point(of_model, row["metric"]), head_is_name=True)


def _point(row: Row, metric: Metric) -> Cell:
    """Return a value with its coverage, and with its n where that is smaller than the model's."""
    value, n = row[metric.name], row[f"{metric.name}_n"]
    if value is None:
        return Cell(UNDEFINED)
    shares = [share for task in metric.coverage if (share := row.get(f"coverage_{task}")) is not None]
    small = [f"({percent(min(shares))})"] if shares else []
    small += [f"[{n}]"] if n != row["n"] else []
    text = number(value, metric)
    return Cell(text, " ".join(small), float(text))


def significant_words(table: ScoreTable, count: Row, comparisons: pl.DataFrame) -> str:
    """Return how many pairs differ, from a row of `count_significant` of comparisons, or that none does or could."""
    keys = [name for name in ("stratum", "condition", "metric") if name in count]
    own = comparisons.filter(pl.col(name).eq_missing(pl.lit(count[name])) for name in keys)
    reasons = own["reason"]
    if reasons.str.starts_with(EQUAL).fill_null(value=False).all():
        return f"no pair of {count['pairs']} differs: {reasons[0]}"
    by_interval = f"{count['interval_excludes_0']} by the uncorrected interval"
    if not count["family"]:
        return f"no pair of {count['pairs']} can be tested, {by_interval}"
    if count["p_holm_min"] >= ALPHA:
        least = f"least possible Holm p {p_value(count['p_holm_min'])}, family of {count['family']}"
        few = too_few_to_differ(table, own, count["family"])
        none = f"{few} cannot show a difference" if few else f"no pair of {count['pairs']} could differ"
        return f"{none} ({least}), {by_interval}"
    return (
        f"{count['significant']} of {count['pairs']} pairs differ (Holm p < 0.05, family of {count['family']}), "
        f"{by_interval}"
    )


def too_few_to_differ(table: ScoreTable, pairs: pl.DataFrame, family: int) -> str:
    """Return how many units, or clusters, are so few that no difference between models could be significant.

    Nothing where enough of them were compared, and only too few of them differ.
    """
    tested = pairs.drop_nulls("p_min")
    clusters, units = (int(tested[name].max() or 0) for name in ("clusters", "n"))  # type: ignore[arg-type]
    # The exchanges of G clusters are 2 ** G, and two of them give the largest difference.
    by_clusters = float(tested["p_min"].min() or 0) >= 2.0 ** (1 - clusters) * (1 - 1e-9)  # type: ignore[arg-type]
    number = clusters if by_clusters else units
    noun = table.provenance.cluster if by_clusters and clusters != units else table.provenance.unit
    return plural(number, noun) if family * 2.0 ** (1 - number) >= ALPHA else ""


def difference_columns(table: ScoreTable) -> list[Column]:
    """Return the columns of a stratum set against its complement."""
    return frame_columns(table, COMPARED, ["difference", "difference_low", "difference_high", "p", "p_holm"])


def subgroup_tables(table: ScoreTable, frame: pl.DataFrame) -> list[Table]:
    """Return a table of the strata for each metric, model and condition."""
    compared = "difference" in frame.columns
    columns = frame_columns(table, SUBGROUPS, "stratum n clusters value low high".split(), estimate="value")
    columns += difference_columns(table) if compared else []

    def title(metric: str, model: str, condition: str | None, rows: pl.DataFrame) -> str:
        family = f", family of {plural(rows['p'].count(), 'test')}" if compared else ""
        return f"{label(table.metrics[metric])}, {model}{under_condition(table, condition)}{family}"

    return _tables_of("subgroups", frame, by_rank(table, frame, ["metric", "model", "condition"]), columns, title)


def by_rank(table: ScoreTable, frame: pl.DataFrame, keys: list[str]) -> list[tuple[tuple[Any, ...], pl.DataFrame]]:
    """Return the groups of a frame by keys that end with model and condition; the best model first."""
    place = {group: place for place, group in enumerate(sorted_groups(table))}
    groups = [*frame.group_by(keys, maintain_order=True)]
    outer = {key: number for number, key in enumerate(dict.fromkeys(key[:-2] for key, _ in groups))}
    return sorted(groups, key=lambda one: (outer[one[0][:-2]], place[one[0][-2], one[0][-1]]))


def subgroup_notes(
    table: ScoreTable,
    frame: pl.DataFrame,
    *,
    compared: bool,
    overlapping: int = 0,
    options: AnalysisOptions | None = None,
) -> list[str]:
    """Return the sentences below tables of the subgroups in `frame`."""
    held, chosen = table.provenance, options or AnalysisOptions()
    name = held.cluster if has_clusters(table) else held.unit
    notes = [
        f"In brackets: {interval_words(table, chosen, frame)}. few: fewer than {FEW} {pluralize(name)}, whose "
        f"intervals cover too rarely where scores are skewed. too few: fewer than {MIN_CLUSTERS}, no interval."
    ]
    if compared:
        shares = any(table.metrics[metric].statistic == "share" for metric in frame["metric"].unique())
        own = shares or chosen.weighs_clusters(table)
        resampled = f", by resampling {pluralize(drawn(table, chosen))}" if own else ""
        notes.append(
            f"Difference: stratum minus complement, the other {pluralize(held.unit)}, unpaired{resampled}. Holm: p "
            "corrected for the strata of the table, for each model and metric apart."
        )
    if overlapping:
        notes.append(overlap_note(table, overlapping))
    return notes


def overlap_note(table: ScoreTable, overlapping: int) -> str:
    """Say how many units are in several strata."""
    held = table.provenance
    return f"Strata overlap: {plural(overlapping, f'{held.unit} is', f'{pluralize(held.unit)} are')} in several."


def rank_tables(table: ScoreTable, ranks: pl.DataFrame) -> list[Table]:
    """Return a table of the ranks of models for each metric and condition."""
    columns = [Column("rank", _rank), *frame_columns(table, RANKS, ["model", "value", "n", "clusters"])]
    groups = ranks.with_columns(is_best=pl.col("rank") == 1).group_by("condition", "metric", maintain_order=True)

    def title(condition: str | None, metric: str, _: pl.DataFrame) -> str:
        return f"Ranks by {label(table.metrics[metric])}{under_condition(table, condition)}"

    return _tables_of("ranks", ranks, groups, columns, title)


def _rank(row: Row) -> Cell:
    if row["rank"] is None:
        return Cell(UNDEFINED)
    ends = "" if row["low"] is None else f"[{row['low']:g}, {row['high']:g}]"
    return Cell(f"{row['rank']:g}", ends, row["rank"])


_PLAIN = Metric(name="", label="")
# The title of a table says these instead of a column; pairs that share them are a family.
_HEADED = ("condition", "reference", "metric")


def analysis_note(scores: ScoreTable, analysis: Analysis, frame: pl.DataFrame, options: AnalysisOptions) -> str:
    """Return what the numbers of an analysis are, with the intervals that were asked for, in the scores' words."""
    notes = [in_words(scores, analysis.note)]
    if analysis.finding is not None:
        notes.insert(0, analysis.finding(scores, frame))
    if analysis.by_formula:
        notes.append(f"In brackets: {100 * options.level:g}% intervals by formula.")
    elif "low" in frame.columns:
        notes.append(f"In brackets: {interval_words(scores, options)}.")
    if analysis.exchanged:
        random = random_words(exchanges_of(analysis, frame, options.resamples), options)
        notes.append(
            f"p: exchanging the two sides within {pluralize(drawn(scores, options))}{random}. p min: the smallest "
            f"possible p. Holm: p corrected for {analysis.exchanged}."
        )
    return " ".join(notes)


def exchanges_of(analysis: Analysis, frame: pl.DataFrame, resamples: int) -> int:
    """Return how many random exchanges an analysis made: enough for its largest family; the resamples without tests."""
    if not analysis.exchanged:
        return resamples
    pairs = frame.group_by([name for name in _HEADED if name in frame.columns]).len()["len"]
    return enough_exchanges(max(pairs, default=0), resamples)


def only_reason(frame: pl.DataFrame, estimate: str) -> str | None:
    """Return why no row has an estimate, where all have one reason; None where any has one or reasons differ."""
    if estimate not in frame.columns or "reason" not in frame.columns or frame[estimate].count():
        return None
    reasons: list[str | None] = frame["reason"].unique().to_list()
    return reasons[0] if len(reasons) == 1 else None


def analysis_tables(scores: ScoreTable, key: str, analysis: Analysis, frame: pl.DataFrame) -> list[Table]:
    """Return the tables of an analysis, by metric, condition and `Analysis.by`; all numbers go with the first.

    Parameters
    ----------
    scores : ScoreTable
        What was analysed.
    key : str
        Name of the analysis.
    analysis : Analysis
        Its entry.
    frame : polars.DataFrame
        What its function gave.
    """
    needed = f"this needs {in_words(scores, analysis.rows_need)}" if frame.is_empty() else None
    if why := needed or only_reason(frame, analysis.estimate):
        example = f"; {analysis.example}" if analysis.example else ""
        return [Table(key, f"Nothing to show: {why}{example}.", (), (), frame)]
    headed = [name for name in dict.fromkeys((*_HEADED, *analysis.by)) if name in frame.columns]
    if not analysis.by_metric:
        headed.remove("metric")
    declared = {name: analysis.columns.get(name) or undeclared(dtype) for name, dtype in frame.schema.items()}
    left_out = {name for name, column in declared.items() if column.shown == "files"}
    shown = [name for name in frame.columns if name not in {*headed, *left_out, "reason", "mark"}]
    if "below" in shown and not frame["below"].count():
        shown.remove("below")
    if "group" in shown and frame["group"].unique().to_list() == [1]:
        shown.remove("group")
    columns = frame_columns(scores, declared, shown, estimate=analysis.estimate)

    def titled(*values: Any) -> str:
        *named, rows = values
        said = dict(zip(headed, named, strict=True))
        title = [in_words(scores, analysis.title)]
        if "metric" in said:
            title.append(label(scores.metrics[said["metric"]]))
        title += [str(said[name]) for name in analysis.by if name in said]
        if said.get("condition") is not None:
            against = f" against {said['reference']}" if "reference" in said else ""
            title.append(f"{scores.provenance.condition} {said['condition']}{against}")
        if "p_holm" in frame.columns:
            title.append(f"family of {rows['p'].count()}")
        return ", ".join(title)

    groups = frame.group_by(headed, maintain_order=True) if headed else [((), frame)]
    return _tables_of(key, frame, groups, columns, titled)


def _metric_column(table: ScoreTable, head: str, key: str) -> Column:
    """Return a column of metrics by their labels; metrics of one label with their names, too."""
    labels = [label(metric) for metric in table.metrics.values()]

    def cell(row: Row) -> Cell:
        text = label(table.metrics[row[key]])
        return Cell(text if labels.count(text) == 1 else f"{text} ({row[key]})", value=row[key])

    return Column(head, cell, True, is_text=True)


def frame_columns(
    table: ScoreTable, declared: Columns, names: Sequence[str], *, estimate: str = "", heads: Mapping[str, str] = {}
) -> list[Column]:
    """Return columns of a frame as they are declared: an estimate with its interval in one, as are units and clusters.

    Parameters
    ----------
    table : ScoreTable
        The scores.
    declared : mapping of str to FrameColumn
        The columns of the frame.
    names : sequence of str
        The columns to show, with the ends of intervals and the clusters that one column shows with another.
    estimate : str
        The column that the interval from ``low`` to ``high`` belongs to.
    heads : mapping of str to str
        By column another heading than the declared one.
    """

    def metric(row: Row) -> Metric:
        return table.metrics[row["metric"]] if "metric" in row else _PLAIN

    shown: dict[str, Callable[[Row], Metric]] = {
        "metric": metric,
        "plain": lambda _: _PLAIN,
        "rank": lambda _: replace(_PLAIN, digits=1),
        "square": lambda row: replace(metric(row), scale=metric(row).scale ** 2),
    }
    # What one cell shows beside an estimate or a number of units.
    ends = {name: (f"{name}_low", f"{name}_high") for name in ("share", "difference", "omega", "rank", "back")}
    beside = {**ends, estimate: ("low", "high"), "n": ("clusters",)}
    joined = {name: also for name, also in beside.items() if {name, *also} <= {*names}}
    columns = []
    for name in (name for name in names if name not in {*chain(*joined.values())}):
        own = declared[name]
        head = in_words(table, heads.get(name) or own.head or name.replace("_", " "))
        if name.startswith("metric"):
            columns.append(_metric_column(table, head, name))
        elif own.type == "text":
            columns.append(text_column(head, name, is_name=name.startswith(("model", "stratum"))))
        elif own.type == "true or false":
            columns.append(yes_column(head, name))
        elif own.type == "whole number":
            columns.append(size_column(head) if name in joined else count_column(head, name))
        elif own.shown == "p-value":
            columns.append(p_column(head, name))
        elif name in joined:
            low, high = joined[name]
            columns.append(estimate_column(head, name, shown[own.shown], low=low, high=high, signed=own.signed))
        elif "rank" in name.split("_"):
            columns.append(_plain_number(head, name))
        else:
            columns.append(number_column(head, name, shown[own.shown], signed=own.signed))
    return columns


def failure_tables(table: ScoreTable) -> list[Table]:
    """Return how many units failed, by kind, and the primary metric under every choice of the variants."""
    counted = _counted(table)
    kinds = [name for name in counted.columns if name.startswith("failed.")]
    tables = []
    if kinds:
        counts = counted.group_by("model", "condition").agg(pl.col(kinds).sum().cast(pl.Int64))
        by_group = {(row["model"], row["condition"]): row for row in counts.iter_rows(named=True)}
        rows = [
            {"name": group_name(table, *group), **by_group[group]}
            for group in sorted_groups(table)
            if any(by_group[group][kind] for kind in kinds)
        ]
        heads = {kind: kind.removeprefix("failed.").replace("_", " ") for kind in kinds}
        columns = [text_column("model", "name", is_name=True), *(count_column(heads[kind], kind) for kind in kinds)]
        if rows:
            frame = counts.sort("model", "condition").rename({kind: kind.removeprefix("failed.") for kind in kinds})
            each = "" if table.repeats is None else ", each repeat counted"
            title = f"Failed {pluralize(table.provenance.unit)}, by kind{each}"
            tables.append(Table("failed", title, columns, rows, frame))
    return [*tables, *(_variant_table(table, name, options) for name, options in table.choices.items())]


def _counted(table: ScoreTable) -> pl.DataFrame:
    """Return the rows to count: one for each repeat where values are means over repeats."""
    return table.values if table.repeats is None else table.repeats


def _variant_table(table: ScoreTable, name: str, options: Sequence[str]) -> Table:
    """Return the primary metric of every model under each option of a choice, the other choices as they are."""
    metric = table.metric(table.primary)
    keys = dict.fromkeys(("model", "condition"), pl.String)
    frame = pl.DataFrame(sorted_groups(table), schema=keys, orient="row")
    for option in options:
        series = ScoreSeries(table.variant(**{name: option}))
        found = [(*group, value) for group, value in zip(series.groups, points(series, metric.name), strict=True)]
        values = pl.DataFrame(found, schema={**keys, option: pl.Float64}, orient="row")
        frame = frame.join(values, on=[*keys], how="left", nulls_equal=True, maintain_order="left")
    rows = [{"name": group_name(table, row["model"], row["condition"]), **row} for row in frame.to_dicts()]
    columns = [text_column("model", "name", is_name=True)]
    columns += [number_column(option, option, lambda _: metric) for option in options]
    return Table(f"by_{name}", f"{label(metric)} under each choice of {name}", columns, rows, frame)


_CALLS_NOTE = (
    "Calls: how answers, including judges' answers, were read: parsed at first, repaired (the text of the answer was "
    "mended), retried (read when asked again) or failed (not read; what it was asked for is missing)."
)


def calls_table(table: ScoreTable) -> list[Table]:
    """Return how the answers of the models were read, where the results say so."""
    counted = _counted(table)
    outcomes = [name for name in counted.columns if name.startswith("calls.")]
    if not outcomes:
        return []
    counts = (
        counted.drop_nulls(outcomes)
        .group_by("model", "condition")
        .agg(pl.col("unit").n_unique().cast(pl.Int64).alias("n"), pl.col(outcomes).sum().cast(pl.Int64))
    )
    by_group = {(row["model"], row["condition"]): row for row in counts.iter_rows(named=True)}
    rows = [
        {"name": group_name(table, *group), "total": sum(own[outcome] for outcome in outcomes), **own}
        for group in sorted_groups(table)
        if (own := by_group.get(group))
    ]
    if not rows:
        return []
    columns = [text_column("model", "name", is_name=True), count_column("calls", "total")]
    columns += [count_column(name.removeprefix("calls."), name) for name in outcomes]
    columns.append(count_column(f"of {pluralize(table.provenance.unit)}", "n"))
    return [Table("calls", "Calls", columns, rows, notes=(_CALLS_NOTE,))]


TIERS = (
    "A tier begins with its best model and ends before the first significantly worse model (paired test, "
    "Holm-corrected over all pairs). Members of a tier need not be equal, and a model need not differ significantly "
    "from models of the next tier; such tiers are shown beside it."
)
"""Definition of tiers, for pages and for whoever reads ``board.json``."""

Group = tuple[str, str | None]


def ranking_frame(
    table: ScoreTable, summary: pl.DataFrame, pairs: pl.DataFrame, ranks: pl.DataFrame | None, order: Sequence[Group]
) -> pl.DataFrame:
    """Return every model under every condition with its value, rank and tier, the best of each condition first.

    Parameters
    ----------
    table : ScoreTable
        The scores.
    summary, pairs : polars.DataFrame
        Of the primary metric, without what must not be shown: as from `attune_bench.stats.summary.summary` and
        `attune_bench.stats.compare.compare_all`.
    ranks : polars.DataFrame, optional
        As from `attune_bench.stats.rank.rank`; without them ranks have no interval.
    order : sequence of (str, str or None)
        The models and conditions from the best.

    Returns
    -------
    polars.DataFrame
        The columns of `summary`, then ``rank, rank_low, rank_high, tier, tier_first, tier_last``; without a rank and a
        tier where a model has no value, or no direction of the metric is better, and without a tier where no two models
        can be compared.
    """
    keys = ["model", "condition"]
    place = pl.DataFrame(order, schema=dict.fromkeys(keys, pl.String), orient="row").with_row_index("place")
    rows = summary.join(place, on=keys, nulls_equal=True).sort("place").drop("place")
    higher = table.metric(table.primary).higher_is_better
    rank = pl.lit(None) if higher is None else pl.col("value").rank("average", descending=higher).over("condition")
    found = rows.with_columns(rank.cast(pl.Float64).alias("rank"))
    ends = ("rank_low", "rank_high")
    if ranks is None:
        found = found.with_columns(pl.lit(None, pl.Float64).alias(name) for name in ends)
    else:
        of_ranks = ranks.select(*keys, pl.col("low").alias(ends[0]), pl.col("high").alias(ends[1]))
        found = found.join(of_ranks, on=keys, how="left", nulls_equal=True, maintain_order="left")
    if pairs.is_empty() or higher is None:
        return found.with_columns(pl.lit(None, pl.Int64).alias(f"tier{end}") for end in ("", "_first", "_last"))
    return in_tiers(table, found, pairs)


def called(model: str) -> str:
    """Return a name, followed by its kind if it is a person's; a baseline's name begins with its kind."""
    return f"{model} (person)" if kind_of_group(model) == "person" else model


def under(frame: pl.DataFrame, condition: str | None) -> pl.DataFrame:
    """Return the part of a frame of one condition."""
    return frame.filter(pl.col("condition").eq_missing(pl.lit(condition)))


def rows_under(frame: pl.DataFrame, condition: str | None) -> list[dict[str, Any]]:
    """Return the rows of one condition."""
    return under(frame, condition).to_dicts()


def _power_words(clusters: str, looks: int) -> str:
    """Return what the power of a plan means, and when to test; `clusters` in the plural."""
    found, test = "find it", "the two-sided permutation test of compare at 0.05"
    when = f"Test once, when all {clusters} are there."
    if looks > 1:
        found, test = f"find it at one of {looks} looks", f"compare --looks {looks} at 0.05 over all looks"
        when = (
            f"Look {looks} times, each after an equal part of the {clusters}, and stop where the models differ; a "
            f"look at fewer than {MIN_CLUSTERS_OF_LOOK} decides nothing. "
            f"expected: how many {clusters} that takes on average, if the true difference is this large."
        )
    return (
        f"Power 80%: if the true difference is this large, four of five such studies {found}, by {test}. This is for "
        f"one pair: where several are corrected for each other, more {clusters} are needed. {when}"
    )


def pilot_tables(table: ScoreTable, frame: pl.DataFrame) -> list[Table]:
    """Return a table for each metric and condition of `frame`, from `attune_bench.stats.planning.plan`."""
    cluster, unit = drawn(table, AnalysisOptions()), table.provenance.unit
    shown, heads = "model_a model_b n clusters mde difference".split(), {"n": "pilot", "mde": "mde of pilot"}
    columns = [*frame_columns(table, PLAN, shown, heads=heads), *_sizes(cluster, unit, frame)]
    marked = frame.with_columns(mark=pl.when(pl.col("clusters") < FEW).then(pl.lit("few")).otherwise(pl.lit("")))
    groups = marked.group_by("metric", "condition", maintain_order=True)

    def title(metric: str, condition: str | None, _: pl.DataFrame) -> str:
        return f"Plan: {label(table.metrics[metric])}{under_condition(table, condition)}"

    return _tables_of("plan", frame, groups, columns, title)


def assumed_table(frame: pl.DataFrame) -> Table:
    """Return the table of a plan from assumptions, as from `plan_from_assumptions`."""
    stated = [("sd", "sd"), ("r", "correlation"), ("ICC", "icc"), ("units of each", "units_per_participant")]
    columns = [_plain_number(*one) for one in (*stated, ("CV", "units_cv"), ("difference", "difference"))]
    return Table("plan", "Plan", [*columns, *_sizes("participant", "unit", frame)], frame.to_dicts(), frame)


def _sizes(cluster: str, unit: str, frame: pl.DataFrame) -> list[Column]:
    """Return the columns of how many are planned, and how many are expected where the plan has several looks."""
    sizes = [count_column(pluralize(cluster), "participants")]
    sizes += [] if cluster == unit else [count_column(pluralize(unit), "units")]
    if EXPECTED.keys() <= {*frame.columns}:
        sizes.append(Column("expected", lambda row: _rounded(row["participants_expected"])))
    return sizes


def _rounded(value: float | None) -> Cell:
    return Cell(UNDEFINED if value is None else f"{value:.0f}", value=value)


def _plain_number(head: str, key: str) -> Column:
    """Return a column of numbers that are of no metric."""
    return Column(head, lambda row: Cell(UNDEFINED if row[key] is None else f"{row[key]:g}", value=row[key]))


def pilot_notes(table: ScoreTable, looks: int = 1) -> list[str]:
    """Return the sentences below a plan from a pilot, with a number of looks."""
    cluster, unit = drawn(table, AnalysisOptions()), table.provenance.unit
    each = f", and have as many {pluralize(unit)} each, as unequally many" if cluster != unit else ""
    within = f" ({pluralize(cluster)})" if cluster != unit else ""
    return [
        f"pilot: {pluralize(unit)} that both models have{within}. mde of pilot: the smallest true difference that the "
        f"pilot would have found. {pluralize(cluster)}: how many in all. {_power_words(pluralize(cluster), looks)}",
        f"Assumed: new {pluralize(cluster)} are as unlike each other as the {pluralize(cluster)} of the pilot{each}; "
        f"both models answer the same {pluralize(unit)}. A pilot says this only roughly: plan for more. few: a pilot "
        f"of fewer than {FEW} {pluralize(cluster)}.",
    ]


def assumed_notes(looks: int = 1) -> list[str]:
    """Return the sentences below a plan from assumptions, with a number of looks."""
    return [
        f"participants: how many in all. {_power_words('participants', looks)}",
        "Assumed: sd, the standard deviation of a unit's score; r, the correlation of both models' scores on a unit; "
        "ICC, the share of the variance of the two models' difference that is between participants; CV, the standard "
        "deviation of the number of units of a participant, over its mean: 0 if all have equally many. Both models "
        "answer the same units. With a lower r, a higher sd, ICC or CV more participants are needed.",
    ]


def distribution_tables(table: ScoreTable, distribution: pl.DataFrame) -> list[Table]:
    """Return a table of the distribution of each metric, for each model and condition."""
    shown = "n mean sd lowest median highest".split()
    metrics = Column("metric", lambda row: Cell(label(table.metrics[row["metric"]])), is_text=True)
    columns = [metrics, *frame_columns(table, DISTRIBUTION, shown, heads={"sd": "SD"})]
    groups = by_rank(table, distribution, ["model", "condition"])

    def title(model: str, condition: str | None, _: pl.DataFrame) -> str:
        return f"{model}{under_condition(table, condition)}"

    return _tables_of("distribution", distribution, groups, columns, title)
