"""Figures: what they draw of hand-made frames, what they refuse, and that they can be saved."""

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pytest
from slow_cases import slow_after

from attune_bench import Scores
from attune_bench.benchmarks.attunebench import report as attune_figures
from attune_bench.benchmarks.attunebench.analyses import ANALYSES as OWN
from attune_bench.benchmarks.attunebench.branches import WHOLE
from attune_bench.benchmarks.attunebench.scoring import METRICS, provenance_of
from attune_bench.benchmarks.eibench import report as eibench_figures
from attune_bench.report import figures, transcripts
from attune_bench.report.columns import Figure
from attune_bench.report.drawing import short_names, svg
from attune_bench.report.elements import figure_element
from attune_bench.report.plots import COLOURS, NARROW, WIDE, Line, LinePanel, LinePlot, Plot, PointPlot, RowPlot, drawn
from attune_bench.report.transcripts import state_paths
from attune_bench.scores.parts import Provenance
from attune_bench.scores.table import ScoreTable
from attune_data.text import width
from attune_metrics.metric import Metric

Row = dict[str, Any]
COUNTS = {"n": 20, "clusters": 12, "reason": None, "p": 0.01, "p_holm": 0.02}
EVIL = "<img src=x onerror=alert(1)>"

# Figures take from scores their metrics, and what their units and clusters are called.
UNITS = pl.DataFrame({"unit": [f"c{i}" for i in range(20)], "cluster": [f"P{i % 12}" for i in range(20)]})
TABLE = ScoreTable(
    values=pl.DataFrame({"model": ["a"], "condition": ["default"], "unit": ["c0"]}),
    units=UNITS,
    metrics=METRICS,
    provenance=provenance_of(protocol="documented"),
)
REWARD = Metric(name="reward", label="Reward", low=-1, high=1, scale=100, digits=1)
SCALED = ScoreTable(
    values=TABLE.values,
    units=UNITS.with_columns(cluster=pl.lit(None, dtype=pl.String)),
    metrics={"reward": REWARD, "seconds": Metric(name="seconds", label="Reward", low=0, higher_is_better=False)},
    provenance=Provenance(unit="scenario"),
)


def frame(*rows: Row, **common: Any) -> pl.DataFrame:
    return pl.DataFrame([{"condition": "default", **COUNTS, **common, **row} for row in rows])


def value(model: str, value: float | None, low: float | None, high: float | None, **more: Any) -> Row:
    return {"model": model, "metric": "avg_pairwise_accuracy", "value": value, "low": low, "high": high, **more}


SUMMARY = frame(value("b", 0.4, 0.35, 0.45), value("a", 0.6, 0.5, 0.7), value("c", None, None, None))
GAPS = frame(
    {"model": "narrow", "om": 0.8, "hp": 0.77, "gap": 0.03, "low": 0.01, "high": 0.05},
    {"model": "wide", "om": 0.9, "hp": 0.8, "gap": 0.1, "low": 0.08, "high": 0.12},
)
DRIFT = frame(
    {"model": "a", "early": 0.9, "middle": None, "late": 0.8, "drift": -0.1, "low": -0.2, "high": -0.01},
    metric="avg_binary_om_accuracy",
)
GROUPS = frame(
    {"group": "ADHD", "value": 0.3, "value_none": 0.5, "difference": -0.2, "low": -0.3, "high": -0.1, "mark": "few"},
    {"group": "ASD", "value": 0.3, "value_none": 0.5, "difference": -0.2, "low": None, "high": None, "mark": "too few"},
    model="a",
    metric="avg_emotion_va_score",
)
RATES = frame(
    {"model_a": "a", "model_b": "b", "rate": 0.25, "low": 0.2, "high": 0.3},
    {"model_a": "b", "model_b": "a", "rate": 0.75, "low": 0.7, "high": 0.8},
    metric="avg_pairwise_accuracy",
)
CORRELATIONS = frame(
    {
        "metric_a": "avg_emotion_f1", "metric_b": "composite_score", "corrected": -0.5, "low": -1.0, "high": 0.5,
        "observed": -0.4, "models": 7,
    },
)  # fmt: skip
SHARES = frame(
    {"model": "a", "part": WHOLE, "share": 0.4, "low": 0.3, "high": 0.5},
    {"model": "human/p", "part": WHOLE, "share": 0.6, "low": None, "high": None},
    {"model": "human/p", "part": "panas_baseline_adjusted", "share": 0.6, "low": None, "high": None},
    branch="managing",
    ceiling=0.6,
)
COSTS = frame(
    value("a", 0.6, 0.5, 0.7, cost=2.0, cost_low=1.5, cost_high=2.5, front="yes"),
    value("b", 0.4, None, None, cost=3.0, cost_low=None, cost_high=None, front="no"),
)
RELIABILITIES = frame(
    {"metric": "composite_score", "reliability": 0.8, "low": 0.6, "high": 0.9, "units_needed": 45},
    {"metric": "avg_emotion_f1", "reliability": -0.7, "low": 0.0, "high": 0.4, "units_needed": None},
)
CONDITIONS = frame(
    {"model": "a", "metric": "composite_score", "difference": 5.0, "low": 1.0, "high": 9.0},
    {"model": "a", "metric": "panas_item_mae", "difference": -0.3, "low": None, "high": None},
    condition="verbose",
    reference="default",
    value=1.0,
    value_reference=1.3,
)
RANKS = frame(
    {"model": "a", "value": 60.0, "rank": 1.0, "low": 1.0, "high": 2.0},
    {"model": "b", "value": 50.0, "rank": 2.0, "low": None, "high": None},
    {"model": "c", "value": None, "rank": None, "low": None, "high": None},
    metric="composite_score",
)
DIFFICULTY = frame(
    {"unit": "secret-1", "mean": 50.0, "sd": 5.0},
    {"unit": "secret-2", "mean": 60.0, "sd": None},
    metric="composite_score",
    models=2,
)
STATES = pl.DataFrame(
    [
        {"model": model, "scene": "charm", "axis": axis, "round": place, "mean": mean, "low": low, "high": high, "n": 6}
        for model, axis, place, mean, low, high in (
            ("a", "anger", 0, 40.0, 38.0, 42.0), ("a", "trust", 0, 25.5, None, None), ("b", "anger", 0, 1.0, 0.5, 1.5),
            ("a", "anger", 1, None, None, None),
        )
    ]
)  # fmt: skip

