"""Boards of ratings alone: EQ-Bench 3, with what another judge moves, and EQ-Bench 4."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Any

import polars as pl
from boards_published import GOLDEN

from attune_bench.benchmarks.eqbench4 import board as eqbench4_board
from attune_bench.report import figures
from attune_data import load_records
from attune_data.kinds import ENTRY
from attune_metrics.eqbench3 import ability_scores, anchored_ratings
from attune_metrics.stats.agreement import spearman_rho

if TYPE_CHECKING:
    from attune_bench.report.drawing import Chart


@dataclass(frozen=True)
class Overlaps:
    """What the intervals of a board of ratings say of each other.

    Attributes
    ----------
    models : int
        How many models it has.
    alone : int
        How many have an interval that overlaps no other.
    overlapping : int
        How many neighbours have overlapping intervals, of one fewer than models.
    met : float
        How many other models an interval overlaps, the median over models.
    half : float
        Half of an interval, the median over models, in points of the rating.
    """

    models: int
    alone: int
    overlapping: int
    met: float
    half: float


def overlaps(intervals: Sequence[tuple[float, float]]) -> Overlaps:
    """Return what intervals say of each other, in the order of the board."""
    met = [sum(low <= top and bottom <= high for low, high in intervals) - 1 for bottom, top in intervals]
    beside = pairwise(intervals)
    return Overlaps(
        models=len(intervals),
        alone=met.count(0),
        overlapping=sum(low <= top for (low, _), (_, top) in beside),
        met=median(met),
        half=median((high - low) / 2 for low, high in intervals),
    )


EQBENCH4 = Overlaps(models=28, alone=1, overlapping=23, met=2, half=11.9)
"""Of EQ-Bench 4's board of 2026-07-26 (EQ-bench/EQ-bench-site at 033fc135), which is not part of this repository."""


def eqbench3() -> dict[str, Any]:
    """Return what EQ-Bench 3's published numbers, which are no answers, say of each other.

    By board its `Overlaps` and how the rubric ranks; how far ratings and abilities are from those that follow from
    other numbers; and the two judges on the models of both boards.
    """
    folder = GOLDEN / "eqbench3"
    frame = pl.read_csv(folder / "boards.csv")
    boards: dict[str, Overlaps] = {}
    rubric: dict[str, float] = {}
    for [year], board in frame.sort("board", pl.col("rating").neg()).group_by("board", maintain_order=True):
        boards[str(year)] = overlaps(board.select("low", "high").rows())
        rubric[str(year)] = spearman_rho(board["rating"], board["rubric"])
    own = json.loads((folder / "board.json").read_text())
    raw = {model: one["elo_raw"] for model, one in own.items()}
    ratings = anchored_ratings(raw)
    off = [abs(ratings[model] - one["elo_norm"]) for model, one in own.items()]
    abilities = [
        abs(value - one["abilities"][name])
        for one in own.values()
        for name, value in ability_scores(one["criteria"]).items()
    ]
    renamed = pl.col("model").replace("openai/o4-mini", "o4-mini")
    by_year = [frame.filter(board=year).with_columns(renamed) for year in (2025, 2026)]
    both = by_year[0].join(by_year[1], on="model")
    ranks = both.with_columns(pl.exclude("model").rank("average", descending=True))
    moved = {
        name: ranks.select("model", one=pl.col(name), two=pl.col(f"{name}_right"))
        .sort((pl.col("one") - pl.col("two")).abs(), descending=True, maintain_order=True)
        .row(0)
        for name in ("rubric", "rating")
    }
    return {
        "boards": boards,
        "rubric": rubric,
        "ratings": (len(off), max(off)),
        "abilities": (len(abilities), max(abilities)),
        "ranks": ranks,
        "means": (both["rubric"].mean(), both["rubric_right"].mean()),
        "agreement": {name: spearman_rho(both[name], both[f"{name}_right"]) for name in ("rubric", "rating")},
        "moved": moved,
    }


def eqbench4(path: str) -> "tuple[Overlaps, Chart]":
    """Return what the intervals of a copy of EQ-Bench 4's board say of each other, and the figure of the board."""
    scores, published = eqbench4_board(load_records(path, ENTRY))
    ordered = published.sort("value", descending=True)
    return overlaps(ordered.select("low", "high").rows()), figures.scores(scores, frame=published)
