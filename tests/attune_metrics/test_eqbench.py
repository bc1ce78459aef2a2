"""EQ-Bench v2: the score of a question by hand, which pass counts, failure, and the published scores of 86 models."""

import json
from functools import cache
from math import exp, inf, isnan, nan
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import attune_metrics as am
from attune_metrics.eqbench import EQBenchRun, eqbench_score, score_run, score_runs

FIXTURES = Path(__file__).parents[1] / "golden" / "eqbench"
FOUR = {"Annoyed": 7, "Indifferent": 6, "Remorseful": 0, "Tender": 0}


# A question.


def test_a_perfect_answer_scores_ten() -> None:
    assert eqbench_score(FOUR, FOUR) == 10


@pytest.mark.parametrize(
    ("difference", "scaled"),
    [
        (0, 0),
        (1, 6.5 / (1 + exp(3.6))),  # -1.2 * (1 - 4) = 3.6
        (4, 3.25),  # exp(0) = 1, half of 6.5
        (5, 6.5 / (1 + exp(-1.2))),
        (5.5, 5.5),
        (6, 6),
        (10, 10),
        (93, 93),  # an answer of 100: the published code has no upper bound
    ],
)
def test_a_difference_is_scaled(difference: float, scaled: float) -> None:
    given = FOUR | {"Remorseful": difference}
    assert eqbench_score(FOUR, given) == pytest.approx(10 - 0.7477 * scaled, abs=1e-12)


def test_the_differences_of_four_emotions_add_up() -> None:
    # Differences 4, 6, 0 and 10: 3.25 + 6 + 0 + 10 = 19.25; 0.7477 * 19.25 = 14.393225.
    given = {"Tender": 10, "Annoyed": 3, "Indifferent": 0, "Remorseful": 0}
    assert eqbench_score(FOUR, given) == pytest.approx(10 - 14.393225, abs=1e-12)
    # The worst within 0-10: four times 10.
    ends = dict.fromkeys("abcd", 0)
    assert eqbench_score(ends, dict.fromkeys("abcd", 10)) == pytest.approx(-19.908, abs=1e-12)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {name: FOUR[name] for name in ("Annoyed", "Indifferent", "Remorseful")},
        {**FOUR, "Sad": 1},
        {"annoyed": 7, "Indifferent": 6, "Remorseful": 0, "Tender": 0},
    ],
    ids=["none", "three", "five", "another spelling"],
)
def test_other_emotions_are_no_answer(given: dict[str, float]) -> None:
    with pytest.warns(
        am.UndefinedMetricWarning, match="undefined: eqbench_score; the answer has .*, not Annoyed, "
    ) as caught:
        assert isnan(eqbench_score(FOUR, given))
    assert caught[0].filename == __file__


def test_an_unknown_protocol_is_refused() -> None:
    assert eqbench_score(FOUR, FOUR, protocol="repository") == 10
    with pytest.raises(am.MetricInputError, match="unknown protocol 'board'; known: repository"):
        eqbench_score(FOUR, FOUR, protocol="board")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (FOUR | {"Tender": "7"}, "predicted '7' is not a finite number; convert text to a number first"),
        (FOUR | {"Tender": inf}, "predicted inf is not a finite number"),
        (FOUR | {"Tender": -1}, "predicted -1 is outside 0-inf"),
        ({1: 7}, "predicted has the emotion 1; expected a text"),
    ],
)
def test_an_answer_that_is_none_is_refused(given: dict[str, float], message: str) -> None:
    with pytest.raises(am.MetricInputError, match=message):
        eqbench_score(FOUR, given)


# A run: which pass counts.


@pytest.mark.parametrize(
    ("first", "revised", "counts", "score"),
    [
        ([4.0, 6.0], [5.0, 7.0], "revised", 60),
        ([4.0, 6.0], [6.0, 4.0], "revised", 50),  # at least the first: equal is enough
        ([4.0, 6.0], [4.0, 5.9], "first_pass", 50),
        ([4.0, 6.0], [], "first_pass", 50),
        ([-4.0, -6.0], [nan, nan], "first_pass", -50),  # nothing is not more than something below 0
        ([nan, nan], [3.0, nan], "revised", 30),
        # Of 20 parseable answers 95% are 19.
        ([5.0] * 20, [6.0] * 19 + [nan], "revised", 60),
        ([5.0] * 20, [6.0] * 18 + [nan] * 2, "first_pass", 50),
        # Of 19, one of which is not parseable in the first pass, 95% are 18.05.
        ([5.0] * 19 + [nan], [6.0] * 18 + [nan] * 2, "first_pass", 50),
    ],
)
def test_which_pass_counts(first: list[float], revised: list[float], counts: str, score: float) -> None:
    run = score_run(first, revised)
    assert run.counts == counts
    assert run.score == pytest.approx(score, abs=1e-12)


