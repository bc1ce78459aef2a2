"""Results that name their repeat: scores are means over repeats, the same by every way, and keep the repeats."""

from pathlib import Path

import polars as pl
import pytest
from commands import Call
from polars.testing import assert_frame_equal

from attune_bench import Scores, score
from attune_bench.adapters.eee import Samples
from attune_bench.report.tables import calls_table, failure_tables
from attune_bench.scores.parts import KEYS
from attune_data import Episodes, Runs, load, load_episodes, load_runs, load_scenarios
from attune_metrics.metric import MetricInputError

ONCE = load_runs("demo").where(em_model="synthetic/attentive")[:6]
# What another model said passes for what the first said when it was asked again.
OTHERWISE = [
    run.model_copy(update={"em_model": "synthetic/attentive", "repeat": 2})
    for run in load_runs("demo").where(em_model="synthetic/hasty")
    if run.conversation_id in {one.conversation_id for one in ONCE[:4]}
]
RUNS = Runs([*ONCE, *OTHERWISE])


def by_unit(scores: Scores) -> dict[str, dict[str, float | None]]:
    return {row["unit"]: row for row in scores.values.iter_rows(named=True)}


def test_values_are_means_over_the_repeats_that_a_unit_has() -> None:
    both = score(load("demo"), RUNS)
    first = by_unit(score(load("demo"), ONCE))
    second = by_unit(score(load("demo"), [run.model_copy(update={"repeat": 1}) for run in OTHERWISE]))
    assert (both.values.height, len(second)) == (6, 4)
    for unit, row in by_unit(both).items():
        for name in ("composite_score", "avg_emotion_f1", "pooled_binary_om_metrics.tp"):
            values = [own[unit][name] for own in (first, second) if unit in own]
            known = [value for value in values if value is not None]
            assert row[name] == (pytest.approx(sum(known) / len(known), abs=1e-12) if known else None)


def test_repeats_are_kept_and_no_record_of_a_run() -> None:
    both = score(load("demo"), RUNS)
    assert both.repeats is not None
    assert both.repeat_counts == (1, 2)
    assert both.repeats.group_by("repeat").len().sort("repeat").rows() == [("1", 6), ("2", 4)]
    assert both.detail is None
    assert "repeats:1-2" in both.sign()
    assert any("means over the repeats of each conversation" in note for note in both.provenance.notes)
    assert both.summary(metrics=["composite_score"], resamples=50)["n"].to_list() == [6]


def test_runs_that_are_all_the_first_are_runs_that_were_made_once() -> None:
    plain, named = (
        score(load("demo"), runs) for runs in (ONCE, [run.model_copy(update={"repeat": 1}) for run in ONCE])
    )
    assert plain.repeats is named.repeats is None
    assert_frame_equal(plain.values, named.values)


def test_a_later_repeat_alone_is_scored_as_what_was_asked_once() -> None:
    plain, later = (
        score(load("demo"), [run.model_copy(update={"repeat": repeat}) for run in OTHERWISE]) for repeat in (1, 2)
    )
    assert later.repeats is None
    assert_frame_equal(later.values, plain.values)
    assert later.metrics == plain.metrics
    assert later.detail is not None


def test_a_repeat_that_is_there_twice_is_not_scored_twice() -> None:
    found = score(load("demo"), [*RUNS, OTHERWISE[0]])
    assert [issue.rule for issue in found.provenance.issues] == ["duplicate-run"]
    assert_frame_equal(found.values, score(load("demo"), RUNS).values)


def test_files_of_repeats_are_scored_by_the_command(call: Call, tmp_path: Path) -> None:
    RUNS.to_jsonl(tmp_path / "runs.jsonl")
    output = tmp_path / "scores.parquet"
    status, out, err = call("score", "--results", tmp_path / "runs.jsonl", "--data", "demo", "--output", output)
    assert (status, err) == (0, "")
    assert out.startswith(f"{output}: 10 runs of 1 model")
    read, made = Scores.read(output), score(load("demo"), RUNS)
    assert_frame_equal(read.values, made.values)
    assert read.repeats is not None
    assert made.repeats is not None
    assert_frame_equal(read.repeats, made.repeats, check_row_order=False)
    status, _, err = call("analyze", "repeat_variances", "--scores", output, "--resamples", 20)
    assert (status, err) == (0, "")


