"""Figures of this benchmark's own analyses; `attune_bench.report.figures` has those of any scores."""

from typing import TYPE_CHECKING

import polars as pl

from attune_bench.report.columns import number, p_value
from attune_bench.report.drawing import (
    MUTED,
    PAPER,
    RATIO,
    SKY,
    STEP,
    WIDTH,
    Cells,
    altair,
    axis,
    best_first,
    data,
    dumbbell,
    estimates,
    heatmap,
    hover,
    line,
    metric_in,
    named,
    names,
    numbered,
    rows_of,
    scaled,
    shown,
    sizes,
    styled,
    unique,
)
from attune_bench.report.heatmaps import Numbers
from attune_bench.report.tables import label
from attune_bench.score_table import ScoreTable
from attune_bench.stats.options import FEW, MIN_CLUSTERS
from attune_data import load_codebook

if TYPE_CHECKING:
    from attune_bench.report.drawing import Chart

__all__ = ["diagnosis_groups", "perspective_gap", "question_agreement", "question_cells", "turn_drift"]

_LINE = 19
"""How high each of the two lines of a question is, in pixels."""
_SIZES = {
    "": f"{FEW} participants or more",
    "few": f"fewer than {FEW} participants",
    "too few": f"fewer than {MIN_CLUSTERS} participants, no interval",
}


def perspective_gap(table: ScoreTable, gaps: pl.DataFrame, *, condition: str | None = None) -> "Chart":
    """Draw how well each model tells what was done (OM) and what was wanted (HP), the widest gap on top.

    Parameters
    ----------
    table, condition
        As for `attune_bench.report.figures.scores`.
    gaps : polars.DataFrame
        What `attune_bench.benchmarks.attunebench.analyses.perspective_gap` gives.

    Returns
    -------
    altair.LayerChart

    Raises
    ------
    ValueError, ImportError
        As `attune_bench.report.figures.scores`.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_bench.benchmarks.attunebench import analyses
    >>> from attune_data import load, load_runs
    >>> given = score(load("demo"), load_runs("demo"))
    >>> type(perspective_gap(given, analyses.perspective_gap(given, resamples=200))).__name__
    'LayerChart'
    """
    rows = sorted(rows_of(gaps, "gap", condition=condition), key=lambda row: (-row["gap"], row["model"]))
    for row in rows:
        row["text"] = (
            f"{row['model']}: OM {number(row['om'], RATIO)}, HP {number(row['hp'], RATIO)}, gap "
            f"{shown(row, 'gap', RATIO, signed=True)}, Holm p {p_value(row['p_holm'])}, {sizes(table, row)}"
        )
    rows = named(table, rows, "model")
    kinds = {"om": "OM: what the model did", "hp": "HP: what was wanted"}
    chart = dumbbell(rows, kinds, names("model", unique(rows, "model")), "accuracy")
    return styled(chart.properties(width=WIDTH, height=STEP * len(rows)))


def turn_drift(
    table: ScoreTable, drift: pl.DataFrame, metric: str | None = None, *, condition: str | None = None
) -> "Chart":
    """Draw a metric in the thirds of conversations, and beside it how far it drifts from the first to the last.

    Parameters
    ----------
    table, metric, condition
        As for `attune_bench.report.figures.scores`.
    drift : polars.DataFrame
        What `attune_bench.benchmarks.attunebench.analyses.turn_drift` gives.

    Returns
    -------
    altair.HConcatChart

    Raises
    ------
    ValueError, ImportError
        As `attune_bench.report.figures.scores`.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_bench.benchmarks.attunebench import analyses
    >>> from attune_data import load, load_runs
    >>> given = score(load("demo"), load_runs("demo"))
    >>> found = analyses.turn_drift(given, metrics=["avg_emotion_va_score"], resamples=200)
    >>> type(turn_drift(given, found)).__name__
    'HConcatChart'
    """
    of = metric_in(table, drift, metric)
    rows = best_first(rows_of(drift, "drift", condition=condition, metric=of.name), "drift", of)
    for row in rows:
        thirds = ", ".join(f"{third} {number(row[third], of)}" for third in ("early", "middle", "late"))
        drifts = shown(row, "drift", of, signed=True)
        row["text"] = f"{row['model']}: {thirds}; drift {drifts}, Holm p {p_value(row['p_holm'])}, {sizes(table, row)}"
    rows = scaled(named(table, rows, "model"), of, "early", "middle", "late", "drift", "low", "high")
    y = names("model", unique(rows, "model"))
    kinds = {"early": "early third", "middle": "middle", "late": "late"}
    bare = y.copy()
    bare.axis = None
    height = STEP * len(rows)
    difference = [line(0), *estimates(rows, axis("X", "drift", "late minus early", ticks=3), bare)]
    panels = [
        dumbbell(rows, kinds, y, label(of)).properties(width=200, height=height),
        altair().layer(*difference).properties(width=140, height=height),
    ]
    return styled(altair().hconcat(*panels, spacing=16))


