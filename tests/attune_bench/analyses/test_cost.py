"""What results cost, by hand: sums by part, unknown amounts, the front, and what a missing price leaves open."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from attune_bench import Scores, score
from attune_bench.analyses import cost, cost_front
from attune_bench.benchmarks import benchmark_named
from attune_bench.report.html import html_report
from attune_data import Run, load, load_records, load_runs
from attune_data.kinds import COMPARISON
from attune_metrics import MetricInputError

Json = dict[str, Any]
DATA, DEMO = load("demo"), load_runs("demo")
GOOD, BAD = "synthetic/attentive", "synthetic/hasty"
pytestmark = pytest.mark.filterwarnings("ignore:200 resamples are too few")


def noted(**by_model: Mapping[str, Any]) -> tuple[Scores, list[Run]]:
    """Return the runs of the demo with what a model's runs note, and their scores."""
    notes = {GOOD: by_model.get("good", {}), BAD: by_model.get("bad", {})}
    runs = [run.model_copy(update=dict(notes[run.em_model])) for run in DEMO]
    return score(DATA, runs), runs


def part(calls: int, cost: float | None, tokens: int | None = 10) -> Json:
    return {"calls": calls, "prompt_tokens": tokens, "completion_tokens": 1, "cost": cost, "seconds": 0.5}


def test_sums_by_who_was_asked_and_by_kind_of_call() -> None:
    usage = {"model/read": part(3, 0.25), "model/read_hp": part(2, 0.5, None), "judge/judge": part(1, None)}
    scores, runs = noted(good={"usage": usage})
    # One run without a judged draft: a call that was not made costs nothing.
    runs[0] = runs[0].model_copy(update={"usage": {"model/read": part(3, 0.25)}})
    assert runs[0].em_model == GOOD
    found = cost(scores, results=runs).drop("condition", "reason").rows()
    assert found == [
        (GOOD, "all", "all", 3 + 39 * 6, None, 1 + 39 * 3, None, 0.5 + 39 * 1.5, 40),
        (GOOD, "model", "read", 120, 400, 40, 10.0, 20.0, 40),
        (GOOD, "model", "read_hp", 78, None, 39, 19.5, 19.5, 40),
        (GOOD, "judge", "judge", 39, 390, 39, None, 19.5, 40),
    ]
    reasons = dict(cost(scores, results=runs).select("part", "reason").iter_rows())
    assert reasons == {"all": "39 results of 40 without a cost", "read": None, "read_hp": None, "judge": reasons["all"]}


def test_results_of_other_programs_have_the_cost_of_roles_and_a_duration() -> None:
    scores, runs = noted(good={"api_cost": 0.25, "judge_cost": 0.5, "duration_seconds": 2}, bad={"duration_seconds": 1})
    assert cost(scores, results=runs).select("model", "role", "part", "calls", "cost", "seconds").rows() == [
        (GOOD, "all", "all", None, 30.0, 80.0),
        (GOOD, "model", "all", None, 10.0, None),
        (GOOD, "judge", "all", None, 20.0, None),
        (BAD, "all", "all", None, None, 40.0),
    ]
    # A cost that the results say is not known is a part of the sum.
    scores, unknown = noted(good={"api_cost": 0.25, "judge_cost": None})
    rows = cost(scores, results=unknown).select("role", "cost").rows()
    assert rows == [("all", None), ("model", 10.0), ("judge", None)]
    # Of results of both kinds only the roles are known.
    runs[0] = runs[0].model_copy(update={"usage": {"model/read": part(3, 0.75)}})
    mixed = cost(scores, results=runs).filter(model=GOOD).select("role", "part", "cost").rows()
    assert mixed == [("all", "all", 0.75 + 39 * 0.75), ("model", "all", 0.75 + 39 * 0.25), ("judge", "all", None)]


@pytest.mark.parametrize("amount", [float("nan"), -1.0, float("inf"), True, "1"])
def test_what_is_no_amount_is_unknown(amount: object) -> None:
    scores, runs = noted(good={"usage": {"model/read": part(1, amount)}})  # type: ignore[arg-type]
    assert cost(scores, results=runs)["cost"].to_list() == [None, None]


def front(*, metric: str = "composite_score", **by_model: Mapping[str, Any]) -> dict[str, Json]:
    scores, runs = noted(**by_model)
    found = cost_front(scores, results=runs, metrics=[metric], resamples=200)
    return {row["model"]: row for row in found.iter_rows(named=True)}