def test_few_parseable_answers_do_not_count_however_good() -> None:
    # First pass: (4 + 6 + 8) / 3 = 6. Revised: (9 + 5) / 2 = 7, but 2 of 3 are fewer than 95%.
    assert score_run([4.0, 6.0, 8.0], [9.0, nan, 5.0]) == EQBenchRun(60.0, "first_pass", 3)
    assert isnan(score_run([], []).score)


# Several runs, and failure.


def run_of(score: float, parseable: int) -> EQBenchRun:
    return EQBenchRun(score, "first_pass", parseable)


def test_several_runs_count_the_same() -> None:
    # The mean of the runs, (50 + 62) / 2 = 56; that of all answers together would be (10 * 50 + 9 * 62) / 19 = 55.7.
    assert score_runs([run_of(50, 10), run_of(62, 9)], 10) == pytest.approx(56, abs=1e-12)
    # A run may have its best pass, each by itself: 60 revised and 50 first make 55.
    runs = [score_run([4.0, 6.0], [5.0, 7.0]), score_run([4.0, 6.0], [1.0, 1.0])]
    assert [run.counts for run in runs] == ["revised", "first_pass"]
    assert score_runs(runs, 2) == pytest.approx(55, abs=1e-12)


@pytest.mark.parametrize(
    ("parseable", "questions", "fails"),
    [
        ([171], 171, False),
        ([142], 171, False),  # 142 / 171 = 0.8304
        ([141], 171, True),  # 141 / 171 = 0.8246
        ([83], 100, False),  # 83% exactly
        ([82], 100, True),
        ([80, 86], 100, False),  # their mean is 83
        ([80, 85], 100, True),
        ([0], 171, True),
    ],
)
def test_fewer_than_83_percent_fail(parseable: list[int], questions: int, fails: bool) -> None:
    assert isnan(score_runs([run_of(50, count) for count in parseable], questions)) is fails


def test_failure_goes_by_the_pass_with_more_parseable_answers() -> None:
    # The first pass counts, with 8 of 10; the revised one, which has 9, decides that the benchmark is not failed.
    run = score_run([9.0] * 8 + [nan] * 2, [5.0] * 9 + [nan])
    assert (run.counts, run.parseable) == ("first_pass", 9)
    assert score_runs([run], 10) == pytest.approx(90, abs=1e-12)


def test_a_run_without_answers_is_no_zero() -> None:
    # 5 of 6 runs are parseable, 83.3% on average; the mean has no value for the sixth.
    assert isnan(score_runs([run_of(50, 10)] * 5 + [score_run([], [])], 10))


# As published.


@cache
def published() -> dict[str, tuple[float, int, float, int]]:
    """Return by file our score and parseable answers, and those published."""
    reference: dict[str, Any] = json.loads((FIXTURES / "reference.json").read_text())
    expected: dict[str, Any] = json.loads((FIXTURES / "expected.json").read_text())
    answers: dict[tuple[str, int], dict[str, dict[str, dict[str, float]]]] = {}
    columns = pl.read_parquet(FIXTURES / "answers.parquet").select(
        "file", "iteration", "question", "which", "emotion", "score"
    )
    for file, iteration, question, which, emotion, score in columns.iter_rows():
        of_run = answers.setdefault((file, iteration), {"first_pass": {}, "revised": {}})
        of_run[which].setdefault(str(question), {})[emotion] = score
    found = {}
    for (file, iteration), passes in answers.items():
        assert iteration == expected[file]["iterations"] == 1
        first, revised = (
            [eqbench_score(reference[question], given) for question, given in passes[which].items()]
            for which in ("first_pass", "revised")
        )
        run = score_run(first, revised)
        own = expected[file]
        found[file] = (score_runs([run], 171), run.parseable, own["benchmark_score"], own["n_parseable"])
    return found


@pytest.mark.filterwarnings("ignore:undefined. eqbench_score")
def test_published_scores() -> None:
    rows = published()
    assert len(rows) == 86
    off = [abs(score - board) for score, _, board, _ in rows.values()]
    assert max(off) < 0.022
    assert sum(one < 0.02 for one in off) == 85
    assert sum(round(score, 2) == board for score, _, board, _ in rows.values()) == 36


@pytest.mark.filterwarnings("ignore:undefined. eqbench_score")
def test_published_numbers_of_parseable_answers() -> None:
    assert [(parseable, board) for _, parseable, _, board in published().values() if parseable != board] == []
