"""Baselines beside the results of models: on the same units, once each."""

from pathlib import Path

import pytest
from commands import Call

from attune_bench import Scores
from attune_bench.benchmarks.attunebench.baselines import BASELINES
from attune_data import load, load_runs

pytestmark = pytest.mark.usefixtures("elsewhere")

NAMES = {f"baseline/{name}" for name in BASELINES}


@pytest.fixture
def few() -> str:
    """Return a file of the runs of one model on three conversations."""
    load_runs("demo").where(em_model="synthetic/hasty")[:3].to_jsonl("few.jsonl")
    return "few.jsonl"


def test_baselines_are_scored_on_the_units_of_the_results(call: Call, few: str) -> None:
    assert call("score", "--results", few, "--data", "demo", "--baselines")[0] == 0
    scores = Scores.read("scores.json")
    assert {*scores.models} == {"synthetic/hasty", *NAMES}
    assert scores.values["unit"].n_unique() == 3
    assert scores.values.height == 3 * len(scores.models)


def test_a_baseline_among_the_results_is_scored_once(call: Call, few: str) -> None:
    conversations = load("demo")
    BASELINES["chance"](conversations).to_jsonl("chance.jsonl")
    assert call("score", "--results", few, "chance.jsonl", "--data", "demo", "--baselines")[0] == 0
    counts = dict(Scores.read("scores.json").values["model"].value_counts().iter_rows())
    assert counts == {"synthetic/hasty": 3, **dict.fromkeys(NAMES, len(conversations))}


def test_baselines_do_not_hide_results_of_other_data(call: Call, few: str) -> None:
    scored, conversations = {run.conversation_id for run in load_runs(few)}, load("demo")
    conversations[[one.id not in scored for one in conversations]].to_jsonl("others.jsonl")
    status, _, err = call("score", "--results", few, "--data", "others.jsonl", "--baselines")
    assert (status, Path("scores.json").exists()) == (2, False)
    assert "none of the 3 runs in few.jsonl belongs to the data in others.jsonl" in err


def test_a_benchmark_without_baselines_says_so(call: Call) -> None:
    status, _, err = call("score", "--results", "demo", "--data", "demo", "--benchmark", "eqbench", "--baselines")
    assert status == 2
    assert "EQ-Bench v2 has no baselines; leave out --baselines" in err
