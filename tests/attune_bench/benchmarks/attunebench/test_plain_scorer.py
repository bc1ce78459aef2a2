"""Every published number of ``scores.json`` equals what a plain second implementation of the formulas finds."""

import json
from pathlib import Path
from typing import Any

import pytest
from plain_scorer import main
from synthetic.conversations import conversations
from synthetic.runs import SimulatedModel, runs

from attune_bench import score
from attune_bench.benchmarks.attunebench.scores_json import write_scores_json
from attune_bench.benchmarks.attunebench.task import write_runs
from attune_bench.verbs.scores import Scores


def numbers(plain: Any, own: Any, place: str = "") -> int:
    """Return how many numbers two JSON values have in common; every value of the first has to be in the second."""
    if isinstance(plain, dict):
        return sum(numbers(value, own[key], f"{place}.{key}") for key, value in plain.items())
    if isinstance(plain, list):
        pairs = enumerate(zip(plain, own, strict=True))
        return sum(numbers(value, other, f"{place}[{number}]") for number, (value, other) in pairs)
    assert own == (pytest.approx(plain, rel=1e-12, abs=1e-12) if isinstance(plain, float) else plain), place
    return isinstance(plain, int | float)


def test_every_published_number_equals_that_of_a_plain_scorer(tmp_path: Path) -> None:
    truth = conversations(5, seed=3)
    given = list(runs(truth, [SimulatedModel("vendor/a"), SimulatedModel("vendor/b")], seed=4))
    data, results, output = tmp_path / "data", tmp_path / "runs", tmp_path / "plain.json"
    data.mkdir()
    for number, conversation in enumerate(truth):
        (data / f"{number}.json").write_bytes(conversation.to_json())
    write_runs(given, results)
    main(str(data), str(results), str(output))
    write_scores_json(Scores.of(score(truth, given)), tmp_path / "scores.json")
    plain, own = (json.loads(path.read_bytes()) for path in (output, tmp_path / "scores.json"))
    for scores in (plain, own):
        scores["conversations"].sort(key=lambda record: (record["em_model"], record["conversationId"]))
    compared = numbers(plain, own)
    assert compared > 10 * 5 * 60  # Ten runs, each with at least five turns of about 60 numbers.