DRAWN: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "scores": (
        lambda: figures.scores(TABLE, frame=SUMMARY),
        ["a: 0.600 [0.500, 0.700], n = 20 (12 participants)", "b: 0.400 [0.350, 0.450], n = 20 (12 participants)"],
    ),
    "profile": (
        lambda: figures.profile(TABLE, "a", frame=SUMMARY),
        [
            "a, Pairwise accuracy: 0.600 [0.500, 0.700], n = 20 (12 participants)",
            "b, Pairwise accuracy: 0.400 [0.350, 0.450], n = 20 (12 participants)",
        ],
    ),
    "profiles": (
        lambda: figures.profiles(TABLE, frame=SUMMARY, metrics=["avg_pairwise_accuracy"]),
        [
            "a, Pairwise accuracy: 0.600 [0.500, 0.700], n = 20 (12 participants)",
            "b, Pairwise accuracy: 0.400 [0.350, 0.450], n = 20 (12 participants)",
        ],
    ),
    "win_rates": (
        lambda: figures.win_rates(TABLE, frame=RATES),
        [
            "a against b: 0.250 [0.200, 0.300], n = 20 (12 participants)",
            "b against a: 0.750 [0.700, 0.800], n = 20 (12 participants)",
        ],
    ),
    "cost_front": (
        lambda: figures.cost_front(TABLE, frame=COSTS),
        [
            "a: 2.000 [1.500, 2.500] US dollars, 0.600 [0.500, 0.700], n = 20 (12 participants)",
            "b: 3.000 US dollars, 0.400, n = 20 (12 participants)",
        ],
    ),
    "separation": (
        lambda: figures.separation(TABLE, frame=RELIABILITIES),
        [
            "Composite: 0.800 [0.600, 0.900], n = 20 (12 participants); 45 conversations for 0.9",
            "Emotion F1: -0.700 [0.000, 0.400], n = 20 (12 participants)",
        ],
    ),
    "of_analysis": (
        lambda: figures.of_analysis(TABLE, OWN["branches"], frame=SHARES),
        [
            "a, managing: 0.40 [0.30, 0.50], n = 20 (12 participants)",
            "human/p, managing: 0.60, n = 20 (12 participants)",
            "ceiling: best person, managing: 0.60",
        ],
    ),
    "skills": (
        lambda: figures.skills(TABLE, frame=CORRELATIONS),
        [
            "Emotion F1 and Composite: -0.500 [-1.000, 0.500] without noise, 7 models",
            "Emotion F1 and Composite: -0.400 observed, 7 models",
        ],
    ),
    "ranks": (
        lambda: figures.ranks(TABLE, frame=RANKS),
        [
            "a: rank 1 [1, 2], 60.00, n = 20 (12 participants)",
            "b: rank 2, 50.00, n = 20 (12 participants)",
        ],
    ),
    "condition_differences": (
        lambda: figures.condition_differences(TABLE, frame=CONDITIONS),
        [
            "a, Composite: +5.00 [+1.00, +9.00], Holm p 0.0200, n = 20 (12 participants)",
            "a, PANAS item MAE, lower is better: -0.300, Holm p 0.0200, n = 20 (12 participants)",
        ],
    ),
    "unit_difficulty": (
        lambda: figures.unit_difficulty(TABLE, frame=DIFFICULTY),
        ["mean 50.00, SD 5.00, 2 models"],
    ),
}  # fmt: skip

