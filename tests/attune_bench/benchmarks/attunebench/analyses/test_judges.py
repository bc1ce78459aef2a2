"""Judges of drafts: agreement and ranks by hand, odd records, and what a command says."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from commands import QUICK, Call, too_wide
from judged_runs import SHIFTS, with_judges

from attune_bench import score
from attune_bench.benchmarks.attunebench.run_analyses import judge_agreement, judge_ranks
from attune_bench.stats.comparability import MixedSettingsError
from attune_data import Run, load, load_runs
from attune_metrics import MetricInputError
from attune_metrics.stats.agreement import krippendorff_alpha

Build = Callable[..., Any]


def rated(run: Run, *by_turn: dict[str, Any]) -> Run:
    """Return a run with what judges gave in each turn."""
    content = run.model_dump(by_alias=True, exclude_unset=True)
    for turn, given in zip(content["turns"], by_turn, strict=False):
        turn.update(given)
    return Run.model_validate(content)


def test_agreement_by_hand(make_conversation: Build, make_run: Build) -> None:
    ratings = [
        {"one": {"helpfulness": 2}, "two": {"helpfulness": 3, "tone_match": 5}},
        {"one": {"helpfulness": 5}, "two": {"helpfulness": 5}, "three": {"tone_match": True, "helpfulness": math.nan}},
    ]
    answers = [
        {"one": {"B1": "yes", "B2": "no", "B3": "maybe"}, "two": {"B1": "Yes", "B2": "yes", "B3": "no"}},
        {"one": {"B1": "na"}, "two": {"B1": "na"}, "three": "yes"},
    ]
    turns = [
        {"em_draft_judge_scores_by_model": one, "em_draft_binary_assessment_by_model": other}
        for one, other in zip(ratings, answers, strict=True)
    ]
    data, runs = [make_conversation()], [rated(make_run(), *turns)]
    found = judge_agreement(score(data, runs), results=runs)
    assert found.select("rated", "judge_a", "judge_b", "judged", "n").rows() == [
        ("helpfulness", "one", "two", 2, 1),
        ("binary answers", "one", "two", 3, 1),
    ]
    # Interval alpha of (2, 3), (5, 5): observed (1 + 1) / 4 = 1/2; expected over ordered pairs of 2, 3, 5, 5:
    # 2 (1 + 9 + 9 + 4 + 4 + 0) / 12 = 9/2. Nominal alpha of (yes, yes), (no, yes), (na, na): observed 2 / 6; expected
    # over 3 yes, 1 no, 2 na: 2 (3 + 6 + 2) / 30 = 11/15.
    assert found["alpha"].to_list() == pytest.approx([1 - (1 / 2) / (9 / 2), 1 - (1 / 3) / (11 / 15)], abs=1e-12)
    # (3 - 2 + 5 - 5) / 2; answers have none.
    assert found["shift"].to_list() == [0.5, None]
    assert set(found["reason"]) == {"fewer than 5 participants"}


@pytest.mark.slow
def test_all_judges_and_every_two() -> None:
    data, runs = load("demo"), with_judges(load_runs("demo"))
    found = judge_agreement(score(data, runs), results=runs, resamples=50).filter(rated="tone_match")
    even, odd, strict = sorted(SHIFTS)
    assert found.select("judge_a", "judge_b").rows() == [("all", None), (even, odd), (even, strict), (odd, strict)]
    values = [
        [turn.em_draft_judge_scores_by_model[judge]["tone_match"] for judge in sorted(SHIFTS)]
        for run in runs
        for turn in run.turns
        if turn.em_draft_judge_scores.tone_match is not None
    ]
    assert found["judged"].to_list() == [len(values)] * 4
    frame = pl.DataFrame(values, schema=[even, odd, strict], orient="row")
    assert found["alpha"][0] == pytest.approx(krippendorff_alpha(frame.to_numpy(), level="interval"), abs=1e-12)
    assert found["shift"][1] == pytest.approx((frame[odd] - frame[even]).mean(), abs=1e-12)


def test_ranks_by_each_judge(make_conversation: Build, make_run: Build) -> None:
    data = [make_conversation()]

    def run(model: str, *values: tuple[int | None, int]) -> Run:
        turns = [
            {
                "em_draft_judge_scores": {"helpfulness": two},
                "em_draft_judge_scores_by_model": {"one": {"helpfulness": one}, "two": {"helpfulness": two}},
            }
            for one, two in values
        ]
        return rated(make_run(em_model=model), *turns)

    runs = [run("a", (7, 1), (4, 1)), run("b", (4, 7), (None, 7))]
    found = judge_ranks(score(data, runs), results=runs)
    rows = {(row["judge"], row["model"]): (row["value"], row["rank"]) for row in found.iter_rows(named=True)}
    # One gives a the mean of 1 and 0.5, b 0.5; two gives a 0 and b 1, and was taken as the score.
    assert rows == {
        ("all", "a"): (0, 2), ("all", "b"): (1, 1),
        ("one", "a"): (0.75, 1), ("one", "b"): (0.5, 2),
        ("two", "a"): (0, 2), ("two", "b"): (1, 1),
    }  # fmt: skip
    assert set(found["reason"]) == {"fewer than 5 participants"}


@pytest.mark.slow
def test_runs_of_other_scores_are_refused() -> None:
    data, runs = load("demo"), with_judges(load_runs("demo"))
    scores = score(data, runs)
    for analysis in (judge_agreement, judge_ranks):
        with pytest.raises(MetricInputError, match="was scored and is not among the runs"):
            analysis(scores, results=runs[1:])


@pytest.mark.slow
def test_means_over_repeats_are_refused() -> None:
    data, runs = load("demo"), with_judges(load_runs("demo"))
    again = [run.model_copy(update={"repeat": 2}) for run in runs]
    for analysis in (judge_agreement, judge_ranks):
        with pytest.raises(MetricInputError, match="means over repeats, which have no answers; score one repeat alone"):
            analysis(score(data, [*runs, *again]), results=[*runs, *again])


@pytest.mark.slow
def test_models_judged_by_others_are_not_ranked_together() -> None:
    data, runs = load("demo"), load_runs("demo")
    other = [run for run in runs if run.em_model == runs[0].em_model]
    mixed = [*with_judges(other), *(run for run in runs if run.em_model != runs[0].em_model)]
    renamed = [
        rated(run, *[{"em_draft_judge_scores_by_model": {"judge/other": {}}}] * 20) for run in mixed[len(other) :]
    ]
    scores = score(data, [*mixed[: len(other)], *renamed])
    with pytest.raises(MixedSettingsError, match="judges"):
        judge_ranks(scores, results=[*mixed[: len(other)], *renamed])


@pytest.mark.slow
def test_the_command(call: Call, tmp_path: Path) -> None:
    runs = with_judges(load_runs("demo"))
    (tmp_path / "runs").mkdir()
    for place, run in enumerate(runs):
        (tmp_path / "runs" / f"{place}.json").write_bytes(run.to_json())
    scores = tmp_path / "scores.json"
    assert call("score", "--results", tmp_path / "runs", "--data", "demo", "--output", scores)[0] == 0
    given = ("--scores", scores, "--results", tmp_path / "runs", *QUICK)
    status, out, err = call("analyze", "judge_agreement", "judge_ranks", *given)
    assert (status, err, too_wide(out)) == (0, "", [])
    assert "\nAgreement of judges, binary answers, mode default\n" in out
    assert "\nRanks by judge, judge/strict, mode default\n" in out
    assert call("analyze", "judge_ranks", "--scores", scores)[2] == "attune-bench: judge_ranks needs --results\n"
    status, out, _ = call("analyze", "judge_agreement", "--scores", scores, "--results", "demo", *QUICK)
    assert (status, out.splitlines()[0]) == (
        0, "Nothing to show: this needs runs that record what each of several judges said."
    )  # fmt: skip
