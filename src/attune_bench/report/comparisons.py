"""Comparisons of models as a report shows them: pairs, or a matrix of signs, and a sentence to quote."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import compress
from operator import and_
from typing import Any

import polars as pl

from attune_bench.report.columns import (
    Cell,
    Column,
    Row,
    Table,
    drawn,
    has_clusters,
    interval,
    interval_words,
    is_p_bound,
    label,
    number,
    random_words,
    row_p,
    signs_of,
    swapped,
    text_column,
    under_condition,
    words_under,
)
from attune_bench.report.tables import frame_columns, significant_words, with_frame
from attune_bench.scores.provenance import compared_early, kind_of_group
from attune_bench.scores.table import ScoreTable
from attune_bench.stats.compare import COMPARISONS, SAME, count_significant
from attune_bench.stats.options import ALPHA, AnalysisOptions, ScoreSeries, have_values, points
from attune_data.text import plural, pluralize
from attune_metrics.metric import Metric

MOST_LISTED = 5
"""Number of models in a family from which on text has a matrix in place of the pairs."""

MOST_QUOTED = 6
"""As many pairs have a sentence to quote each, and open numbers on a page."""


def comparison_tables(
    table: ScoreTable, comparisons: pl.DataFrame, *, full: bool = True, for_paper: bool = False
) -> list[Table]:
    """Return a table for each metric and condition; all the numbers go with the first.

    Parameters
    ----------
    table : ScoreTable
        The scores.
    comparisons : polars.DataFrame
        As from `attune_bench.stats.compare.compare_all`.
    full : bool
        Whether every pair has a row whatever their number, with ``p_min`` and ``mde``; otherwise more than five models
        become a matrix of signs.
    for_paper : bool
        Whether columns that follow from others are left out, so that pairs fit a column of text.
    """
    of_margin = "margin p_same p_same_holm verdict" if "margin" in comparisons.columns else ""
    # Last what a narrow terminal may show in a second part of the table.
    tested = "p_holm" if for_paper else "significant p p_holm"
    shown = f"model_a model_b difference low high {tested} n clusters {of_margin}"
    shown += " p_min mde" if full else ""
    heads = {"difference": "A minus B", "p_same_holm": "Holm p same"}
    columns = frame_columns(table, COMPARISONS | SAME, shown.split(), estimate="difference", heads=heads)
    tables = []
    for count, own in _families(comparisons):
        within = f"{count['stratum']}: " if "stratum" in count else ""
        named = f"{within}{label(table.metrics[count['metric']])}{under_condition(table, count['condition'])}"
        title = f"{named}: {significant_words(table, count, own)}"
        made = Table("comparisons", title, columns, own.to_dicts(), caption=_caption(named, count, _look_of(own)))
        if not full:
            # Why there is no mde is of no use without its column.
            reason = pl.when(pl.any_horizontal(pl.col("low", "p").is_null())).then("reason")
            made = replace(made, rows=own.with_columns(reason=reason).to_dicts())
            models = _models(own)
            made = _matrix(made, models, table.metrics[count["metric"]]) if len(models) > MOST_LISTED else made
        tables.append(made)
    return with_frame("comparisons", comparisons, tables)


def _caption(named: str, count: Row, look: str | None) -> str:
    """Return what a paper says a table of pairs shows."""
    family = count["family"]
    corrected = f", Holm-corrected over {plural(family, 'pair')}" if family > 1 else ""
    tests = "paired permutation tests" if look is None else f"Student's t over clusters, over {_looks_words(look)}"
    tested = f" and p-values of {tests}{corrected}" if family else ""
    return f"Differences between models in {named}, with uncorrected intervals{tested}."


def _look_of(comparisons: pl.DataFrame) -> str | None:
    """Return which look at the data comparisons are, such as ``2 of 4`` or ``any``; None where there is one look."""
    return comparisons["look"].first() if "look" in comparisons.columns else None  # type: ignore[return-value]  # A text.


def _looks_words(look: str) -> str:
    """Return what the looks of a look are called.

    Examples
    --------
    >>> _looks_words("2 of 4"), _looks_words("any")
    ('4 looks', 'any number of looks')
    """
    return "any number of looks" if look == "any" else f"{look.rpartition(' ')[2]} looks"


def _families(comparisons: pl.DataFrame) -> Iterator[tuple[Row, pl.DataFrame]]:
    """Yield for each family its row of `count_significant`, and its pairs."""
    keys = [name for name in ("stratum", "condition", "metric") if name in comparisons.columns]
    for count in count_significant(comparisons).iter_rows(named=True):
        yield count, comparisons.filter(pl.col(name).eq_missing(pl.lit(count[name])) for name in keys)


def _models(pairs: pl.DataFrame) -> list[str]:
    return list(dict.fromkeys([*pairs["model_a"], *pairs["model_b"]]))


def _matrix(made: Table, models: Sequence[str], metric: Metric) -> Table:
    """Return the table of pairs as a matrix of signs."""
    signs = signs_of(made.rows, metric)

    def cell(row: Row, other: str) -> Cell:
        sign = signs.get((row["model"], other))
        return Cell("") if row["model"] == other else Cell(_SIGNS[sign], value=sign)

    columns = [Column("", lambda row: Cell(row["place"])), text_column("model", "model", is_name=True)]
    columns += [Column(str(place), partial(cell, other=other)) for place, other in enumerate(models, start=1)]
    rows = [{"place": str(place), "model": model} for place, model in enumerate(models, start=1)]
    return replace(made, columns=columns, rows=rows)


_SIGNS = {1: "+", -1: "-", 0: "=", None: "?"}


def matrices(comparisons: pl.DataFrame) -> list[bool]:
    """Return for each of `comparison_tables` that are not full whether it is a matrix."""
    return [len(_models(own)) > MOST_LISTED for _, own in _families(comparisons)]


def comparison_note(
    table: ScoreTable,
    comparisons: pl.DataFrame,
    options: AnalysisOptions,
    exchanges: int,
    *,
    full: bool = True,
    for_paper: bool = False,
) -> str:
    """Return the sentences below `comparison_tables` of the same comparisons.

    `exchanges` is the number of random exchanges; the note has it where it differs from the number of resamples.
    """
    units = pluralize(table.provenance.unit)
    are_matrices = [False] if full else matrices(comparisons)
    look, of_clusters = _look_of(comparisons), pluralize(drawn(table, options))
    intervals = f"Uncorrected intervals: {interval_words(table, options)}."
    test = (
        f"p: paired permutation test, exchanging the two models within each {drawn(table, options)}, on the {units} of "
        f"both{random_words(exchanges, options)}."
    )
    if look is not None:
        level = f"{100 * options.level:g}%"
        intervals = (
            f"Uncorrected intervals: by Student's t over {of_clusters}, corrected for skewness, so wide that those of "
            f"{_looks_words(look)} hold together with {level}."
        )
        test = (
            f"p: the likelihood ratio of Student's t over {of_clusters}, which holds at any number of looks."
            if look == "any"
            else f"p: Student's t over {of_clusters}, corrected for {_looks_words(look)}, each after an equal part of "
            f"the planned {of_clusters} (O'Brien and Fleming); {_assumed_plan(comparisons, look, of_clusters)}."
        )
    if not all(are_matrices):
        intervals = f"Difference: A minus B, on the {units} of both. In brackets, u{intervals[1:]}"
    signs = (
        "A row against a column, which is numbered as rows are: + significantly better, - significantly worse (or "
        "higher and lower, where neither is better), = no significant difference, ? not compared."
    )
    same = (
        "p same: two one-sided tests that the difference is within the margin, the smallest difference that matters. "
        "Verdict: practically the same where Holm p same is 0.05 or less, otherwise different where Holm p is below "
        "0.05, otherwise undecided."
    )
    said = [
        *([signs] if any(are_matrices) else []),
        intervals,
        test,
        *([_BOUND] if look is None and any(map(is_p_bound, comparisons.iter_rows(named=True))) else []),
        *(["p min: the smallest p that the test could give."] if full else []),
        "Holm p: corrected for the family, the pairs that are corrected together; two models differ where it is below "
        "0.05.",
        *([] if for_paper else ["By the uncorrected interval: pairs with an interval that excludes 0."]),
        *([_MDE if look is None else _MDE_OF_LOOK] if full else []),
        *([same] if "margin" in comparisons.columns else []),
    ]
    return " ".join(said)


def _assumed_plan(comparisons: pl.DataFrame, look: str, clusters: str) -> str:
    """Return which planned look this is, and how many clusters the plan has if each look adds an equal part.

    Examples
    --------
    >>> _assumed_plan(pl.DataFrame({"clusters": [24, 22]}), "2 of 4", "participants")
    'this is look 2, which assumes a plan of about 48 participants, as at most 24 are compared here'
    >>> _assumed_plan(pl.DataFrame({"clusters": [24]}), "4 of 4", "participants")
    'this is look 4, the last, which assumes that no more participants are planned than the 24 compared here'
    """
    place, looks = map(int, look.split(" of "))
    counts = comparisons["clusters"].unique().to_list()
    most = max(counts)
    if place == looks:
        more = f"no more {clusters} are planned than the {most} compared here"
        return f"this is look {place}, the last, which assumes that {more}"
    plan, here = f"{round(most * looks / place)} {clusters}", f"{'at most ' if len(counts) > 1 else ''}{most}"
    return f"this is look {place}, which assumes a plan of about {plan}, as {here} are compared here"


_BOUND = "<: no random exchange gave a difference as large."
_MDE_OF_LOOK = "mde: minimum detectable effect, the smallest true difference that this look alone finds with 80% power."
_MDE = "mde: minimum detectable effect, the smallest true difference found with 80% power at an uncorrected 0.05."


def quotes(table: ScoreTable, comparisons: pl.DataFrame, options: AnalysisOptions) -> list[str]:
    """Return sentences to quote: for each metric and condition the best two models, and the pairs that differ.

    Pairs of two models come first, pairs without a model last. Of more than six sentences, only the sentences of the
    best two models are left. Strata, pairs that no test compares, and models that were compared while they ran, where
    `comparisons` are not of that look, have no sentence.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_data import load, load_runs
    >>> scores = score(load("demo"), load_runs("demo"))
    >>> found = scores.compare_all(metrics=["avg_emotion_f1"], resamples=500)
    >>> quotes(scores, found, AnalysisOptions(resamples=500))[0].partition(" (mean")[0]
    'synthetic/attentive scores higher than synthetic/hasty in Emotion F1'
    """
    if "stratum" in comparisons.columns or comparisons.is_empty():
        return []
    notes = () if "look" in comparisons.columns else table.provenance.notes
    early = {model for model in table.models if any(note.startswith(compared_early(model)) for note in notes)}
    every, of_best = list[tuple[Row, Row]](), list[tuple[Row, Row]]()
    for (metric, condition), rows in comparisons.group_by("metric", "condition", maintain_order=True):
        best = _best_two(table, str(metric), condition)
        [family] = count_significant(rows).to_dicts()
        for row in sorted(rows.drop_nulls("p").to_dicts(), key=_others_of):
            if not early.isdisjoint((row["model_a"], row["model_b"])):
                continue
            is_best = rows.height == 1 or {row["model_a"], row["model_b"]} == best
            if is_best or row["significant"]:
                every.append((row, family))
                of_best += [(row, family)] if is_best else []
    return [_quote(table, *one, options) for one in (every if len(every) <= MOST_QUOTED else of_best)]


def _others_of(pair: Row) -> int:
    """Return how many of a pair are people or baselines."""
    return sum(kind_of_group(pair[side]) != "model" for side in ("model_a", "model_b"))


def _best_two(table: ScoreTable, metric: str, condition: Any) -> set[str]:
    """Return the two best models of a condition by a metric; of all rows, where fewer than two are of models."""
    series = ScoreSeries(table)
    values = {
        model: value
        for (model, under), value in zip(series.groups, points(series, metric), strict=True)
        if under == condition and value is not None
    }
    models = [model for model in values if kind_of_group(model) == "model"]
    sign = table.metrics[metric].sign
    return set(sorted(models if len(models) > 1 else values, key=lambda model: -sign * values[model])[:2])


def _quote(table: ScoreTable, row: Row, family: Row, options: AnalysisOptions) -> str:
    held, metric = table.provenance, table.metrics[row["metric"]]
    row = swapped(row) if metric.sign * row["difference"] < 0 else row
    first, second, difference = row["model_a"], row["model_b"], row["difference"]
    within = interval(row["low"], row["high"], metric)
    corrected = f", Holm-corrected over {family['family']} pairs" if family["family"] > 1 else ""
    others = sum(condition == row["condition"] for _, condition in table.groups) - 2
    if family["pairs"] == 1 and others > 0:
        corrected = ", uncorrected for the other models of the table"
    said = f"{_both_means(table, row, options)}: difference {number(difference, metric)}"
    if within:
        said += f", {'uncorrected ' if corrected else ''}{100 * options.level:g}% interval {within}"
    p, look = row_p(row), row.get("look")
    test = "paired permutation test" if look is None else f"Student's t, over {_looks_words(look)}"
    said += f", p {f'< {p[1:]}' if p.startswith('<') else f'= {p}'} ({test}{corrected})"
    size = plural(row["n"], held.unit)
    if has_clusters(table) and row["clusters"] != row["n"]:
        size += f" by {plural(row['clusters'], held.cluster)}"
    where = f"in {metric.label}{words_under(table, row['condition'])}"
    same = ""
    if row.get("verdict") == "practically the same":
        same = f"; within the margin of {number(row['margin'], metric)}, they are practically the same"
    if row["significant"]:
        better = " (better)" if metric.higher_is_better is False else ""
        higher = f"{'higher' if difference > 0 else 'lower'}{better}"
        return f"{first} scores {higher} than {second} {where}{said}, n = {size}{same}."
    detectable = ""
    if max(row["p_min"], family["p_holm_min"]) >= ALPHA:
        detectable = ", and no difference could have been significant"
    elif row["mde"] is not None:
        power = f"80% power{', uncorrected' if family['family'] > 1 else ''}"
        detectable = f", smallest detectable difference {number(row['mde'], metric)} ({power})"
    none = f"No significant difference between {first} and {second} {where}"
    return f"{none}{said}{detectable}, n = {size}{same}."


def _both_means(table: ScoreTable, row: Row, options: AnalysisOptions) -> str:
    """Return the values of two models on the units that both have, in parentheses.

    Nothing where clusters are people and a model has further units: both its values would tell of the few others.
    """
    metric, condition = table.metrics[row["metric"]], row["condition"]
    groups = [(row["model_a"], condition), (row["model_b"], condition)]
    series = ScoreSeries(table.keep(groups=groups))
    first, second = have_values(series.values(metric.name)).tolist()
    where = ""
    if first != second:
        where = f", on the {pluralize(table.provenance.unit)} that both have"
        if table.provenance.private:
            return ""
        series = ScoreSeries(table.keep(groups=groups, units=compress(series.units, map(and_, first, second))))
    values = dict(zip(series.groups, points(series, metric.name, options), strict=True))
    noun = "mean " if metric.statistic == "mean" else ""
    return f" ({noun}{' against '.join(number(values[group], metric) for group in groups)}{where})"
