"""The one function that scores: which records it takes for which benchmark."""

import re
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import polars as pl
import pytest
from own_questions import ABOUT, BENCHMARK, QUESTION, WITHOUT_DATA, Answer, Question, score_answers

from attune_bench import Benchmark, Scores, score
from attune_data import load, load_episodes, load_runs, load_sage, load_scenarios
from attune_metrics import MetricInputError

Sources = Callable[[], tuple[Any, ...]]


@pytest.mark.parametrize(
    ("sources", "name", "message"),
    [
        (
            lambda: (load_runs("demo"), load("demo")),
            None,
            "the data have a Run; AttuneBench takes conversations, then runs: the arguments are swapped",
        ),
        (lambda: (load_episodes("demo"), load_scenarios("demo")), None, "the data have a Episode; EIBench takes"),
        (lambda: (load("demo"),), None, "AttuneBench scores results against data; give both, score(data, results)"),
        (lambda: (load_sage("demo"), load_sage("demo")), None, "SAGE scores results alone; give only these"),
        (lambda: (load("demo"),), "sage", "the results have a Conversation; SAGE takes dialogues"),
        (lambda: (load("demo"), load_sage("demo")), None, "the data are of AttuneBench, the results of SAGE"),
        (lambda: ([], []), None, "nothing to score: neither data nor results"),
        (lambda: ([1], [2]), None, "int is a record of no benchmark; name one with benchmark=..."),
    ],
)
def test_records_that_do_not_fit(sources: Sources, name: str | None, message: str) -> None:
    with pytest.raises(MetricInputError, match=re.escape(message)):
        score(*sources(), benchmark=name)


@pytest.mark.slow
def test_threads_make_equal_scores_and_comparisons() -> None:
    data, results = load("demo"), load_runs("demo")

    def made(_: int) -> tuple[pl.DataFrame, pl.DataFrame]:
        scores = score(data, results)
        return scores.values, scores.compare_all(metrics=["composite_score"], resamples=500)

    values, pairs = made(0)
    with warnings.catch_warnings(), ThreadPoolExecutor(8) as threads:  # filters belong to all threads
        for found in threads.map(made, range(8)):
            assert found[0].equals(values)
            assert found[1].equals(pairs)


FRAME = pl.DataFrame({"model": ["a"], "unit": ["u"], "metric": ["hit"], "value": [1.0]})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("demo", "are the text 'demo'; score takes records; load, load_runs and load_records of attune_data load them"),
        (Path("runs"), "are the text 'runs'; score takes records; load, load_runs"),
        (FRAME, "are a polars.DataFrame; score takes records, Scores.from_table(frame) a table of results"),
        (FRAME.lazy(), "are a polars.LazyFrame; score takes records, Scores.from_table(frame.collect()) a table"),
        (
            FRAME.to_pandas(),
            "are a pandas.DataFrame; score takes records, Scores.from_table(polars.from_pandas(frame)) a",
        ),
        (np.zeros(2), "are a numpy.ndarray; score takes records, Scores.from_table a polars.DataFrame with columns of"),
        (
            datasets.Dataset.from_dict({"a": [1]}),
            "are a datasets.Dataset; score takes records; attune_data.load_records",
        ),
        (Scores.from_table(FRAME), "are scores; score takes records, of which scores are made"),
        (load("demo").tables, "are tables; score takes records; give the collection that has these tables"),
        (load("demo")[0], "are one Conversation; score takes records; give a list of them"),
        ({"id": "a"}, "are one dict; score takes records; give a list of them"),
        (b"x", "are of type bytes; score takes records"),
        (3, "are of type int; score takes records"),
    ],
    ids=lambda one: "" if isinstance(one, str) else type(one).__name__,
)
def test_what_is_no_records_is_told_what_takes_it(given: Any, message: str) -> None:
    with pytest.raises(MetricInputError, match=f"^the data {re.escape(message)}"):
        score(given)
    with pytest.raises(MetricInputError, match=f"^the results {re.escape(message)}"):
        score(load("demo"), given)


def test_other_mistakes_in_the_call() -> None:
    data, runs = load("demo"), load_runs("demo")
    with pytest.raises(MetricInputError, match="the data are of type NoneType; score takes records"):
        score(None)  # type: ignore[arg-type]  # a mistake
    with pytest.raises(MetricInputError, match="dict is a record of no benchmark; load them with attune_data"):
        score([{"id": "a"}], runs)
    with pytest.raises(TypeError, match=r"^AttuneBench has no option 'protcol'; did you mean 'protocol'"):
        score(data, runs, protcol="documented")
    with pytest.raises(TypeError, match=r"^the benchmark is of type int; expected its name, or a Benchmark"):
        score(data, runs, benchmark=3)  # type: ignore[arg-type]  # a mistake


@pytest.mark.parametrize(
    ("sources", "name"),
    [
        (lambda: (load("demo"), load_runs("demo")), "attunebench"),
        (lambda: (load_scenarios("demo"), load_episodes("demo")), "eibench"),
        (lambda: (load_sage("demo"),), "sage"),
    ],
)
def test_the_benchmark_is_recognised(sources: Sources, name: str) -> None:
    assert score(*sources()).provenance.benchmark == name


def test_records_one_after_the_other() -> None:
    found = score(iter(load("demo")), iter(load_runs("demo")))
    assert found.values.equals(score(load("demo"), load_runs("demo")).values)


def test_what_generic_code_says_of_scores_of_ones_own() -> None:
    asked = Benchmark(
        **ABOUT, data=QUESTION, score=score_answers, comparability_keys={"temperature": "temperature", "wording": "W"}
    )
    questions = [Question(id="q1", text="Which?", kinder="first", synthetic=True)]
    answers = [
        Answer(question="q1", model="a", choice="first", temperature=0.5, wording=None, more=1),
        Answer(question="q1", model="b", choice="first", temperature=0.5, wording="v1"),
        Answer(question="q1", model="c", choice="first", wording="v1"),
    ]
    held = score(questions, answers, benchmark=asked).provenance
    assert (held.benchmark, held.title, held.synthetic) == ("kinder", "Kinder", True)
    assert held.comparability_keys == asked.comparability_keys
    assert [(group.model, group.settings) for group in held.settings] == [
        ("a", {"temperature": (0.5,), "wording": ("not set",)}),
        ("b", {"temperature": (0.5,), "wording": ("v1",)}),
        ("c", {"temperature": (None,), "wording": ("v1",)}),
    ]
    sent = [answers[0].model_copy(update={"reasoning_effort": "low", "extra_body": {"top_k": 5}, "max_tokens": None})]
    [group] = score(questions, sent, benchmark=asked).provenance.settings
    assert group.settings.items() >= {
        "reasoning_effort": ("low",), "extra_body": ('{"top_k": 5}',), "token_limit": ("of the server",)
    }.items()  # fmt: skip
    plain = score([Question(id="q1", text="Which?", kinder="first")], answers, benchmark=BENCHMARK).provenance
    assert (plain.synthetic, plain.settings, plain.comparability_keys) == (False, (), {})
    assert (plain.data is None, plain.runs) == (False, held.runs)
    assert score(answers, benchmark=WITHOUT_DATA).provenance.data is None
