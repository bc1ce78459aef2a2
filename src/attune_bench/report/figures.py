"""Figures: a function each, from the frame of an analysis to an altair chart that can be changed further.

Conventions
-----------
A figure of AttuneBench shows one mode: where a frame holds several, `mode` chooses. Models stand best first, from the
top. What is null in a frame is left out. A line through a mark is its interval.

Colours are of Okabe and Ito's palette, which colour-blind readers can tell apart; marks that differ in colour differ in
shape too, and heat maps print their values. Every mark says its numbers where the pointer rests on it.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from attune_bench.report._drawing import (
    MUTED,
    PAPER,
    PROFILED,
    SKY,
    STEP,
    WIDTH,
    altair,
    axis,
    data,
    dumbbell,
    estimates,
    hover,
    label,
    line,
    names,
    ranked,
    rows_of,
    save,
    shown,
    sizes,
    styled,
    unique,
)
from attune_bench.report._heatmaps import metric_correlation, mode_differences, question_agreement, win_rates
from attune_bench.report._trajectories import trajectories
from attune_bench.stats.comparison import FEWEST
from attune_bench.stats.subgroups import FEW
from attune_bench.stats_tables import number, p_value
from attune_data.text import printable

if TYPE_CHECKING:
    import polars as pl

    from attune_bench.report._drawing import Figure

__all__ = [
    "CHANCE",
    "conversation_difficulty",
    "diagnosis_groups",
    "label",
    "metric_correlation",
    "mode_differences",
    "perspective_gap",
    "profile",
    "question_agreement",
    "save",
    "scores",
    "trajectories",
    "turn_drift",
    "win_rates",
]

CHANCE: Mapping[str, float] = {
    "avg_pairwise_accuracy": 1 / 3,
    "avg_pairwise_kendall_tau": 0,
    "pooled_binary_om_metrics.mcc": 0,
    "pooled_binary_human_metrics.mcc": 0,
}
"""What answers at random score, where it does not depend on the data."""

_SIZES = {
    "": f"{FEW} participants or more",
    "few": f"fewer than {FEW} participants",
    "too few": f"fewer than {FEWEST} participants, no interval",
}


def scores(summary: "pl.DataFrame", metric: str = "composite_score", *, mode: str | None = None) -> "Figure":
    """Draw a metric of every model with its interval, and the level of chance where it is known.

    Parameters
    ----------
    summary : polars.DataFrame
        What `attune_bench.stats.comparison.summary` gives.
    metric : str
        One of its metrics.
    mode : str, optional
        One of its modes; needed where it holds several.

    Returns
    -------
    altair.LayerChart

    Raises
    ------
    ValueError
        Where the frame has no value of the metric, or not in the mode.
    ImportError
        Where the extra ``plots`` is not installed.

    Examples
    --------
    >>> from attune_data import load, load_runs
    >>> from attune_bench import score
    >>> conversations, runs = load("demo"), load_runs("demo")
    >>> given = score(conversations, runs)
    >>> found = given.summary(resamples=200)
    >>> chart = scores(found, "avg_pairwise_accuracy")
    >>> type(chart).__name__
    'LayerChart'
    """
    alt = altair()
    rows = ranked(rows_of(summary, mode, "value", metric=metric), "value", metric)
    for row in rows:
        row["text"] = f"{row['model']}: {shown(row, 'value', metric)}, {sizes(row)}"
    layers = estimates(rows, axis("X", "value", label(metric)), names("model", unique(rows, "model")))
    if metric in CHANCE:
        layers.insert(0, line(CHANCE[metric], "chance"))
    return styled(alt.layer(*layers).properties(width=WIDTH, height=STEP * len(rows)))


def profile(
    summary: "pl.DataFrame", model: str, *, metrics: Sequence[str] | None = None, mode: str | None = None
) -> "Figure":
    """Draw the scores from 0 to 1 of one model, with the other models as ticks.

    Parameters
    ----------
    summary, mode
        As for `scores`.
    model : str
        One of its models.
    metrics : sequence of str, optional
        Which, from the top; by default all that lie between 0 and 1, as reports order them.

    Returns
    -------
    altair.LayerChart

    Raises
    ------
    ValueError, ImportError
        As `scores`.

    Examples
    --------
    >>> from attune_data import load, load_runs
    >>> from attune_bench import score
    >>> conversations, runs = load("demo"), load_runs("demo")
    >>> given = score(conversations, runs)
    >>> found = given.summary(resamples=200)
    >>> type(profile(found, "synthetic/hasty")).__name__
    'LayerChart'
    """
    alt = altair()
    if metrics is None:
        metrics = PROFILED
    rows = rows_of(summary, mode, "value")
    own = {row["metric"]: row for row in rows if row["model"] == printable(model)}
    chosen = [metric for metric in metrics if metric in own]
    if not chosen:
        raise ValueError(f"nothing to draw: no score of model {model!r} among {', '.join(metrics)}")
    for row in rows:
        row["place"] = label(row["metric"])
        row["text"] = f"{row['model']}, {row['place']}: {shown(row, 'value', row['metric'])}, {sizes(row)}"
    x, y = axis("X", "value", "score", domain=(0, 1)), names("place", [label(metric) for metric in chosen])
    others = [row for row in rows if row["metric"] in chosen and row not in own.values()]
    ticks = alt.Chart(data(others)).mark_tick(color=MUTED, thickness=1.5, height=12).encode(x, y, **hover())
    layers = [*([ticks] if others else []), *estimates([own[metric] for metric in chosen], x, y)]
    return styled(alt.layer(*layers).properties(width=WIDTH, height=22 * len(chosen)))


def perspective_gap(gaps: "pl.DataFrame", *, mode: str | None = None) -> "Figure":
    """Draw how much better each model sees what was done (OM) than what was wanted (HP); the widest gap on top.

    Parameters
    ----------
    gaps : polars.DataFrame
        What `attune_bench.benchmarks.attunebench.analyses.perspective_gap` gives.
    mode : str, optional
        As for `scores`.

    Returns
    -------
    altair.LayerChart

    Raises
    ------
    ValueError, ImportError
        As `scores`.

    Examples
    --------
    >>> from attune_data import load, load_runs
    >>> from attune_bench import score
    >>> from attune_bench.benchmarks.attunebench import analyses
    >>> conversations, runs = load("demo"), load_runs("demo")
    >>> given = score(conversations, runs)
    >>> found = analyses.perspective_gap(given, resamples=200)
    >>> chart = perspective_gap(found)
    >>> type(chart).__name__
    'LayerChart'
    """
    rows = sorted(rows_of(gaps, mode, "gap"), key=lambda row: (-row["gap"], row["model"]))
    for row in rows:
        row["text"] = (
            f"{row['model']}: OM {number(row['om'], '')}, HP {number(row['hp'], '')}, gap "
            f"{shown(row, 'gap', signed=True)}, Holm p {p_value(row['p_holm'])}, {sizes(row)}"
        )
    kinds = {"om": "OM: what the model did", "hp": "HP: what was wanted"}
    chart = dumbbell(rows, kinds, names("model", unique(rows, "model")), "accuracy")
    return styled(chart.properties(width=WIDTH, height=STEP * len(rows)))


def turn_drift(drift: "pl.DataFrame", metric: str, *, mode: str | None = None) -> "Figure":
    """Draw a metric in the early and the late third of conversations, and beside it how far it drifts.

    Parameters
    ----------
    drift : polars.DataFrame
        What `attune_bench.benchmarks.attunebench.analyses.turn_drift` gives.
    metric, mode
        As for `scores`.

    Returns
    -------
    altair.HConcatChart

    Raises
    ------
    ValueError, ImportError
        As `scores`.

    Examples
    --------
    >>> from attune_data import load, load_runs
    >>> from attune_bench import score
    >>> from attune_bench.benchmarks.attunebench import analyses
    >>> conversations, runs = load("demo"), load_runs("demo")
    >>> given = score(conversations, runs)
    >>> found = analyses.turn_drift(given, resamples=200)
    >>> chart = turn_drift(found, "avg_emotion_va_score")
    >>> type(chart).__name__
    'HConcatChart'
    """
    alt = altair()
    rows = ranked(rows_of(drift, mode, "drift", metric=metric), "drift", metric)
    for row in rows:
        thirds = ", ".join(f"{third} {number(row[third], metric)}" for third in ("early", "middle", "late"))
        drifts = shown(row, "drift", metric, signed=True)
        row["text"] = f"{row['model']}: {thirds}; drift {drifts}, Holm p {p_value(row['p_holm'])}, {sizes(row)}"
    y = names("model", unique(rows, "model"))
    kinds = {"early": "early third", "middle": "middle", "late": "late"}
    bare = y.copy()
    bare.axis = None
    panels = [
        dumbbell(rows, kinds, y, label(metric)).properties(width=200, height=STEP * len(rows)),
        alt.layer(line(0), *estimates(rows, axis("X", "drift", "late minus early", ticks=3), bare)).properties(
            width=140, height=STEP * len(rows)
        ),
    ]
    return styled(alt.hconcat(*panels, spacing=16))


def diagnosis_groups(groups: "pl.DataFrame", metric: str, *, mode: str | None = None) -> "Figure":
    """Draw how a metric differs between conversations of participants with a diagnosis and of those without any.

    Points of few participants are hollow, of too few to have an interval a cross.

    Parameters
    ----------
    groups : polars.DataFrame
        What `attune_bench.benchmarks.attunebench.analyses.diagnosis_groups` gives.
    metric, mode
        As for `scores`.

    Returns
    -------
    altair.FacetChart

    Raises
    ------
    ValueError, ImportError
        As `scores`.

    Examples
    --------
    >>> from attune_data import load, load_runs
    >>> from attune_bench import score
    >>> from attune_bench.benchmarks.attunebench import analyses
    >>> conversations, runs = load("demo"), load_runs("demo")
    >>> given = score(conversations, runs)
    >>> found = analyses.diagnosis_groups(given, data=conversations, resamples=1000)
    >>> chart = diagnosis_groups(found, "avg_emotion_va_score")
    >>> type(chart).__name__
    'FacetChart'
    """
    alt = altair()
    rows = rows_of(groups, mode, "value_none", metric=metric)
    for row in rows:
        row["kind"] = _SIZES[row["mark"]]
        row["text"] = (
            f"{row['model']}, {row['group']}: {number(row['value_none'], metric)} without a diagnosis; difference "
            f"{shown(row, 'difference', metric, signed=True)}, Holm p {p_value(row['p_holm'])}, {sizes(row)}"
        )
    y = names("model", sorted(unique(rows, "model")))
    x = axis("X", "difference", f"{label(metric)}: difference from no diagnosis")
    base = alt.Chart().encode(y)
    looks = dict(zip(_SIZES.values(), ((SKY, "circle"), (PAPER, "circle"), (PAPER, "cross")), strict=True))
    kinds = [kind for kind in looks if kind in unique(rows, "kind")]
    fills, shapes = ([looks[kind][i] for kind in kinds] for i in (0, 1))
    legend = alt.Legend(title=None, orient="top", labelLimit=260)
    chart = alt.layer(
        alt.Chart()
        .mark_rule(color=MUTED, strokeDash=[4, 3], strokeWidth=1.5, aria=False)
        .encode(x=alt.datum(0))
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


def conversation_difficulty(
    difficulty: "pl.DataFrame", metric: str = "composite_score", *, mode: str | None = None
) -> "Figure":
    """Draw, a point for each conversation, how hard it is and how far models differ on it.

    Parameters
    ----------
    difficulty : polars.DataFrame
        What `attune_bench.benchmarks.attunebench.analyses.conversation_difficulty` gives.
    metric, mode
        As for `scores`.

    Returns
    -------
    altair.LayerChart

    Raises
    ------
    ValueError, ImportError
        As `scores`.

    Examples
    --------
    >>> from attune_data import load, load_runs
    >>> from attune_bench import score
    >>> from attune_bench.benchmarks.attunebench import analyses
    >>> conversations, runs = load("demo"), load_runs("demo")
    >>> given = score(conversations, runs)
    >>> found = analyses.conversation_difficulty(given)
    >>> chart = conversation_difficulty(found)
    >>> type(chart).__name__
    'LayerChart'
    """
    alt = altair()
    rows = rows_of(difficulty.drop("conversation_id"), mode, "sd", metric=metric)
    for row in rows:
        row["text"] = f"mean {number(row['mean'], metric)}, SD {number(row['sd'], metric)}, {row['models']} models"
    points = alt.Chart(data(rows)).mark_point(color=SKY, size=45, strokeWidth=1.5)
    x, y = axis("X", "mean", f"{label(metric)}: mean of models"), axis("Y", "sd", "SD of models")
    return styled(alt.layer(points.encode(x, y, **hover())).properties(width=380, height=260))