def test_a_front_of_two_models() -> None:
    dear = front(good={"api_cost": 0.5}, bad={"api_cost": 0.25})
    assert [(row["front"], row["share"]) for row in dear.values()] == [("yes", 1.0)] * 2
    cheap = front(good={"api_cost": 0.25}, bad={"api_cost": 0.5, "judge_cost": 9.0})
    assert [(row["cost"], row["front"], row["share"]) for row in cheap.values()] == [
        (250.0, "yes", 1.0),
        (500.0, "no", 0.0),
    ]
    # 40 scores for 40 * 0.25 dollars.
    assert cheap[GOOD]["per_dollar"] == pytest.approx(cheap[GOOD]["value"] / 0.25)
    assert cheap[GOOD]["low"] < cheap[GOOD]["value"] < cheap[GOOD]["high"]
    # A cost without variation has no interval, and says so.
    assert (cheap[GOOD]["cost_low"], cheap[GOOD]["reason"]) == (None, "no variation among participants")


def test_of_an_error_the_lowest_is_best_and_none_is_had_for_a_dollar() -> None:
    found = front(good={"api_cost": 0.25}, bad={"api_cost": 0.5}, metric="avg_four_branch_mae")
    assert found[GOOD]["value"] < found[BAD]["value"]
    assert [(row["front"], row["per_dollar"]) for row in found.values()] == [("yes", None), ("no", None)]


def test_what_a_missing_price_leaves_open() -> None:
    better_unpriced = front(bad={"api_cost": 0.5})
    good, bad = better_unpriced[GOOD], better_unpriced[BAD]
    # The best model is on the front at any cost; whether the other stays there depends on this cost.
    assert (good["cost"], good["front"], good["below"]) == (None, "yes", None)
    assert good["reason"] == "a result without a cost"
    assert (bad["front"], bad["share"], bad["reason"]) == ("open", 1.0, "no variation among participants")
    worse_unpriced = front(good={"api_cost": 0.5})
    good, bad = worse_unpriced[GOOD], worse_unpriced[BAD]
    assert (good["front"], good["below"]) == ("yes", None)
    assert (bad["front"], bad["share"], bad["below"]) == ("open", None, 500.0)


def test_what_probes_cost_is_no_cost_of_a_score() -> None:
    usage = {"model/read": part(1, 0.25), "model/probe": part(1, 0.5)}
    assert front(good={"usage": usage}, bad={"api_cost": 0.5})[GOOD]["cost"] == 250


def test_a_model_without_a_score_is_not_compared() -> None:
    scores, runs = noted(good={"api_cost": 0.5}, bad={"api_cost": 0.25})
    value = pl.when(pl.col("model") == BAD).then(None).otherwise("composite_score").alias("composite_score")
    found = cost_front(replace(scores, values=scores.values.with_columns(value)), results=runs, resamples=200)
    assert found.select("model", "cost", "front").rows() == [(GOOD, 500.0, "yes")]


def test_what_was_free_costs_0_and_has_no_score_for_a_dollar() -> None:
    found = front(good={"api_cost": 0.0}, bad={"api_cost": 0.5})
    assert [found[GOOD][name] for name in ("cost", "cost_low", "front", "per_dollar")] == [0, None, "yes", None]


def test_scores_without_their_results() -> None:
    scores, runs = noted(good={"api_cost": 0.5})
    with pytest.raises(MetricInputError, match="was scored and is missing"):
        cost(scores, results=runs[1:])
    table = Scores.from_table(scores.to_polars().select("model", "unit", "metric", "value"))
    with pytest.raises(MetricInputError, match="only scores of a benchmark tell which result is of a row"):
        cost(table, results=runs)


@pytest.mark.slow
def test_the_page_has_the_section_where_runs_have_costs() -> None:
    scores, runs = noted(good={"api_cost": 0.25}, bad={"api_cost": 0.5})
    benchmark = benchmark_named("attunebench")
    page = html_report(scores, benchmark=benchmark, data=DATA, results=runs, resamples=200)
    assert f"Of 2 models of a known cost, no other beats {GOOD} on both cost and score" in page
    assert "Calls, tokens, cost and time" in page
    without = html_report(score(DATA, DEMO), benchmark=benchmark, data=DATA, results=DEMO, resamples=200)
    assert "Calls, tokens, cost and time" not in without


def test_a_benchmark_that_does_not_say_which_result_is_of_a_row_has_no_costs() -> None:
    votes = load_records("demo", COMPARISON)
    assert cost(score(votes), results=votes).is_empty()
    assert cost_front(score(votes), results=votes, resamples=200).is_empty()
