"""EQ-Bench as it is run and scored: answers read and asked for again, passes, runs, failure, published scores."""

import asyncio
import json
from collections.abc import Mapping
from math import isnan
from pathlib import Path
from time import perf_counter
from typing import Any

import polars as pl
import pytest

from attune_bench import Scores, score
from attune_bench.benchmarks.eqbench import TASK, read_answer
from attune_bench.runner.calls import Call
from attune_bench.runner.task import ModelSettings
from attune_data.eqbench import EQBenchAnswer, EQBenchQuestion
from attune_metrics import MetricInputError
from attune_metrics.signature import Signature

FIXTURES = Path(__file__).parents[3] / "golden" / "eqbench"
EMOTIONS = ("Wary", "Glad", "Hurt", "Proud")
# Differences from the reference, all of one emotion, and the score: 10 - 0.7477 * d beyond 5.
PERFECT, SIX_OFF, TEN_OFF = 0, 6, 10
SCORES = {PERFECT: 10.0, SIX_OFF: 10 - 0.7477 * 6, TEN_OFF: 10 - 0.7477 * 10}


def question(name: str, opening: str | None = None) -> EQBenchQuestion:
    """Return a question whose reference is 0 for each emotion."""
    prompt = f"Judge:\n\n{opening or name}\nBen: Oh.\n[End dialogue]\n\nHow does Ben feel? {' '.join(EMOTIONS)}"
    reference = {f"emotion{n}": emotion for n, emotion in enumerate(EMOTIONS, 1)}
    reference |= {f"emotion{n}_score": "0" for n in range(1, 5)}
    return EQBenchQuestion.model_validate({"id": name, "prompt": prompt, "reference_answer_fullscale": reference})


def rated(off: int | None) -> dict[str, int]:
    """Return intensities whose differences from the reference are 0, 0, 0 and `off`; None is not parseable."""
    return {"Wary": 0} if off is None else dict.fromkeys(EMOTIONS, 0) | {"Proud": off}


def answer(
    name: str, first: int | None, revised: int | None = None, *, model: str = "m", repeat: int = 1
) -> EQBenchAnswer:
    passes = {"first_pass": rated(first), "revised": {} if revised is None else rated(revised)}
    given = {"question": name, "model": model, "repeat": repeat, "respondent_answers": passes}
    return EQBenchAnswer.model_validate(given)


def values(scores: Scores, column: str = "eqbench_score") -> dict[str, float | None]:
    return dict(scores.values.sort("unit").select("unit", column).iter_rows())


def of_model(scores: Scores, metric: str = "eqbench_score") -> list[float | None]:
    return scores.summary(metrics=[metric], resamples=10)["value"].to_list()


TEN = [question(f"q{n}", f"Ann: {n // 2}.") for n in range(10)]


# Reading.


@pytest.mark.parametrize(
    ("text", "first", "revised"),
    [
        ("First pass scores:\nSad: 7\nHot: 0\nCritique: no\nRevised scores:\nSad: 5", {"Sad": 7, "Hot": 0}, {"Sad": 5}),
        ("First pass scores: Sad: 7 Glad: 0 Revised scores: Sad: 5", {"Sad": 7, "Glad": 0}, {"Sad": 5}),
        ("Sure!\nFirst pass scores:\nSad:  7\n", {}, {}),  # without the second heading there is no first pass
        ("Revised scores:\nSad: 5\nSad: 6", {}, {"Sad": 6}),  # the last of one emotion counts
        ("First pass scores:\nSad:7\nRevised scores:\nSad: -7", {}, {}),  # a blank and an unsigned number
        ("First pass scores:\nSad: 7.5\nRevised scores:\nSad: 10/10", {"Sad": 7}, {"Sad": 10}),
        ("First pass scores:\n**Sad**: 7\nvery_sad: 3\nRevised scores:\n", {"very_sad": 3}, {}),
        ("first pass scores:\nSad: 7\nRevised Scores:\nSad: 5", {}, {}),
        ("First pass scores:\nSad: 7Glad: 3\nRevised scores: x7Hot: 2", {"Sad": 7, "Glad": 3}, {"x7Hot": 2}),
        ("First pass scores:\nSad: 1234567890123456\nRevised scores:\n", {}, {}),
        ("First pass scores:\nCritique: of 2 people\nRevised scores:\nÄrger: 3", {}, {"Ärger": 3}),
        ("", {}, {}),
    ],
)  # fmt: skip
def test_an_answer_is_read(text: str, first: Mapping[str, int], revised: Mapping[str, int]) -> None:
    assert read_answer(text) == {"first_pass": first, "revised": revised}


