"""The tables of any scores: board, metrics, comparisons, subgroups, ranks, failed units, variants, calls."""

from collections.abc import Callable, Sequence
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
    estimate_column,
    number,
    number_column,
    p_column,
    p_value,
    percent,
    size_column,
    text_column,
    yes_column,
)
from attune_bench.report.words import drawn, has_clusters, interval_words, random_words, under_condition
from attune_bench.score_table import ScoreTable
from attune_bench.stats.comparison import count_significant
from attune_bench.stats.options import ALPHA, FEW, MIN_CLUSTERS, AnalysisOptions
from attune_bench.stats.paired import EQUAL
from attune_bench.stats.series import ScoreSeries
from attune_bench.stats.summary import coverage, points, sorted_groups, z_scores
from attune_data.text import plural, width
from attune_metrics.metric import Metric
from attune_metrics.stats.bootstrap import STATISTICS

__all__ = [
    "board",
    "by_rank",
    "comparison_note",
    "comparison_tables",
    "difference_columns",
    "group_name",
    "label",
    "metric_of",
    "metric_tables",
    "model_frame",
    "overlap_note",
    "rank_tables",
    "significant_words",
    "sorted_groups",
    "subgroup_notes",
    "subgroup_tables",
]

_MOST_COLUMNS = 5
_WIDEST_HEAD = 40
_COUNTED = ("failed", "calls")


def group_name(table: ScoreTable, model: str, condition: str | None) -> str:
    """Return what a row calls a model: with its condition where there are several."""
    return f"{model} [{condition}]" if condition is not None and len(table.conditions) > 1 else model


def metric_of(table: ScoreTable) -> Callable[[Row], Metric]:
    """Return the function from a row to the metric that it is of."""
    return lambda row: table.metrics[row["metric"]]


def label(metric: Metric) -> str:
    """Return a metric's label, with its direction where lower values are better."""
    return f"{metric.label}{', lower is better' if metric.higher_is_better is False else ''}"


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
        Those of the summary.
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
    if any(row["coverage"] is not None for row in rows):
        columns.append(Column("least coverage", _least_coverage))
    return Table("summary", "Models", columns, rows, summary, (_board_note(table, summary, options),))


def _reasons(table: ScoreTable, own: Sequence[Row]) -> str | None:
    """Return why metrics have no interval: the first one's reason, and those of others that have another."""
    first = own[0]["reason"]
    others = [
        f"{table.metrics[row['metric']].label}: {row['reason']}" for row in own if row["reason"] not in (None, first)
    ]
    return "; ".join(filter(None, (first, *others))) or None


def _board_column(metric: Metric) -> Column:
    inner = estimate_column(label(metric), "value", lambda _: metric)
    return Column(inner.head, lambda row: inner.cell(row["metrics"][metric.name]))


def _least_coverage(row: Row) -> Cell:
    share = row["coverage"]
    text = percent(share)
    # Sorted by what is shown.
    return Cell(text, value=None if share is None else float(text.rstrip("%")) / 100)


def _board_note(table: ScoreTable, summary: pl.DataFrame, options: AnalysisOptions) -> str:
    held = table.provenance
    size = f"{held.unit}s ({held.cluster}s)" if has_clusters(table) else f"{held.unit}s"
    return f"In brackets: {interval_words(table, options, summary)}. n: {size} with a value."


