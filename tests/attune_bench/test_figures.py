"""Figures: what they draw of hand-made frames, what they refuse, and that they can be saved."""

import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pytest

from attune_bench.report import figures
from attune_bench.report._drawing import svg
from attune_bench.report._page import figure

Row = dict[str, Any]
COUNTS = {"n": 20, "participants": 12, "reason": None, "p": 0.01, "p_holm": 0.02}
EVIL = "<img src=x onerror=alert(1)>"


def frame(*rows: Row, **common: Any) -> pl.DataFrame:
    return pl.DataFrame([{"mode": "default", **COUNTS, **common, **row} for row in rows])


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
    {"metric_a": "avg_emotion_f1", "metric_b": "composite_score", "rho": -0.5, "low": -1.0, "high": 0.5, "models": 3},
)
MODES = frame(
    {"model": "a", "metric": "composite_score", "difference": 5.0, "low": 1.0, "high": 9.0},
    {"model": "a", "metric": "panas_item_mae", "difference": -0.3, "low": None, "high": None},
    mode="verbose",
    reference="default",
)
DIFFICULTY = frame(
    {"conversation_id": "secret-1", "mean": 50.0, "sd": 5.0},
    {"conversation_id": "secret-2", "mean": 60.0, "sd": None},
    metric="composite_score",
    models=2,
)
QUESTIONS = frame(
    {"question": "B1", "agreement": 0.8, "low": 0.7, "high": 0.9}, task="binary_om", model="a", answers=40
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
        lambda: figures.scores(SUMMARY, "avg_pairwise_accuracy"),
        ["a: 0.600 [0.500, 0.700], n = 20 (12 participants)", "b: 0.400 [0.350, 0.450], n = 20 (12 participants)"],
    ),
    "profile": (
        lambda: figures.profile(SUMMARY, "a"),
        [
            "a, Pairwise accuracy: 0.600 [0.500, 0.700], n = 20 (12 participants)",
            "b, Pairwise accuracy: 0.400 [0.350, 0.450], n = 20 (12 participants)",
        ],
    ),
    "perspective_gap": (
        lambda: figures.perspective_gap(GAPS),
        2 * [
            "narrow: OM 0.800, HP 0.770, gap +0.030 [+0.010, +0.050], Holm p 0.0200, n = 20 (12 participants)",
            "wide: OM 0.900, HP 0.800, gap +0.100 [+0.080, +0.120], Holm p 0.0200, n = 20 (12 participants)",
        ],
    ),
    # Early and late, no middle; and the drift.
    "turn_drift": (
        lambda: figures.turn_drift(DRIFT, "avg_binary_om_accuracy"),
        3 * [
            "a: early 0.900, middle -, late 0.800; drift -0.100 [-0.200, -0.010], Holm p 0.0200, "
            "n = 20 (12 participants)"
        ],
    ),
    "diagnosis_groups": (
        lambda: figures.diagnosis_groups(GROUPS, "avg_emotion_va_score"),
        [
            "a, ADHD: 0.500 without a diagnosis; difference -0.200 [-0.300, -0.100], Holm p 0.0200, "
            "n = 20 (12 participants)",
            "a, ASD: 0.500 without a diagnosis; difference -0.200, Holm p 0.0200, n = 20 (12 participants)",
        ],
    ),
    "win_rates": (
        lambda: figures.win_rates(RATES),
        [
            "a against b: 0.250 [0.200, 0.300], n = 20 (12 participants)",
            "b against a: 0.750 [0.700, 0.800], n = 20 (12 participants)",
        ],
    ),
    "metric_correlation": (
        lambda: figures.metric_correlation(CORRELATIONS),
        ["Composite and Emotion F1: -0.500 [-1.000, 0.500], 3 models"],
    ),
    "mode_differences": (
        lambda: figures.mode_differences(MODES, "verbose"),
        [
            "a, Composite: +5.00 [+1.00, +9.00], Holm p 0.0200, n = 20 (12 participants)",
            "a, PANAS item MAE, lower is better: -0.300, Holm p 0.0200, n = 20 (12 participants)",
        ],
    ),
    "conversation_difficulty": (
        lambda: figures.conversation_difficulty(DIFFICULTY),
        ["mean 50.00, SD 5.00, 2 models"],
    ),
    "question_agreement": (
        lambda: figures.question_agreement(QUESTIONS, "binary_om"),
        ["a, B1: 0.800 [0.700, 0.900], 40 answers, n = 20 (12 participants)"],
    ),
    "trajectories": (
        lambda: figures.trajectories(STATES, "a"),
        [
            "a, charm, round 0: mean anger 40.0 [38.0, 42.0], n = 6 scenarios",
            "a, charm, round 0: mean trust 25.5, n = 6 scenarios",
        ],
    ),
}  # fmt: skip


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