PLOTTED: dict[str, tuple[Callable[[], RowPlot | LinePlot | PointPlot], list[str]]] = {
    "perspective_gap": (
        lambda: attune_figures.perspective_gap(TABLE, GAPS),
        3 * [
            "narrow: OM 0.800, HP 0.770, gap +0.030 [+0.010, +0.050], Holm p 0.0200, n = 20 (12 participants)",
            "wide: OM 0.900, HP 0.800, gap +0.100 [+0.080, +0.120], Holm p 0.0200, n = 20 (12 participants)",
        ],
    ),
    "cost_plot": (
        lambda: figures.cost_plot(TABLE, COSTS, "avg_pairwise_accuracy"),
        [
            "a: US dollars for 1,000 conversations 2.000 [1.500, 2.500], n = 20 (12 participants)",
            "a: Pairwise accuracy 0.600 [0.500, 0.700], n = 20 (12 participants)",
            "b: US dollars for 1,000 conversations 3.000, n = 20 (12 participants)",
            "b: Pairwise accuracy 0.400, n = 20 (12 participants)",
        ],
    ),
    "separation_plot": (
        lambda: figures.separation_plot(TABLE, RELIABILITIES),
        [
            "Composite: 0.800 [0.600, 0.900], n = 20 (12 participants); 45 conversations for 0.9",
            "Emotion F1: -0.700 [0.000, 0.400], n = 20 (12 participants)",
        ],
    ),
    # The line between early and late, these two, no middle; and the drift.
    "turn_drift": (
        lambda: attune_figures.turn_drift(TABLE, DRIFT, "avg_binary_om_accuracy"),
        4 * [
            "a: early 0.900, middle -, late 0.800; drift -0.100 [-0.200, -0.010], Holm p 0.0200, "
            "n = 20 (12 participants)"
        ],
    ),
    "diagnosis_groups": (
        lambda: attune_figures.diagnosis_groups(TABLE, GROUPS, "avg_emotion_va_score"),
        [
            "a, ADHD: 0.500 without a diagnosis; difference -0.200 [-0.300, -0.100], Holm p 0.0200, "
            "n = 20 (12 participants)",
            "a, ASD: 0.500 without a diagnosis; difference -0.200, Holm p 0.0200, n = 20 (12 participants)",
        ],
    ),
    "trajectories": (
        lambda: eibench_figures.trajectories(STATES, "a", last=8),
        [
            "round 0: mean anger 40.0 [38.0, 42.0], n = 6 scenarios",
            "round 0: mean trust 25.5, n = 6 scenarios",
        ],
    ),
    "score_plot": (
        lambda: figures.score_plot(TABLE, SUMMARY, "avg_pairwise_accuracy"),
        ["a: 0.600 [0.500, 0.700], n = 20 (12 participants)", "b: 0.400 [0.350, 0.450], n = 20 (12 participants)"],
    ),
    "rank_plot": (
        lambda: figures.rank_plot(TABLE, RANKS, "composite_score"),
        [
            "a: rank 1 [1, 2], 60.00, n = 20 (12 participants)",
            "b: rank 2, 50.00, n = 20 (12 participants)",
        ],
    ),
    "difficulty_plot": (
        lambda: figures.difficulty_plot(TABLE, DIFFICULTY, "composite_score"),
        ["mean 50.00, SD 5.00, 2 models"],
    ),
    "profile_plot": (
        lambda: figures.profile_plot(TABLE, SUMMARY, metrics=["avg_pairwise_accuracy"]),
        [
            "a, Pairwise accuracy: 0.600 [0.500, 0.700], n = 20 (12 participants)",
            "b, Pairwise accuracy: 0.400 [0.350, 0.450], n = 20 (12 participants)",
        ],
    ),
    "state_paths": (
        lambda: state_paths({"anger": {"m": [60, 50]}}, anchors={}, last=8),
        ["m, round 0: 60", "m, round 1: 50"],
    ),
}  # fmt: skip
"""Figures of pages, and what their marks say."""