def test_a_long_answer_is_read_in_a_moment() -> None:
    started = perf_counter()
    for text in ("a" * 200_000, "a " * 100_000, "1" * 200_000, "1a" * 100_000, "First pass scores:" * 20_000):
        assert read_answer(f"First pass scores: {text} Revised scores: {text}") == {"first_pass": {}, "revised": {}}
        assert read_answer(f"First pass scores: {text}") == {"first_pass": {}, "revised": {}}
    assert perf_counter() - started < 2


# Asking.

GOOD = "First pass scores:\nWary: 1\nGlad: 2\nHurt: 3\nProud: 4\nRevised scores:\nWary: 4\nGlad: 3\nHurt: 2\nProud: 1"
HALF = GOOD.partition("Revised")[0] + "Revised scores: as above."
OTHER = GOOD.replace("Wary", "Weary")


@pytest.mark.parametrize(
    ("texts", "asked", "kept"),
    [
        ([GOOD], 1, GOOD),
        (["", GOOD], 2, GOOD),
        ([HALF, OTHER, GOOD], 3, GOOD),
        ([OTHER, HALF, "", HALF + "!", OTHER], 5, HALF),  # the first with one pass, of five
        ([OTHER, "", "", "", ""], 5, OTHER),
    ],
)
def test_what_cannot_be_read_is_asked_for_again(texts: list[str], asked: int, kept: str) -> None:
    calls: list[Call] = []

    async def complete(call: Call, attempt: int) -> str:
        assert attempt == len(calls)
        calls.append(call)
        return texts[attempt]

    record: Any = asyncio.run(TASK.make(question("q"), complete, ModelSettings("vendor/model")))
    assert len(calls) == asked
    assert all(call.messages == ({"role": "user", "content": question("q").prompt},) for call in calls)
    assert (record.id, record.raw_inference) == ("q/vendor/model", kept)
    assert record.respondent_answers.model_dump() == read_answer(kept)


# Scoring by hand.


def test_the_pass_that_counts_is_the_run_s_and_not_the_question_s() -> None:
    # First pass: 10 and 10 - 4.4862 = 5.5138 by turns, mean 7.7569. Revised: 10 throughout but one of 2.523: 9.2523.
    given = [answer(f"q{n}", (PERFECT, SIX_OFF)[n % 2], TEN_OFF if n == 3 else PERFECT) for n in range(10)]
    scores = score(TEN, given)
    assert of_model(scores) == [pytest.approx(9.2523, abs=1e-12)]
    assert of_model(scores, "eqbench_first_pass") == [pytest.approx(7.7569, abs=1e-12)]
    assert values(scores)["q3"] == pytest.approx(2.523, abs=1e-12)  # though the first pass was better here
    assert scores.provenance.notes == ("The revised pass counts in 1 of 1 run, else the first.",)
    # A tenth of the revised answers is not parseable: fewer than 95% of ten.
    given[5] = answer("q5", SIX_OFF)
    scores = score(TEN, given)
    assert of_model(scores) == [pytest.approx(7.7569, abs=1e-12)]
    assert scores.values["eqbench_parseable"].to_list() == [1.0] * 10


def test_an_answer_that_is_not_parseable_has_no_value() -> None:
    scores = score(TEN, [answer(f"q{n}", None if n == 9 else SIX_OFF) for n in range(10)])
    assert values(scores)["q9"] is None
    assert values(scores, "eqbench_parseable") == {f"q{n}": float(n != 9) for n in range(10)}
    row = scores.summary(metrics=["eqbench_score"], resamples=10).row(0, named=True)
    assert (row["value"], row["n"], row["coverage"]) == (pytest.approx(SCORES[SIX_OFF], abs=1e-12), 9, 0.9)