@pytest.mark.parametrize("name", DRAWN)
def test_every_mark_says_its_numbers(name: str) -> None:
    draw, expected = DRAWN[name]
    assert sorted(marks(svg(draw()))) == sorted(expected)


def test_every_figure_is_tested() -> None:
    assert set(figures.__all__) - {"CHANCE", "label", "save"} == set(DRAWN)


def test_the_best_model_is_on_top_and_the_level_of_chance_is_drawn() -> None:
    text = words(svg(figures.scores(SUMMARY, "avg_pairwise_accuracy")))
    assert [word for word in text if word in {"a", "b", "c"}] == ["a", "b"]
    assert "chance" in text


def test_the_lowest_error_is_on_top_and_no_chance_is_drawn_where_it_is_not_known() -> None:
    errors = SUMMARY.with_columns(metric=pl.lit("panas_item_mae"))
    text = words(svg(figures.scores(errors, "panas_item_mae")))
    assert [word for word in text if word in {"a", "b"}] == ["b", "a"]
    assert "chance" not in text


def test_the_widest_gap_is_on_top() -> None:
    text = words(svg(figures.perspective_gap(GAPS)))
    assert [word for word in text if word in {"wide", "narrow"}] == ["wide", "narrow"]


def test_conversations_are_not_named() -> None:
    assert "secret" not in str(figures.conversation_difficulty(DIFFICULTY).to_dict())


def test_marks_can_be_told_apart_by_shape() -> None:
    specification = str(figures.turn_drift(DRIFT, "avg_binary_om_accuracy").to_dict())
    assert "'range': ['circle', 'stroke', 'diamond']" in specification


def test_a_chart_can_be_changed() -> None:
    chart = figures.scores(SUMMARY, "avg_pairwise_accuracy")
    widths = [float(read(svg(one)).get("width", "")) for one in (chart, chart.properties(width=800))]
    assert widths[1] - widths[0] == 500


def test_names_are_text() -> None:
    drawing = svg(figures.scores(frame(value(EVIL, 0.5, 0.4, 0.6)), "avg_pairwise_accuracy"))
    assert "<img" not in drawing
    assert EVIL in words(drawing)


def test_one_mode_is_drawn() -> None:
    both = pl.concat([SUMMARY, SUMMARY.with_columns(mode=pl.lit("verbose"))])
    with pytest.raises(ValueError, match=r"there are the modes 'default', 'verbose'; choose one with mode="):
        figures.scores(both, "avg_pairwise_accuracy")
    assert len(marks(svg(figures.scores(both, "avg_pairwise_accuracy", mode="verbose")))) == 2
    with pytest.raises(ValueError, match=r"no mode 'verbos'; there are 'default', 'verbose'"):
        figures.scores(both, "avg_pairwise_accuracy", mode="verbos")