def shown(plot: Plot, kind: str = "wide") -> str:
    """Return the drawing of a figure for wide screens or for narrow ones; panels of lines fit both."""
    made = drawn(plot, "c")
    drawings = re.findall(r"<svg .*?</svg>", made)
    return made if isinstance(plot, LinePlot) else next(one for one in drawings if f' class="{kind}"' in one)


def read(drawing: str) -> ElementTree.Element:
    return ElementTree.fromstring(drawing)  # noqa: S314


def marks(drawing: str) -> list[str]:
    """Return what the marks say that carry numbers: not those of axes, rules and text."""
    root = read(drawing)
    kinds = {"point", "rect mark", "tick", "circle"}
    return [
        mark.get("aria-label", "")
        for mark in root.iter()
        if mark.get("role") == "graphics-symbol" and mark.get("aria-roledescription") in kinds
    ]


def words(drawing: str) -> list[str]:
    return [mark.text for mark in read(drawing).iter() if mark.tag.endswith("}text") and mark.text]


@pytest.mark.parametrize("name", slow_after(5, DRAWN))
def test_every_mark_says_its_numbers(name: str) -> None:
    draw, expected = DRAWN[name]
    assert sorted(marks(svg(draw()))) == sorted(expected)


def titles(drawing: str) -> list[str]:
    """Return what the pointer reads."""
    return [mark.text or "" for mark in read(drawing).iter() if mark.tag.endswith("}title")]


@pytest.mark.parametrize("name", PLOTTED)
def test_every_mark_of_a_page_says_its_numbers(name: str) -> None:
    draw, expected = PLOTTED[name]
    assert sorted(set(titles(shown(draw())))) == sorted(set(expected))
    # Touched screens read no titles.
    assert isinstance(draw(), LinePlot) or titles(shown(draw(), "narrow")) == []


def _gives_a_figure(thing: object) -> bool:
    return getattr(thing, "__annotations__", {}).get("return") in ("Chart", RowPlot, LinePlot, PointPlot)


def test_every_figure_is_tested() -> None:
    modules = (figures, attune_figures, eibench_figures, transcripts)
    given = {
        name
        for module in modules
        for name in getattr(module, "__all__", dir(module))
        if _gives_a_figure(thing := getattr(module, name))
        and thing.__module__ == module.__name__
        and not name.startswith("_")
    }
    assert given == {*DRAWN, *PLOTTED}


def test_the_interval_of_a_correlation_is_printed_below_it() -> None:
    text = words(svg(figures.skills(TABLE, frame=CORRELATIONS)))
    assert [word for word in text if word[0] in "[-0"] == ["-0.50", "-0.40", "[-1.00, 0.50]"]


def test_the_best_model_is_on_top_and_levels_are_drawn() -> None:
    text = words(svg(figures.scores(TABLE, frame=SUMMARY, levels={"chance": 1 / 3})))
    assert [word for word in text if word in {"a", "b", "c"}] == ["a", "b"]
    assert "chance" in text
    assert "chance" not in words(svg(figures.scores(TABLE, frame=SUMMARY)))


def test_what_random_answers_score_is_drawn_where_it_is_known() -> None:
    known = replace(TABLE, units=UNITS.with_columns(pl.lit(0.45).alias("chance.avg_pairwise_accuracy")))
    said = "random answers on these data"
    assert said in words(svg(figures.scores(known, frame=SUMMARY)))
    assert said not in words(svg(figures.scores(TABLE, frame=SUMMARY)))
    # Of the metric that is drawn alone, and under the condition that is drawn.
    assert said not in words(svg(figures.scores(known, frame=SUMMARY.with_columns(metric=pl.lit("composite_score")))))
    assert said not in words(svg(figures.scores(known, frame=SUMMARY.with_columns(condition=pl.lit("verbose")))))
    assert f"{said}, Pairwise accuracy: 0.450" in marks(svg(figures.profile(known, "a", frame=SUMMARY)))