def model_frame(table: ScoreTable, options: AnalysisOptions | None = None) -> pl.DataFrame:
    """Return every metric as a column, a row a model and condition; `options` say what counts once.

    Beside them ``<metric>_n``, ``coverage_<task>``, and what results count, ``failed_<kind>`` and ``calls_<outcome>``,
    null where no result says it.
    """
    series, covered = ScoreSeries(table), coverage(table)
    rows: list[dict[str, Any]] = [
        {
            "model": model,
            "condition": condition,
            "n": int(series.scored[place].sum()),
            "clusters": series.count(series.scored[place]),
        }
        for place, (model, condition) in enumerate(series.groups)
    ]
    schema: dict[str, Any] = {"model": pl.String, "condition": pl.String, "n": pl.Int64, "clusters": pl.Int64}
    for name, metric in table.metrics.items():
        made_of_units = metric.statistic in STATISTICS
        if made_of_units:
            values = points(series, name, options)
        elif options is not None and options.weighs_clusters(table):
            values = [None] * len(rows)  # it depends on values in which each unit counts
        else:
            values = z_scores(series, metric)
        counted = ~np.isnan(series.values(name if made_of_units else metric.terms[0])[:, 0])
        schema |= {name: pl.Float64, f"{name}_n": pl.Int64}
        for place, row in enumerate(rows):
            row[name] = values[place]
            row[f"{name}_n"] = int(counted[place].sum())
    tasks = dict.fromkeys(task for of_group in covered.values() for task in of_group)
    for task in tasks:
        schema[f"coverage_{task}"] = pl.Float64
        for row, group in zip(rows, series.groups, strict=True):
            row[f"coverage_{task}"] = covered[group].get(task)
    counts = pl.col(f"^({'|'.join(_COUNTED)})\\..*$")
    sums = table.values.group_by("model", "condition").agg(pl.when(counts.count() > 0).then(counts.sum()))
    sums = sums.with_columns(counts.cast(pl.Int64)).rename(lambda name: name.replace(".", "_"))
    frame = pl.DataFrame(rows, schema=schema)
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
            columns = [text_column("metric", "name"), *(_model_column(name, row) for name, row in models.items())]
            rows: list[dict[str, Any]] = [{"name": label(metric), "metric": metric} for metric in metrics]
        else:
            columns = [
                text_column("model", "name", is_name=True),
                count_column("n", "n"),
                *(_metric_column(metric) for metric in metrics),
            ]
            rows = [{**row, "name": name} for name, row in models.items()]
        tables.append(Table(f"metrics {title}", title, columns, rows))
    return tables


def _model_column(name: str, of_model: Row) -> Column:
    return Column(name, lambda row: _point(of_model, row["metric"]), head_is_name=True)


def _metric_column(metric: Metric) -> Column:
    return Column(metric.short or metric.label, lambda row: _point(row, metric))


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


def comparison_tables(table: ScoreTable, comparisons: pl.DataFrame) -> list[Table]:
    """Return a table of the pairs of models for each metric and condition; all their numbers go with the first."""
    of = metric_of(table)
    columns = [
        text_column("A", "model_a", is_name=True),
        text_column("B", "model_b", is_name=True),
        estimate_column("A minus B", "difference", of, signed=True),
        p_column("p", "p"),
        p_column("Holm p", "p_holm"),
        yes_column("differ", "significant"),
        size_column(),
    ]
    if "margin" in comparisons.columns:
        columns += [
            number_column("margin", "margin", of),
            p_column("p same", "p_same"),
            p_column("Holm p same", "p_same_holm"),
            text_column("verdict", "verdict"),
        ]
    # Last, where a narrow terminal continues a table.
    columns += [p_column("p min", "p_min"), number_column("mde", "mde", of)]
    rows = comparisons.to_dicts()
    tables: list[Table] = []
    keys = [name for name in ("stratum", "condition", "metric") if name in comparisons.columns]
    for count in count_significant(comparisons).iter_rows(named=True):
        metric, condition = count["metric"], count["condition"]
        within = f"{count['stratum']}: " if "stratum" in count else ""
        words = significant_words(count, comparisons)
        title = f"{within}{label(table.metrics[metric])}{under_condition(table, condition)}: {words}"
        own = [row for row in rows if all(row[key] == count[key] for key in keys)]
        tables.append(Table("comparisons", title, columns, own, None if tables else comparisons))
    if not tables:
        return [Table("comparisons", "Comparisons", columns, [], comparisons)]
    return tables


def significant_words(count: Row, comparisons: pl.DataFrame) -> str:
    """Return how many pairs differ, from a row of `count_significant` of comparisons, or that none does or could."""
    keys = [name for name in ("stratum", "condition", "metric") if name in count]
    reasons = comparisons.filter(pl.col(name).eq_missing(pl.lit(count[name])) for name in keys)["reason"]
    if reasons.str.starts_with(EQUAL).fill_null(value=False).all():
        return f"no pair of {count['pairs']} differs: {reasons[0]}"
    by_interval = f"{count['interval_excludes_0']} by interval alone"
    if not count["family"]:
        return f"no pair of {count['pairs']} can be tested, {by_interval}"
    if count["p_holm_min"] >= ALPHA:
        least = f"least possible Holm p {p_value(count['p_holm_min'])}, family of {count['family']}"
        return f"no pair of {count['pairs']} could differ ({least}), {by_interval}"
    return (
        f"pairs that differ {count['significant']} of {count['pairs']} (Holm p < 0.05, family of {count['family']}), "
        f"{by_interval}"
    )


