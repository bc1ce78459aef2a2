"""The command `analyze`."""

import csv
import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from attune_bench import Scores, score
from attune_bench.benchmarks.attunebench.analyses import ANALYSES, win_rates
from attune_data import load, load_runs
from attune_metrics.signature import Signature

Call = Callable[..., tuple[int, str, str]]
QUICK = ("--resamples", 200)


@pytest.fixture
def demo_scores(tmp_path: Path) -> Path:
    path = tmp_path / "scores.json"
    score(load("demo"), load_runs("demo")).write(path)
    return path


def test_everything_the_inputs_allow(call: Call, demo_scores: Path) -> None:
    status, out, err = call("analyze", "--scores", demo_scores, *QUICK)
    assert (status, err) == (0, "")
    for name, analysis in ANALYSES.items():
        assert (f"{analysis.title.upper()}\n\n" in out) == (not analysis.needs), name
    assert out.endswith("Left out: diagnosis_groups needs --data; question_agreement needs --data and --results.\n")
    assert "Nothing to show: this needs scores of a model in at least two modes." in out
    assert out.count("SYNTHETIC demonstration data.") == 10
    assert "\navg_pairwise_accuracy, mode default, family of 2\n" in out
    status, out, err = call("analyze", "--scores", demo_scores, "--data", "demo", "--results", "demo", *QUICK)
    assert (status, err) == (0, "")
    assert all(f"{analysis.title.upper()}\n\n" in out for analysis in ANALYSES.values())
    assert "Left out" not in out
    # A signature is one word, never broken.
    assert [line for line in out.splitlines() if len(line) > 100 and not line.startswith("attune:")] == []


def test_json_holds_the_frames(call: Call, demo_scores: Path) -> None:
    status, out, _ = call("analyze", "--scores", demo_scores, "--data", "demo", *QUICK, "--seed", 3, "--format", "json")
    assert status == 0
    found = json.loads(out)
    assert found.pop("left_out") == {"question_agreement": "needs --results"}
    assert [*found] == [name for name in ANALYSES if name != "question_agreement"]
    assert found["win_rates"]["rows"] == win_rates(Scores.read(demo_scores), resamples=200, seed=3).to_dicts()
    signature = Signature.parse(found["turn_drift"]["metadata"]["signature"])
    assert (signature.boot, signature.seed, signature.n, signature.filter) == (200, 3, 40, "analyze turn_drift")
    assert found["turn_drift"]["metadata"]["synthetic"] is True


def test_named_analyses_in_the_order_named(call: Call, demo_scores: Path) -> None:
    status, out, _ = call(
        "analyze", "win_rates", "branch_errors", "--scores", demo_scores, *QUICK, "--format", "markdown"
    )
    assert status == 0
    assert [line for line in out.splitlines() if line.startswith("## ")] == ["## Win rates", "## Errors by branch"]
    assert "| A | B | rate | 95% interval | n |" in out
    assert "Left out" not in out


def test_csv_is_of_one_analysis(call: Call, demo_scores: Path) -> None:
    status, out, _ = call("analyze", "win_rates", "--scores", demo_scores, *QUICK, "--format", "csv")
    assert status == 0
    rows: list[dict[str, Any]] = list(csv.DictReader(StringIO(out)))
    assert [(row["model_a"], row["rate"]) for row in rows] == [
        ("synthetic/attentive", "0.95"),
        ("synthetic/hasty", "0.05"),
    ]
    status, _, err = call("analyze", "--scores", demo_scores, "--format", "csv")
    assert (status, err.startswith("attune-bench: --format csv is of one analysis; name one of perspective_gap,")) == (
        2,
        True,
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["win_rate"], "no analysis 'win_rate'; did you mean 'win_rates'?"),
        (["question_agreement"], "question_agreement needs --data and --results"),
        (["question_agreement", "--data", "demo"], "question_agreement needs --results"),
        (["win_rates", "--resamples", "0"], "resamples 0 is"),
    ],
)
def test_mistakes_are_one_line(call: Call, demo_scores: Path, arguments: list[str], message: str) -> None:
    status, out, err = call("analyze", *arguments, "--scores", demo_scores)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"attune-bench: {message}")


def test_runs_of_other_scores_are_one_line(call: Call, scores_file: Path) -> None:
    status, _, err = call(
        "analyze", "question_agreement", "--scores", scores_file, "--data", "demo", "--results", "demo"
    )
    assert (status, err.count("\n")) == (2, 1)
    assert "was scored and is not among the runs; are these the runs of these scores?" in err