def test_the_axis_says_that_bars_are_intervals_where_a_bar_is_drawn() -> None:
    known = Scores.from_table(
        pl.DataFrame({"model": ["a"] * 9, "unit": [f"q{u}" for u in range(9)], "metric": "x", "value": range(9)})
    )
    assert "x, 95% interval" in words(svg(figures.scores(known, resamples=50)))
    assert "rank by x, 90% interval" in words(svg(figures.ranks(known, resamples=50, level=0.9)))
    # A frame does not tell the level.
    found = known.summary(resamples=50, level=0.9)
    assert "x, interval" in words(svg(figures.scores(known, frame=found)))
    none = found.with_columns(low=pl.lit(None, pl.Float64), high=pl.lit(None, pl.Float64))
    assert "x" in words(svg(figures.scores(known, frame=none)))


def test_a_figure_with_intervals_that_overlap_says_that_models_can_differ() -> None:
    said = "Two models can differ significantly although their intervals overlap: pairs are tested on the conversations"

    def drawn_of(*rows: Row) -> list[str]:
        both = frame(*rows), frame(*({**row, "rank": 1.0 + place} for place, row in enumerate(rows)))
        return [svg(figures.scores(TABLE, frame=both[0])), svg(figures.ranks(TABLE, frame=both[1]))]

    a, b = value("a", 0.6, 0.5, 0.7), value("b", 0.4, 0.35, 0.5)
    assert all(said in text for text in drawn_of(a, b))
    for apart in ([a, value("b", 0.4, 0.35, 0.45)], [a, value("b", 0.55, None, None)], [a]):
        assert not any("overlap" in text for text in drawn_of(*apart))


def test_the_lowest_error_is_on_top() -> None:
    errors = SUMMARY.with_columns(metric=pl.lit("panas_item_mae"))
    text = words(svg(figures.scores(TABLE, frame=errors)))
    assert [word for word in text if word in {"a", "b"}] == ["b", "a"]
    assert "PANAS item MAE, lower is better, interval" in text


def test_values_are_drawn_as_they_are_reported() -> None:
    # A reward of 0.4 is reported as 40.0, on an axis of the same numbers.
    rewards = SUMMARY.with_columns(metric=pl.lit("reward"), condition=pl.lit(None, dtype=pl.String), clusters="n")
    drawing = svg(figures.scores(SCALED, frame=rewards, levels={"goal": 0.55}))
    assert sorted(marks(drawing)) == ["a: 60.0 [50.0, 70.0], n = 20", "b: 40.0 [35.0, 45.0], n = 20"]
    assert {"40", "60", "goal"} <= set(words(drawing))


def test_metrics_of_one_label_are_told_apart() -> None:
    pair = {"metric_a": "reward", "metric_b": "seconds", "corrected": -0.0, "low": None, "high": None, "models": 7}
    pairs = frame(pair | {"observed": 0.25})
    drawing = svg(figures.skills(SCALED, frame=pairs))
    assert {"Reward", "Reward, lower is better", "0.00", "0.25"} <= set(words(drawing))
    same = replace(SCALED, metrics={"reward": REWARD, "seconds": replace(REWARD, name="seconds")})
    assert {"Reward (reward)", "Reward (seconds)"} <= set(words(svg(figures.skills(same, frame=pairs))))


def test_the_colour_of_a_difference_is_a_share_of_the_range_or_of_the_largest_value() -> None:
    # 0.5 of a range of 2 is a quarter; 1 second of at most 4 is a quarter.
    differences = frame(
        {"metric": "reward", "difference": 0.5, "value": 0.9, "value_reference": 0.4},
        {"metric": "seconds", "difference": -1.0, "value": 3.0, "value_reference": 4.0},
        model="a", condition="b", reference="a", low=None, high=None,
    )  # fmt: skip
    specification = figures.condition_differences(SCALED, frame=differences).to_dict()
    data = specification["data"]["values"]
    assert [row["share"] for row in data] == [0.25, -0.25]
    assert [row["shown"] for row in data] == ["+50.0", "-1.000"]


def test_the_widest_gap_is_on_top() -> None:
    assert [row.name for row in attune_figures.perspective_gap(TABLE, GAPS).rows] == ["wide", "narrow"]
    below = GAPS.with_columns(gap=pl.when(pl.col("model") == "narrow").then(-0.2).otherwise("gap"))
    assert [row.name for row in attune_figures.perspective_gap(TABLE, below).rows] == ["narrow", "wide"]


def test_units_are_not_named() -> None:
    assert "secret" not in str(figures.unit_difficulty(TABLE, frame=DIFFICULTY).to_dict())


def test_marks_can_be_told_apart_by_shape() -> None:
    whole = DRIFT.with_columns(middle=pl.lit(0.85))
    [row] = attune_figures.turn_drift(TABLE, whole, "avg_binary_om_accuracy").rows
    assert [(mark.shape, mark.is_hollow) for mark in row.marks[0][1:]] == [
        ("circle", False), ("circle", True), ("diamond", False),
    ]  # fmt: skip