def test_scores_json_has_no_place_for_repeats(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    RUNS.to_jsonl("runs.jsonl")
    status, _, err = call("score", "--results", "runs.jsonl", "--data", "demo", "--output", "scores.json")
    assert status == 2
    assert "use a name in .parquet" in err
    assert call("score", "--results", "runs.jsonl", "--data", "demo")[0] == 0
    assert [path.name for path in tmp_path.glob("scores*")] == ["scores.parquet"]


def test_an_analysis_of_answers_refuses_means_over_repeats() -> None:
    from attune_bench.benchmarks.attunebench.run_analyses import question_agreement

    with pytest.raises(MetricInputError, match="means over repeats"):
        question_agreement(score(load("demo"), RUNS), data=load("demo"), results=RUNS)


def test_an_analysis_of_answers_does_not_choose_among_repeats() -> None:
    from attune_bench.benchmarks.attunebench.run_analyses import question_agreement

    second = score(load("demo"), OTHERWISE)
    assert question_agreement(second, data=load("demo"), results=OTHERWISE, resamples=50)["n"].max() == 4
    with pytest.raises(MetricInputError, match=r"the runs are repeats 1 and 2 .* give only the repeat that was scored"):
        question_agreement(second, data=load("demo"), results=RUNS, resamples=50)


def test_samples_of_means_over_repeats_are_refused() -> None:
    with pytest.raises(MetricInputError, match="means over repeats, which have no samples; score one repeat alone"):
        Samples(score(load("demo"), RUNS), results=RUNS, data=load("demo"), licence="cc-by-4.0")


def test_calls_and_failures_are_counted_over_all_repeats() -> None:
    calls = {f"t{turn}/om": {"outcome": "parsed", "dropped": 0} for turn in range(3)}
    told = [
        # Three calls in each of two repeats, of which one of the second failed: the mean of failures is half a call.
        ONCE[0].model_copy(update={"repeat": repeat, "calls": calls | failed})
        for repeat, failed in ((1, {}), (2, {"t0/om": {"outcome": "failed", "dropped": 0}}))
    ]
    [table] = calls_table(score(load("demo"), told))
    assert [table.rows[0][name] for name in ("total", "calls.parsed", "calls.failed", "n")] == [6, 5, 1, 1]
    episodes = [
        PLAYED[0].model_copy(update={"repeat": repeat, "error": error})
        for repeat, error in ((1, None), (2, "broke off"), (3, None))
    ]
    tables = failure_tables(score(load_scenarios("demo"), episodes))
    assert tables[0].title == "Failed scenarios, by kind, each repeat counted"
    assert sum(value for name, value in tables[0].rows[0].items() if name.startswith("failed.")) == 1


EPISODES = load_episodes("demo")
MODEL = EPISODES[0].model
PLAYED = [one for one in EPISODES if one.model == MODEL][:6]
AGAIN = [
    one.model_copy(update={"repeat": 2, "final_anger": 20, "final_trust": 70, "ended_by": "max_rounds", "error": None})
    for one in PLAYED[:4]
]


@pytest.mark.parametrize("chosen", [{}, {"rule": "directed", "failed": "worst"}])
def test_every_variant_of_episodes_is_a_mean(chosen: dict[str, str]) -> None:
    scenarios = load_scenarios("demo")
    both = score(scenarios, Episodes([*PLAYED, *AGAIN])).variant(**chosen)
    first = by_unit(score(scenarios, PLAYED).variant(**chosen))
    second = by_unit(score(scenarios, [one.model_copy(update={"repeat": 1}) for one in AGAIN]).variant(**chosen))
    assert both.choices.keys() == {"rule", "failed"}
    assert both.repeats is not None
    assert both.repeats.height == 10
    for unit, row in by_unit(both).items():
        known = [value for own in (first, second) if unit in own and (value := own[unit]["reward"]) is not None]
        assert row["reward"] == (pytest.approx(sum(known) / len(known), abs=1e-12) if known else None)


def test_variants_of_repeats_are_read_as_they_were_written(tmp_path: Path) -> None:
    both = score(load_scenarios("demo"), Episodes([*PLAYED, *AGAIN]))
    both.write(tmp_path / "scores.parquet")
    read = Scores.read(tmp_path / "scores.parquet")
    for chosen in ({}, {"failed": "worst"}):
        mine, theirs = both.variant(**chosen), read.variant(**chosen)
        assert mine.repeats is not None
        assert theirs.repeats is not None
        assert_frame_equal(mine.values.sort(KEYS), theirs.values.sort(KEYS))
        by = [*KEYS, "repeat"]
        assert_frame_equal(mine.repeats.sort(by), theirs.repeats.sort(by))
    assert both.keep(units=[both.units["unit"][0]]).repeats.select(pl.col("unit").n_unique()).item() == 1  # type: ignore[union-attr]