def test_the_clusters_are_dialogues_and_have_no_text() -> None:
    scores = score(TEN, [answer(f"q{n}", PERFECT) for n in range(10)])
    assert dict(scores.units.select("unit", "cluster").iter_rows()) == {f"q{n}": f"q{n // 2 * 2}" for n in range(10)}
    assert (scores.provenance.unit, scores.provenance.cluster) == ("question", "dialogue")


def test_the_signature_names_the_protocol() -> None:
    signature = Signature.parse(score(TEN, [answer(f"q{n}", PERFECT) for n in range(10)]).sign())
    assert (signature.benchmark, signature.protocol, signature.unit) == ("eqbench", "repository", "dialogue")


def test_several_runs() -> None:
    # Run 1: the first pass of 10 counts; 2: the revised one of 5.5138. The model has their mean, 7.7569.
    both = [answer(f"q{n}", PERFECT, SIX_OFF) for n in range(10)]
    both += [answer(f"q{n}", TEN_OFF, SIX_OFF, repeat=2) for n in range(10)]
    once = [answer(f"q{n}", SIX_OFF, model="once") for n in range(10)]
    scores = score(TEN, [*both, *once])
    assert of_model(scores) == [pytest.approx(7.7569, abs=1e-12), pytest.approx(5.5138, abs=1e-12)]
    assert scores.repeats is not None
    assert scores.repeats.height == 30
    assert scores.values.height == 20
    assert Signature.parse(scores.sign()).repeats == "1-2"
    assert "as published, in which each run counts once: m 77.57, once 55.14." in scores.provenance.notes[-1]


def test_runs_in_which_other_questions_are_parseable() -> None:
    # Run 1: ten of 10. Run 2: nine of 5.5138, q0 not parseable. Each run counts once: 7.7569. Over
    # questions, of which q0 has the 10 alone: (9 * 7.7569 + 10) / 10 = 7.98121.
    given = [answer(f"q{n}", PERFECT) for n in range(10)]
    given += [answer(f"q{n}", None if n == 0 else SIX_OFF, repeat=2) for n in range(10)]
    scores = score(TEN, given)
    assert of_model(scores) == [pytest.approx(7.98121, abs=1e-12)]
    assert scores.provenance.notes[-1].endswith(": m 77.57.")


def test_a_model_that_failed_has_no_score_and_a_reason() -> None:
    # 8 of 10 are fewer than 83%.
    failing = [answer(f"q{n}", None if n < 2 else PERFECT, model="failing") for n in range(10)]
    good = [answer(f"q{n}", SIX_OFF if n % 3 else PERFECT, model="good") for n in range(10)]
    better = [answer(f"q{n}", PERFECT, model="better") for n in range(10)]
    scores = score(TEN, [*failing, *good, *better])
    of_failing = scores.values.filter(model="failing")
    for metric in ("eqbench_score", "eqbench_first_pass", "eqbench_revised"):
        assert of_failing[metric].null_count() == 10
    assert of_failing["eqbench_parseable"].sum() == 8
    said = "8 of 10 questions have a parseable answer, fewer than 83%"
    [issue] = scores.provenance.issues
    assert (issue.file, issue.rule, issue.severity, issue.message) == ("failing", "failed-benchmark", "error", said)
    assert f"Failed: failing; {said}." in scores.provenance.notes
    row = scores.summary(metrics=["eqbench_score"], resamples=10).filter(model="failing").row(0, named=True)
    assert (row["value"], row["low"], row["n"], row["reason"]) == (None, None, 0, "no question has a value")
    assert scores.rank(resamples=10).filter(pl.col("value").is_null())["model"].to_list() in ([], ["failing"])
    pair = scores.compare("better", "good", metrics=["eqbench_score"], resamples=50).row(0, named=True)
    assert pair["difference"] == pytest.approx((SCORES[PERFECT] - SCORES[SIX_OFF]) * 0.6, abs=1e-12)
    with_failing = scores.compare("failing", "good", metrics=["eqbench_score"], resamples=50).row(0, named=True)
    assert with_failing["difference"] is None
    assert said in " ".join(scores.report(resamples=50).split())


