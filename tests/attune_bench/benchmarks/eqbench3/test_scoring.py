"""EQ-Bench 3's rubric: the published score, coverage, iterations, stories, style without a direction."""

from collections.abc import Mapping
from typing import Any

import pytest

from attune_bench import Scores, score
from attune_bench.stats.comparability import MixedSettingsError
from attune_data import load_records
from attune_data.eqbench3 import EQBench3Situation, EQBench3Transcript
from attune_data.kinds import SITUATION, TRANSCRIPT
from attune_metrics import MetricInputError
from attune_metrics.eqbench3 import CRITERIA, STYLE

PLAYED, ANALYSED = (
    EQBench3Situation(id=name, type=kind, prompts=("Hello.",), story="9")
    for name, kind in (("9", "role-play"), ("415", "analysis"))
)
OTHER = EQBench3Situation(id="11", type="drafting", prompts=("Write.",), story="11")
RUBRIC = "eqbench3_rubric"
TEN = dict(zip(CRITERIA["standard"], (12, 10, 11, 9, 10, 8), strict=True))
NINE = dict(zip(CRITERIA["analysis"], (10, 10, 10, 10, 10, 4), strict=True))


def transcript(
    situation: str, scores: Mapping[str, float] | None = None, *, model: str = "m", iteration: int = 1, **more: Any
) -> EQBench3Transcript:
    status = "error" if scores is None else "rubric_scored"
    document = {"scenario_id": situation, "test_model": model, "repeat": iteration, "status": status}
    return EQBench3Transcript.model_validate({**document, "rubric_scores": scores or {}, **more})


def values(scores: Scores, metric: str = "eqbench3_rubric") -> dict[str, float | None]:
    return dict(scores.values.sort("unit").select("unit", metric).iter_rows())


def test_the_score_of_the_worked_example() -> None:
    scores = score([PLAYED, ANALYSED], [transcript("9", TEN), transcript("415", NINE)])
    assert values(scores) == {"9": 10.0, "415": 9.0}
    assert scores.summary(metrics=[RUBRIC], resamples=10)["value"].to_list() == [9.5]
    assert "47.5" in str(scores.report())  # as boards show it
    assert {*scores.units["cluster"]} == {"9"}


def test_a_transcript_without_scores_lowers_coverage_and_not_the_score() -> None:
    given = [transcript("9", TEN), transcript("11"), transcript("415", NINE), transcript("11", TEN, model="other")]
    scores = score([PLAYED, OTHER, ANALYSED], given)
    row = scores.summary(metrics=[RUBRIC], resamples=10).filter(model="m")
    assert (row["value"].item(), row["n"].item()) == (9.5, 2)
    assert "Not scored: 1 transcript without the judge's scores, of m." in scores.provenance.notes
    assert score([PLAYED], [transcript("9", TEN)]).provenance.notes == ()


def test_scores_of_a_transcript_that_failed_do_not_count() -> None:
    scores = score([PLAYED, ANALYSED], [transcript("9", TEN, status="completed"), transcript("415", NINE)])
    assert values(scores) == {"9": None, "415": 9.0}


def test_iterations_are_repeats_and_the_published_mean_is_noted() -> None:
    nine = dict.fromkeys(CRITERIA["standard"], 4.0)
    given = [transcript("9", TEN), transcript("9", nine, iteration=2), transcript("415", NINE)]
    scores = score([PLAYED, ANALYSED], given)
    # Of the situation (10 + 4) / 2 = 7, of the model (7 + 9) / 2; over transcripts (10 + 4 + 9) / 3 * 5 = 38.3.
    assert values(scores) == {"9": 7.0, "415": 9.0}
    assert (
        "Means over all transcripts, as published, in which each iteration counts once: m 38.3."
        in scores.provenance.notes
    )


def test_style_has_no_direction_and_is_not_ranked() -> None:
    styled = TEN | dict.fromkeys(STYLE, 20.0)
    scores = score([PLAYED], [transcript("9", styled), transcript("9", TEN | {"warmth": 1.0}, model="other")])
    assert {scores.metric(f"eqbench3_{name}").higher_is_better for name in STYLE} == {None}
    assert scores.summary(metrics=[RUBRIC], resamples=10)["value"].to_list() == [10.0, 10.0]
    with pytest.raises(MetricInputError, match="'eqbench3_warmth' cannot rank models: neither higher nor lower"):
        scores.rank(metrics=["eqbench3_warmth"])


def test_a_score_beyond_the_scale_counts_for_the_rubric_alone() -> None:
    # (26 + 5 * 10) / 6 = 12.67, as published; as a criterion it has no value.
    given = dict.fromkeys(CRITERIA["analysis"], 10.0) | {"correctness": 26.0}
    scores = score([ANALYSED], [transcript("415", given)])
    assert values(scores)["415"] == pytest.approx(76 / 6)
    assert values(scores, "eqbench3_correctness") == {"415": None}
    assert scores.provenance.notes == ()
    # A mean beyond the scale has no value, and a note says so.
    beyond = score([ANALYSED], [transcript("415", dict.fromkeys(CRITERIA["analysis"], 8573.0))])
    assert values(beyond) == {"415": None}
    assert beyond.provenance.notes == ("Not scored: 1 transcript whose scores have no mean from 0 to 20, of m.",)


def test_models_of_two_judges_are_not_compared() -> None:
    given = [transcript("9", TEN, judge_model="first"), transcript("9", TEN, model="other", judge_model="second")]
    with pytest.raises(MixedSettingsError, match=r"judge first \(of m\), second \(of other\)"):
        score([PLAYED], given).compare_all(resamples=10)


def test_the_demonstration_has_its_planted_order() -> None:
    scores = score(load_records("demo", SITUATION), load_records("demo", TRANSCRIPT))
    assert scores.rank(resamples=50)["model"].to_list() == ["synthetic/attentive", "synthetic/wordy", "synthetic/hasty"]
    assert scores.provenance.unit == "situation"
    assert scores.units["cluster"].n_unique() == 12