def comparison_note(table: ScoreTable, options: AnalysisOptions, exchanges: int, *, margin: bool = False) -> str:
    """Return the sentences below tables of comparisons, with a margin or without.

    `exchanges` is the number of random exchanges, which is said where it is not that of the resamples.
    """
    held = table.provenance
    same = (
        " p same: two one-sided tests that the difference is within the margin, the smallest difference that matters. "
        "Verdict: practically the same where Holm p same is 0.05 or less, otherwise different where Holm p is below "
        "0.05, otherwise undecided."
    )
    random = random_words(exchanges, options)
    note = (
        f"Difference: A minus B, on the {held.unit}s of both. In brackets: {interval_words(table, options)}. p: "
        f"exchanging A and B within each {drawn(table, options)}{random}. p min: the smallest p that the test could "
        "give. Holm p: corrected for the pairs of the table; two models differ where it is below 0.05. mde: minimum "
        "detectable effect, the smallest true difference found with 80% power at an uncorrected 0.05."
    )
    return note + same if margin else note


def difference_columns(table: ScoreTable) -> list[Column]:
    """Return the columns of a stratum set against its complement."""
    low, high = "difference_low", "difference_high"
    return [
        estimate_column("difference", "difference", metric_of(table), low=low, high=high, signed=True),
        p_column("p", "p"),
        p_column("Holm p", "p_holm"),
        p_column("p min", "p_min"),
    ]


def subgroup_tables(table: ScoreTable, frame: pl.DataFrame) -> list[Table]:
    """Return a table of the strata for each metric, model and condition."""
    of = metric_of(table)
    compared = "difference" in frame.columns
    columns = [
        text_column("stratum", "stratum", is_name=True),
        size_column(),
        estimate_column("value", "value", of),
    ]
    if compared:
        columns += difference_columns(table)
    tables: list[Table] = []
    for (metric, model, condition), rows in by_rank(table, frame, ["metric", "model", "condition"]):
        family = f", family of {plural(rows['p'].count(), 'test')}" if compared else ""
        under = under_condition(table, None if condition is None else str(condition))
        title = f"{label(table.metrics[str(metric)])}, {model}{under}{family}"
        tables.append(Table("subgroups", title, columns, rows.to_dicts(), None if tables else frame))
    return tables or [Table("subgroups", "Subgroups", columns, [], frame)]


def by_rank(table: ScoreTable, frame: pl.DataFrame, keys: list[str]) -> list[tuple[tuple[Any, ...], pl.DataFrame]]:
    """Return the groups of a frame by keys, the last of which are model and condition; the best model first."""
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
    """Return the sentences below tables of subgroups, whose numbers are in `frame`."""
    held, chosen = table.provenance, options or AnalysisOptions()
    name = held.cluster if has_clusters(table) else held.unit
    notes = [
        f"In brackets: {interval_words(table, chosen, frame)}. few: fewer than {FEW} {name}s, whose intervals "
        f"cover too rarely where scores are skewed. too few: fewer than {MIN_CLUSTERS}, no interval."
    ]
    if compared:
        shares = any(table.metrics[metric].statistic == "share" for metric in frame["metric"].unique())
        own = shares or chosen.weighs_clusters(table)
        resampled = f", by resampling {drawn(table, chosen)}s" if own else ""
        notes.append(
            f"Difference: stratum minus complement, the other {held.unit}s, unpaired{resampled}. p min: the smallest "
            "possible p. Holm: p corrected for the strata of the table, for each model and metric apart."
        )
    if overlapping:
        notes.append(overlap_note(table, overlapping))
    return notes


def overlap_note(table: ScoreTable, overlapping: int) -> str:
    """Say how many units are in several strata."""
    held = table.provenance
    return f"Strata overlap: {plural(overlapping, f'{held.unit} is', f'{held.unit}s are')} in several."


def rank_tables(table: ScoreTable, ranks: pl.DataFrame) -> list[Table]:
    """Return a table of the ranks of models for each metric and condition."""
    columns = [
        Column("rank", _rank),
        text_column("model", "model", is_name=True),
        number_column("value", "value", metric_of(table)),
        size_column(),
    ]
    tables: list[Table] = []
    for (condition, metric), rows in ranks.group_by("condition", "metric", maintain_order=True):
        under = under_condition(table, None if condition is None else str(condition))
        title = f"Ranks by {label(table.metrics[str(metric)])}{under}"
        shown = [{**row, "is_best": row["rank"] == 1} for row in rows.iter_rows(named=True)]
        tables.append(Table("ranks", title, columns, shown, None if tables else ranks))
    return tables


def _rank(row: Row) -> Cell:
    if row["rank"] is None:
        return Cell(UNDEFINED)
    ends = "" if row["low"] is None else f"[{row['low']:g}, {row['high']:g}]"
    return Cell(f"{row['rank']:g}", ends, row["rank"])