def test_a_chart_can_be_changed() -> None:
    chart = figures.scores(TABLE, frame=SUMMARY)
    widths = [float(read(svg(one)).get("width", "")) for one in (chart, chart.properties(width=800))]
    assert widths[1] - widths[0] == 500


def test_names_are_text() -> None:
    drawing = svg(figures.scores(TABLE, frame=frame(value(EVIL, 0.5, 0.4, 0.6))))
    assert "<img" not in drawing
    assert EVIL in words(drawing)


@pytest.mark.parametrize("colour", COLOURS)
def test_names_of_lines_are_readable_on_white(colour: str) -> None:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    # The contrast that WCAG 2 asks of text, level AA.
    assert 1.05 / (luminance + 0.05) >= 4.5


def test_long_names_lose_their_owner_then_their_middle() -> None:
    wide = "深度求索模型编号一号的预览版深度求索模型编号一号的预览版"
    short = short_names(["short", "some-provider/a-model-with-a-long-name-2026-thinking-enabled", wide])
    assert list(short.values())[:2] == ["short", "a-model-with-a-l...hinking-enabled"]
    assert all(width(text) <= 34 for text in short.values())
    twins = [f"lab/model-0{place}-instruct" for place in (0, 1)]
    assert [*short_names(twins, 15).values()] == ["...00-instruct", "...01-instruct"]
    # An owner stays where two have models of one name, and words are no owner.
    assert [*short_names(["lab-a/one-model", "lab-b/one-model"], 12).values()] == ["lab-a...odel", "lab-b...odel"]
    assert short_names(["Work and/or school and other duties"], 20).popitem()[1].startswith("Work")


def test_long_names_stay_apart() -> None:
    long = [f"some-provider/a-model-with-a-long-name-{i}-of-many-2026-thinking-enabled" for i in range(12)]
    # They differ in their middle, so the start that they share is left out.
    assert short_names(long)[long[10]] == "...10-of-many-2026-thinking-ena..."
    drawing = svg(figures.scores(TABLE, frame=frame(*(value(name, 0.5, 0.4, 0.6) for name in long))))
    assert {mark.partition(":")[0] for mark in marks(drawing)} == set(long)
    assert set(short_names(long).values()) <= set(words(drawing))
    # A name from elsewhere changes nothing of theirs.
    others = [*long, "short", "another-provider/whose-model-has-a-long-name-of-its-own"]
    assert {name: cut for name, cut in short_names(others).items() if name in long} == short_names(long)
    # Neither start nor end tells these apart.
    alike = [f"{start}{'x' * 60}{i}{'y' * 60}" for start in "ab" for i in range(2)]
    assert [text[:2] for text in short_names(alike).values()] == ["1.", "2.", "3.", "4."]


def test_names_that_cannot_be_told_apart_have_the_numbers_of_the_report() -> None:
    alike = [f"{start}{'x' * 60}{i}{'y' * 60}" for start in "ab" for i in range(2)]
    rows = [(name, f"q{unit}", "hits", value) for name, value in zip(alike, (3, 1, 4, 2), strict=True)
            for unit in range(6)]  # fmt: skip
    table = Scores.from_table(pl.DataFrame(rows, schema=["model", "unit", "metric", "value"], orient="row"))
    ranks = table.rank(resamples=20)
    plot = figures.rank_plot(table, ranks, "hits")
    expected = [f"{place}. {start}" for place, start in enumerate("baba", start=1)]
    for drawing in (svg(figures.ranks(table, frame=ranks)), shown(plot), shown(plot, "narrow")):
        found = [word for word in words(drawing) if "..." in word]
        assert [word[:4] for word in found] == expected
        assert len(set(found)) == 4


def test_one_condition_is_drawn() -> None:
    both = pl.concat([SUMMARY, SUMMARY.with_columns(condition=pl.lit("verbose"))])
    with pytest.raises(ValueError, match=r"the conditions are 'default', 'verbose'; choose one with condition="):
        figures.scores(TABLE, frame=both)
    assert len(marks(svg(figures.scores(TABLE, frame=both, condition="verbose")))) == 2
    with pytest.raises(ValueError, match=r"no condition 'verbos'; expected one of 'default', 'verbose'"):
        figures.scores(TABLE, frame=both, condition="verbos")


