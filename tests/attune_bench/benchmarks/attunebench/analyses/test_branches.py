"""Profiles of the four branches: shares by hand, missing metrics, the ceiling, the sentence and the figure."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
import pytest

from attune_bench import Scores, score
from attune_bench.benchmarks.attunebench.branches import METRICS_OF_BRANCHES, WHOLE, above_random, branches
from attune_bench.benchmarks.attunebench.conversation_score import IN_COMPOSITE
from attune_bench.benchmarks.attunebench.expected_scores import EXPECTED
from attune_bench.benchmarks.attunebench.report import branch_cells
from attune_bench.benchmarks.attunebench.scoring import METRICS
from attune_bench.scores.parts import Provenance
from attune_data import load, load_runs
from attune_metrics.attunebench.holistic import BRANCHES

Values = dict[str, list[float | None]]
PANAS, RATED = METRICS_OF_BRANCHES["managing"]
QUICK: dict[str, Any] = {"resamples": 400}


def made(values: Mapping[str, Values], chance: Values) -> Scores:
    """Return scores by model and metric of units, a unit a participant, with the chance of each unit."""
    units = [f"c{place}" for place in range(len(next(iter(chance.values()))))]
    frames = [
        pl.DataFrame({"model": model, "condition": "default", "unit": units, **metrics})
        for model, metrics in values.items()
    ]
    return Scores(
        values=pl.concat(frames, how="diagonal_relaxed").with_columns(pl.col(*chance).cast(pl.Float64)),
        units=pl.DataFrame({
            "unit": units, "cluster": [f"P{unit}" for unit in units],
            **{f"chance.{name}": pl.Series(of, dtype=pl.Float64) for name, of in chance.items()},
        }),
        metrics={name: METRICS[name] for name in chance},
        provenance=Provenance(primary=PANAS, unit="conversation", cluster="participant"),
    )  # fmt: skip


def test_every_metric_has_a_chance_and_one_branch() -> None:
    metrics = [name for of_branch in METRICS_OF_BRANCHES.values() for name in of_branch]
    assert tuple(METRICS_OF_BRANCHES) == BRANCHES
    assert len({*metrics}) == len(metrics)
    assert {*metrics} <= {*EXPECTED}
    assert all(f"four_branch_{branch}_mae" in of for branch, of in METRICS_OF_BRANCHES.items())
    # What random answers to an empty list score is nearly the best score.
    parts = {*IN_COMPOSITE} - {"four_branch_normalized", "composite_score", "q3_follow_up_score"}
    assert parts == {name for name in metrics if not name.startswith("four_branch")}


def test_shares_by_hand() -> None:
    # Baseline-adjusted: mean (0.5 + 0.5 + 0 + 0 - 0.5 + 1) / 6 = 0.25, chance -0.5, best 1: 0.75 / 1.5 = 0.5. The
    # unit without a rating does not count in the error: mean 1, chance (2 + 2 + 1 + 2 + 3) / 5 = 2, best 0: 0.5 too.
    values: Values = {PANAS: [0.5, 0.5, 0.0, 0.0, -0.5, 1.0], RATED: [1.0, 0.0, 1.0, 2.0, 1.0, None]}
    chance: Values = {PANAS: [-0.5] * 6, RATED: [2.0, 2.0, 1.0, 2.0, 3.0, None]}
    found = branches(made({"m": values}, chance), **QUICK).filter(branch="managing")
    whole, panas, rated = found.to_dicts()
    assert [row["share"] for row in (whole, panas, rated)] == pytest.approx([0.5, 0.5, 0.5], abs=1e-12)
    assert (panas["value"], panas["chance"]) == pytest.approx((0.25, -0.5), abs=1e-12)
    assert (rated["value"], rated["chance"]) == pytest.approx((1, 2), abs=1e-12)
    assert (whole["value"], whole["chance"], whole["n"], panas["n"], rated["n"]) == (None, None, 6, 6, 5)
    assert whole["low"] < 0.5 < whole["high"]


def test_random_answers_have_a_share_of_0_and_perfect_ones_of_1() -> None:
    chance: Values = {PANAS: [-0.5, -0.2, 0.1] * 4, RATED: [2.0, 1.5, 3.0] * 4}
    perfect: Values = {PANAS: [1.0] * 12, RATED: [0.0] * 12}
    worse: Values = {PANAS: [-1.0] * 12, RATED: [6.0] * 12}
    found = branches(made({"chance": chance, "perfect": perfect, "worse": worse}, chance), **QUICK)
    whole = {row["model"]: row for row in found.filter(branch="managing", part=WHOLE).to_dicts()}
    assert whole["chance"]["share"] == pytest.approx(0, abs=1e-12)
    assert whole["perfect"]["share"] == pytest.approx(1, abs=1e-12)
    assert whole["worse"]["share"] < -0.5


def test_a_branch_without_one_of_its_metrics_has_no_share() -> None:
    values: Values = {PANAS: [None] * 6, RATED: [1.0, 0.0, 1.0, 2.0, 1.0, 1.0]}
    chance: Values = {PANAS: [-0.5] * 6, RATED: [2.0] * 6}
    whole, _, rated = branches(made({"m": values}, chance), **QUICK).filter(branch="managing").to_dicts()
    assert (whole["share"], whole["low"]) == (None, None)
    assert whole["reason"] == "no value of PANAS baseline-adjusted"
    assert rated["share"] == 0.5
    # Random answers that score best leave nothing to win.
    best: Values = {PANAS: [1.0] * 6, RATED: [2.0] * 6}
    whole, panas, _ = branches(made({"m": best}, best), **QUICK).filter(branch="managing").to_dicts()
    reason = "nothing above random answers to score in PANAS baseline-adjusted"
    assert (whole["share"], whole["reason"], panas["share"]) == (None, reason, None)
    # A table that does not say what random answers score.
    other = branches(made({"m": values}, chance), **QUICK).filter(branch="perceiving", part=WHOLE)
    assert other["share"].to_list() == [None]
    assert other["reason"].item().startswith("no value of avg_emotion_f1")


def test_the_ceiling_is_the_best_person_with_an_interval() -> None:
    rng = np.random.default_rng(1)
    chance: Values = {PANAS: [-0.5] * 12, RATED: [2.0] * 12}

    def near(share: float, units: int = 12) -> Values:
        off = share + rng.normal(0, 0.01, 12)
        known = [value if place < units else None for place, value in enumerate(off.tolist())]
        return {
            PANAS: [None if value is None else 1.5 * value - 0.5 for value in known],
            RATED: [None if value is None else 2 - 2 * value for value in known],
        }

    models = {"m": near(0.5), "human/ann": near(0.6), "human/bo": near(0.7), "human/few": near(0.9, 3)}
    scores = made(models, chance)
    found = branches(scores, **QUICK).filter(branch="managing", part=WHOLE)
    best = found.filter(model="human/bo")["share"].item()
    assert found["ceiling"].to_list() == [best] * 4
    lone = branches(made({"m": models["m"]}, chance), **QUICK)
    assert lone["ceiling"].null_count() == lone.height
    cells = branch_cells(scores, found)
    assert cells.y[1][-1] == "ceiling: best person"
    assert cells.rows[-1]["shown"] == f"{best:.2f}"


def test_the_sentence_counts_models_above_random_answers() -> None:
    scores = score(load("demo"), load_runs("demo"))
    rows: dict[str, Any] = {"model": [*"abab"], "branch": ["perceiving"] * 2 + ["managing"] * 2, "part": WHOLE}
    rows |= {"low": [0.1, 0.2, -0.1, 0.0], "high": [0.5] * 4}
    said = above_random(scores, pl.DataFrame({**rows, "condition": "default"}))
    assert said == "Interval wholly above random answers: perceiving 2 of 2 models, managing none of 2."
    said = above_random(scores, pl.DataFrame({**rows, "condition": ["default", "verbose"] * 2}))
    assert said.startswith("mode default: Interval wholly above random answers: perceiving 1 of 1 model, managing none")
    assert " mode verbose: " in said
    # People and baselines do not count, nor do parts of a branch.
    others = pl.DataFrame({**rows, "condition": "default"}).with_columns(model=pl.lit("human/") + pl.col("model"))
    assert above_random(scores, others) == ""
    parts = pl.DataFrame({**rows, "condition": "default"}).with_columns(part=pl.lit(PANAS))
    assert above_random(scores, parts) == ""


def test_resamples_draw_values_and_chance_together() -> None:
    # Values follow chance exactly, half way to the best value in each unit: the share never varies.
    above = {PANAS: [-0.5, 0.0, 0.2, 0.4, -0.1, 0.6], RATED: [2.0, 1.0, 3.0, 2.5, 1.5, 2.0]}
    half: Values = {PANAS: [(1 + own) / 2 for own in above[PANAS]], RATED: [own / 2 for own in above[RATED]]}
    chance: Values = {name: [*own] for name, own in above.items()}
    row = branches(made({"m": half}, chance), **QUICK).filter(branch="managing", part=WHOLE).row(0, named=True)
    assert row["share"] == pytest.approx(0.5, abs=1e-12)
    assert row["low"] is None or row["high"] - row["low"] < 1e-9


def test_the_figure_names_models_and_branches() -> None:
    scores = score(load("demo"), load_runs("demo"))
    cells = branch_cells(scores, branches(scores, **QUICK))
    assert cells.x == ("branch", list(BRANCHES))
    assert cells.y[1] == ["synthetic/attentive", "synthetic/hasty"]
    assert len(cells.rows) == 8
    assert all("[" in row["shown"] for row in cells.rows)
