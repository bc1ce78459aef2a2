"""EQ-Bench from the command line: run against a server, score, compare, report."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer

from attune_bench import Scores
from attune_bench.benchmarks.eqbench import TASK
from attune_bench.runner import endpoint, run_sync
from attune_bench.runner.task import ModelSettings
from attune_data import load_records
from attune_data.eqbench import QUESTION, EQBenchAnswer

Invoke = Callable[..., tuple[int, str, str]]

pytestmark = pytest.mark.usefixtures("elsewhere")


def ratings(body: dict[str, Any]) -> str:
    """Return an answer with 7 for the first emotion asked about and 0 for the others; revised, 6 for the first."""
    emotions = re.findall(r"^(\w+): <rating>$", body["messages"][-1]["content"], re.MULTILINE)[:4]
    lines = ["\n".join(f"{name}: {high * (name == emotions[0])}" for name in emotions) for high in (7, 6)]
    return f"First pass scores:\n{lines[0]}\n\nCritique: too sure.\n\nRevised scores:\n{lines[1]}\n\n[End of answer]"


def unreadable(_: dict[str, Any]) -> str:
    return "I would rather not say."


@pytest.mark.slow
def test_the_demonstration_runs_to_a_scored_report(call: Invoke, tmp_path: Path) -> None:
    for model, answer in (("vendor/a", ratings), ("vendor/b", lambda body: ratings(body).replace(": 7", ": 9"))):
        with ModelServer(answer=answer) as server:
            options = ["--benchmark", "eqbench", "--base-url", server.url, "-o", "out"]
            status, out, err = call("run", "local", model, "demo", *options)
            assert (status, err) == (0, "")
            assert out.splitlines()[0] == "out: 20 answers, one question each"
            assert server.calls == 20
    record = json.loads((tmp_path / "out/demo-01_vendor_a.json").read_bytes())
    assert record["respondent_answers"]["first_pass"] == {"Hurt": 7, "Amused": 0, "Relieved": 0, "Indignant": 0}
    assert (record["temperature"], record["provider"]) == (0.0, "openai-compatible")
    loaded = load_records(tmp_path / "out")
    assert (len(loaded), loaded.found) == (40, ())
    status, out, _ = call("score", "--results", "out", "--data", "demo", "--benchmark", "eqbench")
    assert (status, out.splitlines()[0]) == (0, "scores.parquet: 40 answers of 2 models, protocol repository")
    assert Scores.read("scores.parquet").provenance.protocol == "repository"
    for command in (["compare"], ["rank"], ["report"]):
        status, out, _ = call(*command, "--scores", "scores.parquet")
        assert status == 0
        assert "EQ-Bench score" in out
        assert "protocol:repository" in call("signature", *command, "scores.parquet")[1]
    assert call("report", "--scores", "scores.parquet", "--html", "page.html")[0] == 0
    assert "EQ-Bench v2" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_half_of_a_surrogate_pair_costs_no_answer(tmp_path: Path) -> None:
    """No file can contain it; the question was skipped however often it was asked, though the answer was paid for."""
    questions = load_records("demo", QUESTION)[:1]
    with ModelServer(answer=lambda body: f"\ud800{ratings(body)}") as server:
        served = endpoint("local", base_url=server.url)
        assert run_sync(TASK, questions, ModelSettings("m"), served, output=tmp_path).skipped == ()
        assert server.calls == 1
    (answer,) = load_records(tmp_path)
    assert answer.raw_inference.startswith("\ufffdFirst pass scores:")
    assert answer.respondent_answers.revised


def test_a_model_that_answers_otherwise_has_failed(call: Invoke, tmp_path: Path) -> None:
    with ModelServer(answer=unreadable) as server:
        options = ["--benchmark", "eqbench", "--base-url", server.url, "-o", "out"]
        assert call("run", "local", "m", "demo", *options)[0] == 1
        assert server.calls == 100  # five times each
    found: list[EQBenchAnswer] = list(load_records(tmp_path / "out"))
    assert {one.raw_inference for one in found} == {"I would rather not say."}
    status, out, err = call("score", "--results", "out", "--data", "demo")
    assert status == 0
    assert "1 error" in out + err
    out = " ".join(call("report", "--scores", "scores.parquet")[1].split())
    assert "Failed: m; 0 of 20 questions have a parseable answer, fewer than 83%." in out


def test_several_runs_are_asked_for_and_scored(call: Invoke, tmp_path: Path) -> None:
    with ModelServer(answer=ratings) as server:
        options = ["--benchmark", "eqbench", "--base-url", server.url, "-o", "out", "--repeats", 2, "--seed", 1]
        assert call("run", "local", "m", "demo", *options)[0] == 0
        assert server.calls == 40
    assert {one.repeat for one in load_records(tmp_path / "out")} == {1, 2}
    assert call("score", "--results", "out", "--data", "demo")[0] == 0
    scores = Scores.read("scores.parquet")
    assert scores.repeat_counts == (2,)
    assert any("in which each run counts once: m " in note for note in scores.provenance.notes)