def test_one_metric_is_drawn() -> None:
    both = pl.concat([SUMMARY, SUMMARY.with_columns(metric=pl.lit("avg_emotion_f1"))])
    with pytest.raises(ValueError, match="the frame has the metrics avg_pairwise_accuracy, avg_emotion_f1; choose one"):
        figures.scores(TABLE, frame=both)
    assert "Emotion F1, interval" in words(svg(figures.scores(TABLE, "avg_emotion_f1", frame=both)))


def test_nothing_to_draw_is_said() -> None:
    with pytest.raises(ValueError, match="nothing to draw: no value of 'composite_score'"):
        figures.scores(TABLE, "composite_score", frame=SUMMARY)
    with pytest.raises(ValueError, match="no scores of model 'z'; expected one of a"):
        figures.profile(TABLE, "z", frame=SUMMARY)


def test_a_frame_of_something_else_is_refused() -> None:
    with pytest.raises(ValueError, match="no column 'value_none': is it of the analysis that this figure draws"):
        attune_figures.diagnosis_groups(TABLE, SUMMARY, "avg_emotion_va_score")
    with pytest.raises(ValueError, match="no column 'metric': is it of the analysis that this figure draws"):
        figures.win_rates(TABLE, frame=GAPS)


@pytest.mark.parametrize("name", PLOTTED)
def test_a_figure_is_one_image_with_a_name_and_a_finding(name: str) -> None:
    draw, _ = PLOTTED[name]
    made = figure_element(Figure(draw(), "Caption <b>", finding="a is <i>"))
    assert made.startswith("<h3>a is &lt;i&gt;</h3><figure>")
    images = re.findall(r"<svg [^>]*>", made)
    panels = [one.title for one in getattr(draw(), "panels", ())]
    assert len(images) == (len(panels) or 2)
    names = [f"{title}: Caption &lt;b&gt;" for title in panels] or ["Caption &lt;b&gt;"] * 2
    assert all('role="img"' in one and f'aria-label="{name}"' in one for one, name in zip(images, names, strict=True))


def test_points_of_few_participants_do_not_look_like_others() -> None:
    many = GROUPS.head(1).with_columns(group=pl.lit("any"), mark=pl.lit(""), clusters=pl.lit(20, dtype=pl.Int64))
    plot = attune_figures.diagnosis_groups(
        TABLE, pl.concat([many, GROUPS], how="vertical_relaxed"), "avg_emotion_va_score"
    )
    points = [mark for row in plot.rows for marks in row.marks for mark in marks]
    assert len({(point.shape, point.is_hollow) for point in points}) == 3
    assert {"20 participants or more", "fewer than 20 participants", "fewer than 5 participants, no interval"} <= set(
        words(shown(plot))
    )


def test_one_participant_is_singular() -> None:
    drawing = svg(figures.win_rates(TABLE, frame=RATES.with_columns(n=1, clusters=1)))
    assert "a against b: 0.250 [0.200, 0.300], n = 1 (1 participant)" in marks(drawing)


def luminance(colour: str) -> float:
    """WCAG 2's relative luminance of rgb(r, g, b)."""
    channels = [int(part) / 255 for part in colour[4:-1].split(",")]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.slow
def test_numbers_in_cells_can_be_read() -> None:
    steps = [{"model_a": "a", "model_b": f"b{i}", "rate": i / 100, "low": None, "high": None} for i in range(101)]
    root = read(svg(figures.win_rates(TABLE, frame=frame(*steps, metric="avg_pairwise_accuracy"))))
    cells = [m.get("fill", "") for m in root.iter() if m.get("aria-roledescription") == "rect mark"]
    texts = [m.get("fill") for m in root.iter() if m.get("aria-roledescription") == "text mark" and m.text]
    assert len(cells) == len(texts) == 101
    for cell, text in zip(cells, texts, strict=True):
        assert text in {"white", "black"}
        light, dark = (1.0, luminance(cell)) if text == "white" else (luminance(cell), 0.0)
        # WCAG 2.1, 1.4.3: 4.5 to 1, for small text.
        assert (light + 0.05) / (dark + 0.05) >= 4.5


@pytest.mark.slow
def test_more_than_altair_draws_by_itself() -> None:
    many = pl.concat([DIFFICULTY.head(1)] * 5001)
    assert len(marks(svg(figures.unit_difficulty(TABLE, frame=many)))) == 5001