def test_a_model_that_failed_has_no_mean_of_its_runs() -> None:
    # Of b (9 + 6) / 2 of 10 are 75%.
    runs = (("a", 1, 9), ("a", 2, 9), ("b", 1, 9), ("b", 2, 6))
    scores = score(
        TEN, [answer(f"q{n}", 0, model=model, repeat=run) for model, run, count in runs for n in range(count)]
    )
    assert any(note.endswith(": a 100.00, b failed.") for note in scores.provenance.notes)


def test_questions_without_an_answer_count_for_the_failure() -> None:
    scores = score(TEN, [answer(f"q{n}", PERFECT) for n in range(8)])
    assert of_model(scores) == [None]
    assert of_model(score(TEN[:8], [answer(f"q{n}", PERFECT) for n in range(8)])) == [10.0]
    assert scores.provenance.expected == 10


def test_answers_to_other_questions_are_left_out_and_counted() -> None:
    scores = score(TEN, [*(answer(f"q{n}", PERFECT) for n in range(10)), answer("other", PERFECT)])
    assert scores.values.height == 10
    assert "Left out: 1 answer to questions that are not in the data." in scores.provenance.notes
    with pytest.raises(MetricInputError, match="none of 1 answer is to one of 10 questions"):
        score(TEN, [answer("other", PERFECT)])


def test_two_answers_to_one_question_are_refused() -> None:
    with pytest.raises(MetricInputError, match="two answers to question 'q1' in one run of 'm'"):
        score(TEN, [*(answer(f"q{n}", PERFECT) for n in range(10)), answer("q1", SIX_OFF)])


def test_a_reference_with_an_emotion_twice_scores_nothing() -> None:
    one = question("q").model_dump(by_alias=True)
    one["reference_answer_fullscale"]["emotion2"] = "Wary"
    odd = EQBenchQuestion.model_validate(one)
    three = {name: 0 for name in EMOTIONS if name != "Glad"}
    given = EQBenchAnswer.model_validate(
        {"question": "q", "model": "m", "respondent_answers": {"first_pass": three, "revised": three}}
    )
    assert of_model(score([odd], [given])) == [None]


def test_models_that_were_asked_at_other_temperatures_are_not_compared() -> None:
    given = [answer(f"q{n}", PERFECT, model=model) for n in range(10) for model in ("a", "b")]
    warm = [one.model_copy(update={"temperature": 0.7 if one.model == "a" else 0.0}) for one in given]
    with pytest.raises(ValueError, match=r"not comparable: temperature 0\.7 \(of a\), 0 \(of b\)"):
        score(TEN, warm).compare("a", "b", resamples=50)


# As published.


@pytest.mark.slow
def test_published_scores() -> None:
    reference: dict[str, Any] = json.loads((FIXTURES / "reference.json").read_text())
    expected: dict[str, Any] = json.loads((FIXTURES / "expected.json").read_text())
    questions = [
        EQBenchQuestion.model_validate(
            {
                "id": name,
                "reference_answer_fullscale": {f"emotion{n}": emotion for n, emotion in enumerate(four, 1)}
                | {f"emotion{n}_score": int(intensity) for n, intensity in enumerate(four.values(), 1)},
                "prompt": "",
            }
        )
        for name, four in reference.items()
    ]
    answers: dict[tuple[str, str], dict[str, dict[str, int]]] = {}
    frame = pl.read_parquet(FIXTURES / "answers.parquet").select("file", "question", "which", "emotion", "score")
    for file, name, which, emotion, intensity in frame.iter_rows():
        passes = answers.setdefault((file, str(name)), {"first_pass": {}, "revised": {}})
        passes[which][emotion] = int(intensity)
    records = [
        EQBenchAnswer.model_validate({"question": name, "model": file, "respondent_answers": passes})
        for (file, name), passes in answers.items()
    ]
    scores = score(questions, records)
    assert scores.issues.is_empty()
    found = dict(scores.summary(metrics=["eqbench_score"], resamples=2).select("model", "value").iter_rows())
    off = [abs(10 * found[file] - own["benchmark_score"]) for file, own in expected.items()]
    assert len(found) == 86
    assert not any(map(isnan, off))
    assert max(off) < 0.022
    assert sum(one < 0.02 for one in off) == 85
    assert sum(round(10 * found[file], 2) == own["benchmark_score"] for file, own in expected.items()) == 36
    assert scores.provenance.notes == ("The revised pass counts in 5 of 86 runs, else the first.",)