def test_nothing_to_draw_is_said() -> None:
    with pytest.raises(ValueError, match="nothing to draw: no value of 'composite_score'"):
        figures.scores(SUMMARY, "composite_score")
    with pytest.raises(ValueError, match="no score of model 'z'"):
        figures.profile(SUMMARY, "z")
    with pytest.raises(ValueError, match="no task 'x'; expected one of binary_om"):
        figures.question_agreement(QUESTIONS, "x")


def test_a_frame_of_something_else_is_refused() -> None:
    with pytest.raises(ValueError, match="no column 'value_none': is it of the analysis that this figure draws"):
        figures.diagnosis_groups(SUMMARY, "avg_pairwise_accuracy")


@pytest.mark.parametrize("name", DRAWN)
def test_what_the_pointer_reads_on_a_page_is_written_for_readers(name: str) -> None:
    draw, expected = DRAWN[name]
    titles = re.findall(r"<title>(.*?)</title>", figure(draw(), "caption"))
    assert {unescape(title) for title in titles} == set(expected)


def test_points_of_few_participants_do_not_look_like_others() -> None:
    many = GROUPS.head(1).with_columns(group=pl.lit("any"), mark=pl.lit(""), participants=pl.lit(20, dtype=pl.Int64))
    drawing = svg(figures.diagnosis_groups(pl.concat([many, GROUPS], how="vertical_relaxed"), "avg_emotion_va_score"))
    points = [mark for mark in read(drawing).iter() if mark.get("aria-roledescription") == "point"]
    assert len({(point.get("fill"), point.get("d")) for point in points}) == 3
    assert {"20 participants or more", "fewer than 20 participants", "fewer than 5 participants, no interval"} <= set(
        words(drawing)
    )


def test_one_participant_is_singular() -> None:
    drawing = svg(figures.win_rates(RATES.with_columns(n=1, participants=1)))
    assert "a against b: 0.250 [0.200, 0.300], n = 1 (1 participant)" in marks(drawing)


def luminance(colour: str) -> float:
    """WCAG 2's relative luminance of rgb(r, g, b)."""
    channels = [int(part) / 255 for part in colour[4:-1].split(",")]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_numbers_in_cells_can_be_read() -> None:
    steps = [{"model_a": "a", "model_b": f"b{i}", "rate": i / 100, "low": None, "high": None} for i in range(101)]
    root = read(svg(figures.win_rates(frame(*steps, metric="avg_pairwise_accuracy"))))
    cells = [m.get("fill", "") for m in root.iter() if m.get("aria-roledescription") == "rect mark"]
    texts = [m.get("fill") for m in root.iter() if m.get("aria-roledescription") == "text mark" and m.text]
    assert len(cells) == len(texts) == 101
    for cell, text in zip(cells, texts, strict=True):
        assert text in {"white", "black"}
        light, dark = (1.0, luminance(cell)) if text == "white" else (luminance(cell), 0.0)
        # WCAG 2.1, 1.4.3: 4.5 to 1, for small text.
        assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_more_than_altair_draws_by_itself() -> None:
    many = pl.concat([DIFFICULTY.head(1)] * 5001)
    assert len(marks(svg(figures.conversation_difficulty(many)))) == 5001


@pytest.mark.parametrize(
    ("ending", "begins"), [("svg", b"<svg"), ("png", b"\x89PNG"), ("pdf", b"%PDF"), ("html", b"<!DOCTYPE html>")]
)
def test_saves(ending: str, begins: bytes, tmp_path: Path) -> None:
    target = tmp_path / f"figure.{ending}"
    figures.save(figures.scores(SUMMARY, "avg_pairwise_accuracy"), target)
    content = target.read_bytes()
    assert content.lstrip().lower().startswith(begins.lower())
    assert b'src="http' not in content
    assert list(tmp_path.iterdir()) == [target]


def test_a_name_without_a_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"'figure.gif' does not say its format; expected a name in .svg, .png"):
        figures.save(figures.scores(SUMMARY, "avg_pairwise_accuracy"), tmp_path / "figure.gif")