@pytest.mark.parametrize(
    ("ending", "begins"),
    [
        *(("svg", b"<svg"), ("png", b"\x89PNG"), ("pdf", b"%PDF")),
        pytest.param("html", b"<!DOCTYPE html>", marks=pytest.mark.slow),
    ],
)
def test_saves(ending: str, begins: bytes, tmp_path: Path) -> None:
    target = tmp_path / f"figure.{ending}"
    figures.save(figures.scores(TABLE, frame=SUMMARY), target)
    content = target.read_bytes()
    assert content.lstrip().lower().startswith(begins.lower())
    assert b'src="http' not in content
    assert list(tmp_path.iterdir()) == [target]


def test_a_name_without_a_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"'figure.gif' does not say its format; expected a name in .svg, .png"):
        figures.save(figures.scores(TABLE, frame=SUMMARY), tmp_path / "figure.gif")


def test_a_figure_fits_a_width_and_its_names_with_it() -> None:
    long = [f"vendor-of-many/model-{i}-with-a-long-name" for i in range(3)]
    made = frame(*(value(name, i / 10, 0.0, 1.0) for i, name in enumerate(long)))
    plot = figures.score_plot(TABLE, made, "avg_pairwise_accuracy")
    for total, kind in ((NARROW, "narrow"), (WIDE, "wide")):
        drawing = shown(plot, kind)
        assert read(drawing).get("viewBox", "").split()[2] == str(total)
        for mark in read(drawing).iter():
            places = [float(mark.get(name, 0)) for name in ("x", "x1", "x2", "cx")]
            assert 0 <= min(places) <= max(places) <= total
    # What the pointer reads is the whole name.
    assert {title.partition(":")[0] for title in titles(shown(plot))} == {*long}
    narrow = [word for word in words(shown(plot, "narrow")) if "..." in word]
    assert len(narrow) == 3
    assert max(map(width, narrow)) <= 18
    assert [word for word in words(shown(plot)) if word in set(short_names(long).values())]


def test_labels_of_lines_do_not_cover_each_other() -> None:
    paths = {"anger": {f"m{place}": [60, 40 + place / 10] for place in range(9)}}
    drawing = shown(state_paths(paths, anchors={}, last=8))
    at = sorted(
        float(mark.get("y", 0))
        for mark in read(drawing).iter()
        if mark.tag.endswith("}text") and (mark.text or "").startswith("m")
    )
    assert len(at) == 9
    assert min(later - sooner for sooner, later in pairwise(at)) >= 13.9


def test_of_many_models_the_outermost_lines_have_names() -> None:
    paths = {"anger": {f"m{place}": [60, 40 + place] for place in range(12)}}
    [panel] = state_paths(paths, anchors={}, last=8).panels
    assert [line.name for line in panel.lines if line.is_named] == ["m0", "m1", "m2", "m9", "m10", "m11"]
    # The name of each other line is read by the pointer.
    assert {f"m{place}" for place in range(3, 9)} <= set(titles(shown(LinePlot(panels=[panel], last=8))))


def test_the_better_end_of_a_profile_is_at_the_right() -> None:
    error = replace(REWARD, name="error", label="Error", low=0, higher_is_better=False)
    table = replace(SCALED, metrics={"reward": REWARD, "error": error})
    made = frame(
        {"model": "a", "metric": "reward", "value": 0.5, "low": 0.0, "high": 1.0},
        {"model": "a", "metric": "error", "value": 0.25, "low": 0.0, "high": 0.5},
    ).with_columns(condition=pl.lit(None, dtype=pl.String), clusters="n")
    plot = figures.profile_plot(table, made, metrics=["reward", "error"])
    # The reward reaches from -1 to 1, the error from 0 to 1.
    assert [(mark.low, mark.at, mark.high) for row in plot.rows for mark in row.marks[0]] == [
        (0.5, 0.75, 1.0), (0.5, 0.75, 1.0),
    ]  # fmt: skip


def test_a_band_ends_where_an_interval_is_unknown() -> None:
    """Rounds 1 and 2 have a band, round 4 alone a line; nothing is drawn over round 3, which has no interval."""
    states, band = [10.0, 20.0, 30.0, 40.0], [(5.0, 15.0), (15.0, 25.0), None, (35.0, 45.0)]
    plot = LinePlot(panels=[LinePanel(title="t", lines=[Line(name="m", states=states, band=band)])], first=1, last=4)
    made = shown(plot)
    [shade] = re.findall(r'<path d="([^"]*)" fill="[^"]*" opacity', made)
    assert shade.count("L") == 3
    assert len(re.findall(r'<line [^>]*stroke-width="2"', made)) == 1
    assert [text for text in re.findall(r">(\d+)</text>", made) if text not in {"0", "50", "100"}] == list("1234")
