"""Every mean of a model equals what a plain second implementation of the formulas finds."""

import json
from pathlib import Path

import pytest
from plain_scorer import main
from synthetic.conversations import conversations
from synthetic.runs import SimulatedModel, runs

from attune_bench import score
from attune_bench.benchmarks.attunebench.scores_json import write_scores_json
from attune_bench.benchmarks.attunebench.task import write_runs
from attune_bench.verbs.scores import Scores


def test_means_of_models_equal_those_of_a_plain_scorer(tmp_path: Path) -> None:
    truth = conversations(5, seed=3)
    given = list(runs(truth, [SimulatedModel("vendor/a"), SimulatedModel("vendor/b")], seed=4))
    data, results, output = tmp_path / "data", tmp_path / "runs", tmp_path / "plain.json"
    data.mkdir()
    for number, conversation in enumerate(truth):
        (data / f"{number}.json").write_bytes(conversation.to_json())
    write_runs(given, results)
    main(str(data), str(results), str(output))
    write_scores_json(Scores.of(score(truth, given)), tmp_path / "scores.json")
    own = {row["em_model"]: row for row in json.loads((tmp_path / "scores.json").read_bytes())["aggregates"]}
    plain = json.loads(output.read_bytes())["means"]
    compared = 0
    for model, means in plain.items():
        for name, value in means.items():
            if name in own[model]:
                assert own[model][name] == (value if value is None else pytest.approx(value, rel=1e-12, abs=1e-12)), (
                    name
                )
                compared += 1
    assert own.keys() == plain.keys()
    assert compared == 2 * 55
