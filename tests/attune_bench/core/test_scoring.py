"""The one function that scores: which records it takes for which benchmark."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from attune_bench import score
from attune_data import load, load_episodes, load_runs, load_sage, load_scenarios
from attune_metrics import MetricInputError

Sources = Callable[[], tuple[Any, ...]]


@pytest.mark.parametrize(
    ("sources", "name", "message"),
    [
        (lambda: (load_runs("demo"), load("demo")), None, "the data have a Run; AttuneBench takes conversations"),
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