def diagnosis_groups(
    table: ScoreTable, groups: pl.DataFrame, metric: str | None = None, *, condition: str | None = None
) -> "Chart":
    """Draw how a metric differs between conversations of participants with a diagnosis and of those without any.

    Points of few participants are hollow, of too few to have an interval a cross.

    Parameters
    ----------
    table, metric, condition
        As for `attune_bench.report.figures.scores`.
    groups : polars.DataFrame
        What `attune_bench.benchmarks.attunebench.analyses.diagnosis_groups` gives.

    Returns
    -------
    altair.FacetChart

    Raises
    ------
    ValueError, ImportError
        As `attune_bench.report.figures.scores`.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_bench.benchmarks.attunebench import analyses
    >>> from attune_data import load, load_runs
    >>> conversations = load("demo")
    >>> given = score(conversations, load_runs("demo"))
    >>> chosen = ["avg_emotion_va_score"]
    >>> found = analyses.diagnosis_groups(given, data=conversations, metrics=chosen, resamples=1000)
    >>> type(diagnosis_groups(given, found)).__name__
    'FacetChart'
    """
    alt = altair()
    of = metric_in(table, groups, metric)
    rows = rows_of(groups, "value_none", condition=condition, metric=of.name)
    for row in rows:
        row["kind"] = _SIZES[row["mark"]]
        row["text"] = (
            f"{row['model']}, {row['group']}: {number(row['value_none'], of)} without a diagnosis; difference "
            f"{shown(row, 'difference', of, signed=True)}, Holm p {p_value(row['p_holm'])}, {sizes(table, row)}"
        )
    rows = scaled(named(table, rows, "model"), of, "difference", "low", "high")
    y = names("model", sorted(unique(rows, "model")))
    x = axis("X", "difference", f"{label(of)}: difference from no diagnosis")
    base = alt.Chart().encode(y)
    looks = dict(zip(_SIZES.values(), ((SKY, "circle"), (PAPER, "circle"), (PAPER, "cross")), strict=True))
    kinds = [kind for kind in looks if kind in unique(rows, "kind")]
    fills, shapes = ([looks[kind][i] for kind in kinds] for i in (0, 1))
    legend = alt.Legend(title=None, orient="top", labelLimit=320)
    chart = alt.layer(
        alt.Chart()
        .mark_rule(color=MUTED, strokeDash=[4, 3], strokeWidth=1.5, aria=False)
        .encode(alt.XDatum(0))
        .transform_aggregate(rows="count()", groupby=["group"]),
        base.mark_rule(color=SKY, strokeWidth=2).encode(alt.X("low:Q"), alt.X2("high:Q"), **hover()),
        base.mark_point(size=70, opacity=1, strokeWidth=2).encode(
            x,
            stroke=alt.Stroke("kind:N", scale=alt.Scale(domain=kinds, range=[SKY] * len(kinds)), legend=legend),
            fill=alt.Fill("kind:N", scale=alt.Scale(domain=kinds, range=fills), legend=legend),
            shape=alt.Shape("kind:N", scale=alt.Scale(domain=kinds, range=shapes), legend=legend),
            **hover(),
        ),
        data=data(rows),
    ).properties(width=WIDTH, height=22 * len(unique(rows, "model")))
    header = alt.Header(labelOrient="top", labelAnchor="start", labelFontWeight="bold", title=None)
    return styled(chart.facet(row=alt.Row("group:N", sort=unique(rows, "group"), header=header), spacing=10))


def question_agreement(
    table: ScoreTable, agreement: pl.DataFrame, task: str, *, condition: str | None = None
) -> "Chart":
    """Draw on which share of turns each model answers each binary question as the participant did.

    A row has the question's id and its text in the codebook, as it is asked of an observer.

    Parameters
    ----------
    table, condition
        As for `attune_bench.report.figures.scores`.
    agreement : polars.DataFrame
        What `attune_bench.benchmarks.attunebench.analyses.question_agreement` gives.
    task : str
        One of its tasks, such as ``binary_om``.

    Returns
    -------
    altair.LayerChart

    Raises
    ------
    ValueError, ImportError
        As `attune_bench.report.figures.scores`.

    Examples
    --------
    >>> from attune_bench import score
    >>> from attune_bench.benchmarks.attunebench import analyses
    >>> from attune_data import load, load_runs
    >>> conversations, runs = load("demo"), load_runs("demo")
    >>> given = score(conversations, runs)
    >>> found = analyses.question_agreement(given, data=conversations, results=runs, resamples=200)
    >>> type(question_agreement(given, found, "binary_om")).__name__
    'LayerChart'
    """
    return heatmap(question_cells(table, agreement, task, condition=condition))


def question_cells(
    table: ScoreTable,
    agreement: pl.DataFrame,
    task: str,
    *,
    condition: str | None = None,
    numbers: Numbers | None = None,
) -> Cells:
    """Return what `question_agreement` draws; `numbers` is as for `attune_bench.report.drawing.numbered`."""
    rows = [row for row in rows_of(agreement, "agreement", condition=condition) if row["task"] == task]
    if not rows:
        tasks = ", ".join(sorted(agreement["task"].unique()))
        raise ValueError(f"nothing to draw: no task {task!r}; expected one of {tasks}")
    asked = load_codebook().binary
    for row in rows:
        question = row["question"]
        # One that is not in the codebook has its id alone.
        text = asked[question].observer_text if question in asked else ""
        row["question"] = f"{question} {text}".rstrip()
        row["shown"] = f"{row['agreement']:.2f}"
        row["text"] = (
            f"{row['model']}, {question}: {shown(row, 'agreement', RATIO)}, {row['answers']} answers, "
            f"{sizes(table, row)}"
        )
    models = numbered(table, rows, "model", numbers=numbers)
    return Cells(
        rows=rows, value="agreement", x=("model", [*models]), y=("question", unique(rows, "question")), middle=0.5,
        reach=0.5, step=2 * _LINE, numbers=models,
    )  # fmt: skip
